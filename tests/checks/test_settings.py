"""Checks of the settings, and those for `check --deploy`: each rule has its id."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core import checks as django_checks
from django.test import override_settings

from django_sitemaps09 import checks
from tests.support.checking import SLUG, WITHOUT_SITES, declaration, ids_of

pytestmark = pytest.mark.usefixtures("nothing_is_asked")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ["E001"]),
        ({"BASEURL": "https://example.org"}, ["E002"]),
        ({"BASE_URL": "example.org"}, ["E003"]),
        ({"ROOT": 7, "ROBOTS_TXT": 7}, ["E003", "E003"]),
        ({"ROOT": "x", "ROBOTS_TXT": Path("x/robots.txt")}, ["W074", "W074"]),
        ({"STORAGE": "nowhere"}, ["E004"]),
        ({"STORAGE": "nowhere", "STATE": "nowhere"}, ["E004", "E004"]),
        ({"LIVE_CACHE": "nowhere"}, ["E004"]),
        ({"LIVE_CACHE": 7, "LIVE_SECONDS": -1}, ["E003", "E003"]),
        ({"CACHE_CONTROL": {"public": True, "max_age": 60}, "LIVE_CACHE": "default"}, []),
        ({"BASE_URL": "https://example.org", "MAX_BYTES": 52_428_800, "ROOT": "/x"}, []),
        ({"SERVE_EXPORTED": True}, ["W009"]),
        ({"SUBMIT": True}, ["E080"]),
        ({"SUBMIT": True, "INDEXNOW_KEY": "short"}, ["E003"]),
        ({"SUBMIT": True, "INDEXNOW_KEY": "0123456789"}, []),
        ({"SUBMIT": True, "PING_URLS": ["https://example.org/ping"]}, []),
        ({"SERVE_EXPORTED": True, "ROOT": "/x", "BASE_URL": "https://example.org"}, []),
        ({"SERVE_EXPORTED": True, "STORAGE": "default", "BASE_URL": "https://example.org"}, []),
    ],
)
def test_each_rule_of_the_settings_has_its_id(given: Any, expected: list[str]) -> None:
    with override_settings(SITEMAPS09=given):
        assert ids_of(checks.check_settings()) == expected


@pytest.mark.parametrize("value", [["BASE_URL"], None, "x", {"SITEMAPS": 7}])
def test_an_invalid_setting_is_one_error(value: Any) -> None:
    code = "E003" if isinstance(value, dict) else "E001"
    with override_settings(SITEMAPS09=value):
        messages = [*checks.check_settings(), *checks.check_sections(), *checks.check_deployment()]
        # The test's own cache is not shared.
        (message,) = [each for each in messages if each.id != "sitemaps09.W070"]
    assert ids_of([message]) == [code]
    assert f"not {type(value).__name__ if code == 'E001' else '7 (int)'}." in message.msg


def test_an_unknown_key_is_reported_with_the_nearest_known_one() -> None:
    with override_settings(SITEMAPS09={"BASEURL": ""}):
        (message,) = checks.check_settings()
    assert message.hint == "Did you mean 'BASE_URL'?"


def test_a_setting_with_a_similar_name_has_no_effect(settings: Any) -> None:
    settings.SITEMAPS09_ROOT = "/x"
    settings.SITEMAP09 = {"ROOT": "/x"}
    settings.SITEMAPS09 = {}
    assert ids_of(checks.check_settings()) == ["W076"]
    del settings.SITEMAPS09
    # A project can have this setting for its own code.
    settings.SITEMAPS = {}
    assert ids_of(checks.check_settings()) == ["W076", "W076"]


BROKEN = {"a b": declaration()}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests.nowhere.SITEMAPS", "E005"),
        ("tests.support.checking.HOOKS", "E005"),
        ("tests.support.checking", "E005"),
        ("tests.support.checking.ids", "E005"),
        ("tests.checks.test_settings.BROKEN", "W006"),
        ("tests.checks.test_urlconf.ALIKE", "W006"),
    ],
)
def test_the_setting_for_sections_is_checked(path: str, expected: str) -> None:
    with override_settings(SITEMAPS09={"SITEMAPS": path}):
        assert ids_of(checks.check_sections()) == [expected]


def test_registered_declarations_are_checked_by_manage_py_check(register: Callable[..., None]) -> None:
    register(bad=declaration(changefreq="x", location=SLUG))
    # Django's own checks of models ask MariaDB for its version.
    every = django_checks.registry.registry.get_checks()
    ours = [check for check in every if check in (checks.check_settings, checks.check_sections)]
    assert len(ours) == 2
    found = [message for check in ours for message in check(app_configs=None)]
    assert [message.id for message in found] == ["sitemaps09.E011"]


@pytest.mark.parametrize("engine", ["nope", "a.b.C", "django.http.HttpResponse", "os.path.join"])
def test_an_invalid_engine_is_an_error(settings: Any, engine: str) -> None:
    settings.SITEMAPS09 = {"ENGINE": engine}
    (error,) = checks.check_settings()
    assert (error.id, engine in str(error.msg)) == ("sitemaps09.E007", True)
    assert "'processes'" in str(error.hint)


@pytest.mark.parametrize(
    "engine", ["serial", "processes", "django_sitemaps09.export.engines.processes.Processes"]
)
def test_a_valid_engine_is_not_reported(settings: Any, engine: str) -> None:
    settings.SITEMAPS09 = {"ENGINE": engine}
    assert checks.check_settings() == []


@pytest.mark.services
@pytest.mark.parametrize(
    ("backend", "code", "what"),
    [
        ("Dummy", "sitemaps09.E007", "never runs a task"),
        ("Immediate", "sitemaps09.W072", "the export itself renders all pages"),
        ("nowhere.Backend", "sitemaps09.E007", "nowhere.Backend"),
    ],
)
def test_a_backend_of_django_tasks_without_workers_is_reported(
    settings: Any, backends: Callable[..., None], backend: str, code: str, what: str
) -> None:
    backends(default=backend)
    settings.SITEMAPS09 = {"ENGINE": "tasks"}
    (found,) = checks.check_settings()
    assert (found.id, what in str(found.msg)) == (code, True)
    backends(default="Dummy", sitemaps="django_tasks_db.DatabaseBackend")
    assert checks.check_settings() == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, []),
        ({"ROOT": "/public"}, ["W008"]),
        ({"STORAGE": "default"}, ["W008"]),
        ({"ROBOTS_TXT": "/robots.txt"}, ["W008"]),
        ({"ROOT": "/public", "BASE_URL": "https://example.org"}, []),
        # The error is reported only once.
        ({"ROOT": "/public", "BASE_URL": "example.org"}, ["E003"]),
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


BACKENDS = "django.core.cache.backends"
SHARED = {"BACKEND": f"{BACKENDS}.db.DatabaseCache", "LOCATION": "cache"}
OWN = {"BACKEND": f"{BACKENDS}.locmem.LocMemCache"}
DUMMY = {"BACKEND": f"{BACKENDS}.dummy.DummyCache"}


@pytest.mark.parametrize(
    ("caches", "alias", "expected"),
    [
        ({"default": SHARED}, None, []),
        ({"default": OWN}, None, ["W070"]),
        ({"default": DUMMY}, None, ["W070"]),
        ({"default": SHARED}, "default", []),
        ({"default": SHARED, "pages": OWN}, "pages", ["W071"]),
        ({"default": OWN, "pages": DUMMY}, "pages", ["W070", "W071"]),
        ({"default": OWN, "pages": SHARED}, "pages", ["W070"]),
        ({"default": SHARED}, "nowhere", []),
        ({"default": SHARED}, 7, []),
    ],
)
def test_a_deployed_site_has_a_shared_cache(
    caches: dict[str, Any], alias: object, expected: list[str]
) -> None:
    with override_settings(CACHES=caches, SITEMAPS09={"LIVE_CACHE": alias}):
        assert ids_of(checks.check_deployment()) == expected


@override_settings(CACHES={"default": OWN}, ROOT_URLCONF="tests.support")
def test_a_site_without_native_views_needs_no_shared_cache() -> None:
    assert checks.check_deployment() == []


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://localhost:8000", ["W075"]),
        ("http://127.0.0.1", ["W075"]),
        ("http://[::1]:8000", ["W075"]),
        ("https://0.0.0.0:8000", ["W075"]),
        ("https://shop.localhost", ["W075"]),
        ("https://localhost.example.com", []),
        ("nowhere", []),
    ],
)
def test_a_deployed_site_has_a_public_host(url: str, expected: list[str]) -> None:
    with override_settings(CACHES={"default": SHARED}, SITEMAPS09={"BASE_URL": url}):
        assert ids_of(checks.check_deployment()) == expected


def test_checks_of_a_deployment_run_only_for_one() -> None:
    known = django_checks.registry.registry
    assert checks.check_deployment in known.get_checks(include_deployment_checks=True)
    assert checks.check_deployment not in known.get_checks()
