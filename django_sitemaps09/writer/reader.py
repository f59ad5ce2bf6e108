"""Read the entries of a published index."""

from __future__ import annotations

from xml.etree import ElementTree

from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.protocol import SITEMAP_NAMESPACE

_SPACE = f"{{{SITEMAP_NAMESPACE}}}"


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
