"""Export sitemaps for one host, or for several, one after the other; also in the worker of a queue."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import DisallowedHost, ImproperlyConfigured
from django.db import DatabaseError
from django.http import HttpRequest
from django.utils.asyncio import async_unsafe

from django_sitemaps09.conf import conf, strings, surroundings
from django_sitemaps09.declare.hosts import export_base
from django_sitemaps09.exceptions import ExportError, ExportRunningError, SitemapError
from django_sitemaps09.export import engines
from django_sitemaps09.export.engines.queues import QueueEngine
from django_sitemaps09.export.host import Host
from django_sitemaps09.export.host_export import export_host
from django_sitemaps09.export.interrupts import carrying, raising_carried, time_limited
from django_sitemaps09.export.notify.submission import new_client, send
from django_sitemaps09.export.options import ExportHostsOptions, ExportOptions, takes
from django_sitemaps09.export.page import EXPECTED
from django_sitemaps09.export.report import Report, exit_status, with_peaks
from django_sitemaps09.protocol.fields import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.protocol.urls import Base, origin
from django_sitemaps09.target.journal import check_root
from django_sitemaps09.target.manifest import read_root
from django_sitemaps09.target.previous import check_site

logger = logging.getLogger(__name__)

#: Exceptions that end a command with a message and a status. Other exceptions are bugs.
EXPORT_ERRORS = (SitemapError, ImproperlyConfigured, DatabaseError, OSError)


@async_unsafe
@takes(ExportOptions)
def export(options: ExportOptions) -> Report:
    """Render the named sections, or all sections, to files and return a report.

    Raise `ExportError`, `UnknownSectionError` or `ImproperlyConfigured` if the export cannot start or
    publish. Published files change only if publishing has begun. The next run then finishes it. If a
    callback other than `on_published` raises an exception, nothing is published.

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


def run_export(
    *sections: str,
    base_urls: Sequence[str] = (),
    changed_only: bool = False,
    rebalance: bool = False,
    strict: bool = False,
) -> dict[str, Any]:
    """Export in the worker of a queue, and return the exit status and a summary for each host, for JSON.

    The arguments come from a queue, so they must not contain paths, code to import, or consent to lost URLs
    (`force`, `remove`). Other options of an export come from the settings. So do the script prefix and the
    URLconf: a thread of a worker does not have the prefix that `django.setup()` has set. The hosts of
    `base_urls` must be in `ALLOWED_HOSTS`, and their ports must be the default port or that of `BASE_URL`.
    """
    try:
        with time_limited(), surroundings(conf.script_prefix, None):
            # The arguments are JSON of any type. The functions called here check the others.
            urls = strings(base_urls, "base_urls")
            for url in urls:
                _check_allowed(url)
            flags: Any = {"changed_only": changed_only, "rebalance": rebalance, "strict": strict}
            if len(urls) > 1:
                options: ExportOptions = ExportHostsOptions(urls, sections, **flags)
            else:
                options = ExportOptions(sections, base_url=next(iter(urls), None), **flags)
            reports = run_exports(options, in_worker=True)
    except EXPORT_ERRORS as error:
        # Some backends cannot store all characters, and a text from a database can be long.
        status, reason = getattr(error, "exit_status", 1), excerpt(error, MAX_MESSAGE)
        level = logging.WARNING if isinstance(error, ExportRunningError) else logging.ERROR
        logger.log(level, "The export has ended with status %d: %s", status, reason)
        return {"status": status, "failures": [reason], "warnings": [], "hosts": []}
    failures = [*dict.fromkeys(failure for report in reports for failure in report.failures)]
    warnings = [*dict.fromkeys(warning for report in reports for warning in report.warnings)]
    for failure in failures:
        logger.error("%s", failure)
    for warning in warnings:
        logger.warning("%s", warning)
    summaries = [_summary(report) for report in reports]
    return {"status": exit_status(reports), "failures": failures, "warnings": warnings, "hosts": summaries}


