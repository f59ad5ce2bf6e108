"""Serve the live indexes: list the pages of all sections, and divide them into indexes within the limits.

Indexes have the same file names as in an export. A page can move to an adjacent index when pages are added
or removed before it. All indexes are parts of the same listings.

A listing is renewed by counting its pages, dividing full ones and merging neighbours: a function of the
listing before, of counts and of `key_after`. One request at a time renews it, but only to save queries: two
that renew at once find different bounds, which both cover all keys.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import takewhile

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.hosts import current_base, is_host_from_client
from django_sitemaps09.declare.sections import Section
from django_sitemaps09.orm.reading import retry_once
from django_sitemaps09.protocol import filenames, pages
from django_sitemaps09.protocol.documents import index_document, index_entry_size
from django_sitemaps09.protocol.entries import IndexEntry
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.filenames import INDEX, Suffix, bounds_text, fits_in_address, index_name
from django_sitemaps09.protocol.limits import INDEX_LIMITS, MAX_URLS
from django_sitemaps09.protocol.pages import Key, Page
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.rows.compile import compile_source
from django_sitemaps09.rows.declaration_digests import digest_of
from django_sitemaps09.rows.queryset import QuerySource, has_key_ranges
from django_sitemaps09.rows.source_base import Source
from django_sitemaps09.views import caching, exported, listing as listings, responses
from django_sitemaps09.views.exported import PublishedPages
from django_sitemaps09.views.listing import ListedPage, Listing
from django_sitemaps09.views.responses import UNAVAILABLE, Sitemaps, Stopwatch

logger = logging.getLogger(__name__)

# Seconds until the number of indexes is forgotten. A higher number is not from this package: robots.txt has
# room for no more lines.
_SECONDS, _MAX_COUNT = 30 * 86_400, 10_000
# Seconds after which the pages of a section without key ranges are cached again, even if they are the same.
_DAY = 86_400
# Adjacent pages are merged if the result is at most this full, in percent of a page.
_MERGED = 85
# Seconds after which another request goes on with a renewal, at least, and after which the lease is renewed
# and the pages found so far are stored.
_LEASE, _STORED_EACH = 5, 1
# Seconds for which the pages found so far are kept: of the first listing, and of a renewal.
_FIRST_SECONDS, _UNFINISHED_SECONDS = 86_400, 60
#: Seconds for which one request of a process waits for first listings.
WAIT = 2
#: Seconds after which all pages of a section are counted again.
AGE = 300
_waiting = threading.Lock()


def respond(request: HttpRequest, name: str, sitemaps: Sitemaps) -> HttpResponseBase:
    """Return the index with a file name. Without an ETag, it lacks a section, or lists outdated pages."""
    stopwatch, base = Stopwatch("Index"), current_base(request)
    listed: list[list[IndexEntry]] = []
    failures: list[Exception] = []
    is_current, folder, deadline = True, "", time.monotonic() + WAIT
    for section, declaration in sections.native_mapping(sitemaps).items():
        key = listings.listing_name(section, declaration, base, listings.namespace_of(request))
        list_pages = partial(_list_pages, key, section, declaration, base, deadline)
        try:
            with responses.savepoints(), site_locale():
                entries, is_outdated = retry_once(list_pages, f"Section {section!r}")
        except Exception as error:
            # An index without the section would mean that its URLs are gone.
            last = listings.read(key, or_last=True)
            numbers = None if conf.has_target else exported.NO_PAGES
            entries, is_outdated = [] if last is None else _entries(section, last, numbers), True
            if not entries and isinstance(error, UNAVAILABLE):
                raise
            consequence = "is listed with its last pages in" if entries else "is missing from"
            logger.exception("Section %r %s the index: %s", section, consequence, reason_of(error))
            failures.append(error)
        # reverse() takes longer than everything else in an index, so it is called once.
        folder = folder or f"{base}{responses.index_path(request).removesuffix(INDEX)}"
        listed.append([entry._replace(location=f"{folder}{entry.location}") for entry in entries])
        is_current = is_current and not is_outdated
    if not listed and sitemaps is None:
        responses.warn_no_section()
    indexes = _divide(listed)
    content = _document(indexes, name, folder)
    if failures and (content is None or not indexes[0]):
        raise failures[0]
    if content is None:
        raise Http404(f"There are only {len(indexes)} indexes")
    if name == INDEX and not failures and len(indexes) != read_count(base, request.path):
        caching.default.set(_count_name(base, request.path), len(indexes), _SECONDS)
    response = HttpResponse(content, content_type="application/xml")
    etag = responses.content_etag(content) if is_current else None
    answer = responses.conditional(request, response, etag)
    stopwatch.log_status(answer, "content")
    return answer


def _list_pages(
    key: str, section: str, declaration: Section, base: Base, deadline: float
) -> tuple[list[IndexEntry], bool]:
    """Return the entries of a section's pages, and whether another request is counting the pages."""
    source = compile_source(section, declaration, base, conf.limits)
    if has_key_ranges(source):
        listing, is_outdated = current(source, key, deadline)
        listing = listing._replace(suffix=_suffix(source))
        return _entries(section, listing, exported.published_pages(source)), is_outdated
    pages = tuple(ListedPage(None, 0, source.newest(page)) for page in listings.pages_by_position(source))
    listing = Listing(_suffix(source), looked_at=time.time(), pages=pages)
    # It is only needed if the section fails.
    last = listings.read(key)
    if last is None or last._replace(looked_at=listing.looked_at) != listing or not last.is_recent(_DAY):
        listings.store(key, listing)
    return _entries(section, listing, None), False


