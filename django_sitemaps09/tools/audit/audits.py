"""Run an audit of live views, of a folder, or of a site over HTTP, and keep its report."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured, ObjectDoesNotExist
from django.db import DatabaseError
from django.urls import get_script_prefix

from django_sitemaps09.conf import conf, local_path, site_locale, strings
from django_sitemaps09.declare.hosts import export_base, host_folder
from django_sitemaps09.exceptions import AuditError, DocumentError, ExportError
from django_sitemaps09.protocol.fields import MAX_MESSAGE, excerpt, reason_of, typed_repr
from django_sitemaps09.protocol.filenames import INDEX
from django_sitemaps09.protocol.urls import Base, normalized, origin, parse_base, uri
from django_sitemaps09.target import manifest, published
from django_sitemaps09.target.local import LocalStore
from django_sitemaps09.tools.audit import parsers, readers, urls
from django_sitemaps09.tools.audit.crawl import Crawl, ListedDocument
from django_sitemaps09.tools.audit.pages import History, check_pages
from django_sitemaps09.tools.audit.readers import ClientReader, HttpReader, Reader, StoreReader
from django_sitemaps09.tools.audit.rules import MAX_EXAMPLES, RULES, Finding, Findings
from django_sitemaps09.tools.audit.scratch import Scratch
from django_sitemaps09.tools.audit.urls import RobotsRules, UrlRules, read_robots

logger = logging.getLogger(__name__)

FILE = "audit.json"  #: The file beside the manifest that has the last report.
_MAX_FILE_BYTES = 10_000_000
_FORMAT = 1
RATE = 2.0  #: Default maximum number of pages to request each second over HTTP.
Fetch = int | Literal["all"]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """Result of an audit, which `is_partial` if it was interrupted.

    `target` is the URL or the folder that was audited. `urls` and `documents` count what was read, `pages`
    what was fetched. `findings` has each broken rule. With a history, `compared` counts the pages that were
    compared, and `varying` those whose content varies within seconds.
    """

    started: datetime
    seconds: float
    target: str
    urls: int
    documents: int
    pages: int
    findings: tuple[Finding, ...]
    is_partial: bool = False
    compared: int = 0
    varying: int = 0

    @property
    def errors(self) -> int:
        """Return the number of errors that no baseline accepts."""
        return self._count("error")

    @property
    def warnings(self) -> int:
        """Return the number of warnings that no baseline accepts."""
        return self._count("warning")

    def _count(self, severity: str) -> int:
        findings = [finding for finding in self.findings if not finding.is_accepted]
        return sum(finding.count for finding in findings if finding.severity == severity)

    def accepting(self, baseline: Mapping[str, int]) -> AuditReport:
        """Return the report with the counts that a baseline accepts."""
        findings = (replace(finding, accepted=baseline.get(finding.rule, 0)) for finding in self.findings)
        return replace(self, findings=tuple(findings))

    def baseline(self) -> dict[str, int]:
        """Return a baseline that accepts all findings of this report."""
        return {finding.rule: finding.count for finding in self.findings}

    def as_dict(self) -> dict[str, Any]:
        totals = {"errors": self.errors, "warnings": self.warnings}
        return {"format": _FORMAT, **asdict(self), "started": self.started.isoformat(), **totals}


class AuditInterrupted(KeyboardInterrupt):
    """The user has interrupted an audit. `report` has what was found so far."""

    def __init__(self, report: AuditReport) -> None:
        super().__init__("The audit was interrupted.")
        self.report = report


def audit(
    url: str | None = None,
    *,
    directory: Path | str | None = None,
    base_url: str | None = None,
    agents: Sequence[str] = (),
    fetch: Fetch = 0,
    rate: float = RATE,
    user_agent: str | None = None,
    history: Path | str | None = None,
    on_document: Callable[[str], object] = lambda place: None,
    on_page: Callable[[int], object] = lambda number: None,
) -> AuditReport:
    """Audit sitemaps, and return a report of the broken rules.

    By default, the live views of this project are read. `directory` is a local folder with the documents.
    `url` is a robots.txt, a sitemap, an index or the base URL of a site, and is read over HTTP. `base_url`
    is the scheme and host of this project's URLs; it defaults to the setting. `agents` are user agents for
    which robots.txt is applied in addition to `*`. `fetch` is the number of listed pages to request, or
    `"all"`. They are requested through Django's test client or, with `url`, over HTTP, at most `rate` per
    second, with the name `user_agent`. `history` is a file to compare their lastmods with their changes
    since the last audit with it. `on_document` is called with the name of each document before it is read,
    and `on_page` with the number of pages that were fetched.

    If there is an export for the host, the report is kept beside its manifest, unless `url` is on another
    host. Raise `AuditError` or `ImproperlyConfigured` for invalid arguments, and `AuditInterrupted` with a
    partial report for Ctrl-C.
    """
    agents = strings(agents, "agents")
    _check(url, directory, fetch, rate, user_agent)
    path, folder = local_path(history, "--history", "Name a file."), _folder(directory)
    if path is not None and not fetch:
        raise AuditError("A history compares pages. Pass also the number of pages to fetch.")
    started, clock = datetime.now(timezone.utc), time.perf_counter()
    findings, pages, is_partial = Findings(), 0, False
    # Requests of the test client leave the language of the last page active.
    with site_locale(), ExitStack() as stack:
        target = choose_target(url, folder, base_url, user_agent, stack)
        robots = read_robots(target.reader, target.base, ("*", *agents), findings, target.robots_file)
        size = sys.maxsize if fetch == "all" else fetch
        scratch = stack.enter_context(closing(Scratch(size, target.base if url is None else None)))
        url_rules = UrlRules(findings, target.project, robots, target.reader)
        crawl = Crawl(target.reader, url_rules, findings, scratch, started)
        memory = None if path is None else History(path)
        # Nothing limits the rate of requests to the project's own views.
        most = 0 if url is None else rate
        try:
            crawl.run(roots(target, robots, findings), on_document)
            for pages in check_pages(scratch.pages(), target.pages, findings, most, memory):
                on_page(pages)
        except KeyboardInterrupt:
            is_partial = True
    report = AuditReport(
        started=started,
        seconds=time.perf_counter() - clock,
        target=target.name,
        urls=crawl.urls,
        documents=crawl.documents,
        pages=pages,
        findings=findings.result(),
        is_partial=is_partial,
        compared=memory.compared if memory is not None else 0,
        varying=memory.varying if memory is not None else 0,
    )
    if is_partial:
        raise AuditInterrupted(report)
    if memory is not None:
        memory.write()
    if target.project is not None:
        save_report(report, target.project, folder)
    return report


def _folder(directory: Path | str | None) -> Path | None:
    return local_path(directory, "--dir", "To audit a URL, pass it as --url.")


def _check(
    url: str | None, directory: Path | str | None, fetch: Fetch, rate: float, user_agent: str | None
) -> None:
    """Raise `AuditError` for missing libraries and invalid arguments."""
    libraries = {"lxml": parsers.etree, "protego": urls.protego, "urllib3": readers.urllib3}
    if missing := [name for name, library in libraries.items() if library is None]:
        install = 'Install the extra `audit`: pip install "django-sitemaps09[audit]".'
        raise AuditError(f"An audit needs {', '.join(missing)}. {install}")
    if url is not None and directory is not None:
        raise AuditError("An audit reads either a URL or a directory. Pass only one of them.")
    if not isinstance(url, str | None):
        raise AuditError(f"The URL to audit must be a string, not {typed_repr(url)}.")
    if fetch != "all" and not (type(fetch) is int and fetch >= 0):
        number = f"must be a whole number or 'all', not {typed_repr(fetch)}"
        raise AuditError(f"The number of pages to fetch {number}.")
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not rate >= 0:
        raise AuditError(f"The number of pages per second must not be negative: {typed_repr(rate)}.")
    is_name = isinstance(user_agent, str) and re.fullmatch("[ -~]+", user_agent)
    if user_agent is not None and (url is None or not is_name):
        raise AuditError("A user agent is ASCII text, and only sent over HTTP: pass also the URL to audit.")


class Target(NamedTuple):
    """Target of an audit. `reader` reads the documents, and `pages` requests the pages that they list.

    Begin with `document` if it is set, or else with the robots.txt at `base` or in `robots_file`, or with
    `sitemap.xml` at `home`. `project` is the base of the URLs that this project serves, or `None`.
    """

    name: str
    reader: Reader
    pages: Reader
    base: Base
    home: str
    project: Base | None
    document: str | None = None
    robots_file: Path | None = None


def choose_target(
    url: str | None, folder: Path | None, base_url: str | None, user_agent: str | None, stack: ExitStack
) -> Target:
    if url is not None:
        return _http_target(url, base_url, stack.enter_context(closing(HttpReader(user_agent))))
    base = export_base(base_url)
    client = ClientReader(base)
    home, name = f"{base}{get_script_prefix()}", f"live views at {base}"
    reader: Reader = client
    file = conf.robots_txt and Path(str(conf.robots_txt).replace("{host}", host_folder(base)))
    if folder is not None:
        if not folder.is_dir():
            raise AuditError(f"{folder} is not a directory. Export to it, or choose another one.")
        has_files_url = conf.files_url is not None and conf.base_url in (None, base)
        home = str(conf.files_url) if has_files_url else f"{base}/"
        name, reader = str(folder), StoreReader(LocalStore(folder), home)
    return Target(name, reader, client, base, home, base, robots_file=file)


def _http_target(url: str, base_url: str | None, reader: HttpReader) -> Target:
    name = url
    try:
        # A host can have letters that are not ASCII.
        url = uri(url)
        host = origin(url)
    except ValueError as error:
        text = f"{url!r} is not a URL that begins with http:// or https:// and a host: {error}."
        raise AuditError(text) from error
    is_site = not urlsplit(url).query and urlsplit(url).path in ("/", "/robots.txt")
    # A typed host can redirect to `www`, or from http to https. The rules of other hosts are not its rules.
    with suppress(DocumentError), reader.open(f"{host}/robots.txt" if is_site else url) as response:
        moved = urls.origin(response.url)
        names = {re.sub(r"^www\.|:\d+$", "", base.domain) for base in (host, moved or host)}
        if moved is not None and moved != host and len(names) == 1:
            host, url = moved, response.url
    base = host if base_url is None else export_base(base_url)
    project = base if base_url is not None or conf.base_url == base else None
    return Target(name, reader, reader, base, f"{host}/", project, None if is_site else url)


def roots(target: Target, robots: RobotsRules, findings: Findings) -> list[ListedDocument]:
    """Return the documents to begin with: the given one, those in robots.txt, or `sitemap.xml`."""
    if target.document is not None:
        return [ListedDocument(target.document, "")]
    place = target.reader.label(f"{target.base}/robots.txt")
    named = {normal: url for normal, url in robots.sitemaps.items() if urls.is_sitemap_url(url)}
    if not isinstance(target.reader, HttpReader):
        homes = (target.home, f"{target.base}/", *filter(None, [conf.files_url]))
        starts = tuple(map(normalized, homes))
        # The `Sitemap` lines can be those of another environment.
        if named and not any(normal.startswith(starts) for normal in named):
            text = f"{next(iter(named.values()))} is not in {target.home}; {_own_hosts(target.base)}"
            findings.add(place, "robots-host", text)
        # A folder has the files of one host, and live views are on one host.
        named = {normal: url for normal, url in named.items() if normal.startswith(starts[0])}
    roots = [ListedDocument(url, place) for url in named.values()]
    return roots or [ListedDocument(f"{target.home}{INDEX}", "")]


def _own_hosts(base: Base) -> str:
    """Return which setting names the base, and the domain of the current `Site`, which may disagree."""
    text = f"{'BASE_URL' if conf.base_url == base else 'the base URL'} is {base}"
    if apps.is_installed("django.contrib.sites"):
        with suppress(DatabaseError, ImproperlyConfigured, ObjectDoesNotExist):
            text += f", the Site is {apps.get_model('sites', 'Site').objects.get_current().domain}"
    return text


def from_dict(values: Mapping[str, Any]) -> AuditReport:
    """Return the report from a result of `as_dict()`. Raise `ValueError` or another error if invalid."""
    values = {"compared": 0, "varying": 0, **values}
    if values["format"] != _FORMAT:
        raise ValueError("it was written by another version")
    started = datetime.fromisoformat(values["started"])
    if started.tzinfo is None:
        raise ValueError("its time has no offset")
    # Others may be able to write the file, so it has the bounds of a saved report when it is read, too.
    manifest.parse_time(started.timestamp())
    findings = tuple(
        Finding(
            excerpt(finding["rule"]),
            "error" if finding["severity"] == "error" else "warning",
            _count(finding["count"]),
            tuple(excerpt(example, MAX_MESSAGE) for example in finding["examples"][:MAX_EXAMPLES]),
            _count(finding["accepted"]),
        )
        for finding in values["findings"][: len(RULES)]
    )
    names = ("urls", "documents", "pages", "compared", "varying")
    counts: Any = {name: _count(values[name]) for name in names}
    seconds, target = manifest.parse_time(values["seconds"]), excerpt(values["target"], MAX_MESSAGE)
    return AuditReport(started, seconds, target, findings=findings, **counts)


def _count(value: Any) -> int:
    count = int(value)
    if not 0 <= count <= sys.maxsize:
        raise ValueError("a number in it is not a count")
    return count


def parse_baseline(content: bytes, label: str) -> dict[str, int]:
    """Parse a baseline: a JSON object with a count for each rule. Raise `AuditError` if it is invalid."""
    try:
        counts = json.loads(content)
        if not isinstance(counts, dict) or not all(type(count) is int for count in counts.values()):
            raise ValueError("it must be a JSON object with a whole number for each rule")
        if unknown := sorted(counts.keys() - RULES.keys()):
            raise ValueError(f"there is no rule {unknown[0]!r:.100}")
    except (ValueError, RecursionError) as error:
        raise AuditError(f"{label} is not a baseline: {error}.") from error
    return counts


def last_report(*, directory: Path | str | None = None, base_url: str | None = None) -> AuditReport | None:
    """Return the report of the last audit of a host; `None` if it is missing or cannot be read.

    `directory` is the folder of the export, by default the target in the settings. `base_url` selects the
    host, by default that of `BASE_URL`. Without an export for it, the host is that of the export.
    """
    output = _folder(directory)
    try:
        base = conf.base_url if base_url is None else parse_base(base_url)
        export = published.find_files(base, output)
        if export is None and output is not None and base_url is None:
            export = published.find_files(None, output)
        content = None if export is None else export.folder.state.read(FILE, _MAX_FILE_BYTES)
        return None if content is None else from_dict(json.loads(content))
    except (*manifest.PARSE_ERRORS, ExportError, OSError) as error:
        logger.warning("The report of the last audit cannot be read: %s", reason_of(error))
        return None


def save_report(report: AuditReport, base: Base, folder: Path | None) -> None:
    """Write the report beside the manifest of the host's export, if any. A failure is only logged."""
    try:
        export = published.find_files(base, folder)
        if export is not None:
            export.folder.state.write(FILE, json.dumps(report.as_dict()).encode())
    except (ExportError, OSError, ValueError) as error:
        logger.warning("The report of the audit cannot be saved: %s", reason_of(error))
