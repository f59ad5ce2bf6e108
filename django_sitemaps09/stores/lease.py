"""One export at a time among machines that share no disk: a lease in the cache that they share."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex
from threading import Event, Thread

from django.core.cache import DEFAULT_CACHE_ALIAS, caches
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.dummy import DummyCache
from django.core.cache.backends.filebased import FileBasedCache
from django.core.cache.backends.locmem import LocMemCache
from django.db import connections

from django_sitemaps09.exceptions import ExportError, ExportRunningError

logger = logging.getLogger(__name__)

#: Seconds for which the cache keeps a lease: how long exports wait for one that was killed.
LEASE = 60
#: Seconds from one renewal to the next; some may fail.
RENEWAL = 15
_KEY = "django_sitemaps09:lease:"

_UNFIT = {
    LocMemCache: "is not shared between processes, let alone machines",
    DummyCache: "keeps nothing",
    FileBasedCache: "is not shared between machines, and two could add the same key at once",
}


@contextmanager
def lease(identity: str, label: str) -> Iterator[Callable[[], None]]:
    """The lease of a place, renewed until the block ends, and a check that it is held still.

    `ExportRunningError` where another one holds it; `ExportError` where the cache is none for that.
    """
    _refuse_unfit(_cache(), label)
    held = _Lease(f"{_KEY}{sha256(identity.encode()).hexdigest()}", token_hex(16), label)
    held.take()
    ended = Event()
    thread = Thread(target=held.renew_until, args=[ended], name="sitemap-lease", daemon=True)
    thread.start()
    try:
        yield held.check
    finally:
        ended.set()
        thread.join()
        held.release()


@dataclass(frozen=True)
class _Lease:
    key: str
    #: Ours alone, so that nobody else's is renewed or given back.
    token: str
    label: str

    def take(self) -> None:
        try:
            taken = _cache().add(self.key, self.token, LEASE)
            other = None if taken else _cache().get(self.key)
        except Exception as error:
            raise self._failed(error) from error
        if other is not None:
            raise ExportRunningError(f"Another export is writing to {self.label}; nothing was touched.")
        # A cache that swallows its errors says yes or no to everything, and keeps nothing.
        self.check()

    def check(self) -> None:
        """`ExportError` where it is not ours any more; else it is for the whole of `LEASE` from now."""
        try:
            renewed = self.renew()
        except Exception as error:
            raise self._failed(error) from error
        if not renewed:
            raise ExportError(
                f"The lease for {self.label} in the cache {DEFAULT_CACHE_ALIAS!r} is lost: it was not "
                f"renewed for {LEASE} seconds, or the cache dropped it. Another export may be running."
            )

    def renew(self) -> bool:
        """Whether it is ours still. Asked again after: it may have run out in between."""
        cache = _cache()
        return (
            cache.get(self.key) == self.token
            and bool(cache.touch(self.key, LEASE))
            and cache.get(self.key) == self.token
        )

    def renew_until(self, ended: Event) -> None:
        """In a thread of its own, with connections of its own."""
        try:
            while not ended.wait(RENEWAL):
                try:
                    if not self.renew():
                        return
                except Exception:
                    logger.warning("The lease for %s was not renewed", self.label, exc_info=True)
        finally:
            caches.close_all()
            connections.close_all()

    def release(self) -> None:
        try:
            # Renewed, it does not run out before it is deleted.
            if self.renew():
                _cache().delete(self.key)
        except Exception:
            logger.warning("The lease for %s was not given back", self.label, exc_info=True)

    def _failed(self, error: Exception) -> ExportError:
        return ExportError(
            f"The cache {DEFAULT_CACHE_ALIAS!r}, which holds the lease for {self.label}, failed: "
            f"{type(error).__name__}: {error}"
        )


def _cache() -> BaseCache:
    """This thread's own."""
    return caches[DEFAULT_CACHE_ALIAS]


def _refuse_unfit(cache: BaseCache, label: str) -> None:
    for unfit, why in _UNFIT.items():
        if isinstance(cache, unfit):
            raise ExportError(
                f"Exports to {label} take turns by a lease in the cache {DEFAULT_CACHE_ALIAS!r}, but "
                f"{type(cache).__name__} {why}. Set CACHES[{DEFAULT_CACHE_ALIAS!r}] to Redis, Memcached or "
                "the database."
            )
