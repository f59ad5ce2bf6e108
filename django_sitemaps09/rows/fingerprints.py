"""Fingerprints of rows: their number, and a hash of their keys and columns, read alone or with the rows."""

from __future__ import annotations

import marshal
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, TypeAlias

from django.core.exceptions import EmptyResultSet
from django.db import NotSupportedError, connections
from django.db.models import BigIntegerField, Count, F, Func, QuerySet, Sum
from django.db.models.expressions import Ref

from django_sitemaps09.declare.expressions import LastmodExpression, alias
from django_sitemaps09.orm.internals import Col, compile_query
from django_sitemaps09.protocol.pages import HASHES, Fingerprint
from django_sitemaps09.rows.keys import KeyColumns

# SQL templates with which PostgreSQL hashes all bits of a value, by database type or field class. All other
# types are hashed as text, which takes longer. Only a plain column is looked up by its database type: the
# type of another expression can differ from its `output_field`.
_POSTGRESQL_HASHES = {
    # The integer is the seed: the function uses all 64 bits of the seed, but folds its argument to 32.
    **dict.fromkeys(("smallint", "integer", "bigint"), "HASHINT8EXTENDED({place}, CAST({sql} AS bigint))"),
    "uuid": "UUID_HASH_EXTENDED(CAST({sql} AS uuid), {place})",
    # A record can have a value of any type, such as the time that TruncMonth() returns.
    "DateField": "HASH_RECORD_EXTENDED(ROW({sql}), {place})",
    # The hash of a time has only 32 bits, so seconds are hashed as a float, which has all microseconds.
    # The hash of 0.0 is its seed, so the seed is a hash.
    "timestamp with time zone": (
        "HASHFLOAT8EXTENDED(TSTZRANGE_SUBDIFF({sql}, '2000-01-01 00:00:00+00'),"
        " HASHINT8EXTENDED(0, {place}))"
    ),
    "DateTimeField": "HASHFLOAT8EXTENDED(DATE_PART('epoch', {sql}), HASHINT8EXTENDED(0, {place}))",
}
_POSTGRESQL_TEXT_HASH = 'HASHTEXTEXTENDED(CAST({sql} AS text) COLLATE "C", {place})'
# For SQLite: the maximum number of rows in memory, and the number of hexadecimal digits of a hash.
_SLICE, _DIGITS = 500, 32

#: A function that returns what `fingerprint()` hashes of rows, from the records of a query of a page.
ToHashed: TypeAlias = Callable[[Sequence[Sequence[Any]]], Sequence[Any]]


class RowHash(Func):
    """64-bit hash of a row's columns, including its key."""

    output_field = BigIntegerField()

    def get_group_by_cols(self) -> list[Any]:
        return [column for source in self.get_source_expressions() for column in source.get_group_by_cols()]

    def get_db_converters(self, connection: Any) -> list[Any]:
        return []

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Sequence[Any]]:
        # The place of a column is its seed, so two columns cannot swap values. NULL counts as 0. The XOR of
        # the columns is hashed again: in a sum of XORs, values that two rows swap could cancel each other.
        # The sums of two different sets of rows are equal with a probability of 2 ** -64.
        hashes, parameters = [], []
        for place, source in enumerate(self.get_source_expressions(), 1):
            sql, arguments = compiler.compile(source)
            template = _postgresql_hash(source, connection)
            hashes.append(f"COALESCE({template.format(sql=sql, place=place)}, 0)")
            parameters += arguments
        return f"HASHINT8EXTENDED(0, {' # '.join(hashes)})", parameters

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Sequence[Any]]:
        # Columns of different collations can only be concatenated as bytes. From 9.6 on, MySQL has no SHA1
        # and no MD5. Its QUOTE rejects bytes that are not UTF-8.
        parts = [compiler.compile(source) for source in self.get_source_expressions()]
        columns = ", ".join(f"IFNULL(HEX(CAST({sql} AS BINARY)), 'NULL')" for sql, _ in parts)
        text = f"LEFT(SHA2(CONCAT_WS(',', {columns}), 256), 16)"
        parameters = [value for _, arguments in parts for value in arguments]
        return f"CAST(CONV({text}, 16, 10) AS UNSIGNED)", parameters

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> Any:
        raise NotSupportedError(f"Row hashes are not implemented for {connection.display_name}")


