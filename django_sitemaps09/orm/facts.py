"""What is true of the items of a section, and of their query: it decides how the rows can be read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import Any

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db import connections, models
from django.db.models import F, Model, QuerySet
from django.db.models.expressions import RawSQL

from django_sitemaps09.orm import internals
from django_sitemaps09.orm.internals import Col, Query, columns_in, having_columns, to_many_aliases

#: The problem of a queryset that filters by an aggregate without a group, and the fix.
LACKS_GROUP = (
    "the queryset filters by an aggregate that is only on the right side of a `|` or `&`, so Django "
    "does not group its rows.",
    "Put the annotated queryset on the left side, or filter by Exists().",
)
_HIDES_COLUMNS = (
    "the queryset combines a filter on an aggregate and a filter on a column with `|`, and MariaDB "
    "and MySQL do not find that column when they count the rows.",
    "Filter by Exists() instead of the aggregate.",
)
# The values of these types cannot always be restored from text.
_INEXACT = (
    *(models.BinaryField, models.CompositePrimaryKey),
    *(models.DecimalField, models.FloatField, models.JSONField),
)
# A window function in SQL that a project wrote. Text or a column with this name is only read more slowly.
_OVER = re.compile(r"\bOVER\b", re.IGNORECASE)


class Facts:
    """Facts of items, each judged once. All but `is_queryset` are false for items without a query.

    No fact queries the database, and those that compile a query do so when they are asked for.
    """

    def __init__(self, items: Any) -> None:
        self.items: Any = items
        self.is_queryset = is_queryset = isinstance(items, QuerySet)
        query: Any = items.query if is_queryset else None
        #: The query; `None` for other iterables, and for rows of `raw()`.
        self.query = query
        #: Whether the project has evaluated the queryset, so that its rows are read as they are.
        self.is_fetched = is_queryset and internals.is_fetched(items)
        self.is_sliced = is_queryset and query.is_sliced
        #: Whether the queryset is a union, an intersection or a difference.
        self.is_combined = is_queryset and bool(query.combinator)
        #: Whether the queryset is a slice, or `distinct(fields)`: other columns could select other rows.
        self.is_limited = self.is_sliced or (is_queryset and bool(query.distinct_fields))
        self.is_grouped = is_queryset and query.group_by is not None
        #: Whether `filter()` can be called. It fails for a slice, a union or `raw()`.
        self.can_filter = is_queryset and not (self.is_sliced or self.is_combined)

    @cached_property
    def has_instances(self) -> bool:
        """Whether rows are instances of a model, and not those of `values()`."""
        return self.is_queryset and internals.gives_instances(self.items)

    @cached_property
    def fetches_plainly(self) -> bool:
        """Whether rows of a queryset that is not fetched come as Django's own methods fetch them."""
        return self.is_queryset and not self.is_fetched and internals.fetches_plainly(self.items)

    @property
    def has_plain_instances(self) -> bool:
        """Whether rows that are not fetched yet are Django's own instances, fetched as Django does."""
        return self.fetches_plainly and internals.gives_instances(self.items, plainly=True)

    @cached_property
    def can_reorder(self) -> bool:
        """Whether items are rows of a model whose order can be replaced by the primary key."""
        # Fetched rows can have changed. An iterable class of the project may skip rows of a chunk.
        is_whole = self.can_filter and not (self.is_fetched or self.is_limited)
        return is_whole and internals.gives_instances(self.items, plainly=True)

    @cached_property
    def has_window(self) -> bool:
        return self.is_queryset and has_window_function(self.query)

    @cached_property
    def repeats_rows(self) -> bool:
        return self.is_queryset and repeats_rows(self.query)

    @cached_property
    def order_joins(self) -> frozenset[str]:
        """Tables that the order reaches over a multi-valued relation: it repeats rows or divides groups."""
        if not self.is_queryset or self._is_ordered_by_own_columns:
            return frozenset()
        try:
            ordered_query, columns = internals.order_columns(self.items)
        except (EmptyResultSet, FullResultSet):
            return frozenset()
        return frozenset(column.alias for column in columns) & to_many_aliases(ordered_query)

    @property
    def _is_ordered_by_own_columns(self) -> bool:
        """Whether the order has only columns of the model, which is known without compiling a query."""
        own_names = {"pk"} | {field.attname for field in self.query.get_meta().concrete_fields}
        terms = [getattr(term, "expression", term) for term in _written_order(self.query)]
        names = [getattr(term, "name", term) for term in terms]
        return all(isinstance(name, str) and name.lstrip("-+") in own_names for name in names)

    @property
    def needs_order(self) -> bool:
        """Whether another order would select other rows."""
        # Django groups by the columns of the order. A window function counts rows that its joins repeat.
        return (self.is_grouped or self.has_window) and bool(self.order_joins)

    @property
    def has_key_ranges(self) -> bool:
        """Whether rows have unique primary keys, and a range of keys can be read efficiently."""
        if not self.can_reorder or isinstance(self.items.model._meta.pk, _INEXACT):
            return False
        # For each range, the database might compute such a query for all rows.
        return not (self.query.distinct or self.query.group_by or self.repeats_rows or self.has_window)

    @property
    def problem(self) -> tuple[str, str] | None:
        """The problem that makes all queries of the rows fail, and the fix; `None` if they work."""
        if self.is_queryset and not self.is_grouped and self.query.where.contains_aggregate:
            return LACKS_GROUP
        return _HIDES_COLUMNS if self._hides_columns else None

    @property
    def _hides_columns(self) -> bool:
        """Whether MariaDB and MySQL would not find a column in HAVING unless all columns are selected."""
        # HAVING can only use columns in SELECT and GROUP BY, and their names must be unique. For `__year`,
        # Django groups by the year, but compares the original column.
        if not self.is_grouped or connections[self.items.db].vendor != "mysql":
            return False
        columns = [*dict.fromkeys(having_columns(self.query))]
        if not all(isinstance(part, Col) for part in columns):
            return True
        key = {field.column for field in self.items.model._meta.pk_fields}
        names = [part.target.column for part in columns if part.alias != self.query.base_table]
        return not key.isdisjoint(names) or len({*names}) < len(names)


