"""Find what an export has published. The pages of the native views have the same key ranges."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import chain, count, takewhile
from typing import NamedTuple

from django.core.cache.backends.locmem import LocMemCache

from django_sitemaps09 import manifest, pages, sources, stores
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.filenames import parse_page_name
from django_sitemaps09.manifest import Manifest, SectionRecord
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources import QuerySource, Source, has_key_ranges
from django_sitemaps09.views import caching

logger = logging.getLogger(__name__)

# Seconds until a new export is detected, unless one of its new pages is requested earlier.
_SECONDS = 10
_UNREADABLE = "django_sitemaps09:unreadable"
# Exports by host, in the memory of each process: sending them through a cache would take longer.
_exports = LocMemCache("django_sitemaps09:exports", {"TIMEOUT": _SECONDS, "MAX_ENTRIES": 1_000})


class Published(NamedTuple):
    """The folder of the host where a section is published, and the section's file in the manifest.

    Each run that changes a section writes a new file with another name.
    """

    folder: str
    file: str


class Export(NamedTuple):
    """The export for a host: its folder in the target, and its manifest without sections."""

    folder: str
    root: Manifest

    def lists(self, name: str) -> bool:
        """Return whether a file name belongs to the export.

        Every page of a published section does: an index lists new pages before the manifest does.
        """
        page = parse_page_name(name)
        if page is not None and page.section in self.root.files:
            return True
        return name in (*self.root.indexes, *self.root.stylesheets, *self.root.removed)


def is_configured() -> bool:
    """Return whether the settings name a target for exports."""
    return bool(conf.storage or conf.root)


def current_export(base: Base) -> Export | None:
    """Return the export for a host. It is at most ten seconds old; `None` is cached, too.

    Raise `ExportError` or `OSError` if it cannot be read.
    """
    key = sources.digest(base.domain)
    cached_value: tuple[Export | None] | None = _exports.get(key)
    if cached_value is not None:
        return cached_value[0]
    export = _find_export((stores.host_folder(base), ""))
    if export is not None and not export.root.is_for(base.domain):
        export = None
    _exports.set(key, (export,))
    return export


def ignore_export(base: Base, error: Exception) -> None:
    """Log that the export for a host cannot be read, and ignore this export for ten seconds."""
    log_unreadable(str(base), error)
    # Without this pause, a storage that does not respond would slow down every request.
    _exports.set(sources.digest(base.domain), (None,))


def log_unreadable(name: str, error: Exception) -> None:
    """Log that a file or an export cannot be read, at most every ten seconds."""
    if _exports.add(sources.digest(("unreadable", name)), ()):
        logger.warning("Live pages are served, because an exported file cannot be read: %.200s", error)


def _find_export(folders: Sequence[str]) -> Export | None:
    """Find the export for a host, or else the export without host folders."""
    for folder in folders:
        root = manifest.read_root(stores.state_store(stores.target_store(None, folder), folder))
        if root is not None:
            return Export(folder, root)
    return None


def find(section: str, source: Source, *, again: bool = False) -> Published | None:
    """Return where a section is published. The result is cached briefly; `again` ignores the cached one."""
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
    try:
        export = _find_export(folders)
    except (ExportError, OSError) as error:
        _warn(section, error)
        return None
    if export is None or section not in export.root.files:
        return None
    return Published(export.folder, export.root.files[section])


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
    # A page of `rows` rows fills 95% of the limit.
    max_rows = max(source.rows_per_page, rows * 20 // 19)
    row_count = source.count(page.after, page.until, max_rows + 1)
    if row_count > max_rows:
        yield from sources.divide(source, page, rows, {page.number for page in previous_pages})
    elif row_count:
        yield page
