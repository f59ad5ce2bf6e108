"""Sections and requests for tests of the native views."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from types import ModuleType
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from django_sitemaps09 import ModelSitemap, Route
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.exports import locations
from tests.support.factories import ArticleFactory

FIRST = datetime(2026, 1, 1, 10, 30, 15, tzinfo=timezone.utc)


class Articles(ModelSitemap[Article]):
    queryset = Article.objects.filter(published=True)
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")


class Foreign(ContribSitemap):
    """Section that was written for contrib."""

    limit = 5

    def items(self) -> list[int]:
        return list(range(7))

    def location(self, item: int) -> str:
        return f"/foreign/{item}/"


def nothing(request: HttpRequest, **kwargs: object) -> HttpResponse:
    return HttpResponse("nothing")


def write_articles(*slugs: str) -> None:
    first = Article.objects.count()
    for day, slug in enumerate(slugs, first):
        ArticleFactory(slug=slug, updated=FIRST + timedelta(days=day))


def get(url: str, **headers: str) -> HttpResponse:
    """Return a new reader at each call."""
    response: Any = Client().get(url, headers={name.replace("_", "-"): h for name, h in headers.items()})
    return response


def found(url: str = "/sitemap.xml") -> list[str]:
    """Return the paths in a document, which must exist."""
    response = get(url)
    assert response.status_code == 200
    content = response.content
    named = locations(gzip.decompress(content) if url.endswith(".gz") else content)
    assert all(name.startswith(f"{BASE}/") for name in named)
    return [name.removeprefix(BASE) for name in named]


def last_parts(content: bytes) -> list[str]:
    """Return the last part of each URL in a document."""
    return [location.rstrip("/").rpartition("/")[2] for location in locations(content)]


def listed() -> list[str]:
    """Return the paths in all pages of the index."""
    return [name for page in found() for name in found(page)]


@pytest.fixture
def route(settings: Any) -> Callable[..., None]:
    """Add these URL patterns to those of the locations."""

    def only(*patterns: Any) -> None:
        module = ModuleType("urls")
        module.urlpatterns = [*patterns, path("articles/<slug:slug>/", nothing, name="article")]  # type: ignore[attr-defined]
        settings.ROOT_URLCONF = module

    return only
