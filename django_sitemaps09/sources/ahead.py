"""Rows that are on their way while those before them are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any, TypeAlias

from django.core.exceptions import EmptyResultSet
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

#: Begins a query of `values_list()`, and gives what waits for its rows.
Begin: TypeAlias = Callable[[QuerySet[Any]], Callable[[], Sequence[Sequence[Any]]]]


@contextmanager
def ahead(connection: BaseDatabaseWrapper) -> Iterator[Begin]:
    """Queries that run in a thread of their own where a server does the work, one after the other.

    All but the first, which may be the only one. Elsewhere a query runs when its rows are asked for:
    SQLite works in this process, and the client of MariaDB must not be used by two threads.
    """
    thread: ThreadPoolExecutor | None = None
    first = True

    def begin(query: QuerySet[Any]) -> Callable[[], Sequence[Sequence[Any]]]:
        nonlocal thread, first
        # Compiled here: the active time zone and language, which can have a say in it, are this thread's.
        compiler = query.query.get_compiler(connection=connection)
        try:
            sql, parameters = compiler.as_sql()
        except EmptyResultSet:
            return list

        def fetched() -> Sequence[Sequence[Any]]:
            begun.set()
            with connection.cursor() as cursor:
                cursor.execute(sql, parameters)
                found: Sequence[Sequence[Any]] = cursor.fetchall()
            return found

        begun = Event()
        waiting = fetched
        if not first and connection.vendor == "postgresql":
            thread = thread or ThreadPoolExecutor(1, "sitemap-rows")
            waiting = thread.submit(fetched).result
            # Python changes threads every 5 ms at most, as long as a slice takes: to wait here hands it
            # over, and it comes back when the query is sent and its thread waits for the server.
            begun.wait()
        first = False
        return lambda: list(compiler.results_iter(results=[waiting()]))

    connection.inc_thread_sharing()
    try:
        yield begin
    finally:
        if thread is not None:
            thread.shutdown(cancel_futures=True)
        connection.dec_thread_sharing()
