"""Export sitemaps for one host, or for several."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from django.urls import get_script_prefix, get_urlconf
from django.utils.asyncio import async_unsafe

from django_sitemaps09 import sources
from django_sitemaps09.conf import strings
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import engines
from django_sitemaps09.export.host import HostExport, HostResult, check_removals, open_host
from django_sitemaps09.export.interrupts import carrying, raising_carried, uninterrupted
from django_sitemaps09.export.options import ExportOptions, HostOptions, HostsOptions, Listeners
from django_sitemaps09.export.publishing.changes import Published
from django_sitemaps09.export.publishing.submissions import submit_all
from django_sitemaps09.export.rendering.page import Renderer
from django_sitemaps09.export.rendering.plan import Run
from django_sitemaps09.export.rendering.records import SectionOutcome
from django_sitemaps09.export.rendering.section import export_section
from django_sitemaps09.export.report import PageFile, Report, SectionReport
from django_sitemaps09.sections import Section
from django_sitemaps09.sources.retry import retry
from django_sitemaps09.state.manifest import SectionRecord

if TYPE_CHECKING:
    from typing_extensions import Unpack


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
    submit: bool | None = None,
    on_published: Callable[[Published], object] | None = None,
    progress: Callable[[SectionReport], object] = lambda section: None,
    on_page: Callable[[str, PageFile], object] = lambda section, file: None,
    on_plan: Callable[[Mapping[str, int | None]], object] = lambda pages: None,
) -> Report:
    """Render the named sections, or all sections, to files and return a report.

    Arguments default to the settings. `strict` publishes nothing if a section failed or anything was
    skipped. `changed_only` skips pages whose rows have not changed, as far as the database can tell.
    `rebalance` rebuilds all pages. `force` lists sections to publish even if they shrink too much. `remove`
    lists sections to remove that are published but no longer declared. With several `workers`, sections
    must come from the setting or the registry. `dry_run` renders the pages, but writes no files.

    `on_plan` receives the number of pages of each section, `None` if unknown. It is called before the first
    page, and may be called again. `progress` is called after each section, `on_page` after each rendered
    page. If one of these callbacks raises an exception, the export ends before anything is published. If
    anything was published, `on_published` is called and the signal `published` is sent. With `changes`,
    both receive the URLs that were added, removed and changed. An exception in `on_published` becomes a
    warning in the report. With `submit`, the changes are submitted to search engines afterwards. A failed
    submission becomes a warning, and the next one includes its URLs.

    Raise `ExportError`, `UnknownSectionError` or `ImproperlyConfigured` if the export cannot start or
    publish. Published files change only if publishing has begun. The next run then finishes it.
    """
    options = ExportOptions(
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
        submit=submit,
    )
    listeners = Listeners(on_plan, on_page, progress)
    [report] = export_all([base_url], options, on_published, listeners, several=False)
    return report


@async_unsafe
def export_hosts(
    base_urls: Sequence[str],
    names: Sequence[str] = (),
    *,
    on_published: Callable[[Published], object] | None = None,
    progress: Callable[[SectionReport], object] = lambda section: None,
    on_page: Callable[[str, PageFile], object] = lambda section, file: None,
    on_plan: Callable[[Mapping[str, int | None]], object] = lambda pages: None,
    **options: Unpack[HostsOptions],
) -> dict[str, Report]:
    """Export for several hosts, and return a report for each of the `base_urls`.

    Each host has a folder with its name below the target. Rows are read once for all hosts. Only
    opaque sitemaps and sections with a `site_field` are read for each host. See `export()` for arguments.
    """
    base_urls = strings(base_urls, "base_urls")
    if not base_urls:
        raise ExportError("base_urls must be a list of at least one base URL.")
    listeners = Listeners(on_plan, on_page, progress)
    reports = export_all(base_urls, ExportOptions(names, **options), on_published, listeners, several=True)
    return dict(zip(base_urls, reports, strict=True))


def export_all(
    base_urls: Sequence[str | None],
    options: ExportOptions,
    on_published: Callable[[Published], object] | None,
    listeners: Listeners,
    *,
    several: bool,
) -> list[Report]:
    """Export, and return the reports in the order of `base_urls`.

    If `several` is true, each host has its own folder.
    """
    started = time.perf_counter()
    options = options.checked()
    # Reject invalid arguments before touching any file. Choose the engine before querying a database, since
    # the choice depends on the open connections.
    engine = engines.engine(options.engine, options.workers, elsewhere=options.sitemaps is None)
    host_options = retry(
        lambda: [HostOptions.resolve(options, url, several=several) for url in base_urls],
        "The site of the export",
        lost_only=True,
    )
    if len({host.folder for host in host_options}) < len(host_options):
        raise ExportError(
            f"Two of the hosts {', '.join(map(str, base_urls))} would share a folder. Export each host "
            "once."
        )
    now = datetime.now(timezone.utc)
    results: list[HostResult] = []
    with raising_carried(), ExitStack() as stack:
        hosts = [stack.enter_context(open_host(host, options, now)) for host in host_options]
        check_removals(hosts, options.remove)
        with engine as active_engine:
            outcomes = _outcomes(hosts, options, now, active_engine, listeners)
        try:
            for host, host_outcomes in zip(hosts, outcomes, strict=True):
                with uninterrupted():
                    results.append(host.end(host_outcomes, options, now))
        except BaseException:
            # Send the notifications for hosts that are already published.
            for result in results:
                result.finish(time.perf_counter() - started, on_published)
            raise
    failures = [*results[0].failures, *getattr(active_engine, "failures", ())]
    results[0] = results[0]._replace(failures=failures)
    seconds = time.perf_counter() - started
    reports = [result.finish(seconds, on_published) for result in results]
    if any(host.submit for host in host_options):
        # All locks are released, so no other export waits for search engines.
        return submit_all([host.publish_target for host in hosts], reports)
    return reports


def _outcomes(
    hosts: Sequence[HostExport],
    options: ExportOptions,
    started: datetime,
    engine: engines.Engine | None,
    listeners: Listeners,
) -> list[dict[str, SectionOutcome]]:
    """Render all sections, and return the section outcomes for each host, by section name.

    A shareable section is exported once for all hosts, any other section once for each host.
    """
    targets = tuple(host.host_target for host in hosts)
    run = Run(
        Renderer(targets, hosts[0].host_options.gzip, get_script_prefix(), get_urlconf()),
        [host.previous for host in hosts],
        options,
        started,
        engine,
        Listeners(*(carrying(listener) for listener in listeners)),
    )
    outcomes: list[dict[str, SectionOutcome]] = [{} for _ in hosts]
    sections = hosts[0].host_options.chosen_sections
    shared = {
        name for name, section in sections.items() if len(hosts) == 1 or sources.is_shareable(section)
    }
    run.listeners.plan({name: _count_pages(run.records(name), shared=name in shared) for name in sections})
    single_runs = [run.for_host(index) for index in range(len(hosts))]
    for name, section in sections.items():
        runs = [run] if name in shared else single_runs
        results = [outcome for part in runs for outcome in export_section(part, name, section)]
        for host_outcomes, outcome in zip(outcomes, results, strict=True):
            host_outcomes[name] = outcome
            run.listeners.section(outcome.report)
    return outcomes


def _count_pages(records: Sequence[SectionRecord], *, shared: bool) -> int | None:
    """Return how many pages will be rendered, estimated from the published pages; `None` if unknown.

    Pages of a `shared` section are rendered once for all hosts, other pages once for each host.
    """
    counts = [len(record.pages) for record in records]
    return (max(counts) if shared else sum(counts)) if all(counts) else None
