"""The page map of a section for the native views: its value, how its pages change, and its cached form."""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError

from django_sitemaps09 import protocol, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.pages import Key, Left, Look, Page, PageMap, fullest
from django_sitemaps09.sources import QuerySource
from django_sitemaps09.views import caching

#: The version of the cached format. It is part of the cache keys.
FORMAT = 5
# Seconds until a map expires in the cache. Each time it is stored, this time begins again.
_SECONDS = 30 * 86_400
# Maximum number of earlier ranges that are kept: memcached refuses values of more than a megabyte.
_MAX_LEFT = 2_000
# Maximum number of pages, each of which costs queries: as many as one index lists.
_MAX_PAGES = protocol.MAX_URLS
# Adjacent pages are merged if the result is at most this full, in percent of a page.
_MERGED = 85
# The W3C format. A cached lastmod becomes markup.
_LASTMOD = re.compile(r"[0-9]{4}[0-9TZ:.+-]{0,36}")
# Databases do not accept a NUL or half of a surrogate pair in a query.
_VALID = re.compile("[^\0\ud800-\udfff]*")
# Maximum number of maps that a process has read. Each needs about as much memory as a page.
_MAX_READ = 200
# Cached values, and the maps that were read from them.
_read: dict[str, tuple[Any, LiveMap | None]] = {}
# Seconds until the lock for changing a map expires, and seconds to wait for it.
_LOCK_SECONDS, _WAIT = 30, 5


class LiveMap(NamedTuple):
    """The pages of a section, and what was seen of them when they were last counted.

    `export_digest` identifies the export whose pages the map has adopted; it is empty without an export.
    Each change increments `generation`. `looked_at` is when all pages were counted, or cut, in seconds
    since 1970. A new page has at most `rows` rows. A page without a look is not counted yet. If this is the
    last page, it may have to be divided.
    """

    map: PageMap
    looks: Mapping[Page, Look]
    export_digest: str
    generation: int
    looked_at: float
    rows: int

    @property
    def pages(self) -> tuple[Page, ...]:
        return self.map.pages

    @property
    def is_whole(self) -> bool:
        """Return whether the rows after the other pages have been divided, too."""
        return not self.pages or self.pages[-1] in self.looks

    @property
    def is_counted(self) -> bool:
        return self.looks.keys() >= {*self.pages}

    @property
    def leaving(self) -> list[Page]:
        """Ranges that are not among the pages, but that indexes list until others have grown."""
        numbers, now = {page.number for page in self.pages}, time.time()
        pages = [left.page for left in self.map.left if now < left.listed_until]
        return [page for page in pages if page.number not in numbers]

    def is_recent(self, seconds: float) -> bool:
        """Return whether all pages were counted, or cut, in the last seconds."""
        return 0 <= time.time() - self.looked_at < seconds

    def replaced(self, source: QuerySource, pages: Sequence[Page]) -> LiveMap:
        """Return the map with other pages. Ranges that an index named answer for `KEEP_REMOVED`."""
        now = time.time()
        left = {part.page.number: part for part in self.map.left if part.until > now}
        listed = {page.number: page for page in pages}
        changed = {*pages}.difference(self.pages)
        listed_until = dict.fromkeys(self._absorbed(source, pages), now + _unaware_seconds())

        def covers(page: Page, part: Page) -> bool:
            if page.after != part.after or page.until == part.until or page.until is None:
                return page.after == part.after
            return part.until is not None and source.in_order((part.until, page.until))

        def is_listed(page: Page) -> bool:
            current = listed.get(page.number)
            # An open end can be what remains to be divided, which no index names.
            return current is not None and current.until is not None and covers(current, page)

        for page in self.pages:
            # No index lists a live page without a known end. Those of other processes may list the rest.
            is_named = (
                page.until is not None or page in self.looks or page.number not in sources.LIVE_NUMBERS
            )
            if is_named and not is_listed(page):
                earlier = left.get(page.number)
                if earlier is not None and covers(earlier.page, page):
                    page = earlier.page
                last_listed = listed_until.get(page.number, 0.0)
                left[page.number] = Left(page, max(now, last_listed) + conf.keep_removed, last_listed)
        kept = [
            part
            for number, part in left.items()
            if listed.get(number) not in changed or not is_listed(part.page)
        ]
        page_map = PageMap(tuple(pages), tuple(sorted(kept, key=lambda part: part.until)))
        looks = {page: self.looks[page] for page in pages if page in self.looks}
        return self._replace(map=page_map, looks=looks)

    def _absorbed(self, source: QuerySource, pages: Sequence[Page]) -> Iterator[int]:
        """Yield the numbers that leave the map while their rows are on a page that ended before them.

        A page with an earlier number of its own can also return with a later end than it had.
        """
        numbers = {page.number for page in pages}
        leaving = [
            position
            for position, page in enumerate(self.pages)
            if page.number not in numbers and (page not in self.looks or self.looks[page].rows)
        ]
        answered = {part.page.number: part.page for part in self.map.left}
        answered |= {page.number: page for page in self.pages}
        starts = {page.after: position for position, page in enumerate(self.pages)}
        start = 0
        for page in pages if leaving else ():
            # A new bound lies on the same page as the bound before it.
            start = starts.get(page.after, start)
            before = answered.get(page.number)
            if before is None or before.until in (None, page.until):
                continue
            first = bisect_left(leaving, start + (before in self.pages[start : start + 1]))
            for left in (self.pages[position] for position in leaving[first:]):
                if page.until is not None and not (
                    left.after not in (None, page.until) and source.in_order((left.after, page.until))
                ):
                    break
                yield left.number


