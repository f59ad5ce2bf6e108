"""The page map of a section for the native views, as stored in the cache."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError

from django_sitemaps09 import protocol, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.pages import Key, Left, Look, Page, PageMap
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

    `base` identifies the export whose pages the map has adopted; it is empty without an export. Each change
    increments `generation`. `looked_at` is when all pages were counted, or cut, in seconds since 1970. A
    new page has at most `rows` rows. A page without a look is not counted yet. If this is the last page, it
    may have to be divided.
    """

    map: PageMap
    looks: Mapping[Page, Look]
    base: str
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
        """Return whether all pages have been counted."""
        return self.looks.keys() >= {*self.pages}

    def store(self, name: str) -> LiveMap:
        """Cache the map as the next generation, and return it. A map without any pages is not cached."""
        live = self._replace(generation=self.generation + 1)
        if not (self.pages or self.map.left):
            caching.delete(name)
            return live
        value = (
            live.base,
            live.generation,
            live.looked_at,
            live.rows,
            [(*page, *self.looks.get(page, ())) for page in self.pages],
            [(*left.page, left.until, left.listed_until) for left in self.map.left[-_MAX_LEFT:]],
        )
        caching.store(name, value, max(_SECONDS, conf.keep_removed))
        return live


def read(name: str, source: QuerySource) -> LiveMap | None:
    """Return the cached map of a section. Return `None` if the cached value is not a valid map.

    Reading a map of thousands of pages takes as long as a short page, so each process does it once.
    """
    value = caching.get(name)
    known = _read.get(name)
    if known is None or known[0] != value:
        if len(_read) >= _MAX_READ:
            _read.clear()
        known = _read[name] = value, _parsed(value, source)
    return known[1]


def _parsed(value: Any, source: QuerySource) -> LiveMap | None:
    try:
        base, generation, looked_at, rows, page_values, left_values = value
        if (
            len(page_values) > _MAX_PAGES
            or len(left_values) > _MAX_LEFT
            or not 0 < rows <= protocol.MAX_URLS
        ):
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
        live = LiveMap(page_map, looks, str(base), int(generation), float(looked_at), int(rows))
    except (OverflowError, TypeError, ValueError, ValidationError):
        return None
    bounds = [page.until for page in pages]
    is_chain = [page.after for page in pages] == [None, *bounds][: len(bounds)]
    is_complete = not bounds or bounds[-1] is None
    is_unique = len({page.number for page in pages}) == len(bounds)
    has_size = 0 < live.rows <= protocol.MAX_URLS
    return live if is_chain and is_complete and is_unique and has_size else None


def lastmod(value: object) -> str | None:
    """Return a cached lastmod. Raise `ValueError` if it is invalid."""
    if value is not None and not _LASTMOD.fullmatch(str(value)):
        raise ValueError(f"{value!r:.200} is not a lastmod")
    return None if value is None else str(value)


def locked(name: str) -> AbstractContextManager[None]:
    """Hold the lock for changing a map inside a block. Raise `BusyError` if that takes too long."""
    return caching.locked(f"{name}:change", _LOCK_SECONDS, _WAIT)


def _page(number: Any, after: Any, until: Any) -> Page:
    """Parse a cached page. Raise `ValueError` or `TypeError` if it is invalid."""
    if not 0 < int(number) < sources.LIVE_NUMBERS.stop:
        raise ValueError(f"{number!r:.200} is not a page number")
    return Page(int(number), _key(after), _key(until))


def _key(value: Iterable[object] | None) -> Key | None:
    if isinstance(value, str):
        raise TypeError(f"{value!r:.200} is not a key")
    # Some caches turn tuples into lists.
    key = None if value is None else tuple(map(str, value))
    if key is not None and not _VALID.fullmatch("".join(key)):
        raise ValueError(f"{value!r:.200} is not a key")
    return key
