"""Fixtures of all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.utils import timezone, translation
from hypothesis import HealthCheck, settings

from tests.support import services
from tests.support.clock import clock
from tests.support.configuration import _configured, configure, folder, register, umask
from tests.support.databases import SERVERS, using
from tests.support.examples import EXAMPLES, THOROUGH
from tests.support.replicas import replica
from tests.support.schemas import schema
from tests.support.services import bucket, declare, s3, shared_cache
from tests.support.strict_readers import sitemap_js

__all__ = [
    "_configured", "bucket", "clock", "configure", "declare", "folder", "register", "replica",
    "s3", "schema", "shared_cache", "sitemap_js", "umask", "using",
]  # fmt: skip

# A busy machine does not break an invariant: nothing here fails by the clock. A thorough run looks for
# examples that nobody has seen; every other run has the same ones, so that it fails for what was changed.
settings.register_profile(
    "unhurried",
    deadline=None,
    max_examples=EXAMPLES,
    derandomize=not THOROUGH,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unhurried")


# Whoever has one of these asks a server, or a package that the extra `test` does not have.
_SERVICES = {"bucket", "redis", "s3", "shared_cache"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need a database server or another service as `services`."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
        if _SERVICES & {*getattr(item, "fixturenames", ())} or any(
            isinstance(value, str) and value in SERVERS for value in parameters
        ):
            item.add_marker("services")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    services.expected = item.get_closest_marker("services") is not None


@pytest.fixture(autouse=True)
def no_page_map_of_another_test() -> None:
    """The live views keep page maps in Django's cache, which rolls nothing back."""
    # At import, there are no models yet.
    from django_sitemaps09.views import validators

    cache.clear()
    validators._readings.clear()


@pytest.fixture(autouse=True)
def no_language_of_another_test() -> Iterator[None]:
    """Deactivate languages and time zones that requests have activated."""
    yield
    translation.deactivate()
    timezone.deactivate()


@pytest.fixture
def cached_site() -> Iterator[None]:
    """The site of `SITE_ID` in Django's own cache, for tests that have no database."""
    # At import there are no models yet.
    from django.contrib.sites import models

    models.SITE_CACHE[1] = models.Site.from_db(
        "default", ["id", "domain", "name"], [1, "www.example.com", "cached"]
    )
    yield
    models.Site.objects.clear_cache()