class UnconvertedColumn(Func):
    """Column as SQLite stores it. It is an expression, since the driver converts only plain columns."""

    template = "+(%(expressions)s)"

    def get_db_converters(self, connection: Any) -> list[Any]:
        return []


class RunningFingerprint:
    """Fingerprint of rows that are added in the order of their keys, as `fingerprint()` reads it."""

    def __init__(self, using: str) -> None:
        self._digest = sha256() if hashes_rows_here(using) else None
        self._rows = self._sum = 0
        self._newest: str | None = None
        self.is_known = True

    def add(self, hashed: Sequence[Any] | None, lastmods: Iterable[str | None] | None = ()) -> None:
        """Add rows. If `hashed` is `None`, the fingerprint is unknown."""
        if hashed is None:
            self.is_known = False
            return
        self._newest = max(filter(None, (self._newest, *(lastmods or ()))), default=None)
        self._rows += len(hashed)
        if self._digest is None:
            self._sum += sum(hashed)
            return
        for start in range(0, len(hashed), _SLICE):
            part: Any = hashed[start : start + _SLICE]
            try:
                # In version 2 of the marshal format, only equal rows have equal bytes: values are written
                # with type and length, and floats with all digits. A list begins with its own length.
                self._digest.update(memoryview(marshal.dumps(part, 2))[5:])
            except ValueError:
                # A column was declared in the database with a type that the driver converts.
                self.is_known = False

    def value(self) -> Fingerprint:
        """Return the fingerprint of the rows that were added. Only valid if `is_known`."""
        hash = self._sum % HASHES if self._digest is None else self._digest.hexdigest()[:_DIGITS]
        return Fingerprint(self._rows, self._newest, hash)


def hashes_rows_here(using: str) -> bool:
    """Return whether rows are read to be hashed in this process: SQLite has no hash function."""
    return connections[using].vendor == "sqlite"


def hashed_columns(
    rows: QuerySet[Any], names: Sequence[str], *, text: str | None
) -> tuple[Sequence[Any], ToHashed]:
    """Return what a query of these names must also select to be hashed. The name `text` is read as text."""
    if not hashes_rows_here(rows.db):
        return [RowHash(*map(F, names))], lambda records: [record[-1] for record in records]
    converted = [name for name in names if name != text and _is_converted(rows, name)]
    if not converted:
        return [], lambda records: records
    extra = {name: place for place, name in enumerate(converted, len(names))}
    places = [extra.get(name, place) for place, name in enumerate(names)]
    columns = [UnconvertedColumn(F(name)) for name in converted]
    return columns, lambda records: [tuple([record[place] for place in places]) for record in records]


def can_hash(rows: QuerySet[Any]) -> bool:
    """Return whether rows can be hashed, in the database or here."""
    return connections[rows.db].vendor in ("sqlite", "postgresql", "mysql")


def fingerprint(
    rows: QuerySet[Any], keys: Sequence[str], columns: Sequence[str], most: int | None = None
) -> Fingerprint:
    """Return the number and the hash of rows, and no newest lastmod; of all, or of `most` and one more."""
    is_local, names = hashes_rows_here(rows.db), (*keys, *columns)
    if is_local or most is not None:
        rows = rows.order_by(*keys)
    if most is not None:
        rows = rows[: most + 1]
    if is_local:
        return _read(rows, names)
    totals = rows.aggregate(rows=Count("*"), hash=Sum(RowHash(*map(F, names))))
    return Fingerprint(totals["rows"] or 0, None, int(totals["hash"] or 0) % HASHES)


