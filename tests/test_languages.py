"""Laws of languages: each item links to itself in all of its own, whatever reads it, in whatever slices.

The first part is of our own road, the last one of contrib's, where its classes say what is right.
"""

from __future__ import annotations

import gc
import re
import tracemalloc
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.contrib.sites.models import Site
from django.db import connection, connections
from django.db.models import F, QuerySet
from django.test import RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import path, reverse
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from django_sitemaps09 import ModelSitemap, Route, Sitemap, pages, routes, sources, views
from django_sitemaps09.entries import Alternate
from django_sitemaps09.export import export
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.sitemaps.translated import Translated
from django_sitemaps09.sources import positions, queryset
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.queryset import QuerySource
from django_sitemaps09.sources.rows import slices
from tests.contrib_road import roads
from tests.models import Article
from tests.support.databases import parameter, require
from tests.test_sources import (
    BASE,
    LIMITS,
    alternates,
    compiled,
    declaration,
    errors,
    in_language,
    listing,
    locations,
    rendered,
    through_get_urls,
)

TEN = ["en", "de", "fr", "it", "es", "pt-br", "zh-hans", "zh-hant", "ja", "es-419"]
BY_TEN = {"i18n": True, "alternates": True, "x_default": True, "languages": TEN}
XHTML = "{http://www.w3.org/1999/xhtml}"


def nothing(request: object, slug: str) -> None:
    """What a location leads to."""


def urlconf(*, prefixed: bool) -> Any:
    made: Any = ModuleType("urls of languages")
    made.urlpatterns = i18n_patterns(
        path("articles/<slug:slug>/", nothing, name="article"),
        path("<path:slug>", nothing, name="page"),
        prefix_default_language=prefixed,
    )
    return made


PREFIXED, BARE = urlconf(prefixed=True), urlconf(prefixed=False)


def by_route(self: Any, item: Article) -> str:
    return reverse("article", kwargs={"slug": item.slug})


def articles_in(using: str, count: int) -> QuerySet[Article]:
    Article.objects.using(using).bulk_create(Article(slug=f"s{n}") for n in range(count))
    return Article.objects.using(using).order_by("pk")


