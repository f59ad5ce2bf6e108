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
from django_sitemaps09.sitemaps.models import GenericSitemap, ModelSitemap, StaticViewSitemap, on_host
from django_sitemaps09.sitemaps.news import NewsSitemap
from django_sitemaps09.sitemaps.sites import site_with
from django_sitemaps09.sitemaps.url_dicts import collected_skips, is_path

__all__ = [
    "AT_A_TIME",
    "CONTRIB_INTERNALS",
    "GenericSitemap",
    "ModelSitemap",
    "NewsSitemap",
    "Sitemap",
    "StaticViewSitemap",
    "collected_skips",
    "has_same_languages",
    "is_contribs",
    "is_original",
    "is_path",
    "on_host",
    "site_with",
]
