"""Search engines: the keys for them, what they are sent and respond, and the reports of both."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from http import HTTPStatus
from http.client import responses
from typing import Any, Literal, NamedTuple
from urllib.parse import quote

from django_sitemaps09.export.notify.ledger import Message, MessageKind

#: Seconds after which the same page may be submitted again, as IndexNow asks for.
PAUSE = 300.0
TOO_MANY = HTTPStatus.TOO_MANY_REQUESTS
#: Seconds to wait after a 429 without a Retry-After. IndexNow asks for ten minutes.
AFTER_TOO_MANY = 600.0
#: Maximum pause in seconds. A longer pause in Retry-After is shortened to this.
MAX_PAUSE = 21_600.0
# Statuses below 500 that mean a temporary failure.
_BUSY = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, TOO_MANY}
# Statuses of IndexNow.
_REJECTED = {
    HTTPStatus.BAD_REQUEST: "the message was invalid, and is not sent again",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "the message was too large, and is not sent again",
    HTTPStatus.UNPROCESSABLE_ENTITY: "URLs do not belong to the host or to the key, and are not sent again",
}
_KEY_STATUSES = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}


def generate_key() -> str:
    """Return a new random key of 32 hexadecimal digits, which all search engines accept."""
    return secrets.token_hex(16)


class EngineResponse(NamedTuple):
    """Response to a request: `status` is `None` without a response, and `problem` says why.

    `retry_after` is the pause in seconds that the server asks for, or `None`.
    """

    status: int | None
    retry_after: float | None = None
    problem: str | None = None

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_temporary(self) -> bool:
        """Return whether the same request can succeed later."""
        return self.status is None or self.status in _BUSY or self.status >= 500

    @property
    def failure(self) -> str:
        """Reason for the failure, without anything from the server except its status."""
        if self.status is None:
            return self.problem or "the request failed"
        if 300 <= self.status < 400:
            return f"{self.status}: it redirects, but redirects are not followed; set its final URL"
        return f"{self.status}: {responses.get(self.status, 'this is not a known status')}"


class Outcome(NamedTuple):
    """Outcome of one message at one endpoint; `problem` is `None` if it was accepted.

    A rejected message is not sent again. A pending one is sent again in the next run.
    """

    verdict: Literal["accepted", "rejected", "pending"]
    problem: str | None


def request(endpoint: str, message: Message, key: str | None) -> tuple[str, bytes | None]:
    """Return the URL and the body of a request: the JSON of IndexNow, or the ping of the protocol."""
    if message.kind == "ping":
        [url] = message.urls
        return f"{endpoint}{'&' if '?' in endpoint else '?'}sitemap={quote(url, safe='')}", None
    body = {"host": message.host, "key": key, "urlList": message.urls}
    return endpoint, json.dumps(body).encode()


def outcome(response: EngineResponse, message: Message) -> Outcome:
    """Return what a response means for the message. A problem with the key names the host."""
    status = response.status
    if response.is_success:
        # 202 of IndexNow: received, but the key is not verified yet.
        return Outcome("accepted", None)
    if message.kind == "ping":
        return Outcome("pending" if response.is_temporary else "rejected", response.failure)
    if status in _REJECTED:
        return Outcome("rejected", f"{status}: {_REJECTED[HTTPStatus(status)]}")
    if status in _KEY_STATUSES:
        problem = f"the key was not accepted. Check that its key file is served by {message.host}"
        return Outcome("pending", f"{status}: {problem}")
    return Outcome("pending", response.failure)


@dataclass(slots=True)
class EndpointReport:
    """URLs of one host at one endpoint: how many it accepted and rejected, and how many are pending.

    `kind` is `indexnow` or `ping`. `endpoint` has no query, since that can contain a secret. `status` is
    the last HTTP status. `problem` says what failed. If URLs are pending because of a pause, `resumes`
    is its end, in seconds since 1970. `examples` has the first URLs in a dry run.
    """

    kind: MessageKind
    endpoint: str
    host: str
    accepted: int = 0
    rejected: int = 0
    pending: int = 0
    messages: int = 0
    status: int | None = None
    problem: str | None = None
    resumes: float | None = None
    examples: tuple[str, ...] = ()

    def count(self, outcome: Outcome, urls: int) -> None:
        if outcome.verdict == "accepted":
            self.accepted += urls
        elif outcome.verdict == "rejected":
            self.rejected += urls
        else:
            self.pending += urls
        self.problem = outcome.problem or self.problem


@dataclass(frozen=True, slots=True)
class Submission:
    """Result of a submission for one target. `dropped` counts the oldest URLs beyond the limit.

    `damaged` names the messages that cannot be read, relative to the state folder. `unqueued` is true if
    changes were published but not queued. A dry run sends nothing, so all its URLs are pending.
    """

    target: str
    endpoints: Sequence[EndpointReport]
    seconds: float
    dropped: int = 0
    dry_run: bool = False
    damaged: tuple[str, ...] = ()
    unqueued: bool = False

    @property
    def failures(self) -> list[str]:
        """Messages about what was not accepted."""
        failures = [
            f"{report.endpoint} ({report.host}): {report.problem}"
            for report in self.endpoints
            if report.problem is not None
        ]
        if self.dropped:
            failures.append(
                f"{self.target}: URLs dropped, because more than INDEXNOW_MAX_URLS were pending: "
                f"{self.dropped:,}."
            )
        failures += [
            f"{self.target}: the message {name} in the state folder is damaged, so its URLs are not "
            "submitted. Remove the file."
            for name in self.damaged
        ]
        if self.unqueued:
            failures.append(
                f"{self.target}: changes were published that could not be queued. The next export with "
                "--submit queues all URLs of their pages, except damaged ones: repair these with "
                "export_sitemaps --verify --repair."
            )
        return failures

    def as_dict(self) -> dict[str, Any]:
        """Return the result as a dict for JSON."""
        data = asdict(self)
        for report in data["endpoints"]:
            resumes = report["resumes"]
            report["resumes"] = resumes and datetime.fromtimestamp(resumes, timezone.utc).isoformat()
        return {**data, "failures": self.failures}
