"""Export to one host: the previous state, the publication and the report."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import NamedTuple

from django_sitemaps09 import stores
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.memory import peaks
from django_sitemaps09.export.options import ExportOptions, HostOptions
from django_sitemaps09.export.publishing import indexes
from django_sitemaps09.export.publishing import previous as previous_state
from django_sitemaps09.export.publishing.changes import Published, Spool, notify, published_urls
from django_sitemaps09.export.publishing.history import RecordedRun, record_reports
from django_sitemaps09.export.publishing.journal import read_journal
from django_sitemaps09.export.publishing.previous import PreviousState
from django_sitemaps09.export.publishing.promotion import PublishTarget, clean
from django_sitemaps09.export.publishing.publication import Publication
from django_sitemaps09.export.publishing.robots_files import Robots
from django_sitemaps09.export.publishing.submissions import SubmissionQueue, recover
from django_sitemaps09.export.rendering.page import HostTarget
from django_sitemaps09.export.rendering.run import RUN, SectionOutcome
from django_sitemaps09.export.report import Report, SectionReport
from django_sitemaps09.filenames import INDEX
from django_sitemaps09.manifest import Manifest, PageRecord, SectionRecord
from django_sitemaps09.notify.engines import key_for
from django_sitemaps09.notify.ledger import Ledger, host_of
from django_sitemaps09.stores import STATE
from django_sitemaps09.stores.local import LocalStore
from django_sitemaps09.stores.targets import owner


@dataclass(frozen=True, slots=True)
class HostExport:
    """Export to one host. Except in a dry run, the host's files are locked.

    `stage` is the folder of new files, `None` in a dry run. `spool` collects the changed URLs if they are
    requested, or if `queue` submits them.
    """

    host_options: HostOptions
    publish_target: PublishTarget
    previous: PreviousState
    stage: str | None
    spool: Spool | None
    queue: SubmissionQueue | None

    @property
    def changes(self) -> Spool | None:
        """The complete changed URLs if the caller requested them, otherwise `None`."""
        return self.spool if self.spool is not None and self.spool.limit is None else None

    @property
    def host_target(self) -> HostTarget:
        return HostTarget(
            self.host_options.base, self.host_options.output, self.stage, self.host_options.folder
        )

    @property
    def foreign_names(self) -> frozenset[str]:
        """Names of existing files that the manifest does not list."""
        manifest = self.previous.manifest
        return frozenset(self.previous.names).difference(
            manifest.indexes, manifest.stylesheets, manifest.removed, manifest.pages()
        )

    def record(self, section: str) -> SectionRecord:
        """Return the published record of a section, or an empty one."""
        return self.previous.manifest.sections.get(section, SectionRecord())

    def end(
        self, outcomes: Mapping[str, SectionOutcome], options: ExportOptions, started: datetime
    ) -> HostResult:
        """Publish the outcomes; a dry run only reports them."""
        host_options, old_manifest = self.host_options, self.previous.manifest
        publication = Publication.build(
            self.previous,
            outcomes,
            host_options.all_sections,
            options.remove,
            started.timestamp(),
            self.stage,
        )
        reports = [outcome.report for outcome in outcomes.values()]
        failures = _failures(reports, strict=options.strict)
        # The XSD requires at least one file in an index, and robots.txt must not list a missing index.
        can_publish = bool(publication.documents) and not (options.strict and failures)
        index_names = indexes.to_announce(publication.documents or [INDEX])
        robots = Robots.for_host(host_options, index_names, old_manifest.indexes)
        files_written = publication.files_to_write(self.publish_target.store) if can_publish else []
        is_compared = can_publish and self._compare(outcomes, options)
        # The export is published even if robots.txt cannot be updated.
        robots.update(write=False)
        stage = self.stage if can_publish else None
        if stage is not None:
            try:
                with self._queued(publication, files_written, index_names) as queued:
                    queued = queued if is_compared else None
                    manifest = self._with_unqueued(publication.manifest, started, queued)
                    publication = replace(publication, manifest=manifest)
                    publication.publish(self.publish_target, stage, robots.publish)
            except (ExportError, OSError) as error:
                self._record_failure(error, reports, started)
                raise
        if self.stage is not None:
            run = RecordedRun(started.timestamp(), stage is not None, failures=tuple(failures))
            record_reports(self.publish_target.state, run, reports, old_manifest.sections, options.remove)
        warnings = [] if publication.documents or failures else [_EMPTY]
        warnings += self.queue.warnings if self.queue else []
        warnings += [_ignored(report) for report in reports if report.ignored_keys]
        if options.changes and self.stage is None:
            warnings.append(_UNCOUNTED)
        if host_options.is_whole:
            failures += self._undeclared(options.remove)
        return HostResult(
            self, publication, stage is not None, failures, warnings, index_names, robots, files_written
        )

    def _record_failure(
        self, error: Exception, reports: Sequence[SectionReport], started: datetime
    ) -> None:
        """Record that publishing failed, unless nothing was ever published: the target may be unusable."""
        if not self.previous.manifest.sections:
            return
        with suppress(ExportError, OSError):
            # After the lock is lost, another run may write the history.
            self.publish_target.check()
            run = RecordedRun(started.timestamp(), is_published=False, failures=(reason_of(error),))
            record_reports(self.publish_target.state, run, reports, self.previous.manifest.sections, ())

    @contextmanager
    def _queued(
        self, publication: Publication, files_written: Sequence[str], index_names: Sequence[str]
    ) -> Iterator[Collection[str] | None]:
        """Queue the changes for submission, if that is requested.

        Yield the recorded pages whose URLs are queued, or `None` if the changes could not be stored.
        """
        if self.queue is None:
            yield None
            return
        unqueued = self.previous.manifest.unqueued
        has_changed = files_written or publication.removed_files or unqueued
        urls = [f"{self.host_options.url}{name}" for name in index_names] if has_changed else []
        pages = {name: page for name, page in self.previous.manifest.pages().items() if name in unqueued}
        queued: set[str] = set()
        missed_urls = self._missed_urls(self.queue, pages, queued)
        with self.queue.publishing(publication.manifest.run, self.spool, urls, missed_urls) as is_stored:
            if unqueued and is_stored:
                since = datetime.fromtimestamp(min(unqueued.values()), timezone.utc)
                left = len(pages) - len(queued)
                self.queue.warnings.append((_LEFT if left else _MISSED).format(since, left))
            yield queued if is_stored else None

    def _missed_urls(
        self, queue: SubmissionQueue, pages: Mapping[str, PageRecord], queued: set[str]
    ) -> Iterator[str]:
        """Yield the URLs of these pages. Add the pages to `queued` that can be read and submitted."""
        for name, page in pages.items():
            try:
                urls = published_urls(self.publish_target.store, name, page)
            except (ExportError, OSError) as error:
                queue.warnings.append(f"{reason_of(error)}, so its URLs are not queued; {_REPAIR}")
                continue
            yield from urls
            # Without a key for any of its URLs, none are queued.
            if not urls or any(key_for(host_of(url) or "") for url in urls):
                queued.add(name)

    def _with_unqueued(
        self, manifest: Manifest, started: datetime, queued: Collection[str] | None
    ) -> Manifest:
        """Return the manifest with the files whose changes are not queued for submission.

        `queued` has the recorded pages that are queued now. It is `None` if this run's changes are not.
        """
        unqueued = self.previous.manifest.unqueued
        pages, old_pages = manifest.pages(), self.previous.manifest.pages()
        left = {name for name in unqueued if name in old_pages}.difference(queued or ())
        is_repair = self.host_options.is_repair and conf.indexnow_key is not None
        if (queued is not None and not left) or not (self.queue or unqueued or is_repair):
            return manifest
        changed = {
            name
            for name, page in pages.items()
            if name not in old_pages or old_pages[name].digest != page.digest
        }
        if queued is not None and left <= pages.keys() - changed:
            # No row of the pages that are left has moved to another page.
            changed = set()
        elif changed or old_pages.keys() - pages.keys():
            # The URLs of a first export, of one that changes too many, or without a key, are not submitted.
            is_keyless = conf.indexnow_key is None and not left
            exceeds_limit = self.spool is not None and self.spool.exceeds_limit
            is_excluded = self.queue and (self.queue.is_first or is_keyless or exceeds_limit)
            changed = {INDEX} if is_excluded else {INDEX, *changed}
        names = {INDEX, *pages}.difference(queued or ())
        kept = {name: since for name, since in unqueued.items() if name in names}
        return replace(manifest, unqueued={**dict.fromkeys(sorted(changed), started.timestamp()), **kept})

    def _compare(self, outcomes: Mapping[str, SectionOutcome], options: ExportOptions) -> bool:
        """Find the changed URLs, and return whether all were found.

        A failure ends the export only if the caller requested them.
        """
        is_compared = self.spool is None
        if self.spool is not None:
            is_optional = self.queue is not None and not options.changes
            with self.queue.lenient(_UNQUEUED) if self.queue and is_optional else nullcontext():
                self.spool.fill(
                    self.publish_target.store, self.previous.manifest.sections, outcomes, options.remove
                )
                is_compared = True
        return is_compared

    def _undeclared(self, remove: Collection[str]) -> list[str]:
        """Return messages about published sections that are not declared, except sections to `remove`."""
        published = {name for name, record in self.previous.manifest.sections.items() if record.pages}
        return [
            f"Section {name!r} is published but no longer declared; its files are kept. To remove it from "
            f"the index, use --remove {name}"
            for name in sorted(published.difference(self.host_options.all_sections, remove))
        ]


@contextmanager
def open_host(host_options: HostOptions, options: ExportOptions, started: datetime) -> Iterator[HostExport]:
    """Lock the files of one host, and finish a killed run. A dry run does neither."""
    store = stores.target_store(host_options.output, host_options.folder)
    with ExitStack() as stack:
        # A dry run does nothing that needs a lock.
        check: Callable[[], None] = (
            (lambda: None) if options.dry_run else stack.enter_context(stores.exclusive_lock(store))
        )
        publish_target = PublishTarget(store, stores.state_store(store, host_options.folder), check)
        previous = previous_state.load(
            publish_target, host_options, started.timestamp(), dry_run=options.dry_run
        )
        damaged = (options.damaged or {}).get(host_options.folder, ())
        names = {name: size for name, size in previous.names.items() if name not in damaged}
        previous = previous._replace(names=names)
        stage = None if options.dry_run else stack.enter_context(_staging(publish_target, started))
        is_first = not any(record.pages for record in previous.manifest.sections.values())
        if stage is not None:
            # Do this even without a queue: this run replaces the manifest that names the killed run.
            recover(publish_target, previous)
        queue = SubmissionQueue(Ledger(publish_target.state), is_first) if host_options.submit else None
        # A dry run stages no files that could be compared.
        needs_spool = options.changes or (queue and conf.indexnow_key is not None and not is_first)
        limit = None if options.changes else conf.indexnow_max_urls
        spool = Spool(limit) if needs_spool and stage is not None else None
        try:
            yield HostExport(host_options, publish_target, previous, stage, spool, queue)
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
    """Result of one host's export, the basis of its report.

    `files_written` lists the files that differ from the previously published ones.
    """

    host: HostExport
    publication: Publication
    published: bool
    failures: Sequence[str]
    warnings: Sequence[str]
    index_names: Sequence[str]
    robots: Robots
    files_written: Sequence[str]

    def report(self, seconds: float, on_published: Callable[[Published], object] | None) -> Report:
        """Return the report; if something was published, call `on_published` and send the signal first."""
        report = self._report(seconds)
        spool, url = self.host.spool, self.host.host_options.url
        changes = self.host.changes
        with nullcontext() if spool is None else closing(spool):
            if not report.published:
                return report
            written = dict.fromkeys((*(self.host.previous.recovered or ()), *self.files_written))
            event = Published(
                report,
                [f"{url}{name}" for name in written],
                [f"{url}{name}" for name in self.publication.removed_files],
                None if changes is None else changes.changes,
            )
            return replace(report, warnings=[*report.warnings, *notify(event, on_published)])

    def _report(self, seconds: float) -> Report:
        host, publication, robots = self.host, self.publication, self.robots
        host_options, store = host.host_options, host.publish_target.store
        own_peak, workers_peak = peaks()
        failures = [*self.failures, *robots.failures]
        if host_options.folder:
            failures = [f"{host_options.base}: {failure}" for failure in failures]
        return Report(
            sections=tuple(outcome.report for outcome in publication.outcomes.values()),
            folder=store.folder if isinstance(store, LocalStore) else None,
            target=store.label,
            index_url=f"{host_options.url}{INDEX}",
            published=self.published,
            robots=robots.state,
            robots_path=robots.path,
            warnings=[*self.warnings, *robots.warnings],
            failures=[*failures, *_unannounced(publication.documents, robots)],
            seconds=seconds,
            indexes=tuple(self.index_names),
            written=tuple(self.files_written),
            deleted=publication.files_to_delete if self.published else (),
            recovered=host.previous.recovered is not None,
            changes=None if host.changes is None else host.changes.counts,
            memory=own_peak,
            workers_memory=workers_peak,
            dry_run=host.stage is None,
        )


def _ignored(report: SectionReport) -> str:
    """Return a warning about keys that only a project's template can write."""
    return (
        f"Section {report.section!r}: exports and native views do not write these keys of its "
        f"get_urls(): {', '.join(report.ignored_keys)}. Use hooks for them, such as images() or "
        "extensions."
    )


