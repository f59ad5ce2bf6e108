"""Laws of the system checks: each rule has its id, and none of them touches a database or a user's code."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.contrib import sitemaps as contrib
from django.contrib.flatpages.models import FlatPage
from django.contrib.sites.models import Site
from django.core import checks as django_checks
from django.core.checks import CheckMessage
from django.db import connections
from django.db.models import (
    CASCADE,
    Case,
    CharField,
    Count,
    DateTimeField,
    Exists,
    F,
    FloatField,
    ForeignKey,
    Func,
    Max,
    Model,
    OneToOneField,
    OuterRef,
    Q,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Lower
from django.test import RequestFactory, override_settings
from django.test.utils import isolate_apps
from django.urls import include, path, re_path
from django.utils.functional import SimpleLazyObject, cached_property
from django.views.decorators.cache import cache_page, never_cache

from django_sitemaps09 import (
    Extension,
    GenericSitemap,
    ModelSitemap,
    Route,
    Sitemap,
    StaticViewSitemap,
    checks,
    register,
    sections,
    views,
)
from django_sitemaps09.sitemaps import NewsSitemap
from tests.models import Article, Category, Name, Reading, Tag, Visit
from tests.support.databases import require

FORBIDDEN = {
    "django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection": "opened a connection",
    "django.db.models.sql.query.Query.get_compiler": "made a compiler",
    "django.db.models.sql.compiler.SQLCompiler.as_sql": "compiled SQL",
    "django.contrib.sites.models.SiteManager.get_current": "asked for the site",
}


@pytest.fixture(autouse=True)
def nothing_is_asked() -> Iterator[None]:
    """Every connection blocked, of every database there is, and every way to them."""
    with ExitStack() as stack:
        for target, deed in FORBIDDEN.items():
            stack.enter_context(mock.patch(target, side_effect=AssertionError(f"a check has {deed}")))
        yield


def ids_of(messages: Iterable[CheckMessage]) -> list[str]:
    """Each with a hint, and an id that says how bad it is."""
    found = []
    for message in messages:
        assert message.hint
        code = str(message.id).removeprefix("sitemaps09.")
        assert (message.level >= django_checks.ERROR) == code.startswith("E")
        found.append(code)
    return found


def ids(*declared: Any) -> list[str]:
    return ids_of(checks.check_declarations(declared))


def declaration(**attributes: Any) -> type[ModelSitemap[Any]]:
    return type("Declared", (ModelSitemap,), {"model": Article, **attributes})


SLUG = Route("article", slug=F("slug"))

INVALID: Mapping[str, tuple[dict[str, Any], str]] = {
    "lastmod is a plain string": ({"location": SLUG, "lastmod": "2026-01-01"}, "E010"),
    "unknown changefreq": ({"location": SLUG, "changefreq": "sometimes"}, "E011"),
    "priority out of range": ({"location": SLUG, "priority": 1.1}, "E012"),
    "priority is no number": ({"location": SLUG, "priority": "high"}, "E012"),
    "limit is no number": ({"location": SLUG, "limit": 0}, "E013"),
    "limit is missing": ({"location": SLUG, "limit": None}, "E013"),
    "limit is a text of no number": ({"location": SLUG, "limit": "sixty"}, "E013"),
    "limit over the protocol's": ({"location": SLUG, "limit": 50_001}, "W015"),
    "limit over the protocol's as a text": ({"location": SLUG, "limit": "50001"}, "W015"),
    "route without an expression": ({"location": Route("about")}, "E020"),
    "a path for all rows": ({"location": "/a/"}, "E020"),
    "unknown route": ({"location": Route("nowhere", slug=F("slug"))}, "E021"),
    "unknown namespace": ({"location": Route("no:where", slug=F("slug"))}, "E021"),
    "unknown route argument": ({"location": Route("article", name=F("slug"))}, "E021"),
    "too many route arguments": ({"location": Route("article", F("slug"), F("pk"))}, "E021"),
    "no rows": ({"model": None, "location": SLUG}, "E030"),
    "no such key": ({"location": SLUG, "key": "nothing"}, "E032"),
    "key that is no name": ({"location": SLUG, "key": F("pk")}, "E032"),
    "key that can be null": ({"location": SLUG, "key": "code"}, "E032"),
    "key that is not unique": ({"location": SLUG, "key": "slug"}, "E032"),
    "unknown field": ({"location": SLUG, "lastmod": F("changed")}, "E034"),
    "unknown field in a route": ({"location": Route("article", slug=F("name"))}, "E034"),
    "unknown field in a function": ({"location": SLUG, "lastmod": Max("comments__at")}, "E034"),
    "relation to many": ({"location": SLUG, "lastmod": F("comments__id")}, "E035"),
    "relation to many in a route": ({"location": Route("article", slug=F("tags__name"))}, "E035"),
}


class Evaluated:
    """A number that a project works out, such as one that is kept in its database."""

    def __int__(self) -> int:
        raise AssertionError("a check has worked out a number")

    __eq__ = __hash__ = __int__  # type: ignore[assignment]


@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_declaration_is_an_error_with_its_id(case: str) -> None:
    attributes, expected = INVALID[case]
    assert ids(declaration(**attributes)) == [expected]


@pytest.mark.parametrize("case", INVALID)
def test_a_message_names_the_class_and_the_way_out(case: str) -> None:
    (message,) = checks.check_declarations([declaration(**INVALID[case][0])])
    assert "Declared" in message.msg
    assert message.hint


@pytest.mark.parametrize(
    "attributes",
    [
        {"location": SLUG},
        {"location": Route("article", F("slug"))},
        {"location": Route("article", slug=Lower("category__slug")), "lastmod": F("updated")},
        {"location": SLUG, "lastmod": Max("visits__at")},
        {"queryset": Article.objects.annotate(n=Count("tags")), "priority": F("n")},
        {"queryset": Article.objects.filter(tags__name="a"), "lastmod": F("updated")},
        {"queryset": Article.objects.filter(published=True), "changefreq": Value("daily")},
        {"queryset": Article.objects.none()},
        {"queryset": Article.objects, "model": None},
        {"changefreq": "weekly", "priority": 0, "lastmod": None},
        {"location": lambda self, item: "/", "model": Category},
        {"location": SLUG, "limit": "60"},
        {"location": SLUG, "limit": b"60"},
        {"location": SLUG, "limit": None, "paginator": property(lambda self: 1 / 0)},
        {"location": SLUG, "limit": None, "__init__": lambda self: setattr(self, "limit", 60)},
        {"location": SLUG, "limit": 1e4},
        {"location": SLUG, "limit": Decimal(60)},
        {"location": SLUG, "limit": Evaluated()},
        {"get_queryset": lambda self: 1 / 0, "model": None},
        {"queryset": property(lambda self: 1 / 0), "model": None},
        {"key": property(lambda self: 1 / 0)},
        {"items": lambda self: 1 / 0, "model": None},
    ],
)
def test_a_valid_declaration_is_silent(attributes: dict[str, Any]) -> None:
    assert ids(declaration(**attributes)) == []


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"lastmod": "yesterday"}, "W010"),
        ({"changefreq": "sometimes"}, "W011"),
        ({"priority": 7}, "W012"),
        ({"limit": "sixty"}, "W013"),
        ({"limit": 60.5}, "W013"),
        ({"limit": float("inf")}, "W013"),
        ({"limit": "0"}, "W013"),
        ({"limit": True}, "W013"),
        ({"limit": None}, "W013"),
        ({"limit": b"sixty"}, "W013"),
    ],
)
def test_what_contrib_accepts_is_a_warning_on_a_class_without_expressions(
    attributes: dict[str, Any], expected: str
) -> None:
    assert ids(type("Old", (Sitemap,), attributes)) == [expected]


@pytest.mark.parametrize(
    "queryset",
    [
        Article.objects.all()[:10],
        Article.objects.filter(pk=1).union(Article.objects.filter(pk=2)),
        Article.objects.distinct("slug"),
        Article.objects.values("slug"),
        Article.objects.raw("SELECT * FROM tests_article"),
    ],
    ids=["slice", "union", "distinct", "values", "raw"],
)
def test_a_queryset_without_ranges_is_a_warning(queryset: Any) -> None:
    assert ids(declaration(queryset=queryset)) == ["W031"]


@pytest.mark.parametrize("key", ["ratio", "blob", "label", "amount"])
def test_a_column_that_cannot_be_a_key_is_an_error(key: str) -> None:
    found = ids(declaration(model=Reading, location=Route("word", word=F("serial")), key=key))
    assert found == ["E032"]


class Ready(ModelSitemap[Any]):
    """Its rows and its location are known where it is made."""

    def __init__(self) -> None:
        self.queryset = Tag.objects.all()
        self.location = Route("word", word=F("name"))


class Computed(ModelSitemap[Any]):
    model = Article
    location = SLUG

    @cached_property
    def lastmod(self) -> str:
        raise AssertionError("a check has read a property")

    @property
    def limit(self) -> int:
        raise AssertionError("a check has read a property")


@pytest.mark.parametrize("declared", [Ready, Ready(), Computed, Computed()])
def test_what_only_an_instance_knows_is_not_judged(declared: Any) -> None:
    assert ids(declared) == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["about", "home"], []), ("about", ["E022"]), (["article"], ["E023"]), (["nowhere"], ["E023"])],
)
def test_the_names_of_static_views_lead_somewhere(names: Any, expected: list[str]) -> None:
    declared = type("Pages", (StaticViewSitemap,), {"viewnames": names})
    assert ids(declared) == expected


def test_a_protocol_that_no_crawler_follows_is_a_warning() -> None:
    assert ids(type("Old", (Sitemap,), {"protocol": "ftp"})) == ["W014"]


def test_a_module_that_cannot_be_imported_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise ImportError("no module named shop.prices")

    monkeypatch.setattr(sections, "_discovered", False)
    monkeypatch.setattr(sections, "autodiscover_modules", fail)
    (message,) = checks.check_sections()
    assert message.id == "sitemaps09.E005"
    assert "shop.prices" in message.msg


def test_a_name_that_is_registered_twice_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def discover(*args: Any, **kwargs: Any) -> None:
        register("shop", Sitemap)
        register("Shop", Sitemap)

    monkeypatch.setattr(sections, "_registered", {})
    monkeypatch.setattr(sections, "_discovered", False)
    monkeypatch.setattr(sections, "autodiscover_modules", discover)
    (message,) = checks.check_sections()
    assert ids_of([message]) == ["E005"]
    assert "'shop' is registered in" in message.msg


def test_a_model_without_get_absolute_url_needs_a_location() -> None:
    assert ids(declaration(model=Tag)) == ["E033"]


def test_nothing_that_a_user_wrote_is_called() -> None:
    def explode(*args: Any) -> Any:
        raise AssertionError("a check has called a hook")

    hooks = ("items", "get_queryset", "location", "lastmod", "__init__", "get_absolute_url")
    assert ids(declaration(**dict.fromkeys(hooks, explode)), explode) == []


def test_each_class_is_told_once_and_instances_are_judged_too() -> None:
    bad = declaration(location=SLUG, changefreq="sometimes")
    assert len(ids(bad, bad)) == 1
    generic = GenericSitemap({"queryset": Article.objects.all()}, priority=3.0)
    static = type("Pages", (StaticViewSitemap,), {"viewnames": ["about"]})()
    assert ids(generic, generic, static, object()) == ["W012"]
    alike = [GenericSitemap({"queryset": Article.objects.all()}, priority=3.0) for _ in range(2)]
    assert ids(*alike) == ["W012"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ["E001"]),
        ({"BASEURL": "https://example.org"}, ["E002"]),
        ({"BASE_URL": "example.org"}, ["E003"]),
        ({"BASE_URL": "https://example.org/shop/"}, ["E003"]),
        ({"BASE_URL": 7}, ["E003"]),
        ({"MAX_URLS": 50_001}, ["E003"]),
        ({"MAX_BYTES": 0}, ["E003"]),
        ({"FILES_URL": "https://example.org/files"}, ["E003"]),
        ({"ROOT": 7, "ROBOTS_TXT": 7}, ["E003", "E003"]),
        ({"STORAGE": "nowhere"}, ["E004"]),
        ({"STORAGE": "nowhere", "STATE": "nowhere"}, ["E004", "E004"]),
        ({"BASE_URL": "https://example.org", "MAX_BYTES": 52_428_800, "ROOT": "x"}, []),
    ],
)
def test_each_rule_of_the_settings_has_its_id(given: Any, expected: list[str]) -> None:
    with override_settings(SITEMAPS09=given):
        assert ids_of(checks.check_settings()) == expected


def test_an_unknown_key_is_told_with_the_nearest_known_one() -> None:
    with override_settings(SITEMAPS09={"BASEURL": ""}):
        (message,) = checks.check_settings()
    assert message.hint == "Did you mean 'BASE_URL'?"


BROKEN = {"a b": declaration()}
ALIKE = {"shop": declaration(), "Shop": declaration()}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests.nowhere.SITEMAPS", "E005"),
        ("tests.test_checks.SLUG", "E005"),
        ("tests.test_checks.BROKEN", "W006"),
        ("tests.test_checks.ALIKE", "W006"),
    ],
)
def test_the_setting_for_sections_is_judged(path: str, expected: str) -> None:
    with override_settings(SITEMAPS09={"SITEMAPS": path}):
        assert ids_of(checks.check_sections()) == [expected]


def test_registered_declarations_are_checked_by_manage_py_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sections, "_registered", {"bad": declaration(changefreq="x", location=SLUG)})
    monkeypatch.setattr(sections, "_discovered", True)
    # Django's own checks of models ask MariaDB for its version.
    every = django_checks.registry.registry.get_checks()
    ours = [check for check in every if check in (checks.check_settings, checks.check_sections)]
    assert len(ours) == 2
    found = [message for check in ours for message in check(app_configs=None)]
    assert [message.id for message in found] == ["sitemaps09.E011"]


def test_the_guard_of_these_tests_blocks_all_that_asks() -> None:
    with pytest.raises(AssertionError, match="opened a connection"):
        connections["default"].cursor()
    with pytest.raises(AssertionError, match="made a compiler"):
        list(Article.objects.all())
    with pytest.raises(AssertionError, match="asked for the site"):
        Site.objects.get_current()


@pytest.mark.parametrize("engine", ["nope", "a.b.C", "django.http.HttpResponse", "os.path.join"])
def test_an_engine_that_is_none_is_an_error(settings: Any, engine: str) -> None:
    settings.SITEMAPS09 = {"ENGINE": engine}
    (error,) = checks.check_settings()
    assert (error.id, engine in str(error.msg)) == ("sitemaps09.E007", True)
    assert "'processes'" in str(error.hint)


@pytest.mark.parametrize(
    "engine", ["serial", "processes", "django_sitemaps09.export.engines.processes.Processes"]
)
def test_an_engine_that_is_one_is_none(settings: Any, engine: str) -> None:
    settings.SITEMAPS09 = {"ENGINE": engine}
    assert checks.check_settings() == []


# Each law below is of a kind: attributes of a class, and the ids that they give.

Declared = tuple[dict[str, Any], list[str]]
UNION = Article.objects.filter(pk=1).union(Article.objects.all())


def takes(self: Any, item: Any) -> Any:
    raise AssertionError("a check has called a hook")


def unread(self: Any) -> Any:
    raise AssertionError("a check has read a property")


KINDS: list[Declared] = [
    ({"lastmod": F("slug")}, ["W036"]),
    ({"lastmod": F("pk")}, ["W036"]),
    ({"lastmod": F("category")}, ["W036"]),
    ({"lastmod": Lower("slug")}, ["W036"]),
    ({"lastmod": Value("2026-01-31")}, ["W036"]),
    ({"lastmod": Subquery(Visit.objects.values("pk")[:1])}, ["W036"]),
    ({"lastmod": F("updated")}, []),
    ({"lastmod": F("day")}, []),
    ({"lastmod": Max("visits__at")}, []),
    ({"lastmod": Coalesce("updated", "day", output_field=DateTimeField())}, []),
    ({"lastmod": Subquery(Visit.objects.values("at")[:1])}, []),
    ({"lastmod": Cast("slug", DateTimeField())}, []),
    ({"lastmod": Value(None)}, []),
    ({"lastmod": Func("slug", function="PARSED")}, ["W036"]),
    ({"priority": F("slug")}, ["W037"]),
    ({"priority": F("published")}, ["W037"]),
    ({"priority": F("updated")}, ["W037"]),
    ({"priority": F("weight")}, []),
    ({"priority": F("pk")}, []),
    ({"priority": Cast("slug", FloatField())}, []),
    ({"changefreq": F("weight")}, ["W038"]),
    ({"changefreq": F("slug")}, []),
    ({"changefreq": F("category__slug")}, []),
    (
        {"queryset": UNION, "lastmod": F("day")},
        ["W031"],
    ),
    (
        {"queryset": UNION, "lastmod": F("slug")},
        ["W031", "W036"],
    ),
    ({"queryset": Article.objects.all()[:5], "lastmod": F("day")}, ["W031"]),
    ({"queryset": Article.objects.raw("SELECT 1"), "lastmod": F("day")}, ["W031", "E034", "E034"]),
]


@pytest.mark.parametrize(("attributes", "expected"), KINDS)
def test_an_expression_is_of_the_kind_that_its_element_holds(
    attributes: dict[str, Any], expected: list[str]
) -> None:
    assert ids(declaration(location=SLUG, **attributes)) == expected


def test_a_field_of_the_projects_own_may_give_anything() -> None:
    assert ids(declaration(model=Name, location=Route("word", word=F("name")), lastmod=F("name"))) == []


LANGUAGES: list[Declared] = [
    ({"i18n": True, "languages": ["en", "de", "pt-br"], "alternates": True, "x_default": True}, []),
    ({"i18n": True, "languages": ("de",)}, []),
    ({"i18n": True, "languages": None, "alternates": True, "x_default": True}, []),
    ({"i18n": True, "languages": "en"}, ["E040"]),
    ({"languages": "en"}, ["E040"]),
    ({"i18n": True, "languages": 7}, ["E040"]),
    ({"i18n": True, "languages": ["fr"]}, ["W043"]),
    ({"i18n": True, "languages": ["pt-BR", "fr"]}, ["W043", "W043"]),
    ({"i18n": True, "languages": ["english"], "alternates": True}, ["W043", "W041"]),
    ({"i18n": True, "languages": [7], "alternates": takes}, ["W043", "W041"]),
    ({"i18n": True, "languages": ["es-419"], "alternates": True}, ["W043", "W042"]),
    # Where nothing links to a language, hreflang is never written.
    ({"i18n": True, "languages": ["es-419"]}, ["W043"]),
    ({"languages": ["en"]}, ["W044"]),
    ({"x_default": True}, ["W044"]),
    ({"alternates": True}, ["W044"]),
    ({"languages": ["fr"], "alternates": True, "x_default": True}, ["W044"]),
    ({"alternates": takes}, []),
    ({"alternates": takes, "x_default": takes}, []),
    ({"alternates": takes, "x_default": True}, ["W044"]),
    ({"i18n": True, "x_default": True}, ["W045"]),
    ({"i18n": True, "x_default": True, "alternates": False}, ["W045"]),
    ({"i18n": True, "x_default": True, "alternates": property(unread)}, []),
    ({"i18n": True, "x_default": takes}, []),
    ({"i18n": True, "languages": ["de"], "alternates": True, "x_default": True}, ["W046"]),
    ({"i18n": True, "languages": ["de"], "alternates": True, "x_default": takes}, []),
    ({"i18n": True, "languages": ["de"], "alternates": True, "x_default": property(unread)}, []),
    (
        {
            "i18n": True,
            "languages": ["de"],
            "alternates": True,
            "x_default": True,
            "get_languages_for_item": takes,
        },
        [],
    ),
    ({"i18n": property(unread), "languages": ["fr"], "x_default": True}, []),
    ({"i18n": True, "languages": property(unread), "alternates": True, "x_default": True}, []),
    ({"i18n": True, "languages": Tag.objects.values_list("name", flat=True)}, []),
    ({"__init__": unread, "languages": ["de"]}, []),
    ({"alternates": "yes"}, ["W047"]),
    ({"i18n": True, "alternates": ["de"]}, ["W047"]),
    ({"x_default": "en"}, ["W048"]),
    ({"alternates": None, "x_default": None, "languages": None}, []),
]


@pytest.mark.parametrize(("attributes", "expected"), LANGUAGES)
def test_languages_are_codes_and_switches_have_an_effect(
    attributes: dict[str, Any], expected: list[str]
) -> None:
    assert ids(declaration(location=SLUG, **attributes)) == expected


def test_an_x_default_needs_its_language_among_those_of_the_settings() -> None:
    declared = declaration(location=SLUG, i18n=True, alternates=True, x_default=True)
    with override_settings(LANGUAGE_CODE="en-us"):
        assert ids(declared) == ["W046"]


@pytest.mark.parametrize("base", [Sitemap, contrib.Sitemap], ids=["ours", "contribs"])
def test_languages_that_contrib_accepts_are_a_warning_on_a_class_without_expressions(base: type) -> None:
    assert ids(type("Old", (base,), {"i18n": True, "languages": "en"})) == ["W040"]


def element(prefix: str, namespace: str | None = None) -> Extension:
    return Extension(prefix, namespace or f"https://example.org/{prefix}", takes)


DOCUMENTS: list[Declared] = [
    ({"hosts": ["https://shop.example.com", "blog.example.com", "blog.example.com:8000"]}, []),
    ({"hosts": ("https://shop.example.com/",)}, []),
    ({"hosts": property(unread)}, []),
    ({"hosts": "shop.example.com"}, ["E050"]),
    ({"hosts": ["shop.example.com/a"]}, ["E050"]),
    ({"hosts": ["ftp://shop.example.com"]}, ["E050"]),
    ({"hosts": ["shop example"]}, ["E050"]),
    ({"hosts": [""]}, ["E050"]),
    ({"hosts": [7]}, ["E050"]),
    ({"hosts": 7}, ["E050"]),
    ({"hosts": Tag.objects.values_list("name", flat=True)}, ["E050"]),
    ({"format": "text"}, []),
    ({"format": "text", "i18n": True}, []),
    ({"format": takes}, []),
    ({"format": "txt"}, ["E051"]),
    ({"format": 7}, ["E051"]),
    ({"format": "text", "images": takes}, ["W052"]),
    ({"format": "text", "videos": takes, "news": takes}, ["W052"]),
    ({"format": "text", "extensions": [element("a")]}, ["W052"]),
    ({"format": "text", "alternates": takes}, ["W052"]),
    ({"format": "text", "i18n": True, "alternates": True}, ["W052"]),
    ({"extensions": [element("a"), element("b")]}, []),
    ({"extensions": (element("a"),)}, []),
    ({"extensions": property(unread)}, []),
    ({"extensions": element("a")}, ["E054"]),
    ({"extensions": "ab"}, ["E054"]),
    ({"extensions": Tag.objects.all()}, ["E054"]),
    ({"extensions": [Extension]}, ["E054"]),
    ({"extensions": [element("a"), "b"]}, ["E054"]),
    ({"extensions": [element("a"), element("a", "https://example.org/other")]}, ["E054"]),
    ({"extensions": [element("a"), element("b", "https://example.org/a")]}, ["E054"]),
]


@pytest.mark.parametrize(("attributes", "expected"), DOCUMENTS)
def test_documents_can_hold_what_a_class_declares(attributes: dict[str, Any], expected: list[str]) -> None:
    assert ids(declaration(location=SLUG, **attributes)) == expected


def test_a_format_of_a_class_without_expressions_may_be_an_attribute_of_its_own() -> None:
    assert ids(type("Old", (Sitemap,), {"format": "%Y-%m-%d"})) == ["W051"]


def test_hosts_and_extensions_of_a_class_without_expressions_may_be_attributes_of_its_own() -> None:
    assert ids(type("Old", (Sitemap,), {"hosts": "all"})) == ["W050"]
    assert ids(type("Old", (Sitemap,), {"extensions": ".html"})) == ["W054"]


NEWS: list[Declared] = [
    ({"date_field": "updated", "publication_name": "The Times"}, []),
    ({"date_field": "day", "publication_name": "The Times"}, []),
    ({"date_field": property(unread), "publication_name": property(unread)}, []),
    ({"publication_name": "The Times"}, ["E057"]),
    ({"date_field": "slug", "publication_name": "The Times"}, ["E057"]),
    ({"date_field": "updated__date", "publication_name": "The Times"}, ["E057"]),
    ({"date_field": "updated"}, ["E058"]),
    ({"date_field": "updated", "news": takes}, []),
    ({"items": unread, "news": takes}, []),
    ({"date_field": "updated", "publication_name": F("slug")}, ["E058"]),
    ({"date_field": "updated", "publication_name": "T", "publication_language": "de-at"}, []),
    ({"date_field": "updated", "publication_name": "T", "publication_language": "english"}, ["E059"]),
    ({"date_field": "updated", "publication_name": "T", "title": F("slug")}, ["E060"]),
    ({"date_field": "updated", "publication_name": "T", "title": lambda self: ""}, ["E056"]),
    (
        {"date_field": "updated", "publication_name": "T", "queryset": Article.objects.all()[:5]},
        ["E061", "W031"],
    ),
]


@pytest.mark.parametrize("name", ["images", "videos", "news", "alternates", "x_default"])
def test_a_method_that_contrib_does_not_know_is_a_warning_on_a_class_without_expressions(name: str) -> None:
    helper = {name: lambda self: None, "i18n": True, "alternates": True} | {name: lambda self: None}
    assert ids(type("Old", (Sitemap,), helper)) == ["W056"]
    assert "E056" in ids(declaration(location=SLUG, **{name: lambda self: None}))


def test_a_site_field_and_an_items_of_its_own_do_not_go_together() -> None:
    assert ids(
        type("Made", (ModelSitemap,), {"model": FlatPage, "site_field": "sites", "items": unread})
    ) == ["E055"]


def test_rows_that_nothing_lists_are_an_error() -> None:
    assert ids(declaration(location=SLUG, queryset=Article.objects.all)) == ["E062"]
    assert ids(type("Plain", (Sitemap,), {"model": Article, "location": SLUG})) == ["E063"]


def test_an_aggregate_that_nothing_groups_is_an_error() -> None:
    rows = Article.objects.all()
    tagged = rows.annotate(n=Count("tags")).filter(n__gt=0)
    plain = rows.filter(published=True)
    assert ids(declaration(location=SLUG, queryset=plain | tagged)) == ["E064"]
    assert ids(declaration(location=SLUG, queryset=tagged | plain)) == []


@pytest.mark.services
def test_an_aggregate_beside_which_mariadb_does_not_find_a_column_is_an_error() -> None:
    require("mariadb")
    counted = Article.objects.annotate(n=Count("tags")).filter(Q(n__gt=0) | Q(updated__year=2026))
    assert ids(declaration(location=SLUG, queryset=counted.using("mariadb"))) == ["E065"]
    assert ids(declaration(location=SLUG, queryset=counted)) == []


@pytest.mark.parametrize(("attributes", "expected"), NEWS)
def test_news_have_a_date_and_a_publication(attributes: dict[str, Any], expected: list[str]) -> None:
    declared = type("Declared", (NewsSitemap,), {"model": Article, "location": SLUG, **attributes})
    assert ids(declared) == expected


def test_what_we_added_means_nothing_on_a_class_that_is_contribs_alone() -> None:
    added = {"format": "txt", "hosts": "a", "extensions": 7, "images": 7, "alternates": 7, "site_field": 7}
    assert ids(type("Old", (contrib.Sitemap,), {**added, "videos": lambda self: ()})) == []


@pytest.mark.parametrize("name", ["images", "videos", "news"])
def test_what_is_no_method_is_told_to_be_ignored(name: str) -> None:
    (message,) = checks.check_declarations([declaration(location=SLUG, **{name: ["/a.png"]})])
    assert ids_of([message]) == ["W053"]
    assert f"def {name}(self, item)" in str(message.hint)
    assert ids(declaration(location=SLUG, **{name: None})) == []
    assert ids(declaration(location=SLUG, **{name: property(unread)})) == []


def decorated(method: Any) -> Any:
    """Gives the function inside what that wants."""

    @functools.wraps(method)
    def wrapper(self: Any, item: Any) -> Any:
        return method(self)

    return wrapper


class Callable1:
    def __call__(self, item: Any) -> Any:
        return takes(self, item)


HOOKS = (
    *("images", "videos", "news", "alternates", "x_default", "get_languages_for_item"),
    *("location", "lastmod", "changefreq", "priority"),
)


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize(
    "hook",
    [
        lambda self: (),
        lambda self, item, site: (),
        lambda self, *, item: (),
        staticmethod(lambda: ()),
        classmethod(lambda cls: ()),
    ],
    ids=["none", "two", "keyword", "staticmethod", "classmethod"],
)
def test_a_hook_that_cannot_take_the_item_is_an_error(name: str, hook: Any) -> None:
    (message,) = checks.check_declarations([declaration(**{"lastmod": F("day"), name: hook})])
    assert ids_of([message]) == ["E056"]
    assert f"Declared.{name}" in message.msg


SILENT: Mapping[str, Any] = {
    "method": takes,
    "any arguments": lambda self, *args: takes(self, args),
    "more with a default": lambda self, item, site=None: takes(self, item),
    "staticmethod": staticmethod(lambda item: takes(None, item)),
    "classmethod": classmethod(takes),
    # Bound or not, as the version of Python has it.
    "partial": functools.partial(lambda: ()),
    "partialmethod": functools.partialmethod(takes),
    "cached": functools.lru_cache(takes),
    "decorated": decorated(lambda self: ()),
    "mock": mock.Mock(side_effect=AssertionError, spec=["__call__"]),
    "callable": Callable1(),
    "builtin": len,
    "class": dict,
    "property": property(unread),
}


@pytest.mark.parametrize("name", HOOKS)
@pytest.mark.parametrize("case", SILENT)
def test_a_hook_that_may_take_the_item_is_silent_and_not_called(name: str, case: str) -> None:
    assert ids(declaration(**{name: SILENT[case]})) == []


def test_a_class_with_machinery_of_its_own_calls_its_hooks_as_it_likes() -> None:
    def location(self: Any, item: Any, language: str) -> str:
        raise AssertionError("a check has called a hook")

    assert ids(declaration(location=location)) == ["E056"]
    assert ids(declaration(location=location, _location=takes)) == []


def test_hooks_of_an_instance_are_functions_and_not_bound() -> None:
    made = declaration(location=SLUG)()
    made.images = lambda item: takes(made, item)  # type: ignore[attr-defined]
    assert ids(made) == []
    made.images = lambda: ()  # type: ignore[attr-defined]
    assert ids(made) == ["E056"]


@isolate_apps("tests")
def related(field: Any) -> type[Model]:
    class Offer(Model):
        site = field
        name = CharField(max_length=20)

        class Meta:
            app_label = "tests"

    return Offer


@pytest.mark.parametrize(
    ("model", "name", "expected"),
    [
        (FlatPage, "sites", []),
        (FlatPage, "title", ["E055"]),
        (FlatPage, "site", ["E055"]),
        (FlatPage, "sites__domain", ["E055"]),
        (FlatPage, 7, ["E055"]),
        (FlatPage, property(unread), []),
        (related(ForeignKey(Site, CASCADE)), "site", []),
        (related(OneToOneField(Site, CASCADE)), "site", []),
        (related(ForeignKey(Site, CASCADE)), "name", ["E055"]),
        (related(ForeignKey(Tag, CASCADE)), "site", ["E055"]),
        # That it leads nowhere, Django says.
        (related(ForeignKey("nowhere.Site", CASCADE)), "site", []),
        (Article, "visits", ["E055"]),
    ],
)
def test_a_site_field_leads_to_site(model: Any, name: Any, expected: list[str]) -> None:
    assert ids(declaration(model=model, location=takes, site_field=name)) == expected
    unknown = declaration(model=model, location=takes, site_field=name, get_queryset=unread)
    assert ids(unknown) == (expected if name == 7 else [])


WITHOUT_SITES = ["django.contrib.contenttypes", "django.contrib.auth", "django_sitemaps09", "tests"]


@override_settings(INSTALLED_APPS=WITHOUT_SITES)
def test_a_site_field_needs_the_sites_framework() -> None:
    assert ids(declaration(location=SLUG, site_field="site")) == ["E055"]
    assert ids(declaration(location=SLUG, site_field=None)) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, []),
        ({"ROOT": "public"}, ["W008"]),
        ({"STORAGE": "default"}, ["W008"]),
        ({"ROBOTS_TXT": "robots.txt"}, ["W008"]),
        ({"ROOT": "public", "BASE_URL": "https://example.org"}, []),
        # That it is wrong is said once.
        ({"ROOT": "public", "BASE_URL": "example.org"}, ["E003"]),
    ],
)
def test_an_export_needs_a_host(given: dict[str, Any], expected: list[str]) -> None:
    with override_settings(SITEMAPS09=given):
        assert ids_of(checks.check_settings()) == [code for code in expected if code != "W008"]
        with override_settings(INSTALLED_APPS=WITHOUT_SITES):
            assert ids_of(checks.check_settings()) == expected


def test_a_storage_named_sitemaps_is_an_export() -> None:
    storages = {**settings.STORAGES, "sitemaps": settings.STORAGES["default"]}
    with override_settings(INSTALLED_APPS=WITHOUT_SITES, STORAGES=storages, SITEMAPS09={}):
        assert ids_of(checks.check_settings()) == ["W008"]


# What is named, or passed, in a URLconf.

INVALID_SECTION = declaration(location=SLUG, changefreq="sometimes")
INVALID_PASSED = {"sitemaps": {"bad": INVALID_SECTION}}
NAMES = {"sitemaps": {"a b": declaration(location=SLUG)}}
INCLUDED = include("django_sitemaps09.urls")
ARTICLE = path("articles/<slug:slug>/", takes, name="article")


def plain_view(request: Any, **kwargs: Any) -> Any:
    """A view of another's."""


