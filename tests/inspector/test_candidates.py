"""Paths are matched with the patterns of routes, and give back the values that they were made of."""

from __future__ import annotations

import uuid
from urllib.parse import unquote

import pytest
from django.db.models import F
from django.test import override_settings
from django.urls import include, path, re_path
from hypothesis import given, strategies as st

from django_sitemaps09 import PathTemplate, Route, protocol
from django_sitemaps09.hooks.expressions import alias
from django_sitemaps09.inspector.candidates import (
    column_conditions,
    field_conditions,
    path_conditions,
    route_conditions,
)
from django_sitemaps09.routing.routes import resolve_path
from tests.models import Article, Word
from tests.urls import nothing

shop = (
    [
        path("<int:number>/<slug:slug>/", nothing, name="product"),
        path("<slug:slug>/", nothing, name="product"),
    ],
    "shop",
)
urlpatterns = [
    path("any/<path:rest>", nothing, name="any"),
    path("word/<str:word>/", nothing, name="word"),
    path("any/shadowed/<slug:slug>/", nothing, name="shadowed"),
    path("id/<uuid:id>/", nothing, name="document"),
    path("<str:category>/shop/", include(shop, namespace="garden")),
    path("kind/<slug:slug>/", nothing, {"kind": "a"}, name="kind"),
    re_path(r"^year/([0-9]{4})/([a-z]+)/$", nothing, name="year"),
    re_path(r"^month/(?P<month>[0-9]+)(?:/(?P<day>[0-9]+))?/$", nothing, name="month"),
    path("view/<slug:slug>/", nothing),
]
SOME_ID = uuid.UUID(int=7)


@pytest.fixture(autouse=True)
def urlconf(settings):
    settings.ROOT_URLCONF = __name__


def found(route, location):
    return next(iter(route_conditions(route, resolve_path(location))), None)


@pytest.mark.parametrize(
    ("route", "location", "values"),
    [
        (Route("word", word=F("word")), "/word/a%20b/", ["a b"]),
        (Route("word", F("word")), "/word/a%20b/?page=2", ["a b"]),
        (Route("word", word=F("word")), "/word/a/b/", None),
        (Route("word", word="constant"), "/word/constant/", []),
        (Route("word", word="constant"), "/word/other/", None),
        (Route("document", id=F("id")), f"/id/{SOME_ID}/", [SOME_ID]),
        (Route("document", id=F("id")), "/id/7/", None),
        # Two patterns have the same name, and the prefix captures a value.
        (Route("garden:product", category=F("c"), slug=F("s")), "/tools/shop/rake/", ["tools", "rake"]),
        (Route("garden:product", category="tools", slug=F("s")), "/tools/shop/rake/", ["rake"]),
        (Route("garden:product", category="tools", slug=F("s")), "/seeds/shop/rake/", None),
        (
            Route("shop:product", category=F("c"), number=F("n"), slug=F("s")),
            "/tools/shop/7/rake/",
            ["tools", 7, "rake"],
        ),
        (Route("kind", slug=F("s"), kind="a"), "/kind/x/", ["x"]),
        (Route("kind", slug=F("s"), kind="b"), "/kind/x/", None),
        (Route("year", F("y"), F("m")), "/year/2026/may/", ["2026", "may"]),
        (Route("year", 2026, F("m")), "/year/2026/may/", ["may"]),
        (Route("year", 2025, F("m")), "/year/2026/may/", None),
        (Route("month", month=F("m"), day=F("d")), "/month/5/31/", ["5", "31"]),
        (Route("unknown", word=F("word")), "/word/a/", None),
    ],
)
def test_a_route_extracts_its_values_from_a_path(route, location, values):
    conditions = found(route, location)
    if values is None:
        assert conditions is None
    else:
        assert conditions == {alias("location", place): value for place, value in enumerate(values)}


def test_a_shadowed_pattern_is_matched():
    resolved = resolve_path("/any/shadowed/x/")
    assert resolved.match is not None
    assert resolved.match.url_name == "any"
    assert found(Route("shadowed", slug=F("slug")), "/any/shadowed/x/") == {alias("location"): "x"}


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="/\n\r", exclude_categories=["Cc"]), min_size=1)
)
@override_settings(ROOT_URLCONF=__name__)
def test_every_value_round_trips_through_a_route(text):
    route = Route("word", word=F("word"))
    location = route.url([text])
    assert unquote(location) == f"/word/{text}/"
    assert found(route, location) == {alias("location"): text}


