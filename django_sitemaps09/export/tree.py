"""One host of an export: what is there before, what is published, and what is told of it."""

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
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import before as earlier
from django_sitemaps09.export import indexes, publish
from django_sitemaps09.export.after import Next
from django_sitemaps09.export.asked import Asked, Options
from django_sitemaps09.export.before import Before
from django_sitemaps09.export.changes import Published, Spool, tell
from django_sitemaps09.export.memory import peaks
from django_sitemaps09.export.publish import Place
from django_sitemaps09.export.published import INDEX, page_names
from django_sitemaps09.export.render import Target
from django_sitemaps09.export.report import Report, SectionReport
from django_sitemaps09.export.robots import Robots
from django_sitemaps09.export.run import Outcome
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.sections import Section
from django_sitemaps09.stores import STATE
from django_sitemaps09.stores.local import LocalStore


class _Ended(NamedTuple):
    """How it ended. `written` names the files that differ from what was published."""

    published: bool
    failures: Sequence[str]
    announced: Sequence[str]
    robots: Robots
    written: Sequence[str]


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of one host while they are locked; `stage` is where new ones wait, `None` in a dry run.

    `undeclared` tells of sections that are published and not declared any more, `spool` keeps the changes
    of single URLs if they are wanted.
    """

    asked: Asked
    place: Place
    before: Before
    undeclared: Sequence[str]
    stage: str | None
    spool: Spool | None

    @property
    def target(self) -> Target:
        return Target(self.asked.base, self.asked.output, self.stage, self.asked.folder)

    @property
    def taken(self) -> frozenset[str]:
        """The names of files that are there, and that no manifest says are ours."""
        manifest = self.before.manifest
        pages = (page_names(name, record) for name, record in manifest.sections.items())
        return frozenset(self.before.names).difference(manifest.indexes, manifest.removed, *pages)

    def record(self, section: str) -> SectionRecord:
        """What is published of a section."""
        return self.before.manifest.sections.get(section, SectionRecord())

    def end(self, outcomes: Mapping[str, Outcome], options: Options, started: datetime) -> Told:
        """Publishes what may be published; a dry run only tells of it."""
        asked, place, before = self.asked, self.place, self.before.manifest
        removed = [name for name in options.remove if name in before.sections]
        after = Next.of(self.before, outcomes, asked.known, removed, started.timestamp(), self.stage)
        failures = _failures([outcome.report for outcome in outcomes.values()], strict=options.strict)
        # The XSD wants one file in an index, and a robots.txt names no index that is not there.
        publishes = bool(after.documents) and not (options.strict and failures)
        announced = indexes.to_announce(after.documents or [INDEX], cascade=conf.cascade)
        robots = _robots(asked, after.documents or [INDEX], before.indexes)
        written = after.written(place) if publishes else []
        if self.spool is not None and publishes:
            self.spool.fill(place.target, before.sections, outcomes)
        if publishes and after.stage is not None:
            after.publish(place, after.stage, robots.publish)
        else:
            robots.update(write=False)
        ended = _Ended(publishes and after.stage is not None, failures, announced, robots, written)
        return Told(self, after, ended)


@contextmanager
def opened(asked: Asked, options: Options, started: datetime) -> Iterator[Tree]:
    """One host's files, for this export alone. A run of it that was killed is finished first."""
    target = stores.target(asked.output, asked.folder)
    dry = options.dry_run
    with ExitStack() as inside:
        check = _unlocked if dry else inside.enter_context(stores.only_one(target))
        place = Place(target, stores.state(target, asked.folder), check)
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
        # Nothing is staged in a dry run that could be compared.
        spool = Spool() if options.changes and not dry else None
        try:
            yield Tree(asked, place, before, undeclared, stage, spool)
        except BaseException:
            if spool is not None:
                spool.close()
            raise


def _unlocked() -> None:
    """A dry run takes no lock, and no step that would need one."""


@contextmanager
def _staging(place: Place, started: datetime) -> Iterator[str]:
    """The folder for the files of this run, which is not there before the first of them is.

    It stays where publishing was broken off: the next run goes on with what is in it.
    """
    publish.clean(place.target)
    folder = f"{STATE}/{publish.RUN}{started:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    try:
        yield folder
    finally:
        if publish.read_journal(place.state) is None:
            place.target.delete_folder(folder)


