"""What a project writes, and what that means: classes, hooks, locations, named sections, and their hosts.

Each of `location`, `lastmod`, `changefreq` and `priority` is a constant, a query expression, or a method
that takes the item. `location` can also be a `Route`. Expressions become columns of the query. If no hook
is a method, no model instances are created.
"""

from __future__ import annotations

from django_sitemaps09.declare.base import (
    CONTRIB_INTERNALS as CONTRIB_INTERNALS,
    Sitemap as Sitemap,
    checked_items as checked_items,
    is_contribs as is_contribs,
    is_original as is_original,
    read_items as read_items,
)
from django_sitemaps09.declare.models import (
    GenericSitemap as GenericSitemap,
    ModelSitemap as ModelSitemap,
    NewsSitemap as NewsSitemap,
    StaticViewSitemap as StaticViewSitemap,
)