@pytest.mark.parametrize(
    ("template", "path", "ways"),
    [
        ("/{a}/", "/x/", [["x"]]),
        ("/{a}/", "/a%20b/", [["a b"], ["a%20b"]]),
        ("/{a}/", "/%C3%BC/", [["ü"], ["%C3%BC"]]),
        ("/{a}/", "/x", []),
        ("/{a}/", "/", []),
        ("/{a}", "/", [[""]]),
        ("/{a}/{b}/", "/x/y/", [["x", "y"]]),
        ("/{a}/{b}/", "/x/y/z/", [["x", "y/z"], ["x/y", "z"]]),
        ("/{a}-{b}/", "/my-slug-7/", [["my", "slug-7"], ["my-slug", "7"]]),
        ("/{a}/{b}/", "/x/", []),
        ("/{b}/{a}/", "/x/y/", [["y", "x"]]),
        ("/{a}/{a}/", "/x/x/", [["x"]]),
        ("/{a}/{a}/", "/x/y/x/y/", [["y/x/y"], ["y"]]),
        ("/{a}{b}/", "/xy/", [["", "xy"], ["xy", ""]]),
        ("/page?id={a}", "/page?id=7", [["7"]]),
        ("/ü/{a}/", "/%C3%BC/x/", [["x"]]),
        ("/c/{c}/{a}/", "/c/d/x/", [["x"]]),
        ("/c/{c}/{a}/", "/c/e/x/", []),
        ("/all/", "/all/", [[]]),
        ("/all/", "/all/x/", []),
        ("https://www.example.com/{a}/", "/x/", [["x"]]),
        ("https://{a}/x/", "/x/", None),
        ("/%{a}/", "/%41/", None),
        ("/{a}1/", "/%41/", [["%4"]]),
        # An escape can be composed of a value and a literal.
        ("/{a}1-/", "/%41%2D/", None),
    ],
)
def test_a_path_template_extracts_its_values_from_a_url(template, path, ways):
    values = {"a": F("a"), "b": F("b"), "c": "d"}
    used = {name: value for name, value in values.items() if f"{{{name}}}" in template}
    conditions = path_conditions(PathTemplate(template, **used), f"https://www.example.com{path}")
    aliases = [{alias("location", place): value for place, value in enumerate(way)} for way in ways or ()]
    assert conditions == (None if ways is None else aliases)


def test_a_hostile_url_is_split_in_linear_time():
    names = "abcdefghij"
    template = PathTemplate(f"/{'/'.join(f'{{{name}}}' for name in names)}/x", **{n: F(n) for n in names})
    assert path_conditions(template, f"https://www.example.com{'/' * 2_000}") == []


@given(st.text(), st.text())
def test_every_value_round_trips_through_a_path_template(first, second):
    template = PathTemplate("/{a}/{b}", a=F("a"), b=F("b"))
    try:
        location = protocol.uri(str(template.url([first, second])))
    except ValueError:
        return
    ways = path_conditions(template, f"https://www.example.com{location}")
    ambiguous = first.count("/") + second.count("/") > 1
    expected = {alias("location", 0): first, alias("location", 1): second}
    assert ways is None or ambiguous or "%" in first + second or expected in ways


def test_only_fields_with_an_index_are_conditions():
    match = resolve_path("/word/a/").match
    assert match is not None
    assert field_conditions(Word, match) == [{"word": "a"}]
    # Its `slug` has no index, and it has no field `word`.
    assert field_conditions(Article, match) is None
    slug_match = resolve_path("/kind/x/").match
    assert slug_match is not None
    assert field_conditions(Article, slug_match) is None


def test_a_column_is_compared_with_the_path_and_the_url_with_and_without_escapes():
    conditions = column_conditions(Word, F("word"), "https://www.example.com/a%20b/")
    url = "https://www.example.com/a b/"
    paths = ["/a%20b/", "/a b/"]
    starts = ("", "https://www.example.com", "//www.example.com")
    assert conditions == [{"word__in": [f"{start}{path}" for start in starts for path in paths]}]
    assert column_conditions(Article, F("slug"), url) is None
    assert column_conditions(Article, F("category__slug"), url) is None
