"""Run an audit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

from django_sitemaps09.audit import libraries
from django_sitemaps09.audit.audit_target import choose_target, roots
from django_sitemaps09.audit.crawl import Crawl
from django_sitemaps09.audit.document_rules import AuditContext
from django_sitemaps09.audit.findings import Findings
from django_sitemaps09.audit.kept_reports import save_report
from django_sitemaps09.audit.page_rules import PageRules
from django_sitemaps09.audit.report import AuditReport
from django_sitemaps09.audit.robots_rules import read_robots
from django_sitemaps09.audit.sample import Sample
from django_sitemaps09.audit.scratch import Scratch
from django_sitemaps09.conf import site_locale
from django_sitemaps09.exceptions import AuditError

#: Default maximum number of pages to request each second over HTTP.
RATE = 2.0
Fetch = int | Literal["all"]


def audit(
    url: str | None = None,
    *,
    directory: Path | str | None = None,
    base_url: str | None = None,
    agents: Sequence[str] = (),
    fetch: Fetch = 0,
    rate: float = RATE,
    on_document: Callable[[str], object] = lambda place: None,
) -> AuditReport:
    """Audit sitemaps, and return a report of the broken rules.

    By default, the live views of this project are read. `directory` is a local folder with the documents.
    `url` is a robots.txt, a sitemap, an index or the base URL of a site, and is read over HTTP. `base_url`
    is the scheme and host of this project's URLs; it defaults to the setting. `agents` are user agents for
    which robots.txt is applied in addition to `*`. `fetch` is the number of listed pages to request, or
    `"all"`. They are requested through Django's test client. With `url`, they are requested over HTTP, at
    most `rate` per second. `on_document` is called with the name of each document before it is read.

    If there is an export for the host, the report is kept beside its manifest, unless `url` is on another
    host.
    Raise `AuditError` for invalid arguments.
    """
    libraries.require()
    _check(url, directory, fetch, rate)
    started, clock = datetime.now(timezone.utc), time.perf_counter()
    findings = Findings()
    with ExitStack() as stack:
        # Requests of the test client leave the language of the last page active.
        stack.enter_context(site_locale())
        scratch = stack.enter_context(closing(Scratch()))
        target = choose_target(url, directory, base_url, stack)
        robots = read_robots(target.reader, target.robots, ("*", *agents), findings)
        sample = Sample(None if fetch == "all" else fetch, scratch, target.base if url is None else None)
        context = AuditContext(target.reader, findings, scratch, robots, target.project, sample, started)
        crawl = Crawl(context, on_document)
        crawl.run(roots(target, robots))
        pages = PageRules(target.pages, findings, rate if url is not None else 0)
        fetched = sum(1 for _ in map(pages.check, sample.pages()))
    report = AuditReport(
        started=started,
        seconds=time.perf_counter() - clock,
        target=target.name,
        urls=crawl.urls,
        documents=crawl.documents,
        pages=fetched,
        findings=findings.result(),
    )
    if target.project is not None:
        save_report(report, target.project, directory)
    return report


def _check(url: str | None, directory: Path | str | None, fetch: Fetch, rate: float) -> None:
    if url is not None and directory is not None:
        raise AuditError("An audit reads either a URL or a directory. Pass only one of them.")
    if fetch != "all" and fetch < 0:
        raise AuditError(f"The number of pages to fetch must not be negative: {fetch}.")
    if not rate >= 0:
        raise AuditError(f"The number of pages per second must not be negative: {rate}.")
