"""Select querysets in which a range of keys is a range of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import QuerySet

from django_sitemaps09.django_internals import copy_loading, remove_order
from django_sitemaps09.queryset_traits import (
    HIDES_COLUMNS,
    LACKS_GROUP,
    can_reorder,
    filters_window,
    groups_rows,
    has_window,
    hides_columns,
    lacks_group,
    repeats_rows,
)
from django_sitemaps09.sitemaps import ModelSitemap
from django_sitemaps09.sources.columns.declaration import Declaration
from django_sitemaps09.sources.rows.keys import KeyColumns


class RangedRows(NamedTuple):
    """Rows that can be divided by ranges of keys; if `original` is set, only those whose key is in it."""

    rows: QuerySet[Any]
    original: QuerySet[Any] | None = None

    def using(self, database: str | None) -> RangedRows:
        """Return the same rows of one database, by default of the one that a router picks now."""
        alias = database or self.rows.db
        original = None if self.original is None else self.original.using(alias)
        return RangedRows(self.rows.using(alias), original)


def ranged_rows(items: Any, declaration: Declaration) -> RangedRows | None:
    """Return the items as a queryset in which a range of keys is a range of rows, `None` if impossible.

    A multi-valued join or a filter on a window gives other results within a range. Such a queryset is read
    as the rows of the model whose key is in it.
    """
    if isinstance(items, QuerySet):
        for is_refused, problem in (
            (lacks_group(items.query), LACKS_GROUP),
            (hides_columns(items), HIDES_COLUMNS),
        ):
            if is_refused:
                raise ImproperlyConfigured(f"{type(declaration.sitemap).__qualname__}: {' '.join(problem)}")
    if not can_reorder(items) or has_window(declaration.expressions, items):
        return None
    if not isinstance(declaration.sitemap, ModelSitemap):
        try:
            KeyColumns.of(items.model, "pk", items.db)
        except ImproperlyConfigured:
            return None
    rows: QuerySet[Any] = remove_order(items)
    query = rows.query
    # Rows have a primary key, so they are distinct unless a join repeats them.
    query.distinct = False
    if not (filters_window(query) or repeats_rows(query)):
        return RangedRows(rows)
    if groups_rows(rows, declaration.expressions):
        # The aggregate covers what the queryset joins, and each row occurs once.
        return RangedRows(rows.alias(**declaration.expressions))
    if (query.annotation_select or query.extra_select) and declaration.needs_items:
        return None
    outer_rows = copy_loading(QuerySet(rows.model, using=rows.db), rows)
    try:
        outer_rows.annotate(**declaration.expressions)
    except FieldError:
        # An expression uses an annotation that only the queryset itself has.
        return None
    return RangedRows(outer_rows, rows)
