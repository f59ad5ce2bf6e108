"""Write batches and index entries as the bytes of sitemaps and indexes."""

from __future__ import annotations

from django_sitemaps09.writer.document import (
    STYLESHEET_MARK,
    Destination,
    Format,
    WriteResult,
    elements,
    index_document,
    stylesheet,
    write_documents,
)
from django_sitemaps09.writer.media import extension_text
from django_sitemaps09.writer.urlset import FORMATS, TEXT, URLSET, page_format, urlset_head

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
]
