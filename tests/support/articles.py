"""The section that most tests of articles need, its rows by their keys, and a section of news.

Use `tests.support.sections.declare` for any other declaration.
"""

from __future__ import annotations

from django.db.models import F

from django_sitemaps09 import ModelSitemap, NewsSitemap, Route
from tests.models import Article


class Articles(ModelSitemap[Article]):
    queryset = Article.objects.filter(published=True)
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    limit = 10


class Fresh(NewsSitemap):
    model = Article
    location = Route("article", slug=F("slug"))
    date_field = "updated"
    publication_name = "The Example Times"

    def title(self, item):
        return f"About {item.slug}"


def write_keys(*keys, using="default"):
    """Create articles with these keys, and with slugs such as `s1`."""
    Article.objects.using(using).bulk_create(Article(pk=key, slug=f"s{key}") for key in keys)
