"""Batches and index entries to the bytes of one document."""

from __future__ import annotations

from django_sitemaps09.writer.index import index_document
from django_sitemaps09.writer.urlset import Limits, Written, url_elements, urlset_head, write_urlset

__all__ = ["Limits", "Written", "index_document", "url_elements", "urlset_head", "write_urlset"]
