"""The entries of items and of opaque sitemaps: acceptable URLs, skipped items, and skipped elements."""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from types import SimpleNamespace

import pytest
from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.core.paginator import Paginator
from django.db import DatabaseError
from django.db.models import Case, F, Value, When
from django.urls import reverse
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09 import GenericSitemap, Route, StaticViewSitemap
from django_sitemaps09.declare.base import CONTRIB_INTERNALS
from django_sitemaps09.rows.get_urls import UrlsSource
from tests.models import Article, Seat
from tests.support.databases import ON_POSTGRESQL, no_cursor_left
from tests.support.internals import MAX_LOCATION, Limits, Page, PositionSource, QuerySource
from tests.support.sections import declare, listing
from tests.support.sources import ALL, BASE, LIMITS, compiled, errors, locations, page_map, rendered

pytestmark = pytest.mark.usefixtures("cached_site")
ITEMS = ["a", "bad", "c"]


def failing(value, other=lambda item: None):
    def hook(self, item):
        if item != "bad":
            return other(item)
        if isinstance(value, Exception):
            raise value
        return value

    return hook


SKIPPED = [
    ("lastmod", "2026-01-01", "neither a date nor a datetime"), ("lastmod", datetime.min, "out of range"),
    ("changefreq", ["daily"], "is not a changefreq"), ("priority", 1.01, "is not a priority"),
    ("location", KeyError("slug"), "KeyError: 'slug'"),
    ("location", AttributeError("get_absolute_url"), "AttributeError: get_absolute_url"),
    ("location", RecursionError("deep"), "RecursionError: deep"),
    ("location", f"/{'ä' * 500}", "characters; at most 2,024 are allowed"),
]  # fmt: skip


@pytest.mark.parametrize(("field", "value", "reason"), SKIPPED, ids=range(len(SKIPPED)))
def test_an_item_without_a_url_and_an_invalid_element_are_skipped_and_reported(field, value, reason):
    hook = failing(value, "/{}/".format if field == "location" else lambda item: None)
    done = rendered(compiled(listing(ITEMS, **{field: hook})))
    expected = [item for item in ITEMS if field != "location" or item != "bad"]
    assert locations(done) == [f"{BASE}/{item}/" for item in expected]
    assert field == "location" or f"<{field}>" not in done[0].text
    ((key, named, text),) = errors(done)
    assert (key, named, reason in text) == ("2", field, True), text


def test_what_is_skipped_is_named_by_its_key(using):
    rows = Seat.objects.using(using)
    rows.bulk_create(Seat(row="abc"[number], number=number) for number in range(3))
    hook = lambda self, item: f"/{item.number / (item.number - 1)}/"  # noqa: E731
    [error] = errors(rendered(compiled(declare(queryset=rows.all(), location=hook))))
    assert error == ("('b', 1)", "location", "ZeroDivisionError: division by zero")


def test_items_can_set_the_hooks():
    """Contrib's page calls `items()` before it reads a hook."""

    def items(self):
        self.lastmod, self.priority = date(2026, 1, 2), 0.8
        return ["a"]

    [page] = rendered(compiled(declare(listing([]), items=items)))
    assert "<lastmod>2026-01-02</lastmod><priority>0.8</priority>" in page.text


@pytest.mark.parametrize(("field", "value"), [("lastmod", "soon"), ("changefreq", "soon"), ("priority", 7)])
def test_a_bad_constant_is_an_error_with_expressions_and_otherwise_skipped(field, value):
    with pytest.raises(ImproperlyConfigured, match=rf"Declared\.{field}.*Change or remove it.*method"):
        compiled(declare(model=Article, location=Value("/x/"), **{field: value}))
    done = rendered(compiled(listing(ITEMS, **{field: value})))
    assert locations(done) == [f"{BASE}/{item}/" for item in ITEMS]
    assert f"<{field}>" not in done[0].text
    assert {error[1] for error in errors(done)} == {field}


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "1e4", "ten", None])
def test_a_limit_that_is_not_a_number_of_urls_is_refused(limit):
    with pytest.raises(ImproperlyConfigured, match=r"Declared\.limit must be a whole number"):
        compiled(listing(ITEMS, limit=limit))


def test_a_limit_of_a_class_is_never_above_that_of_the_settings():
    limits = Limits(3, LIMITS.bytes)
    done = rendered(compiled(listing(range(7), limit=50), limits), limits)
    assert [part.written.urls for part in done] == [3, 3, 1]


@pytest.mark.parametrize("limit", [1, 50_000])
def test_a_name_of_no_view_is_skipped_and_the_others_are_listed(limit):
    names = ["home", "nowhere", "about"]
    done = rendered(compiled(declare(StaticViewSitemap, viewnames=names, limit=limit)))
    assert locations(done) == [f"{BASE}/home/", f"{BASE}/about/"]
    ((key, field, reason),) = errors(done)
    assert (key, field, "NoReverseMatch" in reason) == ("2", "location", True)


