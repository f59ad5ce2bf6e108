"""Slices of a queryset's rows in the order of their key, read as columns or as instances."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from threading import Event
from typing import Any, NamedTuple, TypeAlias

from django.conf import settings
from django.core.exceptions import EmptyResultSet, FieldError
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import F, QuerySet, TextField
from django.db.models.functions import Cast

from django_sitemaps09.conf import conf
from django_sitemaps09.declare.calls import step
from django_sitemaps09.declare.expressions import alias
from django_sitemaps09.orm.internals import compile_query, has_prefetches, shared_between_threads
from django_sitemaps09.orm.reading import UNREADABLE, read_each, stream_items
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.protocol.values import w3c_texts
from django_sitemaps09.rows.conversion import LASTMOD, Conversion, Rows
from django_sitemaps09.rows.fingerprints import ToHashed, hashed_columns
from django_sitemaps09.rows.keys import Bound
from django_sitemaps09.rows.members import Members, Span

#: Number of rows that are read to estimate the length of an entry.
SAMPLE = 200
#: Rows in a slice of instances. Longer slices are not faster: from 2,000 new objects on, Python 3.13
#: collects garbage. The collection takes as much time as fewer queries would save.
SLICE = 1_500
# Rows in a slice of columns: a full page needs ten queries, and fewer would hardly save time.
COLUMNS_SLICE = 4_800
# Rows in a slice from a server if each query takes long to begin, for example to read a whole joined table.
COSTLY_SLICE = 25_000
# The minimum number of rows in a slice. For fewer rows, the query would cost more than the rows.
_FEWEST = 100
# Maximum number of instances in memory, since each consists of several objects. With `prefetch_related()`,
# all instances of a slice are in memory, since each prefetch is a query.
INSTANCES = 250
# Alias for a lastmod that the database converts to text.
_TEXT = alias("lastmod_text")
_UTC = {"UTC", "Etc/UTC"}
# Backends whose server works in parallel, and whose client supports several threads.
_PARALLEL = {"django.db.backends.postgresql.base", "django.contrib.gis.db.backends.postgis.base"}

Records: TypeAlias = Sequence[Sequence[Any]]
#: A function that starts a query of `values_list()`, and returns a function that waits for its rows: as the
#: driver returns them, and as the queryset does. The former are unknown unless Django's methods fetch them.
Submit: TypeAlias = Callable[[QuerySet[Any]], Callable[[], "tuple[Records, Records]"]]
#: A function that converts dates or times, which a database has converted to text, to the W3C format. It
#: returns `None` if Python must convert them.
ConvertTexts: TypeAlias = Callable[[Sequence[Any]], Sequence[str | None] | None]


def slice_size(rows: int, conversion: Conversion) -> int:
    """Return the number of rows in a slice: fewer than `rows` if each row has entries in many languages."""
    return max(rows // conversion.entries_per_item, min(rows, _FEWEST))


def text_converter(rows: QuerySet[Any]) -> ConvertTexts | None:
    """Return how lastmods as texts are converted; `None` if Python must convert each value."""
    expression: Any = rows.query.annotations.get(LASTMOD)
    try:
        field: Any = getattr(expression, "output_field", None)
    except FieldError:
        return None
    kind = field.get_internal_type() if field is not None else None
    connection, times = connections[rows.db], kind == "DateTimeField"
    if kind not in ("DateField", "DateTimeField") or expression.get_db_converters(connection):
        return None
    # The conversion of times that are not in UTC needs the history of time zones.
    if times and str(connection.timezone if settings.USE_TZ else conf.zone) not in _UTC:
        return None
    # Only PostgreSQL writes the zone after a time.
    zone = "+00" if times and connection.vendor == "postgresql" else ""
    return partial(w3c_texts, times=times, zone=zone)


def with_lastmod_texts(rows: QuerySet[Any], *names: Any) -> QuerySet[Any]:
    """Return columns of rows, as `values_list()` does, but the lastmods as texts."""
    texts: QuerySet[Any] = rows.annotate(**{_TEXT: Cast(LASTMOD, TextField())})
    return texts.values_list(*(_TEXT if name == LASTMOD else name for name in names))


class _Fetched(NamedTuple):
    """Rows that a query returned, with the last key and the total number, including unreadable rows."""

    records: Sequence[Any]
    last: Bound
    total: int
    errors: Sequence[ItemError] = ()
    hashed: Sequence[Any] | None = None


@dataclass(frozen=True)
class Slices:
    """Slices of rows in the order of their key. Rows that cannot be read are skipped and reported.

    `rows` are ordered, and have the declared expressions as annotations. `is_plain` says whether Django's
    own methods fetch them. If `are_hashed` is true, slices have what their fingerprint is made of.
    """

    rows: QuerySet[Any]
    members: Members
    conversion: Conversion
    is_plain: bool
    are_hashed: bool = False

    def in_range(self, after: Bound, until: Bound, limit: int) -> Generator[Rows]:
        """Yield the rows of a page, which has at most `limit` rows."""
        # With composite keys, PostgreSQL needs a third less time for 25,000 rows at once than for 3,000.
        is_costly = self.members.are_costly or len(self.members.key.names) > 1
        is_local = connections[self.rows.db].vendor == "sqlite"
        columns = COSTLY_SLICE if is_costly and not is_local else COLUMNS_SLICE
        most = slice_size(SLICE if self.conversion.needs_items else columns, self.conversion)
        if not self.members.looks_beyond:
            yield from self.read(self.members.first_span(after, until, most), most)
            return
        # Any number of rows can follow the last page.
        page_size, most = limit + 1, self.members.keys_per_query(most)
        keys = [after]
        while keys:
            keys = self.members.keys(keys[-1], until, 0, page_size)
            for start in range(0, len(keys), most):
                yield from self.with_keys(keys[start : start + most])
            if len(keys) < page_size:
                return

    def with_keys(self, keys: Sequence[Hashable]) -> Generator[Rows]:
        """Return the slices of rows with these keys, given in the order of the database."""
        rows = self.members.filter_keys(self.rows, keys)
        members = self.members._replace(rows=rows, original=None, are_grouped=False)
        # The slice size exceeds the number of keys, so one query reads all of these rows.
        return replace(self, rows=rows, members=members).read(Span(None, None, None), len(keys) + 1)

    def read(self, first: Span, most: int) -> Generator[Rows]:
        """Return the slices from a span on. A query reads at most `most` rows."""
        return self._instances(first, most) if self.conversion.needs_items else self._columns(first, most)

    def _query(self, rows: QuerySet[Any], span: Span, most: int) -> QuerySet[Any]:
        return self.members.filter_range(rows, span.after, span.end)[:most]

    def _next_span(self, span: Span, last: Bound, count: int, most: int) -> Span | None:
        # If a project's queryset skips rows, more rows can follow a slice that is not full.
        return self.members.next_span(span, last, most if count and not self.is_plain else count, most)

    def _columns(self, first: Span, most: int) -> Generator[Rows]:
        """Yield slices with the values of the declared expressions. The next slice is prefetched."""
        key, convert, span = self.members.key, text_converter(self.rows), first
        query, to_hashed = self._selected(has_texts=convert is not None)
        with prefetching(connections[self.rows.db], plainly=self.is_plain) as submit:
            result = submit(self._query(query, span, most))
            while True:
                has_texts = convert is not None
                try:
                    stored, records = result()
                    last = key.row_key(records[-1]) if records else span.after
                    fetched = _Fetched(records, last, len(records), hashed=to_hashed and to_hashed(stored))
                except UNREADABLE:
                    values, _ = self._selected(has_texts=False)
                    fetched, has_texts = self._readable(values, span, most), False
                next_span = self._next_span(span, fetched.last, fetched.total, most)
                if next_span is not None:
                    result = submit(self._query(query, next_span, most))
                slice_rows = self._column_rows(fetched)
                if convert is not None and has_texts:
                    slice_rows = slice_rows._replace(lastmods=convert(slice_rows.columns[LASTMOD]))
                    if slice_rows.lastmods is None:
                        # Python must convert a value here, and probably also in the next slices.
                        convert = None
                        query, to_hashed = self._selected(has_texts=False)
                        result = submit(self._query(query, span, most))
                        continue
                if fetched.total:
                    yield slice_rows
                if next_span is None:
                    return
                span = next_span

    def _selected(self, *, has_texts: bool) -> tuple[QuerySet[Any], ToHashed | None]:
        """Return the query of the keys and the declared expressions, and what is hashed of its rows."""
        names = [*self.members.key.names, *self.conversion.expressions]
        columns, to_hashed = names, None
        if self.are_hashed:
            extra, to_hashed = hashed_columns(self.rows, names, text=LASTMOD if has_texts else None)
            columns = [*names, *extra]
        query = with_lastmod_texts(self.rows, *columns) if has_texts else self.rows.values_list(*columns)
        return query, to_hashed

    def _column_rows(self, fetched: _Fetched) -> Rows:
        width, expressions = len(self.members.key.names), self.conversion.expressions
        columns = list(zip(*fetched.records, strict=True)) or [()] * (width + len(expressions))
        keys = columns[0] if width == 1 else list(zip(*columns[:width], strict=True))
        columns_by_name = dict(zip(expressions, columns[width:], strict=False))
        return Rows(keys, None, columns_by_name, errors=fetched.errors, hashed=fetched.hashed)

    def _readable(self, rows: QuerySet[Any], span: Span, most: int) -> _Fetched:
        """Fetch a slice with an unreadable row again: first its keys, then parts of it."""
        key = self.members.key
        keys = [key.row_key(row) for row in self._query(rows.values_list(*key.names), span, most)]
        bounds = [span.after, *keys]

        def fetch(places: range) -> list[Any]:
            return list(self.members.filter_range(rows, bounds[places.start], bounds[places.stop]))

        readable: list[Any] = []
        errors: list[ItemError] = []
        for part in read_each(fetch, keys):
            if isinstance(part, ItemError):
                errors.append(part)
            else:
                readable += part
        return _Fetched(readable, bounds[-1], len(keys), errors)

    def _instances(self, first: Span, most: int) -> Generator[Rows]:
        rows, key = self.rows, self.members.key
        # A key other than the primary key is selected here, even if the queryset defers it.
        if key.name != "pk":
            rows = rows.annotate(**{alias("key"): F(key.name)})
        reads_whole = has_prefetches(rows) or not self.is_plain
        size = most if reads_whole else min(most, INSTANCES)
        span: Span | None = first
        while span is not None:
            records, count, has_failed, last = self._query(rows, span, most), 0, False, span.after
            # chain() delays the query until the first step, where its time is measured.
            delayed = chain.from_iterable([records]) if reads_whole else records
            with stream_items(delayed, size) as instances:
                try:
                    while items := _next_items(instances, size):
                        slice_rows = self._instance_rows(items)
                        yield slice_rows
                        last, count = slice_rows.keys[-1], count + len(items)
                except UNREADABLE:
                    has_failed = True
            if has_failed:
                fetched = self._readable(rows, span._replace(after=last), most - count)
                yield self._instance_rows(fetched.records, fetched.errors)
                last, count = fetched.last, count + fetched.total
            span = self._next_span(span, last, count, most)

    def _instance_rows(self, items: Sequence[Any], errors: Sequence[ItemError] = ()) -> Rows:
        keys = [item.pk if self.members.key.name == "pk" else getattr(item, alias("key")) for item in items]
        columns = {name: [getattr(i, name) for i in items] for name in self.conversion.expressions}
        return Rows(keys, items, columns, errors=errors)


def _next_items(instances: Iterator[Any], size: int) -> list[Any]:
    with step("instances") as cost:
        items = list(islice(instances, size))
        cost.items = len(items)
    return items


@contextmanager
def prefetching(connection: BaseDatabaseWrapper, *, plainly: bool) -> Iterator[Submit]:
    """Provide a function that runs queries in another thread if possible, one after the other.

    The first query runs in this thread, since it may be the only one. If prefetching is not possible, a
    query runs when its rows are requested. SQLite works in this process, and MariaDB's client does not
    support several threads. Other backends and execute wrappers can depend on the thread, such as those
    that select the schema of a tenant. `plainly` is true if Django's own methods fetch the rows.
    """
    with ExitStack() as stack:
        yield _Prefetcher(connection, stack).submit if plainly else lambda query: lambda: ((), list(query))


@dataclass(slots=True)
class _Prefetcher:
    connection: BaseDatabaseWrapper
    stack: ExitStack
    thread: ThreadPoolExecutor | None = None
    is_first: bool = True

    def submit(self, query: QuerySet[Any]) -> Callable[[], tuple[Records, Records]]:
        # A query can depend on the active time zone and language, so it is compiled in this thread.
        try:
            sql, parameters, convert = compile_query(query, self.connection)
        except EmptyResultSet:
            return lambda: ((), ())

        def fetch_here() -> Records:
            with self.connection.cursor() as cursor:
                cursor.execute(sql, parameters)
                records: Records = cursor.fetchall()
            return records

        fetch: Callable[[], Records] = fetch_here
        is_parallel = type(self.connection).__module__ in _PARALLEL
        if is_parallel and not (self.connection.execute_wrappers or self.is_first):
            fetch = self._in_thread(fetch)
        self.is_first = False

        def result() -> tuple[Records, Records]:
            records = fetch()
            return records, convert(records)

        return result

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
