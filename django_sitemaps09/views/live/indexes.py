"""Divide the live pages of all sections into indexes within the limits of the protocol.

Indexes have the same file names as in an export. Pages are listed in order, so a page can move to an
adjacent index when pages are added or removed before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from django.http import HttpRequest
from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09 import protocol, sources, writer
from django_sitemaps09.conf import conf, site_locale
from django_sitemaps09.entries import IndexEntry
from django_sitemaps09.filenames import INDEX, index_name
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.sections import Section
from django_sitemaps09.views import caching
from django_sitemaps09.views.live import maps, stored_map
from django_sitemaps09.views.responses import is_host_from_client, native_url

#: Limits of one index.
LIMITS = Limits(protocol.MAX_URLS, protocol.MAX_BYTES)
# The longest lastmod: the division must not depend on the values.
_LASTMOD = "9999-12-31T23:59:59.999999+00:00"
# Seconds until the number of indexes is forgotten.
_SECONDS = 30 * 86_400
# A higher cached number is not from this package: robots.txt has room for no more lines.
_MAX_COUNT = 10_000
# A placeholder for the page number in the URL of a section. No page of an export has this number.
_NUMBER = "999999999"


class SectionPages(NamedTuple):
    """The live pages of a section, each with its newest lastmod, and the URL around the page number."""

    pages: Sequence[tuple[Page, str | None]]
    is_outdated: bool
    before: str
    after: str

    def entry(self, number: int, lastmod: str | None) -> IndexEntry:
        """Return the index entry of a page."""
        return IndexEntry(f"{self.before}{number}{self.after}", lastmod)


#: The entries of one index, which are not rendered yet.
_Index = list[tuple[SectionPages, Page, str | None]]


def section_pages(request: HttpRequest, section: str, declaration: Section, base: Base) -> SectionPages:
    """Return the live pages of a section."""
    with site_locale():
        source = sources.source(section, declaration, base, conf.limits)
        listing = maps.live_index(source)
    view = "page-txt" if source.format == "text" else "page-gz" if conf.gzip else "page"
    listed = SectionPages(listing.pages, listing.is_outdated, *_around_number(request, view, section, base))
    # Ranges that leave the index answer from now on for a limited time, so no later index lists them again.
    _remember(_listing_name(request, section, base), view, listed)
    return listed._replace(pages=[*listing.pages, *((page, None) for page in listing.leaving)])


def last_known(request: HttpRequest, section: str, base: Base) -> SectionPages | None:
    """Return the pages of a section that the last index listed within `KEEP_REMOVED`, or `None`."""
    try:
        _, view, value = caching.get(_listing_name(request, section, base))
        pages = [(Page(int(number), None, None), stored_map.lastmod(lastmod)) for number, lastmod in value]
    except (OverflowError, TypeError, ValueError):
        return None
    is_valid = pages and view in ("page", "page-gz", "page-txt")
    return SectionPages(pages, True, *_around_number(request, view, section, base)) if is_valid else None


def _remember(name: str, view: str, listed: SectionPages) -> None:
    """Cache the pages of a section if they have changed, or if the cache would soon forget them."""
    # Lists, since some caches turn tuples into lists.
    value = [view, [[page.number, lastmod] for page, lastmod in listed.pages]]
    now, cached_value = time.time(), caching.get(name)
    try:
        is_cached = cached_value[1:] == value and 0 <= now - cached_value[0] < conf.keep_removed / 10
    except (LookupError, TypeError):
        is_cached = False
    if not is_cached:
        caching.store(name, [now, *value], conf.keep_removed)


def _listing_name(request: HttpRequest, section: str, base: Base) -> str:
    """Return the cache key of a section's listing. A section that fails has no other identity."""
    match = request.resolver_match
    host = None if is_host_from_client() else str(base)
    facts = host, str(get_urlconf()), "" if match is None else match.namespace, section
    return f"django_sitemaps09:listed:{sources.digest(facts)}"


def _around_number(request: HttpRequest, view: str, section: str, base: Base) -> tuple[str, str]:
    """Return the parts of a page's URL before and after its number."""
    # reverse() takes longer than everything else in an index, so it is called once for each section.
    path = native_url(request, view, section=section, page=_NUMBER)
    before, _, after = f"{base}{path}".rpartition(_NUMBER)
    return before, after


def divide(sections: Iterable[SectionPages]) -> list[_Index]:
    """Return the pages of each index. There is always a first index."""
    indexes: list[_Index] = [[]]
    empty = total = len(_document([]))
    for section in sections:
        if not section.pages:
            continue
        longest = section.entry(max(page.number for page, _ in section.pages), _LASTMOD)
        size = len(_document([longest])) - empty
        for page, lastmod in section.pages:
            if indexes[-1] and (len(indexes[-1]) >= LIMITS.urls or total + size > LIMITS.bytes):
                indexes.append([])
                total = empty
            indexes[-1].append((section, page, lastmod))
            total += size
    return indexes


def document(indexes: Sequence[_Index], name: str, index_url: Callable[[int], str]) -> bytes | None:
    """Return the index with a file name; `None` if there is no such index.

    `index_url` returns the URL of `sitemap-N.xml`. With `CASCADE`, the first index lists these URLs.
    """
    numbers = range(1, len(indexes) + 1)
    is_cascade = conf.cascade and len(indexes) > 1
    if is_cascade and name == INDEX:
        return _document([IndexEntry(index_url(number), None) for number in numbers])
    for number in numbers:
        if name == index_name(number, cascade=is_cascade):
            entries = indexes[number - 1]
            return _document(section.entry(page.number, lastmod) for section, page, lastmod in entries)
    return None


def _document(entries: Iterable[IndexEntry]) -> bytes:
    return writer.index_document(entries, styled=conf.stylesheet)


def store_count(base: Base, path: str, count: int) -> None:
    """Cache the number of indexes, for robots.txt. `path` is that of the first index."""
    if count != read_count(base, path):
        caching.store(_count_name(base, path), count, _SECONDS)


def read_count(base: Base, path: str) -> int:
    """Return the cached number of indexes; 1 if it is not known.

    robots.txt must not depend on any section: crawlers stay away from a site if they cannot read it.
    """
    count = caching.get(_count_name(base, path))
    return count if isinstance(count, int) and 1 <= count <= _MAX_COUNT else 1


def _count_name(base: Base, path: str) -> str:
    # On some servers, clients can choose the script prefix. Middleware can set a URLconf for each host.
    own_path = path.removeprefix(get_script_prefix())
    facts = (None if is_host_from_client() else str(base), own_path, str(get_urlconf()))
    return f"django_sitemaps09:indexes:{sources.digest(facts)}"
