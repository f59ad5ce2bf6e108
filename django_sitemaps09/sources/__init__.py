"""Sources read the rows of a section in key order, and convert them to batches of text."""

from __future__ import annotations

from django_sitemaps09.orm.traits import UNREADABLE
from django_sitemaps09.sources.base import Source, page_limits, rows_on_page
from django_sitemaps09.sources.compile import (
    entry_limit,
    is_compiled,
    is_shareable,
    page_size,
    ranged_source,
    source,
)
from django_sitemaps09.sources.declaration_digests import digest
from django_sitemaps09.sources.get_urls import HostSite, UrlsSource, site_for
from django_sitemaps09.sources.live_bounds import LIVE_NUMBERS, divide
from django_sitemaps09.sources.queryset import QuerySource, has_key_ranges
from django_sitemaps09.sources.retry import cannot_snapshot, read_page, retry_once
from django_sitemaps09.sources.single_rows import FoundRow, find_rows, page_index, row_batch

__all__ = [
    "LIVE_NUMBERS",
    "UNREADABLE",
    "FoundRow",
    "HostSite",
    "QuerySource",
    "Source",
    "UrlsSource",
    "cannot_snapshot",
    "digest",
    "divide",
    "entry_limit",
    "find_rows",
    "has_key_ranges",
    "is_compiled",
    "is_shareable",
    "page_index",
    "page_limits",
    "page_size",
    "ranged_source",
    "read_page",
    "retry_once",
    "row_batch",
    "rows_on_page",
    "site_for",
    "source",
]
