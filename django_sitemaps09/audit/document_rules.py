"""Apply the rules to the entries of documents, and find the documents that an index lists."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from django_sitemaps09.audit.bodies import Reader
from django_sitemaps09.audit.documents import Batch, Entry, Kind
from django_sitemaps09.audit.duplicates import Duplicates
from django_sitemaps09.audit.findings import Findings
from django_sitemaps09.audit.link_rules import LinkRules
from django_sitemaps09.audit.media_rules import MediaRules
from django_sitemaps09.audit.robots_rules import Robots, origin
from django_sitemaps09.audit.sample import Sample
from django_sitemaps09.audit.scratch import Scratch
from django_sitemaps09.audit.url_rules import UrlRules, directory, is_inside, url_problem
from django_sitemaps09.audit.value_rules import ZONES, LastmodRange, Moment, ValueRules, parse_lastmod
from django_sitemaps09.protocol import MAX_URLS, Base


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
    duplicates: Duplicates
    kind: Kind = "urlset"
    entries: int = 0
    news: int = 0
    span: LastmodRange = field(default_factory=LastmodRange)


class DocumentRules:
    """The checks of documents in one audit."""

    def __init__(self, context: AuditContext) -> None:
        self._context = context
        self._findings = context.findings
        self._urls = UrlRules(context.findings, context.base, context.robots, context.reader)
        self._values = ValueRules(context.findings, context.now)
        self._links = LinkRules(context.findings, context.scratch)
        self._media = MediaRules(context.findings, self._links, context.now)

    def check(self, document: Document, batch: Batch) -> list[ListedDocument]:
        """Check a batch of entries. Return the documents to read if it is part of an index."""
        document.kind = batch.kind
        children = []
        if batch.kind == "sitemapindex":
            children = [*self._children(document, batch)]
        else:
            self._check_urls(document, batch)
        document.entries += len(batch.entries)
        return children

    def finish(self, document: Document) -> None:
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
        self._media.check_news(place, document.news)
        if text := document.span.alike():
            self._findings.add("lastmod-alike", place, text)
        self._check_index_lastmod(document)

    def finish_all(self) -> None:
        """Apply the rules that need all documents."""
        self._urls.finish()
        self._links.finish()

    def _check_urls(self, document: Document, batch: Batch) -> None:
        place, entries = document.place, batch.entries
        self._urls.check(place, document.listed.url, entries, document.entries)
        self._values.check(place, entries, document.span)
        document.duplicates.check(entries)
        document.news += sum(self._media.check(place, entry) for entry in entries if entry.extensions)
        self._context.sample.add(place, entries)

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
