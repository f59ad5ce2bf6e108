"""Fingerprints of rows, by the database: how many, the newest lastmod, and a hash of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.core.exceptions import FieldError
from django.db import DataError, NotSupportedError, connections
from django.db.models import BigIntegerField, Count, DateField, F, Func, Max, QuerySet, Sum

from django_sitemaps09.pages import HASHES, Fingerprint
from django_sitemaps09.sources.values import lastmod_text

# Types of PostgreSQL of which equal values have one text, and whose hash takes less time than a text.
# All others are hashed as text: 1.0 equals 1.00, and a collation can find "A" equal to "a".
_EQUAL_IS_SAME = {
    *("AutoField", "BigAutoField", "SmallAutoField", "IntegerField", "BigIntegerField"),
    *("SmallIntegerField", "PositiveIntegerField", "PositiveBigIntegerField", "UUIDField"),
    *("PositiveSmallIntegerField", "BooleanField", "DateField", "DateTimeField"),
}


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
        return f'CAST({sql} AS text) COLLATE "C"', parameters

    def as_mysql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Sequence[Any]]:
        # Bytes: columns of different collations cannot be put together, and none shall have a say.
        parts = [compiler.compile(source) for source in self.get_source_expressions()]
        quoted = ", ".join(f"QUOTE(CAST({sql} AS BINARY))" for sql, _ in parts)
        text = f"LEFT(MD5(CONCAT_WS(',', {quoted})), 16)"
        return f"CAST(CONV({text}, 16, 10) AS UNSIGNED)", [value for _, given in parts for value in given]

    def as_sql(self, compiler: Any, connection: Any, *_: Any, **__: Any) -> Any:
        raise NotSupportedError(f"{connection.display_name} has no hash of a row")


def hashes(vendor: str) -> bool:
    """Whether databases of a vendor can hash rows."""
    return vendor in ("postgresql", "mysql")


def is_date(rows: QuerySet[Any], name: str) -> bool:
    """Whether an annotation is a date or a time, of which there is a newest one."""
    try:
        return isinstance(rows.query.annotations[name].output_field, DateField)
    except (KeyError, FieldError):
        return False


def fingerprint(
    rows: QuerySet[Any], keys: Sequence[str], columns: Sequence[str], lastmod: str
) -> Fingerprint:
    """Of the key and the columns of all rows, of which `lastmod` is one; in one query."""
    asked: dict[str, Any] = {"rows": Count("*")}
    if hashes(connections[rows.db].vendor):
        asked["hash"] = Sum(RowHash(*map(F, (*keys, *columns)), keys=len(keys)))
    try:
        found = rows.aggregate(newest=Max(lastmod), **asked)
    except (DataError, ValueError, OverflowError):
        # A time that Python does not know, such as infinity: the rows and their hash are still told.
        found = rows.aggregate(**asked)
    total = int(found["hash"] or 0) % HASHES if "hash" in found else None
    return Fingerprint(found["rows"] or 0, _text(found.get("newest")), total)


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
