"""Check the rows of a `ModelSitemap`, and what depends on them.

Expressions are resolved, but no SQL is compiled. Only `check_stored_keys()` queries a database.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from difflib import get_close_matches
from types import FunctionType, MethodType
from typing import Any, cast

from django.apps import apps
from django.contrib.sitemaps import GenericSitemap
from django.core.checks import CheckMessage
from django.core.exceptions import FieldDoesNotExist, FieldError, ImproperlyConfigured
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connections, models
from django.db.models import DateField, Model, QuerySet
from django.db.models.query import RawQuerySet
from django.db.transaction import atomic

from django_sitemaps09.declare.annotations import NEEDS_ANNOTATIONS, add_columns, annotatable_rows
from django_sitemaps09.declare.base import CONTRIB_INTERNALS, Sitemap, queryset_problem
from django_sitemaps09.declare.expressions import FIELDS, alias, hook_expressions
from django_sitemaps09.declare.models import ModelSitemap, NewsSitemap, field_problem
from django_sitemaps09.orm.facts import LACKS_GROUP, Facts, has_random_order
from django_sitemaps09.orm.internals import Col, assigned_names, has_database, overridden
from django_sitemaps09.orm.reading import UNREADABLE
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.filenames import NEARBY, fits_in_address
from django_sitemaps09.protocol.pages import Key
from django_sitemaps09.protocol.values import news_language
from django_sitemaps09.rows.keys import KeyColumns
from django_sitemaps09.tools.checks.subjects import Subject, error_text, is_code, message, typed

_DATES = "Use a DateField or a DateTimeField, convert the expression with Cast()"
_NUMBERS = "Use a column with numbers from 0.0 to 1.0, convert the expression with Cast()"
_WORDS = "Use a column with changefreq values, build them with Case()"
_NUMBER_FIELDS = (models.IntegerField, models.FloatField, models.DecimalField)
_HAS_KEY = "Set `key` to a field that is never NULL or infinite, or exclude these rows."
_ORDERS_ALIKE = "Pages cannot be ranges of this key. Set `key` to a unique column of a common type."
_IS_LONG = "Live pages cannot be divided there. Set `key` to a shorter unique column."
_IS_PUBLIC = "The address of each live page has one of these values. Set `key` to a column that is public."
# Django's error for a name that the rows do not have.
_UNKNOWN_FIELD = re.compile(r"Cannot resolve keyword '(.+)' into field\. Choices are: (.+)")
# Number of keys at each end of a table whose order a check compares.
_KEYS = 500
#: The types of columns that are valid for each optional element: check code, fields, description and hint.
_KINDS: dict[str, tuple[str, tuple[type, ...], str, str]] = {
    "lastmod": ("W036", (DateField,), "a date or a datetime", _DATES),
    "priority": ("W037", _NUMBER_FIELDS, "a number", _NUMBERS),
    "changefreq": ("W038", (models.CharField, models.TextField), "text", _WORDS),
}


def check_rows(subject: Subject) -> Iterator[CheckMessage]:
    """Check the rows that a `ModelSitemap` declares, and the attributes that depend on them."""
    yield from _check_items(subject)
    if issubclass(subject.cls, GenericSitemap):
        yield from _check_generic(subject)
    if not issubclass(subject.cls, ModelSitemap):
        return
    # Without overridden methods, `queryset` or `model` determines the rows.
    uses_queryset = subject.inherits(ModelSitemap, "items", "get_queryset")
    rows = _rows(subject) if uses_queryset else None
    model: Any = getattr(rows, "model", None)
    if rows is not None and rows.db not in connections.settings:
        text = f"{subject}.queryset uses the database {rows.db!r}, which is not in DATABASES."
        yield message("E067", text, f"Use an alias from DATABASES: {', '.join(connections.settings)}.")
    elif rows is not None and model is not None:
        yield from _check_ranges(subject, rows)
        if isinstance(rows, QuerySet):
            yield from _check_key(subject, rows)
            yield from _check_key_is_in_location(subject, rows)
        yield from _check_default_location(subject, model)
        yield from _check_expressions(subject, rows)
    # With an `__init__()` of its own, the project's code can replace the attributes.
    elif uses_queryset and not subject.has_own_init:
        queryset, name = subject.raw("queryset"), subject.raw("model")
        # A property may return a model.
        may_be_model = _is_concrete(name) if issubclass(type(name), type) else is_code(name)
        if queryset is None and name is None:
            hint = "Set `queryset` or `model`, or override `get_queryset()` or `items()`."
            yield message("E030", f"{subject} has no queryset.", hint)
        elif queryset is None and not may_be_model:
            hint = "Import the model and write it without quotes"
            hint += f": model = {name}." if isinstance(name, str) else ", such as model = Article."
            hint += " An abstract model has no rows." if isinstance(name, type) else ""
            yield message("E068", f"{subject}.model must be a model, not {typed(name)}.", hint)
        else:
            hint = "Set `queryset` to a queryset, or `model` to a model, or override `get_queryset()`."
            yield from _check_queryset(subject, hint)
    yield from _check_site_field(subject, model)
    yield from _check_news(subject, model)


def _check_items(subject: Subject) -> Iterator[CheckMessage]:
    """Check `items()`, and for `queryset` and `model` on a plain `Sitemap`, which ignores them."""
    is_ours = issubclass(subject.cls, Sitemap) and subject.inherits(Sitemap, *CONTRIB_INTERNALS)
    if not is_ours or subject.has_own_init:
        # With an `__init__()` of its own, the project's code can replace the attributes.
        return
    if not is_code(items := subject.raw("items")):
        text = f"{subject}.items must be a method, not {typed(items)}."
        yield message("E083", text, "Define `def items(self)`, which returns a queryset or a list.")
    if not subject.inherits(Sitemap, "items"):
        return
    names = [name for name in ("model", "queryset") if subject.raw(name) is not None]
    for name in names:
        text = f"{subject} has no items, because Sitemap ignores `{name}`."
        yield message("E063", text, "Subclass ModelSitemap instead of Sitemap, or override `items()`.")
    if not names and subject.cls is not Sitemap:
        text = f"{subject} has no items, because it does not override items()."
        yield message("W086", text, "Define `def items(self)`, or subclass ModelSitemap.")


def _check_generic(subject: Subject) -> Iterator[CheckMessage]:
    """Check the `queryset` and the `date_field` of a `GenericSitemap`, Django's or ours."""
    rows, name = subject.data("queryset"), subject.data("date_field")
    yield from _check_queryset(subject, "Pass a queryset with the key 'queryset'.")
    if name is None or not (isinstance(rows, QuerySet) and subject.inherits(GenericSitemap, "lastmod")):
        return
    hint = "Pass the name of a date field or an annotation of the queryset, or remove `date_field`."
    annotations, meta = rows.query.annotations, rows.model._meta
    is_known = isinstance(name, str) and (
        name in {*annotations, *assigned_names(rows)}
        or inspect.getattr_static(rows.model, name, None) is not None
    )
    # Code of the model can set any attribute.
    if not (is_known or overridden(rows.model)):
        problem = field_problem(name, rows.model, (DateField,), "an attribute of its rows")
        yield message("W097", f"{subject}: `date_field` is {typed(name)}, but {problem}.", hint)
        return
    # A property of the model can be a date, too, and only the database may know the type of an annotation.
    with suppress(FieldError, FieldDoesNotExist):
        own_name = meta.pk.name if name == "pk" else name
        field = annotations[name].output_field if name in annotations else meta.get_field(own_name)
        is_djangos = type(field).__module__.startswith("django.") and type(field) is not models.Field
        if is_djangos and not isinstance(field, DateField):
            kind = f"{type(field).__name__} of {meta.label}"
            yield message("W099", f"{subject}: `date_field` is {name!r}, which is a {kind}.", hint)


