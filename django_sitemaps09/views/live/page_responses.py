"""Serve live pages. A page is rendered only if neither the client nor `LIVE_CACHE` has a valid copy."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import get_script_prefix, get_urlconf
from django.utils.cache import patch_vary_headers

from django_sitemaps09 import protocol, sections, sources, writer
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.filenames import Suffix
from django_sitemaps09.hooks.expressions import FormatName
from django_sitemaps09.hooks.values import log_skipped
from django_sitemaps09.pages import Page, fill
from django_sitemaps09.sources import Source, UrlsSource, has_key_ranges
from django_sitemaps09.stores import content_type
from django_sitemaps09.views import caching, validators
from django_sitemaps09.views.live import kept_pages, maps, memo
from django_sitemaps09.views.live.kept_pages import NotCachedError, RenderedPage
from django_sitemaps09.views.live.memo import PageETag
from django_sitemaps09.views.responses import (
    GzipFileResponse,
    HeadResponse,
    Sitemaps,
    configured_script_prefix,
    current_base,
    is_host_from_client,
    savepoints,
)
from django_sitemaps09.views.stopwatch import Stopwatch, page_subject, status_result
from django_sitemaps09.writer import Destination, WriteResult

logger = logging.getLogger(__name__)

# Not "gzip;q=0", which means that the client does not accept gzip (RFC 9110, section 12.4.2).
_ACCEPTS_GZIP = re.compile(r"(?<![\w-])gzip\s*(?:,|$|;\s*q=(?:1|0?\.\d*[1-9]))", re.ASCII | re.IGNORECASE)
# Header fields that an ETag is compared with (RFC 9110, section 13.1).
_CONDITIONS = frozenset({"If-Match", "If-None-Match"})


@site_locale()
def respond(
    request: HttpRequest, section: str, number: str, suffix: Suffix, sitemaps: Sitemaps
) -> HttpResponseBase:
    """Return a page, or an empty response if the client's copy is still valid."""
    subject = page_subject(section, number)
    stopwatch = Stopwatch(subject)
    known = memo.find(request, sitemaps)
    answer = None
    if known is not None:
        stopwatch.log("fingerprint known")
        unpack = not _takes_gzip(request, suffix)
        read = partial(kept_pages.read_page, known.cache_key, known.etag.value, subject, unpack=unpack)
        with suppress(NotCachedError):
            answer = _answer(request, suffix, known.etag, read)
    compiled_page = partial(_compiled_page, request, section, number, suffix, sitemaps)
    response, etag_from = answer or sources.retry_once(compiled_page, subject)
    stopwatch.log(status_result(response.status_code, etag_from))
    return response


def _compiled_page(
    request: HttpRequest, section: str, number: str, suffix: Suffix, sitemaps: Sitemaps
) -> tuple[HttpResponseBase, str]:
    """Compile the section, and return the result of `_answer()` for one of its pages."""
    started = time.time()
    declarations = sections.native_mapping(sitemaps)
    if section not in declarations:
        raise Http404(f"No sitemap available for section: {section!r}")
    source = sources.source(section, declarations[section], current_base(request), conf.limits)
    if isinstance(source, UrlsSource):
        _begin(source, int(number))
    live_page = maps.find_page(source, int(number))
    if live_page is None:
        raise Http404(f"Section {section!r} has no page {number}")
    format_name: FormatName = "text" if suffix == "txt" else "xml"
    cache_key = _cache_key(request, source, live_page, format_name) if conf.live_cache else None
    # Without a copy to compare it with, no fingerprint is read before that of the rows that are rendered.
    has_copy = cache_key is not None or not _CONDITIONS.isdisjoint(request.headers)
    known_etag = memo.of_page(source, live_page, may_read=has_copy or request.method == "HEAD")
    etag = known_etag and known_etag.value
    render = partial(_render, section, source, live_page, format_name, started)
    subject = page_subject(section, number)
    unpack = not _takes_gzip(request, suffix)
    get_page = partial(kept_pages.rendered_page, cache_key, etag, render, subject, unpack=unpack)
    answer = _answer(request, suffix, known_etag, get_page)
    memo.remember(request, sitemaps, cache_key, memo.of_page(source, live_page, may_read=False))
    return answer


def _answer(
    request: HttpRequest, suffix: Suffix, known_etag: PageETag | None, get_page: Callable[[], RenderedPage]
) -> tuple[HttpResponseBase, str]:
    """Return a response, and what its ETag is derived from. Get the page only if the client needs it."""
    response = _empty_response(suffix)
    answer = validators.respond(request, response, known_etag and known_etag.value)
    if answer is not response:
        return answer, "fingerprint"
    if request.method == "HEAD" and known_etag is not None and not known_etag.are_too_many:
        return HeadResponse(headers=response.headers), "fingerprint"
    page = get_page()
    response = _with_content(_empty_response(suffix), page, takes_gzip=_takes_gzip(request, suffix))
    return validators.respond(request, response, page.etag), "content"


