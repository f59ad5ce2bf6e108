"""The state of live serving and of the export, without building page maps or rendering pages."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from typing import Any, Literal

from django.core.cache import DEFAULT_CACHE_ALIAS, caches

from django_sitemaps09 import protocol, published, sections, sources
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import excerpt, reason_of
from django_sitemaps09.exceptions import ManifestError
from django_sitemaps09.export.options import export_base
from django_sitemaps09.export.publishing.journal import read_journal
from django_sitemaps09.export.rendering.run import RUN
from django_sitemaps09.manifest import Manifest, SectionRecord, parse_time
from django_sitemaps09.protocol import Base
from django_sitemaps09.published import ExportFolder, PublishedExport
from django_sitemaps09.sections import Section
from django_sitemaps09.sources import UrlsSource, has_key_ranges
from django_sitemaps09.views import caching
from django_sitemaps09.views.live import maps
from django_sitemaps09.views.responses import is_host_from_client

#: How a section is divided into pages.
Paging = Literal["key ranges", "positions", "get_urls"]
#: How the values of a section's entries are read.
Hooks = Literal["columns", "methods"]


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """One of Django's caches. `is_shared` is `None` if the cache cannot be created."""

    alias: str
    backend: str | None = None
    is_shared: bool | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class MapStatus:
    """A cached page map. `age` is the number of seconds since it was built or renewed."""

    pages: int
    rows_per_page: int
    age: float


@dataclass(frozen=True, slots=True)
class ExportedSection:
    """The published pages of a section.

    `bytes` is the size before compression, `size` the size of the files.
    """

    pages: int
    urls: int
    bytes: int
    size: int


@dataclass(frozen=True, slots=True)
class SectionStatus:
    """A section. `hooks` is `None` for an opaque sitemap. `live` is `None` if no page map is cached."""

    section: str
    sitemap: str | None = None
    paging: Paging | None = None
    hooks: Hooks | None = None
    live: MapStatus | None = None
    export: ExportedSection | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ExportStatus:
    """The published export. `run` and `started` are those of the last run that changed anything.

    `is_unfinished` is true while a run replaces files, and after a run was killed while doing so.
    """

    target: str | None = None
    run: str | None = None
    started: datetime | None = None
    is_unfinished: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """The state of sections, and of the settings that concern them.

    `live_seconds` and `serves_exported` are the settings `LIVE_SECONDS` and `SERVE_EXPORTED`. `base_url` is
    `None` if clients choose the host. `map_cache` is the cache of page maps. `live_cache` is the cache of
    rendered pages, or `None` if there is none. `export` is `None` if the settings name no target.
    `sections` has the requested sections.
    """

    base_url: str | None
    live_seconds: float
    serves_exported: bool
    map_cache: CacheStatus
    live_cache: CacheStatus | None
    export: ExportStatus | None
    sections: Sequence[SectionStatus]

    def as_dict(self) -> dict[str, Any]:
        """Return the status as a dict for JSON."""
        document = asdict(self)
        if self.export is not None and self.export.started is not None:
            document["export"]["started"] = self.export.started.isoformat()
        return document


def status(names: Sequence[str] = (), base_url: str | None = None) -> Status:
    """Return the status of the named sections, or of all sections, for one host.

    Errors of caches, of the storage and of single sections are part of the status. Raise
    `UnknownSectionError` or `ImproperlyConfigured` for invalid arguments or settings.
    """
    declarations = dict(sections.native_mapping().items())
    for name in names:
        if name not in declarations:
            raise sections.unknown_section(name, declarations)
    has_base = base_url is not None or not is_host_from_client()
    # If clients choose the host, page maps do not depend on it.
    base = export_base(base_url) if has_base else protocol.parse_base(maps.HOST)
    map_cache = _cache(DEFAULT_CACHE_ALIAS)
    # Clients that choose the host share the bounds of the export in the target itself.
    export = ExportState.from_base(base if has_base else None)
    section_statuses = []
    for name in names or declarations:
        section_status = _section(name, declarations[name], base, is_cached=map_cache.error is None)
        section_statuses.append(_with_export(section_status, export))
    return Status(
        base_url=str(base) if has_base else None,
        live_seconds=conf.live_seconds,
        serves_exported=conf.serve_exported,
        map_cache=map_cache,
        live_cache=None if conf.live_cache is None else _cache(conf.live_cache),
        export=export.status,
        sections=section_statuses,
    )


