"""Prefetch rows: fetch the next slice while the current one is used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, TypeAlias

from django.core.exceptions import EmptyResultSet
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet

from django_sitemaps09.orm.internals import compile_query, shared_between_threads

Records: TypeAlias = Sequence[Sequence[Any]]
#: Rows as the driver returns them, and as the queryset does. The former are unknown if the queryset has
#: methods of its own.
Fetched: TypeAlias = "tuple[Records, Records]"
#: A function that starts a query of `values_list()`, and returns a function that waits for its rows.
Submit: TypeAlias = Callable[[QuerySet[Any]], Callable[[], Fetched]]

# Backends whose server works in parallel, and whose client supports several threads.
_BACKENDS = {"django.db.backends.postgresql.base", "django.contrib.gis.db.backends.postgis.base"}


@contextmanager
def prefetching(connection: BaseDatabaseWrapper, *, plainly: bool) -> Iterator[Submit]:
    """Provide a function that runs queries in another thread if possible, one after the other.

    The first query runs in this thread, since it may be the only one. If prefetching is not possible, a
    query runs when its rows are requested. SQLite works in this process, and MariaDB's client does not
    support several threads. Other backends and execute wrappers can depend on the thread, such as those
    that select the schema of a tenant. `plainly` is true if Django's own methods fetch the rows of the
    querysets.
    """
    with ExitStack() as stack:
        yield _Prefetcher(connection, stack).submit if plainly else lambda query: lambda: ((), list(query))


@dataclass(slots=True)
class _Prefetcher:
    connection: BaseDatabaseWrapper
    stack: ExitStack
    thread: ThreadPoolExecutor | None = None
    is_first: bool = True

    def submit(self, query: QuerySet[Any]) -> Callable[[], Fetched]:
        # A query can depend on the active time zone and language, so it is compiled in this thread.
        try:
            sql, parameters, convert = compile_query(query, self.connection)
        except EmptyResultSet:
            return lambda: ((), ())
        fetch: Callable[[], Records] = partial(self._fetch, sql, parameters)
        backend = type(self.connection).__module__
        if backend in _BACKENDS and not (self.connection.execute_wrappers or self.is_first):
            fetch = self._in_thread(fetch)
        self.is_first = False

        def result() -> Fetched:
            records = fetch()
            return records, convert(records)

        return result

    def _fetch(self, sql: str, parameters: Sequence[Any]) -> Records:
        with self.connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            rows: Records = cursor.fetchall()
        return rows

    def _in_thread(self, fetch: Callable[[], Records]) -> Callable[[], Records]:
        if self.thread is None:
            self.stack.enter_context(shared_between_threads(self.connection))
            self.thread = ThreadPoolExecutor(1, "sitemap-rows")
            self.stack.callback(self.thread.shutdown, cancel_futures=True)
        has_begun = Event()

        def run() -> Records:
            has_begun.set()
            return fetch()

        future = self.thread.submit(copy_context().run, run)
        # Python switches threads only every 5 ms, and a slice takes about as long. wait() releases the GIL.
        # The other thread releases the GIL again while it waits for the server.
        has_begun.wait()

        def result() -> Records:
            try:
                return future.result()
            except BaseException:
                # An interrupt or a time limit must not wait for the server. Drivers only ensure this in the
                # thread that runs the query.
                if not future.done():
                    self.connection.connection.cancel()
                raise

        return result
