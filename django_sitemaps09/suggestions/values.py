"""Values that a hook returns for every item, and the code that declares them."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from keyword import iskeyword
from typing import Any, TypeAlias, cast

_EXTRACTS = {"year": "ExtractYear", "month": "ExtractMonth", "day": "ExtractDay", "date": "TruncDate"}
# The modules of all names that the code of a value calls.
_MODULES = {
    **dict.fromkeys(("F", "Value"), "django.db.models"),
    **dict.fromkeys(("Coalesce", *_EXTRACTS.values()), "django.db.models.functions"),
    **dict.fromkeys(("PathTemplate", "Route"), "django_sitemaps09"),
    "ZoneInfo": "zoneinfo",
}


class _Declared:
    """Base class of values. `parts` are the values that a value is composed of."""

    __slots__ = ()

    parts: Sequence[_Declared]

    @property
    def code(self) -> str:
        """Return the code of the declaration."""
        raise NotImplementedError

    def fields(self) -> Iterator[FieldValue]:
        """Yield the fields that the value depends on."""
        for part in self.parts:
            yield from part.fields()

    @property
    def declaration(self) -> Any:
        """Return what the code declares, so that what is compared is what is printed."""
        return _built(ast.parse(self.code, mode="eval").body)


@dataclass(frozen=True, slots=True)
class Constant(_Declared):
    """A value that is the same for all items: a string, a number or `None`."""

    value: str | int | float | None
    parts = ()

    @property
    def code(self) -> str:
        text = repr(self.value)
        return f'"{self.value}"' if text == f"'{self.value}'" and '"' not in text else text

    def without(self, key: str) -> Constant:
        """Return the value for items whose field or relation `key` is NULL."""
        return self


@dataclass(frozen=True)
class FieldValue(_Declared):
    """The value of a field of the item, or of a related object.

    `keys` has the nullable fields and relations on the path. If only a part of a date or datetime is used,
    `part` is `year`, `month`, `day` or `date`. `zone` is the time zone of an aware datetime.
    """

    path: str
    keys: tuple[str, ...] = ()
    part: str = ""
    zone: str = ""

    @property
    def code(self) -> str:
        path = Constant(self.path).code
        if not self.part:
            return f"F({path})"
        # Instances have times in the zone of the database connection, which is UTC by default. Queries
        # extract parts in the current time zone.
        zone = f", tzinfo=ZoneInfo({Constant(self.zone).code})" if self.zone else ""
        return f"{_EXTRACTS[self.part]}({path}{zone})"

    def fields(self) -> Iterator[FieldValue]:
        yield self

    def without(self, key: str) -> FieldValue | Constant:
        return Constant(None) if key in self.keys else self


@dataclass(frozen=True)
class CoalescedValue(_Declared):
    """The first of several values that is not NULL."""

    parts: tuple[FieldValue | Constant, ...]

    @property
    def code(self) -> str:
        # A query expression reads a string as the name of a field.
        codes = [
            f"Value({part.code})" if isinstance(getattr(part, "value", None), str) else part.code
            for part in self.parts
        ]
        return f"Coalesce({', '.join(codes)})"

    def without(self, key: str) -> CoalescedValue:
        return CoalescedValue(tuple(part.without(key) for part in self.parts))


@dataclass(frozen=True)
class TemplateValue(_Declared):
    """A path with fields in it: literals and fields, in their order."""

    parts: tuple[Constant | FieldValue, ...]

    @property
    def arguments(self) -> dict[FieldValue, str]:
        """The names that the fields get in the template."""
        names: dict[FieldValue, str] = {}
        for value in dict.fromkeys(self.fields()):
            *relations, name = value.path.split("__")
            name = relations[-1] if relations else f"{name}_{value.part}".rstrip("_")
            if name in names.values():
                name = f"{value.path}_{value.part}".rstrip("_")
            while name in names.values() or iskeyword(name):
                name += "_"
            names[value] = name
        return names

    @property
    def template(self) -> str:
        """The format string."""
        names = self.arguments
        return "".join(
            f"{{{names[part]}}}"
            if isinstance(part, FieldValue)
            else str(part.value).replace("{", "{{").replace("}", "}}")
            for part in self.parts
        )

    @property
    def code(self) -> str:
        arguments = [f"{name}={value.code}" for value, name in self.arguments.items()]
        return f"PathTemplate({', '.join([Constant(self.template).code, *arguments])})"

    def without(self, key: str) -> TemplateValue | Constant:
        """Return `None` for an item with NULL, because it is skipped."""
        return Constant(None) if any(key in value.keys for value in self.fields()) else self


@dataclass(frozen=True)
class RouteValue(_Declared):
    """The URL that `reverse()` returns for a view name and arguments. Positional ones have no `names`."""

    viewname: str
    parts: tuple[FieldValue | Constant, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        codes = [part.code for part in self.parts]
        # Python has positional arguments first.
        for i, name in enumerate(self.names, len(codes) - len(self.names)):
            is_name = name.isidentifier() and not iskeyword(name)
            codes[i] = f"{name}={codes[i]}" if is_name else f"**{{{Constant(name).code}: {codes[i]}}}"
        return f"Route({', '.join([Constant(self.viewname).code, *codes])})"

    def without(self, key: str) -> RouteValue:
        return replace(self, parts=tuple(part.without(key) for part in self.parts))


Value: TypeAlias = Constant | FieldValue | CoalescedValue | TemplateValue | RouteValue


def _built(node: ast.expr) -> Any:
    """Return what the code of a value creates. It can only call the names in `_MODULES`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_built(node.operand)
    if isinstance(node, ast.Name):
        # These numbers have no literals.
        return {"inf": math.inf, "nan": math.nan}[node.id]
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if isinstance(keyword.value, ast.Dict):
            [key], [value] = keyword.value.keys, keyword.value.values
            arguments[ast.literal_eval(cast(ast.expr, key))] = _built(value)
        else:
            arguments[str(keyword.arg)] = _built(keyword.value)
    name = ast.unparse(node.func)
    declared = getattr(import_module(_MODULES[name]), name)
    return declared(*map(_built, node.args), **arguments)


def imported_names(values: Iterable[Value]) -> set[tuple[str, str]]:
    """Return what the code of these values calls: names with the modules to import them from."""
    nodes = [node for value in values for node in ast.walk(ast.parse(value.code))]
    names = {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}
    return {(_MODULES[name], name) for name in names}
