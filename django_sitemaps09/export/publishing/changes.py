"""Find the URLs that an export changes, by comparing only the files that change."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from tempfile import TemporaryFile
from typing import IO

from django_sitemaps09 import protocol
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.publishing.file_checks import ExpectedFile, check_file
from django_sitemaps09.export.rendering.section import SectionOutcome
from django_sitemaps09.export.report import ChangeKind, Published, UrlChange
from django_sitemaps09.signals import published
from django_sitemaps09.state.manifest import PageFile, SectionRecord
from django_sitemaps09.stores import Store
from django_sitemaps09.stores.plain import name_errors
from django_sitemaps09.writer.urlset import entry_lines, location_of

logger = logging.getLogger(__name__)


class Spool:
    """Changed URLs, counted and kept on disk until the report is built.

    Unless `is_complete`, comparing ends as soon as there are more changes than `limit`, so the counts are
    incomplete then.
    """

    def __init__(self, limit: int, *, is_complete: bool) -> None:
        self.limit = limit
        self.is_complete = is_complete
        self.counts: dict[str, int] = {"added": 0, "removed": 0, "changed": 0}
        self._file: IO[str] = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115

    def close(self) -> None:
        # If the disk is full, what is still buffered cannot be written. `changes()` has failed for it.
        with suppress(OSError):
            self._file.close()

    def fill(
        self,
        store: Store,
        previous: Mapping[str, SectionRecord],
        outcomes: Mapping[str, SectionOutcome],
        removed: Iterable[str],
    ) -> None:
        """Write the changes to all sections and to the `removed` sections, before anything is published."""
        for name, outcome in outcomes.items():
            previous_record = previous.get(name, SectionRecord(outcome.record.suffix))
            self._write(_section_changes(store, name, previous_record, outcome))
        for name in removed:
            record = previous.get(name, SectionRecord())
            files = {page.name: page for page in record.pages}
            self._write(UrlChange("removed", name, location_of(line)) for line in _lines(store, files))

    @property
    def exceeds_limit(self) -> bool:
        return sum(self.counts.values()) > self.limit

    @property
    def _has_ended(self) -> bool:
        return self.exceeds_limit and not self.is_complete

    def _write(self, changes: Iterable[UrlChange]) -> None:
        # Above the limit, do not compare the next pages: this takes time even if they have not changed.
        for change in () if self._has_ended else changes:
            self.counts[change.kind] += 1
            self._file.write(f"{json.dumps(change)}\n")
            if self._has_ended:
                break

    def changes(self) -> Iterator[UrlChange]:
        self._file.seek(0)
        for line in self._file:
            yield UrlChange(*json.loads(line))


def _section_changes(
    store: Store, name: str, previous: SectionRecord, outcome: SectionOutcome
) -> Iterator[UrlChange]:
    new_names = set(outcome.record.file_names)
    for old_pages, new_pages in _parts(previous, outcome.record):
        removed_files = {
            page.name: page
            for page in old_pages
            if page.name in outcome.staged or page.name not in new_names
        }
        added_files = {outcome.staged[page.name]: page for page in new_pages if page.name in outcome.staged}
        if removed_files or added_files:
            for kind, url in _difference(_lines(store, removed_files), _lines(store, added_files)):
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
    if callback is not None:
        try:
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


Pages = Sequence[PageFile]


def _parts(previous: SectionRecord, record: SectionRecord) -> Iterator[tuple[Pages, Pages]]:
    """Yield old and new pages that cover the same range; each common bound ends a range."""
    common_bounds = {page.until for page in previous.pages} & {page.until for page in record.pages}
    if (
        not previous.has_key_ranges
        or previous.key_identity != record.key_identity
        or None not in common_bounds
    ):
        yield previous.pages, record.pages
        return
    yield from zip(_split(previous.pages, common_bounds), _split(record.pages, common_bounds), strict=True)


def _split(pages: Pages, ends: set[tuple[str, ...] | None]) -> Iterator[Pages]:
    part: list[PageFile] = []
    for page in pages:
        part.append(page)
        if page.until in ends:
            yield part
            part = []


def _difference(old_lines: Iterable[bytes], new_lines: Iterable[bytes]) -> Iterator[tuple[ChangeKind, str]]:
    """Yield the differences between two urlsets, using a table on disk since they can be large."""
    with closing(sqlite3.connect("")) as table:
        table.execute("CREATE TABLE entry (url TEXT PRIMARY KEY, old BLOB, new BLOB) WITHOUT ROWID")
        table.executemany("INSERT OR REPLACE INTO entry (url, old) VALUES (?, ?)", _digests(old_lines))
        table.executemany(
            "INSERT INTO entry (url, new) VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET new = excluded.new",
            _digests(new_lines),
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
        with stored_file, name_errors(f"{store.label}/{name}"):
            if page.digest and stored_file.seek(0, os.SEEK_END) != page.size:
                logger.warning(
                    "%s: %s was not written by an export, so the count of changed URLs is not exact.",
                    store.label,
                    name,
                )
                continue
            stored_file.seek(0)
            try:
                # Other users may be able to write to the store, so read no more bytes than were exported.
                yield from entry_lines(stored_file, page.bytes if page.digest else protocol.MAX_BYTES)
            except (EOFError, zlib.error):
                # The export replaces the damaged file in any case.
                logger.warning(
                    "%s: %s is damaged, so the count of changed URLs is not exact.", store.label, name
                )
