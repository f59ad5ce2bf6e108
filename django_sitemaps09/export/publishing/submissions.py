"""Queue the changes of an export for submission, and submit them after it.

Nothing here raises an error that could end an export: problems become warnings.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from itertools import chain

from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.notify.ledger import Ledger, Message, change_messages, host_of, ping_messages
from django_sitemaps09.export.plan import Run
from django_sitemaps09.export.publishing.changes import Spool, published_urls
from django_sitemaps09.export.report import UrlChange
from django_sitemaps09.protocol import reason_of
from django_sitemaps09.protocol.filenames import INDEX
from django_sitemaps09.target import Store
from django_sitemaps09.target.manifest import Manifest, PageFile
from django_sitemaps09.target.previous import PreviousState

logger = logging.getLogger(__name__)

_FAILURES = (ExportError, OSError, sqlite3.Error)


@dataclass(frozen=True, slots=True)
class SubmissionQueue:
    """The changes of one export to one target, on their way to the ledger if they are to be submitted.

    `spool` has the changed URLs, and is `None` if no URLs can be queued.
    """

    run: Run
    spool: Spool | None
    warnings: list[str] = field(default_factory=list)

    @contextmanager
    def publishing(self, manifest: Manifest, index_urls: Sequence[str]) -> Iterator[Manifest]:
        """Store the changes of a run durably, and make them pending when the block has published it.

        Services are pinged for the indexes at `index_urls`. The changes that earlier runs could not queue
        are stored, too. Yield the manifest with the files whose changes are still not queued.
        """
        next_manifest = self._with_unqueued(manifest, None)
        if not self.run.host.submit:
            yield next_manifest
            return
        ledger, previous = Ledger(self.run.host.state), self.run.previous.manifest
        pages = [page for name, page in previous.pages().items() if name in previous.unqueued]
        queued: set[str] = set()
        pings = ping_messages(index_urls if conf.ping_urls else ())
        with self.lenient("not all changes were queued for submission"):
            ledger.prepare(manifest.run, chain(self._changes(pages, queued), pings))
            if self.spool is None or self.spool.is_filled:
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
        with self.lenient("the changes are queued for submission only by the next run"):
            ledger.activate(manifest.run)

    @contextmanager
    def lenient(self, consequence: str) -> Iterator[None]:
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
        without_key: Counter[str] = Counter()
        # If there are too many, the first ones are dropped. Not all missed URLs have changed.
        urls = chain(self._missed_urls(pages, queued), (change.url for change in changes))
        yield from change_messages(urls, lambda host: conf.indexnow_key_for(host) is not None, without_key)
        self.warnings.extend(
            f"URLs on {host} not queued for IndexNow, because INDEXNOW_KEY has no key for this host: "
            f"{count:,}."
            for host, count in without_key.items()
        )

    def _missed_urls(self, pages: Iterable[PageFile], queued: set[str]) -> Iterator[str]:
        """Yield the URLs of these pages. Add the pages to `queued` that can be read and submitted."""
        for page in pages:
            try:
                urls = published_urls(self.run.host.store, page)
            except (ExportError, OSError) as error:
                self.warnings.append(
                    f"{reason_of(error)}, so its URLs are not queued; to repair it, run export_sitemaps "
                    "--verify --repair."
                )
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
