"""Send the pending messages in the ledger of a target, and record which endpoints received them."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.conf import conf, local_path, strings
from django_sitemaps09.declare import hosts
from django_sitemaps09.exceptions import ExportError, ManifestError
from django_sitemaps09.export.notify.ledger import FOLDER, Ledger, Message
from django_sitemaps09.export.report import EndpointReport, Submission
from django_sitemaps09.protocol.urls import Base
from django_sitemaps09.target import manifest, published
from django_sitemaps09.target.local import DamagedError
from django_sitemaps09.target.store import Store, exclusive_lock

if TYPE_CHECKING:
    from django_sitemaps09.export.notify.client import Client

logger = logging.getLogger(__name__)

_EXAMPLES = 5


def generate_key() -> str:
    """Return a new random key of 32 hexadecimal digits, which all search engines accept."""
    return secrets.token_hex(16)


def check_configured() -> None:
    """Raise `ImproperlyConfigured` if nothing can be submitted."""
    if conf.indexnow_key is None and not conf.ping_urls and not (conf.feed and conf.websub_hub):
        raise ImproperlyConfigured(
            "There is nothing to submit to. Set SITEMAPS09['INDEXNOW_KEY'] to a key, which "
            "'manage.py submit_sitemaps --generate-key' prints, or set SITEMAPS09['PING_URLS'], or a FEED "
            "and its WEBSUB_HUB."
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
    from django_sitemaps09.export.notify.client import Client

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
    urls = strings(base_urls, "base_urls")
    bases = [hosts.parse_base(url, "--base-url") for url in urls]
    return dict(zip(urls, _submit(bases, output, dry_run=dry_run), strict=True))


def _submit(bases: Iterable[Base | None], output: Path | str | None, *, dry_run: bool) -> list[Submission]:
    path = local_path(output, "--output")
    with closing(new_client()) as client:
        folders = [_folder(base, path) for base in bases]
        if folders and not any(map(_has_export, folders)):
            raise ExportError(
                f"Nothing was exported to {', '.join(folder.store.label for folder in folders)}. Run "
                "export_sitemaps --submit first. After an export for several hosts, name each with "
                "--base-url; after any other, omit --base-url."
            )
        if dry_run:
            return [preview(store, state) for _, store, state in folders]
        return [send(store, state, client) for _, store, state in folders]


def _folder(base: Base | None, output: Path | None) -> published.ExportFolder:
    """Return the folder with the pending changes of a host; for `None`, the target itself."""
    folder = published.ExportFolder.in_target("" if base is None else hosts.host_folder(base), output)
    if base is None or _has_export(folder):
        return folder
    export = published.find_files(base, output)
    return folder if export is None else export.folder


def _has_export(folder: published.ExportFolder) -> bool:
    try:
        return bool(folder.state.names(FOLDER)) or folder.root() is not None
    except ManifestError:
        return True


def preview(target: Store, state: Store) -> Submission:
    """Return what a submission would send, without sending it."""
    run = _Run(target, state, time.perf_counter())
    for _, message, endpoints in run.messages():
        for endpoint in endpoints:
            report = run.report(message, endpoint)
            report.pending += len(message.urls)
            report.messages += 1
            report.examples = (*report.examples, *message.urls)[:_EXAMPLES]
    return run.result(dry_run=True)


def send(target: Store, state: Store, client: Client) -> Submission:
    """Send all pending messages until the client's deadline. Failed messages stay pending."""
    started, ledger = time.perf_counter(), Ledger(state)
    if ledger.is_empty():
        return _Run(target, state, started).result()
    with exclusive_lock(target, "submission") as check:
        # A run that was killed after publishing has not activated its messages.
        if (root := manifest.read_usable_root(state)) is not None and root.run:
            ledger.activate(root.run)
        dropped = ledger.compact(conf.indexnow_max_urls)
        run = _Run(target, state, started)
        pauses = ledger.pauses()
        # If the state cannot be written, nothing may be sent: it would be sent again by each run.
        ledger.write_pauses(pauses)
        try:
            for name, message, endpoints in run.messages():
                remaining = [url for url in endpoints if not run.deliver(client, message, url, pauses)]
                check()
                if remaining != endpoints or not remaining:
                    ledger.settle(name, message, map(_id, remaining))
        finally:
            try:
                if run.new_pauses:
                    ledger.write_pauses(pauses | run.new_pauses)
            except (ExportError, OSError):
                # This must not hide what was accepted.
                logger.exception("The time of a submission could not be recorded")
    return run.result(dropped)


class _Run:
    """The pending messages of one target, and the reports on them."""

    def __init__(self, target: Store, state: Store, started: float) -> None:
        self._target, self._started = target, started
        self._ledger = Ledger(state)
        self._reports: dict[tuple[str, str, str], EndpointReport] = {}
        # After messages are sent, a failure to read the state would hide what was accepted.
        root = manifest.read_usable_root(state)
        self._has_unqueued = root is not None and bool(root.unqueued)
        self._damaged = self._ledger.damaged()
        # The pauses of later submissions.
        self.new_pauses: dict[str, float] = {}

    def messages(self) -> Iterator[tuple[str, Message, list[str]]]:
        """Yield each message with its name, and the configured endpoints that still need it."""
        urls = {"indexnow": conf.indexnow_urls, "ping": conf.ping_urls, "websub": conf.websub_hub}
        for name in self._ledger.names():
            try:
                message = self._ledger.read(name)
            except DamagedError:
                self._damaged.append(f"{FOLDER}/{name}")
                continue
            if message is not None:
                needing = message.endpoints
                yield (
                    name,
                    message,
                    [url for url in urls[message.kind] if needing is None or _id(url) in needing],
                )

    def report(self, message: Message, endpoint: str) -> EndpointReport:
        # The query of an endpoint can contain a secret.
        report = EndpointReport(message.kind, endpoint.partition("?")[0], message.host)
        return self._reports.setdefault((message.kind, endpoint, message.host), report)

    def deliver(self, client: Client, message: Message, endpoint: str, pauses: Mapping[str, float]) -> bool:
        """Send a message to an endpoint. Return whether it need not be sent there again."""
        report, key = self.report(message, endpoint), f"{_id(endpoint)} {message.host}"
        if (until := pauses.get(key, 0.0)) > time.time():
            report.pending += len(message.urls)
            report.resumes = until
            return False
        outcome = client.deliver(message, endpoint, report)
        if outcome.pause:
            self.new_pauses[key] = time.time() + outcome.pause
        return outcome.verdict != "pending"

    def result(self, dropped: int = 0, *, dry_run: bool = False) -> Submission:
        return Submission(
            self._target.label,
            tuple(self._reports.values()),
            time.perf_counter() - self._started,
            dropped,
            dry_run,
            damaged=tuple(self._damaged),
            unqueued=self._has_unqueued,
        )


def _id(endpoint: str) -> str:
    """Return the id of an endpoint in the ledger, which has no URLs of endpoints and so no secrets."""
    return sha256(endpoint.encode()).hexdigest()[:16]
