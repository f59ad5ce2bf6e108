"""A message of a check: its id, and never without a hint."""

from __future__ import annotations

from django.core.checks import CheckMessage, Error, Warning


def message(code: str, text: str, hint: str) -> CheckMessage:
    """`E010` is an error, `W010` a warning; a code is told at one place of this package."""
    kind = Error if code.startswith("E") else Warning
    return kind(text, hint=hint, id=f"sitemaps09.{code}")
