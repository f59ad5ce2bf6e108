"""Find what an export changes, URL by URL, by comparing only the files that change."""

from __future__ import annotations

import gzip
import json
import logging
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, BinaryIO, Literal, NamedTuple, cast
from xml.sax.saxutils import unescape

from django_sitemaps09 import protocol
from django_sitemaps09.export.rendering.run import SectionOutcome
from django_sitemaps09.export.report import Report
from django_sitemaps09.filenames import page_name
from django_sitemaps09.manifest import PageRecord, SectionRecord
from django_sitemaps09.signals import published
from django_sitemaps09.stores import Store
from django_sitemaps09.stores.plain import named

logger = logging.getLogger(__name__)

_ENTITIES = {"&quot;": '"', "&apos;": "'"}
_AT_ONCE = 1_000
_LINE = 1_000_000

Kind = Literal["added", "removed", "changed"]


class UrlChange(NamedTuple):
    """URL that was added or removed, or whose lastmod or any other element has changed."""

    kind: Kind
    section: str
    url: str


@dataclass(frozen=True, slots=True)
class Published:
    """Changes made by an export: URLs of files, and the report.

    `written` has pages and indexes that are new or changed, `removed` those that no index names any longer.
    `urls` yields the changes of single URLs; it can be called repeatedly until the hooks have returned. It
    is `None` unless changes were requested.
    """

    report: Report
    written: Sequence[str]
    removed: Sequence[str]
    urls: Callable[[], Iterator[UrlChange]] | None = None


class Spool:
    """Changes that are counted, and kept on disk until everything is published."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {"added": 0, "removed": 0, "changed": 0}
        self._file: IO[str] = TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def fill(
        self, target: Store, before: Mapping[str, SectionRecord], outcomes: Mapping[str, SectionOutcome]
    ) -> None:
        """Write the changes of all sections, before any of them is published."""
        for name, outcome in outcomes.items():
            old = before.get(name, SectionRecord(outcome.record.suffix))
            for change in _section(target, name, old, outcome):
                self.counts[change.kind] += 1
                self._file.write(f"{json.dumps(change)}\n")

    def changes(self) -> Iterator[UrlChange]:
        self._file.seek(0)
        for line in self._file:
            yield UrlChange(*json.loads(line))


def _section(
    target: Store, name: str, before: SectionRecord, outcome: SectionOutcome
) -> Iterator[UrlChange]:
    after = outcome.record
    names_after = {page_name(name, page.number, after.suffix) for page in after.pages}
    for old, new in _parts(before, after):
        before_files = {page_name(name, page.number, before.suffix): page for page in old}
        gone = {
            file: page
            for file, page in before_files.items()
            if file in outcome.staged or file not in names_after
        }
        after_files = {page_name(name, page.number, after.suffix): page for page in new}
        come = {outcome.staged[file]: page for file, page in after_files.items() if file in outcome.staged}
        if gone or come:
            for kind, url in _difference(_lines(target, gone), _lines(target, come)):
                yield UrlChange(kind, name, url)


def tell(told: Published, hook: Callable[[Published], object] | None) -> list[str]:
    """Call the hook and send the signal if anything has changed; return the failures of both."""
    failures: list[tuple[object, object]] = []
    if not (told.written or told.removed):
        return []
    if hook is not None:
        try:
            hook(told)
        except Exception as error:
            logger.exception("What was to be done after publishing has failed.")
            failures.append((hook, error))
    failures += published.send_robust(sender=Published, published=told)
    return [
        f"{getattr(receiver, '__qualname__', receiver)} failed after publishing: {error!r}"
        for receiver, error in failures
        if isinstance(error, Exception)
    ]


Pages = Sequence[PageRecord]


def _parts(before: SectionRecord, after: SectionRecord) -> Iterator[tuple[Pages, Pages]]:
    """Yield old and new pages that cover the same range, cut at each bound that both have."""
    common = {page.until for page in before.pages} & {page.until for page in after.pages}
    if not before.has_key_ranges or before.key_identity != after.key_identity or None not in common:
        yield before.pages, after.pages
        return
    yield from zip(_split(before.pages, common), _split(after.pages, common), strict=True)


def _split(pages: Pages, ends: set[tuple[str, ...] | None]) -> Iterator[Pages]:
    part: list[PageRecord] = []
    for page in pages:
        part.append(page)
        if page.until in ends:
            yield part
            part = []


def _difference(before: Iterable[bytes], after: Iterable[bytes]) -> Iterator[tuple[Kind, str]]:
    """Yield the differences between two urlsets, using a table on disk since they can be of any size."""
    with closing(sqlite3.connect("")) as table:
        table.execute("CREATE TABLE entry (url TEXT PRIMARY KEY, old BLOB, new BLOB) WITHOUT ROWID")
        _insert(table, "INSERT OR REPLACE INTO entry (url, old) VALUES (?, ?)", before)
        _insert(
            table,
            "INSERT INTO entry (url, new) VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET new = excluded.new",
            after,
        )
        found = table.execute(
            "SELECT CASE WHEN old IS NULL THEN 'added' WHEN new IS NULL THEN 'removed' ELSE 'changed' END, "
            "url FROM entry WHERE old IS NOT new"
        )
        yield from found


def _insert(table: sqlite3.Connection, sql: str, lines: Iterable[bytes]) -> None:
    rows = ((_url(line), blake2b(line, digest_size=16).digest()) for line in lines)
    while some := list(islice(rows, _AT_ONCE)):
        table.executemany(sql, some)


def _url(line: bytes) -> str:
    if line.startswith(b"http"):
        # A line of a text file.
        return line.decode(errors="replace").rstrip("\n")
    return unescape(line.partition(b"<loc>")[2].partition(b"</loc>")[0].decode(errors="replace"), _ENTITIES)


def _lines(target: Store, files: Mapping[str, PageRecord]) -> Iterator[bytes]:
    """Yield the entries of several exported files, which have one line each."""
    for name, page in files.items():
        opened = target.open(name)
        if opened is None:
            continue
        with opened, named(f"{target.label}/{name}"):
            if page.digest and opened.seek(0, os.SEEK_END) != page.size:
                logger.warning(
                    "%s: %s was not written by an export; nobody knows what it held.", target.label, name
                )
                continue
            opened.seek(0)
            # Others may be able to write there, so read no more bytes than were exported.
            most = page.bytes if page.digest else protocol.MAX_BYTES
            with gzip.open(opened) if name.endswith(".gz") else nullcontext(opened) as file:
                try:
                    yield from _entries(cast(BinaryIO, file), most)
                except (EOFError, gzip.BadGzipFile, zlib.error):
                    # The damaged file is replaced like any other.
                    logger.warning(
                        "%s: %s is not whole, so that nobody knows what it held.", target.label, name
                    )


def _entries(file: BinaryIO, most: int) -> Iterator[bytes]:
    while most > 0 and (line := file.readline(min(most, _LINE))):
        most -= len(line)
        if line.startswith((b"<url><loc>", b"http")):
            yield line
