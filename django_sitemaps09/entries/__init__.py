"""The value objects that flow from the rows of a section to the bytes of its pages."""

from __future__ import annotations

from django_sitemaps09.entries.batches import (
    Alternate,
    Batch,
    Column,
    Composed,
    IndexEntry,
    ItemError,
    Plain,
    Version,
    reason_of,
)
from django_sitemaps09.entries.extensions import NAMESPACES, Extension
from django_sitemaps09.entries.media import Image, News, Platform, Restriction, Video
from django_sitemaps09.entries.text import NOT_XML

__all__ = [
    "NAMESPACES",
    "NOT_XML",
    "Alternate",
    "Batch",
    "Column",
    "Composed",
    "Extension",
    "Image",
    "IndexEntry",
    "ItemError",
    "News",
    "Plain",
    "Platform",
    "Restriction",
    "Version",
    "Video",
    "reason_of",
]
