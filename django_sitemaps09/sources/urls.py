"""Sitemaps that others wrote for contrib, read through their own `get_urls()` and `paginator`."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import getattr_static
from itertools import count
from typing import Any, NamedTuple, cast

from django.contrib import sitemaps as contrib
from django.core.paginator import EmptyPage

from django_sitemaps09.entries import Alternate, Batch, ItemError, Version
from django_sitemaps09.pages import Key, Page
from django_sitemaps09.protocol import Base
from django_sitemaps09.sitemaps import NewsSitemap, Sitemap, left_out
from django_sitemaps09.sources import digests, extensions, values
from django_sitemaps09.sources.costs import step
from django_sitemaps09.sources.formats import FormatName, format_name
from django_sitemaps09.sources.hosts import Hosts
from django_sitemaps09.sources.unranged import Unranged


class Host(NamedTuple):
    """What contrib's `get_urls()` takes for a site."""

    domain: str
    name: str


@dataclass(frozen=True, slots=True)
class UrlsSource(Unranged):
    """The pages of a sitemap's own paginator.

    A key is `(page, position in it)`, so that a page with more entries than a file may hold can be
    split like any other.
    """

    parts = 2

    sitemap: Any
    paginator: Any
    base: Base
    rows_per_page: int

    @classmethod
    def of(cls, sitemap: Any, base: Base, entries: int) -> UrlsSource:
        """`paginator` is a property that builds one; one counts its items once."""
        return cls(sitemap, sitemap.paginator, base, entries)

    @property
    def entries_per_page(self) -> int:
        return self.rows_per_page

    @property
    def namespaces(self) -> Mapping[str, str]:
        # Contrib's own give links where there is i18n alone; what others have written can at any time.
        sitemap = self.sitemap
        linked = getattr(sitemap, "i18n", True) or _writes_links(sitemap)
        return extensions.namespaces(sitemap, linked=bool(linked))

    @property
    def bases(self) -> tuple[Base, ...]:
        return (self.base,)

    @property
    def format(self) -> FormatName:
        return format_name(self.sitemap)

    @property
    def fleeting(self) -> bool:
        return isinstance(self.sitemap, NewsSitemap)

    @property
    def declared(self) -> str:
        return digests.digest(digests.of_class(self.sitemap, self.base, self.rows_per_page))

    def is_empty(self) -> bool:
        return not self.paginator.count

    def sample(self) -> None:
        return None

    def jump(self, after: Key | None, count: int) -> Key | None:
        page = 1 if after is None else int(after[0])
        return (str(page + 1), "0") if page < self.paginator.num_pages else None

    def key_text(self, key: Hashable) -> Key:
        page, position = cast("tuple[int, int]", key)
        return str(page), str(position)

    def batches(self, page: Page) -> Generator[Batch]:
        first, skipped = (1, 0) if page.after is None else map(int, page.after)
        last, stop = (None, None) if page.until is None else map(int, page.until)
        for number in count(first):
            if (last is not None and number > last) or (number == last and not stop):
                return
            try:
                with step("get_urls") as cost, left_out() as failed:
                    urls = self.sitemap.get_urls(
                        page=number,
                        site=Host(self.base.domain, self.base.domain),
                        protocol=self.base.scheme,
                    )
                    urls = list(urls)
                    cost.items = len(urls)
            except EmptyPage:
                return
            start = skipped if number == first else 0
            end = stop if number == last else None
            batch = url_batch(self.sitemap, urls[start:end], number, start, self.base)
            named = [ItemError(str(item), name, reason) for item, name, reason in failed]
            yield replace(batch, errors=[*batch.errors, *named])
            if last is None and number >= self.paginator.num_pages:
                return

    def newest(self, page: Page) -> str | None:
        return None


class _Place(NamedTuple):
    """Where an entry stands, which names it in errors, with its item if that has a text."""

    page: int
    position: int
    url: Mapping[str, Any]

    def __str__(self) -> str:
        try:
            item = f" ({self.url.get('item')})"
        except Exception:  # noqa: BLE001 a user's __str__ can raise anything
            item = ""
        return f"{self.page}/{self.position}{item}"


def _writes_links(sitemap: Any) -> bool:
    """Whether its entries are not made by contrib's own method."""
    return any(
        getattr_static(sitemap, name, None)
        not in (getattr_static(contrib.Sitemap, name), getattr_static(Sitemap, name))
        for name in ("get_urls", "_urls")
    )


def url_batch(sitemap: Any, urls: Sequence[Any], page: int, start: int, base: Base) -> Batch:
    """The dicts of `get_urls()` as a batch. Keys other than `location` may be missing."""
    errors: list[ItemError] = []
    places = [_Place(page, position, url) for position, url in enumerate(urls, start + 1)]
    hosts = Hosts((base,))

    locations = values.each(lambda u: hosts.anywhere(u["location"]), urls, places, "location", errors)
    listed = [i for i, url in enumerate(locations) if url is not values.FAILED]
    urls, places = [urls[i] for i in listed], [places[i] for i in listed]
    versions = [Version("", [locations[i] for i in listed])]
    columns: dict[str, Any] = {
        name: values.texts(name, [url.get(name) for url in urls], places, errors)
        for name in values.CONVERTERS
    }
    links = _links([url.get("alternates") for url in urls], places, hosts, errors)
    columns |= extensions.columns(extensions.told_in(urls, dict.get), versions, hosts, places, errors)
    return Batch(
        keys=[(place.page, place.position) for place in places],
        versions=versions,
        lastmods=columns.pop("lastmod"),
        changefreqs=columns.pop("changefreq"),
        priorities=columns.pop("priority"),
        alternates=links if any(links) else None,
        errors=errors,
        **columns,
    )


def _links(
    told: Sequence[Any], places: Sequence[_Place], hosts: Hosts, errors: list[ItemError]
) -> list[list[Alternate]]:
    """The links of each entry: what contrib makes of the languages is a whole set by itself."""

    def alternate(link: Any) -> Alternate:
        return extensions.alternate((link["lang_code"], link["location"]), hosts)

    found = []
    for links, place in zip(told, places, strict=False):
        made = values.each(alternate, links or (), [place] * len(links or ()), "alternates", errors)
        found.append([link for link in made if link is not values.FAILED])
    return found
