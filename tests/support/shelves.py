"""Articles with tags, comments and visits, for querysets of any kind."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from django.db.models import DateTimeField, Value
from django.db.models.functions import Cast, Coalesce

from tests.models import Article
from tests.support.factories import CategoryFactory, TagFactory, add_related


@pytest.fixture
def shelf(using):
    """Create twelve articles with tags, comments and visits, several with more than one of them."""
    one = CategoryFactory(using=using, slug="one")
    tags = [TagFactory(using=using, name=name) for name in "ab"]
    moments = [datetime(2026, 1, 1 + number, 10, 30, 15, tzinfo=timezone.utc) for number in range(12)]
    articles = Article.objects.using(using).bulk_create(
        Article(
            slug=f"a{number:02}",
            category=one if number % 2 else None,
            published=number % 3 == 0,
            updated=moment if number % 5 else None,
            day=moment.date(),
        )
        for number, moment in enumerate(moments)
    )
    visits = [[moments[n] + timedelta(days=days) for days in range(n % 4)] for n in range(12)]
    add_related(using, ((row, tags[: n % 3], n % 4, visits[n]) for n, row in enumerate(articles)))
    return Article.objects.using(using).all()


OLD = datetime(2020, 5, 17, 22, 30, tzinfo=timezone.utc)


def at_least(old):
    return Coalesce("updated", Cast(Value(old), DateTimeField()))


class Stubborn(Article):
    """Model with rows whose instances cannot be created."""

    class Meta:
        proxy = True
        app_label = "tests"

    @classmethod
    def from_db(cls, db, field_names, values, **options):
        made = super().from_db(db, field_names, values, **options)
        if made.slug in ("a03", "a07"):
            raise ValueError("it does not understand what it has stored")
        return made