def _is_concrete(model: object) -> bool:
    is_model = isinstance(model, type) and issubclass(model, Model) and model is not Model
    return is_model and not cast("type[Model]", model)._meta.abstract


def _check_queryset(subject: Subject, hint: str) -> Iterator[CheckMessage]:
    """Check that `queryset` may be a queryset. A property may return one."""
    value = subject.raw("queryset")
    # Not isinstance(), which would evaluate a lazy object.
    is_function = issubclass(type(value), (FunctionType, MethodType, type))
    if is_function or not (value is None or is_code(value) or hasattr(value, "all")):
        yield message("E062", f"{subject}.queryset {queryset_problem(value)}", hint)


def _rows(subject: Subject) -> QuerySet[Any] | RawQuerySet[Any] | None:
    """Return the queryset of a `ModelSitemap`; `None` if only the project's code can create it."""
    queryset, model = subject.raw("queryset"), subject.raw("model")
    if is_code(queryset) or not issubclass(subject.cls, ModelSitemap):
        return None
    if isinstance(queryset, (QuerySet, RawQuerySet)):
        # Otherwise, `queryset.db` would call the routers of the project.
        return queryset if has_database(queryset) else queryset.using(DEFAULT_DB_ALIAS)
    if queryset is None and _is_concrete(model):
        return QuerySet(cast("type[Model]", model), using=DEFAULT_DB_ALIAS)
    return None