def wraps_itself(request: Any, **kwargs: Any) -> Any:
    """A view that cannot be looked into."""


wraps_itself.__wrapped__ = wraps_itself  # type: ignore[attr-defined]


def checked(*patterns: Any, registered: Any = None) -> list[str]:
    """The ids for a site with these patterns."""
    # Not by the registry: apps of the tests register nothing.
    with (
        mock.patch.multiple(sections, _registered=registered or {}, _discovered=True),
        override_settings(ROOT_URLCONF=(ARTICLE, *patterns)),
    ):
        return ids_of(checks.check_sections())


@pytest.mark.parametrize(
    "patterns",
    [
        [path("", INCLUDED, INVALID_PASSED)],
        [path("", INCLUDED, INVALID_PASSED), path("b/", INCLUDED, INVALID_PASSED)],
        [path("a/", include([path("b/", INCLUDED)]), INVALID_PASSED)],
        [path("a/", include([path("b/", INCLUDED, INVALID_PASSED)]), {"sitemaps": {}})],
        [*i18n_patterns(path("", INCLUDED, INVALID_PASSED))],
        [path("sitemap.xml", views.sitemap, INVALID_PASSED)],
        [path("sitemap.xml", cache_page(60)(views.index), INVALID_PASSED)],
        [re_path("a", never_cache(cache_page(60)(views.page)), INVALID_PASSED)],
        [path("robots.txt", views.robots_txt, INVALID_PASSED)],
    ],
)
def test_what_is_passed_in_a_urlconf_is_checked_once(patterns: list[Any]) -> None:
    assert checked(*patterns) == ["E011"]
    assert checked(*patterns, registered={"bad": INVALID_SECTION}) == ["E011"]


