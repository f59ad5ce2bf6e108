"""Run an export in the worker of a queue, and return the exit status of the command as a value for JSON."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import DisallowedHost, ImproperlyConfigured
from django.db import DatabaseError
from django.http import HttpRequest

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf, strings, surroundings
from django_sitemaps09.declare.hosts import export_base
from django_sitemaps09.exceptions import ExportError, ExportRunningError, SitemapError
from django_sitemaps09.export.engines.queues import in_worker
from django_sitemaps09.export.interrupts import time_limited
from django_sitemaps09.export.report import Report, exit_status
from django_sitemaps09.export.runs import export, export_hosts
from django_sitemaps09.protocol import MAX_MESSAGE, Base, excerpt

logger = logging.getLogger(__name__)

#: Exceptions that end the command with a message and a status. Other exceptions are bugs.
EXPORT_ERRORS = (SitemapError, ImproperlyConfigured, DatabaseError, OSError)


def run_export(
    *sections: str,
    base_urls: Sequence[str] = (),
    changed_only: bool = False,
    rebalance: bool = False,
    strict: bool = False,
) -> dict[str, Any]:
    """Export the named sections, or all of them, and return the exit status and a summary for each host.

    The arguments come from a queue, so they must not contain paths, code to import, or consent to lost URLs
    (`force`, `remove`). Other options of an export come from the settings. So do the script prefix and the
    URLconf: a thread of a worker does not have the prefix that `django.setup()` has set. The hosts of
    `base_urls` must be in `ALLOWED_HOSTS`, and their ports must be the default port or that of `BASE_URL`.
    """
    token = in_worker.set(True)
    try:
        with time_limited(), surroundings(conf.script_prefix, None):
            # The arguments are JSON of any type. The functions called here check the others.
            urls = strings(base_urls, "base_urls")
            for url in urls:
                _check_allowed(url)
            options: Any = {"changed_only": changed_only, "rebalance": rebalance, "strict": strict}
            if len(urls) > 1:
                reports = [*export_hosts(urls, sections, **options).values()]
            else:
                reports = [export(sections, base_url=next(iter(urls), None), **options)]
    except EXPORT_ERRORS as error:
        # Some backends cannot store all characters, and a text from a database can be long.
        status, reason = getattr(error, "exit_status", 1), excerpt(error, MAX_MESSAGE)
        level = logging.WARNING if isinstance(error, ExportRunningError) else logging.ERROR
        logger.log(level, "The export has ended with status %d: %s", status, reason)
        return {"status": status, "failures": [reason], "warnings": [], "hosts": []}
    finally:
        in_worker.reset(token)
    failures = dict.fromkeys(failure for report in reports for failure in report.failures)
    warnings = dict.fromkeys(warning for report in reports for warning in report.warnings)
    for text in (*failures, *warnings):
        logger.warning("%s", text)
    return {
        "status": exit_status(reports),
        "failures": [*failures],
        "warnings": [*warnings],
        "hosts": [_summary(report) for report in reports],
    }


def _check_allowed(url: str) -> None:
    """Raise `ExportError` for a URL whose host is not in `ALLOWED_HOSTS`, or whose port is not a known one.

    Django ignores the port, but each port has its own folder.
    """
    base, request = export_base(url), HttpRequest()
    if _port(base) not in (None, _port(conf.base_url)):
        raise ExportError(
            f"A message in the queue asks for an export of {url}, but its port is neither the default port "
            "nor that of SITEMAPS09['BASE_URL']. Change BASE_URL, or use the command."
        )
    request.META["HTTP_HOST"] = base.domain
    try:
        request.get_host()
    except DisallowedHost as error:
        raise ExportError(
            f"A message in the queue asks for an export of {url}, but its host is not in ALLOWED_HOSTS. "
            "Add it there, or use the command."
        ) from error


def _port(base: Base | None) -> int | None:
    """Return the port in a base URL; `None` if it is the default port of the scheme."""
    return base and urlsplit(str(protocol.origin(str(base)))).port


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
