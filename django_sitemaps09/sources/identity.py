"""What the bounds of pages mean: the column they are of, and whether the database orders them so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import DataError, connections
from django.db.models import Model

from django_sitemaps09.pages import Key
from django_sitemaps09.sources.keys import KeyColumns

# Bounds that are compared in one query; SQLite takes expressions that are 1,000 deep.
_PAIRS = 300
# Of these, all databases have the order that Python has. Times can be stored in local ones, which
# come twice in autumn; and a UUID is compared by its end on MariaDB.
_ORDERED_ALIKE = {int, Decimal, date}


class Collation(NamedTuple):
    """How a column of text is compared: what it is known by, and how a literal is made to be so."""

    name: str
    literal: str


class Identity(NamedTuple):
    """The columns of a key in their database."""

    key: KeyColumns
    model: type[Model]
    using: str

    def texts(self) -> tuple[str, ...]:
        """Vendor, then table, column, type and collation of each column."""
        connection = connections[self.using]
        found = [connection.vendor]
        for field, collation in zip(self.columns(), self.collations(), strict=True):
            table, kind = field.model._meta.db_table, field.db_type(connection) or ""
            found += [table, field.column, kind, collation.name if collation else ""]
        return tuple(found)

    def columns(self) -> list[Any]:
        """The fields of the key in their own tables; `KeyColumns` has those whose values they take."""
        options: Any = self.model._meta
        return [options.pk if name == "pk" else options.get_field(name) for name in self.key.names]

    def collations(self) -> list[Collation | None]:
        """How the columns compare text; `None` for a type that has no collation."""
        connection = connections[self.using]
        look: Any = _COLLATIONS.get(connection.vendor, lambda connection, field: None)
        return [look(connection, field) for field in self.columns()]

    def in_order(self, bounds: Sequence[Key]) -> bool:
        """Whether the database finds each bound greater than the one before. Some hundred a query."""
        try:
            keys: list[Any] = [self.key.parse(bound) for bound in bounds]
        except (ValidationError, ValueError):
            return False
        rows = keys if len(self.key.names) > 1 else [(key,) for key in keys]
        if {type(part) for row in rows for part in row} <= _ORDERED_ALIKE:
            return all(one < next_ for one, next_ in pairwise(rows))
        literal = f"({', '.join(self._literals())})"
        starts = range(0, len(rows) - 1, _PAIRS)
        return all(self._asked(literal, rows[start : start + _PAIRS + 1]) for start in starts)

    def _asked(self, literal: str, rows: Sequence[Sequence[Any]]) -> bool:
        connection = connections[self.using]
        prepared = [
            [f.get_db_prep_value(part, connection) for f, part in zip(self.key.fields, row, strict=True)]
            for row in rows
        ]
        parameters = [part for pair in pairwise(prepared) for row in pair for part in row]
        compared = " AND ".join([f"{literal} < {literal}"] * (len(rows) - 1))
        try:
            with connection.cursor() as cursor:
                cursor.execute(f"SELECT CASE WHEN {compared} THEN 1 ELSE 0 END", parameters)
                return bool(cursor.fetchone() == (1,))
        except DataError:
            # The database does not know such a value.
            return False

    def _literals(self) -> Iterator[str]:
        """A placeholder a column, of its type and its collation: a bare literal can have others."""
        connection = connections[self.using]
        for field, collation in zip(self.key.fields, self.collations(), strict=True):
            if collation is not None:
                yield collation.literal
            elif connection.vendor == "sqlite":
                # Which has no types but those of its values; to cast a time gives its year.
                yield "%s"
            else:
                yield f"CAST(%s AS {field.cast_db_type(connection)})"


def _postgresql(connection: Any, field: Any) -> Collation | None:
    """With the default one of the database, as which another server can have another."""
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
    name, quoted, default = row
    literal = "CAST(%s AS text)"
    if name == "default":
        return Collation(f"default {default}", literal)
    return Collation(quoted, f"{literal} COLLATE {quoted.replace('%', '%%')}")


def _mysql(connection: Any, field: Any) -> Collation | None:
    """A literal has the collation of the connection, and a character set that may not have the column's."""
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
