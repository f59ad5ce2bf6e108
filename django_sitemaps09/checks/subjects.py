"""Inspect a class or an instance that declares a section, without calling the project's code.

Create messages about it, each with an id and a hint.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

from django.contrib import sitemaps as contrib
from django.core.checks import CheckMessage, Error, Warning
from django.db.models import F
from django.utils.functional import LazyObject, Promise

from django_sitemaps09.hooks.expressions import FIELDS, hook_expressions
from django_sitemaps09.routing.location_templates import LocationTemplate
from django_sitemaps09.sitemaps import Sitemap

#: Types that can be iterated without running a query.
COLLECTIONS = (list, tuple, set, frozenset)
_PLAIN = (str, bytes, int, float, bool, Decimal, date, datetime, type(None))


def is_declaration(section: object) -> bool:
    """Return whether a section is a sitemap class or an instance of a sitemap class, and not a factory."""
    return issubclass(class_of(section), contrib.Sitemap)


def is_ours(subject: object) -> bool:
    """Return whether the class of a declaration is our `Sitemap` or a subclass."""
    return issubclass(class_of(subject), Sitemap)


def class_of(subject: object) -> type:
    """Return the class of a declaration: the declaration itself, or the class of an instance."""
    # Not isinstance(), which would evaluate a lazy object.
    return cast("type", subject) if issubclass(type(subject), type) else type(subject)


def name_of(subject: object) -> str:
    """Return the dotted name of a declaration's class for messages."""
    cls = class_of(subject)
    return f"{cls.__module__}.{cls.__qualname__}"


def raw(subject: object, name: str) -> Any:
    """Return an attribute as declared, without calling a descriptor; `None` if it is missing."""
    return inspect.getattr_static(subject, name, None)


def is_code(value: object) -> bool:
    """Return whether using a raw attribute may run the project's code, as for a method or a property."""
    kind = type(value)
    return callable(value) or hasattr(kind, "__get__") or issubclass(kind, (LazyObject, Promise))


def data(subject: object, name: str) -> Any:
    """Return an attribute as declared; `None` if it is missing or runs the project's code."""
    value = raw(subject, name)
    return None if is_code(value) else value


def own_init(subject: object) -> bool:
    """Return whether a declaration has a method that could set any attribute.

    This is `for_host()`, or the `__init__()` of a class.
    """
    cls = class_of(subject)
    if raw(cls, "for_host") is not None:
        return True
    return cls is subject and cls.__init__ is not object.__init__  # type: ignore[misc]


def is_off(switch: object) -> bool:
    """Return whether a raw value switches a feature off.

    `bool()` is not called, because it may run a query.
    """
    return switch is None or switch is False


def is_strict(subject: object) -> bool:
    """Return whether a class declares an expression or a `Route`. Django's `Sitemap` supports neither."""
    hooks = {name: data(subject, name) for name in FIELDS}
    return any(
        isinstance(hook, LocationTemplate) or hook_expressions(name, hook) for name, hook in hooks.items()
    )


def safe_repr(value: object) -> str:
    """Return a value as a string for messages.

    `repr()` is called only for plain values. For example, the `repr()` of a queryset would run a query.
    """
    kind = type(value)
    if issubclass(kind, LocationTemplate):
        return cast("LocationTemplate", value).code(safe_repr)
    if kind in (list, tuple):
        inner = ", ".join(map(safe_repr, cast("Iterable[object]", value)))
        return f"[{inner}]" if kind is list else f"({inner})"
    if kind in (*_PLAIN, F):
        return repr(value)
    return f"{class_of(value).__name__}(...)"


def message(code: str, text: str, hint: str) -> CheckMessage:
    """Return an error for a code such as `E010`, or a warning for a code such as `W010`."""
    kind = Error if code.startswith("E") else Warning
    return kind(text, hint=hint, id=f"sitemaps09.{code}")


def graded(subject: object, error: str, warning: str, text: str, hint: str) -> CheckMessage:
    """Return a message with the code of an error if a class declares expressions, otherwise of a warning.

    Classes for `django.contrib.sitemaps` can use the same attribute for something else.
    """
    return message(error if is_strict(subject) else warning, f"{name_of(subject)}.{text}", hint)


def error_text(kind: type[Exception], function: Callable[..., Any], *arguments: object) -> str | None:
    """Call a function. Return the message if it raises an error of this type, otherwise `None`."""
    try:
        function(*arguments)
    except kind as error:
        return str(error)
    return None
