"""The value objects that flow from the rows of a section to the bytes of its pages."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Alternate(NamedTuple):
    """The same content in another language, at an absolute URL."""

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


#: One text for all entries of a batch, or one for each.
Column: TypeAlias = "str | Sequence[str | None] | None"


@dataclass(frozen=True, slots=True)
class Batch:
    """Some hundred or thousand entries of one page, column by column, as text that is not yet escaped.

    `keys` tells which entries belong to one item (those of its languages): they stand next to each
    other and have the same key. Keys are opaque here; the source that made them can write them down.
    """

    keys: Sequence[Hashable]
    locations: Sequence[str] | Composed
    lastmods: Column = None
    changefreqs: Column = None
    priorities: Column = None
    alternates: Sequence[Sequence[Alternate]] | None = None
    errors: Sequence[ItemError] = ()
