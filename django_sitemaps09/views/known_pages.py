"""What is known of live pages: ETags in the memory of each process, and rendered pages in `LIVE_CACHE`.

For most pages, the ETag is known before rendering: a fingerprint of the rows shows whether a page has
changed, and reading it takes a fraction of the time of rendering. Compiling the section takes ten times as
long as all the other work for a response of status 304, so the ETag of each request is remembered, too.
Both are remembered for `LIVE_SECONDS`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, NamedTuple

from django.core.cache import caches
from django.core.cache.backends.dummy import DummyCache
from django.core.exceptions import DisallowedHost
from django.core.signals import setting_changed
from django.db import DatabaseError
from django.http import HttpRequest
from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09.conf import conf
from django_sitemaps09.orm.reading import UNREADABLE
from django_sitemaps09.protocol.compression import compress, decompress_whole
from django_sitemaps09.protocol.limits import MAX_BYTES
from django_sitemaps09.protocol.pages import Fingerprint, Page
from django_sitemaps09.rows.declaration_digests import digest_of
from django_sitemaps09.rows.queryset import QuerySource, has_key_ranges
from django_sitemaps09.rows.source_base import Source, protocol_limits
from django_sitemaps09.views import caching
from django_sitemaps09.views.responses import Sitemaps, Stopwatch, page_subject, savepoints, tenant

# Seconds for which one request reads a fingerprint, and for which others wait.
_READ_SECONDS = 10
# In the memory of each process: thousands of entries would push the listings out of a small shared cache.
_entries: dict[Hashable, Reading] = {}
_MAX_ENTRIES = 10_000
# Seconds until a cached page expires. An outdated page is served while one request renders a new one.
_SECONDS = 86_400
# A cached ETag becomes a header.
_ETAG = re.compile("[!-~]{1,100}")
# Seconds until the lock for rendering a page expires.
_RENDER_SECONDS = 60
_live_cache = caching.PausingCache(
    "LIVE_CACHE", lambda: caches[str(conf.live_cache)], DummyCache("", {}), "it is not used"
)


class Reading(NamedTuple):
    """A fingerprint, an ETag or a `KnownRequest`, and when its rows were read, in seconds since 1970."""

    read_at: float
    value: Any


class KnownRequest(NamedTuple):
    """The sections that a view serves, the ETag of the requested page, and its key in `LIVE_CACHE`."""

    sitemaps: Sitemaps
    etag: str
    cache_key: str | None


def find(request: HttpRequest, sitemaps: Sitemaps) -> KnownRequest | None:
    """Return what is known about the requested page; `None` if nothing is known, or if it is outdated."""
    reading = _find(_request_key(request))
    known: KnownRequest | None = reading and reading.value
    return known if known is not None and known.sitemaps is sitemaps else None


def remember(request: HttpRequest, sitemaps: Sitemaps, cache_key: str | None, etag: Reading | None) -> None:
    """Remember the ETag of the requested page. Without one, forget the page."""
    key = _request_key(request)
    if key is not None and etag is not None:
        _store(key, etag.read_at, KnownRequest(sitemaps, etag.value, cache_key))
    else:
        _entries.pop(key, None)


class PageMemo(NamedTuple):
    """The fingerprint of a page's rows, which is remembered under `name`, and the ETag that it gives.

    `name` has the database, since a replica can be behind. `facts` is the digest of all but the rows that
    the ETag depends on. It is not used if there are more than `most` rows, which may not fit on the page.
    """

    source: QuerySource
    page: Page
    name: str
    facts: str
    most: int

    def etag(self, *, may_read: bool) -> Reading | None:
        """Return the ETag of the page; `None` if only the content shows whether the page has changed.

        The fingerprint is at most twice `LIVE_SECONDS` old. It is read only if `may_read` is true.
        """
        reading = self._reading() if may_read else _find(self.name)
        return reading and self._etag(reading)

    def needs_fingerprint(self) -> bool:
        """Return `False` if the fingerprint could not be read in the last `LIVE_SECONDS`."""
        reading = _find(self.name)
        return reading is None or reading.value is not None

    def remember(self, fingerprint: Fingerprint | None, read_at: float) -> Reading | None:
        """Remember the fingerprint of rows that were read, and return its ETag."""
        return self._etag(_store(self.name, read_at, fingerprint))

    def _etag(self, reading: Reading) -> Reading | None:
        fingerprint = reading.value
        if fingerprint is None or fingerprint.rows > self.most:
            return None
        return reading._replace(value=f'W/"{digest_of((self.facts, *fingerprint[::2]))[:32]}"')

    def _reading(self) -> Reading:
        subject, started = page_subject(self.source.section, self.page), time.time()
        stopwatch, known = Stopwatch(subject), _find(self.name, started - 2 * conf.live_seconds)
        if known is not None and known.read_at > started - conf.live_seconds:
            stopwatch.log("fingerprint known")
            return known

        def read() -> Reading:
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
    # Different sections can have the same digest, because it does not contain times such as now. The base
    # is in a list as it always was: other facts would make all ETags of clients invalid.
    section = source.section, source.declaration_digest, page.after, page.until
    facts = digest_of((*section, [str(source.declared.base)], get_script_prefix(), tenant()))
    most = protocol_limits(source).urls // source.conversion.entries_per_item
    return PageMemo(source, page, f"{source.members.rows.db}:{facts}", facts, most)


def _find(key: Hashable, since: float | None = None) -> Reading | None:
    """Return an entry that was read after `since`, by default within `LIVE_SECONDS`, or `None`."""
    reading, now = _entries.get(key), time.time()
    since = now - conf.live_seconds if since is None else since
    return reading if reading is not None and since < reading.read_at <= now else None


def _store(key: Hashable, read_at: float, value: object) -> Reading:
    if len(_entries) >= _MAX_ENTRIES:
        _entries.clear()
    reading = _entries[key] = Reading(read_at, value)
    return reading


def _request_key(request: HttpRequest) -> Hashable | None:
    """Return all of a request that its page can depend on; `None` for a host that is not allowed."""
    try:
        host = request.get_host()
    except DisallowedHost:
        return None
    # A digest, since an allowed host can be long: clients choose the port.
    return get_urlconf(), digest_of((get_script_prefix(), request.path, request.scheme, host, tenant()))


# Tests change settings, such as `BASE_URL`, while the process runs.
setting_changed.connect(lambda **_: _entries.clear(), weak=False)


class LivePage(NamedTuple):
    """A document, its ETag, and its time of rendering in seconds since 1970.

    A page without an ETag is not cached, by this package or by clients: it is incomplete or outdated. A
    cached page is `packed`, and has its `document` only if a client needs it.
    """

    etag: str | None
    rendered_at: float
    document: bytes = b""
    packed: bytes = b""


class CachedCopy(NamedTuple):
    """The copy of a page in the cache, under `name`. Log lines begin with `subject`.

    With `unpack`, a page that cannot be decompressed counts as missing.
    """

    name: str
    subject: str
    unpack: bool = False

    def find(self, etag: str | None) -> LivePage | None:
        """Return the page that has this ETag; without one, a page that is at most `LIVE_SECONDS` old."""
        stopwatch, page = Stopwatch(self.subject), _valid(self._read(), etag)
        if page is not None:
            stopwatch.log("hit", len(page.packed))
        return page

    def find_or_render(self, etag: str | None, render: Callable[[], LivePage]) -> LivePage:
        """Find the page, or render it. Meanwhile, other requests get an outdated page or wait."""
        stopwatch, kept = Stopwatch(self.subject), self._read()
        if (page := _valid(kept, etag)) is not None:
            stopwatch.log("hit", len(page.packed))
            return page
        return caching.once(
            caching.Lock(self.name, _RENDER_SECONDS, cache=_live_cache),
            lambda: _valid(self._read(), etag),
            lambda: self._store(render()),
            kept and kept._replace(etag=None),
            otherwise=render,
            log=lambda result, page: stopwatch.log(result, len(page.packed)),
        )

    def _store(self, page: LivePage) -> LivePage:
        """Cache a page, and return it with what is cached."""
        if page.etag is None:
            return page
        stopwatch, packed = Stopwatch(self.subject), compressed(page.document)
        caching.set_bytes(_live_cache, self.name, packed, _SECONDS, page.etag, page.rendered_at)
        if not _live_cache.is_paused():
            stopwatch.log("stored", len(packed))
        return page._replace(packed=packed)

    def _read(self) -> LivePage | None:
        """Return the cached page; `None` if it is missing, invalid, or larger than any sitemap."""
        try:
            packed, etag, rendered_at = caching.get_bytes(_live_cache, self.name) or ()
            if not _ETAG.fullmatch(etag):
                return None
            page = LivePage(etag, float(rendered_at), packed=packed)
        except (OverflowError, TypeError, ValueError):
            return None
        if not self.unpack:
            return page
        document = decompress_whole(packed, MAX_BYTES)
        return None if document is None else page._replace(document=document)


def compressed(content: bytes) -> bytes:
    linked = b" xmlns:xhtml=" in content[: content.find(b"<url>")]
    return compress(content, conf.gzip_level, linked=linked)


def _valid(page: LivePage | None, etag: str | None) -> LivePage | None:
    if page is None:
        return None
    is_recent = 0 <= time.time() - page.rendered_at < conf.live_seconds
    return page if page.etag == etag or (etag is None and is_recent) else None
