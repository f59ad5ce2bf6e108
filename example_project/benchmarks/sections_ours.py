"""The articles as one declares them for `django_sitemaps09`, and on the way there from contrib."""

from __future__ import annotations

from datetime import datetime

from django.db.models import F, QuerySet

from articles.models import Article
from django_sitemaps09 import ModelSitemap, Route, Sitemap


class DeclaredSitemap(ModelSitemap[Article]):
    queryset = Article.objects.filter(published=True)
    location = Route("article", category=F("category__slug"), slug=F("slug"))
    lastmod = F("updated")


class ArticleSitemap(Sitemap):
    """The class of `sections_contrib`, with nothing changed but the import."""

    def items(self) -> QuerySet[Article]:
        return Article.objects.filter(published=True).select_related("category").order_by("pk")

    def lastmod(self, obj: Article) -> datetime:
        return obj.updated


class RouteSitemap(ArticleSitemap):
    """The same with one line more."""

    location = Route("article", category=F("category__slug"), slug=F("slug"))


DECLARED = {"articles": DeclaredSitemap}
UNCHANGED = {"articles": ArticleSitemap}
WITH_ROUTE = {"articles": RouteSitemap}
