"""Update the generated block of a robots.txt, and warn about what crawlers cannot read in it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from string import punctuation
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from django_sitemaps09.exceptions import RobotsError
from django_sitemaps09.protocol.limits import MAX_ROBOTS_BYTES, MAX_ROBOTS_SITEMAPS
from django_sitemaps09.protocol.urls import origin, uri

BEGIN = "# BEGIN django-sitemaps09"
END = "# END django-sitemaps09"
NOTE = "# Written by the export of sitemaps; changes inside this block are lost."

_BOM = b"\xef\xbb\xbf"
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
# A line that every known client can read.
_READABLE = re.compile(r"sitemap:\s*[^\s#]+", re.IGNORECASE)
_LINE_END = re.compile(rb"\r\n|\n|\r")
_MARK = re.compile(
    rb"(?:\A(?:" + _BOM + rb")?|(?<=[\r\n]))"
    rb"([ \t]*#[ \t]*(BEGIN|END)[ \t]+django-sitemaps09[ \t]*)(?=[\r\n]|\Z)",
    re.IGNORECASE,
)


class _Field(NamedTuple):
    line: int
    text: str
    name: str
    value: str


def update(content: bytes | None, urls: Sequence[str]) -> bytes:
    """Return the content, `None` for a new file, with `urls` in the generated block.

    An existing block keeps its place. A new block is appended, since it must not divide a group. URLs that
    are listed outside are not repeated. Raise `RobotsError` if the file cannot be parsed, if a URL is not
    allowed in a line, or if the result would be too large.
    """
    content = content or b""
    head, block, tail = _divide(content)
    outside = head + tail
    lines = missing_lines(outside, urls)
    # An empty block is kept, because the owner of the file may have chosen its place.
    if not lines and not block:
        return content
    # The most frequent line ending outside the block, or else in the whole file.
    count = Counter(_LINE_END.findall(outside) or _LINE_END.findall(content))
    eol = max(b"\n", b"\r\n", b"\r", key=count.__getitem__).decode()
    new_block = eol.join([BEGIN, NOTE, *lines, END])
    gap = _gap(head, eol, has_block=bool(block))
    result = head + f"{gap}{new_block}".encode() + (tail if block else eol.encode())
    if len(result) > MAX_ROBOTS_BYTES:
        raise RobotsError(
            f"robots.txt would have {len(result):,} bytes, but crawlers may stop reading after "
            f"{MAX_ROBOTS_BYTES:,}. Shorten its rules or list fewer sitemaps."
        )
    return result


def missing_lines(content: bytes, urls: Iterable[str]) -> list[str]:
    """Return a `Sitemap` line for each URL that the content does not list in any common spelling."""
    listed = {_normalized(field.value) for field in _fields(content) if field.name == "sitemap"}
    lines = {_normalized(url): sitemap_line(url) for url in urls}
    return [line for url, line in lines.items() if url not in listed]


def _normalized(url: str) -> str:
    """Return the same string for spellings that differ in scheme, host, port or escapes."""
    with suppress(ValueError):
        escaped = _ESCAPE.sub(lambda escape: escape[0].upper(), uri(url))
        return f"{origin(escaped)}/{escaped.split('/', 3)[3]}"
    return url


def sitemap_line(url: str) -> str:
    """Return a line without its ending, in the form that every known client can read."""
    is_absolute = False
    with suppress(ValueError):
        is_absolute = uri(url)[0] != "/"
    # A `#` would begin a comment. Unprintable characters include all line endings.
    if not is_absolute or not url.isprintable() or " " in url or "#" in url:
        raise RobotsError(
            f"{url!r} is not allowed in robots.txt. The URL of a sitemap must begin with http:// or "
            "https:// and a host. It must not contain spaces, control characters or '#'. Check where it "
            "comes from."
        )
    return f"Sitemap: {url}"


def warnings(content: bytes, urls: Iterable[str]) -> list[str]:
    """Return what can prevent crawlers from reading `urls`, which are on the host of the file."""
    problems = []
    if (size := len(content)) > MAX_ROBOTS_BYTES:
        problems.append(f"crawlers may read only {MAX_ROBOTS_BYTES:,} of the {size:,} bytes in the file")
        content = content[:MAX_ROBOTS_BYTES]
    sitemaps = [field for field in _fields(content) if field.name == "sitemap"]
    rules = [(rule, re.sub(r"\*+", "*", quote(rule.value, safe=punctuation))) for rule in _rules(content)]
    if len(sitemaps) > MAX_ROBOTS_SITEMAPS:
        count = f"{MAX_ROBOTS_SITEMAPS} of the {len(sitemaps)}"
        problems.append(f"Seznam reads only {count} Sitemap lines in the file")
    for url in urls:
        problems += _unreadable_lines(url, sitemaps)
        problems += _disallow_warnings(url, rules)
    return [f"{problem}." for problem in problems]


def _divide(content: bytes) -> tuple[bytes, bytes, bytes]:
    """Divide a file at the block. The last part begins with the line ending of the END line."""
    _check_encoding(content)
    marks = list(_MARK.finditer(content))
    if not marks:
        return content, b"", b""
    if [mark[2].upper() for mark in marks] != [b"BEGIN", b"END"]:
        places = [(mark[2].decode(), _line_number(content, mark.start(1))) for mark in marks[:5]]
        positions = ", ".join(f"{word} on line {number}" for word, number in places)
        raise RobotsError(
            "The markers of the generated block in robots.txt are missing, repeated or out of order "
            f"({positions}). Keep one line '{BEGIN}' and one line '{END}' after it, or remove them all."
        )
    start, stop = marks[0].start(1), marks[1].end()
    for field in _fields(content[start:stop]):
        if field.name != "sitemap":
            line = _line_number(content, start) + field.line - 1
            raise RobotsError(
                f"robots.txt has {field.text!r:.80} on line {line}, inside the generated block, where it "
                f"would be lost. Move it before '{BEGIN}' or after '{END}'."
            )
    return content[:start], content[start:stop], content[stop:]


def _check_encoding(content: bytes) -> None:
    position = content.find(b"\0")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        position = error.start
    if position >= 0:
        place = f"byte {content[position]:#04x} on line {_line_number(content, position)}"
        raise RobotsError(f"robots.txt is not valid UTF-8: {place}. Save it as UTF-8.")


def _line_number(content: bytes, position: int) -> int:
    return len((content[:position] + b".").splitlines())


def _gap(head: bytes, eol: str, *, has_block: bool) -> str:
    """Return the line endings between the preceding content and the block."""
    if has_block:
        # Many clients cannot read a line that begins with a BOM.
        return eol if head == _BOM else ""
    if not head:
        return ""
    # A final CR and an added LF would become one CRLF.
    if not head.endswith(b"\n" if eol == "\n" else (b"\n", b"\r")):
        return eol * 2
    return eol if head.splitlines()[-1].strip() else ""


def _fields(content: bytes) -> Iterator[_Field]:
    # Unlike str.splitlines(), bytes.splitlines() splits only at LF, CRLF and CR, as crawlers do.
    for number, raw in enumerate(content.splitlines(), 1):
        line = raw.removeprefix(_BOM) if number == 1 else raw
        name, colon, value = line.partition(b"#")[0].partition(b":")
        if colon:
            parts = (raw, name.lower(), value)
            yield _Field(number, *(part.strip().decode(errors="replace") for part in parts))


def _unreadable_lines(url: str, sitemaps: list[_Field]) -> Iterator[str]:
    """Yield a warning if many clients cannot read any of the lines with `url`."""
    fields = [field for field in sitemaps if _normalized(field.value) == _normalized(url)]
    if fields and not any(_READABLE.fullmatch(field.text) for field in fields):
        yield (
            f"some clients cannot read line {fields[0].line} ({fields[0].text!r:.80}). Write it as "
            f"'{sitemap_line(url)}'. If the file begins with a BOM, do not put it on the first line"
        )


def _rules(content: bytes) -> Iterator[_Field]:
    """Yield the rules for all user agents. Other lines do not end a group (RFC 9309, section 2.2)."""
    is_for_all = is_naming = False
    for field in _fields(content):
        if field.name == "user-agent":
            is_for_all = field.value == "*" or (is_naming and is_for_all)
            is_naming = True
        elif field.name in ("allow", "disallow"):
            is_naming = False
            if is_for_all and field.value:
                yield field


def _disallow_warnings(url: str, rules: list[tuple[_Field, str]]) -> Iterator[str]:
    """Yield a warning if the longest matching rule is Disallow. Allow wins ties (RFC 9309, 2.2.2)."""
    parts = urlsplit(url)
    path = quote(f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}", safe=punctuation)
    matching = [rule for rule, pattern in rules if _matches(pattern, path)]
    rule = max(matching, key=lambda rule: (len(rule.value), rule.name == "allow"), default=None)
    if rule and rule.name == "disallow":
        yield f"line {rule.line} ({rule.text!r:.80}) blocks crawlers from {url}"


def _matches(pattern: str, path: str) -> bool:
    """Return whether a rule matches a path. `*` matches any characters, and a final `$` matches the end.

    No regular expression is used, because an untrusted rule could cause exponential backtracking.
    """
    is_anchored = pattern.endswith("$")
    first, *parts = pattern.removesuffix("$").split("*")
    if is_anchored and not parts:
        return path == first
    last = parts.pop() if is_anchored else ""
    if not (path.startswith(first) and path.endswith(last)):
        return False
    position, end = len(first), len(path) - len(last)
    for part in parts:
        position = path.find(part, position, end)
        if position < 0:
            return False
        position += len(part)
    return position <= end
