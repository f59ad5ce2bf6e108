"""Read the entries of an index that was published earlier."""

from __future__ import annotations

from xml.etree import ElementTree

from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.protocol import SITEMAP_NAMESPACE

_SPACE = f"{{{SITEMAP_NAMESPACE}}}"


def read_index(content: bytes) -> list[IndexEntry]:
    """Return the entries of an index document. Raise `ValueError` for any other content."""
    text = content.decode()
    # Entities, external ones too, can only come from a document type; an index has none.
    if "<!" in text:
        raise ValueError("it has a document type or a comment")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314
    except ElementTree.ParseError as error:
        raise ValueError(str(error)) from error
    if root.tag != f"{_SPACE}sitemapindex":
        raise ValueError(f"it is a {root.tag!r:.80}")
    return [
        IndexEntry(entry.findtext(f"{_SPACE}loc", "").strip(), entry.findtext(f"{_SPACE}lastmod"))
        for entry in root.iter(f"{_SPACE}sitemap")
    ]
