"""Querysets read by ranges of their key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from hashlib import sha256
from inspect import getattr_static
from itertools import chain, islice
from typing import Any, TypeAlias

from django.core.exceptions import EmptyResultSet, FieldError, ImproperlyConfigured
from django.db import connections
from django.db.models import Count, F, Max, QuerySet
from django.db.models.query import ModelIterable
from django.db.models.sql.query import Query

from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Batch
from django_sitemaps09.exceptions import KeyOrderError
from django_sitemaps09.pages import Key, Page
from django_sitemaps09.protocol import past
from django_sitemaps09.sitemaps import ModelSitemap, alias, repeats_rows
from django_sitemaps09.sources.costs import step
from django_sitemaps09.sources.declaration import Declaration, Rows
from django_sitemaps09.sources.keys import KeyColumns
from django_sitemaps09.sources.times import TimeText
from django_sitemaps09.sources.values import lastmod_text

# Rows in memory at a time. Twice as many take no less time: from 2,000 new objects on, Python 3.13
# looks for garbage among them, which costs what fewer queries save.
SLICE = 1_500
# Where each query is a way to a server and back, which takes longer than that.
SERVER_SLICE = 5_000
# Instances of one slice in memory at a time, for the same reason: each is a handful of objects. With
# prefetches all of a slice, since each of those is a query.
INSTANCES = 250
# Rows that tell how long an entry is.
SAMPLE = 200
# The alias of a lastmod as text of the database.
_TEXT = alias("lastmod_text")
# A point in time in a query that is this near is the time of the query.
_NOW = timedelta(minutes=10)


#: A query, and what makes a slice of its rows.
_Read: TypeAlias = "tuple[QuerySet[Any], Callable[[QuerySet[Any]], Iterable[Rows] | None]]"


@dataclass(frozen=True, slots=True)
class QuerySource:
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
    def rows_per_page(self) -> int:
        return self.declaration.rows_per_page(self.limit)

    @property
    def entries_per_page(self) -> int:
        return self.declaration.entries_per_page(self.limit)

    @property
    def alternates(self) -> bool:
        return self.declaration.alternates

    @property
    def digest(self) -> str:
        """Of the query and the limit, less the time of the query, which would be another each time."""
        try:
            sql, parameters = self.bare.query.get_compiler(self.bare.db).as_sql()
        except EmptyResultSet:
            sql, parameters = "", ()
        lasting = [str(parameter) for parameter in parameters if not _is_now(str(parameter))]
        sitemap = type(self.declaration.sitemap)
        identity = (
            self.section,
            sitemap.__module__,
            sitemap.__qualname__,
            self.bare.db,
            self.key.names,
            self.declaration.base,
            self.limit,
            sql,
            lasting,
        )
        return sha256(repr(identity).encode()).hexdigest()

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

    def batches(self, page: Page) -> Iterator[Batch]:
        """`KeyOrderError` where a key comes twice."""
        distant = connections[self.bare.db].vendor != "sqlite" and not self.declaration.needs_items
        most = SERVER_SLICE if distant else SLICE
        return self._batches(self.key.parse(page.after), self.key.parse(page.until), most)

    def _batches(self, after: Hashable | None, until: Hashable | None, most: int) -> Iterator[Batch]:
        before: set[Hashable] = {after}
        reads = self._reads(self.key.until(self.annotated, until).order_by(*self.key.names))
        rows, made = reads.pop()
        while True:
            slices = made(self.key.beyond(rows, after)[:most])
            if slices is None:
                # The next slices will have more of what this way of reading does not understand.
                rows, made = reads.pop()
                continue
            count = 0
            for found in slices:
                keys = set(found.keys)
                if len(keys) < len(found.keys) or not keys.isdisjoint(before):
                    raise KeyOrderError(
                        f"Section {self.section!r}: rows of {self.bare.model._meta.label} come more "
                        f"than once behind key {after!r}. Make the queryset give each row once, for "
                        "example by distinct() or by an aggregate."
                    )
                yield self.declaration.batch(found)
                after, before, count = found.keys[-1], keys, count + len(found.keys)
            if count < most:
                return

    def _reads(self, rows: QuerySet[Any]) -> list[_Read]:
        """The ways of reading rows, the best one last.

        There is `None` where the text of a time is not what Python would have made; the way before it
        always gives one.
        """
        names, expressions = self.key.names, self.declaration.expressions
        if self.declaration.needs_items:
            # A key that is not the primary one is selected by us, whatever the queryset defers.
            key = {} if self.key.name == "pk" else {alias("key"): F(self.key.name)}
            return [(rows.annotate(**key), self._instances)]
        reads: list[_Read] = [(rows.values_list(*names, *expressions), self._columns)]
        if self.times is not None:
            texts = rows.annotate(**{_TEXT: self.times.expression})
            aliases = [_TEXT if name == alias("lastmod") else name for name in expressions]
            reads.append((texts.values_list(*names, *aliases), self._texts))
        return reads

    def _columns(self, found: QuerySet[Any]) -> list[Rows]:
        # What list(found) does, but for two passes over the rows.
        rows = found.query.get_compiler(found.db).results_iter(chunk_size=SERVER_SLICE)
        columns: list[Sequence[Any]] = list(zip(*rows, strict=True))
        if not columns:
            return []
        width = len(self.key.names)
        keys = columns[0] if width == 1 else list(zip(*columns[:width], strict=True))
        return [Rows(keys, None, dict(zip(self.declaration.expressions, columns[width:], strict=True)))]

    def _texts(self, found: QuerySet[Any]) -> list[Rows] | None:
        slices = []
        for rows in self._columns(found):
            lastmods = self.times and self.times.w3c(rows.columns[alias("lastmod")])
            if lastmods is None:
                return None
            slices.append(rows._replace(lastmods=lastmods))
        return slices

    def _instances(self, found: QuerySet[Any]) -> Iterator[Rows]:
        whole = bool(found._prefetch_related_lookups) or not reads_plainly(found)  # type: ignore[attr-defined]
        size = SLICE if whole else INSTANCES
        if whole:
            # Asked for at the first step, which is measured.
            made = chain.from_iterable([found])
        else:
            made = found._iterator(use_chunked_fetch=False, chunk_size=size)  # type: ignore[attr-defined]
        while True:
            with step("instances") as cost:
                items = list(islice(made, size))
                cost.items = len(items)
            if not items:
                return
            keys = [item.pk if self.key.name == "pk" else getattr(item, alias("key")) for item in items]
            columns = {name: [getattr(i, name) for i in items] for name in self.declaration.expressions}
            yield Rows(keys, items, columns)

    def newest(self, page: Page) -> str | None:
        column = alias("lastmod")
        if column not in self.declaration.expressions:
            return self.declaration.constant_lastmod()
        after, until = self.key.parse(page.after), self.key.parse(page.until)
        found = self.key.until(self.key.beyond(self.annotated, after), until).aggregate(
            newest=Max(column), dated=Count(column), rows=Count("pk")
        )
        if found["newest"] is None or found["dated"] < found["rows"]:
            return None
        try:
            return past(lastmod_text(found["newest"]))
        except ValueError:
            # Left out of the page too, and named there.
            return None


def _is_now(parameter: str) -> bool:
    """Whether a parameter is the present moment, as text of UTC or of `TIME_ZONE`."""
    try:
        moment = datetime.fromisoformat(parameter)
    except ValueError:
        return False
    zones = [moment.tzinfo] if moment.tzinfo else [timezone.utc, conf.zone]
    now = datetime.now(timezone.utc)
    return any(abs(now - moment.replace(tzinfo=zone)) < _NOW for zone in zones)


def _key_name(sitemap: object) -> str:
    """Contrib's classes know no `key`; theirs could be anything."""
    return sitemap.key if isinstance(sitemap, ModelSitemap) else "pk"


