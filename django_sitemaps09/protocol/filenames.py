"""The grammar of section names, of file names and of range addresses, and the media types of files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

from django_sitemaps09.protocol.pages import Key, Page

#: Pattern for the name of a section. The URLs and the file names of its pages contain the name.
NAME = re.compile(r"[A-Za-z0-9_-]+")
#: The file name of the first or only index.
INDEX = "sitemap.xml"
#: The file name of the stylesheet to which indexes and pages refer if `STYLESHEET` is set.
STYLESHEET = "sitemap.css"
#: The file name of the feed of recent changes that an export writes if `FEED` is set.
FEED = "sitemap-changes.atom"
#: The suffix of a page's file name.
Suffix: TypeAlias = Literal["xml", "xml.gz", "txt"]
SUFFIXES: tuple[Suffix, ...] = get_args(Suffix)
#: Pattern for the names of published files. An export never replaces or deletes a file with another name.
PUBLISHED = re.compile(
    rf"sitemap(?:-{NAME.pattern})?\.xml(?:\.gz)?|sitemap-{NAME.pattern}\.txt"
    rf"|{re.escape(STYLESHEET)}|{re.escape(FEED)}"
)

# A file with a longer number is not from an export, unless a manifest lists it, and must not raise the
# highest number: few numbers would remain.
_NUMBER = "[1-9][0-9]{0,7}"
#: The path of a numbered page without its suffix. It is greedy: the page number follows the last hyphen.
LIVE_PAGE = rf"sitemap-(?P<section>{NAME.pattern})-(?P<page>{_NUMBER})"
# A bound in a range address. A dot, which neither a section nor a bound contains, separates the parts.
_BOUND = "[A-Za-z0-9_:+,~-]+"
#: The number of characters of a signature.
SIGNATURE = 10
#: The range address of a live page without its suffix. No name of a file matches it.
LIVE_RANGE = (
    rf"sitemap-(?P<section>{NAME.pattern})(?P<bounds>(?:\.after\.{_BOUND})?(?:\.to\.{_BOUND})?)"
    rf"\.(?P<signature>[A-Za-z0-9_-]{{{SIGNATURE}}})"
)
_BOUNDS = re.compile(rf"(?:\.after\.({_BOUND}))?(?:\.to\.({_BOUND}))?")
# Maximum number of characters of a bound: two fit into a URL of 2,048 characters.
_MOST = 200
#: Number of keys before the end of a live page of which one becomes its end, if that key is too long.
NEARBY = 100
_ESCAPED = re.compile(r"[^A-Za-z0-9_:+-]")
_ESCAPE = re.compile("~([0-9A-F]{2})")
_PAGE = re.compile(rf"{LIVE_PAGE}\.(xml|xml\.gz|txt)")
#: The path of a numbered index. The name of a page has a second hyphen.
LIVE_INDEX = rf"sitemap-(?P<number>{_NUMBER})\.xml"
_INDEX = re.compile(rf"sitemap(?:-({_NUMBER}))?\.xml")
# Gzip is used as a media type and not as a Content-Encoding.
_TYPES = {
    ".xml.gz": "application/gzip",
    ".xml": "application/xml",
    ".txt": "text/plain; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".atom": "application/atom+xml",
    ".json": "application/json",
    ".jsonl": "application/json",
}


class PageName(NamedTuple):
    section: str
    number: int
    suffix: Suffix


def page_name(section: str, number: int, suffix: Suffix) -> str:
    """Return the file name of an exported page. The URL of a live page ends in the same name."""
    return f"sitemap-{section}-{number}.{suffix}"


def bounds_text(after: Key | None, until: Key | None) -> str:
    """Return the bounds of a range address, such as `.after.120000.to.171500`."""
    parts = [("after", after), ("to", until)]
    return "".join(f".{word}.{_key_text(key)}" for word, key in parts if key is not None)


def parse_bounds(text: str) -> tuple[Key | None, Key | None] | None:
    """Parse what `bounds_text()` returned. Return `None` for any other text."""
    match = _BOUNDS.fullmatch(text)
    try:
        bounds = match and (_parse_key(match[1]), _parse_key(match[2]))
    except UnicodeDecodeError:
        return None
    return bounds if bounds is not None and bounds_text(*bounds) == text else None


def fits_in_address(key: Key) -> bool:
    return len(_key_text(key)) <= _MOST


def page_label(page: Page) -> str:
    """Return what log lines call a page: its number, or its range without control characters."""
    bounds = bounds_text(page.after, page.until).replace(".", " ").strip()
    return str(page.number or bounds or "with all keys")


def _key_text(key: Key) -> str:
    # An empty column is a lone tilde, which no escape is.
    return ",".join(_ESCAPED.sub(_escaped, column) or "~" for column in key)


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"~{byte:02X}" for byte in match[0].encode(errors="surrogatepass"))


def _parse_key(text: str | None) -> Key | None:
    if text is None:
        return None
    columns = ["" if column == "~" else column for column in text.split(",")]
    contents = [_ESCAPE.sub(lambda match: chr(int(match[1], 16)), column) for column in columns]
    return tuple(content.encode("latin-1").decode(errors="surrogatepass") for content in contents)


def range_name(section: str, bounds: str, signature: str, suffix: Suffix) -> str:
    """Return the name of a live page. `bounds` is from `bounds_text()`."""
    return f"sitemap-{section}{bounds}.{signature}.{suffix}"


def parse_page_name(name: str) -> PageName | None:
    """Parse the file name of a page. Return `None` for any other name."""
    match = _PAGE.fullmatch(name)
    return match and PageName(match[1], int(match[2]), cast(Suffix, match[3]))


def index_name(number: int, *, cascade: bool = False) -> str:
    """Return the file name of an index. In a cascade, `sitemap.xml` is reserved for the root index."""
    return INDEX if number == 1 and not cascade else f"sitemap-{number}.xml"


def is_cascade(indexes: Container[str]) -> bool:
    """Return whether `sitemap.xml` is an index of the others."""
    return index_name(1, cascade=True) in indexes


def index_number(name: str) -> int | None:
    """Return the number in the file name of an index, or `None` for any other name."""
    match = _INDEX.fullmatch(name)
    return match and int(match[1] or 1)


def content_type(name: str) -> str:
    types = (media_type for suffix, media_type in _TYPES.items() if name.endswith(suffix))
    return next(types, "application/octet-stream")


def highest_numbers(names: Iterable[str]) -> dict[str, int]:
    """Return the highest page number of each section."""
    highest: dict[str, int] = defaultdict(int)
    for page in filter(None, map(parse_page_name, names)):
        highest[page.section] = max(highest[page.section], page.number)
    return highest
