"""Parse documents as streams of entries: sitemaps and indexes as XML, and sitemaps as text."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from django_sitemaps09.audit import libraries
from django_sitemaps09.audit.bodies import peek
from django_sitemaps09.exceptions import DocumentError
from django_sitemaps09.protocol import SITEMAP_NAMESPACE

Kind = Literal["urlset", "sitemapindex", "text"]

_ENTRY_TAGS = {"urlset": "url", "sitemapindex": "sitemap"}
#: The elements of an entry in the order of the XSD.
_ORDER = {"urlset": ("loc", "lastmod", "changefreq", "priority"), "sitemapindex": ("loc", "lastmod")}
_DECLARED = re.compile(rb"<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z][\w.-]*)")
# libxml2's code for bytes that are not in the encoding of the document: XML_ERR_INVALID_ENCODING.
_INVALID_ENCODING = 81
# Number of bytes that show whether a document is empty, or HTML. A server's first chunk can be shorter.
_START = 512
# Number of bytes to read at a time until the root element is found.
_HEAD = 4_096
# Maximum number of bytes to keep of an incomplete line in a text sitemap. A longer URL is invalid anyway.
_MAX_LINE = 16_384


class Entry(NamedTuple):
    """One URL, or one document in an index. `extensions` are the elements of other namespaces."""

    line: int
    location: str
    lastmod: str | None = None
    changefreq: str | None = None
    priority: str | None = None
    extensions: Sequence[Any] = ()


class Batch(NamedTuple):
    """Consecutive entries of a document. Their elements are valid until the next batch is read."""

    kind: Kind
    entries: Sequence[Entry]


#: A function that reports a broken rule with a text and a line number.
Report = Callable[[str, object, int], None]


def is_text(url: str, content_type: str) -> bool:
    """Return whether a document is a text sitemap, by its name or its media type."""
    path = url.partition("?")[0].lower().removesuffix(".gz")
    return path.endswith(".txt") or (
        content_type.startswith("text/plain") and not path.endswith((".xml", ".rss", ".atom"))
    )


def batches(chunks: Iterator[bytes], report: Report, *, text: bool) -> Iterator[Batch]:
    """Yield the entries of a document. Raise `DocumentError` if the document cannot be read to its end."""
    head, chunks = peek(chunks, _START)
    if not head:
        raise DocumentError("document-empty", "")
    yield from _text(head, chunks, report) if text else _xml(chunks, report)


def _text(head: bytes, chunks: Iterator[bytes], report: Report) -> Iterator[Batch]:
    if head.lstrip()[:15].lower().startswith((b"<!doctype html", b"<html")):
        raise DocumentError("document-type", "it contains HTML instead of URLs")
    number, rest = 0, b""
    chunk: bytes | None = next(chunks).removeprefix(codecs.BOM_UTF8)
    while chunk is not None:
        following = next(chunks, None)
        lines = (rest + chunk).split(b"\n")
        if following is not None:
            rest = lines.pop()[:_MAX_LINE]
        entries = []
        for line in lines:
            number += 1
            if line.strip():
                entries.append(Entry(number, _line_text(line, number, report)))
        yield Batch("text", entries)
        chunk = following


def _line_text(line: bytes, number: int, report: Report) -> str:
    line = line.removesuffix(b"\r")
    try:
        return line.decode()
    except UnicodeDecodeError:
        report("document-encoding", line[:200], number)
        return line.decode(errors="replace")


def _xml(chunks: Iterator[bytes], report: Report) -> Iterator[Batch]:
    root, head = _root(chunks)
    _report_root(root, report)
    yield Batch(root.kind, [])
    tag = f"{{{root.namespace}}}{root.entry}" if root.namespace else root.entry
    parser = libraries.etree.XMLPullParser(events=("end",), tag=(tag,), **_SAFE)
    chunk: bytes | None = head
    tail = b""
    while chunk is not None:
        failure: DocumentError | None = None
        tail = (tail + chunk)[-_HEAD:]
        try:
            parser.feed(chunk)
            chunk = next(chunks, None)
        except libraries.etree.XMLSyntaxError as error:
            failure = _invalid(error)
        except DocumentError as error:
            failure = error
        # The entries before the error are checked, too.
        yield from _read(parser, root, report)
        if failure is not None:
            raise failure
    try:
        element = parser.close()
    except libraries.etree.XMLSyntaxError as error:
        is_whole = tail.rstrip().endswith(f"{root.kind}>".encode())
        raise _invalid(error) if is_whole else DocumentError("xml-truncated", str(error)) from error
    _report_unknown(element, set(), report)


def _invalid(error: Any) -> DocumentError:
    return DocumentError(
        "document-encoding" if error.code == _INVALID_ENCODING else "xml-invalid", str(error)
    )


#: Nothing outside the document is read, no entity is expanded, and libxml2's limits apply.
_SAFE = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}


class _Root(NamedTuple):
    """The root element of a document."""

    kind: Kind
    namespace: str | None
    prefix: str | None
    encoding: str

    @property
    def entry(self) -> str:
        return _ENTRY_TAGS[self.kind]


def _root(chunks: Iterator[bytes]) -> tuple[_Root, bytes]:
    """Find the root element, with a parser that reads no more than it needs. Return the bytes read, too."""
    pieces: list[bytes] = []
    element = _first_element(chunks, pieces)
    head = b"".join(pieces)
    information = element.getroottree().docinfo
    name = libraries.etree.QName(element)
    if name.localname.lower() == "html":
        raise DocumentError("document-type", f"its root element is {element.tag}")
    if information.doctype or information.internalDTD is not None:
        raise DocumentError("xml-doctype", information.doctype)
    if name.localname not in _ENTRY_TAGS:
        raise DocumentError("xml-root", f"its root element is {element.tag}")
    kind: Kind = "urlset" if name.localname == "urlset" else "sitemapindex"
    return _Root(kind, name.namespace, element.prefix, _encoding(head)), head


def _first_element(chunks: Iterator[bytes], pieces: list[bytes]) -> Any:
    parser = libraries.etree.XMLPullParser(events=("start",), **_SAFE)
    for chunk in chunks:
        pieces.append(chunk)
        for start in range(0, len(chunk), _HEAD):
            failure = None
            try:
                parser.feed(chunk[start : start + _HEAD])
            except libraries.etree.XMLSyntaxError as error:
                failure = error
            element = next((element for _, element in parser.read_events()), None)
            if element is not None:
                return element
            if failure is not None:
                raise _invalid(failure)
    raise DocumentError("xml-truncated", "it ends before the root element")


def _encoding(head: bytes) -> str:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    match = _DECLARED.match(head.removeprefix(codecs.BOM_UTF8))
    return match[1].decode() if match else "UTF-8"


def _report_root(root: _Root, report: Report) -> None:
    """Report what is wrong with the root element itself."""
    if root.namespace != SITEMAP_NAMESPACE:
        report("xml-namespace", root.namespace or "there is no namespace", 0)
    if root.prefix:
        report("xml-prefix", root.prefix, 0)
    if root.encoding.upper() not in ("UTF-8", "US-ASCII", "ASCII"):
        report("document-encoding", root.encoding, 0)


def _read(parser: Any, root: _Root, report: Report) -> Iterator[Batch]:
    """Yield the entries that the parser has completed, then free their memory."""
    elements = [element for _, element in parser.read_events()]
    if not elements:
        return
    parent = elements[0].getroottree().getroot()
    elements = [element for element in elements if element.getparent() is parent]
    if not elements:
        return
    done = parent[: parent.index(elements[-1]) + 1]
    if len(done) != len(elements):
        _report_unknown(done, {*elements}, report)
    yield Batch(root.kind, [_entry(element, root, report) for element in elements])
    # Deleting an element with its children takes quadratic time in libxml2's namespace search.
    for element in done:
        element.clear()
    # The element that is still being parsed is after these.
    del parent[: len(done)]


def _report_unknown(children: Sequence[Any], expected: set[Any], report: Report) -> None:
    for child in children:
        if child not in expected:
            report("element-unknown", child.tag, child.sourceline)


def _entry(element: Any, root: _Root, report: Report) -> Entry:
    values: dict[str, str | None] = {}
    tags = tuple([child.tag for child in element])
    names, problems = _names(tags, root.kind, root.namespace)
    for rule, detail in problems:
        report(rule, detail, element.sourceline)
    extensions = []
    for name, child in zip(names, element, strict=True):
        if name is None:
            extensions.append(child)
        elif name not in values:
            values[name] = child.text or ""
    location = values.get("loc") or ""
    if not location.strip():
        report("index-loc" if root.kind == "sitemapindex" else "url-missing", "", element.sourceline)
    return Entry(
        element.sourceline,
        location,
        values.get("lastmod"),
        values.get("changefreq"),
        values.get("priority"),
        extensions,
    )


@lru_cache(4_096)
def _names(
    tags: tuple[str, ...], kind: Kind, namespace: str | None
) -> tuple[tuple[str | None, ...], tuple[tuple[str, str], ...]]:
    """Return the local names of an entry's elements (`None` for extensions), and the broken rules."""
    start = f"{{{namespace}}}" if namespace else ""
    order = _ORDER[kind]
    problems: list[tuple[str, str]] = []
    names: list[str | None] = []
    for tag in tags:
        is_own = tag.startswith(start) if start else not tag.startswith("{")
        name = tag[len(start) :] if is_own else None
        names.append(name)
        if name is not None and name not in order:
            problems.append(("element-unknown", tag))
        elif not is_own and not tag.startswith("{"):
            problems.append(("element-unknown", f"{tag} has no namespace"))
    own = [name for name in names if name in order]
    repeated = sorted({name for name in own if name and own.count(name) > 1})
    problems += [("element-repeated", name) for name in repeated]
    ranks = [order.index(name) if name in order else len(order) for name in names]
    if ranks != sorted(ranks):
        problems.append(
            ("element-order", " ".join(name or tag for name, tag in zip(names, tags, strict=True)))
        )
    return tuple(names), tuple(problems)