@async_unsafe
def run_exports(
    options: ExportOptions, hosts: Sequence[Host] = (), *, in_worker: bool = False
) -> list[Report]:
    """Export to these hosts, or to those of the options. `in_worker` means that a queue started this."""
    # Choose the engine before querying a database, since the choice depends on the open connections.
    engine = engines.engine(options.engine, options.workers, elsewhere=options.sitemaps is None)
    hosts = hosts or Host.resolve_all(options)
    _check_folders(hosts)
    _check_removals(hosts, options)
    callbacks: Any = {name: carrying(getattr(options, name)) for name in ("on_plan", "on_page", "progress")}
    options = replace(options, **callbacks)
    with raising_carried(), engine as active_engine:
        if isinstance(active_engine, QueueEngine):
            active_engine.in_worker = in_worker
        reports = [_export(host, options, active_engine) for host in hosts]
    # Only now have the processes of the engine ended.
    reports = [with_peaks(report) for report in reports]
    if any(host.submit for host in hosts):
        # All locks are released, so no other export waits for search engines.
        return _submit_all(hosts, reports)
    return reports


def _export(host: Host, options: ExportOptions, engine: engines.Engine) -> Report:
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
            advice = "Set another target, or export without --moved-from"
            raise ExportError(f"{host.store.label} contains no export that could move. {advice}.")
        if host.folder:
            check_root(root, host.store, host.state)
            if root is not None and root.base not in host.moved_from:
                check_site(host.store, host.state, root, host.site)


def _check_removals(hosts: Sequence[Host], options: ExportOptions) -> None:
    """Raise `ExportError` if a section to remove is still declared, or is not published on any host."""
    unpublished = set(options.remove)
    for host in hosts if options.remove else ():
        try:
            previous = host.previous(None, time.time())
        except (ExportError, OSError):
            # The run of the host reports this error. Any section may be published there.
            unpublished.clear()
            continue
        sections = previous.manifest.sections.items()
        unpublished -= {name for name, record in sections if record.pages or previous.has_moved}
    for name in options.remove:
        if name in hosts[0].sections or name in unpublished:
            reason = "still declared" if name in hosts[0].sections else "not published"
            raise ExportError(f"The section {name!r} cannot be removed, because it is {reason}.")


def _submit_all(hosts: Sequence[Host], reports: Sequence[Report]) -> list[Report]:
    """Submit what is pending for each host within one deadline. Return the reports with the results."""
    submitted = []
    with closing(new_client()) as client:
        for host, report in zip(hosts, reports, strict=True):
            try:
                submission = send(host.store, host.state, client)
                warnings = submission.failures
            except Exception as error:
                logger.exception("Changes could not be submitted")
                text = f"The changes are not submitted before the next run: {excerpt(error, MAX_MESSAGE)}"
                submission, warnings = None, [text]
            report = replace(report, submission=submission, warnings=[*report.warnings, *warnings])
            submitted.append(report)
    return submitted


def _check_allowed(url: str) -> None:
    """Raise `ExportError` for a URL whose host is not in `ALLOWED_HOSTS`, or whose port is not known."""
    label = f"A message in the queue asks for an export of {url}"
    base, request = export_base(url), HttpRequest()
    # Django ignores the port, but each port has its own folder.
    if _port(base) not in (None, _port(conf.base_url)):
        raise ExportError(
            f"{label}, but its port is neither the default port nor that of SITEMAPS09['BASE_URL']. Change "
            "BASE_URL, or use the command."
        )
    request.META["HTTP_HOST"] = base.domain
    try:
        request.get_host()
    except DisallowedHost as error:
        advice = "Add it there, or use the command"
        raise ExportError(f"{label}, but its host is not in ALLOWED_HOSTS. {advice}.") from error


def _port(base: Base | None) -> int | None:
    """Return the port in a base URL; `None` if it is the default port of the scheme."""
    return base and urlsplit(str(origin(str(base)))).port


def _summary(report: Report) -> dict[str, Any]:
    return {
        "index_url": report.index_url,
        "published": report.published,
        "urls": report.urls,
        "skipped": sum(section.skipped_items + section.skipped_elements for section in report.sections),
        "written": len(report.written),
        "deleted": len(report.deleted),
        "seconds": round(report.seconds, 3),
    }
