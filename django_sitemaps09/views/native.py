"""The native views: an index, and pages as ranges of keys, under the names of exported files."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import closing

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from django_sitemaps09 import protocol, robots, sections, sources, writer
from django_sitemaps09.compression import compress
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import IndexEntry, reason_of
from django_sitemaps09.hooks.values import log_skipped
from django_sitemaps09.protocol import Base
from django_sitemaps09.sections import Section
from django_sitemaps09.sources import Source, UrlsSource, has_key_ranges
from django_sitemaps09.views import page_maps
from django_sitemaps09.views.responses import current_base, native, savepoints
from django_sitemaps09.writer import Destination, Format, WriteResult

logger = logging.getLogger(__name__)

Sitemaps = Mapping[str, Section] | None


class GzipFileResponse(HttpResponse):
    """A compressed file that `GZipMiddleware` does not compress again, as some readers fail on that.

    Pages with many similar URLs do shrink a second time. The middleware skips responses that have a
    Content-Encoding. This response claims to have one, but must not send it.
    """

    def has_header(self, header: str) -> bool:
        return header.lower() == "content-encoding" or super().has_header(header)


@native
def sitemap_index(request: HttpRequest, sitemaps: Sitemaps = None) -> HttpResponse:
    """Return an index of all pages of all sections. Sections that fail are logged and skipped.

    If no page remains, the first failure is raised: an empty index would mean that all URLs are gone.
    """
    base = current_base(request)
    entries: list[IndexEntry] = []
    failures: list[Exception] = []
    for section, declaration in sections.native_mapping(sitemaps).items():
        try:
            with savepoints():
                entries += _index_entries(request, section, declaration, base)
        except Exception as error:
            logger.exception("Section %r is missing from the index: %s", section, reason_of(error))
            failures.append(error)
    if failures and not entries:
        raise failures[0]
    return HttpResponse(writer.index_document(entries), content_type="application/xml")


def _index_entries(
    request: HttpRequest, section: str, declaration: Section, base: Base
) -> list[IndexEntry]:
    """Return the index entries of one section's pages."""
    with site_locale():
        source = sources.source(section, declaration, base, conf.limits)
        live_pages = page_maps.live_index(section, source)
    name = "page-txt" if source.format == "text" else "page-gz" if conf.gzip else "page"
    paths = [_reverse(request, name, {"section": section, "page": page.number}) for page, _ in live_pages]
    return [
        IndexEntry(f"{base}{path}", lastmod) for path, (_, lastmod) in zip(paths, live_pages, strict=True)
    ]


@native
def page(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponse:
    """Return one page as XML."""
    with site_locale():
        content = _render(request, section, page, sitemaps)
    return HttpResponse(content, content_type="application/xml")


@native
def page_gz(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponse:
    """Return one page as an opaque gzip file; with an XML type or a Content-Encoding, some readers fail."""
    with site_locale():
        content = _render(request, section, page, sitemaps)
    linked = b" xmlns:xhtml=" in content[: content.find(b"<url>")]
    compressed = compress(content, conf.gzip_level, linked=linked)
    return GzipFileResponse(compressed, content_type="application/gzip")


@native
def page_txt(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponse:
    """Return the URLs of one page of any section, one on each line."""
    with site_locale():
        content = _render(request, section, page, sitemaps, writer.TEXT)
    return HttpResponse(content, content_type="text/plain; charset=utf-8")


@native
def robots_txt(
    request: HttpRequest,
    sitemaps: Sitemaps = None,
    rules: str = "",
    sitemap_url_name: str = "django_sitemaps09:index",
) -> HttpResponse:
    """Return a robots.txt: `rules`, then the URL of the index. Without rules, everything is allowed.

    `sitemaps` is accepted but not used, so that one dict of arguments works for all views.
    """
    line = robots.sitemap_line(f"{current_base(request)}{reverse(sitemap_url_name)}")
    content = f"{rules.rstrip()}\n\n{line}\n" if rules else f"{line}\n"
    return HttpResponse(content, content_type="text/plain; charset=utf-8")


def _render(
    request: HttpRequest, section: str, page: str, sitemaps: Sitemaps, kind: Format = writer.URLSET
) -> bytes:
    """Return a page within its limits; from now on, rows that exceed them are on a page of their own.

    A page whose items are all skipped is also in the index, and has no URLs.
    """
    declarations = sections.native_mapping(sitemaps)
    if section not in declarations:
        raise Http404(f"No sitemap available for section: {section!r}")
    source = sources.source(section, declarations[section], current_base(request), conf.limits)
    # `MAX_BYTES` in the settings is a limit for exports, which can split a page by it.
    limits = sources.page_limits(source, conf.limits)._replace(bytes=protocol.MAX_BYTES)
    if not has_key_ranges(source):
        # Its pages cannot be divided: too many URLs are better than none, up to the protocol's limit.
        limits = limits._replace(urls=max(limits.urls, protocol.MAX_URLS))
    if isinstance(source, UrlsSource):
        _begin(source, int(page))
    live_page = page_maps.find_page(section, source, int(page))
    if live_page is None:
        raise Http404(f"Section {section!r} has no page {page}")
    chunks: list[bytes] = []
    with closing(source.batches(live_page)) as batches:
        outs = [Destination(chunks.append, str(source.bases[0]))]
        [document] = writer.write_documents(kind, batches, outs, limits, source.namespaces)
    _log(section, page, document, source)
    if document.cut is not None and has_key_ranges(source):
        page_maps.split_page(section, source, live_page, source.key_text(document.cut))
    return b"".join(chunks)


def _begin(source: UrlsSource, number: int) -> None:
    """Begin a page as contrib's view does. If that fails, as it can for a missing page, begin page 1."""
    try:
        with savepoints():
            source.begin(number)
    except Exception:
        if number == 1:
            raise
        source.begin(1)


def _log(section: str, page: str, document: WriteResult, source: Source) -> None:
    where = f"Section {section!r}, page {page}: skipped"
    log_skipped(logger, document.errors, len(document.errors), where)
    if document.cut is not None and not has_key_ranges(source):
        logger.error(
            "Section %r, page %s: only the first %d URLs (%d bytes) are served, because no more fit "
            "into a sitemap. Set a lower `limit`.",
            section,
            page,
            document.urls,
            document.bytes,
        )
    elif (
        document.urls > sources.page_limits(source, conf.limits).urls or document.bytes > conf.limits.bytes
    ):
        logger.warning(
            "Section %r, page %s: %d URLs and %d bytes exceed a limit. Set a lower `limit`.",
            section,
            page,
            document.urls,
            document.bytes,
        )


def _reverse(request: HttpRequest, name: str, kwargs: dict[str, object] | None = None) -> str:
    """Return the URL of a native view, in the namespace of the request."""
    match = request.resolver_match
    if match is not None and "django_sitemaps09" in match.app_names:
        return reverse(f"{match.namespace}:{name}", kwargs=kwargs)
    return reverse(f"django_sitemaps09:{name}", kwargs=kwargs)
