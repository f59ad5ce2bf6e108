"""Find the URLs that an export changes, by comparing only the files that change."""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b

from django_sitemaps09 import protocol
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.publishing.file_checks import ExpectedFile, check_file
from django_sitemaps09.export.report import Published, UrlChange
from django_sitemaps09.protocol.pages import Key
from django_sitemaps09.protocol.urlset import entry_lines, location_of
from django_sitemaps09.signals import published
from django_sitemaps09.target import Store
from django_sitemaps09.target.local import name_errors
from django_sitemaps09.target.manifest import Manifest, PageFile, SectionRecord

logger = logging.getLogger(__name__)


# How often the old and the new files list an entry: in the range compared now, and in all that differ.
# SQLite takes the section from the row with the maximum: https://sqlite.org/lang_select.html#bareagg
_CREATE = """
CREATE TABLE range (url, digest, old, new, PRIMARY KEY (url, digest)) WITHOUT ROWID;
CREATE TABLE run (url, digest, old, new, section, PRIMARY KEY (url, digest)) WITHOUT ROWID;
CREATE VIEW change AS
SELECT CASE WHEN NOT sum(old) THEN 'added' WHEN NOT sum(new) THEN 'removed' ELSE 'changed' END AS kind,
section, url, max(new - old) FROM run GROUP BY url HAVING sum((old > 0) <> (new > 0))
"""
_COUNT = """INSERT INTO range VALUES (?, ?, ?, ?)
ON CONFLICT (url, digest) DO UPDATE SET old = old + excluded.old, new = new + excluded.new"""
_KEEP = """INSERT INTO run SELECT *, ? FROM range WHERE url IN (SELECT url FROM range WHERE old <> new)
ON CONFLICT (url, digest) DO UPDATE SET old = old + excluded.old, new = new + excluded.new,
section = CASE WHEN excluded.new THEN excluded.section ELSE section END"""
# Maximum number of entries in `run` for each URL that may be submitted. A row that moves has two.
_ENTRIES = 20


class Spool:
    """Changed URLs, each once, on disk until the report is built. An entry that only moves has not changed.

    Unless `is_complete`, comparing ends when far more entries than `limit` differ in their ranges, and the
    counts are incomplete then. `is_filled` is false if it failed.
    """

    def __init__(self, limit: int, *, is_complete: bool) -> None:
        self.limit = limit
        self.exceeds_limit = self.is_filled = False
        self.counts: dict[str, int] = {"added": 0, "removed": 0, "changed": 0}
        self._max_entries = math.inf if is_complete else limit * _ENTRIES
        # A receiver may read the changes in another thread.
        self._table = sqlite3.connect("", check_same_thread=False)

    def close(self) -> None:
        self._table.close()

    def fill(self, ranges: Iterable[tuple[str, Iterable[bytes], Iterable[bytes]]]) -> None:
        """Compare the old with the new lines of each range, before anything is published."""
        differing, table = 0, self._table
        table.executescript(_CREATE)
        for section, old, new in ranges:
            table.executemany(_COUNT, _entries(old, 1, 0))
            table.executemany(_COUNT, _entries(new, 0, 1))
            differing += table.execute(_KEEP, [section]).rowcount
            table.execute("DELETE FROM range")
            # Do not compare the next pages: this takes time even if they have not changed.
            if differing > self._max_entries:
                break
        self.counts.update(table.execute("SELECT kind, count(*) FROM change GROUP BY kind"))
        self.exceeds_limit = differing > self._max_entries or sum(self.counts.values()) > self.limit
        self.is_filled = True

    def changes(self) -> Iterator[UrlChange]:
        return (UrlChange(*change[:3]) for change in self._table.execute("SELECT * FROM change"))


def compared_ranges(
    store: Store, old: Manifest, new: Manifest, staged: Mapping[str, str]
) -> Iterator[tuple[str, Iterator[bytes], Iterator[bytes]]]:
    """Yield section, old and new lines of each range that differs. `staged` maps its new pages to paths."""
    for name, record in new.sections.items():
        # A page that is kept has the same rows, so both pages of a row that moves are rendered.
        kept_names = set(record.file_names).difference(staged)
        for old_pages, new_pages in _parts(old.sections.get(name, SectionRecord()), record):
            old_files = {page.name: page for page in old_pages if page.name not in kept_names}
            new_files = {staged[page.name]: page for page in new_pages if page.name in staged}
            if old_files or new_files:
                yield name, _lines(store, old_files), _lines(store, new_files)


def published_urls(store: Store, page: PageFile) -> list[str]:
    """Return the URLs on a published page. Raise `ExportError` if it is missing or damaged."""
    # A page that was adopted has no digest. The export that adopts it replaces it.
    if page.digest:
        expected = ExpectedFile(page.name, frozenset({page.digest}), bytes=page.bytes)
        if problem := check_file(store, expected).problem:
            raise ExportError(f"{store.label}: {page.name} is missing or damaged ({problem})")
    return [*map(location_of, _lines(store, {page.name: page}))]


def notify(event: Published, callback: Callable[[Published], object] | None) -> list[str]:
    """If anything has changed, call the callback and send the signal, and return the errors of both."""
    failures: list[tuple[object, object]] = []
    if not (event.written or event.removed):
        return []
    try:
        if callback is not None:
            callback(event)
    except Exception as error:
        logger.exception("The callback `on_published` failed.")
        failures.append((callback, error))
    failures += published.send_robust(sender=Published, published=event)
    return [
        f"{getattr(receiver, '__qualname__', receiver)} failed after publishing: {error!r}"
        for receiver, error in failures
        if isinstance(error, Exception)
    ]


def _parts(old: SectionRecord, new: SectionRecord) -> Iterator[tuple[Sequence[PageFile], ...]]:
    """Yield old and new pages that cover the same range; each common bound ends a range."""
    ends = {page.until for page in old.pages} & {page.until for page in new.pages}
    if old.has_key_ranges and old.key_identity == new.key_identity and None in ends:
        yield from zip(_split(old.pages, ends), _split(new.pages, ends), strict=True)
    else:
        yield old.pages, new.pages


def _split(pages: Sequence[PageFile], ends: Collection[Key | None]) -> Iterator[Sequence[PageFile]]:
    start = 0
    for stop, page in enumerate(pages, 1):
        if page.until in ends:
            yield pages[start:stop]
            start = stop


def _entries(lines: Iterable[bytes], old: int, new: int) -> Iterator[tuple[str, bytes, int, int]]:
    return ((location_of(line), blake2b(line, digest_size=16).digest(), old, new) for line in lines)


def _lines(store: Store, files: Mapping[str, PageFile]) -> Iterator[bytes]:
    """Yield each line with an entry from these exported files."""
    for name, page in files.items():
        stored_file = store.open(name)
        if stored_file is None:
            continue
        problem = "is damaged"
        # The export replaces a damaged file in any case.
        with stored_file, name_errors(f"{store.label}/{name}"), suppress(EOFError, zlib.error):
            if page.digest and stored_file.seek(0, os.SEEK_END) != page.size:
                problem = "was not written by an export"
            else:
                stored_file.seek(0)
                # Other users may be able to write to the store, so read no more bytes than were exported.
                yield from entry_lines(stored_file, page.bytes if page.digest else protocol.MAX_BYTES)
                continue
        logger.warning("%s: %s %s, so the count of changed URLs is not exact.", store.label, name, problem)
