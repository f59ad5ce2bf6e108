"""Contrib's road: our classes are what those of `django.contrib.sitemaps` are.

Laws that contrib knows too are tested on its classes as well. Those on `ModelSitemap`,
`StaticViewSitemap` and `Route` say how our own declarations travel on this road.
"""

from __future__ import annotations

import copy
import importlib
import subprocess
import sys
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sites.models import Site
from django.contrib.sites.requests import RequestSite
from django.core.exceptions import ImproperlyConfigured
from django.core.paginator import EmptyPage, PageNotAnInteger, Paginator
from django.db import connection
from django.db.models import Case, Count, F, Value, When
from django.db.models.functions import Coalesce, Concat
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, modify_settings, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse, set_script_prefix
from django.utils.translation import override

import django_sitemaps09
from django_sitemaps09 import (
    GenericSitemap,
    ModelSitemap,
    Route,
    Sitemap,
    StaticViewSitemap,
    views,
)
from tests.contrib_road import roads
from tests.contrib_road.cases import CASES, CONTRIB, EARLY, LATE, LEAVES, UTC, Bases, Leaf
from tests.contrib_road.data import UPDATED, populate
from tests.models import Article, Comment

pytestmark = pytest.mark.django_db

OURS = Bases(Sitemap, GenericSitemap)
KEYS = ["item", "location", "lastmod", "changefreq", "priority", "alternates"]
NO_SITE = (
    "To use sitemaps, either enable the sites framework or pass a Site/RequestSite object in your view."
)


class Host:
    """All that a site must have."""

    domain = "shop.example.org"


@pytest.fixture(autouse=True)
def articles(db: None, settings: Any) -> Iterator[list[Article]]:
    settings.ROOT_URLCONF = roads.OURS.urlconf
    yield populate()
    Site.objects.clear_cache()


