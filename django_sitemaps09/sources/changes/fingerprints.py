"""Fingerprints of rows, computed by the database: row count, newest lastmod, and hash of the columns."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from django.core.exceptions import EmptyResultSet, FieldError
from django.db import NotSupportedError, connections
from django.db.models import BigIntegerField, Count, DateField, F, Func, Max, QuerySet, Sum

from django_sitemaps09.django_internals import sql_of
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.pages import HASHES, Fingerprint
from django_sitemaps09.sources.rows.unreadable import UNREADABLE

# Types of PostgreSQL whose equal values have the same text, and whose hash is faster than that of the
# text. All others are hashed as text: 1.0 equals 1.00, and a collation can treat "A" as equal to "a". So
# are 64-bit numbers, whose hash keeps only 32 bits, except for sequences, whose values are smaller.
_EQUAL_IS_SAME = {
    *("AutoField", "BigAutoField", "SmallAutoField", "IntegerField", "SmallIntegerField"),
    *("PositiveIntegerField", "PositiveSmallIntegerField", "UUIDField", "BooleanField", "DateField"),
}
# Rows of SQLite in memory at a time.
_SLICE = 500
# Hexadecimal digits of their hash.
_DIGITS = 32


class RowHash(Func):
    """Hash the columns of a row to 64 bits. The first `keys` columns are its key.

    Raise `NotSupportedError` on a database without such a function: see `can_hash`.
    """

    output_field = BigIntegerField()

    def __init__(self, *columns: Any, keys: int, **extra: Any) -> None:
        super().__init__(*columns, **extra)
        self.keys = keys

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Sequence[Any]]:
        # The hash of a record adds the hash of each column to 31 times the hash before it. In a sum over
        # rows, two rows could swap a value unnoticed. So the key is also the seed. It is a column as well,
        # since the hash of NULL is 0 for any seed.
        sources = self.get_source_expressions()
        parts = [self._postgresql(source, compiler) for source in sources]
        record = ", ".join(sql for sql, _ in parts)
        key = ", ".join(sql for sql, _ in parts[: self.keys])
        seed = f"HASH_RECORD_EXTENDED(ROW({key}), 0)"
        if self.keys == 1 and (_internal_type(sources[0]) or "").endswith(("AutoField", "IntegerField")):
            # This saves an eighth of the total time.
            seed = f"HASHINT8EXTENDED(CAST({key} AS bigint), 0)"
        parameters = [value for _, arguments in [*parts, *parts[: self.keys]] for value in arguments]
        return f"HASH_RECORD_EXTENDED(ROW({record}), {seed})", parameters

    @staticmethod
    def _postgresql(source: Any, compiler: Any) -> tuple[str, Sequence[Any]]:
        sql, parameters = compiler.compile(source)
        if _internal_type(source) in _EQUAL_IS_SAME:
            return sql, parameters
        if _internal_type(source) == "DateTimeField":
            # Its hash keeps 32 bits, too, and its text depends on the session. This has all microseconds.
            return f"DATE_PART('epoch', {sql})", parameters
        return f'CAST({sql} AS text) COLLATE "C"', parameters

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Sequence[Any]]:
        # As bytes, since columns of different collations cannot be concatenated.
        parts = [compiler.compile(source) for source in self.get_source_expressions()]
        columns = ", ".join(f"QUOTE(CAST({sql} AS BINARY))" for sql, _ in parts)
        text = f"LEFT(MD5(CONCAT_WS(',', {columns})), 16)"
        return f"CAST(CONV({text}, 16, 10) AS UNSIGNED)", [
            value for _, arguments in parts for value in arguments
        ]

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> Any:
        raise NotSupportedError(f"{connection.display_name} has no hash of a row")


class StoredColumn(Func):
    """Column as SQLite stores it, without the driver's conversion: expressions have no declared type."""

    template = "+(%(expressions)s)"


def can_hash(vendor: str) -> bool:
    """Return whether rows of a vendor's databases can be hashed."""
    return vendor in ("postgresql", "mysql", "sqlite")


def is_date(rows: QuerySet[Any], name: str) -> bool:
    """Return whether an annotation is a date or a time, which can have a newest value."""
    try:
        return isinstance(rows.query.annotations[name].output_field, DateField)
    except (KeyError, FieldError):
        return False


def fingerprint(
    rows: QuerySet[Any], keys: Sequence[str], columns: Sequence[str], lastmod: str
) -> Fingerprint:
    """Return the fingerprint of the keys and columns of all rows, including `lastmod`, in one query."""
    if connections[rows.db].vendor == "sqlite":
        return _read(rows, keys, columns, lastmod)
    aggregates = {"rows": Count("*"), "hash": Sum(RowHash(*map(F, (*keys, *columns)), keys=len(keys)))}
    try:
        totals = rows.aggregate(newest=Max(lastmod), **aggregates)
    except UNREADABLE:
        # A time that Python cannot represent, such as infinity. The row count and the hash are still
        # valid.
        totals = rows.aggregate(**aggregates)
    return Fingerprint(totals["rows"] or 0, _text(totals.get("newest")), int(totals["hash"] or 0) % HASHES)


def _read(rows: QuerySet[Any], keys: Sequence[str], columns: Sequence[str], lastmod: str) -> Fingerprint:
    """Return the fingerprint by reading all rows, a third as fast as SQLite counts them.

    SQLite has no hash function, and calling a Python function for each row would take three times as long.
    """
    names = (*keys, *columns)
    stored_rows = rows.order_by(*keys).values_list(*(StoredColumn(F(name)) for name in names))
    place, count, newest, digest = names.index(lastmod), 0, "", sha256()
    try:
        sql, parameters = sql_of(stored_rows, rows.db)
    except EmptyResultSet:
        return Fingerprint(0, None, digest.hexdigest()[:_DIGITS])
    with connections[rows.db].cursor() as cursor:
        cursor.execute(sql, parameters)
        while records := cursor.fetchmany(_SLICE):
            count += len(records)
            newest = max(newest, *(row[place] for row in records if isinstance(row[place], str)), "")
            # In version 2 of the format, rows have the same bytes only if they are equal: values have a
            # type and a length, and floats have all their digits.
            digest.update(marshal.dumps(records, 2))
    return Fingerprint(count, _convert(rows, lastmod, newest), digest.hexdigest()[:_DIGITS])


def _convert(rows: QuerySet[Any], name: str, stored_text: str) -> str | None:
    """Return the date or time of an annotation as text, converted from the database's value."""
    expression, connection = rows.query.annotations[name], connections[rows.db]
    value: Any = stored_text or None
    try:
        for convert in (
            *connection.ops.get_db_converters(expression),
            *expression.get_db_converters(connection),
        ):
            value = convert(value, expression, connection)
    except UNREADABLE:
        return None
    return _text(value)


def _text(newest: object) -> str | None:
    try:
        return lastmod_text(newest)
    except ValueError:
        return None


def _internal_type(source: Any) -> str | None:
    try:
        field = source.output_field
    except FieldError:
        return None
    while field.remote_field is not None:
        field = field.target_field
    internal: str = field.get_internal_type()
    return internal
