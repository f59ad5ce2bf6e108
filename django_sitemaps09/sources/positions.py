"""Lists, and querysets without ranges of a key, read by position.

The weaker promise: while rows come and go, one can be on two pages or on none.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.db.models import QuerySet
from django.db.models.query import ModelIterable

from django_sitemaps09.entries import Batch
from django_sitemaps09.pages import Key, Page
from django_sitemaps09.rows import can_reorder
from django_sitemaps09.sitemaps import NewsSitemap, annotated, column
from django_sitemaps09.sources import digests
from django_sitemaps09.sources.costs import step
from django_sitemaps09.sources.declaration import Declaration, Rows
from django_sitemaps09.sources.declared import Declared
from django_sitemaps09.sources.querysets import SAMPLE, SLICE, slice_size
from django_sitemaps09.sources.unranged import Unranged


@dataclass(frozen=True, slots=True)
class PositionSource(Unranged, Declared):
    """Items in their own order; the key of an item is its position, counted from 1."""

    items: Any
    count: int
    declaration: Declaration
    limit: int

    @classmethod
    def of(cls, items: Any, declaration: Declaration, limit: int) -> PositionSource:
        """Anything that can be iterated. A queryset is counted, all else is a list from here on."""
        items = annotated(declaration.sitemap, items)
        query = items.query if isinstance(items, QuerySet) else None
        # Django cannot count a slice of an ordered union; a slice has an end.
        if query is None or (query.combinator and query.is_sliced):
            items = list(items)
            return cls(items, len(items), declaration, limit)
        if not isinstance(declaration.sitemap, NewsSitemap):
            items = _in_one_order(items)
        return cls(items, items.count(), declaration, limit)

    @property
    def declared(self) -> str:
        return digests.digest(
            (
                digests.of_class(self.declaration.sitemap, self.declaration.hosts.others, self.limit),
                digests.of_declaration(self.declaration),
            )
        )

    @property
    def fleeting(self) -> bool:
        return isinstance(self.declaration.sitemap, NewsSitemap)

    def is_empty(self) -> bool:
        return self.count == 0

    def sample(self) -> Batch | None:
        return next(self.batches(Page(1, None, (str(min(SAMPLE, self.count)),))), None)

    def jump(self, after: Key | None, count: int) -> Key | None:
        until = _position(after) + count
        return (str(until),) if until < self.count else None

    def key_text(self, key: Hashable) -> Key:
        return (str(key),)

    def batches(self, page: Page) -> Generator[Batch]:
        start = _position(page.after)
        stop = self.count if page.until is None else _position(page.until)
        part = self.items[start:stop]
        rows: Any = part.iterator(chunk_size=self._most) if isinstance(part, QuerySet) else iter(part)
        # A cursor of PostgreSQL that is left to the garbage collector can be closed in the middle of
        # another query, which then waits for itself.
        with closing(rows) if isinstance(part, QuerySet) else nullcontext():
            while (found := self._slice(rows, start)).keys:
                yield self.declaration.batch(found)
                start += len(found.keys)

    @property
    def _most(self) -> int:
        return slice_size(SLICE, self.declaration)

    def _slice(self, rows: Iterator[Any], start: int) -> Rows:
        with step("positions") as cost:
            items = list(islice(rows, self._most))
            columns = {
                name: [column(expression, name, item) for item in items]
                for name, expression in self.declaration.expressions.items()
            }
            cost.items = len(items)
        return Rows(range(start + 1, start + 1 + len(items)), items, columns)

    def newest(self, page: Page) -> str | None:
        return self.declaration.constant_lastmod()


def _in_one_order(items: QuerySet[Any]) -> QuerySet[Any]:
    """The rows in an order without ties, as far as they can take one: each page is a query of its own."""
    query = items.query
    if can_reorder(items) or (query.combinator and not query.is_sliced and not query.order_by):
        rows: QuerySet[Any] = items.order_by("pk")
        return rows
    if query.combinator or not issubclass(items._iterable_class, ModelIterable):
        return items
    items = items.all()
    ordering = query.order_by or tuple(query.get_meta().ordering or query.distinct_fields)
    # Not order_by(), which a slice refuses: the same rows, with the key behind what orders them.
    items.query.order_by = (*ordering, "pk")
    return items


def _position(key: Key | None) -> int:
    return 0 if key is None else int(key[0])
