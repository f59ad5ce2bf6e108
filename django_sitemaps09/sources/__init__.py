"""Sources read the rows of a section in key order, and convert them to batches of text."""

from __future__ import annotations

from django_sitemaps09.orm.traits import UNREADABLE
from django_sitemaps09.sources.changes.declaration_digests import digest
from django_sitemaps09.sources.compile import (
    Source,
    entry_limit,
    has_key_ranges,
    is_compiled,
    is_shareable,
    live_pages,
    page_limits,
    page_map,
    ranged_source,
    rows_on_page,
    source,
)
from django_sitemaps09.sources.get_urls import UrlsSource
from django_sitemaps09.sources.live_bounds import LIVE_NUMBERS, divide, live_number
from django_sitemaps09.sources.page_size import page_size
from django_sitemaps09.sources.queryset import QuerySource
from django_sitemaps09.sources.retry import retry_once
from django_sitemaps09.sources.single_rows import FoundRow, find_rows, page_index, row_batch
from django_sitemaps09.sources.sites import HostSite, site_for
from django_sitemaps09.sources.snapshots import PageRows, cannot_snapshot, read_page

__all__ = [
    "LIVE_NUMBERS",
    "UNREADABLE",
    "FoundRow",
    "HostSite",
    "PageRows",
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
    "live_number",
    "live_pages",
    "page_index",
    "page_limits",
    "page_map",
    "page_size",
    "ranged_source",
    "read_page",
    "retry_once",
    "row_batch",
    "rows_on_page",
    "site_for",
    "source",
]
