"""Look up the rows behind a URL in many sections, of which most have none, with a few small queries."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import closing, suppress
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

from django.core.exceptions import EmptyResultSet, FieldError, ValidationError
from django.db import DataError, connections
from django.db.models import F, QuerySet

from django_sitemaps09.conf import conf
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.annotations import add_columns
from django_sitemaps09.declare.expressions import LocationTemplate
from django_sitemaps09.declare.locations import ResolvedPath
from django_sitemaps09.declare.models import StaticViewSitemap
from django_sitemaps09.declare.sections import Section
from django_sitemaps09.declare.sitemap_attributes import Declared, read
from django_sitemaps09.orm.facts import Facts
from django_sitemaps09.orm.internals import add_condition, compile_query, remove_order
from django_sitemaps09.protocol.documents import elements
from django_sitemaps09.protocol.entries import Batch
from django_sitemaps09.protocol.fields import excerpt
from django_sitemaps09.protocol.urls import Base, normalized, origin
from django_sitemaps09.protocol.urlset import FORMATS
from django_sitemaps09.rows.compile import compile_source
from django_sitemaps09.rows.declaration_digests import declared_facts, digest_of
from django_sitemaps09.rows.members import KeyInRows, Members
from django_sitemaps09.rows.queryset import QuerySource
from django_sitemaps09.rows.slices import Slices
from django_sitemaps09.target.manifest import PageFile
from django_sitemaps09.tools.inspector.conditions import (
    column_conditions,
    field_conditions,
    template_conditions,
)
from django_sitemaps09.tools.inspector.exported_files import Entry, entries_of_item
from django_sitemaps09.tools.status import ExportState, read_listing, unread_source
from django_sitemaps09.views import exported, listing as listings
from django_sitemaps09.views.responses import savepoints

# Maximum numbers of rows that a query returns, and of queries that one query checks for rows. The values of
# most locations belong to one row.
_MAX_FOUND, _MAX_CHECKED = 10, 100
# Maximum number of sections that list a row, and of others, whose row one lookup reads: all that are shown.
_MAX_READ = 11

#: A function that returns the rows of a query.
Read: TypeAlias = Callable[[QuerySet[Any]], list[Any]]
# What identifies a query: its database, its SQL and the texts of its parameters.
_Key: TypeAlias = tuple[str, str, str]


class LiveRow(NamedTuple):
    """Item of a section as it is now, without an `entry` if it is skipped, and a `source` if it has no key.

    `skipped` has the skipped elements, or the reasons why the whole item is skipped.
    """

    section: str
    key: Hashable
    #: Whether the section lists it; `None` if only a query of all rows can tell.
    is_listed: bool | None
    entry: Entry | None = None
    source: QuerySource | None = None
    skipped: tuple[str, ...] = ()

    @property
    def is_in_next_export(self) -> bool:
        """Whether the next export lists the item, also if only an export can tell."""
        return self.entry is not None and self.is_listed is not False

    def exported_page(self, export: ExportState) -> str | None:
        """Return the name of the exported page whose keys include that of the item, or `None`."""
        source, record = self.source, export.record(self.section)
        if not (record and record.pages and source and record.key_identity == source.key_identity):
            return None
        return record.file_names[page_index(source, self.key, record.pages)]

    def live_page(self) -> str | None:
        """Return the name of the live page of the item, or `None` if no listing is cached."""
        source = self.source
        if source is None:
            return None
        listing = read_listing(source, source.declared.sitemap, source.declared.base)
        if listing is None or not listing.pages:
            return None
        names = [*listings.names(self.section, listing, exported.published_pages(source))]
        return names[page_index(source, self.key, listing.pages)]


class SectionLookup(NamedTuple):
    """Result for one section. `can_match` is false if no location of the section can be the URL.

    If it `needs_search`, an item may exist, and the exported files must be searched. `is_unread` means that
    the section can only be read as a whole. `similar` is another location of a listed row that has the
    values of the URL. `former_row` has the key in the URL, of a row that may have been deleted.
    """

    can_match: bool
    row: LiveRow | None = None
    needs_search: bool = False
    is_unread: bool = False
    similar: str | None = None
    former_row: LiveRow | None = None

    @property
    def reason(self) -> str:
        """Why a section does not list the URL, after the name of the section."""
        form = self.similar and f": another form of this URL is listed: {excerpt(self.similar)}"
        return form or ": no row has the values of this URL."


_NO_MATCH = SectionLookup(can_match=False)
# The section no longer has such a location, but may have had it when it was exported.
_MAY_BE_EXPORTED = SectionLookup(can_match=True, needs_search=True)
_NEEDS_SEARCH = SectionLookup(can_match=True, needs_search=True, is_unread=True)


class KeyQueries:
    """Queries and their results. Equal queries run once."""

    def __init__(self) -> None:
        # The parameters are kept, because the `repr()` of some is their address in memory.
        self._results: dict[_Key, tuple[Sequence[Any], list[Any]]] = {}
        #: The number of sections whose rows were found, by whether they list them.
        self.sections_read: Counter[bool] = Counter()

    def rows(self, query: QuerySet[Any]) -> list[Any]:
        """Return the first rows of a query."""
        key, parameters = _compiled(query)
        if key not in self._results:
            self._results[key] = parameters, list(query[:_MAX_FOUND])
        return self._results[key][1]

    def prepare(self, searches: Sequence[Callable[[Read], object]]) -> None:
        """Find out which queries of many searches have no rows, without running each of them.

        A query that fails here fails again in `rows()`, where its section is known.
        """
        known, planned = set[_Key](), dict[_Key, Sequence[Any]]()

        def read(query: QuerySet[Any]) -> list[Any]:
            key, parameters = _compiled(query)
            if key in known:
                return self.rows(query)
            planned[key] = parameters
            return []

        # The second time, the searches read rows, and have further queries.
        for _ in range(2):
            for search in searches:
                with suppress(Exception), savepoints():
                    search(read)
            for alias in {key[0] for key in planned}:
                pairs = [pair for pair in planned.items() if pair[0][0] == alias]
                for start in range(0, len(pairs), _MAX_CHECKED):
                    self._exclude_empty(alias, pairs[start : start + _MAX_CHECKED])
            known.update(planned)
            planned.clear()

    def _exclude_empty(self, alias: str, pairs: Sequence[tuple[_Key, Sequence[Any]]]) -> None:
        # A few queries are only run if they are needed.
        if len(pairs) <= _MAX_FOUND:
            return
        columns = ", ".join(f"CASE WHEN EXISTS({sql}) THEN 1 ELSE 0 END" for (_, sql, _), _ in pairs)
        try:
            with savepoints(), connections[alias].cursor() as cursor:
                cursor.execute(f"SELECT {columns}", [*chain.from_iterable(values for _, values in pairs)])
                found = zip(pairs, cursor.fetchone(), strict=True)
        except Exception:  # noqa: BLE001 the project's own queries can raise anything
            middle = len(pairs) // 2
            self._exclude_empty(alias, pairs[:middle])
            self._exclude_empty(alias, pairs[middle:])
        else:
            self._results |= {key: (values, []) for (key, values), has_rows in found if not has_rows}


def _compiled(rows: QuerySet[Any]) -> tuple[_Key, Sequence[Any]]:
    """Return what identifies the query of rows, and its parameters."""
    try:
        sql, parameters, _ = compile_query(rows, connections[rows.db])
    except EmptyResultSet:
        sql, parameters = "SELECT 1 WHERE 1 = 0", ()
    # `repr()` shortens JSON, and does not show bytes: psycopg and Python wrap their objects.
    values = repr([getattr(value, "obj", value) for value in parameters])
    return (rows.db, sql, values), parameters


class RowSearch(NamedTuple):
    """Search for the rows of a section with a URL. It is not exact if the `conditions` are a guess."""

    source: QuerySource
    conditions: Sequence[Mapping[str, Any]]
    location: str
    is_exact: bool

    def found(self, read: Read) -> dict[Hashable, bool | None]:
        """Return the keys of the rows for which any of the conditions holds, and whether each is listed."""
        found = dict[Hashable, bool | None]()
        for way in self.conditions:
            try:
                found |= find_rows(self.source, way, read)
            except (DataError, FieldError, OverflowError, TypeError, ValidationError, ValueError) as error:
                # A value of the path is invalid for its column: text in PostgreSQL cannot contain NUL.
                if isinstance(error, DataError) and "%00" not in self.location:
                    raise
        return found

    def result(self, queries: KeyQueries) -> SectionLookup:
        found = self.found(queries.rows)
        is_listed = any(each is not False for each in found.values())
        queries.sections_read[is_listed] += bool(found)
        # Hundreds of sections can have the same row.
        is_complete = queries.sections_read[is_listed] <= _MAX_READ or not found
        rows = [*filter(None, (self._live_row(*pair) for pair in found.items() if is_complete))]
        declared = self.source.declared.hooks["location"]
        # An indexed column is compared with the whole URL. Escapes and dots allow further spellings.
        is_plain = "%" not in self.location and "/." not in self.location
        is_searched = self.is_exact or (isinstance(declared, F) and is_plain)
        wanted = _comparable(self.location)
        same_rows = [row for row in rows if row.entry is None or _comparable(row.entry.location) == wanted]
        same_rows.sort(key=lambda row: (row.entry is None, row.is_listed is False))
        others = (row.entry.location for row in rows if row.entry is not None and row not in same_rows)
        return SectionLookup(
            can_match=True,
            row=next(iter(same_rows), None),
            needs_search=not is_searched or (is_listed and not is_complete),
            is_unread=callable(declared),
            similar=next(others, None),
            former_row=None if same_rows else self._former_row(),
        )

    def _former_row(self) -> LiveRow | None:
        """Return the row with the integer key in the URL, whether it exists or not."""
        key, expressions = self.source.members.key, self.source.conversion.expressions
        for name, value in chain.from_iterable(way.items() for way in self.conditions):
            field, text = getattr(expressions.get(name), "name", name), str(value)
            if key.is_integer and field in ("pk", *key.names) and text.isdecimal():
                return LiveRow(self.source.section, int(text), is_listed=False, source=self.source)
        return None

    def _live_row(self, key: Hashable, is_listed: bool | None) -> LiveRow | None:
        """Return the row as it is now if it has the URL, or its values."""
        source, batch = self.source, row_batch(self.source, key, is_listed=is_listed)
        if batch is None:
            return None
        entry = _entry(batch, source.declared, self.location)
        if entry is None and self.is_exact and batch.keys and is_listed:
            entry = _entry(batch, source.declared)
        # The URL of an item without any location cannot be compared.
        is_skipped = self.is_exact and not batch.keys and any(e.field != "any" for e in batch.errors)
        live = LiveRow(source.section, key, is_listed, entry, source, tuple(map(str, batch.errors)))
        return live if entry is not None or is_skipped else None


def row_search(
    name: str, section: Section, base: Base, resolved: ResolvedPath, export: ExportState, location: str
) -> RowSearch | SectionLookup:
    """Return how to look up a URL, whose path is `resolved`, or the result if no row is read."""
    sitemap, record = read(sections.bind(section, base.domain), base, conf.limits), export.record(name)
    hosts = (origin(str(sitemap.base)), *sitemap.hosts.others)
    is_foreign = origin(location) not in hosts
    if not sitemap.hooks:
        return _NO_MATCH if is_foreign else _NEEDS_SEARCH
    if isinstance(sitemap.sitemap, StaticViewSitemap):
        lookup = _look_up_view(name, sitemap, location)
        return lookup if lookup.can_match or record is None else _MAY_BE_EXPORTED
    declared = sitemap.hooks["location"]
    conditions: Sequence[Mapping[str, Any]] | None = [] if is_foreign else None
    if isinstance(declared, LocationTemplate) and not is_foreign:
        conditions = template_conditions(declared, resolved, location)
    source = unread_source(name, sitemap, record)
    if conditions == []:
        new = digest_of(declared_facts(sitemap)) if source is None else source.declaration_digest
        return _MAY_BE_EXPORTED if record and record.declaration_digest != new else _NO_MATCH
    is_exact = conditions is not None and len(conditions) == 1
    if source is not None and isinstance(declared, F):
        conditions = column_conditions(source.members.rows.model, declared, location)
    elif source is not None and callable(declared) and resolved.match is not None:
        conditions = field_conditions(source.members.rows.model, resolved.match)
    if source is None or conditions is None:
        return _NEEDS_SEARCH
    return RowSearch(source, conditions, location, is_exact)


def _look_up_view(name: str, declared: Declared, location: str) -> SectionLookup:
    batch = compile_source(name, declared.sitemap, declared.base, conf.limits).sample()
    if batch is None:
        return _NO_MATCH
    entry = _entry(batch, declared, location)
    row = entry and LiveRow(name, entry.location, is_listed=True, entry=entry)
    plain = _entry(batch, declared, location.partition("?")[0])
    return SectionLookup(plain is not None, row, similar=plain and plain.location)


def _entry(batch: Batch, declared: Declared, location: str = "") -> Entry | None:
    """Return the entry with a location, in any of its languages; without a location, the first one."""
    texts, wanted = elements(FORMATS[declared.format], batch, str(declared.base)), _comparable(location)
    entries = (entry for text in texts for entry in entries_of_item(text))
    matches = (entry for entry in entries if not location or _comparable(entry.location) == wanted)
    return next(matches, None)


def _comparable(location: str) -> str:
    """Return the same string for equivalent URLs, whatever their scheme."""
    return normalized(location).partition("://")[2]


def find_rows(
    source: QuerySource, conditions: Mapping[str, Any], read: Read
) -> dict[Hashable, bool | None]:
    """Return the keys of the rows for which the conditions hold, and whether the section lists each."""
    members, original = source.members, source.members.original

    def keys(rows: QuerySet[Any]) -> list[Hashable]:
        # With an order, a database may read the rows in this order instead of using an index.
        found = members.key_rows(remove_order(rows.filter(**conditions)))
        return list(map(members.key.row_key, read(found)))

    listed = keys(source.annotated_rows)
    if members.looks_beyond:
        return dict.fromkeys(listed)
    if original is not None:
        return {key: bool(read(_membership(members, original, key))) for key in listed}
    return dict.fromkeys(listed or keys(_all_rows(source)), bool(listed))


def _all_rows(source: QuerySource) -> QuerySet[Any]:
    return add_columns(source.members.model_rows(), source.conversion.expressions)


def _membership(members: Members, original: QuerySet[Any], key: Hashable) -> QuerySet[Any]:
    """Return the query of the row with a key, if the project's own queryset has it."""
    condition = KeyInRows(members.filter_keys(original, [key]))
    return members.key_rows(add_condition(members.filter_keys(members.rows, [key]), condition))


def row_batch(source: QuerySource, key: Hashable, *, is_listed: bool | None) -> Batch | None:
    """Return the entries of one row as they are now; `None` if the row no longer exists."""
    has_rows = is_listed is not False or source.members.original is not None
    rows = (source.annotated_rows if has_rows else _all_rows(source)).order_by(*source.members.key.names)
    slices = Slices(rows, source.members, source.conversion, Facts(rows).fetches_plainly)
    with closing(slices.with_keys([key])) as parts:
        return next(map(source.conversion.batch, parts), None)


def page_index(source: QuerySource, key: Any, pages: Sequence[listings.ListedPage | PageFile]) -> int:
    """Return the index of the page with a key. Only the database knows the order of most kinds of keys."""
    key_columns = source.members.key

    def is_within(page: listings.ListedPage | PageFile) -> bool:
        until: Any = key_columns.parse(page.until)
        if key_columns.is_integer:
            return bool(key <= until)
        rows = source.members.filter_keys(source.members.model_rows(), [key])
        return key_columns.filter_range(rows, None, until).exists()

    return bisect_left(pages[:-1], True, key=is_within)
