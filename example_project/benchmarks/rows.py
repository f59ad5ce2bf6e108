"""Rows of the database. They are the same in each run: each row is derived from its number."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import count
from typing import Literal

from articles.models import Article
from demo import rows as demo

Slugs = Literal["ascii", "mixed"]

ADJECTIVES = ("quiet", "northern", "forgotten", "crowded", "windswept", "unlikely", "golden", "hidden")
NOUNS = ("harbours", "lights", "railways", "bakeries", "libraries", "markets", "gardens", "cafes")
PLACES = ("lisbon", "zurich", "reykjavik", "kyoto", "tokyo", "lodz", "aalesund", "marseille")
HOWS = ("by-bicycle", "in-winter", "on-foot", "after-dark", "for-beginners", "by-night", "alone", "by-ship")

START = datetime(2023, 1, 1, tzinfo=timezone.utc)
SECONDS = 3 * 365 * 24 * 3600


def scattered(number: int) -> int:
    """Return 48 bits that look random, so that adjacent rows do not compress unusually well."""
    return (number + 1) * 0x9E3779B97F4A7C15 % 2**64 >> 16


def ascii_slugs() -> Iterator[str]:
    """Yield slugs of about 44 characters that need no percent-encoding."""
    for number in count():
        bits = scattered(number)
        words = ADJECTIVES[bits & 7], NOUNS[bits >> 3 & 7], PLACES[bits >> 6 & 7], HOWS[bits >> 9 & 7]
        yield f"{'-'.join(words)}-{bits >> 12 & 0xFFFF:04x}-{number:07}"


def mixed_slugs() -> Iterator[str]:
    """Yield the slugs of the example; more than half need percent-encoding."""
    return (article.slug for article in demo.articles(10**12, [0]))


def articles(published: int, slugs: Slugs, category_ids: list[int]) -> Iterator[Article]:
    """Yield `published` published articles; one in fifty is unpublished, so that their ids have gaps."""
    unique_slugs = mixed_slugs() if slugs == "mixed" else ascii_slugs()
    for number, slug in enumerate(unique_slugs):
        shown = number % 50 != 25
        yield Article(
            pk=number + 1,
            category_id=category_ids[number * 31 % len(category_ids)],
            slug=slug,
            title=slug.replace("-", " ").title(),
            published=shown,
            updated=START + timedelta(seconds=scattered(number) % SECONDS),
            image_url=f"/images/{number}.svg",
        )
        published -= shown
        if published == 0:
            return
