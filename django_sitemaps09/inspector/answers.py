"""Answers to the question whether a URL is in the sitemap."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from xml.sax.saxutils import unescape

Verdict = Literal[
    "listed", "changed", "new", "live", "leaving", "removed", "filtered", "skipped", "elsewhere", "absent",
    "invalid",
]  # fmt: skip

#: Heading of the answer for each verdict.
HEADINGS: dict[Verdict, str] = {
    "listed": "In the sitemap",
    "changed": "In the sitemap, but its entry has changed since the last export",
    "new": "Not exported yet",
    "live": "In the live sitemap",
    "leaving": "In the exported sitemap until the next export",
    "removed": "Only in a file that no index lists any more",
    "filtered": "Not in the sitemap: its row is filtered out",
    "skipped": "Not in the sitemap: its row is skipped",
    "elsewhere": "Not in the sitemap: it is on another host",
    "absent": "Not in the sitemap",
    "invalid": "Not a URL that a sitemap can contain",
}

_ENTITIES = {"&quot;": '"', "&apos;": "'", "&#9;": "\t", "&#10;": "\n", "&#13;": "\r"}
_ENTRY = re.compile(r"<url>.*?</url>", re.DOTALL)
_LINK = re.compile(r'<xhtml:link rel="alternate" hreflang="([^"]*)" href="([^"]*)"/>')


class Entry(NamedTuple):
    """Entry of a sitemap as text: an element `url` as the writer writes it, or the URL in a text file."""

    text: str

    @property
    def location(self) -> str:
        return self.value("loc") or self.text

    def value(self, name: str) -> str | None:
        """Return the content of an element without a namespace prefix, or `None`."""
        match = re.search(f"<{name}>([^<]*)</{name}>", self.text)
        return match and _plain(match[1])

    @property
    def links(self) -> list[tuple[str, str]]:
        """The alternates: pairs of a language and a URL."""
        return [(_plain(language), _plain(url)) for language, url in _LINK.findall(self.text)]


def _plain(text: str) -> str:
    return unescape(text, _ENTITIES)


def entries_of_item(text: str) -> list[Entry]:
    """Return the entries in the text of one item, one for each language."""
    matches = _ENTRY.findall(text) if text.startswith("<") else text.splitlines()
    return list(map(Entry, matches))


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer to the question whether `url` is in the sitemap.

    `file` is the name of the page, with its URL in `file_url`. `published` is the entry in the exported
    file, and `live` the entry as it is now. `reasons` say why the URL is missing, and `notes` how far the
    search went.
    """

    url: str
    verdict: Verdict
    section: str | None = None
    key: str | None = None
    file: str | None = None
    file_url: str | None = None
    published: Entry | None = None
    live: Entry | None = None
    reasons: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def heading(self) -> str:
        return HEADINGS[self.verdict]

    @property
    def is_listed(self) -> bool:
        return self.verdict in ("listed", "changed", "live", "leaving")
