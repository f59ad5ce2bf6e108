"""Expressions as hooks on the compatibility views and by `get_urls()`: as methods, and with overrides."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from datetime import date
from functools import cached_property
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.paginator import Paginator
from django.db import connection
from django.db.models import Case, Count, F, Value, When
from django.db.models.functions import Coalesce, Concat
from django.test import RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse, set_script_prefix
from django.utils.translation import override

from django_sitemaps09 import GenericSitemap, ModelSitemap, Route, Sitemap, StaticViewSitemap, views
from tests.compat import projects
from tests.compat.cases.parts import EARLY
from tests.compat.data import KEYS, UPDATED, Host
from tests.models import Article
from tests.support.factories import CommentFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("articles")]
SHOP_URL = "https://shop.example.org"
TIMES = list(UPDATED.values())
ROWS = Article.objects.order_by("pk")


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
        return Shop.queryset.select_related("category")

    def location(self, item: Article) -> str:
        assert item.category is not None
        return reverse("article", kwargs={"category": item.category.slug, "slug": item.slug})

    def lastmod(self, item: Article) -> Any:
        return item.updated

    def priority(self, item: Article) -> Any:
        return item.weight


class Localized(ModelSitemap[Article]):
    """A section whose locations depend on the active language."""

    queryset = ROWS
    location = Route("localized-article", pk=F("pk"))
    lastmod = F("updated")


class LocalizedByMethods(Localized):
    def location(self, item: Article) -> str:
        return reverse("localized-article", kwargs={"pk": item.pk})

    def lastmod(self, item: Article) -> Any:
        return item.updated


def variant(base: Any = Shop, **attributes: Any) -> Any:
    return type("Section", (base,), attributes)


@contextmanager
def mounted() -> Any:
    set_script_prefix("/mounted/")
    try:
        yield
    finally:
        set_script_prefix("/")


LINKED = {"i18n": True, "alternates": True, "x_default": True, "languages": ["en", "de"]}
#: Sections with expressions and with methods, what is active around them, and a part of the first location.
ALIKE: dict[str, tuple[Any, Any, Callable[[], Any], str]] = {
    "rows": (Shop, ShopByMethods, lambda: override("en"), "/shop/"),
    "naive times": (Shop, ShopByMethods, lambda: override_settings(USE_TZ=False), "/shop/"),
    "a script prefix": (Shop, ShopByMethods, mounted, "/mounted/shop/"),
    "German": (Localized, LocalizedByMethods, lambda: override("de"), "/de/article/"),
    "English": (Localized, LocalizedByMethods, lambda: override("en"), "/en/article/"),
    "languages": (
        variant(Localized, **LINKED),
        variant(LocalizedByMethods, **LINKED),
        lambda: override("de"),
        "/en/article/",
    ),
    "a sitemap with a queryset": (
        variant(
            Sitemap, items=lambda self: ROWS.all(), location=Localized.location, lastmod=Localized.lastmod
        ),
        variant(
            Sitemap,
            items=lambda self: ROWS.all(),
            location=LocalizedByMethods.location,
            lastmod=LocalizedByMethods.lastmod,
        ),
        lambda: override("de"),
        "/de/article/",
    ),
}


@pytest.mark.parametrize("name", ALIKE)
def test_expressions_give_the_dicts_that_methods_give(name: str) -> None:
    expressions, methods, around, part = ALIKE[name]
    with around():
        found = expressions().get_urls(site=Host())
        assert found == methods().get_urls(site=Host())
    assert [list(url) for url in found] == [KEYS] * len(found)
    assert part in found[0]["location"]
    if name == "languages":
        assert [url["item"][1] for url in found] == ["en", "de"] * 5
        assert [link["lang_code"] for link in found[0]["alternates"]] == ["en", "de", "x-default"]


EVERY = variant(
    ModelSitemap,
    queryset=Article.objects.order_by("pk").annotate(shout=Concat("code", Value("!"))),
    location=Route("article", category=Value("all"), slug=F("shout")),
    lastmod=Coalesce(F("updated"), Value(EARLY)),
    changefreq=Case(When(code="c0", then=Value("daily")), default=Value("never")),
    priority=0.5,
)
MIXED = variant(
    priority=lambda self, item: 0.5 if item.code == "c0" else 0.1,
    location=lambda self, item: f"/mixed/{item.code}",
)
ANNOTATED = variant(
    queryset=Article.objects.order_by("pk").annotate(
        lastmod=Value("a"), location=Value("b"), priority=Value("c"), changefreq=Value("d")
    )
)
DAYS = variant(ModelSitemap, queryset=Article.objects.filter(day__isnull=False), lastmod=F("day"))
#: Sections, and the values of keys in their dicts.
VALUES: dict[str, tuple[Any, dict[str, Any]]] = {
    "expressions of every kind": (
        EVERY,
        {
            "location": [f"{SHOP_URL}/shop/all/c{number}!/" for number in range(5)],
            "lastmod": [*TIMES[:4], EARLY],
            "changefreq": ["daily", *["never"] * 4],
            "priority": ["0.5"] * 5,
        },
    ),
    "methods beside expressions": (
        MIXED,
        {
            "location": [f"{SHOP_URL}/mixed/c{number}" for number in (4, 3, 2, 1, 0)],
            "lastmod": TIMES[::-1],
            "priority": [*["0.1"] * 4, "0.5"],
        },
    ),
    "names of annotations of the project": (ANNOTATED, {"lastmod": TIMES, "item.location": ["b"] * 5}),
    "an aggregate": (
        variant(ModelSitemap, model=Article, priority=Count("comments")),
        {"priority": ["0", "2", "0", "0", "0"]},
    ),
    "dates": (DAYS, {"lastmod": [date(2025, 1, day) for day in (1, 2, 3, 4)]}),
    "a generic sitemap": (
        lambda: variant(GenericSitemap, priority=F("weight"))({"queryset": ROWS}),
        {"priority": [f"0.{number}00" for number in range(1, 6)]},
    ),
    "an overridden list of items": (
        variant(_items=lambda self: list(Shop._items(self))[:2]),
        {"lastmod": TIMES[:2:-1], "item.code": ["c4", "c3"]},
    ),
    "static views": (
        variant(StaticViewSitemap, viewnames=["home", "about"], changefreq="daily"),
        {
            "item": ["home", "about"],
            "location": [f"{SHOP_URL}/home/", f"{SHOP_URL}/about/"],
            "changefreq": ["daily"] * 2,
        },
    ),
    "a method that has nothing to say": (variant(news=lambda self, item: None), {"news": [None] * 5}),
    "no static views": (StaticViewSitemap, {"item": []}),
}


@pytest.mark.parametrize("name", VALUES)
def test_the_dicts_have_the_declared_values(name: str, articles: list[Article]) -> None:
    CommentFactory.create_batch(2, article=articles[1])
    section, values = VALUES[name]
    found = section().get_urls(site=Host())
    for key, expected in values.items():
        first, _, attribute = key.partition(".")
        assert [getattr(url[first], attribute) if attribute else url[first] for url in found] == expected


def test_items_are_instances_whose_fields_are_their_own() -> None:
    for url in Shop().get_urls():
        item = url["item"]
        assert type(item) is Article
        assert item.get_absolute_url() == f"/articles/{item.slug}/"
        assert url["lastmod"] == item.updated
        item.slug = "changed"
        item.save()
    assert Article.objects.filter(slug="changed").count() == 5


def test_the_views_answer_expressions_as_methods() -> None:
    def answers(section: Any) -> Any:
        found = {"one": variant(section, limit=2)}
        made = [view(RequestFactory().get("/"), found).render() for view in (views.index, views.sitemap)]
        return [(response.content, response.headers) for response in made]

    assert answers(Shop) == answers(ShopByMethods)
    assert [content.count(b"<loc>") for content, _ in answers(Shop)] == [3, 2]


def test_a_template_of_the_project_gets_the_rows(settings: Any) -> None:
    settings.TEMPLATES = projects.templates(projects.PROJECT_TEMPLATES)
    made = views.sitemap(RequestFactory().get("/"), {"one": Shop}).render()
    assert "<news:title>gamma-ü</news:title>".encode() in made.content


@pytest.mark.parametrize("attributes", [{}, {"changefreq": Value("daily")}], ids=["class", "instance"])
def test_the_rows_of_a_page_are_queried_once(attributes: dict[str, Any]) -> None:
    section = Shop()
    vars(section).update(attributes)
    with CaptureQueriesContext(connection) as queries:
        found = section.get_urls(site=Host())
    assert {url["changefreq"] for url in found} == {"daily" if attributes else "weekly"}
    assert len(queries) == 2  # the paginator's count, and the rows


@pytest.mark.parametrize(
    ("section", "newest"),
    [
        (variant(queryset=Article.objects.filter(updated__isnull=False)), UPDATED["gamma-ü"]),
        (DAYS, date(2025, 1, 4)),
        (Shop, None),
        (variant(queryset=Article.objects.none()), None),
    ],
    ids=["times", "dates", "a row without a time", "no row"],
)
def test_the_newest_time_is_read_in_the_database(section: Any, newest: Any) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert section().get_latest_lastmod() == newest
    assert len(queries) <= 2


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


def test_overridden_methods_are_called() -> None:
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


@pytest.mark.parametrize(
    ("paginator", "sizes"),
    [
        (property(lambda self: Paginator(self._items(), 2, orphans=1)), [2, 3]),
        # As in contrib's documentation.
        (cached_property(lambda self: Paginator(self.items(), self.limit)), [5]),
    ],
    ids=["property", "cached"],
)
def test_an_overridden_paginator_is_used(paginator: Any, sizes: list[int]) -> None:
    section = variant(paginator=paginator)
    found = [section().get_urls(page) for page in range(1, len(sizes) + 1)]
    assert [len(urls) for urls in found] == sizes
    assert [url for urls in found for url in urls] == Shop().get_urls()


def test_overridden_languages_are_those_of_the_entries() -> None:
    section = variant(i18n=True, _languages=lambda self: ["de"])
    assert [url["item"][1] for url in section().get_urls()] == ["de"] * 5


def test_the_views_call_an_overridden_get_urls() -> None:
    more = {"location": "https://more/"}
    section = variant(get_urls=lambda self, *given, **named: [*Shop.get_urls(self, *given, **named), more])
    made = views.sitemap(RequestFactory().get("/"), {"one": section}).render()
    locations = projects.texts(made.content, "loc")
    assert (len(locations), locations[-1]) == (6, "https://more/")


@pytest.mark.parametrize(
    "section",
    [
        variant(Sitemap, lastmod=F("updated"), items=lambda self: [Article()]),
        variant(queryset=Article.objects.all),
    ],
    ids=["items", "queryset"],
)
def test_rows_that_are_not_a_queryset_are_refused_clearly(section: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Section.*queryset"):
        section().get_urls(site=Host())
