"""A replica of the default database, and a router that reads from either."""

from __future__ import annotations

from itertools import cycle

import pytest
from django.db import connections


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
