"""Sections of rows, of views, and contrib's generic ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Q, QuerySet
from django.db.models.query import RawQuerySet
from django.urls import reverse

from django_sitemaps09.sitemaps.base import ModelT, Sitemap


class ModelSitemap(Sitemap[ModelT]):
    """A section whose items are the rows of a model: set `queryset` or `model`, or `get_queryset()`.

    Pages are ranges of `key`: the primary key, or a field that is unique, not null, and never
    changes for a row that exists, which you declare by naming it.

    `site_field` is the name of a relation to `Site`: then only the rows of the site that is served, or
    exported, are listed.
    """

    queryset: QuerySet[ModelT] | None = None
    model: type[ModelT] | None = None
    key: str = "pk"
    site_field: str | None = None
    _domain: str | None = None

    def get_queryset(self) -> QuerySet[ModelT]:
        """The rows of the section, in any order. Default: those of `queryset`, else all of `model`."""
        rows = self.queryset
        if rows is None and self.model is not None:
            rows = self.model._default_manager.all()
        if rows is None:
            raise ImproperlyConfigured(
                f"{type(self).__qualname__} has no rows: set `queryset` or `model`, "
                "or override `get_queryset()` or `items()`."
            )
        # A class attribute must not keep the rows of its first use.
        return rows.using(rows.db) if isinstance(rows, RawQuerySet) else rows.all()

    def on_host(self, domain: str) -> ModelSitemap[ModelT]:
        """The same section for the host that is served: another object, since one can serve several."""
        if type(self).items is not ModelSitemap.items:
            raise ImproperlyConfigured(
                f"{type(self).__qualname__} has a site_field and an items() of its own, which could list "
                "the rows of other sites: override get_queryset() instead."
            )
        found = copy(self)
        found._domain = domain
        return found

    def _site_rows(self) -> QuerySet[ModelT]:
        """Those of `get_queryset()`, of one site where there is a `site_field`."""
        rows = self.get_queryset()
        if self.site_field is None:
            return rows
        some: QuerySet[ModelT] = filtered(self, rows, {self.site_field: self._site()})
        return some

    def _site(self) -> Any:
        sites = apps.get_model("sites", "Site").objects
        if self._domain is None:
            return sites.get_current()
        names = {self._domain}
        # A URL has the one spelling, and a Site may have the other.
        with suppress(UnicodeError):
            names.add(self._domain.encode("idna").decode())
        with suppress(UnicodeError):
            names.add(self._domain.encode().decode("idna"))
        alike = sites.filter(reduce(or_, [Q(domain__iexact=name) for name in sorted(names)]))
        found = min(alike, key=lambda site: (site.domain != self._domain, site.pk), default=None)
        if found is None:
            raise ImproperlyConfigured(
                f"{type(self).__qualname__} lists the rows of one site, and there is no Site with the "
                f"domain {self._domain!r}: add it, or serve and export another host."
            )
        return found

    def items(self) -> QuerySet[ModelT]:
        """The rows in a defined order, that of the primary key where they have none and can take one."""
        return self._in_order(self._site_rows())

    def _in_order(self, rows: QuerySet[ModelT]) -> QuerySet[ModelT]:
        query = rows.query if isinstance(rows, QuerySet) else None
        if query is None or rows.ordered or query.is_sliced or query.combinator or query.distinct_fields:
            return rows
        return rows.order_by("pk")


def filtered(sitemap: object, rows: Any, conditions: Mapping[str, Any]) -> Any:
    """Some of the rows. `ImproperlyConfigured` for a queryset that cannot be narrowed."""
    if not isinstance(rows, QuerySet) or rows.query.is_sliced or rows.query.combinator:
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} lists some of its rows, which a slice, a union or raw() cannot "
            "give: use a plain queryset."
        )
    return rows.filter(**conditions)


class StaticViewSitemap(Sitemap[str]):
    """A section of views without arguments: set `viewnames`."""

    viewnames: Sequence[str] = ()

    def items(self) -> Iterable[str]:
        """The names, as `reverse()` takes them."""
        return list(self.viewnames)

    def default_location(self, item: str) -> str:
        """`reverse(item)`."""
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
