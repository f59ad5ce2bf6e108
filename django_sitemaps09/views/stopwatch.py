"""Log lines at the level DEBUG about the steps of a live request, with the time that each step took."""

from __future__ import annotations

import logging
from time import perf_counter

# One logger for all steps, whichever module takes them.
logger = logging.getLogger("django_sitemaps09.views")


class Stopwatch:
    """Measures a step of a request from the creation of this object on, and logs its result.

    All lines have the same form: the subject, the result, the time, and the size of what was returned.
    """

    __slots__ = ("_started", "_subject")

    def __init__(self, subject: str) -> None:
        self._subject, self._started = subject, perf_counter()

    def log(self, result: str, size: int | None = None, unit: str = "byte") -> None:
        """Log the result of the step."""
        of_size = "" if size is None else f", {size} {unit}" if size == 1 else f", {size} {unit}s"
        seconds = perf_counter() - self._started
        logger.debug("%s: %s in %.4f seconds%s", self._subject, result, seconds, of_size)


def map_subject(section: str) -> str:
    """Return the subject of log lines about a page map."""
    return f"Section {section!r}, page map"


def page_subject(section: str, number: int | str) -> str:
    """Return the subject of log lines about a page."""
    return f"Section {section!r}, page {number}"


def status_result(status: int, etag_from: str) -> str:
    """Return the result of a response, with the source of the ETag if that decided the status."""
    return f"status {status}" + (f" by {etag_from}" if status != 200 else "")
