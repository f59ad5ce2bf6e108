"""Serve live pages. A page is rendered only if neither the client nor `LIVE_CACHE` has a valid copy."""

from __future__ import annotations

import logging
import re
import time
from functools import partial
from typing import NamedTuple, TypeAlias

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import get_script_prefix, get_urlconf
from django.utils.cache import patch_vary_headers

from django_sitemaps09 import protocol, sections, sources, writer
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.filenames import Suffix, content_type
from django_sitemaps09.hooks.expressions import FormatName
from django_sitemaps09.hooks.values import log_skipped
from django_sitemaps09.pages import Page, fill
from django_sitemaps09.sources import Source, UrlsSource, has_key_ranges
from django_sitemaps09.views import caching, responses
from django_sitemaps09.views.live import kept_pages, maps, memo
from django_sitemaps09.views.live.kept_pages import CachedCopy, LivePage
from django_sitemaps09.views.live.memo import PageETag, PageMemo
from django_sitemaps09.views.responses import (
    GzipFileResponse,
    HeadResponse,
    Sitemaps,
    Stopwatch,
    current_base,
    is_host_from_client,
    page_subject,
    savepoints,
)
from django_sitemaps09.writer import Destination, WriteResult

logger = logging.getLogger(__name__)

# Not "gzip;q=0", which means that the client does not accept gzip (RFC 9110, section 12.4.2).
_ACCEPTS_GZIP = re.compile(r"(?<![\w-])gzip\s*(?:,|$|;\s*q=(?:1|0?\.\d*[1-9]))", re.ASCII | re.IGNORECASE)
# Header fields that an ETag is compared with (RFC 9110, section 13.1).
_CONDITIONS = frozenset({"If-Match", "If-None-Match"})

# A response, and what its ETag is derived from.
_Answer: TypeAlias = "tuple[HttpResponseBase, str]"


@site_locale()
def respond(
    request: HttpRequest, section: str, number: int, suffix: Suffix, sitemaps: Sitemaps
) -> HttpResponseBase:
    """Return a page, or an empty response if the client's copy is still valid."""
    page_request = PageRequest(request, section, number, suffix, sitemaps)
    stopwatch = Stopwatch(page_request.subject)
    answer = page_request.known_answer()
    response, etag_from = answer or sources.retry_once(page_request.answer, page_request.subject)
    stopwatch.log_status(response, etag_from)
    return response


