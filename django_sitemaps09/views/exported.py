"""Find the pages that an export has published. The native views use the same key ranges."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import chain, count, takewhile
from typing import NamedTuple

from django_sitemaps09 import manifest, pages, sources, stores
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.pages import Page
from django_sitemaps09.sources import QuerySource, Source, has_key_ranges
from django_sitemaps09.views import caching

logger = logging.getLogger(__name__)

# Seconds until a new export is detected, unless one of its new pages is requested earlier.
_SECONDS = 10
_UNREADABLE = "django_sitemaps09:unreadable"


class Published(NamedTuple):
    """The folder of the host where a section is published, and the section's file in the manifest.

    Each run that changes a section writes a new file with another name.
    """

    folder: str
    file: str


def is_configured() -> bool:
    """Return whether the settings name a target for exports."""
    return bool(conf.storage or conf.root)


def find(section: str, source: Source, *, again: bool = False) -> Published | None:
    """Return where a section is published. The result is cached for seconds unless `again` is set."""
    if not is_configured() or not has_key_ranges(source):
        return None
    folders = [stores.host_folder(source.bases[0]), ""]
    name = f"django_sitemaps09:published:{sources.digest((section, folders))}"
    cached_value = None if again else caching.get(name)
    if isinstance(cached_value, str):
        folder, _, file = cached_value.partition("/")
        return Published(folder, file) if file else None
    published = None if caching.get(_UNREADABLE) else _find(section, folders)
    caching.store(name, "" if published is None else "/".join(published), _SECONDS)
    return published


def _find(section: str, folders: Sequence[str]) -> Published | None:
    """Find a section in the export for the host, or else in the export without host folders."""
    try:
        for folder in folders:
            root = manifest.read_root(stores.state_store(stores.target_store(None, folder), folder))
            if root is not None:
                return Published(folder, root.files[section]) if section in root.files else None
    except (ExportError, OSError) as error:
        _warn(section, error)
    return None


def _warn(section: str, error: Exception) -> None:
    # Perhaps this user cannot read the state folder, or a new run has just replaced the files there.
    logger.warning(
        "Section %r: the live pages differ from the exported ones, because the export cannot be read: "
        "%.200s",
        section,
        error,
    )
    # Without this pause, a storage that does not respond would slow down every request.
    caching.store(_UNREADABLE, True, _SECONDS)


def records(section: str, source: QuerySource, published: Published) -> list[SectionRecord]:
    """Return the current record of a section, and the record in the backup manifest if it differs.

    Stop at the first record whose pages are not ranges of the section's current key.
    """
    section_records = []
    try:
        state = stores.state_store(stores.target_store(None, published.folder), published.folder)
        section_records.append(manifest.read_section(state, published.file))
        backup = manifest.read_root(state, manifest.BACKUP)
        if backup is not None and backup.files.get(section, published.file) != published.file:
            section_records.append(manifest.read_section(state, backup.files[section]))
    except (ExportError, OSError) as error:
        if not section_records:
            _warn(section, error)
    key_identity = source.key_identity

    def is_usable(record: SectionRecord) -> bool:
        bounds = [page.until for page in record.pages if page.until is not None]
        return bool(record.pages) and record.key_identity == key_identity and source.in_order(bounds)

    return list(takewhile(is_usable, section_records))


def live_pages(record: SectionRecord, source: QuerySource, rows: int) -> list[Page]:
    """Return the published pages that have rows, and the pages that the next export will add.

    The range of a page without rows is added to the next page, so new rows in it are listed at once. A
    page that exceeds its limit is divided into pages of at most `rows` rows. Their new numbers are never
    used by an export.
    """
    *closed_pages, last_page = record.page_map().pages
    live: list[Page] = []
    for page in closed_pages:
        live += _parts(page, source, rows, live)
    if source.count(last_page.after, None, 1):
        numbers = chain([last_page.number], count(record.highest + 1))
        live += pages.each_page(source, rows, numbers, last_page.after)
    elif live:
        # Rows that are appended later belong to the page that is the last one now.
        live[-1] = live[-1]._replace(until=None)
    afters = [None, *(page.until for page in live)]
    return [page._replace(after=after) for page, after in zip(live, afters, strict=False)]


def _parts(page: Page, source: QuerySource, rows: int, previous_pages: Sequence[Page]) -> Iterator[Page]:
    # A page of `rows` rows fills 95 % of the limit.
    max_rows = max(source.rows_per_page, rows * 20 // 19)
    row_count = source.count(page.after, page.until, max_rows + 1)
    if row_count > max_rows:
        yield from sources.divide(source, page, rows, {page.number for page in previous_pages})
    elif row_count:
        yield page
