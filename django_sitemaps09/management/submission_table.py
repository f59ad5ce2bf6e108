"""Formatting of a submission as text: a table of endpoints and hosts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from django_sitemaps09.management.columns import aligned
from django_sitemaps09.notify import EndpointReport, Submission

_HEAD = ("endpoint", "host", "messages", "accepted", "rejected", "pending", "status")
# The first columns are text and aligned to the left, all others are numbers.
_TEXTS = 2


def lines(submission: Submission) -> Iterator[str]:
    """Yield the lines of a submission. Its failures are printed as errors."""
    if not submission.endpoints:
        yield f"{submission.target}: nothing is pending"
        return
    yield f"{submission.target}: {'to submit' if submission.dry_run else 'submitted'}"
    yield from aligned([_HEAD, *map(_row, submission.endpoints)], _TEXTS)
    for report in submission.endpoints:
        if report.resumes is not None:
            time = datetime.fromtimestamp(report.resumes, timezone.utc)
            yield f"{report.endpoint} ({report.host}): nothing more is sent before {time:%H:%M:%S} UTC"
        for example in report.examples:
            yield f"{report.endpoint}: {example}"


def _row(report: EndpointReport) -> tuple[str, ...]:
    numbers = (report.messages, report.accepted, report.rejected, report.pending)
    status = "-" if report.status is None else str(report.status)
    return report.endpoint, report.host, *(f"{number:,}" for number in numbers), status
