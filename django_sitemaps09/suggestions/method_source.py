"""The source of a method as a syntax tree, which is known to be the code that runs."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

_Definition = (ast.FunctionDef, ast.AsyncFunctionDef)


class RefusedError(Exception):
    """Columns cannot express a method literally. The message says where and why."""


class Method(NamedTuple):
    """A function with its name, which includes that of its class, and with its definition in the source."""

    name: str
    function: FunctionType
    definition: ast.FunctionDef

    def refuse(self, node: Any, reason: str) -> RefusedError:
        """Return the error for a node of the definition."""
        return RefusedError(f"{self.name}, line {node.lineno}: {reason}")

    def global_value(self, name: str) -> Any:
        """Return what a global or built-in name stands for; `None` for a variable and an unknown name."""
        code, names = self.function.__code__, self.function.__globals__
        if name in {*code.co_varnames, *code.co_cellvars, *code.co_freevars}:
            return None
        return names.get(name, vars(sys.modules["builtins"]).get(name))


def read(function: Any, decorators: int = 0) -> Method:
    """Return a function with its definition. Raise `RefusedError` if its source cannot be read.

    The source is compiled, and compared with the code that runs. So an outdated file is refused, and so is
    code without a file. A property has a decorator whose effect is known.
    """
    name = getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2]
    if type(function) is not FunctionType:
        raise RefusedError(f"{name}: is not a plain function")
    code = function.__code__
    where = f"{name}, line {code.co_firstlineno}"
    if code.co_name == "<lambda>":
        raise RefusedError(f"{where}: is a lambda")
    tree, codes = _compiled(code.co_filename, _source(code.co_filename, function.__globals__))
    definitions = [
        node
        for node in ast.walk(tree)
        if isinstance(node, _Definition)
        and node.name == code.co_name
        and min(part.lineno for part in (node, *node.decorator_list)) == code.co_firstlineno
    ]
    if code not in codes or len(definitions) != 1:
        raise RefusedError(f"{where}: its source is not available, or is not the code that runs")
    [definition] = definitions
    if hasattr(function, "__wrapped__") or len(definition.decorator_list) > decorators:
        raise RefusedError(f"{where}: has a decorator")
    if not isinstance(definition, ast.FunctionDef):
        raise RefusedError(f"{where}: is asynchronous")
    return Method(name, function, definition)


def is_constant(owner: type | Mapping[str, Any], name: str) -> bool:
    """Return whether a global, or an attribute of a class, is text or an integer that is assigned once.

    `owner` is the class, or the globals. A name that anything else in the module assigns, deletes or
    imports, or has as a string, can get another value later.
    """
    is_class = isinstance(owner, type)
    module = vars(sys.modules.get(owner.__module__, sys)) if isinstance(owner, type) else owner
    tree, _ = _compiled(*_file(module))
    scopes: list[Any] = [tree]
    if isinstance(owner, type):
        scopes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == owner.__name__]
    value = (vars(owner) if isinstance(owner, type) else owner).get(name)
    if len(scopes) != 1 or type(value) not in (str, int) or not (is_class or name.isupper()):
        return False
    literals = [
        node.value.value
        for node in scopes[0].body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        and isinstance(node.value, ast.Constant)
        and [getattr(n, "id", None) for n in getattr(node, "targets", None) or [node.target]] == [name]  # type: ignore[union-attr]
    ]
    stored = [n.id for n in ast.walk(scopes[0]) if isinstance(n, ast.Name) and _is_stored(n)]
    is_known = [(type(literal), literal) for literal in literals] == [(type(value), value)]
    return is_known and stored.count(name) == 1 and not any(_mentions(n, name) for n in ast.walk(tree))


def _is_stored(node: ast.Name | ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _mentions(node: ast.AST, name: str) -> bool:
    """Return whether a node may give a name another value, other than by an assignment to the name."""
    match node:
        case ast.Attribute():
            return node.attr == name and _is_stored(node)
        case ast.Constant():
            return bool(node.value == name)
        case ast.Global():
            return name in node.names
        case _:
            return name in (getattr(node, "name", None), getattr(node, "asname", None))


def _file(module: Mapping[str, Any]) -> tuple[str, str]:
    filename = str(module.get("__file__"))
    return filename, _source(filename, module)


def _source(filename: str, module: Mapping[str, Any]) -> str:
    linecache.checkcache(filename)
    return "".join(linecache.getlines(filename, dict(module)))


@lru_cache(maxsize=20)
def _compiled(filename: str, source: str) -> tuple[ast.Module, frozenset[CodeType]]:
    """Return the syntax tree of a file, and the code of all its functions."""
    try:
        tree = ast.parse(source)
        # The future statements of this module must not change the code.
        module = compile(tree, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        tree = ast.Module([], [])
        module = compile(tree, filename, "exec", dont_inherit=True)
    codes: set[CodeType] = set()
    todo = [module]
    while todo:
        code = todo.pop()
        codes.add(code)
        todo += [part for part in code.co_consts if isinstance(part, CodeType)]
    return tree, frozenset(codes)