def slices_of(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    for module, name in (
        (queryset, "SLICE"),
        (queryset, "SERVER_SLICE"),
        (slices, "INSTANCES"),
        (positions, "SLICE"),
    ):
        monkeypatch.setattr(module, name, size)


def page_of(section: Any, limits: Limits = LIMITS) -> Any:
    """The only page of a section."""
    (done,) = rendered(compiled(section, limits))
    return done


def linked(section: Any) -> list[dict[str, str]]:
    """The links of each entry, by their languages, none of which may come twice."""
    found = alternates(page_of(section).text)
    for links in found:
        assert len(dict(links)) == len(links)
    return [dict(links) for links in found]


def complaints(section: Any) -> list[tuple[str, str, str]]:
    return errors(rendered(compiled(section)))


def named(attributes: dict[str, Any]) -> str:
    names = [f"{name}()" if callable(value) else name for name, value in attributes.items()]
    return "-".join(names) or "nothing"


# 1. What entries link to.


class TestTheLinksOfAnItem:
    @given(st.lists(st.sampled_from(TEN), min_size=1, max_size=10, unique=True), st.integers(1, 4))
    def test_are_the_same_complete_set_in_each_of_its_entries(self, codes: list[str], count: int) -> None:
        """Itself included: crawlers ignore a link that does not come back."""
        items = [f"i{n}" for n in range(count)]
        section = listing(items, i18n=True, alternates=True, languages=codes, location=in_language)
        done = page_of(section)
        found = alternates(done.text)
        assert len(found) == len(done.locations) == count * len(codes)
        for start in range(0, len(found), len(codes)):
            own, links = done.locations[start : start + len(codes)], found[start : start + len(codes)]
            assert all(some == links[0] for some in links)
            assert [url for _, url in links[0]] == own

    @pytest.mark.parametrize(
        ("code", "language"),
        [
            ("en", "en"),
            ("pt-br", "pt-BR"),
            ("zh-hans", "zh-Hans"),
            ("zh-hant", "zh-Hant"),
            ("es-419", "es-419"),
            ("zh-hant-tw", "zh-Hant-TW"),
            ("sr@latin", "sr-Latn"),
            ("kab", "kab"),
        ],
    )
    def test_name_languages_as_hreflang_has_them(self, code: str, language: str) -> None:
        section = listing("a", i18n=True, alternates=True, languages=[code], location=in_language)
        assert linked(section) == [{language: f"{BASE}/{code}/a/"}]

    def test_name_a_language_that_hreflang_cannot_express_in_no_entry(self) -> None:
        """It is listed, and named to the project."""
        codes = ["en", "ca-valencia", "de"]
        section = listing("ab", i18n=True, alternates=True, languages=codes, location=in_language)
        done = page_of(section)
        assert done.locations == [f"{BASE}/{code}/{item}/" for item in "ab" for code in codes]
        assert "hreflang" in done.text
        assert 'hreflang="ca' not in done.text
        assert [(key, field) for key, field, _ in errors([done])] == [("any", "alternates")]
        assert "'ca-valencia'" in errors([done])[0][2]

    def test_are_none_in_an_entry_that_they_do_not_name(self) -> None:
        codes = ["en", "ca-valencia"]
        section = listing("a", i18n=True, alternates=True, languages=codes, location=in_language)
        assert [sorted(links) for links in linked(section)] == [["en"], []]

    def test_name_no_language_twice(self) -> None:
        codes = ["sr@latin", "sr-latn"]
        section = listing("a", i18n=True, alternates=True, languages=codes, location=in_language)
        assert len(linked(section)) == 2

    def test_that_cannot_be_are_named_once_a_page(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slices_of(monkeypatch, 1)
        section = listing(
            "abc", i18n=True, alternates=True, languages=["ca-valencia"], location=in_language
        )
        assert len(complaints(section)) == 1

    def test_are_none_without_alternates(self) -> None:
        section = listing("a", i18n=True, x_default=True, location=in_language)
        done = page_of(section)
        assert len(done.locations) == 3
        assert "xhtml" not in done.text


# 2. The link for everybody else.


class TestXDefault:
    def test_is_the_url_of_the_default_language_less_its_prefix(self) -> None:
        section = listing("a", i18n=True, alternates=True, x_default=True, location=in_language)
        assert {links["x-default"] for links in linked(section)} == {f"{BASE}/a/"}

    @pytest.mark.parametrize("prefixed", [True, False])
    @pytest.mark.parametrize("slug", ["en/", "de/", "en/en/de/", "a/en/b", "é/en/"])
    @pytest.mark.parametrize("route", [True, False])
    @pytest.mark.django_db
    def test_loses_nothing_but_a_prefix_of_languages(self, prefixed: bool, slug: str, route: bool) -> None:
        """With `prefix_default_language=False` there is none, whatever a slug looks like."""
        Article.objects.create(slug=slug)
        location = (
            Route("page", slug=F("slug")) if route else lambda self, item: reverse("page", args=[slug])
        )
        section = declaration(model=Article, i18n=True, alternates=True, x_default=True, location=location)
        with override_settings(ROOT_URLCONF=PREFIXED if prefixed else BARE):
            for links in linked(section):
                assert links["en"] == links["x-default"].replace(
                    f"{BASE}/", f"{BASE}/en/" if prefixed else f"{BASE}/", 1
                )

    @pytest.mark.parametrize("code", ["de", "pt-br", "fr"])
    def test_follows_the_default_language(self, code: str) -> None:
        section = listing("a", i18n=True, alternates=True, x_default=True, location=in_language)
        with override_settings(LANGUAGE_CODE=code):
            found = [links.get("x-default") for links in linked(section)]
        assert found == [None if code == "fr" else f"{BASE}/a/"] * 3

    @pytest.mark.parametrize("code", ["pt-BR", "DE"])
    def test_never_has_a_prefix_of_the_default_language(self, code: str) -> None:
        """Django takes such a setting: its checks and its locales do not look at the case."""
        section = listing("a", i18n=True, alternates=True, x_default=True, location=in_language)
        with override_settings(LANGUAGE_CODE=code):
            assert {links.get("x-default") for links in linked(section)} <= {None, f"{BASE}/a/"}

    def test_is_none_of_an_item_without_the_default_language(self) -> None:
        of = {"a": ["de"], "b": ["en", "de"], "c": ["fr"]}
        section = listing(
            of,
            i18n=True,
            alternates=True,
            x_default=True,
            location=in_language,
            get_languages_for_item=lambda self, item: of[item],
        )
        assert ["x-default" in links for links in linked(section)] == [False, True, True, False]

    @pytest.mark.parametrize(
        ("told", "url"),
        [
            (True, f"{BASE}/a/"),
            (False, None),
            (None, None),
            ("", None),
            ("/start/", f"{BASE}/start/"),
            ("/ü b", f"{BASE}/%C3%BC%20b"),
            ("https://other.example/x", "https://other.example/x"),
            ("http://bücher.example", "http://xn--bcher-kva.example/"),
        ],
    )
    def test_is_what_a_method_says(self, told: object, url: str | None) -> None:
        section = listing(
            "a", i18n=True, alternates=True, x_default=lambda self, item: told, location=in_language
        )
        assert [links.get("x-default") for links in linked(section)] == [url] * 3

    @pytest.mark.parametrize(
        "told", ["start", 1, "https://u@x.example/", "/a#b", "/\ud800", f"/{'a' * 2047}"]
    )
    def test_that_is_bad_is_left_out_alone_and_named(self, told: object) -> None:
        def x_default(self: Any, item: str) -> object:
            return told if item == "b" else True

        section = listing("abc", i18n=True, alternates=True, x_default=x_default, location=in_language)
        found = linked(section)
        assert ["x-default" in links for links in found] == [True] * 3 + [False] * 3 + [True] * 3
        assert all(len(links) >= 3 for links in found)
        assert [error[:2] for error in complaints(section)] == [("2", "x_default")]

    def test_of_a_method_that_fails_is_left_out_alone_and_named(self) -> None:
        def x_default(self: Any, item: str) -> bool:
            return item != "b" or 1 / 0 > 0

        section = listing("ab", i18n=True, alternates=True, x_default=x_default, location=in_language)
        assert ["x-default" in links for links in linked(section)] == [True] * 3 + [False] * 3
        assert [error[:2] for error in complaints(section)] == [("2", "x_default")]

    def test_true_of_a_method_is_none_where_there_is_no_default_language(self) -> None:
        section = listing(
            "a",
            i18n=True,
            alternates=True,
            languages=["de"],
            x_default=lambda self, item: True,
            location=in_language,
        )
        assert linked(section) == [{"de": f"{BASE}/de/a/"}]
        assert complaints(section) == []

    @override_settings(LANGUAGE_CODE="pt-br")
    def test_does_not_depend_on_slices(self, monkeypatch: pytest.MonkeyPatch) -> None:
        of = {"a": ["pt-br"], "b": ["pt-BR"]}
        section = listing(
            of,
            i18n=True,
            alternates=True,
            x_default=True,
            location=in_language,
            get_languages_for_item=lambda self, item: of[item],
        )
        whole = page_of(section).text
        slices_of(monkeypatch, 1)
        assert page_of(section).text == whole


# 3. Links that the project names.


class TestAlternatesOfAMethod:
    @pytest.mark.parametrize(
        "kind", [Alternate, lambda *pair: pair, lambda *pair: [*pair]], ids=["alternate", "pair", "list"]
    )
    def test_are_the_links_of_an_item_that_they_name(self, kind: Any) -> None:
        """Without i18n; on other hosts and here, as `Alternate` or as a pair."""

        def links(self: Any, item: str) -> list[Any]:
            return [
                kind("EN_us", f"/{item}/"),
                kind("de", f"https://www.example.de/ü{item}"),
                kind("x-default", f"https://www.example.org/{item}?a&b"),
            ]

        assert linked(listing("ab", alternates=links)) == [
            {
                "en-US": f"{BASE}/{item}/",
                "de": f"https://www.example.de/%C3%BC{item}",
                "x-default": f"https://www.example.org/{item}?a&amp;b",
            }
            for item in "ab"
        ]

    @pytest.mark.parametrize("given", [f"{BASE}/ä/", "/ä/", "/%C3%A4/", "HTTPS://WWW.example.COM/ä/"])
    @pytest.mark.parametrize("location", [f"{BASE}/ä/", "/ä/", "/%C3%A4/"])
    def test_name_the_item_in_whatever_way_its_url_is_written(self, location: str, given: str) -> None:
        section = listing("a", location=location, alternates=lambda self, item: [("en", given)])
        assert linked(section) == [{"en": f"{BASE}/%C3%A4/"}]

    @pytest.mark.parametrize(
        ("links", "reason"),
        [
            ([("de", "/other/"), ("fr", "https://fr.example/")], "do not name the item itself"),
            ([("en", "/b/"), ("EN", "/other/")], "name 'en' twice"),
            ([("en", "/b/"), ("x-default", "/"), ("X-Default", "/")], "name 'x-default' twice"),
            ([("en", "/b/"), ("de", "other/")], "neither a path"),
            ([("en", "/b/"), ("de", "")], "is empty"),
            ([("en", "/b/"), ("de", None)], "neither a path"),
            ([("en", "/b/"), ("de", "ftp://de.example/")], "neither a path"),
            ([("en", "/b/"), ("de", "https://u:p@de.example/")], "a user or a backslash"),
            ([("en", "/b/"), ("de", "https://de.example/#a")], "holds a fragment"),
            ([("en", "/b/"), ("de", "https://[::1/")], "a host or a port"),
            ([("en", "/b/"), ("de", "https://de.example:99999/")], "a port that no URL can have"),
            ([("en", "/b/"), ("de", "/\x00")], "control character"),
            ([("en", "/b/"), ("ca-valencia", "/c/")], "not a language code for hreflang"),
            ([("en", "/b/"), ("", "/c/")], "not a language code for hreflang"),
            ([("en", "/b/"), (None, "/c/")], "not a language code for hreflang"),
            ([("en", "/b/"), "de"], "not a language code for hreflang"),
            ([("en", "/b/"), ("de", "/c/", 1)], "too many values"),
            ([("en", "/b/"), None], "cannot unpack"),
            (7, "not iterable"),
        ],
    )
    def test_that_are_no_whole_set_are_left_out_and_named(self, links: Any, reason: str) -> None:
        """All those of that item, and none of another one."""

        def told(self: Any, item: str) -> Any:
            return links if item == "b" else [("en", f"/{item}/")]

        section = listing("abc", alternates=told)
        assert linked(section) == [{"en": f"{BASE}/a/"}, {}, {"en": f"{BASE}/c/"}]
        ((key, field, text),) = complaints(section)
        assert (key, field) == ("2", "alternates")
        assert reason in text

    @pytest.mark.parametrize("nothing", [None, [], (), "", iter([])])
    def test_can_be_none(self, nothing: Any) -> None:
        section = listing("a", alternates=lambda self, item: nothing)
        assert linked(section) == [{}]
        assert complaints(section) == []

    def test_that_fail_halfway_are_left_out_and_named(self) -> None:
        def told(self: Any, item: str) -> Any:
            yield "en", f"/{item}/"
            if item == "b":
                raise LookupError("gone")

        section = listing("abc", alternates=told)
        assert [len(links) for links in linked(section)] == [1, 0, 1]
        assert complaints(section) == [("2", "alternates", "LookupError: gone")]

    def test_are_added_to_the_languages_of_an_item(self) -> None:
        section = listing(
            "ab",
            i18n=True,
            location=in_language,
            alternates=lambda self, item: [("fr", f"https://fr.example/{item}")] if item == "a" else None,
        )
        own = [{code: f"{BASE}/{code.lower()}/{item}/" for code in ("en", "de", "pt-BR")} for item in "ab"]
        assert linked(section) == [own[0] | {"fr": "https://fr.example/a"}] * 3 + [own[1]] * 3

    @pytest.mark.parametrize("code", ["de", "pt_BR", "x-default"])
    def test_that_repeat_a_language_of_an_item_are_left_out_and_named(self, code: str) -> None:
        section = listing(
            "a",
            i18n=True,
            x_default=True,
            location=in_language,
            alternates=lambda self, item: [("fr", "https://fr.example/"), (code, "https://x.example/")],
        )
        assert {tuple(links) for links in linked(section)} == {("en", "de", "pt-BR", "x-default")}
        ((_, field, reason),) = complaints(section)
        assert field == "alternates"
        assert "twice" in reason

    def test_are_kept_beside_a_language_that_has_no_hreflang(self) -> None:
        section = listing(
            "a",
            i18n=True,
            languages=["en", "ca-valencia"],
            location=in_language,
            alternates=lambda self, item: [("fr", "https://fr.example/")],
        )
        assert "fr" in linked(section)[0]

    def test_name_the_item_on_one_of_several_bases(self) -> None:
        """What a project names for all hosts in one list, it names for each."""
        bases = (BASE, Base("https", "www.example.org"))
        section = listing("a", alternates=lambda self, item: [("en", f"{BASE}/a/")])
        source = sources.source("things", section, bases, LIMITS)
        (batch,) = source.batches(Page(1, None, None))
        assert batch.alternates == [[Alternate("en", f"{BASE}/a/")]]
        elsewhere = listing("a", alternates=lambda self, item: [("en", "https://other.example/a/")])
        (batch,) = sources.source("things", elsewhere, bases, LIMITS).batches(Page(1, None, None))
        assert batch.alternates == [[]]
        assert [error.field for error in batch.errors] == ["alternates"]

    def test_by_paths_are_for_each_of_several_bases(self) -> None:
        bases = (BASE, Base("https", "www.example.org"))
        section = listing("a", alternates=lambda self, item: [("en", "/a/"), ("de", "https://de.example")])
        source = sources.source("things", section, bases, LIMITS)
        (batch,) = source.batches(Page(1, None, None))
        assert batch.alternates == [[Alternate("en", "/a/"), Alternate("de", "https://de.example/")]]
        assert batch.errors == []

    def test_are_the_same_in_whatever_slices(self, monkeypatch: pytest.MonkeyPatch) -> None:
        section = listing(
            "abcdefg",
            alternates=lambda self, item: [("en", f"/{item}/")] if item in "ace" else [("en", "/")],
        )
        whole = rendered(compiled(section))
        for size in (1, 2, 3, 7):
            slices_of(monkeypatch, size)
            found = rendered(compiled(section))
            assert [part.text for part in found] == [part.text for part in whole]
            assert errors(found) == errors(whole)


# 4. Languages of each item.

SEVERAL = [["en", "de"], ["de"], [], ["fr", "en"], ["es-419", "zh-hans", "de"], ["pt-br"], ["zz", "en"]]


class TestLanguagesOfEachItem:
    @pytest.mark.parametrize("size", [1, 2, 3, 7])
    @pytest.mark.parametrize("columns", [True, False], ids=["route", "method"])
    @override_settings(ROOT_URLCONF=PREFIXED)
    def test_give_the_same_bytes_in_whatever_slices(
        self, using: str, monkeypatch: pytest.MonkeyPatch, size: int, columns: bool
    ) -> None:
        rows = articles_in(using, 20)
        first = rows[0].pk

        def languages(self: Any, item: Article) -> list[str]:
            return SEVERAL[(item.pk - first) % len(SEVERAL)]

        section = declaration(
            queryset=rows,
            i18n=True,
            alternates=True,
            x_default=True,
            get_languages_for_item=languages,
            location=Route("article", slug=F("slug")) if columns else by_route,
            limit=9,
        )
        # The sample that pages are cut by is a slice, too.
        found = sources.page_map(compiled(section), LIMITS)
        whole = [part.text for part in rendered(compiled(section), LIMITS, found)]
        slices_of(monkeypatch, size)
        assert [part.text for part in rendered(compiled(section), LIMITS, found)] == whole

    @given(st.lists(st.lists(st.sampled_from(TEN), unique=True, max_size=4), max_size=8), st.integers(1, 8))
    def test_are_those_that_a_list_says(self, told: list[list[str]], size: int) -> None:
        section = listing(
            range(len(told)),
            i18n=True,
            alternates=True,
            location=in_language,
            get_languages_for_item=lambda self, item: told[item],
        )
        with mock.patch.object(positions, "SLICE", size):
            done = rendered(compiled(section))
        expected = {f"{BASE}/{code}/{item}/" for item, codes in enumerate(told) for code in codes}
        assert len(locations(done)) == len(expected)
        assert {*locations(done)} == expected
        assert errors(done) == []
        for part in done:
            for location, links in zip(part.locations, alternates(part.text), strict=True):
                item = int(location.split("/")[-2])
                assert {url for _, url in links} == {f"{BASE}/{code}/{item}/" for code in told[item]}

    @pytest.mark.parametrize("bad", [None, 7, ["de", None], ["a b"], [""], ["<>"]])
    def test_that_are_none_leave_the_item_out_and_name_it(self, bad: Any) -> None:
        section = listing(
            "abc",
            i18n=True,
            location=in_language,
            get_languages_for_item=lambda self, item: bad if item == "b" else ["de"],
        )
        assert page_of(section).locations == [f"{BASE}/de/a/", f"{BASE}/de/c/"]
        assert [error[:2] for error in complaints(section)] == [("2", "languages")]

    @pytest.mark.parametrize("kind", [tuple, set, iter, dict.fromkeys])
    def test_can_be_any_iterable(self, kind: Any) -> None:
        section = listing(
            "a",
            i18n=True,
            location=in_language,
            get_languages_for_item=lambda self, item: kind(["de", "en"]),
        )
        assert page_of(section).locations == [f"{BASE}/en/a/", f"{BASE}/de/a/"]

    def test_can_be_told_by_an_instance(self) -> None:
        sitemap: Any = listing("a", i18n=True, location=in_language)()
        sitemap.get_languages_for_item = lambda item: ["de"]
        assert page_of(sitemap).locations == [f"{BASE}/de/a/"]


# 5. Pages.


class TestPages:
    @pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 7, 30])
    @pytest.mark.parametrize("kind", ["queryset", "list", "union"])
    @pytest.mark.django_db
    @override_settings(ROOT_URLCONF=PREFIXED)
    def test_count_entries_and_part_no_item(self, kind: str, limit: int) -> None:
        rows = articles_in("default", 10)
        items = {
            "queryset": lambda: rows,
            "list": lambda: list(rows),
            "union": lambda: rows.filter(pk__lt=5).order_by().union(rows.order_by(), all=False),
        }[kind]
        section = type(
            "Paged",
            (Sitemap,),
            {"items": lambda self: items(), "i18n": True, "location": by_route, "limit": limit},
        )
        source = compiled(section)
        assert isinstance(source, QuerySource if kind == "queryset" else PositionSource)
        done = rendered(source)
        assert sorted(locations(done)) == sorted(
            f"{BASE}/{code}/articles/{row.slug}/" for row in rows for code in ("en", "de", "pt-br")
        )
        assert {part.written.urls for part in done[:-1]} <= {max(1, limit // 3) * 3}
        holders = [{url.split("/")[-2] for url in part.locations} for part in done]
        assert sum(map(len, holders)) == len(rows)

    @given(st.lists(st.lists(st.sampled_from(TEN[:5]), unique=True, max_size=5), max_size=12))
    def test_keep_the_languages_of_each_item_together(self, told: list[list[str]]) -> None:
        section = listing(
            range(len(told)),
            i18n=True,
            languages=TEN[:5],
            limit=7,
            location=in_language,
            get_languages_for_item=lambda self, item: told[item],
        )
        # As if every item were believed to have one language.
        source = compiled(section)
        done = rendered(source, LIMITS, pages.cut(source, 7))
        assert len(locations(done)) == sum(map(len, told))
        assert all(part.written.urls <= 7 for part in done)
        holders = [{url.split("/")[-2] for url in part.locations} for part in done]
        assert sum(map(len, holders)) == len(set().union(*holders))

    def test_hold_no_item_with_more_languages_than_the_limit_and_than_the_class(self) -> None:
        """It is never parted, and named."""
        section = listing(
            "a", i18n=True, limit=2, location=in_language, get_languages_for_item=lambda self, item: TEN
        )
        done = rendered(compiled(section))
        assert locations(done) == []
        assert errors(done) == [("1", "location", "fits no page")]


class TestPagesOfItemsWithFewOfTheLanguages:
    """What counts is what is used, not all that an item may have."""

    def test_are_cut_for_the_languages_that_the_first_items_have(self) -> None:
        used = {"few": TEN[:1], "two": TEN[:2], "all": TEN}
        rows = {}
        for name, codes in used.items():
            section = listing(
                range(300),
                i18n=True,
                languages=TEN,
                limit=100,
                location=in_language,
                get_languages_for_item=lambda self, item, codes=codes: codes,
            )
            rows[name] = sources.rows_on_page(compiled(section), LIMITS)
        assert rows == {"few": 95, "two": 48, "all": 10}

    def test_hold_no_more_entries_than_the_limit_where_later_items_have_all(self) -> None:
        section = listing(
            range(600),
            i18n=True,
            languages=TEN,
            limit=100,
            location=in_language,
            get_languages_for_item=lambda self, item: TEN[:1] if item < 300 else TEN,
        )
        source = compiled(section)
        done = rendered(source, LIMITS, pages.cut(source, sources.rows_on_page(source, LIMITS)))
        assert len(set(locations(done))) == len(locations(done)) == 300 + 3_000
        assert all(part.written.urls <= 100 for part in done)

    @pytest.mark.django_db
    def test_are_live_what_they_are_in_the_export(self, settings: Any, tmp_path: Path) -> None:
        settings.SITEMAPS09 = {"ROOT": tmp_path, "BASE_URL": "https://www.example.com"}
        Article.objects.bulk_create(Article(slug=f"s{i}") for i in range(200))
        section = type(
            "Few",
            (ModelSitemap,),
            {
                "model": Article,
                "i18n": True,
                "languages": TEN,
                "limit": 100,
                "get_languages_for_item": lambda self, item: TEN[:1],
            },
        )
        [exported] = export(sitemaps={"few": section}).sections
        assert [file.urls for file in exported.files] == [95, 95, 10]
        response = views.sitemap_index(RequestFactory().get("/sitemap.xml"), {"few": section})
        names = re.findall(r"sitemap-few-\d+\.xml\.gz", response.content.decode())
        assert names == [file.name for file in exported.files]


# 6. What it costs.


def read(section: Any) -> int:
    """The entries of a section, of which none is kept."""
    source = compiled(section)
    return sum(sum(batch.counts()) for batch in source.batches(Page(1, None, None)))


class TestTheCosts:
    @pytest.mark.django_db
    @override_settings(ROOT_URLCONF=PREFIXED)
    def test_no_list_of_items_by_languages_is_made(self) -> None:
        """Four times as many items take no more memory."""
        articles_in("default", 8_000)
        first = Article.objects.order_by("pk")[0].pk
        peaks = []
        for count in (2_000, 8_000):
            section = declaration(
                queryset=Article.objects.filter(pk__lt=first + count),
                location=Route("article", slug=F("slug")),
                **BY_TEN,
            )
            read(section)
            gc.collect()
            tracemalloc.start()
            try:
                assert read(section) == count * 10
                peaks.append(tracemalloc.get_traced_memory()[1])
            finally:
                tracemalloc.stop()
        assert peaks[1] < peaks[0] * 1.2

    @pytest.mark.django_db
    @override_settings(ROOT_URLCONF=PREFIXED)
    def test_no_more_instances_live_than_those_of_a_slice(self) -> None:
        articles_in("default", 4_000)
        alive: weakref.WeakSet[Article] = weakref.WeakSet()
        most = 0

        def location(self: Any, item: Article) -> str:
            nonlocal most
            alive.add(item)
            if len(alive) > 2 * slices.INSTANCES:
                # On Python 3.10 an exception inside reverse() keeps frames until the next collection.
                gc.collect()
            most = max(most, len(alive))
            return by_route(self, item)

        assert read(declaration(model=Article, location=location, **BY_TEN)) == 40_000
        assert 0 < most <= 2 * slices.INSTANCES

    @pytest.mark.parametrize("columns", [True, False], ids=["columns", "methods"])
    @override_settings(ROOT_URLCONF=PREFIXED)
    def test_queries_are_as_many_in_ten_languages_as_in_one(
        self, using: str, monkeypatch: pytest.MonkeyPatch, columns: bool
    ) -> None:
        """One a slice: only that slices are smaller, where there are so many rows."""
        rows = articles_in(using, 250)
        slices_of(monkeypatch, 100)
        counts = []
        for languages in (["en"], TEN):
            location = Route("article", slug=F("slug")) if columns else by_route
            section = declaration(queryset=rows, location=location, **BY_TEN | {"languages": languages})
            with CaptureQueriesContext(connections[using]) as asked:
                assert read(section) == 250 * len(languages)
            counts.append(len([query for query in asked if "tests_article" in query["sql"]]))
        assert counts == [3, 3]

    @pytest.mark.django_db
    def test_a_route_is_compiled_once_a_language(self, monkeypatch: pytest.MonkeyPatch) -> None:
        articles_in("default", 300)
        slices_of(monkeypatch, 10)
        section = declaration(model=Article, location=Route("article", slug=F("slug")), **BY_TEN)
        with (
            override_settings(ROOT_URLCONF=urlconf(prefixed=True)),
            mock.patch.object(routes, "candidates", wraps=routes.candidates) as compiling,
        ):
            assert read(section) == 3_000
            assert compiling.call_count == len(TEN)

    @pytest.mark.django_db
    @override_settings(ROOT_URLCONF=PREFIXED)
    def test_slices_of_many_languages_are_smaller(self) -> None:
        articles_in("default", 600)
        section = declaration(model=Article, location=Route("article", slug=F("slug")), **BY_TEN)
        source = compiled(section)
        sizes = [len(batch.keys) for batch in source.batches(Page(1, None, None))]
        assert sizes == [150, 150, 150, 150]


# 8. The ways of declaring (7 is contrib's road, below).


@pytest.mark.parametrize("size", [1, 3, 1_500])
@pytest.mark.parametrize("limit", [1, 9, 50_000])
@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"alternates": True},
        {"alternates": True, "x_default": True},
        {"alternates": True, "x_default": lambda self, item: item.slug != "s3" or "/start/"},
        {"alternates": lambda self, item: [("ja", f"https://ja.example/{item.slug}")]},
        {"languages": ["ca-valencia", "de"], "alternates": True},
        {"alternates": True, "get_languages_for_item": lambda self, item: SEVERAL[int(item.slug[1:]) % 7]},
    ],
    ids=named,
)
@override_settings(ROOT_URLCONF=PREFIXED)
@pytest.mark.django_db
def test_columns_and_methods_give_the_same_bytes_in_languages(
    monkeypatch: pytest.MonkeyPatch, attributes: dict[str, Any], limit: int, size: int
) -> None:
    slices_of(monkeypatch, size)
    rows = articles_in("default", 8)
    columns = {"location": Route("article", slug=F("slug")), "priority": F("weight")}
    methods = {"location": by_route, "priority": lambda self, item: item.weight}
    of_columns, of_methods = (
        rendered(compiled(declaration(queryset=rows, i18n=True, limit=limit, **attributes, **hooks)))
        for hooks in (columns, methods)
    )
    assert [part.text for part in of_columns] == [part.text for part in of_methods]
    assert {*errors(of_columns)} == {*errors(of_methods)}


