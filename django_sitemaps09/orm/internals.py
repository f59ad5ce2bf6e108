"""Private API of Django: one small function for each use, with the reason why it is needed.

Any release of Django may change this API. No other module of this package uses a private name of Django.
For each function, a test fails if Django changes what the function needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from inspect import getattr_static
from threading import RLock
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Model, QuerySet
from django.db.models.expressions import Col as Col
from django.db.models.fields.related import ForeignObject
from django.db.models.fields.reverse_related import OneToOneRel
from django.db.models.query import ModelIterable, RawQuerySet
from django.db.models.sql.datastructures import Join
from django.db.models.sql.query import Query as Query
from django.db.models.sql.where import AND, WhereNode
from django.http import HttpRequest
from django.template import Context, Engine, Variable
from django.urls import URLResolver, reverse
from django.urls.resolvers import get_ns_resolver
from django.utils.functional import Promise

# Rows of querysets.


def is_fetched(items: QuerySet[Any]) -> bool:
    """Return whether a queryset has cached its rows. The project may have changed these objects."""
    return items._result_cache is not None


def has_database(items: QuerySet[Any] | RawQuerySet[Any]) -> bool:
    """Return whether `using()` has set the database of a queryset. If not, `items.db` calls the routers."""
    return items._db is not None  # type: ignore[union-attr]


def copy_fetched(items: QuerySet[Any]) -> QuerySet[Any]:
    """Return a queryset with copies of its cached rows, which have all attributes that the project set."""
    rows = copy(items)
    rows._result_cache = [_copy_row(row) for row in items._result_cache or ()]
    return rows


def _copy_row(row: Any) -> Any:
    if not isinstance(row, Model):
        return copy(row) if isinstance(row, dict) else row
    # copy() would pickle the instance, and a model can exclude attributes from that.
    instance = Model.__new__(type(row))
    vars(instance).update(vars(row))
    return instance


def fetches_plainly(items: QuerySet[Any]) -> bool:
    """Return whether Django's own methods fetch the rows. Packages that cache queries override them."""
    return all(
        getattr_static(items, name) is getattr_static(QuerySet, name)
        for name in ("__iter__", "_fetch_all", "_iterator", "iterator")
    )


def iterate(items: QuerySet[Any], size: int, *, on_server: bool) -> Generator[Any]:
    """Return an iterator that does not cache rows, and that the caller can close.

    `iterator()` always uses a server-side cursor. Transaction pooling does not support such cursors.
    """
    rows: Generator[Any] = items._iterator(  # type: ignore[attr-defined]
        use_chunked_fetch=on_server, chunk_size=size
    )
    return rows


def gives_instances(items: QuerySet[Any], *, plainly: bool = False) -> bool:
    """Return whether items are model instances, and not the results of `values()` or `values_list()`.

    With `plainly`, return `False` also for a project's own iterable class, because it may skip rows.
    """
    iterable_class = items._iterable_class
    return iterable_class is ModelIterable if plainly else issubclass(iterable_class, ModelIterable)


def has_prefetches(items: QuerySet[Any]) -> bool:
    """Return whether each slice needs further queries because of `prefetch_related()`."""
    return bool(items._prefetch_related_lookups)  # type: ignore[attr-defined]


def copy_loading(rows: QuerySet[Any], source: QuerySet[Any]) -> QuerySet[Any]:
    """Copy `select_related()`, `only()`, `defer()` and `prefetch_related()` from another queryset."""
    rows = rows.all()
    rows.query.select_related = source.query.select_related
    rows.query.deferred_loading = source.query.deferred_loading
    return rows.prefetch_related(*source._prefetch_related_lookups)  # type: ignore[attr-defined]


# Queries.


def compile_query(
    rows: QuerySet[Any], connection: BaseDatabaseWrapper
) -> tuple[str, Sequence[Any], Callable[[Sequence[Any]], list[Any]]]:
    """Return the SQL, the parameters, and a function that converts fetched rows as the queryset would.

    One thread can then compile the query, and another thread can fetch its rows. `str(query)` is not valid
    SQL. Raise `EmptyResultSet` if the query cannot have rows.
    """
    compiler = rows.query.get_compiler(connection.alias)
    sql, parameters = compiler.as_sql()
    return sql, parameters, lambda chunk: list(compiler.results_iter(results=[chunk]))