@pytest.mark.parametrize(
    "patterns",
    [
        [],
        [path("", INCLUDED)],
        [path("", INCLUDED, {"sitemaps": None})],
        [path("", INCLUDED, {"sitemaps": SimpleLazyObject(unread)})],
        [path("", plain_view, INVALID_PASSED)],
        [path("", wraps_itself, INVALID_PASSED)],
        [path("", include([path("b/", INCLUDED, {"sitemaps": {}})]), INVALID_PASSED)],
        [path("", INCLUDED, {"sitemaps": {"made": unread, "object": object()}})],
    ],
)
def test_what_is_passed_to_others_and_what_is_made_anew_is_not(patterns: list[Any]) -> None:
    assert checked(*patterns) == []


class Stored(Mapping[str, Any]):
    """A section for each row: what is read on a database without tables fails."""

    def __iter__(self) -> Iterator[str]:
        return iter([tag.name for tag in Tag.objects.all()])

    def __getitem__(self, name: str) -> Any:
        return INVALID_SECTION

    def __len__(self) -> int:
        return Tag.objects.count()


class StoredDict(dict[str, Any]):
    """A dict that is filled when it is first read."""

    def fill(self) -> StoredDict:
        self.update(Stored())
        return self

    def items(self) -> Any:
        return super(StoredDict, self.fill()).items()

    def values(self) -> Any:
        return super(StoredDict, self.fill()).values()


