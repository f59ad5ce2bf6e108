"""Rows and sources, for tests of fingerprints and digests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connections
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext

from tests.models import Article
from tests.support.factories import CategoryFactory, TagFactory, add_related
from tests.support.sources import COLUMNS, NOON, UTC, compiled, declaration, listing

__all__ = ["NOON", "UTC", "articles", "compiled", "declaration", "listing", "queries", "source_of"]


def source_of(rows: QuerySet[Any], **attributes: Any) -> Any:
    return compiled(declaration(queryset=rows, **{**COLUMNS, **attributes}))


@pytest.fixture
def articles(using: str) -> QuerySet[Article]:
    """Create twelve articles with relations. Several dates and weights are missing."""
    categories = [CategoryFactory(using=using, pk=n, slug=f"c{n}") for n in (1, 2)]
    tags = [TagFactory(using=using, name=name) for name in "ab"]
    rows = Article.objects.using(using).bulk_create(
        Article(
            pk=number * 2,
            slug=f"s{number}",
            category=categories[number % 2],
            published=number % 4 != 0,
            updated=None if number % 6 == 0 else NOON + timedelta(hours=number),
            day=date(2026, 1, number),
            weight=None if number % 5 == 0 else Decimal(number) / 20,
        )
        for number in range(1, 13)
    )
    add_related(
        using,
        (
            (row, tags[: n % 3], 0, [NOON + timedelta(days=n, hours=hour) for hour in range(n % 3)])
            for n, row in enumerate(rows)
        ),
    )
    return Article.objects.using(using).all()


@contextmanager
def queries(using: str, count: int) -> Iterator[None]:
    with CaptureQueriesContext(connections[using]) as captured:
        yield
    assert len(captured) == count, [query["sql"] for query in captured]
