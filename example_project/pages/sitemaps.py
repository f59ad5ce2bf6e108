"""Sitemaps of the pages without a model, and of the flatpages, with Django's own class."""

from __future__ import annotations

from django.contrib.flatpages.sitemaps import FlatPageSitemap

from django_sitemaps09 import StaticViewSitemap, register


@register("static")
class PageSitemap(StaticViewSitemap):
    viewnames = ["home", "about", "contact"]
    changefreq = "weekly"


# Django's class extends django.contrib.sitemaps. It works unchanged.
register("flatpages", FlatPageSitemap)
