"""Values that a hook returns for every item, and the expressions and the code that declare them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

from django.db.models import F
from django.db.models import Value as SqlValue
from django.db.models.functions import Coalesce, ExtractDay, ExtractMonth, ExtractYear, TruncDate

from django_sitemaps09.routing.location_templates import PathTemplate
from django_sitemaps09.routing.routes import Route

_F = "from django.db.models import F"
_COALESCE = "from django.db.models.functions import Coalesce"
_VALUE = "from django.db.models import Value"
_TEMPLATE = "from django_sitemaps09 import PathTemplate"
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
    `part` is `year`, `month`, `day` or `date`. `zone` is the time zone of an aware datetime.
    """

    path: str
    keys: tuple[str, ...] = ()
    part: str = ""
    zone: str = ""

    @property
    def declaration(self) -> Any:
        if self.part:
            # Instances have times in the zone of the database connection, which is UTC by default. Queries
            # extract parts in the current time zone.
            return _EXTRACTS[self.part](self.path, tzinfo=ZoneInfo(self.zone) if self.zone else None)
        return F(self.path)

    @property
    def code(self) -> str:
        if self.part:
            zone = f', tzinfo=ZoneInfo("{self.zone}")' if self.zone else ""
            return f'{_EXTRACTS[self.part].__name__}("{self.path}"{zone})'
        return f'F("{self.path}")'

    @property
    def imports(self) -> set[str]:
        if self.part:
            extract = f"from django.db.models.functions import {_EXTRACTS[self.part].__name__}"
            return {extract, *(["from zoneinfo import ZoneInfo"] if self.zone else [])}
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
        return Coalesce(
            *[
                SqlValue(value.value) if _is_text(value) else value.declaration  # type: ignore[union-attr]
                for value in self.values
            ]
        )

    @property
    def code(self) -> str:
        # A query expression reads a string as the name of a field.
        codes = [f"Value({value.code})" if _is_text(value) else value.code for value in self.values]
        return f"Coalesce({', '.join(codes)})"

    @property
    def imports(self) -> set[str]:
        texts = [_VALUE] if any(map(_is_text, self.values)) else []
        return {_COALESCE, *texts, *(line for value in self.values for line in value.imports)}

    def fields(self) -> Iterator[FieldValue]:
        for value in self.values:
            yield from value.fields()

    def without(self, key: str) -> CoalescedValue:
        return CoalescedValue(tuple(value.without(key) for value in self.values))


def _is_text(value: FieldValue | Constant) -> bool:
    return isinstance(value, Constant) and isinstance(value.value, str)


@dataclass(frozen=True)
class TemplateValue:
    """A path with fields in it: literals and fields, in their order."""

    parts: tuple[str | FieldValue, ...]

    @property
    def arguments(self) -> dict[str, FieldValue]:
        """The fields by the names that they get in the template."""
        names: dict[FieldValue, str] = {}
        for value in self.fields():
            if value in names:
                continue
            *relations, name = value.path.split("__")
            name = relations[-1] if relations else f"{name}_{value.part}".rstrip("_")
            if name in names.values():
                name = f"{value.path}_{value.part}".rstrip("_")
            while name in names.values() or iskeyword(name):
                name += "_"
            names[value] = name
        return {name: value for value, name in names.items()}

    @property
    def template(self) -> str:
        """The format string."""
        names = {value: name for name, value in self.arguments.items()}
        return "".join(
            part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else f"{{{names[part]}}}"
            for part in self.parts
        )

    @property
    def declaration(self) -> Any:
        return PathTemplate(
            self.template, **{name: value.declaration for name, value in self.arguments.items()}
        )

    @property
    def code(self) -> str:
        arguments = [f"{name}={value.code}" for name, value in self.arguments.items()]
        return f"PathTemplate({', '.join([Constant(self.template).code, *arguments])})"

    @property
    def imports(self) -> set[str]:
        return {_TEMPLATE, *(line for value in self.fields() for line in value.imports)}

    def fields(self) -> Iterator[FieldValue]:
        for part in self.parts:
            if isinstance(part, FieldValue):
                yield part

    def without(self, key: str) -> TemplateValue | Constant:
        """Return `None` for an item with NULL, because it is skipped."""
        return Constant(None) if any(key in value.keys for value in self.fields()) else self


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


Value: TypeAlias = Constant | FieldValue | CoalescedValue | TemplateValue | RouteValue
