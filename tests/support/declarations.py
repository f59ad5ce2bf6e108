"""Rows and classes that tests create."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from django_sitemaps09 import ModelSitemap
from tests.models import Article
from tests.support.factories import ArticleFactory, CategoryFactory

UTC = timezone.utc
UPDATED = datetime(2026, 1, 31, 10, 30, tzinfo=UTC)


@pytest.fixture
def articles(db: None) -> list[Article]:
    category = CategoryFactory(slug="shop")
    return [
        ArticleFactory(
            slug=f"S{number}",
            category=category,
            updated=UPDATED.replace(day=number),
            weight=Decimal(number) / 10,
            published=number != 2,
        )
        for number in (3, 1, 2)
    ]


def declare(base: Any = ModelSitemap, **attributes: Any) -> Any:
    return type("Declared", (base,), attributes)
