"""Inspect querysets: whether their rows can be reordered, or read in ranges without being cached."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from itertools import islice
from sys import maxsize
from traceback import clear_frames
from typing import Any

from django.core.exceptions import EmptyResultSet, FieldError, FullResultSet, ImproperlyConfigured
from django.db import connections
from django.db.models import (
    BinaryField,
    CompositePrimaryKey,
    DecimalField,
    F,
    FloatField,
    JSONField,
    Model,
    QuerySet,
)

from django_sitemaps09.django_internals import (
    Col,
    Query,
    fetches_plainly,
    gives_instances,
    group_columns,
    having_conditions,
    is_fetched,
    iterate,
    order_columns,
    to_many_aliases,
)

#: The problem of a queryset that `lacks_group`, and what to do.
LACKS_GROUP = (
    "the queryset filters by an aggregate that is only on the right side of a `|` or `&`, so Django "
    "does not group its rows.",
    "Put the annotated queryset on the left side, or filter by Exists().",
)
#: The problem of a queryset that `hides_columns`, and what to do.
HIDES_COLUMNS = (
    "the queryset combines a filter on an aggregate and a filter on a column with `|`, and MariaDB does "
    "not find that column when it counts the rows.",
    "Filter by Exists() instead of the aggregate.",
)
#: Instances in memory at a time; contrib keeps all. Keeping all instances of a page takes half as long
#: again, mostly for the garbage collector, and three times the memory.
AT_A_TIME = 1_000


@contextmanager
def stream_items(items: Any, size: int) -> Iterator[Iterator[Any]]:
    """Yield an iterator of items; the rows of a new query are not cached, and read `size` at a time."""
    if not isinstance(items, QuerySet) or is_fetched(items) or not fetches_plainly(items):
        yield iter(items)
        return
    with closing(iterate(items, size, on_server=False)) as rows:
        yield rows


def chunks(items: Any, size: int) -> Generator[list[Any]]:
    """Yield lists of up to `size` items. Rows of one query can prefetch for each other while they live."""
    with stream_items(items, size) as rows:
        while chunk := list(islice(rows, size)):
            yield chunk


def iterate_unordered(items: Any, size: int) -> Generator[list[Any]]:
    """Yield all items in lists of up to `size`, in any order, without keeping others in memory.

    Rows are read by ranges of the primary key, with a query for each, because a driver can keep all rows
    of a query. If that is not possible, they are read through a server-side cursor where there is one.
    """
    if not isinstance(items, QuerySet) or is_fetched(items) or not fetches_plainly(items):
        yield from chunks(items, size)
        return
    items = pin_database(items)
    if _has_key_ranges(items):
        rows = items.order_by("pk")
        chunk = list(rows[:size])
        while chunk:
            yield chunk
            chunk = list(rows.filter(pk__gt=chunk[-1].pk)[:size]) if len(chunk) == size else []
    else:
        # As in iterator(), but closed here instead of by the garbage collector.
        on_server = not connections[items.db].settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
        with closing(iterate(items, size, on_server=on_server)) as iterator:
            try:
                while chunk := list(islice(iterator, size)):
                    yield chunk
            except BaseException as error:
                # The traceback of an instance that cannot be created would keep the cursor open.
                clear_frames(error.__traceback__)
                raise


def pin_database(items: Any, using: str | None = None) -> Any:
    """Return the same items, with all queries on one database, by default the one that the router picks.

    A router can pick another replica each time it is called.
    """
    if isinstance(items, QuerySet) and not is_fetched(items):
        return items.using(using or items.db)
    return items


def count_rows(items: QuerySet[Any]) -> int:
    """Count the rows of a queryset, including those that only its order repeats.

    Django drops the order where it counts, and with it what that joins or groups by. It keeps the order
    of a slice, and cannot count a slice of an ordered union.
    """
    query = items.query
    if query.combinator and query.is_sliced:
        return len(items)
    if not (is_fetched(items) or query.combinator or query.is_sliced or query.distinct_fields):
        try:
            ordered_query, columns = order_columns(items)
        except (EmptyResultSet, FullResultSet):
            return items.count()
        many_aliases = to_many_aliases(ordered_query)
        if many_aliases and any(column.alias in many_aliases for column in columns):
            return items[:maxsize].count()
    return items.count()


def key_names(model: type[Model]) -> list[str]:
    """Return the names by which rows are ordered by their primary key.

    By its own name, Django orders neither `distinct()` nor a filter on a window by a composite one.
    """
    names = [field.attname for field in model._meta.pk_fields]
    return names if len(names) > 1 else ["pk"]


def identifying_columns(query: Query) -> list[F]:
    """Return the columns that distinguish rows of `values()`, or rows of a model with annotations.

    Ordering by it adds nothing to GROUP BY or to SELECT DISTINCT.
    """
    # Not by name: a relation would be ordered like the related model.
    return [F(name) for name in (*query.values_select, *query.annotation_select)]


def _has_key_ranges(items: QuerySet[Any]) -> bool:
    """Return whether each row has its own primary key, from which the database can start reading."""
    query, key = items.query, items.model._meta.pk
    return (
        can_reorder(items)
        # The database may have to compute all of these for each range.
        and not (query.distinct or query.group_by)
        and not repeats_rows(query)
        and not filters_window(query)
        # Python does not restore every value of these types from its text.
        and not isinstance(key, (BinaryField, CompositePrimaryKey, DecimalField, FloatField, JSONField))
    )


def can_reorder(items: Any) -> bool:
    """Return whether items are rows of a model whose order can be replaced by that of the key."""
    if not isinstance(items, QuerySet):
        return False
    query = items.query
    return (
        # Another class may skip rows, and then fewer rows than requested are not the end.
        gives_instances(items, plainly=True)
        and not query.is_sliced
        and not query.combinator
        and not query.distinct_fields
    )


def has_window(expressions: Any, items: QuerySet[Any]) -> bool:
    """Return whether a declared expression uses a window over other rows, which a range would exclude."""
    if not expressions:
        return False
    try:
        annotations = items.annotate(**expressions).query.annotations
    except FieldError as error:
        raise ImproperlyConfigured(f"A declared expression is invalid: {error}") from error
    return any(annotations[name].contains_over_clause for name in expressions)


def filters_window(query: Query) -> bool:
    """Return whether rows or their annotations depend on a window over all rows."""
    return query.where.contains_over_clause or any(
        annotation.contains_over_clause for annotation in query.annotations.values()
    )


def repeats_rows(query: Query) -> bool:
    """Return whether a join or a function can repeat rows without grouping them again."""
    if query.extra_tables or any(part.set_returning for part in query.annotations.values()):
        return True
    many_aliases = to_many_aliases(query)
    if not query.group_by:
        return bool(many_aliases)
    # Columns that are compared with or beside an aggregate are also grouped by.
    return any(column.alias in many_aliases for column in group_columns(query))


def groups_rows(rows: QuerySet[Any], expressions: Any) -> bool:
    """Return whether an aggregate among the expressions makes each row unique, regardless of the joins."""
    try:
        query = rows.annotate(**expressions).query
    except FieldError:
        return False
    return bool(query.group_by) and not filters_window(query) and not repeats_rows(query)


def group_by_key(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Group rows of `values_list()` by their primary key instead of by all columns of their model.

    The groups stay the same, but SQLite sorts by every column that it groups by.
    """
    query = rows.query
    conditions = having_conditions(query)
    # Columns that are compared beside an aggregate must be grouped by.
    if isinstance(query.group_by, tuple) and (conditions is None or not conditions.get_group_by_cols()):
        key, base_table = {*rows.model._meta.pk_fields}, query.base_table
        query.group_by = tuple(
            part
            for part in query.group_by
            if not (isinstance(part, Col) and part.alias == base_table and part.target not in key)
        )
    return rows


def lacks_group(query: Query) -> bool:
    """Return whether rows are filtered by an aggregate without a group, as Django loses that of a `|`."""
    return query.group_by is None and query.where.contains_aggregate


def hides_columns(rows: QuerySet[Any]) -> bool:
    """Return whether MariaDB needs all columns selected to find those compared beside an aggregate.

    In HAVING, it only knows the columns of SELECT and GROUP BY, where no two may have the same name. For a
    transform such as `__year`, Django groups by the transform, but compares its column.
    """
    if connections[rows.db].vendor != "mysql" or rows.query.group_by is None:
        return False
    conditions = having_conditions(rows.query)
    if conditions is None:
        return False
    columns = [*dict.fromkeys(conditions.get_group_by_cols())]
    if not all(isinstance(part, Col) for part in columns):
        return True
    key = {field.column for field in rows.model._meta.pk_fields}
    names = [part.target.column for part in columns if part.alias != rows.query.base_table]
    return not key.isdisjoint(names) or len({*names}) < len(names)
