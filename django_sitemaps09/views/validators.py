"""ETags for conditional requests (RFC 9110, sections 8.8 and 13).

For most pages, the ETag is known before rendering: a fingerprint of the rows shows whether a page has
changed. Reading the fingerprint takes a fraction of the time of rendering. There is no `Last-Modified`: the
newest lastmod does not change when a row is deleted, and the clocks of servers can differ.
"""

from __future__ import annotations

import threading
import time
from hashlib import blake2b
from typing import NamedTuple

from django.core.cache.backends.locmem import LocMemCache
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponseBase
from django.urls import get_script_prefix
from django.utils.cache import get_conditional_response, patch_cache_control

from django_sitemaps09 import sources
from django_sitemaps09.conf import conf
from django_sitemaps09.django_internals import skip_cache_update
from django_sitemaps09.pages import Fingerprint, Page
from django_sitemaps09.sources import QuerySource, Source, has_key_ranges
from django_sitemaps09.views import caching
from django_sitemaps09.views.responses import savepoints
from django_sitemaps09.views.stopwatch import Stopwatch, page_subject

# Seconds after which another request reads a fingerprint, if the first one does not return.
_READ_SECONDS = 10
# In the memory of each process: thousands of entries would push the maps out of a small shared cache.
_readings = LocMemCache("django_sitemaps09:fingerprints", {"TIMEOUT": None, "MAX_ENTRIES": 10_000})


class _Reading(NamedTuple):
    """A fingerprint, or `None` if it could not be read, and the time of reading in seconds since 1970.

    `thread` is the thread that read it.
    """

    read_at: float
    thread: int
    fingerprint: Fingerprint | None

    def is_valid(self, since: float | None) -> bool:
        """Return whether the reading is recent enough.

        With `since`, it must be from the request that began then, else at most `LIVE_SECONDS` old.
        """
        if since is None:
            return _is_recent(self.read_at)
        # Another thread may see newer rows than the transaction or the replica of this one.
        return self.read_at >= since and self.thread == threading.get_ident()


class PageETag(NamedTuple):
    """The ETag of a page, and when its fingerprint was read, in seconds since 1970."""

    value: str
    read_at: float

    def is_recent(self) -> bool:
        """Return whether the fingerprint is at most `LIVE_SECONDS` old."""
        return _is_recent(self.read_at)


def of_page(source: Source, page: Page, since: float | None = None) -> PageETag | None:
    """Return the ETag of a page; `None` if only the content shows whether the page has changed.

    The fingerprint is at most `LIVE_SECONDS` old. With `since`, it was read by the request that
    began at that time. So content that this request renders later is never older than its ETag.
    """
    if not has_key_ranges(source) or not source.can_fingerprint:
        return None
    # Different sections can have the same digest, because it does not contain times such as now.
    facts = (source.section, source.declaration_digest, source.bare_rows.db, page.after, page.until)
    name = sources.digest(facts)
    read_at, _, fingerprint = _reading(source, page, name, since)
    if fingerprint is None:
        return None
    bases = list(map(str, source.bases))
    state = (name, bases, get_script_prefix(), fingerprint.rows, fingerprint.hash)
    return PageETag(f'W/"{sources.digest(state)[:32]}"', read_at)


def of_content(content: bytes) -> str:
    """Return the ETag of a document."""
    return f'W/"{blake2b(content, digest_size=16).hexdigest()}"'


def respond(request: HttpRequest, response: HttpResponseBase, etag: str | None) -> HttpResponseBase:
    """Add the headers. Return the response, or one with status 304 or 412 if a precondition fails."""
    if conf.cache_control:
        patch_cache_control(response, **conf.cache_control)
    if etag is None:
        return response
    response["ETag"] = etag
    answer: HttpResponseBase = get_conditional_response(request, etag, None, response)  # type: ignore[arg-type, assignment]
    if answer is not response:
        skip_cache_update(request)
    return answer


def _is_recent(read_at: float) -> bool:
    return 0 <= time.time() - read_at < conf.live_seconds


def _reading(source: QuerySource, page: Page, name: str, since: float | None) -> _Reading:
    """Return a page's fingerprint, from memory or from the database."""
    stopwatch = Stopwatch(page_subject(source.section, page.number))
    # The default cache of a site with several tenants has a `KEY_FUNCTION` that adds the tenant.
    name = caching.full_key(name)
    reading: _Reading | None = _readings.get(name)
    if reading is not None and reading.is_valid(since):
        stopwatch.log("fingerprint known")
        return reading
    # Other requests of this process use the previous fingerprint meanwhile.
    is_first = _readings.add(f"{name}:due", True, _READ_SECONDS)
    if reading is not None and since is None and not is_first:
        stopwatch.log("fingerprint outdated")
        return reading
    reading = _Reading(time.time(), threading.get_ident(), _read(source, page))
    _readings.set(name, reading)
    _readings.delete(f"{name}:due")
    rows = None if reading.fingerprint is None else reading.fingerprint.rows
    stopwatch.log("fingerprint read", rows, "row")
    return reading


def _read(source: QuerySource, page: Page) -> Fingerprint | None:
    try:
        with savepoints():
            return source.fingerprint(page.after, page.until)
    except (DatabaseError, *sources.UNREADABLE):
        return None
