"""Preserve the declarations and the active state of a view for entry dicts that are created later."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from copy import copy
from typing import Any, Generic

from django.urls import get_script_prefix, get_urlconf, set_script_prefix, set_urlconf
from django.utils import timezone, translation


def preserve(sitemap: Any) -> Callable[[], Any]:
    """Return a function that copies a sitemap with the attributes that it and its classes have now.

    If the sitemap cannot be copied, the function returns the original. Class attributes are preserved by a
    subclass. They are not preserved if there is a metaclass or an `__init_subclass__()`.
    """
    cls = type(sitemap)
    attributes: dict[str, Any] = {}
    try:
        instance = copy(sitemap)
        for base in reversed(cls.__mro__):
            attributes |= vars(base)
    except Exception:  # noqa: BLE001 a project's class can raise anything
        return lambda: sitemap
    has_hook = any(
        "__init_subclass__" in vars(base) for base in cls.__mro__ if base not in (object, Generic)
    )
    is_plain = type(cls) is type and not has_hook
    attributes = {name: value for name, value in attributes.items() if not name.startswith("__")}

    def make_copy() -> Any:
        sitemap_copy = copy(instance)
        if is_plain:
            with suppress(TypeError):
                # Attributes that were added to the class since `preserve()` are still inherited.
                sitemap_copy.__class__ = type(
                    cls.__name__, (cls,), {"__module__": cls.__module__, **attributes}
                )
        return sitemap_copy

    return make_copy


def with_current_state(make: Callable[[], list[Any]]) -> Callable[[], list[Any]]:
    """Return a function that calls `make` with the language, time zone and URLconf that are active now."""
    language, zone = translation.get_language(), timezone.get_current_timezone()
    urlconf, prefix = get_urlconf(), get_script_prefix()
    # Copy all context variables of the view, such as the tenant or the decimal context.
    context = copy_context()

    def make_with_state() -> list[Any]:
        # In another thread, Django does not read this state from the context.
        if language is None:
            translation.deactivate_all()
        else:
            translation.activate(language)
        timezone.activate(zone)
        set_urlconf(urlconf)
        set_script_prefix(prefix)
        return make()

    return lambda: context.copy().run(make_with_state)
