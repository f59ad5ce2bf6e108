"""What is known of a class or an instance that declares a section, without a call of the user's."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

from django.contrib import sitemaps as contrib
from django.db.models import F
from django.utils.functional import LazyObject, Promise

from django_sitemaps09.routes import Route, is_expression
from django_sitemaps09.sitemaps import FIELDS, Sitemap

_PLAIN = (str, bytes, int, float, bool, Decimal, date, datetime, type(None))


def is_declaration(section: object) -> bool:
    """Whether a section is a class or an instance, and not a factory."""
    return issubclass(class_of(section), contrib.Sitemap)


def is_ours(subject: object) -> bool:
    """Whether a declaration is on our class: what we added to contrib's means nothing elsewhere."""
    return issubclass(class_of(subject), Sitemap)


def class_of(subject: object) -> type:
    """The class that is declared."""
    return cast("type", subject) if _is_class(subject) else type(subject)


def _is_class(subject: object) -> bool:
    # isinstance() would have a lazy object made.
    return issubclass(type(subject), type)


def name_of(subject: object) -> str:
    """The class as messages name it."""
    described = class_of(subject)
    return f"{described.__module__}.{described.__qualname__}"


def raw(subject: object, name: str) -> Any:
    """An attribute as it is declared, no descriptor asked; `None` where there is none."""
    return inspect.getattr_static(subject, name, None)


def is_code(value: object) -> bool:
    """Whether a raw attribute is a method, a property, a lazy object: the user's to run."""
    kind = type(value)
    return callable(value) or hasattr(kind, "__get__") or issubclass(kind, (LazyObject, Promise))


def data(subject: object, name: str) -> Any:
    """An attribute that is data; `None` where it is code."""
    value = raw(subject, name)
    return None if is_code(value) else value


def own_init(subject: object) -> bool:
    """Whether what a class has can only be known of its instances."""
    return _is_class(subject) and class_of(subject).__init__ is not object.__init__  # type: ignore[misc]


def is_off(switch: object) -> bool:
    """Whether a raw switch is off. Not its truth: that of a queryset is a query."""
    return switch is None or switch is False


def is_strict(subject: object) -> bool:
    """Whether a class declares a `Route` or an expression, and so was not written for contrib."""
    hooks = [data(subject, name) for name in FIELDS]
    return any(isinstance(hook, Route) or is_expression(hook) for hook in hooks)


def shown(value: object) -> str:
    """A value as messages show it. `repr()` of what is not plain could be a query, as a queryset's is."""
    kind = type(value)
    if kind is Route:
        value = cast("Route", value)
        parts = [repr(value.viewname), *map(shown, value.args)]
        parts += [f"{name}={shown(given)}" for name, given in value.kwargs.items()]
        return f"Route({', '.join(parts)})"
    if kind in (list, tuple):
        inner = ", ".join(map(shown, cast("Iterable[object]", value)))
        return f"[{inner}]" if kind is list else f"({inner})"
    if kind in (*_PLAIN, F):
        return repr(value)
    return f"{class_of(value).__name__}(...)"
