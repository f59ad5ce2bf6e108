"""Checks of views in a URLconf: the sections that are passed to them, routes, and what cannot work."""

from __future__ import annotations

import re
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from functools import partial
from types import ModuleType
from unittest import mock

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sessions.middleware import SessionMiddleware
from django.contrib.sitemaps import views as contrib_views
from django.db.models import F
from django.test import RequestFactory, override_settings
from django.urls import clear_script_prefix, include, path, re_path, register_converter, set_script_prefix
from django.urls.converters import StringConverter
from django.utils.functional import SimpleLazyObject
from django.views.decorators.cache import cache_page, never_cache
from django.views.generic import View

from django_sitemaps09 import Route, Sitemap, views
from tests.models import Tag
from tests.support import checking
from tests.support.checking import INCLUDED, apps, checked, declaration, ids_of, registry, takes, unread
from tests.support.internals import checks, conf_checks, sections

__all__ = ["apps", "registry"]

pytestmark = pytest.mark.usefixtures("nothing_is_asked")


INVALID_SECTION = declaration(location=checking.SLUG, changefreq="sometimes")
INVALID_PASSED = {"sitemaps": {"bad": INVALID_SECTION}}
NAMES = {"sitemaps": {"a b": declaration(location=checking.SLUG)}}
ALIKE = {"sitemaps": {"shop": declaration(), "Shop": declaration()}}


def page(request, **arguments):
    """A view of the project."""


def wraps_itself(request, **kwargs):
    """A decorated view that wraps itself."""


wraps_itself.__wrapped__ = wraps_itself


class Stored(Mapping):
    def __iter__(self):
        return iter([tag.name for tag in Tag.objects.all()])

    def __getitem__(self, name):
        return INVALID_SECTION

    def __len__(self):
        return Tag.objects.count()


class StoredDict(dict):
    def items(self):
        self.update(Stored())
        return super().items()

    values = items


#: A project's subclass of dict that is read like any dict.
METHODS = ("__missing__", "__len__", "__getitem__", "__contains__")
UNUSUAL = type("Unusual", (dict,), dict.fromkeys(METHODS, takes))
#: A proxy that, like `werkzeug.local.LocalProxy`, looks up attributes elsewhere.
DELEGATING = type("Delegating", (), {"__getattr__": lambda self, name: getattr({}, name)})()
STORED, STORED_DICT = Stored(), StoredDict()
LAZY = SimpleLazyObject(lambda: {tag.name: INVALID_SECTION for tag in Tag.objects.all()})
PROXIES = (DELEGATING, mock.MagicMock(spec=dict))
NO_DICTS = (INVALID_SECTION, [INVALID_SECTION], (), set(), "tests.SITEMAPS", takes)


@pytest.mark.parametrize(("expected", "patterns"), [
    *(("E011", [path("", view, INVALID_PASSED)]) for view in (INCLUDED, views.sitemap)),
    ("E011", [path("", INCLUDED, INVALID_PASSED), path("b/", INCLUDED, INVALID_PASSED)]),
    ("E011", [path("a/", include([path("b/", INCLUDED)]), INVALID_PASSED)]),
    ("E011", [path("a/", include([path("b/", INCLUDED, INVALID_PASSED)]), {"sitemaps": {}})]),
    ("E011", [*i18n_patterns(path("", INCLUDED, INVALID_PASSED))]),
    ("E011", [path("sitemap.xml", cache_page(60)(views.index), INVALID_PASSED)]),
    ("E011", [re_path("a", never_cache(cache_page(60)(views.page)), INVALID_PASSED)]),
    ("E011", [path("robots.txt", views.robots_txt, INVALID_PASSED)]),
    # Nothing is passed, or to views of others, or code returns it.
    *(("", patterns) for patterns in ([], [path("", INCLUDED)])),
    *(("", [path("", view, INVALID_PASSED)]) for view in (page, wraps_itself)),
    ("", [path("", INCLUDED, {"sitemaps": None})]),
    ("", [path("", INCLUDED, {"sitemaps": SimpleLazyObject(unread)})]),
    ("", [path("", INCLUDED, {"sitemaps": {"made": unread}})]),
    ("", [path("", include([path("b/", INCLUDED, {"sitemaps": {}})]), INVALID_PASSED)]),
    *(
        ("", [path("", INCLUDED, {"sitemaps": each}), path("a", views.index, {"sitemaps": each})])
        for each in (STORED, STORED_DICT, LAZY, *PROXIES)
    ),
    *(("E093", [path("", INCLUDED, {"sitemaps": each})]) for each in NO_DICTS),
    # Names must be valid in the URLs of the native views, but not in those of the project.
    *(("W006", [path("", INCLUDED, passed)]) for passed in (NAMES, ALIKE)),
    ("", [path("sitemap-<section>.xml", views.sitemap, NAMES)]),
    ("W006", [path("", views.sitemap, {"sitemaps": {7: declaration(location=checking.SLUG)}})]),
])  # fmt: skip
def test_what_a_urlconf_passes_to_views_is_checked_once(expected, patterns):
    assert checked(*patterns) == expected.split()
    if expected == "E011":
        assert checked(*patterns, registered={"bad": INVALID_SECTION}) == ["E011"]


