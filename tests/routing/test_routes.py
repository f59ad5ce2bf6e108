"""With any pattern, values, language, prefix and URLconf, a `Route` returns what `reverse()` returns."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import uuid
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.test import override_settings
from django.urls import (
    NoReverseMatch,
    URLPattern,
    URLResolver,
    clear_url_caches,
    get_resolver,
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
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from django_sitemaps09 import Route
from django_sitemaps09.routing.routes import _compiled_routes

pytestmark = pytest.mark.urls(__name__)


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


@pytest.mark.parametrize("case", CASES)
def test_a_route_returns_the_url_or_raises_the_error_of_reverse(case: str) -> None:
    assert [way(*CASES[case]) for way in WAYS] == [expected(*CASES[case])] * len(WAYS)


def test_patterns_of_django_s_own_converters_are_written_in_columns() -> None:
    COMPILED.clear()
    for case in CASES.values():
        in_columns(*case)
    assert {
        *("int", "slug", "str", "no-converter", "path", "uuid", "two", "adjacent", "unicode", "special"),
        *("brackets", "several", "same", "paged", "kind", "in-shop", "given", "deep:number", "march"),
        *("deep:deeper:detail", "second:number", "third:number", "product", "i18n:deeper:detail"),
    } == COMPILED


@given(
    texts=st.lists(
        st.text(min_size=1, max_size=8) | st.text("ab/ä %\n", max_size=8), min_size=1, max_size=5
    ),
    name=st.sampled_from(["str", "path", "slug", "same"]),
)
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_a_column_returns_the_same_as_its_rows(texts: list[str], name: str) -> None:
    key = {"str": "text", "path": "rest", "slug": "slug", "same": "value"}[name]
    route = Route(name, **{key: F("x")})
    each = [expected(name, (), {key: text}) for text in texts]
    composed = route.compiled().compose([texts])
    urls = composed and composed.texts()
    assert urls is None or urls == each
    plain = all(text.isascii() and text.isalpha() for text in texts)
    # The first of several patterns is for numbers.
    assert urls is not None or not plain or name == "same"


def test_no_rows_and_no_columns_are_not_written_in_columns() -> None:
    assert Route("slug", slug=F("x")).compiled().compose([[]]) is None
    assert Route("home").compiled().compose([]) is None


def test_what_is_compiled_goes_with_its_urlconf() -> None:
    with override_settings(ROOT_URLCONF=other):
        resolver = weakref.ref(get_resolver())
        assert Route("slug", slug=F("x")).compiled().compose([["s"]]) is not None
        assert resolver() in _compiled_routes
    clear_url_caches()
    gc.collect()
    assert resolver() is None


def test_the_cases_of_these_tests_are_what_they_say() -> None:
    others = {"converter fails by type": AttributeError, "percent sign in the pattern": ValueError}
    found = {case: expected(*CASES[case]) for case in CASES}
    assert {case: None if isinstance(it, str) else it[0] for case, it in found.items()} == {
        **dict.fromkeys(MATCHING),
        **dict.fromkeys(FAILING, NoReverseMatch),
        **others,
    }


@given(rows=st.lists(st.tuples(st.text("ab/ä ", max_size=3), st.integers(-1, 3)), max_size=6))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_one_row_does_not_affect_the_next_one(rows: list[tuple[str, int]]) -> None:
    route = Route("two", first=F("a"), second=F("b"))
    for text, number in rows:
        found = outcome(lambda: route.url([text, number]))  # noqa: B023 called at once
        assert found == expected("two", (), {"first": text, "second": number})


def test_values_may_come_from_any_iterable() -> None:
    route = Route("two", first=F("a"), second=F("b"))
    assert route.url(iter(["a", 1])) == route.url(("a", 1)) == "/two/a/1/"


@pytest.mark.parametrize("args", [(1,), (F("a"),), (None,)])
def test_positional_and_named_arguments_together_are_refused_as_reverse_does(args: Any) -> None:
    with pytest.raises(ValueError, match=r"Route\('two'\).*not both"):
        Route("two", *args, second=F("b"))
    with pytest.raises(ValueError, match="Don't mix"):
        reverse("two", args=args, kwargs={"second": 1})


def test_an_argument_may_have_any_name() -> None:
    route = Route("slug", viewname=1, self=F("self"))
    assert (route.pattern, route.kwargs["viewname"]) == ("slug", 1)
    assert outcome(lambda: route.url(["s"])) == expected("slug", (), {"viewname": 1, "self": "s"})


def test_a_route_shows_how_it_was_made() -> None:
    assert repr(Route("home")) == "Route('home')"
    assert repr(Route("two", F("a"), 1)) == "Route('two', F(a), 1)"
    assert repr(Route("two", first=F("a"), second=1)) == "Route('two', first=F(a), second=1)"


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])  # noqa: S301
def test_a_route_can_be_copied_and_sent_to_workers(duplicate: Any) -> None:
    for route in (Route("two", F("a"), 1), Route("two", first=F("a"), second=1)):
        twin = duplicate(route)
        assert repr(twin) == repr(route)
        assert twin.url(["s"]) == route.url(["s"]) == "/two/s/1/"


def test_a_prefix_without_a_slash_in_front_is_left_to_each_row() -> None:
    """Joined to a base, it would become part of the host."""
    set_script_prefix("app/")
    assert Route("slug", slug=F("x")).compiled().compose([["s"]]) is None


def test_a_view_can_be_reversed_instead_of_a_name() -> None:
    assert Route(alone, slug=F("x")).url(["s"]) == reverse(alone, kwargs={"slug": "s"}) == "/alone/s/"  # type: ignore[arg-type]


@pytest.mark.parametrize("case", MATCHING)
def test_a_candidate_gives_the_url_without_asking_reverse(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise, it would be as slow as `reverse()` without any test failing."""
    name, args, kwargs = MATCHING[case]
    url = expected(name, args, kwargs)
    monkeypatch.setattr(
        "django_sitemaps09.routing.routes.reverse", Mock(side_effect=AssertionError("asked"))
    )
    assert Route(name, *args, **kwargs).url([]) == url


