"""The compatibility views `index` and `sitemap`, and the native views of `django_sitemaps09.urls`."""

from __future__ import annotations

from django_sitemaps09.views.compat import (
    SitemapIndexItem,
    _get_latest_lastmod,
    index,
    sitemap,
    x_robots_tag,
)
from django_sitemaps09.views.native import (
    feed,
    indexnow_key,
    page,
    page_gz,
    page_range,
    page_txt,
    robots_txt,
    sitemap_index,
    stylesheet,
)

__all__ = [
    "SitemapIndexItem",
    "_get_latest_lastmod",
    "feed",
    "index",
    "indexnow_key",
    "page",
    "page_gz",
    "page_range",
    "page_txt",
    "robots_txt",
    "sitemap",
    "sitemap_index",
    "stylesheet",
    "x_robots_tag",
]
