"""Reads from a database that fails: retries."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from django import db
from django.db import DatabaseError, OperationalError, connections

from django_sitemaps09.protocol import reason_of

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

#: Pauses between attempts, in seconds. In total, they are long enough for a restart of the server.
PAUSES = (0.0, 0.1, 0.4, 1.0, 2.0)


def retry(
    read: Callable[[], ResultT], label: str, *, lost_only: bool = False, pauses: Sequence[float] = PAUSES
) -> ResultT:
    """Call `read` and return its result. Retry if the database fails.

    After a lost connection, retry with `pauses` in seconds between attempts. Unless `lost_only` is true,
    retry once after any other failure of the database, such as a deadlock. Do not retry other exceptions.
    Raise `OperationalError` if the caller has opened a transaction, which is lost with its connection. The
    error for a missing table says what to do.
    """
    is_first = not lost_only
    for pause in pauses:
        try:
            return read()
        except Exception as error:
            if _is_missing_table(error):
                raise type(error)(f"a table is missing, run manage.py migrate: {error}") from error
            if not _is_database_error(error) or not (_close_lost(error) or is_first):
                raise
            logger.warning("%s: the database failed; retrying: %s", label, reason_of(error))
        is_first = False
        time.sleep(pause)
    return read()


def retry_once(read: Callable[[], ResultT], label: str) -> ResultT:
    """Retry once, at once, after a lost connection: a request must not wait for a server that restarts."""
    return retry(read, label, lost_only=True, pauses=(0.0,))


class Retried:
    """An object whose attributes and methods are read again if the database fails, but no generators."""

    def __init__(self, target: Any, label: str) -> None:
        self._target, self._label = target, label

    def __getattr__(self, name: str) -> Any:
        value = retry(lambda: getattr(self._target, name), self._label)
        return partial(self._call, value) if callable(value) else value

    def _call(self, method: Callable[..., ResultT], *arguments: Any) -> ResultT:
        return retry(lambda: method(*arguments), self._label)


def _is_missing_table(error: Exception) -> bool:
    """Return whether a query names a table that does not exist, on SQLite, MariaDB, MySQL or PostgreSQL."""
    if not isinstance(error, DatabaseError):
        return False
    driver_error: Any = error.__cause__
    # psycopg 3 and 2 have different names for the code, and the server can translate the message.
    code = getattr(driver_error, "sqlstate", None) or getattr(driver_error, "pgcode", None)
    # The code also stands for "missing FROM-clause entry", a mistake in the query.
    is_missing = code == "42P01" and "FROM" not in str(error).partition("\n")[0]
    return is_missing or error.args[:1] == (1146,) or str(error).startswith("no such table")


def _is_database_error(error: Exception) -> bool:
    """Return whether a database failed; Django does not wrap all errors of drivers."""
    open_connections: Any = connections.all(initialized_only=True)
    modules = [db, *(connection.Database for connection in open_connections)]
    return any(isinstance(error, (part.OperationalError, part.InterfaceError)) for part in modules)


def _close_lost(error: Exception) -> bool:
    """Close lost connections, so that the next query opens new ones; return whether any were lost."""
    open_connections = connections.all(initialized_only=True)
    failed_connections = [connection for connection in open_connections if connection.errors_occurred]
    for connection in failed_connections:
        if is_in_transaction(connection):
            raise OperationalError(
                "The read cannot be retried, because it runs in a transaction of its caller. Run it "
                f"outside of atomic(), and without ATOMIC_REQUESTS. The error was: {reason_of(error)}"
            ) from error
    lost = [failed for failed in failed_connections if failed.connection is None or not failed.is_usable()]
    for connection in lost:
        connection.close()
    return bool(lost)


def is_in_transaction(connection: Any) -> bool:
    """Return whether a caller has opened a transaction, or turned autocommit off."""
    # get_autocommit() would open a connection.
    return connection.in_atomic_block or bool(connection.connection and not connection.get_autocommit())
