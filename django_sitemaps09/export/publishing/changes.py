"""Find the changed URLs of an export, announce them, and queue them for submission to search engines."""

from __future__ import annotations

import logging
import math
import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timezone
from hashlib import blake2b
from itertools import chain

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.notify.ledger import Ledger, Message, change_messages, file_messages, host_of
from django_sitemaps09.export.report import Published, UrlChange
from django_sitemaps09.export.run import Run
from django_sitemaps09.protocol.feed import FeedEntry
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.filenames import INDEX
from django_sitemaps09.protocol.limits import MAX_BYTES
from django_sitemaps09.protocol.pages import Key
from django_sitemaps09.protocol.urlset import entry_lines, lastmod_of, location_of
from django_sitemaps09.signals import published
from django_sitemaps09.target.local import name_errors
from django_sitemaps09.target.manifest import Manifest, PageFile, SectionRecord
from django_sitemaps09.target.previous import PreviousState
from django_sitemaps09.target.published import ExpectedFile, check_file
from django_sitemaps09.target.store import Store

logger = logging.getLogger(__name__)

_FAILURES = (ExportError, OSError, sqlite3.Error)
# How often the old and the new files list an entry: in the range compared now, and in all that differ.
# SQLite takes the section from the row with the maximum: https://sqlite.org/lang_select.html#bareagg
_CREATE = """
CREATE TABLE range (url, digest, old, new, lastmod, PRIMARY KEY (url, digest)) WITHOUT ROWID;
CREATE TABLE run (url, digest, old, new, lastmod, section, PRIMARY KEY (url, digest)) WITHOUT ROWID;
CREATE VIEW change AS
SELECT CASE WHEN NOT sum(old) THEN 'added' WHEN NOT sum(new) THEN 'removed' ELSE 'changed' END AS kind,
section, url, lastmod, max(new - old) FROM run GROUP BY url HAVING sum((old > 0) <> (new > 0))
"""
_COUNT = """INSERT INTO range VALUES (?, ?, ?, ?, ?)
ON CONFLICT (url, digest) DO UPDATE SET old = old + excluded.old, new = new + excluded.new"""
_KEEP = """INSERT INTO run SELECT *, ? FROM range WHERE url IN (SELECT url FROM range WHERE old <> new)
ON CONFLICT (url, digest) DO UPDATE SET old = old + excluded.old, new = new + excluded.new,
section = CASE WHEN excluded.new THEN excluded.section ELSE section END"""
_NEWEST = """SELECT url, updated(lastmod) AS time FROM change WHERE kind <> 'removed'
ORDER BY time DESC, url LIMIT ?"""
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

    def newest(self, count: int, now: str) -> list[FeedEntry]:
        """Return the newest added and changed URLs by their lastmods; `now` is that of URLs without one."""
        self._table.create_function("updated", 1, lambda lastmod: _updated(lastmod) or now)
        rows = self._table.execute(_NEWEST, [count])
        return [FeedEntry(url, time) for url, time in rows]

    def kinds(self, urls: Collection[str]) -> dict[str, str]:
        """Return the kind of change of each of the URLs that has changed."""
        rows = self._table.execute("SELECT url, kind FROM change")
        return {url: kind for url, kind in rows if url in urls}

    def changes(self) -> Iterator[UrlChange]:
        return (UrlChange(*change[:3]) for change in self._table.execute("SELECT * FROM change"))


