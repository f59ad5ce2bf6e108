"""Checks of hooks: methods that do not accept the item, and attributes without effect."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any
from unittest import mock

import pytest
from django.db.models import F

from django_sitemaps09 import Sitemap, checks
from tests.support.checking import HOOKS, SLUG, declaration, ids, ids_of, takes, unread

pytestmark = pytest.mark.usefixtures("nothing_is_asked")


@pytest.mark.parametrize("name", ["images", "videos", "news", "alternates", "x_default"])
def test_a_method_that_contrib_does_not_know_is_a_warning_on_a_class_without_expressions(name: str) -> None:
    helper = {name: lambda self: None, "i18n": True, "alternates": True} | {name: lambda self: None}
    assert ids(type("Old", (Sitemap,), {"items": takes, **helper})) == ["W056"]
    assert "E056" in ids(declaration(location=SLUG, **{name: lambda self: None}))


@pytest.mark.parametrize("name", ["images", "videos", "news"])
def test_what_is_not_a_method_is_reported_as_ignored(name: str) -> None:
    (message,) = checks.check_declarations([declaration(location=SLUG, **{name: ["/a.png"]})])
    assert ids_of([message]) == ["W053"]
    assert f"def {name}(self, item)" in str(message.hint)
    assert ids(declaration(location=SLUG, **{name: None})) == []
    assert ids(declaration(location=SLUG, **{name: property(unread)})) == []


def decorated(method: Any) -> Any:
    """Decorator that calls the method without the item."""

    @functools.wraps(method)
    def wrapper(self: Any, item: Any) -> Any:
        return method(self)

    return wrapper


class Callable1:
    def __call__(self, item: Any) -> Any:
        return takes(self, item)


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize(
    "hook",
    [
        lambda self: (),
        lambda self, item, site: (),
        lambda self, *, item: (),
        staticmethod(lambda: ()),
        classmethod(lambda cls: ()),
    ],
    ids=["none", "two", "keyword", "staticmethod", "classmethod"],
)
def test_a_hook_that_cannot_take_the_item_is_an_error(name: str, hook: Any) -> None:
    (message,) = checks.check_declarations([declaration(**{"lastmod": F("day"), name: hook})])
    assert ids_of([message]) == ["E056"]
    assert f"Declared.{name}" in message.msg


SILENT: Mapping[str, Any] = {
    "method": takes,
    "any arguments": lambda self, *args: takes(self, args),
    "more with a default": lambda self, item, site=None: takes(self, item),
    "staticmethod": staticmethod(lambda item: takes(None, item)),
    "classmethod": classmethod(takes),
    # Whether it is bound depends on the version of Python.
    "partial": functools.partial(lambda: ()),
    "partialmethod": functools.partialmethod(takes),
    "cached": functools.lru_cache(takes),
    "decorated": decorated(lambda self: ()),
    "mock": mock.Mock(side_effect=AssertionError, spec=["__call__"]),
    "callable": Callable1(),
    "builtin": len,
    "class": dict,
    "property": property(unread),
}


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize("case", SILENT)
def test_a_hook_that_may_take_the_item_is_neither_reported_nor_called(name: str, case: str) -> None:
    assert ids(declaration(**{name: SILENT[case]})) == []


def test_hooks_of_an_instance_are_functions_and_not_bound() -> None:
    made = declaration(location=SLUG)()
    made.images = lambda item: takes(made, item)  # type: ignore[attr-defined]
    assert ids(made) == []
    made.images = lambda: ()  # type: ignore[attr-defined]
    assert ids(made) == ["E056"]
