"""Deviations of the compatibility views, with their numbers in docs/reference/deviations.md.

Everything else is as with contrib: see `test_answers.py`. Number 12 is in `test_entry_values.py`.
"""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.contrib.sites.requests import RequestSite
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from django.http import Http404
from django.test import RequestFactory, override_settings
from django.urls import path, reverse, reverse_lazy
from django.utils import timezone as zones
from django.utils.functional import lazy
from django.utils.safestring import SafeString, mark_safe
from lxml import etree

from django_sitemaps09 import Sitemap, views
from django_sitemaps09.exceptions import TextError
from tests.compat import projects
from tests.compat.cases import COMPAT_BASES, NEW_YORK, UTC, constant, timed
from tests.compat.projects import texts
from tests.support.sections import listing

pytestmark = [pytest.mark.django_db, pytest.mark.urls(projects.COMPAT.urlconf)]


def section(*items, base=Sitemap, location=lambda self, item: item, **attributes):
    return listing(items or ["/a/", "/b/"], base, location=location, **{"languages": ["en"], **attributes})


PLAIN = {"sitemaps": {"s": section()}}
SECTIONS = PLAIN["sitemaps"]
urlpatterns = [
    path("ours.xml", views.sitemap, PLAIN),
    path("contribs.xml", contrib_views.sitemap, PLAIN),
    *i18n_patterns(
        path("about/", views.sitemap, name="localized"),
        path("docs/<slug>/", views.sitemap, name="doc"),
        prefix_default_language=False,
    ),
]
LANGUAGES = {"LANGUAGE_CODE": "en", "LANGUAGES": [("en", "English"), ("de", "German")]}
SITE = SimpleNamespace(domain="x.example")
WEST, JANUARY = timezone(timedelta(hours=-1)), datetime(2026, 1, 2, tzinfo=UTC)
I18N = pytest.mark.parametrize("i18n", [False, True])


def answered(view, *declared):
    mapping = {f"s{number}": each for number, each in enumerate(declared)}
    return view(RequestFactory().get("/"), mapping).render()


def body(*declared):
    return answered(views.sitemap, *declared).content


def by_contrib(*declared):
    return answered(contrib_views.sitemap, *declared).content


def written(view, declared):
    response = answered(view, declared)
    found = {*texts(response.content, "lastmod")}
    assert len(found) <= 1
    return (*found, response.headers.get("Last-Modified"))


both_views = pytest.mark.parametrize("view", [views.index, views.sitemap], ids=["index", "sitemap"])
FORMS = [lambda value: timed(value)(COMPAT_BASES), lambda value: constant(value)(COMPAT_BASES)]
#: A time or a date, its text, and that of the header.
TIMES = [
    (datetime(2026, 1, 1, 0, 0, 0, 999_999, UTC), "2026-01-01T00:00:00Z", "Thu, 01 Jan 2026 00:00:00 GMT"),
    (datetime(987, 1, 1, 0, 0, 1, tzinfo=UTC), "0987-01-01T00:00:01Z", "Mon, 01 Jan 0987 00:00:01 GMT"),
    (datetime(2025, 12, 31, 20, tzinfo=NEW_YORK), "2026-01-01T01:00:00Z", "Thu, 01 Jan 2026 01:00:00 GMT"),
    (date(2026, 1, 1), "2026-01-01", "Thu, 01 Jan 2026 00:00:00 GMT"),
    # Out of range in UTC, for which contrib takes the first one.
    *((datetime.min, None), (datetime.max.replace(tzinfo=NEW_YORK), None)),
    # Summer, the hour that there is twice, and the one that there is not.
    (datetime(2026, 7, 1, 0, 30), "2026-06-30T22:30:00Z", "Tue, 30 Jun 2026 22:30:00 GMT"),
    (datetime(2025, 10, 26, 2, 30), "2025-10-26T00:30:00Z", "Sun, 26 Oct 2025 00:30:00 GMT"),
    (datetime(2026, 3, 29, 2, 30), "2026-03-29T01:30:00Z", "Sun, 29 Mar 2026 01:30:00 GMT"),
]


