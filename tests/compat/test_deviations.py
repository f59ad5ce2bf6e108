"""Deviations of the compatibility views, except those in `test_deviations_times.py`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.contrib.sites.requests import RequestSite
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from django.test import Client, RequestFactory, override_settings
from django.urls import path, reverse, reverse_lazy
from django.utils.functional import lazy
from django.utils.safestring import SafeString, mark_safe
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
    *i18n_patterns(
        path("about/", views.sitemap, name="localized"),
        path("docs/<slug>/", views.sitemap, name="doc"),
        prefix_default_language=False,
    ),
]
SITE = SimpleNamespace(domain="x.example")
UTC_MINUS_ONE = timezone(timedelta(hours=-1))


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
        (False, (date(2026, 1, 3), datetime(2026, 1, 2), "x")),
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


@pytest.mark.parametrize(
    "other", [date(2026, 1, 3), datetime(2026, 1, 3, 1), datetime(2026, 1, 2, 23, tzinfo=UTC_MINUS_ONE)]
)
@pytest.mark.parametrize("i18n", [False, True])
def test_dates_and_times_can_be_mixed(other: date, i18n: bool) -> None:
    """Deviation 6: contrib cannot compare them. The newest one is that of the response."""
    lastmods = {"/a/": datetime(2026, 1, 2, tzinfo=timezone.utc), "/b/": other}
    lastmod = lambda self, item: lastmods[item]  # noqa: E731
    section = type("Mixed", (Plain,), {"lastmod": lastmod, "i18n": i18n, "languages": ["en"]})
    response = views.sitemap(RequestFactory().get("/"), {"s": section})
    assert [url["lastmod"] for url in response.context_data["urlset"]] == list(lastmods.values())
    assert response.headers["Last-Modified"] == "Sat, 03 Jan 2026 00:00:00 GMT"


@pytest.mark.parametrize("is_method", [True, False])
def test_mixed_lastmods_can_depend_on_what_another_hook_sets(is_method: bool) -> None:
    lastmods = {"/a/": date(2026, 1, 3), "/b/": datetime(2026, 1, 2, tzinfo=timezone.utc)}

    class Setting(Plain):
        def location(self, item: str) -> str:
            self.current = lastmods[item]
            if not is_method:
                self.lastmod = lastmods[item]
            return item

        def lastmod(self, item: str) -> date:  # type: ignore[no-redef]
            return self.current

    response = views.sitemap(RequestFactory().get("/"), {"s": Setting})
    assert [url["lastmod"] for url in response.context_data["urlset"]] == list(lastmods.values())
    assert response.headers["Last-Modified"] == "Sat, 03 Jan 2026 00:00:00 GMT"


@override_settings(TIME_ZONE="Europe/Zurich")
def test_a_mixed_lastmod_that_is_out_of_range_in_utc_is_skipped() -> None:
    lastmods = {"/a/": datetime.min, "/b/": date(2026, 1, 2)}
    section = type("Mixed", (Plain,), {"lastmod": lambda self, item: lastmods[item]})
    response = views.sitemap(RequestFactory().get("/"), {"s": section}).render()
    assert response.content.count(b"<loc>") == 2
    assert response.content.count(b"<lastmod>") == 1
    assert "Last-Modified" not in response.headers


LANGUAGES = {"LANGUAGE_CODE": "en", "LANGUAGES": [("en", "English"), ("de", "German")]}


def test_a_lazy_url_that_is_marked_as_safe_is_escaped_once() -> None:
    location = lazy(lambda: mark_safe("/?a=1&amp;b=2"), SafeString)()
    section = type("Marked", (Plain,), {"items": lambda self: ["x"], "location": location})
    content = views.sitemap(RequestFactory().get("/"), {"s": section}).render().content
    assert b"/?a=1&amp;b=2</loc>" in content


@override_settings(ROOT_URLCONF=__name__, **LANGUAGES)
def test_a_lazy_url_is_in_the_language_of_its_entry() -> None:
    """Deviation 10: contrib evaluates it when another language is active."""
    lazy = lambda self, item: reverse_lazy("localized")  # noqa: E731
    attributes = {"items": lambda self: ["x"], "location": lazy, "i18n": True, "alternates": True}
    ours, theirs = (type("Lazy", (base,), attributes) for base in (Sitemap, contrib.Sitemap))
    urls, [first, second] = (
        Sitemap.get_urls(ours(), site=SITE),
        contrib.Sitemap.get_urls(theirs(), site=SITE),
    )
    assert [url["location"] for url in urls] == ["https://x.example/about/", "https://x.example/de/about/"]
    assert [link["location"] for link in urls[1]["alternates"]] == [url["location"] for url in urls]
    assert first["location"] == second["location"]


@override_settings(ROOT_URLCONF=__name__, **LANGUAGES)
def test_a_slug_that_is_the_code_of_the_default_language_stays_in_x_default() -> None:
    """Deviation 10: contrib removes the first `/en/` of a URL, which has no prefix here."""
    attributes = {"items": lambda self: ["en"], "location": lambda self, item: reverse("doc", args=[item])}
    linked = {**attributes, "i18n": True, "alternates": True, "x_default": True}
    for base, expected in (
        (Sitemap, "https://x.example/docs/en/"),
        (contrib.Sitemap, "https://x.example/docs/"),
    ):
        [url, _] = type("Linked", (base,), linked)().get_urls(site=SITE)
        [x_default] = [link for link in url["alternates"] if link["lang_code"] == "x-default"]
        assert x_default["location"] == expected


@pytest.mark.parametrize("i18n", [False, True])
@pytest.mark.parametrize(
    "bad",
    [
        *(".evil.com/", "@evil.com/", ":8080/", "evil.com/", "\\evil.com/", "\ta", None, "docs/"),
        "https://www.example.com/",
    ],
)
def test_a_location_that_becomes_part_of_the_host_is_skipped(
    bad: str | None, i18n: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Deviation 11: contrib writes https://www.example.com.evil.com/."""
    attributes = {"items": lambda self: ["/a/", bad, "", "?b"], "i18n": i18n, "languages": ["en"]}
    page = body(views.sitemap, type("Evil", (Plain,), attributes))
    assert page.count(b"<loc>") == 3
    assert b"evil" not in page
    assert f"location: {str(bad)!r} does not begin with a slash" in caplog.text


