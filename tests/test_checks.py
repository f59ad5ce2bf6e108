"""Laws of the system checks: each rule has its id, and none of them touches a database or a user's code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

import pytest
from django.core import checks as django_checks
from django.db import connections
from django.db.models import Count, F, Max, Value
from django.db.models.functions import Lower
from django.test import override_settings
from django.utils.functional import cached_property

from django_sitemaps09 import (
    GenericSitemap,
    ModelSitemap,
    Route,
    Sitemap,
    StaticViewSitemap,
    checks,
    sections,
)
from tests.models import Article, Category, Reading, Tag


@pytest.fixture(autouse=True)
def no_connection() -> Iterator[None]:
    """Every connection blocked, of every database there is."""
    with mock.patch(
        "django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection",
        side_effect=AssertionError("a check has opened a connection"),
    ):
        yield


def ids(*declared: Any) -> list[str | None]:
    return [message.id for message in checks.check_declarations(declared)]


def declaration(**attributes: Any) -> type[ModelSitemap[Any]]:
    return type("Declared", (ModelSitemap,), {"model": Article, **attributes})


SLUG = Route("article", slug=F("slug"))

INVALID: Mapping[str, tuple[dict[str, Any], str]] = {
    "lastmod is a plain string": ({"location": SLUG, "lastmod": "2026-01-01"}, "E010"),
    "unknown changefreq": ({"location": SLUG, "changefreq": "sometimes"}, "E011"),
    "priority out of range": ({"location": SLUG, "priority": 1.1}, "E012"),
    "priority is no number": ({"location": SLUG, "priority": "high"}, "E012"),
    "limit is no number": ({"location": SLUG, "limit": 0}, "E013"),
    "route without an expression": ({"location": Route("about")}, "E020"),
    "a path for all rows": ({"location": "/a/"}, "E020"),
    "unknown route": ({"location": Route("nowhere", slug=F("slug"))}, "E021"),
    "unknown namespace": ({"location": Route("no:where", slug=F("slug"))}, "E021"),
    "unknown route argument": ({"location": Route("article", name=F("slug"))}, "E021"),
    "too many route arguments": ({"location": Route("article", F("slug"), F("pk"))}, "E021"),
    "no rows": ({"model": None, "location": SLUG}, "E030"),
    "no such key": ({"location": SLUG, "key": "nothing"}, "E032"),
    "key that can be null": ({"location": SLUG, "key": "code"}, "E032"),
    "key that is not unique": ({"location": SLUG, "key": "slug"}, "E032"),
    "unknown field": ({"location": SLUG, "lastmod": F("changed")}, "E034"),
    "unknown field in a route": ({"location": Route("article", slug=F("name"))}, "E034"),
    "unknown field in a function": ({"location": SLUG, "lastmod": Max("comments__at")}, "E034"),
    "relation to many": ({"location": SLUG, "lastmod": F("comments__id")}, "E035"),
    "relation to many in a route": ({"location": Route("article", slug=F("tags__name"))}, "E035"),
}


@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_declaration_is_an_error_with_its_id(case: str) -> None:
    attributes, expected = INVALID[case]
    assert ids(declaration(**attributes)) == [f"sitemaps09.{expected}"]


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
        {"location": SLUG, "lastmod": Max("comments__id")},
        {"queryset": Article.objects.annotate(n=Count("tags")), "priority": F("n")},
        {"queryset": Article.objects.filter(tags__name="a"), "lastmod": F("updated")},
        {"queryset": Article.objects.filter(published=True), "changefreq": Value("daily")},
        {"changefreq": "weekly", "priority": 0, "lastmod": None},
        {"location": lambda self, item: "/", "model": Category},
        {"get_queryset": lambda self: 1 / 0, "model": None},
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
    ],
)
def test_what_contrib_accepts_is_a_warning_on_a_class_without_expressions(
    attributes: dict[str, Any], expected: str
) -> None:
    assert ids(type("Old", (Sitemap,), attributes)) == [f"sitemaps09.{expected}"]


@pytest.mark.parametrize(
    "queryset",
    [
        Article.objects.all()[:10],
        Article.objects.filter(pk=1).union(Article.objects.filter(pk=2)),
        Article.objects.distinct("slug"),
    ],
    ids=["slice", "union", "distinct"],
)
def test_a_queryset_without_ranges_is_a_warning(queryset: Any) -> None:
    assert ids(declaration(queryset=queryset)) == ["sitemaps09.W031"]


@pytest.mark.parametrize("key", ["ratio", "blob", "label", "amount"])
def test_a_column_that_cannot_be_a_key_is_an_error(key: str) -> None:
    found = ids(declaration(model=Reading, location=Route("word", word=F("serial")), key=key))
    assert found == ["sitemaps09.E032"]


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
    assert ids(declared) == [f"sitemaps09.{number}" for number in expected]


def test_a_protocol_that_no_crawler_follows_is_a_warning() -> None:
    assert ids(type("Old", (Sitemap,), {"protocol": "ftp"})) == ["sitemaps09.W014"]


def test_a_module_that_cannot_be_imported_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise ImportError("no module named shop.prices")

    monkeypatch.setattr(sections, "_discovered", False)
    monkeypatch.setattr(sections, "autodiscover_modules", fail)
    (message,) = checks.check_sections()
    assert message.id == "sitemaps09.E005"
    assert "shop.prices" in message.msg


def test_a_model_without_get_absolute_url_needs_a_location() -> None:
    assert ids(declaration(model=Tag)) == ["sitemaps09.E033"]


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
    assert ids(generic, static, object()) == ["sitemaps09.W012"]


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
        found = checks.check_settings()
    assert [message.id for message in found] == [f"sitemaps09.{number}" for number in expected]
    assert all(message.hint for message in found)


def test_an_unknown_key_is_told_with_the_nearest_known_one() -> None:
    with override_settings(SITEMAPS09={"BASEURL": ""}):
        (message,) = checks.check_settings()
    assert message.hint == "Did you mean 'BASE_URL'?"


BROKEN = {"a b": declaration()}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests.nowhere.SITEMAPS", "E005"),
        ("tests.test_checks.SLUG", "E005"),
        ("tests.test_checks.BROKEN", "W006"),
    ],
)
def test_the_setting_for_sections_is_judged(path: str, expected: str) -> None:
    with override_settings(SITEMAPS09={"SITEMAPS": path}):
        assert [message.id for message in checks.check_sections()] == [f"sitemaps09.{expected}"]


def test_registered_declarations_are_checked_by_manage_py_check(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sections, "_registered", {"bad": declaration(changefreq="x", location=SLUG)})
    monkeypatch.setattr(sections, "_discovered", True)
    # Django's own checks of models ask MariaDB for its version.
    ours = [c for c in django_checks.registry.registry.get_checks() if c.__module__ == checks.__name__]
    found = [message for check in ours for message in check(app_configs=None)]
    assert [message.id for message in found] == ["sitemaps09.E011"]


def test_the_guard_of_these_tests_blocks_connections() -> None:
    with pytest.raises(AssertionError, match="opened a connection"):
        connections["default"].cursor()


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
