"""Iterate over querysets, and inspect whether their rows can be reordered, repeated, or read in ranges."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from itertools import chain, islice
from sys import maxsize
from traceback import clear_frames
from typing import Any

from django.core.exceptions import EmptyResultSet, FullResultSet, ValidationError
from django.db import DataError, connections
from django.db.models import (
    BinaryField,
    CompositePrimaryKey,
    DecimalField,
    F,
    FloatField,
    JSONField,
    Model,
    QuerySet,
)
from django.db.models.expressions import RawSQL

from django_sitemaps09.orm.internals import (
    Col,
    Query,
    columns_in,
    fetches_plainly,
    gives_instances,
    group_columns,
    having_columns,
    is_fetched,
    iterate,
    order_columns,
    reorder,
    to_many_aliases,
)

#: The problem of a queryset for which `lacks_group()` is true, and the fix.
LACKS_GROUP = (
    "the queryset filters by an aggregate that is only on the right side of a `|` or `&`, so Django "
    "does not group its rows.",
    "Put the annotated queryset on the left side, or filter by Exists().",
)
#: The problem of a queryset for which `hides_columns()` is true, and the fix.
HIDES_COLUMNS = (
    "the queryset combines a filter on an aggregate and a filter on a column with `|`, and MariaDB does "
    "not find that column when it counts the rows.",
    "Filter by Exists() instead of the aggregate.",
)
#: Exceptions that drivers and fields raise for values that they cannot convert: infinity, the year 10000,
#: 2020-02-30. In SQLite, Django raises `AttributeError` for a time that it cannot parse, and before 6.1,
#: `TypeError` for a decimal.
UNREADABLE = (DataError, ValueError, ArithmeticError, ValidationError, AttributeError, TypeError)
#: Maximum number of instances in memory. `django.contrib.sitemaps` keeps all instances of a page. This
#: takes three times the memory, and 50% more time, mostly for garbage collection.
AT_A_TIME = 1_000
# A window function in SQL that a project wrote. Text or a column with this name is only read more slowly.
_OVER = re.compile(r"\bOVER\b", re.IGNORECASE)


@contextmanager
def stream_items(items: Any, size: int) -> Iterator[Iterator[Any]]:
    """Yield an iterator of items. If it needs a query, read `size` rows at a time and do not cache them."""
    if not _can_stream(items):
        yield iter(items)
        return
    with closing(iterate(items, size, on_server=False)) as rows:
        yield rows


def _can_stream(items: Any) -> bool:
    return isinstance(items, QuerySet) and not is_fetched(items) and fetches_plainly(items)


def chunks(items: Any, size: int) -> Generator[list[Any]]:
    """Yield lists of up to `size` items. Related objects can be fetched for all items of a list."""
    with stream_items(items, size) as rows:
        while chunk := list(islice(rows, size)):
            yield chunk


def iterate_unordered(items: Any, size: int) -> Generator[list[Any]]:
    """Yield lists of up to `size` items, in any order, with only one list in memory.

    Each list is a primary key range with a separate query, because a driver can keep all rows of a query in
    memory. Without such ranges, rows are read through a server-side cursor, which some databases do not
    have.
    """
    if not _can_stream(items):
        yield from chunks(items, size)
        return
    items = pin_database(items)
    if _has_key_ranges(items):
        rows = items.order_by("pk")
        chunk = list(rows[:size])
        while chunk:
            yield chunk
            chunk = list(rows.filter(pk__gt=chunk[-1].pk)[:size]) if len(chunk) == size else []
    else:
        # As in iterator(), except that the cursor is closed here and not by the garbage collector.
        on_server = not connections[items.db].settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
        with closing(iterate(items, size, on_server=on_server)) as iterator:
            try:
                while chunk := list(islice(iterator, size)):
                    yield chunk
            except BaseException as error:
                # If an instance cannot be created, the traceback would keep the cursor open.
                clear_frames(error.__traceback__)
                raise


def pin_database(items: Any, using: str | None = None) -> Any:
    """Return the same items with all queries on one database: a router can select another each time."""
    if isinstance(items, QuerySet) and not is_fetched(items):
        return items.using(using or items.db)
    return items


def count_rows(items: QuerySet[Any]) -> int:
    """Count the rows of a queryset, including repeated rows from the joins of its order.

    `count()` drops the order with its joins and its grouping, except for a slice. It cannot count a slice
    of an ordered union, so the whole union is counted. A project's own `count()` can be an estimate, so
    Django's is called.
    """
    query, count = items.query, QuerySet.count
    if is_fetched(items):
        return count(items)
    if query.combinator and query.is_sliced:
        union = items.all()
        union.query.clear_limits()
        last = query.high_mark if query.high_mark is not None else maxsize
        return max(0, min(count(union), last) - query.low_mark)
    # Django groups the count by the first column of a composite key only.
    has_parts = query.group_by is not None and len(items.model._meta.pk_fields) > 1
    if has_parts or (not (query.combinator or query.distinct_fields) and order_repeats_rows(items)):
        return count(items if query.is_sliced else items[:maxsize])
    if query.is_sliced and gives_instances(items) and not (query.distinct or query.group_by):
        # The database need not sort all rows to count the first ones.
        items = items.all()
        items.query.clear_ordering(force=True)
    return count(items)


def order_repeats_rows(items: QuerySet[Any]) -> bool:
    """Return whether the order follows a multi-valued relation, so it repeats rows or divides groups."""
    return bool(_order_joins(items))


def needs_order(items: QuerySet[Any]) -> bool:
    """Return whether another order would select other rows.

    Django groups by the columns of the order. A window function counts the rows that its joins repeat.
    """
    query = items.query
    return (query.group_by is not None or has_window_function(query)) and order_repeats_rows(items)


def _order_joins(items: QuerySet[Any]) -> set[str]:
    """Return the aliases of the tables that the order reaches over a multi-valued relation."""
    if _is_ordered_by_own_columns(items):
        return set()
    try:
        ordered_query, columns = order_columns(items)
    except (EmptyResultSet, FullResultSet):
        return set()
    return {column.alias for column in columns} & to_many_aliases(ordered_query)


def _is_ordered_by_own_columns(items: QuerySet[Any]) -> bool:
    """Return whether the order has only columns of the model, which is known without compiling a query."""
    query = items.query
    ordering: Any = query.extra_order_by or query.order_by
    if not ordering and query.default_ordering:
        ordering = query.get_meta().ordering or ()
    own_names = {"pk"} | {field.attname for field in query.get_meta().concrete_fields}
    terms = [getattr(term, "expression", term) for term in ordering]
    names = [getattr(term, "name", term) for term in terms]
    return all(isinstance(name, str) and name.lstrip("-+") in own_names for name in names)


def key_names(model: type[Model]) -> list[str]:
    """Return the field names for ordering by the primary key.

    For a composite key, Django cannot order by `pk` with `distinct()` or a filter on a window.
    """
    names = [field.attname for field in model._meta.pk_fields]
    return names if len(names) > 1 else ["pk"]


def identifying_columns(query: Query) -> list[F]:
    """Return the columns that distinguish rows of `values()`, or rows of a model with annotations.

    Ordering by these columns adds nothing to GROUP BY or SELECT DISTINCT.
    """
    # Not names: the name of a relation would order by the `ordering` of the related model.
    return [F(name) for name in (*query.values_select, *query.annotation_select)]


def in_page_order(items: Any) -> Any:
    """Return items for Django's paginator, which counts them and reads each page in separate queries.

    Rows of a model lose an order that would list them several times, since Django counts them only once.
    """
    if not isinstance(items, QuerySet) or is_fetched(items):
        return items
    query = items.query
    if query.combinator and query.is_sliced:
        return items
    if can_reorder(items) and not needs_order(items):
        # The order does not repeat rows of a relation again. But DISTINCT includes its columns.
        own_joins = set() if query.distinct else to_many_aliases(query)
        lists_annotations = repeats_rows(query) and (query.annotation_select or query.extra_select)
        if not lists_annotations and _order_joins(items) - own_joins:
            items = items.order_by()
    return in_total_order(items)


def in_total_order(items: QuerySet[Any]) -> QuerySet[Any]:
    """Return the rows in a total order, so the separate queries for pages have the same order."""
    query = items.query
    if query.group_by is not None and not (query.order_by or query.extra_order_by) and needs_order(items):
        # Django drops the order of the model here, but keeps its join, which changes aggregates.
        return items
    last: list[F] = []
    if gives_instances(items):
        # Django cannot order a union by the name of a composite key.
        last += [F(field.attname) for field in query.get_meta().pk_fields]
    if not last or query.combinator or repeats_rows(query):
        # Only these columns distinguish rows of `values()`, or the same row with other annotations.
        last += identifying_columns(query)
    # The name of a relation would order by the `ordering` of the related model.
    ordering = order_terms(query) or tuple(map(F, query.distinct_fields))
    # The order of the rows does not change. Additional columns only separate equal rows. In the direction
    # of the last column, a database can read its index, which also has the primary key.
    end = ordering[-1] if ordering else ""
    is_descending = end.startswith("-") if isinstance(end, str) else getattr(end, "descending", False)
    return reorder(items, *ordering, *(name.desc() if is_descending else name.asc() for name in last))


def _has_key_ranges(items: QuerySet[Any]) -> bool:
    """Return whether rows have unique primary keys, and a key range can be read efficiently."""
    # Values of these types cannot always be restored from text.
    inexact = (BinaryField, CompositePrimaryKey, DecimalField, FloatField, JSONField)
    if not can_reorder(items) or isinstance(items.model._meta.pk, inexact):
        return False
    query = items.query
    # For each range, the database might compute such a query for all rows.
    return not (query.distinct or query.group_by or repeats_rows(query) or has_window_function(query))


def can_reorder(items: Any) -> bool:
    """Return whether items are rows of a model whose order can be replaced by the primary key.

    Rows that the project has fetched can have changed, so they are not read again.
    """
    # Another iterable class may skip rows, so a short chunk would not mean the end.
    if not isinstance(items, QuerySet) or is_fetched(items) or not gives_instances(items, plainly=True):
        return False
    query = items.query
    return not (query.is_sliced or query.combinator or query.distinct_fields)


def has_window_function(query: Query) -> bool:
    """Return whether conditions or annotations have a window function over all rows."""
    selected_sql = (sql for sql, _ in query.extra.values())
    return (
        query.where.contains_over_clause
        or any(map(is_window_function, query.annotations.values()))
        or any(map(_OVER.search, selected_sql))
    )


def is_window_function(expression: Any) -> bool:
    """Return whether a resolved expression contains a window function, also in the text of RawSQL."""
    return expression.contains_over_clause or any(map(_OVER.search, _raw_sql(expression)))


def has_raw_sql(query: Query) -> bool:
    """Return whether a project wrote SQL into a query, whose names a further join can make ambiguous."""
    parts = chain([query.where], query.annotations.values(), order_terms(query))
    return bool(query.extra) or any(any(True for _ in _raw_sql(part)) for part in parts)


def _nodes(part: Any) -> Iterator[Any]:
    """Yield an expression or condition, and all its parts, except those of subqueries."""
    yield part
    for child in getattr(part, "children", None) or getattr(part, "get_source_expressions", list)():
        if not isinstance(child, Query):
            yield from _nodes(child)


def _raw_sql(part: Any) -> Iterator[str]:
    for node in _nodes(part):
        if isinstance(node, RawSQL):
            yield node.sql
        # ExtraWhere, a condition of extra().
        yield from getattr(node, "sqls", ())


def order_terms(query: Query) -> tuple[Any, ...]:
    """Return what a query is ordered by: names, or expressions that are not resolved."""
    ordering: Any = query.extra_order_by or query.order_by
    if query.default_ordering and query.group_by is None:
        ordering = ordering or query.get_meta().ordering
    return tuple(ordering or ())


def is_volatile(part: Any) -> bool:
    """Return whether an expression can have another value for the same row."""
    return any(isinstance(node, RawSQL) or _is_random(node) for node in _nodes(part))


def _is_random(node: Any) -> bool:
    """Return whether a node is `Random()`, or PostgreSQL's `RandomUUID()`."""
    return "RANDOM" in str(getattr(node, "function", "")).upper()


