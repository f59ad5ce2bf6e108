"""Routes of all kinds, with arguments that match or fail, and the results of `reverse()`."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.urls import (
    URLPattern,
    URLResolver,
    get_script_prefix,
    include,
    path,
    re_path,
    register_converter,
    reverse,
    set_script_prefix,
    set_urlconf,
)
from django.utils import translation
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

from django_sitemaps09 import Route


class HexConverter:
    """Converter for hexadecimal numbers that are not negative."""

    regex = "[0-9a-f]+"

    def to_python(self, value: str) -> int:
        return int(value, 16)

    def to_url(self, value: int) -> str:
        if value < 0:
            raise ValueError("negative")
        return f"{value:x}"


class PickyConverter:
    """Converter that accepts only text, and returns characters that must be quoted in a URL."""

    regex = ".+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: Any) -> str:
        return f"{value.upper()}ß %?#"


register_converter(HexConverter, "tests_hex")

register_converter(PickyConverter, "tests_picky")


def view(request: HttpRequest, **kwargs: object) -> HttpResponse:
    """View of all patterns."""
    return HttpResponse()


def alone(request: HttpRequest, **kwargs: object) -> HttpResponse:
    """View without a name, which can be reversed."""
    return HttpResponse()


def named(prefix: str) -> list[URLPattern | URLResolver]:
    """View in a URLconf that is included more than once."""
    return [
        path(f"{prefix}list/", view, name="list"),
        path(f"{prefix}<slug:slug>/", view, name="detail"),
    ]


deep: Any = (
    [
        path("", view, name="home"),
        path("<int:number>/", view, name="number"),
        path("in/", include((named("deeper-"), "deeper"))),
    ],
    "deep",
)

plain: list[URLPattern | URLResolver] = [
    path("", view, name="root"),
    path("home/", view, name="home"),
    path("alone/<slug:slug>/", alone),
    path("int/<int:number>/", view, name="int"),
    path("slug/<slug:slug>/", view, name="slug"),
    path("str/<str:text>/", view, name="str"),
    path("default/<text>", view, name="no-converter"),
    path("path/<path:rest>", view, name="path"),
    path("uuid/<uuid:id>/", view, name="uuid"),
    path("hex/<tests_hex:number>/", view, name="hex"),
    path("picky/<tests_picky:text>/", view, name="picky"),
    path("two/<slug:first>/<int:second>/", view, name="two"),
    path("adjacent/<int:first>-<slug:second>.html", view, name="adjacent"),
    path("ünicode/<str:text>/ü ß/", view, name="unicode"),
    path("100%/<str:text>/", view, name="percent"),
    path("question?/<str:text>/#/", view, name="special"),
    path("(round)/[square]/{curly}/<str:text>", view, name="brackets"),
    # Several patterns with one name.
    path("several/", view, name="several"),
    path("several/<int:number>/", view, name="several"),
    path("several/<slug:slug>/", view, name="several"),
    path("several/<int:number>/<slug:slug>/", view, name="several"),
    path("same/<int:value>/", view, name="same"),
    path("same/<slug:value>/", view, name="same"),
    path("same/<path:value>/", view, name="same"),
    # Defaults.
    path("blog/", view, {"number": 1}, name="paged"),
    path("blog/<int:number>/", view, name="paged"),
    path("kind/<slug:slug>/", view, {"kind": "a"}, name="kind"),
    path("kind/b/<slug:slug>/", view, {"kind": "b"}, name="kind"),
    # Regular expressions.
    re_path(r"^re/(?P<year>[0-9]{4})/(?P<slug>[\w-]+)/$", view, name="re"),
    re_path(r"^unnamed/([0-9]{4})/([\w-]+)/$", view, name="unnamed"),
    re_path(r"^optional/(?:page-(?P<number>[0-9]+)/)?$", view, name="optional"),
    re_path(r"^optional2/(?P<first>[a-z]+)(?:/(?P<second>[a-z]+))?/$", view, name="optional2"),
    re_path(r"^either/(?:(?P<a>a+)|(?P<b>b+))/$", view, name="either"),
    re_path(r"^nested/(?P<outer>x(?P<inner>[0-9]+))/$", view, name="nested"),
    re_path(r"^escaped\.(?P<text>[^/]+)\.\w\d/$", view, name="escaped"),
    re_path(r"^anything/(?P<text>.*)$", view, name="anything"),
    re_path(r"no-caret/(?P<text>[a-z]*)", view, name="no-caret"),
    # Includes: with arguments, defaults, namespaces, instances, and one inside the other.
    path("shop/<slug:shop>/", include([path("<int:number>/", view, name="in-shop")])),
    re_path(r"^re-shop/(?P<shop>\w+)/", include([re_path(r"^(?P<number>\d+)/$", view, name="in-re-shop")])),
    path("given/", include([path("<slug:slug>/", view, name="given")]), {"kind": "x"}),
    path("deep/", include(deep)),
    path("deep2/", include(deep, namespace="second")),
    path("deep3/<slug:tenant>/", include(deep, namespace="third")),
    path("wild/", include(([re_path(r"^(?P<text>.+)$", view, name="text")], "wild"))),
    # Translated by Django's own catalogue: Deutsch, Alemão; März, Março.
    path(gettext_lazy("German"), view, name="language"),
    path(gettext_lazy("March"), include([path("/<slug:slug>/", view, name="march")])),
    re_path(lazystr("^lazy/(?P<slug>[a-z]+)/$"), view, name="lazy"),
]

urlpatterns = [
    *plain,
    *i18n_patterns(
        path("about/", view, name="about"),
        path("products/<slug:slug>/", view, name="product"),
        path(gettext_lazy("March"), view, name="i18n-march"),
        path("i18n-deep/", include(deep, namespace="i18n")),
    ),
]

#: The same patterns without a prefix for the default language.
other = ModuleType("other")

other.urlpatterns = [
    path("other/<slug:slug>/", view, name="slug"),
    *i18n_patterns(path("products/<slug:slug>/", view, name="product"), prefix_default_language=False),
]


@pytest.fixture(autouse=True)
def nothing_active() -> Iterator[None]:
    """Start and end each test without a script prefix, language or URLconf of its own."""
    prefix = get_script_prefix()
    set_script_prefix("/")
    with translation.override("en"):
        yield
    set_urlconf(None)
    set_script_prefix(prefix)


def outcome(call: Any) -> Any:
    """Return the result of a call, or the error that it raises."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 whatever reverse() raises, a Route raises too
        return type(error), str(error)


