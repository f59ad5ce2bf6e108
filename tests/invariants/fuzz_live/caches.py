"""Caches that all processes share, and that can fail. Entries expire by the clock of the steps."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.utils.module_loading import import_string

from tests.invariants.fuzz_live.processes import FakeTime, Killed


@dataclass
class Faults:
    """What goes wrong in the caches of the current case, and how often it has."""

    clock: FakeTime = field(default_factory=FakeTime)
    rng: random.Random = field(default_factory=random.Random)
    is_down: bool = False
    is_empty: bool = False
    is_process_killed: bool = False
    failing: float = 0.0
    evicting: float = 0.0
    losses: int = 0
    #: When a cache failed last: a lock can stay.
    failed_at: float = 0.0
    names: dict[tuple[str, str], BaseCache] = field(default_factory=dict)

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


def use(new):
    """Begin a case with other faults."""
    vars(faults).update(vars(new))


class SharedCache(BaseCache):
    """A cache around another backend, `OPTIONS["inner"]`."""

    def __init__(self, location, params):
        super().__init__(params)
        options = params["OPTIONS"]
        self.location = location
        self.inner = import_string(options["inner"])(location, {"TIMEOUT": None, "max_entries": 10_000})

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
        if entry is None or (entry[0] is not None and entry[0] <= faults.clock.time()):
            return None
        return entry

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
