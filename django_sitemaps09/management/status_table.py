"""Formatting of the status as text: settings, caches and the export, then a table of sections."""

from __future__ import annotations

from collections.abc import Iterator

from django_sitemaps09.management.columns import aligned
from django_sitemaps09.management.status import CacheStatus, ExportStatus, SectionStatus, Status

_HEAD = (
    *("section", "class", "read as", "live pages", "rows a page", "age (s)"),
    *("exported", "URLs", "bytes", "on disk"),
)
# The first columns are text and aligned to the left, all others are numbers.
_TEXTS = 3


def lines(status: Status) -> Iterator[str]:
    """Yield the lines of a status."""
    seconds = f"LIVE_SECONDS: {status.live_seconds:g}"
    yield f"Host: {status.base_url or 'from the request'}; {seconds}"
    yield f"Page maps: {_cache(status.map_cache)}"
    live_cache = "not cached (LIVE_CACHE)" if status.live_cache is None else _cache(status.live_cache)
    yield f"Rendered pages: {live_cache}"
    yield f"Export: {'no STORAGE or ROOT' if status.export is None else _export(status.export)}"
    if status.serves_exported:
        yield "The native views serve the exported files (SERVE_EXPORTED)."
    yield ""
    yield from aligned([_HEAD, *map(_row, status.sections)], _TEXTS)
    for section in status.sections:
        if section.error is not None:
            yield f"{section.section}: {section.error}"


def _cache(cache: CacheStatus) -> str:
    description = f"cache {cache.alias!r}"
    if cache.backend is not None:
        shared = "shared" if cache.is_shared else "not shared, so this command cannot see other processes'"
        description += f" ({cache.backend}, {shared})"
    return description if cache.error is None else f"{description} fails: {cache.error}"


def _export(export: ExportStatus) -> str:
    description = export.target or ""
    if export.error is not None:
        return f"{description} cannot be read: {export.error}".lstrip()
    if export.run is None:
        description += ", nothing published"
    elif export.started is not None:
        description += f", last changed by the run of {export.started:%Y-%m-%d %H:%M:%S} UTC"
    if export.is_unfinished:
        description += ". A run is publishing, or was killed while publishing; the next run completes it"
    return description


def _row(section: SectionStatus) -> tuple[str, ...]:
    live, export = section.live, section.export
    reading = ", ".join(word for word in (section.paging, section.hooks) if word)
    live_values = (live.pages, live.rows_per_page, round(live.age)) if live else (None,) * 3
    export_values = (export.pages, export.urls, export.bytes, export.size) if export else (None,) * 4
    values = ("-" if value is None else f"{value:,}" for value in (*live_values, *export_values))
    return section.section, section.sitemap or "-", reading or "-", *values
