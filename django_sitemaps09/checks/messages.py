"""Create check messages, each with an id and a hint."""

from __future__ import annotations

from django.core.checks import CheckMessage, Error, Warning


def message(code: str, text: str, hint: str) -> CheckMessage:
    """Return an error for a code such as `E010`, or a warning for one such as `W010`.

    A code is used in only one place of this package.
    """
    kind = Error if code.startswith("E") else Warning
    return kind(text, hint=hint, id=f"sitemaps09.{code}")
