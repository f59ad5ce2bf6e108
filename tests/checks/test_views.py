"""Checks of views in a URLconf that cannot work with the other URL patterns or settings."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.checks import registry
from django.test import override_settings
from django.urls import clear_script_prefix, include, path, re_path, register_converter, set_script_prefix
from django.urls.converters import StringConverter
from django.views.decorators.cache import cache_page
from django.views.generic import View

from django_sitemaps09 import checks, views
from tests.support.checking import INCLUDED, ids_of

pytestmark = pytest.mark.usefixtures("nothing_is_asked")

INSPECTOR = path("sitemaps/", include("django_sitemaps09.inspector.urls"))
SESSIONS, USERS = "django.contrib.sessions", "django.contrib.auth"
SESSION_MIDDLEWARE = f"{SESSIONS}.middleware.SessionMiddleware"
USER_MIDDLEWARE = f"{USERS}.middleware.AuthenticationMiddleware"


class OwnSessions(SessionMiddleware):
    """A middleware that a project derives from Django's."""


class Robots(View):
    """A view of the project that may call ours."""


class Hexadecimal(StringConverter):
    """A converter of the project, which a check must not call."""

    regex = ".+"

    def to_python(self, value: str) -> str:
        raise AssertionError


register_converter(Hexadecimal, "hexadecimal")


def check(*patterns: Any) -> list[Any]:
    with override_settings(ROOT_URLCONF=patterns):
        return checks.check_urls()


def codes(*patterns: Any) -> list[str]:
    return ids_of(check(*patterns))


def test_the_checks_run_with_manage_py_check() -> None:
    assert checks.check_urls in registry.registry.get_checks()


def test_a_robots_txt_without_its_index_is_a_warning() -> None:
    (message,) = check(path("robots.txt", views.robots_txt))
    assert ids_of([message]) == ["W090"]
    assert "'django_sitemaps09:index', but there is no namespace 'django_sitemaps09'" in message.msg
    assert "Include django_sitemaps09.urls" in str(message.hint)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("my-index", []), ("my-indxe", ["W090"]), ("site:index", []), ("django_sitemaps09:index", [])],
)
def test_a_robots_txt_lists_an_index_by_its_name(name: str, expected: list[str]) -> None:
    patterns = [
        path("sitemap.xml", views.index, name="my-index"),
        path("site/", include("django_sitemaps09.urls", namespace="site")),
        path("robots.txt", cache_page(60)(views.robots_txt), {"sitemap_url_name": name}),
    ]
    assert ids_of(check(*patterns)) == expected


def test_other_views_need_no_index() -> None:
    assert check(path("sitemap.xml", views.sitemap_index)) == []
    assert check(path("", INCLUDED), path("robots.txt", views.robots_txt)) == []


BOTH = ["/sitemap.xml", "/sitemap-section-1.xml"]


def page(request: Any, **arguments: Any) -> Any:
    """A view of the project."""


@pytest.mark.parametrize(
    ("earlier", "answered"),
    [
        (path("sitemap.xml", views.index, {"sitemaps": {}}), ["/sitemap.xml"]),
        (path("sitemap-<section>.xml", views.sitemap, {"sitemaps": {}}), ["/sitemap-section-1.xml"]),
        (re_path(r"^(?P<path>.+)$", page), BOTH),
        (path("", include(([path("<path:path>", page)], "pages"))), BOTH),
        (path("<slug:slug>/", page), []),
        (path("sitemap.xml", cache_page(60)(views.sitemap_index)), []),
        (path("<hexadecimal:path>", page), []),
        (path("<hexadecimal:path>.", include([path("xml", page)])), []),
    ],
)
def test_a_pattern_before_the_native_views_that_answers_for_them(earlier: Any, answered: list[str]) -> None:
    messages = check(earlier, path("", INCLUDED))
    assert ids_of(messages) == ["W092"] * len(answered)
    assert [each.msg.split()[0] for each in messages] == answered
    assert check(path("", INCLUDED), earlier) == []


