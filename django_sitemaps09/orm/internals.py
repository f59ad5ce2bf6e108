"""Private API of Django: one small function for each use, with the reason why it is needed.

Any release of Django may change this API. Other modules use no private name of Django's database layer or
URL resolver; `declare` overrides those of `django.contrib.sitemaps`.
For each function, a test fails if Django changes what the function needs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from inspect import getattr_static
from typing import Any, NamedTuple

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Expression, Model, QuerySet
from django.db.models.expressions import Col as Col
from django.db.models.fields import related_descriptors as descriptors
from django.db.models.fields.related import ForeignObject
from django.db.models.fields.reverse_related import OneToOneRel
from django.db.models.query import ModelIterable, RawQuerySet
from django.db.models.query_utils import DeferredAttribute
from django.db.models.signals import post_init
from django.db.models.sql.datastructures import Join
from django.db.models.sql.query import Query as Query
from django.db.models.sql.where import AND, WhereNode
from django.http import HttpRequest
from django.template import Context, Engine, Variable
from django.urls import URLResolver
from django.urls.resolvers import get_ns_resolver


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
    names = ("__iter__", "_fetch_all", "_iterator", "iterator")
    return all(getattr_static(items, name) is getattr_static(QuerySet, name) for name in names)


def iterate(items: QuerySet[Any], size: int, *, on_server: bool) -> Generator[Any]:
    """Return an iterator that does not cache rows, and that the caller can close."""
    # `iterator()` always uses a server-side cursor. Transaction pooling does not support such cursors.
    rows: Any = items
    return rows._iterator(use_chunked_fetch=on_server, chunk_size=size)  # type: ignore[no-any-return]


def gives_instances(items: QuerySet[Any], *, plainly: bool = False) -> bool:
    """Return whether items are model instances; with `plainly`, by an iterable class that skips none."""
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


def assigned_names(items: QuerySet[Any]) -> set[str]:
    """Return the names that a queryset sets on instances: annotations, `extra()`, and known objects."""
    lookups = items._prefetch_related_lookups  # type: ignore[attr-defined]
    names = {name for lookup in lookups for name in getattr(lookup, "prefetch_to", lookup).split("__")}
    known = {field.name for field in items._known_related_objects}  # type: ignore[attr-defined]
    return {*items.query.annotation_select, *items.query.extra_select, *names, *known}


class PlainField(NamedTuple):
    """A field that an attribute of a model reads as Django does. In a query, the attribute is `name`."""

    field: Any
    name: str
    #: The model of a related object, and whether its manager hides rows.
    related: type[Model] | None = None
    hides_rows: bool = False


_PLAIN_ATTRIBUTES = (DeferredAttribute, descriptors.ForeignKeyDeferredAttribute)
_RELATED_OBJECTS = (descriptors.ForwardManyToOneDescriptor, descriptors.ForwardOneToOneDescriptor)


def plain_field(model: type[Model], name: str) -> PlainField | None:
    """Return the field that an attribute reads; `None` if it is not a field, or is not read plainly."""
    descriptor = getattr_static(model, name, None)
    if name == "pk" and descriptor is getattr_static(Model, "pk"):
        key: Any = model._meta.pk
        plain = None if isinstance(key, models.CompositePrimaryKey) else plain_field(model, key.attname)
        return plain and plain._replace(name="pk")
    field: Any = getattr(descriptor, "field", None)
    if field not in model._meta.concrete_fields:
        return None
    # Projects can register lookups, which conditions use.
    if not all(field.get_lookup(each).__module__.startswith("django.") for each in ("exact", "isnull")):
        return None
    if type(descriptor) in _PLAIN_ATTRIBUTES and field.attname == name:
        return PlainField(field, name)
    is_relation = type(field) in (models.ForeignKey, models.OneToOneField)
    if is_relation and type(descriptor) in _RELATED_OBJECTS and field.name == name:
        related = field.remote_field.model
        return PlainField(field, name, related, type(related._meta.base_manager) is not models.Manager)
    return None


# The kind of a field's values, by the first of these classes that it inherits from.
_KINDS: dict[type, str] = {
    models.CharField: "text",
    models.TextField: "text",
    models.IntegerField: "integer",
    models.BooleanField: "boolean",
    models.DateTimeField: "datetime",
    models.DateField: "date",
    models.FloatField: "float",
    models.DecimalField: "decimal",
    models.UUIDField: "uuid",
}
# What a subclass of a field can override to change the values of instances, or of queries.
_CONVERSIONS = (
    *("from_db_value", "get_db_converters", "select_format", "get_col", "get_internal_type", "db_type"),
    *("to_python", "get_prep_value", "get_db_prep_value", "get_lookup", "get_transform"),
)


def value_kind(field: Any) -> str | None:
    """Return the kind of a field's values; `None` for other kinds, and if the field is not as Django's."""
    while field.remote_field is not None:
        field = field.target_field
    own = type(field)
    djangos = next((each for each in own.__mro__ if each.__module__.startswith("django.db.models")), object)
    if any(getattr(own, name, None) is not getattr(djangos, name, None) for name in _CONVERSIONS):
        return None
    return next((kind for field_class, kind in _KINDS.items() if issubclass(djangos, field_class)), None)


# What a class can define so that its instances have other attributes than the row or the source shows.
_ATTRIBUTES = ("__getattribute__", "__getattr__")
_INSTANCES = (
    *("__new__", "__init__", "__setattr__", "__bool__", "__len__"),
    *("from_db", "refresh_from_db", "pk"),
)


def overridden(kind: type) -> list[str]:
    """Return what can give the instances of a class, maybe a model, other attributes than it seems."""
    is_model = issubclass(kind, Model)
    base, names = (Model, _ATTRIBUTES + _INSTANCES) if is_model else (object, _ATTRIBUTES)
    changed = [n for n in names if getattr_static(kind, n, None) is not getattr_static(base, n, None)]
    changed += ["metaclass"] * (type(kind).__call__ is not type.__call__)
    return changed + ["post_init receiver"] * (is_model and post_init.has_listeners(kind))


# The collations that compare texts as Python does: byte by byte, and without ignoring trailing spaces.
_EXACT = {"postgresql": (None, "C", "POSIX"), "mysql": ("binary", "utf8mb4_nopad_bin", "utf8mb4_0900_bin")}
# The types `text` and `varchar` of PostgreSQL. Others, such as `citext`, can have an equality of their own.
_POSTGRESQL_TEXTS = (25, 1043)


def compares_exactly(field: Any, using: str) -> bool:
    """Return whether the column of a text field compares texts as Python does."""
    connection, table = connections[using], field.model._meta.db_table
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            # Django splits this SQL at each comma, and can miss a collation.
            cursor.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = %s", [table])
            return all("collate" not in sql.lower() for (sql,) in cursor.fetchall() or [("collate",)])
        columns = connection.introspection.get_table_description(cursor, table)
    return any(
        column.name == field.column
        and column.collation in _EXACT.get(connection.vendor, ())
        and (connection.vendor != "postgresql" or column.type_code in _POSTGRESQL_TEXTS)
        for column in columns
    )


def compile_query(
    rows: QuerySet[Any], connection: BaseDatabaseWrapper
) -> tuple[str, Sequence[Any], Callable[[Sequence[Any]], list[Any]]]:
    """Return the SQL, its parameters and what converts its rows. Raise `EmptyResultSet` if it has none."""
    compiler = rows.query.get_compiler(connection.alias)
    sql, parameters = compiler.as_sql()
    return sql, parameters, lambda chunk: list(compiler.results_iter(results=[chunk]))


def add_condition(rows: QuerySet[Any], condition: Expression) -> QuerySet[Any]:
    """Filter rows by a condition. `filter()` would compare it with TRUE, so MariaDB would use no index."""
    result: QuerySet[Any] = rows.all()
    result.query.where.add(condition.resolve_expression(result.query), AND)
    return result


def filter_first(rows: QuerySet[Any], **conditions: Any) -> QuerySet[Any]:
    """Filter rows by conditions that come first: SQLite uses only the first of two bounds for an index."""
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
    """Return a query with all joins that its order needs, and the columns that only the order uses."""
    # Raises EmptyResultSet or FullResultSet if no query is needed.
    ordered_query = rows.query.clone()
    _, order, _ = ordered_query.get_compiler(rows.db).pre_sql_setup()
    parts = [expression for expression, (_, _, is_selected) in order if not is_selected]
    return ordered_query, columns_in(parts)


def having_columns(query: Query) -> list[Any]:
    """Return what HAVING conditions compare beside aggregates. Django also groups by these expressions."""
    return _group_by_columns(query.where.split_having_qualify(must_group_by=True)[1])


def _group_by_columns(condition: Any) -> list[Any]:
    if isinstance(condition, WhereNode):
        return [column for child in condition.children for column in _group_by_columns(child)]
    # Unlike Django's method, ignore the text of extra(where=...), which is not parsed.
    return list(getattr(condition, "get_group_by_cols", list)())


def to_many_aliases(query: Query) -> set[str]:
    """Return the aliases of joined tables that can have several rows for one row of the model."""
    return {name for name, uses in query.alias_refcount.items() if uses and to_many_joins(query, [name])}


def to_many_joins(query: Query, aliases: Iterable[str] | None = None) -> frozenset[str]:
    """Return the aliases of the to-many joins that lead to tables, by default to all tables in use."""
    joins = set()
    for name in to_many_aliases(query) if aliases is None else aliases:
        while name not in joins and isinstance(table := query.alias_map.get(name), Join):
            field: Any = table.join_field
            is_forward = isinstance(field, ForeignObject) and (field.many_to_one or field.one_to_one)
            if not (is_forward or isinstance(field, OneToOneRel)):
                joins.add(name)
            name = table.parent_alias
    return frozenset(joins)


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


@contextmanager
def shared_between_threads(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Let other threads use the connection inside the block. Django forbids this by default."""
    connection.inc_thread_sharing()
    try:
        yield
    finally:
        connection.dec_thread_sharing()


