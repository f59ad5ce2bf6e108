"""Values that a hook returns for every item, and the expressions and the code that declare them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from django.db.models import F
from django.db.models.functions import Coalesce, ExtractDay, ExtractMonth, ExtractYear, TruncDate

from django_sitemaps09.routes import Route

_F = "from django.db.models import F"
_COALESCE = "from django.db.models.functions import Coalesce"
_ROUTE = "from django_sitemaps09 import Route"
_EXTRACTS = {"year": ExtractYear, "month": ExtractMonth, "day": ExtractDay, "date": TruncDate}


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that is the same for all items: a string, a number or `None`."""

    value: str | int | float | None

    @property
    def declaration(self) -> Any:
        return self.value

    @property
    def code(self) -> str:
        text = repr(self.value)
        return f'"{self.value}"' if text == f"'{self.value}'" and '"' not in text else text

    @property
    def imports(self) -> set[str]:
        return set()

    def fields(self) -> Iterator[FieldValue]:
        """Yield the fields that the value depends on."""
        yield from ()

    def without(self, key: str) -> Constant:
        """Return the value for items whose field or relation `key` is NULL."""
        return self


@dataclass(frozen=True)
class FieldValue:
    """The value of a field of the item, or of a related object.

    `keys` has the nullable fields and relations on the path. If only a part of a date or datetime is used,
    `part` is `year`, `month`, `day` or `date`. `is_time` is true for an aware datetime.
    """

    path: str
    keys: tuple[str, ...] = ()
    part: str = ""
    is_time: bool = False

    @property
    def declaration(self) -> Any:
        if self.part:
            # Instances have times in UTC, but queries extract parts in the current time zone.
            return _EXTRACTS[self.part](self.path, tzinfo=ZoneInfo("UTC") if self.is_time else None)
        return F(self.path)

    @property
    def code(self) -> str:
        if self.part:
            zone = ', tzinfo=ZoneInfo("UTC")' if self.is_time else ""
            return f'{_EXTRACTS[self.part].__name__}("{self.path}"{zone})'
        return f'F("{self.path}")'

    @property
    def imports(self) -> set[str]:
        if self.part:
            extract = f"from django.db.models.functions import {_EXTRACTS[self.part].__name__}"
            return {extract, *(["from zoneinfo import ZoneInfo"] if self.is_time else [])}
        return {_F}

    def fields(self) -> Iterator[FieldValue]:
        yield self

    def without(self, key: str) -> FieldValue | Constant:
        return Constant(None) if key in self.keys else self


@dataclass(frozen=True)
class CoalescedValue:
    """The first of several values that is not NULL."""

    values: tuple[FieldValue | Constant, ...]

    @property
    def declaration(self) -> Any:
        return Coalesce(*[value.declaration for value in self.values])

    @property
    def code(self) -> str:
        return f"Coalesce({', '.join(value.code for value in self.values)})"

    @property
    def imports(self) -> set[str]:
        return {_COALESCE, *(line for value in self.values for line in value.imports)}

    def fields(self) -> Iterator[FieldValue]:
        for value in self.values:
            yield from value.fields()

    def without(self, key: str) -> CoalescedValue:
        return CoalescedValue(tuple(value.without(key) for value in self.values))


@dataclass(frozen=True)
class RouteValue:
    """The URL that `reverse()` returns for a view name with these arguments."""

    viewname: str
    args: tuple[FieldValue | Constant, ...] = ()
    kwargs: tuple[tuple[str, FieldValue | Constant], ...] = ()

    @property
    def declaration(self) -> Any:
        args = [value.declaration for value in self.args]
        return Route(self.viewname, *args, **{name: value.declaration for name, value in self.kwargs})

    @property
    def code(self) -> str:
        parts = [Constant(self.viewname).code, *(value.code for value in self.args)]
        for name, value in self.kwargs:
            parts.append(f'**{{"{name}": {value.code}}}' if iskeyword(name) else f"{name}={value.code}")
        return f"Route({', '.join(parts)})"

    @property
    def imports(self) -> set[str]:
        values = (*self.args, *dict(self.kwargs).values())
        return {_ROUTE, *(line for value in values for line in value.imports)}

    def fields(self) -> Iterator[FieldValue]:
        for value in (*self.args, *dict(self.kwargs).values()):
            yield from value.fields()

    def without(self, key: str) -> RouteValue:
        return RouteValue(
            self.viewname,
            tuple(value.without(key) for value in self.args),
            tuple((name, value.without(key)) for name, value in self.kwargs),
        )


Value: TypeAlias = Constant | FieldValue | CoalescedValue | RouteValue
