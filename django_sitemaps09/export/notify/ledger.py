"""Messages to search engines, and their ledger: a transactional outbox in the state folder.

An export prepares messages before it publishes, and activates them afterwards. If it is killed in between,
the next run reads from the manifest whether to activate them. A message is removed when all endpoints have
received it. So a killed submission can repeat the message that it was sending, but loses no message.
"""

from __future__ import annotations

import logging
import re
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import groupby, islice
from secrets import token_hex
from typing import Any, NamedTuple, get_args

from django_sitemaps09.export.report import MessageKind
from django_sitemaps09.protocol.limits import MAX_MESSAGE_URLS
from django_sitemaps09.protocol.urls import origin
from django_sitemaps09.target.local import DamagedError
from django_sitemaps09.target.manifest import check_names, read_sealed, seal
from django_sitemaps09.target.store import Store

logger = logging.getLogger(__name__)

# Maximum number of URLs in a message.
_URLS_OF_MESSAGE: dict[MessageKind, int] = {"indexnow": MAX_MESSAGE_URLS, "ping": 1, "websub": 1}

FOLDER = "submissions"
_PAUSES = f"{FOLDER}/pauses.json"
_PREPARED = re.compile(r"prepared-(run-[0-9A-Za-z-]+)-[0-9]{6}\.json")
_PENDING = re.compile(r"pending-[0-9A-Za-z-]+\.json")
_DAMAGED = re.compile(r"damaged-[0-9A-Za-z-]+\.json")
_ENDPOINT = re.compile(r"[0-9A-Za-z]+")
# The largest message has 10,000 URLs of at most 2,048 characters.
_MAX_BYTES = 50_000_000

#: Maximum pause in seconds. A client shortens a longer one.
MAX_PAUSE = 21_600.0
# Maximum length of a URL, in characters. URLs of sitemaps and of their files are shorter.
_MAX_URL = 10_000

# URLs are inserted newest first, so the rowid orders them by age.
_CREATE = "CREATE TABLE entry (kind TEXT, host TEXT, url TEXT, endpoints TEXT, UNIQUE (kind, host, url))"
_INSERT = (
    "INSERT INTO entry VALUES (?, ?, ?, ?) ON CONFLICT (kind, host, url) "
    "DO UPDATE SET endpoints = combined(endpoints, excluded.endpoints)"
)
_TRIM = (
    "DELETE FROM entry WHERE rowid IN "
    "(SELECT rowid FROM entry WHERE kind = 'indexnow' ORDER BY rowid LIMIT -1 OFFSET ?)"
)


class Message(NamedTuple):
    """URLs of one host. `endpoints` has the ids of the endpoints that still need them; `None`: all."""

    kind: MessageKind
    host: str
    urls: tuple[str, ...]
    endpoints: tuple[str, ...] | None = None


def host_of(url: str) -> str | None:
    """Return the host of a URL, with its port if that is not the default; `None` if it is not a URL.

    A URL has no control characters and no surrogates: these could end or deceive what prints or sends it.
    """
    try:
        return origin(url).domain if url.isprintable() else None
    except ValueError:
        return None


def file_messages(kind: MessageKind, urls: Iterable[str]) -> Iterator[Message]:
    """Yield a message for the URL of each sitemap or feed."""
    for url in urls:
        if host := host_of(url):
            yield Message(kind, host, (url,))


def change_messages(
    urls: Iterable[str], has_key: Callable[[str], bool], without_key: Counter[str]
) -> Iterator[Message]:
    """Yield messages for each host. If there are many hosts, `Ledger.compact()` makes them longer.

    URLs on hosts without a key are counted in `without_key` instead.
    """
    urls, most = iter(urls), MAX_MESSAGE_URLS
    while batch := dict.fromkeys(islice(urls, 5 * most)):
        urls_by_host: defaultdict[str, list[str]] = defaultdict(list)
        for url in batch:
            host = host_of(url)
            if host is None or not has_key(host):
                without_key[host or "no valid host"] += 1
            else:
                urls_by_host[host].append(url)
        for host, host_urls in urls_by_host.items():
            for start in range(0, len(host_urls), most):
                yield Message("indexnow", host, tuple(host_urls[start : start + most]))


