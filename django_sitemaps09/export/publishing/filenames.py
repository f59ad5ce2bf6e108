"""Names of published files, and the indexes that name them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import cast
from xml.etree import ElementTree

from django_sitemaps09 import protocol
from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.manifest import Manifest, PageRecord, SectionRecord, Suffix
from django_sitemaps09.sections import NAME
from django_sitemaps09.stores import Store

INDEX = "sitemap.xml"

# Files that others put into the target must not use up the numbers. A file with a longer number is not
# ours, unless a manifest lists it.
_NUMBER = "[1-9][0-9]{0,7}"
_PAGE = re.compile(rf"sitemap-({NAME.pattern})-({_NUMBER})\.(xml|xml\.gz|txt)")
# No section's page can have such a name.
_INDEX = re.compile(rf"sitemap(?:-({_NUMBER}))?\.xml")


def page_name(section: str, number: int, suffix: Suffix) -> str:
    """Return the file name of a page, with which the URL of a live page ends, too."""
    return f"sitemap-{section}-{number}.{suffix}"


def page_names(section: str, record: SectionRecord) -> list[str]:
    """Return the file names of a section's pages."""
    return [page_name(section, page.number, record.suffix) for page in record.pages]


def index_name(number: int, *, cascade: bool = False) -> str:
    """Return the file name of an index; in a cascade, the root has the usual name of the first one."""
    return INDEX if number == 1 and not cascade else f"sitemap-{number}.xml"


def is_index(name: str) -> bool:
    """Return whether a file name is that of an index."""
    return _INDEX.fullmatch(name) is not None


def highest_numbers(names: Iterable[str]) -> dict[str, int]:
    """Return the highest page number of each section among these files."""
    found: dict[str, int] = defaultdict(int)
    for match in filter(None, map(_PAGE.fullmatch, names)):
        found[match[1]] = max(found[match[1]], int(match[2]))
    return found


def adopted(target: Store, url: str, base: str, names: Mapping[str, int | None]) -> Manifest:
    """Return a manifest of the pages that the published indexes name, if there is no readable one.

    The ranges of these pages are not known, so such a section is cut anew, with numbers that no file here
    has. Except for `sitemap.xml`, an index that names none of these files is not ours. Raise `ExportError`
    if an index cannot be read.
    """
    highest = highest_numbers(names)
    pages: dict[str, dict[int, PageRecord]] = {section: {} for section in highest}
    suffixes: dict[str, Suffix] = {}
    indexes = []
    # The first one is read in any case: a symbolic link, for example, is not among the names.
    found_indexes = filter(None, map(_INDEX.fullmatch, {INDEX, *names}))
    for index, name in sorted((int(match[1] or 1), match[0]) for match in found_indexes):
        ours = name == INDEX and name in names
        for entry in read_index(target, name):
            match = _PAGE.fullmatch(entry.location.removeprefix(url))
            if match is None or match[0] not in names:
                continue
            ours = True
            if suffixes.setdefault(match[1], cast(Suffix, match[3])) == match[3]:
                page = PageRecord(int(match[2]), None, 0, 0, 0, None, entry.lastmod, "", None, index)
                # Leftovers of a cascade that was switched off name pages a second time.
                pages[match[1]].setdefault(page.number, page)
        if ours:
            indexes.append(name)
    sections = {
        section: SectionRecord(
            suffixes.get(section, "xml.gz"), highest=highest[section], pages=(*found.values(),)
        )
        for section, found in pages.items()
    }
    return Manifest("", url, base, sections, indexes=tuple(indexes))


def read_index(target: Store, name: str = INDEX) -> list[IndexEntry]:
    """Return the entries of a published index; an empty list if there is no index yet.

    Raise `ExportError` if the file is not an index, since the entries of other sections would be lost.
    """
    content = target.read(name, protocol.MAX_BYTES)
    if content is None:
        return []
    space = f"{{{protocol.SITEMAP_NAMESPACE}}}"
    try:
        text = content.decode()
        # Entities, external ones too, can only come from a document type; an index has none.
        if "<!" in text:
            raise ElementTree.ParseError("it has a document type or a comment")
        root = ElementTree.fromstring(text)  # noqa: S314
        if root.tag != f"{space}sitemapindex":
            raise ElementTree.ParseError(f"it is a {root.tag!r:.80}")
    except (ElementTree.ParseError, UnicodeDecodeError) as error:
        raise ExportError(
            f"{target.label}: {name} is no index of ours ({error}), so its other sections cannot be kept. "
            "Export all sections, or remove the file."
        ) from error
    return [
        IndexEntry(found.findtext(f"{space}loc", "").strip(), found.findtext(f"{space}lastmod"))
        for found in root.iter(f"{space}sitemap")
    ]


def entries(url: str, section: str, record: SectionRecord) -> dict[int, list[IndexEntry]]:
    """Return the index entries of a section's pages, by the number of the index."""
    found: dict[int, list[IndexEntry]] = defaultdict(list)
    for page in record.pages:
        location = f"{url}{page_name(section, page.number, record.suffix)}"
        found[page.index_number].append(IndexEntry(location, page.changed))
    return found


def union(before: Sequence[IndexEntry], after: Sequence[IndexEntry]) -> list[IndexEntry]:
    """Return the entries of both, with each location once."""
    return list({entry.location: entry for entry in (*before, *after)}.values())
