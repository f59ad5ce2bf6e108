"""Laws of the declarations themselves: what a class says, before any road reads it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from types import new_class
from typing import Any, TypeVar

import pytest
from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import Case, Count, F, Max, Model, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Concat, Lower
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, reverse
from django.utils.functional import lazystr

from django_sitemaps09 import GenericSitemap, ModelSitemap, Route, Sitemap, StaticViewSitemap
from django_sitemaps09.hooks.expressions import (
    FIELDS,
    Dated,
    alias,
    annotated,
    column,
    declared_expressions,
    declared_value,
)
from tests.models import Article, Category, Recent, Seat

ModelT = TypeVar("ModelT", bound=Model)
UTC = timezone.utc
UPDATED = datetime(2026, 1, 31, 10, 30, tzinfo=UTC)


@pytest.fixture
def articles(db: None) -> list[Article]:
    category = Category.objects.create(slug="shop")
    return [
        Article.objects.create(
            slug=f"S{number}",
            category=category,
            updated=UPDATED.replace(day=number),
            weight=Decimal(number) / 10,
            published=number != 2,
        )
        for number in (3, 1, 2)
    ]


@pytest.fixture
def no_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every connection blocked, of every database there is."""

    def refuse(self: Any) -> None:
        raise AssertionError("a declaration has opened a connection")

    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection", refuse)


def declare(base: Any = ModelSitemap, **attributes: Any) -> Any:
    return type("Declared", (base,), attributes)


# Rows


ROWS: dict[str, Any] = {
    "model": {"model": Article},
    "queryset": {"queryset": Article.objects.all()},
    "manager": {"queryset": Article.objects},
    "method": {"get_queryset": lambda self: Article.objects.all()},
    "proxy": {"model": Recent},
}


@pytest.mark.parametrize("rows", ROWS)
def test_rows_are_those_of_model_queryset_or_method(rows: str, articles: list[Article]) -> None:
    assert {item.pk for item in declare(**ROWS[rows])().items()} == {item.pk for item in articles}


@pytest.mark.parametrize("rows", ROWS)
def test_rows_are_asked_for_anew_each_time(rows: str, articles: list[Article]) -> None:
    section = declare(**ROWS[rows])()
    assert len(section.items()) == 3
    Article.objects.create(slug="later")
    assert len(section.items()) == 4
    assert len(declare(**ROWS[rows])().items()) == 4


@pytest.mark.usefixtures("no_queries")
@pytest.mark.parametrize("rows", ROWS)
def test_making_a_sitemap_and_its_items_asks_the_database_nothing(rows: str) -> None:
    section = declare(**ROWS[rows], lastmod=F("updated"))()
    assert isinstance(section.items(), QuerySet)
    assert isinstance(annotated(section, section.items()), QuerySet)


def test_a_queryset_goes_before_a_model(articles: list[Article]) -> None:
    section = declare(model=Article, queryset=Article.objects.filter(published=True))
    assert len(section().items()) == 2


def test_an_empty_queryset_is_one_too(articles: list[Article]) -> None:
    section = declare(model=Article, queryset=Article.objects.none())
    assert list(section().items()) == []


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
        Seat.objects.create(row=row, number=number)
    assert [seat.pk for seat in declare(model=Seat)().items()] == [("a", 1), ("a", 2), ("b", 1)]


def test_a_class_without_rows_says_each_way_to_give_it_some() -> None:
    with pytest.raises(ImproperlyConfigured) as raised:
        declare()().items()
    for part in ("Declared", "`queryset`", "`model`", "`get_queryset()`", "`items()`"):
        assert part in str(raised.value)


# Hooks


def test_a_location_is_that_of_the_item_where_nothing_else_is_declared() -> None:
    item = Article(slug="a")
    for base in (Sitemap, ModelSitemap, GenericSitemap):
        section = base.__new__(base)
        assert section.location(item) == section.default_location(item) == "/articles/a/"


def test_the_default_location_may_be_overridden_and_asked_for() -> None:
    class Longer(Sitemap[Article]):
        def location(self, item: Article) -> str:
            return f"{self.default_location(item)}?from=sitemap"

    class Other(Sitemap[Article]):
        def default_location(self, item: Article) -> str:
            return f"/other{super().default_location(item)}"

    item = Article(slug="a")
    assert Longer().location(item) == "/articles/a/?from=sitemap"
    assert Other().location(item) == "/other/articles/a/"


