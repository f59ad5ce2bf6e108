"""The run for one host: lock its target, render its sections, publish them, and report."""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timezone

from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09.conf import conf, local_path
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.engines import Engine
from django_sitemaps09.export.host import Host
from django_sitemaps09.export.interrupts import uninterrupted
from django_sitemaps09.export.options import ExportOptions
from django_sitemaps09.export.page import Renderer
from django_sitemaps09.export.publishing.changes import SubmissionQueue, activate_prepared, announce
from django_sitemaps09.export.publishing.feed_file import next_feed
from django_sitemaps09.export.publishing.publication import Publication, clean, recover
from django_sitemaps09.export.publishing.robots_files import Robots
from django_sitemaps09.export.report import Published, Report, SectionReport, with_peaks
from django_sitemaps09.export.run import Run
from django_sitemaps09.export.section import SectionOutcome, export_section
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.filenames import FEED, INDEX
from django_sitemaps09.target import journal as journals
from django_sitemaps09.target.local import STATE
from django_sitemaps09.target.previous import check_pages
from django_sitemaps09.target.store import exclusive_lock, owner


def export_host(host: Host, options: ExportOptions, engine: Engine) -> Report:
    """Export to one host, and return the report. Raise `ExportError` if nothing could be published."""
    started = time.perf_counter()
    event: Published | None = None
    end_failures: list[str] = []
    with ExitStack() as stack:
        try:
            with _opened(host, options, engine) as run:
                outcomes = _render(run)
                queue = stack.enter_context(closing(SubmissionQueue(run)))
                with uninterrupted():
                    event = _publish(run, outcomes, queue)
        except Exception as error:
            if event is None:
                raise
            # Only the end of the run has failed, such as the removal of staged files.
            end_failures = [f"{host.prefix}{reason_of(error)}"]
        finally:
            if event is not None:
                # What is published is announced, even if a signal then ends the run.
                failures, seconds = [*event.report.failures, *end_failures], time.perf_counter() - started
                report = with_peaks(replace(event.report, failures=failures, seconds=seconds))
                warnings = announce(replace(event, report=report), options.on_published)
                report = replace(report, warnings=[*report.warnings, *warnings])
    return report


@contextmanager
def _opened(host: Host, options: ExportOptions, engine: Engine) -> Iterator[Run]:
    """Lock the files of a host, and finish a killed run. A dry run does neither."""
    started = datetime.now(timezone.utc)
    with ExitStack() as stack:
        lock = nullcontext(lambda: None) if options.dry_run else exclusive_lock(host.store)
        check = stack.enter_context(lock)
        journal, recovered = recover(host, check, started.timestamp(), dry_run=options.dry_run)
        previous = host.previous(journal, started.timestamp())
        if host.damaged is not None:
            check_pages(host.store, previous)
            names = {name: size for name, size in previous.names.items() if name not in host.damaged}
            previous = previous._replace(names=names)
        stage = None
        if not options.dry_run:
            clean(host.store)
            if owner(host.store, host.state):
                host.state.clean()
            # The folder is created with its first file.
            stage = f"{STATE}/{journals.RUN}{started:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
            stack.callback(_remove_stage, host, stage)
            # Do this even without a queue: this run replaces the manifest that names the killed run.
            activate_prepared(host.state, previous)
        output, prefix = local_path(options.output, "--output"), get_script_prefix()
        renderer = Renderer(host.base, output, host.folder, stage, host.gzip, prefix, get_urlconf())
        yield Run(host, options, started, previous, check, renderer, engine, recovered)


def _remove_stage(host: Host, folder: str) -> None:
    """Remove a staging folder, unless publishing was interrupted: then the next run needs its files."""
    if journals.read_journal(host.state) is None:
        host.store.delete_folder(folder)


def _render(run: Run) -> dict[str, SectionOutcome]:
    options, sections = run.options, run.host.chosen
    options.on_plan({name: len(run.previous.section(name).pages) or None for name in sections})
    outcomes = {}
    for name, section in sections.items():
        outcomes[name] = export_section(run, name, section)
        options.progress(outcomes[name].report)
    run.engine.end_run()
    return outcomes


