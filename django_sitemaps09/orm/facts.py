"""What is true of the items of a section: facts of a queryset that decide how its rows can be read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db import connections
from django.db.models import BinaryField, CompositePrimaryKey, DecimalField, FloatField, JSONField, QuerySet

from django_sitemaps09.orm import internals
from django_sitemaps09.orm.internals import Col, having_columns, order_columns, to_many_aliases
from django_sitemaps09.orm.traits import has_random_order, has_window_function, repeats_rows

#: The problem of a queryset with the fact `lacks_group`, and the fix.
LACKS_GROUP = (
    "the queryset filters by an aggregate that is only on the right side of a `|` or `&`, so Django "
    "does not group its rows.",
    "Put the annotated queryset on the left side, or filter by Exists().",
)
#: The problem of a queryset with the fact `hides_columns`, and the fix.
HIDES_COLUMNS = (
    "the queryset combines a filter on an aggregate and a filter on a column with `|`, and MariaDB does "
    "not find that column when it counts the rows.",
    "Filter by Exists() instead of the aggregate.",
)
# The values of these types cannot always be restored from text.
_INEXACT = (BinaryField, CompositePrimaryKey, DecimalField, FloatField, JSONField)


@dataclass(frozen=True)
class Facts:
    """Facts of items, each judged once. All but `is_queryset` are false for items without a query.

    No fact queries the database, and those that compile a query do so when they are asked for.
    """

    items: Any

    @property
    def is_queryset(self) -> bool:
        return isinstance(self.items, QuerySet)

    @property
    def query(self) -> Any:
        """The query; `None` for other iterables, and for rows of `raw()`."""
        return self.items.query if self.is_queryset else None

    @cached_property
    def is_fetched(self) -> bool:
        """Whether the project has evaluated the queryset, so that its rows are read as they are."""
        return internals.is_fetched(self.items)

    @property
    def is_sliced(self) -> bool:
        return self.is_queryset and self.query.is_sliced

    @property
    def is_combined(self) -> bool:
        """Whether the queryset is a union, an intersection or a difference."""
        return self.is_queryset and bool(self.query.combinator)

    @property
    def is_limited(self) -> bool:
        """Whether the queryset is a slice, or `distinct(fields)`: other columns could select other rows."""
        return self.is_sliced or (self.is_queryset and bool(self.query.distinct_fields))

    @property
    def is_grouped(self) -> bool:
        return self.is_queryset and self.query.group_by is not None

    @cached_property
    def has_instances(self) -> bool:
        """Whether rows are instances of a model, and not those of `values()`."""
        return self.is_queryset and internals.gives_instances(self.items)

    @cached_property
    def fetches_plainly(self) -> bool:
        """Whether rows of a queryset that is not fetched come as Django's own methods fetch them."""
        return self.is_queryset and not self.is_fetched and internals.fetches_plainly(self.items)

    @cached_property
    def has_plain_instances(self) -> bool:
        """Whether rows that are not fetched yet are Django's own instances, fetched as Django does."""
        return self.fetches_plainly and internals.gives_instances(self.items, plainly=True)

    @cached_property
    def can_reorder(self) -> bool:
        """Whether items are rows of a model whose order can be replaced by the primary key.

        Rows that the project has fetched can have changed, so they are not read again. Another iterable
        class may skip rows, so a short chunk would not mean the end.
        """
        is_readable = self.is_queryset and not self.is_fetched
        is_whole = is_readable and not (self.is_limited or self.is_combined)
        return is_whole and internals.gives_instances(self.items, plainly=True)

    @property
    def can_filter(self) -> bool:
        """Whether `filter()` can be called. It fails for a slice, a union or `raw()`."""
        return self.is_queryset and not (self.is_sliced or self.is_combined)

    @cached_property
    def has_window(self) -> bool:
        """Whether conditions or annotations have a window function over all rows."""
        return self.is_queryset and has_window_function(self.query)

    @cached_property
    def repeats_rows(self) -> bool:
        """Whether a join or a function can repeat rows that no GROUP BY makes unique again."""
        return self.is_queryset and repeats_rows(self.query)

    @cached_property
    def order_joins(self) -> frozenset[str]:
        """Aliases of the tables that the order reaches over a multi-valued relation."""
        if not self.is_queryset or self._is_ordered_by_own_columns:
            return frozenset()
        try:
            ordered_query, columns = order_columns(self.items)
        except (EmptyResultSet, FullResultSet):
            return frozenset()
        return frozenset(column.alias for column in columns) & to_many_aliases(ordered_query)

    @property
    def _is_ordered_by_own_columns(self) -> bool:
        """Whether the order has only columns of the model, which is known without compiling a query."""
        query = self.query
        ordering: Any = query.extra_order_by or query.order_by
        if not ordering and query.default_ordering:
            ordering = query.get_meta().ordering or ()
        own_names = {"pk"} | {field.attname for field in query.get_meta().concrete_fields}
        terms = [getattr(term, "expression", term) for term in ordering]
        names = [getattr(term, "name", term) for term in terms]
        return all(isinstance(name, str) and name.lstrip("-+") in own_names for name in names)

    @property
    def order_repeats_rows(self) -> bool:
        """Whether the order follows a multi-valued relation, so it repeats rows or divides groups."""
        return bool(self.order_joins)

    @property
    def needs_order(self) -> bool:
        """Whether another order would select other rows.

        Django groups by the columns of the order. A window function counts the rows that its joins repeat.
        """
        return (self.is_grouped or self.has_window) and self.order_repeats_rows

    @property
    def has_key_ranges(self) -> bool:
        """Whether rows have unique primary keys, and a range of keys can be read efficiently."""
        if not self.can_reorder or isinstance(self.items.model._meta.pk, _INEXACT):
            return False
        # For each range, the database might compute such a query for all rows.
        return not (self.query.distinct or self.query.group_by or self.repeats_rows or self.has_window)

    @property
    def has_random_order(self) -> bool:
        """Whether rows have another order in each query."""
        return self.is_queryset and has_random_order(self.query)

    @property
    def problem(self) -> tuple[str, str] | None:
        """The problem that makes all queries of the rows fail, and the fix; `None` if they work."""
        if self.is_queryset and not self.is_grouped and self.query.where.contains_aggregate:
            return LACKS_GROUP
        return HIDES_COLUMNS if self._hides_columns else None

    @property
    def _hides_columns(self) -> bool:
        """Whether MariaDB would not find a column in HAVING unless all columns are selected.

        HAVING can only use columns in SELECT and GROUP BY, and their names must be unique. For a transform
        such as `__year`, Django groups by the transform, but compares the original column.
        """
        if not self.is_grouped or connections[self.items.db].vendor != "mysql":
            return False
        columns = [*dict.fromkeys(having_columns(self.query))]
        if not all(isinstance(part, Col) for part in columns):
            return True
        key = {field.column for field in self.items.model._meta.pk_fields}
        names = [part.target.column for part in columns if part.alias != self.query.base_table]
        return not key.isdisjoint(names) or len({*names}) < len(names)


def facts(items: Any) -> Facts:
    """Return what is true of items."""
    return Facts(items)
