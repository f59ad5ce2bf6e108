"""Sitemaps for model rows and for views, and a variant of Django's `GenericSitemap`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.db.models import QuerySet
from django.db.models.query import RawQuerySet
from django.urls import reverse

from django_sitemaps09.orm.internals import is_fetched
from django_sitemaps09.orm.traits import (
    can_reorder,
    identifying_columns,
    key_names,
    needs_order,
    repeats_rows,
)
from django_sitemaps09.sitemaps.base import ModelT, Sitemap
from django_sitemaps09.sitemaps.sites import find_site


class ModelSitemap(Sitemap[ModelT]):
    """A section for the rows of a model. Set `queryset` or `model`, or override `get_queryset()`.

    Pages are ranges of `key`: the primary key, or the name of a unique field without nulls. For an existing
    row, the value of this field must never change.

    `site_field` is the name of a relation to `Site`. If it is set, only rows for the current site are
    listed.
    """

    queryset: QuerySet[ModelT] | None = None
    model: type[ModelT] | None = None
    key: str = "pk"
    site_field: str | None = None
    # Private attributes have a prefix, since a project's class could use any other name.
    _sitemaps09_domain: str | None = None

    def get_queryset(self) -> QuerySet[ModelT]:
        """Return the rows of the section in any order. Default: `queryset`, or all rows of `model`."""
        rows = self.queryset
        if rows is None and self.model is not None:
            rows = self.model._default_manager.all()
        if rows is None:
            raise ImproperlyConfigured(
                f"{type(self).__qualname__} has no queryset: set `queryset` or `model`, or override "
                "`get_queryset()` or `items()`."
            )
        if not isinstance(rows, RawQuerySet) and not hasattr(rows, "all"):
            raise ImproperlyConfigured(f"{type(self).__qualname__}.queryset {queryset_problem(rows)}")
        # Return a copy, because a queryset in a class attribute must not cache its rows.
        return rows.using(rows.db) if isinstance(rows, RawQuerySet) else rows.all()

    def items(self) -> QuerySet[ModelT]:
        """Return the rows of the section, ordered by primary key if they have no order yet."""
        rows = self.get_queryset()
        if self.site_field is not None:
            rows = filter_rows(self, rows, {self.site_field: _site(self)})
        return self._sitemaps09_in_order(rows)

    def _sitemaps09_in_order(self, rows: QuerySet[ModelT]) -> QuerySet[ModelT]:
        query = rows.query if isinstance(rows, QuerySet) else None
        if query is None or is_fetched(rows) or rows.ordered:
            return rows
        # The order of the model can change the groups, although Django does not sort groups by it.
        if query.is_sliced or query.combinator or query.distinct_fields or needs_order(rows):
            return rows
        if not can_reorder(rows) and (query.distinct or query.group_by is not None):
            # Do not order `values()` by the key: DISTINCT and GROUP BY would include it and add rows.
            return rows.order_by(*identifying_columns(query))
        # Rows with the same key can have different annotations.
        other_columns = identifying_columns(query) if repeats_rows(query) else []
        return rows.order_by(*key_names(rows.model), *other_columns)


def copy_for_host(sitemap: ModelSitemap[Any], domain: str) -> ModelSitemap[Any]:
    """Return a copy of a sitemap with a `site_field` that lists the rows of one host."""
    if type(sitemap).items is not ModelSitemap.items:
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} has a site_field and overrides items(), which could list "
            "rows of other sites. Override get_queryset() instead of items()."
        )
    host_sitemap = copy(sitemap)
    host_sitemap._sitemaps09_domain = domain
    return host_sitemap


def _site(sitemap: ModelSitemap[Any]) -> Any:
    domain = sitemap._sitemaps09_domain
    if domain is None:
        return apps.get_model("sites", "Site").objects.get_current()
    site = find_site(domain)
    if site is None:
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} lists the rows of one site, but no Site has the domain "
            f"{domain!r}. Add a Site with this domain, or serve and export a host that has a Site."
        )
    return site


def queryset_problem(value: object) -> str:
    """Return an error message without its subject for a value that is not a queryset."""
    if isinstance(value, (FunctionType, MethodType)):
        return (
            "must be a queryset, not a function. Call the function, as in `Article.objects.all()`, or "
            "override `get_queryset()`."
        )
    kind = f"the class {value.__qualname__}" if isinstance(value, type) else type(value).__name__
    return f"must be a queryset, such as `Article.objects.all()`, not {kind}."


def can_filter(rows: Any) -> bool:
    """Return whether `filter()` can be called on the rows. It fails for a slice, a union or `raw()`."""
    return isinstance(rows, QuerySet) and not rows.query.is_sliced and not rows.query.combinator


def filter_rows(sitemap: object, rows: Any, conditions: Mapping[str, Any]) -> Any:
    """Return the filtered rows. Raise `ImproperlyConfigured` if they cannot be filtered."""
    if not can_filter(rows):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} filters its rows, which a slice, a union or raw() does not "
            "support. Use a plain queryset."
        )
    return rows.filter(**conditions)


class StaticViewSitemap(Sitemap[str]):
    """A section for views that take no arguments. Set `viewnames`."""

    viewnames: Sequence[str] = ()

    def items(self) -> Iterable[str]:
        return list(self.viewnames)

    def default_location(self, item: str) -> str:
        return reverse(item)


if TYPE_CHECKING:

    class GenericSitemap(Sitemap[ModelT]):
        """The signature of `GenericSitemap` for type checkers."""

        queryset: QuerySet[ModelT]
        date_field: str | None

        def __init__(
            self,
            info_dict: Mapping[str, Any],
            priority: float | None = None,
            changefreq: str | None = None,
            protocol: str | None = None,
        ) -> None: ...
        def items(self) -> QuerySet[ModelT]: ...

else:

    class GenericSitemap(Sitemap[ModelT], contrib.GenericSitemap):
        """Replacement for Django's class: `GenericSitemap({"queryset": ..., "date_field": ...})`."""

        get_latest_lastmod = contrib.GenericSitemap.get_latest_lastmod
