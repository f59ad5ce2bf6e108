"""Read opaque sitemaps, such as classes for `django.contrib.sitemaps`, through their `get_urls()`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import count
from operator import itemgetter, methodcaller
from typing import Any, NamedTuple, TypeAlias, cast

from django.core.paginator import EmptyPage

from django_sitemaps09.declare import calls, contrib_pages, extensions, hosts
from django_sitemaps09.declare.base import checked_items, is_contribs
from django_sitemaps09.declare.expressions import EXTENDING
from django_sitemaps09.declare.extensions import HookResults
from django_sitemaps09.declare.sitemap_attributes import Declared
from django_sitemaps09.orm.internals import template_value
from django_sitemaps09.protocol.entries import Alternate, Batch, ItemError, Localization
from django_sitemaps09.protocol.fields import excerpt
from django_sitemaps09.protocol.media import News
from django_sitemaps09.protocol.pages import Key, Page
from django_sitemaps09.protocol.urls import Base, origin, parse_base
from django_sitemaps09.rows.declaration_digests import class_facts, digest_of
from django_sitemaps09.rows.source_base import Source

logger = logging.getLogger(__name__)

# Keys that hooks of this package add. A project can use the same keys for other values.
_HOOKED = frozenset({*EXTENDING, "extensions"})
# Keys that are written, and `item` of `django.contrib.sitemaps`.
_KEYS = frozenset({"item", "location", "alternates", *calls.CONVERTERS})
#: All keys of entry dicts that are read.
ENTRY_KEYS = _KEYS | _HOOKED
# The maximum number of characters of a key in a warning.
_MAX_KEY = 40

# Entries of one page, and what was skipped; `None` for a page that does not exist.
_PageUrls: TypeAlias = "tuple[list[Any], list[ItemError]] | None"


class UrlsSource(Source):
    """Source of an opaque sitemap, with the pages of the sitemap's paginator.

    A key is a page number and a position on that page, so that a page can be split.
    """

    position_parts = 2

    def __init__(self, declared: Declared) -> None:
        self._declared, self.sitemap = declared, declared.sitemap
        # Pages that `get_urls()` returned and that are not read yet.
        self._pages: dict[int, _PageUrls] = {}
        self._has_begun = False

    def begin(self, number: int) -> None:
        """Call an overridden `get_urls()` before the paginator is used. Keep its page until it is read."""
        # The view of `django.contrib.sitemaps` calls only `get_urls()`, where a class can choose items.
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
        urls = next((page[0] for page in self._pages.values() if page and page[0]), None) or self._peek(1)
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
            urls, skipped = page_urls
            calls.note_ignored_keys(_ignored_keys(urls))
            start, end = offset if number == first else 0, stop if number == last else None
            batch = _checked_batch(self.declared, urls[start:end], number, start, self.site, homes)
            yield replace(batch, errors=[*batch.errors, *skipped])
            if last is None and number >= self.paginator.num_pages:
                return

    def _peek(self, number: int) -> list[Any]:
        """Return the entries of a page, and keep them until the page is read."""
        if number not in self._pages:
            self._pages[number] = self._page(number)
        page_urls = self._pages[number]
        return [] if page_urls is None else page_urls[0]

    def _page(self, number: int) -> _PageUrls:
        page_urls, scheme = None, self.declared.base.scheme
        with suppress(EmptyPage), calls.step("get_urls") as cost, calls.collect_skips() as skipped:
            urls = list(self.sitemap.get_urls(page=number, site=self.site, protocol=scheme))
            cost.items = len(urls)
            page_urls = urls, skipped
        # Not set if get_urls() raises an error other than EmptyPage: begin() can then try another page.
        self._has_begun = True
        return page_urls


def site_of(sitemap: object, base: Base) -> Any:
    """Return the site of a host for `get_urls()`. No query runs if only Django's methods get it."""
    names = ("get_urls", "_urls", "get_domain", "get_protocol")
    # The methods of `django.contrib.sitemaps` use only the domain.
    is_used = not all(is_contribs(sitemap, name) for name in names)
    return hosts.site_for(base) if is_used else hosts.HostSite(base.domain)


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


def _contribs_base(declared: Declared, site: Any) -> str:
    """Return what `django.contrib.sitemaps` puts before locations, or the base if that is invalid."""
    with suppress(Exception):  # a project's method can raise anything or be missing
        sitemap = declared.sitemap
        text = f"{sitemap.get_protocol(declared.base.scheme)}://{sitemap.get_domain(site)}"
        parse_base(text)
        return text
    return str(declared.base)


