"""Report of a submission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any, Literal, NamedTuple

from django_sitemaps09.notify.messages import Kind


class Outcome(NamedTuple):
    """Outcome of one message at one endpoint; `problem` is `None` if it was accepted.

    A rejected message is not sent again. A pending one is sent again in the next run.
    """

    verdict: Literal["accepted", "rejected", "pending"]
    problem: str | None


@dataclass(slots=True)
class EndpointReport:
    """URLs of one host at one endpoint: how many it accepted and rejected, and how many are pending.

    `kind` is `indexnow` or `ping`. `endpoint` has no query, since that can contain a secret. `status` is
    the last HTTP status. `problem` says what failed. If URLs are pending because of a pause, `resumes`
    is its end, in seconds since 1970. `examples` has the first URLs in a dry run.
    """

    kind: Kind
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
        """Add a message with this outcome."""
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
