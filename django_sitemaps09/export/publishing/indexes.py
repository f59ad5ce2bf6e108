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


def assign(sections: Sections, previous: Sections, shrinking: Collection[str], url: str) -> Sections:
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
        if name in shrinking and name in previous:
            pages |= {page.number: page.index_number for page in previous[name].pages}
        for index in pages.values():
            counts[index] += 1
            bytes_[index] += sizes[name]
    numbered_sections = {}
    index = 1
    for name, record in sections.items():
        numbered_pages = []
        for page in record.pages:
            if not page.index_number:
                while counts[index] >= LIMITS.urls or (
                    counts[index] and empty + bytes_[index] + sizes[name] > LIMITS.bytes
                ):
                    index += 1
                counts[index] += 1
                bytes_[index] += sizes[name]
            numbered_pages.append(page._replace(index_number=page.index_number or index))
        numbered_sections[name] = replace(record, pages=tuple(numbered_pages))
    first = min(
        (page.index_number for record in numbered_sections.values() for page in record.pages), default=1
    )
    return (
        numbered_sections
        if first == 1
        else {name: _renumber(numbered_sections[name], first) for name in numbered_sections}
    )


def _renumber(record: SectionRecord, first: int) -> SectionRecord:
    """Return the record with the pages of the index `first` moved to index 1."""
    pages = (page._replace(index_number=1) if page.index_number == first else page for page in record.pages)
    return replace(record, pages=tuple(pages))


def documents(
    sections: Sections, previous: Sections, shrinking: Collection[str], url: str, *, cascade: bool
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the indexes that name old and new pages, and the final ones, by file name, the root last.

    There are none of the former unless a section is `shrinking`, and none at all without pages.
    """
    entries_of = {name: _entries(url, name, record) for name, record in sections.items()}
    final = sorted({number for entries_by_index in entries_of.values() for number in entries_by_index})
    old_numbers = {
        page.index_number for name in shrinking if name in previous for page in previous[name].pages
    }

    def document(number: int, *, both: bool) -> bytes:
        entries: list[IndexEntry] = []
        for name, entries_by_index in entries_of.items():
            page_entries = entries_by_index.get(number, [])
            if both and name in shrinking and name in previous:
                page_entries = _union(_entries(url, name, previous[name]).get(number, []), page_entries)
            entries += page_entries
        return writer.index_document(entries)

    def name_documents(*, both: bool) -> dict[str, bytes]:
        numbers = sorted({*final, *old_numbers}) if both else final
        several = cascade and len(numbers) > 1
        contents = {index_name(n, cascade=several): document(n, both=both) for n in reversed(numbers)}
        if several:
            root = [IndexEntry(f"{url}{index_name(n, cascade=True)}", None) for n in numbers]
            contents[INDEX] = writer.index_document(root)
        return contents

    return name_documents(both=True) if shrinking else {}, name_documents(both=False)


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


def _union(old: Sequence[IndexEntry], new: Sequence[IndexEntry]) -> list[IndexEntry]:
    """Return the entries of both, with each location once."""
    return list({entry.location: entry for entry in (*old, *new)}.values())
