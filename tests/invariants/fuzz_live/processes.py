"""A clock that steps move, and the memory of several processes, in one process."""

from __future__ import annotations

import pkgutil
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

from django_sitemaps09 import protocol, sources

PACKAGE = "django_sitemaps09"
#: Caches in local memory whose name begins with this are shared by all processes.
SHARED = "shared:"
# Sections are declared in each process.
_NOT_SWAPPED = {f"{PACKAGE}.sections"}
#: The most URLs on a page, by the protocol.
PROTOCOL = {"urls": protocol.MAX_URLS}


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
    backends = [
        import_module(f"django.core.cache.backends.{name}") for name in ("base", "locmem", "filebased")
    ]
    originals = {getattr(time, name): getattr(clock, name) for name in ("time", "monotonic", "sleep")}
    limits = sources.protocol_limits
    with ExitStack() as patches:
        patches.enter_context(mock.patch(f"{PACKAGE}.export.host.datetime", clock))
        small_limits = lambda source: limits(source)._replace(**PROTOCOL)  # noqa: E731
        patches.enter_context(mock.patch.object(sources, "protocol_limits", small_limits))
        for module in (*package_modules(), *backends):
            for name, value in [*vars(module).items()]:
                if value is time:
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
        self.fresh = (*_saved()[:2], {})
        self.states = {}
        self.current = 0

    def switch(self, process):
        """Replace the memory with that of a process, which is fresh at first."""
        if process != self.current:
            self.states[self.current] = _saved()
            _restore(self.states.pop(process, self.fresh))
            self.current = process

    def restart(self, process):
        """Let a process forget all."""
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
    is_keyed = isinstance(container, (MutableMapping, MutableSet))
    (container.update if is_keyed else container.extend)(content)


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
