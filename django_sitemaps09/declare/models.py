"""Sitemaps for model rows, news and views, and a variant of Django's `GenericSitemap`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta, timezone as utc_offset
from typing import Any

from django.apps import apps
from django.contrib import sitemaps as contrib
from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured
from django.db.models import DateField, DateTimeField, Model, QuerySet
from django.db.models.query import RawQuerySet
from django.urls import reverse
from django.utils import timezone

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.base import ModelT, Sitemap, checked_items, queryset_problem
from django_sitemaps09.declare.hosts import find_site
from django_sitemaps09.orm.facts import Facts, identifying_columns, key_names
from django_sitemaps09.protocol.fields import typed_repr
from django_sitemaps09.protocol.limits import MAX_NEWS, NEWS_DAYS
from django_sitemaps09.protocol.media import News


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
    # With a prefix, since a project's class could use any other name.
    _sitemaps09_domain: str | None = None

    def get_queryset(self) -> QuerySet[ModelT]:
        """Return the rows of the section in any order. Default: `queryset`, or all rows of `model`."""
        rows = self.queryset
        if rows is None and self.model is not None:
            if not hasattr(self.model, "_default_manager"):
                raise ImproperlyConfigured(
                    f"{type(self).__qualname__}.model must be a model, not {typed_repr(self.model)}. "
                    "Import the model, and set it without quotes."
                )
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
        rows = checked_items(self, "get_queryset", self.get_queryset())
        if self.site_field is not None:
            rows = filter_rows(self, rows, {self.site_field: _site(self)})
        return self._sitemaps09_in_order(rows)

    def _sitemaps09_in_order(self, rows: QuerySet[ModelT]) -> QuerySet[ModelT]:
        own = Facts(rows)
        if not own.is_queryset or own.is_fetched or rows.ordered or own.is_limited or own.is_combined:
            return rows
        # The order of the model can change the groups, although Django does not sort groups by it.
        if own.needs_order:
            return rows
        query = rows.query
        if not own.can_reorder and (query.distinct or own.is_grouped):
            # Do not order `values()` by the key: DISTINCT and GROUP BY would include it and add rows.
            return rows.order_by(*identifying_columns(query))
        # Rows with the same key can have different annotations.
        other_columns = identifying_columns(query) if own.repeats_rows else []
        return rows.order_by(*key_names(rows.model), *other_columns)


def _site(sitemap: ModelSitemap[Any]) -> Any:
    domain = sitemap._sitemaps09_domain
    if domain is None:
        return apps.get_model("sites", "Site").objects.get_current()
    if (site := find_site(domain)) is None:
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} lists the rows of one site, but no Site has the domain "
            f"{domain!r}. Add a Site with this domain, or serve and export a host that has a Site."
        )
    return site


def filter_rows(sitemap: object, rows: Any, conditions: Mapping[str, Any]) -> Any:
    """Return the filtered rows. Raise `ImproperlyConfigured` if they cannot be filtered."""
    if not Facts(rows).can_filter:
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} filters its rows, which a slice, a union or raw() does not "
            "support. Use a plain queryset."
        )
    return rows.filter(**conditions)


def field_problem(
    name: object, model: type[Model] | None, kinds: tuple[type, ...], description: str
) -> str | None:
    """Return why a name does not refer to a field of these types, or `None`."""
    if not isinstance(name, str) or not name:
        return "this is not the name of a field"
    if model is None:
        return None
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return f"{model._meta.label} has no such field"
    return None if isinstance(field, kinds) else f"{model._meta.label}.{name} is not {description}"


class NewsSitemap(ModelSitemap[ModelT]):
    """A section for the rows of the last two days, newest first: page 1 always has the newest rows.

    In addition to the attributes of `ModelSitemap`, set `date_field` and `publication_name`.
    """

    limit: int = MAX_NEWS
    date_field: str = ""
    publication_name: str = ""
    publication_language: str | None = None

    def title(self, item: ModelT) -> str:
        """Return the headline of an item. Default: `str(item)`."""
        return str(item)

    def news(self, item: ModelT) -> News | None:
        """Return the `News` of an item or `None`, in `publication_language` or else in `LANGUAGE_CODE`."""
        language, published = self.publication_language or conf.language, getattr(item, self.date_field)
        return News(self.publication_name, language, published, self.title(item))

    def _sitemaps09_in_order(self, rows: QuerySet[ModelT]) -> QuerySet[ModelT]:
        if problem := field_problem(self.date_field, rows.model, (DateField,), "a date field"):
            raise ImproperlyConfigured(
                f"{type(self).__qualname__}.date_field is {typed_repr(self.date_field)}, but {problem}. "
                "Set it to the field with the publication date."
            )
        now = timezone.now()
        # Compute the limit in UTC, because local time is set back once a year.
        end = (now.replace(tzinfo=conf.zone) if timezone.is_naive(now) else now).astimezone(utc_offset.utc)
        moments = (end - timedelta(days=NEWS_DAYS), end)
        bounds: list[Any] = [moment.astimezone(conf.zone) for moment in moments]
        if not isinstance(rows.model._meta.get_field(self.date_field), DateTimeField):
            # A date counts as midnight on that day.
            bounds = [bounds[0].date() + timedelta(days=1), bounds[1].date()]
        elif timezone.is_naive(now):
            bounds = [bound.replace(tzinfo=None) for bound in bounds]
        recent_rows = filter_rows(self, rows, {f"{self.date_field}__range": bounds})
        return recent_rows.order_by(f"-{self.date_field}", "-pk")  # type: ignore[no-any-return]


class StaticViewSitemap(Sitemap[str]):
    """A section for views that take no arguments. Set `viewnames`."""

    viewnames: Sequence[str] = ()

    def items(self) -> Iterable[str]:
        names = self.viewnames
        if isinstance(names, str | bytes) or not isinstance(names, Iterable):
            problem = f"viewnames must be a list, not {typed_repr(names)}"
            raise ImproperlyConfigured(f"{type(self).__qualname__}.{problem}.")
        return list(names)

    def default_location(self, item: str) -> str:
        return reverse(item)


class GenericSitemap(Sitemap[ModelT], contrib.GenericSitemap):  # type: ignore[misc, type-arg]
    """Replacement for Django's class: `GenericSitemap({"queryset": ..., "date_field": ...})`."""

    get_latest_lastmod = contrib.GenericSitemap.get_latest_lastmod

    def __init__(self, info_dict: Mapping[str, Any], *arguments: Any, **options: Any) -> None:
        if not isinstance(info_dict, Mapping):
            # Not the dict itself: the repr() of a queryset in it reads rows.
            raise ImproperlyConfigured(
                f"{type(self).__qualname__}() needs a dict such as {{'queryset': Article.objects.all(), "
                f"'date_field': 'updated'}}, with the key 'queryset', not {type(info_dict).__name__}."
            )
        super().__init__(info_dict, *arguments, **options)

    def items(self) -> QuerySet[ModelT]:
        if not hasattr(self.queryset, "filter"):
            name = type(self).__qualname__
            raise ImproperlyConfigured(f"{name}.queryset {queryset_problem(self.queryset)}")
        if not isinstance(self.date_field, str | None):
            problem = f"must be the name of a field, not {typed_repr(self.date_field)}"
            raise ImproperlyConfigured(f"`date_field` of {type(self).__qualname__} {problem}.")
        return super().items()  # type: ignore[return-value]
