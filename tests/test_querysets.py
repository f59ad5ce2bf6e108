"""Laws of querysets as sources that took an accident to be seen."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db.models import CharField, F
from django.utils import timezone as zones

from django_sitemaps09 import ModelSitemap, Route, pages, sources
from django_sitemaps09.entries import ItemError
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources.keys import KeyColumns
from django_sitemaps09.writer import Limits
from tests import batches
from tests.models import Article, Category, Event, Recent

BASE = Base("https", "www.example.com")
LIMITS = Limits(50_000, 10_485_760)


def compiled(queryset: Any, **attributes: Any) -> Any:
    declared = {"location": Route("article", slug=F("slug")), "limit": 7, "queryset": queryset}
    return sources.source("s", type("Declared", (ModelSitemap,), declared | attributes), BASE, LIMITS)


def locations(source: Any) -> list[str]:
    found = sources.page_map(source, LIMITS).pages
    return batches.locations((batch for page in found for batch in source.batches(page)), BASE)


def test_a_relation_as_key_is_ordered_as_its_column(using: str) -> None:
    """By its name it would be ordered as the related model is, which here is another order."""
    for number in (5, 3, 9, 1, 7, 2, 8):
        moment = datetime(2026, 1, number, tzinfo=timezone.utc)
        article = Recent.objects.using(using).create(slug=f"a{10 - number}", updated=moment)
        Event.objects.using(using).create(at=moment, price=number, article=article)
    source = compiled(
        Event.objects.using(using),
        key="article",
        limit=2,
        location=lambda self, item: f"/{item.article_id}/",
    )
    keys = [int(url.rsplit("/", 2)[1]) for url in locations(source)]
    assert keys == sorted(Event.objects.using(using).values_list("article_id", flat=True))


def test_a_slice_has_each_row_once_though_its_order_has_ties(using: str) -> None:
    category = Category.objects.using(using).create(slug="one")
    Article.objects.using(using).bulk_create(Article(slug=f"a{n}", category=category) for n in range(60))
    found = locations(compiled(Article.objects.using(using).order_by("category_id")[:40]))
    assert len(found) == 40
    assert set(Counter(found).values()) == {1}


def test_a_slice_of_a_union_is_paged_as_it_is(using: str) -> None:
    Article.objects.using(using).bulk_create(Article(slug=f"a{n}") for n in range(20))
    rows = Article.objects.using(using)
    union = rows.filter(slug__lt="a2").union(rows.filter(slug__gte="a2")).order_by("slug")[:15]
    found = locations(compiled(union, location=lambda self, item: f"/{item.slug}/"))
    assert [url.split("/")[-2] for url in found] == sorted(f"a{n}" for n in range(20))[:15]


def test_rows_without_a_model_are_refused_with_the_way_out(db: None) -> None:
    Article.objects.create(slug="a")
    source = compiled(Article.objects.values_list("slug"))
    with pytest.raises(ImproperlyConfigured, match="instances, or make the hooks methods"):
        locations(source)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Article.objects.filter(updated__year=2024), Article.objects.filter(updated__year=2025)),
        (Article.objects.filter(day=date(2024, 1, 1)), Article.objects.filter(day=date(2025, 1, 1))),
        (Article.objects.filter(slug="a"), Article.objects.filter(slug="b")),
    ],
    ids=["years", "days", "texts"],
)
def test_other_rows_have_another_digest(one: Any, other: Any, db: None) -> None:
    assert compiled(one).digest == compiled(one).digest
    assert compiled(one).digest != compiled(other).digest


def test_the_time_of_the_query_is_not_in_the_digest(using: str) -> None:
    now = zones.now()
    rows = Article.objects.using(using)
    moments = [now, now + timedelta(seconds=1)]
    assert len({compiled(rows.filter(updated__lte=moment)).digest for moment in moments}) == 1


def test_another_host_has_another_digest(db: None) -> None:
    section = type("Declared", (ModelSitemap,), {"model": Article})
    found = {
        sources.source("s", section, Base("https", host), LIMITS).digest
        for host in ("a.example", "b.example")
    }
    assert len(found) == 2


class Forgetful(CharField):  # type: ignore[type-arg]
    """A field that cannot read what it writes."""

    def value_to_string(self, obj: object) -> str:
        return "always the same"


def test_a_key_that_is_not_read_as_it_was_written_is_refused() -> None:
    field = Forgetful()
    field.set_attributes_from_name("code")
    with pytest.raises(ImproperlyConfigured, match=r"'a'.*code.*value_to_string"):
        KeyColumns("code", ("code",), (field,)).text("a")


@pytest.mark.parametrize("protocol", ["javascript", "ftp", "HTTPS"])
def test_a_protocol_that_no_crawler_follows_is_refused(protocol: str, db: None) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"`protocol`.*http and https"):
        compiled(Article.objects.all(), protocol=protocol)


def test_what_is_in_a_row_cannot_forge_a_line_of_a_log() -> None:
    text = str(ItemError("x\nCRITICAL all is lost\x1b[31m", "location", "é\u2028\ud800"))
    assert text == r"item x\nCRITICAL all is lost\x1b[31m: location é\u2028\ud800"


def test_pages_are_cut_in_the_order_of_their_keys(using: str) -> None:
    """reverse() outlives order_by(), and would turn ranges around."""
    Article.objects.using(using).bulk_create(Article(slug=f"a{n}") for n in range(20))
    source = compiled(Article.objects.using(using).order_by("slug").reverse())
    found = sources.page_map(source, LIMITS)
    assert isinstance(found, pages.PageMap)
    assert len(found.pages) == 3
    assert Counter(locations(source)) == Counter(f"{BASE}/articles/a{n}/" for n in range(20))


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/100%", "/100%25"),
        ("/100%/a", "/100%25/a"),
        ("/%zz%41", "/%25zz%41"),
        ("/caf\u00e9%20a b", "/caf%C3%A9%20a%20b"),
    ],
)
def test_a_location_is_quoted_once_and_is_a_uri(path: str, url: str, db: None) -> None:
    Article.objects.create(slug="a")
    assert locations(compiled(Article.objects.all(), location=lambda self, item: path)) == [f"{BASE}{url}"]
