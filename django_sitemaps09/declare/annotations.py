"""Declared expressions as columns of a query, and their values for a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any

from django.core.exceptions import FieldError, ImproperlyConfigured, ObjectDoesNotExist
from django.db.models import Model, OuterRef, Q, QuerySet, Subquery, Window
from django.utils.hashable import make_hashable

from django_sitemaps09.declare.expressions import (
    LastmodExpression,
    LocationTemplate,
    UniqueExpression,
    alias,
    declared_expressions,
    hook_expressions,
    is_missing,
    location_in,
)
from django_sitemaps09.orm import facts, internals
from django_sitemaps09.orm.facts import Facts
from django_sitemaps09.orm.internals import Query
from django_sitemaps09.orm.reading import UNREADABLE, pin_database

#: The problem of an aggregate that cannot be computed beside the aggregates of its queryset, and the fix.
NEEDS_ANNOTATIONS = (
    "has an aggregate over a multi-valued relation that the queryset does not join, and depends on its "
    "annotations or groups. A further join would change the rows or their other annotations.",
    "Annotate the queryset with the aggregate as a Subquery(), and declare F() with the name of this "
    "annotation.",
)


def add_columns(
    rows: QuerySet[Any], expressions: Mapping[str, Any], *, is_selected: bool = True
) -> QuerySet[Any]:
    """Return rows annotated with declared expressions. The rows and their other annotations do not change.

    An aggregate covers the rows that the queryset joins. If it needs a further multi-valued join, which
    would repeat rows for other aggregates, it becomes a subquery over all related rows. Raise
    `ImproperlyConfigured` if that subquery would need annotations of the queryset.
    """
    if rows.query.where.contains_over_clause:
        expressions = {name: UniqueExpression(part, name) for name, part in expressions.items()}
    parts = [(name, part) for name, value in expressions.items() for part in _aggregates(value)]
    joined_parts = _joined(rows, [part for _, part in parts])
    other_parts = [(name, part) for name, part in parts if part not in joined_parts]
    subqueries = {part: _related_aggregate(rows, name, part) for name, part in other_parts}
    columns = {name: _with_subqueries(value, subqueries) for name, value in expressions.items()}
    return annotated(rows, columns, is_selected=is_selected)


def annotated(
    rows: QuerySet[Any], columns: Mapping[str, Any], *, is_selected: bool = True
) -> QuerySet[Any]:
    """Return annotated rows. Raise `FieldError` with the hook of a column that is invalid."""
    method = rows.annotate if is_selected else rows.alias
    try:
        return method(**columns)
    except FieldError:
        # Each alone, so that the error names no other column of ours as a field.
        for name, column in columns.items():
            try:
                method(**{name: column})
            except FieldError as error:
                raise FieldError(f"the declared `{_hook(name)}`: {error}") from error
        raise


def _hook(name: str) -> str:
    return re.sub(r"^_sitemaps09_|_[0-9]+$", "", name)


def covers_joins(rows: QuerySet[Any], expressions: Mapping[str, Any]) -> bool:
    """Return whether an aggregate in the expressions only covers the related rows that a queryset joins."""
    return bool(_joined(rows, [part for value in expressions.values() for part in _aggregates(value)]))


def _joined(rows: QuerySet[Any], aggregates: Sequence[Any]) -> list[Any]:
    """Return the aggregates that a query of the rows can compute without changing its other columns."""
    query, own = rows.query, Facts(rows)
    # Grouping by the rows would merge equal dicts, and rows that a join repeats with different annotations.
    # distinct() merges equal dicts anyway. A window function would rank groups. A table of extra() is not
    # joined, and loses its rows if a join has the same name.
    can_group = own.is_grouped or query.distinct or own.has_instances
    if not aggregates or own.has_window or query.extra_tables or not can_group:
        return []
    if not own.is_grouped and internals.to_many_joins(query, _tables(query.annotation_select.values())):
        return []
    # distinct() would list a row once for each part of its group. A condition with an aggregate divides a
    # group by the column of a join. An order divides those of dicts, since distinct() selects its column.
    if own.has_instances:
        is_divided = own.is_grouped and facts.divides_groups(query)
    else:
        is_divided = not own.is_grouped and bool(own.order_joins)
    if query.distinct and is_divided:
        return []
    columns = {alias("aggregate", place): aggregate for place, aggregate in enumerate(aggregates)}
    joined_query = rows.annotate(**columns).query
    if query.distinct_fields or (own.is_sliced and own.has_instances):
        # Django cannot group distinct(fields). Beside a slice, aggregates cover all related rows, however
        # they are read.
        return []
    own_joins, parts = internals.to_many_joins(query), [joined_query.annotations[name] for name in columns]
    joins = [internals.to_many_joins(joined_query, _tables([part])) for part in parts]
    # Further joins would repeat the rows of a group, and the rows of other joins.
    can_join = not own.is_grouped and len({*joins}) == 1 and own_joins <= joins[0]
    return [part for part, tables in zip(aggregates, joins, strict=True) if can_join or tables <= own_joins]


def _tables(expressions: Iterable[Any]) -> set[str]:
    return {column.alias for column in internals.columns_in(expressions)}


def _aggregates(expression: Any) -> Iterator[Any]:
    """Yield the aggregates in an expression, except those of window functions and subqueries."""
    # On the class, since an expression that is not resolved cannot tell what its parts contain.
    if getattr(type(expression), "contains_aggregate", None) is True:
        yield expression
    else:
        for part in _parts(expression):
            yield from _aggregates(part)


def _parts(expression: Any) -> list[Any]:
    if isinstance(expression, Q):
        return [child[1] if isinstance(child, tuple) else child for child in expression.children]
    if isinstance(expression, (Window, Subquery)) or not hasattr(expression, "get_source_expressions"):
        return []
    return expression.get_source_expressions()  # type: ignore[no-any-return]


def _with_subqueries(expression: Any, subqueries: Mapping[Any, Subquery]) -> Any:
    aggregates = list(_aggregates(expression))
    if not any(part in subqueries for part in aggregates):
        return expression
    if aggregates == [expression]:
        return subqueries[expression]
    parts = [_with_subqueries(part, subqueries) for part in _parts(expression)]
    if isinstance(expression, Q):
        pairs = zip(expression.children, parts, strict=True)
        children = [(child[0], part) if isinstance(child, tuple) else part for child, part in pairs]
        return Q.create(children, expression.connector, expression.negated)
    result = expression.copy()
    result.set_source_expressions(parts)
    return result


def _related_aggregate(rows: QuerySet[Any], name: str, aggregate: Any) -> Subquery:
    """Return an aggregate over all rows that are related to a row, as a subquery."""
    keys = [field.attname for field in rows.model._meta.pk_fields]
    row: QuerySet[Any] = QuerySet(rows.model, using=rows.db).filter(**{key: OuterRef(key) for key in keys})
    try:
        if Facts(rows).is_grouped and not Facts(rows).has_instances:
            raise FieldError("The groups of values() have no primary key.")
        # Without an order, GROUP BY has only the key.
        return Subquery(row.order_by().values(*keys).annotate(**{name: aggregate}).values(name))
    except FieldError as error:
        raise ImproperlyConfigured(
            f"{rows.model._meta.label}: the declared `{_hook(name)}` {' '.join(NEEDS_ANNOTATIONS)}"
        ) from error


def annotate(sitemap: object, items: Any) -> Any:
    """Return items with the values of the declared expressions, if Django can annotate these items.

    For all others, `load_columns` reads the values. Rows that the project has fetched are copied, with what
    it did to them: another section can list the same rows.
    """
    expressions = declared_expressions(sitemap)
    if not expressions:
        return items
    if not isinstance(items, QuerySet):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__} declares query expressions, but its items() does not return a "
            "queryset. Return one, or define the hooks as methods that take the item."
        )
    is_fetched = Facts(items).is_fetched
    items = internals.copy_fetched(items) if is_fetched else pin_database(items)
    own = Facts(items)
    rows = annotatable_rows(items, expressions)
    if own.is_combined:
        try:
            add_columns(rows, expressions)
        except FieldError as error:
            raise ImproperlyConfigured(
                f"{type(sitemap).__qualname__}: items() returns a union, so declared expressions can use "
                f"only the fields of its model: {error}. Define the hooks as methods that take the item."
            ) from error
    if rows is not items:
        return items
    if is_fetched:
        _add_to_fetched(sitemap, items, expressions)
        return items
    rows = add_columns(items, expressions)
    is_grouped_here = not own.is_grouped and Facts(rows).is_grouped
    if is_grouped_here and own.can_reorder and own.order_joins:
        # Django would also group by the columns of the order.
        rows = rows.order_by(*facts.key_names(items.model))
    return rows


def annotatable_rows(items: QuerySet[Any], expressions: Mapping[str, Any]) -> QuerySet[Any]:
    """Return the rows to annotate: the items, or all rows of their model for `load_columns`.

    Django cannot annotate a union, an expression can change the rows of a slice or of `distinct(fields)`,
    and rows that are fetched need only the values of their page. But an aggregate covers the rows that a
    queryset joins, and only the queryset itself knows its annotations and windows.
    """
    # No database is named: checks must not ask the project's router for one.
    all_rows: QuerySet[Any] = QuerySet(items.model)
    own = Facts(items)
    if own.is_combined:
        return all_rows
    has_aggregate = any(part for expression in expressions.values() for part in _aggregates(expression))
    can_load_pages = own.is_limited or (own.is_fetched and not has_aggregate)
    if not (can_load_pages and own.has_instances):
        return items
    try:
        query = add_columns(all_rows, expressions).query
    except FieldError:
        return items
    if any(facts.is_window_function(query.annotations[name]) for name in expressions):
        return items
    can_annotate = not own.is_fetched and can_select(items.query, expressions)
    return items if can_annotate else all_rows


def can_select(query: Query, expressions: Mapping[str, Any]) -> bool:
    """Return whether selecting the expressions changes no rows of a slice, `distinct(fields)` or union."""
    if query.group_by is not None or query.where.contains_over_clause or query.extra_tables:
        return False
    try:
        plain_query = QuerySet(query.model).annotate(**expressions).query
    except FieldError:
        return False
    annotations = [plain_query.annotations[name] for name in expressions]
    adds_joins = len(plain_query.alias_map) > 1
    return not (
        plain_query.group_by is not None
        or facts.repeats_rows(plain_query)
        or any(map(facts.is_window_function, annotations))
        or any(map(facts.is_volatile, annotations))
        or (adds_joins and facts.has_raw_sql(query))
    )


def _add_to_fetched(sitemap: object, items: QuerySet[Any], expressions: Mapping[str, Any]) -> None:
    """Read the values of the expressions for all rows of an evaluated queryset, and set them on its rows.

    A row is found by its primary key if that is unambiguous, else by annotations; a dict by all its values.
    """
    rows, query = items.all(), items.query
    if Facts(rows).can_reorder and not Facts(rows).needs_order:
        # Django would also group by the columns of the order.
        rows = rows.order_by()
    own_names = [*query.values_select, *query.annotation_select]
    keys = ["pk"] if "pk" in own_names else [field.attname for field in items.model._meta.pk_fields]
    has_instances = Facts(items).has_instances
    has_keys = has_instances or {*keys} <= {*own_names}
    # GROUP BY contains selected annotations, so an aggregate could change without them.
    names = [*keys, *(name for name in own_names if name not in keys)] if has_keys else own_names
    rows = add_columns(rows, expressions)
    try:
        if has_instances:
            # MariaDB does not find columns of a HAVING condition that are not selected.
            rows = rows.select_related(None).prefetch_related(None)
            records = [tuple(getattr(row, name) for name in (*names, *expressions)) for row in rows]
        else:
            records = list(rows.values_list(*names, *expressions))
    except UNREADABLE:
        # load_columns() reads fewer rows at a time, so that only unreadable rows are skipped.
        return
    for width in (len(keys), len(names)) if has_keys else (len(names),):
        values: dict[Any, Any] = {}
        pairs = [(make_hashable(record[:width]), record[len(names) :]) for record in records]
        if all(values.setdefault(row, columns) == columns for row, columns in pairs):
            break
    else:
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__}.items() evaluates its queryset, which has equal rows with "
            "different values of the declared expressions. Do not evaluate it (use exists() to test for "
            "rows), or define the hooks as methods that take the item."
        )
    for item in items:
        columns_by_name = item if isinstance(item, dict) else vars(item) if isinstance(item, Model) else {}
        row = make_hashable(tuple(columns_by_name.get(name) for name in names[:width]))
        columns_by_name.update(zip(expressions, values.get(row, ()), strict=False))


def declared_value(value: Any, name: str, item: Any) -> Any:
    """Return the value of a field for an item, if the field is declared as expressions."""
    values = [column(part, alias(name, i), item) for i, part in enumerate(hook_expressions(name, value))]
    return value.url(values) if isinstance(value, LocationTemplate) else values[0]


def localized_location(location: Mapping[str, Any], code: str | None, item: Any) -> str | None:
    """Return the location of an item in a language, from a dict `location`; `None` without a location."""
    value, names = location_in(location, code)
    parts = hook_expressions("location", value)
    values = [column(part, name, item) for part, name in zip(parts, names, strict=True)]
    if any(map(is_missing, values)):
        return None
    return value.url(values) if isinstance(value, LocationTemplate) else str(values[0])


def column(expression: Any, name: str, item: Any) -> Any:
    """Return the value of an expression for a row, from its annotation or else from another query."""
    if isinstance(item, dict) and name in item:
        return item[name]
    if not hasattr(item, name):
        # Rows lack the annotation if the project paginates `items()` itself.
        expression = LastmodExpression(expression) if name == alias("lastmod") else expression
        if not load_columns({name: expression}, [item])[0]:
            raise ObjectDoesNotExist(f"{type(item).__name__} {item.pk!r} has been deleted.")
    return getattr(item, name)


def load_columns(
    expressions: Mapping[str, Any], items: Sequence[Any]
) -> tuple[Sequence[int], dict[str, list[Any]]]:
    """Return the positions of the items, without deleted rows, and the values of the expressions by alias.

    Values that rows lack are read with one query for the rows of a model.
    """
    with suppress(AttributeError):
        return range(len(items)), {name: list(map(attrgetter(name), items)) for name in expressions}
    rows_by_model: dict[Any, list[Any]] = {}
    for item in items:
        if all(name in item if isinstance(item, dict) else hasattr(item, name) for name in expressions):
            continue
        if not isinstance(item, Model):
            raise ImproperlyConfigured(
                f"Query expressions need model instances, not {type(item).__name__} objects. Return "
                "instances from items(), or values() that is not evaluated, or define the hooks as methods "
                "that take the item."
            )
        rows_by_model.setdefault((type(item), item._state.db), []).append(item)
    deleted = set()
    for (model, using), instances in rows_by_model.items():
        # An order of the model over a multi-valued relation would repeat what an aggregate covers.
        keys = [item.pk for item in instances]
        rows = add_columns(QuerySet(model, using=using).order_by().filter(pk__in=keys), expressions)
        values = {pk: columns for pk, *columns in rows.values_list("pk", *expressions)}
        for item in instances:
            if item.pk in values:
                vars(item).update(zip(expressions, values[item.pk], strict=True))
            else:
                deleted.add(id(item))
    places = [place for place, item in enumerate(items) if id(item) not in deleted]
    return places, {
        name: [column(expression, name, items[place]) for place in places]
        for name, expression in expressions.items()
    }
