"""Rows that are on their way while those before them are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from threading import Event
from typing import Any, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

#: Begins a query, and gives what waits for its rows.
Begin: TypeAlias = Callable[[QuerySet[Any]], Callable[[], list[tuple[Any, ...]]]]

# Of all rows of a slice.
_CHUNK = 50_000


@contextmanager
def ahead(connection: BaseDatabaseWrapper) -> Iterator[Begin]:
    """Queries that run in a thread of their own where a server does the work, one after the other.

    All but the first, which may be the only one. Elsewhere a query runs when its rows are asked for:
    SQLite works in this process, and the client of MariaDB must not be used by two threads.
    """
    if connection.vendor != "postgresql":
        yield lambda query: lambda: _rows(query, connection)
        return
    thread: ThreadPoolExecutor | None = None

    def begin(query: QuerySet[Any]) -> Callable[[], list[tuple[Any, ...]]]:
        nonlocal thread
        if thread is None:
            thread = ThreadPoolExecutor(1, "sitemap-rows")
            return lambda: _rows(query, connection)
        begun = Event()

        def rows() -> list[tuple[Any, ...]]:
            begun.set()
            return _rows(query, connection)

        # The time zone and the language that are active have a say in what some expressions become.
        result = thread.submit(copy_context().run, rows).result
        # Python changes threads every 5 ms at most, which is half of what a slice takes: to wait here
        # hands it over, and it comes back when the query is sent and its thread waits for the server.
        begun.wait()
        return result

    connection.inc_thread_sharing()
    try:
        yield begin
    finally:
        if thread is not None:
            thread.shutdown(cancel_futures=True)
        connection.dec_thread_sharing()


def _rows(query: QuerySet[Any], connection: BaseDatabaseWrapper) -> list[tuple[Any, ...]]:
    # What list(query) does, but for two passes over the rows.
    compiler = query.query.get_compiler(connection=connection)
    return list(compiler.results_iter(chunk_size=_CHUNK))
