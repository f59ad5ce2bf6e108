"""Serve live pages. A page is rendered only if neither the client nor `LIVE_CACHE` has a valid copy."""

from __future__ import annotations

import gzip
import logging
import re
import time
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import get_script_prefix
from django.utils.cache import patch_vary_headers

from django_sitemaps09 import protocol, sections, sources, writer
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.filenames import Suffix
from django_sitemaps09.hooks.formats import FormatName
from django_sitemaps09.hooks.values import log_skipped
from django_sitemaps09.pages import Page
from django_sitemaps09.sources import Source, UrlsSource, has_key_ranges
from django_sitemaps09.stores import content_type
from django_sitemaps09.views import (
    caching,
    known_pages,
    page_maps,
    rendered,
    validators,
)
from django_sitemaps09.views.rendered import NotCachedError, RenderedPage
from django_sitemaps09.views.responses import (
    GzipFileResponse,
    Sitemaps,
    configured_script_prefix,
    current_base,
    is_host_from_client,
    savepoints,
)
from django_sitemaps09.views.stopwatch import Stopwatch, page_subject, status_result
from django_sitemaps09.views.validators import PageETag
from django_sitemaps09.writer import Destination, WriteResult

logger = logging.getLogger(__name__)

# Not "gzip;q=0", which means that the client does not accept gzip (RFC 9110, section 12.4.2).
_ACCEPTS_GZIP = re.compile(r"(?<![\w-])gzip\s*(?:,|$|;\s*q=(?:1|0?\.\d*[1-9]))", re.ASCII | re.IGNORECASE)


@site_locale()
def respond(
    request: HttpRequest, section: str, number: str, suffix: Suffix, sitemaps: Sitemaps
) -> HttpResponseBase:
    """Return a page, or an empty response if the client's copy is still valid."""
    subject = page_subject(section, number)
    stopwatch = Stopwatch(subject)
    known = known_pages.find(request, sitemaps)
    answer = None
    if known is not None:
        stopwatch.log("fingerprint known")
        etag = known.etag.value
        with suppress(NotCachedError):
            answer = _answer(
                request, suffix, etag, partial(rendered.read_page, known.cache_key, etag, subject)
            )
    response, etag_from = answer or _compiled_page(request, section, number, suffix, sitemaps)
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
    live_page = page_maps.find_page(section, source, int(number))
    if live_page is None:
        raise Http404(f"Section {section!r} has no page {number}")
    format_name: FormatName = "text" if suffix == "txt" else "xml"
    cache_key = _cache_key(request, source, live_page, format_name) if conf.live_cache else None
    known_etag = validators.of_page(source, live_page)
    remember = partial(known_pages.remember, request, sitemaps, cache_key)
    remember(known_etag)
    etag = known_etag and known_etag.value
    render = partial(_render, section, source, live_page, format_name, started, remember)
    subject = page_subject(section, number)
    return _answer(request, suffix, etag, partial(rendered.rendered_page, cache_key, etag, render, subject))


def _answer(
    request: HttpRequest, suffix: Suffix, etag: str | None, get_page: Callable[[], RenderedPage]
) -> tuple[HttpResponseBase, str]:
    """Return a response, and what its ETag is derived from. Get the page only if the client needs it."""
    response = _empty_response(suffix)
    answer = validators.respond(request, response, etag)
    if answer is not response:
        return answer, "fingerprint"
    page = get_page()
    response = _with_content(_empty_response(suffix), page, request)
    return validators.respond(request, response, page.etag), "content"


def _cache_key(
    request: HttpRequest, source: Source, live_page: Page, format_name: FormatName
) -> str | None:
    """Return the cache key of a page, or `None` if clients could choose a part of the key.

    The key contains the path, since two URLconfs can use the same name for different sections, and the
    tenant, if the `KEY_FUNCTION` of the default cache adds it.
    """
    if is_host_from_client() or get_script_prefix() != configured_script_prefix():
        return None
    bases = list(map(str, source.bases))
    path = request.path.removesuffix(".gz")
    facts = (path, source.declaration_digest, live_page, format_name, bases, caching.full_key(""))
    return f"django_sitemaps09:page:{sources.digest(facts)}"


def _empty_response(suffix: Suffix) -> HttpResponse:
    """Return a response without content. `LIVE_CACHE` adds `Vary`: pages can then have either encoding."""
    response_class = GzipFileResponse if suffix == "xml.gz" else HttpResponse
    response = response_class(content_type=content_type(f"page.{suffix}"))
    if conf.live_cache and suffix != "xml.gz":
        patch_vary_headers(response, ("Accept-Encoding",))
    return response


def _with_content(response: HttpResponse, page: RenderedPage, request: HttpRequest) -> HttpResponse:
    """Add a page to a response. Decompress a cached page only for clients that do not accept gzip."""
    if isinstance(response, GzipFileResponse):
        response.content = page.content if page.is_compressed else rendered.compressed(page.content)
    elif not page.is_compressed:
        response.content = page.content
    elif _ACCEPTS_GZIP.search(request.headers.get("Accept-Encoding", "")):
        response.content = page.content
        response["Content-Encoding"] = "gzip"
    else:
        response.content = gzip.decompress(page.content)
    return response


def _render(
    section: str,
    source: Source,
    live_page: Page,
    format_name: FormatName,
    started: float,
    remember: Callable[[PageETag | None], None],
) -> RenderedPage:
    """Return a page within the limits. If the rows exceed a limit, split the live page.

    `remember` is called with the ETag of the rows, which is read before the rows are.

    If all items of a page are skipped, the page has no URLs, but is still in the index.
    """
    stopwatch = Stopwatch(page_subject(section, live_page.number))
    # Rows may have changed since the fingerprint was last read.
    known_etag = validators.of_page(source, live_page, started)
    remember(known_etag)
    # Only exports split pages at `MAX_BYTES`. Live pages only have to stay within the protocol's limit.
    limits = sources.page_limits(source, conf.limits)._replace(bytes=protocol.MAX_BYTES)
    if not has_key_ranges(source):
        # Pages without key ranges cannot be split, so they may have as many URLs as the protocol allows.
        limits = limits._replace(urls=max(limits.urls, protocol.MAX_URLS))
    chunks: list[bytes] = []
    with closing(source.batches(live_page)) as batches:
        outs = [Destination(chunks.append, str(source.bases[0]))]
        kind = writer.page_format(format_name, styled=conf.stylesheet)
        [document] = writer.write_documents(kind, batches, outs, limits, source.namespaces)
    _log(section, live_page.number, document, source)
    if has_key_ranges(source):
        if document.cut is not None:
            page_maps.split_page(section, source, live_page, source.key_text(document.cut))
        elif not document.urls and not document.errors:
            page_maps.drop_page(section, source, live_page)
    content = b"".join(chunks)
    stopwatch.log("rendered", len(content))
    etag = known_etag.value if known_etag else validators.of_content(content)
    # The rows that did not fit are listed only after another request has stored the divided map.
    is_incomplete = document.cut is not None and has_key_ranges(source)
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