@pytest.mark.parametrize(
    "kind", [dict, OrderedDict, UNUSUAL, partial(defaultdict, takes), type("Own", (OrderedDict,), {})]
)
def test_a_dict_of_another_class_is_read_unless_that_changes_how(kind):
    passed = {"sitemaps": kind({"a b": INVALID_SECTION})}
    assert checked(path("sitemap.xml", views.index, passed)) == ["E011"]
    assert checked(path("", INCLUDED, passed)) == ["W006", "E011"]


@pytest.mark.parametrize("name", ["STORED", "STORED_DICT", "LAZY"])
def test_a_mapping_of_the_setting_is_read_by_views_and_not_by_a_check(settings, name):
    settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.{name}"}
    assert checked(path("", INCLUDED), path("sitemap.xml", views.index)) == []
    with pytest.raises(AssertionError):
        views.sitemap_index(RequestFactory().get("/"), sitemaps=globals()[name])
    for sitemaps in PROXIES:
        assert sections.mapping(sitemaps) is sitemaps


@pytest.mark.parametrize("urlconf", ["no.where", __name__, (path("", include(ModuleType("a"))),), None])
def test_an_invalid_urlconf_is_left_to_djangos_checks(settings, urlconf):
    settings.ROOT_URLCONF = urlconf
    if urlconf is None:
        del settings.ROOT_URLCONF
    assert ids_of(checks.check_sections()) == []
    assert checking.ids(declaration(location=Route("nowhere", slug=F("slug")))) == []


def test_a_urlconf_may_include_itself(settings):
    settings.ROOT_URLCONF = module = ModuleType("recursive")
    module.app_name, module.urlpatterns = "recursive", [checking.ARTICLE]
    module.urlpatterns += [path("again/", include(module)), path("", INCLUDED, INVALID_PASSED)]
    assert ids_of(checks.check_sections()) == ["E011"]


SPACES = [
    path("a/", include(([checking.ARTICLE], "shop"))),
    path("b/", include(([checking.ARTICLE], "blog"), namespace="news")),
    path("<slug:tenant>/", include(([checking.ARTICLE], "tenant"))),
]


@pytest.mark.parametrize(("names", "expected"), [
    # By the app name, which reverse() accepts; and the prefix takes arguments, too.
    (["shop:article", "news:article", "blog:article", "tenant:article"], []),
    (["shop:nothing", "nothing:article", "shop:news:article"], ["E021"] * 3),
])  # fmt: skip
def test_a_route_may_lead_into_a_namespace(names, expected):
    routes = [declaration(location=Route(name, slug=F("slug"))) for name in names]
    assert checked(*SPACES, registered={f"section-{n}": each for n, each in enumerate(routes)}) == expected


NATIVE = path("", INCLUDED)
SESSIONS, USERS = "django.contrib.sessions", "django.contrib.auth"
SESSION_MIDDLEWARE = f"{SESSIONS}.middleware.SessionMiddleware"
USER_MIDDLEWARE = f"{USERS}.middleware.AuthenticationMiddleware"
ROBOTS, ANY = path("robots.txt", views.robots_txt), path("<path:page>", page)
OWN_NAMES = include(([path("index.xml", views.sitemap_index, name="index")], "django_sitemaps09"))
LISTED = [
    path("sitemap.xml", views.index, name="my-index"),
    path("site/", include("django_sitemaps09.urls", namespace="site")),
]
BOTH = ["/sitemap.xml", "/sitemap-section-1.xml"]
MISSPELLED = {"sitemap": {}}
FORBIDDEN = "User-agent: *\nDisallow: /"


