"""Prefetch rows while those before them are used."""

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

#: Starts a query of `values_list()`, and returns a function that waits for its rows.
Begin: TypeAlias = Callable[[QuerySet[Any]], Callable[[], Sequence[Sequence[Any]]]]

# Backends with a server that works by itself, and a client that two threads may use.
_BACKENDS = {"django.db.backends.postgresql.base", "django.contrib.gis.db.backends.postgis.base"}


@contextmanager
def ahead(connection: BaseDatabaseWrapper, *, plainly: bool) -> Iterator[Begin]:
    """Provide a function that runs queries in a thread, one after the other, where a server does the work.

    The first query runs in this thread, since it may be the only one. Elsewhere, a query runs when its rows
    are requested. SQLite works in this process, and two threads must not use the client of MariaDB. Other
    backends and execute wrappers can depend on the thread, as the schema of a tenant does. `plainly` is
    true if the querysets leave it to Django how their rows are fetched.
    """
    thread: ThreadPoolExecutor | None = None
    first = True
    apart = type(connection).__module__ in _BACKENDS and not connection.execute_wrappers

    def begin(query: QuerySet[Any]) -> Callable[[], Sequence[Sequence[Any]]]:
        nonlocal thread, first
        if not plainly:
            return lambda: list(query)
        # Compiled here, since it can depend on the time zone and language that are active in this thread.
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
            if thread is None:
                thread = ThreadPoolExecutor(1, "sitemap-rows")
                connection.inc_thread_sharing()
            waiting = partial(_result, thread.submit(copy_context().run, fetched), connection)
            # Python switches threads only every 5 ms, which is as long as a slice takes. Waiting here hands
            # over the GIL, which comes back when the query is sent and its thread waits for the server.
            begun.wait()
        first = False
        return lambda: list(compiler.results_iter(results=[waiting()]))

    try:
        yield begin
    finally:
        if thread is not None:
            try:
                thread.shutdown(cancel_futures=True)
            finally:
                connection.dec_thread_sharing()


def _result(rows: Future[Sequence[Sequence[Any]]], connection: Any) -> Sequence[Sequence[Any]]:
    try:
        return rows.result()
    except BaseException:
        # An interrupt or a time limit must not wait for the server. Drivers take care of that only in the
        # thread that waits there.
        if not rows.done():
            connection.connection.cancel()
        raise
