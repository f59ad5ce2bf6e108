"""Rows that are on their way while those before them are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from threading import Event
from typing import Any, TypeAlias

from django.core.exceptions import EmptyResultSet
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

#: Begins a query of `values_list()`, and gives what waits for its rows.
Begin: TypeAlias = Callable[[QuerySet[Any]], Callable[[], Sequence[Sequence[Any]]]]

# Those whose server works by itself, and whose client two threads may use.
_BACKENDS = {"django.db.backends.postgresql.base", "django.contrib.gis.db.backends.postgis.base"}


@contextmanager
def ahead(connection: BaseDatabaseWrapper, *, plainly: bool) -> Iterator[Begin]:
    """Queries that run in a thread of their own where a server does the work, one after the other.

    All but the first, which may be the only one. Elsewhere a query runs when its rows are asked for:
    SQLite works in this process, and the client of MariaDB must not be used by two threads. What is not
    Django's own around a query can depend on the thread, as the schema of a tenant does. `plainly` says
    that the querysets leave it to Django how their rows are fetched.
    """
    thread: ThreadPoolExecutor | None = None
    first = True
    apart = type(connection).__module__ in _BACKENDS and not connection.execute_wrappers

    def begin(query: QuerySet[Any]) -> Callable[[], Sequence[Sequence[Any]]]:
        nonlocal thread, first
        if not plainly:
            return lambda: list(query)
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
        if apart and not first:
            thread = thread or ThreadPoolExecutor(1, "sitemap-rows")
            waiting = partial(_result, thread.submit(copy_context().run, fetched), connection)
            # Python changes threads every 5 ms at most, as long as a slice takes: to wait here hands it
            # over, and it comes back when the query is sent and its thread waits for the server.
            begun.wait()
        first = False
        return lambda: list(compiler.results_iter(results=[waiting()]))

    connection.inc_thread_sharing()
    try:
        yield begin
    finally:
        try:
            if thread is not None:
                thread.shutdown(cancel_futures=True)
        finally:
            connection.dec_thread_sharing()


def _result(rows: Future[Sequence[Sequence[Any]]], connection: Any) -> Sequence[Sequence[Any]]:
    try:
        return rows.result()
    except BaseException:
        # An interrupt, or a time limit, must not have to wait for the server: drivers see to that only
        # in the thread that waits there.
        if not rows.done():
            connection.connection.cancel()
        raise