class Unreadable(Mapping[str, Any]):
    """A mapping that cannot be read yet."""

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("not before the first request")

    def __len__(self) -> int:
        return len(self.items())

    __getitem__ = takes


STORED, STORED_DICT, UNREADABLE = Stored(), StoredDict(), Unreadable()
LAZY: Any = SimpleLazyObject(lambda: {tag.name: INVALID_SECTION for tag in Tag.objects.all()})


@pytest.mark.parametrize("name", ["STORED", "STORED_DICT", "UNREADABLE", "LAZY"])
def test_a_mapping_that_is_not_a_plain_dict_is_not_read(name: str) -> None:
    given = {"sitemaps": globals()[name]}
    assert checked(path("sitemap.xml", views.index, given), path("s", views.sitemap, given)) == []
    assert checked(path("", INCLUDED, given)) == []
    with override_settings(SITEMAPS09={"SITEMAPS": f"{__name__}.{name}"}):
        assert checked(path("", INCLUDED), path("sitemap.xml", views.index)) == []
    # The views read it.
    with pytest.raises((AssertionError, RuntimeError)):
        views.sitemap_index(RequestFactory().get("/"), **given)


class Unusual(dict[str, Any]):
    """A dict of the project's that is read as any other."""

    def __missing__(self, name: str) -> Any:
        raise AssertionError("a check has asked for a section")

    __len__ = __getitem__ = __contains__ = takes  # type: ignore[assignment]


