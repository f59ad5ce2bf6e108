"""Compile a sitemap to a source: rows in the order of a key, and batches of text made from them.

A sitemap is compiled only if its class overrides none of contrib's internals. Every other one is an opaque
sitemap, read through its own `get_urls()`, as are objects that others wrote for contrib.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import pages, protocol, writer
from django_sitemaps09.entries import Batch, short_repr
from django_sitemaps09.hooks.formats import FormatName, format_name
from django_sitemaps09.pages import Fingerprint, Key, Keyed, Page, PageMap
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.sections import Section, bind, instance
from django_sitemaps09.sitemaps import CONTRIB_INTERNALS, ModelSitemap, NewsSitemap, Sitemap, is_original
from django_sitemaps09.sources.bounds import divide
from django_sitemaps09.sources.columns import extensions
from django_sitemaps09.sources.columns.declaration import Declaration
from django_sitemaps09.sources.compiled import CompiledSource
from django_sitemaps09.sources.get_urls import UrlsSource
from django_sitemaps09.sources.page_size import page_size
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.queryset import QuerySource
from django_sitemaps09.sources.rows.rangeable import ranged_rows

# Safety margin for the bytes of a page, since later entries can be longer than the first.
_MARGIN = 1.05


class Source(Keyed, Protocol):
    """Interface of a source: the rows of one section, and how a range of them becomes text."""

    @property
    def rows_per_page(self) -> int:
        """Number of rows that make a page, judged only by the count of its entries."""

    @property
    def entries_per_page(self) -> int:
        """Most entries of a page: the sitemap's `limit`, or those of one item if they are more."""

    def sample(self) -> Batch | None:
        """Return the first few hundred entries; `None` if the sitemap's own paginator cuts the pages."""

    @property
    def bases(self) -> tuple[Base, ...]:
        """Bases that paths are joined to; several if the same entries are for several hosts."""

    @property
    def namespaces(self) -> Mapping[str, str]:
        """Namespaces of all that entries can have besides the protocol's elements, by prefix."""

    @property
    def format(self) -> FormatName:
        """Format of the section's files."""

    @property
    def is_transient(self) -> bool:
        """Return whether entries expire, so that there can soon be few of them."""

    @property
    def map_cache_key(self) -> str | None:
        """Digest that shows whether a page map is of these rows; `None` if it is not worth caching."""

    @property
    def key_identity(self) -> tuple[str, ...] | None:
        """Key identity: bounds of keys with another identity are not valid.

        It has the vendor, then table, column, database type and collation of each column; `None` without a
        key.
        """

    def in_order(self, bounds: Sequence[Key]) -> bool:
        """Return whether each bound is greater than the one before, by the current order of the source."""

    @property
    def declaration_digest(self) -> str:
        """Digest of everything that determines the bytes of pages except rows; no rows are read for it."""

    @property
    def can_fingerprint(self) -> bool:
        """Return whether a fingerprint shows that pages have not changed."""

    def fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        """Return the fingerprint of a range's rows, in one query, if `can_fingerprint`."""

    def batches(self, page: Page) -> Generator[Batch]:
        """Yield the entries of a page, several hundred or thousand at a time."""

    def key_text(self, key: Hashable) -> Key:
        """Return a key of a batch as text."""

    def newest(self, page: Page) -> str | None:
        """Return the newest lastmod of a page, if the database can tell, and if all its rows have one."""


def is_compiled(sitemap: object) -> bool:
    """Return whether a sitemap is compiled; otherwise it is opaque, and read through `get_urls()`.

    The object's current attributes decide, since its class can be patched.
    """
    # Not isinstance(): a mock claims to be of the class that it was made for.
    return issubclass(type(sitemap), Sitemap) and all(
        is_original(sitemap, name) for name in CONTRIB_INTERNALS
    )


