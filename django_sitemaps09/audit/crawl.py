"""Read all documents that robots.txt and the indexes list, and apply the rules to their entries."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, NamedTuple

from django_sitemaps09.audit import documents
from django_sitemaps09.audit.documents import DocumentKind, DocumentPart, ReadEntry
from django_sitemaps09.audit.readers import Reader, ReportRule, Response, limit_size, peek
from django_sitemaps09.audit.rules import Findings
from django_sitemaps09.audit.rules.links import LINK, LinkRules
from django_sitemaps09.audit.rules.media import check_media
from django_sitemaps09.audit.rules.robots import RobotsRules, origin
from django_sitemaps09.audit.rules.urls import UrlRules, directory, is_inside, normalized, url_problem
from django_sitemaps09.audit.rules.values import LastmodRange, Moment, check_values, parse_lastmod
from django_sitemaps09.audit.scratch import Scratch
from django_sitemaps09.compression import GZIP_MAGIC
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import MAX_BYTES, MAX_NEWS, MAX_URLS, Base

MAX_DOCUMENTS = 100_000
# The depth of nested indexes.
MAX_LEVELS = 5
# Number of bytes of documents to read before garbage is collected. This takes much less time than reading.
_GARBAGE = 10_000_000


class ListedDocument(NamedTuple):
    """A document to read. `place` is where it is listed, and `parents` are the indexes that lead to it."""

    url: str
    place: str
    parents: tuple[str, ...] = ()
    lastmod: Moment | None = None


@dataclass
class Document:
    """State of a document while it is read. `entries` counts URLs, or the documents in an index."""

    listed: ListedDocument
    place: str
    report: ReportRule
    kind: DocumentKind = "urlset"
    entries: int = 0
    news: int = 0
    span: LastmodRange = field(default_factory=LastmodRange)


class Crawl:
    """Reads the documents of one audit. `documents` counts those requested, and `urls` the URLs in them.

    `base` is the base of this project's URLs; `None` if the URLs are those of another project.
    """

    # Number of bytes that all audits have read since garbage was collected. Parsers of lxml are reference
    # cycles, and keep the names of their documents. Python does not count these when it decides to collect.
    _garbage: ClassVar[int] = 0

    def __init__(
        self,
        reader: Reader,
        robots: RobotsRules,
        base: Base | None,
        findings: Findings,
        scratch: Scratch,
        now: datetime,
        on_document: Callable[[str], object],
    ) -> None:
        self._reader, self._robots, self._findings, self._scratch = reader, robots, findings, scratch
        self._now, self._on_document = now, on_document
        self._url_rules = UrlRules(findings, base, robots, reader)
        self._link_rules = LinkRules(findings, scratch)
        self._seen: set[str] = set()
        self.documents = self.urls = 0

    def run(self, roots: Iterable[ListedDocument]) -> None:
        queue = deque(roots)
        while queue:
            listed = queue.popleft()
            report = self._findings.at(listed.place)
            if listed.url in self._seen:
                report("index-cycle" if listed.url in listed.parents else "index-duplicate", listed.url)
            elif self.documents >= MAX_DOCUMENTS:
                report("document-limit", f"{MAX_DOCUMENTS:,} documents were read")
                break
            elif len(listed.parents) > MAX_LEVELS:
                report("document-limit", f"{listed.url} is at level {MAX_LEVELS + 1}")
            else:
                self._seen.add(listed.url)
                queue.extendleft(reversed(self._read(listed)))
                if Crawl._garbage > _GARBAGE:
                    gc.collect()
                    Crawl._garbage = 0
        self._link_rules.finish()

    def _read(self, listed: ListedDocument) -> list[ListedDocument]:
        """Read one document. Return the documents that it lists, if it is an index."""
        place = self._reader.label(listed.url)
        self._on_document(place)
        document = Document(listed, place, self._findings.at(place))
        self.documents += 1
        for agent in self._robots.blocking_agents(listed.url):
            document.report("robots-blocks-document", f"forbidden for {agent}")
        children: list[ListedDocument] = []
        try:
            with self._reader.open(listed.url) as response:
                for kind, entries in self._batches(document, response):
                    document.kind = kind
                    if kind == "sitemapindex":
                        children += self._children(document, entries)
                    else:
                        self._check_urls(document, entries)
                    document.entries += len(entries)
            _check_whole(document)
        except DocumentError as error:
            listed_in = f"listed in {listed.place}" if listed.place else ""
            document.report(error.rule, "; ".join(filter(None, (str(error), listed_in))))
        self._url_rules.finish((listed.url, *listed.parents))
        if document.kind != "sitemapindex":
            self.urls += document.entries
        return children

    def _batches(self, document: Document, response: Response) -> Iterator[DocumentPart]:
        url, report = document.listed.url, document.report
        if response.url != url:
            report("document-redirect", f"to {response.url}")
        if response.status != 200:
            rule = "document-missing" if response.status in (404, 410) else "document-status"
            raise DocumentError(rule, f"status {response.status}")
        kind = response.headers.get("content-type", "").lower()
        head, body = peek(response.chunks, len(GZIP_MAGIC))
        is_plain = "content-encoding" not in response.headers and not head.startswith(GZIP_MAGIC)
        chunks = limit_size(response._replace(chunks=body).content(report), MAX_BYTES)
        yield from documents.batches(self._counted(chunks), report, text=documents.is_text(url, kind))
        if is_plain and url.partition("?")[0].endswith(".gz"):
            report("gzip-missing")
        if kind.startswith("text/html"):
            report("document-type", kind)

    @staticmethod
    def _counted(chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            Crawl._garbage += len(chunk)
            yield chunk

    def _check_urls(self, document: Document, entries: Sequence[ReadEntry]) -> None:
        place, report = document.place, document.report
        self._url_rules.check(place, document.listed.url, entries, document.entries)
        check_values(report, entries, document.span, self._now)
        self._check_duplicates(document, entries)
        for entry in entries:
            if entry.extensions:
                if LINK in entry.extensions:
                    self._link_rules.check(place, entry, entry.extensions[LINK])
                document.news += check_media(report, entry, self._now)
        self._scratch.add_pages(place, entries)

    def _check_duplicates(self, document: Document, entries: Sequence[ReadEntry]) -> None:
        urls = [normalized(entry.url) for entry in entries]
        # Two documents can have the same label.
        own = document.listed.url
        seen = self._scratch.add_urls({*urls} - {""}, own)
        for url, entry in zip(urls, entries, strict=True):
            first = seen.get(url)
            if first == own:
                text = entry.url if entry.url == url else f"{entry.url} is equivalent to {url}"
                document.report("url-duplicate", text, entry.line)
            elif first is not None:
                text = f"{entry.url} is also in {self._reader.label(first)}"
                document.report("url-duplicate-across", text, entry.line)
            if url:
                seen[url] = own

    def _children(self, document: Document, entries: Sequence[ReadEntry]) -> Iterator[ListedDocument]:
        listed, report = document.listed, document.report
        check_values(report, entries, LastmodRange(), self._now)
        scope, index_origin = directory(listed.url), origin(listed.url)
        parents = (*listed.parents, listed.url)
        for entry in entries:
            url = entry.url
            if not url:
                continue
            if problem := url_problem(url):
                rule, detail = problem
                report("index-loc", f"{url} ({rule}: {detail})", entry.line)
                if rule != "url-encoding":
                    continue
            elif origin(url) != index_origin:
                report("index-host", f"{url} is not on {index_origin}", entry.line)
                continue
            elif not is_inside(url, scope):
                report("index-scope", f"{url} is not in {scope}", entry.line)
            lastmod = parse_lastmod(entry.lastmod).moment
            yield ListedDocument(url, f"{document.place}:{entry.line}", parents, lastmod)


def _check_whole(document: Document) -> None:
    """Apply the rules that need the whole document."""
    report, count = document.report, document.entries
    is_index = document.kind == "sitemapindex"
    if not count:
        report("index-empty" if is_index else "urlset-empty")
    if count > MAX_URLS:
        report("index-too-many" if is_index else "document-too-many-urls", f"{count:,}")
    if is_index and document.listed.parents:
        report("index-nested", f"listed in {document.listed.place}")
    if document.news > MAX_NEWS:
        report("news-too-many", f"{document.news:,}")
    if text := document.span.alike():
        report("lastmod-alike", text)
    if text := document.span.newer_than(document.listed.lastmod):
        report("index-lastmod", text)
