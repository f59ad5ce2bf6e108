"""Querysets of which a range of keys is a range of rows."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import QuerySet

from django_sitemaps09.rows import can_reorder, filters_window, has_window, repeats_rows
from django_sitemaps09.sitemaps import ModelSitemap
from django_sitemaps09.sources.declaration import Declaration
from django_sitemaps09.sources.keys import KeyColumns


def key_ranged(items: Any, declaration: Declaration) -> QuerySet[Any] | None:
    """The items as a queryset in which a range of keys is a range of rows, or `None` if there is none.

    A multi-valued join, a filter on a window, and distinct() do not commute with a range: such a
    queryset is read as the rows whose key is in it.
    """
    if not can_reorder(items) or has_window(declaration.expressions, items):
        return None
    if not isinstance(declaration.sitemap, ModelSitemap):
        try:
            KeyColumns.of(items.model, "pk", items.db)
        except ImproperlyConfigured:
            return None
    rows: QuerySet[Any] = items.order_by()
    query = rows.query
    # reverse() outlives order_by(), and would turn the order of the key around.
    query.standard_ordering = True
    if not (query.distinct or repeats_rows(query) or filters_window(query)):
        return rows
    if (query.annotation_select or query.extra_select) and declaration.needs_items:
        return None
    outer: QuerySet[Any] = QuerySet(rows.model, using=rows.db).filter(pk__in=rows.values("pk"))
    outer.query.select_related = query.select_related
    outer.query.deferred_loading = query.deferred_loading
    outer = outer.prefetch_related(*rows._prefetch_related_lookups)  # type: ignore[attr-defined]
    try:
        outer.annotate(**declaration.expressions)
    except FieldError:
        # An expression names an annotation, which only the rows themselves have.
        return None
    return outer
