"""The lines that the commands print for a suggestion."""

from __future__ import annotations

from collections.abc import Iterator

from django_sitemaps09.export.report import pluralize
from django_sitemaps09.suggestions import Suggestion


def lines(suggestion: Suggestion) -> Iterator[str]:
    """Yield the lines of a suggestion: what to declare, the code, and the notes."""
    section = suggestion.section
    if suggestion.code is not None:
        speed = ""
        if suggestion.microseconds is not None:
            before, after = suggestion.microseconds
            speed = f", and {before:.1f} -> {after:.1f} microseconds per URL"
        hooks = " and ".join([", ".join(suggestion.hooks[:-1]), suggestion.hooks[-1]]).removeprefix(" and ")
        items = pluralize(suggestion.items, "compared item")
        yield f"{section}: declare {hooks}. Same bytes for {items}{speed}:"
        yield ""
        yield suggestion.code
        yield ""
    for note in suggestion.notes:
        yield f"{section}: {note}"
