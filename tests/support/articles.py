"""A section of the published articles, as ranges of a key, and their rows."""

from __future__ import annotations

from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route
from tests.models import Article


class Articles(ModelSitemap[Article]):
    """A section with ten published articles on each page."""

    queryset = Article.objects.filter(published=True)
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    limit = 10


def write_keys(*keys, using="default"):
    """Create articles with these keys, and with slugs such as `s1`."""
    Article.objects.using(using).bulk_create(Article(pk=key, slug=f"s{key}") for key in keys)
