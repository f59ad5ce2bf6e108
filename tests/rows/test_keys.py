"""Pages as ranges of a key: each row is on one page, and the order of Python, SQL and bounds agrees."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from django import VERSION
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, models
from django.db.models import F, QuerySet, Value
from django.test.utils import CaptureQueriesContext, isolate_apps

from django_sitemaps09 import PathTemplate, Route, Sitemap
from tests.models import Article, Document, Event, Name, Reading, Scale, Seat, Ticket, Word
from tests.support import sources
from tests.support.databases import MYSQLS, ON_POSTGRESQL, ON_SQLITE
from tests.support.internals import Limits, Page, PositionSource, fill
from tests.support.sections import declare, listing
from tests.support.sources import BASE, FIRST, compiled, keys_of, locations, page_map, rendered, source_of
from tests.support.tables import drop_view, view

pytestmark = pytest.mark.usefixtures("cached_site")


def all_keys(kind, using):
    return Counter(kind.of(row) for row in kind.rows(using))


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("location", [Value("/x/"), lambda self, item: "/x/"], ids=["columns", "methods"])
def test_every_row_is_on_exactly_one_page_whatever_its_key(kind, using, location):
    for limit in (1, 4, FIRST, FIRST + 1):
        source = source_of(kind, using, limit, location=location)
        found = page_map(source)
        *full, last = [keys_of(source, page) for page in found]
        assert Counter(key for part in [*full, last] for key in part) == all_keys(kind, using)
        assert {len(part) for part in full} <= {fill(limit)}
        assert 0 < len(last) <= limit
        assert [None, *(page.until for page in found)] == [*(page.after for page in found), None]


def test_a_page_is_a_range_of_texts_which_costs_as_much_as_any_other(kind, using):
    source = source_of(kind, using, 4)
    for key in all_keys(kind, using):
        text = source.key_text(key)
        assert all(isinstance(part, str) for part in text)
        assert source.members.key.parse(text) == key
    with CaptureQueriesContext(connections[using]) as cutting:
        found = page_map(source)
    with CaptureQueriesContext(connections[using]) as reading:
        kept = [keys_of(source, page) for page in found]
    # One query for whether there are rows, one to estimate their length, and one for each page.
    assert (len(cutting), len(reading)) == (2 + len(found), len(found))
    assert all("OFFSET" not in query["sql"] for query in reading)
    for query in (*cutting, *reading):
        assert "COUNT(" not in query["sql"]
        assert " OVER " not in query["sql"]
        if "OFFSET" in query["sql"]:
            selected = query["sql"].removeprefix("SELECT ").partition(" FROM ")[0]
            assert selected.count(",") + 1 == len(source.members.key.names)
            assert "LIMIT 2 " in query["sql"]
    for page, keys in zip(found, kept, strict=True):
        number, *bounds = json.loads(json.dumps(page))
        travelled = Page(number, *(bound and tuple(bound) for bound in bounds))
        assert (travelled, keys_of(source, travelled)) == (page, keys)
    # What is deleted elsewhere moves no page.
    for row in kind.rows(using):
        if kind.of(row) not in kept[2]:
            row.delete()
    assert (keys_of(source, found[2]), len(kept[2])) == (kept[2], 4)


@pytest.mark.usefixtures("small_slices")
def test_rows_that_come_after_the_cut_are_on_one_page_each_within_the_limit(kind, using):
    source = source_of(kind, using, 4)
    stale = page_map(source)
    kind.make(using, range(FIRST, FIRST + 25))
    done = rendered(source, found=stale)
    assert sum((Counter(keys_of(source, part.page)) for part in done), Counter()) == all_keys(kind, using)
    assert all(part.written.urls <= 4 for part in done)
    assert sum(part.written.urls for part in done) == FIRST + 25
    assert sorted(part.page.number for part in done) == list(range(1, len(done) + 1))
    starts = {(part.page.number, part.page.after) for part in done}
    assert {(page.number, page.after) for page in stale} <= starts


@pytest.mark.usefixtures("small_slices")
def test_pages_fit_their_bytes_and_a_full_slice_is_not_taken_for_the_last(using, django_assert_num_queries):
    kind = sources.KINDS["integer"]
    kind.make(using, range(6))
    source = source_of(kind, using)
    with django_assert_num_queries(3, connection=connections[using]):
        assert [len(batch.keys) for batch in source.batches(Page(1, None, None))] == [3, 3]
    kind.make(using, range(6, FIRST))
    done = rendered(source_of(kind, using, location=Route("article", slug=F("slug"))), Limits(50_000, 600))
    assert len(done) > 1
    assert all(part.written.bytes == len(part.text) <= 600 for part in done)
    assert Counter(locations(done)) == {f"{BASE}/articles/s{number}/": 1 for number in range(FIRST)}


REFUSED = [
    (Reading, "ratio", "FloatField has no exact text"), (Reading, "blob", "BinaryField has no exact text"),
    (Scale, "pk", "FloatField has no exact text"), (Reading, "label", "it can be null"),
    (Article, "slug", "it is not unique"), (Article, "category", "can be null"),
    (Article, "tags", "it is not"), (Article, "comments", "it is not a column"),
    (Article, "nothing", "'nothing'"),
]  # fmt: skip


@pytest.mark.parametrize(("model", "key", "reason"), REFUSED)
def test_a_field_that_cannot_be_a_key_is_refused_by_name_and_with_the_way_out(model, key, reason):
    with pytest.raises(ImproperlyConfigured) as refused:
        compiled(declare(model=model, key=key, location="/"))
    parts = [model.__name__, key, reason, *(["Set `key` to"] * (key != "nothing"))]
    assert [part for part in parts if part not in str(refused.value)] == []


def test_long_decimals_are_a_key_if_they_are_exact(using):
    kind = replace(sources.KINDS["unique text"], key="amount")
    kind.make(using, range(FIRST))
    if connections[using].vendor == "sqlite":
        message = r"tests\.Reading\.amount.*15 significant digits.*Set `key`"
        with pytest.raises(ImproperlyConfigured, match=message):
            source_of(kind, using)
        return
    source = source_of(kind, using, 4)
    found = Counter(key for page in page_map(source) for key in keys_of(source, page))
    assert found == all_keys(kind, using)


@pytest.mark.django_db
def test_a_bad_key_on_a_class_of_contrib_is_ignored_and_rows_are_paginated_by_position():
    Scale.objects.bulk_create(Scale(ratio=ratio) for ratio in (0.1, 0.2, 0.3))
    items = Scale.objects.order_by("-ratio")
    source = compiled(listing(items, location=lambda self, item: f"/{item.ratio}/", limit=2))
    assert isinstance(source, PositionSource)
    assert locations(rendered(source)) == [f"{BASE}/0.{digit}/" for digit in (1, 2, 3)]


Price = type("Price", (models.DecimalField,), {})


class Raw(models.Field):
    def db_type(self, connection):
        return {"postgresql": "bytea", "mysql": "varbinary(8)"}.get(connection.vendor, "blob")

    def from_db_value(self, value, *args):
        return value if value is None else bytes(value).hex()

    def get_db_prep_value(self, value, connection, prepared=False):
        return value if value is None else bytes.fromhex(value)

    def value_to_string(self, obj):
        return str(self.value_from_object(obj))


class Column(NamedTuple):
    """A column of a key. `types` has the type by vendor, if it is not the one that Django creates."""

    field: Any
    values: list[Any]
    types: dict[str, str] = {}


UTC = sources.UTC
WORDS = ["a", "B", "b1", "A1", "é", "É2", "Z", "z1", "ß", "10", "9", "09", "%", "_", "\\", "'"]
DECIMALS = [*map(Decimal, ("9.75", "10.00", "-3.50", "100.00", "0.00", "9.80", "-20.00", "8.00"))]
DAYS = [date(1, 1, 1), date(999, 12, 31), date(2020, 2, 29), date(2020, 10, 1), date(9999, 12, 31)]
MOMENT = datetime(2020, 10, 25, 0, 30, 0, 1, tzinfo=UTC)
TIMES = [datetime(1970, 1, 1, tzinfo=UTC), datetime(2020, 10, 25, 1, 30, tzinfo=UTC), MOMENT,
         datetime(2020, 2, 2, 10, tzinfo=UTC)]  # fmt: skip
UUIDS = [uuid.uuid5(uuid.NAMESPACE_URL, str(number)) for number in range(12)]
NUMBERS = [9, 10, -3, 100, 0, -20, 2_147_483_647]
INTEGER = Column(models.IntegerField(), NUMBERS)
DECIMAL = Column(models.DecimalField(max_digits=8, decimal_places=2), DECIMALS)
PRICE = Column(Price(max_digits=8, decimal_places=2), DECIMALS)
DAY, TIME = Column(models.DateField(), DAYS), Column(models.DateTimeField(), TIMES)
UUID = Column(models.UUIDField(), UUIDS)


def text(values=WORDS, **types):
    return Column(models.CharField(max_length=20), values, types)


def floats(postgresql, mysql):
    return Column(DECIMAL.field, DECIMALS[:5], {"postgresql": postgresql, "mysql": mysql})


TEXT = text()
BLIND = text(
    ["a", "B", "c", "D", "é", "F1", "f2"], postgresql="citext",
    mysql="varchar(20) COLLATE utf8mb4_general_ci", sqlite="varchar(20) COLLATE NOCASE",
)  # fmt: skip
GERMAN = "varchar(20) CHARACTER SET latin1 COLLATE latin1_german2_ci"
FIXED = dict.fromkeys(("postgresql", "mysql", "sqlite"), "char(20)")
#: The columns of each key, which the test also combines to composite keys.
KINDS = {
    "integer": [INTEGER],
    "large integer": [Column(models.BigIntegerField(), [*NUMBERS, 2**63 - 1, -(2**63), 2**53, 2**53 + 1])],
    "small integer": [Column(models.SmallIntegerField(), NUMBERS[:6])],
    "positive integer": [Column(models.PositiveBigIntegerField(), [9, 10, 2**60])],
    "integer in a column of text": [text(["9", "10", "-3", "100"])],
    "decimal": [DECIMAL],
    "decimal of a project": [PRICE],
    "decimal in a column of floats": [floats("double precision", "double")],
    "decimal in a column of short floats": [floats("real", "float")],
    "date": [DAY],
    "date and time": [TIME],
    "time": [Column(models.TimeField(), [time(9), time(10), time(23, 59, 59, 999999), time(0, 0, 0, 1)])],
    "duration": [Column(models.DurationField(), [timedelta(days=days) for days in (9, 10, -3, 100)])],
    "text": [TEXT],
    "long text": [Column(models.TextField(), WORDS, {"mysql": "varchar(60)"})],
    "text by its bytes": [
        text(postgresql='varchar(20) COLLATE "C"', mysql="varchar(20) COLLATE utf8mb4_bin")
    ],
    "text without case": [BLIND],
    "text of a fixed length": [text(["a", "B", "b1", "10", "9"], **FIXED)],
    "text with another character set": [text(["a", "é", "ß", "Z", "y"], mysql=GERMAN)],
    "text that ignores spaces at its end": [text(["a", "B", "b1"], sqlite="varchar(20) COLLATE RTRIM")],
    "words in an order of their own": [text(["low", "middle", "high"], postgresql="sitemaps09_level")],
    "domain": [text(["a", "B", "b1"], postgresql="sitemaps09_code")],
    "UUID": [UUID],
    "UUID as text": [Column(models.UUIDField(), UUIDS, {"mysql": "char(36)"})],
    "address": [Column(models.GenericIPAddressField(), ["9.0.0.1", "10.0.0.1", "::1", "fe80::1"])],
    "bytes": [Column(Raw(), ["00ff", "ff", "0100", "61", "41"])],
    "flag and number": [Column(models.BooleanField(), [True, False]), INTEGER],
    "decimal and text": [DECIMAL, TEXT],
    "text and decimal": [TEXT, DECIMAL],
    "decimal of a project and date": [PRICE, DAY],
    "date and UUID": [DAY, UUID],
    "number, time and decimal": [INTEGER, TIME, DECIMAL],
    "text without case and decimal": [BLIND, DECIMAL],
    "decimal and text without case": [DECIMAL, BLIND],
}
SET_UP = (
    "CREATE EXTENSION IF NOT EXISTS citext", "DROP TYPE IF EXISTS sitemaps09_level",
    "CREATE TYPE sitemaps09_level AS ENUM ('low', 'middle', 'high')",
    "DROP DOMAIN IF EXISTS sitemaps09_code",
    "CREATE DOMAIN sitemaps09_code AS varchar(20) CHECK (VALUE <> '')",
)  # fmt: skip


def key_fields(columns):
    fields = {}
    for place, column in enumerate(columns):
        fields[f"k{place}"] = field = column.field.clone()
        field.primary_key, field.unique = len(columns) == 1, False
    return {**fields, "pk": models.CompositePrimaryKey(*fields)} if len(columns) > 1 else fields


@contextmanager
def table(using, columns, rows=()):
    """Create a table with these columns as its key, and yield the queryset of its model."""
    connection = connections[using]
    meta = type("Meta", (), {"app_label": "tests", "managed": False, "db_table": "sitemaps09_keyed"})
    with isolate_apps("tests"):
        attributes = {"__module__": __name__, "Meta": meta, **key_fields(columns)}
        model = type("Keyed", (models.Model,), attributes)
    quoted = [connection.ops.quote_name(f"k{place}") for place in range(len(columns))]
    types = [
        column.types.get(connection.vendor) or model._meta.get_field(f"k{place}").db_type(connection)
        for place, column in enumerate(columns)
    ]
    definitions = [f"{name} {kind} NOT NULL" for name, kind in zip(quoted, types, strict=True)]
    with connection.cursor() as cursor:
        for statement in SET_UP if connection.vendor == "postgresql" else ():
            cursor.execute(statement)
        cursor.execute("DROP TABLE IF EXISTS sitemaps09_keyed")
        key = f"PRIMARY KEY ({', '.join(quoted)})"
        cursor.execute(f"CREATE TABLE sitemaps09_keyed ({', '.join(definitions)}, {key})")
        try:
            # In bulk, values would have the type of the field, which is not always that of the column.
            for row in rows or combined(columns):
                named = {f"k{place}": value for place, value in enumerate(row)}
                model(**named).save(using=using, force_insert=True)
            yield model._default_manager.using(using)
        finally:
            cursor.execute("DROP TABLE IF EXISTS sitemaps09_keyed")


def combined(columns):
    """Return rows of a key: each value of the first column, with several ones of the others."""
    first, *others = columns
    turns = min([4, *(len(column.values) for column in others)]) if others else 1
    return [
        (value, *(column.values[(number + turn) % len(column.values)] for column in others))
        for number, value in enumerate(first.values)
        for turn in range(turns)
    ]


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("name", KINDS)
def test_bounds_of_a_table_and_of_a_view_are_compared_as_order_by_sorts_them(name, snapshot_using):
    using, columns = snapshot_using, KINDS[name]
    with table(using, columns) as rows:
        assert_sorted_alike(rows, columns)
        if len(columns) == 1:
            # A view has no index, by which the collation of a column could be read.
            try:
                viewed = view(using, "SELECT * FROM sitemaps09_keyed", **key_fields(columns))
                assert_sorted_alike(viewed._default_manager.using(using), columns)
            finally:
                drop_view(using)


def assert_sorted_alike(rows, columns):
    location = PathTemplate("/{key}/", key=F("k0"))
    source = compiled(declare(queryset=rows.all(), location=location, limit=2))
    names = [f"k{place}" for place in range(len(columns))]
    keys = [source.members.key.row_key(row) for row in rows.order_by(*names).values_list(*names)]
    bounds = [source.key_text(key) for key in keys]
    assert source.in_order(bounds)
    for lower, upper in pairwise(bounds):
        assert not source.in_order([upper, lower])
        assert not source.in_order([lower, lower])
    assert [key for page in page_map(source) for key in keys_of(source, page)] == keys
    assert source.key_identity == compiled(declare(queryset=rows.all(), location=location)).key_identity
    assert sum(page.written.urls for page in rendered(source)) == len(keys)


def test_rows_that_differ_at_the_end_of_their_key_are_named_apart(snapshot_using):
    columns = [TIME, TIME, DECIMAL, INTEGER]
    made = [(MOMENT, MOMENT, DECIMALS[0], number) for number in NUMBERS]
    with table(snapshot_using, columns, made) as rows:
        source = compiled(declare(queryset=rows.all(), location=PathTemplate("/#{k3}/", k3=F("k3"))))
        named = [key for page in rendered(source) for key, *_ in page.written.errors]
    moment = "2020-10-25 00:30:00.000001+00:00"
    assert named == [f"({moment}, {moment}, 9.75, {number})" for number in sorted(NUMBERS)]


@pytest.mark.services
@pytest.mark.parametrize("name", ["ArrayField", "HStoreField"])
def test_a_key_whose_values_cannot_be_hashed_is_refused(name):
    postgresql_fields = pytest.importorskip("django.contrib.postgres.fields")
    arguments = [models.IntegerField()] if name == "ArrayField" else []
    field = type("Own", (getattr(postgresql_fields, name),), {})(*arguments, primary_key=True)
    with isolate_apps("tests"):
        meta = type("Meta", (), {"app_label": "tests"})
        model = type("Listed", (models.Model,), {"__module__": __name__, "Meta": meta, "key": field})
    with pytest.raises(ImproperlyConfigured, match=r"cannot be hashed(.|\n)*Set `key` to"):
        compiled(declare(queryset=QuerySet(model), location="/"))


TOO_OLD = pytest.mark.skipif(VERSION < (6, 1), reason="Django before 6.1 cannot read it")


@ON_SQLITE
@pytest.mark.parametrize("kind", [pytest.param("text", marks=TOO_OLD), pytest.param("", id="no type")])
def test_decimals_that_sqlite_stores_as_text_are_listed(kind, using):
    field = models.DecimalField(max_digits=4, decimal_places=2)
    with table(using, [Column(field, DECIMALS[:3], {"sqlite": kind})]) as rows:
        source = compiled(declare(queryset=rows.all(), location="/"))
        assert sum(page.written.urls for page in rendered(source)) == 3


@ON_POSTGRESQL
def test_a_bound_that_the_database_rejects_does_not_end_a_transaction(using):
    with table(using, KINDS["words in an order of their own"]) as rows:
        assert not compiled(declare(queryset=rows.all(), location="/")).in_order([("low",), ("removed",)])
        assert rows.count() == 3


def keyed(using, model, key="pk"):
    return compiled(declare(queryset=model._default_manager.using(using), key=key, location="/x/"))


def test_an_identity_names_vendor_table_column_type_and_collation_and_a_position_has_none(using):
    vendor = connections[using].vendor
    blind = {"sqlite": "NOCASE", "postgresql": "public.case_blind", "mysql": "utf8mb4_general_ci"}
    for model, key, columns in (
        (Article, "pk", [("tests_article", "id")]),
        (Name, "pk", [("tests_name", "name")]),
        (Ticket, "pk", [("tests_ticket", "category_id"), ("tests_ticket", "number")]),
        (Event, "article", [("tests_event", "article_id")]),
        (Document, "pk", [("tests_document", "id")]),
    ):
        found = keyed(using, model, key).key_identity
        assert found[0] == vendor
        assert all(isinstance(part, str) for part in found)
        assert list(zip(found[1::4], found[2::4], strict=True)) == columns
    collation = {model: keyed(using, model).key_identity[-1] for model in (Name, Article, Word)}
    assert (collation[Name], collation[Article]) == (blind[vendor], "")
    if using != "default":
        expected = {"mariadb": "utf8mb4_unicode_ci", "mysql": "utf8mb4_09", "postgresql": "default "}[using]
        assert collation[Word].startswith(expected)
    identities = {keyed(using, Event, key).key_identity for key in ("pk", "at", "price")}
    identities |= {keyed(using, model).key_identity for model in (Article, Document, Word)}
    assert len(identities) == 6
    positions = compiled(listing(["a"]))
    assert positions.key_identity is None
    assert positions.in_order([("2",), ("1",)])
    assert compiled(declare(Sitemap, get_urls=lambda self, **kwargs: [])).key_identity is None


def test_hundreds_of_bounds_are_compared_in_one_query_and_numbers_in_none(using, django_assert_num_queries):
    source = keyed(using, Word)
    with CaptureQueriesContext(connections[using]) as captured:
        assert source.in_order([(f"{number:05}",) for number in range(901)])
    assert sum("SELECT CASE WHEN (" in query["sql"] for query in captured) == 3
    # One more query reads the type and the collation.
    assert sum("SAVEPOINT" not in query["sql"] for query in captured) == 4
    with django_assert_num_queries(0, connection=connections[using]):
        assert keyed(using, Article).in_order([(str(number),) for number in range(901)])


def test_bounds_are_in_the_order_of_their_type_and_collation_and_not_of_their_texts(using):
    for model, key, bounds, expected in (
        (Event, "article", [("9",), ("10",)], True),
        (Event, "article", [("10",), ("9",)], False),
        (Ticket, "pk", [("9", "9"), ("9", "10"), ("10", "1")], True),
        # What cannot be read is in no order.
        (Article, "pk", [("1",), ("x",)], False),
        (Article, "pk", [("1",), ("2", "3")], False),
        (Seat, "pk", [("a", "1"), ("b",)], False),
        (Document, "pk", [("no uuid",)], False),
        (Event, "at", [("yesterday",)], False),
        (Event, "price", [("NaN",), ("1",)], False),
        # What says the same to its collation is not greater.
        (Name, "pk", [("a",), ("A",)], False),
        (Word, "pk", [("B",), ("a",)], using not in MYSQLS),
    ):
        assert keyed(using, model, key).in_order(bounds) is expected, (model, bounds)
