"""The Sitemaps protocol 0.9: limits, values, and the bytes of documents. Nothing here imports Django.

In docstrings, "the protocol" is https://www.sitemaps.org/protocol.html, and "the XSD" is its schema.
"""

from __future__ import annotations

from django_sitemaps09.protocol.documents import (
    STYLESHEET_MARK as STYLESHEET_MARK,
    WriteResult as WriteResult,
    elements as elements,
    index_document as index_document,
    index_entry_size as index_entry_size,
    stylesheet as stylesheet,
    write_document as write_document,
)
from django_sitemaps09.protocol.entries import (
    INDEX_LIMITS as INDEX_LIMITS,
    MAX_BYTES as MAX_BYTES,
    MAX_IMAGES as MAX_IMAGES,
    MAX_NEWS as MAX_NEWS,
    MAX_URLS as MAX_URLS,
    NEWS_DAYS as NEWS_DAYS,
    SITEMAP_NAMESPACE as SITEMAP_NAMESPACE,
    STRICTEST_MAX_BYTES as STRICTEST_MAX_BYTES,
    Alternate as Alternate,
    Batch as Batch,
    Column as Column,
    IndexEntry as IndexEntry,
    ItemError as ItemError,
    Limits as Limits,
    Localization as Localization,
    SafeColumn as SafeColumn,
    TemplateColumn as TemplateColumn,
)
from django_sitemaps09.protocol.fields import (
    MAX_MESSAGE as MAX_MESSAGE,
    MAX_SHOWN as MAX_SHOWN,
    check_text as check_text,
    excerpt as excerpt,
    first_names as first_names,
    has_text as has_text,
    key_excerpt as key_excerpt,
    plain_text as plain_text,
    pluralize as pluralize,
    reason_of as reason_of,
    short_repr as short_repr,
    typed_repr as typed_repr,
)
from django_sitemaps09.protocol.media import (
    NAMESPACES as NAMESPACES,
    Extension as Extension,
    Image as Image,
    News as News,
    Platform as Platform,
    Restriction as Restriction,
    Video as Video,
)
from django_sitemaps09.protocol.urls import (
    MAX_LOCATION as MAX_LOCATION,
    Base as Base,
    are_plain as are_plain,
    is_local as is_local,
    join as join,
    normalized as normalized,
    origin as origin,
    parse_base as parse_base,
    quote_all as quote_all,
    quote_matches as quote_matches,
    uri as uri,
)
from django_sitemaps09.protocol.urlset import (
    FORMATS as FORMATS,
    URLSET as URLSET,
    extension_text as extension_text,
    page_format as page_format,
)
from django_sitemaps09.protocol.values import (
    CHANGEFREQS as CHANGEFREQS,
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
