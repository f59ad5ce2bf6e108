"""The source of a method as a syntax tree, which is known to be the code that runs."""

from __future__ import annotations

import ast
import builtins
import linecache
from collections.abc import Mapping
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple


class RefusedError(Exception):
    """Columns cannot express a method literally. The message says where and why."""


class Method(NamedTuple):
    """A function with its name, which includes that of its class, and with its definition in the source."""

    name: str
    function: Any
    definition: ast.FunctionDef

    def refuse(self, node: Any, reason: str) -> RefusedError:
        """Return the error for a node of the definition."""
        return RefusedError(f"{self.name}, line {node.lineno}: {reason}")

    def global_value(self, name: str) -> Any:
        """Return what a global or built-in name stands for; `None` for a variable and an unknown name."""
        code: CodeType = self.function.__code__
        if name in {*code.co_varnames, *code.co_cellvars, *code.co_freevars}:
            return None
        return self.function.__globals__.get(name, getattr(builtins, name, None))


def read(function: Any, decorators: int = 0) -> Method:
    """Return a function with its definition. Raise `RefusedError` if its source cannot be read.

    The source is compiled, and compared with the code that runs. So an outdated file is refused, and so is
    code without a file. A property has a decorator whose effect is known.
    """
    if type(function) is not FunctionType:
        raise RefusedError("it is not a plain function of the class")
    code, name = function.__code__, function.__qualname__.rpartition("<locals>.")[2]
    where = f"{name}, line {code.co_firstlineno}"
    if code.co_name == "<lambda>":
        raise RefusedError(f"{where}: is a lambda")
    _, functions, codes = _compiled(code.co_filename, _source(code.co_filename, function.__globals__))
    definitions = [
        node
        for node in functions
        if node.name == code.co_name
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


def is_plain(value: Any) -> bool:
    """Return whether a value is text, or an integer that databases can store."""
    return type(value) is str or (type(value) is int and abs(value) < 1 << 63)


def is_constant(module: Mapping[str, Any], name: str) -> bool:
    """Return whether a global is a literal text or integer.

    Nothing else in the module may name it, other than to read it: an assignment, an import, or a string
    for `setattr()` can give it another value.
    """
    value, filename = module.get(name), str(module.get("__file__"))
    tree = _compiled(filename, _source(filename, module))[0]
    named = [node for node in ast.walk(tree) if _names(node, name)]
    match named, [node for node in tree.body if any(part in named for part in ast.walk(node))]:
        case [_], [ast.Assign(value=ast.Constant(literal)) | ast.AnnAssign(value=ast.Constant(literal))]:
            is_same = type(literal) is type(value) and literal == value
            return is_plain(value) and name.isupper() and is_same
    return False


def _names(node: Any, name: str) -> bool:
    """Return whether a node has a name, other than to read its value."""
    if isinstance(node, ast.Constant):
        return bool(node.value == name)
    names = [getattr(node, each, None) for each in ("id", "arg", "attr", "name", "asname")]
    return not isinstance(getattr(node, "ctx", None), ast.Load) and name in [
        *names,
        *getattr(node, "names", ()),
    ]


def _source(filename: str, module: Mapping[str, Any]) -> str:
    linecache.checkcache(filename)
    return "".join(linecache.getlines(filename, dict(module)))


@lru_cache(maxsize=20)
def _compiled(
    filename: str, source: str
) -> tuple[ast.Module, list[ast.FunctionDef | ast.AsyncFunctionDef], frozenset[CodeType]]:
    """Return the syntax tree of a file, the functions in it, and the code of all of them."""
    try:
        tree = ast.parse(source)
        # The future statements of this module must not change the code.
        todo = [compile(tree, filename, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return ast.Module([], []), [], frozenset()
    codes: set[CodeType] = set()
    while todo:
        code = todo.pop()
        codes.add(code)
        todo += [part for part in code.co_consts if isinstance(part, CodeType)]
    functions = [
        node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return tree, functions, frozenset(codes)
