"""Page maps of the native views, kept in Django's cache for a while."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.apps import apps
from django.conf import settings
from django.urls import get_script_prefix, set_script_prefix

from django_sitemaps09 import pages, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.pages import Key, Page
from django_sitemaps09.sources import Source, has_key_ranges
from django_sitemaps09.views import caching, exported

# The version of the form of cached maps, which is a part of their names.
_FORM = 2
# The age in seconds at which a map is rebuilt. Pages are ranges, so an older map only fills them unevenly.
_SECONDS = 300
# The age at which it is rebuilt for a number that it lacks, which can be from another process's map.
_UNKNOWN_SECONDS = 60
# Seconds between two attempts to find a number that a map lacks elsewhere.
_LOOK_SECONDS = 10
# The base that URLs are measured with if a client sets the host, which must not affect the bounds of pages.
_HOST = "https://www.example.com"


class LiveMap(NamedTuple):
    """The pages of a section, and pages of earlier maps whose numbers it does not have.

    A crawler that has read an earlier index can still request these. `name` is the name of the map in the
    cache, or `None` if it is not kept. `cut_at` is in seconds since 1970.
    """

    name: str | None
    cut_at: float
    pages: tuple[Page, ...]
    previous_pages: tuple[Page, ...] = ()

    def find(self, number: int) -> Page | None:
        """Return the page with a number, `None` if there is none."""
        return next((page for page in (*self.pages, *self.previous_pages) if page.number == number), None)

    def keep(self) -> None:
        """Put the map into the cache. One without pages is rebuilt each time, which costs few queries."""
        if self.name is not None and self.pages:
            value = (
                self.cut_at,
                [tuple(page) for page in self.pages],
                [tuple(page) for page in self.previous_pages],
            )
            # Kept for twice that age: requests are answered from it while one of them cuts the next map.
            for name in (self.name, _newest_name(self.name)):
                caching.keep(name, value, 2 * _SECONDS)


def live_index(section: str, source: Source) -> list[tuple[Page, str | None]]:
    """Return the pages of a section with the newest lastmod of each. Both are cached for the same time."""
    live = _live_map(section, source)
    name = live.name and f"{live.name}:lastmods"
    lastmods = _lastmods(caching.get(name), live.cut_at) if name else {}
    missing = [page for page in live.pages if page not in lastmods]
    lastmods |= {page: source.newest(page) for page in missing}
    if name and missing:
        value = live.cut_at, [(tuple(page), lastmod) for page, lastmod in lastmods.items()]
        caching.keep(name, value, 2 * _SECONDS)
    return [(page, lastmods[page]) for page in live.pages]


def find_page(section: str, source: Source, number: int) -> Page | None:
    """Return the page with a number; `None` if there is none, mostly without a query."""
    is_of_export = has_key_ranges(source) and 1 < number < sources.LIVE_NUMBERS[0]
    if is_of_export and not exported.is_configured():
        return None
    live = _live_map(section, source)
    page = live.find(number)
    if page is None and live.name and caching.add(f"{live.name}:unknown", True, _LOOK_SECONDS):
        # There can be a new export, or another process can have a newer map.
        page = _live_map(section, source, _UNKNOWN_SECONDS, again=True).find(number)
    return page


def split_page(section: str, source: Source, page: Page, key: Key) -> None:
    """Move the rows of a page after a key to a page of their own, until the map is rebuilt."""
    live = _live_map(section, source)
    if page not in live.pages:
        return
    position = live.pages.index(page)
    number = sources.live_number(key, {live_page.number for live_page in live.pages})
    parts = pages.split(page, key, number)
    live._replace(pages=(*live.pages[:position], *parts, *live.pages[position + 1 :])).keep()


def _live_map(section: str, source: Source, seconds: float = _SECONDS, *, again: bool = False) -> LiveMap:
    """Return the cached map if it is younger than `seconds` or being rebuilt elsewhere, else a new one."""
    published = exported.find(section, source, again=again)
    base = _measured_base(source)
    name = None
    if source.map_cache_key is not None:
        # The name does not depend on a client's input. The export comes last: see `_newest_name`.
        rows_digest = sources.digest((_FORM, source.map_cache_key, len(base)))
        name = f"django_sitemaps09:map:{rows_digest}:{sources.digest(published)[:16]}"
    cached_map = _read(name, caching.get(name)) if name else None
    if cached_map is not None and (
        time.time() - cached_map.cut_at < seconds
        # One process at a time cuts a new map; others use the earlier one meanwhile.
        or not caching.add(f"{name}:cut", True, _UNKNOWN_SECONDS)
    ):
        return cached_map
    records = []
    if published is not None and has_key_ranges(source) and not source.is_empty():
        records = exported.records(section, source, published)
    with _script_prefix():
        rows = sources.rows_on_page(source, conf.limits, base)
    if records and has_key_ranges(source):
        live_pages = exported.live_pages(records[0], source, rows)
    else:
        live_pages = [*sources.live_pages(source, rows).pages]
    backup_pages = [page for record in records[1:] for page in record.page_map().pages]
    numbers = {page.number for page in live_pages}
    if cached_map is None and name is not None:
        # A map of the previous export, or from before the first: a crawler can have read that index.
        cached_map = _read(name, caching.get(_newest_name(name)))
    previous_pages = [
        page
        for page in (*(cached_map.pages if cached_map else ()), *backup_pages)
        if page.number not in numbers
    ]
    live = LiveMap(name, time.time(), tuple(live_pages), tuple(previous_pages))
    live.keep()
    return live


def _newest_name(name: str) -> str:
    """Return the name of the newest map of a section, whichever export it belongs to."""
    return name.rpartition(":")[0]


def _measured_base(source: Source) -> str:
    """Return the base for measuring the length of entries, which has the same length for all clients."""
    if conf.base_url is None and not apps.is_installed("django.contrib.sites"):
        return _HOST
    bases = source.bases if conf.base_url else [base._replace(scheme="https") for base in source.bases]
    return max(map(str, bases), key=len)


@contextmanager
def _script_prefix() -> Iterator[None]:
    """Set the script prefix of management commands: on some servers, a client can name another one."""
    prefix = get_script_prefix()
    set_script_prefix(settings.FORCE_SCRIPT_NAME or "/")
    try:
        yield
    finally:
        set_script_prefix(prefix)


def _read(name: str, value: Any) -> LiveMap | None:
    """Read a map from a cached value, which can be anything; return `None` if it is not a map."""
    try:
        cut_at, page_values, previous_values = value
        live = LiveMap(
            name, float(cut_at), tuple(map(_page, page_values)), tuple(map(_page, previous_values))
        )
    except (TypeError, ValueError):
        return None
    bounds = [page.until for page in live.pages]
    is_chain = [page.after for page in live.pages] == [None, *bounds[:-1]]
    return live if is_chain and len({page.number for page in live.pages}) == len(bounds) else None


def _page(value: Any) -> Page:
    """Return a cached value as a page. Raise `ValueError` or `TypeError` if it is not one.

    Some caches turn tuples into lists.
    """
    number, after, until = value
    return Page(int(number), _key(after), _key(until))


def _key(value: Iterable[object] | None) -> Key | None:
    if value is None:
        return None
    if isinstance(value, str):
        raise TypeError(f"{value!r:.200} is not a key")
    return tuple(map(str, value))


def _lastmods(value: Any, cut_at: float) -> dict[Page, str | None]:
    """Read the lastmods of the map that was cut at a time; an empty dict if they are of another map."""
    try:
        map_cut_at, page_values = value
        pairs = [(_page(page), None if lastmod is None else str(lastmod)) for page, lastmod in page_values]
    except (TypeError, ValueError):
        return {}
    return dict(pairs) if map_cut_at == cut_at else {}
