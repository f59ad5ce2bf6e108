"""A feed of recent changes in the Atom format (RFC 4287), which the Sitemaps protocol names beside XML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import unescape
from typing import NamedTuple
from xml.sax.saxutils import escape

# Each entry is one line, so that `read_feed()` finds what `feed_document()` wrote.
_ENTRY = (
    '<entry><id>{url}</id><link rel="alternate" href="{url}"/><title>{title}</title>'
    "<updated>{updated}</updated></entry>\n"
)
_ENTRIES = re.compile(r"^<entry><id>([^<]+)</id>.*<updated>([^<]+)</updated></entry>$", re.MULTILINE)
_UPDATED = re.compile(r"^<updated>([^<]+)</updated>$", re.MULTILINE)


class FeedEntry(NamedTuple):
    """A URL that was added or changed. `updated` is a time in UTC, such as `2026-11-28T08:15:00Z`."""

    url: str
    updated: str


class Feed(NamedTuple):
    """The entries, those of the newest run first. `updated` is the time of an empty feed."""

    updated: str
    entries: tuple[FeedEntry, ...] = ()


def feed_document(url: str, host: str, feed: Feed, hubs: Sequence[str] = ()) -> bytes:
    """Return the feed with the URL `url`. Its title and its author are the `host` (RFC 4287, 4.1.1)."""
    links = [("self", url), *(("hub", hub) for hub in hubs)]
    updated = max((entry.updated for entry in feed.entries), default=feed.updated)
    return "".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n',
            f"<id>{_escaped(url)}</id>\n<title>{host}</title>\n<author><name>{host}</name></author>\n",
            *(f'<link rel="{name}" href="{_escaped(target)}"/>\n' for name, target in links),
            f"<updated>{updated}</updated>\n",
            *(
                _ENTRY.format(url=_escaped(entry.url), title=_title(entry.url), updated=entry.updated)
                for entry in feed.entries
            ),
            "</feed>\n",
        ]
    ).encode()


def read_feed(content: bytes) -> Feed:
    """Return what `feed_document()` wrote. Raise `ValueError` for anything else."""
    text = content.decode()
    updated = _UPDATED.search(text)
    if updated is None:
        raise ValueError("it is not a feed of this package")
    return Feed(updated[1], tuple(FeedEntry(unescape(url), time) for url, time in _ENTRIES.findall(text)))


def _escaped(text: str) -> str:
    return escape(text, {'"': "&quot;"})


def _title(url: str) -> str:
    """Return the path and the query of a URL."""
    return _escaped(f"/{url.partition('://')[2].partition('/')[2]}")
