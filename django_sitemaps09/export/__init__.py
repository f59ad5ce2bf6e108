"""The export: every section rendered to staged files, then published, the index last."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from django.urls import get_script_prefix, get_urlconf
from django.utils.asyncio import async_unsafe

from django_sitemaps09 import sources
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import engines
from django_sitemaps09.export.asked import Asked, Options
from django_sitemaps09.export.changes import Published, UrlChange
from django_sitemaps09.export.render import Renderer
from django_sitemaps09.export.report import PageFile, Report, SectionReport
from django_sitemaps09.export.run import Outcome, Run, Wanted
from django_sitemaps09.export.section import export_section
from django_sitemaps09.export.tree import Told, Tree, check_removals, opened
from django_sitemaps09.sections import Section

__all__ = ["PageFile", "Published", "Report", "SectionReport", "UrlChange", "export", "export_hosts"]


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
    options = Options(
        names=names,
        output=output,
        robots=robots,
        gzip=gzip,
        strict=strict,
        dry_run=dry_run,
        changed_only=changed_only,
        rebalance=rebalance,
        force=force,
        remove=remove,
        engine=engine,
        workers=workers,
        sitemaps=sitemaps,
        changes=changes,
    )
    [report] = _exports([base_url], options, on_published, progress, on_page, several=False)
    return report


@async_unsafe
def export_hosts(
    base_urls: Sequence[str],
    names: Sequence[str] = (),
    *,
    on_published: Callable[[Published], object] | None = None,
    progress: Callable[[SectionReport], object] = lambda section: None,
    on_page: Callable[[str, PageFile], object] = lambda section, file: None,
    **options: Any,
) -> dict[str, Report]:
    """The same for several hosts, by the URLs that each begins with: a tree of files for each of them.

    Each host has a folder of its name below the target. Rows are read once for all hosts where only the
    host differs, and once for each for sections with a `site_field` and those of others.
    """
    if not base_urls or isinstance(base_urls, str):
        raise ExportError(f"{base_urls!r} is no list of hosts: name at least one base URL in it.")
    asked = Options(names, **options)
    reports = _exports(base_urls, asked, on_published, progress, on_page, several=True)
    return dict(zip(base_urls, reports, strict=True))


def _exports(
    base_urls: Sequence[str | None],
    options: Options,
    on_published: Callable[[Published], object] | None,
    progress: Callable[[SectionReport], object],
    on_page: Callable[[str, PageFile], object],
    *,
    several: bool,
) -> list[Report]:
    """The reports of all hosts, in their order; of `several`, each has a folder."""
    started = time.perf_counter()
    # What is refused is refused before anything is touched, and before anything asks a database.
    engine = engines.engine(options.engine, options.workers, elsewhere=options.sitemaps is None)
    asked = [Asked.of(options, url, several=several) for url in base_urls]
    if len({one.folder for one in asked}) < len(asked):
        raise ExportError(f"Two of {', '.join(map(str, base_urls))} would be in one folder.")
    now = datetime.now(timezone.utc)
    wanted = Wanted(now, options.changed_only, options.rebalance, frozenset(options.force))
    with ExitStack() as locked:
        trees = [locked.enter_context(opened(one, options, now)) for one in asked]
        check_removals(trees, options.remove)
        with engine as elsewhere:
            run = Run(
                Renderer(
                    tuple(tree.target for tree in trees), asked[0].gzip, get_script_prefix(), get_urlconf()
                ),
                [tree.place.target for tree in trees],
                [tree.before.names for tree in trees],
                [tree.taken for tree in trees],
                wanted,
                elsewhere,
                on_page,
            )
            outcomes = _outcomes(run, trees, progress)
        told: list[Told] = []
        try:
            for tree, own in zip(trees, outcomes, strict=True):
                told.append(tree.end(own, options, now))
        except BaseException:
            # What is published is told of, whatever happened to the next host.
            for one in told:
                one.report(time.perf_counter() - started, on_published)
            raise
    seconds = time.perf_counter() - started
    return [one.report(seconds, on_published) for one in told]


def _outcomes(
    run: Run, trees: Sequence[Tree], progress: Callable[[SectionReport], object]
) -> list[dict[str, Outcome]]:
    """Those of each host by section: in one pass where only the host differs, else in one for each."""
    found: list[dict[str, Outcome]] = [{} for _ in trees]
    for name, section in trees[0].asked.chosen.items():
        befores = [tree.record(name) for tree in trees]
        if len(trees) == 1 or sources.shareable(section):
            made = export_section(run, name, section, befores)
        else:
            made = [
                export_section(run.of_host(place), name, section, [before])[0]
                for place, before in enumerate(befores)
            ]
        for own, outcome in zip(found, made, strict=True):
            own[name] = outcome
            progress(outcome.report)
    return found