@pytest.fixture(params=[CONTRIB, OURS], ids=["contrib", "ours"])
def bases(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def leaves(bases: Bases) -> Any:
    """A plain section."""

    class Leaves(bases.Sitemap):
        def items(self) -> list[Leaf]:
            return LEAVES

        def lastmod(self, item: Leaf) -> Any:
            return item.updated

    return Leaves


def outcome(call: Any) -> Any:
    """What a call returns, or raises."""
    try:
        found = call()
        return list(found) if not isinstance(found, (date, type(None), int)) else found
    except Exception as error:  # noqa: BLE001 - whatever contrib raises, we raise too
        return type(error), roads.without_advice(error)


class TestPackage:
    def test_classes_are_contribs_too(self) -> None:
        assert issubclass(Sitemap, contrib.Sitemap)
        assert issubclass(GenericSitemap, contrib.GenericSitemap)
        assert issubclass(GenericSitemap, Sitemap)
        assert issubclass(ModelSitemap, Sitemap)
        assert issubclass(StaticViewSitemap, Sitemap)
        assert isinstance(Sitemap(), contrib.Sitemap)
        made = GenericSitemap({"queryset": Article.objects.all()})
        assert isinstance(made, contrib.GenericSitemap)
        assert isinstance(made, contrib.Sitemap)

    def test_names_are_where_contribs_are(self) -> None:
        for name in ("Sitemap", "GenericSitemap"):
            assert name in django_sitemaps09.__all__
        assert callable(views.index)
        assert callable(views.sitemap)
        assert views.x_robots_tag is contrib.views.x_robots_tag
        assert views.SitemapIndexItem is contrib.views.SitemapIndexItem

    @pytest.mark.parametrize(
        "name",
        ["django.contrib.sitemaps.views", "django_sitemaps09.views", "django_sitemaps09.views.compat"],
    )
    def test_a_project_can_write_an_index_of_its_own_with_the_names_of_contribs_module(
        self, name: str
    ) -> None:
        module = importlib.import_module(name)
        newest = None
        for lastmod in (date(2026, 2, 1), datetime(2026, 3, 1, 12), datetime(2026, 1, 1, tzinfo=UTC)):
            newest = module._get_latest_lastmod(newest, lastmod)
        # A naive time is in UTC there.
        assert newest == datetime(2026, 3, 1, 12, tzinfo=UTC)

        @module.x_robots_tag
        def index(request: HttpRequest, sitemaps: Any) -> HttpResponse:
            """An index of the project."""
            items = [module.SitemapIndexItem(location, last_mod=newest) for location in sitemaps]
            return HttpResponse(f"{items[0].location} {items[0].last_mod:%Y-%m-%d}")

        response = index(RequestFactory().get("/"), ["/a.xml"])
        assert response.content == b"/a.xml 2026-03-01"
        assert response.headers["X-Robots-Tag"] == "noindex, noodp, noarchive"
        assert index.__name__ == "index"

    def test_is_imported_without_settings(self) -> None:
        code = "import django_sitemaps09 as d; d.Sitemap; d.GenericSitemap; class_ = d.ModelSitemap"
        done = subprocess.run(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-c", code], env={"PYTHONPATH": str(roads.HERE.parent.parent)}
        )
        assert done.returncode == 0


class TestDefaults:
    @pytest.mark.parametrize(
        "name", sorted({name for name in dir(contrib.Sitemap) if not name.startswith("__")})
    )
    def test_have_every_name_of_contribs(self, name: str) -> None:
        theirs = getattr(contrib.Sitemap, name)
        assert hasattr(Sitemap, name)
        if not callable(theirs) and not isinstance(theirs, property):
            assert getattr(Sitemap, name) == theirs

    @pytest.mark.parametrize("name", ["lastmod", "changefreq", "priority", "latest_lastmod"])
    def test_have_no_hook_that_contribs_has_not(self, bases: Bases, name: str) -> None:
        assert not hasattr(bases.Sitemap(), name)

    def test_are_a_section_without_items(self, bases: Bases) -> None:
        section = bases.Sitemap()
        assert list(section.items()) == []
        assert section.get_latest_lastmod() is None
        assert section.paginator.num_pages == 1
        assert section.get_urls(site=Host()) == []

    def test_location_is_that_of_the_item(self, bases: Bases) -> None:
        assert bases.Sitemap().location(LEAVES[0]) == "/leaf/oak/"


SECTIONS = [
    (name, key)
    for name in CASES
    if not name.startswith(("tree", "flatpages", "entries", "section"))
    for key in CASES[name](CONTRIB)
]


class TestEveryDeclaration:
    """Each section of each case, called as somebody does who wants the entries and no view."""

    @pytest.mark.parametrize(("name", "key"), SECTIONS)
    def test_gives_what_contribs_gives(self, name: str, key: str) -> None:
        def found(bases: Bases) -> Any:
            declared = CASES[name](bases)[key]
            section = declared() if callable(declared) else declared
            return {
                "urls": outcome(lambda: section.get_urls(site=Host(), protocol="http")),
                "default": outcome(section.get_urls),
                "second": outcome(lambda: section.get_urls(2, Host(), "https")),
                "items": outcome(section.items),
                "languages": outcome(section._languages),
                "latest": outcome(section.get_latest_lastmod),
                "after": getattr(section, "latest_lastmod", None),
                "pages": outcome(lambda: section.paginator.num_pages),
            }

        assert found_or_refused(found, OURS) == found_or_refused(found, CONTRIB)


def found_or_refused(found: Any, bases: Bases) -> Any:
    try:
        return found(bases)
    except TypeError as error:
        return type(error), roads.without_advice(error)


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

    def test_gives_item_and_language_where_there_are_languages(self, leaves: Any) -> None:
        class Localized(leaves):
            i18n = True
            languages = ["en", "de"]

        found = [url["item"] for url in Localized().get_urls()]
        assert found == [(leaf, code) for leaf in LEAVES for code in ("en", "de")]

    def test_gives_values_as_the_hooks_gave_them(self, leaves: Any) -> None:
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

    def test_asks_nothing_for_https_and_the_current_site(self, leaves: Any) -> None:
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

    def test_may_be_asked_twice(self, leaves: Any) -> None:
        section = leaves()
        assert section.get_urls() == section.get_urls()

    def test_asks_for_its_items_once_a_page(self, leaves: Any) -> None:
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
    def test_without_a_row_is_refused_in_these_words(self, bases: Bases, kind: str) -> None:
        Site.objects.all().delete()
        Site.objects.clear_cache()
        with pytest.raises(ImproperlyConfigured) as raised:
            plain(bases, kind).get_urls()
        assert str(raised.value) == NO_SITE

    @pytest.mark.parametrize("kind", ["Sitemap", "GenericSitemap"])
    @modify_settings(INSTALLED_APPS={"remove": ["django.contrib.sites", "django.contrib.flatpages"]})
    def test_without_the_framework_is_refused_in_these_words(self, bases: Bases, kind: str) -> None:
        with pytest.raises(ImproperlyConfigured) as raised:
            plain(bases, kind).get_urls()
        assert str(raised.value) == NO_SITE
        assert len(plain(bases, kind).get_urls(site=Host())) == 5

    def test_is_asked_for_before_the_items(self, bases: Bases) -> None:
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
    def test_is_none_where_times_lack_or_do_not_compare(self, bases: Bases, values: Any) -> None:
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


class TestOverriding:
    def test_of_machinery_may_call_what_it_overrides(self, leaves: Any) -> None:
        called: list[str] = []

        class Noted(leaves):
            i18n = True
            languages = ["de"]

            def _get(self, name: str, item: Any, default: Any = None) -> Any:
                called.append(f"_get {name}")
                return super()._get(name, item, default)

            def _items(self) -> Any:
                called.append("_items")
                return super()._items()

            def _location(self, item: Any, force_lang_code: str | None = None) -> Any:
                called.append("_location")
                return super()._location(item, force_lang_code)

            def _languages(self) -> Any:
                called.append("_languages")
                return super()._languages()

            def _urls(self, page: Any, protocol: str, domain: str) -> Any:
                called.append("_urls")
                return super()._urls(page, protocol, domain)

            def get_protocol(self, protocol: str | None = None) -> str:
                called.append("get_protocol")
                return super().get_protocol(protocol)

            def get_domain(self, site: Any = None) -> str:
                called.append("get_domain")
                return super().get_domain(site)

            @property
            def paginator(self) -> Paginator:
                called.append("paginator")
                return super().paginator

            def location(self, item: Leaf) -> str:
                called.append("location")
                return super().location(item)

        assert Noted().get_urls() == [{**url, "item": (url["item"], "de")} for url in leaves().get_urls()]
        assert set(called) == {
            *("_get location", "_get lastmod", "_get changefreq", "_get priority"),
            *("_items", "_location", "_languages", "_urls", "get_protocol", "get_domain"),
            *("paginator", "location"),
        }

    def test_may_name_any_hook_to_get(self, leaves: Any) -> None:
        """`_get` reads whatever a project adds, with the default for what is missing."""

        class Added(leaves):
            rating = 5

            def title(self, item: Leaf) -> str:
                return item.slug.upper()

        section = Added()
        assert section._get("rating", LEAVES[0]) == 5
        assert section._get("title", LEAVES[0]) == "OAK"
        assert section._get("none", LEAVES[0]) is None
        assert section._get("none", LEAVES[0], "default") == "default"
        assert section._get(name="none", item=LEAVES[0], default=3) == 3

    def test_takes_a_project_base_on_contribs_class_as_a_mixin(self) -> None:
        class Theirs(contrib.Sitemap):
            limit = 1

            def location(self, item: Leaf) -> str:
                return "/theirs" + super().location(item)

        class Both(Theirs, Sitemap):
            def items(self) -> list[Leaf]:
                return LEAVES

        found = Both().get_urls(2, Host())
        assert [url["location"] for url in found] == ["https://shop.example.org/theirs/leaf/elm/"]

    def test_of_names_that_we_add_leaves_contribs_road_alone(self, bases: Bases) -> None:
        """A project may have had attributes that our own road gives a meaning to."""

        class Named(bases.Sitemap):
            key = "anything"
            images = "not callable"
            model = None

            def items(self) -> list[Leaf]:
                return LEAVES

            def videos(self, item: Leaf) -> list[str]:
                raise AssertionError

            def news(self) -> str:
                raise AssertionError

        assert [url["location"] for url in Named().get_urls(site=Host())] == [
            f"https://shop.example.org/leaf/{leaf.slug}/" for leaf in LEAVES
        ]
        made = views.sitemap(RequestFactory().get("/"), {"one": Named}).render()
        assert len(roads.texts(made.content, "loc")) == 3

    def test_may_subscript_the_class_with_the_type_of_its_items(self) -> None:
        class Typed(Sitemap[Article]):
            def items(self) -> Any:
                return Article.objects.order_by("pk")

        assert len(Typed().get_urls()) == 5

    def test_leaves_sitemaps_that_can_be_copied(self, leaves: Any) -> None:
        section = leaves()
        assert copy.copy(section).get_urls() == section.get_urls()
        assert copy.deepcopy(section).get_urls() == section.get_urls()


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

    def test_has_nothing_where_nothing_is_given(self, bases: Bases) -> None:
        section = bases.GenericSitemap({"queryset": None})
        assert section.date_field is section.priority is section.changefreq is None
        assert section.protocol is None
        assert section.lastmod(LEAVES[0]) is None
        assert section.get_latest_lastmod() is None

    def test_needs_a_queryset(self, bases: Bases) -> None:
        with pytest.raises(KeyError):
            bases.GenericSitemap({})

    def test_prefers_what_the_class_says(self, bases: Bases) -> None:
        class Said(bases.GenericSitemap):
            priority = 0.9
            changefreq = "never"
            protocol = "https"

        section = Said({"queryset": None}, 0.1, "daily", "http")
        assert (section.priority, section.changefreq) == (0.9, "never")
        assert section.protocol == "https"

    def test_asks_nothing_when_it_is_made(self, bases: Bases) -> None:
        with CaptureQueriesContext(connection) as queries:
            bases.GenericSitemap({"queryset": Article.objects.all(), "date_field": "updated"})
        assert len(queries) == 0

    def test_sees_rows_that_came_later(self, bases: Bases) -> None:
        """One that is made at import must not keep the rows that it has read."""
        rows = Article.objects.order_by("pk")
        section = bases.GenericSitemap({"queryset": rows})
        assert len(section.get_urls()) == 5
        Article.objects.create(slug="later")
        assert len(section.get_urls()) == 6
        assert section.queryset is rows
        assert rows._result_cache is None

    def test_asks_the_database_for_the_newest_time(self, bases: Bases) -> None:
        section = bases.GenericSitemap(
            {"queryset": Article.objects.order_by("pk"), "date_field": "updated"}
        )
        with CaptureQueriesContext(connection) as queries:
            assert section.get_latest_lastmod() == UPDATED["gamma-ü"]
        assert len(queries) == 1

    def test_may_be_sliced_where_it_has_no_date(self, bases: Bases) -> None:
        section = bases.GenericSitemap({"queryset": Article.objects.order_by("pk")[1:3]})
        found = [url["item"].code for url in section.get_urls()]
        assert found == ["c1", "c2"]


class Shop(ModelSitemap[Article]):
    """What our own way of declaring looks like."""

    queryset = Article.objects.filter(category__isnull=False).order_by("-pk")
    location = Route("article", category=F("category__slug"), slug=F("slug"))
    lastmod = F("updated")
    changefreq = "weekly"
    priority = F("weight")


class ShopByMethods(Sitemap[Article]):
    """The same, as contrib would have it."""

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


class TestModelSitemap:
    """Expressions on contrib's road."""

    def test_gives_the_dicts_that_methods_would_give(self) -> None:
        assert Shop().get_urls() == ShopByMethods().get_urls()
        assert [list(url) for url in Shop().get_urls()] == [KEYS] * 5

    def test_gives_instances_whose_fields_are_their_own(self) -> None:
        for url in Shop().get_urls():
            item = url["item"]
            assert type(item) is Article
            assert item.get_absolute_url() == f"/articles/{item.slug}/"
            assert url["lastmod"] == item.updated
            item.slug = "changed"
            item.save()
        assert Article.objects.filter(slug="changed").count() == 5

    def test_is_answered_by_the_views_as_methods_are(self) -> None:
        def body(section: Any) -> Any:
            made = views.sitemap(RequestFactory().get("/"), {"one": section}).render()
            return made.content, made.headers

        assert body(Shop) == body(ShopByMethods)

    def test_is_indexed_by_the_views_as_methods_are(self) -> None:
        class Paged(Shop):
            limit = 2

        class PagedByMethods(ShopByMethods):
            limit = 2

        def body(section: Any) -> Any:
            made = views.index(RequestFactory().get("/"), {"one": section}).render()
            return made.content, made.headers

        assert body(Paged) == body(PagedByMethods)
        assert body(Paged)[0].count(b"<loc>") == 3

    def test_is_read_under_a_template_of_the_project(self, settings: Any) -> None:
        settings.TEMPLATES = roads.templates(roads.PROJECT)
        made = views.sitemap(RequestFactory().get("/"), {"one": Shop}).render()
        assert "<news:title>gamma-ü</news:title>".encode() in made.content

    def test_asks_for_the_rows_of_a_page_once(self) -> None:
        with CaptureQueriesContext(connection) as queries:
            Shop().get_urls(site=Host())
        assert len(queries) == 2  # the paginator's count, and the rows

    def test_pages_in_the_order_of_its_items(self) -> None:
        class Paged(Shop):
            limit = 2

        found = [url["item"].code for page in (1, 2, 3) for url in Paged().get_urls(page)]
        assert found == ["c4", "c3", "c2", "c1", "c0"]

    def test_without_an_order_is_paged_by_its_key(self) -> None:
        class Paged(ModelSitemap[Article]):
            model = Article
            limit = 2

        class ByCode(Paged):
            key = "code"

        for section in (Paged, ByCode):
            found = [url["item"].code for page in (1, 2, 3) for url in section().get_urls(page)]
            assert found == [f"c{number}" for number in range(5)]

    def test_takes_its_rows_from_model_queryset_or_method(self) -> None:
        class Model(ModelSitemap[Article]):
            model = Article

        class Queryset(ModelSitemap[Article]):
            queryset = Article.objects.filter(code="c1")

        class Method(ModelSitemap[Article]):
            def get_queryset(self) -> Any:
                return Article.objects.filter(code__in=["c1", "c2"])

        assert [len(s().get_urls()) for s in (Model, Queryset, Method)] == [5, 1, 2]

    def test_without_rows_to_take_says_what_to_set(self) -> None:
        class Lacking(ModelSitemap[Article]):
            pass

        with pytest.raises(ImproperlyConfigured, match=r"Lacking.*queryset"):
            Lacking().get_urls(site=Host())

    def test_sees_rows_that_came_later(self, articles: list[Article]) -> None:
        before = len(Shop().get_urls())
        Article.objects.create(slug="later", category=articles[0].category)
        assert len(Shop().get_urls()) == before + 1

    def test_takes_methods_beside_expressions(self) -> None:
        class Mixed(Shop):
            def priority(self, item: Article) -> float:
                return 0.5 if item.code == "c0" else 0.1

            def location(self, item: Article) -> str:
                return f"/mixed/{item.code}"

        found = Mixed().get_urls(site=Host())
        assert found[-1]["priority"] == "0.5"
        assert found[-1]["location"] == "https://shop.example.org/mixed/c0"
        assert found[-1]["lastmod"] == UPDATED["alpha"]

    def test_takes_constants_alone(self) -> None:
        class Constants(ModelSitemap[Article]):
            model = Article
            lastmod = EARLY
            changefreq = "daily"
            priority = 0.5

        for url in Constants().get_urls():
            assert (url["lastmod"], url["changefreq"], url["priority"]) == (EARLY, "daily", "0.5")

    def test_takes_expressions_of_every_kind(self) -> None:
        class Every(ModelSitemap[Article]):
            queryset = Article.objects.order_by("pk").annotate(shout=Concat("code", Value("!")))
            location = Route("article", category=Value("all"), slug=F("shout"))
            lastmod = Coalesce(F("updated"), Value(EARLY))
            changefreq = Case(When(code="c0", then=Value("daily")), default=Value("never"))
            priority = Case(When(weight__gt=Decimal("0.3"), then=Value(0.9)), default=Value(0.1))

        found = Every().get_urls(site=Host())
        assert found[0]["location"] == "https://shop.example.org/shop/all/c0!/"
        assert [url["changefreq"] for url in found] == ["daily", *["never"] * 4]
        assert [url["lastmod"] for url in found] == [*list(UPDATED.values())[:4], EARLY]
        assert [url["priority"] for url in found] == ["0.1", "0.1", "0.1", "0.9", "0.9"]

    def test_takes_aggregates(self, articles: list[Article]) -> None:
        Comment.objects.create(article=articles[1])
        Comment.objects.create(article=articles[1])

        class Counted(ModelSitemap[Article]):
            model = Article
            priority = Count("comments")

        assert [url["priority"] for url in Counted().get_urls()] == ["0", "2", "0", "0", "0"]

    def test_tells_the_newest_time_by_the_database(self) -> None:
        class Dated(Shop):
            queryset = Article.objects.filter(updated__isnull=False)

        with CaptureQueriesContext(connection) as queries:
            assert Dated().get_latest_lastmod() == UPDATED["gamma-ü"]
        assert len(queries) <= 2

    def test_tells_no_newest_time_if_a_row_has_none_or_there_is_no_row(self) -> None:
        class Empty(Shop):
            queryset = Article.objects.none()

        assert Shop().get_latest_lastmod() is None
        assert Empty().get_latest_lastmod() is None

    def test_gives_dates_as_dates(self) -> None:
        class Days(ModelSitemap[Article]):
            queryset = Article.objects.filter(day__isnull=False)
            lastmod = F("day")

        assert [type(url["lastmod"]) for url in Days().get_urls()] == [date] * 4
        assert Days().get_latest_lastmod() == date(2025, 1, 4)

    def test_does_not_collide_with_annotations_of_the_project(self) -> None:
        class Annotated(Shop):
            queryset = Article.objects.filter(category__isnull=False).annotate(
                lastmod=Value("a"), location=Value("b"), priority=Value("c"), changefreq=Value("d")
            )

        found = Annotated().get_urls()
        assert [url["item"].location for url in found] == ["b"] * 5
        assert [url["lastmod"] for url in found] == list(UPDATED.values())

    @pytest.mark.parametrize("path", ["get_urls", "index", "sitemap"])
    @pytest.mark.parametrize(
        "rows",
        [
            pytest.param(lambda: Article.objects.order_by("pk")[1:4], id="slice"),
            pytest.param(
                lambda: (
                    Article.objects.filter(code="c1")
                    .union(Article.objects.filter(code__in=["c2", "c3"]))
                    .order_by("code")
                ),
                id="union",
            ),
            pytest.param(
                lambda: Article.objects.filter(code__in=["c1", "c2", "c3"]).distinct().order_by("code"),
                id="distinct",
            ),
            pytest.param(
                lambda: Article.objects.filter(code__in=["c1", "c2", "c3"]).only("code").order_by("code"),
                id="only",
            ),
        ],
    )
    def test_takes_querysets_that_are_more_than_filters(self, rows: Any, path: str) -> None:
        class Special(ModelSitemap[Article]):
            location = Route("article", category=F("code"), slug=F("code"))
            lastmod = F("updated")

            def get_queryset(self) -> Any:
                return rows()

        if path == "get_urls":
            assert [url["lastmod"] for url in Special().get_urls()] == list(UPDATED.values())[1:4]
        else:
            view = getattr(views, path)
            made = view(RequestFactory().get("/"), {"one": Special}).render()
            number = 1 if path == "index" else 3
            assert len(roads.texts(made.content, "loc")) == number
            assert len(roads.texts(made.content, "lastmod")) == number

    def test_in_languages_gives_an_entry_for_each(self) -> None:
        class Localized(ModelSitemap[Article]):
            queryset = Article.objects.filter(code__in=["c0", "c1"])
            location = Route("localized-article", pk=F("pk"))
            lastmod = F("updated")
            i18n = True
            alternates = True
            x_default = True
            languages = ["en", "de"]

        class ByMethods(Localized):
            def location(self, item: Article) -> str:
                return reverse("localized-article", kwargs={"pk": item.pk})

            def lastmod(self, item: Article) -> Any:
                return item.updated

        found = Localized().get_urls()
        assert found == ByMethods().get_urls()
        assert [url["item"][1] for url in found] == ["en", "de", "en", "de"]
        assert [link["lang_code"] for link in found[0]["alternates"]] == ["en", "de", "x-default"]
        assert "/de/article/" in found[1]["location"]

    @pytest.mark.parametrize("language", ["en", "de"])
    def test_without_i18n_is_located_in_the_active_language_as_methods_are(self, language: str) -> None:
        class Active(ModelSitemap[Article]):
            model = Article
            location = Route("localized-article", pk=F("pk"))

        with override(language):
            for url in Active().get_urls(site=Host()):
                path = reverse("localized-article", kwargs={"pk": url["item"].pk})
                assert url["location"] == f"https://shop.example.org{path}"
                assert f"/{language}/" in path

    def test_is_located_under_the_script_prefix(self) -> None:
        set_script_prefix("/mounted/")
        try:
            found = Shop().get_urls(site=Host())
            assert found == ShopByMethods().get_urls(site=Host())
        finally:
            set_script_prefix("/")
        assert all("/mounted/shop/" in url["location"] for url in found)

    @override_settings(USE_TZ=False)
    def test_reads_naive_times_without_time_zones(self) -> None:
        assert [url["lastmod"] for url in Shop().get_urls()] == [
            url["lastmod"] for url in ShopByMethods().get_urls()
        ]


class TestMachineryOfAModelSitemap:
    """Overriding contrib's names is honoured where hooks are expressions, too."""

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
        assert roads.texts(made.content, "loc")[-1] == "https://more/"
        assert len(roads.texts(made.content, "loc")) == 6

    def test_items_filtered_in_the_project(self) -> None:
        class Section(Shop):
            def items(self) -> Any:
                return super().items().exclude(code="c0")

        assert len(Section().get_urls()) == 4

    def test_expressions_on_items_that_are_no_queryset_are_refused_clearly(self) -> None:
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


class TestStaticViewSitemap:
    def test_gives_the_names_and_their_urls(self) -> None:
        class Pages(StaticViewSitemap):
            viewnames = ["home", "about"]
            changefreq = "daily"

        found = Pages().get_urls(site=Host(), protocol="http")
        assert [url["item"] for url in found] == ["home", "about"]
        assert [url["location"] for url in found] == [
            "http://shop.example.org/home/",
            "http://shop.example.org/about/",
        ]
        assert {url["changefreq"] for url in found} == {"daily"}

    def test_without_names_is_empty(self) -> None:
        assert StaticViewSitemap().get_urls(site=Host()) == []

    def test_is_answered_by_the_views(self) -> None:
        class Pages(StaticViewSitemap):
            viewnames = ("home",)
            lastmod = EARLY

        made = views.sitemap(RequestFactory().get("/"), {"pages": Pages}).render()
        assert roads.texts(made.content, "loc") == ["http://example.com/home/"]
        assert made.headers["Last-Modified"] == "Thu, 29 Feb 2024 23:30:00 GMT"
