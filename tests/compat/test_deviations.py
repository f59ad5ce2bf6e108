"""Deviations of the compatibility views, except those in `test_deviations_times.py`."""

from __future__ import annotations

from datetime import date, datetime, timezone
from typing import Any

import pytest
from django.contrib.sitemaps import views as contrib_views
from django.test import Client, RequestFactory, override_settings
from django.urls import path
from lxml import etree

from django_sitemaps09 import Sitemap, views
from django_sitemaps09.exceptions import TextError

pytestmark = pytest.mark.django_db


class Plain(Sitemap[str]):
    def items(self) -> list[str]:
        return ["/a/", "/b/"]

    def location(self, item: str) -> str:
        return item


class Dated(Plain):
    lastmod: Any = "yesterday"


urlpatterns = [
    path("ours.xml", views.sitemap, {"sitemaps": {"s": Plain}}),
    path("contribs.xml", contrib_views.sitemap, {"sitemaps": {"s": Plain}}),
]


@pytest.fixture(autouse=True)
def _both_apps(settings: Any) -> None:
    """Install contrib's app first, so that its views find its own templates."""
    settings.INSTALLED_APPS = ["django.contrib.sitemaps", *settings.INSTALLED_APPS]


def body(view: Any, sitemap: Any) -> bytes:
    content = view(RequestFactory().get("/"), {"s": sitemap}).render().content
    assert isinstance(content, bytes)
    return content


@override_settings(SITEMAPS09={"BASE_URL": "https://www.example.org:8443"})
@pytest.mark.urls("tests.urls")
def test_base_url_replaces_the_host_of_the_request() -> None:
    """Deviation 4: contrib uses only the site and the request."""
    assert b"<loc>https://www.example.org:8443/a/</loc>" in body(views.sitemap, Plain)


@pytest.mark.parametrize("bad", ["\x00", "\x0b", "\ud800", "￾"])
def test_a_string_that_xml_cannot_contain_is_refused_and_names_its_item(bad: str) -> None:
    """Deviation 5: contrib writes a document that no parser accepts, or fails to encode it."""

    class Broken(Plain):
        def location(self, item: str) -> str:
            return f"/{bad}/"

    with pytest.raises(TextError, match="Item /a/"):
        body(views.sitemap, Broken)
    if bad != "\ud800":
        with pytest.raises(etree.XMLSyntaxError):
            etree.fromstring(body(contrib_views.sitemap, Broken))


@pytest.mark.parametrize(
    ("i18n", "others"),
    [
        (False, ("2026-01-01",)),
        (False, (7, "yesterday")),
        (False, (date(2026, 1, 3), "x")),
        (True, ("2026-01-01",)),
        (True, (7, "yesterday")),
    ],
)
def test_a_lastmod_that_is_not_a_date_can_be_mixed_with_others(i18n: bool, others: tuple[Any, ...]) -> None:
    """Deviation 6: contrib compares them, which fails."""
    lastmods = (datetime(2026, 1, 2, tzinfo=timezone.utc), *others)

    class Mixed(Sitemap[int]):
        languages = ["en"]

        def items(self) -> list[int]:
            return list(range(len(lastmods)))

        def location(self, item: int) -> str:
            return f"/{item}/"

        def lastmod(self, item: int) -> Any:
            return lastmods[item]

    Mixed.i18n = i18n
    answer = views.sitemap(RequestFactory().get("/"), {"s": Mixed}).render()
    assert answer.content.count(b"<loc>") == len(lastmods)
    assert b"<lastmod>2026-01-02T00:00:00Z</lastmod>" in answer.content
    assert "Last-Modified" not in answer.headers


@pytest.mark.parametrize("i18n", [False, True])
@pytest.mark.parametrize("bad", [".evil.com/", "@evil.com/", ":8080/", "evil.com/", "\\evil.com/", "\ta"])
def test_a_location_that_becomes_part_of_the_host_is_skipped(
    bad: str, i18n: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Deviation 11: contrib writes https://www.example.com.evil.com/."""

    class Evil(Plain):
        languages = ["en"]

        def items(self) -> list[str]:
            return ["/a/", bad, "", "?b"]

    Evil.i18n = i18n
    page = body(views.sitemap, Evil)
    assert page.count(b"<loc>") == 3
    assert b"evil" not in page
    assert "location" in caplog.text


def test_a_lastmod_that_is_not_a_date_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    """Deviation 6: contrib's index fails, and so does its sitemap if it sends `Last-Modified`."""
    assert b"lastmod" not in body(views.sitemap, Dated)
    with pytest.raises(TypeError):
        contrib_views.sitemap(RequestFactory().get("/"), {"s": Dated})

    class Today(Dated):
        lastmod = date(2026, 1, 1)

    assert "'yesterday' is neither a date nor a datetime" in caplog.text
    answer = views.sitemap(RequestFactory().get("/"), {"a": Dated, "b": Today}).render()
    assert answer.content.count(b"<lastmod>2026-01-01</lastmod>") == 2
    assert "Last-Modified" not in answer.headers


@override_settings(
    ROOT_URLCONF=__name__,
    LOGIN_URL="/login/",
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.auth.middleware.LoginRequiredMiddleware",
    ],
)
def test_the_views_are_public(client: Client) -> None:
    """Deviation 7: under `LoginRequiredMiddleware`, contrib redirects crawlers to the login page."""
    assert client.get("/ours.xml").status_code == 200
    assert client.get("/contribs.xml").status_code == 302


def test_the_documents_differ_in_white_space_alone() -> None:
    """Deviation 8: contrib has no line end between entries. What is declared is the same."""
    ours, contribs = body(views.sitemap, Plain), body(contrib_views.sitemap, Plain)
    assert ours != contribs
    assert ours.replace(b"\n", b"") == contribs.replace(b"\n", b"")
    empty = type("Empty", (Plain,), {"items": lambda self: []})
    assert body(views.sitemap, empty) == body(contrib_views.sitemap, empty)
