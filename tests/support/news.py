"""A section of news."""

from __future__ import annotations

from django.db.models import F

from django_sitemaps09 import NewsSitemap, Route
from tests.models import Article


class Fresh(NewsSitemap):
    """Section whose headlines are the slugs of articles."""

    model = Article
    location = Route("article", slug=F("slug"))
    date_field = "updated"
    publication_name = "The Example Times"

    def title(self, item):
        return f"About {item.slug}"
