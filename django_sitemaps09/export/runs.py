"""Export sitemaps for one host, or for several, one after the other."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from django.utils.asyncio import async_unsafe

from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import engines
from django_sitemaps09.export.host import export_host
from django_sitemaps09.export.interrupts import carrying, raising_carried
from django_sitemaps09.export.options import ExportHostsOptions, ExportOptions, Host, takes
from django_sitemaps09.export.page import EXPECTED
from django_sitemaps09.export.publishing.submissions import submit_all
from django_sitemaps09.export.report import Report, with_peaks
from django_sitemaps09.protocol import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.target.journal import check_root
from django_sitemaps09.target.manifest import read_root
from django_sitemaps09.target.previous import check_site

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
    [report] = run_exports(options)
    return report


@async_unsafe
@takes(ExportHostsOptions)
def export_hosts(options: ExportHostsOptions) -> dict[str, Report]:
    """Export for several hosts, one after the other, and return a report for each of the `base_urls`.

    Each host has a folder with its name below the target. Arguments are checked before the first export,
    and raise the errors of `export()`. An error of one host is then a failure in its report, and does not
    stop the others. An exception of a callback ends the exports. `force` and `remove` apply to the hosts
    where the section is published.
    """
    return dict(zip(options.base_urls, run_exports(options), strict=True))


def run_exports(options: ExportOptions, hosts: Sequence[Host] = ()) -> list[Report]:
    """Export to these hosts or, without any, to those of the options. Return the reports in their order."""
    # Choose the engine before querying a database, since the choice depends on the open connections.
    engine = engines.engine(options.engine, options.workers, elsewhere=options.sitemaps is None)
    hosts = hosts or Host.resolve_all(options)
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
    reports = [with_peaks(report) for report in reports]
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
            (),
            host.local_folder,
            host.store.label,
            host.index_url,
            robots_path=host.robots,
            warnings=host.warnings,
            failures=[f"{host.prefix}{reason}"],
            dry_run=options.dry_run,
            is_busy=isinstance(error, ExportRunningError),
        )


def _check_folders(hosts: Sequence[Host]) -> None:
    """Raise `ExportError` for a move without files, or a folder with an export of another site."""
    for host in [host for host in hosts if host.folder or host.moved_from]:
        try:
            root = read_root(host.state)
        except (ExportError, OSError):
            # A folder that cannot be read is a failure of its host alone.
            continue
        if root is None and host.moved_from and not host.folder:
            raise ExportError(
                f"{host.store.label} contains no export that could move. Set another target, or export "
                "without --moved-from."
            )
        if host.folder:
            check_root(root, host.store, host.state)
            if root is not None and root.base not in host.moved_from:
                check_site(host.store, host.state, root, host.site)


def _check_removals(hosts: Sequence[Host], options: ExportOptions) -> None:
    """Raise `ExportError` if a section to remove is still declared, or is not published on any host."""
    published: set[str] = set()
    is_known = True
    for host in hosts if options.remove else ():
        try:
            previous = host.previous(None, time.time())
        except (ExportError, OSError):
            # The run of the host reports this error.
            is_known = False
            continue
        sections = previous.manifest.sections.items()
        published.update(name for name, record in sections if record.pages or previous.has_moved)
    for name in options.remove:
        if name in hosts[0].sections or (is_known and name not in published):
            reason = "still declared" if name in hosts[0].sections else "not published"
            raise ExportError(f"The section {name!r} cannot be removed, because it is {reason}.")
