"""Select querysets in which a range of keys is a range of rows."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import QuerySet

from django_sitemaps09.django_internals import loaded_as, without_order
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


class Ranged(NamedTuple):
    """Rows that can be divided by ranges of keys; if `written` is set, only those whose key is in it."""

    rows: QuerySet[Any]
    written: QuerySet[Any] | None = None

    def using(self, database: str | None) -> Ranged:
        """Return the same rows of one database, by default of the one that a router picks now."""
        picked = database or self.rows.db
        written = None if self.written is None else self.written.using(picked)
        return Ranged(self.rows.using(picked), written)


def key_ranged(items: Any, declaration: Declaration) -> Ranged | None:
    """Return the items as a queryset in which a range of keys is a range of rows, `None` if impossible.

    A multi-valued join or a filter on a window gives other results within a range. Such a queryset is read
    as the rows of the model whose key is in it.
    """
    if isinstance(items, QuerySet):
        for refused, why in (
            (lacks_group(items.query), LACKS_GROUP),
            (hides_columns(items), HIDES_COLUMNS),
        ):
            if refused:
                raise ImproperlyConfigured(f"{type(declaration.sitemap).__qualname__}: {' '.join(why)}")
    if not can_reorder(items) or has_window(declaration.expressions, items):
        return None
    if not isinstance(declaration.sitemap, ModelSitemap):
        try:
            KeyColumns.of(items.model, "pk", items.db)
        except ImproperlyConfigured:
            return None
    rows: QuerySet[Any] = without_order(items)
    query = rows.query
    # Rows have a primary key, so they are distinct unless a join repeats them.
    query.distinct = False
    if not (filters_window(query) or repeats_rows(query)):
        return Ranged(rows)
    if groups_rows(rows, declaration.expressions):
        # The aggregate covers what the queryset joins, and each row occurs once.
        return Ranged(rows.alias(**declaration.expressions))
    if (query.annotation_select or query.extra_select) and declaration.needs_items:
        return None
    outer = loaded_as(QuerySet(rows.model, using=rows.db), rows)
    try:
        outer.annotate(**declaration.expressions)
    except FieldError:
        # An expression uses an annotation that only the queryset itself has.
        return None
    return Ranged(outer, rows)