@pytest.mark.parametrize(
    "kind",
    [dict, OrderedDict, Unusual, lambda given: defaultdict(takes, given), type("Own", (OrderedDict,), {})],
)
def test_a_dict_of_another_class_is_read_unless_that_changes_how(kind: Any) -> None:
    given = kind({"a b": INVALID_SECTION})
    assert checked(path("sitemap.xml", views.index, {"sitemaps": given})) == ["E011"]
    assert checked(path("", INCLUDED, {"sitemaps": given})) == ["W006", "E011"]


def test_names_that_are_passed_to_our_urls_can_be_in_urls() -> None:
    assert checked(path("", INCLUDED, NAMES)) == ["W006"]
    assert checked(path("", INCLUDED, {"sitemaps": ALIKE})) == ["W006"]
    assert checked(path("sitemap-<section>.xml", views.sitemap, NAMES)) == []


@pytest.mark.parametrize(
    "urlconf", ["tests.nowhere", "tests.test_checks", (path("", include(ModuleType("empty"))),)]
)
def test_a_urlconf_that_is_none_is_djangos_affair(urlconf: Any) -> None:
    with override_settings(ROOT_URLCONF=urlconf):
        assert ids_of(checks.check_sections()) == []
        assert ids(declaration(location=Route("nowhere", slug=F("slug")))) == []


