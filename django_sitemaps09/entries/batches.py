"""The value objects that flow from the rows of a section to the bytes of its pages."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from django_sitemaps09.entries.extensions import Extension
from django_sitemaps09.entries.media import Image, News, Video
from django_sitemaps09.entries.text import excerpt


class Alternate(NamedTuple):
    """Link to the same content in another language: `Alternate("de", "https://www.example.de/")`.

    `language` is a code of Django or hreflang, or `x-default`. `location` is a path, or an absolute URL on
    any host.
    """

    language: str
    location: str


class IndexEntry(NamedTuple):
    """One file that an index lists; `lastmod` is text in the W3C format."""

    location: str
    lastmod: str | None


class ItemError(NamedTuple):
    """An element that was skipped, and the reason; if `field` is `location`, the whole item is skipped."""

    key: str
    field: str
    reason: str

    def __str__(self) -> str:
        return f"item {excerpt(self.key)}, {self.field}: {excerpt(self.reason)}"


class SafeColumn(tuple[str, ...]):
    """A safe column: texts that are known to be non-empty and to need no escaping in XML.

    The code that creates one has checked it, so that it is never checked again.
    """

    __slots__ = ()


class TemplateColumn(NamedTuple):
    """A template column: literals that all texts share, and columns of the texts between the literals."""

    literals: Sequence[str]
    columns: Sequence[Sequence[str]]

    def texts(self) -> list[str]:
        template = "%s".join(literal.replace("%", "%%") for literal in self.literals)
        return list(map(template.__mod__, zip(*self.columns, strict=True)))

    def part(self, positions: Sequence[int]) -> TemplateColumn:
        """Return the template column reduced to the texts at these positions."""
        return TemplateColumn(self.literals, [[column[i] for i in positions] for column in self.columns])

    def fits(self, most: int) -> bool:
        """Return whether no text is longer than `most`. A text half as long may count as too long."""
        room = (most - len("".join(self.literals))) // (2 * len(self.columns))
        # A line of `2 * room` characters would fill at least one step. To look for a full step costs
        # less than to measure each line.
        lines = map("\n".join, self.columns)
        return room > 0 and all(
            "\n" in column[start : start + room]
            for column in lines
            for start in range(0, len(column) - room, room)
        )


#: One text for all items of a batch, or one for each.
Column: TypeAlias = "str | Sequence[str | None] | None"


class Localization(NamedTuple):
    """One location of each item: the only one, or the one in a language. `None` for items without it.

    A location is a URI, or a path that begins with a slash; in a `TemplateColumn`, its first literal does.
    The writer joins paths to the base. `language` is in the form of hreflang, and empty for a localization
    that is not linked. One that is not `is_listed` has no entry of its own, but links lead to it. Its
    locations can also begin with the colon after a scheme.
    """

    language: str
    locations: Sequence[str | None] | TemplateColumn
    is_listed: bool = True

    @property
    def is_complete(self) -> bool:
        return isinstance(self.locations, TemplateColumn) or None not in self.locations

    def texts(self) -> Sequence[str | None]:
        """Return the locations as one text for each item."""
        locations = self.locations
        return locations.texts() if isinstance(locations, TemplateColumn) else locations

    def part(self, positions: Sequence[int]) -> Localization:
        """Return the version reduced to the items at these positions."""
        locations = self.locations
        if isinstance(locations, TemplateColumn):
            return self._replace(locations=locations.part(positions))
        return self._replace(locations=[locations[i] for i in positions])


@dataclass(frozen=True, slots=True)
class Batch:
    """Hundreds or thousands of items of one page, in columns of text that is not yet escaped.

    An item has an entry for each of its listed locations, and at least one; its entries stay together. Its
    versions in different languages link to each other and to the `alternates`. Keys are opaque here; the
    source that made them can serialize them. `foreign` is XML text that the writer's `extension_text` has
    returned, in the namespaces of the project's `extensions`.
    """

    keys: Sequence[Hashable]
    versions: Sequence[Localization]
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
    def listed_versions(self) -> Sequence[Localization]:
        """The versions that have entries of their own."""
        return [version for version in self.versions if version.is_listed]

    def counts(self) -> Sequence[int]:
        """Return how many entries each item has."""
        listed_versions = self.listed_versions
        if all(version.is_complete for version in listed_versions):
            return [len(listed_versions)] * len(self.keys)
        columns = [
            version.locations.texts()
            if isinstance(version.locations, TemplateColumn)
            else version.locations
            for version in listed_versions
        ]
        return [len(row) - row.count(None) for row in zip(*columns, strict=True)]
