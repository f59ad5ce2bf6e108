"""What is known of a host's sitemaps: its export, its sections, and their listings in the cache."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from typing import Any, Literal

from django.core.cache import DEFAULT_CACHE_ALIAS, caches

from django_sitemaps09.conf import conf, site_locale, strings
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.hosts import export_base, is_host_from_client
from django_sitemaps09.declare.models import ModelSitemap
from django_sitemaps09.declare.sections import Section
from django_sitemaps09.declare.sitemap_attributes import Declared, read
from django_sitemaps09.exceptions import ManifestError
from django_sitemaps09.protocol.fields import excerpt, first_names, reason_of
from django_sitemaps09.protocol.urls import Base, parse_base
from django_sitemaps09.rows.compile import compile_source, ranged_source
from django_sitemaps09.rows.get_urls import UrlsSource
from django_sitemaps09.rows.queryset import QuerySource, has_key_ranges
from django_sitemaps09.target.journal import RUN, read_exported, read_journal
from django_sitemaps09.target.manifest import Manifest, SectionRecord, parse_time
from django_sitemaps09.target.published import ExportFolder, PublishedExport, export_folders, find_files
from django_sitemaps09.views import caching, listing as listings
from django_sitemaps09.views.responses import savepoints

# Seconds in each unit of a lag.
_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
TOLERANCE = 60  #: Seconds that the clocks of two machines may differ.


@dataclass(frozen=True, slots=True)
class ExportState:
    """Export of a host, whose section files are read only when they are needed.

    Without an `export`, `folder` can be that of a run which has published nothing, or of a damaged
    manifest. `is_unfinished` is true while a run replaces files, and after it was killed then. `exported`
    has the start of the last run that exported a section without a failure, for each section.
    """

    is_configured: bool = True
    target: str | None = None
    folder: ExportFolder | None = None
    export: PublishedExport | None = None
    is_unfinished: bool = False
    error: str | None = None
    exported: Mapping[str, float] = field(default_factory=dict)
    _records: dict[str, SectionRecord | None] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def from_base(cls, base: Base | None) -> ExportState:
        """Return the export for a host, or for any host. Errors of the storage are part of it."""
        if not conf.has_target:
            return cls(is_configured=False)
        state = cls()
        try:
            folders = export_folders(base)
            folder = _folder_with_state(folders, base)
            state = cls(target=(folder or folders[-1]).store.label, folder=folder)
            export = find_files(base)
            if export is not None:
                folder = export.folder
                state = cls(target=folder.store.label, folder=folder, export=export)
            is_unfinished = folder is not None and read_journal(folder.state) is not None
            exported = {} if export is None else read_exported(export.folder.state)
            return replace(state, is_unfinished=is_unfinished, exported=exported)
        except Exception as error:  # noqa: BLE001 each storage raises its own errors
            return replace(state, error=reason_of(error))

    @property
    def root(self) -> Manifest | None:
        return None if self.export is None else self.export.root

    @property
    def run(self) -> str | None:
        """Name of the last run that changed anything."""
        return None if self.root is None else excerpt(self.root.run)

    @property
    def started(self) -> datetime | None:
        """Start of the last run that changed anything; `None` if its name does not contain the time."""
        with suppress(ValueError):
            time_part = (self.run or "").removeprefix(RUN).partition("-")[0]
            started = datetime.strptime(time_part, "%Y%m%dT%H%M%S").replace(tzinfo=timezone.utc)
            # Other years cannot be shown in every time zone.
            parse_time(started.timestamp())
            return started
        return None

    def record(self, section: str) -> SectionRecord | None:
        """Return the published record of a section, or `None`. Raise `ExportError` if it is damaged."""
        if self.export is not None and section not in self._records:
            self._records[section] = self.export.record(section)
        return self._records.get(section)

    def as_dict(self) -> dict[str, Any]:
        started = self.started and self.started.isoformat()
        facts = {"target": self.target, "run": self.run, "started": started}
        return {**facts, "is_unfinished": self.is_unfinished, "error": self.error}


def _folder_with_state(folders: Iterable[ExportFolder], base: Base | None) -> ExportFolder | None:
    """Return the first folder with the state of any run, unless another host is published there."""
    for folder in folders:
        is_foreign = False
        with suppress(ManifestError, OSError):
            root = folder.root()
            is_foreign = root is not None and base is not None and not root.is_for(base.domain)
        if not is_foreign and folder.state.names():
            return folder
    return None


@dataclass(frozen=True, slots=True)
class SectionStatus:
    """A section: its class, how it is read, what live indexes list of it, and its published pages.

    Each is `None` if there is none, or if it is unknown. `hooks` is also `None` for an opaque sitemap.
    `exported` is the start of its last export without a failure, in seconds since 1970.
    """

    section: str
    sitemap: str | None = None
    paging: Literal["key ranges", "positions", "get_urls"] | None = None
    hooks: Literal["columns", "methods"] | None = None
    limit: int | None = None
    live: listings.Listing | None = None
    record: SectionRecord | None = None
    exported: float | None = None
    is_declared: bool = True
    error: str | None = None

    @property
    def lag(self) -> float | None:
        """How many seconds the newest lastmod of the listing is newer than the last export.

        It is unknown if a row has no lastmod or one in the future, or a page was not counted after the
        export, and for a date of the day of the export, which does not tell the time.
        """
        if self.live is None or self.exported is None:
            return None
        lastmods = [page.newest or "" for page in self.live.pages if page.rows != 0]
        try:
            # Python 3.10 cannot parse `Z`. A date is a day in the project's time zone.
            times = [datetime.fromisoformat(text.replace("Z", "+00:00")) for text in lastmods]
            newest = max(time.replace(tzinfo=time.tzinfo or conf.zone) for time in times)
        except ValueError:
            return None
        lag, is_date = newest.timestamp() - self.exported, "T" not in max(lastmods)
        is_future = newest.timestamp() > self.live.looked_at + TOLERANCE
        is_unknown = lag <= 0 and (self.live.looked_at < self.exported or (is_date and lag > -86_400))
        return None if is_future or is_unknown else max(0.0, lag)

    @property
    def lag_text(self) -> str:
        """The lag in the largest unit of which there are at least two: "4.5 hours"."""
        if not self.lag:
            return "unknown" if self.lag is None else "none"
        unit = next((unit for unit, seconds in _UNITS.items() if self.lag >= 2 * seconds), "second")
        number = f"{self.lag / _UNITS[unit]:,.1f}".removesuffix(".0")
        return f"{number} {unit}" if number == "1" else f"{number} {unit}s"

    def as_dict(self) -> dict[str, Any]:
        live = export = exported = None
        if self.live is not None:
            # Seconds since all pages were counted.
            age = round(max(0.0, time.time() - self.live.looked_at), 1)
            live = {"pages": len(self.live.pages), "rows_per_page": self.live.rows, "age": age}
        if self.record is not None:
            pages = self.record.pages
            sizes = {name: sum(getattr(page, name) for page in pages) for name in ("bytes", "size")}
            export = {"pages": len(pages), "urls": self.record.urls, **sizes}
        if self.exported is not None:
            exported = datetime.fromtimestamp(self.exported, timezone.utc).isoformat()
        document = {name: getattr(self, name) for name in ("section", "sitemap", "paging", "hooks")}
        document |= {"live": live, "export": export, "exported": exported}
        return {**document, "lag": self.lag, "error": self.error}


def _section_status(
    name: str, section: Section | None, base: Base, export: ExportState, *, is_exact: bool, has_cache: bool
) -> SectionStatus:
    """Return the status of a section. Errors of the storage and of the section are part of it.

    Unless `is_exact`, no query depends on the number of rows, and how the section is read stays unknown.
    """
    status = SectionStatus(name, exported=export.exported.get(name), is_declared=section is not None)
    try:
        status = replace(status, record=export.record(name))
    except Exception as storage_error:  # noqa: BLE001 each storage raises its own errors
        status = replace(status, error=reason_of(storage_error))
    if section is None:
        return status
    try:
        with savepoints():
            if is_exact:
                source: Any = compile_source(name, section, base, conf.limits)
                declared = source.declared
            else:
                declared = read(sections.bind(section, base.domain), base, conf.limits)
            kind = type(declared.sitemap)
            status = replace(status, sitemap=f"{kind.__module__}.{kind.__qualname__}", limit=declared.limit)
            if is_exact:
                status = _with_reading(status, source)
            else:
                source = unread_source(name, declared, status.record)
            is_listed = has_cache and source is not None and has_key_ranges(source)
            return replace(status, live=read_listing(source, section, base) if is_listed else None)
    except Exception as section_error:  # noqa: BLE001 a project's section can raise anything
        return replace(status, error=reason_of(section_error))


def read_listing(source: QuerySource, declaration: Section, base: Base) -> listings.Listing | None:
    """Return what the live indexes of a host list of a section, or `None`."""
    name = listings.listing_name(source.section, declaration, base, listings.default_namespace())
    return listings.read(name, source.members.key)


def _with_reading(status: SectionStatus, source: Any) -> SectionStatus:
    if isinstance(source, UrlsSource):
        return replace(status, paging="get_urls")
    hooks: Any = "methods" if source.conversion.needs_items else "columns"
    return replace(status, paging="key ranges" if has_key_ranges(source) else "positions", hooks=hooks)


def sentences(texts: Iterable[tuple[str, str]]) -> list[str]:
    """Return sentences from the names of sections and texts. Sections with the same text share one."""
    names: dict[str, list[str]] = {}
    for section, text in texts:
        names.setdefault(text, []).append(repr(section))
    return [f"Section{'s' if each[1:] else ''} {first_names(each)}{text}" for text, each in names.items()]


def unread_source(name: str, declared: Declared, record: SectionRecord | None) -> QuerySource | None:
    """Return the source of a sitemap, or `None`, without reading or counting items."""
    # `items()` can return a list of all rows, but not if the pages are key ranges, or of a model sitemap.
    is_model = isinstance(declared.sitemap, ModelSitemap)
    has_rows = record.has_key_ranges if record and record.pages else is_model
    return ranged_source(name, declared) if has_rows and declared.hooks else None


@dataclass(frozen=True, slots=True)
class CacheStatus:
    """One of Django's caches. `is_shared` is `None` if the cache cannot be created."""

    alias: str
    backend: str | None = None
    is_shared: bool | None = None
    error: str | None = None

    @classmethod
    def from_alias(cls, alias: str, *, probes: bool) -> CacheStatus:
        status = cls(alias)
        try:
            status = cls(alias, type(caches[alias]).__name__, caching.is_shared(alias))
            if probes:
                caches[alias].get("django_sitemaps09:status")
            return status
        except Exception as error:  # noqa: BLE001 each backend raises its own errors
            return replace(status, error=reason_of(error))


