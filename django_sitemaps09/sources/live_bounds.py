"""Bounds of live pages. They depend on the nearest keys, not on a count from the first row.

Each page has a window of keys at which it may end, and ends at the key with the highest rank. If windows of
two page maps overlap, the same key usually has the highest rank in both. From that key on, the maps are
equal. So page maps that are built before and after a change to rows differ only in a few pages after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from hashlib import blake2b
from typing import Any
from uuid import UUID
from zlib import crc32

from django.utils.crypto import salted_hmac

from django_sitemaps09.pages import Key, Page, split
from django_sitemaps09.sources.keys import KeyColumns
from django_sitemaps09.sources.members import Members

#: Minimum number of rows on a page, as a percentage of the maximum.
LEAST = 45
# If there are keys so many windows after a dense one, another page is assumed to follow.
_FAR = 4
# Number of bits of a UUID, the widest key that is compared as an integer.
_BITS = 128
# 2 ** 64 divided by the golden ratio. Multiplication by this number distributes values over all bits.
_MIXING = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
#: Numbers of live pages. Exports use at most eight digits, so no exported page has such a number.
LIVE_NUMBERS = range(100_000_000, 1_000_000_000)


def divide(
    members: Members,
    page: Page,
    most: int,
    taken_numbers: Set[int] = frozenset(),
    number: int | None = None,
) -> Iterator[Page]:
    """Yield the parts of a page, each with at most `most` rows, and with at least `LEAST` percent of them.

    Only an open end can be shorter. The first part keeps the number of the page. The number of every other
    part depends on the bound where it begins. If it is one of `taken_numbers`, the part gets the next free
    number. After the part with `number`, yield the rest undivided.
    """
    taken_numbers = {*taken_numbers, page.number}
    while (end := _first_bound(members, page, most)) is not None:
        first, page = split(page, end, live_number(end, taken_numbers))
        taken_numbers.add(page.number)
        yield first
        if first.number == number:
            break
    yield page


def _first_bound(members: Members, page: Page, most: int) -> Key | None:
    """Return the key at which the first part of a page ends; `None` if the page needs no division."""
    least, greatest = -(-most * LEAST // 100), most
    if page.until is not None:
        after, until = members.key.parse(page.after), members.key.parse(page.until)
        count = members.count_up_to(after, until, 2 * most + 1)
        if count <= most:
            return None
        if count <= 2 * most:
            # What follows is the last part, which must not be shorter or longer than the others.
            least, greatest = max(least, count - most), min(most, count - least)
    return bound(members, page.after, page.until, least, greatest)


def live_number(after: Key, taken_numbers: Set[int] = frozenset()) -> int:
    """Return the number of a live page that begins after a key; all processes of a site use the same one.

    The number does not reveal the key. Keys could show how many rows are not published.
    """
    digest = salted_hmac("django_sitemaps09.number", repr(after), algorithm="sha256").digest()
    number = LIVE_NUMBERS[int.from_bytes(digest[:8], "big") % len(LIVE_NUMBERS)]
    while number in taken_numbers:
        number = number + 1 if number + 1 in LIVE_NUMBERS else LIVE_NUMBERS[0]
    return number


def bound(members: Members, after: Key | None, until: Key | None, least: int, most: int) -> Key | None:
    """Return a key after at least `least` and at most `most` rows; `None` if no rows follow those."""
    key = members.key
    first, last = key.parse(after), key.parse(until)
    low = members.keys(first, last, least - 1, 1)
    if not low:
        return None
    if type(low[0]) in (int, UUID) and key.is_ordered_plainly:
        high: Any = _dense_end(members, first, last, low[0], least, most)
        if high is None:
            high = next(iter(members.keys(low[0], last, most - least, 1)), None)
        if high is None:
            return None
        if (end := _landmark_key(low[0], high, key)) is not None:
            return end
    # The database may order other types differently from Python, so the bound must be an existing key.
    window = low + members.keys(low[0], last, 0, most - least + 1)
    return key.text(max(window[:-1], key=_rank)) if len(window) == most - least + 2 else None


def _dense_end(members: Members, first: Any, last: Any, low: Any, least: int, most: int) -> int | None:
    """Return where the window of a page after `first` ends, if the table has most integers up to `low`.

    No more rows than integers follow, so they need not be counted, which takes more than half of the time.
    Return `None` if few rows may follow, since those need no page of their own.
    """
    window = most - least + 1
    if not type(first) is type(low) is int or low - first >= 2 * least:
        return None
    return low + window if members.keys(low + _FAR * window, last, 0, 1) else None


def _landmark_key(low: Any, high: Any, key: KeyColumns) -> Key | None:
    """Return the key with the highest rank from `low` up to, but not including, `high`.

    The key may not exist in the table. Return `None` if the database orders keys differently from Python:
    MariaDB compares UUIDs from their end.
    """
    if type(high) is not type(low) or low >= high:
        return None
    integer = landmark(int(low), int(high) - 1)
    middle = integer if isinstance(low, int) else UUID(int=integer)
    texts = list(map(key.text, dict.fromkeys((low, middle, high))))
    return key.text(middle) if key.in_order(texts) else None


def landmark(low: int, high: int) -> int:
    """Return the integer with the highest rank from `low` to `high`.

    In each block of `2 ** level` integers, one pseudorandom integer ranks above all integers of lower
    levels. Multiples of `2 ** level` would be simpler. But they are evenly spaced, so two page maps could
    differ in all following pages.
    """
    for level in range(_BITS, -1, -1):
        candidates = []
        for block in range(low >> level, (high >> level) + 1):
            digest = blake2b(b"%d:%d" % (level, block), digest_size=8).digest()
            rank = int.from_bytes(digest, "big")
            candidates.append((rank, (block << level) + (rank << level >> 64)))
        if matches := [pair for pair in candidates if low <= pair[1] <= high]:
            return max(matches)[1]
    raise ValueError(f"There is no integer from {low} to {high}")


def _rank(key: object) -> int:
    # Without the multiplication, ranks of keys that differ in one digit form a pattern. A cryptographic
    # digest is five times slower.
    return crc32(str(key).encode(errors="backslashreplace")) * _MIXING & _MASK