def test_a_urlconf_may_include_itself() -> None:
    module = ModuleType("recursive")
    module.app_name = "recursive"  # type: ignore[attr-defined]
    module.urlpatterns = [ARTICLE]  # type: ignore[attr-defined]
    module.urlpatterns += [  # type: ignore[attr-defined]
        path("again/", include(module)),
        path("", INCLUDED, INVALID_PASSED),
    ]
    with override_settings(ROOT_URLCONF=module):
        assert ids_of(checks.check_sections()) == ["E011"]


def test_without_a_urlconf_there_is_nothing_to_walk() -> None:
    with override_settings():
        del settings.ROOT_URLCONF
        assert ids_of(checks.check_sections()) == []


SPACES = [
    path("a/", include(([ARTICLE], "shop"))),
    path("b/", include(([ARTICLE], "blog"), namespace="news")),
    path("<slug:tenant>/", include(([ARTICLE], "tenant"))),
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shop:article", []),
        ("news:article", []),
        # By the app's name, as reverse() takes it.
        ("blog:article", []),
        # What stands before it takes arguments too.
        ("tenant:article", []),
        ("shop:nothing", ["E021"]),
        ("nothing:article", ["E021"]),
        ("shop:news:article", ["E021"]),
    ],
)
def test_a_route_may_lead_into_a_namespace(name: str, expected: list[str]) -> None:
    declared = declaration(location=Route(name, slug=F("slug")))
    assert checked(*SPACES, registered={"a": declared}) == expected


