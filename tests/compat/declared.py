"""Declarations that several of these test modules use."""

from __future__ import annotations

from typing import Any

from django.db.models import F
from django.urls import reverse

from django_sitemaps09 import (
    ModelSitemap,
    Route,
    Sitemap,
)
from tests.models import Article

KEYS = ["item", "location", "lastmod", "changefreq", "priority", "alternates"]


class Host:
    """A site with only the required attribute."""

    domain = "shop.example.org"


class Shop(ModelSitemap[Article]):
    """A section with expressions as hooks."""

    queryset = Article.objects.filter(category__isnull=False).order_by("-pk")
    location = Route("article", category=F("category__slug"), slug=F("slug"))
    lastmod = F("updated")
    changefreq = "weekly"
    priority = F("weight")


class ShopByMethods(Sitemap[Article]):
    """The same section with methods as hooks, as for contrib."""

    changefreq = "weekly"

    def items(self) -> Any:
        rows = Article.objects.filter(category__isnull=False).order_by("-pk")
        return rows.select_related("category")

    def location(self, item: Article) -> str:
        assert item.category is not None
        return reverse("article", kwargs={"category": item.category.slug, "slug": item.slug})

    def lastmod(self, item: Article) -> Any:
        return item.updated

    def priority(self, item: Article) -> Any:
        return item.weight
