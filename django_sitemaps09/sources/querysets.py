"""Querysets read by ranges of their key."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from django.core.exceptions import EmptyResultSet, ImproperlyConfigured
from django.db import connections
from django.db.models import Count, F, Max, QuerySet

from django_sitemaps09.conf import site_locale
from django_sitemaps09.entries import Batch
from django_sitemaps09.exceptions import KeyOrderError
from django_sitemaps09.pages import Fingerprint, Key, Page
from django_sitemaps09.protocol import past
from django_sitemaps09.rows import (
    one_by_one,
    reads_plainly,
    repeats_rows,
)
from django_sitemaps09.sitemaps import ModelSitemap, alias
from django_sitemaps09.sources import digests
from django_sitemaps09.sources.ahead import ahead
from django_sitemaps09.sources.costs import step
from django_sitemaps09.sources.declaration import Declaration, Rows
from django_sitemaps09.sources.declared import Declared
from django_sitemaps09.sources.fingerprints import fingerprint, hashes, is_date
from django_sitemaps09.sources.identity import Identity
from django_sitemaps09.sources.keys import KeyColumns
from django_sitemaps09.sources.times import TimeText
from django_sitemaps09.sources.values import lastmod_text

# Rows in memory at a time. Twice as many take no less time: from 2,000 new objects on, Python 3.13
# looks for garbage among them, which costs what fewer queries save.
SLICE = 1_500
# Where each query is a way to a server and back, which takes longer than that.
SERVER_SLICE = 3_000
# Instances of one slice in memory at a time, for the same reason: each is a handful of objects. With
# prefetches all of a slice, since each of those is a query.
INSTANCES = 250
# Rows that tell how long an entry is.
SAMPLE = 200
# A query for fewer would cost more than its rows.
_FEWEST = 100
# The alias of a lastmod as text of the database.
_TEXT = alias("lastmod_text")


@dataclass(frozen=True, slots=True)
class QuerySource(Declared):
    """A queryset whose rows have a key: any page of it costs the same, wherever it lies."""

    section: str
    bare: QuerySet[Any]
    annotated: QuerySet[Any]
    key: KeyColumns
    times: TimeText | None
    declaration: Declaration
    limit: int

    @classmethod
    def of(cls, section: str, rows: QuerySet[Any], declaration: Declaration, limit: int) -> QuerySource:
        """`ImproperlyConfigured` where the key or an expression does not fit the rows."""
        key = KeyColumns.of(rows.model, _key_name(declaration.sitemap), rows.db)
        annotated = rows.annotate(**declaration.expressions)
        if repeats_rows(annotated.query):
            raise ImproperlyConfigured(
                f"Section {section!r}: an expression of {type(declaration.sitemap).__qualname__} "
                "follows a relation to many rows, so that items would repeat. Use an aggregate "
                "such as Max(), or a method that takes the item."
            )
        times = None if declaration.needs_items else TimeText.of(annotated, alias("lastmod"))
        return cls(section, rows, annotated, key, times, declaration, limit)

    @property
    def digest(self) -> str:
        """Of the query and the limit, less the time of the query, which would be another each time."""
        try:
            sql, parameters = self.bare.query.get_compiler(self.bare.db).as_sql()
        except EmptyResultSet:
            sql, parameters = "", ()
        sitemap = type(self.declaration.sitemap)
        identity = (
            self.section,
            sitemap.__module__,
            sitemap.__qualname__,
            self.bare.db,
            self.key.names,
            self.declaration.hosts,
            self.limit,
            sql,
            digests.lasting(parameters),
        )
        return digests.digest(identity)

    @property
    def declared(self) -> str:
        rows = self.annotated.order_by(*self.key.names)
        if not self.declaration.needs_items:
            rows = rows.values_list(*self.key.names, *self.declaration.expressions)
        return digests.digest(
            (
                self.bare.db,
                self.key.names,
                digests.of_class(self.declaration.sitemap, self.declaration.hosts.others, self.limit),
                digests.of_declaration(self.declaration),
                digests.of_query(rows),
            )
        )

    @property
    def identity(self) -> tuple[str, ...]:
        return self._identity.texts()

    @property
    def _identity(self) -> Identity:
        return Identity(self.key, self.bare.model, self.bare.db)

    def in_order(self, bounds: Sequence[Key]) -> bool:
        return self._identity.in_order(bounds)

    @property
    def skippable(self) -> bool:
        return (
            not self.declaration.needs_items
            and is_date(self.annotated, alias("lastmod"))
            and reads_plainly(self.annotated)
        )

    def fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        expressions, lastmod = self.declaration.expressions, alias("lastmod")
        rows = self.annotated
        if not hashes(connections[rows.db].vendor):
            # What is not hashed need not be joined either.
            expressions = {lastmod: expressions[lastmod]}
            rows = self.bare.annotate(**expressions)
        rows = self._between(rows, after, until)
        with site_locale():
            return fingerprint(rows, self.key.names, [*expressions], lastmod)

    def _between(self, rows: QuerySet[Any], after: Key | None, until: Key | None) -> QuerySet[Any]:
        return self.key.until(self.key.beyond(rows, self.key.parse(after)), self.key.parse(until))

    @property
    def fleeting(self) -> bool:
        return False

    def is_empty(self) -> bool:
        return not self.bare.exists()

    def sample(self) -> Batch | None:
        return next(self._batches(None, None, SAMPLE), None)

    def jump(self, after: Key | None, count: int) -> Key | None:
        rows = self.key.beyond(self.bare, self.key.parse(after)).order_by(*self.key.names)
        found = list(rows.values_list(*self.key.names)[count - 1 : count + 1])
        return self.key.text(self.key.of_row(found[0])) if len(found) == 2 else None

    def key_text(self, key: Hashable) -> Key:
        return self.key.text(key)

    def batches(self, page: Page) -> Generator[Batch]:
        """`KeyOrderError` where a key comes twice."""
        distant = connections[self.bare.db].vendor != "sqlite" and not self.declaration.needs_items
        most = slice_size(SERVER_SLICE if distant else SLICE, self.declaration)
        return self._batches(self.key.parse(page.after), self.key.parse(page.until), most)

    def _batches(self, after: Hashable | None, until: Hashable | None, most: int) -> Generator[Batch]:
        before: set[Hashable] = {after}
        rows = self.key.until(self.annotated, until).order_by(*self.key.names)
        slices = self._instances if self.declaration.needs_items else self._columns
        for found in slices(rows, after, most):
            keys = set(found.keys)
            if len(keys) < len(found.keys) or not keys.isdisjoint(before):
                raise KeyOrderError(
                    f"Section {self.section!r}: rows of {self.bare.model._meta.label} come more "
                    f"than once behind key {after!r}. Make the queryset give each row once, for "
                    "example by distinct() or by an aggregate."
                )
            yield self.declaration.batch(found)
            after, before = found.keys[-1], keys

    def _columns(self, rows: QuerySet[Any], after: Hashable | None, most: int) -> Generator[Rows]:
        """Slices of the declared expressions; the next one is on its way while one is used."""
        names, expressions = self.key.names, self.declaration.expressions
        values, times = rows.values_list(*names, *expressions), self.times
        if times is not None:
            aliases = [_TEXT if name == alias("lastmod") else name for name in expressions]
            rows = rows.annotate(**{_TEXT: times.expression}).values_list(*names, *aliases)
        else:
            rows = values
        # What leaves rows out by itself has more of them behind a slice that is not full.
        plain = reads_plainly(rows)
        with ahead(connections[rows.db], plainly=plain) as begin:
            result = begin(self.key.beyond(rows, after)[:most])
            while found := result():
                if len(found) == most or not plain:
                    result = begin(self.key.beyond(rows, self.key.of_row(found[-1]))[:most])
                columns: list[Sequence[Any]] = list(zip(*found, strict=True))
                width = len(names)
                keys = columns[0] if width == 1 else list(zip(*columns[:width], strict=True))
                read = Rows(keys, None, dict(zip(expressions, columns[width:], strict=True)))
                if times is not None:
                    lastmods = times.w3c(read.columns[alias("lastmod")])
                    if lastmods is None:
                        # The next slices will have more of what Python has to look at.
                        rows, times = values, None
                        result = begin(self.key.beyond(rows, after)[:most])
                        continue
                    read = read._replace(lastmods=lastmods)
                yield read
                after = keys[-1]
                if len(found) < most and plain:
                    return

    def _instances(self, rows: QuerySet[Any], after: Hashable | None, most: int) -> Generator[Rows]:
        # A key that is not the primary one is selected by us, whatever the queryset defers.
        if self.key.name != "pk":
            rows = rows.annotate(**{alias("key"): F(self.key.name)})
        plain = reads_plainly(rows)
        whole = bool(rows._prefetch_related_lookups) or not plain  # type: ignore[attr-defined]
        size = most if whole else min(most, INSTANCES)
        count = most
        while count == most or (count and not plain):
            found, count = self.key.beyond(rows, after)[:most], 0
            # Those of a list are asked for at the first step, which is measured.
            with one_by_one(chain.from_iterable([found]) if whole else found, size) as made:
                while items := self._step(made, size):
                    keys = [i.pk if self.key.name == "pk" else getattr(i, alias("key")) for i in items]
                    columns = {
                        name: [getattr(i, name) for i in items] for name in self.declaration.expressions
                    }
                    yield Rows(keys, items, columns)
                    after, count = keys[-1], count + len(items)

    @staticmethod
    def _step(made: Iterator[Any], size: int) -> list[Any]:
        with step("instances") as cost:
            items = list(islice(made, size))
            cost.items = len(items)
        return items

    def newest(self, page: Page) -> str | None:
        column = alias("lastmod")
        if column not in self.declaration.expressions:
            return self.declaration.constant_lastmod()
        found = self._between(self.annotated, page.after, page.until).aggregate(
            newest=Max(column), dated=Count(column), rows=Count("pk")
        )
        if found["newest"] is None or found["dated"] < found["rows"]:
            return None
        try:
            return past(lastmod_text(found["newest"]))
        except ValueError:
            # Left out of the page too, and named there.
            return None


def slice_size(rows: int, declaration: Declaration) -> int:
    """Fewer rows where each has an entry, and a link in each of those, for many languages."""
    return max(rows // declaration.entries_per_item, min(rows, _FEWEST))


def _key_name(sitemap: object) -> str:
    """Contrib's classes know no `key`; theirs could be anything."""
    return sitemap.key if isinstance(sitemap, ModelSitemap) else "pk"
