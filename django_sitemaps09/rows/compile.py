"""Compile a sitemap to a source of rows and batches of text.

A sitemap is compiled only if its class overrides no internals of `django.contrib.sitemaps`. Any other
sitemap, such as a class written for that package, is opaque: its entries come from its `get_urls()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import QuerySet

from django_sitemaps09.declare.annotations import add_columns, annotated, covers_joins
from django_sitemaps09.declare.base import read_items
from django_sitemaps09.declare.models import ModelSitemap, NewsSitemap
from django_sitemaps09.declare.sections import Section, bind
from django_sitemaps09.declare.sitemap_attributes import Declared, is_compiled, read
from django_sitemaps09.orm.facts import Facts, is_window_function
from django_sitemaps09.orm.internals import copy_loading, remove_order
from django_sitemaps09.orm.reading import pin_database
from django_sitemaps09.protocol.limits import Limits
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.rows.conversion import Conversion
from django_sitemaps09.rows.get_urls import UrlsSource
from django_sitemaps09.rows.keys import KeyColumns
from django_sitemaps09.rows.positions import PositionSource
from django_sitemaps09.rows.queryset import QuerySource
from django_sitemaps09.rows.source_base import Source


def compile_source(
    name: str, section: Section, base: Base, limits: Limits, using: str | None = None
) -> Source:
    """Return the source of a section for a host.

    Rows are read from the database `using`, by default from the first one that a router selects. Raise
    `ImproperlyConfigured` for an invalid declaration.
    """
    sitemap = bind(section, base.domain)
    if not is_compiled(sitemap):
        return UrlsSource(read(sitemap, base, limits))
    # Read hooks afterwards, since `items()` can set them, as for contrib's pages.
    items = pin_database(read_items(sitemap), using)
    conversion = Conversion(read(sitemap, base, limits))
    return _query_source(name, items, conversion) or PositionSource.from_items(items, conversion)


def ranged_source(name: str, declared: Declared) -> QuerySource | None:
    """Return the source of a compiled sitemap; `None` if it has no key ranges. Count and read no items."""
    items = pin_database(read_items(declared.sitemap))
    return _query_source(name, items, Conversion(declared))


def _query_source(name: str, items: Any, conversion: Conversion) -> QuerySource | None:
    """Return the source of items that are read by ranges of keys, or `None` if that is not possible."""
    # A multi-valued join or a filter on a window can give other results within a range. In this case, the
    # rows of the model with a key in the queryset are read.
    # Pages of news are refilled in each export, so that their number does not grow.
    sitemap, own = conversion.declared.sitemap, Facts(items)
    if isinstance(sitemap, NewsSitemap) or not own.is_queryset or own.is_fetched:
        return None
    if problem := own.problem:
        raise ImproperlyConfigured(f"{type(sitemap).__qualname__}: {' '.join(problem)}")
    if not own.can_reorder or _declares_window_function(items, conversion.expressions):
        return None
    if not isinstance(sitemap, ModelSitemap):
        try:
            KeyColumns.from_field(items.model, "pk", items.db)
        except ImproperlyConfigured:
            return None
    source_of = partial(QuerySource.from_rows, name, conversion)
    needs_order = own.needs_order
    rows: QuerySet[Any] = items.all() if needs_order else remove_order(items)
    query = rows.query
    if not needs_order:
        # Rows with a primary key are distinct unless a join repeats them. With an order, Django also groups
        # by its columns if the rows are distinct.
        query.distinct = False
        if not (own.has_window or Facts(rows).repeats_rows):
            return source_of(rows)
        # The aggregate includes all joined rows, and each row of the model occurs once.
        if (grouped_rows := _grouped_by_row(rows, conversion.expressions)) is not None:
            return source_of(grouped_rows)
    if (query.annotation_select or query.extra_select) and conversion.needs_items:
        return None
    if covers_joins(rows, conversion.expressions):
        return None
    # An order of the model that follows a multi-valued relation would repeat rows.
    outer_rows = remove_order(copy_loading(QuerySet(rows.model, using=rows.db), rows))
    try:
        outer_rows.annotate(**conversion.expressions)
    except FieldError:
        # An expression uses an annotation of the original queryset.
        return None
    return source_of(outer_rows, rows)


def _declares_window_function(items: QuerySet[Any], expressions: Mapping[str, Any]) -> bool:
    """Return whether an expression has a window function. Its result would change in a range of rows."""
    if not expressions:
        return False
    try:
        annotations = annotated(items, expressions).query.annotations
    except FieldError as error:
        raise ImproperlyConfigured(f"{items.model._meta.label}: {error}") from error
    return any(is_window_function(annotations[name]) for name in expressions)


def _grouped_by_row(rows: QuerySet[Any], expressions: Mapping[str, Any]) -> QuerySet[Any] | None:
    """Return rows grouped by an aggregate in the expressions, if that makes each row unique."""
    with suppress(FieldError):
        grouped_rows = add_columns(rows, expressions, is_selected=False)
        grouped = Facts(grouped_rows)
        if grouped.query.group_by and not (grouped.has_window or grouped.repeats_rows):
            return grouped_rows
    return None
