"""A declared expression never changes which rows a section lists, nor the values of its annotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Case, Count, DateTimeField, F, Max, Min, Q, QuerySet, Value, When, Window
from django.db.models.functions import Cast, Coalesce, Greatest, Lower, Rank, TruncMonth

from django_sitemaps09 import Route, checks, sources
from django_sitemaps09.hooks.values import lastmod_text
from tests.models import Article
from tests.support.shelves import BASE, LIMITS, OLD
from tests.support.ways import READERS, assert_entries, assert_paths, by, compatible_index, declare

pytestmark = [
    pytest.mark.sitemaps09(GZIP=False, ENGINE="serial"),
    pytest.mark.filterwarnings("ignore::django.core.paginator.UnorderedObjectListWarning"),
]

# An article with two comments has two visits, so the joins of both have four rows.


def newest_visits(shelf: QuerySet[Article]) -> dict[str, str | None]:
    return {row.slug: lastmod_text(row.newest) for row in shelf.annotate(newest=Max("visits__at"))}


RANK = Window(Rank(), partition_by="category", order_by="slug")
#: Querysets whose aggregates or windows another join would change.
GROUPED: dict[str, Callable[[QuerySet[Article]], Any]] = {
    "filtered": lambda rows: rows.annotate(n=Count("comments")).filter(n=2),
    "filtered by an alias": lambda rows: rows.alias(n=Count("comments")).filter(n=2),
    "filtered by one or the other": lambda rows: rows.annotate(n=Count("comments")).filter(
        Q(n=2) | Q(slug="a01")
    ),
    "filtered by two": lambda rows: rows.annotate(
        n=Count("comments", distinct=True), m=Count("tags", distinct=True)
    ).filter(n=2, m__lt=3),
    "distinct": lambda rows: rows.annotate(n=Count("comments")).filter(n=2).distinct(),
    "beside a window": lambda rows: rows.annotate(w=RANK),
    "filtered by a window": lambda rows: rows.annotate(w=RANK).filter(w__lte=3),
    "sliced": lambda rows: rows.annotate(n=Count("comments")).filter(n=2).order_by("pk")[:2],
}
LASTMODS: dict[str, Any] = {
    "aggregate": Max("visits__at"),
    "in a function": Coalesce(Max("visits__at"), F("updated")),
    "in a condition": Case(
        When(updated__lt=Max("visits__at"), then=Max("visits__at")), default=F("updated")
    ),
    "with a filter": Max("visits__at", filter=Q(slug__gt="")),
}


@pytest.mark.parametrize(
    ("lastmod", "hooks"),
    [*((lastmod, {}) for lastmod in LASTMODS), ("in a condition", {"location": by("slug")})],
    ids=[*LASTMODS, "beside a method"],
)
@pytest.mark.parametrize("name", GROUPED)
def test_a_declared_aggregate_does_not_change_the_rows(
    name: str, lastmod: str, hooks: Any, shelf: QuerySet[Article]
) -> None:
    queryset = GROUPED[name](shelf)
    section = declare(queryset, lastmod=LASTMODS[lastmod], **hooks)
    values = {row.slug: lastmod_text(row.value) for row in shelf.annotate(value=LASTMODS[lastmod])}
    expected = {row.slug: values[row.slug] for row in queryset}
    assert expected
    start = "/" if "location" in hooks else "/articles/"
    assert_entries(section, [(f"{start}{slug}/", at) for slug, at in expected.items()])
    lastmods = expected.values()
    assert compatible_index(section) == (None if None in lastmods else max(map(str, lastmods)))


@pytest.mark.parametrize("hooks", [{}, {"changefreq": lambda *_: "daily"}], ids=["columns", "methods"])
def test_a_declared_aggregate_does_not_change_the_annotations(hooks: Any, shelf: QuerySet[Article]) -> None:
    queryset = shelf.annotate(n=Count("comments"))
    section = declare(
        queryset, location=Route("article", slug=F("n")), lastmod=Max("visits__at"), limit=50, **hooks
    )
    newest = newest_visits(shelf)
    expected = Counter((f"/articles/{row.n}/", newest[row.slug]) for row in queryset)
    assert_entries(section, expected)


def test_a_table_of_extra_keeps_its_rows_beside_a_join_of_the_same_table(shelf: QuerySet[Article]) -> None:
    queryset = shelf.extra(
        tables=["tests_visit"], where=["tests_visit.article_id = tests_article.id"]
    ).order_by("pk")
    newest = Max("category__article__visits__at")
    section = declare(queryset, lastmod=newest, limit=50)
    values = {row.slug: lastmod_text(row.newest) for row in shelf.annotate(newest=newest)}
    expected = {f"/articles/{row.slug}/": values[row.slug] for row in queryset}
    for way, read in READERS.items():
        assert dict(read(section)) == expected, way


def test_declared_aggregates_do_not_multiply_each_other(shelf: QuerySet[Article]) -> None:
    # MariaDB has no table of time zones.
    newest = Coalesce(Max("visits__at"), Cast(Value(OLD), DateTimeField()))
    month = TruncMonth(newest, tzinfo=timezone.utc)
    section = declare(
        shelf,
        location=Route("article", slug=Count("comments")),
        lastmod=month,
        priority=Count("tags") / 10.0,
        limit=50,
    )
    counts = {row.slug: row.n for row in shelf.annotate(n=Count("comments"))}
    months = {row.slug: row.month for row in shelf.annotate(month=month)}
    expected = Counter((f"/articles/{counts[slug]}/", lastmod_text(months[slug])) for slug in counts)
    assert_entries(section, expected)


def test_aggregates_over_one_relation_share_its_join(
    shelf: QuerySet[Article],
) -> None:
    """A join is faster than a subquery for each row."""
    section = declare(shelf, location=Route("article", slug=Count("visits")), lastmod=Max("visits__at"))
    source: Any = sources.source("s", section, BASE, LIMITS)
    assert str(source.annotated_rows.query).count("SELECT") == 1


def test_aggregates_in_one_expression_do_not_multiply_each_other(shelf: QuerySet[Article]) -> None:
    counts = Count("comments") + Count("tags")
    section = declare(shelf, location=Route("article", slug=counts), limit=50)
    expected = Counter(f"/articles/{row.comments.count() + row.tags.count()}/" for row in shelf)
    assert_paths(section, expected)


def test_annotations_beside_an_aggregate_can_be_used(shelf: QuerySet[Article]) -> None:
    queryset = shelf.annotate(n=Count("comments"), first=Min("updated")).filter(n=2)
    section = declare(queryset, lastmod=Greatest(Max("visits__at"), F("first")))
    newest = newest_visits(shelf)
    expected = {f"/articles/{row.slug}/": newest[row.slug] for row in queryset if row.first}
    for way, read in READERS.items():
        lastmods = dict(read(section))
        assert len(lastmods) == len(queryset), way
        assert {path: lastmods[path] for path in expected} == expected, way


def test_an_aggregate_that_needs_annotations_is_refused_where_it_would_change_rows(
    shelf: QuerySet[Article], caplog: Any
) -> None:
    queryset = shelf.annotate(n=Count("comments"), first=Min("updated")).filter(n=2)
    section = declare(queryset, lastmod=Max("visits__at", filter=Q(visits__at__gt=F("first"))))
    [found] = checks.check_declarations([section])
    assert found.id == "sitemaps09.E066"
    assert "Subquery" in found.hint
    for read in READERS.values():
        with pytest.raises((ImproperlyConfigured, AssertionError)) as caught:
            assert read(section)
        assert "the declared `lastmod` has an aggregate" in f"{caught.value}{caplog.text}"


@pytest.mark.parametrize("lastmod", [Max("visits__at"), Max("updated")])
def test_dicts_are_not_grouped_by_a_declared_aggregate(lastmod: Any, shelf: QuerySet[Article]) -> None:
    rows = shelf.values("category__slug")
    section = declare(rows, location=by("category__slug"), lastmod=lastmod, limit=50)
    assert_paths(section, {"/one/": 6, "/None/": 6})


def test_distinct_dicts_are_grouped_by_a_declared_aggregate(shelf: QuerySet[Article]) -> None:
    """It covers the rows that the queryset joins, as with annotate(), and separates no equal dicts."""
    early = datetime(2026, 1, 5, tzinfo=timezone.utc)
    joined = shelf.filter(visits__at__lte=early).values("slug").distinct()
    section = declare(joined, location=by("slug"), lastmod=Max("visits__at"), limit=50)
    expected = {
        f"/{row['slug']}/": lastmod_text(row["at"]) for row in joined.annotate(at=Max("visits__at"))
    }
    assert expected
    assert_entries(section, Counter(expected.items()))
    rows = shelf.values("category__slug").distinct()
    section = declare(rows, location=by("category__slug"), lastmod=Max("visits__at"), limit=50)
    assert_paths(section, {"/one/": 1, "/None/": 1})


def test_an_aggregate_can_be_taken_of_the_groups_of_values(shelf: QuerySet[Article]) -> None:
    rows = shelf.values("category__slug").annotate(n=Count("pk"))
    section = declare(rows, location=by("category__slug"), lastmod=Max("updated"), limit=50)
    expected = {
        f"/{row['category__slug']}/": lastmod_text(row["at"])
        for row in shelf.order_by().values("category__slug").annotate(at=Max("updated"))
    }
    assert_entries(section, expected.items())
    section.lastmod = Max("visits__at")
    assert "sitemaps09.E066" in [found.id for found in checks.check_declarations([section])]


def test_an_annotation_does_not_change_what_an_aggregate_covers(shelf: QuerySet[Article]) -> None:
    rows = shelf.filter(tags__name="a")
    for queryset in (rows, rows.annotate(low=Lower("slug"))):
        section = declare(queryset, location=Route("article", slug=Count("tags")), limit=50)
        assert_paths(section, {"/articles/1/": len(queryset.all())})


def test_an_aggregate_of_what_the_queryset_joins_can_use_its_annotations(
    shelf: QuerySet[Article],
) -> None:
    queryset = shelf.annotate(n=Count("visits"), first=Min("visits__at")).filter(n=2)
    section = declare(queryset, lastmod=Greatest(Max("visits__at"), F("first")))
    newest = newest_visits(shelf)
    expected = {f"/articles/{row.slug}/": newest[row.slug] for row in queryset}
    assert_entries(section, expected.items())
