"""A method as a syntax tree, known to be the code that runs, and the value that it returns, as code."""

from __future__ import annotations

import ast
import builtins
import linecache
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any, NamedTuple

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
# Expressions that return values of columns, or texts.
_STORED = (internals.Col, Coalesce, Lower, Upper)
_LITERALS = {str: "text", int: "integer", float: "float"}


class RefusedError(Exception):
    """Columns cannot express a method literally. The message says where and why."""


class Method(NamedTuple):
    """A function with its name, which includes that of its class, and with its definition in the source."""

    name: str
    function: Any
    definition: ast.FunctionDef

    def refuse(self, node: Any, reason: str) -> RefusedError:
        return RefusedError(f"{self.name}, line {node.lineno}: {reason}")

    def global_value(self, name: str) -> Any:
        """Return what a global or built-in name stands for; `None` for a variable and an unknown name."""
        code: CodeType = self.function.__code__
        if name in {*code.co_varnames, *code.co_cellvars, *code.co_freevars}:
            return None
        return self.function.__globals__.get(name, getattr(builtins, name, None))

    def global_constant(self, name: str) -> Any:
        """Return the text or integer that is literally assigned to a global; `None` if it can change.

        Nothing else in the module may name it, other than to read it: an assignment, an import, or a string
        for `setattr()` can give it another value.
        """
        value, module = self.global_value(name), self.function.__globals__
        if type(value) not in (str, int):
            return None
        tree, _ = _compiled(str(module.get("__file__")), module)
        named = [node for node in ast.walk(tree) if _names(node, name)]
        match named, [node for node in tree.body if any(part in named for part in ast.walk(node))]:
            case [_], [ast.Assign(value=ast.Constant(stored)) | ast.AnnAssign(value=ast.Constant(stored))]:
                is_same = type(stored) is type(value) and stored == value
                return value if is_plain(value) and name.isupper() and is_same else None
        return None


def read(function: Any, decorators: int = 0) -> Method:
    """Return a function with its definition. Raise `RefusedError` if its source is not the code that runs.

    A property has a decorator whose effect is known.
    """
    if type(function) is not FunctionType:
        raise RefusedError("it is not a plain function of the class")
    code, name = function.__code__, function.__qualname__.rpartition("<locals>.")[2]
    where = f"{name}, line {code.co_firstlineno}"
    if code.co_name == "<lambda>":
        raise RefusedError(f"{where}: is a lambda")
    tree, codes = _compiled(code.co_filename, function.__globals__)
    definitions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name
        if min(part.lineno for part in (node, *node.decorator_list)) == code.co_firstlineno
    ]
    if code not in codes or len(definitions) != 1:
        raise RefusedError(f"{where}: its source is not available, or is not the code that runs")
    [definition] = definitions
    if hasattr(function, "__wrapped__") or len(definition.decorator_list) > decorators:
        raise RefusedError(f"{where}: has a decorator")
    if not isinstance(definition, ast.FunctionDef):
        raise RefusedError(f"{where}: is asynchronous")
    return Method(name, function, definition)


def is_plain(value: Any) -> bool:
    """Return whether a value is `None`, text, or a number that databases can store."""
    if type(value) is int:
        return abs(value) < 1 << 63
    return value is None or type(value) is str or (type(value) is float and math.isfinite(value))


def _names(node: Any, name: str) -> bool:
    """Return whether a node has a name, other than to read its value."""
    if isinstance(node, ast.Constant):
        return bool(node.value == name)
    names = [getattr(node, each, None) for each in ("id", "arg", "attr", "name", "asname")]
    is_read = isinstance(getattr(node, "ctx", None), ast.Load)
    return not is_read and name in [*names, *getattr(node, "names", ())]


def _compiled(filename: str, module: Mapping[str, Any]) -> tuple[ast.Module, frozenset[CodeType]]:
    linecache.checkcache(filename)
    return _compiled_source(filename, "".join(linecache.getlines(filename, dict(module))))


@lru_cache(maxsize=20)
def _compiled_source(filename: str, source: str) -> tuple[ast.Module, frozenset[CodeType]]:
    """Return the syntax tree of a file, and the code of all functions in it."""
    try:
        tree = ast.parse(source)
        # The future statements of this module must not change the code.
        todo = [compile(tree, filename, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return ast.Module([], []), frozenset()
    codes: set[CodeType] = set()
    while todo:
        code = todo.pop()
        codes.add(code)
        todo += [part for part in code.co_consts if isinstance(part, CodeType)]
    return tree, frozenset(codes)


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
    parts: tuple[Declared, ...] = ()
    is_constant: bool = False
    constant: Any = None

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
        names: dict[str, str] = {}
        for part in self.parts:
            if part.is_constant:
                template += str(part.constant).replace("{", "{{").replace("}", "}}")
            else:
                name = names.setdefault(part.code, part.path or f"value_{len(names)}")
                template += f"{{{name}}}"
        arguments = [quoted(template), *(f"{name}={code}" for code, name in names.items())]
        return f"PathTemplate({', '.join(arguments)})"


def quoted(value: object) -> str:
    """Return the code of a constant, with double quotes if possible."""
    text = repr(value)
    return f'"{value}"' if text == f"'{value}'" and '"' not in text else text


def constant(value: Any) -> Declared:
    kind = _LITERALS.get(type(value), "none")
    nulls = frozenset({"None"} if value is None else ())
    return Declared(kind, quoted(value), nulls, is_constant=True, constant=value)


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


def _called_names(code: str) -> set[str]:
    nodes = [node.func for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def import_lines(codes: Iterable[str]) -> list[str]:
    names = sorted(set().union(*map(_called_names, codes)))
    by_module = {each: [name for name in names if _MODULES[name] == each] for each in _MODULES.values()}
    return [f"from {module} import {', '.join(called)}" for module, called in by_module.items() if called]


def declaration(code: str) -> Any:
    """Return what code declares, so that what is compared is what is printed."""
    names = {name: getattr(import_module(_MODULES[name]), name) for name in _called_names(code)}
    return eval(code, {"__builtins__": {}, **names})  # noqa: S307 texts in our code are repr()
