"""Overrides of contrib's internal methods on classes with expressions are called."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.paginator import Paginator
from django.db.models import F
from django.test import RequestFactory

from django_sitemaps09 import GenericSitemap, ModelSitemap, Route, Sitemap, views
from tests.compat import projects
from tests.compat.cases.parts import UTC
from tests.compat.data import UPDATED
from tests.compat.declared import Host, Shop
from tests.models import Article

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("articles")]


class Overriding(Shop):
    """A section that overrides most of what contrib calls."""

    def _urls(self, page: Any, protocol: str, domain: str) -> Any:
        return super()._urls(page, protocol, domain)[:3]

    def _get(self, name: str, item: Any, default: Any = None) -> Any:
        return "daily" if name == "changefreq" else super()._get(name, item, default)

    def _location(self, item: Any, force_lang_code: str | None = None) -> str:
        return f"/x{super()._location(item, force_lang_code)}"

    def _items(self) -> Any:
        return super()._items().exclude(code="c3")

    def items(self) -> Any:
        return super().items().exclude(code="c4")

    def get_domain(self, site: Any = None) -> str:
        return "cdn.example"

    def get_protocol(self, protocol: str | None = None) -> str:
        return "http"


def test_methods_are_called() -> None:
    found = Overriding().get_urls()
    assert [url["item"].code for url in found] == ["c2", "c1", "c0"]
    assert found == [
        {
            **url,
            "changefreq": "daily",
            "location": url["location"].replace("https://example.com", "http://cdn.example/x"),
        }
        for url in Shop().get_urls()[2:]
    ]


def test_items_may_be_a_list() -> None:
    section = type("Section", (Shop,), {"_items": lambda self: list(Shop._items(self))[:2]})
    assert section().get_urls() == Shop().get_urls()[:2]


@pytest.mark.parametrize(
    ("paginator", "sizes"),
    [
        (property(lambda self: Paginator(self._items(), 2, orphans=1)), [2, 3]),
        # As in contrib's documentation.
        (cached_property(lambda self: Paginator(self.items(), self.limit)), [5]),
    ],
    ids=["property", "cached"],
)
def test_a_paginator_is_used(paginator: Any, sizes: list[int]) -> None:
    section = type("Section", (Shop,), {"paginator": paginator})
    found = [section().get_urls(page) for page in range(1, len(sizes) + 1)]
    assert [len(urls) for urls in found] == sizes
    assert [url for urls in found for url in urls] == Shop().get_urls()


def test_languages_are_those_of_the_method() -> None:
    section = type("Section", (Shop,), {"i18n": True, "_languages": lambda self: ["de"]})
    assert [url["item"][1] for url in section().get_urls()] == ["de"] * 5


def test_views_call_get_urls() -> None:
    class Section(Shop):
        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
            return [*super().get_urls(page, site, protocol), {"location": "https://more/"}]

    made = views.sitemap(RequestFactory().get("/"), {"one": Section}).render()
    locations = projects.texts(made.content, "loc")
    assert (len(locations), locations[-1]) == (6, "https://more/")


def test_expressions_on_items_that_are_not_a_queryset_are_refused_clearly() -> None:
    section = type("Section", (Sitemap,), {"lastmod": F("updated"), "items": lambda self: [Article()]})
    with pytest.raises(ImproperlyConfigured, match=r"Section.*queryset"):
        section().get_urls(site=Host())


def test_expressions_on_a_plain_sitemap_with_a_queryset() -> None:
    class Section(Sitemap[Article]):
        lastmod = F("updated")
        location = Route("localized-article", pk=F("pk"))

        def items(self) -> Any:
            return Article.objects.order_by("pk")

    found = Section().get_urls()
    assert [url["lastmod"] for url in found] == list(UPDATED.values())
    assert all(f"/article/{url['item'].pk}/" in url["location"] for url in found)


def test_expressions_on_a_generic_sitemap() -> None:
    base = type("Section", (GenericSitemap,), {"priority": F("weight")})
    section = base({"queryset": Article.objects.order_by("pk"), "date_field": "updated"})
    assert [url["priority"] for url in section.get_urls()] == [f"0.{n}00" for n in range(1, 6)]


def test_a_page_of_rows_with_the_same_time_is_whole() -> None:
    when = datetime(2026, 1, 1, tzinfo=UTC)
    Article.objects.bulk_create(Article(slug=f"s{n}", updated=when) for n in range(7))

    class Section(ModelSitemap[Article]):
        queryset = Article.objects.filter(slug__startswith="s").order_by("updated", "pk")
        lastmod = F("updated")
        limit = 3

    found = [url["item"].slug for page in (1, 2, 3) for url in Section().get_urls(page)]
    assert found == [f"s{n}" for n in range(7)]
