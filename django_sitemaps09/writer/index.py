"""Write index entries as a sitemap index, and read the entries of a published one."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from xml.etree import ElementTree

from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.protocol import SITEMAP_NAMESPACE
from django_sitemaps09.writer.text import DECLARATION, add_instruction, escape

_SPACE = f"{{{SITEMAP_NAMESPACE}}}"


def index_document(entries: Iterable[IndexEntry], *, styled: bool = False) -> bytes:
    """Return a sitemap index of the entries. The caller must ensure that the entries fit the limits."""
    lines = [f'{DECLARATION}<sitemapindex xmlns="{SITEMAP_NAMESPACE}">\n']
    for entry in entries:
        location, lastmod = escape([entry.location, entry.lastmod or ""], repeat(entry.location))
        lastmod_element = f"<lastmod>{lastmod}</lastmod>" if lastmod else ""
        lines.append(f"<sitemap><loc>{location}</loc>{lastmod_element}</sitemap>\n")
    document = "".join([*lines, "</sitemapindex>\n"]).encode()
    return add_instruction(document) if styled else document


def read_index(content: bytes) -> list[IndexEntry]:
    """Return the entries of an index document. Raise `ValueError` for any other content."""
    text = content.decode()
    # Only a document type can declare entities, and no index contains a document type.
    if "<!" in text:
        raise ValueError("it contains a document type declaration, a comment or a CDATA section")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error
    if root.tag != f"{_SPACE}sitemapindex":
        raise ValueError(
            f"its root element is {root.tag!r:.80}, not sitemapindex in the namespace {SITEMAP_NAMESPACE}"
        )
    return [
        IndexEntry(entry.findtext(f"{_SPACE}loc", "").strip(), entry.findtext(f"{_SPACE}lastmod"))
        for entry in root.iter(f"{_SPACE}sitemap")
    ]
