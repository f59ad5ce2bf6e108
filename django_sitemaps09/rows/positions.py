"""Read lists, and querysets without key ranges, by position.

If rows are added or removed during an export, a row can be on two pages or on no page.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple

from django.db.models import QuerySet

from django_sitemaps09.declare import NewsSitemap
from django_sitemaps09.declare.annotations import annotate, load_columns
from django_sitemaps09.declare.profiling import step
from django_sitemaps09.orm import reading
from django_sitemaps09.orm.facts import facts
from django_sitemaps09.protocol import Batch, ItemError
from django_sitemaps09.protocol.pages import Key, Page
from django_sitemaps09.rows import slices
from django_sitemaps09.rows.columns import Rows
from django_sitemaps09.rows.declaration import Declaration
from django_sitemaps09.rows.declaration_digests import declared_facts, digest_of
from django_sitemaps09.rows.position_columns import ColumnQuery, column_queries
from django_sitemaps09.rows.slices import SAMPLE, read_each
from django_sitemaps09.rows.source_base import CompiledSource


@dataclass(frozen=True)
class PositionSource(CompiledSource):
    """Source of items in their given order. The key of an item is its position, counted from 1.

    `count` only proposes pages, since rows can be added meanwhile. The last page is read to its end.
    """

    items: Any
    count: int

    @classmethod
    def from_items(cls, items: Any, declaration: Declaration) -> PositionSource:
        """Return the source for the items. Iterables other than querysets are converted to a list."""
        items = annotate(declaration.declared.sitemap, items)
        if not isinstance(items, QuerySet):
            items = list(items)
            return cls(declaration, items, len(items))
        own = facts(items)
        if not (own.is_fetched or isinstance(declaration.declared.sitemap, NewsSitemap)):
            has_free_order = own.can_reorder and not own.order_repeats_rows
            items = reading.in_total_order(items.order_by() if has_free_order else items)
        return cls(declaration, items, reading.count_rows(items))

    @property
    def declaration_digest(self) -> str:
        return digest_of(declared_facts(self.declared))

    def is_empty(self) -> bool:
        return self.count == 0

    def sample(self) -> Batch | None:
        return next(self.batches(Page(1, None, (str(min(SAMPLE, self.count)),))), None)

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
                yield self.declaration.batch(rows, homes)
                end = position
            if not is_last:
                return

    @cached_property
    def _readers(self) -> Sequence[ColumnQuery | _Items]:
        """Readers of the rows. The last one can read rows that the first one cannot."""
        return column_queries(self.items, self.declaration) or (_Items(self.items, self.declaration),)

    def _slices(self, start: int, stop: int) -> Iterator[tuple[Rows, int]]:
        """Yield rows after the position `start`, each time with the position of the last one."""
        readers, size = deque(self._readers), slices.slice_size(slices.SLICE, self.declaration)
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
                        if slice_rows is None:
                            # Python must convert a value here, and probably also in the next slices.
                            readers.popleft()
                            break
                        start += len(records)
                        yield slice_rows, start
                    continue
                except reading.UNREADABLE:
                    if not (isinstance(self.items, QuerySet) or self.declaration.expressions):
                        raise
            keys = range(start + 1, min(start + size, stop) + 1)
            read_part = partial(_read_part, readers[-1], start)
            start += len(keys)
            for part in read_each(read_part, keys):
                if isinstance(part, ItemError):
                    yield read_part(range(0))._replace(errors=[part]), start
                else:
                    yield part, start

    def newest(self, page: Page) -> str | None:
        return self.declared.constants.get("lastmod")


class _Items(NamedTuple):
    """Items whose hooks take them, or whose declared columns only `load_columns` can read."""

    rows: Any
    declaration: Declaration

    def read(self, items: Sequence[Any], start: int) -> Rows:
        """Return the rows of items, the first of which follows the position `start`."""
        places, columns = load_columns(self.declaration.expressions, items)
        return Rows([start + 1 + place for place in places], [items[place] for place in places], columns)


def _read_part(reader: ColumnQuery | _Items, start: int, places: range) -> Rows:
    first, stop = start + places.start, start + places.stop
    rows = reader.read([*reader.rows[first:stop]], first)
    if rows is None:
        raise TypeError("The last reader must convert all rows")
    return rows


def _position(key: Key | None) -> int:
    return 0 if key is None else int(key[0])
