"""Opaque sitemaps: classes that override contrib's internals are read through `get_urls()`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.flatpages.models import FlatPage
from django.contrib.flatpages.sitemaps import FlatPageSitemap
from django.contrib.sites.models import Site
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.test import override_settings

from django_sitemaps09 import GenericSitemap
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import MAX_LOCATION, Limits
from django_sitemaps09.sitemaps import CONTRIB_INTERNALS
from django_sitemaps09.sources.get_urls import UrlsSource
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.queryset import QuerySource
from tests.models import Article
from tests.support.databases import no_cursor_left, parameter
from tests.support.sources import (
    BASE,
    COLUMNS,
    LIMITS,
    NOON,
    compiled,
    declaration,
    errors,
    in_language,
    listing,
    locations,
    page_map,
    rendered,
    through_get_urls,
)

pytestmark = pytest.mark.usefixtures("cached_site")


# Third-party classes for contrib


@pytest.mark.parametrize("name", CONTRIB_INTERNALS)
def test_a_class_or_an_instance_that_overrides_contribs_internals_is_read_through_them(name: str) -> None:
    overridden = property(lambda self: Paginator("a", 1)) if name == "paginator" else lambda *args: []
    assert isinstance(compiled(listing("a", **{name: overridden})), UrlsSource)
    if name != "paginator":
        sitemap = listing("a")()
        setattr(sitemap, name, overridden)
        assert isinstance(compiled(sitemap), UrlsSource)


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        (listing("a"), PositionSource),
        (listing("a")(), PositionSource),
        (lambda: listing("a")(), PositionSource),
        (declaration(model=Article), QuerySource),
        (lambda: GenericSitemap({"queryset": Article.objects.all()}), QuerySource),
        (contrib.GenericSitemap({"queryset": Article.objects.order_by("pk")}), UrlsSource),
        (FlatPageSitemap, UrlsSource),
        (contrib.Sitemap, UrlsSource),
        (SimpleNamespace(paginator=Paginator([], 1), get_urls=list), UrlsSource),
    ],
    ids=range(9),
)
@pytest.mark.django_db
def test_only_our_own_classes_are_compiled(section: Any, kind: type) -> None:
    assert isinstance(compiled(section), kind)


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"lastmod": NOON, "changefreq": "daily", "priority": 0.5},
        {"lastmod": lambda self, item: date(2026, 1, 1) if item == "b" else None},
        {"priority": lambda self, item: {"a": 0.1, "b": None}.get(item, 1)},
        {"protocol": "http"},
        {"i18n": True, "location": in_language},
        {"i18n": True, "alternates": True, "location": in_language},
        {"i18n": True, "alternates": True, "x_default": True, "location": in_language},
        {"i18n": True, "languages": ["de", "en"], "alternates": True, "location": in_language},
        {"location": lambda self, item: f"/ä {item}/"},
    ],
    ids=lambda attributes: "-".join(attributes) or "nothing",
)
def test_a_declaration_gives_the_same_entries_compiled_and_through_get_urls(
    attributes: dict[str, Any],
) -> None:
    declared = listing("abc", **attributes)
    ours = rendered(compiled(declared))
    theirs = rendered(compiled(through_get_urls(declared)))
    assert [re.findall("<url>.*", part.text) for part in ours] == [
        re.findall("<url>.*", part.text) for part in theirs
    ]
    assert errors(ours) == errors(theirs) == []


class Tree:
    """A class like Wagtail's: it has no base class, and each item lists its own URLs."""

    limit = 3

    def __init__(self, items: Sequence[Sequence[Any]]) -> None:
        self.items = items
        self.asked: list[tuple[Any, Any, Any]] = []

    @property
    def paginator(self) -> Paginator[Any]:
        return Paginator(self.items, self.limit)

    def get_urls(self, page: int = 1, site: Any = None, protocol: Any = None) -> list[Any]:
        self.asked.append((page, site.domain, protocol))
        return [url for item in self.paginator.page(page).object_list for url in item]


def tree(*counts: int) -> Tree:
    return Tree(
        [[{"location": f"{BASE}/{i}/{j}/"} for j in range(number)] for i, number in enumerate(counts)]
    )


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
@pytest.mark.parametrize(
    "counts", [(1, 1, 1), (1, 1, 1, 1), (0, 0, 0), (0, 0, 0, 4), (9, 0, 1, 2, 30), (7, 7, 7)]
)
def test_pages_of_a_paginator_are_split_if_they_hold_too_much(counts: Sequence[int], limit: int) -> None:
    section = tree(*counts)
    limits = Limits(limit, LIMITS.bytes)
    done = rendered(compiled(section, limits), limits)
    assert locations(done) == [url["location"] for item in section.items for url in item]
    assert section.asked[0] == (1, BASE.domain, BASE.scheme)
    assert all(part.written.urls <= limit for part in done)
    assert len({part.page.number for part in done}) == len(done)
    assert {part.page.number for part in done} >= set(range(1, section.paginator.num_pages + 1))


