"""Inspect a class or an instance that declares a section, without calling the project's code."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

from django.contrib import sitemaps as contrib
from django.db.models import F
from django.utils.functional import LazyObject, Promise

from django_sitemaps09.hooks.expressions import FIELDS
from django_sitemaps09.routes import Route, is_expression
from django_sitemaps09.sitemaps import Sitemap

_PLAIN = (str, bytes, int, float, bool, Decimal, date, datetime, type(None))


def is_declaration(section: object) -> bool:
    """Return whether a section is a class or an instance, and not a factory."""
    return issubclass(class_of(section), contrib.Sitemap)


def is_ours(subject: object) -> bool:
    """Return whether a declaration uses our class; on others, what we added to contrib's means nothing."""
    return issubclass(class_of(subject), Sitemap)


def class_of(subject: object) -> type:
    """Return the class of a declaration, which is a class or an instance."""
    return cast("type", subject) if _is_class(subject) else type(subject)


def _is_class(subject: object) -> bool:
    # isinstance() would evaluate a lazy object.
    return issubclass(type(subject), type)


def name_of(subject: object) -> str:
    """Return the name of the class as messages show it."""
    cls = class_of(subject)
    return f"{cls.__module__}.{cls.__qualname__}"


def raw(subject: object, name: str) -> Any:
    """Return an attribute as declared, without calling a descriptor; `None` if there is none."""
    return inspect.getattr_static(subject, name, None)


def is_code(value: object) -> bool:
    """Return whether a raw attribute is the project's code: a method, a property, or a lazy object."""
    kind = type(value)
    return callable(value) or hasattr(kind, "__get__") or issubclass(kind, (LazyObject, Promise))


def data(subject: object, name: str) -> Any:
    """Return an attribute that is data; `None` if it is code."""
    value = raw(subject, name)
    return None if is_code(value) else value


def own_init(subject: object) -> bool:
    """Return whether a class has its own `__init__()`, so that only instances show what it has."""
    return _is_class(subject) and class_of(subject).__init__ is not object.__init__  # type: ignore[misc]


def is_off(switch: object) -> bool:
    """Return whether a raw switch is off, without testing its truth: that of a queryset is a query."""
    return switch is None or switch is False


def is_strict(subject: object) -> bool:
    """Return whether a class declares a `Route` or an expression, and so was not written for contrib."""
    hooks = [data(subject, name) for name in FIELDS]
    return any(isinstance(hook, Route) or is_expression(hook) for hook in hooks)


def safe_repr(value: object) -> str:
    """Return a value as messages show it.

    `repr()` is called only for plain values, since that of a queryset, for example, is a query.
    """
    kind = type(value)
    if kind is Route:
        value = cast("Route", value)
        parts = [repr(value.viewname), *map(safe_repr, value.args)]
        parts += [f"{name}={safe_repr(argument)}" for name, argument in value.kwargs.items()]
        return f"Route({', '.join(parts)})"
    if kind in (list, tuple):
        inner = ", ".join(map(safe_repr, cast("Iterable[object]", value)))
        return f"[{inner}]" if kind is list else f"({inner})"
    if kind in (*_PLAIN, F):
        return repr(value)
    return f"{class_of(value).__name__}(...)"