# 7. Contrib's road.


def on_both(items: Callable[[], Any], **attributes: Any) -> tuple[Any, Any]:
    """The same sitemap as a class of contrib's, and as one of ours."""
    attributes.setdefault("location", in_language)
    found = {"i18n": True, "items": lambda self: items(), **attributes}
    return tuple(type("Section", (base,), found)() for base in (contrib.Sitemap, Sitemap))  # type: ignore[return-value]


def answer(sitemap: Any, number: int) -> Any:
    """What a paginator says of a page."""
    try:
        paginator = sitemap.paginator
        return paginator.count, paginator.num_pages, [*paginator.page(number).object_list]
    except Exception as error:  # noqa: BLE001 whatever contrib raises, we raise too
        return type(error), str(error)


UNION = Article.objects.filter(pk__lt=4).union(Article.objects.filter(pk__gt=2))
ROWS: dict[str, Callable[[], Any]] = {
    "ordered": lambda: Article.objects.order_by("-pk"),
    "reversed": lambda: Article.objects.order_by("pk").reverse(),
    "unordered": lambda: Article.objects.all(),
    "sliced": lambda: Article.objects.order_by("pk")[1:6],
    "none": lambda: Article.objects.none(),
    "values": lambda: Article.objects.order_by("pk").values("slug"),
    "distinct": lambda: Article.objects.order_by("pk").distinct(),
    "union": lambda: UNION.order_by("slug"),
    "raw": lambda: Article.objects.raw("SELECT * FROM tests_article ORDER BY id"),
    "prefetched": lambda: Article.objects.order_by("pk").prefetch_related("tags"),
    "a generator": lambda: iter("abcdefg"),
    "a dict": lambda: dict.fromkeys("abcdefg"),
}


