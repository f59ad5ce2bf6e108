"""Keys of querysets: the fields that can be keys, ranges of a key, and the order of its values."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

from django.conf import settings
from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured, ValidationError
from django.db import DataError, IntegrityError, connections, models
from django.db.transaction import atomic

from django_sitemaps09.orm.internals import filter_first
from django_sitemaps09.orm.reading import count_rows
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.protocol.fields import pluralize
from django_sitemaps09.protocol.pages import Key

#: A key that bounds a range, or `None` for an open end.
Bound: TypeAlias = "Hashable | None"

# Number of pairs of bounds compared in one query. SQLite limits the depth of an expression to 1,000.
_PAIRS = 300
# Django's own fields whose columns all databases order as Python does, besides `DateField`. Times are not
# among them: they can be stored in a local zone, where an hour repeats in autumn. UUIDs are not, since
# MariaDB compares them from their end.
_ORDERED_ALIKE = (models.IntegerField, models.DecimalField)
# A decimal that is greater than all keys, and that a column of floats can be compared with, too.
_NUMBERS = Decimal("1E308")
# SQLite stores decimals as floats with this number of digits.
_SQLITE_DIGITS = 15
# SQLite stores integers with 64 bits.
_INTEGERS = 1 << 63
# A column of numbers in SQLite stores such a text as a number.
_NUMBER = re.compile(r"\s*[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True)
class KeyColumns:
    """Key of a model's rows: ranges and texts of its values, and their order in the database `using`.

    `name` is the name of the key in Django. `columns` are its fields on the model.
    """

    using: str
    name: str
    columns: tuple[Any, ...]

    @classmethod
    def from_field(cls, model: type[models.Model], name: str, using: str) -> KeyColumns:
        """Return the key for the field `name`. Raise `ImproperlyConfigured` if it cannot be a key."""
        try:
            field: Any = model._meta.pk if name == "pk" else model._meta.get_field(name)
        except FieldDoesNotExist as error:
            raise ImproperlyConfigured(f"{model._meta.label} has no field {name!r}.") from error
        problem: str | None = "it is not a column"
        if field.concrete or not field.is_relation:
            columns = model._meta.pk_fields if isinstance(field, models.CompositePrimaryKey) else [field]
            # If given the name of a relation, Django would order rows like the related model.
            key = cls(using, "pk" if field.primary_key else field.attname, tuple(columns))
            if (problem := _key_problem(model, field, key)) is None:
                return key
        raise ImproperlyConfigured(
            f"{model._meta.label}.{name} cannot be used as `key`: {problem}. Set `key` to a field that "
            "is unique, not null, and never changes for an existing row."
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.attname for column in self.columns) if len(self.columns) > 1 else (self.name,)

    @cached_property
    def fields(self) -> tuple[Any, ...]:
        """Fields that convert the values of the columns to text. For a relation, this is its target."""
        return tuple(map(_concrete_field, self.columns))

    @property
    def stored_names(self) -> tuple[str, ...]:
        """The table and the name of each column, as the database has them."""
        return tuple(f"{column.model._meta.db_table}.{column.column}" for column in self.columns)

    @property
    def is_ordered_plainly(self) -> bool:
        """Return whether all fields are Django's own; other fields can change the order of values."""
        return all(type(field).__module__.startswith("django.") for field in self.fields)

    @property
    def is_integer(self) -> bool:
        """Return whether the key is a single integer, so that other keys can be computed from it."""
        first, *others = self.fields
        return not others and isinstance(first, models.IntegerField) and self.is_ordered_plainly

    def filter_readable(self, rows: models.QuerySet[Any]) -> models.QuerySet[Any]:
        """Return the rows with a key: not NULL, and not what Python cannot represent, such as infinity."""
        conditions = {
            name: value for _, _, lookups, _ in self._problems() for name, value in lookups.items()
        }
        return filter_first(rows, **conditions) if conditions else rows

    def unreadable(self, rows: models.QuerySet[Any]) -> Iterator[tuple[int, ItemError]]:
        """Yield the number of rows that `filter_readable()` drops for a column, with the reason."""
        for name, problem, _, condition in self._problems():
            dropped_rows = rows.filter(condition).order_by()
            # An index shows that there are none. Only then are they counted.
            if dropped_rows.exists():
                count = count_rows(dropped_rows)
                affected = f"{pluralize(count, 'row')} {'has' if count == 1 else 'have'}"
                reason = f"{affected} no place on any page, because the key {name!r} is {problem}"
                yield count, ItemError(problem, "row", reason)

    def _problems(self) -> Iterator[tuple[str, str, dict[str, Any], models.Q]]:
        """Yield columns with a problem that keys can have, and conditions for rows without and with it."""
        for name, column, field in zip(self.names, self.columns, self.fields, strict=True):
            if _can_be_null(column):
                yield name, "NULL", {f"{name}__isnull": False}, models.Q((f"{name}__isnull", True))
            if limits := _limits(field, connections[self.using]):
                least, greatest = limits
                outside = models.Q((f"{name}__lt", least)) | models.Q((f"{name}__gt", greatest))
                yield name, "out of range", {f"{name}__gte": least, f"{name}__lte": greatest}, outside

    def filter_range(self, rows: models.QuerySet[Any], after: Any, until: Any) -> models.QuerySet[Any]:
        """Return the rows with a key greater than `after`, up to `until`, in the order of the database."""
        for lookup, key in (("gt", after), ("lte", until)):
            if key is None:
                continue
            bounds = {f"{self.name}__{lookup}": key}
            if len(self.names) > 1:
                # MariaDB cannot use an index range for a row value, only for its first column.
                bounds[f"{self.names[0]}__{lookup[:2]}e"] = key[0]
            rows = filter_first(rows, **bounds)
        return rows

    def row_key(self, row: Sequence[Any]) -> Hashable:
        """Return the key at the start of a row of `values_list(*names, ...)`."""
        return row[0] if len(self.names) == 1 else tuple(row[: len(self.names)])

    def text(self, key: Any) -> Key:
        """Return a key as text. Raise `ImproperlyConfigured` if the text cannot be converted back."""
        parts = key if len(self.names) > 1 else (key,)
        text = tuple(
            field.value_to_string(SimpleNamespace(**{field.attname: part}))
            for field, part in zip(self.fields, parts, strict=True)
        )
        if self.parse(text) != key:
            raise ImproperlyConfigured(
                f"The key {key!r} changes when {'.'.join(self.names)} converts it to text and back. Give "
                "the field a value_to_string() that to_python() can read, or choose another `key`."
            )
        return text

    def parse(self, key: Key | None) -> Bound:
        if key is None:
            return None
        parts = tuple(field.to_python(part) for field, part in zip(self.fields, key, strict=True))
        return parts if len(self.names) > 1 else parts[0]

    def parse_range(self, after: Key | None, until: Key | None) -> tuple[Bound, Bound]:
        return self.parse(after), self.parse(until)

    def identity(self) -> tuple[str, ...]:
        """Return the database vendor, then the table, name, type and collation of each column."""
        connection = connections[self.using]
        parts = [connection.vendor]
        for field, column in zip(self.columns, self._stored_columns, strict=True):
            kind = field.db_type(connection) or ""
            parts += [field.model._meta.db_table, field.column, kind, column.collation]
        return tuple(parts)

    @cached_property
    def _stored_columns(self) -> list[StoredColumn]:
        connection = connections[self.using]
        lookup = _STORED.get(connection.vendor, _unknown)
        return [lookup(connection, field) for field in self.columns]

    def in_order(self, bounds: Sequence[Key]) -> bool:
        """Return whether bounds are ascending in the database. A query compares several hundred bounds."""
        try:
            keys: list[Any] = [self.parse(bound) for bound in bounds]
        except (ValidationError, ValueError):
            return False
        rows = keys if len(self.names) > 1 else [(key,) for key in keys]
        if self.is_ordered_plainly and all(
            isinstance(field, _ORDERED_ALIKE) or type(field) is models.DateField for field in self.fields
        ):
            return all(lower < upper for lower, upper in pairwise(rows))
        starts = range(0, len(rows) - 1, _PAIRS)
        return all(self._is_ascending(rows[start : start + _PAIRS + 1]) for start in starts)

    def _is_ascending(self, rows: Sequence[Sequence[Any]]) -> bool:
        """Return whether the database orders keys as given. Literals have the types of the columns."""
        connection, columns = connections[self.using], self._stored_columns
        values = [
            [
                column.convert(field.get_db_prep_value(part, connection))
                for column, field, part in zip(columns, self.fields, row, strict=True)
            ]
            for row in rows
        ]
        literal = f"({', '.join(column.literal for column in columns)})"
        comparison = " AND ".join([f"{literal} < {literal}"] * (len(rows) - 1))
        parameters = [part for pair in pairwise(values) for row in pair for part in row]
        try:
            # Without a savepoint, PostgreSQL would end the transaction of a caller after an error.
            needs_savepoint = connection.in_atomic_block and connection.vendor == "postgresql"
            with atomic(self.using) if needs_savepoint else nullcontext(), connection.cursor() as cursor:
                cursor.execute(f"SELECT CASE WHEN {comparison} THEN 1 ELSE 0 END", parameters)
                return bool(cursor.fetchone() == (1,))
        except (DataError, IntegrityError):
            # The database, or a domain in it, rejects one of the values.
            return False


