"""Items in several languages: each language has an entry that links to all of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.db.models import QuerySet
from django.test import override_settings
from django.urls import path
from django.utils import translation
from django.utils.translation import get_language

from django_sitemaps09.protocol import Limits
from tests.models import Article
from tests.support.sources import (
    BASE,
    COLUMNS,
    ITEMS,
    LIMITS,
    METHODS,
    alternates,
    compiled,
    cut,
    declaration,
    errors,
    failing,
    in_language,
    listing,
    locations,
    rendered,
)

pytestmark = pytest.mark.usefixtures("cached_site")


def test_each_item_is_listed_in_each_language_with_all_of_them() -> None:
    (done,) = rendered(
        compiled(listing("ab", i18n=True, alternates=True, x_default=True, location=in_language))
    )
    codes = {"en": "en", "de": "de", "pt-br": "pt-BR"}
    assert done.locations == [f"{BASE}/{code}/{item}/" for item in "ab" for code in codes]
    for item, links in zip("aaabbb", alternates(done.text), strict=True):
        assert links == [
            *((language, f"{BASE}/{code}/{item}/") for code, language in codes.items()),
            ("x-default", f"{BASE}/{item}/"),
        ]


def test_an_item_has_the_languages_that_it_says() -> None:
    of = {"a": ["en", "de"], "b": ["de"], "c": [], "d": ["en", "fr"]}
    (done,) = rendered(
        compiled(
            listing(
                of,
                i18n=True,
                alternates=True,
                location=in_language,
                get_languages_for_item=lambda self, item: of[item],
            )
        )
    )
    expected = [(item, code) for item, codes in of.items() for code in codes]
    assert done.locations == [f"{BASE}/{code}/{item}/" for item, code in expected]
    found = [[language for language, _ in links] for links in alternates(done.text)]
    assert found == [of[item] for item, _ in expected]


def test_only_the_languages_of_the_class_are_listed() -> None:
    (done,) = rendered(compiled(listing("a", i18n=True, languages=["de", "en"], location=in_language)))
    assert done.locations == [f"{BASE}/de/a/", f"{BASE}/en/a/"]
    assert "xhtml" not in done.text
    (none,) = rendered(compiled(listing("a", i18n=True, languages=[], location=in_language)))
    assert none.locations == []


def test_a_language_without_a_url_is_neither_listed_nor_named_by_the_others() -> None:
    def location(self: Any, item: str) -> str:
        if item == "b" and get_language() == "de":
            raise LookupError("not translated")
        return in_language(self, item)

    (done,) = rendered(compiled(listing("abc", i18n=True, alternates=True, location=location)))
    assert f"{BASE}/de/b/" not in done.text
    assert [len(links) for links in alternates(done.text)] == [3, 3, 3, 2, 2, 3, 3, 3]
    assert errors([done]) == [("2", "location", "LookupError: not translated")]


def test_an_item_whose_languages_cannot_be_determined_is_skipped_and_reported() -> None:
    hooks = {"i18n": True, "location": in_language, "get_languages_for_item": failing(ValueError("no"))}
    of = lambda self, item: hooks["get_languages_for_item"](self, item) or ["de"]  # noqa: E731
    done = rendered(compiled(listing(ITEMS, **{**hooks, "get_languages_for_item": of})))
    assert locations(done) == [f"{BASE}/de/a/", f"{BASE}/de/c/"]
    assert errors(done) == [("2", "languages", "ValueError: no")]


@pytest.mark.parametrize("limits", [Limits(7, LIMITS.bytes), Limits(50_000, 2_000)], ids=["urls", "bytes"])
def test_an_item_and_its_languages_are_on_one_page(limits: Limits) -> None:
    of = {f"i{n}": ["en", "de", "pt-br"][: n % 4] for n in range(20)}
    source = compiled(
        listing(
            of,
            i18n=True,
            alternates=True,
            location=in_language,
            get_languages_for_item=lambda self, item: of[item],
        ),
        limits,
    )
    # As if every item had only one language.
    found = cut(source, 7)
    done = rendered(source, limits, found)
    assert len(done) > len(found.pages)
    assert sorted(locations(done)) == sorted(f"{BASE}/{code}/{item}/" for item in of for code in of[item])
    assert all(part.written.urls <= limits.urls and part.written.bytes <= limits.bytes for part in done)
    holders = [{url.split("/")[-2] for url in part.locations} for part in done]
    assert sum(map(len, holders)) == len(set().union(*holders))


@pytest.mark.parametrize("active", ["en", "de", "pt-br"])
def test_what_is_active_changes_nothing_and_stays_active(active: str) -> None:
    with translation.override(active):
        (done,) = rendered(compiled(listing("a", location=in_language)))
        (by_language,) = rendered(compiled(listing("a", i18n=True, location=in_language)))
        assert get_language() == active
    assert done.locations == [f"{BASE}/en/a/"]
    assert len(by_language.locations) == 3


def nothing(request: object, slug: str) -> None:
    """View of all locations."""


urlpatterns = i18n_patterns(path("articles/<slug:slug>/", nothing, name="article"))


@override_settings(ROOT_URLCONF=__name__)
@pytest.mark.parametrize("x_default", [False, True])
def test_columns_and_methods_agree_in_all_languages(articles: QuerySet[Article], x_default: bool) -> None:
    texts = []
    for hooks in (COLUMNS, METHODS):
        source = compiled(
            declaration(
                queryset=articles, limit=9, i18n=True, alternates=True, x_default=x_default, **hooks
            )
        )
        done = rendered(source)
        texts.append([part.text for part in done])
        assert [part.written.urls for part in done] == [9, 9, 9, 9, 6]
    assert texts[0] == texts[1]
    assert f"{BASE}/de/articles/s1/" in texts[0][2] + texts[0][3] + texts[0][4] + texts[0][0] + texts[0][1]
