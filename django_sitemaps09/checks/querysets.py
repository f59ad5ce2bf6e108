"""The rows of a `ModelSitemap`: its queryset, its key, its expressions, its relation to `Site`."""

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
    shown,
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
        yield from _ignored_rows(subject)
        return
    rows = _rows(subject)
    model: type[Model] | None = None if rows is None else rows.model
    if rows is not None and model is not None:
        yield from _ranges(subject, rows)
        if isinstance(rows, QuerySet):
            yield from _key(subject, rows)
        yield from _default_location(subject, model)
        yield from check_expressions(subject, rows)
    elif not own_init(subject) and _own_rows(subject) and _says_nothing(subject):
        yield message(
            "E030",
            f"{name_of(subject)} has no rows.",
            "Set `queryset` or `model`, or override `get_queryset()` or `items()`.",
        )
    elif _own_rows(subject) and _is_no_queryset(queryset := raw(subject, "queryset")):
        yield message(
            "E062",
            f"{name_of(subject)}.queryset {queryset_problem(queryset)}",
            "Set `queryset` to a queryset, or `model` to a model, or override `get_queryset()`.",
        )
    yield from _site_field(subject, model)
    yield from _news(subject, model)


def _ignored_rows(subject: Any) -> Iterator[CheckMessage]:
    """Rows of a plain `Sitemap`, which takes none."""
    untouched = all(raw(subject, name) is raw(Sitemap, name) for name in ("items", *CONTRIB_INTERNALS))
    for name in ("model", "queryset"):
        if is_ours(subject) and untouched and raw(subject, name) is not None:
            yield message(
                "E063",
                f"{name_of(subject)} has no items: a Sitemap ignores `{name}`.",
                "Subclass ModelSitemap instead of Sitemap, or override `items()`.",
            )


def _is_no_queryset(value: object) -> bool:
    """Whether a raw attribute is surely not one. What else is code, such as a property, may give one."""
    # Not isinstance(), which would ask a lazy object for its class.
    if issubclass(type(value), (FunctionType, MethodType, type)):
        return True
    return value is not None and not is_code(value) and not hasattr(value, "all")


def _own_rows(subject: Any) -> bool:
    """Whether rows are those of `queryset` and `model`."""
    declared = class_of(subject)
    return all(raw(declared, name) is raw(ModelSitemap, name) for name in ("items", "get_queryset"))


def _says_nothing(subject: Any) -> bool:
    return raw(subject, "queryset") is None and raw(subject, "model") is None


def _rows(subject: Any) -> QuerySet[Any] | RawQuerySet[Any] | None:
    """The queryset of a declaration, where it can be known without a call of the user's."""
    if not _own_rows(subject):
        return None
    queryset, model = raw(subject, "queryset"), raw(subject, "model")
    if is_code(queryset):
        return None
    if isinstance(queryset, (QuerySet, RawQuerySet)):
        return queryset
    if queryset is None and isinstance(model, type) and issubclass(model, Model):
        return QuerySet(model)
    return None


def _ranges(subject: Any, rows: QuerySet[Any] | RawQuerySet[Any]) -> Iterator[CheckMessage]:
    if isinstance(rows, QuerySet) and lacks_group(rows.query):
        yield message("E064", f"{name_of(subject)}: {LACKS_GROUP[0]}", LACKS_GROUP[1])
    if isinstance(rows, QuerySet) and hides_columns(rows):
        yield message("E065", f"{name_of(subject)}: {HIDES_COLUMNS[0]}", HIDES_COLUMNS[1])
    if not can_reorder(rows):
        some = issubclass(class_of(subject), NewsSitemap) or data(subject, "site_field") is not None
        sliced = not isinstance(rows, QuerySet) or rows.query.is_sliced or rows.query.combinator
        if some and sliced:
            yield message(
                "E061",
                f"{name_of(subject)} lists some of its rows, which its queryset cannot give.",
                "News and the rows of a site are filtered: use one that is no slice, union or raw().",
            )
        yield message(
            "W031",
            f"{name_of(subject)} is paged by position: its queryset has no ranges of a key.",
            "Slices, unions, values(), raw() and distinct(fields) are slow on many rows, and a row that "
            "comes or goes moves all behind it. Use a plain queryset if there can be many.",
        )


