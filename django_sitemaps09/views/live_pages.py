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

from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.calls import log_skipped
from django_sitemaps09.declare.hosts import current_base, is_host_from_client
from django_sitemaps09.orm.reading import retry_once
from django_sitemaps09.protocol.documents import WriteResult, write_document
from django_sitemaps09.protocol.filenames import Suffix, bounds_text, content_type
from django_sitemaps09.protocol.pages import Page
from django_sitemaps09.protocol.urlset import page_format
from django_sitemaps09.rows.compile import compile_source
from django_sitemaps09.rows.declaration_digests import digest_of
from django_sitemaps09.rows.get_urls import UrlsSource
from django_sitemaps09.rows.queryset import has_key_ranges, read_page
from django_sitemaps09.rows.source_base import Source, protocol_limits
from django_sitemaps09.views import caching, known_pages, listing as listings, responses
from django_sitemaps09.views.known_pages import CachedCopy, LivePage, PageMemo
from django_sitemaps09.views.responses import GzipFileResponse, Sitemaps, Stopwatch, savepoints, tenant

logger = logging.getLogger(__name__)

# Not "gzip;q=0", which means that the client does not accept gzip (RFC 9110, section 12.4.2).
_ACCEPTS_GZIP = re.compile(r"(?<![\w-])gzip\s*(?:,|$|;\s*q=(?:1|0?\.\d*[1-9]))", re.ASCII | re.IGNORECASE)
# Header fields that an ETag is compared with, and all that can lead to an answer without content (RFC 9110,
# section 13.1).
_CONDITIONS = frozenset({"If-Match", "If-None-Match"})
_PRECONDITIONS = _CONDITIONS | {"If-Unmodified-Since"}
# Maximum number of ranges that are noted as too full, and seconds for which they are.
_MAX_FULL, _FULL_SECONDS = 100, 86_400
# A response, and what its ETag is derived from.
_Answer: TypeAlias = "tuple[HttpResponseBase, str]"


@site_locale()
def respond(
    request: HttpRequest,
    section: str,
    page: Page,
    suffix: Suffix,
    sitemaps: Sitemaps,
    signature: str | None = None,
) -> HttpResponseBase:
    """Return a page, or an empty response if the client's copy is valid.

    Without a `signature`, `page` is a number, whose range is not known yet.
    """
    subject = responses.page_subject(section, page)
    stopwatch = Stopwatch(subject)
    page_request = PageRequest(request, section, page, suffix, sitemaps, signature, subject)
    response, etag_from = page_request.known_answer() or retry_once(page_request.answer, subject)
    stopwatch.log_status(response, etag_from)
    return response


