"""The databases that a test can run on: a test that takes `using` runs once on each. Also a replica.

Take `snapshot_using` if the test commits, or needs two connections; `parameter` for other combinations.
"""

from __future__ import annotations

import gc
from contextlib import contextmanager
from itertools import cycle

import pytest
from django.conf import settings
from django.db import connections

from tests.support.services import REQUIRED, missing, must_be_marked

#: Aliases of `DATABASES` in `tests.settings`, whether the servers respond or not.
ALIASES = ("default", "postgresql", "mariadb", "mysql")
SERVERS = ALIASES[1:]
#: The servers that Django calls MySQL.
MYSQLS = ALIASES[2:]
#: The servers without which tests fail instead of being skipped. MySQL can be missing on any machine.
DEMANDED = SERVERS[:2] if REQUIRED else ()
ABSENT = "no {} server answers, or its driver is not installed: see tests/settings.py"


def parameter(alias, *, transaction=False):
    """Return a database as a parameter, with the mark that allows queries.

    With `transaction`, the test is not in a transaction, and may commit.
    """
    mark = pytest.mark.django_db(databases=[alias], transaction=transaction)
    if alias not in settings.DATABASES:
        # A mark costs less than `require`, for thousands of tests.
        mark = pytest.mark.services if alias in DEMANDED else pytest.mark.skip(ABSENT.format(alias))
    return pytest.param(alias, marks=[mark], id="sqlite" if alias == "default" else alias)


ON_SQLITE, ON_POSTGRESQL = (
    pytest.mark.parametrize("using", [parameter(alias)], indirect=True) for alias in ALIASES[:2]
)


def require(alias):
    """Skip the test if a server does not answer; fail it if the server is `DEMANDED`."""
    if alias == "default":
        return
    must_be_marked()
    if alias not in settings.DATABASES:
        (missing if alias in DEMANDED else pytest.skip)(ABSENT.format(alias))


def execute(using, statement, parameters=None):
    with connections[using].cursor() as cursor:
        cursor.execute(statement, parameters)


@contextmanager
def no_cursor_left(using):
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
def using(request):
    """Run the test with the alias of each database, and fail it if it queries another one."""
    require(request.param)
    return request.param


@pytest.fixture(params=[parameter(alias, transaction=alias != "default") for alias in ALIASES])
def snapshot_using(request):
    """Run the test as with `using`, but on servers without a transaction around it."""
    require(request.param)
    return request.param


class Alternating:
    """Router that alternates between two replicas."""

    aliases = cycle(["default", "replica"])

    def db_for_read(self, model, **hints):
        return next(self.aliases)


@pytest.fixture
def replica(settings):
    """Add a second alias of the default database, with the same connection."""
    default = connections["default"]
    made = default.copy("replica")
    default.ensure_connection()
    made.connection = default.connection
    made.in_atomic_block = made.needs_rollback = False
    connections.databases["replica"] = connections.databases["default"]
    connections["replica"] = made
    settings.DATABASE_ROUTERS = [f"{__name__}.Alternating"]
    yield made
    made.connection = None
    del connections["replica"], connections.databases["replica"]
