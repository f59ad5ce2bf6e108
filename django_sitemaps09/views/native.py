"""The native views. The index and the pages have the same URLs as the exported files."""

from __future__ import annotations

import gzip
import logging
import re
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import partial

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import NoReverseMatch, get_script_prefix, reverse
from django.utils.cache import patch_vary_headers

from django_sitemaps09 import protocol, robots, sections, sources, writer
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import reason_of
from django_sitemaps09.filenames import INDEX, STYLESHEET, Suffix, index_name, index_number, page_name
from django_sitemaps09.hooks.formats import FormatName
from django_sitemaps09.hooks.values import log_skipped
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources import Source, UrlsSource, has_key_ranges
from django_sitemaps09.stores import content_type
from django_sitemaps09.views import exported_files, live_indexes, page_maps, rendered, validators
from django_sitemaps09.views.caching import BusyError
from django_sitemaps09.views.live_indexes import SectionPages
from django_sitemaps09.views.rendered import RenderedPage
from django_sitemaps09.views.responses import (
    GzipFileResponse,
    Sitemaps,
    configured_script_prefix,
    current_base,
    is_host_from_client,
    native,
    native_url,
    savepoints,
)
from django_sitemaps09.views.stopwatch import Stopwatch, page_subject, status_result
from django_sitemaps09.writer import Destination, WriteResult

logger = logging.getLogger(__name__)

# Not "gzip;q=0", which means that the client does not accept gzip (RFC 9110, section 12.4.2).
_ACCEPTS_GZIP = re.compile(r"(?<![\w-])gzip\s*(?:,|$|;\s*q=(?:1|0?\.\d*[1-9]))", re.ASCII | re.IGNORECASE)


@native
def sitemap_index(
    request: HttpRequest, sitemaps: Sitemaps = None, number: str | None = None
) -> HttpResponseBase:
    """Return an index of the pages of all sections. Log and skip sections that fail.

    `number` is that of `sitemap-N.xml`, which exists only if the pages do not fit into one index.
    If no page remains, raise the first error: an empty index would mean that all URLs were removed.
    """
    name = INDEX if number is None else index_name(int(number), cascade=True)
    return exported_files.respond(request, name, sitemaps) or _live_index(request, name, sitemaps)


def _live_index(request: HttpRequest, name: str, sitemaps: Sitemaps) -> HttpResponseBase:
    stopwatch = Stopwatch("Index")
    base = current_base(request)
    section_pages: list[SectionPages] = []
    failures: list[Exception] = []
    for section, declaration in sections.native_mapping(sitemaps).items():
        try:
            with savepoints():
                section_pages.append(live_indexes.section_pages(request, section, declaration, base))
        except BusyError:
            # An index without the section would mean that its URLs are gone.
            raise
        except Exception as error:
            logger.exception("Section %r is missing from the index: %s", section, reason_of(error))
            failures.append(error)
    indexes = live_indexes.divide(section_pages)
    content = live_indexes.document(
        indexes, name, lambda number: f"{base}{native_url(request, 'numbered-index', number=number)}"
    )
    if failures and (content is None or not indexes[0]):
        raise failures[0]
    if content is None:
        raise Http404(f"There are only {len(indexes)} indexes")
    if name == INDEX and not failures:
        live_indexes.store_count(base, request.path, len(indexes))
    response = HttpResponse(content, content_type="application/xml")
    answer = validators.respond(request, response, validators.of_content(content))
    stopwatch.log(status_result(answer.status_code, "content"))
    return answer


