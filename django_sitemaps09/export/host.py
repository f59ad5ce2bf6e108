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
from django_sitemaps09.export.publishing import previous as earlier
from django_sitemaps09.export.publishing.changes import Published, Spool, tell
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
    """Result of publishing. `written` names the files that differ from what was published."""

    published: bool
    failures: Sequence[str]
    announced: Sequence[str]
    robots: Robots
    written: Sequence[str]
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class HostExport:
    """Files of one host while they are locked; `stage` is the folder of new ones, `None` in a dry run.

    `undeclared` has messages on sections that are published but no longer declared. `spool` collects the
    changes of single URLs if requested.
    """

    asked: HostOptions
    place: PublishTarget
    before: PreviousState
    undeclared: Sequence[str]
    stage: str | None
    spool: Spool | None

    @property
    def target(self) -> HostTarget:
        return HostTarget(self.asked.base, self.asked.output, self.stage, self.asked.folder)

    @property
    def taken(self) -> frozenset[str]:
        """Names of existing files that the manifest does not list as ours."""
        manifest = self.before.manifest
        pages = (record.file_names(name) for name, record in manifest.sections.items())
        return frozenset(self.before.names).difference(manifest.indexes, manifest.removed, *pages)

    def record(self, section: str) -> SectionRecord:
        """Return the published record of a section."""
        return self.before.manifest.sections.get(section, SectionRecord())

    def end(
        self, outcomes: Mapping[str, SectionOutcome], options: ExportOptions, started: datetime
    ) -> HostResult:
        """Publish what may be published; a dry run only reports it."""
        asked, place, before = self.asked, self.place, self.before.manifest
        removed = [name for name in options.remove if name in before.sections]
        after = Publication.of(self.before, outcomes, asked.known, removed, started.timestamp(), self.stage)
        failures = _failures([outcome.report for outcome in outcomes.values()], strict=options.strict)
        # The XSD requires at least one file in an index, and robots.txt must not name a missing index.
        publishes = bool(after.documents) and not (options.strict and failures)
        announced = indexes.to_announce(after.documents or [INDEX], cascade=conf.cascade)
        robots = _robots(asked, after.documents or [INDEX], before.indexes)
        written = after.written(place) if publishes else []
        if self.spool is not None and publishes:
            self.spool.fill(place.target, before.sections, outcomes)
        # A problem with robots.txt does not keep the export from being published.
        robots.update(write=False)
        if publishes and after.stage is not None:
            after.publish(place, after.stage, robots.publish)
        warnings = [] if after.documents or failures else [_EMPTY]
        warnings += [
            _ignored(outcome.report) for outcome in outcomes.values() if outcome.report.ignored_keys
        ]
        if options.changes and after.stage is None:
            warnings.append(_UNCOUNTED)
        ended = _PublishResult(
            publishes and after.stage is not None, failures, announced, robots, written, warnings
        )
        return HostResult(self, after, ended)


@contextmanager
def opened(asked: HostOptions, options: ExportOptions, started: datetime) -> Iterator[HostExport]:
    """Lock the files of one host for this export; finish a killed run of it first.

    A dry run does neither.
    """
    target = stores.target(asked.output, asked.folder)
    dry = options.dry_run
    with ExitStack() as inside:
        check = _unlocked if dry else inside.enter_context(stores.only_one(target))
        place = PublishTarget(target, stores.state(target, asked.folder), check)
        before = earlier.found(
            place,
            asked.url,
            str(asked.base),
            started.timestamp(),
            dry_run=dry,
            whole=asked.whole,
            robots=partial(_late_robots, asked, place),
        )
        undeclared = _undeclared(before, asked.known, options.remove)
        stage = None if dry else inside.enter_context(_staging(place, started))
        # A dry run stages no files that could be compared.
        spool = Spool() if options.changes and not dry else None
        try:
            yield HostExport(asked, place, before, undeclared, stage, spool)
        except BaseException:
            if spool is not None:
                spool.close()
            raise


def _unlocked() -> None:
    """Do nothing: a dry run takes no lock, and no step that would need one."""


@contextmanager
def _staging(place: PublishTarget, started: datetime) -> Iterator[str]:
    """Yield the staging folder of this run, which exists as soon as its first file does.

    It stays if publishing was interrupted, so that the next run can finish with its files.
    """
    clean(place.target)
    folder = f"{STATE}/{RUN}{started:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    try:
        yield folder
    finally:
        if read_journal(place.state) is None:
            place.target.delete_folder(folder)