def _unaware_seconds() -> float:
    """Return how long others may use a page as it was before it grew: processes, and shared caches."""
    ages = [int(conf.cache_control.get(name, 0)) for name in ("max_age", "s_maxage")]
    return 2 * conf.live_seconds + max(ages) + int(conf.cache_control.get("stale_while_revalidate", 0))


class Repair:
    """Divides the pages of maps that have too many rows, and merges adjacent pages that fit on one page.

    What is counted and divided is kept, so that the same map needs no queries for a second time.
    """

    def __init__(self, source: QuerySource, looks: Mapping[Page, Look]) -> None:
        self._source, self.looks = source, dict(looks)
        self._parts: dict[Page, list[Page]] = {}

    def pages(self, live: LiveMap) -> tuple[Page, ...]:
        """Return the pages that a map should have, all of which are counted."""
        numbers = {page.number for page in live.pages}
        most = fullest(live.rows)
        merged: list[Page] = []
        for page in live.pages:
            parts = [page]
            if self._rows(page) > (
                live.rows if page.until is None else max(self._source.rows_per_page, most)
            ):
                if page not in self._parts:
                    self._parts[page] = [*sources.divide(self._source.members, page, live.rows, numbers)]
                parts = self._parts[page]
                numbers |= {part.number for part in parts}
            for part in parts:
                counts = [self._rows(page) for page in (*merged[-1:], part)]
                if len(counts) == 2 and (0 in counts or sum(counts) <= most * _MERGED // 100):
                    part = merged.pop()._replace(until=part.until)
                merged.append(part)
        counts = [self._rows(page) for page in merged]
        return tuple(merged) if any(counts) else ()

    def _rows(self, page: Page) -> int:
        if page not in self.looks:
            self.looks[page] = self._source.look(page)
        return self.looks[page].rows


def read(name: str, source: QuerySource) -> LiveMap | None:
    """Return the cached map of a section. Return `None` if the cached value is not a valid map.

    Reading a map of thousands of pages takes as long as a short page, so each process does it once.
    """
    value = caching.default.get(name)
    known = _read.get(name)
    if known is None or known[0] != value:
        if len(_read) >= _MAX_READ:
            _read.clear()
        known = _read[name] = value, _parsed(value, source)
    return known[1]


def change(name: str, source: QuerySource, live: LiveMap, changed: Callable[[LiveMap], LiveMap]) -> LiveMap:
    """Cache a changed map as its next generation, and return it; one that has lost all pages is not cached.

    `changed` gets the cached map, or `live` if there is none, and no other request changes it meanwhile. If
    it returns the same map, the cache stays as it is. Raise `BusyError` if others change it for too long.
    """
    with caching.Lock(f"{name}:change", _LOCK_SECONDS, wait=_WAIT):
        current = read(name, source) or live
        live = changed(current)
        if live is current:
            return live
        live = live._replace(generation=live.generation + 1)
        if not (live.pages or live.map.left):
            caching.default.delete(name)
            return live
        pages = [(*page, *live.looks.get(page, ())) for page in live.pages]
        left = [(*part.page, part.until, part.listed_until) for part in live.map.left[-_MAX_LEFT:]]
        value = (live.export_digest, live.generation, live.looked_at, live.rows, pages, left)
        caching.default.set(name, value, max(_SECONDS, conf.keep_removed))
        return live


def _parsed(value: Any, source: QuerySource) -> LiveMap | None:
    try:
        export_digest, generation, looked_at, rows, page_values, left_values = value
        if len(page_values) > _MAX_PAGES or len(left_values) > _MAX_LEFT:
            return None
        pages, looks = [], {}
        for number, after, until, *look in page_values:
            pages.append(_page(number, after, until))
            # Later, an invalid key would be an error of a query.
            source.members.key.parse(pages[-1].until)
            if look:
                count, newest = look
                looks[pages[-1]] = Look(int(count), lastmod(newest))
        left = [Left(_page(*page), float(until), float(listed)) for *page, until, listed in left_values]
        for part in left:
            source.members.key.parse(part.page.after)
            source.members.key.parse(part.page.until)
        page_map = PageMap(tuple(pages), tuple(left))
        live = LiveMap(page_map, looks, str(export_digest), int(generation), float(looked_at), int(rows))
    except (OverflowError, TypeError, ValueError, ValidationError):
        return None
    bounds = [page.until for page in pages]
    is_chain = [page.after for page in pages] == [None, *bounds][: len(bounds)]
    is_complete = not bounds or (bounds[-1] is None and None not in bounds[:-1])
    is_unique = len({page.number for page in pages}) == len(bounds)
    has_size = 0 < live.rows <= protocol.MAX_URLS
    return live if is_chain and is_complete and is_unique and has_size else None


def lastmod(value: object) -> str | None:
    """Return a cached lastmod. Raise `ValueError` if it is invalid."""
    if value is not None and not _LASTMOD.fullmatch(str(value)):
        raise ValueError(f"{value!r:.200} is not a lastmod")
    return None if value is None else str(value)


def _page(number: Any, after: Any, until: Any) -> Page:
    """Parse a cached page. Raise `ValueError` or `TypeError` if it is invalid."""
    if not 0 < int(number) < sources.LIVE_NUMBERS.stop:
        raise ValueError(f"{number!r:.200} is not a page number")
    return Page(int(number), _key(after), _key(until))


def _key(value: Iterable[object] | None) -> Key | None:
    if value is None:
        return None
    # Some caches turn tuples into lists.
    key = tuple(map(str, value))
    if isinstance(value, str) or not _VALID.fullmatch("".join(key)):
        raise ValueError(f"{value!r:.200} is not a key")
    return key
