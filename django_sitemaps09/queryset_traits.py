"""What a queryset is: whether its rows can be read in another order, by ranges, without keeping them."""

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
    having,
    is_fetched,
    iterate,
    order_columns,
    to_many_aliases,
)

#: What is wrong with a queryset that `lacks_group`, and what to do.
LACKS_GROUP = (
    "the queryset filters by an aggregate that only the right side of a `|` or `&` has, and Django "
    "does not group its rows.",
    "Put the annotated queryset on the left side, or filter by Exists().",
)
#: What is wrong with a queryset that `hides_columns`, and what to do.
HIDES_COLUMNS = (
    "the queryset joins a filter on an aggregate and one on a column by `|`, and MariaDB does not find "
    "that column where it counts the rows.",
    "Filter by Exists() instead of the aggregate.",
)


@contextmanager
def one_by_one(items: Any, size: int) -> Iterator[Iterator[Any]]:
    """Items, of which those of a query that has not run yet are not kept, and read `size` at a time."""
    if not isinstance(items, QuerySet) or is_fetched(items) or not fetches_plainly(items):
        yield iter(items)
        return
    with closing(iterate(items, size, on_server=False)) as rows:
        yield rows


def chunks(items: Any, size: int) -> Generator[list[Any]]:
    """Items, so many at a time: rows of one query can fetch for each other while they live."""
    with one_by_one(items, size) as rows:
        while some := list(islice(rows, size)):
            yield some


def in_any_order(items: Any, size: int) -> Generator[list[Any]]:
    """All items, so many at a time, where their order does not matter: no others are kept in memory.

    Rows are read by ranges of the primary key, each by a query of its own: a driver can hold all rows of a
    query. Those that cannot be read so come from a cursor of the server, where it has one.
    """
    if not isinstance(items, QuerySet) or is_fetched(items) or not fetches_plainly(items):
        yield from chunks(items, size)
        return
    items = pinned(items)
    if _has_key_ranges(items):
        rows = items.order_by("pk")
        some = list(rows[:size])
        while some:
            yield some
            some = list(rows.filter(pk__gt=some[-1].pk)[:size]) if len(some) == size else []
    else:
        # As iterator() has it; but it is closed here, and not when somebody collects garbage.
        on_server = not connections[items.db].settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
        with closing(iterate(items, size, on_server=on_server)) as found:
            try:
                while some := list(islice(found, size)):
                    yield some
            except BaseException as error:
                # The traceback of an instance that cannot be made would keep the cursor open.
                clear_frames(error.__traceback__)
                raise


def pinned(items: Any, using: str | None = None) -> Any:
    """Return the same items, all queries of which go to one database, by default to the router's.

    A router can pick another replica each time that it is asked.
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
            ordered, columns = order_columns(items)
        except (EmptyResultSet, FullResultSet):
            return items.count()
        many = to_many_aliases(ordered)
        if many and any(column.alias in many for column in columns):
            return items[:maxsize].count()
    return items.count()


def key_names(model: type[Model]) -> list[str]:
    """Return the names by which rows are ordered by their primary key.

    By its own name, Django orders neither `distinct()` nor a filter on a window by a composite one.
    """
    names = [field.attname for field in model._meta.pk_fields]
    return names if len(names) > 1 else ["pk"]


def selected(query: Query) -> list[F]:
    """Return everything that tells rows of `values()`, or rows of a model with their annotations, apart.

    Ordering by it adds nothing to GROUP BY or to SELECT DISTINCT.
    """
    # Not by name, by which a relation is ordered as the related model is.
    return [F(name) for name in (*query.values_select, *query.annotation_select)]


def _has_key_ranges(items: QuerySet[Any]) -> bool:
    """Whether each row has its own primary key, by which the database can begin anywhere."""
    query, key = items.query, items.model._meta.pk
    return (
        can_reorder(items)
        # The database may have to make all of these for each range.
        and not (query.distinct or query.group_by)
        and not repeats_rows(query)
        and not filters_window(query)
        # Python does not write and read each value of these as the same.
        and not isinstance(key, (BinaryField, CompositePrimaryKey, DecimalField, FloatField, JSONField))
    )


def can_reorder(items: Any) -> bool:
    """Whether items are rows of a model in an order that can be replaced by the key's."""
    if not isinstance(items, QuerySet):
        return False
    query = items.query
    return (
        # Another one may leave rows out, and then fewer rows than asked for are not the end.
        gives_instances(items, plainly=True)
        and not query.is_sliced
        and not query.combinator
        and not query.distinct_fields
    )


def has_window(expressions: Any, items: QuerySet[Any]) -> bool:
    """Whether a declared expression looks at other rows, which a range would cut off."""
    if not expressions:
        return False
    try:
        annotations = items.annotate(**expressions).query.annotations
    except FieldError as error:
        raise ImproperlyConfigured(f"A declared expression: {error}") from error
    return any(annotations[name].contains_over_clause for name in expressions)


def filters_window(query: Query) -> bool:
    """Whether rows or their annotations depend on a window over all rows."""
    return query.where.contains_over_clause or any(
        annotation.contains_over_clause for annotation in query.annotations.values()
    )


def repeats_rows(query: Query) -> bool:
    """Whether a join or a function can give a row more than once, and nothing groups it again."""
    if query.extra_tables or any(part.set_returning for part in query.annotations.values()):
        return True
    many = to_many_aliases(query)
    if not query.group_by:
        return bool(many)
    # What is compared with an aggregate, and what stands beside one, is grouped by, too.
    return any(column.alias in many for column in group_columns(query))


def groups_rows(rows: QuerySet[Any], expressions: Any) -> bool:
    """Whether an aggregate among the expressions makes each row come once, whatever is joined."""
    try:
        query = rows.annotate(**expressions).query
    except FieldError:
        return False
    return bool(query.group_by) and not filters_window(query) and not repeats_rows(query)


def group_by_key(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Group rows of `values_list()` by their primary key, and not by all columns of their model.

    They come in the same groups, and SQLite sorts by all that it groups by.
    """
    query = rows.query
    conditions = having(query)
    # What is compared beside an aggregate has to be grouped by.
    if isinstance(query.group_by, tuple) and (conditions is None or not conditions.get_group_by_cols()):
        key, own = {*rows.model._meta.pk_fields}, query.base_table
        query.group_by = tuple(
            part
            for part in query.group_by
            if not (isinstance(part, Col) and part.alias == own and part.target not in key)
        )
    return rows


def lacks_group(query: Query) -> bool:
    """Whether rows are filtered by an aggregate and not grouped: Django loses the group of a `|`."""
    return query.group_by is None and query.where.contains_aggregate


def hides_columns(rows: QuerySet[Any]) -> bool:
    """Whether MariaDB does not find what is compared beside an aggregate, unless all columns are selected.

    In HAVING it knows the columns of SELECT and of GROUP BY, but no two of one name in the latter. By a
    transform, as `__year` is one, Django groups as a whole, and compares its column.
    """
    if connections[rows.db].vendor != "mysql" or rows.query.group_by is None:
        return False
    conditions = having(rows.query)
    if conditions is None:
        return False
    compared = [*dict.fromkeys(conditions.get_group_by_cols())]
    if not all(isinstance(part, Col) for part in compared):
        return True
    key = {field.column for field in rows.model._meta.pk_fields}
    names = [part.target.column for part in compared if part.alias != rows.query.base_table]
    return not key.isdisjoint(names) or len({*names}) < len(names)
