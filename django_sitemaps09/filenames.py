"""The grammar of file names: which sections, pages and indexes are published under which names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

#: The name of a section, which is a part of the URLs and the file names of its pages.
NAME = re.compile(r"[A-Za-z0-9_-]+")
#: The name of the first index, or of the only one.
INDEX = "sitemap.xml"
#: The suffix of a page's file name.
Suffix: TypeAlias = Literal["xml", "xml.gz", "txt"]
SUFFIXES: tuple[Suffix, ...] = get_args(Suffix)
#: The names of published pages and indexes. Published files never have other names, and no other file
#: beside them is replaced or deleted.
PUBLISHED = re.compile(rf"sitemap(?:-{NAME.pattern})?\.xml(?:\.gz)?|sitemap-{NAME.pattern}\.txt")

# Files that others put into the target must not use up the numbers. A file with a longer number is not
# ours, unless a manifest lists it.
_NUMBER = "[1-9][0-9]{0,7}"
_PAGE = re.compile(rf"sitemap-({NAME.pattern})-({_NUMBER})\.(xml|xml\.gz|txt)")
# No section's page can have such a name.
_INDEX = re.compile(rf"sitemap(?:-({_NUMBER}))?\.xml")


class PageName(NamedTuple):
    """Parts of a page's file name."""

    section: str
    number: int
    suffix: Suffix


def page_name(section: str, number: int, suffix: Suffix) -> str:
    """Return the file name of a page, with which the URL of a live page ends, too."""
    return f"sitemap-{section}-{number}.{suffix}"


def parse_page_name(name: str) -> PageName | None:
    """Return the parts of a page's file name; `None` for any other name."""
    match = _PAGE.fullmatch(name)
    return match and PageName(match[1], int(match[2]), cast(Suffix, match[3]))


def index_name(number: int, *, cascade: bool = False) -> str:
    """Return the file name of an index; in a cascade, the root has the usual name of the first one."""
    return INDEX if number == 1 and not cascade else f"sitemap-{number}.xml"


def is_index(name: str) -> bool:
    """Return whether a file name is that of an index."""
    return index_number(name) is not None


def index_number(name: str) -> int | None:
    """Return the number in the file name of an index; `None` for any other name."""
    match = _INDEX.fullmatch(name)
    return match and int(match[1] or 1)


def highest_numbers(names: Iterable[str]) -> dict[str, int]:
    """Return the highest page number of each section among these files."""
    highest: dict[str, int] = defaultdict(int)
    for page in filter(None, map(parse_page_name, names)):
        highest[page.section] = max(highest[page.section], page.number)
    return highest