def _can_be_null(column: Any) -> bool:
    """Return whether a column can be NULL although its field cannot: if computed, or not made by Django."""
    is_computed = isinstance(column, models.GeneratedField) and not column.primary_key
    return is_computed or not column.model._meta.managed


def _limits(field: Any, connection: Any) -> tuple[Any, Any] | None:
    """Return the least and the greatest value that Python can represent, if a server can store others."""
    # PostgreSQL has infinite dates and times, dates after 9999, 24:00, and decimals that are not a number.
    if connection.vendor == "sqlite" or not type(field).__module__.startswith("django."):
        return None
    if isinstance(field, models.DateTimeField):
        zone = connection.timezone if settings.USE_TZ else None
        return datetime.min.replace(tzinfo=zone), datetime.max.replace(tzinfo=zone)
    if isinstance(field, models.DateField):
        return date.min, date.max
    if isinstance(field, models.TimeField):
        return time.min, time.max
    # PostgreSQL orders what is not a number after all numbers.
    has_nan = isinstance(field, models.DecimalField) and connection.vendor == "postgresql"
    return (-_NUMBERS, _NUMBERS) if has_nan else None


def _concrete_field(field: Any) -> Any:
    while field.remote_field is not None:
        field = field.target_field
    if not isinstance(field, models.GeneratedField):
        return field
    # A generated field does not convert text to values, but its output field does.
    text_field: Any = copy(field.output_field)
    text_field.set_attributes_from_name(field.name)
    return text_field


