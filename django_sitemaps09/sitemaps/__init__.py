"""Sitemap classes that projects subclass, based on those of `django.contrib.sitemaps`.

Each of `location`, `lastmod`, `changefreq` and `priority` is a constant, a query expression, or a method
that takes the item. `location` can also be a `Route`. Expressions become columns of the query. If no hook
is a method, no model instances are created.
"""

from __future__ import annotations

from django_sitemaps09.sitemaps.base import CONTRIB_INTERNALS, Sitemap, is_contribs, is_original
from django_sitemaps09.sitemaps.compat import collect_skips, is_path
from django_sitemaps09.sitemaps.items import checked_items, read_items
from django_sitemaps09.sitemaps.models import (
    GenericSitemap,
    ModelSitemap,
    NewsSitemap,
    StaticViewSitemap,
    find_site,
)

__all__ = [
    "CONTRIB_INTERNALS",
    "GenericSitemap",
    "ModelSitemap",
    "NewsSitemap",
    "Sitemap",
    "StaticViewSitemap",
    "checked_items",
    "collect_skips",
    "find_site",
    "is_contribs",
    "is_original",
    "is_path",
    "read_items",
]
