"""Methods that take the item: whether they are methods, and whether they can take one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps09.checks.messages import message
from django_sitemaps09.checks.subjects import class_of, data, is_strict, name_of, raw, shown
from django_sitemaps09.sitemaps import EXTENDING, FIELDS, NewsSitemap, Sitemap
from django_sitemaps09.sources import MACHINERY

#: contrib's switches, which can be methods here.
_SWITCHES = {"alternates": "W047", "x_default": "W048"}
_TAKING_THE_ITEM = (*FIELDS, *EXTENDING, *_SWITCHES, "get_languages_for_item")
_OF_NEWS = ("title",)


def check_hooks(subject: Any) -> Iterator[CheckMessage]:
    """The hooks of our class that can be methods."""
    for name in EXTENDING:
        value = data(subject, name)
        if value is not None:
            yield message(
                "W053",
                f"{name_of(subject)}.{name} is {shown(value)}, no method, and is ignored.",
                f"To write {name}, define `def {name}(self, item)`; else rename the attribute.",
            )
    for switch, code in _SWITCHES.items():
        value = data(subject, switch)
        if value is not None and not isinstance(value, bool):
            yield message(
                code,
                f"{name_of(subject)}.{switch} is {shown(value)}, neither a switch nor a method.",
                f"Set {switch} = True, or define `def {switch}(self, item)`.",
            )
    if any(raw(subject, name) is not raw(Sitemap, name) for name in MACHINERY):
        # It may call its hooks as it likes.
        return
    news = issubclass(class_of(subject), NewsSitemap)
    for hook in (*_TAKING_THE_ITEM, *_OF_NEWS) if news else _TAKING_THE_ITEM:
        if not _takes_one(_bound(subject, hook)):
            added = hook in (*EXTENDING, *_SWITCHES)
            yield message(
                "W056" if added and not is_strict(subject) else "E056",
                f"{name_of(subject)}.{hook} cannot be called with an item and nothing else.",
                f"Define it as `def {hook}(self, item)`.",
            )


def _bound(subject: Any, name: str) -> Any:
    """A hook without its `self`; `None` where it is none, or where only its own code could tell."""
    value = raw(subject, name)
    kind = type(value)
    if kind is staticmethod:
        return value.__func__
    if kind is classmethod:
        return MethodType(value.__func__, class_of(subject))
    if kind is FunctionType:
        # Of an instance: functions are not bound there.
        own = class_of(subject) is not subject and name in getattr(subject, "__dict__", {})
        return value if own else MethodType(value, class_of(subject))
    if kind is partial or hasattr(kind, "__get__"):
        # Python 3.14 binds a partial, and none before it does.
        return None
    return value if callable(value) else None


def _takes_one(hook: Any) -> bool:
    if hook is None:
        return True
    try:
        # Of the outermost: a decorator may give the function inside what it wants.
        signature = inspect.signature(hook, follow_wrapped=False)
    except (ValueError, TypeError):
        # Of builtins and the like nothing is known.
        return True
    try:
        signature.bind(object())
    except TypeError:
        return False
    return True
