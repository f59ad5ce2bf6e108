"""Connections that write and read rows, and what happens between the queries of a request."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress

from django.core.management import call_command
from django.db import OperationalError, connections

from tests.invariants.fuzz_live import caches
from tests.invariants.fuzz_live.processes import Killed

#: The aliases of the connection that writes rows, and of another one that reads them.
WRITER, REPLICA = "fuzz_writer", "fuzz_replica"
#: The tables of the database cache begin with this.
CACHE_TABLE = "fuzz_cache"
_TRANSACTIONS = ("BEGIN", "SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK")


@contextmanager
def more_connections(using):
    """Add connections to a database, so that transactions of writes are apart from those of requests."""
    for alias in (WRITER, REPLICA):
        connection = connections[using].copy(alias)
        # A test may not open connections with an alias that its mark does not have.
        connection.ensure_connection()
        connections.databases[alias] = connection.settings_dict
        connections[alias] = connection
    try:
        yield
    finally:
        for alias in (WRITER, REPLICA):
            # Django does not close a database in memory.
            connections[alias].connection.close()
            del connections[alias], connections.databases[alias]


class Router:
    """Reads the random rows from any of the replicas."""

    def __init__(self, rng, aliases):
        self.rng, self.aliases = rng, aliases

    def db_for_read(self, model, **hints):
        return self.rng.choice(self.aliases) if model._meta.app_label == "fuzz" else None


@contextmanager
def cache_tables():
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
def before_queries(aliases, call):
    """Call a function before each query, with the number of queries before it.

    The database cache is another matter, even in the same database.
    """
    count = 0

    def execute(run, *arguments):
        nonlocal count
        if CACHE_TABLE not in arguments[0] and not arguments[0].startswith(_TRANSACTIONS):
            count += 1
            call(count - 1)
        return run(*arguments)

    with ExitStack() as stack:
        for alias in aliases:
            stack.enter_context(connections[alias].execute_wrapper(execute))
        yield


@contextmanager
def failing_database(aliases, after, rng):
    """Let queries fail: all after the first ones; after three, half of them."""

    def fail(count):
        if count >= after and (after != 3 or rng.random() < 0.5):
            raise OperationalError("server closed the connection unexpectedly")

    with before_queries(aliases, fail):
        yield


@contextmanager
def killed(aliases, after, seconds):
    """Kill the process after a number of queries, of which each takes a time. Its locks stay."""

    def kill(count):
        caches.faults.clock.sleep(seconds)
        if count >= after:
            caches.faults.is_process_killed = True
            raise Killed

    try:
        with before_queries(aliases, kill):
            yield
    finally:
        caches.faults.is_process_killed = False


@contextmanager
def interrupted(aliases, writes):
    """Write between the queries of a request: before the query with a number, or after the last one."""

    def write(due):
        for number in sorted(writes):
            if number <= due:
                # SQLite locks tables that a request reads, so that nobody can write meanwhile.
                with suppress(OperationalError):
                    writes.pop(number)()

    with before_queries(aliases, write):
        yield
    write(99)
