"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.cache import cache
from django.utils import timezone, translation
from hypothesis import HealthCheck, settings

from tests.support import services
from tests.support.configuration import (
    EXAMPLES,
    THOROUGH,
    _configured,
    client_chooses_host,
    clock,
    configure,
    folder,
    register,
    state,
    umask,
)
from tests.support.databases import SERVERS, replica, snapshot_using, using
from tests.support.engine_project import backends, database, make_project, tasks_database
from tests.support.services import bucket, declare, s3, shared_cache
from tests.support.writing import schema

__all__ = [
    "_configured", "backends", "bucket", "client_chooses_host", "clock", "configure", "database", "declare",
    "folder", "make_project", "register", "replica", "s3", "schema", "shared_cache",
    "snapshot_using", "state", "tasks_database", "umask", "using",
]  # fmt: skip

# No example has a deadline, because a busy machine does not break an invariant. A thorough run tries new
# examples. Every other run tries the same ones, so that only a change of the code makes it fail.
settings.register_profile(
    "unhurried",
    deadline=None,
    max_examples=EXAMPLES,
    derandomize=not THOROUGH,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("unhurried")


# Tests kill processes, but not the machine. So their files are in memory, if there is enough: an export
# waits until the disk has each file, which is most of the time for a few rows.
_MEMORY = Path("/dev/shm")  # noqa: S108 only pytest and tempfile make folders there
if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > 4 * 1024**3:
    os.environ.setdefault("TMPDIR", str(_MEMORY))
    tempfile.tempdir = None  # It may have been read from the environment before.

# A test with one of these fixtures needs a server, or a package that the extra `test` lacks.
_SERVICES = {"bucket", "redis", "s3", "shared_cache"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need a database server or another service as `services`."""
    for item in items:
        parameters = getattr(getattr(item, "callspec", None), "params", {}).values()
        if _SERVICES & {*getattr(item, "fixturenames", ())} or any(
            isinstance(value, str) and value in SERVERS for value in parameters
        ):
            item.add_marker("services")


def pytest_collection_finish() -> None:
    # The tests themselves live until the end, and a search for garbage in them is a tenth of their time.
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    services.expected = item.get_closest_marker("services") is not None


@pytest.fixture(autouse=True)
def no_listing_of_another_test() -> None:
    """Clear Django's cache, where live views keep listings, and what is kept in memory.

    Unlike a database, a cache is not rolled back.
    """
    # At import, there are no models yet.
    from django_sitemaps09.views import responses
    from tests.support.internals import caching, exported, known_pages, listing, published

    cache.clear()
    listing._kept.clear()
    caching.default.fallback.clear()
    caching.default.paused_until = 0.0
    known_pages._entries.clear()
    exported._exports.clear()
    exported._pages.clear()
    exported._sections.clear()
    published._warn.cache_clear()
    responses.warn_no_section.cache_clear()


@pytest.fixture(autouse=True)
def no_language_of_another_test() -> Iterator[None]:
    yield
    translation.deactivate()
    timezone.deactivate()


@pytest.fixture
def cached_site() -> Iterator[None]:
    """Put the site of `SITE_ID` into Django's cache, for tests without a database."""
    # At import there are no models yet.
    from django.contrib.sites import models

    values = [1, "www.example.com", "cached"]
    models.SITE_CACHE[1] = models.Site.from_db("default", ["id", "domain", "name"], values)
    yield
    models.Site.objects.clear_cache()