@pytest.mark.parametrize("active", ["America/New_York", "Asia/Tokyo", None])
@pytest.mark.parametrize("use_tz", [True, False])
@pytest.mark.parametrize("contribs_app", [True, False])
@both_views
@pytest.mark.parametrize("form", FORMS, ids=["method", "attribute"])
def test_a_time_is_written_in_utc_with_its_seconds_whatever_zone_is_active(
    view, form, contribs_app, use_tz, active, settings, request
):
    """Deviation 1: contrib writes the date only, and fractions of seconds into an index.

    Deviation 2: contrib writes a time in the active zone, and takes a naive one for UTC in the header.
    """
    settings.USE_TZ = use_tz
    # Also where contrib's own stock template is found first.
    contribs_app and request.getfixturevalue("both_apps")
    with zones.override(ZoneInfo(active) if active else None):
        for value, *expected in TIMES:
            assert written(view, form(value)) == (*expected,)


@both_views
def test_naive_times_aware_times_and_dates_are_compared_as_they_are_written(view):
    """Deviation 2: to contrib the naive one would be an hour later, and the newest."""
    values = [datetime(2026, 1, 1, 1, 30), datetime(2026, 1, 1, 0, 45, tzinfo=UTC), date(2026, 1, 1)]
    declared = [timed(value)(COMPAT_BASES) for value in values]
    for order in (declared, declared[::-1]):
        assert answered(view, *order).headers["Last-Modified"] == "Thu, 01 Jan 2026 00:45:00 GMT"


def test_the_sections_of_the_setting_or_the_registered_ones_are_the_default(settings, register):
    """Deviation 3: contrib's views need `sitemaps`."""
    request = RequestFactory().get("/")

    def found():
        index = [entry.location for entry in views.index(request).context_data["sitemaps"]]
        return index, len(views.sitemap(request).context_data["urlset"])

    register(registered=SECTIONS["s"])
    assert found() == (["http://example.com/sitemap-registered.xml"], 2)
    settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.SECTIONS"}
    assert found() == (["http://example.com/sitemap-s.xml"], 2)
    assert len(texts(views.sitemap(request, section="s").render().content, "loc")) == 2
    with pytest.raises(Http404, match="No sitemap available for section: 'other'"):
        views.sitemap(request, section="other")
    assert views.index(request, {}).context_data == {"sitemaps": []}
    assert views.sitemap(request, sitemaps={}).context_data == {"urlset": []}


@override_settings(SITEMAPS09={"BASE_URL": "https://www.example.org:8443"})
@pytest.mark.urls("tests.urls")
def test_base_url_replaces_the_host_of_the_request():
    """Deviation 4: contrib uses only the site and the request."""
    assert b"<loc>https://www.example.org:8443/a/</loc>" in body(section())


@pytest.mark.usefixtures("both_apps")
@pytest.mark.parametrize("bad", ["\x00", "\x0b", "\ud800", "￾"])
def test_a_string_that_xml_cannot_contain_is_refused_and_names_its_item(bad):
    """Deviation 5: contrib writes a document that no parser accepts, or fails to encode it."""
    broken = section("/a/", location=f"/{bad}/")
    with pytest.raises(TextError, match="Item /a/"):
        body(broken)
    if bad != "\ud800":
        with pytest.raises(etree.XMLSyntaxError):
            etree.fromstring(by_contrib(broken))


DAY, NEWEST = date(2026, 1, 3), "Sat, 03 Jan 2026 00:00:00 GMT"


@pytest.mark.parametrize(("others", "count", "newest"), [
    *((("2026-01-01",), 1, None), ((7, "yesterday"), 1, None), ((datetime.min,), 1, None)),
    *(((DAY, "x"), 2, None), ((DAY, datetime.min, "x"), 2, None), ((DAY,), 2, NEWEST)),
    *(((datetime(2026, 1, 3, 1),), 2, NEWEST), ((datetime(2026, 1, 2, 23, tzinfo=WEST),), 2, NEWEST)),
])  # fmt: skip
@I18N
def test_lastmods_of_several_types_can_be_mixed_on_a_page(i18n, others, count, newest):
    """Deviation 6: contrib compares them, which fails."""
    lastmods = dict(enumerate((JANUARY, *others)))
    mixed = listing(lastmods, lastmod=lambda self, item: lastmods[item], i18n=i18n, languages=["en"])
    answer = answered(views.sitemap, mixed)
    assert answer.content.count(b"<loc>") == len(lastmods)
    written = texts(answer.content, "lastmod")
    assert (len(written), written[0]) == (count, "2026-01-02T00:00:00Z")
    assert answer.headers.get("Last-Modified") == newest
    assert not newest or [url["lastmod"] for url in answer.context_data["urlset"]] == [*lastmods.values()]