def _key_problem(model: type[models.Model], key_field: Any, key: KeyColumns) -> str | None:
    for field in key.fields:
        if isinstance(field, (models.FloatField, models.BinaryField, models.JSONField)):
            return f"a {type(field).__name__} has no exact text form"
        # These classes cannot be imported without psycopg.
        if {cls.__name__ for cls in type(field).__mro__} & {"ArrayField", "HStoreField"}:
            return f"the values of a {type(field).__name__} cannot be hashed"
        if (
            isinstance(field, models.DecimalField)
            and connections[key.using].vendor == "sqlite"
            and (field.max_digits or _SQLITE_DIGITS + 1) > _SQLITE_DIGITS
        ):
            return f"SQLite compares decimals to at most {_SQLITE_DIGITS} significant digits"
    if key_field.primary_key:
        return None
    if key_field.null:
        return "it can be null"
    unique_fields = [constraint.fields for constraint in model._meta.total_unique_constraints]
    return None if key_field.unique or (key_field.name,) in unique_fields else "it is not unique"


class StoredColumn(NamedTuple):
    """How a database stores a column, by its catalogue, which can differ from the field.

    `collation` is the name of the collation, or empty. `literal` is a placeholder that compares as the
    column does, and `convert` is applied to its parameter.
    """

    collation: str
    literal: str
    convert: Callable[[Any], Any] = lambda value: value


def _unknown(connection: Any, field: Any) -> StoredColumn:
    return StoredColumn("", f"CAST(%s AS {field.cast_db_type(connection)})")


def _postgresql(connection: Any, field: Any) -> StoredColumn:
    """Return a column's type and collation. A default collation also has the name of the database's."""
    # With -1, the name of a type is the one without a length: `bpchar`, and not `character`, which has 1.
    sql = (
        "SELECT FORMAT_TYPE(a.atttypid, -1), co.collname, "
        "QUOTE_IDENT(n.nspname) || '.' || QUOTE_IDENT(co.collname), d.datcollate "
        "FROM pg_attribute a JOIN pg_database d ON d.datname = CURRENT_DATABASE() "
        "LEFT JOIN pg_collation co ON co.oid = a.attcollation "
        "LEFT JOIN pg_namespace n ON n.oid = co.collnamespace "
        "WHERE a.attrelid = TO_REGCLASS(%s) AND a.attname = %s"
    )
    row = _row(connection, sql, [connection.ops.quote_name(field.model._meta.db_table), field.column])
    if row is None:
        return _unknown(connection, field)
    kind, name, quoted_name, default = row
    literal = f"CAST(%s AS {kind.replace('%', '%%')})"
    if name in (None, "default"):
        return StoredColumn(f"default {default}" if name else "", literal)
    return StoredColumn(quoted_name, f"{literal} COLLATE {quoted_name.replace('%', '%%')}")


