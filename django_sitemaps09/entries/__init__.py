"""Value objects for the entries of a sitemap, from the rows of a section to the bytes of its pages."""

from __future__ import annotations

from django_sitemaps09.entries.batches import (
    Alternate as Alternate,
    Batch as Batch,
    Column as Column,
    IndexEntry as IndexEntry,
    ItemError as ItemError,
    Localization as Localization,
    SafeColumn as SafeColumn,
    TemplateColumn as TemplateColumn,
)
from django_sitemaps09.entries.fields import (
    MAX_MESSAGE as MAX_MESSAGE,
    MAX_SHOWN as MAX_SHOWN,
    NOT_TEXTS as NOT_TEXTS,
    NOT_XML as NOT_XML,
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
from django_sitemaps09.entries.media import (
    NAMESPACES as NAMESPACES,
    Extension as Extension,
    Image as Image,
    News as News,
    Platform as Platform,
    Restriction as Restriction,
    Video as Video,
)
