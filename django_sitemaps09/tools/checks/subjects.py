"""`Subject`: the declaration of a section, inspected without calling the project's code. Messages."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from types import ModuleType
from typing import Any, cast

from django.core.checks import CheckMessage, Error, Warning
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F
from django.utils.functional import LazyObject, Promise

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.expressions import FIELDS, LocationTemplate, hook_expressions
from django_sitemaps09.protocol.fields import typed_repr

#: Types that can be iterated without running a query.
COLLECTIONS = (list, tuple, set, frozenset)
_PLAIN = (str, bytes, int, float, bool, Decimal, date, datetime, type(None))


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A section: a sitemap class, or an instance of one. Its string is the dotted name of the class."""

    declaration: object

    def __str__(self) -> str:
        return f"{self.cls.__module__}.{self.cls.__qualname__}"

    @property
    def cls(self) -> type:
        return _class_of(self.declaration)

    @property
    def is_class(self) -> bool:
        return self.cls is self.declaration

    @property
    def is_strict(self) -> bool:
        """Whether the class declares an expression or a `Route`. Django's `Sitemap` supports neither."""
        hooks = {name: self.data(name) for name in FIELDS}
        has_template = any(isinstance(hook, LocationTemplate) for hook in hooks.values())
        return has_template or any(hook_expressions(name, hook) for name, hook in hooks.items())

    @property
    def has_own_init(self) -> bool:
        """Whether a method could set any attribute: `for_host()`, or the `__init__()` of a class."""
        if inspect.getattr_static(self.cls, "for_host", None) is not None:
            return True
        return self.is_class and self.cls.__init__ is not object.__init__  # type: ignore[misc]

    def raw(self, name: str) -> Any:
        """Return an attribute as declared, without calling a descriptor; `None` if it is missing."""
        return inspect.getattr_static(self.declaration, name, None)

    def data(self, name: str) -> Any:
        """Return an attribute as declared; `None` if it is missing or runs the project's code."""
        value = self.raw(name)
        return None if is_code(value) else value

    def inherits(self, cls: type, *names: str) -> bool:
        """Return whether the attributes are those of a base class."""
        return all(self.raw(name) is inspect.getattr_static(cls, name, None) for name in names)

    def graded(self, error: str, warning: str, text: str, hint: str) -> CheckMessage:
        """Return an error if the class is strict, else a warning: it may use the attribute otherwise."""
        return message(error if self.is_strict else warning, text, hint)


def _class_of(value: object) -> type:
    # Not isinstance(), which would evaluate a lazy object.
    return cast("type", value) if issubclass(type(value), type) else type(value)


def is_code(value: object) -> bool:
    """Return whether using a raw attribute may run the project's code, as for a method or a property."""
    kind = type(value)
    return callable(value) or hasattr(kind, "__get__") or issubclass(kind, (LazyObject, Promise))


def is_off(switch: object) -> bool:
    """Return whether a raw value switches a feature off, without `bool()`, which may run a query."""
    return switch is None or switch is False


def is_repeated(name: str, module: ModuleType | None) -> bool:
    """Return whether the source of a module has a name more than once, or cannot be read."""
    try:
        source = inspect.getsource(module)  # type: ignore[arg-type]
    except (OSError, TypeError):
        return True
    return len(re.findall(rf"\b{re.escape(name)}\b", source)) > 1


def safe_repr(value: object) -> str:
    """Return a value for a message. `repr()` is called only for plain values: it may run a query."""
    kind = type(value)
    if issubclass(kind, LocationTemplate):
        return cast("LocationTemplate", value).code(safe_repr)
    if kind in (list, tuple):
        inner = ", ".join(map(safe_repr, cast("Iterable[object]", value)))
        return f"[{inner}]" if kind is list else f"({inner})"
    if kind in (*_PLAIN, F):
        return repr(value)
    return f"{_class_of(value).__name__}(...)"


def typed(value: object, expected: type | None = None) -> str:
    """Return the `typed_repr()` of a value for a message, with its `safe_repr()`."""
    return typed_repr(value, safe_repr, expected=expected)


def message(code: str, text: str, hint: str) -> CheckMessage:
    """Return an error for a code such as `E010`, or a warning for a code such as `W010`."""
    kind = Error if code.startswith("E") else Warning
    return kind(text, hint=hint, id=f"sitemaps09.{code}")


def valid_setting(name: str) -> Any:
    """Return a setting; `None` if it is invalid, which `check_settings()` reports."""
    with suppress(ImproperlyConfigured):
        return getattr(conf, name)


def error_text(kind: type[Exception], function: Callable[..., Any], *arguments: object) -> str | None:
    """Call a function. Return the message if it raises an error of this type, otherwise `None`."""
    try:
        function(*arguments)
    except kind as error:
        return str(error)
    return None
