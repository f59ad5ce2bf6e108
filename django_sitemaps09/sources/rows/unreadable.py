"""Skip rows that cannot be read, such as one with a date that Python does not have."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from django.core.exceptions import ValidationError
from django.db import DataError

from django_sitemaps09.entries import ItemError, reason_of

#: Exceptions of drivers and fields for values that they cannot convert: infinity, the year 10000,
#: 2020-02-30. AttributeError: Django uses the time zone of a value that it could not parse from SQLite.
UNREADABLE = (DataError, ValueError, ArithmeticError, ValidationError, AttributeError)

# Consecutive rows that may be unreadable before reading is given up.
_FAILURES = 100

ResultT = TypeVar("ResultT")


class UnreadableRow(NamedTuple):
    """Row that cannot be read, with its place and the reason."""

    place: int
    reason: str

    def error(self, key: Hashable) -> ItemError:
        """Return the error that names the skipped item."""
        return ItemError(str(key), "row", f"cannot be read: {self.reason}")


def read_each(fetch: Callable[[range], ResultT], places: range) -> Iterator[ResultT | UnreadableRow]:
    """Yield what `fetch` returns for the rows at several places, halved until a failing row is alone.

    Raise the error of `fetch` if it fails for a hundred consecutive rows. Then the project or the database
    is broken, and reading each of its rows would take a query for each.
    """
    remaining, failures = [places], 0
    while remaining:
        part = remaining.pop()
        try:
            result = fetch(part)
        except UNREADABLE as error:
            failures += len(part) == 1
            if failures == _FAILURES:
                raise
            # Not the error itself, whose traceback would keep the query alive.
            reason = reason_of(error)
        else:
            failures = 0
            yield result
            continue
        if len(part) == 1:
            yield UnreadableRow(part.start, reason)
        else:
            middle = len(part) // 2
            remaining += [part[middle:], part[:middle]]


def read_rows(
    fetch: Callable[[Hashable | None, Hashable], Sequence[Any]],
    after: Hashable | None,
    keys: Sequence[Hashable],
) -> tuple[list[Any], list[ItemError]]:
    """Return the rows of several keys, and the errors of those that cannot be read.

    `fetch` returns the rows of a range of keys.
    """
    rows: list[Any] = []
    errors: list[ItemError] = []
    bounds = [after, *keys]
    if not keys:
        return rows, errors
    for part in read_each(
        lambda places: fetch(bounds[places.start], bounds[places.stop]), range(len(keys))
    ):
        if isinstance(part, UnreadableRow):
            errors.append(part.error(keys[part.place]))
        else:
            rows += part
    return rows, errors
