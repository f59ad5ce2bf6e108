"""Assign pages to indexes, and build the documents of the indexes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from django_sitemaps09 import protocol, writer
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.filenames import INDEX, index_name, page_name
from django_sitemaps09.state.manifest import Manifest, SectionRecord

Sections = Mapping[str, SectionRecord]
# The index entries of each section, by index number.
_EntriesByNumber: TypeAlias = "Mapping[str, Mapping[int, list[IndexEntry]]]"


def _document(entries: Iterable[IndexEntry]) -> bytes:
    return writer.index_document(entries, styled=conf.stylesheet)


def assign(sections: Sections, previous: Sections, shrinking: Collection[str], url: str) -> Sections:
    """Return the sections with an index number for each page.

    A published page keeps its index, and a new page gets the first index with room. The transition indexes
    also list the previous pages of `shrinking` sections, so room is kept for them. If the first index would
    be empty, the next index replaces it, since crawlers know the first one.
    """
    counts: Counter[int] = Counter()
    bytes_: Counter[int] = Counter()
    empty, limits = len(_document([])), protocol.INDEX_LIMITS
    sizes = {}
    for name, record in sections.items():
        last = page_name(name, record.highest, record.suffix)
        sizes[name] = writer.index_entry_size(f"{url}{last}")
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
                while counts[index] >= limits.urls or (
                    counts[index] and empty + bytes_[index] + sizes[name] > limits.bytes
                ):
                    index += 1
                counts[index] += 1
                bytes_[index] += sizes[name]
            numbered_pages.append(replace(page, index_number=page.index_number or index))
        numbered_sections[name] = replace(record, pages=tuple(numbered_pages))
    first = min(
        (page.index_number for record in numbered_sections.values() for page in record.pages), default=1
    )
    for name, record in numbered_sections.items():
        renumbered = [
            replace(each, index_number=1) if each.index_number == first else each for each in record.pages
        ]
        numbered_sections[name] = replace(record, pages=tuple(renumbered))
    return numbered_sections


def documents(
    sections: Sections, previous: Sections, shrinking: Collection[str], url: str
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the transition indexes, with old and new pages, and the final indexes, by file name.

    The root of a cascade is last. Without `shrinking` sections, there are no transition indexes.
    """
    final = {name: _entries(url, record) for name, record in sections.items()}
    if not shrinking:
        return {}, _documents(final, url)
    transition = dict(final)
    for name in {*shrinking} & previous.keys():
        old, new = _entries(url, previous[name]), final[name]
        transition[name] = {
            # Each location once.
            number: list({e.location: e for e in (*old.get(number, ()), *new.get(number, ()))}.values())
            for number in {*old, *new}
        }
    return _documents(transition, url), _documents(final, url)


def published_entries(manifest: Manifest) -> dict[str, list[IndexEntry]]:
    """Return the entries of each published index, by file name, from its manifest."""
    final = {name: _entries(manifest.url, record) for name, record in manifest.sections.items()}
    return _by_index(final, manifest.url, cascade=index_name(1, cascade=True) in manifest.indexes)


def _documents(sections: _EntriesByNumber, url: str) -> dict[str, bytes]:
    entries_by_index = _by_index(sections, url, cascade=conf.cascade)
    return {name: _document(entries) for name, entries in entries_by_index.items()}


def _by_index(sections: _EntriesByNumber, url: str, *, cascade: bool) -> dict[str, list[IndexEntry]]:
    numbers = sorted({number for entries in sections.values() for number in entries})
    cascade = cascade and len(numbers) > 1
    entries_by_index = {
        index_name(number, cascade=cascade): [
            entry for entries in sections.values() for entry in entries.get(number, ())
        ]
        for number in reversed(numbers)
    }
    if cascade:
        entries_by_index[INDEX] = [
            IndexEntry(f"{url}{index_name(number, cascade=True)}", None) for number in numbers
        ]
    return entries_by_index


def to_announce(names: Iterable[str]) -> list[str]:
    """Return the indexes that robots.txt lists: the root of a cascade, otherwise all of them."""
    return [INDEX] if conf.cascade else sorted(names, key=lambda name: (len(name), name))


def _entries(url: str, record: SectionRecord) -> dict[int, list[IndexEntry]]:
    """Return the index entries of a section's pages, by index number."""
    by_index: dict[int, list[IndexEntry]] = defaultdict(list)
    for page in record.pages:
        by_index[page.index_number].append(IndexEntry(f"{url}{page.name}", page.changed))
    return by_index
