"""The plot of freshness: the ages of pages, and bars within the plot."""

from __future__ import annotations

from datetime import date, timedelta
from xml.etree import ElementTree

import pytest
from django.template.loader import render_to_string
from django.test import override_settings
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


@given(st.dictionaries(st.sampled_from(LABELS), st.integers(1, 10**7), min_size=1), st.booleans())
def test_bars_and_numbers_are_inside_the_plot(counts: dict[str, int], separates: bool) -> None:
    with override_settings(USE_THOUSAND_SEPARATOR=separates):
        drawn = render_to_string("django_sitemaps09/inspector/plot.html", {"plot": plot(counts)}).strip()
    document = ElementTree.fromstring(drawn)  # noqa: S314
    _, _, full_width, full_height = map(int, document.attrib["viewBox"].split())
    texts, widths = document.findall("text"), dict[str, int]()
    labels, numbers = texts[::2], texts[1::2]
    assert [label.text for label in labels] == list(LABELS)
    bars = {int(bar.attrib["y"]): bar.attrib for bar in document.findall("rect")}
    assert len(bars) == len(counts)
    for label, number in zip(labels, numbers, strict=True):
        name, text, baseline = str(label.text), str(number.text), int(label.attrib["y"])
        assert text == f"{counts.get(name, 0):,}"
        assert number.attrib["y"] == label.attrib["y"]
        # A digit is at most 8 units wide.
        assert int(number.attrib["x"]) <= full_width - min(50, 5 * len(text))
        if name in counts:
            bar = bars[baseline - 13]
            widths[name] = int(bar["width"])
            assert 0 < int(bar["x"]) + widths[name] < int(number.attrib["x"])
            assert baseline < int(bar["y"]) + int(bar["height"]) <= full_height
            assert bar["class"] == ("unknown" if name == LABELS[-1] else "")
    assert sorted(widths, key=counts.__getitem__) == sorted(widths, key=lambda n: (widths[n], counts[n]))
    assert document[1].text is not None
    assert document[1].text.startswith(f"{sum(counts.values()):,} pages")