def test_the_order_is_checked_below_a_prefix(settings: Any) -> None:
    settings.FORCE_SCRIPT_NAME = "/app"
    set_script_prefix("/app/")
    try:
        messages = check(path("maps/<path:path>", page), path("maps/", INCLUDED))
    finally:
        clear_script_prefix()
    assert [each.msg.split()[0] for each in messages] == [f"/maps{url}" for url in BOTH]
    assert f"{__name__}.page" in messages[0].msg


@pytest.mark.parametrize(
    ("apps", "middleware", "engine", "missing"),
    [
        ([USERS, SESSIONS], [SESSION_MIDDLEWARE, USER_MIDDLEWARE], "db", []),
        ([USERS, SESSIONS], [f"{__name__}.OwnSessions", USER_MIDDLEWARE], "db", []),
        ([USERS], [SESSION_MIDDLEWARE, USER_MIDDLEWARE], "signed_cookies", []),
        ([USERS], [SESSION_MIDDLEWARE, USER_MIDDLEWARE], "cached_db", [SESSIONS]),
        ([USERS, SESSIONS], [USER_MIDDLEWARE, "no.where", "os.getcwd"], "db", [SESSION_MIDDLEWARE]),
        ([SESSIONS], [SESSION_MIDDLEWARE], "db", [USERS, USER_MIDDLEWARE]),
        ([], [], "db", [USERS, SESSIONS, SESSION_MIDDLEWARE, USER_MIDDLEWARE]),
    ],
)
def test_an_inspector_that_cannot_know_users_is_a_warning(
    apps: list[str], middleware: list[str], engine: str, missing: list[str]
) -> None:
    with override_settings(
        INSTALLED_APPS=["django.contrib.contenttypes", *apps, "django_sitemaps09"],
        MIDDLEWARE=middleware,
        SESSION_ENGINE=f"django.contrib.sessions.backends.{engine}",
    ):
        messages = check(INSPECTOR)
        assert check(path("", INCLUDED)) == []
    assert ids_of(messages) == (["W091"] if missing else [])
    named = [each for each in (USERS, SESSIONS) if f"'{each}' to INSTALLED_APPS" in str(messages)]
    named += [m for m in (SESSION_MIDDLEWARE, USER_MIDDLEWARE) if f"'{m}' to MIDDLEWARE" in str(messages)]
    assert named == missing


ROBOTS = path("robots.txt", views.robots_txt)
ANY = path("<path:page>", page)
OWN_NAMES = include(([path("index.xml", views.sitemap_index, name="index")], "django_sitemaps09"))


@pytest.mark.parametrize(
    ("patterns", "expected"),
    [
        ([path("", INCLUDED), ROBOTS, ANY], []),
        ([path("seo/", INCLUDED), ROBOTS], []),
        ([path("", INCLUDED, {"sitemaps": {}}), ROBOTS], []),
        ([path("sitemap.xml", INCLUDED), ROBOTS], ["W087"]),
        ([ANY, path("", INCLUDED), ROBOTS], ["W092"] * 3),
        ([path("", INCLUDED), path("seo/robots.txt", views.robots_txt)], ["W092"]),
        ([ROBOTS, ANY, path("", INCLUDED)], ["W092"] * 2),
        ([path("café/", INCLUDED), ROBOTS], []),
        ([path("maps/", OWN_NAMES), ROBOTS], []),
        ([path("", INCLUDED), path("robots.txt", partial(views.robots_txt, rules=""))], []),
        ([path("", INCLUDED), path("robots.txt", cache_page(60)(partial(views.robots_txt)))], []),
        ([path("", INCLUDED), path("robots.txt", partial(views.robots_txt, rule=""))], ["E089"]),
        ([path("robots.txt", partial(page)), path("", INCLUDED), ROBOTS], ["W092"]),
        ([*i18n_patterns(path("", INCLUDED), ROBOTS)], []),
        ([path("", INCLUDED), path("robots.txt", Robots.as_view()), path("de/", include([ROBOTS]))], []),
    ],
)
def test_the_index_and_robots_txt_are_where_crawlers_look(patterns: list[Any], expected: list[str]) -> None:
    assert codes(*patterns) == expected


