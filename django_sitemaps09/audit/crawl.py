"""Read all documents that robots.txt and the indexes list."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

from django_sitemaps09.audit import documents
from django_sitemaps09.audit.bodies import Response, content, limit_size, peek
from django_sitemaps09.audit.document_rules import AuditContext, Document, DocumentRules, ListedDocument
from django_sitemaps09.audit.documents import Batch
from django_sitemaps09.audit.duplicates import Duplicates
from django_sitemaps09.compression import GZIP_MAGIC
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import MAX_BYTES

#: Maximum number of documents that an audit reads.
MAX_DOCUMENTS = 100_000
#: Maximum depth of nested indexes.
MAX_LEVELS = 5


class Crawl:
    """Reads the documents of one audit. `urls` counts the URLs that were read."""

    def __init__(self, context: AuditContext, on_document: Callable[[str], object]) -> None:
        self._context = context
        self._findings = context.findings
        self._on_document = on_document
        self._rules = DocumentRules(context)
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
        self._rules.finish_all()

    def _read(self, listed: ListedDocument) -> list[ListedDocument]:
        """Read one document. Return the documents that it lists, if it is an index."""
        place = self._context.reader.label(listed.url)
        self._on_document(place)
        duplicates = Duplicates(self._findings, self._context.scratch, self._labels, self.documents)
        self._labels.append(place)
        for agent in self._context.robots.blocking_agents(listed.url):
            self._findings.add("robots-blocks-document", place, f"forbidden for {agent}")
        document = Document(listed, place, duplicates)
        children: list[ListedDocument] = []
        try:
            with self._context.reader.open(listed.url) as response:
                for batch in self._batches(document, response):
                    children += self._rules.check(document, batch)
            self._rules.finish(document)
        except DocumentError as error:
            listed_in = f"listed in {listed.place}" if listed.place else ""
            self._findings.add(error.rule, place, "; ".join(filter(None, (str(error), listed_in))))
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
            limit_size(chunks, MAX_BYTES, "document-too-large"),
            lambda rule, text, line: add(rule, place, text, line),
            text=documents.is_text(document.listed.url, kind),
        )
        if is_plain and document.listed.url.partition("?")[0].endswith(".gz"):
            add("gzip-missing", place)
        if kind.startswith("text/html"):
            add("document-type", place, kind)
