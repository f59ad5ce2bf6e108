"""`get_urls()`, sites, protocols and newest times, as in `django.contrib.sitemaps`.

The tests also run on contrib's classes.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.contrib.sites.requests import RequestSite
from django.core.exceptions import ImproperlyConfigured
from django.core.paginator import EmptyPage, PageNotAnInteger
from django.db import connection
from django.test import RequestFactory, modify_settings
from django.test.utils import CaptureQueriesContext

from tests.compat.cases.parts import EARLY, LATE, LEAVES, Bases, Leaf
from tests.compat.data import UPDATED
from tests.compat.declared import KEYS, Host
from tests.models import Article
from tests.support.factories import ArticleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("articles")]
NO_SITE = (
    "To use sitemaps, either enable the sites framework or pass a Site/RequestSite object in your view."
)


class TestGetUrls:
    def test_gives_dicts_of_these_keys_in_this_order(self, leaves: Any) -> None:
        for url in leaves().get_urls():
            assert type(url) is dict
            assert list(url) == KEYS

    def test_gives_the_item_itself(self, leaves: Any) -> None:
        found = [url["item"] for url in leaves().get_urls()]
        assert all(item is leaf for item, leaf in zip(found, LEAVES, strict=True))

    def test_gives_the_instance_of_a_model(self, bases: Bases) -> None:
        section = bases.Sitemap()
        section.items = Article.objects.order_by("pk").all
        found = [url["item"] for url in section.get_urls()]
        assert all(type(item) is Article for item in found)
        assert [item.slug for item in found] == list(UPDATED)

    def test_gives_item_and_language_if_there_are_languages(self, leaves: Any) -> None:
        class Localized(leaves):
            i18n = True
            languages = ["en", "de"]

        found = [url["item"] for url in Localized().get_urls()]
        assert found == [(leaf, code) for leaf in LEAVES for code in ("en", "de")]

    def test_returns_values_as_the_hooks_returned_them(self, leaves: Any) -> None:
        class Valued(leaves):
            changefreq = "daily"

            def priority(self, item: Leaf) -> Any:
                return {"oak": Decimal("0.50"), "elm": None}.get(item.slug, 0.1)

        found = Valued().get_urls()
        assert [url["lastmod"] for url in found] == [leaf.updated for leaf in LEAVES]
        assert all(url["lastmod"] is url["item"].updated for url in found)
        assert [url["priority"] for url in found] == ["0.50", "", "0.1"]
        assert {url["changefreq"] for url in found} == {"daily"}
        assert [url["alternates"] for url in found] == [[], [], []]

    def test_gives_none_for_a_hook_that_is_missing(self, bases: Bases) -> None:
        section = bases.Sitemap()
        section.items = lambda: LEAVES
        for url in section.get_urls():
            assert (url["lastmod"], url["changefreq"], url["priority"]) == (None, None, "")

    def test_queries_nothing_for_https_and_the_current_site(self, leaves: Any) -> None:
        assert leaves().get_urls()[0]["location"] == "https://example.com/leaf/oak/"

    def test_takes_page_site_and_protocol_by_position(self, leaves: Any) -> None:
        class Paged(leaves):
            limit = 2

        found = Paged().get_urls(2, Host(), "http")
        assert [url["location"] for url in found] == ["http://shop.example.org/leaf/ash/"]

    @pytest.mark.parametrize("page", [1, "1", " 1 ", 1.0], ids=repr)
    def test_takes_a_page_as_the_paginator_does(self, leaves: Any, page: Any) -> None:
        assert len(leaves().get_urls(page=page)) == 3

    @pytest.mark.parametrize(
        ("page", "error"),
        [
            (0, EmptyPage),
            ("2", EmptyPage),
            (-1, EmptyPage),
            ("x", PageNotAnInteger),
            (None, PageNotAnInteger),
            (1.5, PageNotAnInteger),
        ],
    )
    def test_refuses_a_page_as_the_paginator_does(
        self, leaves: Any, page: Any, error: type[Exception]
    ) -> None:
        with pytest.raises(error):
            leaves().get_urls(page=page)

    def test_leaves_the_newest_time_on_the_sitemap_if_all_have_one(self, leaves: Any) -> None:
        section = leaves()
        section.get_urls()
        assert section.latest_lastmod == LATE

    def test_leaves_no_newest_time_if_one_has_none(self, leaves: Any) -> None:
        class Partly(leaves):
            def lastmod(self, item: Leaf) -> Any:
                return None if item.slug == "ash" else item.updated

        section = Partly()
        section.get_urls()
        assert not hasattr(section, "latest_lastmod")

    def test_may_be_called_twice(self, leaves: Any) -> None:
        section = leaves()
        assert section.get_urls() == section.get_urls()

    def test_calls_items_once_a_page(self, leaves: Any) -> None:
        asked: list[int] = []

        class Counting(leaves):
            def items(self) -> list[Leaf]:
                asked.append(1)
                return super().items()

        Counting().get_urls()
        assert asked == [1]


class TestSite:
    def test_is_the_current_one(self, bases: Bases) -> None:
        assert bases.Sitemap().get_domain() == "example.com"

    def test_may_be_given(self, bases: Bases) -> None:
        assert bases.Sitemap().get_domain(Host()) == "shop.example.org"
        assert bases.Sitemap().get_domain(site=Site(domain="s.example")) == "s.example"

    def test_of_a_request_is_its_host(self, bases: Bases) -> None:
        site = RequestSite(RequestFactory().get("/", HTTP_HOST="r.example"))
        assert bases.Sitemap().get_domain(site) == "r.example"

    @pytest.mark.parametrize("kind", ["Sitemap", "GenericSitemap"])
    def test_without_a_row_is_refused_with_this_message(self, bases: Bases, kind: str) -> None:
        Site.objects.all().delete()
        Site.objects.clear_cache()
        with pytest.raises(ImproperlyConfigured) as raised:
            plain(bases, kind).get_urls()
        assert str(raised.value) == NO_SITE

    @pytest.mark.parametrize("kind", ["Sitemap", "GenericSitemap"])
    @modify_settings(INSTALLED_APPS={"remove": ["django.contrib.sites", "django.contrib.flatpages"]})
    def test_without_the_framework_is_refused_with_this_message(self, bases: Bases, kind: str) -> None:
        with pytest.raises(ImproperlyConfigured) as raised:
            plain(bases, kind).get_urls()
        assert str(raised.value) == NO_SITE
        assert len(plain(bases, kind).get_urls(site=Host())) == 5

    def test_is_looked_up_before_the_items(self, bases: Bases) -> None:
        Site.objects.all().delete()
        Site.objects.clear_cache()
        section = bases.Sitemap()
        section.items = lambda: 1 / 0
        with pytest.raises(ImproperlyConfigured):
            section.get_urls()


def plain(bases: Bases, kind: str) -> Any:
    rows = Article.objects.order_by("pk")
    if kind == "GenericSitemap":
        return bases.GenericSitemap({"queryset": rows})
    section = bases.Sitemap()
    section.items = rows.all
    return section


class TestProtocol:
    def test_is_the_attribute_then_the_argument_then_https(self, bases: Bases) -> None:
        class Plain(bases.Sitemap):
            protocol = "http"

        assert bases.Sitemap().get_protocol() == "https"
        assert bases.Sitemap().get_protocol("http") == "http"
        assert bases.Sitemap().get_protocol(protocol=None) == "https"
        assert Plain().get_protocol("https") == "http"

    def test_may_be_an_argument_of_a_generic_sitemap(self, bases: Bases) -> None:
        info = {"queryset": None}
        assert bases.GenericSitemap(info, protocol="http").get_protocol("https") == "http"
        assert bases.GenericSitemap(info, protocol="http").get_protocol() == "http"
        assert bases.GenericSitemap(info).get_protocol("http") == "http"
        assert bases.GenericSitemap(info).get_protocol() == "https"


class TestNewestTime:
    def test_is_the_attribute(self, leaves: Any) -> None:
        class Constant(leaves):
            lastmod = EARLY

        assert Constant().get_latest_lastmod() is EARLY

    def test_is_the_attribute_even_without_items(self, bases: Bases) -> None:
        class Constant(bases.Sitemap):
            lastmod = EARLY

        assert Constant().get_latest_lastmod() is EARLY

    def test_is_the_newest_that_the_method_gives(self, leaves: Any) -> None:
        assert leaves().get_latest_lastmod() == LATE

    @pytest.mark.parametrize(
        "values",
        [
            [EARLY, None],
            [None, EARLY],
            [None],
            [],
            [None, None],
            [date(2024, 1, 1), EARLY],
            [datetime(2024, 1, 1), EARLY],
        ],
        ids=repr,
    )
    def test_is_none_if_times_are_missing_or_cannot_be_compared(self, bases: Bases, values: Any) -> None:
        section = bases.Sitemap()
        section.items = lambda: values
        section.lastmod = lambda value: value
        assert section.get_latest_lastmod() is None

    def test_passes_on_what_a_hook_raises(self, leaves: Any) -> None:
        class Broken(leaves):
            def lastmod(self, item: Leaf) -> Any:
                raise LookupError(item.slug)

        with pytest.raises(LookupError):
            Broken().get_latest_lastmod()


class TestGenericSitemap:
    def test_keeps_its_arguments(self, bases: Bases) -> None:
        rows = Article.objects.all()
        section = bases.GenericSitemap(
            info_dict={"queryset": rows, "date_field": "updated"},
            priority=0.6,
            changefreq="monthly",
            protocol="http",
        )
        assert section.queryset is rows
        assert (section.date_field, section.priority) == ("updated", 0.6)
        assert (section.changefreq, section.protocol) == ("monthly", "http")

    def test_is_empty_without_arguments(self, bases: Bases) -> None:
        section = bases.GenericSitemap({"queryset": None})
        assert section.date_field is section.priority is section.changefreq is None
        assert section.protocol is None
        assert section.lastmod(LEAVES[0]) is None
        assert section.get_latest_lastmod() is None

    def test_needs_a_queryset(self, bases: Bases) -> None:
        with pytest.raises(KeyError):
            bases.GenericSitemap({})

    def test_prefers_the_attributes_of_the_class(self, bases: Bases) -> None:
        class Said(bases.GenericSitemap):
            priority = 0.9
            changefreq = "never"
            protocol = "https"

        section = Said({"queryset": None}, 0.1, "daily", "http")
        assert (section.priority, section.changefreq) == (0.9, "never")
        assert section.protocol == "https"

    def test_queries_nothing_when_it_is_made(self, bases: Bases) -> None:
        with CaptureQueriesContext(connection) as queries:
            bases.GenericSitemap({"queryset": Article.objects.all(), "date_field": "updated"})
        assert len(queries) == 0

    def test_sees_rows_that_were_added_later(self, bases: Bases) -> None:
        """An instance that is created at import must not cache rows."""
        rows = Article.objects.order_by("pk")
        section = bases.GenericSitemap({"queryset": rows})
        assert len(section.get_urls()) == 5
        ArticleFactory(slug="later")
        assert len(section.get_urls()) == 6
        assert section.queryset is rows
        assert rows._result_cache is None

    def test_queries_the_database_for_the_newest_time(self, bases: Bases) -> None:
        section = bases.GenericSitemap(
            {"queryset": Article.objects.order_by("pk"), "date_field": "updated"}
        )
        with CaptureQueriesContext(connection) as queries:
            assert section.get_latest_lastmod() == UPDATED["gamma-ü"]
        assert len(queries) == 1

    def test_may_be_sliced_if_it_has_no_date(self, bases: Bases) -> None:
        section = bases.GenericSitemap({"queryset": Article.objects.order_by("pk")[1:3]})
        found = [url["item"].code for url in section.get_urls()]
        assert found == ["c1", "c2"]
