"""Adopt published files that no readable manifest lists."""

from __future__ import annotations

from collections.abc import Mapping

from django_sitemaps09 import protocol
from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.filenames import INDEX, Suffix, highest_numbers, index_number, parse_page_name
from django_sitemaps09.manifest import Manifest, PageRecord, SectionRecord
from django_sitemaps09.stores import Store
from django_sitemaps09.writer import reader


def adopt(target: Store, url: str, base: str, names: Mapping[str, int | None]) -> Manifest:
    """Return a manifest of the pages that the published indexes name, if there is no readable one.

    The ranges of these pages are not known, so such a section is rebuilt, with numbers that no file here
    has. Except for `sitemap.xml`, an index that names none of these files is not ours. Raise `ExportError`
    if an index cannot be read.
    """
    highest = highest_numbers(names)
    pages: dict[str, dict[int, PageRecord]] = {section: {} for section in highest}
    suffixes: dict[str, Suffix] = {}
    indexes = []
    # The first one is read in any case: a symbolic link, for example, is not among the names.
    numbered = [(number, name) for name in {INDEX, *names} if (number := index_number(name)) is not None]
    for index, name in sorted(numbered):
        is_ours = name == INDEX and name in names
        for entry in read_index(target, name):
            file_name = entry.location.removeprefix(url)
            page = parse_page_name(file_name)
            if page is None or file_name not in names:
                continue
            is_ours = True
            if suffixes.setdefault(page.section, page.suffix) == page.suffix:
                record = PageRecord(page.number, None, 0, 0, 0, None, entry.lastmod, "", None, index)
                # Leftovers of a cascade that was switched off name pages a second time.
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


def read_index(target: Store, name: str = INDEX) -> list[IndexEntry]:
    """Return the entries of a published index; an empty list if there is no index yet.

    Raise `ExportError` if the file is not an index, since the entries of other sections would be lost.
    """
    content = target.read(name, protocol.MAX_BYTES)
    if content is None:
        return []
    try:
        return reader.read_index(content)
    except ValueError as error:
        raise ExportError(
            f"{target.label}: {name} is not an index of this package ({error}), so its other sections "
            "cannot be kept. Export all sections, or remove the file."
        ) from error
