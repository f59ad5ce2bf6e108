"""Read lists, and querysets without key ranges, by position: slices, unions, rows with a window function.

If rows are added or removed during an export, a row can be on two pages or on no page.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple

from django.core.exceptions import FieldDoesNotExist
from django.db.models import QuerySet

from django_sitemaps09.declare.annotations import annotate, can_select, load_columns
from django_sitemaps09.declare.calls import step
from django_sitemaps09.declare.models import NewsSitemap
from django_sitemaps09.orm import reading
from django_sitemaps09.orm.facts import Facts, has_window_function, order_terms
from django_sitemaps09.orm.internals import Query, reorder
from django_sitemaps09.protocol.entries import Batch, ItemError
from django_sitemaps09.protocol.pages import Key, Page
from django_sitemaps09.rows import slices
from django_sitemaps09.rows.conversion import LASTMOD, Conversion, Rows
from django_sitemaps09.rows.declaration_digests import declared_facts, digest_of
from django_sitemaps09.rows.source_base import CompiledSource


@dataclass(frozen=True)
class PositionSource(CompiledSource):
    """Source of items in their given order. The key of an item is its position, counted from 1.

    `count` only proposes pages, since rows can be added meanwhile. The last page is read to its end.
    """

    items: Any
    count: int

    @classmethod
    def from_items(cls, items: Any, conversion: Conversion) -> PositionSource:
        """Return the source for the items. Iterables other than querysets are converted to a list."""
        items = annotate(conversion.declared.sitemap, items)
        if not isinstance(items, QuerySet):
            items = list(items)
            return cls(conversion, items, len(items))
        own = Facts(items)
        if not (own.is_fetched or isinstance(conversion.declared.sitemap, NewsSitemap)):
            has_free_order = own.can_reorder and not own.order_joins
            items = reading.in_total_order(items.order_by() if has_free_order else items)
        return cls(conversion, items, reading.count_rows(items))

    @property
    def declaration_digest(self) -> str:
        return digest_of(declared_facts(self.declared))

    def is_empty(self) -> bool:
        return self.count == 0

    def sample(self) -> Batch | None:
        return next(self.batches(Page(1, None, (str(min(slices.SAMPLE, self.count)),))), None)

    def key_after(self, after: Key | None, count: int) -> Key | None:
        until = _position(after) + count
        return (str(until),) if until < self.count else None

    def batches(self, page: Page) -> Generator[Batch]:
        start, is_last = _position(page.after), page.until is None
        # One more item than fits on a page shows that the last page must be split.
        size = self.rows_per_page + 1 if is_last else _position(page.until) - start
        stop, end = start, start
        homes: set[str] = set()
        while end == stop:
            stop += size
            for rows, position in self._slices(end, stop):
                yield self.conversion.batch(rows, homes)
                end = position
            if not is_last:
                return

    @cached_property
    def _readers(self) -> Sequence[_Columns | _Items]:
        """Readers of the rows. The last one can read rows that the first one cannot."""
        return _columns(self.items, self.conversion) or (_Items(self.items, self.conversion),)

    def _slices(self, start: int, stop: int) -> Iterator[tuple[Rows, int]]:
        """Yield rows after the position `start`, each time with the position of the last one."""
        readers, size = deque(self._readers), slices.slice_size(slices.SLICE, self.conversion)
        while start < stop:
            reader = readers[0]
            # If the garbage collector closes a server-side cursor of PostgreSQL during another query, that
            # query waits for itself. So stream_items() uses a client-side cursor.
            with reading.stream_items(reader.rows[start:stop], size) as rows:
                try:
                    while True:
                        with step("positions") as cost:
                            records = list(islice(rows, size))
                            slice_rows = reader.read(records, start)
                            cost.items = len(records)
                        if not records:
                            return
                        if reader.convert is not None and slice_rows.lastmods is None:
                            # Python must convert a value here, and probably also in the next slices.
                            readers.popleft()
                            break
                        start += len(records)
                        yield slice_rows, start
                    continue
                except reading.UNREADABLE:
                    if not (isinstance(self.items, QuerySet) or self.conversion.expressions):
                        raise
            keys = range(start + 1, min(start + size, stop) + 1)
            read_part = partial(_read_part, readers[-1], start)
            start += len(keys)
            for part in reading.read_each(read_part, keys):
                if isinstance(part, ItemError):
                    yield read_part(range(0))._replace(errors=[part]), start
                else:
                    yield part, start

    def newest(self, page: Page) -> str | None:
        return self.declared.constants.get("lastmod")


class _Items(NamedTuple):
    """Items whose hooks take them, or whose declared columns only `load_columns` can read."""

    rows: Any
    conversion: Conversion
    convert: None = None

    def read(self, items: Sequence[Any], start: int) -> Rows:
        """Return the rows of items, the first of which follows the position `start`."""
        places, columns = load_columns(self.conversion.expressions, items)
        return Rows([start + 1 + place for place in places], [items[place] for place in places], columns)


class _Columns(NamedTuple):
    """Query for declared columns, after those that distinguish rows. `convert` converts lastmod texts."""

    rows: QuerySet[Any]
    expressions: Sequence[str]
    convert: slices.ConvertTexts | None

    def read(self, records: Sequence[Sequence[Any]], start: int) -> Rows:
        """Return the rows after a position, without `lastmods` if Python must convert them."""
        keys = range(start + 1, start + 1 + len(records))
        values = list(zip(*records, strict=True)) or [()] * len(self.expressions)
        columns = dict(zip(self.expressions, values[-len(self.expressions) :], strict=True))
        return Rows(keys, None, columns, self.convert and self.convert(columns[LASTMOD]))


def _read_part(reader: _Columns | _Items, start: int, places: range) -> Rows:
    first, stop = start + places.start, start + places.stop
    return reader.read([*reader.rows[first:stop]], first)


def _position(key: Key | None) -> int:
    return 0 if key is None else int(key[0])


def _columns(items: Any, conversion: Conversion) -> list[_Columns]:
    """Return queries for the declared columns, the fastest first; none if only `_Items` can read them."""
    expressions = conversion.expressions
    if not expressions or conversion.needs_items or not Facts(items).has_plain_instances:
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
    queries = [_Columns(combine(query, QuerySet.values_list), [*expressions], None)]
    if (convert := slices.text_converter(base)) is not None:
        queries.insert(0, _Columns(combine(query, slices.with_lastmod_texts), [*expressions], convert))
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
    # distinct() would also select the columns of an order.
    needs_all_columns = (
        has_window_function(part)
        or (part.has_select_fields and part.values_select)
        or _needs_all_columns(part)
        or (part.distinct and (part.is_sliced or order_terms(part)))
    )
    return not needs_all_columns and can_select(part, expressions)


def _parts(query: Query) -> list[Query]:
    """Return a combined query, and all queries that it combines, also those of its parts."""
    return [query, *(part for each in query.combined_queries for part in _parts(each))]


def _union_names(query: Query) -> list[str] | None:
    """Return the names that distinguish and order the rows of a union; `None` if its parts differ."""
    parts = _parts(query)
    unions = [part for part in parts if part.combinator]
    first, *others = [part for part in parts if not part.combinator]
    names, meta = _own_names(first), first.get_meta()
    terms = [getattr(term, "expression", term) for part in unions for term in order_terms(part)]
    for term in terms:
        name = str(getattr(term, "name", term)).lstrip("-+")
        if name in names or name == "pk":
            continue
        try:
            field = meta.get_field(name)
        except FieldDoesNotExist:
            return None
        # The name of a relation would order by the `ordering` of the related model.
        if not field.concrete or (field.is_relation and name != field.attname):
            return None
        names.append(name)
    are_alike = all(
        part.get_meta().concrete_model is meta.concrete_model
        and [*part.annotation_select] == [*first.annotation_select]
        and part.deferred_loading == first.deferred_loading
        for part in others
    )
    is_union = all(part.combinator == "union" and not part.extra_order_by for part in unions)
    return names if are_alike and is_union else None
