"""Value objects for the entries of a sitemap, from the rows of a section to the bytes of its pages."""

from __future__ import annotations

from django_sitemaps09.entries.batches import (
    Alternate,
    Batch,
    Column,
    IndexEntry,
    ItemError,
    Localization,
    SafeColumn,
    TemplateColumn,
)
from django_sitemaps09.entries.fields import (
    MAX_MESSAGE,
    MAX_SHOWN,
    NOT_TEXTS,
    NOT_XML,
    check_text,
    excerpt,
    reason_of,
    short_repr,
)
from django_sitemaps09.entries.media import NAMESPACES, Extension, Image, News, Platform, Restriction, Video

__all__ = [
    "MAX_MESSAGE",
    "MAX_SHOWN",
    "NAMESPACES",
    "NOT_TEXTS",
    "NOT_XML",
    "Alternate",
    "Batch",
    "Column",
    "Extension",
    "Image",
    "IndexEntry",
    "ItemError",
    "Localization",
    "News",
    "Platform",
    "Restriction",
    "SafeColumn",
    "TemplateColumn",
    "Video",
    "check_text",
    "excerpt",
    "reason_of",
    "short_repr",
]