class OwnSessions(SessionMiddleware):
    """A middleware that a project derives from Django's."""


class Hexadecimal(StringConverter):
    regex = ".+"

    def to_python(self, value):
        raise AssertionError


register_converter(Hexadecimal, "hexadecimal")


def check(*patterns):
    with override_settings(ROOT_URLCONF=patterns):
        return conf_checks.check_urls()


def robots(view=views.robots_txt, **arguments):
    return path("robots.txt", view, arguments)


#: The ids of messages, what these say, and the URL patterns.
VIEWS = [
    ("W090", "'django_sitemaps09:index', but there is no namespace.* Include django_s", ROBOTS),
    ("W090", "'my-indxe', but .*did you mean 'my-index'", *LISTED, robots(sitemap_url_name="my-indxe")),
    *(("", "", *LISTED, robots(cache_page(60)(views.robots_txt), sitemap_url_name=name))
      for name in ("my-index", "site:index", "django_sitemaps09:index")),
    ("", "", path("sitemap.xml", views.sitemap_index)),
    ("", "", NATIVE, ROBOTS),
    # Crawlers look for robots.txt and an index at the root.
    ("", "", NATIVE, ROBOTS, ANY),
    ("", "", path("seo/", INCLUDED), ROBOTS),
    ("", "", path("", INCLUDED, {"sitemaps": {}}), ROBOTS),
    ("W087", r'/sitemap.xmlsitemap.xml.* Write path\(""', path("sitemap.xml", INCLUDED), ROBOTS),
    ("W092 W092 W092", "/robots.txt is answered by", ANY, NATIVE, ROBOTS),
    ("W092", "No URL pattern answers /robots.txt.*root URLconf", NATIVE, path("seo/", include([ROBOTS]))),
    ("W092 W092", r"answered by .*\.page, .*before others", ROBOTS, ANY, NATIVE),
    ("", "", path("café/", INCLUDED), ROBOTS),
    ("", "", path("maps/", OWN_NAMES), ROBOTS),
    ("", "", NATIVE, robots(partial(views.robots_txt, rules=""))),
    ("", "", NATIVE, robots(cache_page(60)(partial(views.robots_txt)))),
    ("W092", "", robots(partial(page)), NATIVE, ROBOTS),
    ("", "", *i18n_patterns(NATIVE, ROBOTS)),
    ("", "", NATIVE, robots(View.as_view()), path("de/", include([ROBOTS]))),
    # Rules and other arguments
    ("W088", "'Disallow: /'.* blocks crawlers.*Allow this URL", NATIVE, robots(rules=FORBIDDEN)),
    ("", "", NATIVE, robots(rules=f"{FORBIDDEN}admin/")),
    *(("E096", "`rules` of the view robots_txt must be a string.*one string", NATIVE, robots(rules=rules))
      for rules in (["Disallow: /"], b"Disallow: /", 7, lambda: "")),
    ("E089", "argument 'rule', .*Did you mean 'rules'", NATIVE, robots(partial(views.robots_txt, rule=""))),
    ("E089", "Did you mean 'sitemaps'", path("", INCLUDED, MISSPELLED), path("other", page, MISSPELLED)),
    ("", "", path("sitemap.xml", cache_page(60)(views.index), {"sitemap": {}, "sitemaps": {}})),
    # A middleware can remove other arguments in process_view().
    ("", "", path("", INCLUDED, {"tenant": "a", "site": "b"})),
]  # fmt: skip


@pytest.mark.parametrize("row", VIEWS)
def test_the_views_of_a_urlconf_have_the_messages_of_their_row(row):
    expected, says, *patterns = row
    messages = check(*patterns)
    assert ids_of(messages) == expected.split()
    assert re.search(says, " ".join(f"{each.msg} {each.hint}" for each in messages))


@pytest.mark.sitemaps09(BASE_URL="https://staging.example.com")
def test_the_warning_about_rules_names_the_index_on_the_host_of_the_settings():
    (warning,) = check(NATIVE, robots(rules=FORBIDDEN))
    assert "crawlers from https://staging.example.com/sitemap.xml" in warning.msg


