"""The plot of freshness: the ages of pages, and bars within the plot."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, strategies as st

from django_sitemaps09.inspector.overview import LABELS, freshness
from django_sitemaps09.inspector.tables import plot
from django_sitemaps09.state.manifest import PageFile

TODAY = date(2026, 11, 23)


def page(newest: str | None) -> PageFile:
    return PageFile("sitemap-a-1.xml.gz", 1, None, None, 10, 100, 50, lastmod=newest)


@pytest.mark.parametrize(
    ("newest", "label"),
    [
        ("2026-11-23", "within 1 day"),
        ("2026-11-22T00:00:00Z", "within 1 day"),
        ("2026-11-21T23:59:59+01:00", "within 7 days"),
        ("2026-11-16", "within 7 days"),
        ("2026-11-15", "within 30 days"),
        ("2026-10-01", "within 90 days"),
        ("2026-01", "within 1 year"),
        ("2024", "older"),
        ("2031-01-01", "within 1 day"),
        (None, "no lastmod"),
        ("<script>", "no lastmod"),
        ("", "no lastmod"),
    ],
)
def test_a_page_has_the_age_of_its_newest_lastmod(newest: str | None, label: str) -> None:
    assert freshness([page(newest)], TODAY) == {label: 1}


@given(st.lists(st.integers(0, 3_000)))
def test_every_page_is_counted_once(days: list[int]) -> None:
    pages = [page((TODAY - timedelta(days=number)).isoformat()) for number in days]
    assert freshness(pages, TODAY).total() == len(days)


@given(st.dictionaries(st.sampled_from(LABELS), st.integers(1, 10**7)))
def test_bars_and_numbers_are_inside_the_plot(counts: dict[str, int]) -> None:
    drawn = plot(counts)
    assert [bar.label for bar in drawn.bars] == list(LABELS)
    for bar in drawn.bars:
        assert (bar.width > 0) == (counts.get(bar.label, 0) > 0)
        # A digit is at most 8 units wide.
        assert bar.x + bar.width + 6 <= drawn.width - min(50, 5 * len(bar.number))
        assert bar.y + bar.height <= drawn.height
    ordered = sorted(drawn.bars, key=lambda bar: bar.pages)
    assert [bar.width for bar in ordered] == sorted(bar.width for bar in ordered)
    assert drawn.description.startswith(f"{sum(counts.values()):,} pages")
