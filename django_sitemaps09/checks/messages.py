"""Create check messages, each with an id and a hint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.core.checks import CheckMessage, Error, Warning


def message(code: str, text: str, hint: str) -> CheckMessage:
    """Return an error for a code such as `E010`, or a warning for a code such as `W010`."""
    kind = Error if code.startswith("E") else Warning
    return kind(text, hint=hint, id=f"sitemaps09.{code}")


def error_text(kind: type[Exception], function: Callable[..., Any], *arguments: object) -> str | None:
    """Call a function. Return the message if it raises an error of this type, otherwise `None`."""
    try:
        function(*arguments)
    except kind as error:
        return str(error)
    return None
