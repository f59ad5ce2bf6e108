"""Fingerprints that the database computes: number of rows, newest lastmod, and hash of the columns."""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from django.core.exceptions import EmptyResultSet, FieldError
from django.db import NotSupportedError, connections
from django.db.models import BigIntegerField, Count, DateField, F, Func, Max, QuerySet, Sum
from django.db.models.expressions import Ref

from django_sitemaps09.hooks.expressions import LastmodExpression
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.orm.internals import Col, compile_query
from django_sitemaps09.orm.traits import UNREADABLE
from django_sitemaps09.pages import HASHES, Fingerprint

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


class RowHash(Func):
    """64-bit hash of a row's columns, including its key."""

    output_field = BigIntegerField()

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
        # Columns of different collations can only be concatenated as bytes. SHA1 is faster than MD5.
        parts = [compiler.compile(source) for source in self.get_source_expressions()]
        columns = ", ".join(f"QUOTE(CAST({sql} AS BINARY))" for sql, _ in parts)
        text = f"LEFT(SHA1(CONCAT_WS(',', {columns})), 16)"
        parameters = [value for _, arguments in parts for value in arguments]
        return f"CAST(CONV({text}, 16, 10) AS UNSIGNED)", parameters

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> Any:
        raise NotSupportedError(f"Row hashes are not implemented for {connection.display_name}")


class StoredColumn(Func):
    """Column as SQLite stores it. It is an expression, since the driver converts only plain columns."""

    template = "+(%(expressions)s)"


def can_hash(rows: QuerySet[Any]) -> bool:
    """Return whether the database can hash rows."""
    return connections[rows.db].vendor in ("postgresql", "mysql", "sqlite")


def is_dated(rows: QuerySet[Any], lastmod: str) -> bool:
    """Return whether `lastmod` is a date or a time, so that the newest row is known."""
    try:
        return isinstance(rows.query.annotations[lastmod].output_field, DateField)
    except (KeyError, FieldError):
        return False


def fingerprint(
    rows: QuerySet[Any],
    keys: Sequence[str],
    columns: Sequence[str],
    lastmod: str,
    most: int | None = None,
) -> Fingerprint:
    """Return the fingerprint of the keys and columns of rows; of all, or of the first `most` and one more.

    `lastmod` can be one of the columns.
    """
    has_newest = is_dated(rows, lastmod)
    if most is not None:
        rows = rows.order_by(*keys)[: most + 1]
    if connections[rows.db].vendor == "sqlite":
        return _read(rows, keys, columns, lastmod if has_newest else None)
    aggregates = {"rows": Count("*"), "hash": Sum(RowHash(*map(F, (*keys, *columns))))}
    newest = {"newest": Max(lastmod)} if has_newest else {}
    try:
        totals = rows.aggregate(**newest, **aggregates)
    except UNREADABLE:
        # Python may be unable to represent the newest time, such as infinity. The rest is still valid.
        totals = rows.aggregate(**aggregates)
    return Fingerprint(totals["rows"] or 0, _text(totals.get("newest")), int(totals["hash"] or 0) % HASHES)


def _read(
    rows: QuerySet[Any], keys: Sequence[str], columns: Sequence[str], lastmod: str | None
) -> Fingerprint:
    """Return the fingerprint by reading all rows. This takes three times as long as counting them.

    SQLite has no hash function. A Python function that SQLite calls for each row is three times slower.
    """
    names = (*keys, *columns)
    ordered_rows = rows if rows.query.is_sliced else rows.order_by(*keys)
    stored_rows = ordered_rows.values_list(*(StoredColumn(F(name)) for name in names))
    count, newest, digest = 0, "", sha256()
    try:
        sql, parameters, _ = compile_query(stored_rows, connections[rows.db])
    except EmptyResultSet:
        return Fingerprint(0, None, digest.hexdigest()[:_DIGITS])
    with connections[rows.db].cursor() as cursor:
        cursor.execute(sql, parameters)
        while records := cursor.fetchmany(_SLICE):
            count += len(records)
            if lastmod is not None:
                place = names.index(lastmod)
                newest = max(newest, *(row[place] for row in records if isinstance(row[place], str)), "")
            # In version 2 of the marshal format, only equal rows have equal bytes: values are written with
            # type and length, and floats with all digits.
            digest.update(marshal.dumps(records, 2))
    newest_text = None if lastmod is None else _convert(rows, lastmod, newest)
    return Fingerprint(count, newest_text, digest.hexdigest()[:_DIGITS])


def _convert(rows: QuerySet[Any], name: str, stored_text: str) -> str | None:
    """Return the stored date or time of an annotation as W3C text; `None` if it is invalid."""
    expression, connection = rows.query.annotations[name], connections[rows.db]
    value: Any = stored_text or None
    try:
        own_converters = expression.get_db_converters(connection)
        for convert in (*connection.ops.get_db_converters(expression), *own_converters):
            value = convert(value, expression, connection)
    except UNREADABLE:
        return None
    return _text(value)


def _text(newest: object) -> str | None:
    try:
        return lastmod_text(newest)
    except ValueError:
        return None


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
