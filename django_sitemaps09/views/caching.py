"""Access to Django's default cache, with a fallback in memory, and locks in it.

While the cache is failing, processes do not share listings, but sitemaps are still served.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any, TypeVar, cast

from django.core.cache import DEFAULT_CACHE_ALIAS, cache, caches
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.locmem import LocMemCache

from django_sitemaps09.protocol.limits import MAX_BYTES

logger = logging.getLogger(__name__)

#: Seconds for which the cache is not used after a failure, because each attempt can slow down a request.
PAUSE = 60
# Seconds to wait while another request builds a value. Some servers end requests after 30 seconds.
_WAIT = 20
# The first and the longest pause between two looks at a lock, in seconds: others may read a fingerprint in
# milliseconds, or render a page for seconds.
_PAUSES = 0.01, 0.05
# Bytes of one part of a value. Memcached refuses values of more than a megabyte.
_PART = 500_000

ValueT = TypeVar("ValueT")


class PausingCache:
    """A cache, which `find` returns, and its `fallback` for `PAUSE` seconds after it has failed.

    `consequence` completes the logged sentence "The cache failed, so ...".
    """

    def __init__(
        self, name: str, find: Callable[[], BaseCache], fallback: BaseCache, consequence: str
    ) -> None:
        self.name, self.find, self.fallback, self.consequence = name, find, fallback, consequence
        self.paused_until = 0.0

    def is_paused(self) -> bool:
        return time.monotonic() < self.paused_until

    def get(self, name: str) -> Any:
        return self._call("get", name)

    def get_many(self, names: Sequence[str]) -> dict[str, Any]:
        return cast("dict[str, Any]", self._call("get_many", names))

    def add(self, name: str, value: object, seconds: float) -> bool:
        return bool(self._call("add", name, value, seconds))

    def set(self, name: str, value: object, seconds: float) -> None:
        self._call("set", name, value, seconds)

    def delete(self, name: str) -> None:
        self._call("delete", name)

    def _call(self, method: str, *arguments: object) -> Any:
        cache = self.find()
        if not self.is_paused():
            try:
                return getattr(cache, method)(*arguments)
            except Exception as error:  # noqa: BLE001 each backend raises its own errors
                self.paused_until = time.monotonic() + PAUSE
                logger.warning(
                    "%s failed, so %s for %d seconds: %.200r", self.name, self.consequence, PAUSE, error
                )
        return getattr(self.fallback, method)(*arguments)


class _DefaultFallback(LocMemCache):
    """Cache in memory with the keys of the default cache, whose `KEY_FUNCTION` can add the tenant."""

    def make_key(self, key: str, version: int | None = None) -> str:
        try:
            return str(cache.make_key(key, version))
        except Exception:  # noqa: BLE001 for example, the default cache cannot be created
            return super().make_key(key, version)


_memory = _DefaultFallback("django_sitemaps09", {})
default = PausingCache("The default cache", lambda: cache, _memory, "this process keeps its own listings")


def is_shared(alias: str = DEFAULT_CACHE_ALIAS) -> bool:
    """Return whether processes share a cache. Raise an error of its backend if it cannot be created."""
    return not isinstance(caches[alias], (LocMemCache, DummyCache))


def set_bytes(cache: PausingCache, name: str, content: bytes, seconds: float, *facts: object) -> None:
    """Cache bytes and facts about them. The keys of further parts have a digest of the bytes."""
    digest = _digest(content)
    for start in range(_PART, len(content), _PART):
        cache.set(f"{name}:{digest}:{start}", content[start : start + _PART], seconds)
    cache.set(name, (digest, len(content), content[:_PART], *facts), seconds)


def get_bytes(cache: PausingCache, name: str) -> tuple[Any, ...] | None:
    """Return cached bytes, followed by the facts; `None` if they are missing, invalid or too many."""
    try:
        digest, size, content, *facts = cache.get(name)
        part_names = [f"{name}:{digest}:{start}" for start in range(_PART, min(size, MAX_BYTES), _PART)]
        parts = cache.get_many(part_names) if part_names else {}
        content = b"".join((content, *(parts[part_name] for part_name in part_names)))
        return (content, *facts) if content and _digest(content) == digest else None
    except (KeyError, TypeError, ValueError):
        return None


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


class BusyError(Exception):
    """A value is not known yet, and the same request can soon succeed; the argument says which value."""


class Lock:
    """A lock in a cache, by default the default cache. It expires after `seconds`.

    After that, another request can hold it, so it is not released. Who waits gives up after `wait` seconds.
    """

    def __init__(
        self,
        name: str,
        seconds: float,
        *,
        wait: float | None = None,
        cache: PausingCache | BaseCache = default,
    ) -> None:
        self.name, self.seconds, self.expires_at, self.cache = name, seconds, 0.0, cache
        self.wait = _WAIT if wait is None else wait

    def attempts(self, *, may_fail: bool = False) -> Iterator[None]:
        """Acquire the lock, and yield each time that it is not free.

        After `wait` seconds, end without the lock if it `may_fail`, or else raise `BusyError`.
        """
        waits_until, pause = time.monotonic() + self.wait, _PAUSES[0]
        while not self.acquire():
            yield
            if time.monotonic() > waits_until:
                if may_fail:
                    return
                raise BusyError(self.name)
            time.sleep(pause)
            pause = min(2 * pause, _PAUSES[1])

    def acquire(self) -> bool:
        expires_at = time.monotonic() + self.seconds
        if not self.cache.add(f"{self.name}:lock", True, self.seconds):
            return False
        self.expires_at = expires_at
        return True

    def renew(self, seconds: float) -> None:
        """Let the lock expire `seconds` from now. If it has expired, take it again."""
        self.expires_at = time.monotonic() + seconds
        self.cache.set(f"{self.name}:lock", True, seconds)

    def release(self) -> None:
        if time.monotonic() < self.expires_at:
            self.expires_at = 0.0
            self.cache.delete(f"{self.name}:lock")


def once(
    lock: Lock,
    read: Callable[[], ValueT | None],
    build: Callable[[], ValueT],
    meanwhile: ValueT | None = None,
    *,
    otherwise: Callable[[], ValueT] | None = None,
    log: Callable[[str, ValueT], None] = lambda result, value: None,
) -> ValueT:
    """Build the value that `read` returns in one request at a time. Others return `meanwhile`, or wait.

    A request that waits in vain, for too long or for a value that is not cached, calls `otherwise` without
    the lock. If that is `None`, it raises `BusyError` after waiting for too long, and otherwise builds the
    value in its turn. `log` gets a value that another request has built, as "waited", and `meanwhile` as
    "outdated".
    """

    def read_built() -> ValueT | None:
        value = read()
        if value is not None:
            log("waited", value)
        return value

    in_vain = None
    for _ in lock.attempts(may_fail=otherwise is not None):
        if (value := read_built()) is not None:
            return value
        if meanwhile is not None:
            log("outdated", meanwhile)
            return meanwhile
        in_vain = otherwise
    try:
        # Another request may have built the value in the meantime.
        value = read_built()
        if value is None and in_vain is not None:
            lock.release()
            return in_vain()
        return build() if value is None else value
    finally:
        lock.release()