def expected(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if args:
        return outcome(lambda: reverse(name, args=list(args)))
    return outcome(lambda: reverse(name, kwargs=kwargs))


def as_constants(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return outcome(lambda: Route(name, *args, **kwargs).url([]))


def as_columns(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    columns = [F(f"column{number}") for number in range(len(args))]
    route = Route(name, *columns, **{key: F(key) for key in kwargs})
    return outcome(lambda: route.url([*args, *kwargs.values()]))


def mixed(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Make every second argument a column, starting with the first."""
    route = Route(
        name,
        *[value if i % 2 else F("x") for i, value in enumerate(args)],
        **{key: value if i % 2 else F("x") for i, (key, value) in enumerate(kwargs.items())},
    )
    return outcome(lambda: route.url([*args, *kwargs.values()][::2]))


def in_columns(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Render several rows at once if possible, otherwise row by row."""
    every = [*args, *kwargs.values()]
    for route, values in (
        (Route(name, *map(F, map(str, range(len(args)))), **{key: F(key) for key in kwargs}), every),
        (Route(name, *[F("x"), *args[1:]][: len(args)], **{**kwargs, **one(kwargs)}), every[:1]),
    ):
        columns = [[value] * 3 for value in values]
        composed = route.compiled().compose(columns)
        if composed is not None:
            urls = composed.texts()
            assert not composed.fits(max(map(len, urls)) - 1)
            assert len(set(urls)) == 1
            assert len(urls) == 3
            assert urls[0] == expected(name, args, kwargs)
            COMPILED.add(name)
    return as_columns(name, args, kwargs)


def one(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Make the first argument a column."""
    return dict.fromkeys(list(kwargs)[:1], F("x"))


WAYS = [as_constants, as_columns, mixed, in_columns]
#: The names that tests have rendered in columns.
COMPILED: set[str] = set()
TEXT = "a/b c?d=é&f#g%h;i:j@k+l\"m'n<o>[p]{q}|\\^~`ü€😀"
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")

MATCHING: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "root": ("root", (), {}),
    "no arguments": ("home", (), {}),
    "int": ("int", (), {"number": 7}),
    "int of text": ("int", (), {"number": "7"}),
    "int zero": ("int", (), {"number": 0}),
    "int true": ("int", (), {"number": 10**30}),
    "slug": ("slug", (), {"slug": "a-b_C9"}),
    "str": ("str", (), {"text": TEXT.replace("/", "")}),
    "str of anything": ("str", (), {"text": SimpleNamespace(a=1)}),
    "str of a decimal": ("str", (), {"text": Decimal("1.50")}),
    "str of a date": ("str", (), {"text": date(2026, 1, 31)}),
    "str of a float": ("str", (), {"text": 1e-07}),
    "str of bytes": ("str", (), {"text": b"a"}),
    "str of None": ("str", (), {"text": None}),
    "str of marked text": ("str", (), {"text": mark_safe("&amp;")}),
    "str of lazy text": ("str", (), {"text": lazystr("März")}),
    "str of a percent code": ("str", (), {"text": "%41%2F%zz"}),
    "str of control characters": ("str", (), {"text": "a\tb\r\x00"}),
    "str of dots": ("str", (), {"text": ".."}),
    "no converter": ("no-converter", (), {"text": "ä"}),
    "path": ("path", (), {"rest": f"/{TEXT}//.."}),
    "uuid": ("uuid", (), {"id": ID}),
    "uuid of text": ("uuid", (), {"id": str(ID)}),
    "custom converter": ("hex", (), {"number": 255}),
    "custom converter that writes specials": ("picky", (), {"text": "straße"}),
    "two": ("two", (), {"first": "a", "second": 1}),
    "two in another order": ("two", (), {"second": 1, "first": "a"}),
    "adjacent": ("adjacent", (), {"first": 1, "second": "b"}),
    "unicode in the pattern": ("unicode", (), {"text": "ä%"}),
    "special characters in the pattern": ("special", (), {"text": "?"}),
    "brackets in the pattern": ("brackets", (), {"text": "()"}),
    "several, none": ("several", (), {}),
    "several, number": ("several", (), {"number": 1}),
    "several, slug": ("several", (), {"slug": "a"}),
    "several, both": ("several", (), {"number": 1, "slug": "a"}),
    "same arguments, first": ("same", (), {"value": 1}),
    "same arguments, second": ("same", (), {"value": "a"}),
    "same arguments, third": ("same", (), {"value": "a/b"}),
    "default omitted": ("paged", (), {}),
    "default given": ("paged", (), {"number": 1}),
    "default not met": ("paged", (), {"number": 2}),
    "default chooses, first": ("kind", (), {"slug": "s", "kind": "a"}),
    "default chooses, second": ("kind", (), {"slug": "s", "kind": "b"}),
    "default not named": ("kind", (), {"slug": "s"}),
    "regular expression": ("re", (), {"year": 2026, "slug": "ä-ö"}),
    "unnamed groups": ("unnamed", ("2026", "a"), {}),
    "optional omitted": ("optional", (), {}),
    "optional given": ("optional", (), {"number": 3}),
    "optional second omitted": ("optional2", (), {"first": "a"}),
    "optional second given": ("optional2", (), {"first": "a", "second": "b"}),
    "nested groups": ("nested", (), {"outer": "x12"}),
    "escapes": ("escaped", (), {"text": "a.b"}),
    "anything": ("anything", (), {"text": TEXT}),
    "anything empty": ("anything", (), {"text": ""}),
    "anything with slashes in front": ("anything", (), {"text": "//evil.com/"}),
    "no caret": ("no-caret", (), {"text": ""}),
    "include": ("in-shop", (), {"shop": "s", "number": 1}),
    "include of regular expressions": ("in-re-shop", (), {"shop": "s", "number": 1}),
    "include with a default": ("given", (), {"slug": "s", "kind": "x"}),
    "include with a default not named": ("given", (), {"slug": "s"}),
    "namespace": ("deep:home", (), {}),
    "namespace with an argument": ("deep:number", (), {"number": 1}),
    "namespace in a namespace": ("deep:deeper:detail", (), {"slug": "s"}),
    "instance namespace": ("second:number", (), {"number": 1}),
    "instance namespace in a namespace": ("second:deeper:list", (), {}),
    "namespace with an argument of its include": ("third:number", (), {"tenant": "t", "number": 1}),
    "everything in a namespace": ("wild:text", (), {"text": TEXT}),
    "i18n": ("about", (), {}),
    "i18n with an argument": ("product", (), {"slug": "s"}),
    "i18n with a namespace": ("i18n:deeper:detail", (), {"slug": "s"}),
    "translated": ("language", (), {}),
    "translated include": ("march", (), {"slug": "s"}),
    "translated under i18n": ("i18n-march", (), {}),
    "lazy": ("lazy", (), {"slug": "s"}),
    "positional": ("int", (7,), {}),
    "two positional": ("two", ("a", 1), {}),
    "several positional": ("several", (1, "a"), {}),
    "same arguments positional": ("same", ("a/b",), {}),
    "default positional": ("paged", (2,), {}),
    "optional positional": ("optional2", ("a", "b"), {}),
    "namespace positional": ("third:number", ("t", 1), {}),
    "i18n positional": ("product", ("s",), {}),
    "positional to be encoded": ("str", (TEXT.replace("/", ""),), {}),
}

FAILING: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "unknown name": ("nowhere", (), {}),
    "unknown name with arguments": ("nowhere", (), {"slug": "s"}),
    "unknown namespace": ("no:where", (), {}),
    "unknown namespace in a namespace": ("deep:no:where", (), {}),
    "unknown name in a namespace": ("deep:nowhere", (), {}),
    "missing argument": ("int", (), {}),
    "missing one of two": ("two", (), {"first": "a"}),
    "superfluous argument": ("home", (), {"slug": "s"}),
    "unknown argument": ("int", (), {"slug": 1}),
    "int negative": ("int", (), {"number": -1}),
    "int of a word": ("int", (), {"number": "one"}),
    "int of None": ("int", (), {"number": None}),
    "int of a boolean": ("int", (), {"number": True}),
    "int of a float": ("int", (), {"number": 1.0}),
    "int of other digits": ("int", (), {"number": "٣x"}),
    "slug of None in the pattern of two": ("two", (), {"first": None, "second": None}),
    "slug not ascii": ("slug", (), {"slug": "ä"}),
    "slug empty": ("slug", (), {"slug": ""}),
    "slug with a line end": ("slug", (), {"slug": "a\n"}),
    "str with a slash": ("str", (), {"text": "a/b"}),
    "str empty": ("str", (), {"text": ""}),
    "path empty": ("path", (), {"rest": ""}),
    "uuid in capitals": ("uuid", (), {"id": "ABCDEF00-1234-5678-1234-567812345678"}),
    "uuid of a word": ("uuid", (), {"id": "a"}),
    "converter refuses": ("hex", (), {"number": -1}),
    "converter fails by type": ("picky", (), {"text": 7}),
    "default that no pattern has": ("kind", (), {"slug": "s", "kind": "c"}),
    "percent sign in the pattern": ("percent", (), {"text": "a"}),
    "include with another default": ("given", (), {"slug": "s", "kind": "y"}),
    "regular expression not met": ("re", (), {"year": 26, "slug": "a"}),
    # Django supports optional groups, but no alternatives.
    "either, first": ("either", (), {"a": "aa"}),
    "either, second": ("either", (), {"b": "bb"}),
    "either, both": ("either", (), {"a": "a", "b": "b"}),
    "unnamed groups by name": ("unnamed", (), {"year": "2026", "slug": "a"}),
    "named group by position too many": ("slug", ("a", "b"), {}),
    "position too few": ("two", ("a",), {}),
    "position that does not match": ("int", ("a",), {}),
    "namespace without the argument of its include": ("third:number", (), {"number": 1}),
    "i18n not met": ("product", (), {"slug": "ä"}),
}

CASES = {**MATCHING, **FAILING}
