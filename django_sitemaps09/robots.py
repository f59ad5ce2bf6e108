"""Updates of a robots.txt as bytes: one marked block is ours, every other byte belongs to the owner."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from string import punctuation
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from django_sitemaps09.exceptions import RobotsError

BEGIN = "# BEGIN django-sitemaps09"
END = "# END django-sitemaps09"
NOTE = "# Written by the export of sitemaps; changes inside this block are lost."

#: RFC 9309, section 2.5: crawlers read at least 500 KiB. Google reads no more than that.
MAX_BYTES = 512_000
#: The most `Sitemap` lines that Seznam's crawler reads; the protocol and Google do not state a limit.
MAX_SITEMAPS = 100

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r")
_MARK = re.compile(
    rb"(?:\A(?:" + _BOM + rb")?|(?<=[\r\n]))"
    rb"([ \t]*#[ \t]*(BEGIN|END)[ \t]+django-sitemaps09[ \t]*)(?=[\r\n]|\Z)",
    re.IGNORECASE,
)


class _Parts(NamedTuple):
    """A file divided at the generated block; `tail` begins with the line end of the END line."""

    head: bytes
    block: bytes
    tail: bytes


class _Field(NamedTuple):
    line: int
    text: str
    name: str
    value: str


def update(content: bytes | None, urls: Sequence[str]) -> bytes:
    """Return the file with `urls` in our block; `content` is `None` if there is no file yet.

    An existing block keeps its place. A new one goes to the end, where it does not divide a group. URLs
    that the owner lists outside of the block are not repeated. If the bytes are unchanged, there is nothing
    to write. Raise `RobotsError` for a file that cannot be parsed, and for a URL that no line can contain.
    """
    lines = {url: sitemap_line(url) for url in urls}
    content = content or b""
    parts = _cut(content)
    outside = parts.head + parts.tail
    for field in _sitemaps(outside):
        lines.pop(field.value, None)
    # An empty block stays: its place may be the owner's choice, and a new block for the next URL would be
    # at the end.
    if not lines and not parts.block:
        return content
    eol = _line_end(outside, content)
    block = eol.join([BEGIN, NOTE, *lines.values(), END]).encode()
    ending = parts.tail if parts.block else eol.encode()
    result = parts.head + _gap(parts, eol).encode() + block + ending
    if len(result) > MAX_BYTES:
        raise RobotsError(
            f"robots.txt would have {len(result):,} bytes, but crawlers may stop reading after "
            f"{MAX_BYTES:,}. Shorten its rules or list fewer sitemaps."
        )
    return result


def sitemap_line(url: str) -> str:
    """Return the form of a `Sitemap` line that every known client can read, without its line end."""
    try:
        parts = urlsplit(url)
        is_absolute = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_absolute = False
    # A `#` would begin a comment; unprintable characters include every line end.
    if not is_absolute or not url.isprintable() or " " in url or "#" in url:
        raise RobotsError(
            f"{url!r} is not allowed in robots.txt. The URL of a sitemap must begin with http:// or "
            "https:// and a host. It must not contain spaces, control characters or '#'. Check where it "
            "comes from."
        )
    return f"Sitemap: {url}"


def warnings(content: bytes, urls: Iterable[str]) -> list[str]:
    """Return what keeps crawlers from `urls` in a file as `update` returns it.

    The rules are applied to every URL, so all `urls` must be on the host of the file.
    """
    problems = []
    if len(content) > MAX_BYTES:
        problems.append(f"crawlers may read only {MAX_BYTES:,} of its {len(content):,} bytes")
        content = content[:MAX_BYTES]
    sitemaps = list(_sitemaps(content))
    rules = [(rule, _pattern(rule.value)) for rule in _rules(content)]
    if len(sitemaps) > MAX_SITEMAPS:
        problems.append(f"Seznam reads only {MAX_SITEMAPS} of its {len(sitemaps)} Sitemap lines")
    for url in urls:
        problems += _unreadable_lines(url, sitemaps)
        problems += _disallow_warnings(url, rules)
    return [f"robots.txt: {problem}." for problem in problems]


def _cut(content: bytes) -> _Parts:
    _refuse_other_encodings(content)
    marks = list(_MARK.finditer(content))
    if not marks:
        return _Parts(content, b"", b"")
    if [mark[2].upper() for mark in marks] != [b"BEGIN", b"END"]:
        # Five marks are enough to find the place.
        positions = [f"{mark[2].decode()} on line {_line(content, mark.start(1))}" for mark in marks[:5]]
        raise RobotsError(
            f"robots.txt has the markers of the generated block out of order ({', '.join(positions)}). "
            f"Keep one line '{BEGIN}' and one line '{END}' after it, or remove them all."
        )
    start, stop = marks[0].start(1), marks[1].end()
    for field in _fields(content[start:stop]):
        if field.name != "sitemap":
            raise RobotsError(
                f"robots.txt has {field.text!r:.80} on line {_line(content, start) + field.line - 1}, "
                f"inside the generated block, where it would be lost. Move it before '{BEGIN}' or after "
                f"'{END}'."
            )
    return _Parts(content[:start], content[start:stop], content[stop:])


def _refuse_other_encodings(content: bytes) -> None:
    position = content.find(b"\0")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        position = error.start
    if position >= 0:
        raise RobotsError(
            f"robots.txt is not valid UTF-8: byte {content[position]:#04x} on line "
            f"{_line(content, position)}. Save it as UTF-8."
        )


def _line(content: bytes, position: int) -> int:
    return len((content[:position] + b".").splitlines())


def _line_end(outside: bytes, content: bytes) -> str:
    """Return the owner's most frequent line end, or that of the block if there is nothing else."""
    count = Counter(_LINE_END.findall(outside) or _LINE_END.findall(content))
    return max(b"\n", b"\r\n", b"\r", key=count.__getitem__).decode()