class PageRequest(NamedTuple):
    """A request for a page."""

    request: HttpRequest
    section: str
    number: int
    suffix: Suffix
    sitemaps: Sitemaps

    @property
    def subject(self) -> str:
        return page_subject(self.section, self.number)

    @property
    def _format_name(self) -> FormatName:
        return "text" if self.suffix == "txt" else "xml"

    def known_answer(self) -> _Answer | None:
        """Return the answer to a request whose ETag is known, or `None` if the page has to be rendered."""
        known = memo.find(self.request, self.sitemaps)
        if known is None:
            return None
        Stopwatch(self.subject).log("fingerprint known")
        answer = self._empty_answer(known.etag)
        if answer is None and known.cache_key is not None:
            page = self._cached_copy(known.cache_key).find(known.etag.value)
            answer = page and self._full_answer(page)
        return answer

    def answer(self) -> _Answer:
        """Compile the section, and return the answer. Render the page only if the client needs it."""
        request, started = self.request, time.time()
        declarations = sections.native_mapping(self.sitemaps)
        if self.section not in declarations:
            raise Http404(f"No sitemap available for section: {self.section!r}")
        source = sources.source(
            self.section, declarations[self.section], current_base(request), conf.limits
        )
        if isinstance(source, UrlsSource):
            _begin(source, self.number)
        page = maps.find_page(source, self.number)
        if page is None:
            raise Http404(f"Section {self.section!r} has no page {self.number}")
        cache_key = self._cache_key(source, page) if conf.live_cache else None
        # Without a copy to compare it with, the only fingerprint that is read is that of the rendered rows.
        has_copy = cache_key is not None or not _CONDITIONS.isdisjoint(request.headers)
        page_memo = memo.of_page(source, page)
        etag = page_memo and page_memo.etag(may_read=has_copy or request.method == "HEAD")
        answer = self._empty_answer(etag)
        if answer is None:
            render = partial(self._render, source, page, page_memo, started)
            copy = None if cache_key is None else self._cached_copy(cache_key)
            rendered = copy.find_or_render(etag and etag.value, render) if copy else render()
            answer = self._full_answer(rendered)
        etag = page_memo and page_memo.etag(may_read=False)
        memo.remember(request, self.sitemaps, cache_key, etag)
        return answer

    def _empty_answer(self, etag: PageETag | None) -> _Answer | None:
        """Return an answer without content, if that is what the client needs."""
        response = self._response()
        answer = responses.conditional(self.request, response, etag and etag.value)
        if answer is not response:
            return answer, "fingerprint"
        if self.request.method == "HEAD" and etag is not None and not etag.are_too_many:
            return HeadResponse(headers=response.headers), "fingerprint"
        return None

    def _render(self, source: Source, page: Page, page_memo: PageMemo | None, started: float) -> LivePage:
        """Return a page within the limits. If the rows exceed a limit, divide the live page.

        If all items of a page are skipped, the page has no URLs, but is still in the index.
        """
        stopwatch = Stopwatch(self.subject)
        unread = page_memo if page_memo is not None and page_memo.needs_fingerprint() else None
        # Only exports split pages at `MAX_BYTES`. Live pages only have to stay within the protocol's limit.
        limits = sources.page_limits(source, conf.limits)._replace(bytes=protocol.MAX_BYTES)
        if not has_key_ranges(source):
            # Such pages cannot be split, so they may have as many URLs as the protocol allows.
            limits = limits._replace(urls=max(limits.urls, protocol.MAX_URLS))
        chunks: list[bytes] = []
        with sources.read_page(source, page, needs_fingerprint=unread is not None) as rows:
            outs = [Destination(chunks.append, str(source.bases[0]))]
            kind = writer.page_format(self._format_name, styled=conf.stylesheet)
            [document] = writer.write_documents(kind, rows.batches, outs, limits, source.namespaces)
        etag = unread and unread.remember_rows(rows.fingerprint, started)
        _log(self.subject, source, document)
        is_incomplete = False
        if has_key_ranges(source) and document.cut is not None:
            # An earlier range answers with as many rows as fit. The others are on listed pages.
            is_incomplete = maps.divide_page(source, page, fill(document.items))
        content = b"".join(chunks)
        stopwatch.log("rendered", len(content))
        value = etag.value if etag else responses.content_etag(content)
        return LivePage(None if is_incomplete else value, started, content)

    def _full_answer(self, page: LivePage) -> _Answer:
        """Return an answer with a page, as it is cached if the client accepts that."""
        response = self._response()
        if isinstance(response, GzipFileResponse):
            response.content = page.content if page.is_compressed else kept_pages.compressed(page.content)
        elif page.is_compressed and self._takes_gzip():
            response.content = page.content
            response["Content-Encoding"] = "gzip"
        else:
            response.content = page.content if page.unpacked is None else page.unpacked
        return responses.conditional(self.request, response, page.etag), "content"

    def _response(self) -> HttpResponse:
        """Return a response without content. `LIVE_CACHE` adds `Vary`: pages then have either encoding."""
        response_class = GzipFileResponse if self.suffix == "xml.gz" else HttpResponse
        response = response_class(content_type=content_type(f"page.{self.suffix}"))
        if conf.live_cache and self.suffix != "xml.gz":
            patch_vary_headers(response, ("Accept-Encoding",))
        return response

    def _cache_key(self, source: Source, page: Page) -> str | None:
        """Return the cache key of a page, or `None` if clients could choose a part of the key.

        The key contains the path and the URLconf, since two URLconfs can use the same name for different
        sections, and the tenant, if the `KEY_FUNCTION` of the default cache adds it.
        """
        if is_host_from_client() or get_script_prefix() != conf.script_prefix:
            return None
        path, urlconf = self.request.path.removesuffix(".gz"), str(get_urlconf())
        bases = list(map(str, source.bases))
        tenant = caching.full_key("")
        facts = (path, urlconf, source.declaration_digest, page, self._format_name, bases, tenant)
        return f"django_sitemaps09:page:{sources.digest(facts)}"

    def _cached_copy(self, cache_key: str) -> CachedCopy:
        return CachedCopy(cache_key, self.subject, unpack=not self._takes_gzip())

    def _takes_gzip(self) -> bool:
        """Return whether the response can be a compressed page as it is cached."""
        accepted = self.request.headers.get("Accept-Encoding", "")
        return self.suffix == "xml.gz" or bool(_ACCEPTS_GZIP.search(accepted))


def _begin(source: UrlsSource, number: int) -> None:
    """Begin a page as Django's view does. If that fails, the page may not exist, so begin page 1."""
    try:
        with savepoints():
            source.begin(number)
    except Exception:
        if number == 1:
            raise
        source.begin(1)


def _log(subject: str, source: Source, document: WriteResult) -> None:
    log_skipped(logger, document.errors, len(document.errors), f"{subject}: skipped")
    most_urls = sources.page_limits(source, conf.limits).urls
    if document.cut is not None and not has_key_ranges(source):
        logger.error(
            "%s: only the first %d URLs (%d bytes) are served, because no more fit into a sitemap. Set a "
            "lower `limit`.",
            *(subject, document.urls, document.bytes),
        )
    elif document.urls > most_urls or document.bytes > conf.limits.bytes:
        logger.warning(
            "%s: %d URLs and %d bytes exceed a limit. Set a lower `limit`.",
            *(subject, document.urls, document.bytes),
        )