@dataclass(frozen=True, slots=True)
class Status:
    """The state of sections, and of the settings that concern them.

    `base_url` is `None` if clients choose the host. `live_cache` is the cache of rendered pages, if any.
    """

    base_url: str | None
    live_seconds: float
    serves_exported: bool
    listing_cache: CacheStatus
    live_cache: CacheStatus | None
    export: ExportState
    sections: Sequence[SectionStatus]

    def as_dict(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in ("base_url", "live_seconds", "serves_exported")},
            "listing_cache": asdict(self.listing_cache),
            "live_cache": self.live_cache and asdict(self.live_cache),
            "export": self.export.as_dict() if self.export.is_configured else None,
            "sections": [section.as_dict() for section in self.sections],
        }


def status(names: Sequence[str] = (), base_url: str | None = None, *, is_thorough: bool = True) -> Status:
    """Return the status of the named sections, or of all declared and published sections, for one host.

    Unless `is_thorough`, no query depends on the number of rows, and caches are only accessed for listings.
    Errors of caches, of the storage and of sections are part of the status. Raise `UnknownSectionError` or
    `ImproperlyConfigured` for invalid arguments or settings.
    """
    declarations = dict(sections.native_mapping().items())
    sections.check_known(strings(names, "names"), declarations)
    has_base = base_url is not None or not is_host_from_client()
    # If clients choose the host, listings do not depend on it.
    base = export_base(base_url) if has_base else parse_base(listings.HOST)
    listing_cache = CacheStatus.from_alias(DEFAULT_CACHE_ALIAS, probes=is_thorough)
    live_alias = conf.live_cache
    # Clients that choose the host share the bounds of the export in the target itself.
    export = ExportState.from_base(base if has_base else None)
    shown = names or dict.fromkeys((*declarations, *(export.root.files if export.root else ())))
    options = {"is_exact": is_thorough, "has_cache": listing_cache.error is None}
    with site_locale():
        states = [_section_status(name, declarations.get(name), base, export, **options) for name in shown]
    # The manifest keeps the page numbers of a section that was removed.
    states = [
        each for each in states if each.is_declared or each.error or (each.record and each.record.pages)
    ]
    return Status(
        base_url=str(base) if has_base else None,
        live_seconds=conf.live_seconds,
        serves_exported=conf.serve_exported,
        listing_cache=listing_cache,
        live_cache=None if live_alias is None else CacheStatus.from_alias(live_alias, probes=is_thorough),
        export=export,
        sections=states,
    )
