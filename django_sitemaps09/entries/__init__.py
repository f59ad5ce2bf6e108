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
)
from django_sitemaps09.entries.text import NOT_XML

__all__ = ["NOT_XML", "Alternate", "Batch", "Column", "Composed", "IndexEntry", "ItemError", "Plain"]
