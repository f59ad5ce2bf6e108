"""Fingerprints of rows, by the database: how many, the newest lastmod, and a hash of their columns."""

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

# Types of PostgreSQL of which equal values have one text, and whose hash takes less time than a text.
# All others are hashed as text: 1.0 equals 1.00, and a collation can find "A" equal to "a". So are numbers
# of 64 bits, of which the hash keeps 32; only a sequence has its values below that.
_EQUAL_IS_SAME = {
    *("AutoField", "BigAutoField", "SmallAutoField", "IntegerField", "SmallIntegerField"),
    *("PositiveIntegerField", "PositiveSmallIntegerField", "UUIDField", "BooleanField", "DateField"),
}
# Rows of SQLite in memory at a time.
_SLICE = 500
# Hexadecimal digits of their hash.
_DIGITS = 32


class RowHash(Func):
    """64 bits of the columns of a row. The first `keys` of them are its key, by which rows differ.

    `NotSupportedError` on a database that has no such function: see `hashes`.
    """

    output_field = BigIntegerField()

    def __init__(self, *columns: Any, keys: int, **extra: Any) -> None:
        super().__init__(*columns, **extra)
        self.keys = keys

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Sequence[Any]]:
        # The hash of a record is 31 times that of what is before plus that of a column: in a sum over
        # rows, two of them could swap a value. So the key is the seed too; and it is a column as well,
        # since the hash of NULL is 0 whatever the seed.
        sources = self.get_source_expressions()
        parts = [self._postgresql(source, compiler) for source in sources]
        record = ", ".join(sql for sql, _ in parts)
        key = ", ".join(sql for sql, _ in parts[: self.keys])
        seed = f"HASH_RECORD_EXTENDED(ROW({key}), 0)"
        if self.keys == 1 and (_internal_type(sources[0]) or "").endswith(("AutoField", "IntegerField")):
            # An eighth of the time of the whole less.
            seed = f"HASHINT8EXTENDED(CAST({key} AS bigint), 0)"
        parameters = [value for _, given in [*parts, *parts[: self.keys]] for value in given]
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
        # Bytes: columns of different collations cannot be put together, and none shall have a say.
        parts = [compiler.compile(source) for source in self.get_source_expressions()]
        quoted = ", ".join(f"QUOTE(CAST({sql} AS BINARY))" for sql, _ in parts)
        text = f"LEFT(MD5(CONCAT_WS(',', {quoted})), 16)"
        return f"CAST(CONV({text}, 16, 10) AS UNSIGNED)", [value for _, given in parts for value in given]

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> Any:
        raise NotSupportedError(f"{connection.display_name} has no hash of a row")


class Stored(Func):
    """A column as SQLite stores it: an expression has no declared type, for which the driver converts."""

    template = "+(%(expressions)s)"


def hashes(vendor: str) -> bool:
    """Whether rows of a vendor's databases can be hashed."""
    return vendor in ("postgresql", "mysql", "sqlite")


def is_date(rows: QuerySet[Any], name: str) -> bool:
    """Whether an annotation is a date or a time, of which there is a newest one."""
    try:
        return isinstance(rows.query.annotations[name].output_field, DateField)
    except (KeyError, FieldError):
        return False


def fingerprint(
    rows: QuerySet[Any], keys: Sequence[str], columns: Sequence[str], lastmod: str
) -> Fingerprint:
    """The fingerprint of the key and the columns of all rows, of which `lastmod` is one; in one query."""
    if connections[rows.db].vendor == "sqlite":
        return _read(rows, keys, columns, lastmod)
    asked = {"rows": Count("*"), "hash": Sum(RowHash(*map(F, (*keys, *columns)), keys=len(keys)))}
    try:
        found = rows.aggregate(newest=Max(lastmod), **asked)
    except UNREADABLE:
        # A time that Python does not know, such as infinity: the rows and their hash are still told.
        found = rows.aggregate(**asked)
    return Fingerprint(found["rows"] or 0, _text(found.get("newest")), int(found["hash"] or 0) % HASHES)


def _read(rows: QuerySet[Any], keys: Sequence[str], columns: Sequence[str], lastmod: str) -> Fingerprint:
    """The fingerprint of rows that are read, which SQLite does a third as fast as it counts them.

    It has no hash, and a function of ours for each row would take three times as long.
    """
    names = (*keys, *columns)
    stored = rows.order_by(*keys).values_list(*(Stored(F(name)) for name in names))
    place, count, newest, digest = names.index(lastmod), 0, "", sha256()
    try:
        sql, parameters = sql_of(stored, rows.db)
    except EmptyResultSet:
        return Fingerprint(0, None, digest.hexdigest()[:_DIGITS])
    with connections[rows.db].cursor() as cursor:
        cursor.execute(sql, parameters)
        while some := cursor.fetchmany(_SLICE):
            count += len(some)
            newest = max(newest, *(row[place] for row in some if isinstance(row[place], str)), "")
            # By its second version equal rows have equal bytes, and others have others: values have
            # their type and length, and floats all their digits.
            digest.update(marshal.dumps(some, 2))
    return Fingerprint(count, _converted(rows, lastmod, newest), digest.hexdigest()[:_DIGITS])


def _converted(rows: QuerySet[Any], name: str, stored: str) -> str | None:
    """A date or a time of an annotation as text, from that of the database."""
    expression, connection = rows.query.annotations[name], connections[rows.db]
    value: Any = stored or None
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
