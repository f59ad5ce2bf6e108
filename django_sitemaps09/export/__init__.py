"""The export: every section rendered to staged files, then published, the index last."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import NamedTuple

from django.urls import get_script_prefix, get_urlconf
from django.utils.asyncio import async_unsafe

from django_sitemaps09 import manifest as manifests
from django_sitemaps09 import stores
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import before as earlier
from django_sitemaps09.export import engines, indexes, publish
from django_sitemaps09.export.after import Next
from django_sitemaps09.export.asked import Asked
from django_sitemaps09.export.before import Before
from django_sitemaps09.export.changes import Published, Spool, UrlChange, tell
from django_sitemaps09.export.memory import peaks
from django_sitemaps09.export.publish import Place
from django_sitemaps09.export.published import INDEX
from django_sitemaps09.export.render import Renderer
from django_sitemaps09.export.report import PageFile, Report, SectionReport
from django_sitemaps09.export.robots import Robots
from django_sitemaps09.export.run import Outcome, Run, Wanted
from django_sitemaps09.export.section import export_section
from django_sitemaps09.manifest import SectionRecord
from django_sitemaps09.sections import Section
from django_sitemaps09.stores import STATE
from django_sitemaps09.stores.local import LocalStore

__all__ = ["PageFile", "Published", "Report", "SectionReport", "UrlChange", "export"]


@async_unsafe
def export(
    names: Sequence[str] = (),
    *,
    output: Path | str | None = None,
    robots: Path | str | None = None,
    base_url: str | None = None,
    gzip: bool | None = None,
    strict: bool = False,
    dry_run: bool = False,
    changed_only: bool = False,
    rebalance: bool = False,
    force: Collection[str] = (),
    remove: Collection[str] = (),
    engine: str | None = None,
    workers: int | None = None,
    sitemaps: Mapping[str, Section] | None = None,
    changes: bool = False,
    on_published: Callable[[Published], object] | None = None,
    progress: Callable[[SectionReport], object] = lambda section: None,
    on_page: Callable[[str, PageFile], object] = lambda section, file: None,
) -> Report:
    """Renders the named sections, or all, to files, and tells what came of it.

    What is not given is taken from the settings. `strict` publishes nothing if anything at all had
    to be left out. `changed_only` renders no page whose rows are what they were, as far as the database
    tells. `rebalance` cuts all pages anew. `force` publishes sections that shrink too much, `remove` takes
    out sections that are published and not declared any more. Several `workers` find the sections by the
    setting or the registry. `progress` is called after each section, `on_page` after each page rendered,
    `on_published` after something was published, as the signal is sent; with `changes` both are told
    which URLs were added, removed and changed.

    `ExportError`, `UnknownSectionError` or `ImproperlyConfigured` where it cannot start, or where
    the index cannot be written: nothing published is touched then.
    """
    started = time.perf_counter()
    # What is refused is refused before anything is touched, and before anything asks a database.
    chosen_engine = engines.engine(engine, workers, elsewhere=sitemaps is None)
    asked = Asked.of(names, sitemaps, force, base_url, output, robots, gzip)
    wanted = Wanted(datetime.now(timezone.utc), changed_only, rebalance, frozenset(force))
    target = stores.target(asked.output)
    # Nothing is staged in a dry run that could be compared.
    with Spool() if changes and not dry_run else nullcontext() as spool:
        with nullcontext(_unlocked) if dry_run else stores.only_one(target) as check:
            place = Place(target, stores.state(target), check)
            now = wanted.started.timestamp()
            late_robots = partial(_late_robots, asked, place)
            before = earlier.found(
                place,
                asked.url,
                str(asked.base),
                now,
                dry_run=dry_run,
                whole=asked.whole,
                robots=late_robots,
            )
            undeclared = _undeclared(before, asked.known, remove)
            with nullcontext() if dry_run else _staging(place, wanted.started) as stage:
                renderer = Renderer(
                    asked.base, asked.output, stage, asked.gzip, get_script_prefix(), get_urlconf()
                )
                with chosen_engine as elsewhere:
                    run = Run(renderer, target, before.names, wanted, elsewhere, on_page)
                    outcomes = _outcomes(run, asked.chosen, before, progress)
                after = Next.of(before, outcomes, asked.known, remove, now, stage)
                ended = _ended(asked, place, after, spool, strict=strict)
        report = _report(asked, target, after, ended, spool, undeclared, time.perf_counter() - started)
        if not report.published:
            return report
        late = before.recovered or ()
        told = Published(
            report,
            [f"{asked.url}{name}" for name in dict.fromkeys((*late, *ended.written))],
            [f"{asked.url}{name}" for name in after.gone],
            None if spool is None else spool.changes,
        )
        return replace(report, warnings=[*report.warnings, *tell(told, on_published)])


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


def _outcomes(
    run: Run,
    chosen: Mapping[str, Section],
    before: Before,
    progress: Callable[[SectionReport], object],
) -> dict[str, Outcome]:
    outcomes = {}
    for name, section in chosen.items():
        record = before.manifest.sections.get(name, SectionRecord(run.renderer.gzip))
        outcomes[name] = export_section(run, name, section, record)
        progress(outcomes[name].report)
    return outcomes


class _Ended(NamedTuple):
    """How it ended. `written` names the files that differ from what was published."""

    published: bool
    failures: Sequence[str]
    announced: Sequence[str]
    robots: Robots
    written: Sequence[str]


def _ended(asked: Asked, place: Place, after: Next, spool: Spool | None, *, strict: bool) -> _Ended:
    """Publishes what may be published; a dry run only tells of it."""
    failures = _failures([outcome.report for outcome in after.outcomes.values()], strict=strict)
    # The XSD wants one file in an index, and a robots.txt names no index that is not there.
    publishes = bool(after.documents) and not (strict and failures)
    before = after.before.manifest
    announced = indexes.to_announce(after.documents or [INDEX], cascade=conf.cascade)
    robots = _robots(asked, after.documents or [INDEX], before.indexes)
    written = after.written(place) if publishes else []
    if spool is not None and publishes:
        spool.fill(place.target, before.sections, after.outcomes)
    if publishes and after.stage is not None:
        after.publish(place, after.stage, robots.publish)
    else:
        robots.update(write=False)
    return _Ended(publishes and after.stage is not None, failures, announced, robots, written)


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


def _report(
    asked: Asked,
    target: stores.Store,
    after: Next,
    ended: _Ended,
    spool: Spool | None,
    undeclared: Sequence[str],
    seconds: float,
) -> Report:
    own, of_workers = peaks()
    robots = ended.robots
    failures = [*ended.failures, *(undeclared if asked.whole else ()), *robots.failures]
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
        changes=None if spool is None else spool.counts,
        memory=own,
        workers_memory=of_workers,
    )


_EMPTY = "There is no URL in any section: nothing was written, and what was published stays as it was."


def _undeclared(before: Before, known: Mapping[str, Section], remove: Collection[str]) -> list[str]:
    """What is published and not declared any more, but for what is to be removed."""
    gone = {name for name, record in before.manifest.sections.items() if record.pages and name not in known}
    for name in remove:
        if name in known:
            raise ExportError(f"The section {name!r} is declared, so that it cannot be removed.")
        if name not in gone:
            raise ExportError(f"There is no section {name!r} that is published and not declared any more.")
    return [
        f"Section {name!r} is published and not declared any more; its files stay. To take it out of the "
        f"index: --remove {name}"
        for name in sorted(gone.difference(remove))
    ]


def _failures(reports: Sequence[SectionReport], *, strict: bool) -> list[str]:
    """Why the run cannot end well."""
    failures = [f"Section {report.section!r}: {report.failure}." for report in reports if report.failure]
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