def _cache_key(
    request: HttpRequest, source: Source, live_page: Page, format_name: FormatName
) -> str | None:
    """Return the cache key of a page, or `None` if clients could choose a part of the key.

    The key contains the path and the URLconf, since two URLconfs can use the same name for different
    sections, and the tenant, if the `KEY_FUNCTION` of the default cache adds it.
    """
    if is_host_from_client() or get_script_prefix() != configured_script_prefix():
        return None
    bases = list(map(str, source.bases))
    path = request.path.removesuffix(".gz")
    urlconf = str(get_urlconf())
    facts = (path, urlconf, source.declaration_digest, live_page, format_name, bases, caching.full_key(""))
    return f"django_sitemaps09:page:{sources.digest(facts)}"


def _takes_gzip(request: HttpRequest, suffix: Suffix) -> bool:
    """Return whether the response can be a compressed page as it is cached."""
    return suffix == "xml.gz" or bool(_ACCEPTS_GZIP.search(request.headers.get("Accept-Encoding", "")))


def _empty_response(suffix: Suffix) -> HttpResponse:
    """Return a response without content. `LIVE_CACHE` adds `Vary`: pages can then have either encoding."""
    response_class = GzipFileResponse if suffix == "xml.gz" else HttpResponse
    response = response_class(content_type=content_type(f"page.{suffix}"))
    if conf.live_cache and suffix != "xml.gz":
        patch_vary_headers(response, ("Accept-Encoding",))
    return response


def _with_content(response: HttpResponse, page: RenderedPage, *, takes_gzip: bool) -> HttpResponse:
    """Add a page to a response, as it is cached if the client `takes_gzip`."""
    if isinstance(response, GzipFileResponse):
        response.content = page.content if page.is_compressed else kept_pages.compressed(page.content)
    elif page.is_compressed and takes_gzip:
        response.content = page.content
        response["Content-Encoding"] = "gzip"
    else:
        response.content = page.content if page.unpacked is None else page.unpacked
    return response


def _render(
    section: str, source: Source, live_page: Page, format_name: FormatName, started: float
) -> RenderedPage:
    """Return a page within the limits. If the rows exceed a limit, divide the live page.

    If all items of a page are skipped, the page has no URLs, but is still in the index.
    """
    stopwatch = Stopwatch(page_subject(section, live_page.number))
    needs_fingerprint = memo.needs_fingerprint(source, live_page)
    # Only exports split pages at `MAX_BYTES`. Live pages only have to stay within the protocol's limit.
    limits = sources.page_limits(source, conf.limits)._replace(bytes=protocol.MAX_BYTES)
    if not has_key_ranges(source):
        # Pages without key ranges cannot be split, so they may have as many URLs as the protocol allows.
        limits = limits._replace(urls=max(limits.urls, protocol.MAX_URLS))
    chunks: list[bytes] = []
    with sources.read_page(source, live_page, needs_fingerprint=needs_fingerprint) as rows:
        outs = [Destination(chunks.append, str(source.bases[0]))]
        kind = writer.page_format(format_name, styled=conf.stylesheet)
        [document] = writer.write_documents(kind, rows.batches, outs, limits, source.namespaces)
    known_etag = None
    if needs_fingerprint and has_key_ranges(source):
        known_etag = memo.of_rows(source, live_page, rows.fingerprint, started)
    _log(section, live_page.number, document, source)
    is_incomplete = False
    if has_key_ranges(source) and document.cut is not None:
        # An earlier range answers with as many rows as fit. The others are on listed pages.
        is_incomplete = maps.divide_page(source, live_page, fill(document.items))
    content = b"".join(chunks)
    stopwatch.log("rendered", len(content))
    etag = known_etag.value if known_etag else validators.of_content(content)
    return RenderedPage(None if is_incomplete else etag, started, content)


def _begin(source: UrlsSource, number: int) -> None:
    """Begin a page as Django's view does. If that fails, the page may not exist, so begin page 1."""
    try:
        with savepoints():
            source.begin(number)
    except Exception:
        if number == 1:
            raise
        source.begin(1)


def _log(section: str, page: int, document: WriteResult, source: Source) -> None:
    where = f"Section {section!r}, page {page}: skipped"
    log_skipped(logger, document.errors, len(document.errors), where)
    values = (section, page, document.urls, document.bytes)
    most_urls = sources.page_limits(source, conf.limits).urls
    if document.cut is not None and not has_key_ranges(source):
        logger.error(
            "Section %r, page %s: only the first %d URLs (%d bytes) are served, because no more fit "
            "into a sitemap. Set a lower `limit`.",
            *values,
        )
    elif document.urls > most_urls or document.bytes > conf.limits.bytes:
        logger.warning(
            "Section %r, page %s: %d URLs and %d bytes exceed a limit. Set a lower `limit`.", *values
        )
