"""Assign pages to indexes, and build the documents of the indexes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from django_sitemaps09 import protocol, writer
from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.filenames import INDEX, index_name, page_name
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.protocol import Limits

#: The limits of one index.
LIMITS = Limits(protocol.MAX_URLS, protocol.MAX_BYTES)
# The longest lastmod, since the size of an index must not depend on the values in it.
_LASTMOD = "9999-12-31T23:59:59Z"

Sections = Mapping[str, SectionRecord]


def assigned(sections: Sections, before: Sections, shrinking: Collection[str], url: str) -> Sections:
    """Return the sections with an index for each page: its own, or for a new page the first with room.

    Room is also kept for the previously published pages of `shrinking` sections, which are named for a
    while. If the first index would be empty, the next one takes its place, since the first is the one that
    crawlers know.
    """
    counts: Counter[int] = Counter()
    bytes_: Counter[int] = Counter()
    empty = len(writer.index_document([]))
    sizes = {}
    for name, record in sections.items():
        last = page_name(name, record.highest, record.suffix)
        sizes[name] = len(writer.index_document([IndexEntry(f"{url}{last}", _LASTMOD)])) - empty
        pages = {page.number: page.index_number for page in record.pages if page.index_number}
        if name in shrinking and name in before:
            pages |= {page.number: page.index_number for page in before[name].pages}
        for index in pages.values():
            counts[index] += 1
            bytes_[index] += sizes[name]
    found = {}
    index = 1
    for name, record in sections.items():
        pages_after = []
        for page in record.pages:
            if not page.index_number:
                while counts[index] >= LIMITS.urls or (
                    counts[index] and empty + bytes_[index] + sizes[name] > LIMITS.bytes
                ):
                    index += 1
                counts[index] += 1
                bytes_[index] += sizes[name]
            pages_after.append(page._replace(index_number=page.index_number or index))
        found[name] = replace(record, pages=tuple(pages_after))
    first = min((page.index_number for record in found.values() for page in record.pages), default=1)
    return found if first == 1 else {name: _renumbered(found[name], first) for name in found}


def _renumbered(record: SectionRecord, first: int) -> SectionRecord:
    """Return the record with the pages of the index `first` moved to index 1."""
    pages = (page._replace(index_number=1) if page.index_number == first else page for page in record.pages)
    return replace(record, pages=tuple(pages))


def documents(
    sections: Sections, before: Sections, shrinking: Collection[str], url: str, *, cascade: bool
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the indexes that name old and new pages, and the final ones, by file name, the root last.

    There are none of the former unless a section is `shrinking`, and none at all without pages.
    """
    after = {name: _entries(url, name, record) for name, record in sections.items()}
    final = sorted({number for found in after.values() for number in found})
    old = {page.index_number for name in shrinking if name in before for page in before[name].pages}

    def document(number: int, *, both: bool) -> bytes:
        found: list[IndexEntry] = []
        for name, by_index in after.items():
            now = by_index.get(number, [])
            if both and name in shrinking and name in before:
                now = _union(_entries(url, name, before[name]).get(number, []), now)
            found += now
        return writer.index_document(found)

    def named(*, both: bool) -> dict[str, bytes]:
        numbers = sorted({*final, *old}) if both else final
        several = cascade and len(numbers) > 1
        made = {index_name(n, cascade=several): document(n, both=both) for n in reversed(numbers)}
        if several:
            root = [IndexEntry(f"{url}{index_name(n, cascade=True)}", None) for n in numbers]
            made[INDEX] = writer.index_document(root)
        return made

    return named(both=True) if shrinking else {}, named(both=False)


def to_announce(names: Iterable[str], *, cascade: bool) -> list[str]:
    """Return the indexes that robots.txt names: the root of a cascade, otherwise all of them."""
    return [INDEX] if cascade else sorted(names, key=lambda name: (len(name), name))


def _entries(url: str, section: str, record: SectionRecord) -> dict[int, list[IndexEntry]]:
    """Return the index entries of a section's pages, by the number of the index."""
    by_index: dict[int, list[IndexEntry]] = defaultdict(list)
    for page in record.pages:
        location = f"{url}{page_name(section, page.number, record.suffix)}"
        by_index[page.index_number].append(IndexEntry(location, page.changed))
    return by_index


def _union(before: Sequence[IndexEntry], after: Sequence[IndexEntry]) -> list[IndexEntry]:
    """Return the entries of both, with each location once."""
    return list({entry.location: entry for entry in (*before, *after)}.values())
