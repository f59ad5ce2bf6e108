"""Compile a sitemap to a source of rows and batches of text.

A sitemap is compiled only if its class overrides no internals of `django.contrib.sitemaps`. Any other
sitemap, such as a class written for that package, is opaque: its entries come from its `get_urls()`.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeGuard

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import pages, protocol, writer
from django_sitemaps09.entries import Batch, short_repr
from django_sitemaps09.hooks.expressions import FormatName, format_name
from django_sitemaps09.pages import Fingerprint, Key, Keyed, Page, PageMap
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.sections import Section, bind, has_host_hook, instance
from django_sitemaps09.sitemaps import CONTRIB_INTERNALS, ModelSitemap, NewsSitemap, Sitemap, is_original
from django_sitemaps09.sources.columns import extensions
from django_sitemaps09.sources.columns.declaration import Declaration
from django_sitemaps09.sources.compiled import CompiledSource
from django_sitemaps09.sources.get_urls import UrlsSource
from django_sitemaps09.sources.live_bounds import divide
from django_sitemaps09.sources.page_size import page_size
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.queryset import QuerySource
from django_sitemaps09.sources.rows.rangeable import RangedRows, ranged_rows

# Safety margin for the bytes of a page, since later entries can be longer than the first.
_MARGIN = 1.05


class Source(Keyed, Protocol):
    """Rows of a section, and the conversion of a range of rows to text."""

    @property
    def rows_per_page(self) -> int:
        """Number of rows on a page if only the number of entries is limited."""

    @property
    def entries_per_page(self) -> int:
        """Maximum number of entries on a page: the `limit`, or more if a single item has more entries."""

    def sample(self) -> Batch | None:
        """Return up to a few hundred of the first entries; `None` for an opaque sitemap."""

    @property
    def bases(self) -> tuple[Base, ...]:
        """Bases that paths are joined to, one for each host that shares the entries."""

    @property
    def namespaces(self) -> Mapping[str, str]:
        """Namespaces of all content that entries can have besides the protocol's elements, by prefix."""

    @property
    def format(self) -> FormatName:
        """Format of the section's files."""

    @property
    def is_transient(self) -> bool:
        """Return whether entries expire, as news does."""

    @property
    def map_cache_key(self) -> str | None:
        """Cache key of the page map, or `None` if the map is not worth caching."""

    @property
    def key_identity(self) -> tuple[str, ...] | None:
        """Key identity; `None` if there is no key. Bounds of a page are only valid for the same identity.

        It consists of the database vendor, and of the table, name, type and collation of each column.
        """

    def in_order(self, bounds: Sequence[Key]) -> bool:
        """Return whether bounds are ascending in the current order of the source."""

    @property
    def declaration_digest(self) -> str:
        """Digest of everything except rows that determines the bytes of pages. No rows are read."""

    @property
    def can_fingerprint(self) -> bool:
        """Return whether fingerprints can show that the rows of a page did not change."""

    def fingerprint(self, after: Key | None, until: Key | None) -> Fingerprint:
        """Return the fingerprint of a range's rows in one query. Only valid if `can_fingerprint`."""

    def batches(self, page: Page) -> Generator[Batch]:
        """Yield the entries of a page in batches of hundreds or thousands."""

    def key_text(self, key: Hashable) -> Key:
        """Return a key from a batch as text."""

    def newest(self, page: Page) -> str | None:
        """Return the newest lastmod of a page, or `None` if it is unknown or a row has no lastmod."""


def is_compiled(sitemap: object) -> bool:
    """Return whether a sitemap is compiled. Otherwise it is opaque, and read through `get_urls()`.

    This depends on the current attributes of the object, since its class can be patched.
    """
    # isinstance() is true for a mock of the class.
    return issubclass(type(sitemap), Sitemap) and all(
        is_original(sitemap, name) for name in CONTRIB_INTERNALS
    )


def source(
    name: str, section: Section, bases: Base | tuple[Base, ...], limits: Limits, using: str | None = None
) -> Source:
    """Return the source of a section for one host, or for several hosts if the section `is_shareable`.

    Rows are read from the database `using`, by default from the first one that a router selects. Raise
    `ImproperlyConfigured` for an invalid declaration.
    """
    bases = (bases,) if isinstance(bases, Base) else bases
    sitemap: Any = bind(section, bases[0].domain)
    if not is_compiled(sitemap):
        return UrlsSource(sitemap, bases[0], _max_entries(sitemap, limits))
    declaration, limit = _declared(name, sitemap, bases, limits)
    items = sitemap.items()
    rows = _ranged_rows(items, declaration)
    if rows is None:
        return PositionSource.from_items(items, declaration, limit, using)
    # A router can select another replica for each query, so the database is fixed here.
    return QuerySource.from_rows(name, rows.using(using), declaration, limit)


