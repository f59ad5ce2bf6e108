"""Assign pages to indexes, and build the documents of the indexes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import chain

from django_sitemaps09.conf import conf
from django_sitemaps09.protocol.documents import index_document, index_entry_size
from django_sitemaps09.protocol.entries import IndexEntry
from django_sitemaps09.protocol.filenames import INDEX, index_name, is_cascade, page_name
from django_sitemaps09.protocol.limits import INDEX_LIMITS
from django_sitemaps09.target.manifest import Manifest, SectionRecord

Sections = Mapping[str, SectionRecord]


def assign(sections: Sections, shrinking: Sections, url: str) -> Sections:
    """Return the sections with an index number for each page.

    A published page keeps its index, and a new page gets the first index with room. The transition indexes
    also list the previous pages of `shrinking` sections, so room is kept for them. If the first index would
    be empty, the next index replaces it, since crawlers know the first one.
    """
    counts, bytes_ = Counter[int](), Counter[int]()
    empty, limits = len(index_document([], styled=conf.stylesheet)), INDEX_LIMITS
    sizes = {}
    for name, record in sections.items():
        last = page_name(name, record.highest, record.suffix)
        sizes[name] = index_entry_size(f"{url}{last}")
        pages = (*record.pages, *shrinking.get(name, SectionRecord()).pages)
        for index in {page.number: page.index_number for page in pages if page.index_number}.values():
            counts[index] += 1
            bytes_[index] += sizes[name]
    numbers: dict[str, list[int]] = {name: [] for name in sections}
    index = 1
    for name, record in sections.items():
        for page in record.pages:
            if not page.index_number:
                while counts[index] >= limits.urls or (
                    counts[index] and empty + bytes_[index] + sizes[name] > limits.bytes
                ):
                    index += 1
                counts[index] += 1
                bytes_[index] += sizes[name]
            numbers[name].append(page.index_number or index)
    first = min(chain.from_iterable(numbers.values()), default=1)
    assigned = {}
    for name, record in sections.items():
        indexes = [1 if number == first else number for number in numbers[name]]
        pages = tuple(
            replace(page, index_number=each) for page, each in zip(record.pages, indexes, strict=True)
        )
        assigned[name] = replace(record, pages=pages)
    return assigned


def documents(
    sections: Sections, shrinking: Sections, url: str
) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return the transition indexes, with old and new pages, and the final indexes, by file name.

    `shrinking` has the previous sections with old pages. Without any, there are no transition indexes.
    """
    cascade, styled = conf.cascade, conf.stylesheet

    def built(records: Iterable[SectionRecord]) -> dict[str, bytes]:
        entries = _entries(records, url, cascade=cascade)
        return {name: index_document(each, styled=styled) for name, each in entries.items()}

    both = [(shrinking.get(name, record), record) for name, record in sections.items()]
    return built(chain.from_iterable(both if shrinking else ())), built(sections.values())


def published_entries(manifest: Manifest) -> dict[str, list[IndexEntry]]:
    """Return the entries of each published index, by file name, from its manifest."""
    return _entries(manifest.sections.values(), manifest.url, cascade=is_cascade(manifest.indexes))


def _entries(records: Iterable[SectionRecord], url: str, *, cascade: bool) -> dict[str, list[IndexEntry]]:
    """Return the entries of each index, each page once. The last one is the first index, or the root."""
    pages: dict[int, dict[str, IndexEntry]] = defaultdict(dict)
    for record in records:
        for page in record.pages:
            pages[page.index_number][page.name] = IndexEntry(f"{url}{page.name}", page.changed)
    numbers = sorted(pages)
    cascade = cascade and len(numbers) > 1
    names = {number: index_name(number, cascade=cascade) for number in numbers}
    entries = {names[number]: [*pages[number].values()] for number in reversed(numbers)}
    if cascade:
        entries[INDEX] = [IndexEntry(f"{url}{name}", None) for name in names.values()]
    return entries