class PageRequest(NamedTuple):
    """A request for a page. Log lines begin with `subject`."""

    request: HttpRequest
    section: str
    page: Page
    suffix: Suffix
    sitemaps: Sitemaps
    signature: str | None
    subject: str

    def known_answer(self) -> _Answer | None:
        """Return the answer if the ETag is known, and the content is cached or not needed."""
        known = known_pages.find(self.request, self.sitemaps)
        if known is None:
            return None
        Stopwatch(self.subject).log("fingerprint known")
        answer = self._empty_answer(known.etag)
        if answer is None and known.cache_key is not None:
            page = self._cached_copy(known.cache_key).find(known.etag)
            answer = page and self._full_answer(page)
        return answer

    def answer(self) -> _Answer:
        """Compile the section, and return the answer. Render the page only if the client needs it."""
        request, started = self.request, time.time()
        declarations = sections.native_mapping(self.sitemaps)
        if self.section not in declarations:
            raise Http404(f"No sitemap available for section: {self.section!r}")
        base = current_base(request)
        source = compile_source(self.section, declarations[self.section], base, conf.limits)
        page = self._page(source)
        if page is None:
            Stopwatch(self.subject).log("unknown number" if self.signature is None else "wrong signature")
            raise Http404(f"Section {self.section!r} has no such page")
        cache_key = self._cache_key(source, page) if conf.live_cache else None
        # Without a copy to compare it with, the only fingerprint that is read is that of the rendered rows.
        has_copy = cache_key is not None or not _CONDITIONS.isdisjoint(request.headers)
        memo = known_pages.of_page(source, page)
        reading = memo and memo.etag(may_read=has_copy or request.method == "HEAD")
        etag = reading and reading.value
        answer = self._empty_answer(etag)
        if answer is None:
            render = partial(self._render, source, page, memo, started)
            rendered = self._cached_copy(cache_key).find_or_render(etag, render) if cache_key else render()
            answer = self._full_answer(rendered)
        known_pages.remember(request, self.sitemaps, cache_key, memo and memo.etag(may_read=False))
        return answer

    def _page(self, source: Source) -> Page | None:
        """Return the range of the requested page, or `None`. No rows are queried for a range of keys."""
        if self.signature is not None:
            return listings.find_range(source, self.page, self.signature)
        if isinstance(source, UrlsSource):
            _begin(source, self.page.number)
        return listings.find_numbered(source, self.page.number)

    def _empty_answer(self, etag: str | None) -> _Answer | None:
        is_head = self.request.method == "HEAD"
        if etag is None or (not is_head and _PRECONDITIONS.isdisjoint(self.request.headers)):
            return None
        response = self._response()
        answer = responses.conditional(self.request, response, etag)
        if answer is not response:
            return answer, "fingerprint"
        return (responses.HeadResponse(headers=response.headers), "fingerprint") if is_head else None

    def _render(self, source: Source, page: Page, memo: PageMemo | None, started: float) -> LivePage:
        """Return a page within the limits of the protocol, whatever `limit` says.

        If more rows have come to its range, it has the first ones, and no ETag. If all items of a page are
        skipped, the page has no URLs, but is still in the index.
        """
        stopwatch = Stopwatch(self.subject)
        unread = memo if memo is not None and memo.needs_fingerprint() else None
        chunks: list[bytes] = []
        with read_page(source, page, needs_fingerprint=unread is not None) as rows:
            document = write_document(
                page_format("text" if self.suffix == "txt" else "xml", styled=conf.stylesheet),
                rows.batches,
                chunks.append,
                str(source.declared.base),
                protocol_limits(source),
                source.declared.namespaces,
            )
        is_incomplete = has_key_ranges(source) and document.cut is not None
        etag = unread and unread.remember(None if is_incomplete else rows.fingerprint, started)
        _log(self.subject, page, source, document)
        content = b"".join(chunks)
        stopwatch.log("rendered", len(content))
        if is_incomplete:
            self._note_full(page, document.items)
            return LivePage(None, started, content)
        return LivePage(etag.value if etag else responses.content_etag(content), started, content)

    def _note_full(self, page: Page, rows: int) -> None:
        """Leave a note of how many rows fitted, by which the next renewal of the listing divides a page."""
        declaration = sections.native_mapping(self.sitemaps)[self.section]
        base, namespace = current_base(self.request), listings.namespace_of(self.request)
        name = listings.listing_name(self.section, declaration, base, namespace)
        full = caching.default.get(f"{name}:full")
        known = full if isinstance(full, dict) and len(full) < _MAX_FULL else {}
        note = {bounds_text(page.after, page.until): rows}
        caching.default.set(f"{name}:full", {**known, **note}, _FULL_SECONDS)

    def _full_answer(self, page: LivePage) -> _Answer:
        response = self._response()
        if isinstance(response, GzipFileResponse):
            response.content = page.packed or known_pages.compressed(page.document)
        elif page.packed and self._takes_gzip():
            response.content = page.packed
            response["Content-Encoding"] = "gzip"
        else:
            response.content = page.document
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

        Two URLconfs can use the same name for different sections.
        """
        if is_host_from_client() or get_script_prefix() != conf.script_prefix:
            return None
        path, base = self.request.path.removesuffix(".gz"), str(source.declared.base)
        place, kind = (path, str(get_urlconf())), "text" if self.suffix == "txt" else "xml"
        facts = (*place, source.declaration_digest, page, kind, [base], tenant())
        return f"django_sitemaps09:page:{digest_of(facts)}"

    def _cached_copy(self, cache_key: str) -> CachedCopy:
        return CachedCopy(cache_key, self.subject, unpack=not self._takes_gzip())

    def _takes_gzip(self) -> bool:
        """Return whether the response can be a compressed page as it is cached."""
        accepted = self.request.headers.get("Accept-Encoding", "")
        return self.suffix == "xml.gz" or bool(_ACCEPTS_GZIP.search(accepted))


def _begin(source: UrlsSource, number: int) -> None:
    """Begin a page as Django's view does. If that fails, page 1: the other page may not exist."""
    try:
        with savepoints():
            source.begin(number)
    except Exception:
        if number == 1:
            raise
        source.begin(1)


def _log(subject: str, page: Page, source: Source, document: WriteResult) -> None:
    log_skipped(logger, document.errors, len(document.errors), f"{subject}: skipped")
    size = (subject, document.urls, document.bytes)
    is_ranged = has_key_ranges(source)
    if document.cut is not None:
        level, advice = logging.ERROR, "Set a lower `limit`"
        if is_ranged:
            level, advice = logging.WARNING, "A later index divides the page"
        if is_ranged and page.number:
            # Anybody can request number 1, and no index lists it if it is too full.
            level, advice = logging.DEBUG, "Indexes list its rows on several pages"
        text = "%s: only the first %d URLs (%d bytes) are served, because no more fit into a sitemap. %s."
        logger.log(level, text, *size, advice)
    # More rows can come to a range before the next index divides it.
    elif document.bytes > conf.limits.bytes or not (is_ranged or document.urls <= source.entries_per_page):
        logger.warning("%s: %d URLs and %d bytes exceed a limit. Set a lower `limit`.", *size)