def test_a_zero_is_written_in_columns() -> None:
    composed = Route("int", number=F("pk")).compiled().compose([[0, 1]])
    assert composed is not None


def test_an_error_of_the_urlconf_is_raised_and_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """This includes a `KeyError`, for example from a missing environment variable."""
    _compiled_routes.clear()
    route = Route("app:list")
    with monkeypatch.context() as patch:
        patch.setattr(URLResolver, "app_dict", property(Mock(side_effect=KeyError("SECRET"))))
        with pytest.raises(KeyError, match="SECRET"):
            route.compiled()
    assert not _compiled_routes.get(get_resolver())


@pytest.mark.parametrize("language", ["en", "de", "pt-br", "fr", None])
@pytest.mark.parametrize("case", [case for case in CASES if "i18n" in case or "translated" in case])
def test_the_language_is_the_one_that_is_active(case: str, language: str | None) -> None:
    context = translation.override(language) if language else translation.override(None, deactivate=True)
    name, args, kwargs = CASES[case]
    route = Route(name, *args, **kwargs)
    outcome(lambda: route.url([]))
    with context:
        assert outcome(lambda: route.url([])) == expected(name, args, kwargs)
        assert as_columns(name, args, kwargs) == expected(name, args, kwargs)
    assert outcome(lambda: route.url([])) == expected(name, args, kwargs)


def test_urls_differ_by_language() -> None:
    routes = {Route("product", slug=F("slug")): ["s"], Route("march", slug=F("slug")): ["s"]}
    found = []
    for language in ("en", "de", "pt-br"):
        with translation.override(language):
            found.append([route.url(values) for route, values in routes.items()])
    assert found == [
        ["/en/products/s/", "/March/s/"],
        ["/de/products/s/", "/M%C3%A4rz/s/"],
        ["/pt-br/products/s/", "/Mar%C3%A7o/s/"],
    ]


