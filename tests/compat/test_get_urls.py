"""`get_urls()`, sites, protocols and newest times: a call gives what it gives with contrib's classes.

What each kind of declaration returns is in `test_declarations.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.test import modify_settings
from django.test.utils import CaptureQueriesContext

from tests.compat.cases.parts import COMPAT_BASES, CONTRIB_BASES, LEAVES, Bases, section, updated
from tests.compat.data import KEYS, UPDATED, Host
from tests.compat.projects import outcome
from tests.models import Article
from tests.support.factories import ArticleFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("articles")]


def leaves(bases: Bases) -> Any:
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
    "keys in their order": (lambda b: map(list, leaves(b).get_urls()), [KEYS] * 3),
    "plain dicts": (lambda b: map(type, leaves(b).get_urls()), [dict] * 3),
    "the items themselves": (
        lambda b: map(id, (u["item"] for u in leaves(b).get_urls())),
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
        outcome(lambda b=b: leaves(b).get_urls(page=page)) for b in (COMPAT_BASES, CONTRIB_BASES)
    )
    assert ours == theirs


def test_items_are_read_once_a_page(bases: Bases) -> None:
    asked: list[int] = []
    found = leaves(bases)
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
