"""Values that a method returns for each row, and the code that declares them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from keyword import iskeyword
from typing import Any, TypeAlias

_PARTS = {"year": "ExtractYear", "month": "ExtractMonth", "day": "ExtractDay"}
#: The output fields of `Case()`. Values of other kinds could be converted in another way than a column is.
OUTPUTS = {
    "text": "CharField",
    "integer": "IntegerField",
    "float": "FloatField",
    "date": "DateField",
    "datetime": "DateTimeField",
}
# The modules of all names that the code of a value calls.
_MODULES = {
    **dict.fromkeys(("Case", "F", "Q", "Value", "When", *OUTPUTS.values()), "django.db.models"),
    **dict.fromkeys(("Cast", "Concat", "Length", *_PARTS.values()), "django.db.models.functions"),
    "Exact": "django.db.models.lookups",
    **dict.fromkeys(("PathTemplate", "Route"), "django_sitemaps09"),
    "ZoneInfo": "zoneinfo",
}


@dataclass(frozen=True)
class Constant:
    """Text, a number, or `None`."""

    value: str | int | float | None

    @property
    def kind(self) -> str:
        return {str: "text", int: "integer", float: "float"}.get(type(self.value), "none")

    @property
    def is_nullable(self) -> bool:
        return self.value is None

    @property
    def code(self) -> str:
        text = repr(self.value)
        return f'"{self.value}"' if text == f"'{self.value}'" and '"' not in text else text


@dataclass(frozen=True)
class Column:
    """A field of the row or of a related object, or an annotation.

    `nulls` has what can be NULL on the path: relations, and the column itself. `part` is the year, month or
    day of a date, and `zone` the time zone of a datetime. `field` is `None` for an annotation.
    """

    path: str
    kind: str
    nulls: frozenset[str] = frozenset()
    field: Any = None
    part: str = ""
    zone: str = ""

    @property
    def is_nullable(self) -> bool:
        return bool(self.nulls)

    @property
    def code(self) -> str:
        path = Constant(self.path).code
        if not self.part:
            return f"F({path})"
        # Instances have times in the zone of the database connection, which is UTC by default. Queries
        # extract parts in the current time zone.
        zone = f", tzinfo=ZoneInfo({Constant(self.zone).code})" if self.zone else ""
        return f"{_PARTS[self.part]}({path}{zone})"


@dataclass(frozen=True)
class Choice:
    """One of two values, by a condition: the code of a `Q`, which is false or NULL for the other one."""

    condition: str
    value: Value
    default: Value
    kind: str

    @property
    def is_nullable(self) -> bool:
        return self.value.is_nullable or self.default.is_nullable

    @property
    def code(self) -> str:
        when = f"When({self.condition}, then={_operand(self.value)})"
        return f"Case({when}, default={_operand(self.default)}, output_field={OUTPUTS[self.kind]}())"


@dataclass(frozen=True)
class Text:
    """Text of several parts, which cannot be NULL: constants, and columns of text, integers or UUIDs."""

    parts: tuple[Constant | Column | Choice, ...]
    kind = "text"
    is_nullable = False

    @classmethod
    def join(cls, values: Iterable[Value]) -> Value:
        """Return the values as one text: a constant, a column of text, or several parts."""
        parts: list[Any] = []
        for value in values:
            for part in value.parts if isinstance(value, Text) else [value]:
                part = Constant(str(part.value)) if isinstance(part, Constant) else part
                if parts and isinstance(part, Constant) and isinstance(parts[-1], Constant):
                    parts[-1] = Constant(f"{parts[-1].value}{part.value}")
                elif part != Constant(""):
                    parts.append(part)
        if not parts:
            return Constant("")
        is_text = len(parts) == 1 and parts[0].kind == "text"
        return parts[0] if is_text else cls(tuple(parts))

    @property
    def is_template(self) -> bool:
        """Return whether a `PathTemplate` can have the text, because it begins like a location."""
        first = self.parts[0]
        return isinstance(first, Constant) and str(first.value).startswith(("/", "https://", "http://"))

    @property
    def code(self) -> str:
        operands = [
            _operand(part) if part.kind == "text" else f"Cast({_operand(part)}, CharField())"
            for part in self.parts
        ]
        return (
            operands[0]
            if len(operands) == 1
            else f"Concat({', '.join(operands)}, output_field=CharField())"
        )

    @property
    def template(self) -> str:
        """The code of a `PathTemplate`."""
        names: dict[Column | Choice, str] = {}
        text = ""
        for part in self.parts:
            if isinstance(part, Constant):
                text += str(part.value).replace("{", "{{").replace("}", "}}")
                continue
            if part not in names:
                names[part] = _name(part, names)
            text += f"{{{names[part]}}}"
        arguments = [f"{name}={part.code}" for part, name in names.items()]
        return f"PathTemplate({', '.join([Constant(text).code, *arguments])})"


def _name(part: Column | Choice, names: Mapping[Any, str]) -> str:
    """Return a name for an argument that no other argument has."""
    if isinstance(part, Choice):
        name = path = "value"
    else:
        *relations, last = part.path.split("__")
        path = f"{part.path}_{part.part}".rstrip("_")
        name = relations[-1] if relations else f"{last}_{part.part}".rstrip("_")
    name = path if name in names.values() else name
    while name in names.values() or iskeyword(name):
        name += "_"
    return name


@dataclass(frozen=True)
class Reversed:
    """The URL that `reverse()` returns for arguments, which have names unless they are positional."""

    viewname: str
    args: tuple[Value, ...]
    names: tuple[str, ...]
    kind = "URL"
    is_nullable = False

    @property
    def code(self) -> str:
        codes = [argument.code for argument in self.args]
        for i, name in enumerate(self.names):
            is_name = name.isidentifier() and not iskeyword(name)
            codes[i] = f"{name}={codes[i]}" if is_name else f"**{{{Constant(name).code}: {codes[i]}}}"
        return f"Route({', '.join([Constant(self.viewname).code, *codes])})"


Value: TypeAlias = Constant | Column | Choice | Text | Reversed


def _operand(value: Value) -> str:
    # A query expression reads a string as the name of a field.
    return f"Value({value.code})" if isinstance(value, Constant) else value.code


def _names(code: str) -> set[str]:
    """Return the names that code calls."""
    nodes = [node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def import_lines(codes: Iterable[str]) -> list[str]:
    """Return the lines that import what code calls, those of Django first."""
    names = sorted(set().union(*map(_names, codes)))
    modules = sorted(
        {_MODULES[name] for name in names}, key=lambda module: (module[:7] != "django.", module)
    )
    return [
        f"from {module} import {', '.join(name for name in names if _MODULES[name] == module)}"
        for module in modules
    ]


def declaration(code: str) -> Any:
    """Return what code declares, so that what is compared is what is printed."""
    names = {name: getattr(import_module(_MODULES[name]), name) for name in _names(code)}
    return eval(code, {"__builtins__": {}, **names})  # noqa: S307 texts in our code are repr()
