"""The Sitemaps protocol 0.9: its limits, and the conversion of values to strings.

In docstrings, "the protocol" is https://www.sitemaps.org/protocol.html, and "the XSD" is its schema.
"""

from __future__ import annotations

from django_sitemaps09.protocol.limits import (
    INDEX_LIMITS as INDEX_LIMITS,
    MAX_BYTES as MAX_BYTES,
    MAX_IMAGES as MAX_IMAGES,
    MAX_LOCATION as MAX_LOCATION,
    MAX_NEWS as MAX_NEWS,
    MAX_URLS as MAX_URLS,
    NEWS_DAYS as NEWS_DAYS,
    SITEMAP_NAMESPACE as SITEMAP_NAMESPACE,
    STRICTEST_MAX_BYTES as STRICTEST_MAX_BYTES,
    Limits as Limits,
)
from django_sitemaps09.protocol.urls import (
    INDEXNOW_ENDPOINT as INDEXNOW_ENDPOINT,
    KEY as KEY,
    MAX_MESSAGE_URLS as MAX_MESSAGE_URLS,
    Base as Base,
    are_plain as are_plain,
    check_endpoints as check_endpoints,
    check_keys as check_keys,
    is_local as is_local,
    join as join,
    normalized as normalized,
    origin as origin,
    parse_base as parse_base,
    quote_all as quote_all,
    quote_matches as quote_matches,
    uri as uri,
)
from django_sitemaps09.protocol.values import (
    CHANGEFREQS as CHANGEFREQS,
    Changefreq as Changefreq,
    changefreq_text as changefreq_text,
    check_links as check_links,
    drop_future as drop_future,
    hreflang as hreflang,
    hreflang_warning as hreflang_warning,
    language_text as language_text,
    news_language as news_language,
    priority_text as priority_text,
    w3c as w3c,
    w3c_column as w3c_column,
    w3c_texts as w3c_texts,
)
