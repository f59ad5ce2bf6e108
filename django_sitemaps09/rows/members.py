"""Select the rows of a section by ranges of their key, or by lists of keys if ranges do not help.

For a filter over a multi-valued relation, or for an aggregate, a database may process all rows after a key
before it returns the first one. So each query has a short range of keys with both ends.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

from django.db import connections
from django.db.models import BooleanField, F, Func, QuerySet

from django_sitemaps09.declare.expressions import alias
from django_sitemaps09.orm.facts import Facts
from django_sitemaps09.orm.internals import Col, add_condition, compile_query, having_columns
from django_sitemaps09.rows.keys import Bound, KeyColumns

# The factor by which the next range is longer if a range has too few rows.
_LONGER = 8
#: The maximum number of keys in a list. PostgreSQL needs quadratic time for long lists of composite keys,
#: and MariaDB rejects a query larger than `max_allowed_packet`.
LISTED = 500
#: The shortest range of integers that a query reads.
FEWEST = 1_000


class Span(NamedTuple):
    """Keys that one query reads: above `after`, up to and including `end`. The last `end` is `until`."""

    after: Bound
    end: Any
    until: Bound
    #: The number of integers in the range, and the greatest key to read; 0 if ranges are not shortened.
    length: int = 0
    last: int = 0

    @classmethod
    def from_integers(cls, after: int, until: Any, length: int, last: int) -> Span:
        """Return the first `length` integers of a range whose greatest key is `last`."""
        end = after + length
        return cls(after, end if end < last else until, until, length, last)


class Members(NamedTuple):
    """Rows of a section.

    If `original` is not `None`, it is the project's queryset, and only `rows` with a key from this queryset
    belong to the section. `are_grouped` is true if the queryset or a declared expression has an aggregate.
    """

    key: KeyColumns
    rows: QuerySet[Any]
    original: QuerySet[Any] | None
    are_grouped: bool

    @property
    def are_costly(self) -> bool:
        """Whether the database needs more time to select rows than to return them."""
        return self.original is not None or self.are_grouped

    @property
    def are_far(self) -> bool:
        """Return whether the database may join, group or sort all rows before it returns the first ones."""
        return not self.looks_beyond and (self.are_costly or len(self.rows.query.alias_map) > 1)

    @property
    def computes_ends(self) -> bool:
        """Return whether the ends of short ranges are computed from the previous key."""
        return self.are_far and self.key.is_integer

    @property
    def looks_beyond(self) -> bool:
        """Return whether the queryset filters by a window function, which can use rows outside a range."""
        return self.original is not None and Facts(self.original).has_window

    def filter_range(self, rows: QuerySet[Any], after: Bound, until: Bound) -> QuerySet[Any]:
        """Filter `rows` of the model by a range of keys: greater than `after`, up to `until`."""
        rows, original = self.key.filter_range(rows, after, until), self.original
        if original is None:
            return rows
        # PostgreSQL may hash a range in the subquery. Without a range, it plans for the first rows only.
        is_long_range = connections[original.db].vendor == "postgresql" and not self.key.is_integer
        if not (self.looks_beyond or is_long_range):
            original = self.key.filter_range(original, after, until)
        return add_condition(rows, KeyInRows(original))

    def filter_keys(self, rows: QuerySet[Any], keys: Sequence[Hashable]) -> QuerySet[Any]:
        """Filter `rows` of the model by a list of keys, given in the order of the database."""
        if len(self.key.names) > 1:
            rows = self.key.filter_range(rows, None, keys[-1])
        return add_condition(rows, KeyInList(self.key, keys))

    def keys_per_query(self, most: int) -> int:
        """Return how many keys one query can list, at most `most`."""
        allowed = connections[self.rows.db].features.max_query_params or LISTED * 10
        # A tenth is reserved for other parameters of the query.
        return min(most, LISTED, allowed * 9 // 10 // len(self.key.names))

    def count_up_to(self, after: Bound, until: Bound, most: int) -> int:
        """Return the number of rows in a range, or `most` if there are more."""
        return self.key_rows(self.filter_range(self.rows, after, until))[:most].count()

    def keys(self, after: Bound, until: Bound, skip: int, most: int) -> list[Hashable]:
        """Return up to `most` keys of a range in their order, after the first `skip` keys."""
        start, last, total = after, until, skip + most
        if self.computes_ends and until is None:
            start, last = self._outermost_key("", after), self._outermost_key("-", until)
        if self.computes_ends and type(start) is int and type(last) is int:
            # Allow for a few gaps between keys, which most tables have.
            length = max(total + total // 4, FEWEST)
            while start + length < last:
                keys = self._keys_between(after, start + length, skip, most)
                if len(keys) == most:
                    return keys
                count = self.count_up_to(after, start + length, total)
                if count * _LONGER < total:
                    # For few matches among many rows, the database is faster without short ranges.
                    break
                length = length * total // count * 5 // 4
        return self._keys_between(after, until, skip, most)

    def _keys_between(self, after: Bound, until: Bound, skip: int, most: int) -> list[Hashable]:
        rows = self.key_rows(self.filter_range(self.rows, after, until)).order_by(*self.key.names)
        return [self.key.row_key(row) for row in rows[skip : skip + most]]

    def key_rows(self, rows: QuerySet[Any]) -> QuerySet[Any]:
        """Return only the keys of rows, grouped by their primary key, not by all columns of the model."""
        # The groups are the same, but SQLite sorts by each column in GROUP BY.
        rows = rows.values_list(*self.key.names)
        query, fields = rows.query, {*rows.model._meta.pk_fields}

        def is_needed(part: Any) -> bool:
            is_own = isinstance(part, Col) and part.alias == query.base_table
            return not is_own or part.target in fields

        # GROUP BY must contain the columns in a condition with an aggregate.
        if isinstance(query.group_by, tuple) and not having_columns(query):
            query.group_by = tuple(filter(is_needed, query.group_by))
        return rows

    def first_span(self, after: Bound, until: Bound, most: int) -> Span:
        """Return the range of the first query. The query reads up to `most` rows."""
        if self.computes_ends and type(after) is int and type(until) is int:
            return Span.from_integers(after, until, max(most, FEWEST), until)
        return Span(after, until, until)

    def next_span(self, span: Span, key: Bound, count: int, most: int) -> Span | None:
        """Return the range after a query that returned `count` rows up to `key`; `None` at the end."""
        if count < most and span.end == span.until:
            return None
        after, until = key if count == most else span.end, span.until
        last: Any = span.last
        if not span.length:
            # The greatest key is only read now, since the first span is often the only one.
            last = self._outermost_key("-", until) if self.computes_ends else None
        if type(after) is not int or type(last) is not int:
            return span._replace(after=after)
        shortest = max(most, FEWEST)
        # After a gap, keys can be as dense as before it.
        length = shortest if count == most else max(span.length, shortest)
        if count * _LONGER < most:
            length *= _LONGER
        if length > shortest * _LONGER**2:
            # For few matches among many rows, the database is faster without short ranges.
            return Span(after, until, until)
        return Span.from_integers(after, until, length, last)

    def _outermost_key(self, direction: str, key: Bound) -> Any:
        """Return `key` unless it is `None`, otherwise the least or the greatest key of the table."""
        if key is not None or len(self.key.names) > 1:
            return key
        [name] = self.key.names
        return self.model_rows().order_by(f"{direction}{name}").values_list(name, flat=True).first()

    def model_rows(self) -> QuerySet[Any]:
        """Return all rows of the model that have a key, including those that the section does not list."""
        return self.key.filter_readable(QuerySet(self.rows.model, using=self.rows.db))


def _columns_sql(condition: Func, compiler: Any) -> str:
    return f"({', '.join(compiler.compile(column)[0] for column in condition.get_source_expressions())})"


class KeyInRows(Func):
    """Condition that a primary key is in a subquery of rows. The subquery runs unchanged.

    For `pk__in`, Django renames the tables of the subquery, and omits tables of a combined query. Django
    also cannot compare a composite key with the columns of a filter on a window.
    """

    output_field = BooleanField()

    def __init__(self, rows: QuerySet[Any]) -> None:
        columns = [F(field.attname) for field in rows.model._meta.pk_fields]
        super().__init__(*columns)
        self.names = {alias("key", place): column for place, column in enumerate(columns)}
        # GROUP BY contains selected annotations, so an aggregate could change without them.
        extra_columns = [*rows.query.annotation_select] if rows.query.group_by else []
        self.rows = rows.annotate(**self.names).values_list(*self.names, *extra_columns)

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **extra: Any) -> Any:
        sql, parameters, _ = compile_query(self.rows, connection)
        if self.rows.query.group_by:
            names = ", ".join(map(connection.ops.quote_name, self.names))
            sql = f"SELECT {names} FROM ({sql}) {connection.ops.quote_name('keys')}"  # noqa: S608
        return f"{_columns_sql(self, compiler)} IN ({sql})", tuple(parameters)


class KeyInList(Func):
    """Condition that a key is in a list. On SQLite, Django would write an OR of at most 1,000 keys."""

    output_field = BooleanField()

    def __init__(self, key: KeyColumns, keys: Sequence[Any]) -> None:
        super().__init__(*key.names)
        self.fields = key.fields
        self.keys = keys if len(key.names) > 1 else [(value,) for value in keys]

    def as_sql(self, compiler: Any, connection: Any, *args: Any, **extra: Any) -> Any:
        parameters = tuple(
            field.get_db_prep_value(value, connection)
            for values in self.keys
            for value, field in zip(values, self.fields, strict=True)
        )
        width = len(self.fields)
        row = "%s" if width == 1 else f"({', '.join(['%s'] * width)})"
        values_word = "VALUES " if width > 1 and connection.vendor == "sqlite" else ""
        rows = f"{values_word}{', '.join([row] * len(self.keys))}"
        return f"{_columns_sql(self, compiler)} IN ({rows})", parameters
