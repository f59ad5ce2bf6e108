"""Read querysets by ranges of their key, and find single rows by values in their locations."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Generator, Hashable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple, TypeGuard

from django.core.exceptions import EmptyResultSet, ImproperlyConfigured
from django.db import connections
from django.db.models import Count, QuerySet

from django_sitemaps09.conf import site_locale
from django_sitemaps09.entries import Batch
from django_sitemaps09.exceptions import KeyOrderError
from django_sitemaps09.hooks.annotations import add_columns
from django_sitemaps09.hooks.expressions import Newest, alias
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.orm.internals import add_condition, compile_query, fetches_plainly, remove_order
from django_sitemaps09.orm.traits import UNREADABLE, repeats_rows
from django_sitemaps09.pages import Fingerprint, Key, Look, Page
from django_sitemaps09.protocol import drop_future
from django_sitemaps09.sitemaps import ModelSitemap
from django_sitemaps09.sources.base import CompiledSource, Source
from django_sitemaps09.sources.columns import Rows
from django_sitemaps09.sources.declaration import Declaration
from django_sitemaps09.sources.declaration_digests import (
    declared_facts,
    digest,
    lasting_parameters,
    query_facts,
)
from django_sitemaps09.sources.fingerprints import can_fingerprint, fingerprint
from django_sitemaps09.sources.keys import KeyColumns
from django_sitemaps09.sources.members import KeyInRows, Members, Span
from django_sitemaps09.sources.slices import SAMPLE, Slices

#: Maximum number of rows that a search returns. The values of most locations belong to one row.
MAX_FOUND = 10


@dataclass(frozen=True)
class QuerySource(CompiledSource):
    """Source that reads a queryset in key order. As in keyset pagination, all pages cost the same."""

    section: str
    annotated_rows: QuerySet[Any]
    members: Members

    @classmethod
    def from_rows(
        cls,
        section: str,
        declaration: Declaration,
        limit: int,
        rows: QuerySet[Any],
        original: QuerySet[Any] | None = None,
    ) -> QuerySource:
        """Return the source of rows. If `original` is set, only rows with a key from it are listed.

        Raise `ImproperlyConfigured` for an unsuitable key or expression.
        """
        # On classes written for `django.contrib.sitemaps`, an attribute `key` can mean anything.
        key_name = declaration.sitemap.key if isinstance(declaration.sitemap, ModelSitemap) else "pk"
        key = KeyColumns.from_field(rows.model, key_name, rows.db)
        annotated_rows = add_columns(rows, declaration.expressions)
        if repeats_rows(annotated_rows.query):
            raise ImproperlyConfigured(
                f"Section {section!r}: an expression of {type(declaration.sitemap).__qualname__} follows "
                "a multi-valued relation, which would repeat items. Use an aggregate such as Max(), or "
                "a method that takes the item."
            )
        are_grouped = annotated_rows.query.group_by is not None
        members = Members(key, rows, original, are_grouped=are_grouped)
        return cls(declaration, limit, section, annotated_rows, members)

    @property
    def map_cache_key(self) -> str:
        """Digest of the query and the limit, without the host and without times such as now."""
        rows = self.members.rows
        try:
            all_rows = self.members.filter_range(rows, None, None)
            sql, parameters, _ = compile_query(all_rows, connections[rows.db])
        except EmptyResultSet:
            sql, parameters = "", ()
        sitemap = type(self.sitemap)
        facts = (self.section, sitemap.__module__, sitemap.__qualname__, rows.db, self.members.key.names)
        return digest((*facts, self.limit, self.rows_per_page, sql, lasting_parameters(parameters)))

    @cached_property
    def declaration_digest(self) -> str:
        names = self.members.key.names
        rows = self.members.filter_range(self.annotated_rows, None, None).order_by(*names)
        if not self.declaration.needs_items:
            rows = rows.values_list(*names, *self.declaration.expressions)
        facts = declared_facts(self.declaration, self.limit)
        return digest((self.members.rows.db, names, *facts, query_facts(rows)))

    @property
    def key_identity(self) -> tuple[str, ...]:
        return self.members.key.identity()

    def in_order(self, bounds: Sequence[Key]) -> bool:
        return self.members.key.in_order(bounds)

    @property
    def can_fingerprint(self) -> bool:
        rows, needs_items = self.annotated_rows, self.declaration.needs_items
        return not needs_items and can_fingerprint(rows, alias("lastmod")) and fetches_plainly(rows)

    def fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        rows, columns = self._range_rows(after, until), [*self.declaration.expressions]
        with site_locale():
            return fingerprint(rows, self.members.key.names, columns, alias("lastmod"))

    def _range_rows(self, after: Key | None, until: Key | None) -> QuerySet[Any]:
        return self.members.filter_range(self.annotated_rows, *self._parsed(after, until))

    def _parsed(self, after: Key | None, until: Key | None) -> tuple[Hashable | None, Hashable | None]:
        return self.members.key.parse(after), self.members.key.parse(until)

    def is_empty(self) -> bool:
        if self.members.original is None:
            return not self.members.rows.exists()
        return not self.members.keys(None, None, 0, 1)

    def sample(self) -> Batch | None:
        until = None
        if self.members.are_far:
            keys = self.members.keys(None, None, 0, SAMPLE)
            if not keys:
                return None
            until = keys[-1]
        return next(self._batches(self._slices.read(Span(None, until, until), SAMPLE), None), None)

    def key_after(self, after: Key | None, count: int) -> Key | None:
        keys = self.members.keys(self.members.key.parse(after), None, count - 1, 2)
        return self.key_text(keys[0]) if len(keys) == 2 else None

    def count(self, after: Key | None, until: Key | None, most: int) -> int:
        return self.members.count_up_to(*self._parsed(after, until), most)

    def key_text(self, key: Hashable) -> Key:
        return self.members.key.text(key)

    def batches(self, page: Page) -> Generator[Batch]:
        """Yield the entries of a page. Raise `KeyOrderError` if a key occurs twice."""
        after, until = self._parsed(page.after, page.until)
        return self._batches(self._slices.in_range(after, until, self.limit), after)

    @property
    def _slices(self) -> Slices:
        rows = self.annotated_rows.order_by(*self.members.key.names)
        return Slices(rows, self.members, self.declaration)

    def _batches(self, slices: Generator[Rows], after: Hashable | None) -> Generator[Batch]:
        previous_keys: set[Hashable] = {after}
        # A traceback can keep these generators alive, and with them the thread that prefetches.
        with closing(slices):
            for rows in slices:
                keys = set(rows.keys)
                if len(keys) < len(rows.keys) or not keys.isdisjoint(previous_keys):
                    raise KeyOrderError(
                        f"Section {self.section!r}: the queryset returns rows of "
                        f"{self.annotated_rows.model._meta.label} more than once after key {after!r}. "
                        "Return each row once, for example with distinct() or an aggregate."
                    )
                yield self.declaration.batch(rows)
                if rows.keys:
                    after, previous_keys = rows.keys[-1], keys

    def look(self, page: Page) -> Look:
        """Return how many rows a page has now, and its newest lastmod, in one query."""
        column = alias("lastmod")
        if column not in self.declaration.expressions:
            return Look(self._count_page(page), self.declaration.constant_lastmod())
        expression = self.annotated_rows.query.annotations[column]
        rows = self._range_rows(page.after, page.until)
        try:
            totals = rows.aggregate(
                newest=Newest(column, expression=expression), dated=Count(column), rows=Count("pk")
            )
            if totals["newest"] is None or totals["dated"] < totals["rows"]:
                return Look(totals["rows"], None)
            return Look(totals["rows"], drop_future(lastmod_text(totals["newest"])))
        except UNREADABLE:
            # A row is unreadable. When the page is written, the row is skipped and reported.
            lastmods = [text for batch in self.batches(page) for text in batch.lastmods or ()]
            newest = None if None in lastmods else max(lastmods, default=None)  # type: ignore[type-var]
            return Look(self._count_page(page), drop_future(newest))

    def _count_page(self, page: Page) -> int:
        """Return the number of rows of a page, or one more than fit on any page."""
        return self.count(page.after, page.until, self.entries_per_page + 1)


def has_key_ranges(source: Source) -> TypeGuard[QuerySource]:
    """Return whether the pages of a source are key ranges instead of ranges of positions."""
    return isinstance(source, QuerySource)


class FoundRow(NamedTuple):
    """Row of a section's model.

    `is_listed` is false if `items()` filters the row out. It is `None` if only a query of all rows can
    tell, because a window function filters them.
    """

    key: Hashable
    is_listed: bool | None


def find_rows(source: QuerySource, conditions: Mapping[str, Any]) -> list[FoundRow]:
    """Return the rows for which the conditions hold, including rows that the section does not list.

    The names of conditions are fields, or aliases of declared expressions.
    """
    members, original = source.members, source.members.original
    keys = _keys(source, source.annotated_rows, conditions)
    if members.looks_beyond:
        return [FoundRow(key, None) for key in keys]
    if original is not None:
        return [FoundRow(key, _is_in(original, key, members)) for key in keys]
    if keys:
        return [FoundRow(key, is_listed=True) for key in keys]
    return [FoundRow(key, is_listed=False) for key in _keys(source, _all_rows(source), conditions)]


def _all_rows(source: QuerySource) -> QuerySet[Any]:
    return add_columns(source.members.model_rows(), source.declaration.expressions)


def _keys(source: QuerySource, rows: QuerySet[Any], conditions: Mapping[str, Any]) -> list[Hashable]:
    # With an order, a database may read the rows in this order instead of using an index for the condition.
    rows = source.members.key_rows(remove_order(rows.filter(**conditions)))
    return list(map(source.members.key.row_key, rows[:MAX_FOUND]))


def _is_in(original: QuerySet[Any], key: Hashable, members: Members) -> bool:
    listed_rows = KeyInRows(members.filter_keys(original, [key]))
    return add_condition(members.filter_keys(members.rows, [key]), listed_rows).exists()


def row_batch(source: QuerySource, row: FoundRow) -> Batch | None:
    """Return the entries of one row as they are now; `None` if the row no longer exists."""
    has_rows = row.is_listed is not False or source.members.original is not None
    rows = source.annotated_rows if has_rows else _all_rows(source)
    rows = rows.order_by(*source.members.key.names)
    slices = Slices(rows, source.members, source.declaration)
    with closing(slices.with_keys([row.key])) as parts:
        return next(map(source.declaration.batch, parts), None)


def page_index(source: QuerySource, key: Hashable, bounds: Sequence[Key | None]) -> int:
    """Return the index of the page with a key. `bounds` are the upper bounds of all pages, in order.

    Integer keys need no query. Other keys need one query for each step of a binary search, since only the
    database knows their order.
    """
    return bisect_left(bounds[:-1], True, key=partial(_is_within, source, key))


def _is_within(source: QuerySource, key: Any, bound: Key | None) -> bool:
    key_columns = source.members.key
    until: Any = key_columns.parse(bound)
    if key_columns.is_integer:
        return bool(key <= until)
    rows = source.members.filter_keys(source.members.model_rows(), [key])
    return key_columns.filter_range(rows, None, until).exists()