def _publish(run: Run, outcomes: Mapping[str, SectionOutcome], queue: SubmissionQueue) -> Published:
    """Publish the outcomes; a dry run only reports them. Return what was published, and the report."""
    host, options = run.host, run.options
    publication = Publication.build(run, outcomes)
    reports = tuple(outcome.report for outcome in outcomes.values())
    failures = _failures(reports, strict=options.strict)
    # The XSD requires at least one file in an index, and robots.txt must not list a missing index.
    # A section that fails while the site moves has no published files that could stay in the index.
    is_strict = options.strict or run.previous.has_moved
    can_publish = bool(publication.documents) and not (is_strict and failures)
    feeds = [FEED] if conf.feed and publication.documents else []
    robots = Robots(host, [*publication.documents] or [INDEX], run.previous.manifest.indexes, feeds)
    if can_publish:
        queue.compare(publication.manifest, publication.staged)
        if not options.dry_run:
            publication = publication.with_feeds(next_feed(run, queue.spool, queue.warnings))
    files_written = publication.files_to_write() if can_publish else []
    # The export is published even if robots.txt cannot be updated.
    robots.update(write=False)
    is_published = can_publish and not options.dry_run
    if is_published:
        _replace_files(publication, reports, robots, queue, files_written)
    if not options.dry_run:
        run.record(reports, failures, is_published=is_published)
    warnings = [*_warnings(publication, reports, queue, failures), *robots.warnings]
    failures += _lesser_failures(run, publication.documents, robots)
    changes = queue.spool if options.changes else None
    report = Report(
        sections=reports,
        folder=host.local_folder,
        target=host.store.label,
        index_url=host.index_url,
        published=is_published,
        robots=robots.state,
        robots_path=host.robots,
        warnings=warnings,
        failures=[f"{host.prefix}{failure}" for failure in failures],
        indexes=tuple(robots.names),
        written=tuple(files_written),
        deleted=publication.files_to_delete if is_published else (),
        recovered=run.recovered is not None,
        changes=None if changes is None else changes.counts,
        dry_run=options.dry_run,
    )
    written = [f"{host.url}{name}" for name in dict.fromkeys((*(run.recovered or ()), *files_written))]
    removed = [f"{host.url}{name}" for name in publication.removed_files]
    return Published(report, written, removed, None if changes is None else changes.changes)


def _replace_files(
    publication: Publication,
    reports: Sequence[SectionReport],
    robots: Robots,
    queue: SubmissionQueue,
    files_written: Collection[str],
) -> None:
    run = publication.run
    has_changed = {*files_written} - {FEED} or publication.removed_files or run.previous.manifest.unqueued
    index_urls = robots.urls if has_changed else ()
    feed_urls = [f"{run.host.url}{FEED}"] if FEED in files_written else []
    try:
        with queue.publishing(publication.manifest, index_urls, feed_urls) as manifest:
            replace(publication, manifest=manifest).publish(robots)
    except (ExportError, OSError) as error:
        # If nothing was ever published, the target may be unusable.
        if run.previous.manifest.sections:
            with suppress(ExportError, OSError):
                # After the lock is lost, another run may write the history.
                run.check()
                run.record(reports, [reason_of(error)], is_published=False)
        raise


def _failures(reports: Sequence[SectionReport], *, strict: bool) -> list[str]:
    failures = [
        f"Section {report.section!r}: {report.failure.rstrip('.')}." for report in reports if report.failure
    ]
    if strict and any(report.errors for report in reports):
        failures.append("Nothing was published, because items or elements were skipped (strict).")
    return failures


def _lesser_failures(run: Run, documents: Collection[str], robots: Robots) -> Iterator[str]:
    """Yield the failures that never prevent publishing."""
    published = {name for name, record in run.previous.manifest.sections.items() if record.pages}
    left = published.difference(run.host.sections, run.options.remove) if run.host.is_whole else ()
    for name in sorted(left):
        yield (
            f"Section {name!r} is published but no longer declared; its files are kept. To remove it from "
            f"the index, use --remove {name}"
        )
    yield from robots.failures
    if len(documents) > 1 and run.host.robots is None and not conf.cascade:
        yield (
            f"There are {len(documents)} index files, but no robots.txt lists them. Set "
            "SITEMAPS09['ROBOTS_TXT'], pass --robots, or set SITEMAPS09['CASCADE']."
        )
    yield from run.engine.failures


def _warnings(
    publication: Publication,
    reports: Sequence[SectionReport],
    queue: SubmissionQueue,
    failures: Collection[str],
) -> Iterator[str]:
    """Yield all warnings but those about robots.txt."""
    run = publication.run
    yield from run.host.warnings
    # Of several hosts, those that have not moved are exported as usual.
    if run.host.moved_from and not (run.previous.has_moved or run.host.folder):
        yield f"Nothing was moved: the target has no export of {', '.join(run.host.moved_from)}."
    if not publication.documents and not failures:
        yield "No section has any URLs, so nothing was written."
    yield from queue.warnings
    yield from run.engine.warnings
    for report in reports:
        if report.ignored_keys:
            # Only a project's template can write these keys.
            yield (
                f"Section {report.section!r}: exports and native views do not write these keys of its "
                f"get_urls(): {', '.join(report.ignored_keys)}. Use hooks for them, such as images() "
                "or extensions."
            )
    if run.options.changes and run.options.dry_run:
        yield "Changed URLs were not counted, because a dry run keeps no files to compare."
