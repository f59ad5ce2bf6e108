"""All forms of querysets: joined, sliced, grouped, combined, and with rows that are not instances."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple
from unittest import mock

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    FilteredRelation,
    Max,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Value,
    When,
    Window,
)
from django.db.models.functions import Lower, RowNumber
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from django_sitemaps09 import Route
from django_sitemaps09.exceptions import KeyOrderError
from django_sitemaps09.pages import Page
from django_sitemaps09.sources import slices
from django_sitemaps09.sources.keys import KeyColumns
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.queryset import QuerySource
from tests.models import Article, Comment, Recent, Tag
from tests.support import batches
from tests.support.databases import parameter
from tests.support.sources import (
    BASE,
    COLUMNS,
    METHODS,
    compiled,
    declaration,
    errors,
    keys_of,
    listing,
    locations,
    page_map,
    rendered,
)

pytestmark = pytest.mark.usefixtures("cached_site")


class Case_(NamedTuple):
    """A queryset, and how it is read for columns and for methods. `once` is true if a join repeats rows."""

    build: Callable[[QuerySet[Any]], Any]
    columns: type = QuerySource
    methods: type = QuerySource
    once: bool = False


RANK = Window(RowNumber(), partition_by="category", order_by=["-day"])

QUERYSETS = {
    "all": Case_(lambda rows: rows),
    "filter": Case_(lambda rows: rows.filter(published=True)),
    "none": Case_(lambda rows: rows.none()),
    "an empty list": Case_(lambda rows: rows.filter(pk__in=[])),
    "an order": Case_(lambda rows: rows.order_by("-day")),
    "an order over a relation": Case_(lambda rows: rows.order_by("category__slug", "-pk")),
    "an order by chance": Case_(lambda rows: rows.order_by("?")),
    "reverse": Case_(lambda rows: rows.order_by("pk").reverse()),
    "the order of a proxy": Case_(lambda rows: Recent.objects.using(rows.db)),
    "the reversed order of a proxy": Case_(lambda rows: Recent.objects.using(rows.db).reverse()),
    "only": Case_(lambda rows: rows.only("slug")),
    "defer": Case_(lambda rows: rows.defer("slug", "updated")),
    "select_related": Case_(lambda rows: rows.select_related("category")),
    "prefetch_related": Case_(lambda rows: rows.prefetch_related("tags")),
    "a foreign key": Case_(lambda rows: rows.filter(category__slug="c1")),
    "no foreign key": Case_(lambda rows: rows.filter(category__slug__isnull=True)),
    "a reverse foreign key": Case_(lambda rows: rows.filter(comments__pk__gt=0), once=True),
    "no reverse foreign key": Case_(lambda rows: rows.filter(comments=None)),
    "many to many": Case_(lambda rows: rows.filter(tags__name__in=["a", "b"]), once=True),
    "many to many, deferred": Case_(
        lambda rows: rows.filter(tags__pk__gt=0).only("slug", "category").select_related("category"),
        once=True,
    ),
    "either relation": Case_(
        lambda rows: rows.filter(Q(tags__name="a") | Q(comments__pk__gt=0)), once=True
    ),
    "not many to many": Case_(lambda rows: rows.exclude(tags__name="a")),
    "distinct": Case_(lambda rows: rows.filter(tags__name__in=["a", "b"]).distinct()),
    "distinct and ordered": Case_(lambda rows: rows.filter(tags__pk__gt=0).distinct().order_by("-day")),
    "exists": Case_(lambda rows: rows.filter(Exists(Comment.objects.filter(article=OuterRef("pk"))))),
    "an aggregate": Case_(lambda rows: rows.annotate(n=Count("comments")).filter(n__gt=0)),
    "an aggregate of a join": Case_(
        lambda rows: rows.filter(tags__name__in=["a", "b"]).annotate(n=Count("comments")).filter(n__gt=1)
    ),
    "an aggregate before a join": Case_(
        lambda rows: rows.annotate(n=Count("comments", distinct=True)).filter(n__gt=0, tags__name="a")
    ),
    "a filtered relation": Case_(
        lambda rows: rows.alias(
            written=FilteredRelation("comments", condition=Q(comments__pk__gt=0))
        ).filter(written__isnull=False),
        once=True,
    ),
    "another table": Case_(lambda rows: rows.extra(tables=["tests_tag"]), once=True),
    "a window": Case_(lambda rows: rows.annotate(rank=RANK).filter(rank__lte=3), methods=PositionSource),
    "a window of an alias": Case_(lambda rows: rows.alias(rank=RANK).filter(rank__lte=3)),
    "a window of a join": Case_(
        lambda rows: rows.filter(category__slug="c1").annotate(rank=RANK).filter(rank=1),
        methods=PositionSource,
    ),
    "a slice": Case_(lambda rows: rows.order_by("-slug")[2:9], PositionSource, PositionSource),
    "a slice without an end": Case_(lambda rows: rows.order_by("day")[3:], PositionSource, PositionSource),
    "a union": Case_(
        lambda rows: rows.filter(pk__lt=9).union(rows.filter(pk__gt=20)), PositionSource, PositionSource
    ),
    "an ordered union": Case_(
        lambda rows: rows.filter(pk__lt=9).union(rows.filter(pk__gt=20)).order_by("-slug"),
        PositionSource,
        PositionSource,
    ),
    "a slice of a union": Case_(
        lambda rows: rows.filter(pk__lt=9).union(rows.filter(pk__gt=6)).order_by("-slug")[:9],
        PositionSource,
        PositionSource,
    ),
    "a difference": Case_(
        lambda rows: rows.difference(rows.filter(published=False)), PositionSource, PositionSource
    ),
    "an intersection": Case_(
        lambda rows: rows.filter(published=True).intersection(rows.filter(pk__gt=9)),
        PositionSource,
        PositionSource,
    ),
}


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("name", QUERYSETS)
def test_the_rows_of_all_pages_are_those_of_the_queryset(name: str, articles: QuerySet[Article]) -> None:
    """Columns and methods give the same bytes."""
    case = QUERYSETS[name]
    queryset = case.build(articles)
    paths = [reverse("article", kwargs={"slug": row.slug}) for row in case.build(articles)]
    expected = Counter(f"{BASE}{path}" for path in (set(paths) if case.once else paths))
    texts = []
    for hooks, kind in ((COLUMNS, case.columns), (METHODS, case.methods)):
        source = compiled(declaration(queryset=queryset, limit=5, **hooks))
        assert type(source) is kind
        done = rendered(source)
        assert Counter(locations(done)) == expected
        assert errors(done) == []
        assert all(0 < part.written.urls <= 5 for part in done)
        assert len(done) == -(-sum(expected.values()) // 5)
        texts.append([(part.page.number, part.text) for part in done])
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", [name for name in QUERYSETS if QUERYSETS[name].columns is QuerySource])
def test_a_page_of_any_queryset_is_read_without_an_offset(
    name: str, articles: QuerySet[Article], using: str
) -> None:
    source = compiled(declaration(queryset=QUERYSETS[name].build(articles), limit=3, **COLUMNS))
    with CaptureQueriesContext(connections[using]) as cutting:
        found = page_map(source)
    offset_queries = [query["sql"] for query in cutting if "OFFSET" in query["sql"]]
    assert len(offset_queries) == len(found)
    # Only the key is selected, so that skipped rows cost little.
    selected = {re.sub(r'["`]', "", sql).partition(" FROM ")[0] for sql in offset_queries}
    assert selected <= {"SELECT tests_article.id AS pk"}
    for page in found:
        with CaptureQueriesContext(connections[using]) as reading:
            keys_of(source, page)
        # A window function uses all rows, so their keys are read once for each page, not for each slice.
        assert len(reading) == (2 if name.startswith("a window") else 1)
        assert not any("OFFSET" in query["sql"] for query in reading)


@pytest.mark.usefixtures("small_slices")
def test_rows_that_are_not_instances_are_read_by_position(articles: QuerySet[Article]) -> None:
    expected = [f"{BASE}/articles/{row.slug}/" for row in articles.order_by("day")]
    rows = articles.order_by("day")
    readers: list[tuple[QuerySet[Any], Callable[[Any], str]]] = [
        (rows.values("slug"), lambda row: row["slug"]),
        (rows.values_list("slug"), lambda row: row[0]),
        (rows.values_list("slug", flat=True), lambda row: row),
        (rows.values_list("slug", named=True), lambda row: row.slug),
    ]
    for queryset, slug in readers:
        hook = lambda self, row, slug=slug: f"/articles/{slug(row)}/"  # noqa: E731
        source = compiled(declaration(queryset=queryset, location=hook, limit=4))
        assert isinstance(source, PositionSource)
        done = rendered(source)
        assert locations(done) == expected
        assert [part.written.urls for part in done] == [4, 4, 4, 2]
    raw = articles.raw("SELECT * FROM tests_article ORDER BY day DESC")
    for section in (declaration(get_queryset=lambda self: raw, **METHODS), listing(raw, **METHODS)):
        source = compiled(section)
        assert isinstance(source, PositionSource)
        assert locations(rendered(source)) == expected[::-1]
    source = compiled(declaration(queryset=rows.values("slug"), location=COLUMNS["location"], limit=4))
    assert locations(rendered(source)) == expected


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_distinct_on_fields_needs_no_order(articles: QuerySet[Article]) -> None:
    source = compiled(declaration(queryset=articles.distinct("published"), **COLUMNS))
    assert len(locations(rendered(source))) == 2


def test_a_column_that_uses_other_rows_uses_all_of_them(articles: QuerySet[Article]) -> None:
    newest = max(row.updated for row in articles if row.updated)
    source = compiled(
        declaration(queryset=articles, limit=3, **{**COLUMNS, "lastmod": Window(Max("updated"))})
    )
    assert isinstance(source, PositionSource)
    done = rendered(source)
    assert Counter(locations(done)) == Counter(f"{BASE}/articles/{row.slug}/" for row in articles)
    assert {part.written.lastmod for part in done} == {f"{newest:%Y-%m-%dT%H:%M:%SZ}"}


@pytest.mark.parametrize(
    "prepare",
    [
        lambda rows: rows.prefetch_related("tags"),
        lambda rows: rows.prefetch_related(Prefetch("tags", Tag.objects.order_by("-name"))),
        lambda rows: rows.filter(tags__pk__gt=0).distinct().prefetch_related("tags"),
        lambda rows: rows.annotate(n=Count("comments")).filter(n__gt=0).prefetch_related("tags"),
        lambda rows: rows.order_by("day")[:10].prefetch_related("tags"),
    ],
    ids=["names", "objects", "distinct", "aggregate", "slice"],
)
def test_prefetched_rows_for_methods_need_no_query_for_each_item(
    articles: QuerySet[Article], using: str, prepare: Callable[[Any], Any]
) -> None:
    hook = lambda self, item: f"/{item.slug}/{'-'.join(tag.name for tag in item.tags.all())}/"  # noqa: E731
    source = compiled(declaration(queryset=prepare(articles), location=hook))
    (page,) = page_map(source)
    with CaptureQueriesContext(connections[using]) as captured:
        found = batches.locations(source.batches(page))
    assert len(captured) == 2
    assert len(found) > 5


@pytest.mark.parametrize("distinct", [False, True])
def test_selected_relations_need_no_query_for_each_item(
    articles: QuerySet[Article], using: str, distinct: bool
) -> None:
    queryset = articles.filter(category__isnull=False).select_related("category").only("category__slug")
    source = compiled(
        declaration(
            queryset=queryset.distinct() if distinct else queryset,
            location=lambda self, item: f"/{item.category.slug}/{item.pk}/",
        )
    )
    (page,) = page_map(source)
    with CaptureQueriesContext(connections[using]) as captured:
        assert len(keys_of(source, page)) == 13
    assert len(captured) == 1


def test_no_instance_is_made_if_no_hook_takes_the_item(articles: QuerySet[Article]) -> None:
    source = compiled(declaration(queryset=articles, **COLUMNS))
    with mock.patch.object(Article, "from_db", side_effect=AssertionError("an instance was made")):
        assert len(locations(rendered(source))) == 14


def test_methods_get_items_of_the_database_of_the_queryset(articles: QuerySet[Article], using: str) -> None:
    seen = set()
    hook = lambda self, item: f"/{seen.add(item._state.db) or item.pk}/"  # noqa: E731
    rendered(compiled(declaration(queryset=articles.filter(tags__pk__gt=0), location=hook)))
    assert seen == {using}


# The key must increase.


def test_a_slice_that_begins_with_the_key_of_the_one_before_is_an_error(
    articles: QuerySet[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "SLICE", 2)
    monkeypatch.setattr(slices, "COLUMNS_SLICE", 2)
    monkeypatch.setattr(KeyColumns, "filter_range", lambda self, rows, after, until: rows)
    source = compiled(declaration(queryset=articles, **COLUMNS))
    batches = source.batches(Page(1, ("2",), None))
    with pytest.raises(KeyOrderError):
        next(batches)


@pytest.mark.parametrize(
    "attributes",
    [
        {"lastmod": F("visits__at")},
        {"location": Route("article", slug=F("tags__name"))},
        {"priority": Case(When(comments__pk__gt=0, then=Value(0.5)))},
        {"changefreq": Lower("tags__name")},
        # Grouped by the tag, each article would occur once for each tag.
        {"queryset": Article.objects.annotate(n=Count("comments")), "lastmod": F("tags__pk")},
        {"queryset": Article.objects.annotate(n=Count("comments")), **METHODS, "lastmod": F("tags__pk")},
    ],
    ids=["lastmod", "location", "priority", "changefreq", "a grouped queryset", "methods"],
)
def test_an_expression_over_a_relation_to_many_is_refused_with_the_way_out(
    attributes: dict[str, Any],
) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Declared.*multi-valued relation.*Max\(\).*method"):
        compiled(declaration(**{"model": Article, **COLUMNS, **attributes}))
