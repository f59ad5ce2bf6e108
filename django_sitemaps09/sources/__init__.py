"""Sources read the rows of a section in key order, and convert them to batches of text."""

from __future__ import annotations

from django_sitemaps09.orm.reading import UNREADABLE as UNREADABLE
from django_sitemaps09.sources.base import (
    Source as Source,
    page_limits as page_limits,
    protocol_limits as protocol_limits,
    rows_on_page as rows_on_page,
)
from django_sitemaps09.sources.compile import (
    ranged_source as ranged_source,
    source as source,
)
from django_sitemaps09.sources.declaration_digests import digest as digest
from django_sitemaps09.sources.get_urls import (
    UrlsSource as UrlsSource,
    site_of as site_of,
)
from django_sitemaps09.sources.queryset import (
    QuerySource as QuerySource,
    has_key_ranges as has_key_ranges,
    read_page as read_page,
)
