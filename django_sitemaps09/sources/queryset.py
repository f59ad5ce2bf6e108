"""Read querysets by ranges of their key."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.core.exceptions import EmptyResultSet, ImproperlyConfigured
from django.db import connections
from django.db.models import Count, QuerySet

from django_sitemaps09.conf import site_locale
from django_sitemaps09.entries import Batch
from django_sitemaps09.exceptions import KeyOrderError
from django_sitemaps09.hooks.annotations import add_columns
from django_sitemaps09.hooks.expressions import Newest, alias
from django_sitemaps09.hooks.values import lastmod_text
from django_sitemaps09.orm.internals import compile_query, fetches_plainly
from django_sitemaps09.orm.traits import UNREADABLE, repeats_rows
from django_sitemaps09.pages import Fingerprint, Key, Look, Page
from django_sitemaps09.protocol import drop_future
from django_sitemaps09.sitemaps import ModelSitemap
from django_sitemaps09.sources import live_bounds
from django_sitemaps09.sources.changes.declaration_digests import (
    class_facts,
    declaration_facts,
    digest,
    lasting_parameters,
    query_facts,
)
from django_sitemaps09.sources.changes.fingerprints import can_fingerprint, fingerprint
from django_sitemaps09.sources.changes.identity import KeyIdentity
from django_sitemaps09.sources.columns.declaration import Declaration, Rows
from django_sitemaps09.sources.compiled import CompiledSource
from django_sitemaps09.sources.rows.keys import KeyColumns
from django_sitemaps09.sources.rows.members import Members, Span
from django_sitemaps09.sources.rows.rangeable import RangedRows
from django_sitemaps09.sources.rows.slice_size import SAMPLE, rows_at_a_time, slice_size
from django_sitemaps09.sources.rows.slices import Slices
from django_sitemaps09.sources.rows.times import TimeText


@dataclass(frozen=True)
class QuerySource(CompiledSource):
    """Source that reads a queryset in key order. As in keyset pagination, all pages cost the same."""

    section: str
    bare_rows: QuerySet[Any]
    annotated_rows: QuerySet[Any]
    members: Members
    times: TimeText | None
    declaration: Declaration
    limit: int

    @classmethod
    def from_rows(
        cls, section: str, ranged_rows: RangedRows, declaration: Declaration, limit: int
    ) -> QuerySource:
        """Return the source of rows. Raise `ImproperlyConfigured` for an unsuitable key or expression."""
        rows = ranged_rows.rows
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
        times = (
            None if declaration.needs_items else TimeText.from_annotation(annotated_rows, alias("lastmod"))
        )
        members = Members(
            key, rows, ranged_rows.original, are_grouped=annotated_rows.query.group_by is not None
        )
        return cls(section, rows, annotated_rows, members, times, declaration, limit)

    @property
    def key(self) -> KeyColumns:
        return self.members.key

    @property
    def map_cache_key(self) -> str:
        """Digest of the query and the limit, without the host and without times such as now."""
        try:
            rows = self.members.filter_range(self.bare_rows, None, None)
            sql, parameters, _ = compile_query(rows, connections[self.bare_rows.db])
        except EmptyResultSet:
            sql, parameters = "", ()
        sitemap = type(self.declaration.sitemap)
        identity = (
            self.section,
            sitemap.__module__,
            sitemap.__qualname__,
            self.bare_rows.db,
            self.key.names,
            self.limit,
            self.rows_per_page,
            sql,
            lasting_parameters(parameters),
        )
        return digest(identity)

    @cached_property
    def declaration_digest(self) -> str:
        rows = self.members.filter_range(self.annotated_rows, None, None).order_by(*self.key.names)
        if not self.declaration.needs_items:
            rows = rows.values_list(*self.key.names, *self.declaration.expressions)
        return digest(
            (
                self.bare_rows.db,
                self.key.names,
                class_facts(self.declaration.sitemap, self.declaration.hosts.others, self.limit),
                declaration_facts(self.declaration),
                query_facts(rows),
            )
        )

    @property
    def key_identity(self) -> tuple[str, ...]:
        return self._identity.texts()

    @cached_property
    def _identity(self) -> KeyIdentity:
        return KeyIdentity(self.key, self.bare_rows.model, self.bare_rows.db)

    def in_order(self, bounds: Sequence[Key]) -> bool:
        return self._identity.in_order(bounds)

    @property
    def can_fingerprint(self) -> bool:
        return (
            not self.declaration.needs_items
            and can_fingerprint(self.annotated_rows, alias("lastmod"))
            and fetches_plainly(self.annotated_rows)
        )

    def fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        rows = self._range_rows(after, until)
        with site_locale():
            return fingerprint(rows, self.key.names, [*self.declaration.expressions], alias("lastmod"))

    def _range_rows(self, after: Key | None, until: Key | None) -> QuerySet[Any]:
        return self.members.filter_range(self.annotated_rows, self.key.parse(after), self.key.parse(until))

    def is_empty(self) -> bool:
        if self.members.original is None:
            return not self.bare_rows.exists()
        return not self.members.keys(None, None, 0, 1)

    def sample(self) -> Batch | None:
        until = None
        if self.members.are_far:
            keys = self.members.keys(None, None, 0, SAMPLE)
            if not keys:
                return None
            until = keys[-1]
        slices = self._read_slices(self.annotated_rows, self.members, Span(None, until, until), SAMPLE)
        return next(self._batches(slices, None), None)

    def key_after(self, after: Key | None, count: int) -> Key | None:
        keys = self.members.keys(self.key.parse(after), None, count - 1, 2)
        return self.key.text(keys[0]) if len(keys) == 2 else None

    def count(self, after: Key | None, until: Key | None, most: int) -> int:
        """Return the number of rows in a range, or `most` if there are more."""
        return self.members.count_up_to(self.key.parse(after), self.key.parse(until), most)

    def bound(self, after: Key | None, until: Key | None, least: int, most: int) -> Key | None:
        return live_bounds.bound(self.members, self._identity, after, until, least, most)

    def key_text(self, key: Hashable) -> Key:
        return self.key.text(key)

    def batches(self, page: Page) -> Generator[Batch]:
        """Yield the entries of a page. Raise `KeyOrderError` if a key occurs twice."""
        distant = connections[self.bare_rows.db].vendor != "sqlite" and not self.declaration.needs_items
        size = rows_at_a_time(is_distant=distant, is_costly=self.members.are_costly)
        most = slice_size(size, self.declaration)
        after, until = self.key.parse(page.after), self.key.parse(page.until)
        return self._batches(self._slices(after, until, most), after)

    def _batches(self, slices: Generator[Rows], after: Hashable | None) -> Generator[Batch]:
        previous_keys: set[Hashable] = {after}
        # A traceback can keep these generators alive, and with them the thread that prefetches.
        with closing(slices):
            for rows in slices:
                keys = set(rows.keys)
                if len(keys) < len(rows.keys) or not keys.isdisjoint(previous_keys):
                    raise KeyOrderError(
                        f"Section {self.section!r}: the queryset returns rows of "
                        f"{self.bare_rows.model._meta.label} more than once after key {after!r}. Return "
                        "each row once, for example with distinct() or an aggregate."
                    )
                yield self.declaration.batch(rows)
                if rows.keys:
                    after, previous_keys = rows.keys[-1], keys

    def _slices(self, after: Hashable | None, until: Hashable | None, most: int) -> Generator[Rows]:
        """Yield the rows of a range, at most `most` at a time."""
        if not self.members.looks_beyond:
            first = self.members.first_span(after, until, most)
            yield from self._read_slices(self.annotated_rows, self.members, first, most)
            return
        # A page has at most `limit` rows, but any number of rows can follow the last page.
        page_size, most = self.limit + 1, self.members.keys_per_query(most)
        keys = [after]
        while keys:
            keys = self.members.keys(keys[-1], until, 0, page_size)
            for start in range(0, len(keys), most):
                rows = self.members.filter_keys(self.annotated_rows, keys[start : start + most])
                members = Members(self.key, rows, None, are_grouped=False)
                # The slice size exceeds the number of keys, so one query reads all of these rows.
                yield from self._read_slices(rows, members, Span(None, None, None), most + 1)
            if len(keys) < page_size:
                return

    def _read_slices(
        self, rows: QuerySet[Any], members: Members, first: Span, most: int
    ) -> Generator[Rows]:
        slices = Slices(members, self.declaration, self.times)
        read = slices.instances if self.declaration.needs_items else slices.columns
        return read(rows.order_by(*self.key.names), first, most)

    def newest(self, page: Page) -> str | None:
        return self.look(page).newest

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
            return Look(self._count_page(page), drop_future(self._newest_readable(page)))

    def _count_page(self, page: Page) -> int:
        """Return the number of rows of a page, or one more than fit on any page."""
        return self.count(page.after, page.until, self.entries_per_page + 1)

    def _newest_readable(self, page: Page) -> str | None:
        """Return the newest lastmod of the readable rows, since the page lists only these."""
        lastmods = [text for batch in self.batches(page) for text in batch.lastmods or ()]
        return None if None in lastmods else max(lastmods, default=None)  # type: ignore[type-var]
