"""Rows of a sitemap: from its model, queryset or method, in a defined order."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F, QuerySet

from django_sitemaps09 import StaticViewSitemap
from django_sitemaps09.hooks.annotations import annotate
from tests.models import Article, Recent, Seat
from tests.support.declarations import declare
from tests.support.factories import ArticleFactory, SeatFactory


@pytest.fixture
def no_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Block all connections to all databases."""

    def refuse(self: Any) -> None:
        raise AssertionError("a declaration has opened a connection")

    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection", refuse)


# Rows


ROWS: dict[str, Any] = {
    "model": {"model": Article},
    "queryset": {"queryset": Article.objects.all()},
    "manager": {"queryset": Article.objects},
    "method": {"get_queryset": lambda self: Article.objects.all()},
    "proxy": {"model": Recent},
}


@pytest.mark.parametrize("rows", ROWS)
def test_rows_of_a_model_a_queryset_or_a_method_are_queried_each_time(
    rows: str, articles: list[Article]
) -> None:
    section = declare(**ROWS[rows])()
    assert {item.pk for item in section.items()} == {item.pk for item in articles}
    ArticleFactory(slug="later")
    assert len(section.items()) == 4
    assert len(declare(**ROWS[rows])().items()) == 4


@pytest.mark.usefixtures("no_queries")
@pytest.mark.parametrize("rows", ROWS)
def test_making_a_sitemap_and_its_items_does_not_query_the_database(rows: str) -> None:
    section = declare(**ROWS[rows], lastmod=F("updated"))()
    assert isinstance(section.items(), QuerySet)
    assert isinstance(annotate(section, section.items()), QuerySet)


def test_a_queryset_goes_before_a_model(articles: list[Article]) -> None:
    section = declare(model=Article, queryset=Article.objects.filter(published=True))
    assert len(section().items()) == 2


@pytest.mark.parametrize(
    ("attributes", "names"),
    [
        ({"model": Article}, ["S3", "S1", "S2"]),
        ({"model": Article, "key": "updated"}, ["S3", "S1", "S2"]),
        ({"queryset": Article.objects.order_by("-slug")}, ["S3", "S2", "S1"]),
        ({"queryset": Article.objects.order_by("-slug"), "key": "updated"}, ["S3", "S2", "S1"]),
        ({"model": Recent}, ["S3", "S2", "S1"]),
        ({"queryset": Recent.objects.order_by(), "key": "updated"}, ["S3", "S1", "S2"]),
    ],
)
def test_items_have_the_order_of_the_queryset_else_that_of_the_primary_key(
    attributes: dict[str, Any], names: list[str], articles: list[Article]
) -> None:
    assert [item.slug for item in declare(**attributes)().items()] == names


def test_a_key_of_two_columns_is_an_order_too(db: None) -> None:
    for row, number in [("b", 1), ("a", 2), ("a", 1)]:
        SeatFactory(row=row, number=number)
    assert [seat.pk for seat in declare(model=Seat)().items()] == [("a", 1), ("a", 2), ("b", 1)]


def test_a_class_without_rows_says_each_way_to_give_it_some() -> None:
    with pytest.raises(ImproperlyConfigured) as raised:
        declare()().items()
    for part in ("Declared", "`queryset`", "`model`", "`get_queryset()`", "`items()`"):
        assert part in str(raised.value)


# Sections of views


def test_the_items_of_a_section_of_views_are_a_list_of_its_own() -> None:
    section = declare(StaticViewSitemap, viewnames=["about"])()
    section.items().append("home")
    assert section.items() == ["about"]
    assert declare(StaticViewSitemap)().items() == []


# Contrib's generic sitemap
