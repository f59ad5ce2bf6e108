"""Opaque sitemaps: classes that override contrib's internals are read through `get_urls()`.

What they list is compared with contrib in `tests/compat`.
"""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from django.contrib import sitemaps as contrib
from django.core.paginator import Paginator

from django_sitemaps09 import GenericSitemap
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import MAX_LOCATION, Limits
from django_sitemaps09.sitemaps import CONTRIB_INTERNALS
from django_sitemaps09.sources.get_urls import UrlsSource
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.queryset import QuerySource
from tests.models import Article
from tests.support.databases import no_cursor_left, parameter
from tests.support.sections import listing

# isort: off
from tests.support.sources import (
    BASE, COLUMNS, LIMITS, NOON, compiled, declaration, errors, locations, page_map, rendered,
)  # fmt: skip
# isort: on

pytestmark = pytest.mark.usefixtures("cached_site")
LETTERS = listing("a")


def overriding(sitemap, name):
    setattr(sitemap, name, lambda *args: [])
    return sitemap


@pytest.mark.django_db
def test_only_classes_and_instances_of_ours_without_overridden_internals_are_compiled():
    rows = Article.objects.order_by("pk")
    kinds = {
        PositionSource: [LETTERS, LETTERS(), lambda: LETTERS()],
        QuerySource: [declaration(model=Article), lambda: GenericSitemap({"queryset": rows})],
        UrlsSource: [
            *(contrib.GenericSitemap({"queryset": rows}), contrib.Sitemap),
            SimpleNamespace(paginator=Paginator([], 1), get_urls=list),
            listing("a", paginator=property(lambda self: Paginator("a", 1))),
            *(listing("a", **{name: lambda *args: []}) for name in CONTRIB_INTERNALS
             if name != "paginator"),
            *(overriding(LETTERS(), name) for name in CONTRIB_INTERNALS if name != "paginator"),
        ],
    }  # fmt: skip
    for kind, sections in kinds.items():
        assert [type(compiled(section)) for section in sections] == [kind] * len(sections)


class Tree:
    """A class like Wagtail's: it has no base class, and each item lists its own URLs."""

    limit = 3

    def __init__(self, items):
        self.items = items
        self.calls = []

    @property
    def paginator(self):
        return Paginator(self.items, self.limit)

    def get_urls(self, page=1, site=None, protocol=None):
        self.calls.append((page, site.domain, protocol))
        return [url for item in self.paginator.page(page).object_list for url in item]


def tree(*counts):
    return Tree(
        [[{"location": f"{BASE}/{i}/{j}/"} for j in range(count)] for i, count in enumerate(counts)]
    )


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
@pytest.mark.parametrize(
    "counts", [(1, 1, 1), (1, 1, 1, 1), (0, 0, 0), (0, 0, 0, 4), (9, 0, 1, 2, 30), (7, 7, 7)]
)
def test_pages_of_a_paginator_are_split_if_they_hold_too_much(counts, limit):
    section = tree(*counts)
    limits = Limits(limit, LIMITS.bytes)
    done = rendered(compiled(section, limits), limits)
    assert locations(done) == [url["location"] for item in section.items for url in item]
    assert section.calls[0] == (1, BASE.domain, BASE.scheme)
    assert all(part.written.urls <= limit for part in done)
    numbers = [part.page.number for part in done]
    assert len(numbers) == len({*numbers})
    assert {*numbers} >= {*range(1, section.paginator.num_pages + 1)}


def test_a_paginator_that_shrinks_or_grows_after_the_cut_breaks_nothing():
    section = tree(1, 1, 1, 1)
    source = compiled(section)
    found = page_map(source)
    section.items = tree(1, 1).items
    # Page 1 was read to divide the section, and this result is used once.
    counts = [len(locations(rendered(source, found=found))) for _ in "ab"]
    section.items = tree(*[1] * 8).items
    counts += [len(locations(rendered(source, found=found))), len(locations(rendered(compiled(section))))]
    assert counts == [3, 2, 6, 8]
    assert page_map(compiled(tree())) == ()


def test_keys_of_an_entry_but_its_location_may_be_missing():
    entries = [
        {"location": "https://other.example/a/"},
        {"location": "/b/", "lastmod": NOON, "item": "b"},
        {"location": f"{BASE}/c/", "priority": "0.5", "changefreq": "", "lastmod": ""},
        {"location": f"{BASE}/d/", "alternates": [{"lang_code": "de", "location": f"{BASE}/de/d/"}]},
    ]
    (done,) = rendered(compiled(Tree([entries])))
    assert errors([done]) == []
    assert re.findall("<url>(.*)</url>", done.text) == [
        "<loc>https://other.example/a/</loc>",
        f"<loc>{BASE}/b/</loc><lastmod>2026-01-01T12:00:00Z</lastmod>",
        f"<loc>{BASE}/c/</loc><priority>0.5</priority>",
        f'<loc>{BASE}/d/</loc><xhtml:link rel="alternate" hreflang="de" href="{BASE}/de/d/"/>',
    ]


def test_a_bad_entry_is_skipped_and_reported_and_a_bad_element_alone():
    entries = [
        {"item": "first"}, {"location": None, "item": "second"}, {"location": "/\x00", "item": "third"},
        {"location": f"/{'a' * MAX_LOCATION}"},
        {"location": "/good/", "lastmod": "yesterday", "changefreq": "x", "priority": "high"},
        {"location": "/linked/", "alternates": [{"lang_code": "de"}]},
        {"location": "/links/", "alternates": [{"lang_code": "de", "location": "/\x00"}]},
    ]  # fmt: skip
    (done,) = rendered(compiled(Tree([entries])))
    assert re.findall("<url>(.*)</url>", done.text) == [
        f"<loc>{BASE}/{name}/</loc>" for name in ("good", "linked", "links")
    ]
    assert [(key, field) for key, field, _ in errors([done])] == [
        ("1/1 (first)", "location"), ("1/2 (second)", "location"), ("1/3 (third)", "location"),
        ("1/4 (None)", "location"), ("1/5 (None)", "lastmod"), ("1/5 (None)", "changefreq"),
        ("1/5 (None)", "priority"), ("1/6 (None)", "alternates"), ("1/7 (None)", "alternates"),
    ]  # fmt: skip


def test_an_entry_keeps_its_key_when_its_page_is_read_from_the_middle():
    source = compiled(tree(2, 2, 2))
    ((first, *_), *_) = [batch.keys for batch in source.batches(Page(2, ("1", "4"), None))]
    assert (first, source.key_text(first)) == ((1, 5), ("1", "5"))


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_a_page_of_positions_that_is_left_in_the_middle_leaves_no_cursor_open(articles, using):
    source = compiled(declaration(queryset=articles.order_by("day")[:9], **COLUMNS))
    assert isinstance(source, PositionSource)
    with no_cursor_left(using):
        assert source.sample() is not None
        for batch in source.batches(Page(1, None, None)):
            assert len(batch.keys) == 3
            break
