"""The rows that the cases read."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from django.contrib.flatpages.models import FlatPage

from tests.compat.cases import NEW_YORK, UTC, ZURICH
from tests.models import Article, Category

UPDATED = {
    "alpha": datetime(2025, 1, 1, 10, 30, tzinfo=UTC),
    "beta & <b>": datetime(2025, 3, 30, 3, 15, 1, tzinfo=ZURICH),
    "gamma-ü": datetime(2026, 2, 28, 23, 59, 59, tzinfo=NEW_YORK),
    "delta": datetime(2024, 2, 29, tzinfo=UTC),
    'omega "x"': None,
}


def populate() -> list[Article]:
    """Create five articles, the last one without a time, and three flatpages, one for members only."""
    trees, rocks = Category.objects.create(slug="trees"), Category.objects.create(slug="rocks")
    articles = [
        Article.objects.create(
            slug=slug,
            category=trees if number % 2 else rocks,
            updated=updated,
            day=updated and date(2025, 1, 1 + number),
            weight=Decimal(number + 1) / 10,
            code=f"c{number}",
        )
        for number, (slug, updated) in enumerate(UPDATED.items())
    ]
    for url, members in (("/about/", False), ("/a&b/", False), ("/members/", True)):
        page = FlatPage.objects.create(url=url, title=url, registration_required=members)
        page.sites.add(1)
    return articles
