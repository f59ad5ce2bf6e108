"""Checks for `check --deploy`: the host, and the caches of the native views."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.checks import registry
from django.test import override_settings

from django_sitemaps09 import checks
from tests.support.checking import ids_of

pytestmark = pytest.mark.usefixtures("nothing_is_asked")

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
def test_each_rule_has_its_id(caches: dict[str, Any], alias: object, expected: list[str]) -> None:
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


def test_checks_run_only_for_a_deployment() -> None:
    assert checks.check_deployment in registry.registry.get_checks(include_deployment_checks=True)
    assert checks.check_deployment not in registry.registry.get_checks()
