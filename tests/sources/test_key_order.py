"""Keys of many types: Python, `ORDER BY` and the comparison of bounds agree on their order."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from django import VERSION
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, models
from django.db.models import F, QuerySet
from django.test.utils import isolate_apps

from django_sitemaps09 import PathTemplate
from tests.support.databases import parameter
from tests.support.sources import compiled, declaration, errors, page_map, rendered, set_slices
from tests.support.unusual_keys import drop_view, view

pytestmark = pytest.mark.usefixtures("cached_site")

UTC = timezone.utc


class Price(models.DecimalField):  # type: ignore[type-arg]
    """A field of a project."""


class Raw(models.Field):  # type: ignore[type-arg]
    """Bytes as hexadecimal text in Python."""

    def db_type(self, connection: Any) -> str:
        return {"postgresql": "bytea", "mysql": "varbinary(8)"}.get(connection.vendor, "blob")

    def from_db_value(self, value: Any, *args: object) -> Any:
        return value if value is None else bytes(value).hex()

    def to_python(self, value: Any) -> Any:
        return value

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        return value if value is None else bytes.fromhex(value)

    def value_to_string(self, obj: Any) -> str:
        return str(self.value_from_object(obj))


class Column(NamedTuple):
    """A column of a key. `types` has the type by vendor, if it is not the one that Django creates."""

    field: models.Field[Any, Any]
    values: list[Any]
    types: dict[str, str] = {}


WORDS = ["a", "B", "b1", "A1", "é", "É2", "Z", "z1", "ß", "10", "9", "09", "%", "_", "\\", "'"]
DECIMALS = [
    Decimal(text) for text in ("9.75", "10.00", "-3.50", "100.00", "0.00", "9.80", "-20.00", "8.00")
]
DAYS = [date(1, 1, 1), date(999, 12, 31), date(2020, 2, 29), date(2020, 10, 1), date(9999, 12, 31)]
TIMES = [
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2020, 10, 25, 1, 30, tzinfo=UTC),
    datetime(2020, 10, 25, 0, 30, 0, 1, tzinfo=UTC),
    datetime(2020, 2, 2, 10, tzinfo=UTC),
]
UUIDS = [uuid.uuid5(uuid.NAMESPACE_URL, str(number)) for number in range(12)]
NUMBERS = [9, 10, -3, 100, 0, -20, 2_147_483_647]

INTEGER = Column(models.IntegerField(), NUMBERS)
DECIMAL = Column(models.DecimalField(max_digits=8, decimal_places=2), DECIMALS)
PRICE = Column(Price(max_digits=8, decimal_places=2), DECIMALS)
DAY = Column(models.DateField(), DAYS)
TIME = Column(models.DateTimeField(), TIMES)
TEXT = Column(models.CharField(max_length=20), WORDS)
FLAG = Column(models.BooleanField(), [True, False])
UUID = Column(models.UUIDField(), UUIDS)


def text(values: list[str] = WORDS, **types: str) -> Column:
    return Column(models.CharField(max_length=20), values, types)


BLIND = text(
    ["a", "B", "c", "D", "é", "F1", "f2"],
    postgresql="citext",
    mysql="varchar(20) COLLATE utf8mb4_general_ci",
    sqlite="varchar(20) COLLATE NOCASE",
)

#: The columns of each key, which the test also combines to composite keys.
KINDS: dict[str, list[Column]] = {
    "integer": [INTEGER],
    "large integer": [Column(models.BigIntegerField(), [*NUMBERS, 2**63 - 1, -(2**63), 2**53, 2**53 + 1])],
    "small integer": [Column(models.SmallIntegerField(), NUMBERS[:6])],
    "positive integer": [Column(models.PositiveBigIntegerField(), [9, 10, 2**60])],
    "integer in a column of text": [text(["9", "10", "-3", "100"])],
    "decimal": [DECIMAL],
    "decimal of a project": [PRICE],
    "decimal in a column of floats": [
        Column(DECIMAL.field, DECIMALS[:5], {"postgresql": "double precision", "mysql": "double"})
    ],
    "decimal in a column of short floats": [
        Column(DECIMAL.field, DECIMALS[:5], {"postgresql": "real", "mysql": "float"})
    ],
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
    "text of a fixed length": [
        text(["a", "B", "b1", "10", "9"], postgresql="char(20)", mysql="char(20)", sqlite="char(20)")
    ],
    "text with another character set": [
        text(["a", "é", "ß", "Z", "y"], mysql="varchar(20) CHARACTER SET latin1 COLLATE latin1_german2_ci")
    ],
    "text that ignores spaces at its end": [text(["a", "B", "b1"], sqlite="varchar(20) COLLATE RTRIM")],
    "words in an order of their own": [text(["low", "middle", "high"], postgresql="sitemaps09_level")],
    "domain": [text(["a", "B", "b1"], postgresql="sitemaps09_code")],
    "UUID": [UUID],
    "UUID as text": [Column(models.UUIDField(), UUIDS, {"mysql": "char(36)"})],
    "address": [Column(models.GenericIPAddressField(), ["9.0.0.1", "10.0.0.1", "::1", "fe80::1"])],
    "bytes": [Column(Raw(), ["00ff", "ff", "0100", "61", "41"])],
    "flag and number": [FLAG, INTEGER],
    "decimal and text": [DECIMAL, TEXT],
    "text and decimal": [TEXT, DECIMAL],
    "decimal of a project and date": [PRICE, DAY],
    "date and UUID": [DAY, UUID],
    "number, time and decimal": [INTEGER, TIME, DECIMAL],
    "text without case and decimal": [BLIND, DECIMAL],
    "decimal and text without case": [DECIMAL, BLIND],
}

SET_UP = (
    "CREATE EXTENSION IF NOT EXISTS citext",
    "DROP TYPE IF EXISTS sitemaps09_level",
    "CREATE TYPE sitemaps09_level AS ENUM ('low', 'middle', 'high')",
    "DROP DOMAIN IF EXISTS sitemaps09_code",
    "CREATE DOMAIN sitemaps09_code AS varchar(20) CHECK (VALUE <> '')",
)


def key_fields(columns: list[Column]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for place, column in enumerate(columns):
        field: Any = column.field.clone()
        field.primary_key = len(columns) == 1
        field.unique = False
        fields[f"k{place}"] = field
    if len(columns) > 1:
        fields["pk"] = models.CompositePrimaryKey(*fields)
    return fields


@contextmanager
def table(using: str, columns: list[Column]) -> Iterator[type[models.Model]]:
    """Create a table with these columns as its key, and yield its model."""
    connection = connections[using]
    vendor = connection.vendor
    meta = type("Meta", (), {"app_label": "tests", "managed": False, "db_table": "sitemaps09_keyed"})
    with isolate_apps("tests"):
        attributes = {"__module__": __name__, "Meta": meta, **key_fields(columns)}
        model = type("Keyed", (models.Model,), attributes)
    definitions: list[str] = []
    names = [f"k{place}" for place in range(len(columns))]
    for name, column in zip(names, columns, strict=True):
        kind = column.types.get(vendor) or model._meta.get_field(name).db_type(connection)
        definitions.append(f"{connection.ops.quote_name(name)} {kind} NOT NULL")
    with connection.cursor() as cursor:
        for statement in SET_UP if vendor == "postgresql" else ():
            cursor.execute(statement)
        cursor.execute("DROP TABLE IF EXISTS sitemaps09_keyed")
        key = ", ".join(map(connection.ops.quote_name, names))
        cursor.execute(f"CREATE TABLE sitemaps09_keyed ({', '.join(definitions)}, PRIMARY KEY ({key}))")
        try:
            yield model
        finally:
            cursor.execute("DROP TABLE IF EXISTS sitemaps09_keyed")


def make_rows(model: type[models.Model], using: str, columns: list[Column]) -> None:
    first, *others = columns
    rows = [
        {
            "k0": value,
            **{
                f"k{place}": column.values[(number + turn) % len(column.values)]
                for place, column in enumerate(others, 1)
            },
        }
        for number, value in enumerate(first.values)
        for turn in range(4 if others else 1)
        if turn < min([len(column.values) for column in others], default=1)
    ]
    for row in rows:
        # In bulk, values would have the type of the field, which is not always that of the column.
        model(**row).save(using=using, force_insert=True)


@pytest.mark.parametrize("name", KINDS)
def test_bounds_of_a_table_and_of_a_view_are_compared_as_order_by_sorts_them(
    name: str, snapshot_using: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_slices(monkeypatch, 3)
    using, columns = snapshot_using, KINDS[name]
    with table(using, columns) as model:
        make_rows(model, using, columns)
        assert_sorted_alike(model, using, columns)
        if len(columns) > 1:
            return
        # A view has no index, by which the collation of a column could be read.
        try:
            viewed = view(using, "SELECT * FROM sitemaps09_keyed", **key_fields(columns))
            assert_sorted_alike(viewed, using, columns)
        finally:
            drop_view(using)


def assert_sorted_alike(model: type[models.Model], using: str, columns: list[Column]) -> None:
    rows = model._default_manager.using(using)
    location = PathTemplate("/{key}/", key=F("k0"))
    source = compiled(declaration(queryset=rows.all(), location=location, limit=2))
    names = [f"k{place}" for place in range(len(columns))]
    keys = [source.members.key.row_key(row) for row in rows.order_by(*names).values_list(*names)]
    bounds = [source.key_text(key) for key in keys]
    assert source.in_order(bounds)
    for lower, upper in pairwise(bounds):
        assert not source.in_order([upper, lower])
        assert not source.in_order([lower, lower])
    found = page_map(source)
    listed = [key for page in found for batch in source.batches(page) for key in batch.keys]
    assert listed == keys
    assert source.key_identity == compiled(declaration(queryset=rows.all(), location=location)).key_identity
    assert sum(page.written.urls for page in rendered(source)) == len(keys)


def test_rows_that_differ_at_the_end_of_their_key_are_named_apart(snapshot_using: str) -> None:
    columns = [TIME, TIME, DECIMAL, INTEGER]
    with table(snapshot_using, columns) as model:
        for number in NUMBERS:
            row = model(k0=TIMES[2], k1=TIMES[2], k2=DECIMALS[0], k3=number)
            row.save(using=snapshot_using, force_insert=True)
        rows = model._default_manager.using(snapshot_using)
        source = compiled(declaration(queryset=rows.all(), location=PathTemplate("/#{k3}/", k3=F("k3"))))
        named = [key for key, _, _ in errors(rendered(source))]
    time = "2020-10-25 00:30:00.000001+00:00"
    assert named == [f"({time}, {time}, 9.75, {number})" for number in sorted(NUMBERS)]


@pytest.mark.services
@pytest.mark.parametrize("name", ["ArrayField", "HStoreField"])
def test_a_key_whose_values_cannot_be_hashed_is_refused(name: str) -> None:
    postgresql_fields = pytest.importorskip("django.contrib.postgres.fields")
    arguments = [models.IntegerField()] if name == "ArrayField" else []
    field = type("Own", (getattr(postgresql_fields, name),), {})(*arguments, primary_key=True)
    with isolate_apps("tests"):
        meta = type("Meta", (), {"app_label": "tests"})
        model = type("Listed", (models.Model,), {"__module__": __name__, "Meta": meta, "key": field})
    with pytest.raises(ImproperlyConfigured) as refused:
        compiled(declaration(queryset=QuerySet(model), location="/"))
    assert "cannot be hashed" in str(refused.value)
    assert "Set `key` to" in str(refused.value)


@pytest.mark.parametrize("using", [parameter("default")], indirect=True)
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            "text",
            id="text",
            marks=pytest.mark.skipif(VERSION < (6, 1), reason="Django before 6.1 cannot read it"),
        ),
        pytest.param("", id="no type"),
    ],
)
def test_decimals_that_sqlite_stores_as_text_are_listed(kind: str, using: str) -> None:
    columns = [Column(models.DecimalField(max_digits=4, decimal_places=2), DECIMALS[:3], {"sqlite": kind})]
    with table(using, columns) as model:
        make_rows(model, using, columns)
        source = compiled(declaration(queryset=model._default_manager.using(using), location="/"))
        assert sum(page.written.urls for page in rendered(source)) == 3


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_a_bound_that_the_database_rejects_does_not_end_a_transaction(using: str) -> None:
    columns = KINDS["words in an order of their own"]
    with table(using, columns) as model:
        make_rows(model, using, columns)
        rows = model._default_manager.using(using)
        source = compiled(declaration(queryset=rows.all(), location="/"))
        assert not source.in_order([("low",), ("removed",)])
        assert rows.count() == 3
