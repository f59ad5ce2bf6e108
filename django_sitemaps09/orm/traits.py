"""Properties of queries and their expressions: windows, groups, orders, and joins that repeat rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from django.db.models import F, Model, QuerySet
from django.db.models.expressions import RawSQL

from django_sitemaps09.orm.internals import (
    Col,
    Query,
    columns_in,
    group_columns,
    having_columns,
    to_many_aliases,
)

# A window function in SQL that a project wrote. Text or a column with this name is only read more slowly.
_OVER = re.compile(r"\bOVER\b", re.IGNORECASE)


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
