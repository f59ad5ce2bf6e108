"""Read opaque sitemaps, such as classes for `django.contrib.sitemaps`, through their `get_urls()`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import count
from operator import methodcaller
from typing import Any, NamedTuple, cast

from django.core.paginator import EmptyPage

from django_sitemaps09 import protocol
from django_sitemaps09.entries import (
    Alternate,
    Batch,
    Column,
    Extension,
    ItemError,
    Localization,
    News,
    excerpt,
)
from django_sitemaps09.hooks import extensions, values
from django_sitemaps09.hooks.expressions import FormatName, format_name
from django_sitemaps09.hooks.extensions import EXTENDING, HookResults
from django_sitemaps09.hooks.values import AllowedHosts, Items
from django_sitemaps09.orm.internals import template_value
from django_sitemaps09.pages import Key, Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sitemaps import NewsSitemap, collect_skips, is_contribs
from django_sitemaps09.sources.changes.declaration_digests import class_facts, digest
from django_sitemaps09.sources.columns.extensions import namespaces
from django_sitemaps09.sources.profiling import note_ignored_keys, step
from django_sitemaps09.sources.sites import site_for
from django_sitemaps09.sources.unranged import UnrangedSource

logger = logging.getLogger(__name__)

# The maximum number of characters of a key in a warning.
_MAX_KEY = 40


class _PageUrls(NamedTuple):
    """Entries of one page, and the hook results that were skipped, each as item, hook and reason."""

    urls: list[Any]
    skipped: list[tuple[Any, str, str]]


class UrlsSource(UnrangedSource):
    """Source of an opaque sitemap, with the pages of the sitemap's paginator.

    A key is a page number and a position on that page. So a page with too many entries for one file can be
    split.
    """

    position_parts = 2

    def __init__(self, sitemap: Any, base: Base, rows_per_page: int) -> None:
        self.sitemap = sitemap
        self.base = base
        self.bases = (base,)
        self.rows_per_page = self.entries_per_page = rows_per_page
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
        return site_for(self.sitemap, self.base)

    @cached_property
    def paginator(self) -> Any:
        """Paginator of the sitemap, created only once so that it counts its items once."""
        self.begin(1)
        return self.sitemap.paginator

    @property
    def namespaces(self) -> Mapping[str, str]:
        # Methods of `django.contrib.sitemaps` write links only with `i18n`. A project's methods may always.
        is_own = not all(is_contribs(self.sitemap, name) for name in ("get_urls", "_urls"))
        return namespaces(self.sitemap, is_linked=bool(getattr(self.sitemap, "i18n", True) or is_own))

    @property
    def format(self) -> FormatName:
        return format_name(self.sitemap)

    @property
    def is_transient(self) -> bool:
        return isinstance(self.sitemap, NewsSitemap)

    @property
    def declaration_digest(self) -> str:
        return digest(class_facts(self.sitemap, self.base, self.rows_per_page))

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

    def sample(self) -> None:
        return None

    def key_after(self, after: Key | None, count: int) -> Key | None:
        page = 1 if after is None else int(after[0])
        return (str(page + 1), "0") if page < self.paginator.num_pages else None

    def key_text(self, key: Hashable) -> Key:
        page, position = cast("tuple[int, int]", key)
        return str(page), str(position)

    def batches(self, page: Page) -> Generator[Batch]:
        first, offset = (1, 0) if page.after is None else map(int, page.after)
        last, stop = (None, None) if page.until is None else map(int, page.until)
        for number in count(first):
            if (last is not None and number > last) or (number == last and not stop):
                return
            page_urls = self._pages.pop(number) if number in self._pages else self._page(number)
            if page_urls is None:
                return
            note_ignored_keys(_ignored_keys(page_urls.urls))
            start = offset if number == first else 0
            end = stop if number == last else None
            batch = checked_batch(
                self.sitemap, page_urls.urls[start:end], number, start, self.base, self.site
            )
            skipped = [ItemError(excerpt(item), name, reason) for item, name, reason in page_urls.skipped]
            yield replace(batch, errors=[*batch.errors, *skipped])
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
            urls = list(self.sitemap.get_urls(page=number, site=self.site, protocol=self.base.scheme))
            cost.items = len(urls)
            page_urls = _PageUrls(urls, skipped)
        # Not set if get_urls() raises an error other than EmptyPage: begin() can then try another page.
        self._has_begun = True
        return page_urls

    def newest(self, page: Page) -> str | None:
        return None


class _Place(NamedTuple):
    """Place of an entry. In errors, it is written as the page, the position and the item."""

    page: int
    position: int
    url: Mapping[str, Any]

    def __str__(self) -> str:
        try:
            item = self.url.get("item")
        except Exception:  # noqa: BLE001 a project's mapping can raise anything
            item = None
        return f"{self.page}/{self.position} ({excerpt(item)})"


def _add_own_host(hosts: AllowedHosts, sitemap: Any, base: Base, site: Any) -> AllowedHosts:
    """Return `hosts`, plus the host from `get_protocol()` and `get_domain()` unless these methods fail."""
    try:
        scheme = sitemap.get_protocol(base.scheme)
        domain = sitemap.get_domain(site)
        own_host = protocol.origin(str(protocol.parse_base(f"{scheme}://{domain}")))
    except Exception:  # noqa: BLE001 a project's method can raise anything or be missing
        return hosts
    return replace(hosts, others=(*hosts.others, own_host))


def checked_batch(sitemap: Any, urls: Sequence[Any], page: int, start: int, base: Base, site: Any) -> Batch:
    """Return the dicts of `get_urls()` as a batch. Skip and report the values that the protocol forbids."""
    declared_hosts = AllowedHosts.from_sitemap(sitemap, (base,))
    hosts = _add_own_host(declared_hosts, sitemap, base, site)
    own_bases = tuple(map(str, (*hosts.bases, *hosts.others)))

    def location(value: Any) -> str:
        url = hosts.uri(values.entry_value(value) or "")
        # `django.contrib.sitemaps` appends locations to the host, so `.evil.com/` would extend its name.
        return hosts.check_host(url) if declared_hosts.others or url.startswith(own_bases) else url

    def alternate(link: Any) -> Alternate:
        language, target = (values.entry_value(link[key]) for key in ("lang_code", "location"))
        return extensions.alternate((language, target), hosts)

    # Links are not checked as a set, since `django.contrib.sitemaps` links all languages to each other.
    places = [_Place(page, position, url) for position, url in enumerate(urls, start + 1)]
    batch = url_batch(urls, Items(places, []), {"location": location, **_CHECKED}, alternate, hosts)
    return replace(batch, keys=[cast("_Place", place)[:2] for place in batch.keys])


_CHECKED = {
    name: lambda value, convert=convert: convert(values.entry_value(value))
    for name, convert in values.CONVERTERS.items()
}


def url_batch(
    urls: Sequence[Any],
    items: Items,
    converters: Mapping[str, Callable[[Any], str | None]],
    alternate: Callable[[Any], Alternate],
    hosts: AllowedHosts | None = None,
) -> Batch:
    """Return entry dicts as a batch. Skip the entries whose location is invalid or becomes `None`.

    In each dict, only the key `location` is required. `converters` return the text of the protocol's
    elements, `alternate` returns a link. By default, other paths are joined to the host of the first
    absolute location.
    """

    def column(name: str) -> list[Any]:
        return items.each(methodcaller("get", name), urls, name)

    convert = converters["location"]
    locations = items.each(lambda url: convert(url["location"]), urls, "location")
    positions = [i for i, location in enumerate(locations) if location is not values.FAILED]
    urls, locations = [urls[i] for i in positions], [locations[i] for i in positions]
    items = items._replace(keys=[items.keys[i] for i in positions])
    texts = {
        name: items.each(converters[name], column(name), name, failed=None) for name in values.CONVERTERS
    }
    link_lists = items.each(
        lambda value: [*(template_value(value) or ())], column("alternates"), "alternates", failed=()
    )
    alternates = [
        items.each_of(i, alternate, link_list, "alternates") if link_list else ()
        for i, link_list in enumerate(link_lists)
    ]
    results = extensions.results_in(column)
    hosts = hosts or _first_host(locations)
    return entry_batch(items._replace(raises_errors=False), locations, texts, results, hosts, alternates)


def _first_host(locations: Iterable[str | None]) -> AllowedHosts:
    """Return allowed hosts with the host of the first absolute location, or with `localhost`."""
    for location in filter(None, locations):
        with suppress(ValueError):
            return AllowedHosts((protocol.origin(location),), joins_paths=True)
    return AllowedHosts((Base("https", "localhost"),), joins_paths=True)


def entry_batch(
    items: Items,
    locations: Sequence[str | None],
    texts: Mapping[str, Column],
    results: Mapping[str | Extension, Sequence[Any]],
    hosts: AllowedHosts,
    alternates: Sequence[Sequence[Alternate]] = (),
) -> Batch:
    """Return items with one entry each as a batch, from columns of text and the results of hooks."""
    localizations = [Localization("", locations)]
    columns = extensions.columns(results, localizations, hosts, items)
    if any(alternates):
        columns["alternates"] = alternates
    return Batch(
        keys=items.keys,
        localizations=localizations,
        lastmods=texts["lastmod"],
        changefreqs=texts["changefreq"],
        priorities=texts["priority"],
        errors=items.errors,
        **columns,
    )


# Keys that hooks of this package add. A project can use the same keys for other values.
_HOOKED = frozenset({*EXTENDING, "extensions"})
# Keys that the writer writes, and `item` of `django.contrib.sitemaps`.
_KEYS = frozenset({"item", "location", "alternates", *values.CONVERTERS})
#: All keys of entry dicts that are read.
ENTRY_KEYS = _KEYS | _HOOKED


def _ignored_keys(urls: Sequence[Any]) -> set[str]:
    """Return the keys that a project's template can use but the writer ignores."""
    keys: set[str] = set()
    for url in urls:
        try:
            other_keys = [] if _KEYS.issuperset(url) else [key for key in url if key not in _KEYS]
            keys.update(
                excerpt(key, _MAX_KEY)
                for key in other_keys
                if key not in _HOOKED or not (url[key] is None or isinstance(url[key], (HookResults, News)))
            )
        except Exception:  # noqa: BLE001, S112 a project's mapping can raise anything, and is read by `get()`
            continue
    return keys
