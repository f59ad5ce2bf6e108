"""Sections list the rows of their querysets as written: live, exported and on the compatibility views."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.db.models import CharField, Count, F, Max, Q, QuerySet, Value, Window
from django.db.models.functions import Cast, Coalesce, Concat, RowNumber, TruncDay, TruncMonth
from django.test import RequestFactory

from django_sitemaps09 import Route, checks, sources, views
from django_sitemaps09.export import export
from django_sitemaps09.hooks.expressions import LastmodExpression
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.orm.reading import count_rows, iterate_unordered
from django_sitemaps09.sitemaps import GenericSitemap
from tests.models import Article, Invoice, Seat
from tests.support.databases import no_cursor_left, parameter
from tests.support.factories import ArticleFactory, InvoiceFactory, SeatFactory
from tests.support.shelves import BASE, LIMITS, OLD, Stubborn, at_least
from tests.support.ways import (
    READERS,
    assert_entries,
    assert_paths,
    by,
    compatible,
    compatible_index,
    declare,
    entries,
    exported_files as exported,
    listed,
    native,
)

# Django says so on the compatibility views, as it does with contrib; what the pages hold is asserted.
pytestmark = [
    pytest.mark.sitemaps09(GZIP=False, ENGINE="serial"),
    pytest.mark.filterwarnings("ignore::django.core.paginator.UnorderedObjectListWarning"),
]


def early(rows: QuerySet[Article]) -> QuerySet[Article]:
    """The articles once for each visit in the first days."""
    return rows.filter(visits__at__lt=datetime(2026, 1, 6, tzinfo=timezone.utc))


def last(_: object, item: Any) -> Any:
    return item["last"]


# Rows and dates of values().


def newest_of_categories(rows: QuerySet[Article]) -> Any:
    return rows.values("category__slug").annotate(last=Max("updated"))


def test_groups_come_once_each_with_their_own_lastmod(
    shelf: QuerySet[Article],
) -> None:
    """An order by the key would group by it as well."""
    rows = newest_of_categories(shelf)
    section = declare(rows, location=by("category__slug"), lastmod=last, limit=1)
    expected = {
        f"/{row['category__slug']}/": lastmod_text(row["last"]) for row in newest_of_categories(shelf)
    }
    assert len(expected) == 2
    assert_entries(section, Counter(expected.items()))
    assert compatible_index(section) == max(map(str, expected.values()))


def test_a_generic_sitemap_has_each_group_once(shelf: QuerySet[Article]) -> None:
    class Groups(GenericSitemap[Any]):
        location = by("category__slug")

    section = Groups({"queryset": newest_of_categories(shelf).order_by(), "date_field": None})
    assert_entries(section, Counter([("/one/", None), ("/None/", None)]))


#: Querysets of values, of which each row is listed as often as it comes.
VALUES: dict[str, tuple[Callable[[QuerySet[Article]], Any], tuple[str, ...]]] = {
    "distinct": (lambda rows: rows.values("category__slug").distinct(), ("category__slug",)),
    "a relation": (lambda rows: rows.values("category", "slug").annotate(n=Count("tags")), ("slug", "n")),
    "tuples": (lambda rows: rows.values_list("slug").distinct(), ("slug",)),
    "ordered by a relation to many": (
        lambda rows: rows.values("slug").order_by("-tags__name", "slug"),
        ("slug",),
    ),
    "a relation to many": (lambda rows: rows.values("slug", "tags__name"), ("slug", "tags__name")),
    "a filtered group": (
        lambda rows: rows.values("category__slug").annotate(n=Count("tags", filter=Q(tags__name="a"))),
        ("category__slug", "n"),
    ),
    "a union": (
        lambda rows: rows.filter(slug__lt="a04").values("slug").union(rows.values("slug")),
        ("slug",),
    ),
    "a union of tuples that repeat": (
        lambda rows: (
            rows.filter(slug__lt="a04").values_list("slug").union(rows.values_list("slug"), all=True)
        ),
        ("slug",),
    ),
    "a union of groups": (
        lambda rows: (
            rows.filter(published=True)
            .values("category__slug")
            .annotate(n=Count("pk"))
            .union(rows.values("category__slug").annotate(n=Count("pk")))
        ),
        ("category__slug", "n"),
    ),
    "a union in an order": (
        lambda rows: rows.filter(slug__lt="a04").values("slug").union(rows.values("slug")).order_by("slug"),
        ("slug",),
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values_are_listed_as_they_come(name: str, shelf: QuerySet[Article]) -> None:
    made, names = VALUES[name]
    section = declare(made(shelf), location=by(*names))
    assert not [found for found in checks.check_declarations([section]) if found.level >= 40]
    assert_paths(section, listed(section))


@pytest.mark.parametrize(
    "made",
    [
        lambda rows: rows.order_by("published").values("slug"),
        lambda rows: rows.filter(slug__lt="a04").union(rows.filter(slug__gte="a03")).order_by("published"),
    ],
    ids=["values", "a union"],
)
def test_rows_that_are_alike_in_their_order_are_on_one_page_each(
    made: Any, shelf: QuerySet[Article]
) -> None:
    section = declare(made(shelf), location=by("slug"), limit=1)
    for read in (native, exported):
        assert Counter(path for path, _ in read(section)) == listed(section)


def test_rows_that_repeat_by_an_annotation_have_an_order(shelf: QuerySet[Article]) -> None:
    """By the key alone, a row with two tags could come with one of them on both pages."""
    section = declare(shelf.annotate(tag=F("tags__name")), location=by("slug", "tag"), limit=1)
    assert_paths(section, listed(section))
    query = sources.source("s", section, BASE, LIMITS).items.query  # type: ignore[attr-defined]
    assert "tag" in [term.expression.name for term in query.order_by]
    assert [getattr(name, "name", name) for name in section().items().query.order_by] == ["pk", "tag"]


def test_rows_that_only_their_order_repeats_are_counted(shelf: QuerySet[Article]) -> None:
    union = shelf.filter(slug__lt="a04").union(shelf.filter(slug__gte="a03")).order_by("slug")
    for rows in (
        shelf,
        shelf.order_by("slug"),
        shelf.order_by("-tags__name"),
        shelf.annotate(n=Count("tags")).order_by("-tags__name"),
        shelf.order_by("-tags")[:9],
        union,
        union[1:9],
    ):
        assert count_rows(rows) == len(rows.all())


#: What Django cannot order by the name of a composite key.
SEATS: dict[str, Callable[[QuerySet[Seat]], Any]] = {
    "distinct": lambda rows: rows.distinct(),
    "values beside a window": lambda rows: (
        rows.annotate(n=Window(RowNumber(), order_by="-number")).filter(n__lte=4).values("row", "number")
    ),
    "a window": lambda rows: rows.annotate(n=Window(RowNumber(), order_by="-number")).filter(n__lte=4),
    "a union": lambda rows: rows.filter(row="a").union(rows.filter(row="b")),
    "a union of values": lambda rows: rows.values("row", "number").union(rows.values("row", "number")),
}


@pytest.mark.parametrize("i18n", [False, True])
@pytest.mark.parametrize("name", SEATS)
def test_rows_with_a_composite_key_are_listed_as_they_come(name: str, i18n: bool, using: str) -> None:
    for row in "ab":
        for n in (2, 1, 4):
            SeatFactory(using=using, row=row, number=n)
    section = declare(
        SEATS[name](Seat.objects.using(using)), location=by("row", "number"), i18n=i18n, languages=["en"]
    )
    assert_paths(section, listed(section))


# Slices, unions and distinct(fields) beside an aggregate.

APART: dict[str, Callable[[QuerySet[Article]], Any]] = {
    "a filter on a window": lambda rows: (
        early(rows).annotate(n=Window(RowNumber(), partition_by="published", order_by="-slug")).filter(n=1)
    ),
    "a slice": lambda rows: rows.filter(comments__pk__gt=0).order_by("pk")[:3],
    "a slice behind others": lambda rows: rows.filter(comments__pk__gt=0).order_by("pk")[2:6],
    "a union": lambda rows: rows.filter(slug__lt="a04").union(rows.filter(slug__gte="a03")),
}
AGGREGATES: dict[str, Callable[[], Any]] = {
    "Max": lambda: Max("visits__at"),
    "a filtered Max": lambda: Max("visits__at", filter=Q(visits__article__slug__gt="a05")),
    "Coalesce": lambda: Coalesce("updated", Value(OLD)),
}


def check_apart(section: Any) -> None:
    dates = Article.objects.using(section.queryset.db).annotate(made=LastmodExpression(section.lastmod))
    expected = {f"/articles/{row.slug}/": lastmod_text(row.made) for row in dates}
    for way, read in READERS.items():
        found = read(section)
        assert Counter(path for path, _ in found) == listed(section), way
        assert [lastmod for _, lastmod in found] == [expected[path] for path, _ in found], way
    newest = [lastmod for _, lastmod in found]
    assert compatible_index(section) == (None if None in newest else max(map(str, newest)))


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("name", APART)
def test_a_slice_or_a_union_with_an_aggregate_has_its_own_rows(
    name: str, aggregate: str, shelf: QuerySet[Article]
) -> None:
    check_apart(declare(APART[name](shelf), lastmod=AGGREGATES[aggregate]()))


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_distinct_fields_with_an_aggregate_have_their_own_rows_and_annotations(
    shelf: QuerySet[Article],
) -> None:
    for rows, slug in ((shelf, "slug"), (shelf.annotate(own=F("slug")), "own")):
        queryset = rows.order_by("category", "slug").distinct("category")
        location = Route("article", slug=F(slug))
        check_apart(declare(queryset, location=location, lastmod=Max("visits__at"), limit=1))


def test_an_aggregate_beside_the_own_counts_of_a_slice_covers_all_related_rows(
    shelf: QuerySet[Article],
) -> None:
    """Its own annotations join both relations, so rows of one are repeated for the other."""
    rows = shelf.annotate(own=F("slug"), m=Count("visits"), n=Count("comments", distinct=True))
    location = Route("article", slug=Concat("own", Value("-"), Cast(Count("visits"), CharField())))
    section = declare(rows.order_by("pk")[:6], location=location)
    counts = {row.slug: row.visits.count() for row in shelf.order_by("pk")[:6]}
    assert any(row.m > row.visits.count() for row in rows)
    for way, read in READERS.items():
        assert {path for path, _ in read(section)} == {
            f"/articles/{slug}-{count}/" for slug, count in counts.items()
        }, way


def test_a_slice_queries_its_lastmods_at_once(
    shelf: QuerySet[Article], using: str, django_assert_max_num_queries: Any
) -> None:
    section = declare(shelf.order_by("pk")[:10], lastmod=Max("visits__at"), limit=50)
    for read in READERS.values():
        with django_assert_max_num_queries(8, connection=connections[using]):
            assert len(read(section)) == 10


# One declaration has one lastmod.

JOINED: dict[str, Callable[[QuerySet[Article]], Any]] = {
    "distinct": lambda rows: early(rows).distinct(),
    "distinct, counted before": lambda rows: early(rows.annotate(n=Count("tags"))).distinct(),
    "distinct, counted behind": lambda rows: early(rows).distinct().annotate(n=Count("tags")),
    "filtered": early,
    "counted, one or the other": lambda rows: early(
        rows.annotate(n=Count("comments")).filter(Q(n__gt=0) | Q(category__slug="one"))
    ),
}


@pytest.mark.parametrize("hooks", [{}, {"location": by("slug")}], ids=["columns", "methods"])
@pytest.mark.parametrize("name", JOINED)
def test_an_aggregate_is_taken_of_what_the_queryset_joins(
    name: str, hooks: Any, shelf: QuerySet[Article]
) -> None:
    queryset = JOINED[name](shelf)
    section = declare(queryset, lastmod=Max("visits__at"), **hooks)
    dates = {row.slug: lastmod_text(row.made) for row in queryset.annotate(made=Max("visits__at"))}
    every = {row.slug: lastmod_text(row.made) for row in shelf.annotate(made=Max("visits__at")) if row.made}
    assert any(every[slug] != lastmod for slug, lastmod in dates.items())
    for way, read in READERS.items():
        assert {path.split("/")[-2]: lastmod for path, lastmod in read(section)} == dates, way
    assert compatible_index(section) == max(dates.values())


#: What has come twice behind a key, and failed on a request.
REPEATED: dict[str, Callable[[QuerySet[Article]], Any]] = {
    "an annotation to many beside an aggregate": lambda rows: rows.annotate(
        tag=F("tags__name"), n=Count("comments")
    ),
    "one or the other": lambda rows: rows.annotate(n=Count("comments")).filter(
        Q(n__gt=1) | Q(tags__name="a")
    ),
    "two relations": lambda rows: rows.filter(Q(tags__name="a") | Q(comments__pk__gt=0)),
}


@pytest.mark.parametrize("lastmod", [None, "visits__at"])
@pytest.mark.parametrize("name", REPEATED)
def test_rows_that_a_query_repeats_are_listed_once(
    name: str, lastmod: str | None, shelf: QuerySet[Article]
) -> None:
    section = declare(REPEATED[name](shelf), lastmod=lastmod and Max(lastmod))
    for read in (native, exported):
        assert Counter(path for path, _ in read(section)) == Counter({*listed(section)})


# extra().

EXTRA: dict[str, Callable[[QuerySet[Article]], Any]] = {
    "where": lambda rows: rows.extra(where=["tests_article.slug < 'a05'"]),
    "where, without the table": lambda rows: rows.filter(tags__name="a").extra(
        where=["slug < %s"], params=["a05"]
    ),
    "where, of a joined table": lambda rows: rows.filter(tags__name__gt="").extra(
        where=["tests_tag.name = 'a'"]
    ),
    "where, beside a count": lambda rows: (
        rows.annotate(n=Count("tags")).filter(n__gt=0).extra(where=["tests_article.slug < 'a05'"])
    ),
    "where, beside a window": lambda rows: (
        rows.annotate(n=Window(RowNumber(), order_by="slug"))
        .filter(n__lte=3)
        .extra(where=["tests_article.slug < 'a05'"])
    ),
    "tables": lambda rows: rows.extra(
        tables=["tests_visit"], where=["tests_visit.article_id = tests_article.id"]
    ),
    "tables that are joined as well": lambda rows: rows.filter(visits__pk__gt=0).extra(
        tables=["tests_visit"], where=["tests_visit.article_id = tests_article.id"]
    ),
    "select": lambda rows: (
        rows.filter(tags__name="a").distinct().extra(select={"up": "tests_article.slug"})
    ),
    "order_by": lambda rows: rows.extra(order_by=["-slug"]),
    "a slice": lambda rows: rows.extra(where=["tests_article.slug < 'a05'"]).order_by("slug")[1:4],
}


@pytest.mark.parametrize("lastmod", [F("day"), Max("visits__at")], ids=["day", "Max"])
@pytest.mark.parametrize("name", EXTRA)
def test_conditions_from_extra_are_respected(name: str, lastmod: Any, shelf: QuerySet[Article]) -> None:
    section = declare(EXTRA[name](shelf), lastmod=lastmod)
    expected = {*listed(section)}
    assert expected
    for read in (native, exported):
        assert Counter(path for path, _ in read(section)) == Counter(expected)
    assert {path for path, _ in compatible(section)} == expected


def test_an_expression_of_what_extra_selects_is_refused(shelf: QuerySet[Article]) -> None:
    section = declare(shelf.extra(select={"up": "tests_article.day"}), lastmod=F("up"))
    assert "E034" in [str(found.id)[-4:] for found in checks.check_declarations([section])]


# The lastmod in the index of the compatibility views.


@pytest.mark.parametrize("day", ["day", "updated"])
@pytest.mark.parametrize("trunc", [TruncMonth, TruncDay])
def test_the_newest_lastmod_is_converted_on_the_compatibility_views(
    trunc: Any, day: str, shelf: QuerySet[Article], using: str
) -> None:
    # MariaDB knows no other zones where its tables are not loaded.
    zone = timezone.utc if using == "mariadb" else None
    expression = trunc("day") if day == "day" else trunc(at_least(OLD), tzinfo=zone)
    section = declare(shelf, lastmod=expression, limit=50)
    lastmods = [lastmod for _, lastmod in compatible(section)]
    assert compatible_index(section) == (None if None in lastmods else max(map(str, lastmods)))


def test_a_row_without_a_lastmod_that_a_window_excludes_affects_no_lastmod(
    shelf: QuerySet[Article],
) -> None:
    """A filter of what is null would come before the window, and change its ranks."""
    first = Window(RowNumber(), partition_by="published", order_by="-slug")
    section = declare(shelf.annotate(rank=first).filter(rank=1), lastmod=F("updated"))
    lastmods = [lastmod for _, lastmod in compatible(section)]
    assert None not in lastmods
    assert compatible_index(section) == max(map(str, lastmods))


@pytest.mark.parametrize("trunc", [TruncMonth, TruncDay])
def test_no_rows_have_no_newest_lastmod(trunc: Any, using: str) -> None:
    """For which Django's Trunc() raises."""
    ArticleFactory(using=using, slug="a")
    rows = Article.objects.using(using).filter(slug__gt="a")
    section = declare(rows, lastmod=trunc(at_least(OLD), tzinfo=timezone.utc))
    assert compatible_index(section) is None