def _compared_ranges(
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


def announce(event: Published, callback: Callable[[Published], object] | None) -> list[str]:
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


class SubmissionQueue:
    """The changes of one export to one target. `spool` has the changed URLs if anyone needs them."""

    def __init__(self, run: Run) -> None:
        self.run, options = run, run.options
        self.spool: Spool | None = None
        self.warnings: list[str] = []
        is_queued = run.host.submit and conf.indexnow_key is not None and not run.previous.is_first
        # What a repair writes has not changed.
        has_feed = conf.feed is not None and not (run.previous.is_first or run.host.is_repair)
        # A dry run stages no files that could be compared.
        if is_queued or ((options.changes or has_feed) and not options.dry_run):
            self.spool = Spool(conf.indexnow_max_urls, is_complete=options.changes)

    def close(self) -> None:
        if self.spool is not None:
            self.spool.close()

    def compare(self, manifest: Manifest, staged: Mapping[str, str]) -> None:
        """Find the changed URLs. A failure ends the export only if the caller requested them."""
        if self.spool is not None:
            consequence = "not all changed URLs were found, so not all are submitted, or in the feed"
            with nullcontext() if self.run.options.changes else self._lenient(consequence):
                old, store = self.run.previous.manifest, self.run.host.store
                self.spool.fill(_compared_ranges(store, old, manifest, staged))

    @contextmanager
    def publishing(
        self, manifest: Manifest, index_urls: Sequence[str], feed_urls: Sequence[str]
    ) -> Iterator[Manifest]:
        """Store the changes of a run durably, and make them pending when the block has published it.

        Also store pings for `index_urls` and `feed_urls`, and changes that earlier runs could not queue.
        Yield the manifest with the files whose changes are still not queued.
        """
        next_manifest = self._with_unqueued(manifest, None)
        if not self.run.host.submit:
            yield next_manifest
            return
        ledger, previous = Ledger(self.run.host.state), self.run.previous.manifest
        pages = [page for name, page in previous.pages().items() if name in previous.unqueued]
        queued: set[str] = set()
        pings = chain(
            file_messages("ping", index_urls if conf.ping_urls else ()),
            file_messages("websub", feed_urls if conf.websub_hub else ()),
        )
        with self._lenient("not all changes were queued for submission"):
            ledger.prepare(manifest.run, chain(self._changes(pages, queued), pings))
            if self.spool is None or self.spool.is_filled or conf.indexnow_key is None:
                next_manifest = self._with_unqueued(manifest, queued)
            if previous.unqueued:
                since = datetime.fromtimestamp(min(previous.unqueued.values()), timezone.utc)
                result = "All URLs of their pages are queued now; removed URLs are unknown."
                if left := len(pages) - len(queued):
                    result = f"The URLs of some of their pages are still not queued: {left:,}."
                self.warnings.append(
                    f"Changes were published since {since:%Y-%m-%d %H:%M:%S} UTC that could not be queued "
                    f"for submission. {result}"
                )
        yield next_manifest
        with self._lenient("the changes are queued for submission only by the next run"):
            ledger.activate(manifest.run)

    @contextmanager
    def _lenient(self, consequence: str) -> Iterator[None]:
        """Turn the failures of storages and disks into a warning."""
        try:
            yield
        except _FAILURES as error:
            logger.error("Changes could not be queued for submission: %s", reason_of(error))
            self.warnings.append(f"{reason_of(error)}; {consequence}.")

    @property
    def _exclusion(self) -> str:
        """Why the changed URLs of this run are not queued, or an empty string."""
        if self.run.previous.is_first:
            return (
                "This is the first export to this target, so no URLs were queued for IndexNow, which is "
                "for changes. The next export that changes URLs queues them."
            )
        if self.spool is not None and self.spool.exceeds_limit:
            return (
                f"This run changed or moved more URLs than INDEXNOW_MAX_URLS ({self.spool.limit:,}), so "
                "none were queued for IndexNow. Crawlers find the changes in the sitemap."
            )
        return ""

    def _changes(self, pages: Iterable[PageFile], queued: set[str]) -> Iterator[Message]:
        """Yield the changes of this run, and the URLs of `pages`, whose changes no run has queued."""
        if conf.indexnow_key is None:
            return
        changes: Iterable[UrlChange] = ()
        if exclusion := self._exclusion:
            self.warnings.append(exclusion)
        elif self.spool is not None and self.spool.is_filled:
            changes = self.spool.changes()
        without_key = Counter[str]()
        # If there are too many, the first ones are dropped. Not all missed URLs have changed.
        urls = chain(self._missed_urls(pages, queued), (change.url for change in changes))
        yield from change_messages(urls, lambda host: conf.indexnow_key_for(host) is not None, without_key)
        self.warnings.extend(
            f"URLs on {host} not queued for IndexNow, because INDEXNOW_KEY has no key for this host: "
            f"{count:,}."
            for host, count in without_key.items()
        )

    def _missed_urls(self, pages: Iterable[PageFile], queued: set[str]) -> Iterator[str]:
        """Yield the URLs of these pages. Add those pages to `queued` that can be read and submitted."""
        for page in pages:
            try:
                urls = published_urls(self.run.host.store, page)
            except (ExportError, OSError) as error:
                advice = "to repair it, run export_sitemaps --verify --repair"
                self.warnings.append(f"{reason_of(error)}, so its URLs are not queued; {advice}.")
                continue
            yield from urls
            # Without a key for any of its URLs, none are queued.
            if not urls or any(conf.indexnow_key_for(host_of(url) or "") for url in urls):
                queued.add(page.name)

    def _with_unqueued(self, manifest: Manifest, queued: Collection[str] | None) -> Manifest:
        """Return the manifest with the files whose changes are not queued for submission.

        `queued` has the recorded pages that are queued now. It is `None` if this run's changes are not.
        """
        host, previous = self.run.host, self.run.previous.manifest
        old_digests, digests = (
            {name: page.digest for name, page in each.pages().items()} for each in (previous, manifest)
        )
        unqueued = previous.unqueued
        left = (unqueued.keys() & old_digests.keys()).difference(queued or ())
        if (queued is not None and not left) or not (
            host.submit or unqueued or (host.is_repair and conf.indexnow_key is not None)
        ):
            return manifest
        changed = {name for name, _ in digests.items() - old_digests.items()}
        if queued is not None and left <= digests.keys() - changed:
            # No row of the pages that are left has moved to another page.
            changed = set()
        elif changed or old_digests.keys() - digests.keys():
            # The URLs of a first export, of one that changes too many, or without a key, are not submitted.
            if host.submit and (self._exclusion or (conf.indexnow_key is None and not left)):
                changed = set()
            changed.add(INDEX)
        names = {INDEX, *digests}.difference(queued or ())
        kept = {name: since for name, since in unqueued.items() if name in names}
        since = self.run.started.timestamp()
        return replace(manifest, unqueued={**dict.fromkeys(sorted(changed), since), **kept})


def activate_prepared(state: Store, previous: PreviousState) -> None:
    """Activate the changes that killed runs prepared; discard those of a run that was not published.

    If it is unknown what was published, activate all. A failure loses none. The next run repeats this.
    """
    ledger, run = Ledger(state), previous.manifest.run
    try:
        ledger.activate(None if previous.is_unverified or not run else run)
        ledger.discard()
    except _FAILURES as error:
        logger.error("The changes of a killed run are not queued before the next run: %s", reason_of(error))


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


def _entries(
    lines: Iterable[bytes], old: int, new: int
) -> Iterator[tuple[str, bytes, int, int, str | None]]:
    for line in lines:
        yield location_of(line), blake2b(line, digest_size=16).digest(), old, new, lastmod_of(line)


def _updated(lastmod: str | None) -> str | None:
    """Return a lastmod as a time in UTC, a date at midnight; `None` if it is missing or invalid."""
    with suppress(ValueError, OverflowError):
        if lastmod:
            time = datetime.fromisoformat(lastmod.replace("Z", "+00:00"))
            in_utc = time.replace(tzinfo=time.tzinfo or timezone.utc).astimezone(timezone.utc)
            # Not strftime(), which does not pad years.
            return f"{in_utc.replace(tzinfo=None).isoformat(timespec='seconds')}Z"
    return None


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
                yield from entry_lines(stored_file, page.bytes if page.digest else MAX_BYTES)
                continue
        logger.warning("%s: %s %s, so the count of changed URLs is not exact.", store.label, name, problem)
