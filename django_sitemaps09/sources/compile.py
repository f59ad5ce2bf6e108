"""Compile a sitemap to a source of rows and batches of text.

A sitemap is compiled only if its class overrides no internals of `django.contrib.sitemaps`. Any other
sitemap, such as a class written for that package, is opaque: its entries come from its `get_urls()`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from numbers import Number
from typing import Any

from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import QuerySet

from django_sitemaps09 import protocol
from django_sitemaps09.entries import typed_repr
from django_sitemaps09.hooks.annotations import add_columns, covers_joins
from django_sitemaps09.orm import traits
from django_sitemaps09.orm.internals import copy_loading, is_fetched, remove_order
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.sections import Section, bind
from django_sitemaps09.sitemaps import (
    CONTRIB_INTERNALS,
    ModelSitemap,
    NewsSitemap,
    Sitemap,
    is_original,
    read_items,
)
from django_sitemaps09.sources.base import Source
from django_sitemaps09.sources.columns import content_hooks
from django_sitemaps09.sources.declaration import Declaration
from django_sitemaps09.sources.get_urls import UrlsSource
from django_sitemaps09.sources.keys import KeyColumns
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.queryset import QuerySource


def is_compiled(sitemap: object) -> bool:
    """Return whether a sitemap is compiled. Otherwise it is opaque, and read through `get_urls()`.

    This depends on the current attributes of the object, since its class can be patched.
    """
    # isinstance() is true for a mock of the class.
    return issubclass(type(sitemap), Sitemap) and is_original(sitemap, *CONTRIB_INTERNALS)


def source(name: str, section: Section, base: Base, limits: Limits, using: str | None = None) -> Source:
    """Return the source of a section for a host.

    Rows are read from the database `using`, by default from the first one that a router selects. Raise
    `ImproperlyConfigured` for an invalid declaration.
    """
    sitemap: Any = bind(section, base.domain)
    if not is_compiled(sitemap):
        return UrlsSource(sitemap, base, entry_limit(name, sitemap, limits))
    declaration, limit = _declared(name, sitemap, base, limits)
    items = traits.pin_database(read_items(sitemap), using)
    query_source = _query_source(name, items, declaration, limit)
    return query_source or PositionSource.from_items(items, declaration, limit)


def ranged_source(name: str, sitemap: Any, base: Base, limits: Limits) -> QuerySource | None:
    """Return the source of a compiled sitemap that `bind()` returned; `None` if it has no key ranges.

    Unlike `source()`, this never counts or reads items, unless `items()` itself does.
    """
    declaration, limit = _declared(name, sitemap, base, limits)
    return _query_source(name, traits.pin_database(read_items(sitemap)), declaration, limit)


def _declared(name: str, sitemap: Any, base: Base, limits: Limits) -> tuple[Declaration, int]:
    """Return the declaration of a sitemap, and the number of entries on a page."""
    if sitemap.protocol and sitemap.protocol not in ("http", "https"):
        raise ImproperlyConfigured(
            f"Section {name!r}: `protocol` of {type(sitemap).__qualname__} must be 'http' or 'https', "
            f"not {typed_repr(sitemap.protocol)}."
        )
    own_base = Base(sitemap.protocol or base.scheme, base.domain)
    return Declaration.from_sitemap(sitemap, own_base), entry_limit(name, sitemap, limits)


def _query_source(name: str, items: Any, declaration: Declaration, limit: int) -> QuerySource | None:
    """Return the source of items that can be read by ranges of keys, or `None` if that is not possible.

    A multi-valued join or a filter on a window can give other results within a range. In this case, the
    rows of the model with a key in the queryset are read. Raise `ImproperlyConfigured` for a broken filter.
    """
    # Pages of news are refilled in each export, so that their number does not grow.
    is_news = isinstance(declaration.sitemap, NewsSitemap)
    if is_news or not isinstance(items, QuerySet) or is_fetched(items):
        return None
    lacks_group = traits.lacks_group(items.query)
    if lacks_group or traits.hides_columns(items):
        problem = traits.LACKS_GROUP if lacks_group else traits.HIDES_COLUMNS
        raise ImproperlyConfigured(f"{type(declaration.sitemap).__qualname__}: {' '.join(problem)}")
    if not traits.can_reorder(items) or _declares_window_function(items, declaration.expressions):
        return None
    if not isinstance(declaration.sitemap, ModelSitemap):
        try:
            KeyColumns.from_field(items.model, "pk", items.db)
        except ImproperlyConfigured:
            return None
    source_of = partial(QuerySource.from_rows, name, declaration, limit)
    keeps_order = traits.needs_order(items)
    rows: QuerySet[Any] = items.all() if keeps_order else remove_order(items)
    query = rows.query
    if not keeps_order:
        # Rows with a primary key are distinct unless a join repeats them. With an order, Django also groups
        # by its columns if the rows are distinct.
        query.distinct = False
        if not (traits.has_window_function(query) or traits.repeats_rows(query)):
            return source_of(rows)
        # The aggregate includes all joined rows, and each row of the model occurs once.
        if (grouped_rows := _grouped_by_row(rows, declaration.expressions)) is not None:
            return source_of(grouped_rows)
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
    return source_of(outer_rows, rows)


def _declares_window_function(items: QuerySet[Any], expressions: Mapping[str, Any]) -> bool:
    """Return whether an expression has a window function. Its result would change in a range of rows."""
    if not expressions:
        return False
    try:
        annotations = items.annotate(**expressions).query.annotations
    except FieldError as error:
        raise ImproperlyConfigured(f"A declared expression is invalid: {error}") from error
    return any(traits.is_window_function(annotations[name]) for name in expressions)


def _grouped_by_row(rows: QuerySet[Any], expressions: Mapping[str, Any]) -> QuerySet[Any] | None:
    """Return rows grouped by an aggregate in the expressions, if that makes each row unique."""
    try:
        grouped_rows = add_columns(rows, expressions, is_selected=False)
    except FieldError:
        return None
    query = grouped_rows.query
    is_unique = query.group_by and not traits.has_window_function(query) and not traits.repeats_rows(query)
    return grouped_rows if is_unique else None


def page_size(limit: Any) -> int:
    """Return a `limit` as an integer, converted as in Django's paginator: `"60"` becomes 60.

    Raise `ValueError` if it is less than 1, or not a whole number.
    """
    with suppress(TypeError, ValueError, OverflowError):
        size = int(limit)
        # int() accepts True and 60.5, which are mistakes. A string such as "60" never equals the result.
        is_rounded = isinstance(limit, Number) and limit != size  # type: ignore[comparison-overlap]
        if size >= 1 and not is_rounded and not isinstance(limit, bool):
            return size
    raise ValueError("must be a whole number of at least 1")


def entry_limit(name: str, sitemap: Any, limits: Limits) -> int:
    """Return the maximum number of entries on a page of a sitemap that `bind()` returned."""
    most = min(limits.urls, protocol.MAX_NEWS) if "news" in content_hooks(sitemap) else limits.urls
    if not is_compiled(sitemap):
        return most
    try:
        return min(page_size(sitemap.limit), most)
    except ValueError as error:
        subject = f"Section {name!r}: `limit` of {type(sitemap).__qualname__}"
        raise ImproperlyConfigured(f"{subject} {error}, not {typed_repr(sitemap.limit)}.") from error
