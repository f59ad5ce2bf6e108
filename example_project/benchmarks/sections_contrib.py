"""Sitemap of the articles for `django.contrib.sitemaps`."""

from __future__ import annotations

from datetime import datetime

from django.contrib.sitemaps import Sitemap
from django.db.models import QuerySet

from articles.models import Article


class ArticleSitemap(Sitemap):
    def items(self) -> QuerySet[Article]:
        return Article.objects.filter(published=True).select_related("category").order_by("pk")

    def lastmod(self, obj: Article) -> datetime:
        return obj.updated


SITEMAPS = {"articles": ArticleSitemap}
