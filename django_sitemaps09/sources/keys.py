"""Keys of querysets: the fields that can be keys, ranges of a key, and the order of its values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple

from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured, ValidationError
from django.db import DataError, connections, models

from django_sitemaps09.orm.internals import filter_first
from django_sitemaps09.pages import Key

# SQLite stores decimals as floats with this number of digits.
_SQLITE_DIGITS = 15
# Number of pairs of bounds compared in one query. SQLite limits the depth of an expression to 1,000.
_PAIRS = 300
# Types that all databases order as Python does. Times are not among them: they can be stored in a local
# zone, where an hour repeats in autumn. UUIDs are not, since MariaDB compares them from their end.
_ORDERED_ALIKE = {int, Decimal, date}


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
            problem = _key_problem(model, field, key)
            if problem is None:
                return key
        raise ImproperlyConfigured(
            f"{model._meta.label}.{name} cannot be used as `key`: {problem}. Set `key` to a field that "
            "is unique, not null, and never changes for an existing row."
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        is_single = len(self.columns) == 1
        return (self.name,) if is_single else tuple(column.attname for column in self.columns)

    @cached_property
    def fields(self) -> tuple[Any, ...]:
        """Fields that convert the values of the columns to text. For a relation, this is its target."""
        return tuple(map(_concrete_field, self.columns))

    @property
    def is_ordered_plainly(self) -> bool:
        """Return whether all fields are Django's own; other fields can change the order of values."""
        return all(type(field).__module__.startswith("django.") for field in self.fields)

    @property
    def is_integer(self) -> bool:
        """Return whether the key is a single integer, so that other keys can be computed from it."""
        first, *others = self.fields
        return not others and isinstance(first, models.IntegerField) and self.is_ordered_plainly

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

    def parse(self, key: Key | None) -> Hashable | None:
        if key is None:
            return None
        parts = tuple(field.to_python(part) for field, part in zip(self.fields, key, strict=True))
        return parts if len(self.names) > 1 else parts[0]

    def identity(self) -> tuple[str, ...]:
        """Return the database vendor, then the table, name, type and collation of each column."""
        connection = connections[self.using]
        parts = [connection.vendor]
        for field, collation in zip(self.columns, self._collations(), strict=True):
            table, kind = field.model._meta.db_table, field.db_type(connection) or ""
            parts += [table, field.column, kind, collation.name if collation else ""]
        return tuple(parts)

    def _collations(self) -> list[Collation | None]:
        connection = connections[self.using]
        lookup: Any = _COLLATIONS.get(connection.vendor, lambda connection, field: None)
        return [lookup(connection, field) for field in self.columns]

    def in_order(self, bounds: Sequence[Key]) -> bool:
        """Return whether bounds are ascending in the database. A query compares several hundred bounds."""
        try:
            keys: list[Any] = [self.parse(bound) for bound in bounds]
        except (ValidationError, ValueError):
            return False
        rows = keys if len(self.names) > 1 else [(key,) for key in keys]
        is_python_order = {type(part) for row in rows for part in row} <= _ORDERED_ALIKE
        if is_python_order and self.is_ordered_plainly:
            return all(lower < upper for lower, upper in pairwise(rows))
        starts = range(0, len(rows) - 1, _PAIRS)
        return all(self._is_ascending(rows[start : start + _PAIRS + 1]) for start in starts)

    def _is_ascending(self, rows: Sequence[Sequence[Any]]) -> bool:
        connection = connections[self.using]
        values = [
            [f.get_db_prep_value(part, connection) for f, part in zip(self.fields, row, strict=True)]
            for row in rows
        ]
        parameters = [part for pair in pairwise(values) for row in pair for part in row]
        comparison = " AND ".join([f"{self._literal} < {self._literal}"] * (len(rows) - 1))
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT CASE WHEN {comparison} THEN 1 ELSE 0 END", parameters)
                return bool(cursor.fetchone() == (1,))
        except DataError:
            # The database rejects one of the values.
            return False

    @cached_property
    def _literal(self) -> str:
        """Placeholders with the type and collation of each column, since a plain `%s` can differ."""
        connection, literals = connections[self.using], []
        for field, collation in zip(self.fields, self._collations(), strict=True):
            if collation is not None:
                literals.append(collation.literal)
            elif connection.vendor == "sqlite":
                # SQLite columns have no strict types, and CAST(... AS datetime) would keep only the year.
                literals.append("%s")
            else:
                literals.append(f"CAST(%s AS {field.cast_db_type(connection)})")
        return f"({', '.join(literals)})"


def _concrete_field(field: Any) -> Any:
    while field.remote_field is not None:
        field = field.target_field
    if isinstance(field, models.GeneratedField):
        # A generated field does not convert text to values, but its output field does.
        text_field: Any = copy(field.output_field)
        text_field.set_attributes_from_name(field.name)
        return text_field
    return field


def _key_problem(model: type[models.Model], key_field: Any, key: KeyColumns) -> str | None:
    for field in key.fields:
        if isinstance(field, (models.FloatField, models.BinaryField, models.JSONField)):
            return f"a {type(field).__name__} has no exact text form"
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


class Collation(NamedTuple):
    """Name of a text column's collation, and a placeholder that compares with this collation."""

    name: str
    literal: str


def _postgresql(connection: Any, field: Any) -> Collation | None:
    """Return a column's collation. A default one also has the name of the database's."""
    sql = (
        "SELECT co.collname, QUOTE_IDENT(n.nspname) || '.' || QUOTE_IDENT(co.collname), d.datcollate "
        "FROM pg_attribute a JOIN pg_collation co ON co.oid = a.attcollation "
        "JOIN pg_namespace n ON n.oid = co.collnamespace "
        "JOIN pg_database d ON d.datname = CURRENT_DATABASE() "
        "WHERE a.attrelid = TO_REGCLASS(%s) AND a.attname = %s"
    )
    row = _row(connection, sql, [connection.ops.quote_name(field.model._meta.db_table), field.column])
    if row is None:
        return None
    name, quoted_name, default = row
    literal = "CAST(%s AS text)"
    if name == "default":
        return Collation(f"default {default}", literal)
    return Collation(quoted_name, f"{literal} COLLATE {quoted_name.replace('%', '%%')}")


def _mysql(connection: Any, field: Any) -> Collation | None:
    # A plain `%s` has the character set of the connection, which may not support the collation.
    sql = (
        "SELECT collation_name, character_set_name FROM information_schema.columns "
        "WHERE table_schema = DATABASE() AND table_name = %s AND column_name = %s"
    )
    row = _row(connection, sql, [field.model._meta.db_table, field.column])
    if row is None or row[0] is None:
        return None
    name, characters = row
    return Collation(name, f"CONVERT(%s USING {characters}) COLLATE {name}")


def _sqlite(connection: Any, field: Any) -> Collation | None:
    with connection.cursor() as cursor:
        columns = connection.introspection.get_table_description(cursor, field.model._meta.db_table)
    name = next((column.collation for column in columns if column.name == field.column), None)
    if name is None:
        return None
    return Collation(name, f"%s COLLATE {connection.ops.quote_name(name).replace('%', '%%')}")


_COLLATIONS = {"postgresql": _postgresql, "mysql": _mysql, "sqlite": _sqlite}


def _row(connection: Any, sql: str, parameters: Sequence[str]) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return cursor.fetchone()
