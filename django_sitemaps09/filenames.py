"""The grammar of section names and of file names, and the media types of files."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

#: Pattern for the name of a section. The URLs and the file names of its pages contain the name.
NAME = re.compile(r"[A-Za-z0-9_-]+")
#: The file name of the first or only index.
INDEX = "sitemap.xml"
#: The file name of the stylesheet to which indexes and pages refer if `STYLESHEET` is set.
STYLESHEET = "sitemap.css"
#: The suffix of a page's file name.
Suffix: TypeAlias = Literal["xml", "xml.gz", "txt"]
SUFFIXES: tuple[Suffix, ...] = get_args(Suffix)
#: Pattern for the file names of published pages, indexes and stylesheets. An export never replaces or
#: deletes a file with another name.
PUBLISHED = re.compile(
    rf"sitemap(?:-{NAME.pattern})?\.xml(?:\.gz)?|sitemap-{NAME.pattern}\.txt|{re.escape(STYLESHEET)}"
)

#: The pattern for the path of a live page without its suffix. It is greedy: the page number follows the
#: last hyphen. The number of an exported page has at most eight digits; nine-digit numbers belong to live
#: pages only.
LIVE_PAGE = rf"sitemap-(?P<section>{NAME.pattern})-(?P<page>[1-9][0-9]{{0,8}})"

# A file with a longer number is not from an export, unless a manifest lists it. Such a file must not
# raise the highest number, since few numbers would then remain.
_NUMBER = "[1-9][0-9]{0,7}"
_PAGE = re.compile(rf"sitemap-({NAME.pattern})-({_NUMBER})\.(xml|xml\.gz|txt)")
#: The pattern for the path of a numbered index. The name of a page has a second hyphen.
LIVE_INDEX = rf"sitemap-(?P<number>{_NUMBER})\.xml"
# Pattern for the file name of an index. The name of a page never matches.
_INDEX = re.compile(rf"sitemap(?:-({_NUMBER}))?\.xml")
# Media types by suffix. Gzip is used as a media type and not as a Content-Encoding.
_TYPES = {
    ".xml.gz": "application/gzip",
    ".xml": "application/xml",
    ".txt": "text/plain; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".jsonl": "application/json",
}


class PageName(NamedTuple):
    """The parts of the file name of a page."""

    section: str
    number: int
    suffix: Suffix


def page_name(section: str, number: int, suffix: Suffix) -> str:
    """Return the file name of an exported page. The URL of a live page ends in the same name."""
    return f"sitemap-{section}-{number}.{suffix}"


def parse_page_name(name: str) -> PageName | None:
    """Parse the file name of a page. Return `None` for any other name."""
    match = _PAGE.fullmatch(name)
    return match and PageName(match[1], int(match[2]), cast(Suffix, match[3]))


def index_name(number: int, *, cascade: bool = False) -> str:
    """Return the file name of an index. In a cascade, `sitemap.xml` is reserved for the root index."""
    return INDEX if number == 1 and not cascade else f"sitemap-{number}.xml"


def index_number(name: str) -> int | None:
    """Return the number in the file name of an index, or `None` for any other name."""
    match = _INDEX.fullmatch(name)
    return match and int(match[1] or 1)


def content_type(name: str) -> str:
    """Return the media type of an exported file."""
    types = (media_type for suffix, media_type in _TYPES.items() if name.endswith(suffix))
    return next(types, "application/octet-stream")


def highest_numbers(names: Iterable[str]) -> dict[str, int]:
    """Return the highest page number of each section in these file names."""
    highest: dict[str, int] = defaultdict(int)
    for page in filter(None, map(parse_page_name, names)):
        highest[page.section] = max(highest[page.section], page.number)
    return highest