@native
def page(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponseBase:
    """Return one page as XML."""
    return _page_response(request, section, page, "xml", sitemaps)


@native
def page_gz(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponseBase:
    """Return one page as a gzip file. Some clients fail on the type XML or a Content-Encoding header."""
    return _page_response(request, section, page, "xml.gz", sitemaps)


@native
def page_txt(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponseBase:
    """Return one page as text, with one URL on each line. This works for sections of any format."""
    return _page_response(request, section, page, "txt", sitemaps)


@native
def robots_txt(
    request: HttpRequest,
    sitemaps: Sitemaps = None,
    rules: str = "",
    sitemap_url_name: str = "django_sitemaps09:index",
) -> HttpResponse:
    """Return a robots.txt with `rules` and the URL of each index. Without rules, everything is allowed.

    Further indexes are listed if the views have served an index since they exist.
    """
    base = current_base(request)
    path = reverse(sitemap_url_name)
    paths = [path]
    namespace = sitemap_url_name.rpartition(":")[0]
    for number in _further_indexes(request, base, path, sitemaps):
        # There is no such view beside the compatibility index.
        with suppress(NoReverseMatch):
            paths.append(reverse(f"{namespace}:numbered-index", kwargs={"number": number}))
    lines = "\n".join(robots.sitemap_line(f"{base}{path}") for path in paths)
    content = f"{rules.rstrip()}\n\n{lines}\n" if rules else f"{lines}\n"
    return HttpResponse(content, content_type="text/plain; charset=utf-8")


def _further_indexes(request: HttpRequest, base: Base, path: str, sitemaps: Sitemaps) -> Sequence[int]:
    """Return the numbers of the indexes that robots.txt lists after `sitemap.xml`."""
    if conf.cascade:
        return ()
    exported_names = exported_files.index_names(request, sitemaps)
    if exported_names:
        return sorted({index_number(name) or 1 for name in exported_names} - {1})
    return range(2, live_indexes.read_count(base, path) + 1)


@native
def stylesheet(request: HttpRequest, sitemaps: Sitemaps = None) -> HttpResponseBase:
    """Return the stylesheet, even if `STYLESHEET` is off: cached documents may still refer to it."""
    response = exported_files.respond(request, STYLESHEET, sitemaps)
    if response is not None:
        return response
    content = writer.stylesheet()
    response = HttpResponse(content, content_type=content_type(STYLESHEET))
    return validators.respond(request, response, validators.of_content(content))


def _page_response(
    request: HttpRequest, section: str, number: str, suffix: Suffix, sitemaps: Sitemaps
) -> HttpResponseBase:
    response = exported_files.respond(request, page_name(section, int(number), suffix), sitemaps)
    return response or _live_page(request, section, number, suffix, sitemaps)


@site_locale()
def _live_page(
    request: HttpRequest, section: str, number: str, suffix: Suffix, sitemaps: Sitemaps
) -> HttpResponseBase:
    """Return a page, or an empty response if the client's copy is still valid."""
    started = time.time()
    subject = page_subject(section, number)
    stopwatch = Stopwatch(subject)
    declarations = sections.native_mapping(sitemaps)
    if section not in declarations:
        raise Http404(f"No sitemap available for section: {section!r}")
    source = sources.source(section, declarations[section], current_base(request), conf.limits)
    if isinstance(source, UrlsSource):
        _begin(source, int(number))
    live_page = page_maps.find_page(section, source, int(number))
    if live_page is None:
        raise Http404(f"Section {section!r} has no page {number}")
    known_etag = validators.of_page(source, live_page)
    format_name: FormatName = "text" if suffix == "txt" else "xml"
    response_class = GzipFileResponse if suffix == "xml.gz" else HttpResponse
    media_type = content_type(page_name(section, live_page.number, suffix))
    response = _with_vary(response_class(content_type=media_type))
    answer = validators.respond(request, response, known_etag)
    status = status_result(answer.status_code, "fingerprint")
    if answer is response:
        page = rendered.rendered_page(
            _page_name(request, source, live_page, format_name) if conf.live_cache else None,
            known_etag,
            partial(_render, section, source, live_page, format_name, started),
            subject,
        )
        response = _with_content(_with_vary(response_class(content_type=media_type)), page, request)
        answer = validators.respond(request, response, page.etag)
        status = status_result(answer.status_code, "content")
    stopwatch.log(status)
    return answer


def _page_name(
    request: HttpRequest, source: Source, live_page: Page, format_name: FormatName
) -> str | None:
    """Return the cache key of a page, or `None` if clients could choose a part of the key.

    The key contains the path, since two URLconfs can use the same name for different sections.
    """
    if is_host_from_client() or get_script_prefix() != configured_script_prefix():
        return None
    bases = list(map(str, source.bases))
    path = request.path.removesuffix(".gz")
    facts = (path, source.declaration_digest, live_page, format_name, bases)
    return f"django_sitemaps09:page:{sources.digest(facts)}"


def _with_vary(response: HttpResponse) -> HttpResponse:
    """Add the header `Vary` to responses that can have either encoding of a page in `LIVE_CACHE`."""
    if conf.live_cache and not isinstance(response, GzipFileResponse):
        patch_vary_headers(response, ("Accept-Encoding",))
    return response


def _with_content(response: HttpResponse, page: RenderedPage, request: HttpRequest) -> HttpResponse:
    """Set the content. Decompress a cached page only for clients that do not accept gzip."""
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
    section: str, source: Source, live_page: Page, format_name: FormatName, started: float
) -> RenderedPage:
    """Return a page within the limits. If the rows exceed a limit, split the live page.

    If all items of a page are skipped, the page has no URLs, but is still in the index.
    """
    stopwatch = Stopwatch(page_subject(section, live_page.number))
    # Rows may have changed since the fingerprint was last read.
    known_etag = validators.of_page(source, live_page, started)
    # Only exports split pages at the setting `MAX_BYTES`. Live pages must fit the limit of the protocol.
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
    etag = known_etag or validators.of_content(content)
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
