"""Items in several languages: each language has an entry that links to all of them."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import translation
from django.utils.translation import get_language

from tests.support.sources import (
    BASE,
    ITEMS,
    alternates,
    compiled,
    errors,
    failing,
    in_language,
    listing,
    locations,
    rendered,
)

pytestmark = pytest.mark.usefixtures("cached_site")


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
    fails = failing(ValueError("no"))
    languages = lambda self, item: fails(self, item) or ["de"]  # noqa: E731
    done = rendered(
        compiled(listing(ITEMS, i18n=True, location=in_language, get_languages_for_item=languages))
    )
    assert locations(done) == [f"{BASE}/de/a/", f"{BASE}/de/c/"]
    assert errors(done) == [("2", "languages", "ValueError: no")]


@pytest.mark.parametrize("active", ["en", "de", "pt-br"])
def test_what_is_active_changes_nothing_and_stays_active(active: str) -> None:
    with translation.override(active):
        (done,) = rendered(compiled(listing("a", location=in_language)))
        (by_language,) = rendered(compiled(listing("a", i18n=True, location=in_language)))
        assert get_language() == active
    assert done.locations == [f"{BASE}/en/a/"]
    assert len(by_language.locations) == 3
