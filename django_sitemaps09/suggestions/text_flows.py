"""Whether a function only passes on a string: into other strings, to `reverse()`, and to its result.

Python calls no code if a string is compared or matched, or if it is part of an f-string. So a string that
stands for a value cannot tell what happens to it, and the source of the function is read instead.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from inspect import getattr_static
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from django.db.models.query_utils import DeferredAttribute
from django.shortcuts import resolve_url
from django.urls import reverse, reverse_lazy

# Functions that can read all variables.
_READERS = ("locals", "vars", "eval", "exec")
_GETTERS = ("getattr", "methodcaller", "attrgetter", "partial")
_PERCENT = r"(?s:[^%]|%%|%s|%\([^()]*\)s)*"
# No specification or conversion.
_BRACES = r"(?s:[^{}]|{{|}}|{[^{}!:]*})*"
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def passes_on(frame: FrameType, line: int, callee: CodeType | None) -> bool | None:
    """Return whether the result of a call in a line of a frame is only passed on.

    `callee` is the code of the called function, or `None` if the line itself creates a string. Return
    `None` if there is no source.
    """
    functions = functions_of(frame)
    if not functions:
        return None
    names = ChainMap(frame.f_locals, frame.f_globals, vars(builtins))
    # Two lambdas in one line have the same name.
    return all(_Flow(function, names).passes_on(line, callee) for function in functions)


def is_url_function(value: object) -> bool:
    """Return whether a value is a function whose arguments are checked when it is called."""
    # Not `in`, which would compare a symbol.
    return any(value is function for function in (reverse, reverse_lazy, resolve_url))


def functions_of(frame: FrameType) -> Sequence[_Function]:
    """Return the function that a frame runs, or all lambdas of its line; nothing without source."""
    code = frame.f_code
    source = "".join(linecache.getlines(code.co_filename, frame.f_globals))
    return _functions_by_line(source).get((code.co_name, code.co_firstlineno), ())


@lru_cache(maxsize=32)
def _functions_by_line(source: str) -> Mapping[tuple[str, int], Sequence[_Function]]:
    functions: dict[tuple[str, int], list[_Function]] = {}
    try:
        nodes = ast.walk(ast.parse(source))
    except (SyntaxError, ValueError):
        return functions
    for node in nodes:
        if isinstance(node, ast.Lambda):
            functions.setdefault(("<lambda>", node.lineno), []).append(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            line = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            functions.setdefault((node.name, line), []).append(node)
    return functions


class _Flow:
    """The nodes of a function, each with its parent and with the field of the parent that contains it."""

    def __init__(self, function: _Function, names: Mapping[str, Any]) -> None:
        self.function = function
        self.names = names
        self.parents: dict[ast.AST, tuple[ast.AST, str]] = {
            child: (parent, field)
            for parent in ast.walk(function)
            for field, value in ast.iter_fields(parent)
            for child in (value if isinstance(value, list) else [value])
            if isinstance(child, (ast.expr, ast.stmt, ast.keyword))
        }
        self.variables: set[str] = set()

    def passes_on(self, line: int, callee: CodeType | None) -> bool:
        """Return whether all strings that can come from a call in a line are only passed on."""
        statements = [
            node
            for node in ast.walk(self.function)
            if (isinstance(node, ast.stmt) or node is self.function)
            and node.lineno <= line <= (node.end_lineno or 0)
        ]
        # The innermost statement begins last. Several can begin in the same line.
        start = max((node.lineno for node in statements), default=0)
        if any(isinstance(node, (ast.Global, ast.Nonlocal)) for node in ast.walk(self.function)):
            return False
        statements = [statement for statement in statements if statement.lineno == start]
        # Another name can be that of the called function.
        if callee and any(_is_indirect(node) for part in statements for node in ast.walk(part)):
            return False
        strings = [node for statement in statements for node in self._strings(statement, callee)]
        return bool(strings) and all(map(self._is_passed_on, strings))

    def _strings(self, statement: ast.AST, callee: CodeType | None) -> Iterator[ast.AST]:
        """Yield the nodes that can be a string: calls, properties, and what creates a string."""
        is_created = callee is None or callee.co_name in ("__str__", "__format__")
        callees = ("str", "format") if is_created or callee is None else (callee.co_name,)
        for node in ast.walk(statement):
            match node:
                case ast.Name(id=name) | ast.Attribute(attr=name) if name in callees:
                    parent, field = self.parents[node]
                    yield parent if field == "func" else node
                case ast.Call(func=ast.Name(id=name)) if _code(self.names.get(name)) is callee is not None:
                    yield node
                case ast.JoinedStr() | ast.BinOp(op=ast.Mod() | ast.Add()) if is_created:
                    # A format such as `02d` is passed to the value, which refuses it.
                    if self.parents.get(node, (None, ""))[1] != "format_spec":
                        yield node
                case ast.AugAssign(op=ast.Add(), value=value) if is_created:
                    yield value

    def _is_passed_on(self, node: ast.AST) -> bool:
        match node:
            case ast.BinOp(left=template, op=ast.Mod()) if not self._is_plain(template, _PERCENT):
                return False
            case ast.Call(func=ast.Attribute(value=template, attr="format")) if not self._is_plain(
                template, _BRACES
            ):
                return False
        parent, field = self.parents.get(node, (None, ""))
        match parent:
            case ast.Return():
                while parent is not None and not isinstance(parent, (ast.FunctionDef, ast.Lambda)):
                    parent, _ = self.parents.get(parent, (None, ""))
                # A function inside this one can be called from anywhere.
                return parent in (None, self.function)
            case ast.Lambda():
                return parent is self.function
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                return self._is_variable_passed_on(name)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=ast.Add()):
                return self._is_text(target) and self._is_variable_passed_on(name)
            case ast.FormattedValue(format_spec=None, conversion=-1 | 115):  # 115 is `!s`
                return self._is_passed_on(parent)
            case ast.Call(func=function) if field == "args" or isinstance(node, ast.keyword):
                if isinstance(function, ast.Name) and is_url_function(self.names.get(function.id)):
                    return True
                return self._is_string(function) and self._is_passed_on(parent)
            case ast.JoinedStr() | ast.Tuple() | ast.List() | ast.Starred() | ast.keyword():
                return self._is_passed_on(parent)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._is_text(left if node is right else right) and self._is_passed_on(parent)
            case ast.Dict() | ast.BinOp(op=ast.Mod()) | ast.IfExp():
                return field in ("values", "right", "body", "orelse") and self._is_passed_on(parent)
        return False

    def _is_variable_passed_on(self, name: str) -> bool:
        if name in self.variables:
            return True
        self.variables.add(name)
        loads = [
            node
            for node in ast.walk(self.function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        ]
        reads_all = any(node.id in _READERS for node in loads)
        return not reads_all and all(self._is_passed_on(node) for node in loads if node.id == name)

    def _is_plain(self, node: ast.expr, pattern: str) -> bool:
        """Return whether a format is known, and neither pads nor cuts."""
        text = node.value if isinstance(node, ast.Constant) else self._named_value(node)
        return type(text) is str and re.fullmatch(pattern, text) is not None

    def _named_value(self, node: ast.expr) -> Any:
        """Return the value of a variable, or the class attribute behind `variable.attribute`, or `None`."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                return getattr_static(self.names.get(name).__class__, attribute, None)
        return None

    def _is_text(self, node: ast.expr) -> bool:
        """Return whether an operand is a plain string, without an `__add__()` of its own."""
        match node:
            case ast.Constant() | ast.JoinedStr():
                return True
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._is_text(left) and self._is_text(right)
            case ast.BinOp(left=template, op=ast.Mod()):
                return self._is_plain(template, _PERCENT)
            case ast.Call(func=function):
                return self._is_string(function)
            case ast.Name(id=name):
                return type(self.names.get(name, "")) in (str, tuple, dict, list)
        return type(self._named_value(node)) in (str, DeferredAttribute)

    def _is_string(self, function: ast.expr) -> bool:
        """Return whether a call only creates a string from its arguments."""
        match function:
            case ast.Name(id=name):
                return self.names.get(name) is str
            case ast.Attribute(value=ast.Constant(value=str()), attr="format" | "join"):
                return True
            case ast.Attribute(value=ast.Name(id=name), attr="format"):
                return type(self.names.get(name)) is str
        return False


def _is_indirect(node: ast.AST) -> bool:
    """Return whether a call does not name its function."""
    match node:
        case ast.Call(func=function) if not isinstance(function, (ast.Name, ast.Attribute)):
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _GETTERS
    return False


def _code(value: object) -> CodeType | None:
    """Return the code of a function in a variable, such as the one that a decorator calls."""
    return value.__code__ if type(value) in (FunctionType, MethodType) else None  # type: ignore[attr-defined]
