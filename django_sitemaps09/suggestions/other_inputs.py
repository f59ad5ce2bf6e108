"""What the code of a hook reads besides the item, such as the clock, a setting or a cache."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Collection, Iterator
from enum import Enum
from types import CodeType
from typing import Any

from django.contrib.sitemaps import Sitemap
from django.db.models import Model
from django.shortcuts import resolve_url
from django.urls import reverse, reverse_lazy

from django_sitemaps09.suggestions.places import describe, is_foreign

_FIXED = (str, bytes, int, float, bool, tuple, frozenset, type(None))
_FIXED_CLASSES = (Model, Sitemap, Enum, BaseException)
_FIXED_FUNCTIONS = (reverse, reverse_lazy, resolve_url)
_FIXED_MODULES = ("django.urls", "django.shortcuts", "django.db.models")


def other_inputs(hook: Any, classes: Collection[type]) -> Iterator[str]:
    """Yield each use of a global name whose value can change, with its function and line.

    `classes` are the classes of the objects whose methods the hook can call.
    """
    functions = [inspect.unwrap(getattr(hook, "__func__", hook))]
    found: set[Any] = set()
    while functions:
        function = functions.pop()
        if not inspect.isfunction(function) or function in found or is_foreign(function.__code__):
            continue
        found.add(function)
        variables = inspect.getclosurevars(function)
        for name, value in {**variables.globals, **variables.nonlocals}.items():
            if inspect.isfunction(value) and not is_foreign(value.__code__):
                functions.append(value)
            elif not _is_fixed(value):
                yield _use(function.__code__, name)
        for name in _imports(function.__code__):
            yield _use(function.__code__, name)
        for name in variables.unbound:
            for owner in classes:
                attribute = inspect.getattr_static(owner, name, None)
                for key in ("fget", "func", "__func__"):
                    attribute = getattr(attribute, key, attribute)
                functions.append(attribute)


def _use(code: CodeType, name: str) -> str:
    return f"{describe(code, code.co_firstlineno)}, uses `{name}`"


def _is_fixed(value: object) -> bool:
    if isinstance(value, type):
        return issubclass(value, _FIXED_CLASSES)
    if inspect.ismodule(value):
        return value.__name__ in _FIXED_MODULES
    return type(value) in _FIXED or any(value is function for function in _FIXED_FUNCTIONS)


def _imports(code: CodeType) -> Iterator[str]:
    """Yield the modules that a function imports when it is called."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME" and instruction.argval not in _FIXED_MODULES:
            yield instruction.argval