# Texts that are no time.


@pytest.mark.parametrize("value", ["10000-01-01 00:00:00", "yesterday", "2020-02-30 10:00:00"])
@pytest.mark.parametrize("using", [parameter("default")], indirect=True)
def test_an_aggregate_of_a_text_that_is_not_a_time_affects_only_its_row(
    value: str, shelf: QuerySet[Article], using: str, tmp_path: Path
) -> None:
    """Django looks for the zone of what it could not read."""
    with connections[using].cursor() as cursor:
        cursor.execute(
            "UPDATE tests_visit SET at = %s WHERE article_id = %s", [value, shelf.get(slug="a03").pk]
        )
    rest = {f"/articles/a{number:02}/" for number in range(12) if number != 3}
    plain_rows = declare(shelf, lastmod=Max("visits__at"), limit=5)
    groups = declare(
        shelf.values("slug").annotate(last=Max("visits__at")),
        location=lambda _, item: f"/articles/{item['slug']}/",
        lastmod=last,
        limit=5,
    )
    for section in (plain_rows, groups):
        for read in (native, exported):
            assert {path for path, _ in read(section)} == rest
        request = RequestFactory().get("/sitemap.xml")
        index = views.sitemap_index(request, sitemaps={"a": section, "b": declare(shelf)}).content
        assert {path[len("/sitemap-")] for path, _ in entries(index)} == {"a", "b"}
        for _ in range(2):
            report = export(sitemaps={"s": section}, output=tmp_path, changed_only=True)
            assert not report.failures


