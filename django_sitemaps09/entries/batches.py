"""The value objects that flow from the rows of a section to the bytes of its pages."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from django_sitemaps09.entries.extensions import Extension
from django_sitemaps09.entries.media import Image, News, Video


class Alternate(NamedTuple):
    """The same content in another language: `Alternate("de", "https://www.example.de/")`.

    `language` is a code as Django or hreflang has it, or `x-default`; `location` a path or an absolute URL,
    on any host.
    """

    language: str
    location: str


class IndexEntry(NamedTuple):
    """One file that an index names; `lastmod` is W3C text."""

    location: str
    lastmod: str | None


class ItemError(NamedTuple):
    """What was left out of a page: a whole item where `field` is `location`, else that element."""

    key: str
    field: str
    reason: str

    def __str__(self) -> str:
        # Keys and reasons hold what is in the rows: no line end of theirs may end a line of a log.
        text = f"item {self.key}: {self.field} {self.reason}"
        return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


# A value that cannot be written may be of any length, and is quoted there.
_LONGEST_REASON = 1_000


def reason_of(error: Exception) -> str:
    """What an exception says; its class alone, where it fails to say anything."""
    try:
        return f"{type(error).__name__}: {error}"[:_LONGEST_REASON]
    except Exception:  # noqa: BLE001 a user's __str__ can raise anything
        return type(error).__name__


class Plain(tuple[str, ...]):
    """Texts that are known to be none of them empty, and to have nothing that XML must escape.

    Whoever makes one has looked; nobody has to look again.
    """

    __slots__ = ()


class Composed(NamedTuple):
    """A column of texts in parts: what all share, and columns of what differs between those."""

    literals: Sequence[str]
    columns: Sequence[Sequence[str]]

    def texts(self) -> list[str]:
        template = "%s".join(literal.replace("%", "%%") for literal in self.literals)
        return list(map(template.__mod__, zip(*self.columns, strict=True)))

    def part(self, positions: Sequence[int]) -> Composed:
        """The texts at these positions."""
        return Composed(self.literals, [[column[i] for i in positions] for column in self.columns])

    def within(self, most: int) -> bool:
        """Whether no text has more characters; one that has half as many may be taken for too long."""
        room = (most - len("".join(self.literals))) // (2 * len(self.columns))
        # A line of twice as many characters would fill one of the steps, which costs less to find
        # than the length of each line.
        lines = map("\n".join, self.columns)
        return room > 0 and all(
            "\n" in column[start : start + room]
            for column in lines
            for start in range(0, len(column) - room, room)
        )


#: One text for all items of a batch, or one for each.
Column: TypeAlias = "str | Sequence[str | None] | None"


class Version(NamedTuple):
    """One location of each item: its only one, or that in a language; `None` where it has none there.

    A location is a URI, or a path that begins with a slash, those of a `Composed` in its first literal; the
    writer joins paths to the base.
    `language` is as hreflang has it, empty for one that is not linked. One that is not `listed` has
    links that lead to it, and no entry of its own.
    """

    language: str
    locations: Sequence[str | None] | Composed
    listed: bool = True

    @property
    def complete(self) -> bool:
        return isinstance(self.locations, Composed) or None not in self.locations

    def texts(self) -> Sequence[str | None]:
        """The locations one by one."""
        found = self.locations
        return found.texts() if isinstance(found, Composed) else found

    def part(self, positions: Sequence[int]) -> Version:
        """Those of the items at these positions."""
        found = self.locations
        if isinstance(found, Composed):
            return self._replace(locations=found.part(positions))
        return self._replace(locations=[found[i] for i in positions])


@dataclass(frozen=True, slots=True)
class Batch:
    """Some hundred or thousand items of one page, column by column, as text that is not yet escaped.

    An item has an entry for each of its listed locations, at least one; they are never parted. Its versions
    in different languages link to each other, and so do all of them to the `alternates`. Keys are opaque
    here; the source that made them can write them down. `foreign` is XML text already, in namespaces of the
    project, as the writer's `extension_text` has found it well-formed; `extensions` says which.
    """

    keys: Sequence[Hashable]
    versions: Sequence[Version]
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
    def listed(self) -> Sequence[Version]:
        """Those that are entries."""
        return [version for version in self.versions if version.listed]

    def counts(self) -> Sequence[int]:
        """How many entries each item has."""
        listed = self.listed
        if all(version.complete for version in listed):
            return [len(listed)] * len(self.keys)
        columns = [
            v.locations.texts() if isinstance(v.locations, Composed) else v.locations for v in listed
        ]
        return [len(found) - found.count(None) for found in zip(*columns, strict=True)]
