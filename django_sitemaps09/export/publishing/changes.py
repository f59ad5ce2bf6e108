"""Find the URLs that an export changes, by comparing only the files that change."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from tempfile import TemporaryFile
from typing import IO

from django_sitemaps09 import protocol
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.publishing.file_checks import ExpectedFile, check_file
from django_sitemaps09.export.report import ChangeKind, Published, UrlChange
from django_sitemaps09.pages import Key
from django_sitemaps09.signals import published
from django_sitemaps09.state.manifest import Manifest, PageFile, SectionRecord
from django_sitemaps09.stores import Store
from django_sitemaps09.stores.plain import name_errors
from django_sitemaps09.writer.urlset import entry_lines, location_of

logger = logging.getLogger(__name__)


class Spool:
    """Changed URLs, counted and kept on disk until the report is built.

    Unless `is_complete`, comparing ends as soon as there are more changes than `limit`, so the counts are
    incomplete then. `is_filled` is false if it failed.
    """

    def __init__(self, limit: int, *, is_complete: bool) -> None:
        self.limit = limit
        self.is_complete = is_complete
        self.is_filled = False
        self.counts: dict[str, int] = {"added": 0, "removed": 0, "changed": 0}
        self._file: IO[str] = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115

    def close(self) -> None:
        # If the disk is full, what is still buffered cannot be written. `changes()` has failed for it.
        with suppress(OSError):
            self._file.close()

    def fill(self, changes: Iterable[UrlChange]) -> None:
        """Write changes, before anything is published."""
        for change in changes:
            self.counts[change.kind] += 1
            self._file.write(f"{json.dumps(change)}\n")
            # Above the limit, do not compare the next pages: this takes time even if they have not changed.
            if self.exceeds_limit and not self.is_complete:
                break
        self.is_filled = True

    @property
    def exceeds_limit(self) -> bool:
        return sum(self.counts.values()) > self.limit

    def changes(self) -> Iterator[UrlChange]:
        self._file.seek(0)
        for line in self._file:
            yield UrlChange(*json.loads(line))


def find_changes(
    store: Store, old: Manifest, new: Manifest, staged: Mapping[str, str]
) -> Iterator[UrlChange]:
    """Yield the URLs that differ. `staged` maps the new and changed pages to their staged paths."""
    for name, record in new.sections.items():
        kept_names = set(record.file_names).difference(staged)
        for old_pages, new_pages in _parts(old.sections.get(name, SectionRecord()), record):
            old_files = {page.name: page for page in old_pages if page.name not in kept_names}
            new_files = {staged[page.name]: page for page in new_pages if page.name in staged}
            if old_files or new_files:
                for kind, url in _difference(_lines(store, old_files), _lines(store, new_files)):
                    yield UrlChange(kind, name, url)


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


def _difference(old: Iterable[bytes], new: Iterable[bytes]) -> Iterator[tuple[ChangeKind, str]]:
    """Yield the differences between two urlsets, using a table on disk since they can be large."""
    with closing(sqlite3.connect("")) as table:
        table.execute("CREATE TABLE entry (url TEXT PRIMARY KEY, old BLOB, new BLOB) WITHOUT ROWID")
        table.executemany("INSERT OR REPLACE INTO entry (url, old) VALUES (?, ?)", _digests(old))
        table.executemany(
            "INSERT INTO entry (url, new) VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET new = excluded.new",
            _digests(new),
        )
        yield from table.execute(
            "SELECT CASE WHEN old IS NULL THEN 'added' WHEN new IS NULL THEN 'removed' ELSE 'changed' END, "
            "url FROM entry WHERE old IS NOT new"
        )


def _digests(lines: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    return ((location_of(line), blake2b(line, digest_size=16).digest()) for line in lines)


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