@pytest.mark.parametrize("prefix", ["/", "/app/", "/app", "/a b/ü/", "/%41/", "//", ""])
@pytest.mark.parametrize("case", ["root", "str", "i18n", "namespace", "positional", "unknown name"])
def test_the_script_prefix_is_the_one_that_is_active(case: str, prefix: str) -> None:
    name, args, kwargs = CASES[case]
    route = Route(name, *args, **kwargs)
    outcome(lambda: route.url([]))
    set_script_prefix(prefix)
    assert outcome(lambda: route.url([])) == expected(name, args, kwargs)
    set_script_prefix("/")
    assert outcome(lambda: route.url([])) == expected(name, args, kwargs)


def test_the_urlconf_is_the_one_that_is_active() -> None:
    slug, product = Route("slug", slug=F("slug")), Route("product", slug=F("slug"))
    assert [slug.url(["s"]), product.url(["s"])] == ["/slug/s/", "/en/products/s/"]
    with override_settings(ROOT_URLCONF=other):
        assert [slug.url(["s"]), product.url(["s"])] == ["/other/s/", "/products/s/"]
        with translation.override("de"):
            assert product.url(["s"]) == "/de/products/s/"
    set_urlconf(other)
    assert slug.url(["s"]) == "/other/s/"
    set_urlconf(None)
    assert slug.url(["s"]) == "/slug/s/"


def test_each_thread_has_its_own_language_and_prefix() -> None:
    route = Route("product", slug=F("slug"))
    meeting = threading.Barrier(3)

    def located(language: str, prefix: str) -> set[str]:
        set_script_prefix(prefix)
        with translation.override(language):
            found = set()
            for _ in range(20):
                meeting.wait(10)
                found.add(route.url(["s"]))
            return found

    with ThreadPoolExecutor(3) as pool:
        found = pool.map(located, ["en", "de", "pt-br"], ["/", "/a/", "/b/"])
    assert list(found) == [{"/en/products/s/"}, {"/a/de/products/s/"}, {"/b/pt-br/products/s/"}]


values = (
    st.text(max_size=12)
    | st.text("abcAZ09-_/.%?# äß\n", max_size=8)
    | st.integers()
    | st.integers(0, 99)
    | st.booleans()
    | st.none()
    | st.floats()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.uuids().map(str)
    | st.dates()
    | st.binary(max_size=4)
    | st.text(max_size=5).map(mark_safe)
    | st.text(max_size=5).map(lazystr)
)

names = st.sampled_from(sorted({name for name, _, _ in MATCHING.values()}))

keywords = st.dictionaries(
    st.sampled_from(sorted({key for _, _, kwargs in CASES.values() for key in kwargs})), values, max_size=2
)


arguments = st.tuples(st.lists(values, max_size=2), st.just({})) | st.tuples(st.just([]), keywords)


@given(name=names, arguments=arguments, way=st.sampled_from(WAYS))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_values_return_the_same_as_reverse(name: str, arguments: Any, way: Any) -> None:
    assert way(name, *arguments) == expected(name, *arguments)


#: Names with the arguments that they accept, so that only values can fail.
SHAPES = [case[0::2] for case in MATCHING.values() if case[2]]


@given(data=st.data(), shape=st.sampled_from(SHAPES), way=st.sampled_from(WAYS))
@hypothesis_settings(
    max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_any_values_of_the_right_arguments_return_the_same_as_reverse(
    data: st.DataObject, shape: tuple[str, dict[str, Any]], way: Any
) -> None:
    name, arguments = shape
    kwargs = {key: data.draw(values | st.just(value), label=key) for key, value in arguments.items()}
    assert way(name, (), kwargs) == expected(name, (), kwargs)
