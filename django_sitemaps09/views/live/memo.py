"""What a process knows of live pages for `LIVE_SECONDS`: fingerprints of their rows, and ETags of requests.

For most pages, the ETag is known before rendering: a fingerprint of the rows shows whether a page has
changed. Reading the fingerprint takes a fraction of the time of rendering. Compiling the section takes ten
times as long as all the other work for a response of status 304, so the ETag of each request is remembered,
too.
"""

from __future__ import annotations

import time
from collections.abc import Hashable
from contextlib import suppress
from typing import Any, NamedTuple

from django.core.exceptions import DisallowedHost
from django.core.signals import setting_changed
from django.db import DatabaseError
from django.http import HttpRequest
from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09.conf import conf
from django_sitemaps09.orm.reading import UNREADABLE
from django_sitemaps09.protocol.pages import Fingerprint, Page
from django_sitemaps09.rows import QuerySource, Source, digest_of, has_key_ranges, protocol_limits
from django_sitemaps09.views import caching
from django_sitemaps09.views.responses import Sitemaps, Stopwatch, page_subject, savepoints, tenant

# Seconds for which one request reads a fingerprint, and for which others wait.
_READ_SECONDS = 10
_MAX_ENTRIES = 10_000
# In the memory of each process: thousands of entries would push the listings out of a small shared cache.
_entries: dict[Hashable, _Entry] = {}


class _Entry(NamedTuple):
    """A fingerprint, `None` or a `KnownRequest`, and when its rows were read, in seconds since 1970."""

    read_at: float
    value: Any


class PageETag(NamedTuple):
    """The ETag of a page, and when its fingerprint was read, in seconds since 1970."""

    value: str
    read_at: float


class KnownRequest(NamedTuple):
    """The sections that a view serves, the ETag of the requested page, and its key in `LIVE_CACHE`."""

    sitemaps: Sitemaps
    etag: PageETag
    cache_key: str | None


def find(request: HttpRequest, sitemaps: Sitemaps) -> KnownRequest | None:
    """Return what is known about the requested page; `None` if nothing is known, or if it is outdated."""
    entry = _find(_request_key(request))
    known: KnownRequest | None = entry and entry.value
    return known if known is not None and known.sitemaps is sitemaps else None


def remember(
    request: HttpRequest, sitemaps: Sitemaps, cache_key: str | None, etag: PageETag | None
) -> None:
    """Remember the ETag of the requested page for `LIVE_SECONDS`. Without one, forget the page."""
    key = _request_key(request)
    if key is not None and etag is not None:
        _store(key, etag.read_at, KnownRequest(sitemaps, etag, cache_key))
    else:
        _entries.pop(key, None)


class PageMemo(NamedTuple):
    """The fingerprint of a page's rows, which is remembered under `name`, and the ETag that it gives.

    A fingerprint is remembered for each database, since a replica can be behind. The ETag is the same for
    the same rows: `facts` is the digest of all else that it depends on. It is not used if there are more
    than `most` rows, which may not fit on the page.
    """

    source: QuerySource
    page: Page
    name: str
    facts: str
    most: int

    def etag(self, *, may_read: bool) -> PageETag | None:
        """Return the ETag of the page; `None` if only the content shows whether the page has changed.

        The fingerprint is at most twice `LIVE_SECONDS` old. It is read only if `may_read` is true.
        """
        reading = self._reading() if may_read else _find(self.name)
        return reading and self._etag(reading)

    def needs_fingerprint(self) -> bool:
        """Return whether the ETag of the page is that of its fingerprint, if it is rendered now.

        A fingerprint that could not be read is not read again within `LIVE_SECONDS`.
        """
        reading = _find(self.name)
        return reading is None or reading.value is not None

    def remember(self, fingerprint: Fingerprint | None, read_at: float) -> PageETag | None:
        """Return the ETag of rows that were read, and use their fingerprint for the next requests."""
        return self._etag(_store(self.name, read_at, fingerprint))

    def _etag(self, reading: _Entry) -> PageETag | None:
        read_at, fingerprint = reading
        if fingerprint is None or fingerprint.rows > self.most:
            return None
        return PageETag(f'W/"{digest_of((self.facts, *fingerprint[::2]))[:32]}"', read_at)

    def _reading(self) -> _Entry:
        stopwatch, started = Stopwatch(page_subject(self.source.section, self.page)), time.time()
        known = _find(self.name, started - 2 * conf.live_seconds)
        if known is not None and known.read_at > started - conf.live_seconds:
            stopwatch.log("fingerprint known")
            return known

        def read() -> _Entry:
            fingerprint, read_at = None, time.time()
            with suppress(DatabaseError, *UNREADABLE), savepoints():
                fingerprint = self.source.fingerprint(self.page.after, self.page.until, self.most)
            stopwatch.log("fingerprint read", fingerprint and fingerprint.rows, "row")
            return _store(self.name, read_at, fingerprint)

        # Only the requests of this process wait for each other.
        lock = caching.Lock(self.name, _READ_SECONDS, wait=_READ_SECONDS, cache=caching.default.fallback)
        try:
            return caching.once(
                lock,
                lambda: _find(self.name, started - conf.live_seconds),
                read,
                known,
                log=lambda result, _: stopwatch.log(f"fingerprint {result}"),
            )
        except caching.BusyError:
            return read()


def of_page(source: Source, page: Page) -> PageMemo | None:
    """Return what is known about a page; `None` if it cannot have the ETag of its fingerprint."""
    if not has_key_ranges(source) or not source.can_hash:
        return None
    # Different sections can have the same digest, because it does not contain times such as now. The
    # default cache of a site with several tenants has a `KEY_FUNCTION` that adds the tenant.
    section = source.section, source.declaration_digest, page.after, page.until
    # The base is in a list as it always was: other facts would make all ETags of clients invalid.
    place = [str(source.declared.base)], get_script_prefix(), tenant()
    facts = digest_of((*section, *place))
    most = protocol_limits(source).urls // source.declaration.entries_per_item
    return PageMemo(source, page, f"{source.members.rows.db}:{facts}", facts, most)


def _find(key: Hashable, since: float | None = None) -> _Entry | None:
    """Return an entry that was read after `since`, by default within `LIVE_SECONDS`, or `None`."""
    entry, now = _entries.get(key), time.time()
    since = now - conf.live_seconds if since is None else since
    return entry if entry is not None and since < entry.read_at <= now else None


def _store(key: Hashable, read_at: float, value: object) -> _Entry:
    if len(_entries) >= _MAX_ENTRIES:
        _entries.clear()
    entry = _entries[key] = _Entry(read_at, value)
    return entry


def _request_key(request: HttpRequest) -> Hashable | None:
    """Return everything about a request that its page can depend on; `None` for a host that is not allowed.

    Tenants must have their own hosts, or the default cache a `KEY_FUNCTION` that adds the tenant.
    """
    try:
        host = request.get_host()
    except DisallowedHost:
        return None
    facts = get_script_prefix(), request.path, request.scheme, host, tenant()
    # A digest, since an allowed host can be long: clients choose the port.
    return get_urlconf(), digest_of(facts)


# Tests change settings, such as `BASE_URL`, while the process runs.
setting_changed.connect(lambda **_: _entries.clear(), weak=False)
