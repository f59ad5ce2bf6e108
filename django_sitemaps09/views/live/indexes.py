"""Serve the live indexes: list the pages of all sections, and divide them into indexes within the limits.

Indexes have the same file names as in an export. Pages are listed in order, so a page can move to an
adjacent index when pages are added or removed before it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09 import protocol, sections, sources, writer
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import IndexEntry, reason_of
from django_sitemaps09.filenames import INDEX, index_name
from django_sitemaps09.protocol import Base
from django_sitemaps09.sections import Section
from django_sitemaps09.sources import has_key_ranges
from django_sitemaps09.views import caching, responses
from django_sitemaps09.views.live import live_map, maps
from django_sitemaps09.views.responses import (
    UNAVAILABLE,
    Sitemaps,
    Stopwatch,
    current_base,
    is_host_from_client,
    native_url,
    savepoints,
)

logger = logging.getLogger(__name__)

# Seconds until the number of indexes is forgotten.
_SECONDS = 30 * 86_400
# A higher cached number is not from this package: robots.txt has room for no more lines.
_MAX_COUNT = 10_000
# A placeholder for the page number in the URL of a section. No page of an export has this number.
_NUMBER = "999999999"


def respond(request: HttpRequest, name: str, sitemaps: Sitemaps) -> HttpResponseBase:
    """Return the index with a file name. Without an ETag, it lacks a section, or lists outdated pages."""
    stopwatch, base = Stopwatch("Index"), current_base(request)
    listed: list[list[IndexEntry]] = []
    failures: list[Exception] = []
    is_current = True
    for section, declaration in sections.native_mapping(sitemaps).items():
        list_pages = partial(_list_pages, request, section, declaration, base)
        try:
            with savepoints():
                entries, is_outdated = sources.retry_once(list_pages, f"Section {section!r}")
        except Exception as error:
            # An index without the section would mean that its URLs are gone.
            entries, is_outdated = _last_listed(request, section, base), True
            if not entries and isinstance(error, UNAVAILABLE):
                raise
            consequence = "is listed with its last pages in" if entries else "is missing from"
            logger.exception("Section %r %s the index: %s", section, consequence, reason_of(error))
            failures.append(error)
        listed.append(entries)
        is_current = is_current and not is_outdated
    if not listed and sitemaps is None:
        responses.warn_no_section()
    indexes = _divide(listed)
    content = _document(
        indexes, name, lambda number: f"{base}{native_url(request, 'numbered-index', number=number)}"
    )
    if failures and (content is None or not indexes[0]):
        raise failures[0]
    if content is None:
        raise Http404(f"There are only {len(indexes)} indexes")
    if name == INDEX and not failures and len(indexes) != read_count(base, request.path):
        caching.default.set(_count_name(base, request.path), len(indexes), _SECONDS)
    response = HttpResponse(content, content_type="application/xml")
    etag = responses.content_etag(content) if is_current else None
    answer = responses.conditional(request, response, etag)
    stopwatch.log_status(answer, "content")
    return answer


def _list_pages(
    request: HttpRequest, section: str, declaration: Section, base: Base
) -> tuple[list[IndexEntry], bool]:
    """Return the entries of a section's live pages, and whether another request is counting the pages."""
    leaving, is_outdated = [], False
    with site_locale():
        source = sources.source(section, declaration, base, conf.limits)
        if has_key_ranges(source):
            live, is_outdated = maps.SectionMap(source).listed()
            pages = [(page.number, live.looks[page].newest) for page in live.pages]
            leaving = [(page.number, None) for page in live.leaving]
        else:
            pages = [(page.number, source.newest(page)) for page in maps.pages_by_position(source).pages]
    view = "page-txt" if source.format == "text" else "page-gz" if conf.gzip else "page"
    # Ranges that leave the index answer from now on for a limited time, so no later index lists them again.
    _remember(_listing_name(request, section, base), view, pages)
    return _entries(request, section, base, view, [*pages, *leaving]), is_outdated


