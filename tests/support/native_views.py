"""Use these for requests to native views: `get` a response, `slugs` of a document, `crawl` all pages."""

from __future__ import annotations

import gzip
from types import ModuleType

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.cache import cache
from django.db import connections
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path

from django_sitemaps09.export import export
from tests.models import Article
from tests.support import articles
from tests.support.configuration import BASE
from tests.support.exports import locations
from tests.support.internals import exported, known_pages, listing as listings
from tests.support.sections import declare

PAGE = "/sitemap-articles-1.xml"
#: The forms of a page.
FORMS = (PAGE, f"{PAGE}.gz", "/sitemap-articles-1.txt")


#: A section without a limit of its own.
Articles = declare(articles.Articles, limit=50_000)


class Foreign(ContribSitemap):
    """Section that was written for contrib."""

    limit = 5

    def items(self):
        return list(range(7))

    def location(self, item):
        return f"/foreign/{item}/"


def nothing(request, **kwargs):
    return HttpResponse("nothing")


def get(url, method="get", **headers):
    """Return a response to a new reader, with its whole `body`."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    response = getattr(Client(), method)(url, headers=headers)
    response.body = b"".join(response.streaming_content) if response.streaming else response.content
    return response


def document(url, **headers):
    response = get(url, **headers)
    assert response.status_code == 200, url
    return gzip.decompress(response.body) if url.endswith(".gz") else response.body


def found(url="/sitemap.xml"):
    named = locations(document(url))
    assert all(name.startswith(f"{BASE}/") for name in named)
    return [name.removeprefix(BASE) for name in named]


def last_parts(content):
    return [location.rstrip("/").rpartition("/")[2] for location in locations(content)]


def slugs(url, **headers):
    """Return the last part of each URL in a document, which must exist."""
    return last_parts(document(url, **headers))


def pages(**headers):
    return [f"/{name.removesuffix('.gz')}" for name in slugs("/sitemap.xml", **headers)]


def contents(**headers):
    return [slugs(page, **headers) for page in pages(**headers)]


def crawl(**headers):
    return [slug for part in contents(**headers) for slug in part]


def of_keys(*keys):
    return [f"s{key}" for key in keys]


def queries(url, using="default", **headers):
    with CaptureQueriesContext(connections[using]) as captured:
        get(url, **headers)
    return len(captured)


def forget():
    """Answer as a process that has never seen an index, with an empty cache."""
    cache.clear()
    live = exported._exports, exported._pages, exported._sections
    for memory in (listings._kept, known_pages._entries, *live):
        memory.clear()


def export_elsewhere():
    """Export, and answer as a process that has not read any export yet."""
    export()
    exported._exports.clear()


@pytest.fixture
def section(using, register):
    queryset = Article.objects.using(using).filter(published=True)
    register(articles=declare(articles.Articles, queryset=queryset))
    return using


@pytest.fixture
def route(settings):
    """Add these URL patterns to those of the locations."""

    def only(*patterns):
        module = ModuleType("urls")
        module.urlpatterns = [*patterns, path("articles/<slug:slug>/", nothing, name="article")]
        settings.ROOT_URLCONF = module

    return only
