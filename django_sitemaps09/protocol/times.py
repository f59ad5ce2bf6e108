"""Dates and times as the text of a `lastmod`."""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from collections.abc import Sequence
from datetime import date, datetime, timezone, tzinfo

from django_sitemaps09.entries import SafeColumn

_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
# Tables for bytes that stand for numbers. Invalid months and days become numbers whose sums are not in
# `_MONTH_ENDS`.
_VALUES = bytes(max(byte - ord("0"), 0) for byte in range(256))
_MONTHS = bytes(month if month <= 12 else 15 for month in range(256))
_BEHIND_28 = bytes(max(day - 28, 0) if 1 <= day <= 31 else 63 for day in range(256))
_MONTH_ENDS = {
    4 * month + behind for month in range(1, 13) for behind in range(monthrange(2000, month)[1] - 27)
}
_FRACTION = re.compile(r"(?<=:[0-9][0-9])\.[0-9]{1,6}(?=[+\n])")


def w3c(value: date, zone: tzinfo) -> str:
    """Return a date as `2026-01-31`, and a datetime as `2026-01-31T10:30:00Z`: in UTC, in whole seconds.

    Both forms are in the W3C note *and* in the XSD; most others are in only one of them. A naive
    datetime is taken to be in `zone`. Of two texts made here, the later one sorts after the earlier one.
    """
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        value = value.replace(tzinfo=zone)
    if value.tzinfo is timezone.utc:
        # This returns the same text as the line below, in half the time.
        return f"{value.isoformat('T', 'seconds')[:19]}Z"
    return f"{value.astimezone(timezone.utc).replace(tzinfo=None).isoformat('T', 'seconds')}Z"


def w3c_texts(texts: Sequence[str | None], *, times: bool, zone: str = "") -> Sequence[str | None] | None:
    """Convert dates, or times in UTC, from the text of databases: `2026-01-31 10:30:00.25` and `zone`.

    The texts are those that `w3c` returns for these values, in a fifth of the time. Return `None` if a
    text has another form, or names a day or time that does not exist.
    """
    values = [text for text in texts if text is not None] if None in texts else texts
    if not values:
        return texts
    if {*map(type, values)} != {str}:
        return None
    content = "\n".join(values) + "\n"  # type: ignore[arg-type]
    if times and "." in content:
        content = _FRACTION.sub("", content)
    line = f"0000-00-00 00:00:00{zone}\n" if times else "0000-00-00\n"
    if not content.isascii() or content.encode().translate(_TO_ZERO) != line.encode() * len(values):
        return None
    if zone and content.count(f"{zone}\n") != len(values):
        # A text has another zone with the same number of digits.
        return None
    if not _are_days(content, len(line)) or (times and not _are_times(content, len(line))):
        return None
    if times:
        content = content.replace(" ", "T").replace(f"{zone}\n", "Z\n")
    lines = SafeColumn(content.splitlines())
    if values is texts:
        return lines
    remaining = iter(lines)
    return [None if text is None else next(remaining) for text in texts]


def _are_days(lines: str, width: int) -> bool:
    """Return whether each line begins with a day that exists."""
    months, days = _two_digits(lines, 5, width), _two_digits(lines, 8, width)
    # One number combines the month with the days after its 28th, for all lines in one step.
    ends = {*_sums(months.translate(_MONTHS), 4, days.translate(_BEHIND_28))}
    if "0000-" in lines or not ends <= _MONTH_ENDS:
        return False
    leap_days = {part[-4:] for part in lines.split("-02-29")[:-1]}
    return all(map(isleap, map(int, leap_days)))


def _are_times(lines: str, width: int) -> bool:
    """Return whether the time after the day in each line exists."""
    hours, minutes, seconds = (_two_digits(lines, place, width) for place in (11, 14, 17))
    return {*hours} <= {*range(24)} and {*minutes, *seconds} <= {*range(60)}


def _two_digits(lines: str, place: int, width: int) -> bytes:
    """Return the two-digit number at a position of each line, one byte for each."""
    tens, ones = (lines[start::width].encode().translate(_VALUES) for start in (place, place + 1))
    return _sums(tens, 10, ones)


def _sums(left: bytes, factor: int, right: bytes) -> bytes:
    """Return `factor * left + right` for each pair of bytes, as one long number, since none carries."""
    total = factor * int.from_bytes(left, "big") + int.from_bytes(right, "big")
    return total.to_bytes(len(left), "big")


def drop_future(lastmod: str | None) -> str | None:
    """Return a lastmod, or `None` if it is in the future: no lastmod is better than a wrong one."""
    now = w3c(datetime.now(timezone.utc), timezone.utc)
    return lastmod if lastmod is not None and lastmod <= now else None