def test_an_item_without_a_location_of_its_own_is_an_error_that_says_so() -> None:
    with pytest.raises(AttributeError, match="get_absolute_url"):
        Sitemap().location(Category(slug="a"))


@pytest.mark.parametrize("base", [Sitemap, ModelSitemap, StaticViewSitemap])
def test_a_new_class_declares_nothing(base: Any) -> None:
    assert declared_expressions(base()) == declared_expressions(base) == {}
    assert [getattr(base(), name, None) for name in FIELDS[1:]] == [None, None, None]


@pytest.mark.parametrize(
    "base",
    [Sitemap[Article], ModelSitemap[Article], GenericSitemap[Article], Sitemap[tuple[str, int]]],
    ids=str,
)
def test_classes_may_be_subscripted_with_the_type_of_their_items(base: Any) -> None:
    section = new_class("Section", (base,))
    assert issubclass(section, base.__origin__)
    assert issubclass(section, contrib.Sitemap)


def test_bases_of_a_project_may_leave_the_type_open() -> None:
    class Base(ModelSitemap[ModelT]):
        changefreq = "daily"

    class Articles(Base[Article]):
        model = Article

    assert Articles().changefreq == "daily"
    assert isinstance(Articles(), ModelSitemap)


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
    expected = Dated(value) if name == "lastmod" else value
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
    assert declared_expressions(below) == {alias("lastmod"): Dated(above.lastmod)}


def test_a_mixin_of_contribs_kind_may_bring_hooks() -> None:
    class Mixin:
        changefreq = "daily"
        lastmod = F("updated")

        def priority(self, item: Article) -> float:
            return 0.5

    section = type("Mixed", (Mixin, ModelSitemap), {"model": Article})()
    assert declared_expressions(section) == {alias("lastmod"): Dated(Mixin.lastmod)}
    assert (section.changefreq, section.priority(Article())) == ("daily", 0.5)


def test_the_expressions_of_a_route_are_declared_in_its_order_under_names_of_their_own() -> None:
    a, b, c = F("slug"), Lower("slug"), F("pk")
    section = declare(location=Route("x", one=a, two="constant", three=b), lastmod=c)
    assert declared_expressions(section) == {
        alias("location", 0): a,
        alias("location", 1): b,
        alias("lastmod"): Dated(c),
    }
    assert declared_expressions(declare(location=Route("about"))) == {}


def test_reserved_names_are_names_that_no_model_has() -> None:
    names = {alias(name, position) for name in FIELDS for position in range(3)}
    assert len(names) == 3 * len(FIELDS)
    for name in names:
        assert name.startswith("_sitemaps09_")
        assert name.isidentifier()
        # Django takes two underscores for a lookup.
        assert "__" not in name


# Reading what is declared


DECLARED = declare(
    queryset=Article.objects.order_by("slug"),
    location=Route("article", slug=Lower("slug")),
    lastmod=F("updated"),
    changefreq=Case(When(published=True, then=Value("daily")), default=Value("never")),
    priority=F("weight"),
)


def test_items_carry_what_is_declared_so_that_a_value_costs_no_query(articles: list[Article]) -> None:
    section = DECLARED()
    with CaptureQueriesContext(connection) as queries:
        items = list(annotated(section, section.items()))
        found = [
            tuple(declared_value(getattr(section, name), name, item) for name in FIELDS) for item in items
        ]
    assert len(queries) == 1
    assert found == [
        ("/articles/s1/", UPDATED.replace(day=1), "daily", Decimal("0.1")),
        ("/articles/s2/", UPDATED.replace(day=2), "never", Decimal("0.2")),
        ("/articles/s3/", UPDATED.replace(day=3), "daily", Decimal("0.3")),
    ]


def test_items_without_a_declared_expression_are_left_as_they_are() -> None:
    rows = Article.objects.all()
    assert annotated(declare()(), rows) is rows
    assert annotated(declare(Sitemap)(), [1, 2]) == [1, 2]


