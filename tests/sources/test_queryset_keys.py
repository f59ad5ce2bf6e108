"""Pages as ranges of a key: each row is on exactly one page, for any kind of key."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Route
from django_sitemaps09.pages import Page, fill
from django_sitemaps09.protocol import Limits
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.queryset import QuerySource
from tests.models import Article, Reading, Scale
from tests.support.sources import (
    BASE,
    FIRST,
    KINDS,
    MODES,
    Kind,
    compiled,
    declaration,
    keys_of,
    listing,
    locations,
    page_map,
    rendered,
    source_of,
)

pytestmark = pytest.mark.usefixtures("cached_site")


def all_keys(kind: Kind, using: str) -> Counter[Any]:
    return Counter(kind.of(row) for row in kind.rows(using))


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("mode", MODES)
def test_every_row_is_on_exactly_one_page_whatever_its_key(kind: Kind, using: str, mode: str) -> None:
    for limit in (1, 4, FIRST, FIRST + 1):
        source = source_of(kind, using, limit, **MODES[mode])
        assert isinstance(source, QuerySource)
        found = page_map(source)
        *full, last = [keys_of(source, page) for page in found]
        assert Counter(key for part in [*full, last] for key in part) == all_keys(kind, using)
        assert {len(part) for part in full} <= {fill(limit)}
        assert 0 < len(last) <= limit
        assert found[0].after is None
        assert found[-1].until is None
        assert all(page.until == next_.after for page, next_ in pairwise(found))


def test_a_key_survives_its_way_as_text(kind: Kind, using: str) -> None:
    source = source_of(kind, using, 4)
    for key in all_keys(kind, using):
        text = source.key_text(key)
        assert all(isinstance(part, str) for part in text)
        assert source.members.key.parse(text) == key
    for page in page_map(source):
        number, *bounds = json.loads(json.dumps(page))
        travelled = Page(number, *(bound and tuple(bound) for bound in bounds))
        assert travelled == page
        assert keys_of(source, travelled) == keys_of(source, page)


def test_a_page_is_a_range_and_costs_as_much_as_any_other(kind: Kind, using: str) -> None:
    source = source_of(kind, using, 4)
    with CaptureQueriesContext(connections[using]) as cutting:
        found = page_map(source)
    with CaptureQueriesContext(connections[using]) as reading:
        for page in found:
            keys_of(source, page)
    # One query for whether there are rows, one to estimate their length, and one for each page.
    assert len(cutting) == 2 + len(found)
    assert len(reading) == len(found)
    assert all("OFFSET" not in query["sql"] for query in reading)
    for query in (*cutting, *reading):
        assert "COUNT(" not in query["sql"]
        assert " OVER " not in query["sql"]
        if "OFFSET" in query["sql"]:
            selected = query["sql"].removeprefix("SELECT ").partition(" FROM ")[0]
            assert selected.count(",") + 1 == len(source.members.key.names)
            assert "LIMIT 2 " in query["sql"]


def test_what_is_deleted_elsewhere_moves_no_page(kind: Kind, using: str) -> None:
    source = source_of(kind, using, 4)
    page = page_map(source)[2]
    before = keys_of(source, page)
    for row in kind.rows(using):
        if kind.of(row) not in before:
            row.delete()
    assert keys_of(source, page) == before
    assert len(before) == 4


@pytest.mark.usefixtures("small_slices")
def test_rows_that_come_after_the_cut_are_on_one_page_each_within_the_limit(kind: Kind, using: str) -> None:
    source = source_of(kind, using, 4)
    stale = page_map(source)
    kind.make(using, range(FIRST, FIRST + 25))
    done = rendered(source, found=stale)
    assert sum((Counter(keys_of(source, part.page)) for part in done), Counter()) == all_keys(kind, using)
    assert all(part.written.urls <= 4 for part in done)
    assert sum(part.written.urls for part in done) == FIRST + 25
    numbers = [part.page.number for part in done]
    assert sorted(numbers) == list(range(1, len(done) + 1))
    assert {page.number: page.after for page in stale}.items() <= {
        (part.page.number, part.page.after) for part in done
    }


def test_pages_fit_their_bytes_too(using: str) -> None:
    KINDS["integer"].make(using, range(FIRST))
    limits = Limits(50_000, 600)
    source = source_of(KINDS["integer"], using, location=Route("article", slug=F("slug")))
    done = rendered(source, limits)
    assert len(done) > 1
    assert all(part.written.bytes == len(part.text) <= 600 for part in done)
    assert Counter(locations(done)) == {f"{BASE}/articles/s{number}/": 1 for number in range(FIRST)}


@pytest.mark.usefixtures("small_slices")
def test_a_full_slice_is_not_taken_for_the_last(using: str) -> None:
    KINDS["integer"].make(using, range(6))
    source = source_of(KINDS["integer"], using)
    (page,) = page_map(source)
    with CaptureQueriesContext(connections[using]) as captured:
        assert [len(batch.keys) for batch in source.batches(page)] == [3, 3]
    assert len(captured) == 3


REFUSED = {
    "float": (Reading, "ratio", "FloatField has no exact text"),
    "binary": (Reading, "blob", "BinaryField has no exact text"),
    "float primary key": (Scale, "pk", "FloatField has no exact text"),
    "unique but null": (Reading, "label", "it can be null"),
    "not unique": (Article, "slug", "it is not unique"),
    "relation": (Article, "category", "can be null"),
    "relation to many": (Article, "tags", "it is not"),
    "relation from many": (Article, "comments", "it is not a column"),
}


def test_a_key_that_is_not_a_field_is_refused_by_name() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Article.*'nothing'"):
        compiled(declaration(model=Article, key="nothing", location="/"))


@pytest.mark.parametrize("name", REFUSED)
def test_a_field_that_cannot_be_a_key_is_refused_by_name_and_with_the_way_out(name: str) -> None:
    model, key, reason = REFUSED[name]
    with pytest.raises(ImproperlyConfigured) as refused:
        compiled(declaration(model=model, key=key, location="/"))
    message = str(refused.value)
    assert model._meta.label in message
    assert key in message
    assert reason in message
    assert "Set `key` to" in message


def test_long_decimals_are_a_key_if_they_are_exact(using: str) -> None:
    kind = replace(KINDS["unique text"], key="amount")
    kind.make(using, range(FIRST))
    if connections[using].vendor == "sqlite":
        with pytest.raises(
            ImproperlyConfigured, match=r"tests\.Reading\.amount.*15 significant digits.*Set `key`"
        ):
            source_of(kind, using)
        return
    source = source_of(kind, using, 4)
    found = [key for page in page_map(source) for key in keys_of(source, page)]
    assert Counter(found) == all_keys(kind, using)


@pytest.mark.django_db
def test_a_bad_key_on_a_class_of_contrib_is_ignored_and_rows_are_paginated_by_position() -> None:
    for ratio in (0.1, 0.2, 0.3):
        Scale.objects.create(ratio=ratio)
    items = Scale.objects.order_by("-ratio")
    source = compiled(listing(items, location=lambda self, item: f"/{item.ratio}/", limit=2))
    assert isinstance(source, PositionSource)
    assert locations(rendered(source)) == [f"{BASE}/0.{digit}/" for digit in (1, 2, 3)]
