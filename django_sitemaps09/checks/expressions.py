"""Check query expressions, resolved against the rows whose columns they are, and never compiled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from django.core.checks import CheckMessage
from django.core.exceptions import FieldError
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

from django_sitemaps09.checks.messages import message
from django_sitemaps09.checks.subjects import data, name_of
from django_sitemaps09.hooks.expressions import FIELDS
from django_sitemaps09.queryset_traits import filters_window, repeats_rows
from django_sitemaps09.routes import Route, is_expression


class _Kind(NamedTuple):
    code: str
    fields: tuple[type, ...]
    description: str
    hint: str


_ALIAS = "_sitemaps09_check_{}"
#: Fields that each optional element can be made of.
_KINDS = {
    "lastmod": _Kind(
        "W036",
        (DateField,),
        "a date or a datetime",
        "Use a DateField or a DateTimeField, Cast() to one, or use a method that takes the item.",
    ),
    "priority": _Kind(
        "W037",
        (IntegerField, FloatField, DecimalField),
        "a number",
        "Use a column of numbers from 0.0 to 1.0, Cast() to one, or use a method that takes the item.",
    ),
    "changefreq": _Kind(
        "W038",
        (CharField, TextField),
        "text",
        "Use a column of changefreq values, build them with Case(), or use a method that takes the item.",
    ),
}


def check_expressions(subject: Any, rows: QuerySet[Any] | RawQuerySet[Any]) -> Iterator[CheckMessage]:
    """Check each field declared as a `Route` or an expression: what it names, and what it gives."""
    for name in FIELDS:
        value = data(subject, name)
        parts = value.expressions if isinstance(value, Route) else [value]
        parts = [part for part in parts if is_expression(part)]
        if not parts:
            continue
        try:
            annotations = {_ALIAS.format(i): part for i, part in enumerate(parts)}
            plain_rows = _annotatable_rows(rows, annotations)
            annotated_rows = plain_rows.annotate(**annotations)
        except (FieldError, TypeError, ValueError, NotImplementedError) as error:
            yield message(
                "E034",
                f"{name_of(subject)}.{name}: {error}.".replace("..", "."),
                "Use only fields of the model and annotations of the queryset, which must not be raw().",
            )
            continue
        if repeats_rows(annotated_rows.query) and not repeats_rows(plain_rows.query):
            yield message(
                "E035",
                f"{name_of(subject)}.{name} follows a multi-valued relation, which would repeat items.",
                "Use an aggregate such as Max(), or a method that takes the item.",
            )
        elif name in _KINDS:
            yield from _check_type(subject, name, annotated_rows.query.annotations[_ALIAS.format(0)])


def _annotatable_rows(
    rows: QuerySet[Any] | RawQuerySet[Any], expressions: Mapping[str, Any]
) -> QuerySet[Any]:
    """Return the rows to annotate with the expressions.

    They are all rows of the model if the expressions are read apart from the queryset.
    """
    if isinstance(rows, RawQuerySet):
        raise TypeError("a raw() queryset does not support expressions")
    if rows.query.combinator:
        return QuerySet(rows.model)
    if rows.query.is_sliced or rows.query.distinct_fields or filters_window(rows.query):
        with suppress(FieldError):
            QuerySet(rows.model).annotate(**expressions)
            return QuerySet(rows.model)
    return rows


def _check_type(subject: Any, name: str, expression: Any) -> Iterator[CheckMessage]:
    kind = _KINDS[name]
    try:
        field = expression.output_field
    except FieldError:
        # Only the database knows the type.
        return
    # Only the project's code knows what its own field makes of a column.
    if type(field).__module__.startswith("django.") and not isinstance(field, kind.fields):
        text = (
            f"{name_of(subject)}.{name} must be {kind.description}, not an expression of type "
            f"{type(field).__name__}."
        )
        yield message(kind.code, text, kind.hint)
