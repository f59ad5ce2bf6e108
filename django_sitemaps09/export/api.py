"""Export sitemaps for one host, or for several, one after the other."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial

from django.utils.asyncio import async_unsafe

from django_sitemaps09.entries import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import engines
from django_sitemaps09.export.host import export_host
from django_sitemaps09.export.interrupts import carrying, raising_carried
from django_sitemaps09.export.options import ExportOptions, Host, takes, takes_hosts
from django_sitemaps09.export.publishing.submissions import submit_all
from django_sitemaps09.export.rendering.page import EXPECTED
from django_sitemaps09.export.report import Report, peaks
from django_sitemaps09.state.journal import check_root
from django_sitemaps09.state.manifest import read_root
from django_sitemaps09.state.previous import check_site

logger = logging.getLogger(__name__)


@async_unsafe
@takes(ExportOptions)
def export(options: ExportOptions) -> Report:
    """Render the named sections, or all sections, to files and return a report.

    Raise `ExportError`, `UnknownSectionError` or `ImproperlyConfigured` if the export cannot start or
    publish. Published files change only if publishing has begun. The next run then finishes it. If one of
    the callbacks other than `on_published` raises an exception, the export ends before anything is
    published.

    If anything was published, the signal `published` is sent, too. With `changes`, it and `on_published`
    receive the URLs that were added, removed and changed. A failed submission becomes a warning, and the
    next one includes its URLs.
    """
    [report] = run_exports(options, partial(Host.resolve_all, options, [options.base_url], several=False))
    return report


@async_unsafe
@takes_hosts(ExportOptions)
def export_hosts(base_urls: Sequence[str], options: ExportOptions) -> dict[str, Report]:
    """Export for several hosts, one after the other, and return a report for each of the `base_urls`.

    Each host has a folder with its name below the target. Arguments are checked before the first export,
    and raise the errors of `export()`. An error of one host is then a failure in its report, and does not
    stop the others. An exception of a callback ends the exports. `force` and `remove` apply to the hosts
    where the section is published.
    """
    hosts = partial(Host.resolve_all, options, base_urls, several=True)
    return dict(zip(base_urls, run_exports(options, hosts), strict=True))


def run_exports(options: ExportOptions, resolve: Callable[[], Sequence[Host]]) -> list[Report]:
    """Export to each of the resolved hosts, and return the reports in their order."""
    # Choose the engine before querying a database, since the choice depends on the open connections.
    engine = engines.engine(options.engine, options.workers, elsewhere=options.sitemaps is None)
    hosts = resolve()
    _check_folders(hosts)
    _check_removals(hosts, options)
    options = replace(
        options,
        on_plan=carrying(options.on_plan),
        on_page=carrying(options.on_page),
        progress=carrying(options.progress),
    )
    with raising_carried(), engine as active_engine:
        reports = [_export(host, options, active_engine) for host in hosts]
    # Only now have the processes of the engine ended.
    own_peak, workers_peak = peaks()
    reports = [replace(report, memory=own_peak, workers_memory=workers_peak) for report in reports]
    if any(host.submit for host in hosts):
        # All locks are released, so no other export waits for search engines.
        return submit_all(hosts, reports)
    return reports


def _export(host: Host, options: ExportOptions, engine: engines.Engine | None) -> Report:
    try:
        return export_host(host, options, engine)
    except Exception as error:
        if not host.folder:
            raise
        is_expected = isinstance(error, EXPECTED)
        reason = excerpt(error, MAX_MESSAGE) if is_expected else reason_of(error)
        logger.error("%sthe export has failed: %s", host.prefix, reason, exc_info=not is_expected)
        return Report(
            sections=(),
            folder=host.local_folder,
            target=host.store.label,
            index_url=host.index_url,
            published=False,
            robots="none",
            robots_path=host.robots,
            warnings=host.warnings,
            failures=[f"{host.prefix}{reason}"],
            seconds=0.0,
            dry_run=options.dry_run,
            is_busy=isinstance(error, ExportRunningError),
        )


def _check_folders(hosts: Sequence[Host]) -> None:
    """Raise `ExportError` if the folder of one of several hosts contains an export of another site."""
    for host in hosts:
        root = None
        if host.folder:
            # A folder that cannot be read is a failure of its host alone.
            with suppress(ExportError, OSError):
                root = read_root(host.state)
        if root is not None:
            check_root(root, host.store, host.state)
            if root.base != host.moved_from:
                check_site(host.store, host.state, root, host.site)


def _check_removals(hosts: Sequence[Host], options: ExportOptions) -> None:
    """Raise `ExportError` if a section to remove is still declared, or is not published on any host."""
    now = datetime.now(timezone.utc).timestamp()
    published: set[str] = set()
    for host in hosts if options.remove else ():
        # The run of the host reports such an error.
        with suppress(ExportError, OSError):
            previous = host.previous(None, now)
            sections = previous.manifest.sections.items()
            published.update(name for name, record in sections if record.pages or previous.has_moved)
    for name in options.remove:
        if name in hosts[0].sections:
            raise ExportError(f"The section {name!r} cannot be removed, because it is still declared.")
        if name not in published:
            raise ExportError(f"The section {name!r} cannot be removed, because it is not published.")
