"""Convert dates and times to strings for `lastmod`."""

from __future__ import annotations

import re
from calendar import isleap, monthrange
from collections.abc import Sequence
from datetime import date, datetime, timezone, tzinfo

from django_sitemaps09.entries import SafeColumn

_TO_ZERO = bytes.maketrans(b"123456789", b"000000000")
# Translation tables for bytes that represent numbers. For an invalid month or day, the sum is never in
# `_MONTH_ENDS`.
_VALUES = bytes(max(byte - ord("0"), 0) for byte in range(256))
_MONTHS = bytes(month if month <= 12 else 15 for month in range(256))
_BEHIND_28 = bytes(max(day - 28, 0) if 1 <= day <= 31 else 63 for day in range(256))
_MONTH_ENDS = {
    4 * month + behind for month in range(1, 13) for behind in range(monthrange(2000, month)[1] - 27)
}
_FRACTION = re.compile(r"(?<=:[0-9][0-9])\.[0-9]{1,6}(?=[+\n])")


def w3c(value: date, zone: tzinfo) -> str:
    """Return a date as `2026-01-31`, and a datetime in UTC and whole seconds as `2026-01-31T10:30:00Z`.

    Unlike most formats, these are valid in the W3C note *and* the XSD. A naive datetime is interpreted in
    `zone`. The strings can be sorted by time.
    """
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        value = value.replace(tzinfo=zone)
    if value.tzinfo is timezone.utc:
        # Return the same string as the last line, in half the time.
        return f"{value.isoformat('T', 'seconds')[:19]}Z"
    return f"{value.astimezone(timezone.utc).replace(tzinfo=None).isoformat('T', 'seconds')}Z"


def w3c_texts(texts: Sequence[str | None], *, times: bool, zone: str = "") -> Sequence[str | None] | None:
    """Convert dates or UTC times that a database returns as strings, like `2026-01-31 10:30:00.25`.

    Each time ends in `zone`. The results are the same as from `w3c()`, in a fifth of the time. Return
    `None` if a string has another format, or if the day or the time does not exist.
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
        # A value has an offset other than `zone`, with the same number of digits.
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
    months, days = _two_digits(lines, 5, width), _two_digits(lines, 8, width)
    # Combine the month and the days after the 28th into one number, for all lines in one step.
    ends = {*_sums(months.translate(_MONTHS), 4, days.translate(_BEHIND_28))}
    if "0000-" in lines or not ends <= _MONTH_ENDS:
        return False
    leap_days = {part[-4:] for part in lines.split("-02-29")[:-1]}
    return all(map(isleap, map(int, leap_days)))


def _are_times(lines: str, width: int) -> bool:
    hours, minutes, seconds = (_two_digits(lines, place, width) for place in (11, 14, 17))
    return {*hours} <= {*range(24)} and {*minutes, *seconds} <= {*range(60)}


def _two_digits(lines: str, place: int, width: int) -> bytes:
    """Return the two-digit numbers at a position of each line, as one byte for each line."""
    tens, ones = (lines[start::width].encode().translate(_VALUES) for start in (place, place + 1))
    return _sums(tens, 10, ones)


def _sums(left: bytes, factor: int, right: bytes) -> bytes:
    """Return `factor * left + right` for each pair of bytes, computed in one step. No byte may overflow."""
    total = factor * int.from_bytes(left, "big") + int.from_bytes(right, "big")
    return total.to_bytes(len(left), "big")


def drop_future(lastmod: str | None) -> str | None:
    """Return a lastmod, or `None` if it is in the future: a missing lastmod is better than a wrong one."""
    now = w3c(datetime.now(timezone.utc), timezone.utc)
    return lastmod if lastmod is not None and lastmod <= now else None