# What holds for all of them.


class Explosive:
    """A value that cannot even be shown."""

    def __getattr__(self, name: str) -> Any:
        if name == "resolve_expression":
            raise AttributeError(name)
        raise AssertionError(f"a check has asked for {name}")

    def __iter__(self) -> Any:
        raise AssertionError("a check has iterated")

    def __repr__(self) -> str:
        raise AssertionError("a check has shown a value")


class Everything(ModelSitemap[Any]):
    """Whatever can be declared, with values that ask the database when they are looked at."""

    queryset = Article.objects.filter(tags__name="a").order_by("-updated")
    location = Route("nowhere", slug=F("slug"), other=Article.objects.values("slug"))
    lastmod = Subquery(Visit.objects.filter(article=OuterRef("pk")).values("pk")[:1])
    changefreq = Case(When(published=True, then=Value("daily")), default=F("slug"))
    priority = Exists(Visit.objects.filter(article=OuterRef("pk")))
    i18n = True
    languages = Explosive()
    alternates = Explosive()
    x_default = Explosive()
    hosts = Tag.objects.all()
    format = Tag.objects.all()
    extensions = Tag.objects.all()
    site_field = Tag.objects.all()
    images = Tag.objects.all()
    videos = Tag.objects.all()
    limit = Explosive()
    protocol = Explosive()
    key = Explosive()

    def __init__(self) -> None:
        raise AssertionError("a check has made an instance")

    def get_latest_lastmod(self) -> Any:
        return takes(self, None)

    def get_domain(self, site: Any = None) -> Any:
        return takes(self, site)

    get_languages_for_item = get_urls = _languages = news = default_location = takes


