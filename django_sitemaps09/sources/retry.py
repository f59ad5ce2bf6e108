"""Retry database reads that fail, for example because the connection is lost."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connections

from django_sitemaps09.entries import reason_of
from django_sitemaps09.pages import Fingerprint, Key
from django_sitemaps09.sources.compile import Source, has_key_ranges
from django_sitemaps09.sources.snapshots import is_in_transaction

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

#: Pauses between attempts, in seconds. In total, they are long enough for a restart of the server.
PAUSES = (0.0, 0.1, 0.4, 1.0, 2.0)


def retry(
    read: Callable[[], ResultT],
    label: str,
    *,
    lost_only: bool = False,
    pauses: Sequence[float] = PAUSES,
) -> ResultT:
    """Call `read` and return its result. Retry if the database fails.

    After a lost connection, retry with `pauses` in seconds between attempts. Unless `lost_only` is true,
    retry once after any other failure of the database, such as a deadlock. Do not retry other exceptions.
    Raise `OperationalError` if the caller has opened a transaction, which is lost with its connection.
    """
    is_first = not lost_only
    for pause in pauses:
        try:
            return read()
        except Exception as error:
            if not _is_database_error(error) or not (_close_lost(error) or is_first):
                raise
            logger.warning("%s: the database failed; retrying: %s", label, reason_of(error))
        is_first = False
        time.sleep(pause)
    return read()


def retry_once(read: Callable[[], ResultT], label: str) -> ResultT:
    """Call `read` as `retry()` does, but only once more and at once, and only after a lost connection.

    A request must not wait for a server that restarts.
    """
    return retry(read, label, lost_only=True, pauses=(0.0,))


def _is_database_error(error: Exception) -> bool:
    """Return whether a database failed; Django does not wrap all errors of drivers."""
    open_connections: Any = connections.all(initialized_only=True)
    drivers = [connection.Database for connection in open_connections]
    return isinstance(error, (OperationalError, InterfaceError)) or any(
        isinstance(error, (driver.OperationalError, driver.InterfaceError)) for driver in drivers
    )


def _close_lost(error: Exception) -> bool:
    """Close lost connections, so that the next query opens new ones; return whether any were lost."""
    failed_connections = [
        connection for connection in connections.all(initialized_only=True) if connection.errors_occurred
    ]
    for connection in failed_connections:
        if is_in_transaction(connection):
            raise OperationalError(
                "The read cannot be retried, because it runs in a transaction of its caller. Run it "
                f"outside of atomic(), and without ATOMIC_REQUESTS. The error was: {reason_of(error)}"
            ) from error
    lost_connections = [
        connection
        for connection in failed_connections
        if connection.connection is None or not connection.is_usable()
    ]
    for connection in lost_connections:
        connection.close()
    return bool(lost_connections)


@dataclass(frozen=True)
class RetriedSource:
    """Source whose queries are retried, for use outside of rendering."""

    source: Source
    label: str

    def is_empty(self) -> bool:
        return retry(self.source.is_empty, self.label)

    def key_after(self, after: Key | None, count: int) -> Key | None:
        return retry(lambda: self.source.key_after(after, count), self.label)

    def count(self, after: Key | None, until: Key | None, most: int) -> int:
        if not has_key_ranges(self.source):
            raise TypeError(f"{self.label} has no key ranges")
        source = self.source
        return retry(lambda: source.count(after, until, most), self.label)

    def in_order(self, bounds: Sequence[Key]) -> bool:
        return retry(lambda: self.source.in_order(bounds), self.label)

    def fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        return retry(lambda: self.source.fingerprint(after, until), self.label)

    @property
    def key_identity(self) -> tuple[str, ...] | None:
        return retry(lambda: self.source.key_identity, self.label)

    @property
    def declaration_digest(self) -> str:
        return retry(lambda: self.source.declaration_digest, self.label)
