"""What can fail: caches that all processes share, whose entries expire by the clock, and queries."""

from __future__ import annotations

import random
from contextlib import ExitStack, contextmanager, suppress

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.management import call_command
from django.db import OperationalError, connections
from django.utils.module_loading import import_string

from tests.invariants.fuzz_live.processes import FakeTime, Killed

#: The aliases of the connection that writes rows, and of another one that reads them.
WRITER, REPLICA = "fuzz_writer", "fuzz_replica"
#: The tables of the database cache begin with this.
CACHE_TABLE = "fuzz_cache"
_TRANSACTIONS = ("BEGIN", "SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK")


class Faults:
    """What goes wrong in the caches of a case, and how often it has."""

    def __init__(self, clock=None, rng=None):
        self.clock, self.rng = clock or FakeTime(), rng or random.Random()  # noqa: S311 not secret
        self.is_down = self.is_empty = self.is_process_killed = False
        self.failing = self.evicting = 0.0
        self.losses = 0
        #: When a cache failed last: a lock can stay.
        self.failed_at = 0.0
        self.names = {}

    def evict(self, share):
        for location, name in sorted(self.names):
            if self.rng.random() < share:
                self.names.pop((location, name)).delete(name)
                self.losses += 1

    def clear(self):
        """Delete all entries. `clear()` of Redis would delete those of other programs."""
        for (_, name), cache in self.names.items():
            cache.delete(name)


#: The faults of the current case.
faults = Faults()


def use(clock, rng):
    """Begin a case with other faults."""
    vars(faults).update(vars(Faults(clock, rng)))


class SharedCache(BaseCache):
    """A cache around another backend, `OPTIONS["inner"]`."""

    def __init__(self, location, params):
        super().__init__(params)
        self.location = location
        inner = import_string(params["OPTIONS"]["inner"])
        self.inner = inner(location, {"TIMEOUT": None, "max_entries": 10_000})

    def _call(self, method, name, *arguments):
        if faults.is_process_killed:
            raise Killed
        if faults.is_down or faults.rng.random() < faults.failing:
            faults.losses += 1
            faults.failed_at = faults.clock.time()
            raise ConnectionResetError(f"{method} {name}")
        if faults.is_empty:
            return None
        if faults.rng.random() < faults.evicting:
            faults.evict(0.2)
        try:
            return getattr(self.inner, method)(name, *arguments)
        except Exception:
            faults.losses += 1
            raise

    def _entry(self, name):
        entry = self._call("get", name)
        is_expired = entry is not None and entry[0] is not None and entry[0] <= faults.clock.time()
        return None if is_expired else entry

    def get(self, key, default=None, version=None):
        entry = self._entry(self.make_and_validate_key(key, version=version))
        return default if entry is None else entry[1]

    def set(self, key, value, timeout=DEFAULT_TIMEOUT, version=None):
        name = self.make_and_validate_key(key, version=version)
        seconds = self.default_timeout if timeout is DEFAULT_TIMEOUT else timeout
        self._call("set", name, (None if seconds is None else faults.clock.time() + seconds, value))
        faults.names[self.location, name] = self.inner

    def add(self, key, value, timeout=DEFAULT_TIMEOUT, version=None):
        if self._entry(self.make_and_validate_key(key, version=version)) is not None:
            return False
        self.set(key, value, timeout, version)
        return True

    def touch(self, key, timeout=DEFAULT_TIMEOUT, version=None):
        entry = self._entry(self.make_and_validate_key(key, version=version))
        if entry is not None:
            self.set(key, entry[1], timeout, version)
        return entry is not None

    def delete(self, key, version=None):
        name = self.make_and_validate_key(key, version=version)
        had = self._entry(name) is not None
        self._call("delete", name)
        faults.names.pop((self.location, name), None)
        return had

    def clear(self):
        faults.clear()


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


def failing_database(aliases, after, rng):
    """Let queries fail: all after the first ones; after three, half of them."""

    def fail(count):
        if count >= after and (after != 3 or rng.random() < 0.5):
            raise OperationalError("server closed the connection unexpectedly")

    return before_queries(aliases, fail)


@contextmanager
def killed(aliases, after, seconds):
    """Kill the process after a number of queries, of which each takes a time. Its locks stay."""

    def kill(count):
        faults.clock.sleep(seconds)
        if count >= after:
            faults.is_process_killed = True
            raise Killed

    try:
        with before_queries(aliases, kill):
            yield
    finally:
        faults.is_process_killed = False


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
