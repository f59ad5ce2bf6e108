"""Write batches and index entries as the bytes of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from django_sitemaps09.entries import Batch
from django_sitemaps09.protocol import Limits
from django_sitemaps09.writer.document import Destination, Format, WriteResult, elements, write_documents
from django_sitemaps09.writer.extensions import extension_text
from django_sitemaps09.writer.index import index_document
from django_sitemaps09.writer.media import image_elements, news_element, video_elements
from django_sitemaps09.writer.urls import TEXT
from django_sitemaps09.writer.urlset import URLSET, urlset_head

#: The formats of pages, by the values of `Sitemap.format`.
FORMATS = {"xml": URLSET, "text": TEXT}

__all__ = [
    "FORMATS",
    "TEXT",
    "URLSET",
    "Destination",
    "Format",
    "WriteResult",
    "elements",
    "extension_text",
    "image_elements",
    "index_document",
    "news_element",
    "urlset_head",
    "video_elements",
    "write_documents",
    "write_urlset",
]


def write_urlset(
    batches: Iterable[Batch],
    write: Callable[[bytes], object],
    limits: Limits | None = None,
    *,
    base: str = "",
    namespaces: Mapping[str, str] | None = None,
) -> WriteResult:
    """Write one urlset; see `write_documents`."""
    [result] = write_documents(URLSET, batches, [Destination(write, base)], limits, namespaces)
    return result
