"""With any pattern, values, language, prefix and URLconf, a `Route` returns what `reverse()` returns."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import pytest
from django.db.models import F
from django.test import override_settings
from django.urls import (
    NoReverseMatch,
    URLResolver,
    clear_url_caches,
    get_resolver,
    reverse,
    set_script_prefix,
    set_urlconf,
)
from django.utils import translation
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from django_sitemaps09 import Route
from django_sitemaps09.routing.routes import _compiled_routes
from tests.support.routes import (
    CASES,
    COMPILED,
    FAILING,
    MATCHING,
    WAYS,
    alone,
    as_columns,
    expected,
    in_columns,
    nothing_active,
    other,
    outcome,
)

__all__ = ["nothing_active"]

pytestmark = pytest.mark.urls("tests.support.routes")


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
