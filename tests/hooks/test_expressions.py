"""Expressions that a class declares, and their values for its items."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import Case, Count, F, Max, OuterRef, Subquery, Value, When
from django.db.models.functions import Coalesce, Concat, Lower
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch
from django.utils.functional import lazystr

from django_sitemaps09 import ModelSitemap, Route, Sitemap
from django_sitemaps09.hooks.annotations import annotate, column, declared_value
from django_sitemaps09.hooks.expressions import FIELDS, LastmodExpression, alias, declared_expressions
from tests.models import Article, Recent
from tests.support.declarations import UPDATED, declare

EXPRESSIONS: dict[str, Any] = {
    "F": F("updated"),
    "relation": F("category__slug"),
    "Lower": Lower("slug"),
    "Coalesce": Coalesce("updated", Value(UPDATED)),
    "Case": Case(When(published=True, then=Value("daily")), default=Value("never")),
    "arithmetic": F("weight") * 2,
    "aggregate": Max("visits__at"),
    "subquery": Subquery(Article.objects.filter(pk=OuterRef("pk")).values("slug")),
    "value": Value("a"),
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("name", FIELDS)
def test_an_expression_is_declared_by_any_hook_on_the_class_or_on_the_instance(
    name: Any, expression: str
) -> None:
    value = EXPRESSIONS[expression]
    expected = LastmodExpression(value) if name == "lastmod" else value
    section = declare(**{name: value})
    assert declared_expressions(section) == declared_expressions(section()) == {alias(name): expected}
    made = declare()()
    setattr(made, name, value)
    assert declared_expressions(made) == {alias(name): expected}


@pytest.mark.parametrize(
    "value",
    [None, "weekly", 0.5, 0, date(2026, 1, 1), UPDATED, Decimal("0.5"), lazystr("a"), lambda item: "a"],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("name", FIELDS)
def test_a_constant_or_a_method_declares_no_expression(name: str, value: Any) -> None:
    assert declared_expressions(declare(**{name: value})) == {}


@pytest.mark.parametrize("value", [None, 0.5, lambda self, item: 0.5])
def test_a_subclass_may_put_a_constant_or_a_method_in_place_of_an_expression(value: Any) -> None:
    above = declare(priority=F("weight"), lastmod=F("updated"))
    below = declare(above, priority=value)
    assert declared_expressions(below) == {alias("lastmod"): LastmodExpression(above.lastmod)}


def test_a_mixin_of_contribs_kind_may_bring_hooks() -> None:
    class Mixin:
        changefreq = "daily"
        lastmod = F("updated")

        def priority(self, item: Article) -> float:
            return 0.5

    section = type("Mixed", (Mixin, ModelSitemap), {"model": Article})()
    assert declared_expressions(section) == {alias("lastmod"): LastmodExpression(Mixin.lastmod)}
    assert (section.changefreq, section.priority(Article())) == ("daily", 0.5)


def test_the_expressions_of_a_route_are_declared_in_its_order_under_names_of_their_own() -> None:
    a, b, c = F("slug"), Lower("slug"), F("pk")
    section = declare(location=Route("x", one=a, two="constant", three=b), lastmod=c)
    assert declared_expressions(section) == {
        alias("location", 0): a,
        alias("location", 1): b,
        alias("lastmod"): LastmodExpression(c),
    }
    assert declared_expressions(declare(location=Route("about"))) == {}


def test_reserved_names_are_names_that_no_model_has() -> None:
    names = {alias(name, position) for name in FIELDS for position in range(3)}
    assert len(names) == 3 * len(FIELDS)
    for name in names:
        assert name.startswith("_sitemaps09_")
        assert name.isidentifier()
        # Django interprets two underscores as a lookup.
        assert "__" not in name


# Reading what is declared


DECLARED = declare(
    queryset=Article.objects.order_by("slug"),
    location=Route("article", slug=Lower("slug")),
    lastmod=F("updated"),
    changefreq=Case(When(published=True, then=Value("daily")), default=Value("never")),
    priority=F("weight"),
)


def test_items_have_declared_values_so_reading_one_needs_no_query(articles: list[Article]) -> None:
    section = DECLARED()
    with CaptureQueriesContext(connection) as queries:
        items = list(annotate(section, section.items()))
        found = [
            tuple(declared_value(getattr(section, name), name, item) for name in FIELDS) for item in items
        ]
    assert len(queries) == 1
    assert found == [
        ("/articles/s1/", UPDATED.replace(day=1), "daily", Decimal("0.1")),
        ("/articles/s2/", UPDATED.replace(day=2), "never", Decimal("0.2")),
        ("/articles/s3/", UPDATED.replace(day=3), "daily", Decimal("0.3")),
    ]


def test_items_without_a_declared_expression_are_not_changed() -> None:
    rows = Article.objects.all()
    assert annotate(declare()(), rows) is rows
    assert annotate(declare(Sitemap)(), [1, 2]) == [1, 2]


def test_fields_and_annotations_of_the_project_stay_what_they_were(articles: list[Article]) -> None:
    rows = Article.objects.annotate(loud=Concat("slug", Value("!")), visited=Count("visits"))
    section = declare(queryset=rows, lastmod=F("updated"), location=Route("article", slug=F("loud")))()
    item = annotate(section, section.items()).get(slug="S1")
    assert (item.slug, item.loud, item.visited) == ("S1", "S1!", 0)
    with pytest.raises(NoReverseMatch):
        declared_value(section.location, "location", item)


@pytest.mark.parametrize("items", [[Article()], (), iter([])], ids=lambda value: type(value).__name__)
def test_expressions_on_items_that_are_not_a_queryset_are_refused_with_the_ways_out(items: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Declared.*queryset.*methods that take the item"):
        annotate(declare(Sitemap, lastmod=F("updated"))(), items)


def unannotated(item: Article) -> Iterator[Any]:
    """Return rows that the project queried itself."""
    yield Article.objects.get(pk=item.pk)
    yield Article.objects.only("pk").get(pk=item.pk)
    yield Recent.objects.get(pk=item.pk)
    yield Article.objects.filter(pk=item.pk).union(Article.objects.none(), all=True).get()
    yield next(iter(Article.objects.raw("SELECT * FROM tests_article WHERE id = %s", [item.pk])))


@pytest.mark.parametrize("expression", [name for name in EXPRESSIONS if name != "aggregate"])
def test_a_row_without_annotations_is_queried_for_the_same_values_once(
    expression: str, articles: list[Article]
) -> None:
    value = EXPRESSIONS[expression]
    section = declare(model=Article, lastmod=value)()
    expected = column(value, alias("lastmod"), annotate(section, section.items()).get(slug="S3"))
    for item in unannotated(articles[0]):
        assert column(value, alias("lastmod"), item) == expected
        with CaptureQueriesContext(connection) as queries:
            assert column(value, alias("lastmod"), item) == expected
        assert len(queries) == 0


def test_a_row_without_annotations_may_have_an_aggregate(articles: list[Article]) -> None:
    articles[0].visits.create(at=UPDATED)
    articles[0].visits.create(at=UPDATED.replace(day=1))
    for item in unannotated(articles[0]):
        assert column(Max("visits__at"), alias("lastmod"), item) == UPDATED
        assert column(Count("visits"), alias("priority"), item) == 2
