"""What an audit must remember about millions of URLs, in constant memory, and a sample of them."""

from __future__ import annotations

import random
import sqlite3
import sys
from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from django_sitemaps09.audit.documents import ReadEntry
from django_sitemaps09.protocol import Base

# Size of SQLite's page cache; a negative number is in KiB. The rest is in a temporary file.
_CACHE = -32_768
_SCHEMA = """
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA locking_mode = EXCLUSIVE;
    CREATE TABLE urls (digest INTEGER PRIMARY KEY, batch INTEGER NOT NULL);
    CREATE TABLE sources (digest INTEGER PRIMARY KEY, url TEXT NOT NULL, place TEXT NOT NULL);
    CREATE TABLE links (
        source INTEGER NOT NULL, target INTEGER NOT NULL, url TEXT NOT NULL, needs_return INTEGER NOT NULL,
        PRIMARY KEY (source, target)
    ) WITHOUT ROWID;
    CREATE TABLE groups (digest INTEGER PRIMARY KEY);
    CREATE TABLE pages (position INTEGER PRIMARY KEY, url TEXT NOT NULL, lastmod TEXT, place TEXT NOT NULL);
"""


class SampledPage(NamedTuple):
    """A page to fetch: its URL, its lastmod, and the document with the line that lists it."""

    url: str
    lastmod: str | None
    place: str


class Scratch:
    """The temporary database. Close it to remove its file.

    `sample_size` is the number of pages to choose. If `base` is set, only URLs on it are chosen.
    """

    def __init__(self, sample_size: int = 0, base: Base | None = None) -> None:
        # An empty name is a private file that SQLite creates when its cache is full.
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.execute(f"PRAGMA cache_size = {_CACHE}")
        self._connection.executescript(_SCHEMA)
        self._connection.execute("BEGIN")
        # The document of each batch of URLs.
        self._documents: list[str] = []
        self._sample_size, self._count = sample_size, 0
        self._start = "http" if base is None else f"{base}/"
        self._random = random.Random(0)  # noqa: S311 a sample needs no secret

    def close(self) -> None:
        self._connection.close()

    def add_urls(self, urls: Collection[str], document: str) -> dict[str, str]:
        """Remember the URLs of a batch. Return the known ones, with the document that has them first.

        A URL is remembered as a digest of 64 bits. With ten million URLs, the probability that two of them
        have the same digest is one in 370,000.
        """
        digests = {_digest(url): url for url in urls}
        batch, before = len(self._documents), self._connection.total_changes
        self._documents.append(document)
        # In the order of the index, rows are inserted faster.
        rows = [(digest, batch) for digest in sorted(digests)]
        self._connection.executemany("INSERT OR IGNORE INTO urls VALUES (?, ?)", rows)
        if self._connection.total_changes - before == len(rows):
            return {}
        known = {}
        for digest, url in digests.items():
            [[first]] = self._connection.execute("SELECT batch FROM urls WHERE digest = ?", [digest])
            if first != batch:
                known[url] = self._documents[first]
        return known

    def add_group(self, urls: Collection[str]) -> None:
        """Remember that all URLs in a group of alternates link to each other."""
        digest = _digest(" ".join(sorted(urls)))
        self._connection.execute("INSERT OR IGNORE INTO groups VALUES (?)", [digest])

    def has_group(self, urls: Collection[str]) -> bool:
        """Return whether a group of alternates was passed to `add_group()`."""
        digest = _digest(" ".join(sorted(urls)))
        return any(self._connection.execute("SELECT 1 FROM groups WHERE digest = ?", [digest]))

    def add_links(self, source: str, targets: Sequence[str], returns: Collection[str], place: str) -> None:
        """Remember the alternates of a URL, of which those in `returns` must link back."""
        # The URL of the source, and its place, are not repeated in each row.
        digest = _digest(source)
        rows = [(digest, _digest(target), target, target in returns) for target in targets]
        self._connection.execute("INSERT OR IGNORE INTO sources VALUES (?, ?, ?)", [digest, source, place])
        self._connection.executemany("INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)", rows)

    def one_way_links(self) -> Iterator[tuple[str, str, str]]:
        """Yield source, target and place of each link whose target does not link back."""
        yield from self._connection.execute(
            "SELECT sources.url, links.url, place FROM links JOIN sources ON sources.digest = links.source"
            " WHERE needs_return AND source != target AND NOT EXISTS"
            " (SELECT 1 FROM links AS back WHERE back.source = links.target AND back.target = links.source)"
        )

    def add_pages(self, place: str, entries: Sequence[ReadEntry]) -> None:
        """Add entries to the sample. The same URLs in the same order give the same sample."""
        if self._sample_size == 0:
            return
        rows = []
        for entry in entries:
            if entry.url.startswith(self._start):
                position = self._count
                self._count += 1
                if position >= self._sample_size:
                    # Reservoir sampling: https://en.wikipedia.org/wiki/Reservoir_sampling
                    position = self._random.randrange(self._count)
                if position < self._sample_size:
                    rows.append((position, entry.url, entry.lastmod, f"{place}:{entry.line}"))
        self._connection.executemany("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?)", rows)

    def pages(self) -> Iterator[SampledPage]:
        for row in self._connection.execute("SELECT url, lastmod, place FROM pages ORDER BY position"):
            yield SampledPage(*row)


def _digest(text: str) -> int:
    """Return a number of 64 bits. Python's `hash()` has fewer on some machines."""
    if sys.hash_info.width == 64:
        return hash(text)
    content = text.encode(errors="surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big", signed=True)
