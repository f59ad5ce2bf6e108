"""Export to one host: the previous state, the publication and the report."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from django_sitemaps09 import stores
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.options import ExportOptions, HostOptions
from django_sitemaps09.export.publishing import indexes
from django_sitemaps09.export.publishing.changes import Published, Spool, notify
from django_sitemaps09.export.publishing.promotion import PublishTarget, clean, recover
from django_sitemaps09.export.publishing.publication import Publication
from django_sitemaps09.export.publishing.robots_files import Robots
from django_sitemaps09.export.publishing.submissions import (
    SubmissionQueue,
    activate_prepared,
    with_unqueued,
)
from django_sitemaps09.export.rendering.page import HostTarget
from django_sitemaps09.export.rendering.records import SectionOutcome
from django_sitemaps09.export.report import Report, SectionReport, peaks, record_reports
from django_sitemaps09.filenames import INDEX
from django_sitemaps09.state.history import RecordedRun
from django_sitemaps09.state.journal import RUN, read_journal
from django_sitemaps09.state.previous import PreviousState, check_pages, load
from django_sitemaps09.stores import STATE, owner
from django_sitemaps09.stores.local import LocalStore

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class HostExport:
    """Export to one host. Except in a dry run, the host's files are locked.

    `recovered` lists the files of a killed run that was finished first; it is `None` if no run was killed.
    `stage` is the folder of new files, `None` in a dry run. `spool` collects the changed URLs if they are
    requested, or if `queue` submits them.
    """

    host_options: HostOptions
    publish_target: PublishTarget
    previous: PreviousState
    recovered: tuple[str, ...] | None
    stage: str | None
    spool: Spool | None
    queue: SubmissionQueue | None

    @property
    def changes(self) -> Spool | None:
        """The complete changed URLs if the caller requested them, otherwise `None`."""
        return self.spool if self.spool is not None and self.spool.is_complete else None

    @property
    def host_target(self) -> HostTarget:
        return HostTarget(
            self.host_options.base, self.host_options.output, self.stage, self.host_options.folder
        )

    @property
    def published_sections(self) -> set[str]:
        return {name for name, record in self.previous.manifest.sections.items() if record.pages}

    def end(
        self, outcomes: Mapping[str, SectionOutcome], options: ExportOptions, started: datetime
    ) -> HostResult:
        """Publish the outcomes; a dry run only reports them."""
        old_manifest, store, remove = self.previous.manifest, self.publish_target.store, options.remove
        publication = Publication.build(
            self.previous, outcomes, self.host_options.all_sections, remove, started.timestamp(), self.stage
        )
        reports = tuple(outcome.report for outcome in outcomes.values())
        failures = _failures(reports, strict=options.strict)
        # The XSD requires at least one file in an index, and robots.txt must not list a missing index.
        can_publish = bool(publication.documents) and not (options.strict and failures)
        index_names = indexes.to_announce(publication.documents or [INDEX])
        robots = Robots.for_host(self.host_options, index_names, old_manifest.indexes)
        files_written = publication.files_to_write(store) if can_publish else []
        is_compared = can_publish and self._compare(outcomes, options)
        # The export is published even if robots.txt cannot be updated.
        robots.update(write=False)
        is_published = can_publish and self.stage is not None
        if is_published:
            self._publish(publication, robots, reports, files_written, started, is_compared=is_compared)
        if self.stage is not None:
            run = RecordedRun(started.timestamp(), is_published, failures=tuple(failures))
            is_repair, state = self.host_options.is_repair, self.publish_target.state
            record_reports(state, run, reports, old_manifest.sections, remove, is_repair=is_repair)
        warnings = self._warnings(reports, options, is_empty=not publication.documents and not failures)
        if self.host_options.is_whole:
            failures += self._undeclared(remove)
        report = Report(
            sections=reports,
            folder=store.folder if isinstance(store, LocalStore) else None,
            target=store.label,
            index_url=f"{self.host_options.url}{INDEX}",
            published=is_published,
            robots=robots.state,
            robots_path=robots.path,
            warnings=[*warnings, *robots.warnings],
            failures=[*self.name_host(robots.failures), *_unannounced(publication.documents, robots)],
            seconds=0.0,
            indexes=tuple(index_names),
            written=tuple(files_written),
            deleted=publication.files_to_delete if is_published else (),
            recovered=self.recovered is not None,
            changes=None if self.changes is None else self.changes.counts,
            dry_run=self.stage is None,
        )
        return HostResult(self, report, failures, publication.removed_files)

    def name_host(self, failures: Iterable[str]) -> list[str]:
        """Return failures with the host in front of each, unless the export is for one host only."""
        prefix = f"{self.host_options.base}: " if self.host_options.folder else ""
        return [f"{prefix}{failure}" for failure in failures]

    def _publish(
        self,
        publication: Publication,
        robots: Robots,
        reports: Sequence[SectionReport],
        files_written: Sequence[str],
        started: datetime,
        *,
        is_compared: bool,
    ) -> None:
        manifest, old_manifest = publication.manifest, self.previous.manifest
        has_changed = files_written or publication.removed_files or old_manifest.unqueued
        urls = robots.urls if has_changed else ()
        try:
            with self.queue.publishing(manifest.run, urls) if self.queue else nullcontext() as queued:
                manifest = with_unqueued(
                    manifest,
                    self.previous,
                    self.queue,
                    started.timestamp(),
                    queued if is_compared else None,
                    is_repair=self.host_options.is_repair,
                )
                publication = replace(publication, manifest=manifest)
                publication.publish(self.publish_target, robots.publish)
        except (ExportError, OSError) as error:
            # If nothing was ever published, the target may be unusable.
            if old_manifest.sections:
                with suppress(ExportError, OSError):
                    # After the lock is lost, another run may write the history.
                    self.publish_target.check()
                    run = RecordedRun(started.timestamp(), is_published=False, failures=(reason_of(error),))
                    record_reports(self.publish_target.state, run, reports, old_manifest.sections, ())
            raise

    def _compare(self, outcomes: Mapping[str, SectionOutcome], options: ExportOptions) -> bool:
        """Find the changed URLs, and return whether all were found.

        A failure ends the export only if the caller requested them.
        """
        if self.spool is None:
            return True
        consequence = "not all changed URLs were found, so not all were queued for submission"
        with self.queue.lenient(consequence) if self.queue and not options.changes else nullcontext():
            sections = self.previous.manifest.sections
            self.spool.fill(self.publish_target.store, sections, outcomes, options.remove)
            return True
        return False

    def _warnings(
        self, reports: Iterable[SectionReport], options: ExportOptions, *, is_empty: bool
    ) -> Iterator[str]:
        """Yield all warnings but those about robots.txt."""
        yield from self.host_options.warnings
        if is_empty:
            yield "No section has any URLs, so nothing was written."
        yield from self.queue.warnings if self.queue else ()
        for report in reports:
            if report.ignored_keys:
                # Only a project's template can write these keys.
                yield (
                    f"Section {report.section!r}: exports and native views do not write these keys of its "
                    f"get_urls(): {', '.join(report.ignored_keys)}. Use hooks for them, such as images() "
                    "or extensions."
                )
        if options.changes and self.stage is None:
            yield "Changed URLs were not counted, because a dry run keeps no files to compare."

    def _undeclared(self, remove: Collection[str]) -> list[str]:
        """Return messages about published sections that are not declared, except sections to `remove`."""
        return [
            f"Section {name!r} is published but no longer declared; its files are kept. To remove it from "
            f"the index, use --remove {name}"
            for name in sorted(self.published_sections.difference(self.host_options.all_sections, remove))
        ]


@contextmanager
def open_host(host_options: HostOptions, options: ExportOptions, started: datetime) -> Iterator[HostExport]:
    """Lock the files of one host, and finish a killed run. A dry run does neither."""
    store = stores.target_store(host_options.output, host_options.folder)
    with ExitStack() as stack:
        check: Callable[[], None] = (
            (lambda: None) if options.dry_run else stack.enter_context(stores.exclusive_lock(store))
        )
        publish_target = PublishTarget(store, stores.state_store(store, host_options.folder), check)
        journal, recovered = recover(publish_target, host_options, dry_run=options.dry_run)
        previous = load(
            store,
            publish_target.state,
            host_options.site,
            journal,
            started.timestamp(),
            is_whole=host_options.is_whole,
        )
        if host_options.is_repair:
            check_pages(previous)
        damaged = (options.damaged or {}).get(host_options.folder, ())
        names = {name: size for name, size in previous.names.items() if name not in damaged}
        previous = previous._replace(names=names)
        stage = None if options.dry_run else stack.enter_context(_staging(publish_target, started))
        if stage is not None:
            # Do this even without a queue: this run replaces the manifest that names the killed run.
            activate_prepared(publish_target, previous)
        # A dry run stages no files that could be compared.
        is_queued = host_options.submit and conf.indexnow_key is not None and not previous.is_first
        is_compared = (options.changes or is_queued) and stage is not None
        spool = Spool(conf.indexnow_max_urls, is_complete=options.changes) if is_compared else None
        queue = SubmissionQueue(publish_target, previous, spool) if host_options.submit else None
        try:
            yield HostExport(host_options, publish_target, previous, recovered, stage, spool, queue)
        except BaseException:
            if spool is not None:
                spool.close()
            raise


@contextmanager
def _staging(publish_target: PublishTarget, started: datetime) -> Iterator[str]:
    """Yield the path of this run's staging folder. The folder is created with its first file.

    If publishing was interrupted, the folder is kept, because the next run needs its files.
    """
    clean(publish_target.store)
    if owner(publish_target.store, publish_target.state):
        publish_target.state.clean()
    folder = f"{STATE}/{RUN}{started:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    try:
        yield folder
    finally:
        if read_journal(publish_target.state) is None:
            publish_target.store.delete_folder(folder)


class HostResult(NamedTuple):
    """Result of one host's export. `report` lacks its `failures`, the time and the memory of the run.

    `removed_files` are the files that no index lists from now on.
    """

    host: HostExport
    report: Report
    failures: Sequence[str]
    removed_files: Sequence[str]

    def finish(self, seconds: float, on_published: Callable[[Published], object] | None) -> Report:
        """Return the report; if something was published, call `on_published` and send the signal first."""
        own_peak, workers_peak = peaks()
        report = replace(
            self.report,
            failures=[*self.host.name_host(self.failures), *self.report.failures],
            seconds=seconds,
            memory=own_peak,
            workers_memory=workers_peak,
        )
        spool, changes, url = self.host.spool, self.host.changes, self.host.host_options.url
        with nullcontext() if spool is None else closing(spool):
            if not report.published:
                return report
            written = dict.fromkeys((*(self.host.recovered or ()), *report.written))
            event = Published(
                report,
                [f"{url}{name}" for name in written],
                [f"{url}{name}" for name in self.removed_files],
                None if changes is None else changes.changes,
            )
            return replace(report, warnings=[*report.warnings, *notify(event, on_published)])


def check_removals(hosts: Sequence[HostExport], remove: Collection[str]) -> None:
    """Raise `ExportError` if a section to `remove` is still declared, or is not published on any host."""
    for name in remove:
        if name in hosts[0].host_options.all_sections:
            raise ExportError(f"The section {name!r} cannot be removed, because it is still declared.")
        if not any(name in host.published_sections for host in hosts):
            raise ExportError(f"The section {name!r} cannot be removed, because it is not published.")


def _failures(reports: Sequence[SectionReport], *, strict: bool) -> list[str]:
    failures = [
        f"Section {report.section!r}: {report.failure.rstrip('.')}." for report in reports if report.failure
    ]
    if strict and any(report.errors for report in reports):
        failures.append("Nothing was published, because items or elements were skipped (strict).")
    return failures


def _unannounced(documents: Collection[str], robots: Robots) -> list[str]:
    """Return a list with a failure if neither robots.txt nor an index lists the several indexes."""
    if len(documents) < 2 or robots.path is not None or conf.cascade:
        return []
    return [
        f"There are {len(documents)} index files, but no robots.txt lists them. Set "
        "SITEMAPS09['ROBOTS_TXT'], pass --robots, or set SITEMAPS09['CASCADE']."
    ]
