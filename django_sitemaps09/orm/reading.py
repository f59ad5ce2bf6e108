"""Read and count the items of a section: in which order, how many at a time, and from which database."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from sys import maxsize
from traceback import clear_frames
from typing import Any, TypeVar

from django.core.exceptions import ValidationError
from django.db import DataError, connections
from django.db.models import F, QuerySet

from django_sitemaps09.orm.facts import facts, identifying_columns, order_terms
from django_sitemaps09.orm.internals import iterate, reorder, to_many_aliases
from django_sitemaps09.protocol import ItemError, key_excerpt, reason_of

ResultT = TypeVar("ResultT")

#: Exceptions that drivers and fields raise for values that they cannot convert: infinity, the year 10000,
#: 2020-02-30. In SQLite, Django raises `AttributeError` for a time that it cannot parse, and before 6.1,
#: `TypeError` for a decimal.
UNREADABLE = (DataError, ValueError, ArithmeticError, ValidationError, AttributeError, TypeError)
#: Maximum number of instances in memory. `django.contrib.sitemaps` keeps all instances of a page. This
#: takes three times the memory, and 50% more time, mostly for garbage collection.
AT_A_TIME = 1_000
# After this number of consecutive unreadable rows, reading fails.
_FAILURES = 100


@contextmanager
def stream_items(items: Any, size: int) -> Iterator[Iterator[Any]]:
    """Yield an iterator of items. If it needs a query, read `size` rows at a time and do not cache them."""
    if not facts(items).fetches_plainly:
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

    Each list is a primary key range with a separate query, because a driver can keep all rows of a query in
    memory. Without such ranges, rows are read through a server-side cursor, which some databases do not
    have.
    """
    if not facts(items).fetches_plainly:
        yield from chunks(items, size)
        return
    items = pin_database(items)
    if facts(items).has_key_ranges:
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
    `fetch` fails for a hundred consecutive rows, raise its error. In this case, the project or the
    database is broken, and a query for each row would take too long.
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
    if isinstance(items, QuerySet) and not facts(items).is_fetched:
        return items.using(using or items.db)
    return items


def count_rows(items: QuerySet[Any]) -> int:
    """Count the rows of a queryset, including repeated rows from the joins of its order.

    `count()` drops the order with its joins and its grouping, except for a slice. It cannot count a slice
    of an ordered union, so the whole union is counted. A project's own `count()` can be an estimate, so
    Django's is called.
    """
    query, count, own = items.query, QuerySet.count, facts(items)
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
    if not own.is_combined and (has_parts or (not query.distinct_fields and own.order_repeats_rows)):
        return count(items if query.is_sliced else items[:maxsize])
    if query.is_sliced and own.has_instances and not (query.distinct or query.group_by):
        # The database need not sort all rows to count the first ones.
        items = items.all()
        items.query.clear_ordering(force=True)
    return count(items)


def in_page_order(items: Any) -> Any:
    """Return items for Django's paginator, which counts them and reads each page in separate queries.

    Rows of a model lose an order that would list them several times, since Django counts them only once.
    """
    own = facts(items)
    if not own.is_queryset or own.is_fetched:
        return items
    query = own.query
    if query.combinator and query.is_sliced:
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
    query, own = items.query, facts(items)
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
