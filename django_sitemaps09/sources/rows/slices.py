"""Slices of a queryset's rows in the order of their key, read as columns or as instances."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

from django.db import connections
from django.db.models import F, QuerySet

from django_sitemaps09.entries import ItemError
from django_sitemaps09.hooks.expressions import alias
from django_sitemaps09.orm.internals import fetches_plainly, has_prefetches
from django_sitemaps09.orm.traits import UNREADABLE, stream_items
from django_sitemaps09.sources.columns.declaration import Declaration, Rows
from django_sitemaps09.sources.profiling import step
from django_sitemaps09.sources.rows import slice_size
from django_sitemaps09.sources.rows.keys import KeyColumns
from django_sitemaps09.sources.rows.members import Members, Span
from django_sitemaps09.sources.rows.prefetch import prefetching
from django_sitemaps09.sources.rows.times import TimeText
from django_sitemaps09.sources.rows.unreadable import read_rows

# Alias for a lastmod that the database converts to text.
_TEXT = alias("lastmod_text")


class Slices(NamedTuple):
    """Slices of rows in the order of their key. Rows that cannot be read are skipped and reported."""

    members: Members
    declaration: Declaration
    times: TimeText | None

    @property
    def key(self) -> KeyColumns:
        return self.members.key

    def _query(self, rows: QuerySet[Any], span: Span, most: int) -> QuerySet[Any]:
        return self.members.filter_range(rows, span.after, span.end)[:most]

    def columns(self, rows: QuerySet[Any], first: Span, most: int) -> Generator[Rows]:
        """Yield slices with the values of the declared expressions. The next slice is prefetched."""
        names, expressions, times = self.key.names, self.declaration.expressions, self.times
        values = rows.values_list(*names, *expressions)
        if times is not None:
            aliases = [_TEXT if name == alias("lastmod") else name for name in expressions]
            rows = rows.annotate(**{_TEXT: times.expression}).values_list(*names, *aliases)
        else:
            rows = values
        # If a project's queryset skips rows, more rows can follow a slice that is not full.
        is_plain = fetches_plainly(rows)
        with prefetching(connections[rows.db], plainly=is_plain) as submit:
            span: Span | None = first
            result = submit(self._query(rows, first, most))
            while span is not None:
                errors: list[ItemError] = []
                try:
                    records, time_text = result(), times
                    last, count = self.key.row_key(records[-1]) if records else span.after, len(records)
                except UNREADABLE:
                    time_text = None
                    records, errors, last, count = self._readable(values, span, most)
                next_span = self.members.next_span(
                    span, last, most if count and not is_plain else count, most
                )
                if next_span is not None:
                    result = submit(self._query(rows, next_span, most))
                slice_rows = self._column_rows(records, errors)
                if time_text is not None:
                    lastmods = time_text.w3c(slice_rows.columns[alias("lastmod")])
                    if lastmods is None:
                        # Python must convert a value here, and probably also in the next slices.
                        rows, times = values, None
                        result = submit(self._query(rows, span, most))
                        continue
                    slice_rows = slice_rows._replace(lastmods=lastmods)
                if count:
                    yield slice_rows
                span = next_span

    def _column_rows(self, records: Sequence[Any], errors: Sequence[ItemError]) -> Rows:
        width, expressions = len(self.key.names), self.declaration.expressions
        columns = list(zip(*records, strict=True)) or [()] * (width + len(expressions))
        keys = columns[0] if width == 1 else list(zip(*columns[:width], strict=True))
        columns_by_name = dict(zip(expressions, columns[width:], strict=True))
        return Rows(keys, None, columns_by_name, errors=errors)

    def _readable(
        self, rows: QuerySet[Any], span: Span, most: int
    ) -> tuple[list[Any], list[ItemError], Hashable | None, int]:
        """Return readable rows, errors for other rows, the last key and the number of all rows."""
        key_rows = self._query(rows.values_list(*self.key.names), span, most)
        keys = [self.key.row_key(row) for row in key_rows]
        fetch = lambda after, until: list(self.members.filter_range(rows, after, until))  # noqa: E731
        return *read_rows(fetch, span.after, keys), keys[-1] if keys else span.after, len(keys)

    def instances(self, rows: QuerySet[Any], first: Span, most: int) -> Generator[Rows]:
        # A key other than the primary key is selected here, even if the queryset defers it.
        if self.key.name != "pk":
            rows = rows.annotate(**{alias("key"): F(self.key.name)})
        is_plain = fetches_plainly(rows)
        reads_whole = has_prefetches(rows) or not is_plain
        size = most if reads_whole else min(most, slice_size.INSTANCES)
        span: Span | None = first
        while span is not None:
            records, count, has_failed, last = self._query(rows, span, most), 0, False, span.after
            # chain() delays the query until the first step, where its time is measured.
            with stream_items(
                chain.from_iterable([records]) if reads_whole else records, size
            ) as instances:
                try:
                    while items := self._step(instances, size):
                        slice_rows = self._instance_rows(items)
                        yield slice_rows
                        last, count = slice_rows.keys[-1], count + len(items)
                except UNREADABLE:
                    has_failed = True
            if has_failed:
                rest = span._replace(after=last)
                items, errors, last, more = self._readable(rows, rest, most - count)
                yield self._instance_rows(items, errors)
                count += more
            span = self.members.next_span(span, last, most if count and not is_plain else count, most)

    def _instance_rows(self, items: list[Any], errors: Sequence[ItemError] = ()) -> Rows:
        keys = [item.pk if self.key.name == "pk" else getattr(item, alias("key")) for item in items]
        columns = {name: [getattr(i, name) for i in items] for name in self.declaration.expressions}
        return Rows(keys, items, columns, errors=errors)

    @staticmethod
    def _step(instances: Iterator[Any], size: int) -> list[Any]:
        with step("instances") as cost:
            items = list(islice(instances, size))
            cost.items = len(items)
        return items
