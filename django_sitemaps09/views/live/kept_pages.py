"""Keep rendered pages compressed in the cache `LIVE_CACHE`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import NamedTuple

from django.core.cache import caches
from django.core.cache.backends.dummy import DummyCache

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.protocol.compression import compress, decompress_whole
from django_sitemaps09.views import caching
from django_sitemaps09.views.caching import PausingCache
from django_sitemaps09.views.responses import Stopwatch

# Seconds until a cached page expires. An outdated page is served while one request renders a new one.
_SECONDS = 86_400
# A cached ETag becomes a header.
_ETAG = re.compile("[!-~]{1,100}")
# Seconds until the lock for rendering a page expires.
_RENDER_SECONDS = 60
_live_cache = PausingCache(
    "LIVE_CACHE", lambda: caches[str(conf.live_cache)], DummyCache("", {}), "it is not used"
)


class LivePage(NamedTuple):
    """A document, its ETag, and its time of rendering in seconds since 1970.

    A page without an ETag is not cached, by this package or by clients: it is incomplete or outdated. If
    `content` is compressed, `unpacked` is the document, if a client needs it.
    """

    etag: str | None
    rendered_at: float
    content: bytes
    is_compressed: bool = False
    unpacked: bytes | None = None


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
            stopwatch.log("hit", len(page.content))
        return page

    def find_or_render(self, etag: str | None, render: Callable[[], LivePage]) -> LivePage:
        """Find the page, or render it. Meanwhile, other requests get an outdated page or wait."""
        stopwatch, kept = Stopwatch(self.subject), self._read()

        def log(result: str, page: LivePage) -> None:
            stopwatch.log(result, len(page.content))

        if (page := _valid(kept, etag)) is not None:
            log("hit", page)
            return page
        return caching.once(
            caching.Lock(self.name, _RENDER_SECONDS, cache=_live_cache),
            lambda: _valid(self._read(), etag),
            lambda: self._store(render()),
            kept and kept._replace(etag=None),
            otherwise=render,
            log=log,
        )

    def _store(self, page: LivePage) -> LivePage:
        """Cache a page, and return the compressed page."""
        if page.etag is None:
            return page
        stopwatch = Stopwatch(self.subject)
        content = compressed(page.content)
        caching.set_bytes(_live_cache, self.name, content, _SECONDS, page.etag, page.rendered_at)
        if not _live_cache.is_paused():
            stopwatch.log("stored", len(content))
        return page._replace(content=content, is_compressed=True, unpacked=page.content)

    def _read(self) -> LivePage | None:
        """Return the cached page; `None` if it is missing, invalid, or larger than any sitemap."""
        try:
            content, etag, rendered_at = caching.get_bytes(_live_cache, self.name) or ()
            if not _ETAG.fullmatch(etag):
                return None
            page = LivePage(etag, float(rendered_at), content, is_compressed=True)
        except (OverflowError, TypeError, ValueError):
            return None
        if not self.unpack:
            return page
        document = decompress_whole(content, protocol.MAX_BYTES)
        return None if document is None else page._replace(unpacked=document)


def compressed(content: bytes) -> bytes:
    linked = b" xmlns:xhtml=" in content[: content.find(b"<url>")]
    return compress(content, conf.gzip_level, linked=linked)


def _valid(page: LivePage | None, etag: str | None) -> LivePage | None:
    if page is None:
        return None
    is_recent = 0 <= time.time() - page.rendered_at < conf.live_seconds
    return page if page.etag == etag or (etag is None and is_recent) else None
