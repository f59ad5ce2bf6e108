"""The rows that the cases read, and the site and keys of their entries."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from tests.compat.cases.parts import NEW_YORK, UTC, ZURICH
from tests.models import Article
from tests.support.factories import CategoryFactory
from tests.support.site_factories import FlatPageFactory

UPDATED = {
    "alpha": datetime(2025, 1, 1, 10, 30, tzinfo=UTC),
    "beta & <b>": datetime(2025, 3, 30, 3, 15, 1, tzinfo=ZURICH),
    "gamma-ü": datetime(2026, 2, 28, 23, 59, 59, tzinfo=NEW_YORK),
    "delta": datetime(2024, 2, 29, tzinfo=UTC),
    'omega "x"': None,
}
KEYS = ["item", "location", "lastmod", "changefreq", "priority", "alternates"]


class Host:
    """A site with only the required attribute."""

    domain = "shop.example.org"


def populate() -> list[Article]:
    """Create five articles, the last one without a time, and three flatpages, one of them private."""
    trees, rocks = CategoryFactory(slug="trees"), CategoryFactory(slug="rocks")
    articles = Article.objects.bulk_create(
        Article(
            slug=slug,
            category=trees if number % 2 else rocks,
            updated=updated,
            day=updated and date(2025, 1, 1 + number),
            weight=Decimal(number + 1) / 10,
            code=f"c{number}",
        )
        for number, (slug, updated) in enumerate(UPDATED.items())
    )
    for url, members in (("/about/", False), ("/a&b/", False), ("/members/", True)):
        FlatPageFactory(url=url, registration_required=members, sites=[1])
    return articles
