"""Read all documents that robots.txt and the indexes list, and apply the rules to their entries."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, NamedTuple

from django_sitemaps09.audit import documents
from django_sitemaps09.audit.bodies import Response, content, limit_size, peek
from django_sitemaps09.audit.documents import Batch, Entry, Kind
from django_sitemaps09.audit.link_rules import LinkRules
from django_sitemaps09.audit.media_rules import MediaRules
from django_sitemaps09.audit.readers import Reader
from django_sitemaps09.audit.report import Findings
from django_sitemaps09.audit.robots_rules import Robots, origin
from django_sitemaps09.audit.scratch import Sample, Scratch
from django_sitemaps09.audit.url_rules import UrlRules, directory, is_inside, normalized, url_problem
from django_sitemaps09.audit.value_rules import ZONES, LastmodRange, Moment, ValueRules, parse_lastmod
from django_sitemaps09.compression import GZIP_MAGIC
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import MAX_BYTES, MAX_NEWS, MAX_URLS, Base

#: Maximum number of documents that an audit reads.
MAX_DOCUMENTS = 100_000
#: Maximum depth of nested indexes.
MAX_LEVELS = 5
# Number of bytes of documents to read before garbage is collected. This takes much less time than reading.
_GARBAGE = 10_000_000


class ListedDocument(NamedTuple):
    """A document to read. `place` is where it is listed, and `parents` are the indexes that lead to it."""

    url: str
    place: str
    parents: tuple[str, ...] = ()
    lastmod: Moment | None = None


class AuditContext(NamedTuple):
    """Objects that the documents of one audit share. `base` is the base of this project's URLs, if any."""

    reader: Reader
    findings: Findings
    scratch: Scratch
    robots: Robots
    base: Base | None
    sample: Sample
    now: datetime


@dataclass
class Document:
    """State of a document while it is read. `entries` counts URLs, or the documents in an index."""

    listed: ListedDocument
    place: str
    number: int
    kind: Kind = "urlset"
    entries: int = 0
    news: int = 0
    span: LastmodRange = field(default_factory=LastmodRange)


