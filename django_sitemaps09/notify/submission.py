"""Send the pending messages in the ledger of a target, and record which endpoints received them."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import protocol, published, stores
from django_sitemaps09.conf import conf
from django_sitemaps09.exceptions import ExportError, ManifestError
from django_sitemaps09.notify import indexnow, ping
from django_sitemaps09.notify.keys import key_for
from django_sitemaps09.notify.ledger import FOLDER, Ledger
from django_sitemaps09.notify.messages import Kind, Message
from django_sitemaps09.notify.report import EndpointReport, Outcome, Submission
from django_sitemaps09.notify.responses import AFTER_TOO_MANY, MAX_PAUSE, TOO_MANY
from django_sitemaps09.protocol import Base
from django_sitemaps09.published import ExportFolder
from django_sitemaps09.state import manifest
from django_sitemaps09.stores import Store
from django_sitemaps09.stores.plain import DamagedError

if TYPE_CHECKING:
    from django_sitemaps09.notify.client import Client

logger = logging.getLogger(__name__)

#: Endpoints that a run no longer uses, for one host or for all hosts (`None`), and why.
Blocked: TypeAlias = dict[tuple[str, str | None], Outcome]

_EXAMPLES = 5


def check_configured() -> None:
    """Raise `ImproperlyConfigured` if nothing can be submitted."""
    if conf.indexnow_key is None and not conf.ping_urls:
        raise ImproperlyConfigured(
            "There is nothing to submit to. Set SITEMAPS09['INDEXNOW_KEY'] to a key, which "
            "'manage.py submit_sitemaps --generate-key' prints, or set SITEMAPS09['PING_URLS']."
        )
    try:
        import urllib3  # noqa: F401 it comes with the extra `indexnow`
    except ImportError as error:
        raise ImproperlyConfigured(
            "Submissions need urllib3. Install the extra: pip install 'django-sitemaps09[indexnow]'."
        ) from error


def new_client() -> Client:
    """Return a client with the configured limits. Its deadline counts from now."""
    check_configured()
    # Imported only here, because urllib3 is optional, and most processes submit nothing.
    from django_sitemaps09.notify.client import Client

    return Client(conf.submit_timeout, conf.submit_deadline)


def submit(*, output: Path | str | None = None, dry_run: bool = False) -> Submission:
    """Submit the pending changes of a target, and return what was accepted.

    The target is `output`, or else that of the settings. A dry run sends and changes nothing. Raise
    `ExportRunningError` if another process is submitting the same changes, `ExportError` if nothing was
    exported, and `ImproperlyConfigured` if submissions are not configured.
    """
    [submission] = _submit([None], output, dry_run=dry_run)
    return submission


def submit_hosts(
    base_urls: Iterable[str], *, output: Path | str | None = None, dry_run: bool = False
) -> dict[str, Submission]:
    """Submit the changes of several hosts, and return a submission for each base URL.

    They are the changes of `export_hosts()`, or of an export for one host if it has no folder.
    """
    urls = list(base_urls)
    try:
        bases = [protocol.parse_base(url) for url in urls]
    except ValueError as error:
        raise ImproperlyConfigured(f"--base-url: {error}.") from error
    return dict(zip(urls, _submit(bases, output, dry_run=dry_run), strict=True))


def _submit(bases: Iterable[Base | None], output: Path | str | None, *, dry_run: bool) -> list[Submission]:
    client, blocked = new_client(), Blocked()
    try:
        path = None if output is None else Path(output)
        folders = [_folder(base, path) for base in bases]
        if folders and not any(map(_has_export, folders)):
            raise ExportError(
                f"Nothing was exported to {', '.join(folder.store.label for folder in folders)}. After an "
                "export for several hosts, name each with --base-url; after any other, omit --base-url."
            )
        return [
            preview(store, state) if dry_run else send(store, state, client, blocked)
            for _, store, state in folders
        ]
    finally:
        client.close()


def _folder(base: Base | None, output: Path | None) -> ExportFolder:
    """Return the folder with the pending changes of a host; for `None`, the target itself."""
    folder = ExportFolder.in_target("" if base is None else stores.host_folder(base), output)
    if base is None or _has_export(folder):
        return folder
    export = published.find_files(base, output)
    return folder if export is None else export.folder


def _has_export(folder: ExportFolder) -> bool:
    try:
        return bool(folder.state.names(FOLDER)) or folder.root() is not None
    except ManifestError:
        return True


def preview(target: Store, state: Store) -> Submission:
    """Return what a submission would send, without sending it."""
    started, reports, ledger = time.perf_counter(), _Reports(), Ledger(state)
    damaged = ledger.damaged()
    for _, message in _messages(ledger, damaged):
        for endpoint in _endpoints(message):
            report = reports.for_message(message, endpoint)
            report.pending += len(message.urls)
            report.messages += 1
            report.examples = (*report.examples, *message.urls)[:_EXAMPLES]
    seconds = time.perf_counter() - started
    return Submission(
        target.label,
        tuple(reports.values()),
        seconds,
        dry_run=True,
        damaged=tuple(damaged),
        unqueued=_has_unqueued(state),
    )


def send(target: Store, state: Store, client: Client, blocked: Blocked) -> Submission:
    """Send all pending messages until the client's deadline. Failed messages stay pending.

    All targets of a run share `blocked`, so that an endpoint that is down does not use up their time.
    """
    started, ledger = time.perf_counter(), Ledger(state)
    if ledger.is_empty():
        seconds = time.perf_counter() - started
        return Submission(
            target.label, (), seconds, damaged=tuple(ledger.damaged()), unqueued=_has_unqueued(state)
        )
    with stores.exclusive_lock(target, "submission") as check:
        # A run that was killed after publishing has not activated its messages.
        root = _root(state)
        if root is not None and root.run:
            ledger.activate(root.run)
        dropped = ledger.compact(conf.indexnow_max_urls)
        damaged = ledger.damaged()
        # Ignore a pause that ends after the longest possible one: it was written while the clock was wrong.
        latest = time.time() + MAX_PAUSE
        pauses = {key: until for key, until in ledger.pauses().items() if until <= latest}
        run = _Run(client, pauses, dict(pauses), blocked)
        # If the state cannot be written, nothing may be sent: it would be sent again by each run.
        ledger.write_pauses(pauses)
        try:
            for name, message in _messages(ledger, damaged):
                endpoints = _endpoints(message)
                remaining = [url for url in endpoints if not run.deliver(message, url)]
                check()
                if remaining != endpoints or not remaining:
                    ledger.settle(name, message, map(_id, remaining))
        finally:
            if run.pauses != pauses:
                _write_pauses(ledger, run.pauses)
    seconds = time.perf_counter() - started
    return Submission(
        target.label,
        tuple(run.reports.values()),
        seconds,
        dropped,
        damaged=tuple(damaged),
        unqueued=_has_unqueued(state),
    )


def _root(state: Store) -> manifest.Manifest | None:
    with suppress(ManifestError):
        return manifest.read_root(state)
    return None


def _has_unqueued(state: Store) -> bool:
    root = _root(state)
    return root is not None and bool(root.unqueued)


def _write_pauses(ledger: Ledger, pauses: Mapping[str, float]) -> None:
    """Record the pauses. A failure must not hide what was accepted."""
    try:
        ledger.write_pauses(pauses)
    except (ExportError, OSError):
        logger.exception("The time of a submission could not be recorded")


class _Reports(dict[tuple[Kind, str, str], EndpointReport]):
    """Reports by kind, endpoint and host."""

    def for_message(self, message: Message, endpoint: str) -> EndpointReport:
        """Return the report for the host of a message at an endpoint."""
        return self.setdefault(
            (message.kind, endpoint, message.host),
            EndpointReport(message.kind, protocol.endpoint_label(endpoint), message.host),
        )


@dataclass(slots=True)
class _Run:
    """One submission to a target, and its reports.

    `previous_pauses` has the pauses at its start, and `pauses` those at its end.
    """

    client: Client
    previous_pauses: Mapping[str, float]
    pauses: dict[str, float]
    blocked: Blocked
    reports: _Reports = field(default_factory=_Reports)

    def deliver(self, message: Message, endpoint: str) -> bool:
        """Send a message to an endpoint. Return whether it need not be sent there again."""
        report = self.reports.for_message(message, endpoint)
        until = self.previous_pauses.get(_pause_key(endpoint, message.host), 0.0)
        if until > time.time():
            report.pending += len(message.urls)
            report.resumes = until
            return False
        outcome = self.blocked.get((endpoint, message.host)) or self.blocked.get((endpoint, None))
        if outcome is None:
            outcome = self._send(message, endpoint, report)
        report.count(outcome, len(message.urls))
        return outcome.verdict != "pending"

    def _send(self, message: Message, endpoint: str, report: EndpointReport) -> Outcome:
        if message.kind == "ping":
            response = ping.submit(self.client, endpoint, message)
            outcome = ping.outcome(response)
        else:
            key = key_for(message.host)
            if key is None:
                return Outcome("pending", "INDEXNOW_KEY has no key for this host")
            response = indexnow.submit(self.client, endpoint, key, message)
            outcome = indexnow.outcome(response, message.host)
        report.messages += 1
        report.status = response.status
        if outcome.verdict == "pending":
            # If the endpoint does not work at all, it is not used for other hosts either. A 429 is for one.
            is_down = response.is_temporary and response.status != TOO_MANY
            self.blocked[endpoint, None if is_down else message.host] = outcome
        if response.status == TOO_MANY or (response.is_temporary and response.retry_after):
            report.resumes = self._pause(message, endpoint, response.retry_after or AFTER_TOO_MANY)
        elif response.is_success and message.kind == "indexnow":
            self._pause(message, endpoint, indexnow.PAUSE)
        return outcome

    def _pause(self, message: Message, endpoint: str, seconds: float) -> float:
        until = time.time() + seconds
        self.pauses[_pause_key(endpoint, message.host)] = until
        return until


def _messages(ledger: Ledger, damaged: list[str]) -> Iterator[tuple[str, Message]]:
    """Yield the pending messages, and add the names of those that cannot be read to `damaged`."""
    for name in ledger.names():
        try:
            message = ledger.read(name)
        except DamagedError:
            damaged.append(f"{FOLDER}/{name}")
            continue
        if message is not None:
            yield name, message


def _endpoints(message: Message) -> list[str]:
    """Return the configured endpoints that still need a message."""
    urls = conf.indexnow_urls if message.kind == "indexnow" else conf.ping_urls
    return [url for url in urls if message.endpoints is None or _id(url) in message.endpoints]


def _id(endpoint: str) -> str:
    """Return the id of an endpoint in the ledger, which has no URLs of endpoints and so no secrets."""
    return sha256(endpoint.encode()).hexdigest()[:16]


def _pause_key(endpoint: str, host: str) -> str:
    return f"{_id(endpoint)} {host}"
