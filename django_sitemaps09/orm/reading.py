"""Read and count items: in which order, how many at a time, from which database; and retry failed reads."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from sys import maxsize
from traceback import clear_frames
from typing import Any, TypeVar

from django import db
from django.core.exceptions import ValidationError
from django.db import DatabaseError, DataError, OperationalError, connections
from django.db.models import F, QuerySet

from django_sitemaps09.orm.facts import Facts, identifying_columns, order_terms
from django_sitemaps09.orm.internals import is_fetched, iterate, reorder, to_many_aliases
from django_sitemaps09.protocol.entries import ItemError
from django_sitemaps09.protocol.fields import key_excerpt, reason_of

logger = logging.getLogger(__name__)

ResultT = TypeVar("ResultT")

#: Exceptions that drivers and fields raise for values that they cannot convert: infinity, the year 10000,
#: 2020-02-30. In SQLite, Django raises `AttributeError` for times, and before 6.1 `TypeError` for decimals.
UNREADABLE = (DataError, ValueError, ArithmeticError, ValidationError, AttributeError, TypeError)
#: Maximum number of instances in memory. `django.contrib.sitemaps` keeps all instances of a page. This
#: takes three times the memory, and 50% more time, mostly for garbage collection.
AT_A_TIME = 1_000
# After this number of consecutive unreadable rows, reading fails.
_FAILURES = 100
#: Pauses between attempts, in seconds. In total, they are long enough for a restart of the server.
PAUSES = (0.0, 0.1, 0.4, 1.0, 2.0)


@contextmanager
def stream_items(items: Any, size: int) -> Iterator[Iterator[Any]]:
    """Yield an iterator of items. If it needs a query, read `size` rows at a time and do not cache them."""
    if not Facts(items).fetches_plainly:
        yield iter(items)
        return
    with closing(iterate(items, size, on_server=False)) as rows:
        yield rows


def chunks(items: Any, size: int) -> Generator[list[Any]]:
    """Yield lists of up to `size` items. Related objects can be fetched for all items of a list."""
    with stream_items(items, size) as rows:
        while chunk := list(islice(rows, size)):
            yield chunk


def iterate_unordered(items: Any, size: int) -> Generator[list[Any]]:
    """Yield lists of up to `size` items, in any order, with only one list in memory.

    Each list is a primary key range with a query of its own, because a driver can keep all rows of a query
    in memory. Without such ranges, rows are read through a server-side cursor, if the database has them.
    """
    if not Facts(items).fetches_plainly:
        yield from chunks(items, size)
        return
    items = pin_database(items)
    if Facts(items).has_key_ranges:
        rows = items.order_by("pk")
        chunk = list(rows[:size])
        while chunk:
            yield chunk
            chunk = list(rows.filter(pk__gt=chunk[-1].pk)[:size]) if len(chunk) == size else []
    else:
        # As in iterator(), except that the cursor is closed here and not by the garbage collector.
        on_server = not connections[items.db].settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
        with closing(iterate(items, size, on_server=on_server)) as iterator:
            try:
                while chunk := list(islice(iterator, size)):
                    yield chunk
            except BaseException as error:
                # If an instance cannot be created, the traceback would keep the cursor open.
                clear_frames(error.__traceback__)
                raise


def read_each(fetch: Callable[[range], ResultT], keys: Sequence[object]) -> Iterator[ResultT | ItemError]:
    """Yield the results of `fetch` for ranges of positions in `keys`, and an error for each unreadable row.

    A row is unreadable, for example, if Python cannot represent its date. Halve the range to find it. If
    `fetch` fails for a hundred consecutive rows, the project or the database is broken: raise its error.
    """
    remaining, failures = [range(len(keys))] if keys else [], 0
    while remaining:
        part = remaining.pop()
        try:
            result = fetch(part)
        except UNREADABLE as error:
            # Keep only the text: the traceback of the error would keep the query alive.
            reason, failures = reason_of(error), failures + (len(part) == 1)
            if failures == _FAILURES:
                raise
        else:
            failures = 0
            yield result
            continue
        if len(part) == 1:
            yield ItemError(key_excerpt(keys[part.start]), "row", f"cannot be read: {reason}")
        else:
            middle = len(part) // 2
            remaining += [part[middle:], part[:middle]]


def pin_database(items: Any, using: str | None = None) -> Any:
    """Return the same items with all queries on one database: a router can select another each time."""
    can_choose = isinstance(items, QuerySet) and not is_fetched(items)
    return items.using(using or items.db) if can_choose else items


def count_rows(items: QuerySet[Any]) -> int:
    """Count the rows of a queryset, including repeated rows from the joins of its order.

    `count()` drops the order with its joins and its grouping, except for a slice, and fails for a slice of
    an ordered union. A project's own `count()` can be an estimate, so Django's is called.
    """
    query, count, own = items.query, QuerySet.count, Facts(items)
    if own.is_fetched:
        return count(items)
    if query.combinator and query.is_sliced:
        union = items.all()
        union.query.clear_limits()
        last = query.high_mark if query.high_mark is not None else maxsize
        return max(0, min(count(union), last) - query.low_mark)
    # Django groups the count by the first column of a composite key only.
    has_parts = own.is_grouped and len(items.model._meta.pk_fields) > 1
    # A union keeps the grouping of its first part, but its parts are already grouped.
    if not own.is_combined and (has_parts or (not query.distinct_fields and own.order_joins)):
        return count(items if query.is_sliced else items[:maxsize])
    if query.is_sliced and own.has_instances and not (query.distinct or query.group_by):
        # The database need not sort all rows to count the first ones.
        items = items.all()
        items.query.clear_ordering(force=True)
    return count(items)


def in_page_order(items: Any) -> Any:
    """Return items for Django's paginator, which counts them and reads each page in separate queries."""
    # Rows of a model lose an order that would list them several times, since Django counts them only once.
    own = Facts(items)
    query = own.query
    if not own.is_queryset or own.is_fetched or (own.is_combined and own.is_sliced):
        return items
    if own.can_reorder and not own.needs_order:
        # The order does not repeat rows of a relation again. But DISTINCT includes its columns.
        own_joins = set() if query.distinct else to_many_aliases(query)
        lists_annotations = own.repeats_rows and (query.annotation_select or query.extra_select)
        if not lists_annotations and own.order_joins - own_joins:
            items = items.order_by()
    return in_total_order(items)


