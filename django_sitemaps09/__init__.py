"""XML sitemaps for Django. Declare sections once, serve them by views, or export them to files."""

from __future__ import annotations

from django_sitemaps09.declare.base import Sitemap
from django_sitemaps09.declare.locations import PathTemplate, Route
from django_sitemaps09.declare.models import GenericSitemap, ModelSitemap, NewsSitemap, StaticViewSitemap
from django_sitemaps09.declare.sections import register
from django_sitemaps09.protocol.entries import Alternate
from django_sitemaps09.protocol.media import Extension, Image, News, Platform, Restriction, Video

__version__ = "0.1.0"

__all__ = [
    "Alternate",
    "Extension",
    "GenericSitemap",
    "Image",
    "ModelSitemap",
    "News",
    "NewsSitemap",
    "PathTemplate",
    "Platform",
    "Restriction",
    "Route",
    "Sitemap",
    "StaticViewSitemap",
    "Video",
    "register",
]
