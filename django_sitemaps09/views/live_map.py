"""The page map of a section for the native views, as stored in the cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any, NamedTuple

from django_sitemaps09 import pages, sources
from django_sitemaps09.pages import Key, Page
from django_sitemaps09.sources import QuerySource
from django_sitemaps09.views import caching

#: The version of the cached format. It is part of the cache keys.
FORMAT = 3
#: Seconds after which a map is renewed.
AGE = 300
# Seconds until a map in a shared cache expires. Each renewal restarts this time.
_SHARED_SECONDS = 30 * 86_400
# Maximum number of pages from earlier maps that are kept.
_MAX_PREVIOUS = 1_000


class LiveMap(NamedTuple):
    """The pages of a section, and pages of earlier maps whose numbers are not in use now.

    A crawler that has read an earlier index can still request `previous_pages`. `name` is the cache key of
    the map, or `None` if the map is not cached. `renewed_at` is in seconds since 1970. A new page has
    `rows` rows. `highest` is the highest page number of the export that the map is based on, or `None`.
    """

    name: str | None
    renewed_at: float
    rows: int
    highest: int | None
    pages: tuple[Page, ...]
    previous_pages: tuple[Page, ...] = ()

    def find(self, number: int) -> Page | None:
        """Return the page with this number, or `None`."""
        return next((page for page in (*self.pages, *self.previous_pages) if page.number == number), None)

    def store(self) -> None:
        """Cache the map. A map without pages is not cached, since building it needs only a few queries."""
        if self.name is None:
            return
        value = (
            *self[1:4],
            [tuple(page) for page in self.pages],
            [tuple(page) for page in self.previous_pages[-_MAX_PREVIOUS:]],
        )
        # Longer than `AGE`: while one request builds the next map, other requests use this one.
        seconds = _SHARED_SECONDS if not caching.is_failing() and caching.is_shared() else 2 * AGE
        for name in (self.name, newest_name(self.name)):
            if self.pages:
                caching.store(name, value, seconds)
            else:
                caching.delete(name)

    def with_page(self, page: Page, *parts: Page) -> LiveMap:
        """Return a copy of the map in which `parts` replace a page."""
        position = self.pages.index(page)
        return self._replace(pages=(*self.pages[:position], *parts, *self.pages[position + 1 :]))

    def without_page(self, page: Page) -> LiveMap:
        """Return a copy of the map without this page. An adjacent page takes over its range."""
        position = self.pages.index(page)
        before, after = self.pages[:position], self.pages[position + 1 :]
        if after:
            after = (after[0]._replace(after=page.after), *after[1:])
        elif before:
            before = (*before[:-1], before[-1]._replace(until=page.until))
        return self._replace(pages=before + after, previous_pages=(*self.previous_pages, page))

    def with_previous(self, previous_pages: Iterable[Page]) -> LiveMap:
        """Return a copy of the map with the pages of an earlier map whose numbers are not in use now."""
        numbers = {page.number for page in (*self.pages, *self.previous_pages)}
        added = tuple(page for page in previous_pages if page.number not in numbers)
        return self._replace(previous_pages=(*self.previous_pages, *added))

    def extended(self, source: QuerySource, now: float) -> LiveMap:
        """Return a copy of the map with new pages for the rows that no longer fit on the last page.

        If all rows fit, this needs one query.
        """
        live = self._replace(renewed_at=now)
        last_page = self.pages[-1]
        if source.key_after(last_page.after, self.rows) is None:
            return live
        if self.highest is None:
            numbers = {page.number for page in self.pages}
            return live.with_page(last_page, *sources.divide(source, last_page, self.rows, numbers))
        # The next export will use the same numbers for its new pages.
        numbers_after_export = _chain(last_page.number, self.highest + 1)
        parts = tuple(pages.each_page(source, self.rows, numbers_after_export, last_page.after))
        return live.with_page(last_page, *parts)._replace(highest=max(self.highest, parts[-1].number))


def _chain(first: int, following: int) -> Iterator[int]:
    yield first
    yield from count(following)


def newest_name(name: str) -> str:
    """Return the cache key of a section's newest map: a map's key without the part for the export."""
    return name.rpartition(":")[0]


def read(name: str) -> LiveMap | None:
    """Return a cached map. Return `None` if the cached value is not a valid map."""
    try:
        renewed_at, rows, highest, page_values, previous_values = caching.get(name)
        live = LiveMap(
            name,
            float(renewed_at),
            int(rows),
            None if highest is None else int(highest),
            tuple(map(read_page, page_values)),
            tuple(map(read_page, previous_values)),
        )
    except (OverflowError, TypeError, ValueError):
        return None
    bounds = [page.until for page in live.pages]
    is_chain = [page.after for page in live.pages] == [None, *bounds[:-1]]
    is_complete = bool(bounds) and bounds[-1] is None and live.rows > 0
    is_unique = len({page.number for page in live.pages}) == len(bounds)
    return live if is_chain and is_complete and is_unique else None


def read_page(value: Any) -> Page:
    """Parse a cached page. Raise `ValueError` or `TypeError` if it is invalid."""
    number, after, until = value
    return Page(int(number), _key(after), _key(until))


def _key(value: Iterable[object] | None) -> Key | None:
    if isinstance(value, str):
        raise TypeError(f"{value!r:.200} is not a key")
    # Some caches turn tuples into lists.
    return None if value is None else tuple(map(str, value))
