"""A queryset that the project has evaluated is read as it was fetched."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.models import Count, DateTimeField, F, Max, Q, QuerySet, Value, Window
from django.db.models.functions import RowNumber
from django.test import RequestFactory

from django_sitemaps09 import ModelSitemap, PathTemplate, Route, Sitemap, sources
from django_sitemaps09.export.hints import hints
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.sources.profiling import Cost, Costs
from django_sitemaps09.views import compat
from tests.models import Article, Seat
from tests.support.factories import SeatFactory
from tests.support.shelves import BASE, LIMITS, OLD
from tests.support.ways import WAYS, by, compatible_index

pytestmark = pytest.mark.filterwarnings("ignore::django.core.paginator.UnorderedObjectListWarning")


@pytest.fixture(autouse=True)
def options(settings: Any) -> None:
    settings.SITEMAPS09 = {"BASE_URL": str(BASE), "GZIP": False, "ENGINE": "serial"}


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


def test_what_the_project_did_to_instances_is_kept(shelf: QuerySet[Article]) -> None:
    for way, read in WAYS.items():
        assert {path for path, _ in read(declare(shelf.order_by("pk")))} == expected_paths(shelf), way


def test_what_the_project_did_to_dicts_is_kept(shelf: QuerySet[Article]) -> None:
    for way, read in WAYS.items():
        assert {path for path, _ in read(declare(shelf.values("slug")))} == expected_paths(shelf), way


def test_get_queryset_may_return_an_evaluated_queryset(shelf: QuerySet[Article]) -> None:
    section = type(
        "Declared",
        (ModelSitemap,),
        {"get_queryset": lambda _: changed(shelf.all()), "location": by("word"), "limit": 5},
    )
    for way, read in WAYS.items():
        assert {path for path, _ in read(section)} == expected_paths(shelf), way


def test_languages_are_listed_of_the_fetched_rows(shelf: QuerySet[Article]) -> None:
    section = declare(shelf.order_by("pk"), i18n=True, languages=["en", "de"], limit=50)
    for way, read in WAYS.items():
        counts = Counter(path for path, _ in read(section))
        assert counts == dict.fromkeys(expected_paths(shelf), 2), way


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
    for way, read in WAYS.items():
        assert dict(read(section)) == expected, way
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
    for way, read in WAYS.items():
        assert Counter(path for section in sections for path, _ in read(section)) == expected, way


def test_expressions_can_use_annotations_of_the_evaluated_queryset(shelf: QuerySet[Article]) -> None:
    rows = shelf.annotate(n=Count("comments"))
    section = declare(rows, location=Route("article", slug=F("n")), limit=50)
    expected = Counter(f"/articles/{row.n}/" for row in rows)
    for way, read in WAYS.items():
        assert Counter(path for path, _ in read(section)) == expected, way


def test_expressions_of_rows_with_a_filter_by_an_aggregate_or_a_column(shelf: QuerySet[Article]) -> None:
    """MariaDB does not find a column in HAVING that is not selected."""
    rows = shelf.annotate(n=Count("tags")).filter(Q(n__gt=1) | Q(updated__year__gte=2026))
    section = declare(rows, location=Route("article", slug=F("n")), limit=50)
    expected = Counter(f"/articles/{row.n}/" for row in rows)
    assert expected
    for way, read in WAYS.items():
        assert Counter(path for path, _ in read(section)) == expected, way


def test_expressions_can_use_groups_of_the_evaluated_queryset(shelf: QuerySet[Article]) -> None:
    """Django groups by the joined annotation."""
    rows = shelf.annotate(tag=F("tags__name"), n=Count("comments", distinct=True)).filter(tag="a")
    section = declare(rows, location=Route("article", slug=F("n")), limit=50)
    expected = Counter(f"/articles/{row.n}/" for row in rows)
    for way, read in WAYS.items():
        assert Counter(path for path, _ in read(section)) == expected, way


def test_the_order_of_an_evaluated_queryset_does_not_divide_aggregates(shelf: QuerySet[Article]) -> None:
    rows = shelf.order_by("-visits__at")
    section = declare(rows, location=Route("article", slug=Count("visits")), limit=50)
    expected = {f"/articles/{row.visits.count()}/" for row in shelf}
    for way, read in WAYS.items():
        assert {path for path, _ in read(section)} == expected, way


def test_rows_with_a_composite_key_can_be_evaluated(using: str) -> None:
    for number in range(3):
        SeatFactory(using=using, row="a", number=number)
    rows = Seat.objects.using(using).distinct().order_by("-number")
    section = declare(rows, lastmod=Value(OLD, output_field=DateTimeField()))
    for way, read in WAYS.items():
        assert read(section) == [(f"/word-{n}/", "2020-05-17T22:30:00Z") for n in range(3)], way


def test_expressions_are_read_for_dicts_with_the_primary_key(shelf: QuerySet[Article]) -> None:
    rows = shelf.order_by("pk").values("id", "slug")
    section = declare(rows, lastmod=F("updated"))
    values = {row.pk: lastmod_text(row.updated) for row in shelf}
    expected = {f"/{row['word']}/": values[row["id"]] for row in changed(rows.all())}
    for way, read in WAYS.items():
        assert dict(read(section)) == expected, way


def test_expressions_can_use_annotations_that_repeat_rows(shelf: QuerySet[Article]) -> None:
    rows = shelf.annotate(tag=F("tags__name")).filter(tag__isnull=False)
    section = declare(rows, location=PathTemplate("/{slug}/{tag}/", slug=F("slug"), tag=F("tag")), limit=50)
    expected = Counter(f"/{row.slug}/{row.tag}/" for row in rows)
    for way, read in WAYS.items():
        assert Counter(path for path, _ in read(section)) == expected, way


def test_expressions_are_read_for_the_groups_of_values(shelf: QuerySet[Article]) -> None:
    rows = shelf.order_by().values("category__slug").annotate(last=Max("day"))
    section = declare(rows, location=by("category__slug"), lastmod=F("last"))
    expected = {f"/{row['category__slug']}/": lastmod_text(row["last"]) for row in rows}
    for way, read in WAYS.items():
        assert dict(read(section)) == expected, way


def test_equal_rows_with_different_values_are_refused(shelf: QuerySet[Article], caplog: Any) -> None:
    section = declare(shelf.values("published"), lastmod=F("updated"))
    for read in WAYS.values():
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
    for read in WAYS.values():
        with django_assert_max_num_queries(6, connection=connections[using]):
            assert len(read(section)) == 12


def test_a_hint_names_the_class_that_evaluates_its_queryset(shelf: QuerySet[Article]) -> None:
    """`if not rows: ...` reads all rows, so there are no key ranges."""
    costs = Costs(1.0, {"items": Cost(0.5, 1_000)})
    [hint] = hints(sources.source("s", declare(shelf), BASE, LIMITS), costs)
    assert hint.startswith("Declared.items() evaluates its queryset: ")
    assert "exists()" in hint