def _gap(parts: _Parts, eol: str) -> str:
    """Return the line ends to write between the owner's bytes and our block."""
    head = parts.head
    if parts.block:
        # Many clients do not read a line that begins with a BOM.
        return eol if head == _BOM else ""
    if not head:
        return ""
    # A final CR and our LF would become one CRLF.
    if not head.endswith(b"\n" if eol == "\n" else (b"\n", b"\r")):
        return eol * 2
    return eol if head.splitlines()[-1].strip() else ""


def _fields(content: bytes) -> Iterator[_Field]:
    # Unlike str.splitlines(), this splits lines as crawlers do: only at LF, CRLF and CR.
    for number, raw in enumerate(content.splitlines(), 1):
        line = raw.removeprefix(_BOM) if number == 1 else raw
        name, colon, value = line.partition(b"#")[0].partition(b":")
        if colon:
            parts = (raw, name.lower(), value)
            yield _Field(number, *(part.strip().decode(errors="replace") for part in parts))


def _sitemaps(content: bytes) -> Iterator[_Field]:
    return (field for field in _fields(content) if field.name == "sitemap")


def _unreadable_lines(url: str, sitemaps: list[_Field]) -> Iterator[str]:
    """Yield a warning for an owner's line that `update` accepts, but widespread clients cannot read."""
    fields = [field for field in sitemaps if field.value == url]
    pattern = re.compile(rf"sitemap:\s*{re.escape(url)}", re.IGNORECASE)
    if fields and not any(pattern.fullmatch(field.text) for field in fields):
        yield (
            f"some clients cannot read line {fields[0].line} ({fields[0].text!r:.80}); write "
            f"'{sitemap_line(url)}', and not on the first line of a file with a BOM"
        )


def _rules(content: bytes) -> Iterator[_Field]:
    """Yield the rules of the groups for `*`. Other lines do not end a group (RFC 9309, section 2.2)."""
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
    """Yield a warning if the longest matching rule is Disallow; of equals, Allow wins (RFC 9309, 2.2.2)."""
    parts = urlsplit(url)
    path = _quote(f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}")
    matching = [rule for rule, pattern in rules if _matches(pattern, path)]
    rule = max(matching, key=lambda rule: (len(rule.value), rule.name == "allow"), default=None)
    if rule and rule.name == "disallow":
        yield f"line {rule.line} ({rule.text!r:.80}) blocks crawlers from {url}"


def _pattern(value: str) -> str:
    return re.sub(r"\*+", "*", _quote(value))


def _quote(path: str) -> str:
    return quote(path, safe=punctuation)


def _matches(pattern: str, path: str) -> bool:
    """Return whether a rule matches a path; `*` stands for anything, a final `$` for the end.

    Each part is searched only once, after the one before it: rules come from outside, and must not cause
    more work than their length.
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
