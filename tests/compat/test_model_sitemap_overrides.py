"""Overrides of contrib's internal methods on classes with expressions."""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.paginator import Paginator
from django.db.models import F
from django.test import RequestFactory

from django_sitemaps09 import (
    GenericSitemap,
    ModelSitemap,
    Route,
    Sitemap,
    views,
)
from tests.compat import projects
from tests.compat.cases.parts import UTC
from tests.compat.data import UPDATED
from tests.compat.declared import Host, Shop
from tests.models import Article

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("articles")]


class TestOverriddenInternalsOfAModelSitemap:
    """Overrides of contrib's internal methods are called even if hooks are expressions."""

    def test_urls(self) -> None:
        class Section(Shop):
            def _urls(self, page: Any, protocol: str, domain: str) -> Any:
                return super()._urls(page, protocol, domain)[:1]

        assert Section().get_urls() == Shop().get_urls()[:1]

    def test_get(self) -> None:
        class Section(Shop):
            def _get(self, name: str, item: Any, default: Any = None) -> Any:
                return "daily" if name == "changefreq" else super()._get(name, item, default)

        assert Section().get_urls() == [{**u, "changefreq": "daily"} for u in Shop().get_urls()]

    def test_location(self) -> None:
        class Section(Shop):
            def _location(self, item: Any, force_lang_code: str | None = None) -> str:
                return f"/x{super()._location(item, force_lang_code)}"

        found = [url["location"] for url in Section().get_urls(site=Host())]
        assert found == [
            url["location"].replace(".org/", ".org/x/") for url in Shop().get_urls(site=Host())
        ]

    def test_items(self) -> None:
        class Section(Shop):
            def _items(self) -> Any:
                return super()._items().filter(code__in=["c1", "c2"])

        assert [url["item"].code for url in Section().get_urls()] == ["c2", "c1"]

    def test_items_as_a_list(self) -> None:
        class Section(Shop):
            def _items(self) -> Any:
                return list(super()._items())[:2]

        assert Section().get_urls() == Shop().get_urls()[:2]

    def test_paginator(self) -> None:
        class Section(Shop):
            @property
            def paginator(self) -> Paginator:
                return Paginator(self._items(), 2, orphans=1)

        assert [len(Section().get_urls(page)) for page in (1, 2)] == [2, 3]

    def test_paginator_of_the_items_as_the_documentation_describes_it(self) -> None:
        class Section(Shop):
            @cached_property
            def paginator(self) -> Paginator:
                return Paginator(self.items(), self.limit)

        assert Section().get_urls() == Shop().get_urls()

    def test_domain_and_protocol(self) -> None:
        class Section(Shop):
            def get_domain(self, site: Any = None) -> str:
                return "cdn.example"

            def get_protocol(self, protocol: str | None = None) -> str:
                return "http"

        assert all(url["location"].startswith("http://cdn.example/shop/") for url in Section().get_urls())

    def test_languages(self) -> None:
        class Section(Shop):
            i18n = True

            def _languages(self) -> list[str]:
                return ["de"]

        assert [url["item"][1] for url in Section().get_urls()] == ["de"] * 5

    def test_get_urls_through_the_views(self) -> None:
        class Section(Shop):
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                return [*super().get_urls(page, site, protocol), {"location": "https://more/"}]

        made = views.sitemap(RequestFactory().get("/"), {"one": Section}).render()
        assert projects.texts(made.content, "loc")[-1] == "https://more/"
        assert len(projects.texts(made.content, "loc")) == 6

    def test_items_filtered_in_the_project(self) -> None:
        class Section(Shop):
            def items(self) -> Any:
                return super().items().exclude(code="c0")

        assert len(Section().get_urls()) == 4

    def test_expressions_on_items_that_are_not_a_queryset_are_refused_clearly(self) -> None:
        class Section(Sitemap[Article]):
            lastmod = F("updated")

            def items(self) -> list[Article]:
                return list(Article.objects.all())

        with pytest.raises(ImproperlyConfigured, match=r"Section.*queryset"):
            Section().get_urls(site=Host())

    def test_expressions_on_a_plain_sitemap_with_a_queryset(self) -> None:
        class Section(Sitemap[Article]):
            lastmod = F("updated")
            location = Route("localized-article", pk=F("pk"))

            def items(self) -> Any:
                return Article.objects.order_by("pk")

        found = Section().get_urls()
        assert [url["lastmod"] for url in found] == list(UPDATED.values())
        assert all(f"/article/{url['item'].pk}/" in url["location"] for url in found)

    def test_expressions_on_a_generic_sitemap(self) -> None:
        class Section(GenericSitemap[Article]):
            priority = F("weight")

        section = Section({"queryset": Article.objects.order_by("pk"), "date_field": "updated"})
        assert [url["priority"] for url in section.get_urls()] == [
            *("0.100", "0.200", "0.300", "0.400", "0.500")
        ]

    def test_a_page_of_rows_with_the_same_time_is_whole(self) -> None:
        when = datetime(2026, 1, 1, tzinfo=UTC)
        Article.objects.bulk_create(Article(slug=f"s{n}", updated=when + timedelta(0)) for n in range(7))

        class Section(ModelSitemap[Article]):
            queryset = Article.objects.filter(slug__startswith="s").order_by("updated", "pk")
            lastmod = F("updated")
            limit = 3

        found = [url["item"].slug for page in (1, 2, 3) for url in Section().get_urls(page)]
        assert found == [f"s{n}" for n in range(7)]
