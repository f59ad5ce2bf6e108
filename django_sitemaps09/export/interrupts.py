"""Raise the signals that end a command as one exception, and delay them while files are published.

Also end exports and pages at the time limit of a queue.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from math import inf
from types import FrameType
from typing import Any

# Signals that end a command, each with its default handler.
_DEFAULTS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
# Signals for time limits: the soft limit of Celery, and the limit of RQ.
_LIMITS = [getattr(signal, name) for name in ("SIGUSR1", "SIGALRM") if hasattr(signal, name)]
# Seconds for which a second signal is ignored, since a terminal and a launcher may both send one.
_REPEATED = 1.0


class Interrupted(KeyboardInterrupt):
    """Exception for a signal that ends the run. Its base class makes database drivers cancel queries."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(f"Interrupted by {signal.Signals(number).name}: {what}.")
        self.number = number
        #: Exit status by shell convention.
        self.returncode = 128 + number


class _Handler:
    """Signal handler that raises at once; the first signal during publishing is raised afterwards."""

    is_publishing = False
    pending: int | None = None
    _last = -inf

    def __call__(self, number: int, frame: FrameType | None) -> None:
        now, last = time.monotonic(), self._last
        if now - last < _REPEATED:
            return
        self._last = now
        if not self.is_publishing:
            raise Interrupted(number, "nothing further was published")
        if last > -inf:
            raise Interrupted(number, "publishing is incomplete, and the next export will finish it")
        self.pending = number


@contextmanager
def _handling(handlers: Mapping[signal.Signals, Any]) -> Iterator[None]:
    """Handle signals inside the block. Outside of the main thread, do nothing."""
    is_main = threading.current_thread() is threading.main_thread()
    previous = {number: signal.getsignal(number) for number in handlers if is_main}
    try:
        for number in previous:
            signal.signal(number, handlers[number])
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def interruptible() -> AbstractContextManager[None]:
    """Raise `Interrupted` for signals inside the block.

    Signals that other code handles or ignores are not changed. Outside of the main thread, do nothing.
    """
    handler = _Handler()
    return _handling({each: handler for each in _DEFAULTS if signal.getsignal(each) is _DEFAULTS[each]})


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay the first signal until the block ends; a second signal interrupts the block.

    The next run finishes interrupted publishing. Outside of `interruptible()` and of the main thread, do
    nothing.
    """
    is_main = threading.current_thread() is threading.main_thread()
    handlers = map(signal.getsignal, _DEFAULTS if is_main else ())
    handler = next((each for each in handlers if isinstance(each, _Handler)), _Handler())
    handler.is_publishing = True
    try:
        yield
    finally:
        handler.is_publishing = False
    if handler.pending is not None:
        raise Interrupted(handler.pending, "the publication in progress was completed first")


class Carrier(KeyboardInterrupt):
    """Exception that carries its cause past handlers that would only skip an item or a section."""


def carrying(function: Callable[..., object]) -> Callable[..., None]:
    """Return the function with each of its exceptions carried."""

    def call(*arguments: Any) -> None:
        try:
            function(*arguments)
        except Exception as error:
            raise Carrier from error

    return call


@contextmanager
def raising_carried() -> Iterator[None]:
    """Raise the cause of a carrier where the block ends."""
    try:
        yield
    except Carrier as carrier:
        raise carrier.__cause__ or carrier from None


@contextmanager
def time_limited() -> Iterator[None]:
    """End the block with the exception that the handler of a time limit raises."""
    handlers = {number: signal.getsignal(number) for number in _LIMITS}
    carriers = {each: carrying(handler) for each, handler in handlers.items() if callable(handler)}
    with raising_carried(), _handling(carriers):
        yield
