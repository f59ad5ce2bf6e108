"""Fingerprints that the database computes: number of rows, newest lastmod, and hash of the columns."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from django.core.exceptions import EmptyResultSet, FieldError
from django.db import NotSupportedError, connections
from django.db.models import BigIntegerField, Count, DateField, F, Func, Max, QuerySet, Sum

from django_sitemaps09.django_internals import compile_query
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.pages import HASHES, Fingerprint
from django_sitemaps09.sources.rows.unreadable import UNREADABLE

# Types that PostgreSQL hashes directly, since hashing their text is slower. In other types, equal values
# can be written differently: 1.0 equals 1.00, and a collation can treat "A" as equal to "a". The hash of a
# 64-bit integer keeps only 32 bits. This is enough for sequences, not for other integers.
_EQUAL_IS_SAME = {
    *("AutoField", "BigAutoField", "SmallAutoField", "IntegerField", "SmallIntegerField"),
    *("PositiveIntegerField", "PositiveSmallIntegerField", "UUIDField", "BooleanField", "DateField"),
}
# For SQLite: the maximum number of rows in memory, and the number of hexadecimal digits of a hash.
_SLICE, _DIGITS = 500, 32


class RowHash(Func):
    """64-bit hash of a row's columns. The first `keys` columns are the key of the row."""

    output_field = BigIntegerField()

    def __init__(self, *columns: Any, keys: int, **extra: Any) -> None:
        super().__init__(*columns, **extra)
        self.keys = keys

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Sequence[Any]]:
        # The hash of a record adds the hash of each column to 31 times the previous hash. Without a seed,
        # two rows could swap a value without changing the sum of their hashes. So the key is the seed. The
        # key is also hashed as a column, since the hash of NULL is 0 for any seed.
        sources = self.get_source_expressions()
        parts = [self._postgresql(source, compiler) for source in sources]
        record = ", ".join(sql for sql, _ in parts)
        key = ", ".join(sql for sql, _ in parts[: self.keys])
        seed = f"HASH_RECORD_EXTENDED(ROW({key}), 0)"
        if self.keys == 1 and (_internal_type(sources[0]) or "").endswith(("AutoField", "IntegerField")):
            # HASHINT8EXTENDED saves an eighth of the total time.
            seed = f"HASHINT8EXTENDED(CAST({key} AS bigint), 0)"
        parameters = [value for _, arguments in [*parts, *parts[: self.keys]] for value in arguments]
        return f"HASH_RECORD_EXTENDED(ROW({record}), {seed})", parameters

    @staticmethod
    def _postgresql(source: Any, compiler: Any) -> tuple[str, Sequence[Any]]:
        sql, parameters = compiler.compile(source)
        if _internal_type(source) in _EQUAL_IS_SAME:
            return sql, parameters
        if _internal_type(source) == "DateTimeField":
            # The hash of a time has only 32 bits, and its text depends on the session. The epoch has all
            # microseconds.
            return f"DATE_PART('epoch', {sql})", parameters
        return f'CAST({sql} AS text) COLLATE "C"', parameters

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Sequence[Any]]:
        # Columns of different collations can only be concatenated as bytes.
        parts = [compiler.compile(source) for source in self.get_source_expressions()]
        columns = ", ".join(f"QUOTE(CAST({sql} AS BINARY))" for sql, _ in parts)
        text = f"LEFT(MD5(CONCAT_WS(',', {columns})), 16)"
        return f"CAST(CONV({text}, 16, 10) AS UNSIGNED)", [
            value for _, arguments in parts for value in arguments
        ]

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> Any:
        raise NotSupportedError(f"Row hashes are not implemented for {connection.display_name}")


class StoredColumn(Func):
    """Column as SQLite stores it. It is an expression, since the driver converts only plain columns."""

    template = "+(%(expressions)s)"


def can_fingerprint(rows: QuerySet[Any], lastmod: str) -> bool:
    """Return whether the database can hash rows, and whether `lastmod` is a date or a time."""
    try:
        is_date = isinstance(rows.query.annotations[lastmod].output_field, DateField)
    except (KeyError, FieldError):
        return False
    return is_date and connections[rows.db].vendor in ("postgresql", "mysql", "sqlite")


def fingerprint(
    rows: QuerySet[Any], keys: Sequence[str], columns: Sequence[str], lastmod: str
) -> Fingerprint:
    """Return the fingerprint of the keys and columns of all rows. `lastmod` is one of the columns."""
    if connections[rows.db].vendor == "sqlite":
        return _read(rows, keys, columns, lastmod)
    aggregates = {"rows": Count("*"), "hash": Sum(RowHash(*map(F, (*keys, *columns)), keys=len(keys)))}
    try:
        totals = rows.aggregate(newest=Max(lastmod), **aggregates)
    except UNREADABLE:
        # Python cannot represent the newest time, such as infinity. The other results are still valid.
        totals = rows.aggregate(**aggregates)
    return Fingerprint(totals["rows"] or 0, _text(totals.get("newest")), int(totals["hash"] or 0) % HASHES)


def _read(rows: QuerySet[Any], keys: Sequence[str], columns: Sequence[str], lastmod: str) -> Fingerprint:
    """Return the fingerprint by reading all rows. This takes three times as long as counting them.

    SQLite has no hash function. A Python function that SQLite calls for each row is three times slower.
    """
    names = (*keys, *columns)
    stored_rows = rows.order_by(*keys).values_list(*(StoredColumn(F(name)) for name in names))
    place, count, newest, digest = names.index(lastmod), 0, "", sha256()
    try:
        sql, parameters, _ = compile_query(stored_rows, connections[rows.db])
    except EmptyResultSet:
        return Fingerprint(0, None, digest.hexdigest()[:_DIGITS])
    with connections[rows.db].cursor() as cursor:
        cursor.execute(sql, parameters)
        while records := cursor.fetchmany(_SLICE):
            count += len(records)
            newest = max(newest, *(row[place] for row in records if isinstance(row[place], str)), "")
            # In version 2 of the marshal format, only equal rows have equal bytes: values are written with
            # type and length, and floats with all digits.
            digest.update(marshal.dumps(records, 2))
    return Fingerprint(count, _convert(rows, lastmod, newest), digest.hexdigest()[:_DIGITS])


def _convert(rows: QuerySet[Any], name: str, stored_text: str) -> str | None:
    """Return the stored date or time of an annotation as W3C text; `None` if it is invalid."""
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
