"""Sources read the rows of a section in key order, and convert them to batches of text."""

from __future__ import annotations

from django_sitemaps09.rows.compile import compile_source as compile_source, ranged_source as ranged_source
from django_sitemaps09.rows.declaration_digests import digest_of as digest_of
from django_sitemaps09.rows.get_urls import UrlsSource as UrlsSource, site_of as site_of
from django_sitemaps09.rows.queryset import (
    QuerySource as QuerySource,
    has_key_ranges as has_key_ranges,
    read_page as read_page,
)
from django_sitemaps09.rows.source_base import (
    Source as Source,
    page_limits as page_limits,
    protocol_limits as protocol_limits,
    rows_on_page as rows_on_page,
)
