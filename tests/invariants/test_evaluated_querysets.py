"""A queryset that the project has evaluated is read as it was fetched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.models import Count, DateTimeField, F, Max, Q, QuerySet, Value, Window
from django.db.models.functions import RowNumber
from django.test import RequestFactory

from django_sitemaps09 import ModelSitemap, PathTemplate, Route, Sitemap, sources
from django_sitemaps09.hooks.profiling import Cost, Costs
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.sources.hints import hints
from django_sitemaps09.views import compat
from tests.models import Article, Seat
from tests.support.factories import SeatFactory
from tests.support.shelves import BASE, LIMITS, OLD
from tests.support.ways import READERS, assert_entries, assert_paths, by, compatible_index

pytestmark = [
    pytest.mark.sitemaps09(GZIP=False, ENGINE="serial"),
    pytest.mark.filterwarnings("ignore::django.core.paginator.UnorderedObjectListWarning"),
]


def changed(rows: Any) -> Any:
    """Return rows that the project has evaluated, each with a value of its own."""
    for number, row in enumerate(rows):
        if isinstance(row, dict):
            row["word"] = f"word-{number}"
        else:
            row.word = f"word-{number}"
    return rows


def declare(rows: Any, **hooks: Any) -> type[Sitemap[Any]]:
    hooks = {"items": lambda _: changed(rows.all()), "location": by("word"), "limit": 5, **hooks}
    return type("Declared", (Sitemap,), hooks)


def expected_paths(rows: Any) -> set[str]:
    return {f"/word-{number}/" for number in range(len(rows.all()))}


@pytest.mark.parametrize("names", [(), ("slug",)], ids=["instances", "dicts"])
def test_what_the_project_did_to_rows_is_kept(names: tuple[str, ...], shelf: QuerySet[Article]) -> None:
    rows = shelf.order_by("pk").values(*names) if names else shelf.order_by("pk")
    assert_paths(declare(rows), expected_paths(rows))


def test_get_queryset_may_return_an_evaluated_queryset(shelf: QuerySet[Article]) -> None:
    section = type(
        "Declared",
        (ModelSitemap,),
        {"get_queryset": lambda _: changed(shelf.all()), "location": by("word"), "limit": 5},
    )
    assert_paths(section, expected_paths(shelf))


def test_languages_are_listed_of_the_fetched_rows(shelf: QuerySet[Article]) -> None:
    section = declare(shelf.order_by("pk"), i18n=True, languages=["en", "de"], limit=50)
    assert_paths(section, dict.fromkeys(expected_paths(shelf), 2))


QUERYSETS: dict[str, Any] = {
    "plain": lambda rows: rows.order_by("pk"),
    "without an order": lambda rows: rows,
    "grouped": lambda rows: rows.annotate(n=Count("comments")).filter(n__gt=0),
    "sliced": lambda rows: rows.order_by("pk")[2:9],
    "a union": lambda rows: rows.filter(slug__lt="a03").union(rows.filter(slug__gt="a08")),
    "a filter on a window": lambda rows: rows.annotate(rank=Window(RowNumber(), order_by="slug")).filter(
        rank__lte=7
    ),
    "joined": lambda rows: rows.filter(tags__name="a"),
}


@pytest.mark.parametrize("lastmod", [F("updated"), Max("visits__at")], ids=["column", "aggregate"])
@pytest.mark.parametrize("name", QUERYSETS)
def test_expressions_are_read_for_the_fetched_rows(
    name: str, lastmod: Any, shelf: QuerySet[Article]
) -> None:
    rows = QUERYSETS[name](shelf)
    section = declare(rows, lastmod=lastmod)
    values = {row.slug: lastmod_text(row.value) for row in shelf.annotate(value=lastmod)}
    expected = {f"/{row.word}/": values[row.slug] for row in changed(rows.all())}
    assert_entries(section, expected.items())
    newest = expected.values()
    assert compatible_index(section) == (None if None in newest else max(map(str, newest)))


@pytest.mark.parametrize("values", [(), ("pk", "slug")], ids=["instances", "dicts"])
def test_sections_that_share_rows_have_their_own_values(
    values: tuple[str, ...], shelf: QuerySet[Article]
) -> None:
    rows = shelf.values(*values) if values else shelf.all()
    expected = Counter([*(f"/{row.pk}/" for row in shelf), *(f"/{row.slug}/" for row in shelf)])
    assert len(rows) == 12
    sections = [
        declare(rows, items=lambda _: rows, location=PathTemplate("/{x}/", x=F(name)), limit=50)
        for name in ("pk", "slug")
    ]
    for way, read in READERS.items():
        assert Counter(path for section in sections for path, _ in read(section)) == expected, way


NUMBER = Route("article", slug=F("n"))
#: Evaluated querysets, an expression of them, and its path for each row.
ANNOTATED: dict[str, tuple[Callable[[QuerySet[Article]], Any], Any, Callable[[Any], str]]] = {
    "an annotation": (lambda rows: rows.annotate(n=Count("comments")), NUMBER, lambda row: f"{row.n}"),
    # MariaDB does not find a column in HAVING that is not selected.
    "a filter by an aggregate or a column": (
        lambda rows: rows.annotate(n=Count("tags")).filter(Q(n__gt=1) | Q(updated__year__gte=2026)),
        NUMBER,
        lambda row: f"{row.n}",
    ),
    # Django groups by the joined annotation.
    "groups": (
        lambda rows: rows.annotate(tag=F("tags__name"), n=Count("comments", distinct=True)).filter(tag="a"),
        NUMBER,
        lambda row: f"{row.n}",
    ),
    "an order over a relation": (
        lambda rows: rows.order_by("-visits__at"),
        Route("article", slug=Count("visits")),
        lambda row: f"{row.visits.count()}",
    ),
    "an annotation that repeats rows": (
        lambda rows: rows.annotate(tag=F("tags__name")).filter(tag__isnull=False),
        PathTemplate("/articles/{slug}-{tag}/", slug=F("slug"), tag=F("tag")),
        lambda row: f"{row.slug}-{row.tag}",
    ),
}


@pytest.mark.parametrize("name", ANNOTATED)
def test_expressions_are_those_of_the_evaluated_queryset(name: str, shelf: QuerySet[Article]) -> None:
    build, location, path = ANNOTATED[name]
    rows = build(shelf)
    expected = Counter(f"/articles/{path(row)}/" for row in rows.all())
    assert expected
    assert_paths(declare(rows, location=location, limit=50), expected)


def test_rows_with_a_composite_key_can_be_evaluated(using: str) -> None:
    for number in range(3):
        SeatFactory(using=using, row="a", number=number)
    rows = Seat.objects.using(using).distinct().order_by("-number")
    section = declare(rows, lastmod=Value(OLD, output_field=DateTimeField()))
    for way, read in READERS.items():
        assert read(section) == [(f"/word-{n}/", "2020-05-17T22:30:00Z") for n in range(3)], way


def test_expressions_are_read_for_dicts_with_the_primary_key(shelf: QuerySet[Article]) -> None:
    rows = shelf.order_by("pk").values("id", "slug")
    section = declare(rows, lastmod=F("updated"))
    values = {row.pk: lastmod_text(row.updated) for row in shelf}
    expected = {f"/{row['word']}/": values[row["id"]] for row in changed(rows.all())}
    assert_entries(section, expected.items())


def test_expressions_are_read_for_the_groups_of_values(shelf: QuerySet[Article]) -> None:
    rows = shelf.order_by().values("category__slug").annotate(last=Max("day"))
    section = declare(rows, location=by("category__slug"), lastmod=F("last"))
    expected = {f"/{row['category__slug']}/": lastmod_text(row["last"]) for row in rows}
    assert_entries(section, expected.items())


def test_equal_rows_with_different_values_are_refused(shelf: QuerySet[Article], caplog: Any) -> None:
    section = declare(shelf.values("published"), lastmod=F("updated"))
    for read in READERS.values():
        with pytest.raises((ImproperlyConfigured, AssertionError)) as caught:
            assert read(section)
        assert "Declared.items() evaluates its queryset" in f"{caught.value}{caplog.text}"


def test_a_page_reads_the_columns_of_its_own_rows(
    shelf: QuerySet[Article], using: str, django_assert_num_queries: Any
) -> None:
    section = declare(shelf.order_by("pk"), lastmod=F("updated"), limit=2)
    with django_assert_num_queries(2, connection=connections[using]) as queries:
        compat.sitemap(RequestFactory().get("/"), sitemaps={"s": section}).render()
    assert "WHERE" in queries.captured_queries[1]["sql"]


def test_expressions_of_a_slice_need_one_query(
    shelf: QuerySet[Article], using: str, django_assert_max_num_queries: Any
) -> None:
    section = declare(
        shelf, location=Route("article", slug=F("slug")), lastmod=F("updated"), priority=0.5, limit=50
    )
    for read in READERS.values():
        with django_assert_max_num_queries(6, connection=connections[using]):
            assert len(read(section)) == 12


def test_a_hint_names_the_class_that_evaluates_its_queryset(shelf: QuerySet[Article]) -> None:
    """`if not rows: ...` reads all rows, so there are no key ranges."""
    costs = Costs(1.0, {"items": Cost(0.5, 1_000)})
    [hint] = hints(sources.source("s", declare(shelf), BASE, LIMITS), costs)
    assert hint.startswith("Declared.items() evaluates its queryset: ")
    assert "exists()" in hint
