"""The order of a queryset only changes the rows of a section where Django repeats or groups by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest
from django.db.models import CharField, Count, F, Max, Min, Q, QuerySet, Sum, Value, Window
from django.db.models.functions import Cast, Coalesce, Concat, RowNumber

from django_sitemaps09 import Route
from django_sitemaps09.hooks.values import lastmod_text
from tests.invariants.fuzz.models import Whole, WholeByNotes, WholeNote
from tests.models import Article
from tests.support.ways import (
    READERS,
    assert_entries,
    assert_paths,
    by,
    compatible,
    compatible_index,
    declare,
    listed,
)

pytestmark = [
    pytest.mark.sitemaps09(GZIP=False, ENGINE="serial"),
    pytest.mark.filterwarnings("ignore::django.core.paginator.UnorderedObjectListWarning"),
]


#: After the first visit of an article, and before its other ones.
DAY = datetime(2026, 1, 4, 12, tzinfo=timezone.utc)
#: Django groups these querysets by their order, so each group is one visit or tag of an article.
GROUPED: dict[str, Callable[[QuerySet[Article]], Any]] = {
    "by a date": lambda rows: rows.order_by("-visits__at").annotate(g=Min("visits__at")).filter(g__gt=DAY),
    "by another relation": lambda rows: rows.order_by("tags__name").annotate(n=Count("tags")).filter(n=1),
    "by an expression": lambda rows: (
        rows.order_by(F("visits__at").desc(nulls_last=True)).alias(n=Count("visits")).filter(n=1)
    ),
    "beside a window": lambda rows: (
        rows.order_by("tags__name", "pk").alias(w=Window(RowNumber(), order_by="slug")).filter(w__lte=7)
    ),
    "by two relations": lambda rows: (
        rows.order_by("category__slug", "tags__name").annotate(n=Count("tags")).filter(n=1)
    ),
}


@pytest.mark.parametrize("name", GROUPED)
def test_rows_that_a_grouped_order_lists_are_listed(name: str, shelf: QuerySet[Article]) -> None:
    """Without the order, the groups would be others, and so would be the rows that the filter keeps."""
    section = declare(GROUPED[name](shelf))
    expected = set(listed(section))
    assert expected
    assert expected != {f"/articles/{row.slug}/" for row in section.queryset.order_by()}
    for way, read in READERS.items():
        paths = [path for path, _ in read(section)]
        assert set(paths) == expected, way
        assert way == "compatible" or len(paths) == len(expected), way


@pytest.mark.parametrize("name", GROUPED)
def test_the_index_has_the_lastmod_of_the_rows_that_a_grouped_order_lists(
    name: str, shelf: QuerySet[Article]
) -> None:
    rows = shelf.filter(updated__isnull=False)
    section = declare(GROUPED[name](rows), lastmod=F("updated"))
    assert compatible_index(section) == max(at for _, at in compatible(section) if at)


def test_an_order_of_a_filtered_relation_does_not_divide_declared_aggregates(
    shelf: QuerySet[Article],
) -> None:
    rows = shelf.filter(visits__at__gt=DAY)
    section = declare(rows.order_by("visits__at"), lastmod=Max("visits__at"))
    expected = {
        f"/articles/{r.slug}/": lastmod_text(r.newest) for r in rows.annotate(newest=Max("visits__at"))
    }
    assert_entries(section, Counter(expected.items()))


@pytest.mark.parametrize("name", GROUPED)
def test_annotations_of_a_grouped_order_are_those_of_its_groups(
    name: str, shelf: QuerySet[Article]
) -> None:
    queryset = GROUPED[name](shelf).annotate(m=Count("comments"))
    section = declare(queryset, location=by("slug", "m"))
    assert_paths(section, listed(section))


@pytest.mark.parametrize("order", [["visits__at"], ["-visits__at", "slug"], ["tags__name"]])
def test_rows_that_an_order_and_an_annotation_repeat_are_listed_as_often(
    order: list[str], shelf: QuerySet[Article]
) -> None:
    queryset = shelf.order_by(*order).annotate(x=F("comments__pk")).filter(x__gt=0)
    section = declare(queryset, location=by("slug", "x"))
    assert_paths(section, listed(section))


@pytest.fixture
def whole_rows(using: str) -> None:
    """Create three rows of a model with `ordering = ["-notes__at"]`, with 0 to 2 notes and children."""
    for number in range(3):
        parent = Whole.objects.using(using).create(slug=f"s{number}", number=number, flag=True)
        for child in range(number):
            Whole.objects.using(using).create(
                slug=f"c{number}{child}", number=10 * number + child + 10, flag=False, parent=parent
            )
            WholeNote.objects.using(using).create(thing=parent, word="w", score=child, at=DAY)


@pytest.mark.parametrize("location", [by("slug"), by("slug", "n")], ids=["rows", "annotations"])
def test_an_order_of_the_model_joins_rows_of_a_grouped_queryset(
    location: Any, whole_rows: None, using: str
) -> None:
    """Django drops this order from a grouped query, but the aggregate counts the rows of its join."""
    queryset = WholeByNotes.objects.using(using).annotate(n=Count("children")).filter(n__gt=2)
    section = declare(queryset, location=location)
    assert sum(listed(section).values()) == 1
    assert_paths(section, listed(section))


def test_an_aggregate_beside_a_grouped_order_covers_the_joined_rows(db: None) -> None:
    """Its rows are read apart from the queryset's, whose joins it would not have."""
    for number in (1, 2, 3):
        row = Whole.objects.create(slug=f"s{number}", number=number, flag=True)
        WholeNote.objects.bulk_create(WholeNote(thing=row, score=n) for n in range(1, number + 1))
    rows = WholeByNotes._base_manager.filter(notes__score__gt=1).annotate(
        n=Sum("notes__score", distinct=True)
    )
    lowest = Cast(Min("notes__score", filter=Q(notes__score__gt=0)), CharField())
    section = declare(rows, location=Route("article", slug=Concat("slug", Value("-"), lowest)))
    assert_paths(section, {"/articles/s2-2/", "/articles/s3-2/"})


