"""Waiting for something to happen, but not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds. Less than pytest's own limit, so that what did not happen is named.
DEADLINE = 60


def until(condition: Callable[[], object], what: str) -> None:
    """Return when a condition is true; raise `TimeoutError` with `what` after the deadline."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.01)
