"""What a document contains: entries, in batches of columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from django_sitemaps09.protocol.fields import excerpt
from django_sitemaps09.protocol.media import Extension, Image, News, Video

#: The namespace of sitemaps. Namespaces are compared as strings, so `https:` would be another namespace.
SITEMAP_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


class Alternate(NamedTuple):
    """A link to the same content in another language: `Alternate("de", "https://www.example.de/")`.

    `language` is a Django language code, an hreflang value, or `x-default`. `location` is a path, or an
    absolute URL on any host.
    """

    language: str
    location: str


class IndexEntry(NamedTuple):
    """A file in a sitemap index. `lastmod` is a string in the W3C format."""

    location: str
    lastmod: str | None


class ItemError(NamedTuple):
    """A skipped item or element, with the reason."""

    key: str
    field: str
    reason: str

    @property
    def skips_item(self) -> bool:
        """Return whether the whole item is skipped, or its entry in one language."""
        return self.field in ("location", "item_language", "languages", "row")

    def __str__(self) -> str:
        # The key "any" stands for all items, if a declaration reports a value that they share.
        is_shared = self.key == "any"
        subject = f"{self.field} of all items" if is_shared else f"item {excerpt(self.key)}, {self.field}"
        return f"{subject}: {excerpt(self.reason)}"


class SafeColumn(tuple[str, ...]):
    """Strings that are not empty and need no escaping in XML, which is not checked again."""

    __slots__ = ()


class TemplateColumn(NamedTuple):
    """A template column: literals that all items share, and columns with the values between literals."""

    literals: Sequence[str]
    columns: Sequence[Sequence[str]]

    def texts(self) -> list[str]:
        template = "%s".join(literal.replace("%", "%%") for literal in self.literals)
        return list(map(template.__mod__, zip(*self.columns, strict=True)))

    def part(self, positions: Sequence[int]) -> TemplateColumn:
        return TemplateColumn(self.literals, [[column[i] for i in positions] for column in self.columns])

    def fits(self, most: int) -> bool:
        """Return `True` only if the longest values of all columns together fit in `most` characters."""
        longest = [max(map(len, column), default=0) for column in self.columns]
        return len("".join(self.literals)) + sum(longest) <= most


#: One string for all items of a batch, or a sequence with one string for each item.
Column: TypeAlias = "str | Sequence[str | None] | None"


class Localization(NamedTuple):
    """The location of each item, in one language if `language` is set; `None` if there is no location.

    A location is a URI, or a path with a slash at its beginning, or at that of the first literal, before
    which the base is written. `language` is an hreflang value, or empty if there are no links to the
    localization. If `is_listed` is false, locations are only link targets, not entries.
    """

    language: str
    locations: Sequence[str | None] | TemplateColumn
    is_listed: bool = True

    @property
    def is_complete(self) -> bool:
        return isinstance(self.locations, TemplateColumn) or None not in self.locations

    def texts(self) -> Sequence[str | None]:
        locations = self.locations
        return locations.texts() if isinstance(locations, TemplateColumn) else locations

    def part(self, positions: Sequence[int]) -> Localization:
        locations = self.locations
        if isinstance(locations, TemplateColumn):
            return self._replace(locations=locations.part(positions))
        return self._replace(locations=[locations[i] for i in positions])


@dataclass(frozen=True, slots=True)
class Batch:
    """Hundreds or thousands of items of one page, as columns of unescaped strings.

    An item has one entry for each of its listed locations, and at least one. The localizations of an item
    link to each other and to the item's `alternates`. Keys can be any objects that the source can
    serialize. `foreign` contains results of `extension_text()` for the `extensions` of the project.
    """

    keys: Sequence[Hashable]
    localizations: Sequence[Localization]
    lastmods: Column = None
    changefreqs: Column = None
    priorities: Column = None
    alternates: Sequence[Sequence[Alternate]] | None = None
    images: Sequence[Sequence[Image]] | None = None
    videos: Sequence[Sequence[Video]] | None = None
    news: Sequence[News | None] | None = None
    foreign: Sequence[str] | None = None
    extensions: Sequence[Extension] = ()
    errors: Sequence[ItemError] = ()

    @property
    def listed_localizations(self) -> Sequence[Localization]:
        return [localization for localization in self.localizations if localization.is_listed]

    def counts(self) -> Sequence[int]:
        """Return the number of entries of each item."""
        localizations = self.listed_localizations
        if all(localization.is_complete for localization in localizations):
            return [len(localizations)] * len(self.keys)
        columns = [localization.texts() for localization in localizations]
        return [len(row) - row.count(None) for row in zip(*columns, strict=True)]