def names_in_rows(subject: Subject) -> list[str]:
    """Return the names of fields and annotations for expressions of a `ModelSitemap`, if they are known."""
    rows = _rows(subject)
    if not isinstance(rows, QuerySet):
        return []
    return ["pk", *(field.name for field in rows.model._meta.fields), *rows.query.annotations]


def did_you_mean(value: object, words: Iterable[str], names: Iterable[str]) -> str | None:
    """Return a hint if a string is similar to a valid word, or to a name in the rows; otherwise `None`."""
    candidates = {name: f"F({name!r})" for name in names} | {word: repr(word) for word in words}
    # A short value is similar to too many names with the default cutoff.
    similar = get_close_matches(value, candidates, n=1, cutoff=0.8) if isinstance(value, str) else []
    return f"Did you mean {candidates[similar[0]]}?" if similar else None


def _check_ranges(subject: Subject, rows: QuerySet[Any] | RawQuerySet[Any]) -> Iterator[CheckMessage]:
    own = Facts(rows)
    if problem := own.problem:
        yield message("E064" if problem is LACKS_GROUP else "E065", f"{subject}: {problem[0]}", problem[1])
    is_news = issubclass(subject.cls, NewsSitemap)
    if own.is_queryset and (is_news or not own.can_reorder) and has_random_order(own.query):
        text = f"{subject} is read by position, but its queryset has a random order: each query returns "
        text += "other rows, so pages repeat or miss rows, and each export writes them again."
        hint = "Order by a column, such as order_by('-pk'). For a random choice, store it in a column."
        yield message("W039", text, hint)
    if own.can_reorder:
        return
    if (is_news or subject.data("site_field") is not None) and not own.can_filter:
        text = f"{subject} filters its rows, which its queryset does not support."
        hint = "News and `site_field` need a queryset that is not a slice, a union or raw()."
        yield message("E061", text, hint)
    text = f"{subject} is paginated by position, because its queryset does not support key ranges."
    hint = "Use a plain queryset if there can be many rows. Slices, unions, values(), raw() and "
    hint += "distinct(fields) are slow, and each added or deleted row shifts all rows after it."
    yield message("W031", text, hint)


def _annotations(subject: Subject, name: str) -> dict[str, Any]:
    """Return the expressions in a hook by alias."""
    return {alias(name, i): part for i, part in enumerate(hook_expressions(name, subject.data(name)))}


def _check_key(subject: Subject, rows: QuerySet[Any]) -> Iterator[CheckMessage]:
    key = subject.data("key")
    problem: str | None = f"`key` must be the name of a field, not {typed(key)}."
    if isinstance(key, str):
        problem = error_text(ImproperlyConfigured, KeyColumns.from_field, rows.model, key, rows.db)
    if key is not None and problem:
        hint = "Set `key` to a field that is unique, not null, and never changes."
        yield message("E032", f"{subject}: {problem}", hint)


