"""Write batches and index entries as the bytes of sitemaps and indexes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from django_sitemaps09.entries import Batch
from django_sitemaps09.protocol import Limits
from django_sitemaps09.writer.document import (
    TEXT,
    Destination,
    Format,
    WriteResult,
    elements,
    write_documents,
)
from django_sitemaps09.writer.extensions import extension_text
from django_sitemaps09.writer.index import index_document
from django_sitemaps09.writer.text import STYLESHEET_MARK, add_instruction, stylesheet
from django_sitemaps09.writer.urlset import URLSET, urlset_head

#: The format of pages for each value of `Sitemap.format`.
FORMATS = {"xml": URLSET, "text": TEXT}
# A text file cannot contain a stylesheet instruction.
_STYLED_URLSET = URLSET._replace(head=lambda namespaces: add_instruction(URLSET.head(namespaces)))

__all__ = [
    "FORMATS",
    "STYLESHEET_MARK",
    "TEXT",
    "URLSET",
    "Destination",
    "Format",
    "WriteResult",
    "elements",
    "extension_text",
    "index_document",
    "page_format",
    "stylesheet",
    "urlset_head",
    "write_documents",
    "write_urlset",
]


def page_format(name: str, *, styled: bool) -> Format:
    """Return the format of pages for a value of `Sitemap.format`. `styled` adds a stylesheet to XML."""
    return _STYLED_URLSET if styled and name == "xml" else FORMATS[name]


def write_urlset(
    batches: Iterable[Batch],
    write: Callable[[bytes], object],
    limits: Limits | None = None,
    *,
    base: str = "",
    namespaces: Mapping[str, str] | None = None,
) -> WriteResult:
    """Write the entries of batches to one urlset. For several documents, see `write_documents()`."""
    [result] = write_documents(URLSET, batches, [Destination(write, base)], limits, namespaces)
    return result
