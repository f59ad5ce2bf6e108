"""Standard streams that can fail without ending the command."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress
from typing import Any

logger = logging.getLogger(__name__)


class LenientStream:
    """A stream that ignores output if the wrapped stream is missing or has failed.

    A stream fails if the process that reads a pipe has exited, the disk is full, or the file is closed.
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
            # A reader such as `head` can end early, so do not warn.
            if not isinstance(error, BrokenPipeError):
                logger.warning("Cannot write to %s: %s", self._name, error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def flush_or_discard() -> None:
    """Flush the standard streams. If this fails, discard their output to keep the exit status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError), open(os.devnull, "w") as null:  # noqa: PTH123
                os.dup2(null.fileno(), stream.fileno())
