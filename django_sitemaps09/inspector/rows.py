"""Look up the row behind a URL in one section, with a few small queries."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

from django.core.exceptions import FieldError, ValidationError
from django.db import DataError
from django.db.models import F, QuerySet

from django_sitemaps09 import sources
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Batch, excerpt
from django_sitemaps09.hooks.annotations import add_columns
from django_sitemaps09.hooks.expressions import FormatName
from django_sitemaps09.inspector.candidates import column_conditions, field_conditions, template_conditions
from django_sitemaps09.inspector.published_entries import Entry, entries_of_item
from django_sitemaps09.orm.internals import add_condition, remove_order
from django_sitemaps09.pages import Key
from django_sitemaps09.protocol import Base
from django_sitemaps09.routing.location_templates import LocationTemplate
from django_sitemaps09.routing.routes import ResolvedPath
from django_sitemaps09.sitemaps import StaticViewSitemap
from django_sitemaps09.sitemaps.declared import Declared
from django_sitemaps09.sources import QuerySource
from django_sitemaps09.sources.members import KeyInRows, Members
from django_sitemaps09.sources.slices import Slices
from django_sitemaps09.state.manifest import PageFile, SectionRecord
from django_sitemaps09.status import read_listing, unread_source
from django_sitemaps09.views import exported
from django_sitemaps09.views.live import addresses
from django_sitemaps09.views.live.listing import ListedPage
from django_sitemaps09.writer import FORMATS, elements

#: Maximum number of rows that a search returns. The values of most locations belong to one row.
MAX_FOUND = 10
_ESCAPE = re.compile("%[0-9a-fA-F]{2}")


class FoundRow(NamedTuple):
    """Row of a section's model.

    `is_listed` is false if `items()` filters the row out. It is `None` if only a query of all rows can
    tell, because a window function filters them.
    """

    key: Hashable
    is_listed: bool | None


class LiveRow(NamedTuple):
    """Item of a section as it is now.

    `entry` is its entry for the URL, `None` if the item is skipped. `source` is `None` for an item without
    a key. `skipped` has the skipped elements, or the reasons why the whole item is skipped.
    """

    section: str
    row: FoundRow
    entry: Entry | None
    source: QuerySource | None = None
    skipped: tuple[str, ...] = ()

    @property
    def is_in_next_export(self) -> bool:
        """Return whether the next export lists the item, or if only an export can tell."""
        return self.entry is not None and self.row.is_listed is not False

    def exported_page(self, record: SectionRecord | None) -> str | None:
        """Return the name of the exported page whose keys include that of the item, or `None`."""
        if record is None or self.source is None or record.key_identity != self.source.key_identity:
            return None
        return self._name_at_key(record.pages, record.file_names)

    def live_page(self) -> str | None:
        """Return the name of the live page of the item, or `None` if no listing is cached."""
        source = self.source
        if source is None:
            return None
        listing = read_listing(source, source.declared.sitemap, source.declared.base)
        if listing is None:
            return None
        names = addresses.names(self.section, listing, exported.published_pages(source))
        return self._name_at_key(listing.pages, [*names])

    def _name_at_key(self, pages: Sequence[ListedPage | PageFile], names: Sequence[str]) -> str | None:
        if self.source is None or not pages:
            return None
        return names[page_index(self.source, self.row.key, [page.until for page in pages])]


class SectionLookup(NamedTuple):
    """Result for one section. `can_match` is false if no location of the section can be the URL.

    `row` is `None` if no item was found. If `needs_search` is true, an item may exist, and the exported
    files must be searched. `is_unread` means that no row was read, since the section can only be read as a
    whole. `similar` is the location of a listed row that has the values of the URL, but another location.
    """

    can_match: bool
    row: LiveRow | None = None
    needs_search: bool = False
    is_unread: bool = False
    similar: str | None = None

    def reason(self, section: str) -> str:
        """Return why the section does not list the URL, if no row with the URL was found."""
        if self.similar is None:
            return f"Section {section!r} has no row with the values of this URL."
        return f"Section {section!r} lists another form of this URL: {excerpt(self.similar)}"


_NO_MATCH = SectionLookup(can_match=False)
_NEEDS_SEARCH = SectionLookup(can_match=True, needs_search=True, is_unread=True)


def look_up_row(
    name: str, sitemap: Declared, resolved: ResolvedPath, record: SectionRecord | None, location: str
) -> SectionLookup:
    """Look up a URL in the rows of a section. `resolved` is its path. `record` has the published pages."""
    if not sitemap.hooks:
        return _NEEDS_SEARCH
    if isinstance(sitemap.sitemap, StaticViewSitemap):
        return _look_up_view(name, sitemap.sitemap, sitemap.base, location)
    declared = sitemap.hooks["location"]
    is_template = isinstance(declared, LocationTemplate)
    conditions = template_conditions(declared, resolved, location) if is_template else None
    if conditions == []:
        return _NO_MATCH
    # The values of a method or a column are a guess, and so are several ways to read values from a URL.
    is_exact = conditions is not None and len(conditions) == 1
    source = unread_source(name, sitemap, record)
    if source is not None and isinstance(declared, F):
        conditions = column_conditions(source.members.rows.model, declared, location)
    elif source is not None and callable(declared) and resolved.match is not None:
        conditions = field_conditions(source.members.rows.model, resolved.match)
    if source is None or conditions is None:
        return _NEEDS_SEARCH
    # An indexed column is compared with the whole URL. Only with escapes, there are further spellings.
    is_searched = is_exact or (isinstance(declared, F) and "%" not in location)
    rows = [row for way in conditions for row in _live_rows(name, source, way, location, is_exact=is_exact)]
    wanted = _comparable(location)
    same_rows = [row for row in rows if row.entry is None or _comparable(row.entry.location) == wanted]
    same_rows.sort(key=lambda row: (row.entry is None, row.row.is_listed is False))
    others = (row.entry.location for row in rows if row.entry is not None and row not in same_rows)
    return SectionLookup(
        can_match=True,
        row=same_rows[0] if same_rows else None,
        needs_search=not is_searched,
        is_unread=callable(declared),
        similar=next(others, None),
    )


def _look_up_view(name: str, sitemap: Any, base: Base, location: str) -> SectionLookup:
    batch = sources.source(name, sitemap, base, conf.limits).sample()
    if batch is None:
        return _NO_MATCH
    entry = _entry(batch, "xml", base, location)
    row = None if entry is None else LiveRow(name, FoundRow(entry.location, is_listed=True), entry)
    plain = _entry(batch, "xml", base, location.partition("?")[0])
    return SectionLookup(plain is not None, row, similar=None if plain is None else plain.location)


def _live_rows(
    name: str, source: QuerySource, conditions: Mapping[str, Any], location: str, *, is_exact: bool
) -> Iterator[LiveRow]:
    """Yield the rows that have the URL, or its values. `is_exact` is false if the values are a guess."""
    try:
        found_rows = find_rows(source, conditions)
    except (FieldError, OverflowError, TypeError, ValidationError, ValueError):
        # A value of the path is invalid for its column.
        return
    except DataError:
        # Text in PostgreSQL cannot contain the NUL character.
        if "%00" not in location:
            raise
        return
    for row in found_rows:
        batch = row_batch(source, row)
        if batch is None:
            continue
        skipped = tuple(map(str, batch.errors))
        entry = _entry(batch, source.declared.format, source.declared.base, location)
        if entry is None and is_exact and batch.keys and row.is_listed:
            entry = _entry(batch, source.declared.format, source.declared.base, None)
        # The URL of an item without any location cannot be compared.
        is_skipped = is_exact and not batch.keys and any(error.field != "any" for error in batch.errors)
        if entry is not None or is_skipped:
            yield LiveRow(name, row, entry, source, skipped)


def _entry(batch: Batch, format_name: FormatName, base: Base, location: str | None) -> Entry | None:
    """Return the entry with a location, in any of its languages; without a location, the first one."""
    texts = elements(FORMATS[format_name], batch, str(base))
    entries = (entry for text in texts for entry in entries_of_item(text))
    if location is not None:
        wanted = _comparable(location)
        entries = (entry for entry in entries if _comparable(entry.location) == wanted)
    return next(entries, None)


def _comparable(location: str) -> str:
    """Return a URL without its scheme, and with escapes in upper case."""
    return _ESCAPE.sub(lambda match: match[0].upper(), location).partition("://")[2]


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
