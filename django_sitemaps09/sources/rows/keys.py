"""The key of a queryset's rows: which fields can be keys, and how rows are filtered by ranges of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from types import SimpleNamespace
from typing import Any, NamedTuple

from django.core.exceptions import FieldDoesNotExist, ImproperlyConfigured
from django.db import connections
from django.db.models import (
    BinaryField,
    CompositePrimaryKey,
    DecimalField,
    FloatField,
    GeneratedField,
    IntegerField,
    JSONField,
    Model,
    QuerySet,
    UniqueConstraint,
)

from django_sitemaps09.django_internals import filter_first
from django_sitemaps09.pages import Key

#: Digits of the floats that SQLite stores decimals as.
SQLITE_DIGITS = 15


class KeyColumns(NamedTuple):
    """Columns of a key by their names in Django, with the fields that convert their values to text."""

    name: str
    names: tuple[str, ...]
    fields: tuple[Any, ...]

    @classmethod
    def of(cls, model: type[Model], name: str, using: str) -> KeyColumns:
        """Return the key `name` of a model. Raise `ImproperlyConfigured` if it cannot be one."""
        try:
            field: Any = model._meta.pk if name == "pk" else model._meta.get_field(name)
        except FieldDoesNotExist as error:
            raise ImproperlyConfigured(f"{model._meta.label} has no field {name!r}.") from error
        if field.is_relation and not field.concrete:
            raise ImproperlyConfigured(
                f"{model._meta.label}.{name} cannot be the key of pages: it is not a column. Set `key` "
                "to a field that is unique, not null, and never changes for an existing row."
            )
        if isinstance(field, CompositePrimaryKey):
            fields = tuple(_concrete_field(part) for part in model._meta.pk_fields)
            names = tuple(part.attname for part in model._meta.pk_fields)
            key = cls("pk", names, fields)
        else:
            # The column, since by its name a relation would be ordered like the related model.
            column = "pk" if field.primary_key else field.attname
            key = cls(column, (column,), (_concrete_field(field),))
        if problem := key_problem(model, field, key.fields, connections[using].vendor):
            raise ImproperlyConfigured(
                f"{model._meta.label}.{name} cannot be the key of pages: {problem}. Set `key` to a field "
                "that is unique, not null, and never changes for an existing row."
            )
        return key

    @property
    def is_ordered_plainly(self) -> bool:
        """Return whether all fields are Django's own. Others can convert values to another order."""
        return all(type(field).__module__.startswith("django.") for field in self.fields)

    @property
    def is_integer(self) -> bool:
        """Return whether the key is a single integer, from which other keys can be computed."""
        return (
            len(self.fields) == 1 and isinstance(self.fields[0], IntegerField) and self.is_ordered_plainly
        )

    def filter_after(self, rows: QuerySet[Any], after: Hashable | None) -> QuerySet[Any]:
        """Return the rows whose key is greater than `after` in the order of the database."""
        if after is None:
            return rows
        return self._filter(rows, "gt", after)

    def filter_until(self, rows: QuerySet[Any], until: Hashable | None) -> QuerySet[Any]:
        """Return the rows up to and including a key."""
        if until is None:
            return rows
        return self._filter(rows, "lte", until)

    def _filter(self, rows: QuerySet[Any], lookup: str, key: Any) -> QuerySet[Any]:
        bounds = {f"{self.name}__{lookup}": key}
        if len(self.names) > 1:
            # MariaDB cannot use an index range for a row of columns, only for the first column.
            bounds[f"{self.names[0]}__{lookup[:2]}e"] = key[0]
        return filter_first(rows, **bounds)

    def of_row(self, row: Sequence[Any]) -> Hashable:
        """Return the key at the start of a row of `values_list(*names, ...)`."""
        return row[0] if len(self.names) == 1 else tuple(row[: len(self.names)])

    def text(self, key: Any) -> Key:
        """Return a key as text. Raise `ImproperlyConfigured` if its fields cannot read the text back."""
        parts = key if len(self.names) > 1 else (key,)
        text = tuple(
            field.value_to_string(SimpleNamespace(**{field.attname: part}))
            for field, part in zip(self.fields, parts, strict=True)
        )
        if self.parse(text) != key:
            raise ImproperlyConfigured(
                f"The key {key!r} changes when {'.'.join(self.names)} converts it to text and back. Give "
                "the field a value_to_string() that to_python() can read, or choose another `key`."
            )
        return text

    def parse(self, key: Key | None) -> Hashable | None:
        """Return the key for its text."""
        if key is None:
            return None
        parts = tuple(field.to_python(part) for field, part in zip(self.fields, key, strict=True))
        return parts if len(self.names) > 1 else parts[0]


def _concrete_field(field: Any) -> Any:
    """Return the field whose values a relation stores, or the field itself if it is not a relation."""
    while field.remote_field is not None:
        field = field.target_field
    if isinstance(field, GeneratedField):
        # A generated field itself does not convert text to values.
        text_field: Any = copy(field.output_field)
        text_field.set_attributes_from_name(field.name)
        return text_field
    return field


def key_problem(model: type[Model], key_field: Any, fields: Sequence[Any], vendor: str) -> str | None:
    """Return why a field cannot be a key on the databases of a vendor, or `None`."""
    for field in fields:
        if isinstance(field, (FloatField, BinaryField, JSONField)):
            return f"a {type(field).__name__} has no exact text form"
        if (
            isinstance(field, DecimalField)
            and vendor == "sqlite"
            and (field.max_digits or SQLITE_DIGITS + 1) > SQLITE_DIGITS
        ):
            return f"SQLite distinguishes at most {SQLITE_DIGITS} digits of a decimal"
    if key_field.primary_key:
        return None
    if key_field.null:
        return "it can be null"
    has_constraint = any(
        isinstance(constraint, UniqueConstraint)
        and tuple(constraint.fields) == (key_field.name,)
        and constraint.condition is None
        for constraint in model._meta.constraints
    )
    return None if key_field.unique or has_constraint else "it is not unique"
