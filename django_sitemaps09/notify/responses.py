"""Responses to the requests of a submission."""

from __future__ import annotations

from http import HTTPStatus
from typing import NamedTuple

TOO_MANY = HTTPStatus.TOO_MANY_REQUESTS
#: Seconds to wait after a 429 without a Retry-After. IndexNow asks for ten minutes.
AFTER_TOO_MANY = 600.0
#: Maximum pause in seconds. A longer pause in Retry-After is shortened to this.
MAX_PAUSE = 21_600.0
# Statuses below 500 that mean a temporary failure.
_BUSY = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, TOO_MANY}


class Response(NamedTuple):
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
        try:
            return f"{self.status}: {HTTPStatus(self.status).phrase}"
        except ValueError:
            return f"{self.status}: this is not a known status"