def test_a_lastmod_that_is_not_a_date_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    """Deviation 6: contrib's index fails, and so does its sitemap if it sends `Last-Modified`."""
    assert b"lastmod" not in body(views.sitemap, Dated)
    with pytest.raises(TypeError):
        contrib_views.sitemap(RequestFactory().get("/"), {"s": Dated})

    class Today(Dated):
        lastmod = date(2026, 1, 1)

    assert "'yesterday' (str) is neither a date nor a datetime" in caplog.text
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


def raising(fields: Sequence[str], error: type[BaseException] = LookupError, **attributes: Any) -> Any:
    """Return a section whose hooks raise an error for items below `/b/`."""

    def hook(value: Any) -> Any:
        def answer(self: Any, item: str) -> Any:
            if item.startswith("/b"):
                raise error("of the project")
            return value

        return answer

    values = {"lastmod": date(2026, 1, 1), "changefreq": "daily", "priority": 0.5}
    hooks = {name: hook(value) if name in fields else value for name, value in values.items()}
    return type("Raising", (Plain,), {"languages": ["en"], **hooks, **attributes})


def of_contrib(section: Any) -> Any:
    """Return the same section as a class of contrib."""
    names = ("items", "location", *OPTIONAL)
    return type("Theirs", (contrib.Sitemap,), {name: getattr(section, name) for name in names})


OPTIONAL = ("lastmod", "changefreq", "priority")


@pytest.mark.parametrize("i18n", [False, True])
@pytest.mark.parametrize("field", OPTIONAL)
def test_an_error_of_an_optional_hook_skips_only_its_element(
    field: str, i18n: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Deviation 14: contrib raises the error."""
    section = raising([field], i18n=i18n)
    answer = views.sitemap(RequestFactory().get("/"), {"s": section})
    content = answer.render().content
    assert [content.count(f"<{name}>".encode()) for name in ("loc", *OPTIONAL)] == [
        2,
        *(1 if name == field else 2 for name in OPTIONAL),
    ]
    assert ("Last-Modified" in answer.headers) == (field != "lastmod")
    assert [url[field] or None for url in answer.context_data["urlset"]][1:] == [None]
    assert f"{field}: LookupError: of the project" in caplog.text
    with pytest.raises(LookupError):
        body(contrib_views.sitemap, of_contrib(section))


def test_all_elements_of_all_items_can_be_skipped(caplog: pytest.LogCaptureFixture) -> None:
    section = raising(OPTIONAL, items=lambda self: [f"/b/{number}/" for number in range(9)])
    page = body(views.sitemap, section)
    assert (page.count(b"<url><loc>"), page.count(b"</loc></url>")) == (9, 9)
    assert caplog.messages[-1] == "Skipped 24 more"


def test_an_error_of_lastmod_leaves_an_index_without_lastmod(caplog: pytest.LogCaptureFixture) -> None:
    """Deviation 14: contrib raises the error."""
    section = raising(["lastmod"])
    assert section().get_latest_lastmod() is None
    with pytest.raises(LookupError):
        of_contrib(section)().get_latest_lastmod()
    assert caplog.messages == ["Skipped item /b/, lastmod: LookupError: of the project"]


@pytest.mark.parametrize("error", [DatabaseError, ImproperlyConfigured, KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("i18n", [False, True])
def test_an_error_that_does_not_depend_on_the_item_is_raised(
    error: type[BaseException], i18n: bool
) -> None:
    with pytest.raises(error):
        body(views.sitemap, raising(["lastmod"], error, i18n=i18n))
    with pytest.raises(error):
        raising(["lastmod"], error)().get_latest_lastmod()


def test_an_error_that_nobody_collects_is_raised() -> None:
    """A project that overrides `_urls()` calls `_get()` itself."""
    with pytest.raises(LookupError):
        raising(["priority"])()._get("priority", "/b/")


def test_an_error_among_lastmods_of_several_types_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Deviation 6: the page is read again, because Django cannot compare its lastmods."""
    lastmods: dict[str, Any] = {"/a/": date(2026, 1, 2), "/c/": "2026-01-01", "/d/": date(2026, 1, 3)}

    class Mixed(raising(["priority"])):  # type: ignore[misc]
        def items(self) -> list[str]:
            return ["/a/", "/b/", "/c/", "/d/"]

        def lastmod(self, item: str) -> Any:
            return lastmods.get(item, date(2026, 1, 4))

    assert len(Mixed().get_urls(protocol="https", site=RequestSite(RequestFactory().get("/")))) == 4
    assert caplog.messages == ["Skipped item /b/, priority: LookupError: of the project"]
