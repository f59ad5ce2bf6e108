"""Sitemaps of the rows of a model and of views, and contrib's generic sitemap."""

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

from django_sitemaps09.queryset_traits import can_reorder, identifying_columns, key_names, repeats_rows
from django_sitemaps09.sitemaps.base import ModelT, Sitemap
from django_sitemaps09.sitemaps.sites import find_site


class ModelSitemap(Sitemap[ModelT]):
    """A section of the rows of a model: set `queryset` or `model`, or override `get_queryset()`.

    Pages are ranges of `key`: the primary key, or a field that is unique and not null. By naming a field,
    you declare that its values never change for an existing row.

    `site_field` is the name of a relation to `Site`. With it, only the rows of the site that is served or
    exported are listed.
    """

    queryset: QuerySet[ModelT] | None = None
    model: type[ModelT] | None = None
    key: str = "pk"
    site_field: str | None = None
    # Attributes that are not hooks have a prefix, since a project's class can have any attribute.
    _sitemaps09_domain: str | None = None

    def get_queryset(self) -> QuerySet[ModelT]:
        """Return the rows of the section in any order. Default: `queryset`, or else all rows of `model`."""
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
        # A copy, as the queryset of a class attribute must not cache the rows of its first use.
        return rows.using(rows.db) if isinstance(rows, RawQuerySet) else rows.all()

    def items(self) -> QuerySet[ModelT]:
        """Return the rows in a defined order: their own, or else by primary key if that can be added."""
        rows = self.get_queryset()
        if self.site_field is not None:
            rows = filter_rows(self, rows, {self.site_field: _site(self)})
        return self._sitemaps09_in_order(rows)

    def _sitemaps09_in_order(self, rows: QuerySet[ModelT]) -> QuerySet[ModelT]:
        query = rows.query if isinstance(rows, QuerySet) else None
        if query is None or rows.ordered or query.is_sliced or query.combinator or query.distinct_fields:
            return rows
        if not can_reorder(rows) and (query.distinct or query.group_by is not None):
            # For values, the key would be selected or added to GROUP BY, which would add rows.
            return rows.order_by(*identifying_columns(query))
        # A row can be repeated with other annotations.
        return rows.order_by(
            *key_names(rows.model), *(identifying_columns(query) if repeats_rows(query) else ())
        )


def copy_for_host(sitemap: ModelSitemap[Any], domain: str) -> ModelSitemap[Any]:
    """Return a copy of a section with a `site_field` for one host, since a section can serve several."""
    if type(sitemap).items is not ModelSitemap.items:
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} has a site_field and its own items(), which could list rows "
            "of other sites. Override get_queryset() instead."
        )
    host_sitemap = copy(sitemap)
    host_sitemap._sitemaps09_domain = domain
    return host_sitemap


def _site(sitemap: ModelSitemap[Any]) -> Any:
    """Return the site whose rows a sitemap lists."""
    domain = sitemap._sitemaps09_domain
    if domain is None:
        return apps.get_model("sites", "Site").objects.get_current()
    site = find_site(domain)
    if site is None:
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} lists the rows of one site, but no Site has the domain "
            f"{domain!r}. Add it, or serve and export another host."
        )
    return site


def queryset_problem(value: object) -> str:
    """Return what is wrong with a value that is not a queryset, as the end of a sentence."""
    if isinstance(value, (FunctionType, MethodType)):
        return (
            "must be a queryset, not a function. Call the function, as in `Article.objects.all()`, or "
            "override `get_queryset()`."
        )
    kind = f"the class {value.__qualname__}" if isinstance(value, type) else type(value).__name__
    return f"must be a queryset, such as `Article.objects.all()`, not {kind}."


def filter_rows(sitemap: object, rows: Any, conditions: Mapping[str, Any]) -> Any:
    """Filter the rows. Raise `ImproperlyConfigured` for rows that cannot be filtered, such as a slice."""
    if not isinstance(rows, QuerySet) or rows.query.is_sliced or rows.query.combinator:
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} filters its rows, which a slice, a union or raw() does not "
            "support. Use a plain queryset."
        )
    return rows.filter(**conditions)


class StaticViewSitemap(Sitemap[str]):
    """A section of views without arguments: set `viewnames`."""

    viewnames: Sequence[str] = ()

    def items(self) -> Iterable[str]:
        """Return the names of the views, as `reverse()` takes them."""
        return list(self.viewnames)

    def default_location(self, item: str) -> str:
        """Return `reverse(item)`."""
        return reverse(item)


if TYPE_CHECKING:

    class GenericSitemap(Sitemap[ModelT]):
        """Contrib's `GenericSitemap`."""

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
        """Contrib's `GenericSitemap`: `GenericSitemap({"queryset": ..., "date_field": ...})`."""

        get_latest_lastmod = contrib.GenericSitemap.get_latest_lastmod
