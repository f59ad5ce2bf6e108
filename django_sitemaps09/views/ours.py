"""Our road: an index, and pages by ranges of keys, under the names of an export's files."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from django.core.cache import cache
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import http_date

from django_sitemaps09 import protocol, robots, sections, sources, writer
from django_sitemaps09.compression import compress
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.pages import Page, PageMap
from django_sitemaps09.sections import Section
from django_sitemaps09.sources import Source
from django_sitemaps09.views import exported
from django_sitemaps09.views.responses import current_base, public
from django_sitemaps09.writer import Format, Limits, Out, Written

logger = logging.getLogger(__name__)

# How long the bounds of pages are kept. They are ranges, so what is older only fills pages unevenly.
_MAP_SECONDS = 300
# A section in which every item fails must not write thousands of lines for each request.
_LOGGED_ERRORS = 20

Sitemaps = Mapping[str, Section] | None


class GzipFileResponse(HttpResponse):
    """A file that is compressed: `GZipMiddleware` would do so again, and some readers fail on that.

    Pages with many like URLs do shrink a second time. The middleware leaves alone what has a
    Content-Encoding, which this must not have either.
    """

    def has_header(self, header: str) -> bool:
        return header.lower() == "content-encoding" or super().has_header(header)


@public
def sitemap_index(request: HttpRequest, sitemaps: Sitemaps = None) -> HttpResponse:
    """All pages of all sections."""
    base = current_base(request)
    xml = "page-gz" if conf.gzip else "page"
    entries = []
    for section, declared in sections.named(sitemaps).items():
        with site_locale():
            source = sources.source(section, declared, base, conf.limits)
            found = live_map(section, source).pages
            name = "page-txt" if source.format == "text" else xml
            lastmods = live_lastmods(source, found)
        for page, lastmod in zip(found, lastmods, strict=True):
            path = _reverse(request, name, {"section": section, "page": page.number})
            entries.append(IndexEntry(f"{base}{path}", lastmod))
    return HttpResponse(writer.index_document(entries), content_type="application/xml")


@public
def page(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponse:
    """One page as XML."""
    with site_locale():
        content, written = _render(request, section, page, sitemaps)
    return _dated(HttpResponse(content, content_type="application/xml"), written)


@public
def page_gz(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponse:
    """One page as an opaque gzip file: with an XML type, or a Content-Encoding, some readers fail."""
    with site_locale():
        content, written = _render(request, section, page, sitemaps)
    linked = b" xmlns:xhtml=" in content[: content.find(b"<url>")]
    compressed = compress(content, conf.gzip_level, linked=linked)
    response = GzipFileResponse(compressed, content_type="application/gzip")
    return _dated(response, written)


@public
def page_txt(request: HttpRequest, section: str, page: str, sitemaps: Sitemaps = None) -> HttpResponse:
    """The URLs of one page, one a line, of any section."""
    with site_locale():
        content, written = _render(request, section, page, sitemaps, writer.TEXT)
    return _dated(HttpResponse(content, content_type="text/plain; charset=utf-8"), written)


@public
def robots_txt(
    request: HttpRequest,
    sitemaps: Sitemaps = None,
    rules: str = "",
    sitemap_url_name: str = "django_sitemaps09:index",
) -> HttpResponse:
    """A robots.txt: `rules`, then where the index is. Without rules everything is allowed.

    `sitemaps` is taken, and not used, so that one dict of arguments serves all views.
    """
    line = robots.sitemap_line(f"{current_base(request)}{reverse(sitemap_url_name)}")
    content = f"{rules.rstrip()}\n\n{line}\n" if rules else f"{line}\n"
    return HttpResponse(content, content_type="text/plain; charset=utf-8")


def live_map(section: str, source: Source, *, number: int | None = None, fresh: bool = False) -> PageMap:
    """The pages of a source, kept in Django's cache for a while: the export's, where there is one.

    Else they are cut from the rows, a function of them alone, so that processes with separate caches
    agree. An export can have made a page of that `number` in the meantime.
    """
    name = _cache_key(source, "map")
    known = None
    if name and not fresh and (kept := cache.get(name)):
        known = PageMap(tuple(_page(*page) for page in kept))
        if number is None or known.find(number) is not None or not exported.may_be_asked(section):
            return known
    record = exported.record(section, source)
    if known is not None and (record is None or number is None or number > record.highest):
        return known
    found = sources.page_map(source, conf.limits) if record is None else exported.page_map(record, source)
    if name:
        # None are not kept: they are found out anew, and cheaply.
        cache.set(name, [tuple(page) for page in found.pages], _MAP_SECONDS)
    return found


def live_lastmods(source: Source, found: Sequence[Page]) -> list[str | None]:
    """The newest lastmod of each page, kept as long as the bounds are."""
    name = _cache_key(source, "lastmods")
    kept = cache.get(name) if name else None
    known = {_page(*page): lastmod for page, lastmod in kept or ()}
    if not all(page in known for page in found):
        known = {page: source.newest(page) for page in found}
        if name and found:
            cache.set(name, [(tuple(page), lastmod) for page, lastmod in known.items()], _MAP_SECONDS)
    return [known[page] for page in found]


def _page(number: int, after: Iterable[str] | None, until: Iterable[str] | None) -> Page:
    """A page from a cache, some of which turn tuples into lists."""
    return Page(number, None if after is None else tuple(after), None if until is None else tuple(until))


def _cache_key(source: Source, what: str) -> str | None:
    return source.digest and f"django_sitemaps09:{what}:{source.digest}"


def _render(
    request: HttpRequest, section: str, page: str, sitemaps: Sitemaps, kind: Format = writer.URLSET
) -> tuple[bytes, Written]:
    """A page within its limits; with bounds cut anew if it has outgrown them, or has nothing left."""
    known = sections.named(sitemaps)
    if section not in known:
        raise Http404(f"No sitemap available for section: {section!r}")
    source = sources.source(section, known[section], current_base(request), conf.limits)
    # Our own limit of bytes is an export's, which can split a page by it.
    limits = sources.page_limits(source, conf.limits)._replace(bytes=protocol.MAX_BYTES)
    for fresh in (False, True):
        found = live_map(section, source, number=int(page), fresh=fresh).find(int(page))
        if found is None:
            raise Http404(f"Section {section!r} has no page {page}")
        chunks: list[bytes] = []
        # The bounds are as good as they get the second time: too much is better than an error.
        [written] = writer.write_documents(
            kind,
            source.batches(found),
            [Out(chunks.append, str(source.bases[0]))],
            None if fresh else limits,
            source.namespaces,
        )
        if written.cut is None and written.urls:
            break
    _log(section, page, written, limits)
    if not written.urls:
        raise Http404(f"Page {page} of section {section!r} has no URL")
    return b"".join(chunks), written


def _log(section: str, page: str, written: Written, limits: Limits) -> None:
    for error in written.errors[:_LOGGED_ERRORS]:
        logger.warning("Section %r, page %s: left out: %s", section, page, error)
    if (more := len(written.errors) - _LOGGED_ERRORS) > 0:
        logger.warning("Section %r, page %s: left out: %d more", section, page, more)
    if written.urls > limits.urls or written.bytes > conf.limits.bytes:
        logger.warning(
            "Section %r, page %s: over a limit with %d URLs and %d bytes. Set a lower `limit` on it.",
            section,
            page,
            written.urls,
            written.bytes,
        )


def _dated(response: HttpResponse, written: Written) -> HttpResponse:
    if written.lastmod is not None:
        # Python 3.10 reads no Z.
        moment = datetime.fromisoformat(
            written.lastmod.replace("Z", "+00:00")
            if "T" in written.lastmod
            else f"{written.lastmod}T00:00:00+00:00"
        )
        # RFC 9110, 8.8.2.1: never a time to come.
        if moment.timestamp() <= time.time():
            response.headers["Last-Modified"] = http_date(moment.timestamp())
    return response


def _reverse(request: HttpRequest, name: str, kwargs: dict[str, object] | None = None) -> str:
    """A URL of our own, in the namespace that the request came by."""
    match = request.resolver_match
    if match is not None and "django_sitemaps09" in match.app_names:
        return reverse(f"{match.namespace}:{name}", kwargs=kwargs)
    return reverse(f"django_sitemaps09:{name}", kwargs=kwargs)
