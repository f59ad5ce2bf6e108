"""Adopt published files that no readable manifest lists."""

from __future__ import annotations

from collections.abc import Mapping

from django_sitemaps09 import protocol
from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.filenames import INDEX, Suffix, highest_numbers, index_number, parse_page_name
from django_sitemaps09.manifest import Manifest, PageRecord, SectionRecord
from django_sitemaps09.stores import Store
from django_sitemaps09.writer.document import read_index


def adopt(store: Store, url: str, base: str, names: Mapping[str, int | None]) -> Manifest:
    """Return a manifest of the pages that the published indexes list.

    The ranges of these pages are unknown, so their sections are rebuilt with unused page numbers. An index
    that lists no existing page is ignored, unless it is `sitemap.xml`. Raise `ExportError` if an index
    cannot be read.
    """
    highest = highest_numbers(names)
    pages: dict[str, dict[int, PageRecord]] = {section: {} for section in highest}
    suffixes: dict[str, Suffix] = {}
    indexes = []
    # Always read the first index: a symbolic link, for example, is not among the names.
    numbered = [(number, name) for name in {INDEX, *names} if (number := index_number(name)) is not None]
    for index, name in sorted(numbered):
        is_ours = name == INDEX and name in names
        for entry in _read_index(store, name):
            file_name = entry.location.removeprefix(url)
            page = parse_page_name(file_name)
            if page is None or file_name not in names:
                continue
            is_ours = True
            if suffixes.setdefault(page.section, page.suffix) == page.suffix:
                record = PageRecord(page.number, None, 0, 0, 0, None, entry.lastmod, "", None, index)
                # Indexes left over from a disabled cascade list pages a second time.
                pages[page.section].setdefault(page.number, record)
        if is_ours:
            indexes.append(name)
    sections = {
        section: SectionRecord(
            suffixes.get(section, "xml.gz"), highest=highest[section], pages=(*records.values(),)
        )
        for section, records in pages.items()
    }
    return Manifest("", url, base, sections, indexes=tuple(indexes))


def _read_index(store: Store, name: str) -> list[IndexEntry]:
    """Return the entries of a published index, or an empty list if it does not exist.

    Raise `ExportError` if the file is not an index, since the entries of other sections would be lost.
    """
    content = store.read(name, protocol.MAX_BYTES)
    if content is None:
        return []
    try:
        return read_index(content)
    except ValueError as error:
        raise ExportError(
            f"{store.label}: {name} is not a sitemap index that this package can read ({error}), so the "
            "entries of other sections would be lost. Export all sections, or remove the file."
        ) from error
