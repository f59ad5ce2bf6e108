"""Let exceptions in the caller's callbacks end the export instead of failing one section."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class _CallbackError(BaseException):
    """Wrapper that carries an exception past handlers that would report it as a section's failure."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


def wrap_callback(callback: Callable[..., object]) -> Callable[..., None]:
    """Return a callback whose exceptions are wrapped so that only `unwrap_errors()` catches them."""

    def call(*arguments: Any) -> None:
        try:
            callback(*arguments)
        except Exception as error:  # noqa: BLE001 a callback can raise anything
            raise _CallbackError(error) from None

    return call


@contextmanager
def unwrap_errors() -> Iterator[None]:
    """Raise the original exception of a callback that `wrap_callback()` wrapped."""
    original: Exception | None = None
    try:
        yield
    except _CallbackError as wrapper:
        original = wrapper.error
    if original is not None:
        raise original