def _key(subject: Any, rows: QuerySet[Any]) -> Iterator[CheckMessage]:
    key = data(subject, "key")
    if key is None:
        return
    try:
        if not isinstance(key, str):
            raise ImproperlyConfigured(f"`key` is {shown(key)}, and no name of a field.")
        KeyColumns.of(rows.model, key, rows.db)
    except ImproperlyConfigured as error:
        yield message("E032", f"{name_of(subject)}: {error}", "Set `key`.")


def _default_location(subject: Any, model: type[Model]) -> Iterator[CheckMessage]:
    declared = class_of(subject)
    own = any(getattr(declared, n) is not getattr(Sitemap, n) for n in ("location", "default_location"))
    if own or data(subject, "location") is not None or own_init(subject):
        return
    if not hasattr(model, "get_absolute_url"):
        yield message(
            "E033",
            f"{name_of(subject)} has no `location`, and {model._meta.label} no get_absolute_url().",
            "Declare `location` as a Route or a method, or define get_absolute_url().",
        )


def _news(subject: Any, model: type[Model] | None) -> Iterator[CheckMessage]:
    declared = class_of(subject)
    if not issubclass(declared, NewsSitemap) or own_init(subject):
        return
    name = raw(subject, "date_field")
    known = declared.items is ModelSitemap.items and not is_code(name)
    if known and (problem := _date_field_problem(name, model)):
        yield message(
            "E057",
            f"{name_of(subject)}.date_field is {shown(name)}, but {problem}.",
            "Name the field of the model that says when an item was published.",
        )
    if declared.news is not NewsSitemap.news:
        return
    called, language = raw(subject, "publication_name"), raw(subject, "publication_language")
    if not is_code(called) and not (isinstance(called, str) and called.strip()):
        yield message(
            "E058",
            f"{name_of(subject)}.publication_name is {shown(called)}, and no name of a publication.",
            "Set it to the name of the publication, as Google News knows it, or define news(self, item).",
        )
    if not is_code(language) and language is not None and (problem := _language_problem(language)):
        yield message(
            "E059",
            f"{name_of(subject)}.publication_language: {problem}.",
            "Set the code of its language, such as 'en', or leave it out.",
        )
    if not callable(raw(subject, "title")):
        yield message(
            "E060",
            f"{name_of(subject)}.title is {shown(raw(subject, 'title'))}, and no method.",
            "Define title(self, item), or leave it out: then it is str(item).",
        )


def _language_problem(language: object) -> str | None:
    try:
        protocol.news_language(language)
    except ValueError as error:
        return str(error)
    return None


def _date_field_problem(name: object, model: type[Model] | None) -> str | None:
    if not isinstance(name, str) or not name:
        return "it is no name of a field"
    if model is None:
        return None
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return f"{model._meta.label} has no such field"
    return None if isinstance(field, DateField) else f"{model._meta.label}.{name} is no date"


def _site_field(subject: Any, model: type[Model] | None) -> Iterator[CheckMessage]:
    name = data(subject, "site_field")
    problem = None if name is None else _site_field_problem(name, model)
    if (
        name is not None
        and problem is None
        and raw(class_of(subject), "items") is not raw(ModelSitemap, "items")
    ):
        problem = "its items() could list the rows of other sites: override get_queryset() instead"
    if problem is not None:
        yield message(
            "E055",
            f"{name_of(subject)}.site_field is {shown(name)}, but {problem}.",
            "Name a ForeignKey, OneToOneField or ManyToManyField of the model to sites.Site, or leave it "
            "out.",
        )


def _site_field_problem(name: object, model: type[Model] | None) -> str | None:
    if not isinstance(name, str):
        return "it is no name of a field"
    if not apps.is_installed("django.contrib.sites"):
        return "django.contrib.sites is not installed"
    if model is None:
        return None
    try:
        field = model._meta.get_field(name)
    except FieldDoesNotExist:
        return f"{model._meta.label} has no such field"
    if not isinstance(field, (ForeignKey, ManyToManyField)):
        return f"{model._meta.label}.{name} is no relation to another model's rows"
    related = field.related_model
    if not isinstance(related, type):
        return None
    # By its label: the class is not importable where its app is not installed.
    concrete = related._meta.concrete_model or related
    if concrete._meta.label_lower != "sites.site":
        return f"{model._meta.label}.{name} leads to {related._meta.label}"
    return None