def key_names(model: type[Model]) -> list[str]:
    """Return the field names for ordering by the primary key."""
    # Django cannot order by a composite `pk` with `distinct()` or a filter on a window.
    names = [field.attname for field in model._meta.pk_fields]
    return names if len(names) > 1 else ["pk"]


def identifying_columns(query: Query) -> list[F]:
    """Return the columns that distinguish rows of `values()`, or rows of a model with annotations."""
    # Ordering by these columns adds nothing to GROUP BY or SELECT DISTINCT.
    # Not names: the name of a relation would order by the `ordering` of the related model.
    return [F(name) for name in (*query.values_select, *query.annotation_select)]


def has_window_function(query: Query) -> bool:
    """Return whether conditions or annotations have a window function over all rows."""
    return (
        query.where.contains_over_clause
        or any(map(is_window_function, query.annotations.values()))
        or any(_OVER.search(sql) for sql, _ in query.extra.values())
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


def _written_order(query: Query) -> tuple[Any, ...]:
    """Return the order of a query, or else of its model, which Django ignores for groups but joins."""
    ordering: Any = query.extra_order_by or query.order_by
    return tuple(ordering or (query.default_ordering and query.get_meta().ordering) or ())


def order_terms(query: Query) -> tuple[Any, ...]:
    """Return what a query is ordered by: names, or expressions that are not resolved."""
    is_grouped_by_model = query.group_by is not None and not (query.extra_order_by or query.order_by)
    return () if is_grouped_by_model else _written_order(query)


def is_volatile(part: Any) -> bool:
    """Return whether an expression can have another value for the same row."""
    return any(isinstance(node, RawSQL) or _is_random(node) for node in _nodes(part))


def _is_random(node: Any) -> bool:
    # Random(), and PostgreSQL's RandomUUID().
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
    return any(column.alias in many_aliases for column in internals.group_columns(query))


def divides_groups(query: Query) -> bool:
    """Return whether a condition with an aggregate divides groups by an unselected column of a join."""
    parts = (column for part in query.annotation_select.values() for column in part.get_group_by_cols())
    selected, many_aliases = {*columns_in(parts)}, to_many_aliases(query)
    columns = columns_in(having_columns(query))
    return any(column.alias in many_aliases and column not in selected for column in columns)
