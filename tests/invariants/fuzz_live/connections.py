"""A connection that writes rows, and connections that fail or are slower than these writes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.core.management import call_command
from django.db import OperationalError, connections

#: The alias of the connection that writes rows.
WRITER = "fuzz_writer"
#: The tables of the database cache begin with this.
CACHE_TABLE = "fuzz_cache"
_TRANSACTIONS = ("BEGIN", "SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK")


@contextmanager
def writer_connection(using: str) -> Iterator[None]:
    """Add a second connection to a database, so that its transactions are apart from those of requests."""
    connection = connections[using].copy(WRITER)
    # A test may not open connections with an alias that its mark does not have.
    connection.ensure_connection()
    connections.databases[WRITER] = connection.settings_dict
    connections[WRITER] = connection
    try:
        yield
    finally:
        # Django does not close a database in memory.
        connection.connection.close()
        del connections[WRITER], connections.databases[WRITER]


@contextmanager
def cache_tables() -> Iterator[None]:
    """Create the tables of the database cache."""
    names = [f"{CACHE_TABLE}_{name}" for name in ("default", "pages")]
    call_command("createcachetable", *names, verbosity=0)
    try:
        yield
    finally:
        with connections["default"].cursor() as cursor:
            for name in names:
                cursor.execute(f"DROP TABLE {name}")


@contextmanager
def failing_database(using: str, after: int, rng: random.Random) -> Iterator[None]:
    """Let queries fail: all after the first ones; after three, half of them."""
    count = 0

    def execute(run: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal count
        # The database cache is another matter, even in the same database.
        if CACHE_TABLE in arguments[0] or arguments[0].startswith(_TRANSACTIONS):
            return run(*arguments)
        count += 1
        if count > after and (after != 3 or rng.random() < 0.5):
            raise OperationalError("server closed the connection unexpectedly")
        return run(*arguments)

    with connections[using].execute_wrapper(execute):
        yield


@contextmanager
def interrupted(using: str, writes: dict[int, Callable[[], None]]) -> Iterator[None]:
    """Write between the queries of a request: before the query with a number, or after the last one."""
    count = 0

    def write(due: int) -> None:
        for number in sorted(writes):
            if number <= due:
                # SQLite locks tables that a request reads, so that nobody can write meanwhile.
                with suppress(OperationalError):
                    writes.pop(number)()

    def execute(run: Callable[..., Any], *arguments: Any) -> Any:
        nonlocal count
        write(count)
        count += 1
        return run(*arguments)

    with connections[using].execute_wrapper(execute):
        yield
    write(99)
