"""With any pattern, values, language, prefix and URLconf, a `Route` returns what `reverse()` returns."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import uuid
import weakref
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from types import ModuleType, SimpleNamespace
from unittest.mock import Mock

import pytest
from django import urls
from django.conf.urls.i18n import i18n_patterns
from django.db.models import F
from django.http import HttpResponse
from django.test import override_settings
from django.urls import include, path, re_path, reverse
from django.utils import translation
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy
from hypothesis import given, settings, strategies as st

from django_sitemaps09 import Route
from django_sitemaps09.declare.locations import _compiled_routes

pytestmark = pytest.mark.urls(__name__)


class HexConverter:
    regex = "[0-9a-f]+"

    def to_url(self, value):
        if value < 0:
            raise ValueError("negative")
        return f"{value:x}"


class PickyConverter:
    regex = ".+"

    def to_url(self, value):
        return f"{value.upper()}ß %?#"


urls.register_converter(HexConverter, "tests_hex")
urls.register_converter(PickyConverter, "tests_picky")


def view(request, **kwargs):
    return HttpResponse()


def alone(request, **kwargs):
    return HttpResponse()


def named(prefix):
    return [path(f"{prefix}list/", view, name="list"), path(f"{prefix}<slug:slug>/", view, name="detail")]


deep = (
    [path("", view, name="home"), path("<int:number>/", view, name="number"),
     path("in/", include((named("deeper-"), "deeper")))],
    "deep",
)  # fmt: skip
plain = [
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
        path("about/", view, name="about"), path("products/<slug:slug>/", view, name="product"),
        path(gettext_lazy("March"), view, name="i18n-march"),
        path("i18n-deep/", include(deep, namespace="i18n")),
    ),
]  # fmt: skip
#: The same patterns without a prefix for the default language.
other = ModuleType("other")
other.urlpatterns = [
    path("other/<slug:slug>/", view, name="slug"),
    *i18n_patterns(path("products/<slug:slug>/", view, name="product"), prefix_default_language=False),
]


@pytest.fixture(autouse=True)
def nothing_active():
    """Start and end each test without a script prefix, language or URLconf of its own."""
    prefix = urls.get_script_prefix()
    urls.set_script_prefix("/")
    with translation.override("en"):
        yield
    urls.set_urlconf(None)
    urls.set_script_prefix(prefix)


def outcome(call):
    try:
        return call()
    except Exception as error:  # noqa: BLE001 whatever reverse() raises, a Route raises too
        return type(error), str(error)


def expected(name, args, kwargs):
    return outcome(lambda: reverse(name, args=[*args], kwargs=kwargs))


def as_constants(name, args, kwargs):
    return outcome(lambda: Route(name, *args, **kwargs).url([]))


def as_columns(name, args, kwargs):
    columns = [F(f"column{number}") for number in range(len(args))]
    route = Route(name, *columns, **{key: F(key) for key in kwargs})
    return outcome(lambda: route.url([*args, *kwargs.values()]))


def mixed(name, args, kwargs):
    route = Route(
        name, *[value if i % 2 else F("x") for i, value in enumerate(args)],
        **{key: value if i % 2 else F("x") for i, (key, value) in enumerate(kwargs.items())},
    )  # fmt: skip
    return outcome(lambda: route.url([*args, *kwargs.values()][::2]))


def in_columns(name, args, kwargs):
    """Render several rows at once if possible, otherwise row by row."""
    every, first = [*args, *kwargs.values()], dict.fromkeys([*kwargs][:1], F("x"))
    for route, values in (
        (Route(name, *map(F, map(str, range(len(args)))), **{key: F(key) for key in kwargs}), every),
        (Route(name, *[F("x"), *args[1:]][: len(args)], **{**kwargs, **first}), every[:1]),
    ):
        composed = route.compiled().compose([[value] * 3 for value in values])
        if composed is not None:
            texts = composed.texts()
            assert texts == [expected(name, args, kwargs)] * 3
            assert not composed.fits(len(texts[0]) - 1)
            COMPILED.add(name)
    return as_columns(name, args, kwargs)


WAYS = [as_constants, as_columns, mixed, in_columns]
#: The names that tests have rendered in columns.
COMPILED = set()
TEXT = "a/b c?d=é&f#g%h;i:j@k+l\"m'n<o>[p]{q}|\\^~`ü€😀"
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")


def case(name, /, *args, **kwargs):
    return name, args, kwargs


MATCHING = [
    *(case("root"), case("home"), case("int", number=7), case("int", number="7"), case("int", number=0)),
    *(case("int", number=10**30), case("slug", slug="a-b_C9"), case("str", text=TEXT.replace("/", ""))),
    *(case("str", text=SimpleNamespace(a=1)), case("str", text=Decimal("1.50"))),
    *(case("str", text=date(2026, 1, 31)), case("str", text=1e-07), case("str", text=b"a")),
    *(case("str", text=None), case("str", text=mark_safe("&amp;")), case("str", text=lazystr("März"))),
    *(case("str", text="%41%2F%zz"), case("str", text="a\tb\r\x00"), case("str", text="..")),
    *(case("no-converter", text="ä"), case("path", rest=f"/{TEXT}//.."), case("uuid", id=ID)),
    *(case("uuid", id=str(ID)), case("hex", number=255), case("picky", text="straße")),
    *(case("two", first="a", second=1), case("two", second=1, first="a")),
    *(case("adjacent", first=1, second="b"), case("unicode", text="ä%"), case("special", text="?")),
    *(case("brackets", text="()"), case("several"), case("several", number=1), case("several", slug="a")),
    *(case("several", number=1, slug="a"), case("same", value=1), case("same", value="a")),
    *(case("same", value="a/b"), case("paged"), case("paged", number=1), case("paged", number=2)),
    *(case("kind", slug="s", kind="a"), case("kind", slug="s", kind="b"), case("kind", slug="s")),
    *(case("re", year=2026, slug="ä-ö"), case("unnamed", "2026", "a"), case("optional")),
    *(case("optional", number=3), case("optional2", first="a"), case("optional2", first="a", second="b")),
    *(case("nested", outer="x12"), case("escaped", text="a.b"), case("anything", text=TEXT)),
    *(case("anything", text=""), case("anything", text="//evil.com/"), case("no-caret", text="")),
    *(case("in-shop", shop="s", number=1), case("in-re-shop", shop="s", number=1)),
    *(case("given", slug="s", kind="x"), case("given", slug="s"), case("deep:home")),
    *(case("deep:number", number=1), case("deep:deeper:detail", slug="s")),
    *(case("second:number", number=1), case("second:deeper:list")),
    *(case("third:number", tenant="t", number=1), case("wild:text", text=TEXT), case("about")),
    *(case("product", slug="s"), case("i18n:deeper:detail", slug="s"), case("language")),
    *(case("march", slug="s"), case("i18n-march"), case("lazy", slug="s"), case("int", 7)),
    *(case("two", "a", 1), case("several", 1, "a"), case("same", "a/b"), case("paged", 2)),
    *(case("optional2", "a", "b"), case("third:number", "t", 1), case("product", "s")),
    case("str", TEXT.replace("/", "")),
]
FAILING = [
    *(case("nowhere"), case("nowhere", slug="s"), case("no:where"), case("deep:no:where")),
    *(case("deep:nowhere"), case("int"), case("two", first="a"), case("home", slug="s")),
    *(case("int", slug=1), case("int", number=-1), case("int", number="one"), case("int", number=None)),
    *(case("int", number=True), case("int", number=1.0), case("int", number="٣x")),
    *(case("two", first=None, second=None), case("slug", slug="ä"), case("slug", slug="")),
    *(case("slug", slug="a\n"), case("str", text="a/b"), case("str", text=""), case("path", rest="")),
    *(case("uuid", id="ABCDEF00-1234-5678-1234-567812345678"), case("uuid", id="a")),
    *(case("hex", number=-1), case("kind", slug="s", kind="c"), case("given", slug="s", kind="y")),
    *(case("re", year=26, slug="a"), case("either", a="aa"), case("either", b="bb")),
    *(case("either", a="a", b="b"), case("unnamed", year="2026", slug="a"), case("slug", "a", "b")),
    *(case("two", "a"), case("int", "a"), case("third:number", number=1), case("product", slug="ä")),
]
#: What a converter or a pattern raises besides `NoReverseMatch`.
RAISING = [(case("picky", text=7), AttributeError), (case("percent", text="a"), ValueError)]
CASES = [*MATCHING, *FAILING, *(each for each, _ in RAISING)]
numbered = [f"{number}-{name}" for number, (name, _, _) in enumerate(CASES)]


@pytest.mark.parametrize("case", CASES, ids=numbered)
def test_a_route_returns_the_url_or_raises_the_error_of_reverse(case):
    assert [way(*case) for way in WAYS] == [expected(*case)] * len(WAYS)


def test_the_cases_of_these_tests_are_what_they_say():
    found = [expected(*each) for each in CASES]
    kinds = [None] * len(MATCHING) + [urls.NoReverseMatch] * len(FAILING) + [error for _, error in RAISING]
    assert [None if isinstance(each, str) else each[0] for each in found] == kinds


@pytest.mark.parametrize("case", MATCHING, ids=numbered[: len(MATCHING)])
def test_a_candidate_gives_the_url_without_asking_reverse(case, monkeypatch):
    """Otherwise, it would be as slow as `reverse()` without any test failing."""
    name, args, kwargs = case
    url, asked = expected(*case), Mock(side_effect=AssertionError("asked"))
    monkeypatch.setattr("django_sitemaps09.declare.locations.reverse", asked)
    assert Route(name, *args, **kwargs).url([]) == url


def test_patterns_of_django_s_own_converters_are_written_in_columns():
    COMPILED.clear()
    for each in CASES:
        in_columns(*each)
    assert {
        *("int", "slug", "str", "no-converter", "path", "uuid", "two", "adjacent", "unicode", "special"),
        *("brackets", "several", "same", "paged", "kind", "in-shop", "given", "deep:number", "march"),
        *("deep:deeper:detail", "second:number", "third:number", "product", "i18n:deeper:detail"),
    } == COMPILED
    assert Route("int", number=F("pk")).compiled().compose([[0, 1]]) is not None
    # No rows and no columns are not.
    assert Route("slug", slug=F("x")).compiled().compose([[]]) is None
    assert Route("home").compiled().compose([]) is None


few_texts = st.text(min_size=1, max_size=8) | st.text("ab/ä %\n", max_size=8)
KEYS = {"str": "text", "path": "rest", "slug": "slug", "same": "value"}


@given(texts=st.lists(few_texts, min_size=1, max_size=5), name=st.sampled_from([*KEYS]))
def test_a_column_returns_the_same_as_its_rows(texts, name):
    key = KEYS[name]
    each = [expected(name, (), {key: text}) for text in texts]
    composed = Route(name, **{key: F("x")}).compiled().compose([texts])
    found = composed and composed.texts()
    assert found is None or found == each
    plain = all(text.isascii() and text.isalpha() for text in texts)
    # The first of several patterns is for numbers.
    assert found is not None or not plain or name == "same"


@given(rows=st.lists(st.tuples(st.text("ab/ä ", max_size=3), st.integers(-1, 3)), max_size=6))
def test_one_row_does_not_affect_the_next_one(rows):
    route = Route("two", first=F("a"), second=F("b"))
    for text, number in rows:
        found = outcome(lambda: route.url([text, number]))  # noqa: B023 called at once
        assert found == expected("two", (), {"first": text, "second": number})


@pytest.mark.parametrize("args", [(1,), (F("a"),), (None,)])
def test_positional_and_named_arguments_together_are_refused_as_reverse_does(args):
    with pytest.raises(ValueError, match=r"Route\('two'\).*not both"):
        Route("two", *args, second=F("b"))
    with pytest.raises(ValueError, match="Don't mix"):
        reverse("two", args=args, kwargs={"second": 1})


def test_an_argument_may_have_any_name_and_a_view_can_be_reversed_instead_of_a_name():
    route = Route("slug", viewname=1, self=F("self"))
    assert (route.pattern, route.kwargs["viewname"]) == ("slug", 1)
    assert outcome(lambda: route.url(["s"])) == expected("slug", (), {"viewname": 1, "self": "s"})
    route = Route("two", first=F("a"), second=F("b"))
    assert route.url(iter(["a", 1])) == route.url(("a", 1)) == "/two/a/1/"
    assert Route(alone, slug=F("x")).url(["s"]) == reverse(alone, kwargs={"slug": "s"}) == "/alone/s/"


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))])  # noqa: S301
def test_a_route_can_be_copied_and_sent_to_workers_and_shows_how_it_was_made(duplicate):
    assert repr(Route("home")) == "Route('home')"
    routes = {
        "F(a), 1": Route("two", F("a"), 1), "first=F(a), second=1": Route("two", first=F("a"), second=1),
    }  # fmt: skip
    for arguments, route in routes.items():
        twin = duplicate(route)
        assert repr(twin) == repr(route) == f"Route('two', {arguments})"
        assert twin.url(["s"]) == route.url(["s"]) == "/two/s/1/"


def test_what_is_compiled_goes_with_its_urlconf():
    with override_settings(ROOT_URLCONF=other):
        resolver = weakref.ref(urls.get_resolver())
        assert Route("slug", slug=F("x")).compiled().compose([["s"]]) is not None
        assert resolver() in _compiled_routes
    urls.clear_url_caches()
    gc.collect()
    assert resolver() is None


def test_an_error_of_the_urlconf_is_raised_and_nothing_is_kept(monkeypatch):
    """This includes a `KeyError`, for example from a missing environment variable."""
    _compiled_routes.clear()
    route = Route("app:list")
    with monkeypatch.context() as patch:
        patch.setattr(urls.URLResolver, "app_dict", property(Mock(side_effect=KeyError("SECRET"))))
        with pytest.raises(KeyError, match="SECRET"):
            route.compiled()
    assert not _compiled_routes.get(urls.get_resolver())


LOCALIZED = {"about", "product", "i18n:deeper:detail", "language", "march", "i18n-march"}


@pytest.mark.parametrize("language", ["en", "de", "pt-br", "fr", None])
def test_the_language_is_the_one_that_is_active(language):
    for name, args, kwargs in [each for each in CASES if each[0] in LOCALIZED]:
        route = Route(name, *args, **kwargs)
        outcome(lambda: route.url([]))  # noqa: B023 called at once
        with translation.override(language, deactivate=language is None):
            url = expected(name, args, kwargs)
            assert [outcome(lambda: route.url([])), as_columns(name, args, kwargs)] == [url, url]  # noqa: B023
        assert outcome(lambda: route.url([])) == expected(name, args, kwargs)  # noqa: B023


PREFIXED = ["root", "str", "about", "product", "deep:home", "int", "nowhere"]


@pytest.mark.parametrize("prefix", ["/", "/app/", "/app", "/a b/ü/", "/%41/", "//", ""])
def test_the_script_prefix_is_the_one_that_is_active(prefix):
    for name, args, kwargs in [each for each in CASES if each[0] in PREFIXED]:
        route = Route(name, *args, **kwargs)
        for active in ("/", prefix, "/"):
            urls.set_script_prefix(active)
            assert outcome(lambda: route.url([])) == expected(name, args, kwargs)  # noqa: B023 called at once


def test_a_prefix_without_a_slash_in_front_is_left_to_each_row():
    """Joined to a base, it would become part of the host."""
    urls.set_script_prefix("app/")
    assert Route("slug", slug=F("x")).compiled().compose([["s"]]) is None


def test_the_urlconf_is_the_one_that_is_active():
    slug, product = Route("slug", slug=F("slug")), Route("product", slug=F("slug"))
    with override_settings(ROOT_URLCONF=other):
        assert [slug.url(["s"]), product.url(["s"])] == ["/other/s/", "/products/s/"]
        with translation.override("de"):
            assert product.url(["s"]) == "/de/products/s/"
    for active, path_of_slug in ((None, "/slug/s/"), (other, "/other/s/"), (None, "/slug/s/")):
        urls.set_urlconf(active)
        assert slug.url(["s"]) == path_of_slug
    assert product.url(["s"]) == "/en/products/s/"


def test_each_thread_has_its_own_language_and_prefix():
    route, meeting = Route("product", slug=F("slug")), threading.Barrier(3)

    def located(language, prefix):
        urls.set_script_prefix(prefix)
        with translation.override(language):
            found = set()
            for _ in range(20):
                meeting.wait(10)
                found.add(route.url(["s"]))
            return found

    with ThreadPoolExecutor(3) as pool:
        found = pool.map(located, ["en", "de", "pt-br"], ["/", "/a/", "/b/"])
    assert list(found) == [{"/en/products/s/"}, {"/a/de/products/s/"}, {"/b/pt-br/products/s/"}]


short = st.text(max_size=5)
numbers = st.integers() | st.integers(0, 99) | st.booleans() | st.floats() | st.decimals(allow_nan=False)
texts = st.text(max_size=12) | st.text("abcAZ09-_/.%?# äß\n", max_size=8) | st.binary(max_size=4)
others = st.none() | st.uuids() | st.uuids().map(str) | st.dates()
values = texts | numbers | others | short.map(mark_safe) | short.map(lazystr)
names = st.sampled_from(sorted({name for name, _, _ in MATCHING}))
keys = st.sampled_from(sorted({key for _, _, kwargs in CASES for key in kwargs}))
keywords = st.dictionaries(keys, values, max_size=2)
arguments = st.tuples(st.lists(values, max_size=2), st.just({})) | st.tuples(st.just([]), keywords)


@given(name=names, arguments=arguments, way=st.sampled_from(WAYS))
def test_any_values_return_the_same_as_reverse(name, arguments, way):
    assert way(name, *arguments) == expected(name, *arguments)


@given(st.data(), st.sampled_from([case for case in MATCHING if case[2]]), st.sampled_from(WAYS))
@settings(max_examples=300)
def test_any_values_of_the_right_arguments_return_the_same_as_reverse(data, case, way):
    name, _, arguments = case
    kwargs = {key: data.draw(values | st.just(value), label=key) for key, value in arguments.items()}
    assert way(name, (), kwargs) == expected(name, (), kwargs)
