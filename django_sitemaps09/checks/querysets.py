"""Check the rows of a `ModelSitemap`: queryset, key, expressions, `site_field`, and news attributes."""

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
from django_sitemaps09.checks.subjects import (
    class_of,
    data,
    error_text,
    is_code,
    is_ours,
    message,
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
from django_sitemaps09.sitemaps.models import can_filter, queryset_problem
from django_sitemaps09.sources.keys import KeyColumns

_NO_SITES = "django.contrib.sites is not installed"


def check_rows(subject: Any) -> Iterator[CheckMessage]:
    """Check the rows that a `ModelSitemap` declares, and the attributes that depend on them."""
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
    elif _uses_queryset(subject):
        queryset = raw(subject, "queryset")
        if queryset is None and raw(subject, "model") is None and not own_init(subject):
            hint = "Set `queryset` or `model`, or override `get_queryset()` or `items()`."
            yield message("E030", f"{name_of(subject)} has no queryset.", hint)
        elif _is_not_queryset(queryset):
            text = f"{name_of(subject)}.queryset {queryset_problem(queryset)}"
            hint = "Set `queryset` to a queryset, or `model` to a model, or override `get_queryset()`."
            yield message("E062", text, hint)
    yield from _check_site_field(subject, model)
    yield from _check_news(subject, model)


def _check_ignored_rows(subject: Any) -> Iterator[CheckMessage]:
    """Check for `queryset` and `model` on a plain `Sitemap`, which ignores them."""
    hooks = ("items", *CONTRIB_INTERNALS)
    if not is_ours(subject) or any(raw(subject, name) is not raw(Sitemap, name) for name in hooks):
        return
    for name in ("model", "queryset"):
        if raw(subject, name) is not None:
            text = f"{name_of(subject)} has no items, because Sitemap ignores `{name}`."
            hint = "Subclass ModelSitemap instead of Sitemap, or override `items()`."
            yield message("E063", text, hint)


def _is_not_queryset(value: object) -> bool:
    """Return whether a raw attribute is certainly not a queryset.

    Return `False` for a property, for example, because it may return a queryset.
    """
    # Not isinstance(), which would evaluate a lazy object.
    if issubclass(type(value), (FunctionType, MethodType, type)):
        return True
    return value is not None and not is_code(value) and not hasattr(value, "all")


def _uses_queryset(subject: Any) -> bool:
    """Return whether `queryset` or `model` determines the rows: no method for rows is overridden."""
    cls = class_of(subject)
    return all(raw(cls, name) is raw(ModelSitemap, name) for name in ("items", "get_queryset"))


def _rows(subject: Any) -> QuerySet[Any] | RawQuerySet[Any] | None:
    """Return the queryset of a declaration; `None` if only the project's code can create it."""
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
    name = name_of(subject)
    if isinstance(rows, QuerySet) and lacks_group(rows.query):
        yield message("E064", f"{name}: {LACKS_GROUP[0]}", LACKS_GROUP[1])
    if isinstance(rows, QuerySet) and hides_columns(rows):
        yield message("E065", f"{name}: {HIDES_COLUMNS[0]}", HIDES_COLUMNS[1])
    if can_reorder(rows):
        return
    is_filtered = issubclass(class_of(subject), NewsSitemap) or data(subject, "site_field") is not None
    if is_filtered and not can_filter(rows):
        text = f"{name} filters its rows, which its queryset does not support."
        hint = "News and `site_field` need a queryset that is not a slice, a union or raw()."
        yield message("E061", text, hint)
    yield message(
        "W031",
        f"{name} is paginated by position, because its queryset does not support key ranges.",
        "Use a plain queryset if there can be many rows. Slices, unions, values(), raw() and "
        "distinct(fields) are slow, and each added or deleted row shifts all rows after it.",
    )


def _check_key(subject: Any, rows: QuerySet[Any]) -> Iterator[CheckMessage]:
    key = data(subject, "key")
    if key is None:
        return
    if isinstance(key, str):
        problem = error_text(ImproperlyConfigured, KeyColumns.from_field, rows.model, key, rows.db)
    else:
        problem = f"`key` must be the name of a field, not {safe_repr(key)}."
    if problem is not None:
        hint = "Set `key` to a field that is unique, not null, and never changes."
        yield message("E032", f"{name_of(subject)}: {problem}", hint)


def _check_default_location(subject: Any, model: type[Model]) -> Iterator[CheckMessage]:
    cls = class_of(subject)
    hooks = ("location", "default_location")
    has_location = any(getattr(cls, name) is not getattr(Sitemap, name) for name in hooks)
    if has_location or data(subject, "location") is not None or own_init(subject):
        return
    if not hasattr(model, "get_absolute_url"):
        text = f"{name_of(subject)} has no `location`, and {model._meta.label} has no get_absolute_url()."
        hint = "Declare `location` as a Route or a method, or define get_absolute_url()."
        yield message("E033", text, hint)


def _check_news(subject: Any, model: type[Model] | None) -> Iterator[CheckMessage]:
    cls = class_of(subject)
    if not issubclass(cls, NewsSitemap) or own_init(subject):
        return
    name = raw(subject, "date_field")
    has_date_field = cls.items is ModelSitemap.items and not is_code(name)
    if has_date_field and (problem := _field_problem(name, model, (DateField,), "a date field")):
        text = f"{name_of(subject)}.date_field is {safe_repr(name)}, but {problem}."
        yield message("E057", text, "Set it to the field with the publication date.")
    if cls.news is not NewsSitemap.news:
        return
    publication_name, language = raw(subject, "publication_name"), data(subject, "publication_language")
    if not (is_code(publication_name) or (isinstance(publication_name, str) and publication_name.strip())):
        problem = f"must be the name of a publication, not {safe_repr(publication_name)}"
        hint = "Set the name that Google News uses for the publication, or define news(self, item)."
        yield message("E058", f"{name_of(subject)}.publication_name {problem}.", hint)
    if language is not None and (problem := error_text(ValueError, protocol.news_language, language)):
        text = f"{name_of(subject)}.publication_language: {problem}."
        yield message("E059", text, "Set a language code, such as 'en', or remove it.")
    if not callable(title := raw(subject, "title")):
        text = f"{name_of(subject)}.title must be a method, not {safe_repr(title)}."
        yield message("E060", text, "Define title(self, item), or remove it to use str(item).")


def _check_site_field(subject: Any, model: type[Model] | None) -> Iterator[CheckMessage]:
    name = data(subject, "site_field")
    if name is None:
        return
    hint = "Set it to a ForeignKey, OneToOneField or ManyToManyField to sites.Site, or remove it."
    problem = _site_field_problem(name, model)
    if problem == _NO_SITES:
        hint = "Add 'django.contrib.sites' to INSTALLED_APPS, or remove site_field."
    elif problem is None and raw(class_of(subject), "items") is not raw(ModelSitemap, "items"):
        problem = "the sitemap overrides items(), which could list rows of other sites"
        hint = "Override get_queryset() instead of items()."
    if problem is not None:
        text = f"{name_of(subject)}.site_field is {safe_repr(name)}, but {problem}."
        yield message("E055", text, hint)


def _site_field_problem(name: Any, model: type[Model] | None) -> str | None:
    if isinstance(name, str) and not apps.is_installed("django.contrib.sites"):
        return _NO_SITES
    problem = _field_problem(name, model, (ForeignKey, ManyToManyField), "a relation to another model")
    if problem is not None or model is None:
        return problem
    related = model._meta.get_field(name).related_model
    if not isinstance(related, type):
        return None
    # Compare labels, because `Site` cannot be imported if its app is not installed.
    concrete = related._meta.concrete_model or related
    if concrete._meta.label_lower != "sites.site":
        return f"{model._meta.label}.{name} points to {related._meta.label}"
    return None


def _field_problem(
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
