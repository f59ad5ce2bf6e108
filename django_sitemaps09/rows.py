"""What a queryset is: whether its rows can be read in another order, by ranges, without keeping them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from inspect import getattr_static
from itertools import islice
from typing import Any

from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import QuerySet
from django.db.models.fields.related import ForeignObject
from django.db.models.fields.reverse_related import OneToOneRel
from django.db.models.query import ModelIterable
from django.db.models.sql.datastructures import Join
from django.db.models.sql.query import Query


def reads_plainly(items: QuerySet[Any]) -> bool:
    """Whether nothing of the project has a say in how rows are fetched, as caches of queries have."""
    return all(
        getattr_static(items, name) is getattr_static(QuerySet, name)
        for name in ("__iter__", "_fetch_all", "_iterator", "iterator")
    )


@contextmanager
def one_by_one(items: Any, size: int) -> Iterator[Iterator[Any]]:
    """Items, of which those of a query that has not run yet are not kept, and read `size` at a time."""
    if not isinstance(items, QuerySet) or items._result_cache is not None or not reads_plainly(items):
        yield iter(items)
        return
    # iterator() would take a cursor of the server, which poolers of transactions do not know.
    made = items._iterator(use_chunked_fetch=False, chunk_size=size)  # type: ignore[attr-defined]
    with closing(made):
        yield made


def chunks(items: Any, size: int) -> Generator[list[Any]]:
    """Items, so many at a time: rows of one query can fetch for each other while they live."""
    with one_by_one(items, size) as rows:
        while some := list(islice(rows, size)):
            yield some


def can_reorder(items: Any) -> bool:
    """Whether items are rows of a model in an order that can be replaced by the key's."""
    if not isinstance(items, QuerySet):
        return False
    query = items.query
    return (
        # Another one may leave rows out, and then fewer rows than asked for are not the end.
        items._iterable_class is ModelIterable
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
    """Whether a join can give a row more than once, and nothing groups it again."""
    if query.group_by:
        return False
    return bool(query.extra_tables) or any(
        isinstance(table, Join) and query.alias_refcount[name] and not _to_one(table.join_field)
        for name, table in query.alias_map.items()
    )


def _to_one(relation: Any) -> bool:
    if isinstance(relation, ForeignObject):
        return bool(relation.many_to_one or relation.one_to_one)
    return isinstance(relation, OneToOneRel)
