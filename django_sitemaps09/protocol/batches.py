"""Batches of entries in columns, and the values that the columns contain."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from django_sitemaps09.protocol.fields import excerpt
from django_sitemaps09.protocol.media import Extension, Image, News, Video


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
        subject = (
            f"{self.field} of all items" if self.key == "any" else f"item {excerpt(self.key)}, {self.field}"
        )
        return f"{subject}: {excerpt(self.reason)}"


class SafeColumn(tuple[str, ...]):
    """A safe column: strings that are not empty and need no escaping in XML.

    The code that creates a safe column must check the strings. The writer does not check them again.
    """

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

    A location is a URI or a path. A path begins with a slash, and the writer joins it to the base. In a
    `TemplateColumn` of paths, the first literal begins with the slash. `language` is an hreflang value, or
    empty if there are no links to the localization. If `is_listed` is false, locations are only link
    targets, not entries.
    """

    language: str
    locations: Sequence[str | None] | TemplateColumn
    is_listed: bool = True

    @property
    def is_complete(self) -> bool:
        return isinstance(self.locations, TemplateColumn) or None not in self.locations

    def texts(self) -> Sequence[str | None]:
        """Return the location of each item."""
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

    An item has one entry for each of its listed locations, and at least one. The localizations of an
    item link to each other and to the item's `alternates`. Keys can be any objects that the source can
    serialize. `foreign` contains results of `extension_text()`. Their namespaces are those of the
    project's `extensions`.
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
        listed_localizations = self.listed_localizations
        if all(localization.is_complete for localization in listed_localizations):
            return [len(listed_localizations)] * len(self.keys)
        columns = [localization.texts() for localization in listed_localizations]
        return [len(row) - row.count(None) for row in zip(*columns, strict=True)]
