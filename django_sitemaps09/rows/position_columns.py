"""Columns of querysets that are read by position: slices, unions, and rows with a window function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from django.core.exceptions import FieldDoesNotExist
from django.db.models import QuerySet

from django_sitemaps09.declare.annotations import can_select
from django_sitemaps09.declare.expressions import alias
from django_sitemaps09.orm import traits
from django_sitemaps09.orm.facts import facts
from django_sitemaps09.orm.internals import Query, reorder
from django_sitemaps09.rows.columns import Rows
from django_sitemaps09.rows.declaration import Declaration
from django_sitemaps09.rows.slices import ConvertTexts, text_converter, with_lastmod_texts


class ColumnQuery(NamedTuple):
    """Query for the declared columns of rows, after the columns that distinguish the rows.

    If `convert` is not `None`, the database returns lastmods as texts, which it converts.
    """

    rows: QuerySet[Any]
    expressions: Sequence[str]
    convert: ConvertTexts | None

    def read(self, records: Sequence[Sequence[Any]], start: int) -> Rows | None:
        """Return the rows after a position. Return `None` if Python must convert their lastmods."""
        keys = range(start + 1, start + 1 + len(records))
        values = list(zip(*records, strict=True)) or [()] * len(self.expressions)
        columns = dict(zip(self.expressions, values[-len(self.expressions) :], strict=True))
        if self.convert is None:
            return Rows(keys, None, columns)
        lastmods = self.convert(columns[alias("lastmod")])
        return None if lastmods is None else Rows(keys, None, columns, lastmods)


def column_queries(items: Any, declaration: Declaration) -> list[ColumnQuery]:
    """Return queries for the declared columns of items in their order, the fastest first.

    Return an empty list if a hook takes the items, or if only `load_columns` can read the columns.
    """
    expressions = declaration.expressions
    if not expressions or declaration.needs_items or not facts(items).has_plain_instances:
        return []
    query, base = items.query, items
    if query.combinator:
        names = _union_names(query)
        if names is None or not all(_can_combine(part, expressions) for part in _parts(query)):
            return []
        base = QuerySet(items.model, using=items.db).annotate(**expressions)
    elif not {*expressions} <= {*query.annotation_select} or _needs_all_columns(query):
        return []
    else:
        # distinct() compares what is selected.
        names = [name for name in _own_names(query) if name not in expressions]
    combine = partial(_combine, expressions=expressions, names=[*names, *expressions], using=items.db)
    queries = [ColumnQuery(combine(query, QuerySet.values_list), [*expressions], None)]
    if (convert := text_converter(base, alias("lastmod"))) is not None:
        queries.insert(0, ColumnQuery(combine(query, with_lastmod_texts), [*expressions], convert))
    return queries


def _combine(
    query: Query, select: Any, *, expressions: Any, names: Sequence[str], using: str
) -> QuerySet[Any]:
    """Return the columns of a query's rows. Those of a union are selected in each of its parts."""
    if not query.combinator:
        rows: QuerySet[Any] = QuerySet(query.model, query.clone(), using)
        missing = {name: part for name, part in expressions.items() if name not in query.annotations}
        columns: QuerySet[Any] = select(rows.annotate(**missing), *names)
        return columns
    first, *others = (
        _combine(part, select, expressions=expressions, names=names, using=using)
        for part in query.combined_queries
    )
    rows = reorder(first.union(*others, all=query.combinator_all), *query.order_by)
    rows.query.standard_ordering = query.standard_ordering
    rows.query.set_limits(query.low_mark, query.high_mark)
    return rows


def _own_names(query: Query) -> list[str]:
    """Return the names of what distinguishes the rows of a query: its annotations, and the primary key."""
    return [*query.annotation_select, *(field.attname for field in query.get_meta().pk_fields)]


def _needs_all_columns(query: Query) -> bool:
    """Return whether a query would have other rows, or fail on some database, with only these columns."""
    # MariaDB does not find columns of HAVING that are not selected. A function can return several rows.
    return (
        query.group_by is not None
        or query.where.contains_over_clause
        or bool(query.extra or query.extra_tables)
        or any(part.set_returning for part in query.annotations.values())
    )


def _can_combine(part: Query, expressions: Mapping[str, Any]) -> bool:
    """Return whether a part of a union has the same rows with other columns."""
    if part.combinator:
        return True
    # The rows that a join repeats are equal to a window function, which can number them in any order.
    if traits.has_window_function(part):
        return False
    # distinct() would also select the columns of an order.
    is_ordered = part.is_sliced or bool(traits.order_terms(part))
    return (
        not (part.has_select_fields and part.values_select)
        and not _needs_all_columns(part)
        and not (part.distinct and is_ordered)
        and can_select(part, expressions)
    )


def _parts(query: Query) -> list[Query]:
    """Return a combined query, and all queries that it combines, also those of its parts."""
    return [query, *(part for each in query.combined_queries for part in _parts(each))]


def _union_names(query: Query) -> list[str] | None:
    """Return the names of the columns that distinguish and order the rows of a union.

    All its parts must be rows of one model with equal annotations. Otherwise, return `None`.
    """
    parts = _parts(query)
    unions = [part for part in parts if part.combinator]
    first, *others = [part for part in parts if not part.combinator]
    names = _own_names(first)
    terms = [getattr(term, "expression", term) for part in unions for term in traits.order_terms(part)]
    for term in terms:
        name = str(getattr(term, "name", term)).lstrip("-+")
        if name in names or name == "pk":
            continue
        try:
            field = first.get_meta().get_field(name)
        except FieldDoesNotExist:
            return None
        # The name of a relation would order by the `ordering` of the related model.
        if not field.concrete or (field.is_relation and name != field.attname):
            return None
        names.append(name)
    model = first.get_meta().concrete_model
    are_alike = all(
        part.get_meta().concrete_model is model
        and [*part.annotation_select] == [*first.annotation_select]
        and part.deferred_loading == first.deferred_loading
        for part in others
    )
    is_union = all(part.combinator == "union" and not part.extra_order_by for part in unions)
    return names if are_alike and is_union else None