@dataclass(frozen=True, slots=True)
class Ledger:
    """Pending messages in a state store. All methods except `compact` can run concurrently."""

    state: Store

    def prepare(self, run: str, messages: Iterable[Message]) -> None:
        """Store the messages of a run durably. They are not pending before `activate()`."""
        for number, message in enumerate(messages):
            self._write(f"prepared-{run}-{number:06d}.json", message)

    def activate(self, run: str | None) -> None:
        """Make the prepared messages of a published run pending; `None` activates those of all runs.

        Earlier runs can have been published, too, if their messages could not be activated at that time.
        """
        for name, owner in self._prepared():
            # The name of a run is its time, followed by a random part.
            if run is None or owner.rpartition("-")[0] <= run.rpartition("-")[0]:
                # Another process may have activated the message.
                with suppress(FileNotFoundError):
                    self.state.promote(f"{FOLDER}/{name}", f"{FOLDER}/pending-{name.partition('run-')[2]}")
                self._delete(name)
        self.state.sync()

    def discard(self) -> None:
        """Remove prepared messages. Call this only with the lock of exports."""
        for name, _ in self._prepared():
            self._delete(name)

    def is_empty(self) -> bool:
        """Return whether nothing is prepared or pending. This creates no folder."""
        return not any(self._prepared()) and not self.names()

    def names(self) -> list[str]:
        """Return the names of pending messages, the oldest first."""
        return sorted(filter(_PENDING.fullmatch, self.state.names(FOLDER)))

    def damaged(self) -> list[str]:
        """Return the paths in the state of messages that `compact` has set aside, the oldest first."""
        return [f"{FOLDER}/{name}" for name in sorted(self.state.names(FOLDER)) if _DAMAGED.fullmatch(name)]

    def read(self, name: str) -> Message | None:
        """Return a pending message; `None` if another process has removed it. Raise `DamagedError`."""
        return read_sealed(self.state, f"{FOLDER}/{name}", _parse, _MAX_BYTES)

    def settle(self, name: str, message: Message, endpoints: Iterable[str]) -> None:
        """Record the endpoints that still need a message. Without endpoints, remove the message."""
        if remaining := tuple(endpoints):
            self._write(name, message._replace(endpoints=remaining))
        else:
            self._delete(name)
            self.state.sync()

    def compact(self, limit: int) -> int:
        """Merge pending messages, so that each URL is submitted once. Return the number of dropped URLs.

        The oldest changed URLs beyond `limit` are dropped. Call this with the lock of submissions.
        """
        names = self.names()
        with closing(sqlite3.connect("")) as table:
            table.create_function("combined", 2, _combined, deterministic=True)
            table.execute(_CREATE)
            for name in reversed(names):
                try:
                    message = self.read(name)
                except DamagedError as error:
                    logger.error("%s, so it is set aside", error)
                    self.state.promote(f"{FOLDER}/{name}", f"{FOLDER}/{name.replace('pending', 'damaged')}")
                    self._delete(name)
                    continue
                if message is not None:
                    kind, host, urls, endpoints = message
                    ids = " ".join(endpoints or ())
                    table.executemany(_INSERT, ((kind, host, url, ids) for url in urls))
            dropped = table.execute(_TRIM, [limit]).rowcount
            if len(names) > 1 or dropped:
                prefix = f"pending-{datetime.now(timezone.utc):%Y%m%dT%H%M%S}-{token_hex(4)}"
                for number, merged_message in enumerate(_merged(table)):
                    self._write(f"{prefix}-{number:06d}.json", merged_message)
                for name in names:
                    self._delete(name)
            self.state.sync()
        return dropped

    def pauses(self) -> dict[str, float]:
        """Return the times, in seconds since 1970, before which no further message may be sent.

        Ignore a time after the end of the longest pause: it was written while the clock was wrong.
        """
        try:
            pauses = read_sealed(self.state, _PAUSES, _parse_pauses, _MAX_BYTES) or {}
        except DamagedError:
            return {}
        latest = time.time() + MAX_PAUSE
        return {key: until for key, until in pauses.items() if until <= latest}

    def write_pauses(self, pauses: Mapping[str, float]) -> None:
        """Replace the pauses. Expired pauses are removed."""
        now = time.time()
        self.state.write(_PAUSES, seal({"pauses": {key: end for key, end in pauses.items() if end > now}}))

    def _prepared(self) -> Iterator[tuple[str, str]]:
        for name in self.state.names(FOLDER):
            if match := _PREPARED.fullmatch(name):
                yield name, match[1]

    def _write(self, name: str, message: Message) -> None:
        self.state.write(f"{FOLDER}/{name}", seal(message._asdict()))

    def _delete(self, name: str) -> None:
        self.state.delete(f"{FOLDER}/{name}")


def _parse_pauses(document: Mapping[str, Any]) -> dict[str, float]:
    return {str(key): float(until) for key, until in document["pauses"].items()}


def _parse(document: Mapping[str, Any]) -> Message:
    kind, host, urls, endpoints = (document[name] for name in ("kind", "host", "urls", "endpoints"))
    if kind not in get_args(MessageKind):
        raise ValueError(f"{kind!r:.100} is not a kind of message")
    if not isinstance(urls, list) or not 1 <= len(urls) <= _URLS_OF_MESSAGE[kind]:
        raise ValueError(f"it must have 1 to {_URLS_OF_MESSAGE[kind]:,} URLs")
    # Others may be able to write the file. Its texts become requests, and lines on a terminal.
    if not host or any(len(url) > _MAX_URL or host_of(url) != host for url in urls):
        raise ValueError("it has a URL that is invalid, too long, or not on its host")
    if endpoints is not None:
        check_names(_ENDPOINT, endpoints or [""])
    return Message(kind, host, tuple(urls), None if endpoints is None else tuple(endpoints))


def _combined(old: str, new: str) -> str:
    """Combine the ids of endpoints; an empty string means all endpoints."""
    return " ".join(sorted({*old.split(), *new.split()})) if old and new else ""


def _merged(table: sqlite3.Connection) -> Iterator[Message]:
    """Yield the entries of a table as messages that are as long as possible."""
    rows = table.execute("SELECT kind, host, endpoints, url FROM entry ORDER BY kind, host, endpoints")
    for (kind, host, endpoints), group in groupby(rows, key=lambda row: row[:3]):
        urls = (row[3] for row in group)
        while batch := tuple(islice(urls, _URLS_OF_MESSAGE[kind])):
            yield Message(kind, host, batch, tuple(endpoints.split()) or None)
