"""A page is read with the fingerprint of exactly the rows that it contains."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest
from django.db import DatabaseError, connections, transaction
from django.db.models import DateTimeField, QuerySet, Value, Window
from django.db.models.functions import Cast, RowNumber

from django_sitemaps09.pages import Fingerprint, Page
from django_sitemaps09.sources import QuerySource, cannot_snapshot, read_page
from tests.models import Article
from tests.support.databases import SERVERS, parameter
from tests.support.sources import (
    COLUMNS,
    LIMITS,
    METHODS,
    NOON,
    Kind,
    articles,
    compiled,
    declaration,
    kind,
    listing,
    page_map,
    small_slices,
    source_of,
)
from tests.support.vanishing import KEYS, Table, table

__all__ = ["articles", "kind", "small_slices", "table"]

pytestmark = pytest.mark.usefixtures("small_slices")
ALL = Page(1, None, None)
COMMITTING = [parameter(alias, transaction=True) for alias in SERVERS]
#: Databases that can store a time which Python cannot represent.
UNREADABLE = [parameter("default"), parameter("postgresql", transaction=True)]


@pytest.fixture
def using(snapshot_using: str) -> str:
    return snapshot_using


def read(source: Any, page: Page = ALL) -> tuple[Fingerprint | None, list[Any], int]:
    """Return the fingerprint, the keys and the number of skipped rows."""
    with read_page(source, page) as rows:
        batches = list(rows.batches)
    errors = sum(len(batch.errors) for batch in batches)
    return rows.fingerprint, [key for batch in batches for key in batch.keys], errors


class TestTheFingerprint:
    def test_is_that_of_the_range_for_each_kind_of_key(self, kind: Kind, using: str) -> None:
        source = source_of(kind, using, limit=10, lastmod=Cast(Value(NOON), DateTimeField()))
        pages = page_map(source).pages
        assert len(pages) > 1
        for page in pages:
            fingerprint, keys, _ = read(source, page)
            assert fingerprint == source.fingerprint(page.after, page.until)
            assert fingerprint is not None
            assert fingerprint.rows == len(keys) > 0

    @pytest.mark.parametrize(
        "build",
        [
            lambda rows: rows.annotate(n=Window(RowNumber(), order_by="-pk")).filter(n__gt=3),
            lambda rows: rows.filter(pk__in=[]),
            lambda rows: rows.filter(pk=-1),
        ],
        ids=["a window", "none", "no match"],
    )
    def test_is_that_of_the_rows_of_a_window_and_of_no_rows(
        self, articles: QuerySet[Article], build: Callable[[Any], Any]
    ) -> None:
        source = compiled(declaration(queryset=build(articles), **COLUMNS))
        fingerprint, keys, _ = read(source)
        assert fingerprint == source.fingerprint(None, None)
        assert fingerprint is not None
        assert fingerprint.rows == len(keys)

    @pytest.mark.parametrize("snapshot_using", UNREADABLE, indirect=True)
    def test_counts_rows_with_an_unreadable_lastmod(self, articles: QuerySet[Article], using: str) -> None:
        text = "infinity" if connections[using].vendor == "postgresql" else "2026-02-30 00:00:00"
        with connections[using].cursor() as cursor:
            cursor.execute("UPDATE tests_article SET updated = %s WHERE id = 8", [text])
        source = compiled(declaration(queryset=articles, **COLUMNS))
        fingerprint, keys, skipped = read(source)
        assert fingerprint == source.fingerprint(None, None)
        assert fingerprint is not None
        assert (fingerprint.rows, len(keys), skipped) == (14, 13, 1)

    def test_is_unknown_if_hooks_are_methods_or_items_are_listed(self, articles: QuerySet[Article]) -> None:
        for section, count in (
            (declaration(queryset=articles, **METHODS), 14),
            (listing(["a", "b"]), 2),
        ):
            source = compiled(section)
            page = page_map(source).pages[0]
            assert (read(source, page)[0], len(read(source, page)[1])) == (None, count)

    def test_is_not_read_if_nobody_needs_it(
        self, articles: QuerySet[Article], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(QuerySource, "fingerprint", lambda *_: pytest.fail("it was read"))
        source = compiled(declaration(queryset=articles, **COLUMNS))
        with read_page(source, ALL, needs_fingerprint=False) as rows:
            assert rows.fingerprint is None
            assert sum(len(batch.keys) for batch in rows.batches) == 14

    def test_is_unknown_if_the_database_does_not_compute_it_and_the_rows_are_read(
        self, articles: QuerySet[Article], using: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """On PostgreSQL, a transaction with a failed query cannot be continued."""

        def fail(source: QuerySource, *bounds: Any) -> None:
            with connections[using].cursor() as cursor:
                cursor.execute("SELECT no_such_column FROM tests_article")

        monkeypatch.setattr(QuerySource, "fingerprint", fail)
        source = compiled(declaration(queryset=articles, **COLUMNS))
        fingerprint, keys, _ = read(source)
        assert (fingerprint, len(keys)) == (None, 14)


def test_rows_that_vanish_and_come_back_never_leave_a_part_with_the_fingerprint_of_all(
    table: Table,
) -> None:
    source = compiled(table.section(), LIMITS)
    with table.vanishing(None):
        whole, keys, _ = read(source)
    assert tuple(keys) == KEYS
    count = table.statements
    assert count >= 5
    incomplete = 0
    for first, last in combinations(range(1, count + 2), 2):
        with table.vanishing(first, last):
            fingerprint, keys, _ = read(source)
        assert fingerprint is not None
        assert (fingerprint == whole) == (tuple(keys) == KEYS), (first, last)
        assert fingerprint.rows == len(keys)
        incomplete += tuple(keys) != KEYS
    # Rows were missing if they vanished before the snapshot, and were not yet back when it was taken.
    assert 0 < incomplete < count * 2


class TestATransactionOfTheCaller:
    def test_is_a_snapshot_on_sqlite_only(self, articles: QuerySet[Article], using: str) -> None:
        source = compiled(declaration(queryset=articles, **COLUMNS))
        with transaction.atomic(using=using):
            fingerprint, keys, _ = read(source)
            assert connections[using].in_atomic_block
            is_unknown = cannot_snapshot(using)
        assert len(keys) == 14
        assert (fingerprint is None) == is_unknown == (using != "default")

    @pytest.mark.parametrize("snapshot_using", COMMITTING, indirect=True)
    def test_without_autocommit_is_left_open(self, articles: QuerySet[Article], using: str) -> None:
        connection = connections[using]
        source = compiled(declaration(queryset=articles, **COLUMNS))
        connection.set_autocommit(False)
        try:
            assert read(source)[0] is None
            assert not connection.get_autocommit()
        finally:
            connection.rollback()
            connection.set_autocommit(True)


class TestASnapshot:
    @pytest.mark.parametrize("fails", [False, True])
    def test_ends_with_the_block(self, table: Table, *, fails: bool) -> None:
        connection = connections[table.using]
        source = compiled(table.section())
        try:
            with read_page(source, ALL) as rows:
                next(rows.batches)
                assert not connection.get_autocommit()
                if fails:
                    raise DatabaseError("the disk is full")
        except DatabaseError:
            assert fails
        assert connection.get_autocommit()
        assert not connection.in_atomic_block
        assert read(source)[1] == list(KEYS)

    def test_keeps_what_its_block_writes(self, table: Table) -> None:
        """For example, by a storage that keeps files in the same database."""
        with read_page(compiled(table.section()), ALL) as rows:
            list(rows.batches)
            table.articles.filter(pk=1).update(slug="written")
        assert Article.objects.using("writer").get(pk=1).slug == "written"
