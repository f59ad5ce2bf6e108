"""Our base classes behave like those of `django.contrib.sitemaps`.

The tests also run on contrib's classes.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory, modify_settings
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import GenericSitemap, ModelSitemap, Sitemap, StaticViewSitemap, views
from tests.compat import projects
from tests.compat.cases.parts import (
    CASES,
    COMPAT_BASES,
    CONTRIB_BASES,
    LEAVES,
    UTC,
    Bases,
    Leaf,
    section,
    updated,
)
from tests.compat.data import KEYS, UPDATED, Host
from tests.compat.projects import outcome
from tests.models import Article
from tests.support.factories import ArticleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("articles")]


class TestPackage:
    def test_classes_are_subclasses_of_contribs(self) -> None:
        assert issubclass(GenericSitemap, contrib.GenericSitemap)
        for kind in (GenericSitemap, ModelSitemap, StaticViewSitemap):
            assert issubclass(kind, Sitemap)
            assert issubclass(kind, contrib.Sitemap)

    @pytest.mark.parametrize(
        "name",
        ["django.contrib.sitemaps.views", "django_sitemaps09.views", "django_sitemaps09.views.compat"],
    )
    def test_a_project_can_write_its_own_index_with_the_names_of_contribs_module(self, name: str) -> None:
        module = importlib.import_module(name)
        newest = None
        for lastmod in (date(2026, 2, 1), datetime(2026, 3, 1, 12), datetime(2026, 1, 1, tzinfo=UTC)):
            newest = module._get_latest_lastmod(newest, lastmod)
        # A naive time is in UTC there.
        assert newest == datetime(2026, 3, 1, 12, tzinfo=UTC)

        @module.x_robots_tag
        def index(request: HttpRequest, sitemaps: Any) -> HttpResponse:
            """A project's own index view."""
            items = [module.SitemapIndexItem(location, last_mod=newest) for location in sitemaps]
            return HttpResponse(f"{items[0].location} {items[0].last_mod:%Y-%m-%d}")

        response = index(RequestFactory().get("/"), ["/a.xml"])
        assert response.content == b"/a.xml 2026-03-01"
        assert response.headers["X-Robots-Tag"] == "noindex, noodp, noarchive"
        assert index.__name__ == "index"


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
    def test_have_no_hook_that_contrib_lacks(self, bases: Bases, name: str) -> None:
        assert not hasattr(bases.Sitemap(), name)


SECTIONS = [
    (name, key)
    for name in CASES
    if not name.startswith(("tree", "flatpages", "entries", "section"))
    for key in CASES[name](CONTRIB_BASES)
]


class TestEveryDeclaration:
    """Each section of each case, used without a view."""

    @pytest.mark.parametrize(("name", "key"), SECTIONS)
    def test_returns_the_same_as_contrib(self, name: str, key: str) -> None:
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

        assert found_or_refused(found, COMPAT_BASES) == found_or_refused(found, CONTRIB_BASES)


def found_or_refused(found: Any, bases: Bases) -> Any:
    try:
        return found(bases)
    except TypeError as error:
        return type(error), projects.without_advice(error)


class TestOverriding:
    def test_may_name_any_hook_to_get(self, bases: Bases) -> None:
        """`_get()` reads any hook that a project adds, and returns the default for a missing hook."""

        class Added(section(bases, LEAVES, lastmod=updated)):
            rating = 5

            def title(self, item: Leaf) -> str:
                return item.slug.upper()

        made = Added()
        assert made._get("rating", LEAVES[0]) == 5
        assert made._get("title", LEAVES[0]) == "OAK"
        assert made._get("none", LEAVES[0]) is None
        assert made._get("none", LEAVES[0], "default") == "default"
        assert made._get(name="none", item=LEAVES[0], default=3) == 3

    def test_accepts_a_mixin_that_extends_contribs_class(self) -> None:
        class Theirs(contrib.Sitemap):
            limit = 1

            def location(self, item: Leaf) -> str:
                return "/theirs" + super().location(item)

        class Both(Theirs, Sitemap):
            def items(self) -> list[Leaf]:
                return LEAVES

        found = Both().get_urls(2, Host())
        assert [url["location"] for url in found] == ["https://shop.example.org/theirs/leaf/elm/"]

    def test_of_names_of_this_package_does_not_affect_the_compatibility_views(self, bases: Bases) -> None:
        """A project may already have attributes with names that have a meaning for the native views."""

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
        assert len(projects.texts(made.content, "loc")) == 3

    def test_leaves_sitemaps_that_can_be_copied(self, bases: Bases) -> None:
        made = plain(bases)
        assert copy.copy(made).get_urls() == made.get_urls()
        assert copy.deepcopy(made).get_urls() == made.get_urls()


