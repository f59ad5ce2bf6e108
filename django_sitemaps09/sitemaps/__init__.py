"""What a user declares: sitemap classes on the base of those in `django.contrib.sitemaps`.

Each of `location`, `lastmod`, `changefreq` and `priority` is a constant, a query expression (for
`location` a `Route`), or a method that takes the item. Expressions become columns of the query; when
no hook needs the item, no model instance is made.
"""

from __future__ import annotations

from django_sitemaps09.sitemaps.base import AT_A_TIME, Sitemap, has_same_languages
from django_sitemaps09.sitemaps.declared import (
    FIELDS,
    Field,
    alias,
    annotated,
    column,
    declared_expressions,
    declared_value,
)
from django_sitemaps09.sitemaps.hooks import EXTENDING, HOOKS, Hook, Told, left_out, own_extensions
from django_sitemaps09.sitemaps.models import GenericSitemap, ModelSitemap, StaticViewSitemap
from django_sitemaps09.sitemaps.news import NewsSitemap

__all__ = [
    "AT_A_TIME",
    "EXTENDING",
    "FIELDS",
    "HOOKS",
    "Field",
    "GenericSitemap",
    "Hook",
    "ModelSitemap",
    "NewsSitemap",
    "Sitemap",
    "StaticViewSitemap",
    "Told",
    "alias",
    "annotated",
    "column",
    "declared_expressions",
    "declared_value",
    "has_same_languages",
    "left_out",
    "own_extensions",
]
