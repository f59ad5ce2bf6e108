"""Serve the live indexes: list the pages of all sections, and divide them into indexes within the limits.

Indexes have the same file names as in an export. Pages are listed in order, so a page can move to an
adjacent index when pages are added or removed before it. All indexes are parts of the same listings.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from functools import partial

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.declare import sections
from django_sitemaps09.declare.hosts import current_base, is_host_from_client
from django_sitemaps09.declare.sections import Section
from django_sitemaps09.orm.reading import retry_once
from django_sitemaps09.protocol import Base, IndexEntry, reason_of
from django_sitemaps09.protocol.filenames import INDEX, index_name
from django_sitemaps09.rows import compile_source, digest_of, has_key_ranges
from django_sitemaps09.views import caching, exported, responses
from django_sitemaps09.views.exported import PublishedPages
from django_sitemaps09.views.live import addresses, listing as listings, renewal
from django_sitemaps09.views.live.listing import ListedPage, Listing, namespace_of
from django_sitemaps09.views.responses import UNAVAILABLE, Sitemaps, Stopwatch, native_url, savepoints

logger = logging.getLogger(__name__)

# Seconds until the number of indexes is forgotten.
_SECONDS = 30 * 86_400
# A higher cached number is not from this package: robots.txt has room for no more lines.
_MAX_COUNT = 10_000
# Seconds after which the pages of a section without key ranges are cached again, even if they are the same.
_DAY = 86_400


def respond(request: HttpRequest, name: str, sitemaps: Sitemaps) -> HttpResponseBase:
    """Return the index with a file name. Without an ETag, it lacks a section, or lists outdated pages."""
    stopwatch, base = Stopwatch("Index"), current_base(request)
    listed: list[list[IndexEntry]] = []
    failures: list[Exception] = []
    is_current, folder, deadline = True, "", time.monotonic() + renewal.WAIT
    for section, declaration in sections.native_mapping(sitemaps).items():
        key = listings.listing_name(section, declaration, base, namespace_of(request))
        list_pages = partial(_list_pages, key, section, declaration, base, deadline)
        try:
            with savepoints(), site_locale():
                entries, is_outdated = retry_once(list_pages, f"Section {section!r}")
        except Exception as error:
            # An index without the section would mean that its URLs are gone.
            last = listings.read(key, or_last=True)
            numbers = None if conf.has_target else exported.NO_PAGES
            entries, is_outdated = [] if last is None else _entries(section, last, numbers), True
            if not entries and isinstance(error, UNAVAILABLE):
                raise
            consequence = "is listed with its last pages in" if entries else "is missing from"
            logger.exception("Section %r %s the index: %s", section, consequence, reason_of(error))
            failures.append(error)
        # reverse() takes longer than everything else in an index, so it is called once.
        folder = folder or f"{base}{native_url(request, 'index').removesuffix(INDEX)}"
        listed.append([entry._replace(location=f"{folder}{entry.location}") for entry in entries])
        is_current = is_current and not is_outdated
    if not listed and sitemaps is None:
        responses.warn_no_section()
    indexes = _divide(listed)
    content = _document(indexes, name, folder)
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
    key: str, section: str, declaration: Section, base: Base, deadline: float
) -> tuple[list[IndexEntry], bool]:
    """Return the entries of a section's pages, and whether another request is counting the pages."""
    source = compile_source(section, declaration, base, conf.limits)
    if has_key_ranges(source):
        listing, is_outdated = renewal.current(source, key, deadline)
        listing = listing._replace(suffix=renewal.suffix_of(source))
        return _entries(section, listing, exported.published_pages(source)), is_outdated
    pages = tuple(ListedPage(None, 0, source.newest(page)) for page in addresses.pages_by_position(source))
    listing = Listing(renewal.suffix_of(source), looked_at=time.time(), pages=pages)
    # It is only needed if the section fails.
    last = listings.read(key)
    if last is None or last._replace(looked_at=listing.looked_at) != listing or not last.is_recent(_DAY):
        listings.store(key, listing)
    return _entries(section, listing, None), False


def _entries(section: str, listing: Listing, numbers: PublishedPages | None) -> list[IndexEntry]:
    """Return the entries of a section's pages, without the part of the URLs that they share."""
    names = addresses.names(section, listing, numbers)
    return [IndexEntry(name, page.newest) for name, page in zip(names, listing.pages, strict=True)]


def _divide(sections: Iterable[Sequence[IndexEntry]]) -> list[list[IndexEntry]]:
    """Return the entries of each index. There is always a first index."""
    indexes: list[list[IndexEntry]] = [[]]
    limits = protocol.INDEX_LIMITS
    empty = total = len(_written([]))
    for entries in filter(None, sections):
        size = protocol.index_entry_size(max((entry.location for entry in entries), key=len))
        for entry in entries:
            if indexes[-1] and (len(indexes[-1]) >= limits.urls or total + size > limits.bytes):
                indexes.append([])
                total = empty
            indexes[-1].append(entry)
            total += size
    return indexes


def _document(indexes: Sequence[Sequence[IndexEntry]], name: str, folder: str) -> bytes | None:
    """Return the index with a file name; `None` if there is no such index.

    With `CASCADE`, the first index lists the others, which are in the `folder`.
    """
    is_cascade = conf.cascade and len(indexes) > 1
    by_name = {index_name(number, cascade=is_cascade): each for number, each in enumerate(indexes, 1)}
    if is_cascade:
        by_name[INDEX] = [IndexEntry(f"{folder}{index}", None) for index in by_name]
    return _written(by_name[name]) if name in by_name else None


def _written(entries: Iterable[IndexEntry]) -> bytes:
    return protocol.index_document(entries, styled=conf.stylesheet)


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
    return f"django_sitemaps09:indexes:{digest_of(facts)}"
