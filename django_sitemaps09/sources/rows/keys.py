"""Keys of querysets: the fields that can be keys, and filters for ranges of a key."""

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

from django_sitemaps09.orm.internals import filter_first
from django_sitemaps09.pages import Key

# SQLite stores decimals as floats with this number of digits.
_SQLITE_DIGITS = 15


class KeyColumns(NamedTuple):
    """Names of a key's columns in Django, and the fields that convert their values to text."""

    name: str
    names: tuple[str, ...]
    fields: tuple[Any, ...]

    @classmethod
    def from_field(cls, model: type[Model], name: str, using: str) -> KeyColumns:
        """Return the key for the field `name`. Raise `ImproperlyConfigured` if it cannot be a key."""
        try:
            field: Any = model._meta.pk if name == "pk" else model._meta.get_field(name)
        except FieldDoesNotExist as error:
            raise ImproperlyConfigured(f"{model._meta.label} has no field {name!r}.") from error
        is_column = field.concrete or not field.is_relation
        parts = model._meta.pk_fields if isinstance(field, CompositePrimaryKey) else [field]
        fields = tuple(map(_concrete_field, parts)) if is_column else ()
        vendor = connections[using].vendor
        problem = _key_problem(model, field, fields, vendor) if is_column else "it is not a column"
        if problem:
            raise ImproperlyConfigured(
                f"{model._meta.label}.{name} cannot be used as `key`: {problem}. Set `key` to a field that "
                "is unique, not null, and never changes for an existing row."
            )
        if len(fields) > 1:
            return cls("pk", tuple(part.attname for part in parts), fields)
        # If given the name of a relation, Django would order rows like the related model.
        column = "pk" if field.primary_key else field.attname
        return cls(column, (column,), fields)

    @property
    def is_ordered_plainly(self) -> bool:
        """Return whether all fields are Django's own; other fields can change the order of values."""
        return all(type(field).__module__.startswith("django.") for field in self.fields)

    @property
    def is_integer(self) -> bool:
        """Return whether the key is a single integer, so that other keys can be computed from it."""
        return (
            len(self.fields) == 1 and isinstance(self.fields[0], IntegerField) and self.is_ordered_plainly
        )

    def filter_range(self, rows: QuerySet[Any], after: Any, until: Any) -> QuerySet[Any]:
        """Return the rows with a key greater than `after`, up to `until`, in the order of the database."""
        for lookup, key in (("gt", after), ("lte", until)):
            if key is None:
                continue
            bounds = {f"{self.name}__{lookup}": key}
            if len(self.names) > 1:
                # MariaDB cannot use an index range for a row value, only for its first column.
                bounds[f"{self.names[0]}__{lookup[:2]}e"] = key[0]
            rows = filter_first(rows, **bounds)
        return rows

    def row_key(self, row: Sequence[Any]) -> Hashable:
        """Return the key at the start of a row of `values_list(*names, ...)`."""
        return row[0] if len(self.names) == 1 else tuple(row[: len(self.names)])

    def text(self, key: Any) -> Key:
        """Return a key as text. Raise `ImproperlyConfigured` if the text cannot be converted back."""
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
        if key is None:
            return None
        parts = tuple(field.to_python(part) for field, part in zip(self.fields, key, strict=True))
        return parts if len(self.names) > 1 else parts[0]


def _concrete_field(field: Any) -> Any:
    """Return the field whose values a relation stores; for other fields, the field itself."""
    while field.remote_field is not None:
        field = field.target_field
    if isinstance(field, GeneratedField):
        # A generated field does not convert text to values, but its output field does.
        text_field: Any = copy(field.output_field)
        text_field.set_attributes_from_name(field.name)
        return text_field
    return field


def _key_problem(model: type[Model], key_field: Any, fields: Sequence[Any], vendor: str) -> str | None:
    """Return the reason why a field cannot be a key in a vendor's database, or `None`."""
    for field in fields:
        if isinstance(field, (FloatField, BinaryField, JSONField)):
            return f"a {type(field).__name__} has no exact text form"
        if (
            isinstance(field, DecimalField)
            and vendor == "sqlite"
            and (field.max_digits or _SQLITE_DIGITS + 1) > _SQLITE_DIGITS
        ):
            return f"SQLite compares decimals to at most {_SQLITE_DIGITS} significant digits"
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