def add_condition(rows: QuerySet[Any], condition: Expression) -> QuerySet[Any]:
    """Filter rows by a condition. `filter()` would compare it with TRUE, so MariaDB would use no index."""
    result: QuerySet[Any] = rows.all()
    result.query.where.add(condition.resolve_expression(result.query), AND)
    return result


def filter_first(rows: QuerySet[Any], **conditions: Any) -> QuerySet[Any]:
    """Filter rows, and put these conditions before the existing conditions of the queryset.

    If a column has two lower or two upper bounds, SQLite uses only the first one for the index.
    """
    result: QuerySet[Any] = rows.filter(**conditions)
    children, count = result.query.where.children, len(rows.query.where.children)
    children[:] = [*children[count:], *children[:count]]
    return result


def remove_order(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Remove the order of rows and the effect of `reverse()`. `order_by()` removes only the order."""
    rows = rows.order_by()
    rows.query.standard_ordering = True
    return rows


def reorder(rows: QuerySet[Any], *ordering: Any) -> QuerySet[Any]:
    """Return the same rows in another order. Unlike `order_by()`, this also accepts a slice."""
    rows = rows.all()
    # Only an order of extra() can have the name of a table.
    setattr(rows.query, "extra_order_by" if rows.query.extra_order_by else "order_by", ordering)
    return rows


def order_columns(rows: QuerySet[Any]) -> tuple[Query, Iterator[Col]]:
    """Return a query with all joins that its order needs, and the columns that only the order uses.

    Raise `EmptyResultSet` or `FullResultSet` if no query is needed.
    """
    ordered_query = rows.query.clone()
    _, order, _ = ordered_query.get_compiler(rows.db).pre_sql_setup()
    parts = [expression for expression, (_, _, is_selected) in order if not is_selected]
    return ordered_query, columns_in(parts)


def having_columns(query: Query) -> list[Any]:
    """Return what HAVING conditions compare beside aggregates. Django also groups by these expressions."""
    conditions = query.where.split_having_qualify(must_group_by=True)[1]
    return [] if conditions is None else conditions.get_group_by_cols()


def to_many_aliases(query: Query) -> set[str]:
    """Return the aliases of joined tables that can have several rows for one row of the model."""
    return {name for name, uses in query.alias_refcount.items() if uses and to_many_joins(query, [name])}


def to_many_joins(query: Query, aliases: Iterable[str] | None = None) -> frozenset[str]:
    """Return the aliases of the to-many joins that lead to tables, by default to all tables in use."""
    joins = set()
    for name in to_many_aliases(query) if aliases is None else aliases:
        while name not in joins and isinstance(table := query.alias_map.get(name), Join):
            if not _is_to_one(table.join_field):
                joins.add(name)
            name = table.parent_alias
    return frozenset(joins)


def _is_to_one(relation: Any) -> bool:
    if isinstance(relation, ForeignObject):
        return bool(relation.many_to_one or relation.one_to_one)
    return isinstance(relation, OneToOneRel)


def group_columns(query: Query) -> Iterator[Col]:
    """Yield the columns of GROUP BY, except those of the model."""
    own_columns = query.group_by if isinstance(query.group_by, tuple) else ()
    yield from columns_in(having_columns(query))
    for part in (*query.annotation_select.values(), *own_columns):
        yield from columns_in(part.get_group_by_cols())


def columns_in(expressions: Iterable[Any]) -> Iterator[Col]:
    """Yield the database columns that expressions use."""
    for expression in expressions:
        for part in expression.flatten():
            if isinstance(part, Col):
                yield part
            elif isinstance(part, WhereNode):
                yield from columns_in(part.get_group_by_cols())


# Connections.


@contextmanager
def shared_between_threads(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Let other threads use the connection inside the block. Django forbids this by default."""
    connection.inc_thread_sharing()
    try:
        yield
    finally:
        connection.dec_thread_sharing()


# URL patterns.


class UnknownNamespaceError(LookupError):
    """No included URLconf has the namespace, which is the argument of this error."""


class NamespacePatterns(NamedTuple):
    """The patterns of a namespace, and the prefix of its `include()` with the converters in the prefix."""

    resolver: URLResolver
    prefix: str
    converters: dict[str, Any]


def find_namespace(resolver: URLResolver, namespaces: Iterable[str]) -> NamespacePatterns:
    """Return the patterns of the innermost namespace. Raise `UnknownNamespaceError` if none exists.

    As in `reverse()`, an app name selects the default instance of the app, or else the first instance.
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
    """Return a resolver whose patterns include the prefix of the `include()`."""
    resolver, prefix, converters = namespaced
    return get_ns_resolver(prefix, resolver, tuple(converters.items())) if prefix else resolver


def reverse_candidates(resolver: URLResolver, name: object) -> list[Any]:
    """Return the candidates that `reverse()` tries for a name or a view, in the same order.

    Each is a tuple of possibilities (templates and parameters), pattern, defaults and converters.
    """
    candidates: list[Any] = resolver.reverse_dict.getlist(name)
    return candidates


def reverse_names(resolver: URLResolver) -> list[str]:
    """Return the names that `reverse()` accepts. Loading the URLconf can raise any exception."""
    return [name for name in resolver.reverse_dict if isinstance(name, str)]


class ReverseCall(NamedTuple):
    """The arguments of a call to `reverse()`, and its `urlconf` and `current_app`."""

    viewname: Any
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    urlconf: Any
    current_app: Any


_intercept: ContextVar[Callable[[ReverseCall], Any] | None] = ContextVar("sitemaps09_reverse", default=None)
_intercepting = RLock()


@contextmanager
def intercepted_reverse(intercept: Callable[[ReverseCall], Any]) -> Iterator[None]:
    """Let `intercept` answer each call to `reverse()` inside the block. Other threads are not affected.

    If it returns `NotImplemented`, `reverse()` continues as usual.

    `reverse()` itself cannot be replaced, since other modules have imported it by name. So the resolver
    method that `reverse()` calls is replaced. The arguments of that method lack the namespace, so the name
    of the view is read from the calling frame.
    """
    original = URLResolver._reverse_with_prefix  # type: ignore[attr-defined]

    def _answer(resolver: Any, view: Any, prefix: str, /, *args: Any, **kwargs: Any) -> Any:
        handler, frame = _intercept.get(), sys._getframe(1)
        if handler is None or frame.f_code is not reverse.__code__:
            return original(resolver, view, prefix, *args, **kwargs)
        names = frame.f_locals
        call = ReverseCall(names["viewname"], args, kwargs, names["urlconf"], names["current_app"])
        result = handler(call)
        if result is NotImplemented:
            return original(resolver, view, prefix, *args, **kwargs)
        return result

    with _intercepting:
        token = _intercept.set(intercept)
        URLResolver._reverse_with_prefix = _answer  # type: ignore[attr-defined]
        try:
            yield
        finally:
            URLResolver._reverse_with_prefix = original  # type: ignore[attr-defined]
            _intercept.reset(token)


def evaluate_lazy(value: Promise) -> Any:
    """Return the result of a lazy function, such as `reverse_lazy()`, without converting it to `str`."""
    _, (function, args, kwargs, *_) = value.__reduce__()  # type: ignore[misc]
    return function(*args, **kwargs)


# Templates.

_EMPTY_TEMPLATE = Engine().from_string("")


def template_value(value: Any) -> Any:
    """Return a value as a template uses it: a callable is called without arguments.

    The result is an empty string for a callable that needs arguments, or that has `alters_data`.
    """
    if not callable(value):
        return value
    context = Context({"value": value})
    # Templates look up what replaces an invalid value in the engine of their context.
    with context.bind_template(_EMPTY_TEMPLATE):
        return Variable("value").resolve(context)


# Requests.


def skip_cache_update(request: HttpRequest) -> None:
    """Prevent Django's cache middleware from storing the response.

    The middleware stores responses with status 304, and would later send them to unconditional requests.
    """
    request._cache_update_cache = False  # type: ignore[attr-defined]
