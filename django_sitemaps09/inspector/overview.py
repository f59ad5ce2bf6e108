"""The state of the sitemaps for the overview. No query depends on the number of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, NamedTuple

from django_sitemaps09 import sections, sources
from django_sitemaps09.audit import AuditReport, last_report
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import ItemError, reason_of
from django_sitemaps09.export.publishing.history import RecordedRun, read_history, section_changes
from django_sitemaps09.inspector.freshness import Freshness, freshness
from django_sitemaps09.management.status import ExportState, ExportStatus
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.sections import Section
from django_sitemaps09.sitemaps import ModelSitemap
from django_sitemaps09.views.live import maps
from django_sitemaps09.views.responses import savepoints

# Maximum number of skipped items that the overview lists.
_MAX_SKIPPED = 100


class ExportedPages(NamedTuple):
    """Exported pages of a section. `fullest_urls` and `fullest_bytes` are the maximum of all pages.

    `newest` is the newest lastmod, `changed` the time at which a page last changed. Both are strings.
    """

    pages: int
    urls: int
    size: int
    fullest_urls: int
    fullest_bytes: int
    newest: str | None
    changed: str | None


@dataclass(frozen=True, slots=True)
class SectionOverview:
    """State of a section: its exported pages, and the number of pages in its cached page map.

    `limit` is the maximum number of URLs on a page, `None` if it is unknown.
    """

    section: str
    sitemap: str | None = None
    exported: ExportedPages | None = None
    freshness: Freshness | None = None
    live_pages: int | None = None
    is_declared: bool = True
    error: str | None = None
    limit: int | None = None


class SkippedElement(NamedTuple):
    """Skipped item or element. `started` is the start of the export, in seconds since 1970."""

    section: str
    error: ItemError
    started: float


@dataclass(frozen=True, slots=True)
class Overview:
    """State of the sitemaps of one host. `audit` is the last audit, `None` if there was none."""

    base: Base
    limits: Limits
    export: ExportStatus | None
    sections: Sequence[SectionOverview]
    removed: int
    runs: Sequence[RecordedRun]
    skipped: Sequence[SkippedElement]
    audit: AuditReport | None


def overview(base: Base, export: ExportState) -> Overview:
    """Return the state of the sitemaps. Errors of the storage and of sections are part of the state."""
    declarations = sections.native_mapping()
    today = datetime.now(timezone.utc)
    names = dict.fromkeys((*declarations, *(export.root.files if export.root is not None else ())))
    with site_locale():
        section_overviews = [_section(name, declarations, base, export, today) for name in names]
    runs = _runs(export)
    return Overview(
        base=base,
        limits=conf.limits,
        export=export.status,
        sections=section_overviews,
        removed=0 if export.root is None else len(export.root.removed),
        runs=runs,
        skipped=_skipped(runs, names),
        audit=last_report(base_url=str(base)),
    )


def _runs(export: ExportState) -> list[RecordedRun]:
    try:
        return [] if export.folder is None else read_history(export.folder.state)
    except Exception:  # noqa: BLE001 the status of the export already has the error of the storage
        return []


def _section(
    name: str, declarations: Mapping[str, Section], base: Base, export: ExportState, now: datetime
) -> SectionOverview:
    record, error = None, None
    try:
        record = export.record(name)
    except Exception as storage_error:  # noqa: BLE001 each storage raises its own errors
        error = reason_of(storage_error)
    exported = None if record is None else _exported(record)
    ages = None if record is None else freshness(record.pages, now.date())
    if name not in declarations:
        return SectionOverview(name, None, exported, ages, is_declared=False, error=error)
    sitemap_name, live_pages, limit = None, None, None
    try:
        with savepoints():
            sitemap: Any = sections.bind(declarations[name], base.domain)
            sitemap_name = f"{type(sitemap).__module__}.{type(sitemap).__qualname__}"
            limit = sources.entry_limit(name, sitemap, conf.limits)
            live_pages = _live_pages(name, sitemap, base, record)
    except Exception as section_error:  # noqa: BLE001 a project's section can raise anything
        error = reason_of(section_error)
    return SectionOverview(name, sitemap_name, exported, ages, live_pages, error=error, limit=limit)


def _exported(record: SectionRecord) -> ExportedPages:
    pages = record.pages
    return ExportedPages(
        pages=len(pages),
        urls=record.urls,
        size=sum(page.size for page in pages),
        fullest_urls=max((page.urls for page in pages), default=0),
        fullest_bytes=max((page.bytes for page in pages), default=0),
        newest=max((page.newest for page in pages if page.newest), default=None),
        changed=max((page.changed for page in pages if page.changed), default=None),
    )


def _live_pages(name: str, sitemap: Any, base: Base, record: SectionRecord | None) -> int | None:
    """Return the number of pages in the cached page map, or `None`.

    `items()` can be a list of all rows, so it is only called where it is known to be a queryset.
    """
    has_rows = record.has_key_ranges if record is not None else isinstance(sitemap, ModelSitemap)
    if not has_rows or not sources.is_compiled(sitemap):
        return None
    source = sources.ranged_source(name, sitemap, base, conf.limits)
    live_map = None if source is None else maps.SectionMap(source).cached()
    return None if live_map is None else len(live_map.pages)


def _skipped(runs: Sequence[RecordedRun], names: Iterable[str]) -> list[SkippedElement]:
    """Return the skipped elements of each section, from its last complete rendering on."""
    skipped: dict[tuple[str, ItemError], SkippedElement] = {}
    for name in names:
        for run, change in section_changes(runs, name):
            for error in change.errors:
                skipped.setdefault((name, error), SkippedElement(name, error, run.started))
            if change.is_complete:
                break
    return list(skipped.values())[:_MAX_SKIPPED]
