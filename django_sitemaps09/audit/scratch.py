"""A temporary database of what an audit must remember about millions of URLs, in constant memory."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

# Size of SQLite's page cache; a negative number is in KiB. The rest is in a temporary file.
_CACHE = -32_768
_SCHEMA = """
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA locking_mode = EXCLUSIVE;
    CREATE TABLE urls (digest INTEGER PRIMARY KEY, document INTEGER NOT NULL);
    CREATE TABLE links (
        source TEXT NOT NULL, target TEXT NOT NULL, needs_return INTEGER NOT NULL, place TEXT NOT NULL,
        PRIMARY KEY (source, target)
    ) WITHOUT ROWID;
    CREATE TABLE groups (digest INTEGER PRIMARY KEY);
    CREATE TABLE pages (url TEXT NOT NULL, lastmod TEXT, place TEXT NOT NULL);
"""


class Page(NamedTuple):
    """A page to fetch: its URL, its lastmod, and the document with the line that lists it."""

    url: str
    lastmod: str | None
    place: str


class Scratch:
    """The temporary database. Close it to remove its file."""

    def __init__(self) -> None:
        # An empty name is a private file that SQLite creates when its cache is full.
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.execute(f"PRAGMA cache_size = {_CACHE}")
        self._connection.executescript(_SCHEMA)
        self._connection.execute("BEGIN")

    def close(self) -> None:
        self._connection.close()

    def add_urls(self, urls: Sequence[str], document: int) -> dict[str, int]:
        """Remember the distinct URLs of a document. Return the earlier document of each repeated URL.

        A URL is remembered as a digest of 64 bits. With ten million URLs, the probability that two of them
        have the same digest is one in 370,000.
        """
        digests = {_digest(url): url for url in urls}
        before = self._connection.total_changes
        # In the order of the index, rows are inserted faster.
        rows = [(digest, document) for digest in sorted(digests)]
        self._connection.executemany("INSERT OR IGNORE INTO urls VALUES (?, ?)", rows)
        if self._connection.total_changes - before == len(rows):
            return {}
        repeated = {}
        for digest, url in digests.items():
            [[first]] = self._connection.execute("SELECT document FROM urls WHERE digest = ?", [digest])
            if first != document:
                repeated[url] = first
        return repeated

    def add_group(self, urls: Collection[str]) -> None:
        """Remember that all URLs in a group of alternates link to each other."""
        self._connection.execute(
            "INSERT OR IGNORE INTO groups VALUES (?)", [_digest(" ".join(sorted(urls)))]
        )

    def has_group(self, urls: Collection[str]) -> bool:
        """Return whether a group of alternates was passed to `add_group()`."""
        digest = _digest(" ".join(sorted(urls)))
        return (
            self._connection.execute("SELECT 1 FROM groups WHERE digest = ?", [digest]).fetchone()
            is not None
        )

    def add_links(
        self, source: str, targets: Sequence[str], returning: Collection[str], place: str
    ) -> None:
        """Remember the alternates of a URL, of which those in `returning` must link back."""
        rows = [(source, target, target in returning, place) for target in targets]
        self._connection.executemany("INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)", rows)

    def one_way_links(self) -> Iterator[tuple[str, str, str]]:
        """Yield source, target and place of each link whose target does not link back."""
        yield from self._connection.execute(
            "SELECT source, target, place FROM links WHERE needs_return AND source != target AND NOT EXISTS"
            " (SELECT 1 FROM links AS back WHERE back.source = links.target AND back.target = links.source)"
        )

    def add_pages(self, pages: Sequence[Page]) -> None:
        self._connection.executemany("INSERT INTO pages VALUES (?, ?, ?)", pages)

    def pages(self) -> Iterator[Page]:
        """Yield the pages in the order in which they were added."""
        for row in self._connection.execute("SELECT url, lastmod, place FROM pages ORDER BY rowid"):
            yield Page(*row)


def _digest(text: str) -> int:
    content = text.encode(errors="surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big", signed=True)
