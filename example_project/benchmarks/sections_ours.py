"""Sitemaps of the articles for `django_sitemaps09`, with columns and with classes written for contrib."""

from __future__ import annotations

from datetime import datetime

from django.db.models import F, QuerySet

from articles.models import Article
from django_sitemaps09 import ModelSitemap, Route, Sitemap


class DeclaredSitemap(ModelSitemap[Article]):
    queryset = Article.objects.filter(published=True)
    location = Route("article", category=F("category__slug"), slug=F("slug"))
    lastmod = F("updated")


class TranslatedSitemap(ModelSitemap[Article]):
    """The first 50,000 articles in ten languages; each entry links to all languages."""

    queryset = Article.objects.filter(published=True, pk__lte=51_020)
    location = Route("translated", category=F("category__slug"), slug=F("slug"))
    lastmod = F("updated")
    i18n = True
    alternates = True
    languages = ("en", "de", "fr", "es", "it", "nl", "pl", "pt-br", "zh-hans", "ja")


class ArticleSitemap(Sitemap):
    """The class of `sections_contrib`, with only the import changed."""

    def items(self) -> QuerySet[Article]:
        return Article.objects.filter(published=True).select_related("category").order_by("pk")

    def lastmod(self, obj: Article) -> datetime:
        return obj.updated


class RouteSitemap(ArticleSitemap):
    """The class of `sections_contrib`, with a `Route` as its location."""

    location = Route("article", category=F("category__slug"), slug=F("slug"))


DECLARED = {"articles": DeclaredSitemap}
TRANSLATED = {"articles": TranslatedSitemap}
UNCHANGED = {"articles": ArticleSitemap}
WITH_ROUTE = {"articles": RouteSitemap}