def has_random_order(query: Query) -> bool:
    """Return whether rows have another order in each query, or a slice in a union has."""
    terms = [F(term.lstrip("-+")) if isinstance(term, str) else term for term in order_terms(query)]
    # The name of an annotation stands for its expression.
    named = (query.annotations.get(getattr(node, "name", "")) for term in terms for node in _nodes(term))
    return (
        F("?") in terms
        or any(_is_random(node) for part in (*terms, *named) for node in _nodes(part))
        or any(has_random_order(part) for part in query.combined_queries if part.is_sliced)
    )


def repeats_rows(query: Query) -> bool:
    """Return whether a join or a function can repeat rows that no GROUP BY makes unique again."""
    if query.extra_tables or any(part.set_returning for part in query.annotations.values()):
        return True
    many_aliases = to_many_aliases(query)
    if not query.group_by:
        return bool(many_aliases)
    # GROUP BY also contains the columns in a condition with an aggregate.
    return any(column.alias in many_aliases for column in group_columns(query))


def divides_groups(query: Query) -> bool:
    """Return whether a condition with an aggregate divides groups by a column of a join.

    Rows that also select this column differ anyway.
    """
    annotations = query.annotation_select.values()
    selected = {column for part in annotations for column in columns_in(part.get_group_by_cols())}
    many_aliases = to_many_aliases(query)
    columns = columns_in(having_columns(query))
    return any(column.alias in many_aliases and column not in selected for column in columns)