# What a project may call without a view.


def plain(bases: Bases) -> Any:
    return section(bases, LEAVES, lastmod=updated)()


def rows(bases: Bases, kind: str = "Sitemap", **info: Any) -> Any:
    """Return a section of all rows."""
    found = Article.objects.order_by("pk")
    if kind == "GenericSitemap":
        return bases.GenericSitemap({"queryset": found, **info})
    return section(bases, found)()


INFO = {"queryset": None}
#: What a project may call, and the result of it with contrib's classes.
CALLS: dict[str, tuple[Callable[[Bases], Any], Any]] = {
    "keys in their order": (lambda b: map(list, plain(b).get_urls()), [KEYS] * 3),
    "plain dicts": (lambda b: map(type, plain(b).get_urls()), [dict] * 3),
    "the items themselves": (
        lambda b: map(id, (u["item"] for u in plain(b).get_urls())),
        [*map(id, LEAVES)],
    ),
    "instances": (lambda b: (type(url["item"]) for url in rows(b).get_urls()), [Article] * 5),
    "no queryset": (lambda b: b.GenericSitemap({}), (KeyError, "'queryset'")),
    "a slice without dates": (
        lambda b: (
            url["item"].code
            for url in b.GenericSitemap({"queryset": Article.objects.order_by("pk")[1:3]}).get_urls()
        ),
        ["c1", "c2"],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_what_contrib_gives(name: str, bases: Bases) -> None:
    call, expected = CALLS[name]
    assert outcome(lambda: call(bases)) == expected


@pytest.mark.parametrize("page", [1, "1", " 1 ", 1.0, 0, "2", -1, "x", None, 1.5], ids=repr)
def test_a_page_is_taken_or_refused_as_by_contrib(page: Any) -> None:
    ours, theirs = (
        outcome(lambda b=b: plain(b).get_urls(page=page)) for b in (COMPAT_BASES, CONTRIB_BASES)
    )
    assert ours == theirs


def test_items_are_read_once_a_page(bases: Bases) -> None:
    asked: list[int] = []
    found = plain(bases)
    found.items = lambda: asked.append(1) or LEAVES
    found.get_urls()
    assert asked == [1]


@pytest.mark.parametrize("kind", ["Sitemap", "GenericSitemap"])
class TestWithoutASite:
    def test_a_row_is_missed_before_the_items_are_read(self, bases: Bases, kind: str) -> None:
        Site.objects.all().delete()
        Site.objects.clear_cache()
        found = rows(bases, kind)
        found.items = lambda: 1 / 0
        with pytest.raises(ImproperlyConfigured, match=r"enable the sites framework or pass a Site"):
            found.get_urls()

    @modify_settings(INSTALLED_APPS={"remove": ["django.contrib.sites", "django.contrib.flatpages"]})
    def test_the_framework_is_missed_unless_a_site_is_given(self, bases: Bases, kind: str) -> None:
        with pytest.raises(ImproperlyConfigured, match=r"enable the sites framework or pass a Site"):
            rows(bases, kind).get_urls()
        assert len(rows(bases, kind).get_urls(site=Host())) == 5


class TestGenericSitemap:
    def test_keeps_its_arguments(self, bases: Bases) -> None:
        found = Article.objects.all()
        values = {"priority": 0.6, "changefreq": "monthly", "protocol": "http"}
        with CaptureQueriesContext(connection) as queries:
            made = bases.GenericSitemap(info_dict={"queryset": found, "date_field": "updated"}, **values)
        assert len(queries) == 0
        assert made.queryset is found
        assert made.date_field == "updated"
        assert {name: getattr(made, name) for name in values} == values
        empty = bases.GenericSitemap(INFO)
        assert [getattr(empty, name) for name in ("date_field", *values)] == [None] * 4
        assert empty.lastmod(LEAVES[0]) is empty.get_latest_lastmod() is None

    def test_sees_rows_that_were_added_later(self, bases: Bases) -> None:
        """An instance that is created at import must not cache rows."""
        made = rows(bases, "GenericSitemap")
        assert len(made.get_urls()) == 5
        ArticleFactory(slug="later")
        assert len(made.get_urls()) == 6
        assert made.queryset._result_cache is None

    def test_queries_the_database_for_the_newest_time(self, bases: Bases) -> None:
        made = rows(bases, "GenericSitemap", date_field="updated")
        with CaptureQueriesContext(connection) as queries:
            assert made.get_latest_lastmod() == UPDATED["gamma-ü"]
        assert len(queries) == 1
