"""Check that hooks which take the item are methods, and can be called with one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps09.checks.messages import message
from django_sitemaps09.checks.subjects import class_of, data, is_strict, name_of, raw, safe_repr
from django_sitemaps09.hooks.expressions import FIELDS
from django_sitemaps09.hooks.extensions import EXTENDING
from django_sitemaps09.sitemaps import CONTRIB_INTERNALS, NewsSitemap, Sitemap

#: contrib's switches, which can be methods here.
_SWITCHES = {"alternates": "W047", "x_default": "W048"}
_TAKING_THE_ITEM = (*FIELDS, *EXTENDING, *_SWITCHES, "get_languages_for_item")
_OF_NEWS = ("title",)


def check_hooks(subject: Any) -> Iterator[CheckMessage]:
    """Check the hooks of our class that can be methods."""
    for name in EXTENDING:
        value = data(subject, name)
        if value is not None:
            yield message(
                "W053",
                f"{name_of(subject)}.{name} must be a method, not {safe_repr(value)}; it is ignored.",
                f"To add {name}, define `def {name}(self, item)`. Otherwise rename the attribute.",
            )
    for switch, code in _SWITCHES.items():
        value = data(subject, switch)
        if value is not None and not isinstance(value, bool):
            yield message(
                code,
                f"{name_of(subject)}.{switch} must be True, False or a method, not {safe_repr(value)}.",
                f"Set {switch} = True, or define `def {switch}(self, item)`.",
            )
    if any(raw(subject, name) is not raw(Sitemap, name) for name in CONTRIB_INTERNALS):
        # An opaque sitemap may call its hooks as it likes.
        return
    is_news = issubclass(class_of(subject), NewsSitemap)
    for hook in (*_TAKING_THE_ITEM, *_OF_NEWS) if is_news else _TAKING_THE_ITEM:
        if not _takes_item(_bind_hook(subject, hook)):
            is_extension = hook in (*EXTENDING, *_SWITCHES)
            yield message(
                "W056" if is_extension and not is_strict(subject) else "E056",
                f"{name_of(subject)}.{hook} cannot be called with the item as its only argument.",
                f"Define it as `def {hook}(self, item)`.",
            )


def _bind_hook(subject: Any, name: str) -> Any:
    """Return a hook without its `self`; `None` if there is none, or if only its own code could say."""
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
        # Python 3.14 binds a partial; earlier versions do not.
        return None
    return value if callable(value) else None


def _takes_item(hook: Any) -> bool:
    if hook is None:
        return True
    try:
        # The outermost signature counts: a decorator may pass other arguments to the function inside.
        signature = inspect.signature(hook, follow_wrapped=False)
    except (ValueError, TypeError):
        # The signatures of builtins and the like may be unknown.
        return True
    try:
        signature.bind(object())
    except TypeError:
        return False
    return True
