"""Signals that end a command: raised as one exception, and held back while files are published."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Signals that end a command, each with the handler that it has if nobody else handles it.
_DEFAULTS: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
# Seconds within which a second signal is the first one again: a terminal and a launcher both send one.
_REPEATED = 1.0


class Interrupted(KeyboardInterrupt):
    """Raised where a signal ends the run; drivers of databases cancel their query on its base class."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(f"Interrupted by {signal.Signals(number).name}: {what}.")
        self.number = number
        #: The exit status, as shells have it.
        self.returncode = 128 + number


class _Handler:
    """Raises at the first signal, or when publishing has ended; at the next one in any case."""

    def __init__(self) -> None:
        self.is_publishing = False
        self.pending: int | None = None
        self._last: float | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now, last = time.monotonic(), self._last
        if last is not None and now - last < _REPEATED:
            return
        self._last = now
        if not self.is_publishing:
            raise Interrupted(number, "nothing more is published")
        if last is not None:
            raise Interrupted(number, "the next export finishes what this one was publishing")
        self.pending = number


_handler: _Handler | None = None


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn signals into `Interrupted`, and restore their handlers afterwards.

    A signal that somebody else handles or ignores stays as it is, and all do outside of the main thread.
    """
    global _handler
    if threading.current_thread() is not threading.main_thread() or _handler is not None:
        yield
        return
    _handler = _Handler()
    taken = [number for number, usual in _DEFAULTS.items() if signal.getsignal(number) is usual]
    try:
        for number in taken:
            signal.signal(number, _handler)
        yield
    finally:
        _handler = None
        for number in taken:
            signal.signal(number, _DEFAULTS[number])


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold a first signal back until files are published; it is raised at the end.

    A second one breaks publishing off, and leaves its journal to the next run. Without `interruptible()`
    nothing is held back.
    """
    handler = _handler
    if handler is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    handler.is_publishing = True
    try:
        yield
    finally:
        handler.is_publishing = False
    if handler.pending is not None:
        raise Interrupted(handler.pending, "what was being published is published")
