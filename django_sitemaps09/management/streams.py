"""Standard streams of a command, whose failure does not end it."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from typing import Any

logger = logging.getLogger(__name__)


class Lenient:
    """Stream that is not written to if it is missing, or after it failed.

    It fails if the reader of a pipe has ended, if the disk is full, or if the file is closed.
    """

    def __init__(self, stream: Any, name: str) -> None:
        self._stream, self._name = stream, name
        self._failed = stream is None

    def write(self, text: str) -> None:
        self._try("write", text)

    def flush(self) -> None:
        self._try("flush")

    def isatty(self) -> bool:
        return not self._failed and hasattr(self._stream, "isatty") and bool(self._stream.isatty())

    def _try(self, method: str, *arguments: str) -> None:
        if self._failed:
            return
        try:
            getattr(self._stream, method)(*arguments)
        except (OSError, ValueError) as error:
            self._failed = True
            # A reader that ends early, as `head` does, needs no warning.
            if not isinstance(error, BrokenPipeError):
                logger.warning("Cannot write to %s: %s", self._name, error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def settle() -> None:
    """Drop what standard streams cannot write, which would otherwise change the exit status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError), open(os.devnull, "w") as null:  # noqa: PTH123
                os.dup2(null.fileno(), stream.fileno())
