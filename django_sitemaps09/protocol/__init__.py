"""The Sitemaps protocol 0.9: its limits, and the conversion of values to strings.

In docstrings, "the protocol" is https://www.sitemaps.org/protocol.html, and "the XSD" is its schema.
"""

from __future__ import annotations

from django_sitemaps09.protocol.endpoints import (
    INDEXNOW_ENDPOINT,
    KEY,
    MAX_MESSAGE_URLS,
    check_endpoints,
    check_keys,
    endpoint_label,
)
from django_sitemaps09.protocol.limits import (
    MAX_BYTES,
    MAX_IMAGES,
    MAX_LOCATION,
    MAX_NEWS,
    MAX_URLS,
    NEWS_DAYS,
    SITEMAP_NAMESPACE,
    STRICTEST_MAX_BYTES,
    XHTML_NAMESPACE,
    Limits,
)
from django_sitemaps09.protocol.times import drop_future, w3c, w3c_texts
from django_sitemaps09.protocol.urls import (
    Base,
    are_plain,
    join,
    origin,
    parse_base,
    quote_all,
    quote_matches,
    uri,
)
from django_sitemaps09.protocol.words import (
    CHANGEFREQS,
    Changefreq,
    changefreq_text,
    check_links,
    hreflang,
    hreflang_warning,
    language_text,
    news_language,
    priority_text,
)

__all__ = [
    "CHANGEFREQS",
    "INDEXNOW_ENDPOINT",
    "KEY",
    "MAX_BYTES",
    "MAX_IMAGES",
    "MAX_LOCATION",
    "MAX_MESSAGE_URLS",
    "MAX_NEWS",
    "MAX_URLS",
    "NEWS_DAYS",
    "SITEMAP_NAMESPACE",
    "STRICTEST_MAX_BYTES",
    "XHTML_NAMESPACE",
    "Base",
    "Changefreq",
    "Limits",
    "are_plain",
    "changefreq_text",
    "check_endpoints",
    "check_keys",
    "check_links",
    "drop_future",
    "endpoint_label",
    "hreflang",
    "hreflang_warning",
    "join",
    "language_text",
    "news_language",
    "origin",
    "parse_base",
    "priority_text",
    "quote_all",
    "quote_matches",
    "uri",
    "w3c",
    "w3c_texts",
]
