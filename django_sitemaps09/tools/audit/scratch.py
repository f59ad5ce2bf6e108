"""What an audit must remember about millions of URLs, in constant memory, and a sample of them."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import starmap
from typing import NamedTuple

from django_sitemaps09.protocol.urls import Base, normalized
from django_sitemaps09.tools.audit.read_entries import ReadEntry

# SQLite's page cache has 32 MiB. The rest is in a temporary file.
_SCHEMA = """
    PRAGMA cache_size = -32768;
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA locking_mode = EXCLUSIVE;
    CREATE TABLE urls (digest INTEGER PRIMARY KEY, batch INTEGER NOT NULL, has_slash INTEGER NOT NULL);
    CREATE TABLE sources (digest INTEGER UNIQUE NOT NULL, url TEXT NOT NULL, place TEXT NOT NULL);
    CREATE TABLE links (
        source INTEGER NOT NULL, target INTEGER NOT NULL, url TEXT NOT NULL, needs_return INTEGER NOT NULL,
        PRIMARY KEY (source, target)
    ) WITHOUT ROWID;
    CREATE TABLE groups (digest INTEGER PRIMARY KEY);
    CREATE TABLE pages (
        digest INTEGER PRIMARY KEY, position INTEGER NOT NULL,
        url TEXT NOT NULL, lastmod TEXT, place TEXT NOT NULL, language TEXT
    );
"""
_MANY = 10_000  # The number of candidates for the sample after which those that are not in it are removed.


class SampledPage(NamedTuple):
    """A page to fetch. `place` is the document and line that list it, and `language` its `hreflang`s."""

    url: str
    lastmod: str | None
    place: str
    language: str | None = None


class Scratch:
    """The temporary database. It chooses `sample_size` pages, only those on `base` if set. Close it."""

    def __init__(self, sample_size: int = 0, base: Base | None = None) -> None:
        # An empty name is a private file that SQLite creates when its cache is full.
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.executescript(_SCHEMA)
        self._connection.execute("BEGIN")
        self._documents: list[str] = []  # The document of each batch of URLs.
        self._sample_size, self._start = sample_size, "http" if base is None else normalized(f"{base}/")
        # The number of candidates for the sample, now and when others were removed, and the highest digest.
        self._count, self._kept, self._highest = 0, 0, sys.maxsize

    def close(self) -> None:
        self._connection.close()

    def add_urls(self, urls: Iterable[str], document: str) -> tuple[dict[str, str], set[str]]:
        """Remember the URLs of a batch. Return the known ones, with the document that has them first.

        Return also those that are known with a slash at the end instead of without it, or vice versa.
        A URL is remembered as a digest of 64 bits. With ten million URLs, the probability that two of them
        have the same digest is one in 370,000.
        """
        digests, others = dict[int, tuple[str, bool]](), set[str]()
        for url in urls:
            path, mark, query = url.partition("?")
            value = url, path.endswith("/")
            if digests.setdefault(_digest(f"{path.removesuffix('/')}{mark}{query}"), value) != value:
                others.add(url)
        batch, before = len(self._documents), self._connection.total_changes
        self._documents.append(document)
        # In the order of the index, rows are inserted faster.
        rows = [(digest, batch, digests[digest][1]) for digest in sorted(digests)]
        self._connection.executemany("INSERT OR IGNORE INTO urls VALUES (?, ?, ?)", rows)
        known, query = dict[str, str](), "SELECT batch, has_slash FROM urls WHERE digest = ?"
        if self._connection.total_changes - before == len(rows):
            return known, others
        for digest, (url, has_slash) in digests.items():
            [[first, first_has_slash]] = self._connection.execute(query, [digest])
            if first_has_slash != has_slash:
                others.add(url)
            elif first != batch:
                known[url] = self._documents[first]
        return known, others

    def add_group(self, urls: Collection[str]) -> None:
        """Remember that all URLs in a group of alternates link to each other."""
        self._connection.execute("INSERT OR IGNORE INTO groups VALUES (?)", [_group_digest(urls)])

    def has_group(self, urls: Collection[str]) -> bool:
        query = "SELECT 1 FROM groups WHERE digest = ?"
        return any(self._connection.execute(query, [_group_digest(urls)]))

    def add_links(self, source: str, targets: Sequence[str], returns: Collection[str], place: str) -> None:
        """Remember the alternates of a URL, of which those in `returns` must link back."""
        digest = _digest(source)
        rows = [(digest, _digest(target), target, target in returns) for target in targets]
        self._connection.execute("INSERT OR IGNORE INTO sources VALUES (?, ?, ?)", [digest, source, place])
        self._connection.executemany("INSERT OR IGNORE INTO links VALUES (?, ?, ?, ?)", rows)

    def one_way_links(self) -> Iterator[tuple[str, str, str]]:
        """Return source, target and place of each link whose target does not link back, by source."""
        # Such a join needs no sort of all links, and its order does not depend on the digests.
        return self._connection.execute(
            "SELECT sources.url, links.url, place FROM sources CROSS JOIN links ON source = sources.digest"
            " WHERE needs_return AND source != target AND NOT EXISTS"
            " (SELECT 1 FROM links AS back WHERE back.source = links.target AND back.target = links.source)"
            " ORDER BY sources.rowid, links.url"
        )

    def add_pages(self, place: str, entries: Sequence[ReadEntry]) -> None:
        """Add entries to the sample: those with the lowest digests, so that each audit has the same."""
        rows = []
        for entry in entries if self._sample_size else ():
            is_candidate = normalized(entry.url).startswith(self._start)
            if is_candidate and (digest := _stable_digest(entry.url)) <= self._highest:
                self._count += 1
                source = f"{place}:{entry.line}"
                rows.append((digest, self._count, entry.url, entry.lastmod, source, entry.language))
        self._connection.executemany("INSERT OR IGNORE INTO pages VALUES (?, ?, ?, ?, ?, ?)", rows)
        if self._count - self._kept > _MANY:
            self._remove_pages()

    def _remove_pages(self) -> None:
        """Remove the pages that are not in the sample."""
        query = "SELECT digest FROM pages ORDER BY digest LIMIT 1 OFFSET ?"
        if row := self._connection.execute(query, [self._sample_size - 1]).fetchone():
            [self._highest] = row
            self._connection.execute("DELETE FROM pages WHERE digest > ?", row)
        self._kept = self._count

    def pages(self) -> Iterator[SampledPage]:
        """Yield the sample in the order of its documents."""
        self._remove_pages()
        query = "SELECT url, lastmod, place, language FROM pages ORDER BY position"
        return starmap(SampledPage, self._connection.execute(query))


def _stable_digest(text: str) -> int:
    content = text.encode(errors="surrogatepass")
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "big", signed=True)


# Python's `hash()` is faster, but has fewer than 64 bits on some machines.
_digest = hash if sys.hash_info.width == 64 else _stable_digest


def _group_digest(urls: Collection[str]) -> int:
    return _digest(" ".join(sorted(urls)))
