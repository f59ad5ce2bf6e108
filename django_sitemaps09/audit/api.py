"""Run an audit, and keep its report."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from django_sitemaps09 import manifest, protocol, stores
from django_sitemaps09.audit import libraries
from django_sitemaps09.audit.bodies import Reader
from django_sitemaps09.audit.client_reader import ClientReader
from django_sitemaps09.audit.crawl import Crawl
from django_sitemaps09.audit.document_rules import Listed, Tools
from django_sitemaps09.audit.findings import Findings
from django_sitemaps09.audit.http_reader import HttpReader
from django_sitemaps09.audit.page_rules import PageRules
from django_sitemaps09.audit.report import AuditReport, from_dict
from django_sitemaps09.audit.robots_rules import Robots, origin, read_robots
from django_sitemaps09.audit.sample import Sample
from django_sitemaps09.audit.scratch import Scratch
from django_sitemaps09.audit.store_reader import StoreReader
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import AuditError, ExportError
from django_sitemaps09.export.options import export_base
from django_sitemaps09.filenames import INDEX
from django_sitemaps09.protocol import Base
from django_sitemaps09.stores import LocalStore, Store, host_folder

logger = logging.getLogger(__name__)

#: The file beside the manifest that has the last report.
FILE = "audit.json"
_MAX_FILE_BYTES = 10_000_000
#: Default maximum number of pages to request each second over HTTP.
RATE = 2.0
Fetch = int | Literal["all"]


class _Target(NamedTuple):
    """What to audit. `pages` requests pages, and `base` is the host whose robots.txt is read.

    `document` is the URL to begin with. If it is `None`, begin with robots.txt, or else with `sitemap.xml`
    at `home`. `project` is the base of this project's URLs if the URLconf applies to them. `robots` is the
    file that is served as robots.txt if the reader has none.
    """

    name: str
    reader: Reader
    pages: Reader
    base: Base
    home: str
    document: str | None
    project: Base | None
    robots: Path | None = None


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
    """Check sitemaps, and return what is wrong.

    Read the live views of this project, or the documents in a local `directory`, or at a `url` over HTTP:
    a robots.txt, a sitemap, an index, or the base URL of a site. `base_url` is the scheme and host of this
    project's URLs; it defaults to the setting. `agents` are user agents for which robots.txt is applied in
    addition to `*`. `fetch` is the number of pages to request, or `"all"`: through Django's test client,
    or with `url`, at most `rate` pages per second. `on_document` gets the name of each document first.

    If there is an export, the report is kept beside its manifest. Raise `AuditError` for invalid arguments.
    """
    libraries.require()
    if url is not None and directory is not None:
        raise AuditError("An audit reads either a URL or a directory. Pass only one of them.")
    if fetch != "all" and fetch < 0:
        raise AuditError(f"The number of pages to fetch must not be negative: {fetch}.")
    if not rate >= 0:
        raise AuditError(f"The number of pages per second must not be negative: {rate}.")
    started, clock = datetime.now(timezone.utc), time.perf_counter()
    findings = Findings()
    with ExitStack() as stack:
        scratch = stack.enter_context(closing(Scratch()))
        target = _target(url, directory, base_url, stack)
        robots = read_robots(
            target.reader,
            target.base,
            ("*", *agents),
            findings,
            file=target.robots,
            expected=directory is None,
        )
        pages_base = None if url is not None else target.base
        sample = Sample(None if fetch == "all" else fetch, scratch, pages_base)
        tools = Tools(target.reader, findings, scratch, robots, target.project, sample, started)
        crawl = Crawl(tools, on_document)
        crawl.run(_roots(target, robots))
        pages = PageRules(target.pages, findings, 0 if url is None else rate)
        fetched = 0
        for page in sample.pages():
            pages.check(page)
            fetched += 1
    report = AuditReport(
        started=started,
        seconds=time.perf_counter() - clock,
        target=target.name,
        urls=crawl.urls,
        documents=crawl.documents,
        pages=fetched,
        findings=findings.result(),
    )
    _keep(report, directory, base_url)
    return report


def last_report(*, directory: Path | str | None = None, base_url: str | None = None) -> AuditReport | None:
    """Return the report of the last audit, or `None` if there is none or it cannot be read.

    `directory` is the `output` of exports if it is not the one in the settings. With exports for several
    hosts, `base_url` selects the host.
    """
    try:
        state = _state(directory, base_url)
        content = None if state is None else state.read(FILE, _MAX_FILE_BYTES)
        return None if content is None else from_dict(json.loads(content))
    except (*manifest.PARSE_ERRORS, ExportError, OSError) as error:
        logger.warning("The report of the last audit cannot be read: %s", reason_of(error))
        return None


def _target(
    url: str | None, directory: Path | str | None, base_url: str | None, stack: ExitStack
) -> _Target:
    """Choose how documents and pages are read."""
    if url is not None:
        return _http_target(url, base_url, stack.enter_context(closing(HttpReader())))
    base = export_base(base_url)
    client = ClientReader(base)
    home, name = f"{base}/", f"live views at {base}"
    reader: Reader = client
    robots = conf.robots_txt and Path(str(conf.robots_txt).replace("{host}", host_folder(base)))
    if directory is not None:
        if not Path(directory).is_dir():
            raise AuditError(f"{directory} is not a directory.")
        if conf.files_url is not None and conf.base_url in (None, base):
            home = conf.files_url
        name, reader = str(directory), StoreReader(LocalStore(Path(directory)), home)
    return _Target(name, reader, client, base, home, None, base, robots)


def _http_target(url: str, base_url: str | None, reader: HttpReader) -> _Target:
    host = origin(url)
    if host is None:
        raise AuditError(f"{url!r} is not a URL that begins with http:// or https:// and a host.")
    base = host if base_url is None else export_base(base_url)
    project = base if base_url is not None or conf.base_url == base else None
    document = None if urlsplit(url).path in ("", "/", "/robots.txt") else url
    return _Target(url, reader, reader, base, f"{host}/", document, project)


def _roots(target: _Target, robots: Robots) -> list[Listed]:
    """Return the documents to begin with: the given one, those in robots.txt, or `sitemap.xml`."""
    if target.document is not None:
        return [Listed(target.document, "")]
    place = target.reader.label(f"{target.base}/robots.txt")
    roots = [Listed(url, place) for url in robots.sitemaps if origin(url) is not None]
    if not isinstance(target.reader, HttpReader):
        # A folder has the files of one host, and live views are on one host.
        roots = [root for root in roots if root.url.startswith(target.home)]
    return roots or [Listed(f"{target.home}{INDEX}", "")]


def _state(directory: Path | str | None, base_url: str | None) -> Store | None:
    """Return the store with the manifest of the export, or `None` if there is no export."""
    if directory is None and conf.storage is None and conf.root is None:
        return None
    output = None if directory is None else Path(directory)
    base = conf.base_url if base_url is None else protocol.parse_base(base_url)
    # An export for several hosts has a folder for each of them.
    for folder in ("", *([] if base is None else [host_folder(base)])):
        state = stores.state_store(stores.target_store(output, folder), folder)
        if manifest.ROOT in state.names():
            return state
    return None


def _keep(report: AuditReport, directory: Path | str | None, base_url: str | None) -> None:
    """Write the report beside the manifest. The audit does not fail if that fails."""
    try:
        if (state := _state(directory, base_url)) is not None:
            state.write(FILE, json.dumps(report.as_dict()).encode())
    except (ExportError, OSError, ValueError) as error:
        logger.warning("The report of the audit cannot be kept: %s", reason_of(error))