def _mysql(connection: Any, field: Any) -> StoredColumn:
    sql = (
        "SELECT data_type, column_type, collation_name, character_set_name FROM information_schema.columns "
        "WHERE table_schema = DATABASE() AND table_name = %s AND column_name = %s"
    )
    row = _row(connection, sql, [field.model._meta.db_table, field.column])
    if row is None:
        return _unknown(connection, field)
    kind, full_kind, name, characters = row
    if kind in ("enum", "set"):
        raise ImproperlyConfigured(
            f"{field.model._meta.label}.{field.name} cannot be used as `key`: the database sorts its type "
            f"{kind.upper()} otherwise than it compares its values. Set `key` to another unique column."
        )
    if name is not None:
        # A plain `%s` has the character set of the connection, which may not support the collation.
        return StoredColumn(name, f"CONVERT(%s USING {characters}) COLLATE {name}")
    # CAST has other names for most types. Some types have options after their names, such as ZEROFILL.
    if kind.endswith("int"):
        full_kind = "UNSIGNED" if "unsigned" in full_kind else "SIGNED"
    elif kind.endswith(("binary", "blob")):
        full_kind = "BINARY"
    elif kind not in ("decimal", "date", "datetime", "time", "uuid", "inet4", "inet6"):
        return StoredColumn("", "%s")
    return StoredColumn("", f"CAST(%s AS {full_kind.partition(' ')[0]})")


def _sqlite(connection: Any, field: Any) -> StoredColumn:
    """Return a column's collation, and a literal with its affinity: https://sqlite.org/datatype3.html."""
    # A text that is the key of a table has an index. Django's introspection overlooks composite keys.
    table, column = field.model._meta.db_table, field.column
    sql = (
        "SELECT t.type, (SELECT x.coll FROM pragma_index_list(%s) l JOIN pragma_index_xinfo(l.name) x "
        "WHERE x.name = t.name ORDER BY l.origin = 'c' LIMIT 1) FROM pragma_table_xinfo(%s) t "
        "WHERE t.name = %s"
    )
    row = _row(connection, sql, [table, table, column])
    if row is None:
        return _unknown(connection, field)
    kind, name = row[0].upper(), row[1]
    is_text = "INT" not in kind and any(word in kind for word in ("CHAR", "CLOB", "TEXT"))
    if name is None and (is_text or not kind):
        # Values in a union are compared by the collation of its first column.
        key, rows = map(connection.ops.quote_name, (column, table))
        sql = f"SELECT k = 'A', k = 'a ' FROM (SELECT {key} k FROM {rows} WHERE 0 UNION ALL VALUES ('a'))"  # noqa: S608
        is_without_case, ignores_spaces = _row(connection, sql.replace("%", "%%"), [])
        name = "NOCASE" if is_without_case else "RTRIM" if ignores_spaces else "BINARY"
    name = "" if name in (None, "BINARY") else name
    collate = f" COLLATE {connection.ops.quote_name(name).replace('%', '%%')}" if name else ""
    if is_text or "BLOB" in kind or not kind:
        return StoredColumn(name, f"{'CAST(%s AS TEXT)' if is_text else '%s'}{collate}")
    # CAST(... AS datetime) would keep only the year.
    return StoredColumn(name, f"%s{collate}", _stored_number)


def _stored_number(value: Any) -> Any:
    """Return what SQLite stores in a column of numbers: texts of numbers become numbers."""
    text = str(value)
    if not isinstance(value, (str, Decimal)) or _NUMBER.fullmatch(text) is None:
        return value
    number = Decimal(text)
    # Longer integers are stored as floats.
    is_integer = number == number.to_integral_value() and abs(number) < _INTEGERS
    return int(number) if is_integer else float(number)


_STORED = {"postgresql": _postgresql, "mysql": _mysql, "sqlite": _sqlite}


def _row(connection: Any, sql: str, parameters: Sequence[str]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone()