def _cache(alias: str) -> CacheStatus:
    cache_status = CacheStatus(alias)
    try:
        is_shared, backend = caching.is_shared(alias), type(caches[alias]).__name__
        cache_status = replace(cache_status, backend=backend, is_shared=is_shared)
        caches[alias].get("django_sitemaps09:status")
    except Exception as error:  # noqa: BLE001 each backend raises its own errors
        return replace(cache_status, error=reason_of(error))
    return cache_status


def _section(name: str, section: Section, base: Base, *, is_cached: bool) -> SectionStatus:
    section_status = SectionStatus(name)
    try:
        with site_locale():
            source: Any = sources.source(name, section, base, conf.limits)
            paging, hooks = _reading(source)
            sitemap = type(source.sitemap if hooks is None else source.declaration.sitemap)
            section_status = SectionStatus(
                name, f"{sitemap.__module__}.{sitemap.__qualname__}", paging, hooks
            )
            live = maps.SectionMap(source).cached() if is_cached and has_key_ranges(source) else None
    except Exception as error:  # noqa: BLE001 a project's section can raise anything
        return replace(section_status, error=reason_of(error))
    if live is None:
        return section_status
    age = round(max(0.0, time.time() - live.looked_at), 1)
    return replace(section_status, live=MapStatus(len(live.pages), live.rows, age))


def _reading(source: Any) -> tuple[Paging, Hooks | None]:
    if isinstance(source, UrlsSource):
        return "get_urls", None
    hooks: Hooks = "methods" if source.declaration.needs_items else "columns"
    return "key ranges" if has_key_ranges(source) else "positions", hooks


@dataclass(frozen=True, slots=True)
class ExportState:
    """Export of a host, whose section files are read only when they are needed.

    All is `None` if the settings name no target. `export` is also `None` if nothing is published, and if
    the manifest cannot be read. `folder` is then that of a run which has published nothing, or of the
    damaged manifest, or `None`.
    """

    status: ExportStatus | None = None
    folder: ExportFolder | None = None
    export: PublishedExport | None = None
    _records: dict[str, SectionRecord | None] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_base(cls, base: Base | None) -> ExportState:
        """Return the export for a host, or for any host. Errors of the storage are part of its status."""
        if not published.is_configured():
            return cls()
        export_status, folder, export = ExportStatus(), None, None
        try:
            folders = published.export_folders(base)
            folder = _folder_with_state(folders, base)
            export_status = replace(export_status, target=(folder or folders[-1]).store.label)
            export = published.find_files(base)
            if export is not None:
                folder, run = export.folder, export.root.run
                export_status = ExportStatus(folder.store.label, excerpt(run), _started(run))
            is_unfinished = folder is not None and read_journal(folder.state) is not None
            export_status = replace(export_status, is_unfinished=is_unfinished)
        except Exception as error:  # noqa: BLE001 each storage raises its own errors
            export_status = replace(export_status, error=reason_of(error))
        return cls(export_status, folder, export)

    @property
    def root(self) -> Manifest | None:
        return None if self.export is None else self.export.root

    def record(self, section: str) -> SectionRecord | None:
        """Return the published record of a section, or `None`. Raise `ExportError` if it is damaged."""
        if self.export is not None and section not in self._records:
            self._records[section] = self.export.record(section)
        return self._records.get(section)


def _folder_with_state(folders: Iterable[ExportFolder], base: Base | None) -> ExportFolder | None:
    """Return the first folder with the state of any run, unless another host is published there."""
    for folder in folders:
        root = None
        with suppress(ManifestError, OSError):
            root = folder.root()
        is_foreign = root is not None and base is not None and not root.is_for(base.domain)
        if not is_foreign and folder.state.names():
            return folder
    return None


def _started(run: str) -> datetime | None:
    """Return the time at which a run started; `None` if its name does not contain the time."""
    with suppress(ValueError):
        time_part = run.removeprefix(RUN).partition("-")[0]
        started = datetime.strptime(time_part, "%Y%m%dT%H%M%S").replace(tzinfo=timezone.utc)
        # Other years cannot be shown in every time zone.
        parse_time(started.timestamp())
        return started
    return None


def _with_export(section_status: SectionStatus, export: ExportState) -> SectionStatus:
    try:
        record = export.record(section_status.section)
    except Exception as error:  # noqa: BLE001 each storage raises its own errors
        return replace(section_status, error=section_status.error or reason_of(error))
    if record is None:
        return section_status
    section_export = ExportedSection(
        pages=len(record.pages),
        urls=record.urls,
        bytes=sum(page.bytes for page in record.pages),
        size=sum(page.size for page in record.pages),
    )
    return replace(section_status, export=section_export)
