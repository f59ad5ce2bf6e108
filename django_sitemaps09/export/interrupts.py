"""Signals that end a command: raised as one exception, and held back while files are published."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Signals that end a command, each with its default handler.
_DEFAULTS: dict[signal.Signals, Any] = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
}
# Seconds within which a second signal is the first one again: a terminal and a launcher both send one.
_REPEATED = 1.0


class Interrupted(KeyboardInterrupt):
    """Exception for a signal that ends the run; database drivers cancel their query on its base class."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(f"Interrupted by {signal.Signals(number).name}: {what}.")
        self.number = number
        #: The exit status, as in shells.
        self.returncode = 128 + number


class _Handler:
    """Handler that raises at the first signal, or after publishing, and at every later signal."""

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
            raise Interrupted(number, "the next export finishes publishing")
        self.pending = number


_handler: _Handler | None = None


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn signals into `Interrupted`, and restore their handlers afterwards.

    A signal that other code handles or ignores is not changed. Outside of the main thread, none is.
    """
    global _handler
    if threading.current_thread() is not threading.main_thread() or _handler is not None:
        yield
        return
    _handler = _Handler()
    numbers = [number for number, default in _DEFAULTS.items() if signal.getsignal(number) is default]
    try:
        for number in numbers:
            signal.signal(number, _handler)
        yield
    finally:
        _handler = None
        for number in numbers:
            signal.signal(number, _DEFAULTS[number])


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay the first signal until files are published, and raise it then.

    A second signal interrupts publishing, and leaves the journal to the next run. Without
    `interruptible()`, no signal is delayed.
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
        raise Interrupted(handler.pending, "publishing is complete")
