"""Processes with a clock that steps move, and what can fail: caches that they share, and queries."""

from __future__ import annotations

import pkgutil
import random
import sys
import time
from collections import deque
from collections.abc import MutableMapping, MutableSet
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import cache
from importlib import import_module
from unittest import mock

from django.core.cache.backends import locmem
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.management import call_command
from django.db import OperationalError, connections
from django.utils.module_loading import import_string

from tests.support.internals import MAX_URLS, sources

PACKAGE = "django_sitemaps09"
#: Caches in local memory whose name begins with this are shared by all processes.
SHARED = "shared:"
# Sections are declared in each process.
_NOT_SWAPPED = {f"{PACKAGE}.sections"}
#: The most URLs on a page, by the protocol.
PROTOCOL = {"urls": MAX_URLS}


class Killed(BaseException):
    """A process is killed at this point."""


class FakeTime:
    """Replaces the module `time`, and the class `datetime` in exports. Sleeping moves the clock."""

    def __init__(self):
        self.seconds = 1_800_000_000.0

    def time(self):
        return self.seconds

    def monotonic(self):
        return self.seconds - 1_700_000_000

    def sleep(self, seconds):
        self.seconds += seconds

    def now(self, zone):
        return datetime.fromtimestamp(self.seconds, zone)

    def __getattr__(self, name):
        return getattr(time, name)


@contextmanager
def patched(clock):
    """Let the package and the caches read this clock, and the package the limit of `PROTOCOL`."""
    for module in pkgutil.walk_packages(import_module(PACKAGE).__path__, f"{PACKAGE}."):
        # Some modules need packages that are not installed.
        with suppress(Exception):
            import_module(module.name)
    names = ("base", "locmem", "filebased")
    backends = [import_module(f"django.core.cache.backends.{name}") for name in names]
    originals = {getattr(time, name): getattr(clock, name) for name in ("time", "monotonic", "sleep")}
    with ExitStack() as patches:
        patches.enter_context(mock.patch(f"{PACKAGE}.export.host_export.datetime", clock))
        limits, small_limits = sources.protocol_limits, lambda source: limits(source)._replace(**PROTOCOL)
        for module in (*package_modules(), *backends):
            for name, value in [*vars(module).items()]:
                if value is limits:
                    patches.enter_context(mock.patch.object(module, name, small_limits))
                elif value is time:
                    patches.enter_context(mock.patch.object(module, name, clock))
                elif callable(value) and type(value) is type(time.time) and value in originals:
                    patches.enter_context(mock.patch.object(module, name, originals[value]))
        yield


def package_modules():
    loaded = [name for name in sorted(sys.modules) if name.partition(".")[0] == PACKAGE]
    return [sys.modules[name] for name in loaded if name not in _NOT_SWAPPED]


class Memories:
    """What each process keeps in memory: the names of modules, and all that can change and has a name.

    Nothing here depends on what the package keeps, or where.
    """

    def __init__(self):
        # Django's caches are empty in a new process.
        self.fresh, self.states, self.current = (*_saved()[:2], {}), {}, 0

    def switch(self, process):
        """Replace the memory with that of a process, which is fresh at first."""
        if process != self.current:
            self.states[self.current] = _saved()
            _restore(self.states.pop(process, self.fresh))
            self.current = process

    def restart(self, process):
        self.states.pop(process, None)
        if process == self.current:
            _restore(self.fresh)

    def clear(self):
        """Let all processes forget all, and the tests that follow in this one."""
        self.states.clear()
        _restore(self.fresh)


def _saved():
    """Return the names of each module, the contents of each container, and Django's caches in memory."""
    modules = package_modules()
    found = _containers(modules)
    containers = [(c, dict(c) if isinstance(c, MutableMapping) else [*c]) for c in found]
    caches = {
        name: (dict(content), dict(locmem._expire_info[name]))
        for name, content in locmem._caches.items()
        if not name.startswith(SHARED)
    }
    return [(module, dict(vars(module))) for module in modules], containers, caches


def _refill(container, content):
    container.clear()
    (container.update if isinstance(container, (MutableMapping, MutableSet)) else container.extend)(content)


def _restore(state):
    modules, containers, caches = state
    for module, names in modules:
        vars(module).update(names)
    for container, content in containers:
        _refill(container, content)
    for name, entries in locmem._caches.items():
        if not name.startswith(SHARED):
            content, expiries = caches.get(name, ({}, {}))
            _refill(entries, content)
            _refill(locmem._expire_info[name], expiries)


@cache
def _is_container(kind):
    return issubclass(kind, (MutableMapping, MutableSet, list, deque))


def _containers(modules):
    """Return containers that modules, their classes and instances of these classes refer to."""
    known = {}
    values = deque(value for module in modules for name, value in vars(module).items() if name[:2] != "__")
    while values:
        value = values.popleft()
        if id(value) in known:
            continue
        kind = value if isinstance(value, type) else type(value)
        if _is_container(type(value)):
            known[id(value)] = value
        elif kind.__module__.partition(".")[0] == PACKAGE:
            known[id(value)] = None
            attributes = getattr(value, "__dict__", {})
            if isinstance(attributes, dict):
                known[id(attributes)] = attributes
            values.extend(item for name, item in attributes.items() if name[:2] != "__")
    return [container for container in known.values() if container is not None]


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
        self.failed_at, self.names = 0.0, {}

    def evict(self, share):
        for location, name in sorted(self.names):
            if self.rng.random() < share:
                self.names.pop((location, name)).delete(name)
                self.losses += 1

    def clear(self):
        """Delete all entries. `clear()` of Redis would delete those of other programs."""
        for (_, name), backend in self.names.items():
            backend.delete(name)


#: The faults of the current case.
faults = Faults()


def use(clock, rng):
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
