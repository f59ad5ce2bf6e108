"""The value that a method has for each row, with the code that declares it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.db.models import Count, Value
from django.db.models.functions import Coalesce, Lower, Upper

from django_sitemaps09.orm import internals

#: The output fields of `Case()`. Values of other kinds could be converted in another way than a column is.
OUTPUTS = {
    "text": "CharField", "integer": "IntegerField", "float": "FloatField",
    "date": "DateField", "datetime": "DateTimeField",
}  # fmt: skip
_FUNCTIONS = ("Cast", "Concat", "ExtractDay", "ExtractMonth", "ExtractYear", "Length")
# The modules of all names that the code of a value calls, in the order of their imports.
_MODULES = {
    **dict.fromkeys(("Case", "F", "Q", "Value", "When", *OUTPUTS.values()), "django.db.models"),
    **dict.fromkeys(_FUNCTIONS, "django.db.models.functions"),
    "Exact": "django.db.models.lookups",
    **dict.fromkeys(("PathTemplate", "Route"), "django_sitemaps09"),
    "ZoneInfo": "zoneinfo",
}
_NOT_CONSTANT = object()
# Expressions that return values of columns, or texts.
_STORED = (internals.Col, Coalesce, Lower, Upper)
_LITERALS = {str: "text", int: "integer", float: "float"}


@dataclass(frozen=True)
class Declared:
    """A value, and the code of its query expression. `kind` is such as `text`, or `URL` for a `Route`.

    `nulls` has what can be NULL: relations and columns. A column has a `path` and, unless it is an
    annotation, a `field`. Text can have several `parts`, one after the other.
    """

    kind: str
    code: str
    nulls: frozenset[str] = frozenset()
    path: str = ""
    field: Any = None
    constant: Any = _NOT_CONSTANT
    parts: tuple[Declared, ...] = ()

    @property
    def is_constant(self) -> bool:
        return self.constant is not _NOT_CONSTANT

    @property
    def operand(self) -> str:
        """The code as a part of an expression, which reads a string as the name of a field."""
        return f"Value({self.code})" if self.is_constant else self.code

    @property
    def location(self) -> str:
        """The code as a location: a `PathTemplate` for text that begins with a slash or a host."""
        if not self.parts or not str(self.parts[0].constant).startswith(("/", "https://", "http://")):
            return self.code
        template = ""
        arguments: dict[str, str] = {}
        for part in self.parts:
            if part.is_constant:
                template += str(part.constant).replace("{", "{{").replace("}", "}}")
            else:
                names = {code: name for name, code in arguments.items()}
                name = names.get(part.code) or part.path or f"value_{len(names)}"
                arguments[name] = part.code
                template += f"{{{name}}}"
        codes = [f"{name}={code}" for name, code in arguments.items()]
        return f"PathTemplate({', '.join([quoted(template), *codes])})"


def quoted(value: object) -> str:
    """Return the code of a constant, with double quotes if possible."""
    text = repr(value)
    return f'"{value}"' if text == f"'{value}'" and '"' not in text else text


def constant(value: Any) -> Declared:
    """Return text, a number or `None` as a value."""
    kind = _LITERALS.get(type(value), "none")
    return Declared(kind, quoted(value), frozenset({"None"} if value is None else ()), constant=value)


def joined(values: Iterable[Declared]) -> Declared:
    """Return the values as one text. None of them can be NULL."""
    parts: list[Declared] = []
    for value in values:
        for part in value.parts or [value]:
            if part.is_constant and parts and parts[-1].is_constant:
                parts[-1] = constant(f"{parts[-1].constant}{part.constant}")
            elif part.constant != "":
                parts.append(constant(str(part.constant)) if part.is_constant else part)
    if not parts:
        return constant("")
    if len(parts) == 1 and parts[0].kind == "text":
        return parts[0]
    texts = [
        part.operand if part.kind == "text" else f"Cast({part.operand}, CharField())" for part in parts
    ]
    code = texts[0] if len(texts) == 1 else f"Concat({', '.join(texts)}, output_field=CharField())"
    return Declared("text", code, parts=tuple(parts))


def is_stored(annotation: Any) -> bool:
    """Return whether an annotation has the same values in Python as in other expressions.

    Python converts those of others, such as `TruncDay()`, or a product whose output field is an integer.
    """
    if type(annotation) is Count:
        return True
    kind = internals.value_kind(annotation.output_field)
    return kind is not None and all(
        _LITERALS.get(type(part.value)) == kind
        if type(part) is Value
        else type(part) in _STORED and internals.value_kind(part.output_field) == kind
        for part in annotation.flatten()
    )


def _names(code: str) -> set[str]:
    """Return the names that code calls."""
    nodes = [node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def import_lines(codes: Iterable[str]) -> list[str]:
    """Return the lines that import what code calls."""
    names = sorted(set().union(*map(_names, codes)))
    by_module = {each: [name for name in names if _MODULES[name] == each] for each in _MODULES.values()}
    return [f"from {module} import {', '.join(called)}" for module, called in by_module.items() if called]


def declaration(code: str) -> Any:
    """Return what code declares, so that what is compared is what is printed."""
    names = {name: getattr(import_module(_MODULES[name]), name) for name in _names(code)}
    return eval(code, {"__builtins__": {}, **names})  # noqa: S307 texts in our code are repr()
