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

_PAGE = re.compile(rf"sitemap-({NAME.pattern})-([1-9][0-9]*)\.(xml|xml\.gz|txt)")
# No section's page can have such a name.
_INDEX = re.compile(r"sitemap(?:-([1-9][0-9]*))?\.xml")


def page_name(section: str, number: int, suffix: Suffix) -> str:
    """The file of a page, and the end of its URL: live pages have the same."""
    return f"sitemap-{section}-{number}.{suffix}"


def page_names(section: str, record: SectionRecord) -> list[str]:
    """The files of a section."""
    return [page_name(section, page.number, record.suffix) for page in record.pages]


def index_name(number: int, *, cascade: bool = False) -> str:
    """The file of an index. In a cascade the first one has another name too: the root names them all."""
    return INDEX if number == 1 and not cascade else f"sitemap-{number}.xml"


def is_index(name: str) -> bool:
    """Whether a file is an index by its name."""
    return _INDEX.fullmatch(name) is not None


def highest_numbers(names: Iterable[str]) -> dict[str, int]:
    """The highest number that a page of each section has among these files."""
    found: dict[str, int] = defaultdict(int)
    for match in filter(None, map(_PAGE.fullmatch, names)):
        found[match[1]] = max(found[match[1]], int(match[2]))
    return found


def adopted(target: Store, url: str, base: str, names: Mapping[str, int | None]) -> Manifest:
    """What the published indexes name, where no manifest tells: pages by their names alone.

    Their ranges are not known, so that such a section is cut anew, to numbers that no file here has. An
    index that names none of them is somebody else's, whatever it is called.
    `ExportError` where an index cannot be read.
    """
    highest = highest_numbers(names)
    pages: dict[str, dict[int, PageRecord]] = {section: {} for section in highest}
    suffixes: dict[str, Suffix] = {}
    indexes = []
    # The first one is asked for in any case: what is a link, say, is among no names.
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
                # What is left of a cascade that was switched off names pages a second time.
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
    """The entries of a published index; none where there is no index yet.

    `ExportError` for what is none: a part of an index could only be replaced together with the rest.
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
    """What the indexes say of a section, by the numbers of the indexes."""
    found: dict[int, list[IndexEntry]] = defaultdict(list)
    for page in record.pages:
        location = f"{url}{page_name(section, page.number, record.suffix)}"
        found[page.index_number].append(IndexEntry(location, page.changed))
    return found


def union(before: Sequence[IndexEntry], after: Sequence[IndexEntry]) -> list[IndexEntry]:
    """The entries of both, each location once."""
    return list({entry.location: entry for entry in (*before, *after)}.values())
