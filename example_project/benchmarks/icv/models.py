"""The example's article, with the mixin of django-icv-sitemaps."""

from __future__ import annotations

from datetime import datetime

from django.db.models import QuerySet
from icv_sitemaps.mixins import SitemapMixin

from articles.models import Article


class SitemapArticle(SitemapMixin, Article):
    """An article with a location and a lastmod, but no changefreq or priority, like the other subjects."""

    sitemap_section_name = "articles"
    sitemap_changefreq = ""
    sitemap_priority = None

    class Meta:
        proxy = True

    @classmethod
    def get_sitemap_queryset(cls) -> QuerySet[SitemapArticle]:
        return cls.objects.filter(published=True).select_related("category")

    def get_sitemap_lastmod(self) -> datetime:
        return self.updated
