"""Callbacks of a caller, whose exceptions end the export instead of failing a section."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class _Raised(BaseException):
    """Carries an exception past the handlers that would report it as a section's failure."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def outwards(callback: Callable[..., object]) -> Callable[..., None]:
    """Return the callback, with its exceptions wrapped so that only `unchanged()` catches them."""

    def call(*arguments: Any) -> None:
        try:
            callback(*arguments)
        except Exception as error:  # noqa: BLE001 a callback can raise anything
            raise _Raised(error) from None

    return call


@contextmanager
def unchanged() -> Iterator[None]:
    """Raise the original exception of a callback that was wrapped by `outwards()`."""
    found: Exception | None = None
    try:
        yield
    except _Raised as raised:
        found = raised.error
    if found is not None:
        raise found