@pytest.mark.parametrize(("earlier", "answered"), [
    (path("sitemap.xml", views.index, {"sitemaps": {}}), ["/sitemap.xml"]),
    (path("sitemap-<section>.xml", views.sitemap, {"sitemaps": {}}), ["/sitemap-section-1.xml"]),
    (re_path(r"^(?P<path>.+)$", page), BOTH),
    (path("", include(([path("<path:path>", page)], "pages"))), BOTH), (path("<slug:slug>/", page), []),
    (path("sitemap.xml", cache_page(60)(views.sitemap_index)), []),
    (path("<hexadecimal:path>", page), []),
    (path("<hexadecimal:path>.", include([path("xml", page)])), []),
])  # fmt: skip
def test_a_pattern_before_the_native_views_that_answers_for_them(earlier, answered):
    messages = check(earlier, NATIVE)
    assert ids_of(messages) == ["W092"] * len(answered)
    assert ([each.msg.split()[0] for each in messages], check(NATIVE, earlier)) == (answered, [])


def test_the_order_is_checked_below_a_prefix(settings):
    settings.FORCE_SCRIPT_NAME = "/app"
    set_script_prefix("/app/")
    try:
        messages = check(path("maps/<path:path>", page), path("maps/", INCLUDED))
    finally:
        clear_script_prefix()
    assert [each.msg.split()[0] for each in messages] == [f"/maps{url}" for url in BOTH]
    assert f"{__name__}.page" in messages[0].msg


@pytest.mark.parametrize(("apps", "middleware", "engine", "missing"), [
    ([USERS, SESSIONS], [SESSION_MIDDLEWARE, USER_MIDDLEWARE], "db", []),
    ([USERS, SESSIONS], [f"{__name__}.OwnSessions", USER_MIDDLEWARE], "db", []),
    ([USERS], [SESSION_MIDDLEWARE, USER_MIDDLEWARE], "signed_cookies", []),
    ([USERS], [SESSION_MIDDLEWARE, USER_MIDDLEWARE], "cached_db", [SESSIONS]),
    ([USERS, SESSIONS], [USER_MIDDLEWARE, "no.where", "os.getcwd"], "db", [SESSION_MIDDLEWARE]),
    ([SESSIONS], [SESSION_MIDDLEWARE], "db", [USERS, USER_MIDDLEWARE]),
    ([], [], "db", [USERS, SESSIONS, SESSION_MIDDLEWARE, USER_MIDDLEWARE]),
])  # fmt: skip
def test_an_inspector_that_cannot_know_users_is_a_warning(settings, apps, middleware, engine, missing):
    settings.INSTALLED_APPS = ["django.contrib.contenttypes", *apps, "django_sitemaps09"]
    settings.SESSION_ENGINE, settings.MIDDLEWARE = f"django.contrib.sessions.backends.{engine}", middleware
    messages = check(path("sitemaps/", include("django_sitemaps09.tools.inspector.urls")))
    assert (check(NATIVE), ids_of(messages)) == ([], ["W091"] if missing else [])
    named = [each for each in (USERS, SESSIONS) if f"'{each}' to INSTALLED_APPS" in str(messages)]
    named += [m for m in (SESSION_MIDDLEWARE, USER_MIDDLEWARE) if f"'{m}' to MIDDLEWARE" in str(messages)]
    assert named == missing


def test_robots_txt_is_either_a_view_or_a_file(settings):
    settings.SITEMAPS09 = {"ROBOTS_TXT": "/srv/robots.txt"}
    assert (ids_of(check(NATIVE, ROBOTS)), ids_of(check(NATIVE))) == (["W094"], [])


@pytest.mark.parametrize(("options", "expected"), [
    ({"ROOT": "/srv/public"}, ["W095"]), ({"STORAGE": "sitemaps"}, ["W095"]),
    ({"ROOT": "/srv/public", "FILES_URL": "https://files.example.com/"}, []), ({}, []),
])  # fmt: skip
def test_the_live_index_has_the_path_of_the_exported_one(settings, options, expected):
    settings.SITEMAPS09 = options
    assert (ids_of(check(path("seo/", INCLUDED))), ids_of(check(NATIVE))) == (expected, [])
    settings.FORCE_SCRIPT_NAME = "/shop"
    assert ids_of(check(NATIVE)) == expected


def by_host(get_response):
    def respond(request):
        request.urlconf = "shop.hosts"
        return get_response(request)

    return respond


class ByHost:
    def process_request(self, request):
        request.urlconf = "shop.hosts"


class ByOurHost(ByHost):
    """A subclass, as a project has of another package's class."""


