"""Private API of Django that this package leans on: one small function for each use, each with a reason.

Any release of Django may change it. Nothing else in this package touches a private name of Django, and a
test of each function fails with its name when Django moves what it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import getattr_static
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, QuerySet
from django.db.models.expressions import Col as Col
from django.db.models.fields.related import ForeignObject
from django.db.models.fields.reverse_related import OneToOneRel
from django.db.models.query import ModelIterable
from django.db.models.sql.datastructures import Join
from django.db.models.sql.query import Query as Query
from django.db.models.sql.where import AND, WhereNode
from django.urls import URLResolver
from django.urls.resolvers import get_ns_resolver

# Rows of querysets.


def is_fetched(items: QuerySet[Any]) -> bool:
    """Return whether a queryset holds its rows, which another query would read a second time."""
    return items._result_cache is not None


def fetches_plainly(items: QuerySet[Any]) -> bool:
    """Return whether rows are fetched by Django's own methods, which caches of queries override."""
    return all(
        getattr_static(items, name) is getattr_static(QuerySet, name)
        for name in ("__iter__", "_fetch_all", "_iterator", "iterator")
    )


def iterate(items: QuerySet[Any], size: int, *, on_server: bool) -> Generator[Any]:
    """Return an iterator that keeps no rows, and that the caller can close.

    `iterator()` always takes a cursor of the server, which poolers of transactions do not support.
    """
    rows: Generator[Any] = items._iterator(  # type: ignore[attr-defined]
        use_chunked_fetch=on_server, chunk_size=size
    )
    return rows


def gives_instances(items: QuerySet[Any], *, plainly: bool = False) -> bool:
    """Return whether items are instances of the model; `plainly` if only Django's own class makes them.

    `values()` and `values_list()` return dicts and tuples, and a project's class may skip rows.
    """
    iterable_class = items._iterable_class
    return iterable_class is ModelIterable if plainly else issubclass(iterable_class, ModelIterable)


def has_prefetches(items: QuerySet[Any]) -> bool:
    """Return whether further queries are made for each slice, by `prefetch_related()`."""
    return bool(items._prefetch_related_lookups)  # type: ignore[attr-defined]


def copy_loading(rows: QuerySet[Any], source: QuerySet[Any]) -> QuerySet[Any]:
    """Return rows with the `select_related()`, `only()`, `defer()` and `prefetch_related()` of others."""
    rows = rows.all()
    rows.query.select_related = source.query.select_related
    rows.query.deferred_loading = source.query.deferred_loading
    return rows.prefetch_related(*source._prefetch_related_lookups)  # type: ignore[attr-defined]


# Queries.


def sql_of(rows: QuerySet[Any], using: str | None = None) -> tuple[str, Sequence[Any]]:
    """Return the SQL and the parameters of a query; `str(query)` is not valid SQL.

    Raise `EmptyResultSet` if the query cannot have rows.
    """
    sql, parameters = rows.query.get_compiler(using or rows.db).as_sql()
    return sql, parameters


def compile_query(
    rows: QuerySet[Any], connection: BaseDatabaseWrapper
) -> tuple[str, Sequence[Any], Callable[[Sequence[Any]], list[Any]]]:
    """Return the SQL, the parameters, and a function that converts fetched rows as the queryset would.

    So one thread can compile the query, and another can fetch its rows.
    """
    compiler = rows.query.get_compiler(connection=connection)
    sql, parameters = compiler.as_sql()
    return sql, parameters, lambda chunk: list(compiler.results_iter(results=[chunk]))


def add_condition(rows: QuerySet[Any], condition: Expression) -> QuerySet[Any]:
    """Filter rows by a condition. With `filter()`, MariaDB compares it with TRUE and uses no index."""
    result: QuerySet[Any] = rows.all()
    result.query.where.add(condition.resolve_expression(result.query), AND)
    return result


def filter_first(rows: QuerySet[Any], **conditions: Any) -> QuerySet[Any]:
    """Filter rows, with these conditions before those that the queryset has.

    Of two bounds on one side of a column, SQLite uses the one that stands first.
    """
    result: QuerySet[Any] = rows.filter(**conditions)
    children, count = result.query.where.children, len(rows.query.where.children)
    children[:] = [*children[count:], *children[:count]]
    return result


