"""A sitemap compiled to a source: rows in the order of a key, and batches of text from them.

A sitemap is compiled only if its class overrides none of contrib's machinery. Every other one, and
every object that others wrote for contrib, is read through its own `get_urls()`.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping, Sequence
from inspect import getattr_static
from typing import Any, Protocol

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import pages, protocol, writer
from django_sitemaps09.entries import Batch
from django_sitemaps09.pages import Fingerprint, Key, Keyed, Page, PageMap
from django_sitemaps09.protocol import Base
from django_sitemaps09.sections import Section, bound, instance
from django_sitemaps09.sitemaps import ModelSitemap, NewsSitemap, Sitemap
from django_sitemaps09.sources import extensions
from django_sitemaps09.sources.declaration import Declaration
from django_sitemaps09.sources.formats import FormatName, format_name
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.querysets import QuerySource
from django_sitemaps09.sources.ranges import key_ranged
from django_sitemaps09.sources.urls import UrlsSource
from django_sitemaps09.writer import Limits

__all__ = [
    "MACHINERY",
    "QuerySource",
    "Source",
    "is_compiled",
    "page_limits",
    "page_map",
    "rows_on_page",
    "shareable",
    "source",
]

#: What of contrib's class a subclass may override to take the whole way into its own hands.
MACHINERY = (
    "_get",
    "_items",
    "_location",
    "_urls",
    "_languages",
    "get_urls",
    "get_protocol",
    "get_domain",
    "paginator",
)


# A page is cut for less than its bytes by this, since later entries can be longer than the first.
_MARGIN = 1.05


class Source(Keyed, Protocol):
    """The rows of one section, and how a range of them becomes text."""

    @property
    def rows_per_page(self) -> int:
        """How many rows make a page, as far as the count of its entries goes."""

    @property
    def entries_per_page(self) -> int:
        """How many entries a page may have: the sitemap's `limit`, and no less than one item has."""

    def sample(self) -> Batch | None:
        """The first few hundred entries; `None` where pages are not ours to cut."""

    @property
    def bases(self) -> tuple[Base, ...]:
        """What paths are joined to; several where the same entries are for several hosts."""

    @property
    def namespaces(self) -> Mapping[str, str]:
        """Those of all that entries can have beside the protocol's elements, by their prefixes."""

    @property
    def format(self) -> FormatName:
        """What its files are."""

    @property
    def fleeting(self) -> bool:
        """Whether entries go with the time, so that there can be few of them soon."""

    @property
    def digest(self) -> str | None:
        """What tells whether a page map is of these rows; `None` where it is not worth keeping."""

    @property
    def identity(self) -> tuple[str, ...] | None:
        """The columns that bounds are of: those made under one mean nothing under another.

        Vendor, then table, column, database type and collation of each; `None` without a key.
        """

    def in_order(self, bounds: Sequence[Key]) -> bool:
        """Whether each bound is greater than the one before for what holds the rows, as it is now."""

    @property
    def declared(self) -> str:
        """A digest of everything but the rows that decides the bytes of pages; no row is read for it."""

    @property
    def skippable(self) -> bool:
        """Whether a fingerprint tells that pages are what they were."""

    def fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        """Of the rows of a range, in one query. Asked of what is `skippable` alone."""

    def batches(self, page: Page) -> Generator[Batch]:
        """The entries of a page, some hundred or thousand at a time."""

    def key_text(self, key: Hashable) -> Key:
        """A key of a batch as text."""

    def newest(self, page: Page) -> str | None:
        """The newest lastmod of a page, if the database can tell, and if all its rows have one."""


def is_compiled(sitemap: object) -> bool:
    """The rule between the two roads."""
    return isinstance(sitemap, Sitemap) and all(
        getattr_static(sitemap, name) is getattr_static(Sitemap, name) for name in MACHINERY
    )


def source(name: str, section: Section, bases: Base | tuple[Base, ...], limits: Limits) -> Source:
    """The source of a section, for one host, or for several where it is `shareable`.

    `ImproperlyConfigured` for a declaration that cannot be read.
    """
    bases = (bases,) if isinstance(bases, Base) else bases
    sitemap: Any = bound(section, bases[0].domain)
    if not is_compiled(sitemap):
        return UrlsSource.of(sitemap, bases[0], min(limits.urls, _most(sitemap, limits.urls)))
    if sitemap.protocol and sitemap.protocol not in ("http", "https"):
        raise ImproperlyConfigured(
            f"Section {name!r}: `protocol` of {type(sitemap).__qualname__} is {sitemap.protocol!r}, and "
            "crawlers follow http and https."
        )
    format_name(sitemap)
    declaration = Declaration.of(
        sitemap, tuple(Base(sitemap.protocol or base.scheme, base.domain) for base in bases)
    )
    limit = _limit(name, sitemap, limits.urls)
    items = sitemap.items()
    # Pages of news are filled anew each time, so that their number does not grow.
    ranged = None if isinstance(sitemap, NewsSitemap) else key_ranged(items, declaration)
    if ranged is None:
        return PositionSource.of(items, declaration, limit)
    return QuerySource.of(name, ranged, declaration, limit)


def shareable(section: Section) -> bool:
    """Whether a section has the same entries on several hosts, but for the host."""
    try:
        sitemap = instance(section)
    except Exception:  # noqa: BLE001 a user's factory can raise anything; whoever exports it says so
        return False
    return is_compiled(sitemap) and (not isinstance(sitemap, ModelSitemap) or sitemap.site_field is None)


def page_limits(source: Source, limits: Limits) -> Limits:
    """What one page of a source may hold."""
    return Limits(min(source.entries_per_page, limits.urls), limits.bytes)


def page_map(source: Source, limits: Limits) -> PageMap:
    """The pages of a source."""
    return pages.cut(source, rows_on_page(source, limits))


def rows_on_page(source: Source, limits: Limits) -> int:
    """So many rows that their page is about within both limits, with some room for more.

    The first entries tell how long one is. The number of rows is rounded down to tenths of the
    limit, so that it stays what it is when a row changes.
    """
    most = source.rows_per_page
    rows = pages.fill(most)
    batch = source.sample()
    if batch is not None and batch.keys:
        longest = max(map(str, source.bases), key=len)
        texts = writer.elements(writer.FORMATS[source.format], batch, longest)
        size = sum(len(text.encode()) for text in texts)
        fit = int(limits.bytes * len(batch.keys) / (size * _MARGIN))
        if fit < rows:
            step = max(1, most // 10)
            rows = max(fit // step * step, min(fit, step), 1)
    return rows


def _limit(name: str, sitemap: Any, most: int) -> int:
    if isinstance(sitemap.limit, bool) or not isinstance(sitemap.limit, int) or sitemap.limit < 1:
        raise ImproperlyConfigured(
            f"Section {name!r}: `limit` of {type(sitemap).__qualname__} must be a whole number "
            f"from 1 on, not {sitemap.limit!r}."
        )
    return min(sitemap.limit, _most(sitemap, most))


def _most(sitemap: Any, most: int) -> int:
    """A file may name fewer articles of news than URLs."""
    return min(most, protocol.MAX_NEWS) if "news" in extensions.hooks(sitemap) else most
