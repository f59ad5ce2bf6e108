"""Names of declared expressions, and their values for rows that lack their annotations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.db.models import Case, Count, F, Max, OuterRef, Subquery, Value, When
from django.db.models.functions import Coalesce, Lower
from django.test.utils import CaptureQueriesContext

from django_sitemaps09.hooks.annotations import annotate, column
from django_sitemaps09.hooks.expressions import FIELDS, alias
from tests.models import Article, Recent
from tests.support.declarations import UPDATED, declare

EXPRESSIONS: dict[str, Any] = {
    "F": F("updated"),
    "relation": F("category__slug"),
    "Lower": Lower("slug"),
    "Coalesce": Coalesce("updated", Value(UPDATED)),
    "Case": Case(When(published=True, then=Value("daily")), default=Value("never")),
    "arithmetic": F("weight") * 2,
    "aggregate": Max("visits__at"),
    "subquery": Subquery(Article.objects.filter(pk=OuterRef("pk")).values("slug")),
    "value": Value("a"),
}


def test_reserved_names_are_names_that_no_model_has() -> None:
    names = {alias(name, position) for name in FIELDS for position in range(3)}
    assert len(names) == 3 * len(FIELDS)
    for name in names:
        assert name.startswith("_sitemaps09_")
        assert name.isidentifier()
        # Django interprets two underscores as a lookup.
        assert "__" not in name


def unannotated(item: Article) -> Iterator[Any]:
    """Return rows that the project queried itself."""
    yield Article.objects.get(pk=item.pk)
    yield Article.objects.only("pk").get(pk=item.pk)
    yield Recent.objects.get(pk=item.pk)
    yield Article.objects.filter(pk=item.pk).union(Article.objects.none(), all=True).get()
    yield next(iter(Article.objects.raw("SELECT * FROM tests_article WHERE id = %s", [item.pk])))


@pytest.mark.parametrize("expression", [name for name in EXPRESSIONS if name != "aggregate"])
def test_a_row_without_annotations_is_queried_for_the_same_values_once(
    expression: str, articles: list[Article]
) -> None:
    value = EXPRESSIONS[expression]
    section = declare(model=Article, lastmod=value)()
    expected = column(value, alias("lastmod"), annotate(section, section.items()).get(slug="S3"))
    for item in unannotated(articles[0]):
        assert column(value, alias("lastmod"), item) == expected
        with CaptureQueriesContext(connection) as queries:
            assert column(value, alias("lastmod"), item) == expected
        assert len(queries) == 0


def test_a_row_without_annotations_may_have_an_aggregate(articles: list[Article]) -> None:
    articles[0].visits.create(at=UPDATED)
    articles[0].visits.create(at=UPDATED.replace(day=1))
    for item in unannotated(articles[0]):
        assert column(Max("visits__at"), alias("lastmod"), item) == UPDATED
        assert column(Count("visits"), alias("priority"), item) == 2