def test_fields_and_annotations_of_the_project_stay_what_they_were(articles: list[Article]) -> None:
    rows = Article.objects.annotate(loud=Concat("slug", Value("!")), visited=Count("visits"))
    section = declare(queryset=rows, lastmod=F("updated"), location=Route("article", slug=F("loud")))()
    item = annotated(section, section.items()).get(slug="S1")
    assert (item.slug, item.loud, item.visited) == ("S1", "S1!", 0)
    with pytest.raises(NoReverseMatch):
        declared_value(section.location, "location", item)


@pytest.mark.parametrize("items", [[Article()], (), iter([])], ids=lambda value: type(value).__name__)
def test_expressions_on_items_that_are_no_queryset_are_refused_with_the_ways_out(items: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Declared.*queryset.*methods that take the item"):
        annotated(declare(Sitemap, lastmod=F("updated"))(), items)


def unannotated(item: Article) -> Iterator[Any]:
    """Rows that the project got in its own way."""
    yield Article.objects.get(pk=item.pk)
    yield Article.objects.only("pk").get(pk=item.pk)
    yield Recent.objects.get(pk=item.pk)
    yield Article.objects.filter(pk=item.pk).union(Article.objects.none(), all=True).get()
    yield next(iter(Article.objects.raw("SELECT * FROM tests_article WHERE id = %s", [item.pk])))


@pytest.mark.parametrize("expression", [name for name in EXPRESSIONS if name != "aggregate"])
def test_a_row_without_annotations_is_asked_for_the_same_values_once(
    expression: str, articles: list[Article]
) -> None:
    value = EXPRESSIONS[expression]
    section = declare(model=Article, lastmod=value)()
    expected = column(value, alias("lastmod"), annotated(section, section.items()).get(slug="S3"))
    for item in unannotated(articles[0]):
        assert column(value, alias("lastmod"), item) == expected
        with CaptureQueriesContext(connection) as queries:
            assert column(value, alias("lastmod"), item) == expected
        assert len(queries) == 0


def test_a_row_without_annotations_may_be_asked_for_an_aggregate(articles: list[Article]) -> None:
    articles[0].visits.create(at=UPDATED)
    articles[0].visits.create(at=UPDATED.replace(day=1))
    for item in unannotated(articles[0]):
        assert column(Max("visits__at"), alias("lastmod"), item) == UPDATED
        assert column(Count("visits"), alias("priority"), item) == 2


# Sections of views


@pytest.mark.parametrize("names", [["about", "home"], ("about", "home"), [lazystr("about"), "home"]])
def test_views_are_located_by_their_names(names: Any) -> None:
    section = declare(StaticViewSitemap, viewnames=names)()
    assert [section.location(item) for item in section.items()] == [reverse("about"), reverse("home")]


def test_views_may_be_named_by_a_method_of_the_class() -> None:
    class Pages(StaticViewSitemap):
        def items(self) -> list[str]:
            return ["about"]

        def location(self, item: str) -> str:
            return f"{self.default_location(item)}?a"

    assert [Pages().location(item) for item in Pages().items()] == ["/about/?a"]


def test_the_items_of_a_section_of_views_are_a_list_of_its_own() -> None:
    section = declare(StaticViewSitemap, viewnames=["about"])()
    section.items().append("home")
    assert section.items() == ["about"]
    assert declare(StaticViewSitemap)().items() == []


def test_a_view_that_no_url_leads_to_is_an_error() -> None:
    with pytest.raises(NoReverseMatch):
        StaticViewSitemap().location("nowhere")


# Contrib's generic sitemap


def test_a_generic_sitemap_takes_what_contribs_takes() -> None:
    rows = Article.objects.all()
    section = GenericSitemap({"queryset": rows, "date_field": "updated"}, 0.5, "daily", "http")
    assert (section.priority, section.changefreq, section.protocol) == (0.5, "daily", "http")
    assert section.lastmod(Article(updated=UPDATED)) == UPDATED
    assert section.location(Article(slug="a")) == "/articles/a/"
    assert declared_expressions(section) == {}


def test_a_generic_sitemap_may_be_subclassed_with_expressions(articles: list[Article]) -> None:
    class Generic(GenericSitemap[Article]):
        changefreq = "weekly"
        lastmod = F("updated")

    section = Generic({"queryset": Article.objects.order_by("slug")})
    assert declared_expressions(section) == {alias("lastmod"): Dated(Generic.lastmod)}
    first = annotated(section, section.items())[0]
    assert declared_value(section.lastmod, "lastmod", first) == UPDATED.replace(day=1)
