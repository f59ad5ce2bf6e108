"""Keep rendered pages compressed in the cache `LIVE_CACHE`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple
from zlib import crc32

from django.core.cache import caches
from django.core.cache.backends.dummy import DummyCache

from django_sitemaps09 import protocol
from django_sitemaps09.compression import compress
from django_sitemaps09.conf import conf
from django_sitemaps09.views import caching
from django_sitemaps09.views.caching import PausingCache
from django_sitemaps09.views.stopwatch import Stopwatch

logger = logging.getLogger(__name__)

# Bytes of one cached part of a page. Memcached refuses values of more than a megabyte.
_PART = 500_000
# Seconds until a cached page expires. An outdated page is served while one request renders a new one.
_SECONDS = 86_400
# Seconds until the lock for rendering a page expires.
_RENDER_SECONDS = 60
# Seconds to wait while another request renders a page, and seconds between two reads of the cache.
_WAIT = 20
_POLL = 0.05
_live_cache = PausingCache("LIVE_CACHE", DummyCache("", {}), "it is not used")


class RenderedPage(NamedTuple):
    """A document, its ETag, and its time of rendering in seconds since 1970.

    A page without an ETag is not cached, by this package or by clients: it is incomplete or outdated.
    """

    etag: str | None
    rendered_at: float
    content: bytes
    is_compressed: bool = False


class NotCachedError(Exception):
    """The cache does not have a page; the argument is its cache key."""


def read_page(name: str | None, etag: str, subject: str) -> RenderedPage:
    """Return the page that has this ETag from the cache, or raise `NotCachedError`."""
    stopwatch = Stopwatch(subject)
    stored = None if name is None else _read(name)
    if stored is None or stored.etag != etag:
        raise NotCachedError(name)
    stopwatch.log("hit", len(stored.content))
    return stored


def rendered_page(
    name: str | None, known_etag: str | None, render: Callable[[], RenderedPage], subject: str
) -> RenderedPage:
    """Return a cached page, or render it in one request. Other requests get an outdated page or wait.

    A cached page is valid if it has `known_etag`. If `known_etag` is `None`, it is valid for
    `LIVE_SECONDS`. If `name` is `None`, the page is always rendered. Log lines begin with `subject`.
    """
    if name is None:
        return render()
    stopwatch = Stopwatch(subject)
    stored = _read(name)
    if stored is not None and _is_valid(stored, known_etag):
        stopwatch.log("hit", len(stored.content))
        return stored
    lock = caching.Lock(name, partial(_call, "add"), partial(_call, "delete"))
    waits_until = time.monotonic() + _WAIT
    is_first = True
    while not lock.acquire(_RENDER_SECONDS):
        if stored is not None:
            stopwatch.log("outdated", len(stored.content))
            return stored._replace(etag=None)
        if time.monotonic() > waits_until or _live_cache.is_paused():
            return render()
        is_first = False
        time.sleep(_POLL)
        stored = _read(name)
    try:
        stored = stored if is_first else _read(name)
        if stored is not None and _is_valid(stored, known_etag):
            stopwatch.log("waited", len(stored.content))
            return stored
        if not is_first:
            # The other request could not cache its page. Do not let all others wait for this request.
            lock.release()
        return _store(name, render(), subject)
    finally:
        lock.release()


def compressed(content: bytes) -> bytes:
    """Return a document as a gzip file."""
    linked = b" xmlns:xhtml=" in content[: content.find(b"<url>")]
    return compress(content, conf.gzip_level, linked=linked)


def _is_valid(stored: RenderedPage, known_etag: str | None) -> bool:
    if known_etag is not None:
        return stored.etag == known_etag
    return 0 <= time.time() - stored.rendered_at < conf.live_seconds


def _store(name: str, page: RenderedPage, subject: str) -> RenderedPage:
    """Cache a page in parts, and return the compressed page. The keys of parts contain its digest."""
    if page.etag is None:
        return page
    stopwatch = Stopwatch(subject)
    content = compressed(page.content)
    digest = blake2b(content, digest_size=16).hexdigest()
    for part_name, start in _part_starts(name, digest, len(content)).items():
        _call("set", part_name, content[start : start + _PART], _SECONDS)
    entry = (page.etag, page.rendered_at, digest, len(content), crc32(content))
    _call("set", name, entry, _SECONDS)
    if not _live_cache.is_paused():
        stopwatch.log("stored", len(content))
    return page._replace(content=content, is_compressed=True)


def _read(name: str) -> RenderedPage | None:
    try:
        etag, rendered_at, digest, size, checksum = _call("get", name)
        part_names = list(_part_starts(name, digest, size))
        parts = _call("get_many", part_names)
        content = b"".join(parts[part_name] for part_name in part_names)
        if not content or crc32(content) != checksum:
            return None
        return RenderedPage(str(etag), float(rendered_at), content, is_compressed=True)
    except (KeyError, OverflowError, TypeError, ValueError):
        # The cached value may not be ours, or the cache may have dropped a part.
        return None


def _part_starts(name: str, digest: str, size: int) -> dict[str, int]:
    """Return the position of each part of a compressed page, by its key.

    Since keys contain the digest of the page, parts of different versions cannot be mixed.
    """
    # A damaged size must not exhaust memory. The page then counts as missing, since parts are not found.
    size = min(size, protocol.MAX_BYTES)
    return {f"{name}:{digest}:{start}": start for start in range(0, size, _PART)}


def _call(method: str, *arguments: object) -> Any:
    return _live_cache.call(caches[str(conf.live_cache)], method, *arguments)
