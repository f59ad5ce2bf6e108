"""What the source of a function does that no object can see, such as `is`, or catching errors."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from types import FrameType

from django_sitemaps09.suggestions.places import UntraceableError, describe, is_foreign, is_ours
from django_sitemaps09.suggestions.text_flows import functions_of

# A value that is unknown raises none of these. A missing value does.
_HARMLESS = ("AttributeError", "ObjectDoesNotExist", "DoesNotExist", "NoReverseMatch")
_IDENTITIES = ("is_", "is_not", *(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")))
_COMPREHENSIONS = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")
# The modules of generated functions of our dataclasses and of named tuples, and what `reverse()` calls.
_KNOWN = ("django_sitemaps09.", "namedtuple_", "asgiref.")
_Try = (ast.Try, getattr(ast, "TryStar", ast.Try))


def check(frame: FrameType) -> None:
    """Raise `UntraceableError` if a function that ran can depend on a value unseen."""
    code = frame.f_code
    # Comprehensions and the bodies of classes are part of the function around them.
    if code.co_name in _COMPREHENSIONS or not code.co_flags & inspect.CO_OPTIMIZED:
        return
    is_known = str(frame.f_globals.get("__name__")).startswith(_KNOWN)
    if is_ours(frame) or is_foreign(code) or is_known:
        return
    functions = functions_of("".join(linecache.getlines(code.co_filename, frame.f_globals)))
    found = functions.get((code.co_name, code.co_firstlineno))
    if not found:
        raise UntraceableError(f"{describe(code, code.co_firstlineno)}: has no source code")
    for function in found:
        for node in ast.walk(function):
            for problem in _problems(node, code.co_varnames):
                raise UntraceableError(f"{describe(code, getattr(node, 'lineno', 0))}: {problem}")


def _problems(node: ast.AST, variables: tuple[str, ...]) -> Iterator[str]:
    match node:
        case ast.Compare(left=left, ops=operations, comparators=others):
            for operation, *operands in zip(operations, [left, *others], others, strict=False):
                if isinstance(operation, (ast.Is, ast.IsNot)) and not any(map(_is_seen, operands)):
                    yield "compares with `is`"
        case ast.Match():
            yield "uses `match`"
        case ast.Name(id="type" | "id" | "callable" | "eval" | "exec" as name) if name not in variables:
            yield f"uses `{name}()`"
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _IDENTITIES:
            yield f"uses `{name}()`"
        case ast.ExceptHandler(type=kind) if not _is_harmless(kind):
            yield f"catches errors of type {ast.unparse(kind) if kind else 'BaseException'}"
        case ast.With(items=items) if not all(map(_is_override, items)):
            yield "can catch errors in a `with` statement"
    if isinstance(node, _Try) and any(
        isinstance(inner, (ast.Return, ast.Break, ast.Continue))
        for statement in node.finalbody
        for inner in ast.walk(statement)
    ):
        yield "catches all errors"


def _is_seen(node: ast.expr) -> bool:
    """Return whether tracing detects a comparison with this value: `None`, or a `__class__`."""
    match node:
        case ast.Constant(value=None) | ast.Attribute(attr="__class__"):
            return True
    return False


def _is_override(item: ast.withitem) -> bool:
    """Return whether a context manager is `translation.override()`, which catches no errors."""
    match item.context_expr:
        case ast.Call(func=ast.Name(id="override") | ast.Attribute(attr="override")):
            return True
    return False


def _is_harmless(kind: ast.expr | None) -> bool:
    match kind:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _HARMLESS
        case ast.Tuple(elts=kinds):
            return all(map(_is_harmless, kinds))
    return False
