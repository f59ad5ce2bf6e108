"""The fingerprint of a page is that of exactly the rows that were read for it."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from itertools import combinations
from typing import Any
from unittest import mock
from uuid import UUID

import pytest
from django.db import connections, transaction
from django.db.models import (
    BooleanField,
    CharField,
    DateTimeField,
    DurationField,
    ExpressionWrapper,
    F,
    FloatField,
    JSONField,
    Max,
    Q,
    QuerySet,
    Value,
)
from django.db.models.functions import Cast, Collate, TruncDay
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import PathTemplate
from django_sitemaps09.pages import Fingerprint, Page
from django_sitemaps09.sources import read_page
from django_sitemaps09.sources.fingerprints import RowHash, StoredColumn
from tests.models import Article, Document, Name, Reading, Visit
from tests.support.databases import parameter
from tests.support.factories import ArticleFactory, CategoryFactory
from tests.support.sources import (
    COLUMNS,
    LIMITS,
    METHODS,
    NOON,
    UTC,
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
NOW = Cast(Value(NOON), DateTimeField())
COLLATIONS = {"sqlite": "NOCASE", "postgresql": "C", "mysql": "utf8mb4_bin"}
TYPES: list[Any] = [
    *map(
        F, ("pk", "slug", "category__slug", "category_id", "published", "updated", "day", "weight", "code")
    ),
    F("weight") * 3,
    F("id") * -7,
    -F("weight") / 3,
    Cast("weight", FloatField()),
    ExpressionWrapper(Q(weight__gt=0), output_field=BooleanField()),
    TruncDay("updated", tzinfo=UTC),
    Max("visits__at"),
    Value({"a": [1, None]}, JSONField()),
    Value(timedelta(days=-1, microseconds=3), DurationField()),
    Cast("category_id", CharField()),
]
#: Databases that can store a time which Python cannot represent.
UNREADABLE = [parameter("default"), parameter("postgresql")]


def read(source: Any, page: Page = ALL) -> tuple[Fingerprint | None, list[Any], int]:
    """Return the fingerprint, the keys and the number of skipped rows."""
    with read_page(source, page) as rows:
        batches = list(rows.batches)
    errors = sum(len(batch.errors) for batch in batches)
    return rows.fingerprint, [key for batch in batches for key in batch.keys], errors


def assert_same(source: Any, page: Page = ALL) -> Fingerprint:
    """Assert that a page has the fingerprint with which the next run compares it, and return it."""
    fingerprint, keys, errors = read(source, page)
    current = source.fingerprint(page.after, page.until)
    assert fingerprint is not None
    assert fingerprint.same(current), (fingerprint, current)
    assert (fingerprint.rows, errors) == (len(keys), 0)
    return fingerprint


def of_columns(rows: QuerySet[Any], *columns: Any, lastmod: Any = NOW) -> Any:
    path = "/" + "/".join(f"{{column{n}}}" for n in range(len(columns)))
    parts = {f"column{n}": column for n, column in enumerate(columns)}
    return compiled(declaration(queryset=rows, location=PathTemplate(path, **parts), lastmod=lastmod))


class TestTheFingerprint:
    def test_is_that_of_the_range_for_each_kind_of_key(self, kind: Kind, using: str) -> None:
        source = source_of(kind, using, limit=10, lastmod=NOW)
        pages = page_map(source)
        found = [source.fingerprint(page.after, page.until) for page in pages]
        assert len({fingerprint.hash for fingerprint in found}) == len(pages) > 1
        for some in (pages, pages[1:-1], pages[::2], pages[1::2]):
            expected = [source.fingerprint(page.after, page.until) for page in some]
            assert list(source.fingerprints(some)) == expected
        for page in pages:
            assert assert_same(source, page)[:2] == (10 if page.until else mock.ANY, "2026-01-01T12:00:00Z")

    @pytest.mark.parametrize("using", UNREADABLE, indirect=True)
    def test_is_unknown_if_a_row_is_unreadable(self, articles: QuerySet[Article], using: str) -> None:
        text = "infinity" if connections[using].vendor == "postgresql" else "2026-02-30 00:00:00"
        with connections[using].cursor() as cursor:
            cursor.execute("UPDATE tests_article SET updated = %s WHERE id = 8", [text])
        source = compiled(declaration(queryset=articles, **COLUMNS))
        fingerprint, keys, skipped = read(source)
        assert (fingerprint, len(keys), skipped) == (None, 13, 1)
        assert source.fingerprint(None, None).rows == 14

    def test_is_unknown_if_hooks_are_methods_or_items_are_listed(self, articles: QuerySet[Article]) -> None:
        for section, count in ((declaration(queryset=articles, **METHODS), 14), (listing(["a", "b"]), 2)):
            source = compiled(section)
            page = page_map(source)[0]
            assert (read(source, page)[0], len(read(source, page)[1])) == (None, count)

    def test_needs_no_further_query_and_no_transaction(
        self, articles: QuerySet[Article], using: str
    ) -> None:
        source = compiled(declaration(queryset=articles, **COLUMNS))
        with CaptureQueriesContext(connections[using]) as alone:
            list(source.batches(ALL))
        with CaptureQueriesContext(connections[using]) as together:
            assert read(source)[0] is not None
        assert len(together) == len(alone) > 1
        assert all(query["sql"].startswith("SELECT") for query in together)

    def test_is_not_made_if_nobody_needs_it(self, articles: QuerySet[Article]) -> None:
        source = compiled(declaration(queryset=articles, **COLUMNS))
        with (
            mock.patch.object(RowHash, "__init__", side_effect=AssertionError),
            mock.patch.object(StoredColumn, "__init__", side_effect=AssertionError),
            read_page(source, ALL, needs_fingerprint=False) as rows,
        ):
            assert sum(len(batch.keys) for batch in rows.batches) == 14
        assert rows.fingerprint is None

    def test_is_known_in_a_transaction_of_the_caller(self, articles: QuerySet[Article], using: str) -> None:
        with transaction.atomic(using=using):
            assert_same(compiled(declaration(queryset=articles, **COLUMNS)))


class TestColumns:
    """A row has the same hash if it is read for a page, and if it is compared."""

    @pytest.fixture
    def rows(self, using: str) -> QuerySet[Article]:
        category = CategoryFactory(using=using, pk=1, slug="é'\\,\N{PILE OF POO}")
        times = [None, NOON, NOON + timedelta(microseconds=120), NOON.replace(year=1969), NOON]
        for n, updated in enumerate(times, 1):
            ArticleFactory(
                using=using,
                pk=n,
                slug=f"Straße-{n}",
                category=category if n % 2 else None,
                published=n % 2 == 0,
                updated=updated,
                day=None if n == 3 else date(1900 + n, 2, n),
                weight=None if n == 2 else Decimal(n - 3) / 8,
                code=None if n == 4 else f" {n}",
            )
        Visit.objects.using(using).create(article_id=1, at=NOON)
        return Article.objects.using(using).all()

    @pytest.mark.parametrize(
        "lastmod",
        [NOW, F("updated"), F("day"), TruncDay("updated", tzinfo=UTC), Max("visits__at")],
        ids=range(5),
    )
    def test_of_many_types_have_one_hash(self, rows: QuerySet[Article], lastmod: Any) -> None:
        connection = connections[rows.db]
        if not connection.features.has_zoneinfo_database:
            # Django cannot truncate NULL.
            rows.filter(updated=None).update(updated=NOON)
        collation = COLLATIONS[connection.vendor]
        for column in [*TYPES, Collate("slug", collation)]:
            source = of_columns(rows, F("pk"), column, lastmod=lastmod)
            # Items whose column is missing are skipped, but their rows are hashed.
            fingerprint, _, _ = read(source)
            assert fingerprint is not None, column
            assert fingerprint.same(source.fingerprint(None, None)), column
            assert fingerprint.rows == 5

    def test_of_other_models_have_one_hash_until_they_change(self, using: str) -> None:
        reading = {"ratio": -0.1, "blob": b"\x00\xff", "amount": Decimal("-1.5"), "serial": "é\\'"}
        Reading.objects.using(using).create(**reading)
        Reading.objects.using(using).create(ratio=1e-300, blob=b"", amount=0, serial="", label="x")
        for number in (0, -5, 1 << 30):
            Document.objects.using(using).create(pk=UUID(int=abs(number) << 64), number=number)
        Name.objects.using(using).create(name="Straße")
        for model, columns in (
            (Reading, ("ratio", "blob", "amount", "serial", "label")),
            (Document, ("id", "number")),
            (Name, ("name",)),
        ):
            rows: QuerySet[Any] = model._default_manager.using(using)
            for column in columns:
                source = of_columns(rows, F("pk"), F(column))
                fingerprint, _, _ = read(source)
                assert fingerprint is not None
                assert fingerprint.same(source.fingerprint(None, None)), column
                if column not in ("id", "name"):
                    row = rows.order_by("pk")[0]
                    changed = {"ratio": 0.2, "blob": b"\x00", "amount": 2, "number": 7}.get(column, "y")
                    rows.filter(pk=row.pk).update(**{column: changed})
                    assert not source.fingerprint(None, None).same(fingerprint), column

    def test_whose_times_python_converts_have_one_hash(
        self, rows: QuerySet[Article], settings: Any
    ) -> None:
        settings.USE_TZ = False
        settings.TIME_ZONE = "Asia/Tokyo"
        rows.filter(day=None).update(day=date(2000, 1, 1))
        assert_same(of_columns(rows, F("slug"), F("day"), lastmod=F("updated")))

    def test_whose_times_python_converts_from_a_slice_on_have_one_hash(
        self, rows: QuerySet[Article], using: str
    ) -> None:
        rows.filter(pk=5).update(updated=NOON.replace(year=999))
        assert_same(of_columns(rows, F("slug"), lastmod=F("updated")))

    @pytest.mark.parametrize("using", [parameter("default")], indirect=True)
    def test_that_are_declared_with_another_type_in_the_database_have_no_hash(
        self, rows: QuerySet[Article], using: str
    ) -> None:
        """The driver converts them, so a page cannot be compared, and is always rendered."""
        with connections[using].cursor() as cursor:
            cursor.execute("CREATE TEMPORARY TABLE tests_name (id integer PRIMARY KEY, name date)")
            cursor.execute("INSERT INTO tests_name VALUES (1, '2026-01-01')")
        names = Name.objects.using(using).all()
        source = of_columns(names, F("name"))
        assert read(source)[::2] == (None, 0)


def test_rows_that_vanish_and_come_back_never_leave_a_part_with_the_fingerprint_of_all(
    table: Table,
) -> None:
    source = compiled(table.section(), LIMITS)
    with table.vanishing(None):
        whole, keys, _ = read(source)
    assert tuple(keys) == KEYS
    count = table.statements
    assert count >= 3
    incomplete = 0
    for first, last in combinations(range(1, count + 2), 2):
        with table.vanishing(first, last):
            fingerprint, keys, _ = read(source)
        assert fingerprint is not None
        assert (fingerprint == whole) == (tuple(keys) == KEYS), (first, last)
        assert fingerprint.rows == len(keys)
        incomplete += tuple(keys) != KEYS
    assert incomplete > 0
