"""Keep rendered pages compressed in the cache `LIVE_CACHE`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial
from hashlib import blake2b
from typing import Any, NamedTuple

from django.core.cache import caches
from django.core.cache.backends.dummy import DummyCache

from django_sitemaps09 import protocol
from django_sitemaps09.compression import compress, decompress_whole
from django_sitemaps09.conf import conf
from django_sitemaps09.views import caching
from django_sitemaps09.views.caching import PausingCache
from django_sitemaps09.views.stopwatch import Stopwatch

# Bytes of one cached part of a page. Memcached refuses values of more than a megabyte.
_PART = 500_000
# Seconds until a cached page expires. An outdated page is served while one request renders a new one.
_SECONDS = 86_400
# A cached ETag becomes a header.
_ETAG = re.compile("[!-~]{1,100}")
# Seconds until the lock for rendering a page expires.
_RENDER_SECONDS = 60
_live_cache = PausingCache("LIVE_CACHE", DummyCache("", {}), "it is not used")


class RenderedPage(NamedTuple):
    """A document, its ETag, and its time of rendering in seconds since 1970.

    A page without an ETag is not cached, by this package or by clients: it is incomplete or outdated. If
    `content` is compressed, `unpacked` is the document, if a client needs it.
    """

    etag: str | None
    rendered_at: float
    content: bytes
    is_compressed: bool = False
    unpacked: bytes | None = None


class NotCachedError(Exception):
    """The cache does not have a page; the argument is its cache key."""


def read_page(name: str | None, etag: str, subject: str, *, unpack: bool = False) -> RenderedPage:
    """Return the page that has this ETag from the cache, or raise `NotCachedError`."""
    stopwatch = Stopwatch(subject)
    stored = None if name is None else _unpacked(_read(name), unpack=unpack)
    if stored is None or stored.etag != etag:
        raise NotCachedError(name)
    stopwatch.log("hit", len(stored.content))
    return stored


def rendered_page(
    name: str | None,
    known_etag: str | None,
    render: Callable[[], RenderedPage],
    subject: str,
    *,
    unpack: bool = False,
) -> RenderedPage:
    """Return a cached page, or render it in one request. Other requests get an outdated page or wait.

    A cached page is valid if it has `known_etag`. If `known_etag` is `None`, it is valid for
    `LIVE_SECONDS`. If `name` is `None`, the page is always rendered. Log lines begin with `subject`. With
    `unpack`, a page that cannot be decompressed counts as missing.
    """
    if name is None:
        return render()
    stopwatch = Stopwatch(subject)
    stored = _unpacked(_read(name), unpack=unpack)
    if stored is not None and _is_valid(stored, known_etag):
        stopwatch.log("hit", len(stored.content))
        return stored

    def read() -> RenderedPage | None:
        page = _unpacked(_read(name), unpack=unpack)
        if page is None or not _is_valid(page, known_etag):
            return None
        stopwatch.log("waited", len(page.content))
        return page

    def build() -> RenderedPage:
        return _store(name, render(), subject)

    locks = partial(_call, "add"), partial(_call, "delete")
    outdated = stored and stored._replace(etag=None)
    page = caching.once(name, read, build, _RENDER_SECONDS, outdated, otherwise=render, locks=locks)
    if page is outdated:
        stopwatch.log("outdated", len(page.content))
    return page


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
    digest = _digest(content)
    for part_name, start in _part_starts(name, digest, len(content)).items():
        _call("set", part_name, content[start : start + _PART], _SECONDS)
    entry = (page.etag, page.rendered_at, digest, len(content))
    _call("set", name, entry, _SECONDS)
    if not _live_cache.is_paused():
        stopwatch.log("stored", len(content))
    return page._replace(content=content, is_compressed=True, unpacked=page.content)


def _digest(content: bytes) -> str:
    return blake2b(content, digest_size=16).hexdigest()


def _unpacked(page: RenderedPage | None, *, unpack: bool) -> RenderedPage | None:
    """Return a cached page, decompressed if `unpack`; `None` if it is larger than any sitemap."""
    if page is None or not unpack:
        return page
    document = decompress_whole(page.content, protocol.MAX_BYTES)
    return None if document is None else page._replace(unpacked=document)


def _read(name: str) -> RenderedPage | None:
    """Return a cached page; `None` if it is missing or invalid."""
    try:
        etag, rendered_at, digest, size = _call("get", name)
        part_names = list(_part_starts(name, digest, size))
        parts = _call("get_many", part_names)
        content = b"".join(parts[part_name] for part_name in part_names)
        if not content or _digest(content) != digest or not _ETAG.fullmatch(etag):
            return None
        return RenderedPage(etag, float(rendered_at), content, is_compressed=True)
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
