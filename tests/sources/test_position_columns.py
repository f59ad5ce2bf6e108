"""Declared columns of slices and unions: read without instances, in the order of the queryset."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from unittest import mock

import pytest
from django.db import connections
from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    F,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
    Window,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Coalesce, Lower, Random, RowNumber
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import PathTemplate, pages
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.pages import Page
from django_sitemaps09.sources.positions import PositionSource
from tests.models import Article, Comment, Recent, Seat, Ticket
from tests.support.databases import parameter
from tests.support.factories import CategoryFactory
from tests.support.memory import traced
from tests.support.sources import BASE, compiled, declaration, errors, rendered, set_slices
from tests.support.ways import READERS

pytestmark = [pytest.mark.usefixtures("cached_site"), pytest.mark.sitemaps09(GZIP=False, ENGINE="serial")]

Build = Callable[[QuerySet[Any]], QuerySet[Any]]


def early(rows: QuerySet[Any]) -> QuerySet[Any]:
    return rows.filter(pk__lt=14)


def late(rows: QuerySet[Any]) -> QuerySet[Any]:
    return rows.filter(pk__gt=9)


#: Querysets whose columns one query returns.
WHOLE: dict[str, Build] = {
    "a slice": lambda rows: rows.order_by("-slug")[2:9],
    "a slice without an end": lambda rows: rows.order_by("pk")[3:],
    "a slice of a slice": lambda rows: rows.order_by("-day")[1:12][2:7],
    "a slice in the reverse order": lambda rows: rows.order_by("slug").reverse()[:8],
    "a slice in the order of a proxy": lambda rows: Recent.objects.using(rows.db)[:8],
    "a slice in the order of a relation": lambda rows: rows.order_by("category__slug", "pk")[:8],
    "a slice that a join repeats": lambda rows: rows.filter(comments__pk__gt=0).order_by("slug")[:9],
    "a slice of distinct rows": lambda rows: (
        rows.filter(tags__pk__gt=0).distinct().order_by("-category__slug", "slug")[:6]
    ),
    "a slice of deferred rows": lambda rows: rows.only("day").prefetch_related("tags").order_by("slug")[:6],
    "a slice with annotations": lambda rows: rows.annotate(low=Lower("slug")).order_by("-low")[:7],
    "a slice with a window": lambda rows: rows.annotate(n=Window(RowNumber(), order_by="-slug")).order_by(
        "n"
    )[:7],
    "a union": lambda rows: early(rows).union(late(rows)).order_by("slug"),
    "a union in the order of the key": lambda rows: early(rows).union(late(rows)).order_by("-pk"),
    "a union in another order": lambda rows: early(rows).union(late(rows)).order_by("-published", "-day"),
    "a union in the order of a relation": lambda rows: (
        early(rows).union(late(rows)).order_by("-category_id", "slug")
    ),
    "a union in the reverse order": lambda rows: early(rows).union(late(rows)).order_by("day").reverse(),
    "a union that repeats rows": lambda rows: early(rows).union(late(rows), all=True).order_by("slug"),
    "a union of repeated rows": lambda rows: (
        rows.filter(comments__pk__gt=0).union(rows.filter(pk=4), all=True).order_by("slug")
    ),
    "a union of unions": lambda rows: (
        early(rows).union(late(rows), all=True).union(rows.filter(pk=4)).order_by("slug")
    ),
    "a union with nothing": lambda rows: late(rows).union(rows.none(), rows.filter(pk=4)).order_by("slug"),
    "a union of distinct rows": lambda rows: (
        rows.filter(tags__pk__gt=0).distinct().union(late(rows)).order_by("slug")
    ),
    "a union with annotations": lambda rows: (
        early(rows)
        .annotate(mark=Value("e"), tag=F("tags__name"))
        .union(late(rows).annotate(mark=Value("l"), tag=Value("c", CharField())))
        .order_by("-mark", "tag", "slug")
    ),
    "a slice of a union": lambda rows: early(rows).union(late(rows)).order_by("-slug")[1:9],
    "a slice of a union without an end": lambda rows: early(rows).union(late(rows)).order_by("slug")[4:],
    "an empty slice of a union": lambda rows: early(rows).union(late(rows)).order_by("slug")[90:95],
}
#: Querysets that are read as before, since other columns could change their rows.
APART: dict[str, Build] = {
    "a slice with a count": lambda rows: rows.annotate(n=Count("tags")).order_by("-n", "slug")[:7],
    "a slice that HAVING filters": lambda rows: (
        rows.annotate(n=Count("tags")).filter(Q(n__gt=1) | Q(slug="s7")).order_by("slug")[:7]
    ),
    "a slice that a window filters": lambda rows: (
        rows.annotate(n=Window(RowNumber(), partition_by="published", order_by="slug"))
        .filter(n__lte=3)
        .order_by("slug")[:5]
    ),
    "a slice with SQL of the project": lambda rows: rows.extra(where=["slug < 's7'"]).order_by("slug")[:6],
    "a union of counts": lambda rows: (
        early(rows)
        .annotate(n=Count("tags"))
        .union(late(rows).annotate(n=Count("comments")))
        .order_by("slug")
    ),
    "a union of other annotations": lambda rows: (
        early(rows).annotate(one=Value(1)).union(late(rows).annotate(two=Value(2))).order_by("slug")
    ),
    "a union of deferred rows": lambda rows: (
        early(rows).only("slug").union(late(rows).only("slug")).order_by("slug")
    ),
    "a union in the order of a foreign key": lambda rows: (
        early(rows).union(late(rows)).order_by("-category", "slug")
    ),
    "an intersection": lambda rows: early(rows).intersection(late(rows)).order_by("slug"),
    "a difference": lambda rows: rows.difference(late(rows)).order_by("slug"),
}
#: Unions of slices, which SQLite does not have.
OF_SLICES: dict[str, Build] = {
    "a union of slices": lambda rows: (
        rows.order_by("slug")[:5].union(rows.order_by("-slug")[2:6]).order_by("slug")
    ),
    "a union with a slice of a union": lambda rows: (
        early(rows).union(late(rows)).order_by("day")[:4].union(rows.filter(pk=28)).order_by("slug")
    ),
    "a union with a slice of distinct rows": lambda rows: (
        rows.filter(tags__pk__gt=0)
        .distinct()
        .order_by("slug")[:4]
        .union(rows.filter(pk=4))
        .order_by("slug")
    ),
}
HOOKS: dict[str, Any] = {
    "location": PathTemplate(
        "/{slug}/{category}/{visited}/",
        slug=F("slug"),
        category=Coalesce("category__slug", Value("none")),
        visited=Case(
            When(Exists(Comment.objects.filter(article=OuterRef("pk"))), then=Value("yes")),
            default=Value("no"),
        ),
    ),
    "lastmod": F("updated"),
    "limit": 3,
}


def expected_entries(queryset: QuerySet[Any]) -> list[tuple[str, str | None]]:
    """What the methods for these columns give for each item."""
    return [
        (
            f"/{row.slug}/{row.category.slug if row.category_id else 'none'}/"
            f"{'yes' if Comment.objects.using(queryset.db).filter(article=row.pk).exists() else 'no'}/",
            lastmod_text(row.updated),
        )
        for row in queryset.all()
    ]


@pytest.mark.filterwarnings("ignore::django.core.paginator.UnorderedObjectListWarning")
@pytest.mark.parametrize("name", [*WHOLE, *APART])
def test_a_slice_or_a_union_with_columns_is_listed_in_its_order(
    name: str, articles: QuerySet[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_slices(monkeypatch, 2)
    queryset = (WHOLE | APART)[name](articles)
    expected = expected_entries(queryset)
    for way, read in READERS.items():
        assert read(declaration(queryset=queryset, **HOOKS)) == expected, way


@pytest.mark.filterwarnings("ignore::django.core.paginator.UnorderedObjectListWarning")
@pytest.mark.parametrize("using", [parameter("postgresql"), parameter("mariadb")], indirect=True)
@pytest.mark.parametrize("name", OF_SLICES)
def test_a_union_of_slices_with_columns_is_listed_in_its_order(
    name: str, articles: QuerySet[Article]
) -> None:
    queryset = OF_SLICES[name](articles)
    expected = expected_entries(queryset)
    for way, read in READERS.items():
        assert read(declaration(queryset=queryset, **HOOKS)) == expected, way


@pytest.mark.parametrize("name", WHOLE)
def test_the_columns_of_a_slice_or_a_union_are_one_query_without_instances(
    name: str, articles: QuerySet[Article], using: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_slices(monkeypatch, 2)
    queryset = WHOLE[name](articles)
    count = len(queryset.all())
    source = compiled(declaration(queryset=queryset, **{**HOOKS, "limit": 100}))
    assert isinstance(source, PositionSource)
    made = mock.patch.object(Article, "from_db", side_effect=AssertionError("an instance was made"))
    with made, CaptureQueriesContext(connections[using]) as captured:
        keys = [key for batch in source.batches(Page(1, None, None)) for key in batch.keys]
    assert keys == [*range(1, count + 1)]
    # Django runs no query for a slice that cannot have rows.
    assert len(captured) == 1 or (count == len(captured) == 0)


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_distinct_on_fields_makes_no_instances_for_columns(articles: QuerySet[Article]) -> None:
    queryset = articles.order_by("category_id", "-slug").distinct("category_id")
    expected = expected_entries(queryset)
    assert len(expected) == 3
    source = compiled(declaration(queryset=queryset, **HOOKS))
    with mock.patch.object(Article, "from_db", side_effect=AssertionError("an instance was made")):
        assert entries_of(source) == expected


def entries_of(source: Any) -> list[tuple[str, str | None]]:
    done = rendered(source)
    assert errors(done) == []
    return [
        (location.removeprefix(str(BASE)), lastmod or None)
        for page in done
        for location, lastmod in re.findall(
            "<url><loc>(.*?)</loc>(?:<lastmod>(.*?)</lastmod>)?", re.sub(r"\s+", "", page.text)
        )
    ]


@pytest.mark.parametrize("model", [Seat, Ticket])
def test_slices_and_unions_of_rows_with_a_composite_key_need_no_instances(model: Any, using: str) -> None:
    categories = [CategoryFactory(using=using, slug=slug) for slug in "ab"]
    for n in range(12):
        group = {"row": "ab"[n % 2]} if model is Seat else {"category": categories[n % 2]}
        model.objects.using(using).create(number=n // 2 * 5 % 7, **group)
    rows, group = model.objects.using(using), "row" if model is Seat else "category_id"
    low, high = rows.filter(number__lt=4), rows.filter(number__gt=2)
    for queryset in (
        rows.order_by("-number", group)[1:9],
        low.union(high).order_by("number", group),
        low.union(high, all=True).order_by("number", group)[1:9],
    ):
        location = PathTemplate("/{group}/{number}/", group=F(group), number=F("number"))
        source = compiled(declaration(queryset=queryset, location=location, limit=3))
        expected = [(f"/{getattr(row, group)}/{row.number}/", None) for row in queryset.all()]
        with mock.patch.object(model, "from_db", side_effect=AssertionError("an instance was made")):
            assert entries_of(source) == expected


#: Expressions that can change the rows of a slice or a union, or have another value each time.
OTHER: dict[str, Any] = {
    "an aggregate": Max("visits__at"),
    "a subquery": Subquery(Article.objects.filter(pk=OuterRef("pk")).values("updated")[:1]),
    "SQL of the project": RawSQL("tests_article.updated", (), Article._meta.get_field("updated")),
}


@pytest.mark.parametrize("expression", OTHER)
@pytest.mark.parametrize("name", ["a slice that a join repeats", "a slice of distinct rows", "a union"])
def test_any_expression_leaves_the_rows_of_a_slice_or_a_union(
    name: str, expression: str, articles: QuerySet[Article]
) -> None:
    queryset = WHOLE[name](articles)
    paths = [path for path, _ in expected_entries(queryset)]
    hooks = {**HOOKS, "lastmod": OTHER[expression]}
    assert [path for path, _ in entries_of(compiled(declaration(queryset=queryset, **hooks)))] == paths


@pytest.mark.parametrize("name", ["a slice of distinct rows", "a union"])
def test_a_random_value_does_not_repeat_rows(name: str, articles: QuerySet[Article]) -> None:
    queryset = WHOLE[name](articles)
    hooks = {**HOOKS, "priority": Random()}
    assert entries_of(compiled(declaration(queryset=queryset, **hooks))) == expected_entries(queryset)


@pytest.mark.parametrize("using", [parameter("default")], indirect=True)
@pytest.mark.parametrize("name", ["a slice that a join repeats", "a slice of a union", "a union"])
def test_unreadable_rows_of_a_slice_or_a_union_are_skipped_and_reported(
    name: str, articles: QuerySet[Article], using: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_slices(monkeypatch, 3)
    queryset = WHOLE[name](articles)
    expected = expected_entries(queryset)
    slugs = [path.split("/")[1] for path, _ in expected]
    with connections[using].cursor() as cursor:
        cursor.execute(
            "UPDATE tests_article SET updated = '2020-02-30 10:00:00' WHERE slug IN (%s, %s)",
            [slugs[1], slugs[-2]],
        )
    source = compiled(declaration(queryset=queryset, **HOOKS))
    done = rendered(source)
    bad = [slug in (slugs[1], slugs[-2]) for slug in slugs]
    listed = [location.removeprefix(str(BASE)) for page in done for location in page.locations]
    assert listed == [path for (path, _), is_bad in zip(expected, bad, strict=True) if not is_bad]
    places = [str(place) for place, is_bad in enumerate(bad, 1) if is_bad]
    assert [(key, field) for key, field, _ in errors(done)] == [(place, "row") for place in places]


@pytest.mark.parametrize("using", [parameter("default")], indirect=True)
def test_the_memory_for_a_slice_or_a_union_does_not_grow_with_its_rows(using: str) -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
    Article.objects.using(using).bulk_create(
        Article(slug=f"article-{n}", updated=noon + timedelta(minutes=n)) for n in range(12_000)
    )
    rows = Article.objects.using(using)
    for build in (
        lambda size: rows.order_by("slug")[:size],
        lambda size: rows.filter(pk__lt=3_000).union(rows.all(), all=True).order_by("pk")[:size],
    ):
        peaks = []
        for size in (4_000, 12_000):
            source = compiled(declaration(queryset=build(size), **{**HOOKS, "limit": 2_000}))
            with traced() as memory:
                found = pages.each_page(source, 2_000)
                assert sum(len(batch.keys) for page in found for batch in source.batches(page)) == size
            peaks.append(memory.peak)
        assert peaks[1] < peaks[0] * 1.2
        assert peaks[1] < 3_000_000


# Window functions in SQL that the project has written.

OVER = "ROW_NUMBER() OVER (ORDER BY tests_article.slug)"
RAW_NUMBER = RawSQL(OVER, (), IntegerField())  # noqa: S611 a constant


def numbered(rows: QuerySet[Article]) -> QuerySet[Article]:
    return rows.annotate(n=RAW_NUMBER)


def path_of_number(self: object, item: Any) -> str:
    return f"/{item.slug}/{item.n}/"


NUMBERED: dict[str, tuple[Build, dict[str, Any]]] = {
    "an annotation as a column": (
        numbered,
        {"location": PathTemplate("/{slug}/{n}/", slug=F("slug"), n=F("n"))},
    ),
    "an annotation in a method": (numbered, {"location": path_of_number}),
    "an annotation in lower case": (
        lambda rows: rows.annotate(n=Cast(RawSQL(OVER.lower(), ()), IntegerField())),  # noqa: S611
        {"location": path_of_number},
    ),
    "a column of extra()": (
        lambda rows: rows.extra(select={"n": OVER}),  # noqa: S610 a constant
        {"location": path_of_number},
    ),
    "a declared expression": (
        lambda rows: rows,
        {"location": PathTemplate("/{slug}/{n}/", slug=F("slug"), n=RAW_NUMBER)},
    ),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_a_window_in_sql_of_the_project_numbers_all_rows(
    name: str, articles: QuerySet[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A range of keys would be numbered anew."""
    set_slices(monkeypatch, 3)
    build, hooks = NUMBERED[name]
    section = declaration(queryset=build(articles), limit=5, **hooks)
    expected = sorted(f"/{row.slug}/{row.n}/" for row in numbered(articles))
    for way, read in READERS.items():
        assert sorted(path for path, _ in read(section)) == expected, way
