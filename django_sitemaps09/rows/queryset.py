"""Read querysets by ranges of their key."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeGuard

from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import Count, DateField, QuerySet

from django_sitemaps09.conf import site_locale
from django_sitemaps09.declare.annotations import add_columns
from django_sitemaps09.declare.calls import lastmod_text
from django_sitemaps09.declare.expressions import Newest
from django_sitemaps09.declare.models import ModelSitemap
from django_sitemaps09.exceptions import KeyOrderError
from django_sitemaps09.orm.facts import Facts
from django_sitemaps09.orm.internals import add_condition
from django_sitemaps09.orm.reading import UNREADABLE
from django_sitemaps09.protocol.entries import Batch, ItemError
from django_sitemaps09.protocol.fields import typed_repr
from django_sitemaps09.protocol.pages import MANY, Fingerprint, Key, Look, Page
from django_sitemaps09.protocol.values import drop_future
from django_sitemaps09.rows import fingerprints
from django_sitemaps09.rows.conversion import LASTMOD, Conversion, Rows
from django_sitemaps09.rows.declaration_digests import declared_facts, digest_of, query_facts
from django_sitemaps09.rows.fingerprints import RunningFingerprint, hashes_rows_here
from django_sitemaps09.rows.keys import Bound, KeyColumns
from django_sitemaps09.rows.members import KeyInRows, Members, Span
from django_sitemaps09.rows.slices import SAMPLE, Slices
from django_sitemaps09.rows.source_base import CompiledSource, Source


@dataclass(frozen=True)
class QuerySource(CompiledSource):
    """Source that reads a queryset in key order. As in keyset pagination, all pages cost the same."""

    section: str
    annotated_rows: QuerySet[Any]
    members: Members
    #: The rows of `members`, and those whose key is NULL or unreadable.
    all_rows: QuerySet[Any]
    #: Whether Django's own methods fetch the rows.
    is_plain: bool

    @classmethod
    def from_rows(
        cls,
        section: str,
        conversion: Conversion,
        rows: QuerySet[Any],
        original: QuerySet[Any] | None = None,
    ) -> QuerySource:
        """Return the source of rows. If `original` is set, only rows with a key from it are listed.

        Raise `ImproperlyConfigured` for an unsuitable key or expression.
        """
        # On classes written for `django.contrib.sitemaps`, an attribute `key` can mean anything.
        sitemap = conversion.declared.sitemap
        key_name = sitemap.key if isinstance(sitemap, ModelSitemap) else "pk"
        if not isinstance(key_name, str):
            problem = f"key must be the name of a field, not {typed_repr(key_name)}"
            raise ImproperlyConfigured(f"{type(sitemap).__qualname__}.{problem}.")
        key = KeyColumns.from_field(rows.model, key_name, rows.db)
        # The queryset can repeat its rows, so they are not counted there.
        all_rows = rows if original is None else add_condition(rows, KeyInRows(original))
        rows = key.filter_readable(rows)
        annotated_rows = add_columns(rows, conversion.expressions)
        annotated = Facts(annotated_rows)
        if annotated.repeats_rows:
            raise ImproperlyConfigured(
                f"Section {section!r}: an expression of {type(sitemap).__qualname__} follows "
                "a multi-valued relation, which would repeat items. Use an aggregate such as Max(), or "
                "a method that takes the item."
            )
        members = Members(key, rows, original, are_grouped=annotated.is_grouped)
        return cls(conversion, section, annotated_rows, members, all_rows, annotated.fetches_plainly)

    @cached_property
    def declaration_digest(self) -> str:
        names = self.members.key.names
        rows = self._range_rows(None, None).order_by(*names)
        if not self.conversion.needs_items:
            rows = rows.values_list(*names, *self.conversion.expressions)
        return digest_of((names, *declared_facts(self.declared), query_facts(rows)))

    @property
    def key_identity(self) -> tuple[str, ...]:
        return self.members.key.identity()

    def in_order(self, bounds: Sequence[Key]) -> bool:
        return self.members.key.in_order(bounds)

    @property
    def can_fingerprint(self) -> bool:
        # The newest row must be known.
        with suppress(KeyError, FieldError):
            lastmod = self.annotated_rows.query.annotations[LASTMOD].output_field
            return self.can_hash and isinstance(lastmod, DateField)
        return False

    @cached_property
    def can_hash(self) -> bool:
        """Whether a page has a fingerprint, even if no lastmod shows how old its rows are."""
        is_read_plainly = self.is_plain and not self.conversion.needs_items
        return is_read_plainly and fingerprints.can_hash(self.annotated_rows)

    @property
    def hashes_cheaply(self) -> bool:
        # On 2026-11-28, hashes added 4 to 8% to a full run on SQLite, 8 to 12% on PostgreSQL with the
        # server's time, and a quarter on MariaDB.
        return hashes_rows_here(self.members.rows.db)

    def fingerprint(self, after: Key | None, until: Key | None, most: int | None = None) -> Fingerprint:
        """Return the fingerprint of a range's rows in one query; with `most`, of at most one row more."""
        rows, columns = self._range_rows(after, until), [*self.conversion.expressions]
        with site_locale():
            return fingerprints.fingerprint(rows, self.members.key.names, columns, most)

    def fingerprints(self, pages: Sequence[Page]) -> list[Fingerprint]:
        """Return the fingerprints of pages in key order: from one query, or on SQLite one by one."""
        is_local = hashes_rows_here(self.members.rows.db)
        if is_local or len(pages) == 1:
            read = self._read_fingerprint if self.members.are_costly and not is_local else self.fingerprint
            return [read(page.after, page.until) for page in pages]
        rows, columns = self._range_rows(pages[0].after, pages[-1].until), [*self.conversion.expressions]
        ends = [end for page in pages for end in (page.after, page.until) if end is not None]
        # Pages that are not adjacent have a range between them.
        places = {end: place for place, end in enumerate(dict.fromkeys(ends), 1)}
        bounds = list(map(self.members.key.parse, places))
        with site_locale():
            found = fingerprints.range_fingerprints(rows, self.members.key, columns, bounds)
        return [found[0 if page.after is None else places[page.after]] for page in pages]

    def _read_fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        """Read rows in slices: for a page at once, PostgreSQL may read a whole joined table."""
        running = RunningFingerprint(self.members.rows.db)
        bounds = self.members.key.parse_range(after, until)
        with closing(self._slices(are_hashed=True).in_range(*bounds, self.declared.limit)) as slices:
            for rows in slices:
                running.add(rows.hashed)
        return running.value() if running.is_known else self.fingerprint(after, until)

    def _range_rows(self, after: Key | None, until: Key | None) -> QuerySet[Any]:
        return self.members.filter_range(self.annotated_rows, *self.members.key.parse_range(after, until))

    def is_empty(self) -> bool:
        members = self.members
        return not (members.rows.exists() if members.original is None else members.keys(None, None, 0, 1))

    def sample(self) -> Batch | None:
        until = None
        if self.members.are_far:
            keys = self.members.keys(None, None, 0, SAMPLE)
            if not keys:
                return None
            until = keys[-1]
        slices = self._slices(are_hashed=False).read(Span(None, until, until), SAMPLE)
        return next(self._batches(slices, None), None)

    def unreadable_keys(self) -> list[tuple[int, ItemError]]:
        """Return how many rows no page can list, for each reason. Needs a query for each reason."""
        return list(self.members.key.unreadable(self.all_rows))

    def key_after(self, after: Key | None, count: int, until: Key | None = None) -> Key | None:
        keys = self.members.keys(*self.members.key.parse_range(after, until), count - 1, 2)
        return self.key_text(keys[0]) if len(keys) == 2 else None

    def count(self, after: Key | None, until: Key | None, most: int) -> int:
        return self.members.count_up_to(*self.members.key.parse_range(after, until), most)

    def key_text(self, key: Hashable) -> Key:
        return self.members.key.text(key)

    def batches(self, page: Page, running: RunningFingerprint | None = None) -> Generator[Batch]:
        """Yield the entries of a page. Add its rows to `running`. Raise `KeyOrderError` for equal keys."""
        after, until = self.members.key.parse_range(page.after, page.until)
        slices = self._slices(are_hashed=running is not None)
        return self._batches(slices.in_range(after, until, self.declared.limit), after, running)

    def _slices(self, *, are_hashed: bool) -> Slices:
        rows = self.annotated_rows.order_by(*self.members.key.names)
        return Slices(rows, self.members, self.conversion, self.is_plain, are_hashed)

    def _batches(
        self, slices: Generator[Rows], after: Bound, running: RunningFingerprint | None = None
    ) -> Generator[Batch]:
        previous_keys: set[Hashable] = {after}
        homes: set[str] = set()
        # A traceback can keep these generators alive, and with them the thread that prefetches.
        with closing(slices):
            for rows in slices:
                keys = set(rows.keys)
                if len(keys) < len(rows.keys) or not keys.isdisjoint(previous_keys):
                    raise KeyOrderError(self._repetition(after))
                batch = self.conversion.batch(rows, homes)
                if running is not None:
                    running.add(rows.hashed, () if isinstance(batch.lastmods, str) else batch.lastmods)
                yield batch
                if rows.keys:
                    after, previous_keys = rows.keys[-1], keys

    def _repetition(self, after: Bound) -> str:
        options, key = self.annotated_rows.model._meta, self.members.key.name
        place = "" if after is None else f" after key {after!r}"
        if options.managed:
            problem = f"the queryset returns rows of {options.label} more than once{place}"
            advice = (
                "Return each row once, for example with distinct() or an aggregate. If no row repeats, the "
                "database sorts this key otherwise than it compares it: name another one as `key`."
            )
        else:
            problem = f"the key {key!r} of {options.label} is not unique in {options.db_table}{place}"
            advice = "Set primary_key=True on a column that is unique and not null, or name one as `key`."
        return f"Section {self.section!r}: {problem}. {advice}"

    def look(self, page: Page) -> Look:
        """Return how many rows a page has now, and its newest lastmod, in one query."""
        if LASTMOD not in self.conversion.expressions:
            return Look(self.count(page.after, page.until, MANY), self.declared.constants.get("lastmod"))
        newest_lastmod = Newest(LASTMOD, expression=self.annotated_rows.query.annotations[LASTMOD])
        rows = self._range_rows(page.after, page.until)
        try:
            totals = rows.aggregate(newest=newest_lastmod, dated=Count(LASTMOD), rows=Count("pk"))
            is_known = totals["newest"] is not None and totals["dated"] >= totals["rows"]
            return Look(totals["rows"], drop_future(lastmod_text(totals["newest"])) if is_known else None)
        except UNREADABLE:
            # A row is unreadable. When the page is written, the row is skipped and reported.
            lastmods = [text for batch in self.batches(page) for text in batch.lastmods or ()]
            newest = None if None in lastmods else max(lastmods, default=None)  # type: ignore[type-var]
            return Look(self.count(page.after, page.until, MANY), drop_future(newest))


class PageRows(NamedTuple):
    """Batches of a page, and the fingerprint of the rows that were read for them."""

    batches: Generator[Batch]
    running: RunningFingerprint | None

    @property
    def fingerprint(self) -> Fingerprint | None:
        """Fingerprint of the page, after the last batch; `None` if it is unknown."""
        return self.running.value() if self.running is not None and self.running.is_known else None


@contextmanager
def read_page(source: Source, page: Page, *, needs_fingerprint: bool = True) -> Iterator[PageRows]:
    """Read a page inside the block. Its fingerprint is unknown if rows are unreadable or have none."""
    running = None
    if needs_fingerprint and has_key_ranges(source) and source.can_hash:
        running = RunningFingerprint(source.members.rows.db)
        batches = source.batches(page, running)
    else:
        batches = source.batches(page)
    with closing(batches):
        yield PageRows(batches, running)


def has_key_ranges(source: Source) -> TypeGuard[QuerySource]:
    """Return whether the pages of a source are key ranges instead of ranges of positions."""
    return isinstance(source, QuerySource)
