"""Results of hooks in the dicts of `get_urls()`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.db import DatabaseError, InterfaceError
from django.utils import translation

from django_sitemaps09 import ModelSitemap, Route, Sitemap
from tests.models import Article
from tests.support.factories import ArticleFactory

SITE = SimpleNamespace(domain="www.example.com")
#: A path that is too long only together with the host. Contrib writes it.
LONG = f"/{'x' * 2_039}/"


class Linked(Sitemap[str]):
    def items(self) -> list[str]:
        return [LONG]

    def location(self, item: str) -> str:
        return item

    def alternates(self, item: str) -> list[tuple[str, str]]:  # type: ignore[override]
        return [("en", item), ("de", f"https://example.de{item}")]


def test_long_links_stay_as_contrib_has_long_locations() -> None:
    [url] = Linked().get_urls(site=SITE, protocol="https")
    assert url["location"] == f"https://www.example.com{LONG}"
    assert url["alternates"] == [
        {"lang_code": "en", "location": f"https://www.example.com{LONG}"},
        {"lang_code": "de", "location": f"https://example.de{LONG}"},
    ]


def test_a_path_of_a_link_is_on_a_site_whose_domain_is_unicode() -> None:
    [url] = Linked().get_urls(site=SimpleNamespace(domain="bücher.example"), protocol="https")
    assert url["location"] == f"https://bücher.example{LONG}"
    assert url["alternates"][0]["location"] == f"https://xn--bcher-kva.example{LONG}"


@pytest.mark.django_db
def test_a_section_without_languages_has_no_entries() -> None:
    ArticleFactory.create_batch(2)
    attributes = {"model": Article, "i18n": True, "languages": [], "location": Route("home")}
    sitemap = type("NoLanguages", (ModelSitemap,), attributes)()
    assert sitemap.get_urls(site=SITE, protocol="https") == []
    assert sitemap.paginator.count == 0


class Named(str):
    """An item whose name depends on the language."""

    def __str__(self) -> str:
        return f"item in {translation.get_language()}"


class Elsewhere(Linked):
    def items(self) -> list[str]:
        return [Named(".evil.com/")]


def test_skipped_entries_are_logged_in_the_language_of_the_site(caplog: pytest.LogCaptureFixture) -> None:
    with translation.override("de"):
        assert Elsewhere().get_urls(site=SITE, protocol="https") == []
    assert "item in en" in caplog.text


@pytest.mark.parametrize("error", [DatabaseError, InterfaceError])
def test_skipped_entries_are_logged_even_if_a_hook_of_another_one_raises_an_error_of_the_database(
    error: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    class Both(Elsewhere):
        def items(self) -> list[str]:
            return [*super().items(), LONG]

        def images(self, item: str) -> Any:
            raise error("the connection is closed")

    with pytest.raises(error):
        Both().get_urls(site=SITE, protocol="https")
    reason = "'item in en' does not begin with a slash, so its URL is not on https://www.example.com"
    assert reason in caplog.text