def remove_order(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return rows without an order. `order_by()` keeps `reverse()`, which would reverse any later order."""
    rows = rows.order_by()
    rows.query.standard_ordering = True
    return rows


def reorder(rows: QuerySet[Any], *ordering: Any) -> QuerySet[Any]:
    """Return the same rows of a slice or a union in another order; `order_by()` refuses a slice."""
    rows = rows.all()
    rows.query.order_by = ordering
    return rows


def order_columns(rows: QuerySet[Any]) -> tuple[Query, Iterator[Col]]:
    """Return a query with all joins of its order, and the columns that only its order has.

    Raise `EmptyResultSet` or `FullResultSet` if no query is needed.
    """
    ordered_query = rows.query.clone()
    _, order, _ = ordered_query.get_compiler(rows.db).pre_sql_setup()
    parts = [expression for expression, (_, _, is_selected) in order if not is_selected]
    return ordered_query, columns_in(parts)


def having_conditions(query: Query) -> Any:
    """Return the conditions that are checked after rows are grouped; `None` if there is none."""
    return query.where.split_having_qualify(must_group_by=True)[1]


def to_many_aliases(query: Query) -> set[str]:
    """Return the aliases of joined tables of which several rows can belong to one row of the model."""
    aliases: set[str] = set()
    for name, table in query.alias_map.items():
        if isinstance(table, Join) and (
            table.parent_alias in aliases
            or (query.alias_refcount[name] and not _is_to_one(table.join_field))
        ):
            aliases.add(name)
    return {name for name in aliases if query.alias_refcount[name]}


def _is_to_one(relation: Any) -> bool:
    if isinstance(relation, ForeignObject):
        return bool(relation.many_to_one or relation.one_to_one)
    return isinstance(relation, OneToOneRel)


def group_columns(query: Query) -> Iterator[Col]:
    """Yield the columns of GROUP BY, besides those of the model itself."""
    own_columns = query.group_by if isinstance(query.group_by, tuple) else ()
    for part in (*query.annotation_select.values(), having_conditions(query), *own_columns):
        if part is not None:
            yield from columns_in(part.get_group_by_cols())


def columns_in(expressions: Iterable[Any]) -> Iterator[Col]:
    """Yield the columns of the database that expressions are made of."""
    for expression in expressions:
        for part in expression.flatten():
            if isinstance(part, Col):
                yield part
            elif isinstance(part, WhereNode):
                yield from columns_in(part.get_group_by_cols())


# Connections.


@contextmanager
def shared_between_threads(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Let another thread use the connection inside the block, which Django forbids by default."""
    connection.inc_thread_sharing()
    try:
        yield
    finally:
        connection.dec_thread_sharing()


# URL patterns.


class UnknownNamespaceError(LookupError):
    """No included URLconf has a namespace; the only argument is its name."""


class NamespacePatterns(NamedTuple):
    """Patterns of a namespace; `prefix` is the pattern of the `include()`, with these converters."""

    resolver: URLResolver
    prefix: str
    converters: dict[str, Any]


def find_namespace(resolver: URLResolver, namespaces: Iterable[str]) -> NamespacePatterns:
    """Return the patterns of nested namespaces. Raise `UnknownNamespaceError` for the first missing one.

    The name of an app stands for its default instance, otherwise for the first one, as in `reverse()`.
    """
    prefix, converters = "", {}
    for namespace in namespaces:
        instances = resolver.app_dict.get(namespace, [namespace])
        instance = namespace if namespace in instances else instances[0]
        if instance not in resolver.namespace_dict:
            raise UnknownNamespaceError(namespace)
        extra, resolver = resolver.namespace_dict[instance]
        prefix += extra
        converters.update(resolver.pattern.converters)
    return NamespacePatterns(resolver, prefix, converters)


def prefixed_resolver(namespaced: NamespacePatterns) -> URLResolver:
    """Return a resolver whose patterns begin with those of the `include()` around them."""
    resolver, prefix, converters = namespaced
    return get_ns_resolver(prefix, resolver, tuple(converters.items())) if prefix else resolver


def reverse_candidates(resolver: URLResolver, name: object) -> list[Any]:
    """Return what `reverse()` tries for a name or a view, in its order.

    Each has the possibilities (template and parameters), the pattern, its defaults and its converters.
    """
    candidates: list[Any] = resolver.reverse_dict.getlist(name)
    return candidates


def reverse_names(resolver: URLResolver) -> list[str]:
    """Return the names that `reverse()` knows. This loads the URLconf, whose modules can raise anything."""
    return [name for name in resolver.reverse_dict if isinstance(name, str)]
