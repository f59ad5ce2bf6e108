"""Write batches and index entries as the bytes of sitemaps and indexes."""

from __future__ import annotations

from django_sitemaps09.writer.document import (
    STYLESHEET_MARK as STYLESHEET_MARK,
    Format as Format,
    WriteResult as WriteResult,
    elements as elements,
    index_document as index_document,
    index_entry_size as index_entry_size,
    stylesheet as stylesheet,
    write_document as write_document,
)
from django_sitemaps09.writer.media import extension_text as extension_text
from django_sitemaps09.writer.urlset import (
    FORMATS as FORMATS,
    TEXT as TEXT,
    URLSET as URLSET,
    page_format as page_format,
    urlset_head as urlset_head,
)
