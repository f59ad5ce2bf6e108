"""Read lists, and querysets without key ranges, by position.

If rows are added or removed during an export, a row can be on two pages or on no page.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from django.db.models import QuerySet

from django_sitemaps09.entries import Batch, ItemError
from django_sitemaps09.hooks.annotations import annotate, load_columns
from django_sitemaps09.orm import traits
from django_sitemaps09.orm.internals import is_fetched
from django_sitemaps09.pages import Key, Page
from django_sitemaps09.sitemaps import NewsSitemap
from django_sitemaps09.sources import slices
from django_sitemaps09.sources.base import CompiledSource
from django_sitemaps09.sources.columns import Rows
from django_sitemaps09.sources.declaration import Declaration
from django_sitemaps09.sources.declaration_digests import declared_facts, digest
from django_sitemaps09.sources.profiling import step
from django_sitemaps09.sources.slices import SAMPLE, read_each


@dataclass(frozen=True)
class PositionSource(CompiledSource):
    """Source of items in their given order. The key of an item is its position, counted from 1."""

    items: Any
    count: int

    @classmethod
    def from_items(cls, items: Any, declaration: Declaration, limit: int) -> PositionSource:
        """Return the source for the items. Iterables other than querysets are converted to a list."""
        items = annotate(declaration.sitemap, items)
        query = items.query if isinstance(items, QuerySet) else None
        # Django cannot count a slice of an ordered union, but a slice is small enough for a list.
        if query is None or (query.combinator and query.is_sliced):
            items = list(items)
            return cls(declaration, limit, items, len(items))
        if not (is_fetched(items) or isinstance(declaration.sitemap, NewsSitemap)):
            has_free_order = traits.can_reorder(items) and not traits.order_repeats_rows(items)
            items = traits.in_total_order(items.order_by() if has_free_order else items)
        return cls(declaration, limit, items, traits.count_rows(items))

    @property
    def declaration_digest(self) -> str:
        return digest(declared_facts(self.declaration, self.limit))

    def is_empty(self) -> bool:
        return self.count == 0

    def sample(self) -> Batch | None:
        return next(self.batches(Page(1, None, (str(min(SAMPLE, self.count)),))), None)

    def key_after(self, after: Key | None, count: int) -> Key | None:
        until = _position(after) + count
        return (str(until),) if until < self.count else None

    def batches(self, page: Page) -> Generator[Batch]:
        start = _position(page.after)
        stop = self.count if page.until is None else _position(page.until)
        for rows in self._slices(start, stop):
            yield self.declaration.batch(rows)

    def _slices(self, start: int, stop: int) -> Iterator[Rows]:
        while start < stop:
            # If the garbage collector closes a server-side cursor of PostgreSQL during another query, that
            # query waits for itself. So stream_items() uses a client-side cursor.
            with traits.stream_items(self.items[start:stop], self._slice_size) as items:
                try:
                    while True:
                        with step("positions") as cost:
                            slice_items = list(islice(items, self._slice_size))
                            slice_rows = self._rows(slice_items, start)
                            cost.items = len(slice_items)
                        if not slice_items:
                            return
                        yield slice_rows
                        start += len(slice_items)
                except traits.UNREADABLE:
                    if not (isinstance(self.items, QuerySet) or self.declaration.expressions):
                        raise
            keys = range(start + 1, min(start + self._slice_size, stop) + 1)
            for part in read_each(partial(self._read_part, start), keys):
                yield self._rows([], start)._replace(errors=[part]) if isinstance(part, ItemError) else part
            start += len(keys)

    def _read_part(self, start: int, places: range) -> Rows:
        first, stop = start + places.start, start + places.stop
        return self._rows([*self.items[first:stop]], first)

    @property
    def _slice_size(self) -> int:
        return slices.slice_size(slices.SLICE, self.declaration)

    def _rows(self, items: list[Any], start: int) -> Rows:
        """Return the rows of items, the first of which follows the position `start`."""
        places, columns = load_columns(self.declaration.expressions, items)
        return Rows([start + 1 + place for place in places], [items[place] for place in places], columns)

    def newest(self, page: Page) -> str | None:
        return self.declaration.constant_lastmod()


def _position(key: Key | None) -> int:
    return 0 if key is None else int(key[0])