def range_fingerprints(
    rows: QuerySet[Any], key: KeyColumns, columns: Sequence[str], bounds: Sequence[Any]
) -> list[Fingerprint]:
    """Return the fingerprints of the ranges that ascending keys divide, from one query of a server."""
    connection = connections[rows.db]
    names = {alias("key", place): F(name) for place, name in enumerate(key.names)}
    row_hash = {alias("hash"): RowHash(*map(F, (*key.names, *columns)))}
    hashed_rows = rows.order_by().annotate(**names, **row_hash).values_list(*names, *row_hash)
    found = {}
    with suppress(EmptyResultSet), connection.cursor() as cursor:
        sql, parameters, _ = compile_query(hashed_rows, connection)
        place, place_parameters = _place(key, ", ".join(names), bounds, 0, len(bounds))
        cursor.execute(
            f"SELECT {place}, COUNT(*), SUM({alias('hash')}) FROM ({sql}) hashed GROUP BY 1",  # noqa: S608
            (*place_parameters, *parameters),
        )
        found = {number: (count, int(total) % HASHES) for number, count, total in cursor.fetchall()}
    totals = (found.get(number, (0, 0)) for number in range(len(bounds) + 1))
    return [Fingerprint(count, None, total) for count, total in totals]


def _place(
    key: KeyColumns, names: str, bounds: Sequence[Any], first: int, last: int
) -> tuple[str, list[Any]]:
    """Return the SQL of the place of a row among bounds. It compares the row with a few of them."""
    if first == last:
        return str(first), []
    middle = (first + last) // 2
    lower, lower_parameters = _place(key, names, bounds, first, middle)
    upper, upper_parameters = _place(key, names, bounds, middle + 1, last)
    parts = bounds[middle] if len(key.names) > 1 else (bounds[middle],)
    values = zip(key.fields, parts, strict=True)
    bound = [field.get_db_prep_value(part, connections[key.using]) for field, part in values]
    row = ", ".join(["%s"] * len(bound))
    sql = f"CASE WHEN ({names}) <= ({row}) THEN {lower} ELSE {upper} END"
    return sql, [*bound, *lower_parameters, *upper_parameters]


def _read(rows: QuerySet[Any], names: Sequence[str]) -> Fingerprint:
    """Read all rows. A Python function that SQLite calls for each row would take three times as long."""
    running = RunningFingerprint(rows.db)
    with suppress(EmptyResultSet), connections[rows.db].cursor() as cursor:
        stored_rows = rows.values_list(*(UnconvertedColumn(F(name)) for name in names))
        sql, parameters, _ = compile_query(stored_rows, connections[rows.db])
        cursor.execute(sql, parameters)
        while records := cursor.fetchmany(_SLICE):
            running.add(records)
    return running.value()


def _is_converted(rows: QuerySet[Any], name: str) -> bool:
    """Return whether the driver of SQLite converts a column, by the first word of its declared type."""
    column: Any = rows.query.clone().resolve_ref(name)
    while isinstance(column, LastmodExpression):
        [column] = column.get_source_expressions()
    declared = column.target.db_type(connections[rows.db]) if isinstance(column, Col) else None
    first_word = (declared or "").replace("(", " ").partition(" ")[0]
    return first_word.upper() in sqlite3.converters


def _postgresql_hash(source: Any, connection: Any) -> str:
    """Return the template of the SQL that hashes an expression."""
    while isinstance(source, (LastmodExpression, Ref)):
        # The SQL of these wrappers is that of their expression, or its name in a subquery.
        [source] = source.get_source_expressions()
    field = source.output_field
    types = [field.db_type(connection)] if isinstance(source, Col) else []
    while field.remote_field is not None:
        field = field.target_field
    types.append(field.get_internal_type())
    return next(filter(None, map(_POSTGRESQL_HASHES.get, types)), _POSTGRESQL_TEXT_HASH)
