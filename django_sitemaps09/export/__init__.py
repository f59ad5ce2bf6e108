"""The export: every section rendered to staged files, then published, the index last."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09 import protocol, sections
from django_sitemaps09 import robots as robots_txt
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.exceptions import ExportError, SitemapError
from django_sitemaps09.export import engines, files, published
from django_sitemaps09.export.render import Renderer
from django_sitemaps09.export.report import PageFile, Report, RobotsState, SectionReport
from django_sitemaps09.protocol import Base, past
from django_sitemaps09.sections import Section

__all__ = ["PageFile", "Report", "SectionReport", "export"]

logger = logging.getLogger(__name__)


def export(
    names: Sequence[str] = (),
    *,
    output: Path | str | None = None,
    robots: Path | str | None = None,
    base_url: str | None = None,
    gzip: bool | None = None,
    strict: bool = False,
    dry_run: bool = False,
    workers: int = 1,
    sitemaps: Mapping[str, Section] | None = None,
    progress: Callable[[SectionReport], object] = lambda section: None,
) -> Report:
    """Renders the named sections, or all, to files, and tells what came of it.

    What is not given is taken from the settings. `strict` publishes nothing if anything at all had
    to be left out. With more than one of `workers`, pages are rendered in so many processes, which
    find the sections by the setting or the registry. `progress` is called after each section.

    `ExportError`, `UnknownSectionError` or `ImproperlyConfigured` where it cannot start, or where
    the index cannot be written: nothing published is touched then.
    """
    started = time.perf_counter()
    if workers < 1:
        raise ImproperlyConfigured(f"An export needs at least one worker, not {workers}.")
    if workers > 1 and sitemaps is not None:
        raise ImproperlyConfigured(
            "Sections that are passed to export() cannot be found by other processes: name their dict "
            "in SITEMAPS09['SITEMAPS'], or export with one worker."
        )
    chosen, known = _chosen(names, sitemaps)
    base = export_base(base_url)
    folder, mode = files.target(None if output is None else Path(output))
    gzip = conf.gzip if gzip is None else gzip
    url = conf.files_url or f"{base}/"
    path = conf.robots_txt if robots is None else Path(robots)
    with nullcontext() if dry_run else files.only_one(folder) as state:
        with nullcontext() if state is None else files.staging(state) as stage:
            renderer = Renderer(base, stage, gzip, mode, get_script_prefix(), get_urlconf())
            reports = []
            with engines.processes(workers) if workers > 1 else nullcontext() as submit:
                for name, section in chosen.items():
                    reports.append(renderer.section(name, section, submit, workers))
                    progress(reports[-1])
            failures = _failures(reports, strict=strict)
            index = _index(folder, url, reports, known, whole=not names)
            # The XSD wants one file in an index, and a robots.txt names no index that is not there.
            publish = bool(index) and not (strict and failures)
            if publish and stage is not None:
                _publish(folder, stage, reports, index, mode)
        index_url = f"{url}{published.INDEX}"
        state_of_robots, warnings, failure = _robots(path, base, index_url, write=publish and not dry_run)
    return Report(
        sections=tuple(reports),
        folder=folder,
        index_url=index_url,
        published=publish and not dry_run,
        robots=state_of_robots,
        robots_path=path,
        warnings=warnings if index else [_EMPTY, *warnings],
        failures=[*failures, *failure],
        seconds=time.perf_counter() - started,
    )


def export_base(base_url: str | None) -> Base:
    """What locations are joined to where no request tells.

    `base_url`, else the setting, else the current `Site` with https.
    """
    if base_url is not None:
        try:
            return protocol.parse_base(base_url)
        except ValueError as error:
            raise ImproperlyConfigured(f"--base-url: {error}.") from error
    if conf.base_url is not None:
        return conf.base_url
    if apps.is_installed("django.contrib.sites"):
        site = apps.get_model("sites", "Site")
        try:
            return protocol.parse_base(f"https://{site.objects.get_current().domain}")
        except (site.DoesNotExist, ImproperlyConfigured, ValueError) as error:
            raise ImproperlyConfigured(f"{_NO_BASE} The sites framework says: {error}") from error
    raise ImproperlyConfigured(_NO_BASE)


_EMPTY = "There is no URL in any section: nothing was written, and what was published stays as it was."

_NO_BASE = (
    "The host of the exported URLs is not known: set SITEMAPS09['BASE_URL'] to something like "
    "'https://www.example.com', or give --base-url, or use the sites framework."
)


def _chosen(
    names: Sequence[str], sitemaps: Mapping[str, Section] | None
) -> tuple[Mapping[str, Section], Mapping[str, Section]]:
    """The sections to export, and all that there are."""
    known = sections.named(sitemaps)
    if not known:
        raise ExportError(
            "There is no section to export. Register sitemaps in an app's sitemaps.py, or set "
            "SITEMAPS09['SITEMAPS'] to the dotted path of a dict of them: one that is only passed to "
            "views in a URLconf is not visible here."
        )
    for name in names:
        if name not in known:
            raise sections.unknown(name, known)
    return {name: known[name] for name in names} if names else known, known


def _failures(reports: Sequence[SectionReport], *, strict: bool) -> list[str]:
    """Why the run cannot end well."""
    failures = [f"Section {report.section!r}: {report.failure}." for report in reports if report.failure]
    if strict and any(report.left_out for report in reports):
        failures.append("Something was left out, so that nothing is published (strict).")
    return failures


def _index(
    folder: Path,
    url: str,
    reports: Sequence[SectionReport],
    known: Mapping[str, Section],
    *,
    whole: bool,
) -> bytes:
    """The index over what is published now, and what stays of other sections; empty if it names nothing."""
    new = {
        report.section: [IndexEntry(f"{url}{file.name}", past(file.lastmod)) for file in report.files]
        for report in reports
        if not report.failure
    }
    old: list[IndexEntry] = []
    if not whole or len(new) < len(reports):
        old = published.read_index(folder / published.INDEX)
        if whole:
            old = [entry for entry in old if published.section_of(entry.location) in known]
    entries = published.merged(old, new, known)
    return published.index_document(entries) if entries else b""


def _publish(
    folder: Path,
    stage: Path,
    reports: Sequence[SectionReport],
    index: bytes,
    mode: int | None,
) -> None:
    """The pages to their places, then the index that names them."""
    files.write_new(stage / published.INDEX, index, mode)
    for name in (published.INDEX, *(file.name for report in reports for file in report.files)):
        if (folder / name).is_dir():
            raise ExportError(f"{folder / name} is a folder. Remove it; nothing was published.")
    for report in reports:
        for file in report.files:
            (stage / file.name).replace(folder / file.name)
    files.sync(folder)
    (stage / published.INDEX).replace(folder / published.INDEX)
    files.sync(folder)


def _robots(
    path: Path | None, base: Base, index_url: str, *, write: bool
) -> tuple[RobotsState, list[str], list[str]]:
    """robots.txt brought up to date: what became of it, what to warn of, what failed."""
    if path is None:
        return "none", [], []
    try:
        before = files.read_regular(path, 10 * robots_txt.MAX_BYTES)
        after = robots_txt.update(before, [index_url])
        if write and after != before:
            files.replace(path, after)
    except (SitemapError, OSError) as error:
        return "failed", [], [f"{path} was left as it is: {error}"]
    # The rules of a file say nothing about other hosts.
    here = [index_url] if index_url.startswith(f"{base}/") else []
    warnings = [
        f"{path}: {warning.removeprefix('robots.txt: ')}" for warning in robots_txt.warnings(after, here)
    ]
    if after == before:
        return "unchanged", warnings, []
    return "written" if write else "stale", warnings, []
