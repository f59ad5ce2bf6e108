"""Samples have the first and the last rows, rows from all parts, and rows with NULL, on each database."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.urls import reverse

from django_sitemaps09 import ModelSitemap
from django_sitemaps09.suggestions.section_proof import sample_keys
from tests.models import Article
from tests.suggestions.blog.rows import suggestion
from tests.support.factories import ArticleFactory, SeatFactory

pytestmark = pytest.mark.sitemaps09()


class Router:
    """Writes to one database."""

    def __init__(self, using: str) -> None:
        self.using = using

    def db_for_write(self, model: object, **hints: object) -> str:
        return self.using


def test_rows_are_read_from_the_database_of_the_queryset(using: str, settings: Any) -> None:
    settings.DATABASE_ROUTERS = [Router(using)]
    ArticleFactory.create_batch(30, using=using, dated=True)
    ArticleFactory(using=using, updated=None)
    section = type(
        "ArticleSitemap",
        (ModelSitemap,),
        {
            "queryset": Article.objects.using(using),
            # Around midnight, the day differs between UTC and the time zone of the tests.
            "location": lambda self, item: reverse("seat", args=[item.slug, item.updated.day]),
            "lastmod": lambda self, item: item.updated.date(),
        },
    )
    found = suggestion(section, sample=20)
    assert found.hooks == ("location", "lastmod")
    # Both skip the article without a time.
    assert not any("No item has NULL" in note for note in found.notes)
    assert found.items >= 19
    assert suggestion(section, sample=None).items == 30


def test_a_sample_has_both_ends_and_rows_from_each_part(db: None) -> None:
    Article.objects.bulk_create(Article(slug=f"s-{number}") for number in range(2_000))
    rows = Article.objects.order_by("-slug")
    everything = list(Article.objects.order_by("pk").values_list("pk", flat=True))
    for seed in range(20):
        random.seed(seed)
        keys = sample_keys(rows, 100, set(), set())
        assert len(keys) == len({*keys}) == 100
        assert {*everything[:5], *everything[-5:]} <= {*keys}
        # Two neighbouring parts are at most 200 rows apart.
        for start in range(0, 1_800, 100):
            assert {*keys} & {*everything[start : start + 200]}, (seed, start)


def test_rows_with_null_and_with_an_empty_text_are_always_in_a_sample(db: None) -> None:
    Article.objects.bulk_create(Article(slug=f"s-{n}", code=str(n)) for n in range(500))
    null, empty = Article.objects.order_by("pk")[201:203]
    Article.objects.filter(pk=null.pk).update(code=None)
    Article.objects.filter(pk=empty.pk).update(slug="")
    rows = Article.objects.all()
    assert {null.pk, empty.pk} <= {*sample_keys(rows, 20, {"code"}, {"slug", "pk", "category__slug"})}


def test_all_keys_of_few_rows_are_the_sample(db: None) -> None:
    seats = SeatFactory.create_batch(3)
    rows: Any = type(seats[0]).objects.all()
    keys = sample_keys(rows, 100, set(), set())
    assert rows.filter(pk__in=keys).count() == len(keys) == 3
