"""Sections that several test modules declare."""

from __future__ import annotations

from collections.abc import Sequence

from django_sitemaps09 import Sitemap


class Numbers(Sitemap[int]):
    """Section of the numbers from `start` on, without a database and without a key."""

    numbers: Sequence[int]

    def __init__(self, count: int, start: int = 0) -> None:
        self.numbers = range(start, start + count)

    def items(self) -> Sequence[int]:
        return self.numbers

    def location(self, item: int) -> str:
        return f"/numbers/{item}/"
