"""Export to one host: its previous state, what is published, and its report."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from django_sitemaps09 import manifest as manifests
from django_sitemaps09 import stores
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError, ManifestError
from django_sitemaps09.export.memory import peaks
from django_sitemaps09.export.options import ExportOptions, HostOptions
from django_sitemaps09.export.publishing import indexes
from django_sitemaps09.export.publishing import previous as previous_state
from django_sitemaps09.export.publishing.changes import Published, Spool, notify
from django_sitemaps09.export.publishing.journal import RUN, read_journal
from django_sitemaps09.export.publishing.previous import PreviousState
from django_sitemaps09.export.publishing.publication import Publication
from django_sitemaps09.export.publishing.robots import Robots
from django_sitemaps09.export.publishing.steps import PublishTarget, clean
from django_sitemaps09.export.rendering.page import HostTarget
from django_sitemaps09.export.rendering.run import SectionOutcome
from django_sitemaps09.export.report import Report, SectionReport
from django_sitemaps09.filenames import INDEX
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.sections import Section
from django_sitemaps09.stores import STATE
from django_sitemaps09.stores.local import LocalStore


class _PublishResult(NamedTuple):
    """Result of publishing. `files_written` names the files that differ from what was published."""

    published: bool
    failures: Sequence[str]
    announced_indexes: Sequence[str]
    robots: Robots
    files_written: Sequence[str]
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class HostExport:
    """Files of one host, locked except in a dry run; `stage` is the folder of new ones, else `None`.

    `undeclared_messages` has messages on sections that are published but no longer declared. `spool`
    collects the changes of single URLs if requested.
    """

    host_options: HostOptions
    publish_target: PublishTarget
    previous: PreviousState
    undeclared_messages: Sequence[str]
    stage: str | None
    spool: Spool | None

    @property
    def target(self) -> HostTarget:
        return HostTarget(
            self.host_options.base, self.host_options.output, self.stage, self.host_options.folder
        )

    @property
    def foreign_names(self) -> frozenset[str]:
        """Names of existing files that the manifest does not list as ours."""
        manifest = self.previous.manifest
        pages = (record.file_names(name) for name, record in manifest.sections.items())
        return frozenset(self.previous.names).difference(manifest.indexes, manifest.removed, *pages)

    def record(self, section: str) -> SectionRecord:
        """Return the published record of a section."""
        return self.previous.manifest.sections.get(section, SectionRecord())

    def end(
        self, outcomes: Mapping[str, SectionOutcome], options: ExportOptions, started: datetime
    ) -> HostResult:
        """Publish what may be published; a dry run only reports it."""
        host_options, publish_target, old_manifest = (
            self.host_options,
            self.publish_target,
            self.previous.manifest,
        )
        removed_sections = [name for name in options.remove if name in old_manifest.sections]
        publication = Publication.build(
            self.previous,
            outcomes,
            host_options.all_sections,
            removed_sections,
            started.timestamp(),
            self.stage,
        )
        failures = _failures([outcome.report for outcome in outcomes.values()], strict=options.strict)
        # The XSD requires at least one file in an index, and robots.txt must not name a missing index.
        can_publish = bool(publication.documents) and not (options.strict and failures)
        announced_indexes = indexes.to_announce(publication.documents or [INDEX], cascade=conf.cascade)
        robots = _robots(host_options, publication.documents or [INDEX], old_manifest.indexes)
        files_written = publication.files_to_write(publish_target) if can_publish else []
        if self.spool is not None and can_publish:
            self.spool.fill(publish_target.target, old_manifest.sections, outcomes)
        # A problem with robots.txt does not keep the export from being published.
        robots.update(write=False)
        if can_publish and publication.stage is not None:
            publication.publish(publish_target, publication.stage, robots.publish)
        warnings = [] if publication.documents or failures else [_EMPTY]
        warnings += [
            _ignored(outcome.report) for outcome in outcomes.values() if outcome.report.ignored_keys
        ]
        if options.changes and publication.stage is None:
            warnings.append(_UNCOUNTED)
        result = _PublishResult(
            can_publish and publication.stage is not None,
            failures,
            announced_indexes,
            robots,
            files_written,
            warnings,
        )
        return HostResult(self, publication, result)


@contextmanager
def open_host(host_options: HostOptions, options: ExportOptions, started: datetime) -> Iterator[HostExport]:
    """Lock the files of one host for this export; finish a killed run of it first.

    A dry run does neither.
    """
    target = stores.target(host_options.output, host_options.folder)
    is_dry_run = options.dry_run
    with ExitStack() as stack:
        check = _unlocked if is_dry_run else stack.enter_context(stores.only_one(target))
        publish_target = PublishTarget(target, stores.state(target, host_options.folder), check)
        previous = previous_state.load(
            publish_target,
            host_options.url,
            str(host_options.base),
            started.timestamp(),
            dry_run=is_dry_run,
            is_whole=host_options.is_whole,
            robots=partial(_late_robots, host_options, publish_target),
        )
        undeclared_messages = _undeclared(previous, host_options.all_sections, options.remove)
        stage = None if is_dry_run else stack.enter_context(_staging(publish_target, started))
        # A dry run stages no files that could be compared.
        spool = Spool() if options.changes and not is_dry_run else None
        try:
            yield HostExport(host_options, publish_target, previous, undeclared_messages, stage, spool)
        except BaseException:
            if spool is not None:
                spool.close()
            raise


def _unlocked() -> None:
    """Do nothing: a dry run takes no lock, and no step that would need one."""


@contextmanager
def _staging(publish_target: PublishTarget, started: datetime) -> Iterator[str]:
    """Yield the staging folder of this run, which exists as soon as its first file does.

    It stays if publishing was interrupted, so that the next run can finish with its files.
    """
    clean(publish_target.target)
    folder = f"{STATE}/{RUN}{started:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    try:
        yield folder
    finally:
        if read_journal(publish_target.state) is None:
            publish_target.target.delete_folder(folder)


def _robots(host_options: HostOptions, names: Iterable[str], old_names: Iterable[str]) -> Robots:
    urls, old_urls = (
        [f"{host_options.url}{name}" for name in indexes.to_announce(index_names, cascade=conf.cascade)]
        for index_names in (names, old_names)
    )
    return Robots(host_options.robots, host_options.base, urls, old_urls if [*old_names] else ())


def _late_robots(
    host_options: HostOptions, publish_target: PublishTarget, names: Sequence[str], is_transition: bool
) -> None:
    """Update robots.txt for a run that was killed and is finished late."""
    try:
        root = manifests.read_root(publish_target.state)
    except ManifestError:
        root = None
    _robots(host_options, names, root.indexes if root is not None else ()).publish(is_transition)


class HostResult(NamedTuple):
    """Host whose export has ended, from which its report is made."""

    host: HostExport
    publication: Publication
    result: _PublishResult

    def report(self, seconds: float, on_published: Callable[[Published], object] | None) -> Report:
        """Return the report; if something was published, call the hook and send the signal first."""
        report = self._report(seconds)
        spool, url = self.host.spool, self.host.host_options.url
        with nullcontext() if spool is None else spool:
            if not report.published:
                return report
            recovered_names = self.host.previous.recovered or ()
            event = Published(
                report,
                [f"{url}{name}" for name in dict.fromkeys((*recovered_names, *self.result.files_written))],
                [f"{url}{name}" for name in self.publication.removed_files],
                None if spool is None else spool.changes,
            )
            return replace(report, warnings=[*report.warnings, *notify(event, on_published)])

    def _report(self, seconds: float) -> Report:
        host, publication, result = self
        host_options, target, robots = host.host_options, host.publish_target.target, result.robots
        own_peak, workers_peak = peaks()
        failures = [
            *result.failures,
            *(host.undeclared_messages if host_options.is_whole else ()),
            *robots.failures,
        ]
        if host_options.folder:
            failures = [f"{host_options.base}: {failure}" for failure in failures]
        return Report(
            sections=tuple(outcome.report for outcome in publication.outcomes.values()),
            folder=target.folder if isinstance(target, LocalStore) else None,
            target=target.label,
            index_url=f"{host_options.url}{INDEX}",
            published=result.published,
            robots=robots.state,
            robots_path=robots.path,
            warnings=[*result.warnings, *robots.warnings],
            failures=[*failures, *_unannounced(publication.documents, robots.path)],
            seconds=seconds,
            indexes=tuple(result.announced_indexes),
            written=tuple(result.files_written),
            deleted=publication.files_to_delete if result.published else (),
            recovered=publication.previous.recovered is not None,
            changes=None if host.spool is None else host.spool.counts,
            memory=own_peak,
            workers_memory=workers_peak,
            dry_run=host.stage is None,
        )


def _ignored(report: SectionReport) -> str:
    """Return a warning about keys that a project's template could write."""
    return (
        f"Section {report.section!r}: exports and native views do not write these keys of its "
        f"get_urls(): {', '.join(report.ignored_keys)}. Use hooks for them, such as images() or "
        "extensions."
    )


