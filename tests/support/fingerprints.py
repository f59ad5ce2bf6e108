"""Rows and sources, for tests of fingerprints and digests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from django.db import connections
from django.db.models import Case, F, QuerySet, Value, When
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import ModelSitemap, Route, Sitemap, sources
from django_sitemaps09.protocol import Base, Limits
from tests.models import Article
from tests.support.factories import ArticleFactory, CategoryFactory, TagFactory, VisitFactory

UTC = timezone.utc
BASE = Base("https", "www.example.com")
LIMITS = Limits(50_000, 10_485_760)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def compiled(section: Any, base: Base = BASE, limits: Limits = LIMITS) -> Any:
    return sources.source("things", section, base, limits)


def declaration(**attributes: Any) -> type[ModelSitemap[Any]]:
    return type("Declared", (ModelSitemap,), attributes)


COLUMNS: dict[str, Any] = {
    "location": Route("article", slug=F("slug")),
    "lastmod": F("updated"),
    "priority": F("weight"),
    "changefreq": Case(When(published=True, then=Value("daily")), default=Value("monthly")),
}


def source_of(rows: QuerySet[Any], **attributes: Any) -> Any:
    return compiled(declaration(queryset=rows, **{**COLUMNS, **attributes}))


@pytest.fixture
def articles(using: str) -> QuerySet[Article]:
    """Create twelve articles with relations. Several dates and weights are missing."""
    categories = [CategoryFactory(using=using, pk=n, slug=f"c{n}") for n in (1, 2)]
    tags = [TagFactory(using=using, name=name) for name in "ab"]
    rows = [
        ArticleFactory(
            using=using,
            pk=number * 2,
            slug=f"s{number}",
            category=categories[number % 2],
            published=number % 4 != 0,
            updated=None if number % 6 == 0 else NOON + timedelta(hours=number),
            day=date(2026, 1, number),
            weight=None if number % 5 == 0 else Decimal(number) / 20,
        )
        for number in range(1, 13)
    ]
    for number, row in enumerate(rows):
        row.tags.set(tags[: number % 3])
        for hour in range(number % 3):
            VisitFactory(using=using, article=row, at=NOON + timedelta(days=number, hours=hour))
    return Article.objects.using(using).all()


@contextmanager
def queries(using: str, count: int) -> Iterator[None]:
    with CaptureQueriesContext(connections[using]) as captured:
        yield
    assert len(captured) == count, [query["sql"] for query in captured]


def listing(items: Any, **attributes: Any) -> type[Sitemap[Any]]:
    attributes.setdefault("location", lambda self, item: f"/{item}/")
    return type("Listing", (Sitemap,), {"items": lambda self: items, **attributes})