class UnknownNamespaceError(LookupError):
    """No included URLconf has the namespace, which is the argument of this error."""


class NamespacePatterns(NamedTuple):
    """The patterns of a namespace, and the prefix of its `include()` with that prefix's converters."""

    resolver: URLResolver
    prefix: str
    converters: dict[str, Any]


def find_namespace(resolver: URLResolver, namespaces: Iterable[str]) -> NamespacePatterns:
    """Return the patterns of the innermost namespace. Raise `UnknownNamespaceError` if none exists."""
    prefix, converters = "", {}
    for namespace in namespaces:
        # As in reverse(), an app name selects the default instance of the app, or else the first instance.
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
    """Return what `reverse()` tries, each as (templates, parameters), pattern, defaults and converters."""
    return list(resolver.reverse_dict.getlist(name))


def reverse_names(resolver: URLResolver) -> list[str]:
    """Return the names that `reverse()` accepts. Loading the URLconf can raise any exception."""
    return [name for name in resolver.reverse_dict if isinstance(name, str)]


_EMPTY_TEMPLATE = Engine().from_string("")


def template_value(value: Any) -> Any:
    """Return a value as a template uses it: a callable is called, or is an empty string if it cannot be."""
    if not callable(value):
        return value
    context = Context({"value": value})
    # Templates look up what replaces an invalid value in the engine of their context.
    with context.bind_template(_EMPTY_TEMPLATE):
        return Variable("value").resolve(context)


def skip_cache_update(request: HttpRequest) -> None:
    """Prevent Django's cache middleware from storing a 304, which it would send to other requests."""
    request._cache_update_cache = False  # type: ignore[attr-defined]
