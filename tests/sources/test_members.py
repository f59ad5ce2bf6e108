"""The work of a database for each form of queryset: SQLite counts the steps of its virtual machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, connections
from django.db.models import BigIntegerField, Count, F, Max, QuerySet, Window
from django.db.models.functions import RowNumber
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import ModelSitemap, sources
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.sources import members
from django_sitemaps09.sources.keys import KeyColumns
from tests.models import Article, Category, Comment, Ticket, Word
from tests.support.sources import page_map, set_slices

pytestmark = pytest.mark.usefixtures("cached_site")

Rows = QuerySet[Any]
EVERYTHING = Page(1, None, None)

#: An expression that rows are grouped by.
NEWEST = "a lastmod that is an aggregate"
FORMS: dict[str, Callable[[Rows], Rows]] = {
    "plain": lambda rows: rows,
    "a bound of its own": lambda rows: rows.filter(pk__gte=1),
    "a relation to one row": lambda rows: rows.exclude(category__slug=""),
    "a relation to many rows": lambda rows: rows.filter(comments__isnull=False),
    "a relation to many rows, and distinct()": lambda rows: rows.filter(comments__isnull=False).distinct(),
    NEWEST: lambda rows: rows,
    "an aggregate": lambda rows: rows.annotate(n=Count("comments")).filter(n__gte=1),
}
WINDOW = {
    "a window": lambda rows: rows.alias(
        place=Window(RowNumber(), partition_by=F("category"), order_by="pk")
    ).filter(place__gte=1)
}


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    set_slices(monkeypatch, 20)


def fill(count: int, using: str = "default", apart: int = 1, comments: int = 2) -> None:
    """Create articles with comments, and their categories."""
    Category.objects.using(using).bulk_create(Category(pk=n, slug=f"c{n}") for n in range(1, 4))
    numbers = range(apart, count * apart + 1, apart)
    Article.objects.using(using).bulk_create(
        Article(pk=n, slug=f"a{n}", category_id=n % 3 + 1) for n in numbers
    )
    Comment.objects.using(using).bulk_create(
        Comment(article_id=n) for n in numbers for _ in range(comments)
    )


def source_of(rows: Rows, limit: int, **attributes: Any) -> Any:
    declared = {"queryset": rows, "location": "/", "lastmod": F("updated"), **attributes}
    section = type("Declared", (ModelSitemap,), declared)
    return sources.source("things", section, Base("https", "www.example.com"), Limits(limit, 10_485_760))


def declared(name: str, using: str, limit: int) -> Any:
    rows = {**FORMS, **WINDOW}[name](Article.objects.using(using))
    newest = Max("comments__article__updated") if name == NEWEST else F("updated")
    return source_of(rows, limit, lastmod=newest)


def keys_of(source: Any, page: Page) -> list[Any]:
    return [key for batch in source.batches(page) for key in batch.keys]


@contextmanager
def steps(every: int = 100) -> Iterator[list[int]]:
    """Yield a list with the number of steps that SQLite takes in the block. It reports them by hundreds."""
    found = [0]

    def count() -> None:
        found[0] += every

    connection.ensure_connection()
    connection.connection.set_progress_handler(count, every)
    try:
        yield found
    finally:
        connection.connection.set_progress_handler(None, every)


def steps_to_read(name: str, count: int, limit: int) -> int:
    """Return the steps to divide, count, date and read all pages."""
    Category.objects.all().delete()
    fill(count)
    source = declared(name, "default", limit)
    with steps() as found:
        pages = page_map(source, Limits(limit, 10_485_760))
        keys = [key for page in pages for key in keys_of(source, page)]
        for page in pages:
            source.look(page)
            source.count(page.after, page.until, limit)
    assert len({*keys}) == len(keys) == count
    return found[0]


class TestTwiceTheRowsAreTwiceTheSteps:
    @pytest.mark.parametrize("name", FORMS)
    def test_on_pages_of_the_same_size(self, db: None, name: str) -> None:
        once = steps_to_read(name, 400, 100)
        assert steps_to_read(name, 800, 100) < 2.5 * once

    @pytest.mark.parametrize("name", [*FORMS, *WINDOW])
    def test_on_a_page_of_twice_the_size(self, db: None, name: str) -> None:
        once = steps_to_read(name, 400, 10_000)
        assert steps_to_read(name, 800, 10_000) < 2.5 * once


@pytest.mark.parametrize("name", FORMS)
def test_keys_that_are_far_apart_need_only_a_few_more_queries(using: str, name: str) -> None:
    fill(30, using, apart=1_000_003)
    source = declared(name, using, 10_000)
    for page, most in ((EVERYTHING, 12), (Page(1, ("1000003",), ("29000087",)), 12)):
        with CaptureQueriesContext(connections[using]) as captured:
            found = keys_of(source, page)
        assert len(found) == (30 if page is EVERYTHING else 28)
        assert found == sorted(found)
        assert len(captured) <= most


def test_a_few_rows_of_many_are_found_without_a_look_at_each(db: None) -> None:
    fill(2_000, comments=0)
    Comment.objects.bulk_create(Comment(article_id=n) for n in (3, 1_000, 1_999))
    source = source_of(Article.objects.filter(comments__isnull=False), 10_000)
    with CaptureQueriesContext(connection) as captured, steps(10) as found:
        assert keys_of(source, EVERYTHING) == [3, 1_000, 1_999]
    assert len(captured) == 1
    assert found[0] < 1_000


def test_a_few_rows_of_twice_as_many_take_no_more_time(db: None) -> None:
    spent = []
    for count in (2_000, 4_000):
        Category.objects.all().delete()
        fill(count, comments=0)
        Comment.objects.bulk_create(Comment(article_id=count - n) for n in range(3))
        source = source_of(Article.objects.filter(comments__isnull=False), 10)
        with steps(10) as found:
            assert not source.is_empty()
            assert len(source.sample().keys) == 3
            [page] = page_map(source, Limits(10, 10_485_760))
            assert len(keys_of(source, page)) == 3
        spent.append(found[0])
    assert spent[1] < 1.5 * spent[0]


@pytest.mark.parametrize("name", FORMS)
def test_rows_after_a_gap_are_read_like_those_before_it(db: None, name: str) -> None:
    spent = []
    for count in (400, 800):
        Category.objects.all().delete()
        fill(30)
        Article.objects.bulk_create(
            Article(pk=10**9 + n, slug=f"b{n}", category_id=1) for n in range(count)
        )
        Comment.objects.bulk_create(Comment(article_id=10**9 + n) for n in range(count))
        source = declared(name, "default", 10_000)
        with steps() as found:
            assert len(keys_of(source, EVERYTHING)) == 30 + count
        spent.append(found[0])
    assert spent[1] < 2.5 * spent[0]


def test_no_key_is_computed_if_a_project_converts_its_values() -> None:
    class Scrambled(BigIntegerField):  # type: ignore[type-arg]
        def from_db_value(self, value: int, *_: Any) -> int:
            return value ^ 0b1010101

    for field, is_integer in ((BigIntegerField(), True), (Scrambled(), False)):
        key = KeyColumns("default", "pk", (field,))
        assert key.is_integer is is_integer
        assert key.is_ordered_plainly is is_integer


def words(using: str, count: int) -> Rows:
    Word.objects.using(using).bulk_create(Word(word=f"w{n:03}") for n in range(count))
    ranked = Window(RowNumber(), order_by="pk")
    return Word.objects.using(using).alias(place=ranked).filter(place__gt=3)


def tickets(using: str, count: int) -> Rows:
    Category.objects.using(using).bulk_create(Category(pk=n, slug=f"c{n}") for n in range(1, 4))
    Ticket.objects.using(using).bulk_create(Ticket(category_id=n % 3 + 1, number=n) for n in range(count))
    ranked = Window(RowNumber(), order_by="number")
    return Ticket.objects.using(using).alias(place=ranked).filter(place__gt=3)


@pytest.mark.parametrize("limit", ["LISTED", "max_query_params"])
@pytest.mark.parametrize("rows", [words, tickets])
@pytest.mark.parametrize("lastmod", [None, lambda self, item: None], ids=["columns", "instances"])
def test_a_list_of_keys_is_not_longer_than_a_query_may_be(
    using: str, rows: Callable[[str, int], Rows], lastmod: Any, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if limit == "LISTED":
        monkeypatch.setattr(members, "LISTED", 9)
    else:
        # These are properties in Django 6.1. An instance caches one of them.
        features = connections[using].features
        monkeypatch.delitem(vars(features), "max_query_params", raising=False)
        monkeypatch.setattr(type(features), "max_query_params", 20)
    written = rows(using, 50)
    source = source_of(written, 10_000, lastmod=lastmod)
    expected = {row.pk for row in written}
    assert len(expected) == 47
    with CaptureQueriesContext(connections[using]) as captured:
        found = keys_of(source, EVERYTHING)
    assert {*found} == expected
    assert len(found) == 47
    # The number of keys, and of keys in a query: 9 or 18 values.
    most = 9 if limit == "LISTED" else 18 // len(source.members.key.names)
    assert len(captured) == 1 + -(-47 // most)
