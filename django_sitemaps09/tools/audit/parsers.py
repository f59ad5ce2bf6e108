"""Parse documents as streams of entries: sitemaps and indexes as XML, feeds, and sitemaps as text."""

from __future__ import annotations

import codecs
import gc
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol.entries import SITEMAP_NAMESPACE
from django_sitemaps09.protocol.limits import MAX_URLS
from django_sitemaps09.tools.audit import read_entries
from django_sitemaps09.tools.audit.read_entries import DocumentKind, ReadEntry, read_entry, read_feed_entry
from django_sitemaps09.tools.audit.readers import DOCUMENT_SECONDS, optional, peek
from django_sitemaps09.tools.audit.rules import ReportRule

etree = optional("lxml.etree")

_ENTRY_TAGS = {"urlset": "url", "sitemapindex": "sitemap"}
# The feeds of the protocol: by the tag of the root, the tags of the list of entries and of an entry.
_ATOM = ("{http://www.w3.org/2005/Atom}", "{http://purl.org/atom/ns#}")
_FEEDS = {f"{start}feed": (f"{start}feed", f"{start}entry") for start in _ATOM}
_FEEDS["rss"] = ("channel", "item")
_DECLARED = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z][\w.-]*)")
# libxml2's codes for bytes that are not in the encoding of the document, and for an unknown encoding.
_INVALID_ENCODING = (81, 32)
_NEAR, _MAX_STRAY = 30, 60  # Number of characters that are shown beside an error, and of stray text.
# Number of bytes that show whether a document is empty or HTML: a server's first chunk can be shorter. As
# many bytes before a piece are searched again for text that the schema does not allow.
_START = 512
# Maximum number of bytes before the root element. Entities and attributes there need many times their size.
_MAX_HEAD = 1_000_000
# Maximum number of bytes to parse at a time. The limits below are checked after each piece. libxml2 also
# rejects a piece of more than ten million bytes.
_PIECE = 65_536
# Number of bytes after which the thread of the parsers is renewed, and those that a parser counts for:
# collecting garbage takes much less time than parsing that.
_MAX_PARSED, _PARSER = 10_000_000, 4_000
MAX_CHILDREN, MAX_DESCENDANTS = 5_000, 50_000  #: Maximum number of elements in an entry, and at any depth.
# Maximum number of bytes after which an entry must be complete. Its attributes need many times their size.
_MAX_OPEN = 5_000_000
_USUAL = 8  # Number of elements in a usual entry.
# Maximum number of elements in all entries, at any depth. Valid ones have more than 35 bytes each.
_MAX_ELEMENTS = 1_500_000
# Bytes that may be text or an attribute that the schema does not allow, found in a tenth of the time.
_MAY_BE_STRAY = re.compile(
    rb"<(?:url|loc|lastmod|changefreq|priority|sitemap)\s"
    rb"|<(?:url|sitemap|/(?:url|loc|lastmod|changefreq|priority|sitemap|(?:image|video|news):\w+))>\s*[^<\s]"
)
# Such text and attributes: those without a namespace, apart from an extension.
_STRAY = (
    "(text()[normalize-space()] | *[namespace-uri()=$own]/text()[normalize-space()]"
    " | */*[*][starts-with(namespace-uri(), 'http://www.google.com/schemas/')]/text()[normalize-space()]"
    " | @*[not(namespace-uri())] | *[namespace-uri()=$own]/@*[not(namespace-uri())]"
    " | */*[namespace-uri()=$own]/@*[not(namespace-uri())])[1]"
)
# The beginning of an HTML document. XML parsers reject most of them for other reasons.
_HTML = re.compile(
    rb"\s*(?:(?:<\?xml[^>]*>|<!--(?:(?!-->).)*-->)\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)


# The kind of a document, if known, and entries. Their elements are valid until the next batch is read.
DocumentPart = tuple[DocumentKind, Sequence[ReadEntry]]


def is_text(url: str, content_type: str) -> bool:
    """Return whether a document is a text sitemap, by its name or its media type."""
    path = url.partition("?")[0].lower().removesuffix(".gz")
    is_plain = content_type.startswith("text/plain") and not path.endswith((".xml", ".rss", ".atom"))
    return is_plain or path.endswith(".txt")


class ParserThread:
    """The thread in which documents are parsed. Close it to end it.

    lxml keeps all names in documents until a thread ends. Names of hostile documents would fill the memory,
    up to a limit of libxml2, after which it parses no document with new names in the same thread.
    Elements can be read in all threads. Removing them in another thread damages the memory.
    """

    def __init__(self) -> None:
        self._pool, self._size = ThreadPoolExecutor(1, "sitemap-xml"), 0

    def close(self) -> None:
        self._pool.shutdown()

    def renew(self) -> None:
        """Start another thread, and collect garbage, if many bytes were parsed in this one."""
        self._size += _PARSER
        if self._size > _MAX_PARSED:
            self.close()
            # Parsers are reference cycles that keep names, too, which Python does not count.
            gc.collect()
            self._pool, self._size = ThreadPoolExecutor(1, "sitemap-xml"), 0

    def call(self, function: Callable[..., Any], *chunk: bytes) -> Any:
        """Call a function in the thread, with the bytes that it parses."""
        self._size += sum(map(len, chunk))
        return self._pool.submit(function, *chunk).result()


def batches(
    chunks: Iterator[bytes], report: ReportRule, thread: ParserThread, *, text: bool
) -> Iterator[DocumentPart]:
    """Yield the entries of a document until soon after the maximum. Raise `DocumentError` if unreadable."""
    head, chunks = peek(_pieces(chunks), _START)
    if not head:
        raise DocumentError("document-empty", "")
    if _HTML.match(head.removeprefix(codecs.BOM_UTF8)[:_START]):
        raise DocumentError("document-type", "it contains HTML")
    yield from _text(chunks, report) if text else _xml(chunks, report, thread)


def _pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Divide a document into small pieces, until its time is over."""
    end = time.monotonic() + DOCUMENT_SECONDS
    for chunk in chunks:
        for start in range(0, len(chunk), _PIECE):
            if time.monotonic() > end:
                text = f"it takes more than {DOCUMENT_SECONDS:.0f} seconds"
                raise DocumentError("document-unreachable", text)
            yield chunk[start : start + _PIECE]


def _text(chunks: Iterator[bytes], report: ReportRule) -> Iterator[DocumentPart]:
    number, count, rest = 0, 0, b""
    first = next(chunks).removeprefix(codecs.BOM_UTF8)
    # The last line may have no line ending.
    for chunk in chain([first], chunks, [b"\n"]):
        *lines, rest = (rest[: read_entries.MAX_VALUE] + chunk).split(b"\n")
        entries = []
        for content in lines:
            number, line = number + 1, content.removesuffix(b"\r")
            text = line.decode(errors="replace")
            if line.strip():
                entries.append(ReadEntry(number, text))
            if "\ufffd" in text and text.encode() != line:
                report("document-encoding", line[:200], number)
        yield "text", entries
        count += len(entries)
        if count > MAX_URLS:
            return


def _xml(chunks: Iterator[bytes], report: ReportRule, thread: ParserThread) -> Iterator[DocumentPart]:
    thread.renew()
    document = _XmlDocument(report)
    for chunk in chunks:
        yield thread.call(document.feed, chunk)
        # The next chunk can be late, or damaged.
        if document.error is not None:
            raise document.error
        if document.count > MAX_URLS:
            thread.call(document.remove_part)
            return
    thread.call(document.close)


class _Text:
    """The last two chunks of a document, to show the place of its first error."""

    def __init__(self) -> None:
        self.error: DocumentError | None = None
        # How often to look at a log, which is copied, and can have many warnings.
        self._looks = 10
        #: The two chunks, the number of lines before them, and of characters of the line that ends in them.
        self.window: tuple[bytes, bytes, int, int] = (b"", b"", 0, 0)
        #: The first window without entries: after an error, a parser may report it only at the end.
        self.held: tuple[bytes, bytes, int, int] | None = None

    def add(self, chunk: bytes) -> None:
        removed, previous, lines, columns = self.window
        before, ending, line = removed.rpartition(b"\n")
        columns = len(line.decode(errors="ignore")) + (0 if ending else columns)
        self.window = (previous, chunk, lines + before.count(b"\n") + len(ending), columns)

    def note(self, parser: Any) -> None:
        """Remember the first error of a parser that has been fed with the chunk."""
        if not self._looks or not (log := parser.feed_error_log):
            return
        self._looks -= 1
        if (first := next(iter(log.filter_from_errors()), None)) is None:
            return
        self._looks, where = 0, f"line {first.line:,}, column {first.column:,}"
        for previous, chunk, lines, columns in filter(None, (self.held, self.window)):
            rows, number = (previous + chunk).decode(errors="replace").split("\n"), first.line - 1 - lines
            column = first.column - 1 - (0 if number else columns)
            if 0 <= number < len(rows) and 0 <= column <= len(rows[number]):
                start = max(column - _NEAR, 0)
                where += f", near {rows[number][start : start + 2 * _NEAR]!r}"
                break
        rule = "document-encoding" if first.type in _INVALID_ENCODING else "xml-invalid"
        self.error = DocumentError(rule, f"{first.message.strip()} ({where})")


class _XmlDocument:
    """An XML document while it is parsed. Each call in the thread takes as long as parsing a small one."""

    def __init__(self, report: ReportRule) -> None:
        self._report, self._text = report, _Text()
        # The first parser finds the root element. The second one returns only the entries in it.
        self._parser, self._head = _parser(("start",)), bytearray()
        self._kind: DocumentKind = "urlset"
        # The tags of the list of entries, which is usually the root, and of an entry, and their namespace.
        self._tags: tuple[str, str] | None = None
        self._start = ""
        # The list of entries, the elements of the last part in it, and its last bytes.
        self._parent: Any = None
        self._children: list[Any] = []
        self._recent = b""
        self._unknown = self._elements = self._open_size = self.count = 0
        self.error: DocumentError | None = None  #: The error after the last entry.

    def feed(self, chunk: bytes) -> DocumentPart:
        """Parse a piece, and return the entries that end in it."""
        self.remove_part()
        self._text.add(chunk)
        if self._tags is None:
            self._head += chunk
            self._find_root(chunk)
            if self._tags is None:
                return self._kind, []
            chunk = bytes(self._head)
        self._recent = self._recent[-_START:] + chunk
        self._parse(chunk)
        entries = self._completed()
        self._text.held = None if entries else self._text.held or self._text.window
        children = [] if self._parent is None else self._parent[:]
        if children[-1:] != entries[-1:]:
            del children[-1]  # It may be incomplete.
        self._children, self._open_size = children, 0 if children else self._open_size + len(chunk.strip())
        self.count += len(entries)
        self._unknown += len(children) - len(entries)
        if self._kind == "feed":
            return self._kind, [*filter(None, map(read_feed_entry, entries))]
        complete = {*entries}
        for child in children if len(children) > len(entries) else ():
            # The schema allows elements of other namespaces before the entries.
            if child not in complete and (child.tag[0] != "{" or child.tag.startswith(self._start or "{{")):
                self._report("element-unknown", child.tag, child.sourceline)
        return self._kind, [
            read_entry(element, self._kind, self._start, self._report) for element in entries
        ]

    def close(self) -> None:
        """Check what is only known at the end. Raise `DocumentError` for an incomplete document."""
        self.remove_part()
        if self._tags is None:
            raise DocumentError("xml-truncated", "it ends before the root element")
        try:
            element = self._parser.close()
        except etree.XMLSyntaxError as error:
            root = "rss" if self._tags[0] == "channel" else etree.QName(self._tags[0]).localname
            is_whole = self._recent.rstrip().endswith(f"{root}>".encode())
            self._text.note(self._parser)
            if is_whole and self._text.error is not None:
                raise self._text.error from error
            raise DocumentError("xml-invalid" if is_whole else "xml-truncated", str(error)) from error
        for child in element if self._kind != "feed" else ():
            self._report("element-unknown", child.tag, child.sourceline)

    def _parse(self, chunk: bytes) -> None:
        try:
            self._parser.feed(chunk)
            self._text.note(self._parser)
        except etree.XMLSyntaxError as error:
            self._text.note(self._parser)
            # The entries before the error are checked, too.
            self.error = self._text.error or DocumentError("xml-invalid", str(error))

    def _find_root(self, chunk: bytes) -> None:
        self._parse(chunk)
        if (event := next(iter(self._parser.read_events()), None)) is not None:
            self._check_root(event[1])
            self._parser = _parser(("start", "end", "start-ns"), self._tags)
        elif self.error is not None:
            encoding = _encoding(bytes(self._head))
            if encoding.upper().startswith(("UTF-16", "UTF-32")):
                how = "is not in" if b"\0" not in self._head else "cannot be read as"
                raise DocumentError("document-encoding", f"it {how} {encoding}")
        elif len(self._head) > _MAX_HEAD:
            raise DocumentError("document-limit", f"no root element in the first {_MAX_HEAD:,} bytes")

    def _check_root(self, element: Any) -> None:
        # A name with a prefix that is not declared has a colon, which `etree.QName` does not accept.
        information, (namespace, _, name) = element.getroottree().docinfo, element.tag.rpartition("}")
        if name.lower() == "html":
            raise DocumentError("document-type", f"its root element is {element.tag}")
        if information.doctype or information.internalDTD is not None:
            raise DocumentError("xml-doctype", information.doctype)
        if element.tag in _FEEDS:
            self._kind, self._tags = "feed", _FEEDS[element.tag]
            return
        if name not in _ENTRY_TAGS:
            raise DocumentError("xml-root", f"its root element is {element.tag}")
        if namespace[1:] != SITEMAP_NAMESPACE:
            self._report("xml-namespace", namespace[1:] or "there is no namespace")
        if element.prefix:
            self._report("xml-prefix", element.prefix)
        if (encoding := _encoding(bytes(self._head))).upper() not in ("UTF-8", "UTF8", "US-ASCII", "ASCII"):
            self._report("document-encoding", encoding)
        self._kind = "urlset" if name == "urlset" else "sitemapindex"
        self._start = element.tag.removesuffix(self._kind)
        self._tags = (element.tag, f"{self._start}{_ENTRY_TAGS[self._kind]}")

    def _completed(self) -> list[Any]:
        """Return the entries that have ended since the last call."""
        entries = []
        for event, item in self._parser.read_events():
            if event == "end" and item.getparent() is self._parent:
                entries.append(item)
            elif event == "start" and self._parent is None:
                self._parent = item
            elif event == "start-ns" and len(item[1]) > read_entries.MAX_NAMES:
                # The name of each element would contain it.
                text = f"a namespace has more than {read_entries.MAX_NAMES:,} characters"
                raise DocumentError("document-limit", text)
        return entries

    def remove_part(self) -> None:
        """Remove the elements of the last part. Raise `DocumentError` for too many elements."""
        parent, children = self._parent, self._children
        if parent is None:
            return
        if self._kind != "feed" and (self._elements == 0 or _MAY_BE_STRAY.search(self._recent)):
            _check_stray(parent, self._report)
        if max(map(len, parent), default=0) > MAX_CHILDREN:
            raise DocumentError("document-limit", f"an entry has more than {MAX_CHILDREN:,} elements")
        count_all = etree.XPath("count(descendant::*)")
        total = int(count_all(parent))
        if total > _USUAL * len(children):
            # Removing an element takes quadratic time, unless the elements inside are removed first.
            for element in chain.from_iterable(children):
                element.clear()
        del parent[: len(children)]
        rest = int(count_all(parent))
        self._elements += total - rest
        if rest > MAX_DESCENDANTS:
            text = f"an entry has more than {MAX_DESCENDANTS:,} elements inside"
        elif self._unknown > MAX_URLS or self._elements > _MAX_ELEMENTS:
            text = f"{self._elements:,} elements were read"
        elif self._open_size > _MAX_OPEN:
            text = f"an entry has more than {_MAX_OPEN:,} bytes"
        else:
            return
        raise DocumentError("document-limit", text)


def _parser(events: Sequence[str], tags: Sequence[str] | None = None) -> Any:
    # Nothing outside the document is read, no entity is expanded, and libxml2's limits apply.
    safe = {"no_network": True, "load_dtd": False, "resolve_entities": False, "huge_tree": False}
    return etree.XMLPullParser(events, tag=tags, remove_comments=True, remove_pis=True, **safe)


def _check_stray(parent: Any, report: ReportRule) -> None:
    """Report the first text or attribute that the schema does not allow."""
    for text in etree.XPath(_STRAY)(parent, own=etree.QName(parent).namespace or ""):
        value, line = text.strip()[:_MAX_STRAY], text.getparent().sourceline
        if text.is_attribute:
            report("element-attribute", f'{text.attrname}="{value}"', line)
        else:
            report("element-text", value, line)


def _encoding(head: bytes) -> str:
    """Return the encoding of the beginning of a document, or else the one that it declares."""
    # Without a byte order mark, the zeros beside `<` show it.
    if head[:8].count(b"\0") > 4:
        return "UTF-32"
    if b"\0" in head[:4] or head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    declared = _DECLARED.match(head.removeprefix(codecs.BOM_UTF8))
    return declared[1].decode() if declared else "UTF-8"