class Lazy(ModelSitemap[Any]):
    """What is made when it is first looked at, and lists of such."""

    queryset = languages = hosts = format = extensions = lazy = SimpleLazyObject(unread)
    lastmod = changefreq = priority = limit = protocol = key = site_field = lazy
    i18n = alternates = x_default = images = viewnames = lazy


class Listed(ModelSitemap[Any]):
    """Values of the database where texts and switches belong."""

    queryset = Article.objects.all()
    location = SLUG
    i18n = True
    languages = [Tag.objects.all(), Explosive(), ["en", "English"]]
    alternates = x_default = Tag.objects.all()
    hosts = [Tag.objects.all()]
    extensions = [Tag.objects.all()]


def factory() -> Any:
    raise AssertionError("a check has called a factory")


def test_all_checks_together_ask_nothing_and_call_nothing() -> None:
    explosive = dict.fromkeys((*HOOKS, "items", "get_queryset", "__init__", "__eq__", "__hash__"), takes)
    passed = {
        "everything": Everything,
        "lazy attributes": Lazy,
        "listed": Listed,
        "hooks": declaration(**explosive),
        "object": object.__new__(declaration(**explosive)),
        "factory": factory,
        "lambda": lambda: factory(),
        "lazy": SimpleLazyObject(factory),
    }
    found = checked(path("", INCLUDED, {"sitemaps": passed}), registered=passed)
    assert found.count("W053") == 2
    assert ids(Lazy) == []
    assert ids(Listed) == ["W043", "W041"] * 3 + ["W047", "W048", "E050", "E054"]
    assert {"E013", "W014", "E021", "E032", "W036", "W037", "W047", "W048", "E050", "E051"} < {*found}
    assert ids_of(checks.check_settings()) == []


SOURCES = {path.name: path.read_text() for path in sorted(Path(checks.__file__).parent.glob("*.py"))}
CODES = [code for source in SOURCES.values() for code in re.findall(r'"([EW][0-9]{3})"', source)]


def test_an_id_has_one_meaning_since_it_is_told_at_one_place() -> None:
    assert len(CODES) > 40
    assert len({*CODES}) == len(CODES)


def test_an_error_and_a_warning_of_one_number_are_one_rule() -> None:
    numbers = Counter(code[1:] for code in CODES)
    both = {number for number, told in numbers.items() if told > 1}
    assert both == {"010", "011", "012", "013", "040", "050", "051", "054", "056"}


@pytest.mark.parametrize("code", sorted(CODES))
def test_each_id_is_tested(code: str) -> None:
    assert re.search(rf'["\.]{code}"', Path(__file__).read_text())


def test_there_is_no_message_without_an_id_and_a_hint() -> None:
    for name, source in SOURCES.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"Error", "Warning", "CheckMessage"}, name
                if node.func.id == "message":
                    assert len(node.args) == 3, (name, node.lineno)
