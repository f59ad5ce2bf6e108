"""The page maps of the native views: build, look at, and divide pages, and keep them in Django's cache.

A map begins with the pages of the export, or with bounds that depend on the nearest keys. When an index is
requested, and the last look is older than five minutes, all pages are counted: those with too many rows are
divided, and small ones are merged. The ranges that indexes named before still answer for `KEEP_REMOVED`.

Processes that share a cache share this map. Otherwise, each process regularly cuts a new map from the rows.
The maps of all processes are then the same as long as the rows are the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial

from django.urls import get_urlconf

from django_sitemaps09 import sources
from django_sitemaps09.conf import conf, surroundings
from django_sitemaps09.pages import Look, Page, PageMap, each_page
from django_sitemaps09.published import PublishedSection, is_configured
from django_sitemaps09.sources import QuerySource, Source, has_key_ranges
from django_sitemaps09.views import caching, exported
from django_sitemaps09.views.live import live_map, memo
from django_sitemaps09.views.live.live_map import LiveMap, Repair
from django_sitemaps09.views.responses import Stopwatch, is_host_from_client

#: Seconds after which the pages of a section are counted again.
AGE = 300
# Seconds after which a map is cut again if it lacks a requested page number, which a newer one may have.
_UNKNOWN_SECONDS = 60
# Seconds between two searches for page numbers that a map lacks.
_SEARCH_SECONDS = 10
# Seconds until the lock for building a map, or for counting its pages, expires.
_BUILD_SECONDS = 60
#: The base for measuring URLs if clients choose the host. Their choice must not affect page bounds.
HOST = "https://www.example.com"


def find_page(source: Source, number: int) -> Page | None:
    """Return the range that answers to this number, or `None`. This usually needs no database query."""
    if not has_key_ranges(source):
        return pages_by_position(source).find(number)[0]
    if 1 < number < sources.LIVE_NUMBERS[0] and not is_configured():
        # Only an export has such numbers.
        return None
    listed, earlier = None, None
    for live in _maps_for_number(source, number):
        listed, earlier = live.map.find(number)
        # The last page can be what remains to be divided.
        if earlier or (listed and (live.is_whole or listed != live.pages[-1])):
            break
    if earlier is None:
        return listed
    most = source.rows_per_page
    if listed is not None and source.count(listed.after, listed.until, most + 1) > most:
        # Rendering it shows that it must be divided.
        return listed
    # An earlier range answers with as many of its rows as fit. Any number of rows may have been added.
    if source.count(earlier.after, earlier.until, most + 1) <= most:
        return earlier
    return earlier._replace(until=source.key_after(earlier.after, most) or earlier.until)


def _maps_for_number(source: QuerySource, number: int) -> Iterator[LiveMap]:
    """Yield maps that may have a page with this number. Each takes longer than the one before."""
    section_map = SectionMap(source)
    live = section_map.find(number=number)
    yield live
    yield section_map.divided(live, number)
    if caching.default.add(f"{section_map.name}:unknown", True, _SEARCH_SECONDS):
        # A new export, or the rows that another process has seen, may have this number.
        exported.find_section(source, again=True)
        yield SectionMap(source).find(_UNKNOWN_SECONDS)


def pages_by_position(source: Source) -> PageMap:
    """Return the pages of a section without key ranges, counted from the first row."""
    return PageMap(tuple(each_page(source, _rows(source))))


def divide_page(source: QuerySource, page: Page, rows: int) -> bool:
    """Divide a page that has more than `rows` rows into even parts.

    Return whether the page was listed, or may have been, since the cache has lost the map.
    """
    section_map = SectionMap(source)
    live = section_map.cached()
    if live is None or page not in live.pages:
        return live is None
    # Entries can be longer than those by which pages were measured.
    section_map.divide(live, page, max(1, min(rows, live.rows)))
    return True


class SectionMap:
    """The map of a section in the cache, which one request at a time builds, counts or divides."""

    def __init__(self, source: QuerySource) -> None:
        self.source = source

    @cached_property
    def published(self) -> PublishedSection | None:
        return exported.find_section(self.source)

    @cached_property
    def name(self) -> str:
        """The cache key of the map. Clients cannot influence it, nor do exports.

        A host with a folder of its own has its own map, since the pages of two exports can have equal
        numbers.
        """
        return self._name_in("" if conf.base_url or self.published is None else self.published.folder)

    def _name_in(self, folder: str) -> str:
        facts = (live_map.FORMAT, self.source.map_cache_key, len(_measured_base(self.source)), folder)
        return f"django_sitemaps09:map:{sources.digest(facts)}"

    def _timed_log(self) -> Callable[[str, LiveMap], None]:
        """Return a function that logs the result of a step, which begins now, with the number of pages."""
        stopwatch = Stopwatch(f"Section {self.source.section!r}, page map")
        return lambda result, live: stopwatch.log(result, len(live.pages), "page")

    def cached(self) -> LiveMap | None:
        """Return the cached map. No map is built or counted, and no query is executed."""
        return live_map.read(self.name, self.source)

    def find(self, seconds: float = AGE, *, number: int | None = None) -> LiveMap:
        """Return the cached map, or build one, at least up to the page with this number.

        A map is built again if there is a new export. Without a shared cache, it also is if it is older
        than `seconds`, so that it becomes like those of other processes.
        """
        log, published, live = self._timed_log(), self.published, self.cached()
        outdated = live if live is not None and live.pages else None
        if outdated is not None and (
            published is None
            or outdated.export_digest == sources.digest(published)
            or exported.is_unreadable()
        ):
            is_shared = not caching.default.is_paused() and caching.is_shared()
            if is_shared or outdated.is_recent(seconds):
                log("hit", outdated)
                return outdated
        generation, build = -1 if live is None else live.generation, partial(self._build, outdated, number)
        return self._once("", lambda new: bool(new.pages) and new.generation != generation, build, outdated)

    def _build(self, outdated: LiveMap | None, number: int | None) -> LiveMap:
        """Build and cache a map. Return the outdated one, if any, while the export cannot be read."""
        log, source, published = self._timed_log(), self.source, self.published
        is_empty = source.is_empty()
        records = [] if published is None or is_empty else exported.records(source, published)
        if records is None and outdated is not None:
            log("outdated", outdated)
            return outdated
        # Another build follows when the export can be read again.
        export_digest = "" if published is None or records is None else sources.digest(published)
        rows = _rows(source)
        versions = [record.page_map().pages for record in reversed(records or ())]
        looks: dict[Page, Look] = {}
        if not versions:
            pages, looks = ((), {}) if is_empty else self._parts(Page(1, None, None), rows, (), number)
            versions = [pages]

        def built(live: LiveMap) -> LiveMap:
            for pages in versions:
                live = live.replaced(source, pages)
            return live._replace(export_digest=export_digest, rows=rows, looked_at=time.time(), looks=looks)

        # Until its first export, a host had the map of all hosts.
        first = live_map.read(self._name_in(""), source) or LiveMap(PageMap(()), {}, "", 0, 0.0, rows)
        live = live_map.change(self.name, source, first, built)
        log("built", live)
        return live

    def divided(self, live: LiveMap, number: int | None = None) -> LiveMap:
        """Divide the rows after the last bound of a map up to the page with this number, or all of them."""
        log = self._timed_log()

        def divide() -> LiveMap:
            current = self.cached() or live
            if not current.is_whole:
                current = self.divide(current, current.pages[-1], current.rows, number)
                log("built", current)
            return current

        def is_divided(current: LiveMap) -> bool:
            return current.is_whole or any(page.number == number for page in current.pages[:-1])

        return live if live.is_whole else self._once(":rest", is_divided, divide)

    def listed(self) -> tuple[LiveMap, bool]:
        """Return the map that an index lists, and whether it is outdated, while others are counting pages.

        Pages were counted in the last five minutes, and the last one in the last `LIVE_SECONDS`, unless the
        map is outdated.
        """
        live, outdated = self._with_current_end(self.find()), None
        if not (live.is_counted and live.is_recent(AGE)):
            outdated = live if live.is_counted else None
            live = self._counted(live, outdated)
        memo.note_map(self.name, (live.generation, live.looked_at))
        return live, live is outdated

    def _with_current_end(self, live: LiveMap) -> LiveMap:
        """Return the map with pages for rows that were appended, if it is time to look for these.

        Rows are mostly appended, so only the open end is looked at so often.
        """
        is_due = (
            live.pages and live.is_whole and live.is_recent(AGE) and not live.is_recent(conf.live_seconds)
        )
        if is_due and caching.default.add(f"{self.name}:end", True, conf.live_seconds):
            last = live.pages[-1]
            if self.source.key_after(last.after, live.rows) is not None:
                return self.divide(live, last, live.rows)
        return live

    def _counted(self, live: LiveMap, outdated: LiveMap | None) -> LiveMap:
        """Return the map with looks at all pages: at those that have none or, if the map is old, at all."""
        log, is_due = self._timed_log(), not live.is_recent(AGE)

        def count() -> LiveMap:
            now, current = time.time(), self.divided(self.cached() or live)
            repair = Repair(self.source, {} if is_due else current.looks)
            # All queries are executed before the lock is taken, but for pages that others change meanwhile.
            repair.pages(current)

            def counted(live: LiveMap) -> LiveMap:
                pages = repair.pages(live)
                live = live._replace(looks=repair.looks, looked_at=now if is_due else live.looked_at)
                return live.replaced(self.source, pages)

            current = live_map.change(self.name, self.source, current, counted)
            log("renewed", current)
            return current

        def is_counted(current: LiveMap) -> bool:
            return current.is_counted and (current.is_recent(AGE) or not is_due)

        return self._once(":count", is_counted, count, outdated)

    def _once(
        self,
        step: str,
        is_valid: Callable[[LiveMap], bool],
        build: Callable[[], LiveMap],
        outdated: LiveMap | None = None,
    ) -> LiveMap:
        """Build a valid map. While another request does that, return the outdated one, if any, or wait."""

        def read() -> LiveMap | None:
            live = self.cached()
            return live if live is not None and is_valid(live) else None

        lock = caching.Lock(f"{self.name}{step}", _BUILD_SECONDS)
        return caching.once(lock, read, build, outdated, log=self._timed_log())

    def divide(self, live: LiveMap, page: Page, rows: int, number: int | None = None) -> LiveMap:
        """Replace a page with its parts, up to that with this number, unless it has just been replaced."""
        parts, looks = self._parts(page, rows, live.pages, number)

        def divided(live: LiveMap) -> LiveMap:
            if page not in live.pages:
                return live
            position = live.pages.index(page)
            pages = (*live.pages[:position], *parts, *live.pages[position + 1 :])
            live = live.replaced(self.source, pages)
            return live._replace(rows=rows, looks={**live.looks, **looks})

        return live_map.change(self.name, self.source, live, divided)

    def _parts(
        self, page: Page, rows: int, pages: tuple[Page, ...], number: int | None
    ) -> tuple[tuple[Page, ...], dict[Page, Look]]:
        """Divide a page of a map, up to the part with this number. Count the end if it is reached."""
        parts = tuple(
            sources.divide(self.source.members, page, rows, {page.number for page in pages}, number)
        )
        is_end = page.until is None and all(part.number != number for part in parts[:-1])
        return parts, {parts[-1]: self.source.look(parts[-1])} if is_end else {}


def _measured_base(source: Source) -> str:
    """Return the base URL for measuring entries. Its length is the same for all clients."""
    if is_host_from_client():
        return HOST
    bases = source.bases if conf.base_url else [base._replace(scheme="https") for base in source.bases]
    return max(map(str, bases), key=len)


def _rows(source: Source) -> int:
    """Return the number of rows on a new page.

    URLs are measured with the script prefix of management commands. On some servers, clients can change the
    current one.
    """
    with surroundings(conf.script_prefix, get_urlconf()):
        return sources.rows_on_page(source, conf.limits, _measured_base(source))
