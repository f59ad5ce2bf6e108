"""Sitemap of the published articles: only columns are declared, so no model instances are created."""

from __future__ import annotations

from django.db.models import F

from articles.models import Article
from django_sitemaps09 import ModelSitemap, Route, register


@register("articles")
class ArticleSitemap(ModelSitemap[Article]):
    queryset = Article.objects.filter(published=True)
    location = Route("article", category=F("category__slug"), slug=F("slug"))
    lastmod = F("updated")
    changefreq = "monthly"
    priority = 0.6