def test_an_order_of_the_model_divides_the_groups_of_distinct_rows(db: None) -> None:
    """Django selects its column, and then groups by it."""
    for number in (1, 2):
        row = Whole.objects.create(slug=f"s{number}", number=number, flag=True)
        for day, score in enumerate((5, 0), 1):
            at = DAY.replace(day=day)
            WholeNote.objects.create(thing=row, score=score * (number - 1) + score, at=at)
    rows = WholeByNotes.objects.alias(n=Sum("notes__score")).filter(n__lt=1).distinct()
    section = declare(rows, location=by("slug"))
    assert len(set(listed(section))) == 2
    assert_paths(section, set(listed(section)))


def create_with_notes(slug: str, number: int = 1) -> None:
    """Create a row with a note on each of three days."""
    row = Whole.objects.create(slug=slug, number=number, flag=True)
    for day in (1, 2, 3):
        WholeNote.objects.create(thing=row, score=day, at=DAY.replace(day=day))


def test_an_order_of_the_model_repeats_nothing_that_a_slice_counts(db: None) -> None:
    """The expressions of a slice are read apart, from the rows of the model."""
    for number in (1, 2, 3):
        create_with_notes(f"s{number}", number)
    rows = WholeByNotes._base_manager.order_by("slug")[1:3]
    count = Cast(Count("tags__rank") + Count("pk"), CharField())
    section = declare(rows, location=Route("article", slug=Concat("slug", Value("-"), count)))
    assert_paths(section, {"/articles/s2-1/", "/articles/s3-1/"})


def test_an_order_of_the_model_does_not_divide_the_aggregates_of_distinct_dicts(db: None) -> None:
    """Django selects its column, so a declared aggregate would cover one note of a row at a time."""
    create_with_notes("s")
    rows = WholeByNotes._base_manager.distinct().values("slug")
    section = declare(rows, location=by("slug"), lastmod=Coalesce(Max("notes__at"), DAY))
    assert len(rows) == 3
    assert_entries(section, Counter({("/s/", lastmod_text(DAY.replace(day=3))): 3}))


def test_distinct_does_not_change_the_aggregates_of_rows_that_differ(db: None) -> None:
    """Rows that select the column of a join are groups of their own."""
    create_with_notes("s")
    rows = Whole.objects.annotate(n=Count("children"), score=F("notes__score")).distinct()
    section = declare(rows, location=by("slug", "score"), lastmod=Max("notes__at"))
    expected = [(f"/s/{day}/", lastmod_text(DAY.replace(day=day))) for day in (1, 2, 3)]
    assert_entries(section, Counter(expected))


def test_a_condition_that_divides_groups_does_not_divide_the_aggregates_of_distinct_rows(db: None) -> None:
    """Django groups by a column that it compares in HAVING."""
    create_with_notes("s")
    rows = Whole.objects.annotate(n=Count("children")).filter(Q(notes__score__gt=1) | Q(n=0)).distinct()
    section = declare(rows, location=by("slug"), lastmod=Max("notes__at"))
    assert len(rows) == 1
    assert_entries(section, Counter([("/s/", lastmod_text(DAY.replace(day=3)))]))