def _last_listed(request: HttpRequest, section: str, base: Base) -> list[IndexEntry]:
    """Return the entries of the pages that the last index listed within `KEEP_REMOVED`."""
    try:
        _, view, value = caching.default.get(_listing_name(request, section, base))
        pages = [(int(number), live_map.lastmod(lastmod)) for number, lastmod in value]
    except (OverflowError, TypeError, ValueError):
        return []
    is_valid = view in ("page", "page-gz", "page-txt")
    return _entries(request, section, base, view, pages) if is_valid else []


def _remember(name: str, view: str, pages: Iterable[tuple[int, str | None]]) -> None:
    """Cache the pages of a section if they have changed, or if the cache would soon forget them."""
    # Lists, since some caches turn tuples into lists.
    value = [view, [[*page] for page in pages]]
    now, cached_value = time.time(), caching.default.get(name)
    try:
        is_cached = cached_value[1:] == value and 0 <= now - cached_value[0] < conf.keep_removed / 10
    except (LookupError, TypeError):
        is_cached = False
    if not is_cached:
        caching.default.set(name, [now, *value], conf.keep_removed)


def _listing_name(request: HttpRequest, section: str, base: Base) -> str:
    """Return the cache key of a section's listing. A section that fails has no other identity."""
    match = request.resolver_match
    host = None if is_host_from_client() else str(base)
    facts = host, str(get_urlconf()), "" if match is None else match.namespace, section
    return f"django_sitemaps09:listed:{sources.digest(facts)}"


def _entries(
    request: HttpRequest, section: str, base: Base, view: str, pages: Iterable[tuple[int, str | None]]
) -> list[IndexEntry]:
    """Return the index entries of pages, which are numbers with the newest lastmod."""
    # reverse() takes longer than everything else in an index, so it is called once for each section.
    path = native_url(request, view, section=section, page=_NUMBER)
    before, _, after = f"{base}{path}".rpartition(_NUMBER)
    return [IndexEntry(f"{before}{number}{after}", lastmod) for number, lastmod in pages]


def _divide(sections: Iterable[Sequence[IndexEntry]]) -> list[list[IndexEntry]]:
    """Return the entries of each index. There is always a first index."""
    indexes: list[list[IndexEntry]] = [[]]
    limits = protocol.INDEX_LIMITS
    empty = total = len(_written([]))
    for entries in filter(None, sections):
        size = writer.index_entry_size(max((entry.location for entry in entries), key=len))
        for entry in entries:
            if indexes[-1] and (len(indexes[-1]) >= limits.urls or total + size > limits.bytes):
                indexes.append([])
                total = empty
            indexes[-1].append(entry)
            total += size
    return indexes


def _document(
    indexes: Sequence[Sequence[IndexEntry]], name: str, index_url: Callable[[int], str]
) -> bytes | None:
    """Return the index with a file name; `None` if there is no such index.

    `index_url` returns the URL of `sitemap-N.xml`. With `CASCADE`, the first index lists these URLs.
    """
    is_cascade = conf.cascade and len(indexes) > 1
    if is_cascade and name == INDEX:
        return _written([IndexEntry(index_url(number), None) for number in range(1, len(indexes) + 1)])
    for number, entries in enumerate(indexes, 1):
        if name == index_name(number, cascade=is_cascade):
            return _written(entries)
    return None


def _written(entries: Iterable[IndexEntry]) -> bytes:
    return writer.index_document(entries, styled=conf.stylesheet)


def read_count(base: Base, path: str) -> int:
    """Return the cached number of indexes, of which the first one is at a path; 1 if it is not known.

    robots.txt must not depend on any section: crawlers stay away from a site if they cannot read it.
    """
    count = caching.default.get(_count_name(base, path))
    return count if isinstance(count, int) and 1 <= count <= _MAX_COUNT else 1


def _count_name(base: Base, path: str) -> str:
    # On some servers, clients can choose the script prefix. Middleware can set a URLconf for each host.
    own_path = path.removeprefix(get_script_prefix())
    facts = (None if is_host_from_client() else str(base), own_path, str(get_urlconf()))
    return f"django_sitemaps09:indexes:{sources.digest(facts)}"
