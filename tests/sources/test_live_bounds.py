"""Bounds of live pages: how full pages are, and which bounds a change of rows moves."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from django.db import connections
from django.test.utils import CaptureQueriesContext
from hypothesis import given, strategies as st

from django_sitemaps09 import ModelSitemap, sources
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Limits
from django_sitemaps09.sources import live_bounds
from tests.models import Article
from tests.support.keyed_rows import MODELS, delete, write
from tests.support.sources import BASE


def source(name: str, using: str, limit: int) -> Any:
    model, key, _ = MODELS[name]
    queryset = model._default_manager.using(using).all()
    declared = {"queryset": queryset, "key": key, "limit": limit, "location": lambda self, item: "/"}
    return sources.source("s", type("Declared", (ModelSitemap,), declared), BASE, Limits(50_000, 10**7))


def live_pages(rows: Any, most: int) -> list[Page]:
    return [*sources.divide(rows.members, Page(1, None, None), most)]


def keys_of(rows: Any, page: Page) -> list[Any]:
    return [key for batch in rows.batches(page) for key in batch.keys]


class TestLandmarks:
    @given(low=st.integers(-(2**63), 2**63), more=st.integers(0, 2**64))
    def test_are_in_the_range(self, low: int, more: int) -> None:
        assert low <= live_bounds.landmark(low, low + more) <= low + more

    @given(low=st.integers(-(2**40), 2**40), ends=st.lists(st.integers(0, 2**20), min_size=3, max_size=3))
    def test_of_a_range_is_the_landmark_of_each_part_that_contains_it(
        self, low: int, ends: list[int]
    ) -> None:
        first, second, last = sorted(ends)
        found = live_bounds.landmark(low, low + last)
        part = low + first, low + second
        if part[0] <= found <= part[1]:
            assert live_bounds.landmark(*part) == found

    def test_are_the_same_in_all_processes(self) -> None:
        found = [live_bounds.landmark(*pair) for pair in ((1, 1000), (-5, 5), (2**62, 2**63))]
        assert found == [590, 2, 7993409537415871344]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("limit", [1, 2, 20])
def test_pages_have_each_row_once_and_are_between_40_and_100_percent_full(
    name: str, limit: int, using: str
) -> None:
    count = min(15 * limit, 150)
    write(name, using, range(1, count + 1))
    rows = source(name, using, limit)
    most = sources.rows_on_page(rows, Limits(50_000, 10**7))
    found = live_pages(rows, most)
    parts = [keys_of(rows, page) for page in found]
    counts = [*map(len, parts)]
    assert sum(counts) == len({key for part in parts for key in part}) == count
    assert all(0.4 * limit <= count <= limit for count in counts[:-1])
    assert 1 <= counts[-1] <= limit
    assert found[0].number == 1
    assert all(page.number in live_bounds.LIVE_NUMBERS for page in found[1:])
    assert len({page.number for page in found}) == len(found)


@pytest.mark.parametrize("name", MODELS)
def test_a_change_of_rows_moves_at_most_ten_pages_of_fifty(name: str, using: str) -> None:
    """If pages were counted from the first row, all pages after the change would differ."""
    present = [n for n in range(1, 801) if n % 4]
    write(name, using, present)
    rows = source(name, using, 15)
    before = live_pages(rows, 15)
    assert len(before) > 40
    chosen = random.Random(11)  # noqa: S311 not a secret
    for _ in range(2):
        first = chosen.randrange(100, 600)
        gone = [n for n in present if first <= n < first + chosen.randrange(1, 20)]
        came = [n for n in range(4, first, 4) if n > first - chosen.randrange(4, 60)]
        delete(name, using, gone)
        write(name, using, came)
        after = live_pages(rows, 15)
        # After a bound that both maps have, they are the same.
        assert len({*before} - {*after}) <= 10
        assert len({*after} - {*before}) <= 10
        delete(name, using, came)
        write(name, using, gone)
    assert live_pages(rows, 15) == before


@pytest.mark.parametrize(
    "keys",
    [
        range(1, 201),
        [*range(1, 101), 400],
        [*range(1, 101), *range(1_000, 1_010)],
        [*range(1, 101), *range(1_000, 1_100)],
        [*range(1, 301, 3), *range(301, 401)],
        range(2**31 - 200, 2**31),
        range(-200, 0),
    ],
)
def test_pages_of_dense_keys_are_full_whatever_follows(keys: Any, using: str) -> None:
    Article.objects.using(using).bulk_create(Article(pk=key, slug=f"s{key}") for key in keys)
    rows = source("integer", using, 20)
    found = live_pages(rows, 20)
    parts = [keys_of(rows, page) for page in found]
    assert [key for part in parts for key in part] == [*keys]
    assert all(9 <= len(part) <= 20 for part in parts[:-1])
    assert 1 <= len(parts[-1]) <= 20
    assert len(found) <= 2.4 * len(keys) / 20 + 1


def test_the_rows_of_a_dense_page_are_passed_over_only_up_to_its_middle(using: str) -> None:
    """Counting up to the most rows that fit took more than half of the time for the bounds of a table."""
    articles = (Article(pk=key, slug=f"s{key}") for key in range(1, 1_001))
    Article.objects.using(using).bulk_create(articles)
    with CaptureQueriesContext(connections[using]) as found:
        pages = live_pages(source("integer", using, 100), 100)
    offsets = [int(n) for query in found for n in re.findall(r"OFFSET (\d+)", query["sql"])]
    assert len(pages) > 10
    assert 44 * len(pages) <= sum(offsets) <= 44 * len(pages) + 300


def test_numbers_that_are_taken_are_given_to_no_other_page() -> None:
    first = live_bounds.live_number(("5",))
    assert first in live_bounds.LIVE_NUMBERS
    assert live_bounds.live_number(("5",)) == first
    assert live_bounds.live_number(("5",), {first}) == first + 1
    assert live_bounds.live_number(("5",), {first, first + 1}) == first + 2


def test_numbers_depend_on_the_secret_key(settings: Any) -> None:
    first = live_bounds.live_number(("5",))
    settings.SECRET_KEY = "another"
    assert live_bounds.live_number(("5",)) != first