class Crawl:
    """Reads the documents of one audit. `urls` counts the URLs that were read."""

    # Number of bytes that all audits have read since garbage was collected. Parsers of lxml are reference
    # cycles, and keep the names of their documents. Python does not count these when it decides to collect.
    _garbage: ClassVar[int] = 0

    def __init__(self, context: AuditContext, on_document: Callable[[str], object]) -> None:
        self._context = context
        self._findings = context.findings
        self._on_document = on_document
        self._urls = UrlRules(context.findings, context.base, context.robots, context.reader)
        self._values = ValueRules(context.findings, context.now)
        self._links = LinkRules(context.findings, context.scratch)
        self._media = MediaRules(context.findings, self._links, context.now)
        self._seen: set[str] = set()
        self._labels: list[str] = []
        self.urls = 0

    @property
    def documents(self) -> int:
        """Return the number of documents that were requested."""
        return len(self._labels)

    def run(self, roots: Iterable[ListedDocument]) -> None:
        """Read these documents, and those that they list."""
        queue = deque(roots)
        while queue:
            listed = queue.popleft()
            if listed.url in self._seen:
                rule = "index-cycle" if listed.url in listed.parents else "index-duplicate"
                self._findings.add(rule, listed.place, listed.url)
            elif self.documents >= MAX_DOCUMENTS:
                self._findings.add("document-limit", listed.place, f"{MAX_DOCUMENTS:,} documents were read")
                break
            elif len(listed.parents) > MAX_LEVELS:
                self._findings.add(
                    "document-limit", listed.place, f"{listed.url} is at level {MAX_LEVELS + 1}"
                )
            else:
                self._seen.add(listed.url)
                queue.extendleft(reversed(self._read(listed)))
                if Crawl._garbage > _GARBAGE:
                    gc.collect()
                    Crawl._garbage = 0
        self._links.finish()

    def _read(self, listed: ListedDocument) -> list[ListedDocument]:
        """Read one document. Return the documents that it lists, if it is an index."""
        place = self._context.reader.label(listed.url)
        self._on_document(place)
        document = Document(listed, place, self.documents)
        self._labels.append(place)
        for agent in self._context.robots.blocking_agents(listed.url):
            self._findings.add("robots-blocks-document", place, f"forbidden for {agent}")
        children: list[ListedDocument] = []
        try:
            with self._context.reader.open(listed.url) as response:
                for batch in self._batches(document, response):
                    document.kind = batch.kind
                    if batch.kind == "sitemapindex":
                        children += self._children(document, batch)
                    else:
                        self._check_urls(document, batch)
                    document.entries += len(batch.entries)
            self._finish(document)
        except DocumentError as error:
            listed_in = f"listed in {listed.place}" if listed.place else ""
            self._findings.add(error.rule, place, "; ".join(filter(None, (str(error), listed_in))))
        self._urls.finish((listed.url, *listed.parents))
        if document.kind != "sitemapindex":
            self.urls += document.entries
        return children

    def _batches(self, document: Document, response: Response) -> Iterator[Batch]:
        place, add = document.place, self._findings.add
        if response.redirects:
            add("document-redirect", place, f"to {response.url}")
        if response.status != 200:
            rule = "document-missing" if response.status in (404, 410) else "document-status"
            raise DocumentError(rule, f"status {response.status}")
        kind = response.headers.get("content-type", "").lower()
        head, body = peek(response.chunks, len(GZIP_MAGIC))
        is_plain = "content-encoding" not in response.headers and not head.startswith(GZIP_MAGIC)
        response = response._replace(chunks=body)
        chunks = content(response, lambda rule, detail: add(rule, place, detail))
        yield from documents.batches(
            self._counted(limit_size(chunks, MAX_BYTES, "document-too-large")),
            lambda rule, text, line: add(rule, place, text, line),
            text=documents.is_text(document.listed.url, kind),
        )
        if is_plain and document.listed.url.partition("?")[0].endswith(".gz"):
            add("gzip-missing", place)
        if kind.startswith("text/html"):
            add("document-type", place, kind)

    @staticmethod
    def _counted(chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            Crawl._garbage += len(chunk)
            yield chunk

    def _check_urls(self, document: Document, batch: Batch) -> None:
        place, entries = document.place, batch.entries
        self._urls.check(place, document.listed.url, entries, document.entries)
        self._values.check(place, entries, document.span)
        self._check_duplicates(document, entries)
        document.news += sum(self._media.check(place, entry) for entry in entries if entry.extensions)
        self._context.sample.add(place, entries)

    def _check_duplicates(self, document: Document, entries: Sequence[Entry]) -> None:
        urls = normalized([entry.location.strip() for entry in entries])
        unique = {*urls} - {""} if "" in urls else {*urls}
        seen = self._context.scratch.add_urls(unique, document.number)
        if not seen and len(unique) == len(urls):
            return
        for url, entry in zip(urls, entries, strict=True):
            location, number = entry.location.strip(), seen.get(url)
            if number == document.number:
                text = location if location == url else f"{location} is equivalent to {url}"
                self._findings.add("url-duplicate", document.place, text, entry.line)
            elif number is not None:
                text = f"{location} is also in {self._labels[number]}"
                self._findings.add("url-duplicate-across", document.place, text, entry.line)
            if url:
                seen[url] = document.number

    def _children(self, document: Document, batch: Batch) -> Iterator[ListedDocument]:
        listed, place = document.listed, document.place
        self._values.check(place, batch.entries, LastmodRange())
        scope = directory(listed.url)
        index_origin = origin(listed.url)
        parents = (*listed.parents, listed.url)
        for entry in batch.entries:
            url = entry.location.strip()
            if not url:
                continue
            if problem := url_problem(url):
                rule, detail = problem
                self._findings.add("index-loc", place, f"{url} ({rule}: {detail})", entry.line)
                if rule != "url-encoding":
                    continue
            elif origin(url) != index_origin:
                self._findings.add("index-host", place, f"{url} is not on {index_origin}", entry.line)
                continue
            elif not is_inside(url, scope):
                self._findings.add("index-scope", place, f"{url} is not in {scope}", entry.line)
            yield ListedDocument(url, f"{place}:{entry.line}", parents, _moment(entry))

    def _finish(self, document: Document) -> None:
        """Apply the rules that need the whole document."""
        place, count = document.place, document.entries
        if document.kind == "sitemapindex":
            if not count:
                self._findings.add("index-empty", place)
            if count > MAX_URLS:
                self._findings.add("index-too-many", place, f"{count:,}")
            if document.listed.parents:
                self._findings.add("index-nested", place, f"listed in {document.listed.place}")
            return
        if not count:
            self._findings.add("urlset-empty", place)
        if count > MAX_URLS:
            self._findings.add("document-too-many-urls", place, f"{count:,}")
        if document.news > MAX_NEWS:
            self._findings.add("news-too-many", place, f"{document.news:,}")
        if text := document.span.alike():
            self._findings.add("lastmod-alike", place, text)
        self._check_index_lastmod(document)

    def _check_index_lastmod(self, document: Document) -> None:
        newest, listed = document.span.newest, document.listed.lastmod
        if newest is None or listed is None:
            return
        # A date includes its whole day. If only one of the values is a date, its zone is not known.
        slack = (
            timedelta(days=1, microseconds=-1) if listed.is_date and not newest.is_date else timedelta(0)
        )
        if newest.is_date != listed.is_date:
            slack += ZONES
        if newest.at - listed.at > slack:
            text = f"{newest.at:%Y-%m-%d %H:%M:%S}, in the index {listed.at:%Y-%m-%d %H:%M:%S}"
            self._findings.add("index-lastmod", document.place, text)


def _moment(entry: Entry) -> Moment | None:
    return parse_lastmod((entry.lastmod or "").strip()).moment
