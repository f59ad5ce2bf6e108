"""With any active language, prefix and URLconf, a `Route` returns the same URL as `reverse()`."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db.models import F
from django.test import override_settings
from django.urls import set_script_prefix, set_urlconf
from django.utils import translation
from django.utils.functional import lazystr
from django.utils.safestring import mark_safe
from hypothesis import HealthCheck, given, settings as hypothesis_settings, strategies as st

from django_sitemaps09 import Route
from tests.support.routes import CASES, MATCHING, WAYS, as_columns, expected, nothing_active, other, outcome

__all__ = ["nothing_active"]

pytestmark = pytest.mark.urls("tests.support.routes")


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
