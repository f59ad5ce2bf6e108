"""Skip and report rows that cannot be read, such as a row with a date that Python cannot represent."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from django_sitemaps09.entries import ItemError, reason_of
from django_sitemaps09.orm.traits import UNREADABLE

# After this number of consecutive unreadable rows, reading fails.
_FAILURES = 100

ResultT = TypeVar("ResultT")


class UnreadableRow(NamedTuple):
    """Place of an unreadable row, and the reason why it cannot be read."""

    place: int
    reason: str

    def error(self, key: Hashable) -> ItemError:
        """Return the error that reports the row as skipped."""
        return ItemError(str(key), "row", f"cannot be read: {self.reason}")


def read_each(fetch: Callable[[range], ResultT], places: range) -> Iterator[ResultT | UnreadableRow]:
    """Yield the results of `fetch` for a range of positions. Halve the range to find unreadable rows.

    If `fetch` fails for a hundred consecutive rows, raise its error. In this case, the project or the
    database is broken, and a query for each row would take too long.
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
            # Keep only the text: the traceback of the error would keep the query alive.
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
    """Return the rows with these keys, and the errors for unreadable rows.

    `fetch` returns the rows after one key, up to another key.
    """
    rows: list[Any] = []
    errors: list[ItemError] = []
    bounds = [after, *keys]
    if not keys:
        return rows, errors
    fetch_part = lambda places: fetch(bounds[places.start], bounds[places.stop])  # noqa: E731
    for part in read_each(fetch_part, range(len(keys))):
        if isinstance(part, UnreadableRow):
            errors.append(part.error(keys[part.place]))
        else:
            rows += part
    return rows, errors
