"""Queue the changes of an export for submission, and submit them after it.

Nothing here raises an error that could end an export: problems become warnings.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from django_sitemaps09.conf import conf
from django_sitemaps09.entries import MAX_MESSAGE, excerpt, reason_of
from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export.publishing.changes import Spool
from django_sitemaps09.export.publishing.previous import PreviousState
from django_sitemaps09.export.publishing.promotion import PublishTarget
from django_sitemaps09.export.report import Report
from django_sitemaps09.notify.engines import key_for
from django_sitemaps09.notify.ledger import Ledger, Message, change_messages, ping_messages
from django_sitemaps09.notify.submission import Blocked, new_client, send

if TYPE_CHECKING:
    from django_sitemaps09.notify.client import Client

logger = logging.getLogger(__name__)

_FAILURES = (ExportError, OSError, sqlite3.Error)

_FIRST = (
    "This is the first export to this target, so no URLs were queued for IndexNow, which is for changes. "
    "The next export that changes URLs queues them."
)
_TOO_MANY = (
    "This run changed more URLs than INDEXNOW_MAX_URLS ({:,}), so none were queued for IndexNow. Crawlers "
    "find the changes in the sitemap."
)
_NO_KEY = "URLs on {} not queued for IndexNow, because INDEXNOW_KEY has no key for this host: {:,}."


@dataclass(frozen=True, slots=True)
class SubmissionQueue:
    """The changes of one export to one target, on their way to the ledger."""

    ledger: Ledger
    #: Whether nothing was published before. Then all URLs are new, and none are queued.
    is_first: bool
    warnings: list[str] = field(default_factory=list)

    @contextmanager
    def publishing(
        self, run: str, spool: Spool | None, index_urls: Sequence[str], missed_urls: Iterable[str]
    ) -> Iterator[bool]:
        """Store the changes of a run durably, and make them pending when the block has published it.

        `index_urls` are the URLs of the indexes for which services are pinged, `missed_urls` those that
        earlier runs could not queue. Yield whether everything was stored.
        """
        without_key: Counter[str] = Counter()
        pings = ping_messages(index_urls if conf.ping_urls else ())
        is_stored = False
        with self.lenient("not all changes were queued for submission"):
            self.ledger.prepare(run, chain(self._changes(spool, missed_urls, without_key), pings))
            is_stored = True
        self.warnings.extend(_NO_KEY.format(host, count) for host, count in without_key.items())
        yield is_stored
        with self.lenient("the changes are queued for submission only by the next run"):
            self.ledger.activate(run)

    @contextmanager
    def lenient(self, consequence: str) -> Iterator[None]:
        """Turn the failures of storages and disks into a warning."""
        try:
            yield
        except _FAILURES as error:
            logger.error("Changes could not be queued for submission: %s", reason_of(error))
            self.warnings.append(f"{reason_of(error)}; {consequence}.")

    def _changes(
        self, spool: Spool | None, missed_urls: Iterable[str], without_key: Counter[str]
    ) -> Iterator[Message]:
        if conf.indexnow_key is None:
            return
        if self.is_first:
            self.warnings.append(_FIRST)
            return
        urls: Iterable[str] = ()
        if spool is not None:
            limit = conf.indexnow_max_urls
            if sum(spool.counts.values()) > limit:
                self.warnings.append(_TOO_MANY.format(limit))
            else:
                urls = (change.url for change in spool.changes())
        # If there are too many, the first ones are dropped. Not all missed URLs have changed.
        yield from change_messages(
            chain(missed_urls, urls), lambda host: key_for(host) is not None, without_key
        )


def recover(publish_target: PublishTarget, previous: PreviousState) -> None:
    """Activate the changes that killed runs prepared; discard those of a run that was not published.

    If it is unknown what was published, activate all of them: too many submissions are better than too few.
    A failure loses none. The next run repeats this.
    """
    ledger, run = Ledger(publish_target.state), previous.manifest.run
    try:
        ledger.activate(None if previous.is_unverified or not run else run)
        ledger.discard()
    except _FAILURES as error:
        logger.error("The changes of a killed run are not queued before the next run: %s", reason_of(error))


def submit_all(targets: Sequence[PublishTarget], reports: Sequence[Report]) -> list[Report]:
    """Submit what is pending for each target within one deadline. Return the reports with the results."""
    client, blocked = new_client(), Blocked()
    try:
        pairs = zip(targets, reports, strict=True)
        return [_submit(target, report, client, blocked) for target, report in pairs]
    finally:
        client.close()


def _submit(target: PublishTarget, report: Report, client: Client, blocked: Blocked) -> Report:
    try:
        submission = send(target.store, target.state, client, blocked)
    except Exception as error:
        logger.exception("Changes could not be submitted")
        warning = f"The changes are not submitted before the next run: {excerpt(error, MAX_MESSAGE)}"
        return replace(report, warnings=[*report.warnings, warning])
    return replace(report, submission=submission, warnings=[*report.warnings, *submission.failures])
