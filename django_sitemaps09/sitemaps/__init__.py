"""Sitemap classes that projects subclass, based on those of `django.contrib.sitemaps`.

Each of `location`, `lastmod`, `changefreq` and `priority` is a constant, a query expression (for
`location` also a `Route`), or a method that takes the item. Expressions become columns of the query. If
no hook needs the item, no model instance is created.
"""

from __future__ import annotations

from django_sitemaps09.sitemaps.base import (
    AT_A_TIME,
    CONTRIB_INTERNALS,
    Sitemap,
    has_same_languages,
    is_contribs,
    is_original,
)
from django_sitemaps09.sitemaps.expressions import (
    FIELDS,
    Field,
    Newest,
    alias,
    annotated,
    apart,
    column,
    column_of,
    declared_expressions,
    declared_value,
)
from django_sitemaps09.sitemaps.hooks import EXTENDING, HOOKS, Hook, Told, is_path, left_out, own_extensions
from django_sitemaps09.sitemaps.models import GenericSitemap, ModelSitemap, StaticViewSitemap, on_host
from django_sitemaps09.sitemaps.news import NewsSitemap
from django_sitemaps09.sitemaps.sites import site_with

__all__ = [
    "AT_A_TIME",
    "CONTRIB_INTERNALS",
    "EXTENDING",
    "FIELDS",
    "HOOKS",
    "Field",
    "GenericSitemap",
    "Hook",
    "ModelSitemap",
    "Newest",
    "NewsSitemap",
    "Sitemap",
    "StaticViewSitemap",
    "Told",
    "alias",
    "annotated",
    "apart",
    "column",
    "column_of",
    "declared_expressions",
    "declared_value",
    "has_same_languages",
    "is_contribs",
    "is_original",
    "is_path",
    "left_out",
    "on_host",
    "own_extensions",
    "site_with",
]