def source(
    name: str, section: Section, bases: Base | tuple[Base, ...], limits: Limits, using: str | None = None
) -> Source:
    """Return the source of a section, for one host, or for several if it is `is_shareable`.

    Rows are read from the database `using`, by default from the one that a router picks first. Raise
    `ImproperlyConfigured` for a declaration that cannot be read.
    """
    bases = (bases,) if isinstance(bases, Base) else bases
    sitemap: Any = bind(section, bases[0].domain)
    if not is_compiled(sitemap):
        return UrlsSource(sitemap, bases[0], min(limits.urls, _most(sitemap, limits.urls)))
    if sitemap.protocol and sitemap.protocol not in ("http", "https"):
        raise ImproperlyConfigured(
            f"Section {name!r}: `protocol` of {type(sitemap).__qualname__} must be 'http' or 'https', "
            f"not {sitemap.protocol!r}."
        )
    format_name(sitemap)
    declaration = Declaration.of(
        sitemap, tuple(Base(sitemap.protocol or base.scheme, base.domain) for base in bases)
    )
    limit = _limit(name, sitemap, limits.urls)
    items = sitemap.items()
    # Pages of news are refilled each time, so that their number does not grow.
    rows = None if isinstance(sitemap, NewsSitemap) else ranged_rows(items, declaration)
    if rows is None:
        return PositionSource.of(items, declaration, limit, using)
    # One database for all queries: a router can pick another replica each time.
    return QuerySource.of(name, rows.using(using), declaration, limit)


def has_key_ranges(source: object) -> TypeGuard[QuerySource]:
    """Return whether the pages of a source are ranges of its key; otherwise they are positions."""
    return isinstance(source, QuerySource)


def is_shareable(section: Section) -> bool:
    """Return whether a section has the same entries on several hosts, except for the host."""
    try:
        sitemap = instance(section)
    except Exception:  # noqa: BLE001 a user's factory can raise anything, which an export reports
        return False
    return is_compiled(sitemap) and (not isinstance(sitemap, ModelSitemap) or sitemap.site_field is None)


def page_limits(source: Source, limits: Limits) -> Limits:
    """Return the limits of one page of a source."""
    return Limits(min(source.entries_per_page, limits.urls), limits.bytes)


def page_map(source: Source, limits: Limits) -> PageMap:
    """Return the pages of a source."""
    return pages.cut(source, rows_on_page(source, limits))


def live_pages(source: Source, rows: int) -> PageMap:
    """Return the pages of a section without an export, each with at most `rows` rows.

    Bounds and numbers depend only on the keys beside them. So maps divided before and after a change of
    rows differ only in the pages next to it. Without keys, pages are counted from the first.
    """
    if not has_key_ranges(source):
        return pages.cut(source, rows)
    return PageMap(() if source.is_empty() else tuple(divide(source, Page(1, None, None), rows)))


def rows_on_page(source: Source, limits: Limits, base: str | None = None) -> int:
    """Return about how many rows make a page within both limits, with room for more.

    The first entries show how long one is, with locations joined to `base`, or else to the longest base.
    The number is rounded down to tenths of the limit, so that it stays the same when a row changes.
    """
    batch = source.sample()
    most = source.rows_per_page
    if (
        batch is not None
        and isinstance(source, CompiledSource)
        and source.declaration.has_languages_per_item
    ):
        # Not the languages that any item may have: most items of a large site have only a few.
        most = max(
            most, _in_tenths(source.limit * len(batch.keys) // max(1, sum(batch.counts())), source.limit)
        )
    # Pages of news are refilled each time, and nothing is added to one.
    rows = most if source.is_transient else pages.fill(most)
    if batch is not None and batch.keys:
        longest = base or max(map(str, source.bases), key=len)
        texts = writer.elements(writer.FORMATS[source.format], batch, longest)
        size = sum(len(text.encode()) for text in texts)
        fit = int(limits.bytes * len(batch.keys) / (size * _MARGIN))
        if fit < rows:
            rows = _in_tenths(fit, most)
    return rows


def _in_tenths(rows: int, most: int) -> int:
    """Round a number of rows down to tenths of `most`, but never to zero."""
    step = max(1, most // 10)
    return max(rows // step * step, min(rows, step), 1)


def _limit(name: str, sitemap: Any, most: int) -> int:
    try:
        size = page_size(sitemap.limit)
    except ValueError as error:
        raise ImproperlyConfigured(
            f"Section {name!r}: `limit` of {type(sitemap).__qualname__} must be a whole number of at "
            f"least 1, not {short_repr(sitemap.limit)}."
        ) from error
    return min(size, _most(sitemap, most))


def _most(sitemap: Any, most: int) -> int:
    """Return the most entries of a file, which may have fewer articles of news than URLs."""
    return min(most, protocol.MAX_NEWS) if "news" in extensions.hooks(sitemap) else most