def group_by_key(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Group rows of `values_list()` only by their primary key, not by all columns of their model.

    The groups are the same, but SQLite sorts by each column in GROUP BY.
    """
    query = rows.query
    # GROUP BY must contain the columns in a condition with an aggregate.
    if isinstance(query.group_by, tuple) and not having_columns(query):
        key, base_table = {*rows.model._meta.pk_fields}, query.base_table
        query.group_by = tuple(
            part
            for part in query.group_by
            if not (isinstance(part, Col) and part.alias == base_table and part.target not in key)
        )
    return rows


def lacks_group(query: Query) -> bool:
    """Return whether rows are filtered by an aggregate without GROUP BY. `|` can cause this in Django."""
    return query.group_by is None and query.where.contains_aggregate


def hides_columns(rows: QuerySet[Any]) -> bool:
    """Return whether MariaDB would not find a column in HAVING unless all columns are selected.

    HAVING can only use columns in SELECT and GROUP BY, and their names must be unique. For a transform such
    as `__year`, Django groups by the transform, but compares the original column.
    """
    if connections[rows.db].vendor != "mysql" or rows.query.group_by is None:
        return False
    columns = [*dict.fromkeys(having_columns(rows.query))]
    if not all(isinstance(part, Col) for part in columns):
        return True
    key = {field.column for field in rows.model._meta.pk_fields}
    names = [part.target.column for part in columns if part.alias != rows.query.base_table]
    return not key.isdisjoint(names) or len({*names}) < len(names)