def _robots(asked: HostOptions, names: Iterable[str], names_before: Iterable[str]) -> Robots:
    now, earlier = (
        [f"{asked.url}{name}" for name in indexes.to_announce(some, cascade=conf.cascade)]
        for some in (names, names_before)
    )
    return Robots(asked.robots, asked.base, now, earlier if [*names_before] else ())


def _late_robots(asked: HostOptions, place: PublishTarget, names: Sequence[str], between: bool) -> None:
    """Update robots.txt for a run that was killed and is finished late."""
    try:
        root = manifests.read_root(place.state)
    except ManifestError:
        root = None
    _robots(asked, names, root.indexes if root is not None else ()).publish(between)


class HostResult(NamedTuple):
    """Host whose export has ended, from which its report is made."""

    host: HostExport
    after: Publication
    ended: _PublishResult

    def report(self, seconds: float, on_published: Callable[[Published], object] | None) -> Report:
        """Return the report; if something was published, call the hook and send the signal first."""
        report = self._report(seconds)
        spool, url = self.host.spool, self.host.asked.url
        with nullcontext() if spool is None else spool:
            if not report.published:
                return report
            late = self.host.before.recovered or ()
            told = Published(
                report,
                [f"{url}{name}" for name in dict.fromkeys((*late, *self.ended.written))],
                [f"{url}{name}" for name in self.after.gone],
                None if spool is None else spool.changes,
            )
            return replace(report, warnings=[*report.warnings, *tell(told, on_published)])

    def _report(self, seconds: float) -> Report:
        host, after, ended = self
        asked, target, robots = host.asked, host.place.target, ended.robots
        own, of_workers = peaks()
        failures = [*ended.failures, *(host.undeclared if asked.whole else ()), *robots.failures]
        if asked.folder:
            failures = [f"{asked.base}: {failure}" for failure in failures]
        return Report(
            sections=tuple(outcome.report for outcome in after.outcomes.values()),
            folder=target.folder if isinstance(target, LocalStore) else None,
            target=target.label,
            index_url=f"{asked.url}{INDEX}",
            published=ended.published,
            robots=robots.state,
            robots_path=robots.path,
            warnings=[*ended.warnings, *robots.warnings],
            failures=[*failures, *_unannounced(after.documents, robots.path)],
            seconds=seconds,
            indexes=tuple(ended.announced),
            written=tuple(ended.written),
            deleted=after.due if ended.published else (),
            recovered=after.before.recovered is not None,
            changes=None if host.spool is None else host.spool.counts,
            memory=own,
            workers_memory=of_workers,
            dry_run=host.stage is None,
        )


def _ignored(report: SectionReport) -> str:
    """Return a warning about keys that a project's template could write."""
    return (
        f"Section {report.section!r}: exports and native views do not write these keys of its get_urls(): "
        f"{', '.join(report.ignored_keys)}. Add them by the hooks, such as images() or extensions."
    )


_EMPTY = "There is no URL in any section: nothing was written, and what was published stays as it was."
_UNCOUNTED = "URLs that would change were not counted: a dry run keeps no files that could be compared."


def check_removals(hosts: Sequence[HostExport], remove: Collection[str]) -> None:
    """Raise `ExportError` for a section that is declared, or that no host has published."""
    for name in remove:
        if name in hosts[0].asked.known:
            raise ExportError(f"The section {name!r} is declared, so that it cannot be removed.")
        if not any(host.record(name).pages for host in hosts):
            raise ExportError(f"There is no section {name!r} that is published and not declared any more.")


def _undeclared(before: PreviousState, known: Mapping[str, Section], remove: Collection[str]) -> list[str]:
    """Return messages on sections that are published but not declared, except those to be removed."""
    gone = {name for name, record in before.manifest.sections.items() if record.pages and name not in known}
    return [
        f"Section {name!r} is published and not declared any more; its files stay. To take it out of the "
        f"index: --remove {name}"
        for name in sorted(gone.difference(remove))
    ]


def _failures(reports: Sequence[SectionReport], *, strict: bool) -> list[str]:
    """Return the reasons why the run fails."""
    failures = [
        f"Section {report.section!r}: {report.failure.rstrip('.')}." for report in reports if report.failure
    ]
    if strict and any(report.left_out for report in reports):
        failures.append("Something was left out, so that nothing is published (strict).")
    return failures


def _unannounced(documents: Collection[str], path: Path | None) -> list[str]:
    """Return a failure if several indexes exist and no robots.txt or cascade leads crawlers to them."""
    if len(documents) < 2 or path is not None or conf.cascade:
        return []
    return [
        f"There are {len(documents)} indexes, and no robots.txt to name them: set SITEMAPS09['ROBOTS_TXT'] "
        "or give --robots, or set SITEMAPS09['CASCADE']."
    ]
