"""Build the page maps of the native views, and keep them in Django's cache.

If processes share the cache, they share a map and update it: new pages are added at the end, a page that
overflows is divided, and an empty page is merged with a neighboring page. Otherwise, each process
regularly builds a new map from the rows. The maps of all processes are then the same as long as the rows
are the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from django.urls import get_script_prefix, set_script_prefix

from django_sitemaps09 import pages, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.pages import Key, Page
from django_sitemaps09.sources import QuerySource, Source, has_key_ranges
from django_sitemaps09.views import caching, exported, live_map
from django_sitemaps09.views.exported import Published
from django_sitemaps09.views.live_map import LiveMap
from django_sitemaps09.views.responses import configured_script_prefix, is_host_from_client
from django_sitemaps09.views.stopwatch import Stopwatch, map_subject

# Seconds after which a map is renewed if it lacks a requested page number. A newer map may have this page.
_UNKNOWN_SECONDS = 60
# Seconds between two searches for page numbers that a map lacks.
_SEARCH_SECONDS = 10
# Seconds until the lock for building a map, or for reading its lastmods, expires.
_BUILD_SECONDS = 60
#: The base for measuring URLs if clients choose the host. Their choice must not affect page bounds.
HOST = "https://www.example.com"

#: The time of reading in seconds since 1970, and the newest lastmod of each page.
_Lastmods: TypeAlias = "tuple[float, dict[Page, str | None]]"


def live_index(section: str, source: Source) -> list[tuple[Page, str | None]]:
    """Return the pages of a section, each with its newest lastmod. Both are at most five minutes old."""
    live = _live_map(section, source)
    if live.name is None:
        return [(page, source.newest(page)) for page in live.pages]
    # The key does not depend on the export: most pages have the same bounds after the next export.
    name = f"{live_map.newest_name(live.name)}:lastmods"

    def cached_lastmods() -> _Lastmods | None:
        read_at, lastmods = _read_lastmods(caching.get(name))
        return (read_at, lastmods) if lastmods.keys() >= {*live.pages} else None

    def read_lastmods() -> _Lastmods:
        read_at, lastmods = _read_lastmods(caching.get(name))
        now = time.time()
        if not 0 <= now - read_at < live_map.AGE:
            read_at, lastmods = now, {}
        lastmods = {
            page: lastmods[page] if page in lastmods else source.newest(page) for page in live.pages
        }
        value = read_at, [(tuple(page), lastmod) for page, lastmod in lastmods.items()]
        caching.store(name, value, 2 * live_map.AGE)
        return read_at, lastmods

    kept = cached_lastmods()
    if kept is None:
        kept = caching.once(name, cached_lastmods, read_lastmods, _BUILD_SECONDS)
    elif not 0 <= time.time() - kept[0] < live_map.AGE and caching.add(
        f"{name}:due", True, _UNKNOWN_SECONDS
    ):
        kept = read_lastmods()
    return [(page, kept[1][page]) for page in live.pages]


def find_page(section: str, source: Source, number: int) -> Page | None:
    """Return the page with this number, or `None`. This usually needs no database query."""
    is_exported_number = has_key_ranges(source) and 1 < number < sources.LIVE_NUMBERS[0]
    if is_exported_number and not exported.is_configured():
        return None
    live = _live_map(section, source)
    page = live.find(number)
    if page is None and live.name and caching.add(f"{live.name}:unknown", True, _SEARCH_SECONDS):
        # A new export, or a newer map from another process, may contain the number.
        page = _live_map(section, source, _UNKNOWN_SECONDS, again=True).find(number)
    if page is None and live.name:
        # Try the map of an export that could be read until a moment ago.
        newest = live_map.read(live_map.newest_name(live.name))
        page = newest and newest.find(number)
    return page


def split_page(section: str, source: Source, page: Page, key: Key) -> None:
    """Split a live page after a key, and store the new map."""
    live = _live_map(section, source)
    if page in live.pages:
        number = sources.live_number(key, {live_page.number for live_page in live.pages})
        live.with_page(page, *pages.split(page, key, number)).store()


def drop_page(section: str, source: QuerySource, page: Page) -> None:
    """Remove a page without rows from the index. An adjacent page takes over its range."""
    live = _live_map(section, source)
    if page in live.pages and not source.count(page.after, page.until, 1):
        live.without_page(page).store()


def cached_map(source: QuerySource) -> LiveMap | None:
    """Return the newest cached map of a section. No map is built or renewed, and no query is executed."""
    return live_map.read(_newest_name(source, _measured_base(source)))


def _newest_name(source: QuerySource, base: str) -> str:
    """Return the cache key of the newest map of a section. Clients cannot influence it."""
    return f"django_sitemaps09:map:{sources.digest((live_map.FORMAT, source.map_cache_key, len(base)))}"


def _live_map(
    section: str, source: Source, seconds: float = live_map.AGE, *, again: bool = False
) -> LiveMap:
    """Return the cached map if it is newer than `seconds` or being renewed elsewhere, else a new map."""
    stopwatch = Stopwatch(map_subject(section))
    published = exported.find(section, source, again=again)
    base = _measured_base(source)
    if not has_key_ranges(source):
        return _cut(section, source, None, base, None)
    # The last part of the cache key identifies the export: see `newest_name`.
    name = f"{_newest_name(source, base)}:{sources.digest(published)[:16]}"
    cached_map = live_map.read(name)
    if cached_map is None:
        return _first_map(section, source, published, base, name)
    is_current = 0 <= time.time() - cached_map.renewed_at < seconds
    # Prevent a cache stampede: one process renews the map, and others use the current one meanwhile.
    if is_current or not caching.add(f"{name}:due", True, _UNKNOWN_SECONDS):
        stopwatch.log("hit" if is_current else "outdated", len(cached_map.pages), "page")
        return cached_map
    if caching.is_failing() or not caching.is_shared():
        return _cut(section, source, published, base, name, cached_map)
    live = cached_map.extended(source, time.time())
    newest = live_map.read(live_map.newest_name(name))
    if newest is not None:
        live = live.with_previous(newest.pages)
    live.store()
    stopwatch.log("renewed", len(live.pages), "page")
    return live


def _first_map(
    section: str, source: QuerySource, published: Published | None, base: str, name: str
) -> LiveMap:
    """Build a map. If another request is building it, return the newest map, or wait if there is none."""
    stopwatch = Stopwatch(map_subject(section))
    # Keep the pages of the map from before this export: crawlers may have read its index.
    newest = live_map.read(live_map.newest_name(name))
    meanwhile = newest and newest._replace(name=f"{live_map.newest_name(name)}:")

    def built_elsewhere() -> LiveMap | None:
        live = live_map.read(name)
        if live is not None:
            stopwatch.log("waited", len(live.pages), "page")
        return live

    live = caching.once(
        name,
        built_elsewhere,
        lambda: _cut(section, source, published, base, name, newest),
        _BUILD_SECONDS,
        meanwhile,
    )
    if live is meanwhile:
        stopwatch.log("outdated", len(live.pages), "page")
    return live


def _cut(
    section: str,
    source: Source,
    published: Published | None,
    base: str,
    name: str | None,
    previous: LiveMap | None = None,
) -> LiveMap:
    """Build the map of a section, and cache it under `name`. Use the published pages if there are any."""
    stopwatch = Stopwatch(map_subject(section))
    records = []
    if published is not None and has_key_ranges(source) and not source.is_empty():
        records = exported.records(section, source, published)
    with _script_prefix():
        rows = sources.rows_on_page(source, conf.limits, base)
    if records and has_key_ranges(source):
        live_pages = exported.live_pages(records[0], source, rows)
    else:
        live_pages = [*sources.live_pages(source, rows).pages]
    highest = records[0].highest if records else None
    if highest is not None:
        highest = max(
            highest, *(page.number for page in live_pages if page.number not in sources.LIVE_NUMBERS)
        )
    numbers = {page.number for page in live_pages}
    backup_pages = [page for record in records[1:] for page in record.page_map().pages]
    previous_pages = [
        page
        for page in (*(previous.pages if previous else ()), *backup_pages)
        if page.number not in numbers
    ]
    live = LiveMap(name, time.time(), rows, highest, tuple(live_pages), tuple(previous_pages))
    live.store()
    stopwatch.log("built", len(live_pages), "page")
    return live


def _measured_base(source: Source) -> str:
    """Return the base URL for measuring entries. Its length is the same for all clients."""
    if is_host_from_client():
        return HOST
    bases = source.bases if conf.base_url else [base._replace(scheme="https") for base in source.bases]
    return max(map(str, bases), key=len)


@contextmanager
def _script_prefix() -> Iterator[None]:
    """Set the script prefix of management commands. On some servers, clients can change the current one."""
    prefix = get_script_prefix()
    set_script_prefix(configured_script_prefix())
    try:
        yield
    finally:
        set_script_prefix(prefix)


def _read_lastmods(value: Any) -> _Lastmods:
    """Parse cached lastmods. If the value is invalid, return a time of 0.0 and an empty dict."""
    try:
        read_at, page_values = value
        pairs = [
            (live_map.read_page(page), None if lastmod is None else str(lastmod))
            for page, lastmod in page_values
        ]
        return float(read_at), dict(pairs)
    except (OverflowError, TypeError, ValueError):
        return 0.0, {}