def evaluated() -> QuerySet[Article]:
    rows = Article.objects.order_by("pk")
    len(rows)
    return rows


ROWS["evaluated"] = evaluated


@pytest.fixture
def seven(db: None) -> None:
    articles_in("default", 7)


class TestPaginatorsOfContrib:
    @given(
        items=st.lists(st.integers(0, 4), max_size=9),
        languages=st.lists(st.sampled_from(["en", "de", "fr"]), max_size=4),
        of=st.none() | st.lists(st.lists(st.sampled_from("xyz"), max_size=3), min_size=5, max_size=5),
        limit=st.integers(1, 12),
        number=st.integers(-1, 12),
    )
    def test_see_what_contribs_list_holds(
        self, items: list[int], languages: list[str], of: list[list[str]] | None, limit: int, number: int
    ) -> None:
        attributes: dict[str, Any] = {"languages": languages, "limit": limit}
        if of is not None:
            attributes["get_languages_for_item"] = lambda self, item: of[item]
        theirs, ours = on_both(lambda: items, **attributes)
        assert answer(ours, number) == answer(theirs, number)

    @given(st.integers(0, 9), st.integers(0, 4), st.integers(0, 40), st.integers(0, 40))
    def test_can_take_any_part_of_it(self, items: int, languages: int, start: int, length: int) -> None:
        theirs, ours = on_both(lambda: range(items), languages=TEN[:languages])
        assert ours._items()[start : start + length] == theirs._items()[start : start + length]
        assert [*ours._items()] == theirs._items()

    @pytest.mark.parametrize(
        "use",
        [
            lambda items: items[0],
            lambda items: items[-1],
            lambda items: items[::2],
            lambda items: items[3:1],
            lambda items: [*reversed(items)],
            lambda items: items + [("c", "en")],  # noqa: RUF005 as a project has it
            lambda items: items == [*items],
        ],
        ids=["first", "last", "step", "empty", "reversed", "sum", "equal"],
    )
    def test_of_a_project_can_use_its_items_as_the_list_that_they_were(self, use: Any) -> None:
        """`_items()` and `paginator` may be overridden, and call what they override."""
        theirs, ours = on_both(lambda: ["a", "b"])
        assert use(ours._items()) == use(theirs._items())

    @pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 30])
    @pytest.mark.parametrize("each", [False, True], ids=["all", "each"])
    @pytest.mark.parametrize("name", ROWS)
    @pytest.mark.django_db
    @pytest.mark.usefixtures("seven")
    @pytest.mark.filterwarnings("ignore:Pagination may yield")
    def test_see_the_rows_that_contrib_sees(self, name: str, limit: int, each: bool) -> None:
        attributes: dict[str, Any] = {"limit": limit, "location": "/"}
        if each:
            attributes["get_languages_for_item"] = lambda self, item: SEVERAL[len(str(item)) % 7]
        theirs, ours = on_both(ROWS[name], **attributes)
        for number in range(1, 24):
            assert answer(ours, number)[:2] == answer(theirs, number)[:2]
            found, expected = answer(ours, number), answer(theirs, number)
            if name == "raw" and len(expected) == 3:
                assert [(row.pk, code) for row, code in found[2]] == [
                    (row.pk, code) for row, code in expected[2]
                ]
            else:
                assert found == expected

    @pytest.mark.django_db
    @pytest.mark.usefixtures("seven")
    def test_count_a_slice_of_an_ordered_union(self) -> None:
        theirs, ours = on_both(lambda: UNION.order_by("slug")[:5])
        assert theirs.paginator.count == 15
        assert ours.paginator.count == 15

    @pytest.mark.parametrize("using", [parameter("postgresql")])
    def test_have_each_entry_on_one_page_where_rows_tie(self, using: str) -> None:
        require(using)
        Article.objects.using(using).bulk_create(
            Article(slug=f"s{n}", weight=n % 3 / 10) for n in range(3_000)
        )
        _, ours = on_both(lambda: Article.objects.using(using).order_by("weight"), limit=500)
        numbers = range(1, ours.paginator.num_pages + 1)
        found = [(row.pk, code) for n in numbers for row, code in ours.paginator.page(n).object_list]
        assert len({*found}) == len(found) == 9_000

    @pytest.mark.django_db
    @pytest.mark.usefixtures("seven")
    def test_read_the_rows_of_one_page_where_rows_have_an_order(self) -> None:
        """Contrib reads all of them for each."""
        _, ours = on_both(lambda: Article.objects.order_by("pk"), limit=6)
        with CaptureQueriesContext(connection) as asked:
            assert len(ours.paginator.page(2).object_list) == 6
        counting, reading = (query["sql"] for query in asked)
        assert "COUNT(" in counting
        assert re.search("LIMIT 2 OFFSET 2$", reading)

    @pytest.mark.django_db
    @pytest.mark.usefixtures("seven")
    def test_read_no_row_more_than_a_page_touches(self) -> None:
        """A page of four entries, of three languages an item, ends within an item."""
        _, ours = on_both(lambda: Article.objects.order_by("pk"), limit=4)
        with CaptureQueriesContext(connection) as asked:
            found = ours.paginator.page(2).object_list
        assert [code for _, code in found] == ["de", "pt-br", "en", "de"]
        assert asked[-1]["sql"].endswith("LIMIT 2 OFFSET 1")

    @pytest.mark.django_db
    @pytest.mark.usefixtures("seven")
    def test_count_the_languages_of_each_item_and_keep_none(self) -> None:
        alive: weakref.WeakSet[Article] = weakref.WeakSet()
        most = 0

        def languages(self: Any, item: Article) -> Sequence[str]:
            nonlocal most
            alive.add(item)
            most = max(most, len(alive))
            return ["en", "de"]

        _, ours = on_both(lambda: Article.objects.order_by("pk"), get_languages_for_item=languages)
        with mock.patch("django_sitemaps09.sitemaps.translated._AT_A_TIME", 2):
            assert isinstance(ours.paginator.object_list, Translated)
            assert ours.paginator.count == 14
        assert most <= 4

    def test_honour_the_languages_that_an_instance_was_given(self) -> None:
        theirs, ours = on_both(lambda: ["a", "b"])
        for sitemap in (theirs, ours):
            sitemap.get_languages_for_item = lambda item: ["de"] if item == "a" else []
        assert answer(ours, 1) == answer(theirs, 1)


