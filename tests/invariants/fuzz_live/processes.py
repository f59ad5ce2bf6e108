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
from types import ModuleType
from typing import Any, NamedTuple
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
    with ExitStack() as patches:
        patches.enter_context(mock.patch(f"{PACKAGE}.export.host.datetime", clock))
        limits = sources.protocol_limits
        small_limits = mock.patch.object(
            sources, "protocol_limits", lambda source: limits(source)._replace(**PROTOCOL)
        )
        patches.enter_context(small_limits)
        for module in (*package_modules(), *backends):
            for name, value in [*vars(module).items()]:
                if value is time:
                    patches.enter_context(mock.patch.object(module, name, clock))
                elif callable(value) and type(value) is type(time.time) and value in originals:
                    patches.enter_context(mock.patch.object(module, name, originals[value]))
        yield


def package_modules():
    return [
        module
        for name, module in sorted(sys.modules.items())
        if name.partition(".")[0] == PACKAGE and name not in _NOT_SWAPPED
    ]


class Memories:
    """What each process keeps in memory: the names of modules, and all that can change and has a name.

    Nothing here depends on what the package keeps, or where.
    """

    def __init__(self):
        # Django's caches are empty in a new process.
        self.fresh = _saved()._replace(caches={})
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


class _State(NamedTuple):
    """The names of each module, the contents of each container, and those of Django's caches in memory."""

    modules: list[tuple[ModuleType, dict[str, Any]]]
    containers: list[tuple[Any, Any]]
    caches: dict[str, tuple[Any, Any]]


def _saved():
    modules = package_modules()
    containers = [(container, _content(container)) for container in _containers(modules)]
    caches = {
        name: (dict(content), dict(locmem._expire_info[name]))
        for name, content in locmem._caches.items()
        if not name.startswith(SHARED)
    }
    return _State([(module, dict(vars(module))) for module in modules], containers, caches)


def _restore(state):
    modules, containers, caches = state
    for module, names in modules:
        vars(module).update(names)
    for container, content in containers:
        if isinstance(container, (MutableMapping, MutableSet)):
            container.clear()
            container.update(content)
        else:
            container.clear()
            container.extend(content)
    for name, entries in locmem._caches.items():
        if not name.startswith(SHARED):
            content, expiries = caches.get(name, ({}, {}))
            entries.clear()
            entries.update(content)
            locmem._expire_info[name].clear()
            locmem._expire_info[name].update(expiries)


def _content(container):
    return dict(container) if isinstance(container, MutableMapping) else [*container]


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
