"""Find single rows of a section by values in their locations. Each function runs a few small queries."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

from django.db.models import QuerySet

from django_sitemaps09.entries import Batch
from django_sitemaps09.hooks.annotations import add_columns
from django_sitemaps09.orm.internals import add_condition, remove_order
from django_sitemaps09.orm.traits import group_by_key
from django_sitemaps09.pages import Key
from django_sitemaps09.sources.members import KeyInRows, Members
from django_sitemaps09.sources.queryset import QuerySource
from django_sitemaps09.sources.slices import Slices

#: Maximum number of rows that a search returns. The values of most locations belong to one row.
MAX_FOUND = 10


class FoundRow(NamedTuple):
    """Row of a section's model.

    `is_listed` is false if `items()` filters the row out. It is `None` if only a query of all rows can
    tell, because a window function filters them.
    """

    key: Hashable
    is_listed: bool | None


def find_rows(source: QuerySource, conditions: Mapping[str, Any]) -> list[FoundRow]:
    """Return the rows for which the conditions hold, including rows that the section does not list.

    The names of conditions are fields, or aliases of declared expressions.
    """
    members, original = source.members, source.members.original
    keys = _keys(source, source.annotated_rows, conditions)
    if members.looks_beyond:
        return [FoundRow(key, None) for key in keys]
    if original is not None:
        return [FoundRow(key, _is_in(original, key, members)) for key in keys]
    if keys:
        return [FoundRow(key, is_listed=True) for key in keys]
    return [FoundRow(key, is_listed=False) for key in _keys(source, _all_rows(source), conditions)]


def _all_rows(source: QuerySource) -> QuerySet[Any]:
    return add_columns(source.members.model_rows(), source.declaration.expressions)


def _keys(source: QuerySource, rows: QuerySet[Any], conditions: Mapping[str, Any]) -> list[Hashable]:
    # With an order, a database may read the rows in this order instead of using an index for the condition.
    rows = remove_order(rows.filter(**conditions))
    rows = group_by_key(rows.values_list(*source.members.key.names))
    return list(map(source.members.key.row_key, rows[:MAX_FOUND]))


def _is_in(original: QuerySet[Any], key: Hashable, members: Members) -> bool:
    listed_rows = KeyInRows(members.filter_keys(original, [key]))
    return add_condition(members.filter_keys(members.rows, [key]), listed_rows).exists()


def row_batch(source: QuerySource, row: FoundRow) -> Batch | None:
    """Return the entries of one row as they are now; `None` if the row no longer exists."""
    has_rows = row.is_listed is not False or source.members.original is not None
    rows = source.annotated_rows if has_rows else _all_rows(source)
    rows = rows.order_by(*source.members.key.names)
    slices = Slices(rows, source.members, source.declaration)
    with closing(slices.with_keys([row.key])) as parts:
        return next(map(source.declaration.batch, parts), None)


def page_index(source: QuerySource, key: Hashable, bounds: Sequence[Key | None]) -> int:
    """Return the index of the page with a key. `bounds` are the upper bounds of all pages, in order.

    Integer keys need no query. Other keys need one query for each step of a binary search, since only the
    database knows their order.
    """
    return bisect_left(bounds[:-1], True, key=partial(_is_within, source, key))


def _is_within(source: QuerySource, key: Any, bound: Key | None) -> bool:
    key_columns = source.members.key
    until: Any = key_columns.parse(bound)
    if key_columns.is_integer:
        return bool(key <= until)
    rows = source.members.filter_keys(source.members.model_rows(), [key])
    return key_columns.filter_range(rows, None, until).exists()
