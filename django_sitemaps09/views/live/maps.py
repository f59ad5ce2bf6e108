"""The page maps of the native views: build, look at, and divide pages, and keep them in Django's cache.

A map begins with the pages of the export, or with bounds that depend on the nearest keys. When an index is
requested, and the last look is older than five minutes, all pages are counted: those with too many rows are
divided, and small ones are merged. The ranges that indexes named before still answer for `KEEP_REMOVED`.

Processes that share a cache share this map. Otherwise, each process regularly cuts a new map from the rows.
The maps of all processes are then the same as long as the rows are the same.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from django.urls import get_script_prefix, set_script_prefix

from django_sitemaps09 import sources
from django_sitemaps09.conf import conf
from django_sitemaps09.pages import Look, Page, PageMap
from django_sitemaps09.published import PublishedSection, is_configured
from django_sitemaps09.sources import QuerySource, Source, has_key_ranges
from django_sitemaps09.state.manifest import SectionRecord
from django_sitemaps09.views import caching, exported
from django_sitemaps09.views.live import memo, stored_map
from django_sitemaps09.views.live.stored_map import LiveMap
from django_sitemaps09.views.responses import configured_script_prefix, is_host_from_client
from django_sitemaps09.views.stopwatch import Stopwatch, map_subject

#: Seconds after which the pages of a section are counted again.
AGE = 300
# Seconds after which a map is cut again if it lacks a requested page number, which a newer one may have.
_UNKNOWN_SECONDS = 60
# Seconds between two searches for page numbers that a map lacks.
_SEARCH_SECONDS = 10
# Seconds until the lock for building a map, or for counting its pages, expires.
_BUILD_SECONDS = 60
# Adjacent pages are merged if the result is at most this full, in percent of a page.
_MERGED = 85
#: The base for measuring URLs if clients choose the host. Their choice must not affect page bounds.
HOST = "https://www.example.com"


class Listing(NamedTuple):
    """Pages that an index lists, each with its newest lastmod, and ranges that leave the index.

    An outdated listing is of the last look, while another request is counting the pages.
    """

    pages: list[tuple[Page, str | None]]
    leaving: list[Page]
    is_outdated: bool


def live_index(source: Source) -> Listing:
    """Return what an index lists of a section.

    Pages were counted in the last five minutes, and the last one in the last `LIVE_SECONDS`, unless the
    listing is outdated.
    """
    if not has_key_ranges(source):
        pages = sources.live_pages(source, _rows(source)).pages
        return Listing([(page, source.newest(page)) for page in pages], [], False)
    name = _name(source)
    live = _live_map(source, name)
    is_due = not _is_recent(live, AGE)
    is_end_due = live.pages and live.is_whole and not (is_due or _is_recent(live, conf.live_seconds))
    if is_end_due and caching.add(f"{name}:end", True, conf.live_seconds):
        # Rows are mostly appended, so only the open end is looked at so often.
        last = live.pages[-1]
        if source.key_after(last.after, live.rows) is not None:
            divide_page(source, last, live.rows)
            live = stored_map.read(name, source) or live
    meanwhile = None
    if is_due or not live.is_counted:
        seconds = AGE if is_due else float("inf")
        meanwhile = live if live.is_counted else None
        look = partial(_look, source, name, live, is_due=is_due)
        read = partial(_counted_map, source, name, seconds)
        live = caching.once(f"{name}:count", read, look, _BUILD_SECONDS, meanwhile)
        if live is meanwhile:
            Stopwatch(map_subject(source.section)).log("outdated", len(live.pages), "page")
    memo.note_map(name, (live.generation, live.looked_at))
    lastmods = [(page, live.looks[page].newest) for page in live.pages]
    return Listing(lastmods, live.map.still_listed(time.time()), live is meanwhile)


def find_page(source: Source, number: int) -> Page | None:
    """Return the range that answers to this number, or `None`. This usually needs no database query."""
    if not has_key_ranges(source):
        return sources.live_pages(source, _rows(source)).find(number)[0]
    is_exported_number = 1 < number < sources.LIVE_NUMBERS[0]
    if is_exported_number and not is_configured():
        return None
    name = _name(source)
    live = _live_map(source, name, number=number)
    listed, earlier = live.map.find(number)
    if listed is earlier is None or listed in live.pages[-1:]:
        live = _divided(source, name, live, number)
        listed, earlier = live.map.find(number)
    if listed is earlier is None and caching.add(f"{name}:unknown", True, _SEARCH_SECONDS):
        # A new export, or the rows that another process has seen, may have this number.
        exported.find(source, again=True)
        name = _name(source)
        live = _live_map(source, name, _UNKNOWN_SECONDS)
        listed, earlier = live.map.find(number)
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


def divide_page(source: QuerySource, page: Page, rows: int) -> bool:
    """Divide a page that has more than `rows` rows into even parts.

    Return whether the page was listed, or may have been, since the cache has lost the map.
    """
    name = _name(source)
    live = stored_map.read(name, source)
    if live is None or page not in live.pages:
        return live is None
    # Entries can be longer than those by which pages were measured.
    rows = max(1, min(rows, live.rows))
    parts, looks = _parts(source, page, rows, live.pages)
    _store_parts(source, name, live._replace(rows=rows), page, parts, looks)
    return True


def _store_parts(
    source: QuerySource,
    name: str,
    live: LiveMap,
    page: Page,
    parts: Sequence[Page],
    looks: Mapping[Page, Look],
) -> LiveMap:
    """Replace a page of the cached map with its parts, unless another request has just changed the page."""
    with stored_map.locked(name):
        rows, live = live.rows, stored_map.read(name, source) or live
        if page not in live.pages:
            return live
        position = live.pages.index(page)
        live = _replaced(source, live, (*live.pages[:position], *parts, *live.pages[position + 1 :]))
        return live._replace(rows=rows, looks={**live.looks, **looks}).store(name)


def cached_map(source: QuerySource) -> LiveMap | None:
    """Return the cached map of a section. No map is built or counted, and no query is executed."""
    return stored_map.read(_name(source), source)


def _counted_map(source: QuerySource, name: str, seconds: float) -> LiveMap | None:
    live = stored_map.read(name, source)
    return live if live is not None and live.is_counted and _is_recent(live, seconds) else None


def _name(source: QuerySource) -> str:
    """Return the cache key of a section's map. Clients cannot influence it, nor do exports.

    A host with a folder of its own has its own map, since the pages of two exports can have equal numbers.
    """
    published = None if conf.base_url else exported.find(source)
    return _name_in(source, "" if published is None else published.folder)


def _name_in(source: QuerySource, folder: str) -> str:
    facts = (stored_map.FORMAT, source.map_cache_key, len(_measured_base(source)), folder)
    return f"django_sitemaps09:map:{sources.digest(facts)}"


def _is_recent(live: LiveMap, seconds: float) -> bool:
    return 0 <= time.time() - live.looked_at < seconds


def _live_map(
    source: QuerySource,
    name: str,
    seconds: float = AGE,
    *,
    number: int | None = None,
) -> LiveMap:
    """Return the cached map, or build one, at least up to the page with this number.

    A map is built again if there is a new export. Without a shared cache, it also is if it is older than
    `seconds`, so that it becomes like those of other processes.
    """
    stopwatch = Stopwatch(map_subject(source.section))
    published = exported.find(source)
    live = stored_map.read(name, source)
    if live is None or not live.pages:
        return _built(source, name, published, live, number)
    is_of_export = published is None or live.base == sources.digest(published) or exported.is_unreadable()
    is_shared = not caching.is_failing() and caching.is_shared()
    if is_of_export and (is_shared or _is_recent(live, seconds)):
        stopwatch.log("hit", len(live.pages), "page")
        return live
    return _built(source, name, published, live, number)


def _built(
    source: QuerySource,
    name: str,
    published: PublishedSection | None,
    outdated: LiveMap | None,
    number: int | None,
) -> LiveMap:
    """Build a map. If another request is building it, return the outdated one, or wait if there is none."""
    stopwatch = Stopwatch(map_subject(source.section))
    generation = -1 if outdated is None else outdated.generation

    def built_elsewhere() -> LiveMap | None:
        live = stored_map.read(name, source)
        if live is None or not live.pages or live.generation == generation:
            return None
        stopwatch.log("waited", len(live.pages), "page")
        return live

    def build() -> LiveMap:
        records: list[SectionRecord] | None = []
        base = "" if published is None else sources.digest(published)
        if published is not None and not source.is_empty():
            records = exported.records(source, published)
        if records is None:
            if meanwhile is not None:
                return meanwhile
            # Another build follows when the export can be read again.
            records, base = [], ""
        rows = _rows(source)
        looks: dict[Page, Look] = {}
        if records:
            pages = records[0].page_map().pages
        elif source.is_empty():
            pages = ()
        else:
            pages, looks = _parts(source, Page(1, None, None), rows, (), number)
        with stored_map.locked(name):
            # Until its first export, a host had the map of all hosts.
            before = stored_map.read(name, source) or stored_map.read(_name_in(source, ""), source)
            before = before or LiveMap(PageMap(()), {}, "", 0, 0.0, rows)
            for record in reversed(records[1:]):
                before = _replaced(source, before, record.page_map().pages)
            live = _replaced(source, before, pages)._replace(
                base=base, rows=rows, looked_at=time.time(), looks=looks
            )
            live = live.store(name)
        stopwatch.log("built", len(pages), "page")
        return live

    meanwhile = outdated if outdated is not None and outdated.pages else None
    live = caching.once(name, built_elsewhere, build, _BUILD_SECONDS, meanwhile)
    if live is meanwhile:
        stopwatch.log("outdated", len(live.pages), "page")
    return live


def _divided(source: QuerySource, name: str, live: LiveMap, number: int | None = None) -> LiveMap:
    """Divide the rows after the last bound of a map up to the page with this number, or all of them."""
    stopwatch = Stopwatch(map_subject(source.section))

    def divided() -> LiveMap | None:
        current = stored_map.read(name, source) or live
        has_number = any(page.number == number for page in current.pages[:-1])
        return current if current.is_whole or has_number else None

    def divide() -> LiveMap:
        current = stored_map.read(name, source) or live
        if current.is_whole:
            return current
        last = current.pages[-1]
        parts, looks = _parts(source, last, current.rows, current.pages, number)
        current = _store_parts(source, name, current, last, parts, looks)
        stopwatch.log("built", len(current.pages), "page")
        return current

    return live if live.is_whole else caching.once(f"{name}:rest", divided, divide, _BUILD_SECONDS)


def _parts(
    source: QuerySource, page: Page, rows: int, pages: Sequence[Page], number: int | None = None
) -> tuple[tuple[Page, ...], dict[Page, Look]]:
    """Divide one of the pages of a map, up to the part with this number. Count the end if it is reached."""
    parts = tuple(sources.divide(source, page, rows, {page.number for page in pages}, number))
    is_end = page.until is None and all(part.number != number for part in parts[:-1])
    return parts, {parts[-1]: source.look(parts[-1])} if is_end else {}


def _look(source: QuerySource, name: str, live: LiveMap, *, is_due: bool = False) -> LiveMap:
    """Count the pages that are not counted yet, or all of them if that `is_due`, and store the new map."""
    stopwatch = Stopwatch(map_subject(source.section))
    now = time.time()
    live = _divided(source, name, stored_map.read(name, source) or live)
    looks = {} if is_due else dict(live.looks)
    divided: dict[Page, list[Page]] = {}
    # All queries are executed before the lock is taken, apart from those for what others change meanwhile.
    _repaired(source, live, looks, divided)
    with stored_map.locked(name):
        live = stored_map.read(name, source) or live
        live = _replaced(source, live._replace(looks=looks), _repaired(source, live, looks, divided))
        live = live._replace(looked_at=now if is_due else live.looked_at).store(name)
    stopwatch.log("renewed", len(live.pages), "page")
    return live


def _repaired(
    source: QuerySource, live: LiveMap, looks: dict[Page, Look], divided: dict[Page, list[Page]]
) -> tuple[Page, ...]:
    """Divide pages with too many rows, and merge adjacent ones that fit on one page.

    Add what is counted to `looks`, and the parts of pages to `divided`. A second call needs no queries.
    """
    _count(source, live.pages, looks)
    numbers = {page.number for page in live.pages}
    merged: list[Page] = []
    for page in live.pages:
        parts = [page]
        most = _most(source, live.rows) if page.until is not None else live.rows
        if looks[page].rows > most:
            if page not in divided:
                divided[page] = [*sources.divide(source, page, live.rows, numbers)]
            parts = divided[page]
            numbers |= {part.number for part in parts}
            _count(source, parts, looks)
        for part in parts:
            merged.append(part)
            if len(merged) > 1 and _fit_together(looks[merged[-2]].rows, looks[part].rows, live.rows):
                second, first = merged.pop(), merged.pop()
                merged.append(first._replace(until=second.until))
                _count(source, merged[-1:], looks)
    return tuple(merged) if any(looks[page].rows for page in merged) else ()


def _fit_together(first: int, second: int, rows: int) -> bool:
    return not (first and second) or first + second <= rows * 20 // 19 * _MERGED // 100


def _count(source: QuerySource, pages: Sequence[Page], looks: dict[Page, Look]) -> None:
    looks |= {page: source.look(page) for page in pages if page not in looks}


def _most(source: QuerySource, rows: int) -> int:
    """Return the number of rows that a page can have, if a new one has `rows` rows, or 95 % of this."""
    return max(source.rows_per_page, rows * 20 // 19)


def _replaced(source: QuerySource, live: LiveMap, pages: Sequence[Page]) -> LiveMap:
    """Return the map with other pages; those that an index named answer for `KEEP_REMOVED`."""

    def covers(page: Page, part: Page) -> bool:
        if page.after != part.after or page.until == part.until or page.until is None:
            return page.after == part.after
        return part.until is not None and source.in_order((part.until, page.until))

    # No index lists a live page whose end is not known yet. Those of other processes may list all others.
    named = [
        page
        for page in live.pages
        if page.until is not None or page in live.looks or page.number not in sources.LIVE_NUMBERS
    ]
    now = time.time()
    until = dict.fromkeys(_absorbed(source, live, pages), now + _unaware_seconds())
    page_map = live.map._replace(pages=tuple(named)).replaced(pages, covers, now, conf.keep_removed, until)
    listed = {*page_map.pages}
    return live._replace(
        map=page_map, looks={page: look for page, look in live.looks.items() if page in listed}
    )


def _unaware_seconds() -> float:
    """Return how long others may use a page as it was before it grew: processes, and shared caches."""
    ages = [int(conf.cache_control.get(name, 0)) for name in ("max_age", "s_maxage")]
    return 2 * conf.live_seconds + max(ages) + int(conf.cache_control.get("stale_while_revalidate", 0))


def _absorbed(source: QuerySource, live: LiveMap, pages: Sequence[Page]) -> Iterator[int]:
    """Yield the numbers that leave the map while their rows are on a page that ended before them.

    A page with an earlier number of its own can also return with a later end than it had.
    """
    numbers = {page.number for page in pages}
    leaving = [
        position
        for position, page in enumerate(live.pages)
        if page.number not in numbers and (page not in live.looks or live.looks[page].rows)
    ]
    answered = {part.page.number: part.page for part in live.map.left}
    answered |= {page.number: page for page in live.pages}
    starts = {page.after: position for position, page in enumerate(live.pages)}
    start = 0
    for page in pages if leaving else ():
        # A new bound lies on the same page as the bound before it.
        start = starts.get(page.after, start)
        before = answered.get(page.number)
        if before is None or before.until in (None, page.until):
            continue
        for position in leaving[bisect_left(leaving, start + (before in live.pages[start : start + 1])) :]:
            after = live.pages[position].after
            if page.until is not None and not (
                after is not None and after != page.until and source.in_order((after, page.until))
            ):
                break
            yield live.pages[position].number


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
    prefix = get_script_prefix()
    set_script_prefix(configured_script_prefix())
    try:
        return sources.rows_on_page(source, conf.limits, _measured_base(source))
    finally:
        set_script_prefix(prefix)