def _entries(section: str, listing: Listing, numbers: PublishedPages | None) -> list[IndexEntry]:
    """Return the entries of a section's pages without the folder in their URLs."""
    names = listings.names(section, listing, numbers)
    return [IndexEntry(name, page.newest) for name, page in zip(names, listing.pages, strict=True)]


def _divide(sections: Iterable[Sequence[IndexEntry]]) -> list[list[IndexEntry]]:
    """Return the entries of each index. There is always a first index."""
    indexes: list[list[IndexEntry]] = [[]]
    empty = total = len(_written([]))
    for entries in filter(None, sections):
        size = index_entry_size(max((entry.location for entry in entries), key=len))
        for entry in entries:
            if indexes[-1] and (len(indexes[-1]) >= INDEX_LIMITS.urls or total + size > INDEX_LIMITS.bytes):
                indexes.append([])
                total = empty
            indexes[-1].append(entry)
            total += size
    return indexes


def _document(indexes: Sequence[Sequence[IndexEntry]], name: str, folder: str) -> bytes | None:
    """Return the index with a file name; `None` if there is no such index.

    With `CASCADE`, the first index lists the others, which are in the `folder`.
    """
    is_cascade = conf.cascade and len(indexes) > 1
    by_name = {index_name(number, cascade=is_cascade): each for number, each in enumerate(indexes, 1)}
    if is_cascade:
        by_name[INDEX] = [IndexEntry(f"{folder}{index}", None) for index in by_name]
    return _written(by_name[name]) if name in by_name else None


def _written(entries: Iterable[IndexEntry]) -> bytes:
    return index_document(entries, styled=conf.stylesheet)


def read_count(base: Base, path: str) -> int:
    """Return the cached number of indexes, of which the first one is at a path; 1 if it is not known.

    robots.txt must not depend on any section: crawlers avoid a site if they cannot read it.
    """
    count = caching.default.get(_count_name(base, path))
    return count if isinstance(count, int) and 1 <= count <= _MAX_COUNT else 1


def _count_name(base: Base, path: str) -> str:
    # On some servers, clients can choose the script prefix. Middleware can set a URLconf for each host.
    own_path = path.removeprefix(get_script_prefix())
    facts = (None if is_host_from_client() else str(base), own_path, str(get_urlconf()))
    return f"django_sitemaps09:indexes:{digest_of(facts)}"


def _suffix(source: Source) -> Suffix:
    return "txt" if source.declared.format == "text" else "xml.gz" if conf.gzip else "xml"