def test_a_paginator_without_items_has_no_pages() -> None:
    assert page_map(compiled(tree())) == ()


def test_a_paginator_that_shrinks_or_grows_after_the_cut_breaks_nothing() -> None:
    section = tree(1, 1, 1, 1)
    source = compiled(section)
    found = page_map(source)
    section.items = tree(1, 1).items
    # Page 1 was read to divide the section, and this result is used once.
    assert len(locations(rendered(source, found=found))) == 3
    assert len(locations(rendered(source, found=found))) == 2
    section.items = tree(*[1] * 8).items
    assert len(locations(rendered(source, found=found))) == 6
    assert len(locations(rendered(compiled(section)))) == 8


def test_keys_of_an_entry_but_its_location_may_be_missing() -> None:
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


def test_a_bad_entry_is_skipped_and_reported_and_a_bad_element_alone() -> None:
    entries: list[dict[str, Any]] = [
        {"item": "first"},
        {"location": None, "item": "second"},
        {"location": "/\x00", "item": "third"},
        {"location": f"/{'a' * MAX_LOCATION}"},
        {"location": "/good/", "lastmod": "yesterday", "changefreq": "x", "priority": "high"},
    ]
    (done,) = rendered(compiled(Tree([entries])))
    assert re.findall("<url>(.*)</url>", done.text) == [f"<loc>{BASE}/good/</loc>"]
    named = [(key, field) for key, field, _ in errors([done])]
    assert named == [
        ("1/1 (first)", "location"),
        ("1/2 (second)", "location"),
        ("1/3 (third)", "location"),
        ("1/4 (None)", "location"),
        ("1/5 (None)", "lastmod"),
        ("1/5 (None)", "changefreq"),
        ("1/5 (None)", "priority"),
    ]


@pytest.mark.parametrize("link", [{"lang_code": "de"}, {"lang_code": "de", "location": "/\x00"}])
def test_a_bad_alternate_of_an_entry_is_skipped_and_reported(link: dict[str, str]) -> None:
    (done,) = rendered(compiled(Tree([[{"location": "/a/", "alternates": [link]}]])))
    assert done.locations == [f"{BASE}/a/"]
    assert [field for _, field, _ in errors([done])] == ["alternates"]


def test_an_entry_keeps_its_key_when_its_page_is_read_from_the_middle() -> None:
    source = compiled(tree(2, 2, 2))
    ((first, *_), *_) = [batch.keys for batch in source.batches(Page(2, ("1", "4"), None))]
    assert first == (1, 5)
    assert source.key_text(first) == ("1", "5")


def test_a_method_of_contribs_that_is_overridden_is_honoured() -> None:
    declared: dict[str, dict[str, Any]] = {
        "_location": {"_location": lambda self, item, force_lang_code=None: f"/over/{item}/"},
        "get_domain": {"get_domain": lambda self, site=None: "cdn.example.net"},
        "get_protocol": {"get_protocol": lambda self, protocol=None: "http"},
        "_items": {"_items": lambda self: ["z"]},
        "_get": {"_get": lambda self, name, item, default=None: "/got/" if name == "location" else default},
        "paginator": {"paginator": property(lambda self: Paginator("xy", 1))},
    }
    found = {name: locations(rendered(compiled(listing("a", **hooks)))) for name, hooks in declared.items()}
    assert found == {
        "_location": [f"{BASE}/over/a/"],
        "get_domain": ["https://cdn.example.net/a/"],
        "get_protocol": ["http://www.example.com/a/"],
        "_items": [f"{BASE}/z/"],
        "_get": [f"{BASE}/got/"],
        "paginator": [f"{BASE}/x/", f"{BASE}/y/"],
    }


@pytest.mark.django_db
def test_flatpages_are_a_section() -> None:
    site = Site.objects.get_current()
    for number in range(5):
        page = FlatPage.objects.create(url=f"/info/{number}/", title=str(number))
        page.sites.add(site)
    with override_settings(ROOT_URLCONF="tests.compat.urls_compat"):
        done = rendered(compiled(type("Limited", (FlatPageSitemap,), {"limit": 2})))
    assert [len(part.locations) for part in done] == [2, 2, 1]
    assert [url.removesuffix("/").rsplit("/", 1)[1] for url in locations(done)] == list("01234")


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_a_page_that_is_left_in_the_middle_leaves_no_cursor_open(
    articles: QuerySet[Article], using: str
) -> None:
    source = compiled(declaration(queryset=articles.order_by("day")[:9], **COLUMNS))
    assert isinstance(source, PositionSource)
    with no_cursor_left(using):
        assert source.sample() is not None
        for batch in source.batches(Page(1, None, None)):
            assert len(batch.keys) == 3
            break