def _check_key_is_in_location(subject: Subject, rows: QuerySet[Any]) -> Iterator[CheckMessage]:
    """Check texts of a key, of which each live address has one. What a method returns is not known."""
    annotations, name = _annotations(subject, "location"), subject.data("key")
    if not (annotations and isinstance(name, str)):
        return
    with suppress(ImproperlyConfigured, FieldError, NotImplementedError, TypeError, ValueError):
        key = KeyColumns.from_field(rows.model, name, rows.db)
        query = add_columns(annotatable_rows(rows, annotations), annotations).query
        nodes = [node for name in annotations for node in query.annotations[name].flatten()]
        columns = {node.target for node in nodes if isinstance(node, Col)}
        for column, field in zip(key.columns, key.fields, strict=True):
            if isinstance(field, (models.CharField, models.TextField)) and column not in columns:
                text = f"{subject}: values of {rows.model._meta.label}.{column.name} are in no location."
                yield message("W078", text, _IS_PUBLIC)


def check_stored_keys(subject: Subject, databases: Collection[str]) -> Iterator[CheckMessage]:
    """Query the declared rows: whether all of them have a key, and whether its order is the database's."""
    rows: Any = _rows(subject) if subject.inherits(ModelSitemap, "items", "get_queryset") else None
    name = subject.data("key")
    if not (Facts(rows).can_reorder and rows.db in databases and isinstance(name, str)):
        return
    messages: list[CheckMessage] = []
    # Problems of declarations are reported without a database. There may be no table, or no database, yet.
    with suppress(ImproperlyConfigured, FieldError, DatabaseError, InterfaceError), atomic(rows.db):
        key = KeyColumns.from_field(rows.model, name, rows.db)
        for _, error in key.unreadable(rows):
            messages.append(message("W029", f"{subject}: {error.reason}.", _HAS_KEY))
        try:
            ends = _outermost_keys(key, rows)
        except ImproperlyConfigured as error:
            messages.append(message("W069", f"{subject}: {error}", _ORDERS_ALIKE))
        else:
            if any(len(keys) >= NEARBY and not any(map(fits_in_address, keys[:NEARBY])) for keys in ends):
                text = f"{subject}: a hundred keys in a row are too long for the address of a live page."
                messages.append(message("W077", text, _IS_LONG))
    yield from messages


def _outermost_keys(key: KeyColumns, rows: QuerySet[Any]) -> list[list[Key]]:
    """Return the first and last keys of a table. Raise `ImproperlyConfigured` if they cannot be bounds."""
    model_rows = key.filter_readable(QuerySet(rows.model, using=rows.db)).values_list(*key.names)
    first = model_rows.order_by(*key.names)[:_KEYS]
    last = model_rows.order_by(*(f"-{name}" for name in key.names))[:_KEYS]
    try:
        ends = [[key.text(key.row_key(row)) for row in part] for part in (first, reversed(last))]
    except UNREADABLE as error:
        raise ImproperlyConfigured(
            f"A value of the key {key.name!r} of {rows.model._meta.label} cannot be converted: "
            f"{reason_of(error)}."
        ) from error
    if not all(map(key.in_order, ends)):
        raise ImproperlyConfigured(
            f"The database sorts the key {key.name!r} of {rows.model._meta.label} otherwise than it "
            "compares its values, or a value repeats."
        )
    return ends


def _check_default_location(subject: Subject, model: type[Model]) -> Iterator[CheckMessage]:
    has_location = not subject.inherits(Sitemap, "location", "default_location")
    if not (has_location or subject.has_own_init or hasattr(model, "get_absolute_url")):
        text = f"{subject} has no `location`, and {model._meta.label} has no get_absolute_url()."
        hint = "Declare `location` as a Route or a method, or define get_absolute_url()."
        yield message("E033", text, hint)