def current(source: QuerySource, name: str, deadline: float) -> tuple[Listing, bool]:
    """Return the listing with this cache key, and whether it is outdated, since another request renews it.

    Otherwise, all pages were counted in the last five minutes, and the last one in the last `LIVE_SECONDS`.
    Raise `BusyError` if there is no listing by the deadline, in seconds of `time.monotonic()`.
    """
    stopwatch = Stopwatch(f"Section {source.section!r}, listing")

    def log(result: str, listing: Listing) -> Listing:
        stopwatch.log(result, len(listing.pages), "page")
        return listing

    key = source.members.key
    known = listings.read(name, key)
    extended = None
    if known is not None and known.is_recent(AGE):
        extended = _with_open_end(source, name, known)
        if extended is None:
            return log("hit", known), False
    lease = caching.Lock(name, _LEASE, wait=deadline - time.monotonic())
    if not lease.acquire():
        if extended is not None and known is not None and not known.pages:
            # The first rows of a section are on one page, until others have counted them.
            return log("outdated", extended), True
        if (known := known or listings.read(name, key, or_last=True)) is not None:
            return log("outdated", known), not known.is_recent(AGE)
        # Requests that wait must not keep all workers of a site busy.
        if not _waiting.acquire(blocking=False):
            raise caching.BusyError(name)
        try:
            for _ in lease.attempts():
                if (known := listings.read(name, key)) is not None:
                    return log("waited", known), False
        finally:
            _waiting.release()
    try:
        if extended is not None:
            return log("extended", _counted(source, name, "extended", extended, lease)), False
        # Another request may have renewed it in the meantime.
        known = listings.read(name, key)
        if known is not None and known.is_recent(AGE):
            return log("hit", known), False
        kind = "made" if known is None else "renewed"
        listing = _counted(source, name, kind, _begun(source, known), lease)
        return log("renewed", listing), not listing.is_recent(AGE)
    finally:
        lease.release()


def _with_open_end(source: QuerySource, name: str, listing: Listing) -> Listing | None:
    """Return the listing whose last page is to be counted and divided; `None` if that is not necessary.

    Rows are mostly appended, so only the open end is looked at after `LIVE_SECONDS`.
    """
    if not listing.pages:
        # No page answers for the first rows of a section.
        return None if source.is_empty() else listing._replace(pages=(ListedPage(None),))
    is_due = not listing.is_recent(conf.live_seconds)
    if not (is_due and caching.default.add(f"{name}:end", True, conf.live_seconds)):
        return None
    *_, last = listing.ranges()
    has_more = source.key_after(last.after, listing.rows) is not None
    return listing._replace(pages=(*listing.pages[:-1], ListedPage(None))) if has_more else None


def _counted(source: QuerySource, name: str, kind: str, begun: Listing, lease: caching.Lock) -> Listing:
    """Count the pages that are not counted. Go on where a killed request of the same kind has come to.

    The counts of a renewal are soon too old; those of the first listing are better than none.
    """
    seconds = _FIRST_SECONDS if kind == "made" else _UNFINISHED_SECONDS
    full, unfinished_name = caching.default.get(f"{name}:full"), f"{name}:{kind}"
    unfinished = listings.read(unfinished_name, source.members.key)
    if unfinished is not None and unfinished[:-2] == begun[:-2]:
        begun = unfinished
    notes = full.items() if isinstance(full, dict) else ()
    fitted = {text: rows for text, rows in notes if type(rows) is int and 0 < rows <= MAX_URLS}
    renewal = Renewal(source, begun, fitted)
    slowest, step_began = 0.0, time.monotonic()
    stored_at = step_began
    for _ in renewal.steps():
        now = time.monotonic()
        slowest, step_began = max(slowest, now - step_began), now
        if now > stored_at + _STORED_EACH:
            lease.renew(max(_LEASE, 2 * slowest))
            listings.store(unfinished_name, renewal.listing, seconds)
            stored_at = now
    listings.store(name, renewal.listing)
    listings.forget(unfinished_name)
    if kind != "extended":
        caching.default.delete(f"{name}:full")
    return renewal.listing


