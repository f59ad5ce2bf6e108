"""Check the rows of a `ModelSitemap`: its queryset, key, expressions, and relation to `Site`."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage
from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured
from django.db.models import DateField, ForeignKey, ManyToManyField, Model, QuerySet
from django.db.models.query import RawQuerySet

from django_sitemaps09 import protocol
from django_sitemaps09.checks.expressions import check_expressions
from django_sitemaps09.checks.messages import message
from django_sitemaps09.checks.subjects import (
    class_of,
    data,
    is_code,
    is_ours,
    name_of,
    own_init,
    raw,
    safe_repr,
)
from django_sitemaps09.queryset_traits import (
    HIDES_COLUMNS,
    LACKS_GROUP,
    can_reorder,
    hides_columns,
    lacks_group,
)
from django_sitemaps09.sitemaps import CONTRIB_INTERNALS, ModelSitemap, NewsSitemap, Sitemap
from django_sitemaps09.sitemaps.models import queryset_problem
from django_sitemaps09.sources.rows.keys import KeyColumns


def check_rows(subject: Any) -> Iterator[CheckMessage]:
    """Check what a `ModelSitemap` declares about its rows, where they are known."""
    if not issubclass(class_of(subject), ModelSitemap):
        yield from _check_ignored_rows(subject)
        return
    rows = _rows(subject)
    model: type[Model] | None = None if rows is None else rows.model
    if rows is not None and model is not None:
        yield from _check_ranges(subject, rows)
        if isinstance(rows, QuerySet):
            yield from _check_key(subject, rows)
        yield from _check_default_location(subject, model)
        yield from check_expressions(subject, rows)
    elif not own_init(subject) and _uses_queryset(subject) and _lacks_rows(subject):
        yield message(
            "E030",
            f"{name_of(subject)} has no queryset.",
            "Set `queryset` or `model`, or override `get_queryset()` or `items()`.",
        )
    elif _uses_queryset(subject) and _is_not_queryset(queryset := raw(subject, "queryset")):
        yield message(
            "E062",
            f"{name_of(subject)}.queryset {queryset_problem(queryset)}",
            "Set `queryset` to a queryset, or `model` to a model, or override `get_queryset()`.",
        )
    yield from _check_site_field(subject, model)
    yield from _check_news(subject, model)


def _check_ignored_rows(subject: Any) -> Iterator[CheckMessage]:
    """Check for `queryset` and `model` on a plain `Sitemap`, which ignores them."""
    is_untouched = all(raw(subject, name) is raw(Sitemap, name) for name in ("items", *CONTRIB_INTERNALS))
    for name in ("model", "queryset"):
        if is_ours(subject) and is_untouched and raw(subject, name) is not None:
            yield message(
                "E063",
                f"{name_of(subject)} has no items, because Sitemap ignores `{name}`.",
                "Subclass ModelSitemap instead of Sitemap, or override `items()`.",
            )


def _is_not_queryset(value: object) -> bool:
    """Return whether a raw attribute cannot be a queryset. Code, such as a property, may return one."""
    # Not isinstance(), which would evaluate a lazy object.
    if issubclass(type(value), (FunctionType, MethodType, type)):
        return True
    return value is not None and not is_code(value) and not hasattr(value, "all")


def _uses_queryset(subject: Any) -> bool:
    """Return whether the rows are those of `queryset` and `model`."""
    cls = class_of(subject)
    return all(raw(cls, name) is raw(ModelSitemap, name) for name in ("items", "get_queryset"))


def _lacks_rows(subject: Any) -> bool:
    return raw(subject, "queryset") is None and raw(subject, "model") is None


def _rows(subject: Any) -> QuerySet[Any] | RawQuerySet[Any] | None:
    """Return the queryset of a declaration, if it is known without calling the project's code."""
    if not _uses_queryset(subject):
        return None
    queryset, model = raw(subject, "queryset"), raw(subject, "model")
    if is_code(queryset):
        return None
    if isinstance(queryset, (QuerySet, RawQuerySet)):
        return queryset
    if queryset is None and isinstance(model, type) and issubclass(model, Model):
        return QuerySet(model)
    return None


def _check_ranges(subject: Any, rows: QuerySet[Any] | RawQuerySet[Any]) -> Iterator[CheckMessage]:
    if isinstance(rows, QuerySet) and lacks_group(rows.query):
        yield message("E064", f"{name_of(subject)}: {LACKS_GROUP[0]}", LACKS_GROUP[1])
    if isinstance(rows, QuerySet) and hides_columns(rows):
        yield message("E065", f"{name_of(subject)}: {HIDES_COLUMNS[0]}", HIDES_COLUMNS[1])
    if not can_reorder(rows):
        is_filtered = issubclass(class_of(subject), NewsSitemap) or data(subject, "site_field") is not None
        is_sliced = not isinstance(rows, QuerySet) or rows.query.is_sliced or rows.query.combinator
        if is_filtered and is_sliced:
            yield message(
                "E061",
                f"{name_of(subject)} filters its rows, which its queryset does not support.",
                "News and `site_field` need a queryset that is not a slice, a union or raw().",
            )
        yield message(
            "W031",
            f"{name_of(subject)} is paginated by position, because its queryset does not support key "
            "ranges.",
            "Use a plain queryset if there can be many rows. Slices, unions, values(), raw() and "
            "distinct(fields) are slow, and each added or deleted row shifts all rows after it.",
        )


