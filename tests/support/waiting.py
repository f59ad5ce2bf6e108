"""Waiting for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds; less than pytest's own limit, so that the message names the condition.
DEADLINE = 60


def until(condition: Callable[[], object], what: str) -> None:
    """Return when a condition is true; raise `TimeoutError` with `what` after the deadline."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.01)