_EMPTY = "No section has any URLs. Nothing was written, and the published files are unchanged."
_UNCOUNTED = "Changed URLs were not counted, because a dry run keeps no files to compare."


def check_removals(hosts: Sequence[HostExport], remove: Collection[str]) -> None:
    """Raise `ExportError` for a section that is declared, or that no host has published."""
    for name in remove:
        if name in hosts[0].host_options.all_sections:
            raise ExportError(f"The section {name!r} cannot be removed, because it is still declared.")
        if not any(host.record(name).pages for host in hosts):
            raise ExportError(f"The section {name!r} cannot be removed, because it is not published.")


def _undeclared(
    previous: PreviousState, all_sections: Mapping[str, Section], remove: Collection[str]
) -> list[str]:
    """Return messages on sections that are published but not declared, except those to be removed."""
    undeclared_names = {
        name
        for name, record in previous.manifest.sections.items()
        if record.pages and name not in all_sections
    }
    return [
        f"Section {name!r} is published but no longer declared; its files are kept. To remove it from "
        f"the index, use --remove {name}"
        for name in sorted(undeclared_names.difference(remove))
    ]


def _failures(reports: Sequence[SectionReport], *, strict: bool) -> list[str]:
    """Return the reasons why the run fails."""
    failures = [
        f"Section {report.section!r}: {report.failure.rstrip('.')}." for report in reports if report.failure
    ]
    if strict and any(report.left_out for report in reports):
        failures.append("Nothing was published, because items or elements were skipped (strict).")
    return failures


def _unannounced(documents: Collection[str], path: Path | None) -> list[str]:
    """Return a failure if several indexes exist and no robots.txt or cascade leads crawlers to them."""
    if len(documents) < 2 or path is not None or conf.cascade:
        return []
    return [
        f"There are {len(documents)} indexes, but no robots.txt names them. Set "
        "SITEMAPS09['ROBOTS_TXT'], pass --robots, or set SITEMAPS09['CASCADE']."
    ]