class Keeping:
    def __init__(self, get_response):
        self.urlconf = "shop.hosts"


def reading(get_response):
    return lambda request: get_response(request) if request.urlconf == "shop.hosts" else None


@pytest.mark.parametrize(("name", "expected"), [
    *((name, ["W079"]) for name in ("by_host", "ByHost", "ByOurHost")),
    *((name, []) for name in ("Keeping", "reading", "missing")),
])  # fmt: skip
def test_an_export_does_not_know_the_urlconf_of_a_middleware(settings, name, expected):
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.{name}"]
    assert ids_of(check(NATIVE)) == []
    settings.SITEMAPS09 = {"ROOT": "/srv/public"}
    assert ids_of(check(NATIVE)) == expected
    settings.SITEMAPS09, settings.STORAGES = {}, {**settings.STORAGES, "sitemaps": {"BACKEND": "any"}}
    assert ids_of(check(NATIVE)) == expected


CLASS = "class A(Sitemap): ...\n"
FORGOTTEN = "class ProductSitemap(Sitemap): ..."
NEWS = "\n@register('news')\nclass NewsPages(Sitemap): ..."
EMPTY = {}


def found(*patterns):
    with override_settings(ROOT_URLCONF=(NATIVE, *patterns)):
        return [each for each in checks.check_sections() if each.id != "sitemaps09.W086"]


class Elsewhere(Sitemap):
    """A class that a project imports from another module."""


@pytest.mark.parametrize("texts", [
    {"shop": NEWS},
    *({"shop": f"{CLASS}register('a', {section})"} for section in ("A", "A()", "lambda: A()")),
    {"shop": f"{CLASS}@register('b')\nclass B(A): ..."},
    {"shop": "class A: ...\n@register('b')\nclass B(A, Sitemap): ..."},
    {"shop": f"{CLASS}sitemaps = {{'a': A}}"},
    {"shop": f"{CLASS}@register('b')\nclass B(Sitemap):\n def for_host(self, domain): return A()"},
    {"shop": "from django.contrib import sitemaps\nclass A(sitemaps.Sitemap): ..."},
    {"shop": "from tests.tools.checks.test_views import Elsewhere"},
    {"blog": CLASS, "deals": "from blog.sitemaps import A as B"},
    {"core": CLASS, "shop": "from core import sitemaps\ndef view(): return sitemaps.A()"},
    {"core": CLASS, "shop": "import core.sitemaps as c\n@register('a')\nclass B(c.A): ..."},
])  # fmt: skip
def test_a_class_that_is_used_or_of_another_module_is_silent(apps, texts):
    for name, text in texts.items():
        apps.add(name, text)
    assert (ids_of(found()), apps.shared.runs) == ([], [*texts])


def test_a_class_that_no_factory_can_return_is_a_warning_but_in_a_module_without_a_file(apps, monkeypatch):
    apps.add("shop", FORGOTTEN + NEWS)
    (message,) = found()
    assert ids_of([message]) == ["W016"]
    assert message.msg == "shop.sitemaps.ProductSitemap is not registered, so no sitemap lists its URLs."
    assert '@register("...")' in str(message.hint)
    assert found(path("s", views.index, {"sitemaps": {"a": found}})) == []
    monkeypatch.delattr("shop.sitemaps.__file__")
    assert found() == []


@pytest.mark.parametrize("view", [views.index, contrib_views.index, page], ids=["ours", "contrib", "own"])
def test_a_class_in_a_mapping_of_the_urlconf_is_silent(apps, view):
    apps.add("shop", FORGOTTEN)
    apps.add("blog", "class PostSitemap(Sitemap): ...")
    passed = {}
    pattern = path("s", view, {"sitemaps": passed})
    assert ids_of(found(pattern)) == ["W016", "W016"]
    passed["products"] = sys.modules["shop.sitemaps"].ProductSitemap
    assert ["blog." in each.msg for each in found(pattern)] == [True]
    # A mapping that cannot be read can contain any class.
    assert found(path("s", view, {"sitemaps": SimpleLazyObject(dict)})) == []


def test_without_registered_sections_no_class_is_a_warning(apps, settings):
    apps.add("shop", FORGOTTEN)
    __import__("shop.sitemaps")
    with override_settings(ROOT_URLCONF=(path("", INCLUDED, {"sitemaps": {}}),)):
        assert checks.check_sections() == []
    settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.EMPTY"}
    assert found() == []
