"""Select the querysets whose rows can be read by ranges of keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import QuerySet

from django_sitemaps09.hooks.annotations import add_columns, covers_joins
from django_sitemaps09.orm.internals import copy_loading, is_fetched, remove_order
from django_sitemaps09.orm.traits import (
    HIDES_COLUMNS,
    LACKS_GROUP,
    can_reorder,
    has_window_function,
    hides_columns,
    lacks_group,
    needs_order,
    repeats_rows,
)
from django_sitemaps09.sitemaps import ModelSitemap
from django_sitemaps09.sources.columns.declaration import Declaration
from django_sitemaps09.sources.rows.keys import KeyColumns


class RangedRows(NamedTuple):
    """Rows that can be read by ranges of keys.

    If `original` is set, only rows with a key from that queryset belong to the section.
    """

    rows: QuerySet[Any]
    original: QuerySet[Any] | None = None

    def using(self, database: str | None) -> RangedRows:
        """Return the same rows from a database, by default the one that a router selects now."""
        alias = database or self.rows.db
        original = None if self.original is None else self.original.using(alias)
        return RangedRows(self.rows.using(alias), original)


def ranged_rows(items: Any, declaration: Declaration) -> RangedRows | None:
    """Return the items as rows that can be read by ranges of keys, or `None` if that is not possible.

    A multi-valued join or a filter on a window can give other results within a range. In this case, the
    rows of the model with a key in the queryset are read. Raise `ImproperlyConfigured` for a broken filter.
    """
    if not isinstance(items, QuerySet) or is_fetched(items):
        return None
    problem = LACKS_GROUP if lacks_group(items.query) else HIDES_COLUMNS if hides_columns(items) else None
    if problem:
        raise ImproperlyConfigured(f"{type(declaration.sitemap).__qualname__}: {' '.join(problem)}")
    if not can_reorder(items) or _declares_window_function(items, declaration.expressions):
        return None
    if not isinstance(declaration.sitemap, ModelSitemap):
        try:
            KeyColumns.from_field(items.model, "pk", items.db)
        except ImproperlyConfigured:
            return None
    keeps_order = needs_order(items)
    rows: QuerySet[Any] = items.all() if keeps_order else remove_order(items)
    query = rows.query
    if not keeps_order:
        # Rows with a primary key are distinct unless a join repeats them. With an order, Django also groups
        # by its columns if the rows are distinct.
        query.distinct = False
        if not (has_window_function(query) or repeats_rows(query)):
            return RangedRows(rows)
        # The aggregate includes all joined rows, and each row of the model occurs once.
        if (grouped_rows := _grouped_by_row(rows, declaration.expressions)) is not None:
            return RangedRows(grouped_rows)
    if (query.annotation_select or query.extra_select) and declaration.needs_items:
        return None
    if covers_joins(rows, declaration.expressions):
        return None
    # An order of the model that follows a multi-valued relation would repeat rows.
    outer_rows = remove_order(copy_loading(QuerySet(rows.model, using=rows.db), rows))
    try:
        outer_rows.annotate(**declaration.expressions)
    except FieldError:
        # An expression uses an annotation of the original queryset.
        return None
    return RangedRows(outer_rows, rows)


def _declares_window_function(items: QuerySet[Any], expressions: Mapping[str, Any]) -> bool:
    """Return whether an expression has a window function. Its result would change in a range of rows."""
    if not expressions:
        return False
    try:
        annotations = items.annotate(**expressions).query.annotations
    except FieldError as error:
        raise ImproperlyConfigured(f"A declared expression is invalid: {error}") from error
    return any(annotations[name].contains_over_clause for name in expressions)


def _grouped_by_row(rows: QuerySet[Any], expressions: Mapping[str, Any]) -> QuerySet[Any] | None:
    """Return rows grouped by an aggregate in the expressions, if that makes each row unique."""
    try:
        grouped_rows = add_columns(rows, expressions, is_selected=False)
    except FieldError:
        return None
    query = grouped_rows.query
    is_unique = query.group_by and not has_window_function(query) and not repeats_rows(query)
    return grouped_rows if is_unique else None