def _check_key(subject: Any, rows: QuerySet[Any]) -> Iterator[CheckMessage]:
    key = data(subject, "key")
    if key is None:
        return
    try:
        if not isinstance(key, str):
            raise ImproperlyConfigured(f"`key` must be the name of a field, not {safe_repr(key)}.")
        KeyColumns.of(rows.model, key, rows.db)
    except ImproperlyConfigured as error:
        yield message(
            "E032",
            f"{name_of(subject)}: {error}",
            "Set `key` to a field that is unique, not null, and never changes.",
        )


def _check_default_location(subject: Any, model: type[Model]) -> Iterator[CheckMessage]:
    cls = class_of(subject)
    has_location = any(
        getattr(cls, name) is not getattr(Sitemap, name) for name in ("location", "default_location")
    )
    if has_location or data(subject, "location") is not None or own_init(subject):
        return
    if not hasattr(model, "get_absolute_url"):
        yield message(
            "E033",
            f"{name_of(subject)} has no `location`, and {model._meta.label} has no get_absolute_url().",
            "Declare `location` as a Route or a method, or define get_absolute_url().",
        )


def _check_news(subject: Any, model: type[Model] | None) -> Iterator[CheckMessage]:
    cls = class_of(subject)
    if not issubclass(cls, NewsSitemap) or own_init(subject):
        return
    name = raw(subject, "date_field")
    has_date_field = cls.items is ModelSitemap.items and not is_code(name)
    if has_date_field and (problem := _date_field_problem(name, model)):
        yield message(
            "E057",
            f"{name_of(subject)}.date_field is {safe_repr(name)}, but {problem}.",
            "Set it to the field with the publication date.",
        )
    if cls.news is not NewsSitemap.news:
        return
    publication_name, language = raw(subject, "publication_name"), raw(subject, "publication_language")
    if not is_code(publication_name) and not (
        isinstance(publication_name, str) and publication_name.strip()
    ):
        yield message(
            "E058",
            f"{name_of(subject)}.publication_name must be the name of a publication, not "
            f"{safe_repr(publication_name)}.",
            "Set the name that Google News uses for the publication, or define news(self, item).",
        )
    if not is_code(language) and language is not None and (problem := _language_problem(language)):
        yield message(
            "E059",
            f"{name_of(subject)}.publication_language: {problem}.",
            "Set a language code, such as 'en', or remove it.",
        )
    if not callable(raw(subject, "title")):
        yield message(
            "E060",
            f"{name_of(subject)}.title must be a method, not {safe_repr(raw(subject, 'title'))}.",
            "Define title(self, item), or remove it to use str(item).",
        )


def _language_problem(language: object) -> str | None:
    try:
        protocol.news_language(language)
    except ValueError as error:
        return str(error)
    return None


def _date_field_problem(name: object, model: type[Model] | None) -> str | None:
    if not isinstance(name, str) or not name:
        return "this is not the name of a field"
    if model is None:
        return None
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return f"{model._meta.label} has no such field"
    return None if isinstance(field, DateField) else f"{model._meta.label}.{name} is not a date field"


def _check_site_field(subject: Any, model: type[Model] | None) -> Iterator[CheckMessage]:
    name = data(subject, "site_field")
    problem = None if name is None else _site_field_problem(name, model)
    if (
        name is not None
        and problem is None
        and raw(class_of(subject), "items") is not raw(ModelSitemap, "items")
    ):
        problem = "its items() could list rows of other sites; override get_queryset() instead"
    if problem is not None:
        yield message(
            "E055",
            f"{name_of(subject)}.site_field is {safe_repr(name)}, but {problem}.",
            "Set it to a ForeignKey, OneToOneField or ManyToManyField to sites.Site, or remove it.",
        )


def _site_field_problem(name: object, model: type[Model] | None) -> str | None:
    if not isinstance(name, str):
        return "this is not the name of a field"
    if not apps.is_installed("django.contrib.sites"):
        return "django.contrib.sites is not installed"
    if model is None:
        return None
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return f"{model._meta.label} has no such field"
    if not isinstance(field, (ForeignKey, ManyToManyField)):
        return f"{model._meta.label}.{name} is not a relation to another model"
    related = field.related_model
    if not isinstance(related, type):
        return None
    # By its label: the class is not importable where its app is not installed.
    concrete = related._meta.concrete_model or related
    if concrete._meta.label_lower != "sites.site":
        return f"{model._meta.label}.{name} points to {related._meta.label}"
    return None
