"""The code of the project that a hook runs: where it is, and what in it prevents a declaration.

Some of what a function does, no object can see, such as `is`, or catching errors. Other code reads what can
change besides the item, such as the clock, a setting or a cache.
"""

from __future__ import annotations

import ast
import dis
import inspect
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from itertools import chain, takewhile
from pathlib import Path
from traceback import walk_stack
from types import CodeType, FrameType
from typing import Any, Literal

import django
from django.contrib.sitemaps import Sitemap
from django.db.models import Model

import django_sitemaps09
from django_sitemaps09.suggestions.text_flows import functions_of, is_url_function

_OURS, _DJANGO = (f"{Path(str(package.__file__)).parent}/" for package in (django_sitemaps09, django))
_STANDARD_LIBRARY = f"{sysconfig.get_path('stdlib')}/"
_PACKAGES = tuple(f"{_STANDARD_LIBRARY}{name}/" for name in ("site-packages", "dist-packages"))
# A value that is unknown raises none of these. A missing value does.
_HARMLESS = ("AttributeError", "ObjectDoesNotExist", "DoesNotExist", "NoReverseMatch")
_IDENTITIES = ("is_", "is_not", *(f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge")))
_COMPREHENSIONS = ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")
# The modules of generated functions of our dataclasses and of named tuples, and what `reverse()` calls.
_KNOWN = ("django_sitemaps09.", "namedtuple_", "asgiref.")
_LIBRARIES = ("django", "standard library")
_Try = (ast.Try, getattr(ast, "TryStar", ast.Try))
_FIXED = (str, bytes, int, float, bool, tuple, frozenset, type(None))
_FIXED_CLASSES = (Model, Sitemap, Enum, BaseException)
_FIXED_MODULES = ("django.urls", "django.shortcuts", "django.db.models")


class UntraceableError(BaseException):
    """The result of a hook cannot be declared. The message says where and why.

    This is not an `Exception`, so that the project's code does not handle it.
    """


def describe(code: CodeType, line: int) -> str:
    """Return the name of a function and a line, such as `Article.get_absolute_url, line 31`."""
    # Python 3.10 only has the last part of the name.
    name: str = getattr(code, "co_qualname", code.co_name)
    return f"{name.rpartition('<locals>.')[2]}, line {line}"


def callers(frame: FrameType, entry: FrameType) -> Iterator[tuple[FrameType, int]]:
    """Yield a frame and its callers with their lines, up to `entry`."""
    return takewhile(lambda caller: caller[0] is not entry, walk_stack(frame))


def code_origin(code: CodeType) -> Literal["this package", "django", "standard library", "project"]:
    """Return where code is from. Packages count as code of the project."""
    file = code.co_filename
    if file.startswith(_OURS):
        return "this package"
    if file.startswith(_DJANGO):
        return "django"
    is_standard = file.startswith((_STANDARD_LIBRARY, "<frozen")) and not file.startswith(_PACKAGES)
    return "standard library" if is_standard else "project"


def project_frame(frames: Iterable[tuple[FrameType, int]]) -> tuple[FrameType, int] | None:
    """Return the first frame that runs code of the project, or else of Django, which has models, too."""
    django_frame = None
    for frame, line in frames:
        match code_origin(frame.f_code):
            case "project":
                return frame, line
            case "django":
                django_frame = django_frame or (frame, line)
    return django_frame


def check_hidden(frame: FrameType) -> None:
    """Raise `UntraceableError` if a function that ran can depend on a value unseen."""
    code = frame.f_code
    # Comprehensions and the bodies of classes are part of the function around them.
    if code.co_name in _COMPREHENSIONS or not code.co_flags & inspect.CO_OPTIMIZED:
        return
    is_known = str(frame.f_globals.get("__name__")).startswith(_KNOWN)
    if code_origin(code) != "project" or is_known:
        return
    functions = functions_of(frame)
    if not functions:
        raise UntraceableError(f"{describe(code, code.co_firstlineno)}: has no source code")
    for node in chain.from_iterable(map(ast.walk, functions)):
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
    if isinstance(node, ast.Constant):
        return node.value is None
    return isinstance(node, ast.Attribute) and node.attr == "__class__"


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


def other_inputs(hook: Any, classes: Collection[type]) -> Iterator[str]:
    """Yield each use of a global name whose value can change, with its function and line.

    `classes` are the classes of the objects whose methods the hook can call.
    """
    functions = [inspect.unwrap(getattr(hook, "__func__", hook))]
    found: set[Any] = set()
    while functions:
        function = functions.pop()
        if not inspect.isfunction(function) or function in found:
            continue
        if code_origin(function.__code__) in _LIBRARIES:
            continue
        found.add(function)
        code, variables = function.__code__, inspect.getclosurevars(function)
        place = describe(code, code.co_firstlineno)
        for name, value in {**variables.globals, **variables.nonlocals}.items():
            if inspect.isfunction(value) and code_origin(value.__code__) not in _LIBRARIES:
                functions.append(value)
            elif not _is_fixed(value):
                yield f"{place}, uses `{name}`"
        for instruction in dis.get_instructions(code):
            if instruction.opname == "IMPORT_NAME" and instruction.argval not in _FIXED_MODULES:
                yield f"{place}, uses `{instruction.argval}`"
        for name in variables.unbound:
            for owner in classes:
                attribute = inspect.getattr_static(owner, name, None)
                for key in ("fget", "func", "__func__"):
                    attribute = getattr(attribute, key, attribute)
                functions.append(attribute)


def _is_fixed(value: object) -> bool:
    if isinstance(value, type):
        return issubclass(value, _FIXED_CLASSES)
    if inspect.ismodule(value):
        return value.__name__ in _FIXED_MODULES
    return type(value) in _FIXED or is_url_function(value)
