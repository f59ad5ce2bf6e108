"""Read all documents that robots.txt and the indexes list, and apply the rules to their entries."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol.compression import GZIP_MAGIC
from django_sitemaps09.protocol.limits import MAX_BYTES, MAX_NEWS, MAX_URLS
from django_sitemaps09.protocol.urls import normalized
from django_sitemaps09.tools.audit import parsers
from django_sitemaps09.tools.audit.extensions import LinkRules, check_media
from django_sitemaps09.tools.audit.parsers import DocumentPart, ParserThread
from django_sitemaps09.tools.audit.read_entries import LINK, DocumentKind, ReadEntry
from django_sitemaps09.tools.audit.readers import Reader, Response, limit_size, peek
from django_sitemaps09.tools.audit.rules import Findings, ReportRule
from django_sitemaps09.tools.audit.scratch import Scratch
from django_sitemaps09.tools.audit.urls import UrlRules, directory, is_inside, origin, url_problem
from django_sitemaps09.tools.audit.values import ZONES, Lastmods, Moment, check_values, parse_lastmod

MAX_DOCUMENTS, MAX_LEVELS = 100_000, 5  # Number of documents, and depth of nested indexes.


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
    url: str  #: The last URL after redirects.
    kind: DocumentKind = "urlset"
    entries: int = 0
    news: int = 0
    newest: Moment | None = None


class Crawl:
    """Reads the documents of one audit. `documents` counts those requested, and `urls` the URLs in them."""

    def __init__(
        self, reader: Reader, url_rules: UrlRules, findings: Findings, scratch: Scratch, now: datetime
    ) -> None:
        self._reader, self._findings, self._scratch, self._now = reader, findings, scratch, now
        self._url_rules, self._link_rules = url_rules, LinkRules(findings, scratch)
        self._lastmods = Lastmods()
        # The documents that were read, and whether an index lists them.
        self._seen: dict[str, bool] = {}
        self.documents = self.urls = 0

    def run(self, roots: Sequence[ListedDocument], on_document: Callable[[str], object]) -> None:
        queue = deque(roots)
        with closing(ParserThread()) as thread:
            while queue:
                listed = queue.popleft()
                report, url = self._findings.at(listed.place), normalized(listed.url)
                if url in self._seen:
                    if url in map(normalized, listed.parents):
                        report("index-cycle", listed.url)
                    # A robots.txt can list an index and also its documents, as is usual for news.
                    elif listed.parents and self._seen[url]:
                        report("index-duplicate", listed.url)
                    self._seen[url] = self._seen[url] or bool(listed.parents)
                elif self.documents >= MAX_DOCUMENTS:
                    report("document-limit", f"{MAX_DOCUMENTS:,} documents were read")
                    break
                elif len(listed.parents) > MAX_LEVELS:
                    report("document-limit", f"{listed.url} is at level {MAX_LEVELS + 1}")
                else:
                    self._seen[url] = bool(listed.parents)
                    on_document(self._reader.label(listed.url))
                    queue.extendleft(reversed(self._read(listed, thread)))
        self._link_rules.finish()
        if text := self._lastmods.alike(self._now):
            self._findings.add(self._reader.label(roots[0].url), "lastmod-alike", text)

    def _read(self, listed: ListedDocument, thread: ParserThread) -> list[ListedDocument]:
        """Read one document. Return the documents that it lists, if it is an index."""
        place = self._reader.label(listed.url)
        document = Document(listed, place, self._findings.at(place), listed.url)
        self.documents += 1
        for agent in self._url_rules.blocking_agents(listed.url):
            document.report("robots-blocks-document", f"forbidden for {agent}")
        children: list[ListedDocument] = []
        try:
            with self._reader.open(listed.url) as response:
                for kind, entries in _batches(document, response, thread):
                    document.kind = kind
                    if kind == "sitemapindex":
                        children += self._children(document, entries)
                    else:
                        self._check_urls(document, entries)
                    document.entries += len(entries)
            _check_whole(document)
        except DocumentError as error:
            details = (str(error), f"listed in {listed.place}" if listed.place else "")
            document.report(error.rule, "; ".join(filter(None, details)))
        self._url_rules.finish((listed.url, document.url, *listed.parents))
        if document.kind != "sitemapindex":
            self.urls += document.entries
        return children

    def _check_urls(self, document: Document, entries: Sequence[ReadEntry]) -> None:
        place, report = document.place, document.report
        self._url_rules.check(place, document.url, entries, document.entries)
        moments = check_values(report, entries, self._now)
        # The URLs of a feed are also in a sitemap, and have changed lately.
        if document.kind != "feed":
            document.newest = max([document.newest, *moments] if document.newest else moments, default=None)
            self._lastmods.add(moments)
            self._check_duplicates(document, entries)
        for entry in entries:
            if LINK in entry.extensions:
                self._link_rules.check(place, entry, entry.extensions[LINK])
            if entry.extensions:
                document.news += check_media(report, entry, self._now)
        self._scratch.add_pages(place, entries)

    def _check_duplicates(self, document: Document, entries: Sequence[ReadEntry]) -> None:
        urls = [normalized(entry.url) for entry in entries]
        # Two documents can have the same label.
        own = document.listed.url
        seen, other_forms = self._scratch.add_urls(dict.fromkeys(filter(None, urls)), own)
        for url, entry in zip(urls, entries, strict=True):
            if url in other_forms:
                document.report("url-slash", url, entry.line)
            if (first := seen.get(url)) == own:
                equivalent = "" if entry.url == url else f" is equivalent to {url}"
                document.report("url-duplicate", f"{entry.url}{equivalent}", entry.line)
            elif first is not None:
                text = f"{entry.url} is also in {self._reader.label(first)}"
                document.report("url-duplicate-across", text, entry.line)
            if url:
                seen[url] = own

    def _children(self, document: Document, entries: Sequence[ReadEntry]) -> Iterator[ListedDocument]:
        report, parents = document.report, (*document.listed.parents, document.listed.url)
        check_values(report, entries, self._now)
        scope, index_origin = directory(document.url), origin(document.url)
        for entry in filter(attrgetter("url"), entries):
            url = entry.url
            if problem := url_problem(url):
                report("index-loc", f"{url} ({problem[0]}: {problem[1]})", entry.line)
                if problem[0] != "url-encoding":
                    continue
            elif origin(url) != index_origin:
                report("index-host", f"{url} is not on {index_origin}", entry.line)
                continue
            elif not is_inside(url, scope):
                report("index-scope", f"{url} is not in {scope}", entry.line)
            place = f"{document.place}:{entry.line}"
            yield ListedDocument(url, place, parents, parse_lastmod(entry.lastmod))


def _batches(document: Document, response: Response, thread: ParserThread) -> Iterator[DocumentPart]:
    url, report, document.url = document.listed.url, document.report, response.url
    if response.url != url:
        report("document-redirect", f"to {response.url}")
    if response.status != 200:
        rule = "document-missing" if response.status in (404, 410) else "document-status"
        raise DocumentError(rule, f"status {response.status}")
    kind = response.header("content-type").lower()
    head, body = peek(response.chunks, len(GZIP_MAGIC))
    is_plain = not response.header("content-encoding") and not head.startswith(GZIP_MAGIC)
    chunks = limit_size(response._replace(chunks=body).content(report), MAX_BYTES)
    yield from parsers.batches(chunks, report, thread, text=parsers.is_text(url, kind))
    if is_plain and url.partition("?")[0].endswith(".gz"):
        report("gzip-missing")
    if kind.startswith("text/html"):
        report("document-type", kind)


def _check_whole(document: Document) -> None:
    """Apply the rules that need the whole document."""
    report, count, listed = document.report, document.entries, document.listed
    is_index = document.kind == "sitemapindex"
    if not count and document.kind != "feed":
        report("index-empty" if is_index else "urlset-empty")
    if count > MAX_URLS:
        report("index-too-many" if is_index else "document-too-many-urls", f"{count:,}")
    if is_index and listed.parents:
        report("index-nested", f"listed in {listed.place}")
    if document.news > MAX_NEWS:
        report("news-too-many", f"{document.news:,}")
    newest, indexed = document.newest, listed.lastmod
    if newest is None or indexed is None:
        return
    # A date includes its whole day. If only one of the values is a date, its zone is not known.
    slack = timedelta(0) if newest.is_date == indexed.is_date else ZONES
    if indexed.is_date and not newest.is_date:
        slack += timedelta(days=1, microseconds=-1)
    if newest.at - indexed.at > slack:
        text = f"{newest.at:%Y-%m-%d %H:%M:%S}, in the index {indexed.at:%Y-%m-%d %H:%M:%S}"
        report("index-lastmod", text)
