"""Links between languages: each item links to itself in all its languages, for any slices."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import F
from django.test import override_settings
from django.urls import reverse

from django_sitemaps09 import Route
from django_sitemaps09.entries import Alternate
from tests.models import Article
from tests.support.factories import ArticleFactory
from tests.support.languages import BARE, PREFIXED, complaints, page_of, slices_of
from tests.support.sources import BASE, alternates, declaration, errors, listing, spoken


def speaking(languages: dict[str, list[str]]) -> Any:
    """Return a section of these items, each in its languages, with all links and an `x-default`."""
    return spoken(
        languages,
        alternates=True,
        x_default=True,
        get_languages_for_item=lambda self, item: languages[item],
    )


def linked(section: Any) -> list[dict[str, str]]:
    """Return the links of each entry by language. A language must not occur twice."""
    found = alternates(page_of(section).text)
    for links in found:
        assert len(dict(links)) == len(links)
    return [dict(links) for links in found]


# Targets of links


class TestTheLinksOfAnItem:
    def test_name_a_language_that_hreflang_cannot_express_in_no_entry(self) -> None:
        """The entry is listed, and the language is reported."""
        codes = ["en", "ca-valencia", "de"]
        section = spoken("ab", alternates=True, languages=codes)
        done = page_of(section)
        assert done.locations == [f"{BASE}/{code}/{item}/" for item in "ab" for code in codes]
        assert "hreflang" in done.text
        assert 'hreflang="ca' not in done.text
        assert [(key, field) for key, field, _ in errors([done])] == [("any", "alternates")]
        assert "'ca-valencia'" in errors([done])[0][2]

    def test_are_none_in_an_entry_that_they_do_not_name(self) -> None:
        codes = ["en", "ca-valencia"]
        section = spoken("a", alternates=True, languages=codes)
        assert [sorted(links) for links in linked(section)] == [["en"], []]

    def test_name_no_language_twice(self) -> None:
        codes = ["sr@latin", "sr-latn"]
        section = spoken("a", alternates=True, languages=codes)
        assert len(linked(section)) == 2

    def test_that_cannot_be_are_named_once_a_page(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slices_of(monkeypatch, 1)
        section = spoken("abc", alternates=True, languages=["ca-valencia"])
        assert len(complaints(section)) == 1

    def test_are_none_without_alternates(self) -> None:
        done = page_of(spoken("a", x_default=True))
        assert (len(done.locations), "xhtml" in done.text) == (3, False)


# The x-default link


class TestXDefault:
    @pytest.mark.parametrize("prefixed", [True, False])
    @pytest.mark.parametrize("slug", ["en/", "de/", "en/en/de/", "a/en/b", "é/en/"])
    @pytest.mark.parametrize("route", [True, False])
    @pytest.mark.django_db
    def test_loses_nothing_but_a_prefix_of_languages(self, prefixed: bool, slug: str, route: bool) -> None:
        """With `prefix_default_language=False`, nothing is removed, even if a slug looks like a prefix."""
        ArticleFactory(slug=slug)
        location = (
            Route("page", slug=F("slug")) if route else lambda self, item: reverse("page", args=[slug])
        )
        section = declaration(model=Article, i18n=True, alternates=True, x_default=True, location=location)
        with override_settings(ROOT_URLCONF=PREFIXED if prefixed else BARE):
            for links in linked(section):
                assert links["en"] == links["x-default"].replace(
                    f"{BASE}/", f"{BASE}/en/" if prefixed else f"{BASE}/", 1
                )

    @pytest.mark.parametrize("code", ["en", "de", "pt-br", "fr", "pt-BR", "DE"])
    def test_is_the_url_of_the_default_language_less_its_prefix(self, code: str) -> None:
        """Django accepts a setting in upper case, because its checks and locales ignore case."""
        section = spoken("a", alternates=True, x_default=True)
        with override_settings(LANGUAGE_CODE=code):
            [found] = {links.get("x-default") for links in linked(section)}
        assert found in {"fr": [None], "pt-BR": [None, f"{BASE}/a/"], "DE": [None, f"{BASE}/a/"]}.get(
            code, [f"{BASE}/a/"]
        )

    def test_is_none_of_an_item_without_the_default_language(self) -> None:
        of = {"a": ["de"], "b": ["en", "de"], "c": ["fr"]}
        section = speaking(of)
        assert ["x-default" in links for links in linked(section)] == [False, True, True, False]

    @pytest.mark.parametrize(
        ("answer", "url"),
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
    def test_is_what_a_method_says(self, answer: object, url: str | None) -> None:
        section = spoken("a", alternates=True, x_default=lambda self, item: answer)
        assert [links.get("x-default") for links in linked(section)] == [url] * 3

    @pytest.mark.parametrize(
        "answer", ["start", 1, "https://u@x.example/", "/a#b", "/\ud800", f"/{'a' * 2047}", KeyError("b")]
    )
    def test_that_is_invalid_or_fails_is_skipped_and_reported(self, answer: object) -> None:
        def x_default(self: Any, item: str) -> object:
            if item == "b" and isinstance(answer, Exception):
                raise answer
            return answer if item == "b" else True

        section = spoken("abc", alternates=True, x_default=x_default)
        found = linked(section)
        assert ["x-default" in links for links in found] == [True] * 3 + [False] * 3 + [True] * 3
        assert all(len(links) >= 3 for links in found)
        assert [error[:2] for error in complaints(section)] == [("2", "x_default")]

    def test_true_of_a_method_adds_no_link_without_a_default_language(self) -> None:
        section = spoken("a", alternates=True, languages=["de"], x_default=lambda self, item: True)
        assert linked(section) == [{"de": f"{BASE}/de/a/"}]
        assert complaints(section) == []


# A project's own links


class TestAlternatesOfAMethod:
    @pytest.mark.parametrize(
        "kind", [Alternate, lambda *pair: pair, lambda *pair: [*pair]], ids=["alternate", "pair", "list"]
    )
    def test_are_the_links_of_an_item_that_they_name(self, kind: Any) -> None:
        """Without `i18n`, links on this and on other hosts can be `Alternate` objects or pairs."""

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
    def test_name_the_item_however_its_url_is_written(self, location: str, given: str) -> None:
        section = listing("a", location=location, alternates=lambda self, item: [("en", given)])
        assert linked(section) == [{"en": f"{BASE}/%C3%A4/"}]

    @pytest.mark.parametrize(
        ("links", "reason"),
        [
            ([("de", "/other/"), ("fr", "https://fr.example/")], "do not include the item's own URL"),
            ([("en", "/b/"), ("EN", "/other/")], "the language 'en' more than once"),
            (
                [("en", "/b/"), ("x-default", "/"), ("X-Default", "/")],
                "the language 'x-default' more than once",
            ),
            ([("en", "/b/"), ("de", "other/")], "neither a path"),
            ([("en", "/b/"), ("de", None)], "neither text"),
            ([("en", "/b/"), ("ca-valencia", "/c/")], "not a language code for hreflang"),
            ([("en", "/b/"), ("", "/c/")], "not a language code for hreflang"),
            ([("en", "/b/"), (None, "/c/")], "not a language code for hreflang"),
            ([("en", "/b/"), "de"], "is not an Alternate"),
            ([("en", "/b/"), ("de", "/c/", 1)], "too many values"),
            ([("en", "/b/"), None], "cannot unpack"),
            (7, "is not a list"),
        ],
    )
    def test_that_are_not_a_complete_set_are_skipped_and_reported(self, links: Any, reason: str) -> None:
        """All links of the item are skipped, and no links of other items."""

        def alternates_of(self: Any, item: str) -> Any:
            return links if item == "b" else [("en", f"/{item}/")]

        section = listing("abc", alternates=alternates_of)
        assert linked(section) == [{"en": f"{BASE}/a/"}, {}, {"en": f"{BASE}/c/"}]
        ((key, field, text),) = complaints(section)
        assert (key, field) == ("2", "alternates")
        assert reason in text

    def test_are_added_to_the_languages_of_an_item(self) -> None:
        section = spoken(
            "ab",
            alternates=lambda self, item: [("fr", f"https://fr.example/{item}")] if item == "a" else None,
        )
        own = [{code: f"{BASE}/{code.lower()}/{item}/" for code in ("en", "de", "pt-BR")} for item in "ab"]
        assert linked(section) == [own[0] | {"fr": "https://fr.example/a"}] * 3 + [own[1]] * 3

    @pytest.mark.parametrize("code", ["de", "pt_BR", "x-default"])
    def test_that_repeat_a_language_of_an_item_are_skipped_and_reported(self, code: str) -> None:
        section = spoken(
            "a",
            x_default=True,
            alternates=lambda self, item: [("fr", "https://fr.example/"), (code, "https://x.example/")],
        )
        assert {tuple(links) for links in linked(section)} == {("en", "de", "pt-BR", "x-default")}
        ((_, field, reason),) = complaints(section)
        assert field == "alternates"
        assert "more than once" in reason

    def test_are_kept_next_to_a_language_that_has_no_hreflang(self) -> None:
        section = spoken(
            "a",
            languages=["en", "ca-valencia"],
            alternates=lambda self, item: [("fr", "https://fr.example/")],
        )
        assert "fr" in linked(section)[0]
