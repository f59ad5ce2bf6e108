"""Prefetch rows: fetch the next slice while the one before it is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from functools import partial
from threading import Event
from typing import Any, TypeAlias

from django.core.exceptions import EmptyResultSet
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from django_sitemaps09.django_internals import compile_query, shared_between_threads

Rows: TypeAlias = Sequence[Sequence[Any]]
#: Starts a query of `values_list()`, and returns a function that waits for its rows.
Submit: TypeAlias = Callable[[QuerySet[Any]], Callable[[], Rows]]

# Backends whose server works in parallel, and whose client can be used by two threads.
_BACKENDS = {"django.db.backends.postgresql.base", "django.contrib.gis.db.backends.postgis.base"}


@contextmanager
def prefetching(connection: BaseDatabaseWrapper, *, plainly: bool) -> Iterator[Submit]:
    """Provide a function that runs queries in a thread, one after the other, where a server does the work.

    The first query runs in this thread, since it may be the only one. Elsewhere, a query runs when its rows
    are requested. SQLite works in this process, and two threads must not use the client of MariaDB. Other
    backends and execute wrappers can depend on the thread, as the schema of a tenant does. `plainly` is
    true if the querysets leave it to Django how their rows are fetched.
    """
    with ExitStack() as stack:
        yield _Prefetcher(connection, stack).submit if plainly else lambda query: lambda: list(query)


class _Prefetcher:
    """Queries of one connection, of which all but the first run in a thread until the stack is closed."""

    def __init__(self, connection: BaseDatabaseWrapper, stack: ExitStack) -> None:
        self._connection = connection
        self._stack = stack
        self._thread: ThreadPoolExecutor | None = None
        self._is_first = True

    def submit(self, query: QuerySet[Any]) -> Callable[[], Rows]:
        # Compiled here, since it can depend on the time zone and language that are active in this thread.
        try:
            sql, parameters, convert = compile_query(query, self._connection)
        except EmptyResultSet:
            return list
        fetch: Callable[[], Rows] = partial(self._fetch, sql, parameters)
        if not self._is_first and self._can_share():
            fetch = self._in_thread(fetch)
        self._is_first = False
        return lambda: convert(fetch())

    def _can_share(self) -> bool:
        return type(self._connection).__module__ in _BACKENDS and not self._connection.execute_wrappers

    def _fetch(self, sql: str, parameters: Sequence[Any]) -> Rows:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            rows: Rows = cursor.fetchall()
        return rows

    def _in_thread(self, fetch: Callable[[], Rows]) -> Callable[[], Rows]:
        if self._thread is None:
            self._stack.enter_context(shared_between_threads(self._connection))
            self._thread = ThreadPoolExecutor(1, "sitemap-rows")
            self._stack.callback(self._thread.shutdown, cancel_futures=True)
        has_begun = Event()

        def run() -> Rows:
            has_begun.set()
            return fetch()

        future = self._thread.submit(copy_context().run, run)
        # Python switches threads only every 5 ms, which is as long as a slice takes. Waiting here hands
        # over the GIL, which comes back when the query is sent and its thread waits for the server.
        has_begun.wait()
        return partial(_result, future, self._connection)


def _result(rows: Future[Rows], connection: Any) -> Rows:
    try:
        return rows.result()
    except BaseException:
        # An interrupt or a time limit must not wait for the server. Drivers ensure that only in the thread
        # that waits there.
        if not rows.done():
            connection.connection.cancel()
        raise
