"""The pages of an export, whose bounds the live pages use if there is one."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import chain, count
from typing import NamedTuple

from django_sitemaps09 import manifest, pages, sources, stores
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.pages import Page
from django_sitemaps09.sources import QuerySource, Source, has_key_ranges
from django_sitemaps09.views import caching

logger = logging.getLogger(__name__)

# Seconds until a new export is noticed, unless one of its pages is requested before.
_SECONDS = 10
_UNREADABLE = "django_sitemaps09:unreadable"


class Published(NamedTuple):
    """The place where a section is published: its host's folder, and the section's file in the manifest.

    Each run that changes a section writes a new file for it.
    """

    folder: str
    file: str


def is_configured() -> bool:
    """Return whether the settings name a place for an export."""
    return bool(conf.storage or conf.root)


def find(section: str, source: Source, *, again: bool = False) -> Published | None:
    """Return where a section is published. The result is cached for a few seconds; `again` ignores that."""
    if not is_configured() or not has_key_ranges(source):
        return None
    folders = [stores.host_folder(source.bases[0]), ""]
    name = f"django_sitemaps09:published:{sources.digest((section, folders))}"
    cached_value = None if again else caching.get(name)
    if isinstance(cached_value, str):
        folder, _, file = cached_value.partition("/")
        return Published(folder, file) if file else None
    exported_section = None if caching.get(_UNREADABLE) else _find(section, folders)
    caching.keep(name, "" if exported_section is None else "/".join(exported_section), _SECONDS)
    return exported_section


def _find(section: str, folders: Sequence[str]) -> Published | None:
    """Look into the export of the host, else into the export that has no folder for each host."""
    try:
        for folder in folders:
            root = manifest.read_root(stores.state(stores.target(None, folder), folder))
            if root is not None:
                return Published(folder, root.files[section]) if section in root.files else None
    except (ExportError, OSError) as error:
        _warn(section, error)
    return None


def _warn(section: str, error: Exception) -> None:
    # The export's own folder can be unreadable for this user, or a new run has just replaced its files.
    logger.warning(
        "Section %r: the live pages differ from the exported ones, because the export cannot be read: "
        "%.200s",
        section,
        error,
    )
    # A storage that does not respond would slow down every request.
    caching.keep(_UNREADABLE, True, _SECONDS)


def records(section: str, source: QuerySource, exported_section: Published) -> list[SectionRecord]:
    """Return the published record of a section, then the one before the last run that changed something.

    A record is skipped, with those after it, if its pages are not ranges of the section's present key.
    """
    section_records = []
    try:
        state = stores.state(stores.target(None, exported_section.folder), exported_section.folder)
        section_records.append(manifest.read_section(state, exported_section.file))
        backup = manifest.read_root(state, manifest.BACKUP)
        if backup is not None and backup.files.get(section, exported_section.file) != exported_section.file:
            section_records.append(manifest.read_section(state, backup.files[section]))
    except (ExportError, OSError) as error:
        if not section_records:
            _warn(section, error)
    key_identity = source.key_identity
    usable = []
    for record in section_records:
        bounds = [page.until for page in record.pages if page.until is not None]
        if not record.pages or record.key_identity != key_identity or not source.in_order(bounds):
            break
        usable.append(record)
    return usable


def live_pages(record: SectionRecord, source: QuerySource, rows: int) -> list[Page]:
    """Return the published pages with their current rows, and the pages that the next export will add.

    A page without rows is skipped, and the next page takes over its range, so that rows added there are
    listed at once. A page that has outgrown its limit is divided into pages of at most `rows` rows, with
    numbers that no export uses.
    """
    pages_with_rows = _pages_with_rows(record, source, rows)
    afters = [None, *(page.until for page in pages_with_rows)]
    return [page._replace(after=after) for page, after in zip(pages_with_rows, afters, strict=False)]


def _pages_with_rows(record: SectionRecord, source: QuerySource, rows: int) -> list[Page]:
    *closed_pages, last_page = record.page_map().pages
    live: list[Page] = []
    for page in closed_pages:
        live += _parts(page, source, rows, live)
    if source.count(last_page.after, None, 1):
        numbers = chain([last_page.number], count(record.highest + 1))
        return [*live, *pages.each_page(source, rows, numbers, last_page.after)]
    # Rows that are appended belong to the page that is now the last.
    return [*live[:-1], *(page._replace(until=None) for page in live[-1:])]


def _parts(page: Page, source: QuerySource, rows: int, previous_pages: Sequence[Page]) -> Iterator[Page]:
    # Pages are cut with a margin of 5 % below their limit.
    max_rows = max(source.rows_per_page, rows * 20 // 19)
    row_count = source.count(page.after, page.until, max_rows + 1)
    if row_count > max_rows:
        yield from sources.divide(source, page, rows, {page.number for page in previous_pages})
    elif row_count:
        yield page