def _checked_batch(
    declared: Declared, urls: Sequence[Any], page: int, start: int, site: Any, homes: set[str]
) -> Batch:
    """Return a batch of what the protocol allows. `homes` are the bases that the file has as a location."""
    base = _contribs_base(declared, site)
    # A project can write the domain as Unicode.
    own = origin(str(parse_base(base)))
    allowed_hosts = replace(declared.hosts, others=(*declared.hosts.others, own))
    own_bases = (str(declared.base), str(own))
    # A URL that the project has written is what it says.
    joins_base = all(is_contribs(declared.sitemap, name) for name in ("get_urls", "_urls"))

    def meant(value: Any) -> str:
        return hosts.meant_url(str(value or ""), base) if joins_base else str(value or "")

    def location(value: Any) -> str:
        text, url = str(value or ""), allowed_hosts.uri(meant(value))
        if text in (base, *own_bases):
            calls.check_home(homes, text)
        # A location such as `.evil.com/` would extend the name of the host, and `//evil.com/` names one.
        is_joined = text.startswith(base) or url.startswith(own_bases)
        return allowed_hosts.check_host(url) if declared.hosts.others or is_joined else url

    def alternate(link: Any) -> Alternate:
        language, target = (contrib_pages.entry_value(link[key]) for key in ("lang_code", "location"))
        return extensions.alternate((language, meant(target)), allowed_hosts)

    # Links are not checked as a set, since `django.contrib.sitemaps` links all languages to each other.
    places = [_Place(page, position, url) for position, url in enumerate(urls, start + 1)]
    converters = {**calls.CONVERTERS, "location": location}
    batch = url_batch(urls, calls.Items(places, []), converters, alternate, allowed_hosts)
    return replace(batch, keys=[cast("_Place", place)[:2] for place in batch.keys])


def url_batch(
    urls: Sequence[Any],
    items: calls.Items,
    converters: Mapping[str, Callable[[Any], str | None]],
    alternate: Callable[[Any], Alternate],
    allowed_hosts: hosts.AllowedHosts | None = None,
) -> Batch:
    """Return entry dicts as a batch, without those whose location is invalid. Other keys are optional.

    `converters` return the text of an `entry_value()`, `alternate` returns a link. By default, other paths
    are joined to the host of the first absolute location.
    """
    are_dicts = {*map(type, urls)} <= {dict}

    def column(name: str) -> list[Any]:
        if are_dicts:
            return [url.get(name) for url in urls]
        return items.each(methodcaller("get", name), urls, name)

    keyed = items.each(itemgetter("location"), urls, "location")
    written = contrib_pages.entry_values(keyed, "location", items, failed=calls.FAILED)
    locations = items._replace(raises_errors=False).each(converters["location"], written, "location")
    positions = [i for i, location in enumerate(locations) if location is not calls.FAILED]
    urls, locations = [urls[i] for i in positions], [locations[i] for i in positions]
    items = items._replace(keys=[items.keys[i] for i in positions])
    reporting = items._replace(raises_errors=False)
    texts = {}
    for name in calls.CONVERTERS:
        written = contrib_pages.entry_values(column(name), name, items)
        texts[name] = calls.texts(written, name, reporting, converters[name])
    link_lists = items.each(_links, column("alternates"), "alternates", failed=())
    alternates = [
        items.each_of(i, alternate, link_list, "alternates") if link_list else ()
        for i, link_list in enumerate(link_lists)
    ]
    has_results = not are_dicts or not _KEYS.issuperset(set().union(*urls))
    results = extensions.results_in(column) if has_results else {}
    batch = extensions.create_batch(
        reporting, [Localization("", locations)], texts, results, allowed_hosts or _first_host(locations)
    )
    return replace(batch, alternates=alternates) if any(alternates) else batch


def _links(value: Any) -> Sequence[Any]:
    return [*(template_value(value) or ())] if value else ()


def _first_host(locations: Iterable[str | None]) -> hosts.AllowedHosts:
    """Return allowed hosts with the host of the first absolute location, or with `localhost`."""
    for location in filter(None, locations):
        with suppress(ValueError):
            return hosts.AllowedHosts(origin(location), joins_paths=True)
    return hosts.AllowedHosts(Base("https", "localhost"), joins_paths=True)


def _ignored_keys(urls: Sequence[Any]) -> set[str]:
    """Return the keys that a project's template can use, and that are not written."""
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
