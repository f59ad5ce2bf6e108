"""Bounds of live pages, which depend on the keys around them and not on a count from the first row.

A page ends at the highest ranked of the keys at which it may end. If the windows of two chains of pages
overlap, they mostly have the same highest key, and the chains are the same from there on. So two maps of a
section, divided before and after a change of rows, differ only in a few pages after the change.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from hashlib import blake2b
from typing import Any, Protocol
from uuid import UUID
from zlib import crc32

from django.utils.crypto import salted_hmac

from django_sitemaps09.pages import Key, Page, split
from django_sitemaps09.sources.changes.identity import KeyIdentity
from django_sitemaps09.sources.rows.members import Members

#: The minimum number of rows on a page, as a percentage of the maximum.
LEAST = 45
# Bits of the widest keys that are integers: UUIDs.
_BITS = 128
# 2 ** 64 by the golden ratio: multiplying by it spreads values over all bits.
_MIXING = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
#: Numbers of live pages that are not exported: exports use at most eight digits.
LIVE_NUMBERS = range(100_000_000, 1_000_000_000)


class BoundedRows(Protocol):
    """Interface of rows whose keys determine where pages end."""

    def bound(self, after: Key | None, until: Key | None, most: int) -> Key | None:
        """Return the key at which a page of at most `most` rows ends; `None` if the rest fits on it."""


def divide(
    rows: BoundedRows, page: Page, most: int, taken_numbers: Set[int] = frozenset()
) -> Iterator[Page]:
    """Yield the parts of a page, each of at most `most` rows.

    The first part keeps its number. Each other part has the number of the bound where it begins, or the
    next one that is not `taken_numbers`.
    """
    taken_numbers = {*taken_numbers, page.number}
    while (end := rows.bound(page.after, page.until, most)) is not None:
        first, page = split(page, end, live_number(end, taken_numbers))
        taken_numbers.add(page.number)
        yield first
    yield page


def live_number(after: Key, taken_numbers: Set[int] = frozenset()) -> int:
    """Return the number of a live page that begins after a key, the same in all processes of a site.

    It does not reveal the key, since keys can reveal how many rows are not published.
    """
    digest = salted_hmac("django_sitemaps09.number", repr(after), algorithm="sha256").digest()
    number = LIVE_NUMBERS[int.from_bytes(digest[:8], "big") % len(LIVE_NUMBERS)]
    while number in taken_numbers:
        number = number + 1 if number + 1 in LIVE_NUMBERS else LIVE_NUMBERS[0]
    return number


def bound(
    members: Members, identity: KeyIdentity, after: Key | None, until: Key | None, most: int
) -> Key | None:
    """Return the key at which a page that begins after `after` ends; `None` if the rest fits on it."""
    key = identity.key
    last = key.parse(until)
    least = -(-most * LEAST // 100)

    low = members.keys(key.parse(after), last, least - 1, 1)
    if not low:
        return None
    if type(low[0]) in (int, UUID) and key.is_ordered_plainly:
        high = members.keys(low[0], last, most - least, 1)
        if not high:
            return None
        end = _landmark_key(low[0], high[0], identity)
        if end is not None:
            return end
    # Python does not know the order of other types, so the bound is one of the keys.
    window = low + members.keys(low[0], last, 0, most - least + 1)
    return key.text(max(window[:-1], key=_rank)) if len(window) == most - least + 2 else None


def _landmark_key(low: Any, high: Any, identity: KeyIdentity) -> Key | None:
    """Return the highest ranked key from `low` up to, but not including, `high`; no row needs to have it.

    Return `None` if the database has another order than Python: MariaDB compares UUIDs from their end.
    """
    if type(high) is not type(low) or low >= high:
        return None
    integer = landmark(int(low), int(high) - 1)
    middle = integer if isinstance(low, int) else UUID(int=integer)
    texts = [identity.key.text(key) for key in dict.fromkeys((low, middle, high))]
    return identity.key.text(middle) if identity.in_order(texts) else None


def landmark(low: int, high: int) -> int:
    """Return the highest ranked integer from `low` to `high`.

    Each block of `2 ** level` integers has a random one that ranks above all integers of lower levels.
    Round numbers would rank as well, but they form rows: two chains of pages could miss each other for
    ever.
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
    # A checksum alone ranks keys that differ in one digit in a pattern. A digest takes five times as long.
    return crc32(str(key).encode(errors="backslashreplace")) * _MIXING & _MASK