def key_ranged(items: Any, declaration: Declaration) -> QuerySet[Any] | None:
    """The items as a queryset in which a range of keys is a range of rows, or `None` if there is none.

    A multi-valued join, a filter on a window, and distinct() do not commute with a range: such a
    queryset is read as the rows whose key is in it.
    """
    if not can_reorder(items) or has_window(declaration.expressions, items):
        return None
    if not isinstance(declaration.sitemap, ModelSitemap):
        try:
            KeyColumns.of(items.model, "pk", items.db)
        except ImproperlyConfigured:
            return None
    rows: QuerySet[Any] = items.order_by()
    query = rows.query
    # reverse() outlives order_by(), and would turn the order of the key around.
    query.standard_ordering = True
    if not (query.distinct or repeats_rows(query) or filters_window(query)):
        return rows
    if (query.annotation_select or query.extra_select) and declaration.needs_items:
        return None
    outer: QuerySet[Any] = QuerySet(rows.model, using=rows.db).filter(pk__in=rows.values("pk"))
    outer.query.select_related = query.select_related
    outer.query.deferred_loading = query.deferred_loading
    outer = outer.prefetch_related(*rows._prefetch_related_lookups)  # type: ignore[attr-defined]
    try:
        outer.annotate(**declaration.expressions)
    except FieldError:
        # An expression names an annotation, which only the rows themselves have.
        return None
    return outer


def reads_plainly(items: QuerySet[Any]) -> bool:
    """Whether nothing of the project has a say in how rows are fetched, as caches of queries have."""
    return all(
        getattr_static(items, name) is getattr_static(QuerySet, name)
        for name in ("__iter__", "_fetch_all", "_iterator", "iterator")
    )


def can_reorder(items: Any) -> bool:
    """Whether items are rows of a model in an order that can be replaced by the key's."""
    if not isinstance(items, QuerySet):
        return False
    query = items.query
    return (
        # Another one may leave rows out, and then fewer rows than asked for are not the end.
        items._iterable_class is ModelIterable
        and not query.is_sliced
        and not query.combinator
        and not query.distinct_fields
    )


def has_window(expressions: Any, items: QuerySet[Any]) -> bool:
    """Whether a declared expression looks at other rows, which a range would cut off."""
    if not expressions:
        return False
    try:
        annotations = items.annotate(**expressions).query.annotations
    except FieldError as error:
        raise ImproperlyConfigured(f"A declared expression: {error}") from error
    return any(annotations[name].contains_over_clause for name in expressions)


def filters_window(query: Query) -> bool:
    """Whether rows or their annotations depend on a window over all rows."""
    return query.where.contains_over_clause or any(
        annotation.contains_over_clause for annotation in query.annotations.values()
    )