def _robots(asked: Asked, names: Iterable[str], names_before: Iterable[str]) -> Robots:
    now, earlier = (
        [f"{asked.url}{name}" for name in indexes.to_announce(some, cascade=conf.cascade)]
        for some in (names, names_before)
    )
    return Robots(asked.robots, asked.base, now, earlier if [*names_before] else ())


def _late_robots(asked: Asked, place: Place, names: Sequence[str], between: bool) -> None:
    """robots.txt of a run that had been killed."""
    root = manifests.read_root(place.state)
    _robots(asked, names, root.indexes if root is not None else ()).publish(between)


class Told(NamedTuple):
    """A host whose export has ended, and what is told of it."""

    tree: Tree
    after: Next
    ended: _Ended

    def report(self, seconds: float, on_published: Callable[[Published], object] | None) -> Report:
        """The report; if something was published, all who want to know are told before."""
        report = self._report(seconds)
        spool, url = self.tree.spool, self.tree.asked.url
        with nullcontext() if spool is None else spool:
            if not report.published:
                return report
            late = self.tree.before.recovered or ()
            told = Published(
                report,
                [f"{url}{name}" for name in dict.fromkeys((*late, *self.ended.written))],
                [f"{url}{name}" for name in self.after.gone],
                None if spool is None else spool.changes,
            )
            return replace(report, warnings=[*report.warnings, *tell(told, on_published)])

    def _report(self, seconds: float) -> Report:
        tree, after, ended = self
        asked, target, robots = tree.asked, tree.place.target, ended.robots
        own, of_workers = peaks()
        failures = [*ended.failures, *(tree.undeclared if asked.whole else ()), *robots.failures]
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
            warnings=robots.warnings if after.documents or ended.failures else [_EMPTY, *robots.warnings],
            failures=[*failures, *_unannounced(after.documents, robots.path)],
            seconds=seconds,
            indexes=tuple(ended.announced),
            written=tuple(ended.written),
            deleted=after.due if ended.published else (),
            recovered=after.before.recovered is not None,
            changes=None if tree.spool is None else tree.spool.counts,
            memory=own,
            workers_memory=of_workers,
        )


_EMPTY = "There is no URL in any section: nothing was written, and what was published stays as it was."


def check_removals(trees: Sequence[Tree], remove: Collection[str]) -> None:
    """`ExportError` for a section that is declared, or that no host has published."""
    for name in remove:
        if name in trees[0].asked.known:
            raise ExportError(f"The section {name!r} is declared, so that it cannot be removed.")
        if not any(tree.record(name).pages for tree in trees):
            raise ExportError(f"There is no section {name!r} that is published and not declared any more.")


def _undeclared(before: Before, known: Mapping[str, Section], remove: Collection[str]) -> list[str]:
    """What is published and not declared any more, but for what is to be removed."""
    gone = {name for name, record in before.manifest.sections.items() if record.pages and name not in known}
    return [
        f"Section {name!r} is published and not declared any more; its files stay. To take it out of the "
        f"index: --remove {name}"
        for name in sorted(gone.difference(remove))
    ]


def _failures(reports: Sequence[SectionReport], *, strict: bool) -> list[str]:
    """Why the run cannot end well."""
    failures = [
        f"Section {report.section!r}: {report.failure.rstrip('.')}." for report in reports if report.failure
    ]
    if strict and any(report.left_out for report in reports):
        failures.append("Something was left out, so that nothing is published (strict).")
    return failures


def _unannounced(documents: Collection[str], path: Path | None) -> list[str]:
    """What no crawler would find: there is no place but robots.txt that names several indexes."""
    if len(documents) < 2 or path is not None or conf.cascade:
        return []
    return [
        f"There are {len(documents)} indexes, and no robots.txt to name them: set SITEMAPS09['ROBOTS_TXT'] "
        "or give --robots, or set SITEMAPS09['CASCADE']."
    ]