_EMPTY = "No section has any URLs. Nothing was written, and the published files are unchanged."
_UNQUEUED = "not all changed URLs were found, so not all were queued for submission"
_MISSED = (
    "Changes were published since {:%Y-%m-%d %H:%M:%S} UTC that could not be queued for submission. All "
    "URLs of their pages are queued now; removed URLs are unknown."
)
_LEFT = (
    "Changes were published since {:%Y-%m-%d %H:%M:%S} UTC that could not be queued for submission. The "
    "URLs of some of their pages are still not queued: {:,}."
)
_REPAIR = "to repair it, run export_sitemaps --verify --repair."
_UNCOUNTED = "Changed URLs were not counted, because a dry run keeps no files to compare."


def check_removals(hosts: Sequence[HostExport], remove: Collection[str]) -> None:
    """Raise `ExportError` if a section to `remove` is still declared, or is not published on any host."""
    for name in remove:
        if name in hosts[0].host_options.all_sections:
            raise ExportError(f"The section {name!r} cannot be removed, because it is still declared.")
        if not any(host.record(name).pages for host in hosts):
            raise ExportError(f"The section {name!r} cannot be removed, because it is not published.")


def _failures(reports: Sequence[SectionReport], *, strict: bool) -> list[str]:
    failures = [
        f"Section {report.section!r}: {report.failure.rstrip('.')}." for report in reports if report.failure
    ]
    if strict and any(report.skipped_items for report in reports):
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