@pytest.mark.parametrize(("rules", "expected"), [("Disallow: /", ["W088"]), ("Disallow: /admin/", [])])
def test_the_rules_of_robots_txt_allow_the_index(rules: str, expected: list[str]) -> None:
    robots = path("robots.txt", views.robots_txt, {"rules": f"User-agent: *\n{rules}"})
    assert codes(path("", INCLUDED), robots) == expected


@pytest.mark.parametrize("rules", [["Disallow: /"], b"Disallow: /", 7, lambda: ""])
def test_the_rules_of_robots_txt_are_a_string(rules: Any) -> None:
    assert codes(path("", INCLUDED), path("robots.txt", views.robots_txt, {"rules": rules})) == ["E096"]


def test_an_argument_that_a_view_does_not_have_is_an_error() -> None:
    found = codes(path("", INCLUDED, {"sitemap": {}}), path("about.txt", page, {"sitemap": {}}))
    assert found == ["E089"]
    decorated = path("sitemap.xml", cache_page(60)(views.index), {"sitemap": {}, "sitemaps": {}})
    assert codes(decorated) == []
    # A middleware can remove other arguments in process_view().
    assert codes(path("", INCLUDED, {"tenant": "a", "site": "b"})) == []


def test_robots_txt_is_either_a_view_or_a_file(settings: Any) -> None:
    settings.SITEMAPS09 = {"ROBOTS_TXT": "/srv/robots.txt"}
    assert codes(path("", INCLUDED), ROBOTS) == ["W094"]
    assert codes(path("", INCLUDED)) == []


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"ROOT": "/srv/public"}, ["W095"]),
        ({"STORAGE": "sitemaps"}, ["W095"]),
        ({"ROOT": "/srv/public", "FILES_URL": "https://files.example.com/"}, []),
        ({}, []),
    ],
)
def test_the_live_index_has_the_path_of_the_exported_one(
    settings: Any, options: dict[str, str], expected: list[str]
) -> None:
    settings.SITEMAPS09 = options
    assert codes(path("seo/", INCLUDED)) == expected
    assert codes(path("", INCLUDED)) == []
    settings.FORCE_SCRIPT_NAME = "/shop"
    assert codes(path("", INCLUDED)) == expected


def by_host(get_response: Any) -> Any:
    """Middleware that chooses a URLconf by host."""

    def respond(request: Any) -> Any:
        request.urlconf = "shop.hosts"
        return get_response(request)

    return respond


class ByHost:
    """The same as a class."""

    def process_request(self, request: Any) -> None:
        request.urlconf = "shop.hosts"


class ByOurHost(ByHost):
    """A subclass, as a project has of another package's class."""


class Keeping:
    """Middleware with an attribute of this name."""

    def __init__(self, get_response: Any) -> None:
        self.urlconf = "shop.hosts"


def reading(get_response: Any) -> Any:
    """Middleware that reads the URLconf that another one sets."""
    return lambda request: get_response(request) if request.urlconf == "shop.hosts" else None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("by_host", ["W079"]),
        ("ByHost", ["W079"]),
        ("ByOurHost", ["W079"]),
        ("Keeping", []),
        ("reading", []),
        ("missing", []),
    ],
)
def test_an_export_does_not_know_the_urlconf_of_a_middleware(
    settings: Any, name: str, expected: list[str]
) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.{name}"]
    assert codes(path("", INCLUDED)) == []
    settings.SITEMAPS09 = {"ROOT": "/srv/public"}
    assert codes(path("", INCLUDED)) == expected
    settings.SITEMAPS09, settings.STORAGES = {}, {**settings.STORAGES, "sitemaps": {"BACKEND": "any"}}
    assert codes(path("", INCLUDED)) == expected