def entries(content: bytes) -> list[Any]:
    """What a document says of each entry, in its order."""
    root = etree.fromstring(content)
    return [
        [(part.tag, (part.text or "").strip(), sorted(part.attrib.items())) for part in url] for url in root
    ]


@pytest.fixture
def answers(settings: Any, db: None) -> Any:
    """The bodies of contrib's view and of ours for the same page of a sitemap, each with its templates."""

    def answers(items: Callable[[], Any], number: int = 1, **attributes: Any) -> tuple[bytes, bytes]:
        found = []
        request = RequestFactory().get("/", {"p": number})
        for sitemap, view in zip(
            on_both(items, **attributes), (contrib_views.sitemap, views.sitemap), strict=True
        ):
            theirs = view is contrib_views.sitemap
            settings.TEMPLATES = roads.templates(*([roads.STOCK] if theirs else []))
            found.append(view(request, {"things": sitemap}).render().content)
        return tuple(found)  # type: ignore[return-value]

    Site.objects.clear_cache()
    settings.ROOT_URLCONF = PREFIXED
    return answers


class TestViewsOfContrib:
    @pytest.mark.parametrize("number", [1, 2, 3])
    @pytest.mark.parametrize(
        "attributes",
        [
            {},
            {"alternates": True},
            {"alternates": True, "x_default": True},
            {"x_default": True},
            {"languages": ["de", "ca-valencia"], "alternates": True},
            {"alternates": True, "x_default": True, "languages": ["de"], "priority": 0.5},
            {
                "alternates": True,
                "get_languages_for_item": lambda self, item: SEVERAL[item.pk % 7] or ["en"],
            },
        ],
        ids=named,
    )
    @pytest.mark.usefixtures("seven")
    def test_answer_with_contribs_document(self, answers: Any, attributes: Any, number: int) -> None:
        theirs, ours = answers(
            lambda: Article.objects.order_by("pk"), number, limit=2, location=by_route, **attributes
        )
        assert entries(ours) == entries(theirs)
        assert len(entries(ours)) == 2

    def test_add_the_links_of_a_method(self, answers: Any) -> None:
        _, ours = answers(
            lambda: "a",
            languages=["en"],
            alternates=lambda self, item: [("fr", "/é"), ("it", "https://it.example")],
        )
        assert re.findall('hreflang="(.*?)" href="(.*?)"', ours.decode()) == [
            ("en", "http://example.com/en/a/"),
            ("fr", "http://example.com/%C3%A9"),
            ("it", "https://it.example/"),
        ]

    def test_leave_out_a_bad_link_of_a_method(self, answers: Any) -> None:
        """As they do without i18n."""
        _, ours = answers(lambda: "a", languages=["en"], alternates=lambda self, item: [("fr", "relative")])
        assert len(entries(ours)) == 1

    def test_take_a_pair_that_is_a_list(self, answers: Any) -> None:
        """As they do without i18n, and as our own road does."""
        _, ours = answers(lambda: "a", languages=["en"], alternates=lambda self, item: [["fr", "/fr"]])
        assert 'hreflang="fr" href="http://example.com/fr"' in ours.decode()

    def test_leave_out_links_that_name_a_language_twice(self, answers: Any) -> None:
        """As our own road does."""
        _, ours = answers(lambda: "a", languages=["en"], alternates=lambda self, item: [("en", "/other/")])
        assert "/other/" not in ours.decode()

    @pytest.mark.usefixtures("cached_site")
    @pytest.mark.parametrize("links", [[("en", "/other/")], [("en", "/a/"), ("en", "/other/")]])
    def test_leave_out_links_that_are_no_whole_set_of_a_class_with_its_own_machinery(
        self, links: Any
    ) -> None:
        """As our own road does."""
        section = through_get_urls(listing("a", alternates=lambda self, item: links))
        assert alternates(page_of(section).text) == [[]]

    def test_join_the_x_default_of_a_method_to_the_host(self, answers: Any) -> None:
        _, ours = answers(
            lambda: "a", languages=["en"], alternates=True, x_default=lambda self, item: "/start/"
        )
        assert 'href="http://example.com/start/"' in ours.decode()

    def test_leave_out_a_bad_x_default_of_a_method(self, answers: Any) -> None:
        _, ours = answers(
            lambda: "a", languages=["en"], alternates=True, x_default=lambda self, item: "a b"
        )
        assert "a b" not in ours.decode()

    def test_leave_out_the_x_default_of_a_method_that_fails(self, answers: Any) -> None:
        _, ours = answers(
            lambda: "a", languages=["en"], alternates=True, x_default=lambda self, item: 1 / 0
        )
        assert len(entries(ours)) == 1

    def test_have_no_x_default_without_alternates(self, answers: Any) -> None:
        _, ours = answers(lambda: "a", languages=["en"], x_default=lambda self, item: "https://x.example/")
        assert "x-default" not in ours.decode()
