"""Freshness: how old the newest lastmod of each exported page is, and the bars that show it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from typing import NamedTuple

from django_sitemaps09.state.manifest import PageRecord

#: Ages by their maximum number of days. Older pages, and pages without a lastmod, follow.
AGES: Mapping[str, int] = {
    "within 1 day": 1,
    "within 7 days": 7,
    "within 30 days": 30,
    "within 90 days": 90,
    "within 1 year": 365,
}
OLDER = "older"
UNKNOWN = "no lastmod"
LABELS = (*AGES, OLDER, UNKNOWN)

# The plot in units of its view box. On a phone, a unit is about a pixel.
_WIDTH = 340
_LABEL_WIDTH = 106
_NUMBER_WIDTH = 56
_ROW = 26
_BAR = 16


class Freshness(NamedTuple):
    """Number of pages and of URLs on these pages, by age of the newest lastmod."""

    pages: Mapping[str, int]
    urls: Mapping[str, int]


class Bar(NamedTuple):
    """Bar of the plot, in units of the view box, with its label and its number of pages."""

    label: str
    pages: int
    number: str
    label_y: int
    x: int
    y: int
    width: int
    height: int
    number_x: int


class Plot(NamedTuple):
    """Bars of a plot. `description` is the content of the plot as a sentence."""

    width: int
    height: int
    bars: Sequence[Bar]
    description: str


def freshness(pages: Iterable[PageRecord], today: date) -> Freshness:
    """Count pages by the age of their newest lastmod, which is known only if all URLs have a lastmod."""
    page_counts: Counter[str] = Counter()
    url_counts: Counter[str] = Counter()
    for page in pages:
        label = _label(page.newest, today)
        page_counts[label] += 1
        url_counts[label] += page.urls
    return Freshness(page_counts, url_counts)


def _label(lastmod: str | None, today: date) -> str:
    with suppress(ValueError):
        # The month or the day can be missing in the W3C format.
        day = date.fromisoformat(f"{lastmod or ''}-01-01"[:10])
        age = (today - day).days
        return next((label for label, days in AGES.items() if age <= days), OLDER)
    return UNKNOWN


def plot(counts: Mapping[str, int]) -> Plot:
    """Return horizontal bars for the number of pages of each age."""
    highest = max(counts.values(), default=0) or 1
    most = _WIDTH - _LABEL_WIDTH - _NUMBER_WIDTH
    bars = []
    for row, label in enumerate(LABELS):
        count, y = counts.get(label, 0), row * _ROW
        # The bar of a single page is visible, too.
        width = max(2, round(most * count / highest)) if count else 0
        x = _LABEL_WIDTH + width
        bars.append(
            Bar(
                label,
                count,
                number=f"{count:,}",
                label_y=y + _BAR + 2,
                x=_LABEL_WIDTH,
                y=y + (_ROW - _BAR) // 2,
                width=width,
                height=_BAR,
                number_x=x + 6,
            )
        )
    total = sum(counts.values())
    parts = ", ".join(f"{label}: {counts[label]:,}" for label in LABELS if counts.get(label))
    description = f"{total:,} pages by the age of their newest lastmod. {parts or 'There are no pages'}."
    return Plot(_WIDTH, len(LABELS) * _ROW, bars, description)
