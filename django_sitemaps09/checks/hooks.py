"""Check that hooks are methods that can be called with the item."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps09.checks.subjects import (
    class_of,
    data,
    error_text,
    is_strict,
    message,
    name_of,
    raw,
    safe_repr,
)
from django_sitemaps09.hooks.expressions import FIELDS
from django_sitemaps09.hooks.extensions import EXTENDING
from django_sitemaps09.sitemaps import CONTRIB_INTERNALS, NewsSitemap, Sitemap

#: Check codes of attributes that are booleans in `django.contrib.sitemaps`, but can be methods here.
_SWITCHES = {"alternates": "W047", "x_default": "W048"}
_TAKING_THE_ITEM = (*FIELDS, *EXTENDING, *_SWITCHES, "get_languages_for_item")


def check_hooks(subject: Any) -> Iterator[CheckMessage]:
    """Check hooks that must or may be methods, including those that Django's `Sitemap` lacks."""
    for name in EXTENDING:
        value = data(subject, name)
        if value is not None:
            text = f"{name_of(subject)}.{name} must be a method, not {safe_repr(value)}; it is ignored."
            hint = f"To add {name}, define `def {name}(self, item)`. Otherwise rename the attribute."
            yield message("W053", text, hint)
    for switch, code in _SWITCHES.items():
        value = data(subject, switch)
        if value is not None and not isinstance(value, bool):
            text = f"{name_of(subject)}.{switch} must be True, False or a method, not {safe_repr(value)}."
            yield message(code, text, f"Set {switch} = True, or define `def {switch}(self, item)`.")
    if not _takes_item(_bind_hook(subject, "for_host")):
        text = (
            f"{name_of(subject)}.for_host cannot be called with a host as its only argument; it is ignored."
        )
        yield message("W049", text, "Define it as `def for_host(self, domain)`. Otherwise rename it.")
    if any(raw(subject, name) is not raw(Sitemap, name) for name in CONTRIB_INTERNALS):
        # An opaque sitemap may call its hooks with other arguments.
        return
    news_hooks = ("title",) if issubclass(class_of(subject), NewsSitemap) else ()
    for hook in (*_TAKING_THE_ITEM, *news_hooks):
        if not _takes_item(_bind_hook(subject, hook)):
            is_extension = hook in (*EXTENDING, *_SWITCHES)
            code = "W056" if is_extension and not is_strict(subject) else "E056"
            text = f"{name_of(subject)}.{hook} cannot be called with the item as its only argument."
            yield message(code, text, f"Define it as `def {hook}(self, item)`.")


def _bind_hook(subject: Any, name: str) -> Any:
    """Return a hook bound to its class; `None` if it is missing or binding would run the project's code."""
    value = raw(subject, name)
    kind = type(value)
    if kind is staticmethod:
        return value.__func__
    if kind is classmethod:
        return MethodType(value.__func__, class_of(subject))
    if kind is FunctionType:
        # Functions that are attributes of an instance are not bound.
        is_unbound = class_of(subject) is not subject and name in getattr(subject, "__dict__", {})
        return value if is_unbound else MethodType(value, class_of(subject))
    if kind is partial or hasattr(kind, "__get__"):
        # Python 3.14 binds a partial. Earlier versions do not.
        return None
    return value if callable(value) else None


def _takes_item(hook: Any) -> bool:
    if hook is None:
        return True
    try:
        # Do not follow wrapped functions: a decorator may pass other arguments to the function.
        signature = inspect.signature(hook, follow_wrapped=False)
    except (ValueError, TypeError):
        # Some builtins have no signature.
        return True
    return error_text(TypeError, signature.bind, object()) is None