def in_total_order(items: QuerySet[Any]) -> QuerySet[Any]:
    """Return the rows in a total order, so the separate queries for pages have the same order."""
    query, own = items.query, Facts(items)
    if own.is_grouped and not (query.order_by or query.extra_order_by) and own.needs_order:
        # Django drops the order of the model here, but keeps its join, which changes aggregates.
        return items
    last: list[F] = []
    if own.has_instances:
        # Django cannot order a union by the name of a composite key.
        last += [F(field.attname) for field in query.get_meta().pk_fields]
    if not last or query.combinator or own.repeats_rows:
        # Only these columns distinguish rows of `values()`, or the same row with other annotations.
        last += identifying_columns(query)
    # The name of a relation would order by the `ordering` of the related model.
    ordering = order_terms(query) or tuple(map(F, query.distinct_fields))
    # The order of the rows does not change. Additional columns only separate equal rows. In the direction
    # of the last column, a database can read its index, which also has the primary key.
    end = ordering[-1] if ordering else ""
    is_descending = end.startswith("-") if isinstance(end, str) else getattr(end, "descending", False)
    return reorder(items, *ordering, *(name.desc() if is_descending else name.asc() for name in last))


def retry(
    read: Callable[[], ResultT], label: str, *, lost_only: bool = False, pauses: Sequence[float] = PAUSES
) -> ResultT:
    """Call `read` and return its result. Retry if the database fails, but not after other exceptions.

    After a lost connection, retry with `pauses` in seconds between attempts. Unless `lost_only` is true,
    retry once after any other failure of the database, such as a deadlock. Raise `OperationalError` if the
    caller has opened a transaction, which is lost with its connection.
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
    if any(map(is_in_transaction, failed_connections)):
        raise OperationalError(
            "The read cannot be retried, because it runs in a transaction of its caller. Run it outside of "
            f"atomic(), and without ATOMIC_REQUESTS. The error was: {reason_of(error)}"
        ) from error
    lost = [failed for failed in failed_connections if failed.connection is None or not failed.is_usable()]
    for connection in lost:
        connection.close()
    return bool(lost)


def is_in_transaction(connection: Any) -> bool:
    """Return whether a caller has opened a transaction, or turned autocommit off."""
    # get_autocommit() would open a connection.
    return connection.in_atomic_block or bool(connection.connection and not connection.get_autocommit())
