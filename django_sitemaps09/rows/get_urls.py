"""Read opaque sitemaps, such as classes for `django.contrib.sitemaps`, through their `get_urls()`."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

from django.core.paginator import EmptyPage

from django_sitemaps09.declare import checked_items, hosts, is_contribs
from django_sitemaps09.declare.calls import collect_skips
from django_sitemaps09.declare.declared import Declared
from django_sitemaps09.declare.profiling import note_ignored_keys, step
from django_sitemaps09.protocol import Base, Batch, ItemError
from django_sitemaps09.protocol.pages import Key, Page
from django_sitemaps09.rows.declaration_digests import class_facts, digest_of
from django_sitemaps09.rows.source_base import Source
from django_sitemaps09.rows.url_batches import checked_batch, ignored_keys

logger = logging.getLogger(__name__)


class _PageUrls(NamedTuple):
    """Entries of one page, and what was skipped."""

    urls: list[Any]
    skipped: list[ItemError]


class UrlsSource(Source):
    """Source of an opaque sitemap, with the pages of the sitemap's paginator.

    A key is a page number and a position on that page. So a page with too many entries for one file can be
    split.
    """

    position_parts = 2

    def __init__(self, declared: Declared) -> None:
        self._declared, self.sitemap = declared, declared.sitemap
        # Pages that `get_urls()` returned and that are not read yet; `None` for a page that does not exist.
        self._pages: dict[int, _PageUrls | None] = {}
        self._has_begun = False

    def begin(self, number: int) -> None:
        """Call an overridden `get_urls()` for a page before the paginator is used.

        The view of `django.contrib.sitemaps` only calls `get_urls()`, and a class can choose its items by
        site there. The page is kept until it is read. Exceptions from the class are raised.
        """
        if not self._has_begun and not is_contribs(self.sitemap, "get_urls"):
            self._peek(number)

    @cached_property
    def site(self) -> Any:
        return site_of(self.sitemap, self.declared.base)

    @cached_property
    def paginator(self) -> Any:
        """Paginator of the sitemap, created only once so that it counts its items once."""
        self.begin(1)
        paginator = self.sitemap.paginator
        # A paginator of the project can have any other `object_list`, and need not use it.
        if getattr(paginator, "object_list", ()) is None:
            checked_items(self.sitemap, "items", None)
        return paginator

    @property
    def declared(self) -> Declared:
        return self._declared

    @property
    def declaration_digest(self) -> str:
        return digest_of(class_facts(self.declared, self.declared.base))

    def is_empty(self) -> bool:
        if self.paginator.count:
            return False
        # A class that creates its own entries may have no items. If it ignores the page number, each page
        # has all entries.
        page_urls = [page.urls for page in self._pages.values() if page is not None]
        urls = next(filter(None, page_urls), None) or self._peek(1)
        if urls:
            logger.warning(
                "%s.get_urls() returns %d entries, but its paginator has none, so the number of pages is "
                "unknown. Return the same entries from items().",
                type(self.sitemap).__qualname__,
                len(urls),
            )
        return not urls

    def key_after(self, after: Key | None, count: int) -> Key | None:
        page = 1 if after is None else int(after[0])
        return (str(page + 1), "0") if page < self.paginator.num_pages else None

    def batches(self, page: Page) -> Generator[Batch]:
        first, offset = (1, 0) if page.after is None else map(int, page.after)
        last, stop = (None, None) if page.until is None else map(int, page.until)
        homes: set[str] = set()
        for number in count(first):
            if (last is not None and number > last) or (number == last and not stop):
                return
            page_urls = self._pages.pop(number) if number in self._pages else self._page(number)
            if page_urls is None:
                return
            note_ignored_keys(ignored_keys(page_urls.urls))
            start = offset if number == first else 0
            end = stop if number == last else None
            urls = page_urls.urls[start:end]
            batch = checked_batch(self.declared, urls, number, start, self.site, homes)
            yield replace(batch, errors=[*batch.errors, *page_urls.skipped])
            if last is None and number >= self.paginator.num_pages:
                return

    def _peek(self, number: int) -> list[Any]:
        """Return the entries of a page, and keep them until the page is read."""
        if number not in self._pages:
            self._pages[number] = self._page(number)
        page_urls = self._pages[number]
        return [] if page_urls is None else page_urls.urls

    def _page(self, number: int) -> _PageUrls | None:
        page_urls = None
        with suppress(EmptyPage), step("get_urls") as cost, collect_skips() as skipped:
            urls = list(
                self.sitemap.get_urls(page=number, site=self.site, protocol=self.declared.base.scheme)
            )
            cost.items = len(urls)
            page_urls = _PageUrls(urls, skipped)
        # Not set if get_urls() raises an error other than EmptyPage: begin() can then try another page.
        self._has_begun = True
        return page_urls


def site_of(sitemap: object, base: Base) -> Any:
    """Return the site of a host for `get_urls()`. No query runs if only Django's methods get it."""
    names = ("get_urls", "_urls", "get_domain", "get_protocol")
    # The methods of `django.contrib.sitemaps` use only the domain.
    is_used = not all(is_contribs(sitemap, name) for name in names)
    return hosts.site_for(base) if is_used else hosts.HostSite(base.domain)