@pytest.mark.parametrize("is_method", [True, False])
def test_mixed_lastmods_can_depend_on_what_another_hook_sets(is_method):
    lastmods = {"/a/": date(2026, 1, 3), "/b/": JANUARY}

    def location(self, item):
        setattr(self, "current" if is_method else "lastmod", lastmods[item])
        return item

    response = answered(views.sitemap, section(location=location, lastmod=lambda self, item: self.current))
    assert [url["lastmod"] for url in response.context_data["urlset"]] == list(lastmods.values())
    assert response.headers["Last-Modified"] == NEWEST


def test_a_lastmod_that_is_not_a_date_is_skipped(caplog):
    """Deviation 6: contrib's index fails, and so does its sitemap if it sends `Last-Modified`."""
    yesterday = section(lastmod="yesterday")
    assert b"lastmod" not in body(yesterday)
    with pytest.raises(TypeError):
        by_contrib(yesterday)
    assert "'yesterday' (str) is neither a date nor a datetime" in caplog.text
    answer = answered(views.sitemap, yesterday, section(lastmod=date(2026, 1, 1)))
    assert answer.content.count(b"<lastmod>2026-01-01</lastmod>") == 2
    assert "Last-Modified" not in answer.headers


@override_settings(ROOT_URLCONF=__name__, LOGIN_URL="/login/")
def test_the_views_are_public(client, settings):
    """Deviation 7: under `LoginRequiredMiddleware`, contrib redirects crawlers to the login page."""
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    assert [client.get(url).status_code for url in ("/ours.xml", "/contribs.xml")] == [200, 302]


@pytest.mark.usefixtures("both_apps")
def test_the_documents_differ_in_white_space_alone():
    """Deviation 8: contrib has no line end between entries. What is declared is the same."""
    ours, contribs = body(section()), by_contrib(section())
    assert ours != contribs
    assert ours.replace(b"\n", b"") == contribs.replace(b"\n", b"")
    assert body(listing([])) == by_contrib(listing([]))


def test_a_lazy_url_that_is_marked_as_safe_is_escaped_once():
    location = lazy(lambda: mark_safe("/?a=1&amp;b=2"), SafeString)()
    assert b"/?a=1&amp;b=2</loc>" in body(section("x", location=location))


@override_settings(ROOT_URLCONF=__name__, **LANGUAGES)
def test_a_lazy_url_is_in_the_language_of_its_entry():
    """Deviation 10: contrib evaluates it when another language is active."""
    found = {}
    for base in (Sitemap, contrib.Sitemap):
        linked = {"languages": None, "i18n": True, "alternates": True}
        lazily = section("x", base=base, location=lambda self, item: reverse_lazy("localized"), **linked)
        found[base] = base.get_urls(lazily(), site=SITE)
    urls, [first, second] = found.values()
    assert [url["location"] for url in urls] == ["https://x.example/about/", "https://x.example/de/about/"]
    assert [link["location"] for link in urls[1]["alternates"]] == [url["location"] for url in urls]
    assert first["location"] == second["location"]


@pytest.mark.parametrize(
    ("base", "expected"),
    [(Sitemap, "https://x.example/docs/en/"), (contrib.Sitemap, "https://x.example/docs/")],
)
@override_settings(ROOT_URLCONF=__name__, **LANGUAGES)
def test_a_slug_that_is_the_code_of_the_default_language_stays_in_x_default(base, expected):
    """Deviation 10: contrib removes the first `/en/` of a URL, which has no prefix here."""
    linked = {"languages": None, "i18n": True, "alternates": True, "x_default": True}
    documents = section("en", base=base, location=lambda self, item: reverse("doc", args=[item]), **linked)
    [url, _] = documents().get_urls(site=SITE)
    assert {link["lang_code"]: link["location"] for link in url["alternates"]}["x-default"] == expected