def ranged_source(name: str, sitemap: Any, base: Base, limits: Limits) -> QuerySource | None:
    """Return the source of a compiled sitemap that `bind()` returned; `None` if it has no key ranges.

    Unlike `source()`, this never counts or reads items, unless `items()` itself does.
    """
    declaration, limit = _declared(name, sitemap, (base,), limits)
    rows = _ranged_rows(sitemap.items(), declaration)
    return None if rows is None else QuerySource.from_rows(name, rows.using(None), declaration, limit)


def _declared(name: str, sitemap: Any, bases: tuple[Base, ...], limits: Limits) -> tuple[Declaration, int]:
    """Return the declaration of a sitemap, and the number of entries on a page."""
    if sitemap.protocol and sitemap.protocol not in ("http", "https"):
        raise ImproperlyConfigured(
            f"Section {name!r}: `protocol` of {type(sitemap).__qualname__} must be 'http' or 'https', "
            f"not {sitemap.protocol!r}."
        )
    format_name(sitemap)
    declaration = Declaration.from_sitemap(
        sitemap, tuple(Base(sitemap.protocol or base.scheme, base.domain) for base in bases)
    )
    return declaration, _limit(name, sitemap, limits)


def _ranged_rows(items: Any, declaration: Declaration) -> RangedRows | None:
    # Pages of news are refilled in each export, so that their number does not grow.
    is_news = isinstance(declaration.sitemap, NewsSitemap)
    return None if is_news else ranged_rows(items, declaration)


def has_key_ranges(source: object) -> TypeGuard[QuerySource]:
    """Return whether the pages of a source are key ranges instead of ranges of positions."""
    return isinstance(source, QuerySource)


def is_shareable(section: Section) -> bool:
    """Return whether several hosts can share the entries of a section, apart from the host in each URL."""
    try:
        sitemap = instance(section)
    except Exception:  # noqa: BLE001 a user's factory can raise anything; the export reports it later
        return False
    depends_on_host = has_host_hook(sitemap) or (
        isinstance(sitemap, ModelSitemap) and sitemap.site_field is not None
    )
    return is_compiled(sitemap) and not depends_on_host


def page_limits(source: Source, limits: Limits) -> Limits:
    """Return the limits of one page of a source."""
    return Limits(min(source.entries_per_page, limits.urls), limits.bytes)


def page_map(source: Source, limits: Limits) -> PageMap:
    """Return the pages of a source, counted from the first row."""
    return pages.cut(source, rows_on_page(source, limits))


def live_pages(source: Source, rows: int) -> PageMap:
    """Return the live pages of a source, each with at most `rows` rows.

    Bounds and numbers depend only on the keys near the bounds. So a change to rows affects only the pages
    next to it. Without key ranges, pages are counted from the first row.
    """
    if not has_key_ranges(source):
        return pages.cut(source, rows)
    return PageMap(() if source.is_empty() else tuple(divide(source, Page(1, None, None), rows)))


def rows_on_page(source: Source, limits: Limits, base: str | None = None) -> int:
    """Return about how many rows fit on a page within both limits, with room for additional rows.

    The length of an entry is estimated from the first entries, with `base` or the longest base. The result
    is rounded down to tenths of the limit, so that a change to one row rarely affects it.
    """
    batch = source.sample()
    most = source.rows_per_page
    if (
        batch is not None
        and isinstance(source, CompiledSource)
        and source.declaration.has_languages_per_item
    ):
        # Most items have only a few of the site's languages, so count the entries of the first items.
        most = max(
            most, _in_tenths(source.limit * len(batch.keys) // max(1, sum(batch.counts())), source.limit)
        )
    # Pages of news are refilled in each export, so they need no room for additional rows.
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
    """Return a number of rows rounded down to tenths of `most`, but never to zero."""
    step = max(1, most // 10)
    return max(rows // step * step, min(rows, step), 1)


def _limit(name: str, sitemap: Any, limits: Limits) -> int:
    try:
        size = page_size(sitemap.limit)
    except ValueError as error:
        raise ImproperlyConfigured(
            f"Section {name!r}: `limit` of {type(sitemap).__qualname__} must be a whole number of at "
            f"least 1, not {short_repr(sitemap.limit)}."
        ) from error
    return min(size, _max_entries(sitemap, limits))


def entry_limit(name: str, sitemap: Any, limits: Limits) -> int:
    """Return the maximum number of entries on a page of a sitemap that `bind()` returned."""
    return _limit(name, sitemap, limits) if is_compiled(sitemap) else _max_entries(sitemap, limits)


def _max_entries(sitemap: Any, limits: Limits) -> int:
    """Return the maximum number of entries in a file. It is lower for news."""
    return min(limits.urls, protocol.MAX_NEWS) if "news" in extensions.hooks(sitemap) else limits.urls