MOMENTS = st.datetimes(datetime(1000, 1, 2), datetime(9999, 12, 30), timezones=st.just(timezone.utc))
FACTS = st.fixed_dictionaries(
    {
        "slug": st.text("abcäß&'\"<> %\\-_.~@", min_size=1, max_size=12),
        "updated": st.none() | MOMENTS, "day": st.none() | st.dates(date(1000, 1, 1)),
        "weight": st.none() | st.decimals(-1, 2, places=3), "published": st.booleans(),
    }
)  # fmt: skip
FACT_COLUMNS = {
    "location": Route("word", word=F("slug")), "lastmod": F("updated"), "priority": F("weight"),
    "changefreq": Case(When(published=True, then=Value("daily")), default=Value("sometimes")),
}  # fmt: skip
FACT_METHODS = {
    "location": lambda self, item: reverse("word", args=[item.slug]),
    "lastmod": lambda self, item: item.updated, "priority": lambda self, item: item.weight,
    "changefreq": lambda self, item: "daily" if item.published else "sometimes",
}  # fmt: skip


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(facts=st.lists(FACTS, max_size=8), limit=st.integers(1, 9))
def test_the_same_facts_give_the_same_bytes(using, facts, limit):
    """This includes invalid values, which are skipped for the same reason."""
    rows = Article.objects.using(using)
    rows.all().delete()
    rows.bulk_create(Article(**fact) for fact in facts)
    outcomes = []
    mixed = {**FACT_METHODS, "location": FACT_COLUMNS["location"], "priority": FACT_COLUMNS["priority"]}
    for hooks in (FACT_COLUMNS, FACT_METHODS, mixed):
        for lastmod in (hooks["lastmod"], F("day") if hooks is FACT_COLUMNS else lambda _, item: item.day):
            section = declare(queryset=rows.all(), **{**hooks, "lastmod": lastmod, "limit": limit})
            done = rendered(compiled(section))
            outcomes.append(([part.text for part in done], errors(done)))
    assert (outcomes[0::2], outcomes[1::2]) == ([outcomes[0]] * 3, [outcomes[1]] * 3)
    assert len(locations(done)) == len(facts)


LETTERS = listing("a")


def overriding(name):
    sitemap = LETTERS()
    setattr(sitemap, name, lambda *args: [])
    return sitemap


@pytest.mark.django_db
def test_only_classes_and_instances_of_ours_without_overridden_internals_are_compiled():
    rows, methods = Article.objects.order_by("pk"), {*CONTRIB_INTERNALS} - {"paginator"}
    kinds = {
        PositionSource: [LETTERS, LETTERS(), lambda: LETTERS()],
        QuerySource: [declare(model=Article), lambda: GenericSitemap({"queryset": rows})],
        UrlsSource: [
            *(contrib.GenericSitemap({"queryset": rows}), contrib.Sitemap),
            SimpleNamespace(paginator=Paginator([], 1), get_urls=list),
            listing("a", paginator=property(lambda self: Paginator("a", 1))),
            *(listing("a", **{name: lambda *args: []}) for name in methods), *map(overriding, methods),
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
    return Tree([[{"location": f"{BASE}/{i}/{j}/"} for j in range(n)] for i, n in enumerate(counts)])


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
@pytest.mark.parametrize(
    "counts", [(1, 1, 1), (1, 1, 1, 1), (0, 0, 0), (0, 0, 0, 4), (9, 0, 1, 2, 30), (7, 7, 7)]
)
def test_pages_of_a_paginator_are_split_if_they_hold_too_much(counts, limit):
    section, limits = tree(*counts), Limits(limit, LIMITS.bytes)
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
    assert (counts, page_map(compiled(tree()))) == ([3, 2, 6, 8], ())


def test_a_bad_entry_is_skipped_and_reported_and_a_bad_element_alone():
    entries = [
        {"item": "first"}, {"location": None, "item": "second"}, {"location": "/\x00", "item": "third"},
        {"location": f"/{'a' * MAX_LOCATION}"},
        {"location": "/good/", "lastmod": "yesterday", "changefreq": "x", "priority": "high"},
        {"location": "/linked/", "alternates": [{"lang_code": "de"}]},
        {"location": "/links/", "alternates": [{"lang_code": "de", "location": "/\x00"}]},
    ]  # fmt: skip
    (done,) = rendered(compiled(Tree([entries])))
    expected = [f"<loc>{BASE}/{name}/</loc>" for name in ("good", "linked", "links")]
    assert re.findall("<url>(.*)</url>", done.text) == expected
    assert [(key, field) for key, field, _ in errors([done])] == [
        ("1/1 (first)", "location"), ("1/2 (second)", "location"), ("1/3 (third)", "location"),
        ("1/4 (None)", "location"), ("1/5 (None)", "lastmod"), ("1/5 (None)", "changefreq"),
        ("1/5 (None)", "priority"), ("1/6 (None)", "alternates"), ("1/7 (None)", "alternates"),
    ]  # fmt: skip


@pytest.mark.parametrize("error", [DatabaseError, ImproperlyConfigured, MemoryError, KeyboardInterrupt])
@pytest.mark.parametrize(
    "name", ["location", "lastmod", "changefreq", "priority", "images", "get_languages_for_item"]
)
def test_an_error_that_affects_several_items_is_raised(name, error):
    def fail(self, item):
        raise error

    with pytest.raises(error):
        rendered(compiled(listing([1], **{name: fail}, i18n=name == "get_languages_for_item")))


def test_an_entry_keeps_its_key_when_its_page_is_read_from_the_middle():
    source = compiled(tree(2, 2, 2))
    ((first, *_), *_) = [batch.keys for batch in source.batches(Page(2, ("1", "4"), None))]
    assert (first, source.key_text(first)) == ((1, 5), ("1", "5"))


@pytest.mark.usefixtures("small_slices")
@ON_POSTGRESQL
def test_a_page_of_positions_that_is_left_in_the_middle_leaves_no_cursor_open(shelf, using):
    source = compiled(declare(queryset=shelf.order_by("day")[:9], **FACT_COLUMNS))
    assert isinstance(source, PositionSource)
    with no_cursor_left(using):
        assert source.sample() is not None
        for batch in source.batches(ALL):
            assert len(batch.keys) == 3
            break
