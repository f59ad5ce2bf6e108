"""Sources: what all of them have in common, and how many of their rows fit on a page."""

from __future__ import annotations

from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

from django_sitemaps09.declare.models import NewsSitemap
from django_sitemaps09.declare.sitemap_attributes import Declared
from django_sitemaps09.protocol import pages
from django_sitemaps09.protocol.documents import elements
from django_sitemaps09.protocol.entries import Batch
from django_sitemaps09.protocol.limits import MAX_BYTES, MAX_NEWS, MAX_URLS, Limits
from django_sitemaps09.protocol.urlset import FORMATS
from django_sitemaps09.rows.conversion import Conversion

# Safety margin for the bytes of a page, since later entries can be longer than the first.
_MARGIN = 1.05


class Source(pages.Keyed, Protocol):
    """Rows of a section, and the conversion of a range of rows to text. By default, pages are positions."""

    #: Number of parts in a position.
    position_parts: ClassVar[int] = 1

    @property
    def declared(self) -> Declared:
        """The declarations of the sitemap."""

    @property
    def entries_per_item(self) -> int:
        """Maximum number of entries of a row."""
        return 1

    @property
    def rows_per_page(self) -> int:
        """Number of rows on a page if only the number of entries is limited."""
        return max(1, self.declared.limit // self.entries_per_item)

    @property
    def entries_per_page(self) -> int:
        """Maximum number of entries on a page: the `limit`, or more if a single item has more entries."""
        return max(self.declared.limit, self.entries_per_item)

    @property
    def is_transient(self) -> bool:
        """Whether entries expire, as news does."""
        return isinstance(self.declared.sitemap, NewsSitemap)

    @property
    def key_identity(self) -> tuple[str, ...] | None:
        """Database vendor; table, name, type and collation of each key column. `None` for positions."""
        # Bounds of a page are only valid for the same identity.
        return None

    def in_order(self, bounds: Sequence[pages.Key]) -> bool:
        """Return whether bounds are ascending in the current order of the source."""
        return all(len(bound) == self.position_parts for bound in bounds)

    @property
    def declaration_digest(self) -> str:
        """Digest of everything except rows that determines the bytes of pages. No rows are read."""

    @property
    def can_fingerprint(self) -> bool:
        """Whether fingerprints can show that the rows of a page did not change."""
        return False

    @property
    def hashes_cheaply(self) -> bool:
        """Whether fingerprints add less than a tenth to a full run, which then stores them, too."""
        return False

    def sample(self) -> Batch | None:
        """Return up to a few hundred of the first entries; `None` for an opaque sitemap."""
        return None

    def batches(self, page: pages.Page) -> Generator[Batch]:
        """Yield the entries of a page in batches of hundreds or thousands."""

    def key_text(self, key: Hashable) -> pages.Key:
        """Return a key from a batch as text. By default, a key is a position."""
        return tuple(map(str, key if isinstance(key, tuple) else (key,)))

    def newest(self, page: pages.Page) -> str | None:
        """Return the newest lastmod of a page, or `None` if it is unknown or a row has no lastmod."""
        return None


@dataclass(frozen=True)
class CompiledSource(Source):
    """Source whose conversion turns rows into entries."""

    conversion: Conversion

    @cached_property
    def declared(self) -> Declared:
        return self.conversion.declared

    @property
    def entries_per_item(self) -> int:
        return self.conversion.entries_per_item


def page_limits(source: Source, limits: Limits) -> Limits:
    return Limits(min(source.entries_per_page, limits.urls), limits.bytes)


def protocol_limits(source: Source) -> Limits:
    """Return the limits of the protocol for a page, whatever `limit` and `MAX_BYTES` say."""
    urls = MAX_NEWS if "news" in source.declared.content else MAX_URLS
    return Limits(urls, MAX_BYTES)


def rows_on_page(source: Source, limits: Limits, base: str | None = None) -> int:
    """Return about how many rows fit on a page within both limits, with room for additional rows.

    The length of an entry is estimated from the first entries, with `base` or that of the source. The
    result is rounded down to tenths of the limit, so that a change to one row rarely affects it.
    """
    batch, declared, most = source.sample(), source.declared, source.rows_per_page
    if batch and declared.item_languages:
        # Most items have only a few of the site's languages, so count the entries of the first items.
        rows = declared.limit * len(batch.keys) // max(1, sum(batch.counts()))
        most = max(most, _in_tenths(rows, declared.limit))
    # Pages of news are refilled in each export, so they need no room for additional rows.
    rows = most if source.is_transient else pages.fill(most)
    if batch and batch.keys:
        texts = elements(FORMATS[declared.format], batch, base or str(declared.base))
        size = sum(len(text.encode()) for text in texts)
        fit = int(limits.bytes * len(batch.keys) / (size * _MARGIN))
        rows = _in_tenths(fit, most) if fit < rows else rows
    return rows


def _in_tenths(rows: int, most: int) -> int:
    """Return a number of rows rounded down to tenths of `most`, but never to zero."""
    step = max(1, most // 10)
    return max(rows // step * step, min(rows, step), 1)
