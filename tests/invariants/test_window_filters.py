"""Querysets that filter by a window function, with declared expressions that are also columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from django.db.models import Count, F, Max, QuerySet, Window
from django.db.models.functions import Concat, RowNumber, Trunc

from django_sitemaps09 import Route
from django_sitemaps09.hooks.expressions import LastmodExpression
from django_sitemaps09.hooks.values import lastmod_text
from tests.models import Article, Comment, Discussed
from tests.support.fingerprints import source_of
from tests.support.ways import assert_entries, compatible_index, declare

pytestmark = pytest.mark.sitemaps09(GZIP=False, ENGINE="serial")


def rank() -> Window:
    return Window(RowNumber(), partition_by="published", order_by="slug")


QUERYSETS: dict[str, Callable[[QuerySet[Article]], Any]] = {
    "an alias": lambda rows: rows.alias(rank=rank()).filter(rank__lte=4),
    "an annotation": lambda rows: rows.annotate(rank=rank()).filter(rank__lte=4),
    "an order": lambda rows: rows.alias(rank=rank()).filter(rank__lte=4).order_by("-published", "-slug"),
    "an order over a relation": lambda rows: (
        rows.annotate(rank=rank()).filter(rank__lte=4).order_by("category__slug")
    ),
    "an aggregate": lambda rows: rows.alias(rank=rank()).annotate(n=Count("comments")).filter(rank__lte=4),
}
HOOKS: dict[str, dict[str, Any]] = {
    "one column": {"lastmod": F("updated")},
    "a date": {"lastmod": F("day"), "location": Route("article", slug=Concat("slug", "slug"))},
    "the same column twice": {"location": Route("article", slug=F("slug")), "changefreq": F("slug")},
    "an aggregate": {"lastmod": Max("visits__at")},
    "a conversion": {"lastmod": Trunc("day", "month"), "priority": F("weight")},
    "a method": {"location": lambda _, item: f"/articles/{item.slug}/", "lastmod": F("updated")},
}


@pytest.mark.parametrize(
    ("name", "hooks"),
    [
        (name, hooks)
        for name, hooks in product(QUERYSETS, HOOKS)
        if not name.startswith("an order") or hooks in ("one column", "an aggregate", "a method")
    ],
)
def test_expressions_beside_a_filter_on_a_window_have_their_own_values(
    name: str, hooks: str, shelf: QuerySet[Article]
) -> None:
    section = declare(QUERYSETS[name](shelf), limit=3, **HOOKS[hooks])
    hook = section.lastmod if hasattr(section, "lastmod") else None
    rows = {row.pk: row for row in shelf.annotate(last=LastmodExpression(hook))} if hook else {}
    doubled = 2 if hooks == "a date" else 1
    expected = Counter(
        (f"/articles/{item.slug * doubled}/", lastmod_text(rows[item.pk].last) if rows else None)
        for item in section.queryset.all()
    )
    assert expected.total() == 8
    assert_entries(section, expected)
    lastmods = [lastmod for _, lastmod in expected]
    assert compatible_index(section) == (None if None in lastmods else max(lastmods))


def test_rows_beside_a_window_are_counted_once(shelf: QuerySet[Article]) -> None:
    """The order of the model joins comments, which would repeat their article."""
    article = shelf[0]
    Comment.objects.using(shelf.db).bulk_create(Comment(article=article) for _ in range(5))
    source = source_of(Discussed._base_manager.using(shelf.db).alias(rank=rank()))
    assert source.count(None, None, 1_000) == shelf.count()