# Keys that the database makes.


def test_a_generated_column_can_be_the_key(using: str) -> None:
    for number in (9, 2, 100, 30, 4):
        InvoiceFactory(using=using, number=number)
    section = declare(Invoice.objects.using(using), key="serial", location=by("serial"))
    assert [*checks.check_declarations([section])] == []
    assert_paths(section, listed(section))
    assert isinstance(sources.source("s", section, BASE, LIMITS), sources.QuerySource)


# Cursors.


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_a_row_that_cannot_be_made_leaves_no_cursor_of_the_server_open(
    shelf: QuerySet[Article], using: str
) -> None:
    rows = Stubborn.objects.using(using).filter(tags__pk__gt=0)
    with no_cursor_left(using), pytest.raises(ValueError, match="stored"):
        list(iterate_unordered(rows, 2))


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_rows_that_are_not_read_to_the_end_leave_no_server_side_cursor_open(
    shelf: QuerySet[Article], using: str
) -> None:
    def stop(_: object, item: Any) -> Any:
        raise TypeError("contrib gives up the lastmod of the section")

    section = declare(shelf.filter(tags__pk__gt=0), lastmod=stop)()
    with no_cursor_left(using):
        assert section.get_latest_lastmod() is None


# Replicas.


@pytest.mark.parametrize("using", [parameter("default")], indirect=True)
def test_a_section_is_read_from_one_replica(using: str, replica: Any) -> None:
    for number in range(9):
        ArticleFactory(using="default", slug=f"a{number}")
    querysets: list[Any] = [
        Article.objects.all(),
        Article.objects.order_by("slug")[:7],
        Article.objects.values("slug"),
        Article.objects.filter(slug__lt="a4").union(Article.objects.filter(slug__gt="a6")),
    ]
    for queryset in querysets:
        section = declare(queryset, location=by("slug"), limit=2)
        source = sources.source("s", section, BASE, LIMITS)
        used = source.members.rows if isinstance(source, sources.QuerySource) else source.items  # type: ignore[attr-defined]
        assert len({used.db for _ in range(4)}) == 1
        paginator = section().paginator
        assert {paginator.object_list.db for _ in range(4)} == {paginator.counted_items.db}
