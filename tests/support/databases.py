"""The databases that a test can run on: each test that takes `using` runs once on each."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import connections

from tests.support.services import missing, must_be_marked

#: Aliases of `DATABASES` in `tests.settings`, whether the servers respond or not.
ALIASES = ("default", "postgresql", "mariadb")
SERVERS = ALIASES[1:]


def parameter(alias: str, *, transaction: bool = False) -> Any:
    """Return a database as a parameter, with the mark that allows queries.

    With `transaction`, the test is not in a transaction, and may commit.
    """
    mark = pytest.mark.django_db(databases=[alias], transaction=transaction)
    marks = [mark] if alias in settings.DATABASES else []
    return pytest.param(alias, marks=marks, id="sqlite" if alias == "default" else alias)


def require(alias: str) -> None:
    """Skip the test if a server does not answer; fail it if `SITEMAPS09_REQUIRE_SERVICES=1`."""
    if alias == "default":
        return
    must_be_marked()
    if alias in settings.DATABASES:
        return
    reason = f"no {alias} server answers, or its driver is not installed: see tests/settings.py"
    missing(reason)


@contextmanager
def no_cursor_left(using: str) -> Iterator[None]:
    """Fail if a cursor of the server is open after the block, without the garbage collector's help.

    If that closes a cursor during another query, it waits for that query forever.
    """
    gc.disable()
    try:
        yield
        with connections[using].cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_cursors")
            assert cursor.fetchone() == (0,)
    finally:
        gc.enable()


@pytest.fixture(params=[parameter(alias) for alias in ALIASES])
def using(request: pytest.FixtureRequest) -> str:
    """Run the test with the alias of each database, and fail it if it queries another one."""
    alias: str = request.param
    require(alias)
    return alias


@pytest.fixture(params=[parameter(alias, transaction=alias != "default") for alias in ALIASES])
def snapshot_using(request: pytest.FixtureRequest) -> str:
    """Run the test as with `using`, but on servers without a transaction around it."""
    alias: str = request.param
    require(alias)
    return alias