def _check_expressions(subject: Subject, rows: QuerySet[Any] | RawQuerySet[Any]) -> Iterator[CheckMessage]:
    """Check the columns, joins and types of hooks that are declared as a `Route` or an expression."""
    declared: dict[str, Any] = {}
    for name in (*FIELDS, "item_language"):
        annotations = _annotations(subject, name)
        if not annotations:
            continue
        try:
            if isinstance(rows, RawQuerySet):
                raise TypeError("a raw() queryset does not support expressions")
            plain_rows = annotatable_rows(rows, annotations)
            annotated_rows = add_columns(plain_rows, annotations)
        except ImproperlyConfigured:
            # Reported below, with the other hooks.
            declared |= annotations
            continue
        except (FieldError, TypeError, ValueError, NotImplementedError) as error:
            # The error of Django does not name the hook.
            text = f"{subject}.{name}: {error.__cause__ or error}.".replace("..", ".")
            hint = "Use only fields of the model and annotations of the queryset, which must not be raw()."
            if unknown := _UNKNOWN_FIELD.search(str(error)):
                similar = get_close_matches(unknown[1], unknown[2].split(", "), n=1)
                hint = f"Did you mean {similar[0]!r}? {hint}" if similar else hint
            yield message("E034", text, hint)
            continue
        if Facts(annotated_rows).repeats_rows and not Facts(plain_rows).repeats_rows:
            text = f"{subject}.{name} follows a multi-valued relation, which would repeat items."
            yield message("E035", text, "Use an aggregate such as Max(), or a method that takes the item.")
        elif name in _KINDS:
            yield from _check_type(subject, name, annotated_rows.query.annotations[alias(name)])
        declared |= annotations
    if declared and isinstance(rows, QuerySet):
        base = annotatable_rows(rows, declared)
        if problem := error_text(ImproperlyConfigured, add_columns, base, declared):
            yield message("E066", f"{subject}: {problem}", NEEDS_ANNOTATIONS[1])


def _check_type(subject: Subject, name: str, expression: Any) -> Iterator[CheckMessage]:
    code, fields, description, hint = _KINDS[name]
    with suppress(FieldError):  # Only the database can determine the type.
        kind = type(expression.output_field)
        # A project's own field class can convert any column.
        if kind.__module__.startswith("django.") and not issubclass(kind, fields):
            text = f"{subject}.{name} must be {description}, not an expression of type {kind.__name__}."
            yield message(code, text, f"{hint}, or define a method that takes the item.")


def _check_news(subject: Subject, model: type[Model] | None) -> Iterator[CheckMessage]:
    if not issubclass(subject.cls, NewsSitemap) or subject.has_own_init:
        return
    name = subject.raw("date_field")
    has_date_field = subject.inherits(ModelSitemap, "items") and not is_code(name)
    if has_date_field and (problem := field_problem(name, model, (DateField,), "a date field")):
        text = f"{subject}.date_field is {typed(name)}, but {problem}."
        yield message("E057", text, "Set it to the field with the publication date.")
    if not subject.inherits(NewsSitemap, "news"):
        return
    publication_name, language = subject.raw("publication_name"), subject.data("publication_language")
    if not (is_code(publication_name) or (isinstance(publication_name, str) and publication_name.strip())):
        problem = f"must be the name of a publication, not {typed(publication_name)}"
        hint = "Set the name that Google News uses for the publication, or define news(self, item)."
        yield message("E058", f"{subject}.publication_name {problem}.", hint)
    if language is not None and (problem := error_text(ValueError, news_language, language)):
        text = f"{subject}.publication_language: {problem}."
        yield message("E059", text, "Set a language code, such as 'en', or remove it.")
    if not callable(title := subject.raw("title")):
        text = f"{subject}.title must be a method, not {typed(title)}."
        yield message("E060", text, "Define title(self, item), or remove it to use str(item).")


def _check_site_field(subject: Subject, model: type[Model] | None) -> Iterator[CheckMessage]:
    name = subject.data("site_field")
    if name is None:
        return
    hint = "Set it to a ForeignKey, OneToOneField or ManyToManyField to sites.Site, or remove it."
    relations = (models.ForeignKey, models.ManyToManyField)
    problem = field_problem(name, model, relations, "a relation to another model")
    if model is not None and problem is None:
        meta: Any = getattr(model._meta.get_field(name).related_model, "_meta", None)
        # Compare labels, because `Site` cannot be imported if its app is not installed.
        if meta and (meta.concrete_model or meta.model)._meta.label_lower != "sites.site":
            problem = f"{model._meta.label}.{name} points to {meta.label}"
    if isinstance(name, str) and not apps.is_installed("django.contrib.sites"):
        problem = "django.contrib.sites is not installed"
        hint = "Add 'django.contrib.sites' to INSTALLED_APPS, or remove site_field."
    elif problem is None and not subject.inherits(ModelSitemap, "items"):
        problem = "the sitemap overrides items(), which could list rows of other sites"
        hint = "Override get_queryset() instead of items()."
    if problem is not None:
        yield message("E055", f"{subject}.site_field is {typed(name)}, but {problem}.", hint)
