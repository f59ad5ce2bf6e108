"""The code of a class: methods are replaced, and everything else is kept."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps09 import ModelSitemap, Route
from django_sitemaps09.suggestions.section_suggestions import class_code
from django_sitemaps09.suggestions.values import Constant, FieldValue, RouteValue, Value

URL = RouteValue("a", (FieldValue("pk"), Constant("it's")))
NAMES: dict[str, Value] = {"location": URL, "lastmod": FieldValue("changed")}


CONDITION = True


def register(name: str) -> Callable[[Any], Any]:
    return lambda kind: kind


def decorated(method: Callable[..., Any]) -> Callable[..., Any]:
    return functools.wraps(method)(lambda *args: method(*args))


class OnlyMethods(ModelSitemap[Any]):
    def location(self, item: Any) -> str:
        return "/"

    @decorated
    def lastmod(self, item: Any) -> Any:
        return None


class Attributes(ModelSitemap[Any]):
    limit = 10
    lastmod = lambda self, item: item  # noqa: E731
    # Not often.
    changefreq = "daily"

    def location(self, item: Any) -> str:
        return "/"

    # A comment about the next method.
    def get_queryset(self) -> Any:
        return None


@register("registered")
class Registered(ModelSitemap[Any]):
    def location(self, item: Any) -> str:
        return "/"


class Conditional(ModelSitemap[Any]):
    if CONDITION:

        def location(self, item: Any) -> str:
            return "/"


class Empty(ModelSitemap[Any]):
    """Nothing else."""


def lines(kind: type[Any], *, in_place: bool = True) -> list[str]:
    """Return the code after its imports."""
    code, subclass = class_code("things", kind(), NAMES, {}, in_place=in_place)
    compile(code, "code", "exec")
    head, _, body = code.partition("\n\n\n")
    assert head.splitlines()[0] == "from django.db.models import F"
    assert (subclass == "ThingsSitemap") == ("class ThingsSitemap(" in body)
    return body.splitlines()


DECLARATIONS = ["""    location = Route("a", F("pk"), "it's")""", '    lastmod = F("changed")']


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (OnlyMethods, ["class OnlyMethods(ModelSitemap[Any]):", *DECLARATIONS]),
        (
            Attributes,
            [
                "class Attributes(ModelSitemap[Any]):",
                "    limit = 10",
                "    # Not often.",
                '    changefreq = "daily"',
                *DECLARATIONS,
                "",
                "    # A comment about the next method.",
                "    def get_queryset(self) -> Any:",
                "        return None",
            ],
        ),
        (
            Registered,
            ['@register("registered")', "class Registered(ModelSitemap[Any]):", *DECLARATIONS],
        ),
        (Conditional, ["class ThingsSitemap(Conditional):", *DECLARATIONS]),
        (
            Empty,
            ["class Empty(ModelSitemap[Any]):", '    """Nothing else."""', *DECLARATIONS],
        ),
    ],
)
def test_declarations_replace_methods_above_the_other_methods(kind: type[Any], expected: list[str]) -> None:
    assert lines(kind) == expected


def test_a_class_in_a_function_is_indented_as_a_module() -> None:
    class Inner(ModelSitemap[Any]):
        def location(self, item: Any) -> str:
            return "/"

    assert lines(Inner) == ["class Inner(ModelSitemap[Any]):", *DECLARATIONS]


@pytest.mark.parametrize("name", ["Generated", "Empty"])
def test_a_class_without_source_gets_a_subclass(name: str) -> None:
    kind = type(name, (ModelSitemap,), {"__module__": "elsewhere"})
    assert lines(kind) == [f"class ThingsSitemap({name}):", *DECLARATIONS]
    code, _ = class_code("things", kind(), NAMES, {}, in_place=True)
    assert f"from elsewhere import {name}" in code


def test_a_subclass_is_named_after_the_section() -> None:
    assert lines(Attributes, in_place=False) == ["class ThingsSitemap(Attributes):", *DECLARATIONS]
    code, _ = class_code("news-2024 é", Attributes(), NAMES, {}, in_place=False)
    assert "class News2024Sitemap(Attributes):" in code
    assert f"from {__name__} import Attributes\n" in code
    code, _ = class_code("2024", Attributes(), NAMES, {}, in_place=False)
    assert "class Section2024Sitemap(" in code


def test_a_declaration_has_its_comment_above_it() -> None:
    code, _ = class_code("a", OnlyMethods(), NAMES, {"lastmod": "Why."}, in_place=True)
    assert code.endswith(f"\n{DECLARATIONS[0]}\n    # Why.\n{DECLARATIONS[1]}")


def test_arguments_that_are_keywords_of_python_are_passed_as_a_dict() -> None:
    value = RouteValue("a", (FieldValue("kind"), FieldValue("slug")), ("class", "slug"))
    assert repr(value.declaration) == repr(Route("a", **{"class": F("kind"), "slug": F("slug")}))


def test_a_name_of_an_argument_is_not_code() -> None:
    name = "slug=__import__('os').abort(), x"
    value = RouteValue("a", (FieldValue("slug"),), (name,))
    assert value.code == f'Route("a", **{{{name!r}: F("slug")}})'.replace(repr(name), f'"{name}"')
    assert repr(value.declaration) == repr(Route("a", **{name: F("slug")}))


@pytest.mark.parametrize("number", [math.inf, -math.inf, -2, 0.5])
def test_a_number_is_declared_as_it_is_printed(number: float) -> None:
    assert Constant(number).declaration == number
