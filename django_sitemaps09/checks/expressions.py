"""Check query expressions by resolving them against the queryset, without compiling SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from django.core.checks import CheckMessage
from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import (
    CharField,
    DateField,
    DecimalField,
    FloatField,
    IntegerField,
    QuerySet,
    TextField,
)
from django.db.models.query import RawQuerySet

from django_sitemaps09.checks.subjects import data, error_text, message, name_of
from django_sitemaps09.hooks.annotations import NEEDS_ANNOTATIONS, add_columns
from django_sitemaps09.hooks.expressions import FIELDS, alias, hook_expressions
from django_sitemaps09.orm.internals import gives_instances
from django_sitemaps09.orm.traits import has_window_function, repeats_rows


class _Kind(NamedTuple):
    code: str
    fields: tuple[type, ...]
    description: str
    hint: str


#: The types of columns that are valid for each optional element.
_KINDS = {
    "lastmod": _Kind(
        "W036",
        (DateField,),
        "a date or a datetime",
        "Use a DateField or a DateTimeField, convert the expression with Cast(), or define a method that "
        "takes the item.",
    ),
    "priority": _Kind(
        "W037",
        (IntegerField, FloatField, DecimalField),
        "a number",
        "Use a column with numbers from 0.0 to 1.0, convert the expression with Cast(), or define a method "
        "that takes the item.",
    ),
    "changefreq": _Kind(
        "W038",
        (CharField, TextField),
        "text",
        "Use a column with changefreq values, build them with Case(), or define a method that takes the "
        "item.",
    ),
}


def check_expressions(subject: Any, rows: QuerySet[Any] | RawQuerySet[Any]) -> Iterator[CheckMessage]:
    """Check the columns, joins and types of hooks that are declared as a `Route` or an expression."""
    declared: dict[str, Any] = {}
    for name in (*FIELDS, "item_language"):
        value = data(subject, name)
        parts = hook_expressions(name, value)
        annotations = {alias(name, i): part for i, part in enumerate(parts)}
        if not annotations:
            continue
        try:
            plain_rows = _annotatable_rows(rows, annotations)
            annotated_rows = add_columns(plain_rows, annotations)
        except ImproperlyConfigured:
            # Reported below, with the other hooks.
            declared |= annotations
            continue
        except (FieldError, TypeError, ValueError, NotImplementedError) as error:
            text = f"{name_of(subject)}.{name}: {error}.".replace("..", ".")
            hint = "Use only fields of the model and annotations of the queryset, which must not be raw()."
            yield message("E034", text, hint)
            continue
        if repeats_rows(annotated_rows.query) and not repeats_rows(plain_rows.query):
            text = f"{name_of(subject)}.{name} follows a multi-valued relation, which would repeat items."
            yield message("E035", text, "Use an aggregate such as Max(), or a method that takes the item.")
        elif name in _KINDS:
            yield from _check_type(subject, name, annotated_rows.query.annotations[alias(name)])
        declared |= annotations
    problem = declared and error_text(
        ImproperlyConfigured, add_columns, _annotatable_rows(rows, declared), declared
    )
    if problem:
        yield message("E066", f"{name_of(subject)}: {problem}", NEEDS_ANNOTATIONS[1])


def _annotatable_rows(
    rows: QuerySet[Any] | RawQuerySet[Any], expressions: Mapping[str, Any]
) -> QuerySet[Any]:
    """Return the queryset that the expressions are resolved against.

    For a union, and for instances of a slice, of `distinct(fields)` or with a window function, the
    expressions are queried separately. They are then resolved against all rows of the model.
    """
    if isinstance(rows, RawQuerySet):
        raise TypeError("a raw() queryset does not support expressions")
    if rows.query.combinator:
        return QuerySet(rows.model)
    is_read_apart = rows.query.is_sliced or rows.query.distinct_fields or has_window_function(rows.query)
    if is_read_apart and gives_instances(rows):
        with suppress(FieldError):
            QuerySet(rows.model).annotate(**expressions)
            return QuerySet(rows.model)
    return rows


def _check_type(subject: Any, name: str, expression: Any) -> Iterator[CheckMessage]:
    kind = _KINDS[name]
    try:
        field = expression.output_field
    except FieldError:
        # Only the database can determine the type.
        return
    # A project's own field class can convert any column.
    if type(field).__module__.startswith("django.") and not isinstance(field, kind.fields):
        problem = f"must be {kind.description}, not an expression of type {type(field).__name__}"
        yield message(kind.code, f"{name_of(subject)}.{name} {problem}.", kind.hint)
