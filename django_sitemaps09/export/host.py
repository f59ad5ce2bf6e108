"""One run: lock the target of one host, render its sections, publish them, and report."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timezone

from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09 import stores
from django_sitemaps09.conf import conf, local_path
from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.interrupts import uninterrupted
from django_sitemaps09.export.options import ExportOptions, Host
from django_sitemaps09.export.publishing import indexes
from django_sitemaps09.export.publishing.changes import Spool, notify
from django_sitemaps09.export.publishing.promotion import clean, recover
from django_sitemaps09.export.publishing.publication import Publication
from django_sitemaps09.export.publishing.robots_files import Robots
from django_sitemaps09.export.publishing.submissions import (
    SubmissionQueue,
    activate_prepared,
    with_unqueued,
)
from django_sitemaps09.export.rendering.page import Engine, Renderer
from django_sitemaps09.export.rendering.plan import Run
from django_sitemaps09.export.rendering.section import SectionOutcome, export_section
from django_sitemaps09.export.report import Published, Report, SectionReport, peaks, record_reports
from django_sitemaps09.filenames import INDEX
from django_sitemaps09.state.history import RecordedRun
from django_sitemaps09.state.journal import RUN, read_journal
from django_sitemaps09.state.previous import check_pages
from django_sitemaps09.stores import STATE, owner

logger = logging.getLogger(__name__)


def export_host(host: Host, options: ExportOptions, engine: Engine | None) -> Report:
    """Export to one host, and return the report. Raise `ExportError` if nothing could be published."""
    started = time.perf_counter()
    event: Published | None = None
    with ExitStack() as stack:
        try:
            with _opened(host, options, engine) as (run, recovered):
                # A dry run stages no files that could be compared.
                is_queued = host.submit and conf.indexnow_key is not None and not run.previous.is_first
                spool = None
                if (options.changes or is_queued) and run.stage is not None:
                    spool = Spool(conf.indexnow_max_urls, is_complete=options.changes)
                    stack.enter_context(closing(spool))
                outcomes = _render(run)
                with uninterrupted():
                    event = _publish(run, outcomes, spool, recovered)
        except Exception as error:
            if event is None:
                raise
            # Only the end of the run has failed, such as the removal of staged files.
            failures = [*event.report.failures, f"{host.prefix}{reason_of(error)}"]
            event = replace(event, report=replace(event.report, failures=failures))
        finally:
            if event is not None:
                # What is published is announced, even if a signal then ends the run.
                own_peak, workers_peak = peaks()
                report = replace(
                    event.report,
                    seconds=time.perf_counter() - started,
                    memory=own_peak,
                    workers_memory=workers_peak,
                )
                warnings = notify(replace(event, report=report), options.on_published)
                report = replace(report, warnings=[*report.warnings, *warnings])
    return report


@contextmanager
def _opened(
    host: Host, options: ExportOptions, engine: Engine | None
) -> Iterator[tuple[Run, Sequence[str] | None]]:
    """Lock the files of a host, and finish a killed run, of which the files are yielded, too.

    A dry run does neither.
    """
    started = datetime.now(timezone.utc)
    with ExitStack() as stack:
        check: Callable[[], None] = (
            (lambda: None) if options.dry_run else stack.enter_context(stores.exclusive_lock(host.store))
        )
        journal, recovered = recover(host, check, dry_run=options.dry_run)
        previous = host.previous(journal, started.timestamp())
        if host.is_repair:
            check_pages(previous)
        names = {name: size for name, size in previous.names.items() if name not in (host.damaged or ())}
        previous = previous._replace(names=names)
        stage = None if options.dry_run else stack.enter_context(_staging(host, started))
        if stage is not None:
            # Do this even without a queue: this run replaces the manifest that names the killed run.
            activate_prepared(host.state, previous)
        renderer = Renderer(
            host.base,
            local_path(options.output, "--output"),
            host.folder,
            stage,
            host.gzip,
            get_script_prefix(),
            get_urlconf(),
        )
        yield Run(host, options, started, previous, check, renderer, engine), recovered


@contextmanager
def _staging(host: Host, started: datetime) -> Iterator[str]:
    """Yield the path of this run's staging folder. The folder is created with its first file.

    If publishing was interrupted, the folder is kept, because the next run needs its files.
    """
    clean(host.store)
    if owner(host.store, host.state):
        host.state.clean()
    folder = f"{STATE}/{RUN}{started:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    try:
        yield folder
    finally:
        if read_journal(host.state) is None:
            host.store.delete_folder(folder)


def _render(run: Run) -> dict[str, SectionOutcome]:
    """Render all sections, and return their outcomes by name."""
    options, sections = run.options, run.host.chosen
    options.on_plan({name: len(run.previous.section(name).pages) or None for name in sections})
    outcomes = {}
    for name, section in sections.items():
        outcomes[name] = export_section(run, name, section)
        options.progress(outcomes[name].report)
    getattr(run.engine, "end_run", lambda: None)()
    return outcomes


def _publish(
    run: Run,
    outcomes: Mapping[str, SectionOutcome],
    spool: Spool | None,
    recovered: Sequence[str] | None,
) -> Published:
    """Publish the outcomes; a dry run only reports them. Return what was published, and the report."""
    host, options, old_manifest = run.host, run.options, run.previous.manifest
    queue = SubmissionQueue(run, spool) if host.submit else None
    remove = [name for name in options.remove if run.previous.section(name).pages]
    publication = Publication.build(run, outcomes, remove)
    reports = tuple(outcome.report for outcome in outcomes.values())
    failures = _failures(reports, strict=options.strict)
    # The XSD requires at least one file in an index, and robots.txt must not list a missing index.
    # A section that fails while the site moves has no published files that could stay in the index.
    is_strict = options.strict or run.previous.has_moved
    can_publish = bool(publication.documents) and not (is_strict and failures)
    index_names = indexes.to_announce(publication.documents or [INDEX])
    robots = Robots.for_host(host, index_names, old_manifest.indexes)
    files_written = publication.files_to_write() if can_publish else []
    is_compared = can_publish and _compare(run, outcomes, spool, queue, remove)
    # The export is published even if robots.txt cannot be updated.
    robots.update(write=False)
    is_published = can_publish and run.stage is not None
    if is_published:
        _replace_files(publication, robots, reports, files_written, queue, is_compared=is_compared)
    if run.stage is not None:
        recorded = RecordedRun(run.started.timestamp(), is_published, failures=tuple(failures))
        record_reports(
            host.state, recorded, reports, old_manifest.sections, remove, is_repair=host.is_repair
        )
    is_empty = not publication.documents and not failures
    if host.is_whole:
        failures += _undeclared(run)
    failures += [*robots.failures, *_unannounced(publication.documents, robots)]
    failures += getattr(run.engine, "failures", ())
    complete = spool if spool is not None and spool.is_complete else None
    report = Report(
        sections=reports,
        folder=host.local_folder,
        target=host.store.label,
        index_url=host.index_url,
        published=is_published,
        robots=robots.state,
        robots_path=robots.path,
        warnings=[*_warnings(run, reports, queue, is_empty=is_empty), *robots.warnings],
        failures=[f"{host.prefix}{failure}" for failure in failures],
        seconds=0.0,
        indexes=tuple(index_names),
        written=tuple(files_written),
        deleted=publication.files_to_delete if is_published else (),
        recovered=recovered is not None,
        changes=None if complete is None else complete.counts,
        dry_run=run.stage is None,
    )
    return Published(
        report,
        [f"{host.url}{name}" for name in dict.fromkeys((*(recovered or ()), *files_written))],
        [f"{host.url}{name}" for name in publication.removed_files],
        None if complete is None else complete.changes,
    )


def _replace_files(
    publication: Publication,
    robots: Robots,
    reports: Sequence[SectionReport],
    files_written: Sequence[str],
    queue: SubmissionQueue | None,
    *,
    is_compared: bool,
) -> None:
    run, manifest, old_manifest = publication.run, publication.manifest, publication.run.previous.manifest
    has_changed = files_written or publication.removed_files or old_manifest.unqueued
    urls = robots.urls if has_changed else ()
    try:
        with queue.publishing(manifest.run, urls) if queue else nullcontext() as queued:
            manifest = with_unqueued(manifest, run, queue, queued if is_compared else None)
            replace(publication, manifest=manifest).publish(robots.publish)
    except (ExportError, OSError) as error:
        # If nothing was ever published, the target may be unusable.
        if old_manifest.sections:
            with suppress(ExportError, OSError):
                # After the lock is lost, another run may write the history.
                run.check()
                failures = (reason_of(error),)
                recorded = RecordedRun(run.started.timestamp(), is_published=False, failures=failures)
                record_reports(run.host.state, recorded, reports, old_manifest.sections, ())
        raise


def _compare(
    run: Run,
    outcomes: Mapping[str, SectionOutcome],
    spool: Spool | None,
    queue: SubmissionQueue | None,
    remove: Collection[str],
) -> bool:
    """Find the changed URLs, and return whether all were found.

    A failure ends the export only if the caller requested them.
    """
    if spool is None:
        return True
    consequence = "not all changed URLs were found, so not all were queued for submission"
    with queue.lenient(consequence) if queue and not run.options.changes else nullcontext():
        spool.fill(run.host.store, run.previous.manifest.sections, outcomes, remove)
        return True
    return False


def _failures(reports: Sequence[SectionReport], *, strict: bool) -> list[str]:
    failures = [
        f"Section {report.section!r}: {report.failure.rstrip('.')}." for report in reports if report.failure
    ]
    if strict and any(report.errors for report in reports):
        failures.append("Nothing was published, because items or elements were skipped (strict).")
    return failures


def _undeclared(run: Run) -> list[str]:
    """Return messages about published sections that are not declared, except sections to remove."""
    published = {name for name, record in run.previous.manifest.sections.items() if record.pages}
    return [
        f"Section {name!r} is published but no longer declared; its files are kept. To remove it from "
        f"the index, use --remove {name}"
        for name in sorted(published.difference(run.host.sections, run.options.remove))
    ]


def _unannounced(documents: Collection[str], robots: Robots) -> list[str]:
    """Return a list with a failure if neither robots.txt nor an index lists the several indexes."""
    if len(documents) < 2 or robots.path is not None or conf.cascade:
        return []
    return [
        f"There are {len(documents)} index files, but no robots.txt lists them. Set "
        "SITEMAPS09['ROBOTS_TXT'], pass --robots, or set SITEMAPS09['CASCADE']."
    ]


def _warnings(
    run: Run, reports: Sequence[SectionReport], queue: SubmissionQueue | None, *, is_empty: bool
) -> Iterator[str]:
    """Yield all warnings but those about robots.txt."""
    yield from run.host.warnings
    if run.host.moved_from is not None and not run.previous.has_moved:
        yield f"Nothing was moved: the target has no export of {run.host.moved_from}."
    if is_empty:
        yield "No section has any URLs, so nothing was written."
    yield from queue.warnings if queue else ()
    yield from getattr(run.engine, "warnings", ())
    for report in reports:
        if report.ignored_keys:
            # Only a project's template can write these keys.
            yield (
                f"Section {report.section!r}: exports and native views do not write these keys of its "
                f"get_urls(): {', '.join(report.ignored_keys)}. Use hooks for them, such as images() "
                "or extensions."
            )
    if run.options.changes and run.stage is None:
        yield "Changed URLs were not counted, because a dry run keeps no files to compare."