def _begun(source: QuerySource, known: Listing | None) -> Listing:
    """Return a listing whose pages are to be counted: of a new export, or else as they were listed before.

    Another key identity means a new division. All other changes show in the counts.
    """
    rows, published = listings.live_rows_on_page(source), exported.published_pages(source)
    columns, identity = source.members.key.stored_names, source.key_identity
    begun = Listing(_suffix(source), columns, identity, rows, "", time.time(), (ListedPage(None),))
    if known is not None and known.identity == identity and known.pages:
        pages = tuple(page._replace(rows=None) for page in known.pages)
        begun = begun._replace(export=known.export, pages=pages)
    if published is not None and published.pages and published.export != begun.export:
        ends = [page.until for page in published.pages if page.until and fits_in_address(page.until)]
        begun = begun._replace(export=published.export, pages=tuple(map(ListedPage, [*ends, None])))
    return begun


class Renewal:
    """Counts the pages of a listing that are not counted, from the first one of them on.

    `full` has how many rows fitted on ranges that were too full, by their bounds as text: entries can be
    longer than those by which pages were measured.
    """

    def __init__(self, source: QuerySource, listing: Listing, full: Mapping[str, int]) -> None:
        self._source, self._listing, self._full = source, listing, full
        self._counted = [*takewhile(lambda page: page.rows is not None, listing.pages)]
        # Pages, each with the number of rows after which it is divided; 0 if not known.
        self._rest = deque((page, 0) for page in listing.pages[len(self._counted) :])

    @property
    def listing(self) -> Listing:
        """The pages that are counted so far, then the others."""
        pages = (*self._counted, *(page for page, _ in self._rest))
        has_rows = self._rest or any(page.rows for page in pages)
        return self._listing._replace(pages=pages if has_rows else ())

    def steps(self) -> Iterator[None]:
        """Count all pages. Yield after each step, which needs at most three queries."""
        while self._rest:
            page, size = self._rest.popleft()
            after = self._counted[-1].until if self._counted else None
            fitted = self._full.get(bounds_text(after, page.until), 0)
            if 0 < fitted < pages.fullest(self._listing.rows):
                page = page._replace(most=fitted)
            rows = min(self._listing.rows, pages.fill(page.most or MAX_URLS) or 1)
            # An open end can have any number of rows, so they are not counted before it is divided.
            size = size or (rows if page.until is None else 0)
            end = self._source.key_after(after, size, page.until) if size else None
            if end is not None and not fits_in_address(end):
                end = self._shorter(after, size)
            if end is not None:
                self._rest.extendleft([(page, size), (page._replace(until=end), 0)])
                continue
            look = self._source.look(Page(0, after, page.until))
            most = page.most or max(self._source.rows_per_page, pages.fullest(rows))
            if look.rows > (rows if fitted else most) and not size:
                # Even parts, rather than full ones and a rest.
                parts = -(-look.rows // rows)
                self._rest.appendleft((page, -(-look.rows // parts)))
            else:
                self._append(page._replace(rows=look.rows, newest=look.newest))
            yield

    def _shorter(self, after: Key | None, size: int) -> Key | None:
        """Return the last of the hundred keys before the end of a page that fits in an address, if any."""
        members, most = self._source.members, filenames.NEARBY
        keys = members.keys(members.key.parse(after), None, max(0, size - most), min(size, most))
        return next(filter(fits_in_address, map(members.key.text, reversed(keys))), None)

    def _append(self, page: ListedPage) -> None:
        """Add a counted page, merged with the one before if both fit on one."""
        if self._counted:
            last = self._counted[-1]
            both = [each for each in (last, page) if each.rows]
            rows = sum(each.rows or 0 for each in both)
            most = min([each.most for each in both if each.most], default=0)
            if len(both) < 2 or rows <= (most or pages.fullest(self._listing.rows)) * _MERGED // 100:
                lastmods = [each.newest for each in both]
                newest = None if None in lastmods else max(filter(None, lastmods), default=None)
                page = ListedPage(page.until, rows, newest, most)
                self._counted.pop()
        self._counted.append(page)