EVIL = (".evil.com/", "@evil.com/", ":8080/", "evil.com/", "\\evil.com/", "\ta", None, "docs/")


@pytest.mark.parametrize("bad", [*EVIL, "https://www.example.com/"])
@I18N
def test_a_location_that_becomes_part_of_the_host_is_skipped(bad, i18n, caplog):
    """Deviation 11: contrib writes https://www.example.com.evil.com/."""
    page = body(section("/a/", bad, "", "?b", i18n=i18n))
    assert (page.count(b"<loc>"), b"evil" in page) == (3, False)
    assert f"location: {str(bad)!r} does not begin with a slash" in caplog.text


OPTIONAL = {"lastmod": date(2026, 1, 1), "changefreq": "daily", "priority": 0.5}


def raising(*fields, error=LookupError, items=("/a/", "/b/"), **attributes):
    def hook(value):
        def answer(self, item):
            if item.startswith("/b"):
                raise error("of the project")
            return value

        return answer

    hooks = {name: hook(value) if name in fields else value for name, value in OPTIONAL.items()}
    return section(*items, **hooks | attributes)


@pytest.mark.parametrize("field", OPTIONAL)
@I18N
def test_an_error_of_an_optional_hook_skips_only_its_element(field, i18n, caplog):
    """Deviation 14: contrib raises the error."""
    answer = answered(views.sitemap, raising(field, i18n=i18n))
    found = {name: answer.content.count(f"<{name}>".encode()) for name in ("loc", *OPTIONAL)}
    assert found == {**dict.fromkeys(("loc", *OPTIONAL), 2), field: 1}
    assert ("Last-Modified" in answer.headers) == (field != "lastmod")
    assert [url[field] or None for url in answer.context_data["urlset"]][1:] == [None]
    assert f"{field}: LookupError: of the project" in caplog.text
    with pytest.raises(LookupError):
        by_contrib(raising(field, base=contrib.Sitemap))
    # A project that overrides `_urls()` calls `_get()` itself.
    with pytest.raises(LookupError):
        raising(field)()._get(field, "/b/")


def test_all_elements_of_all_items_can_be_skipped_and_the_lastmod_in_an_index(caplog):
    """Deviation 14: contrib raises the error."""
    page = body(raising(*OPTIONAL, items=[f"/b/{number}/" for number in range(9)]))
    assert (page.count(b"<url><loc>"), page.count(b"</loc></url>")) == (9, 9)
    assert caplog.messages[-1] == "Skipped 24 more"
    caplog.clear()
    assert raising("lastmod")().get_latest_lastmod() is None
    assert caplog.messages == ["Skipped item /b/, lastmod: LookupError: of the project"]
    with pytest.raises(LookupError):
        raising("lastmod", base=contrib.Sitemap)().get_latest_lastmod()


@pytest.mark.parametrize("error", [DatabaseError, ImproperlyConfigured, KeyboardInterrupt, MemoryError])
@I18N
def test_an_error_that_does_not_depend_on_the_item_is_raised(error, i18n):
    with pytest.raises(error):
        body(raising("lastmod", error=error, i18n=i18n))
    with pytest.raises(error):
        raising("lastmod", error=error)().get_latest_lastmod()


def test_an_error_among_lastmods_of_several_types_is_logged_once(caplog):
    """Deviation 6: the page is read again, because Django cannot compare its lastmods."""
    lastmods = {"/a/": date(2026, 1, 2), "/b/": date(2026, 1, 4), "/c/": "2026-01-01"}
    lastmods["/d/"] = date(2026, 1, 3)
    mixed = raising("priority", items=lastmods, lastmod=lambda self, item: lastmods[item])
    assert len(mixed().get_urls(protocol="https", site=RequestSite(RequestFactory().get("/")))) == 4
    assert caplog.messages == ["Skipped item /b/, priority: LookupError: of the project"]
