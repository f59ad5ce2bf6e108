"""Names of declared expressions, and their values for rows that lack their annotations."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.models import Case, Count, F, Max, OuterRef, Subquery, Value, When
from django.db.models.functions import Coalesce, Lower
from django.test.utils import CaptureQueriesContext

from django_sitemaps09.hooks.annotations import annotate, column
from django_sitemaps09.hooks.expressions import FIELDS, alias
from tests.models import Article, Recent
from tests.support.factories import NEWEST, ArticleFactory, CategoryFactory, hours_before
from tests.support.sections import declare

EXPRESSIONS = {
    "F": F("updated"), "relation": F("category__slug"), "Lower": Lower("slug"),
    "Coalesce": Coalesce("updated", Value(NEWEST)),
    "Case": Case(When(published=True, then=Value("daily")), default=Value("never")),
    "arithmetic": F("weight") * 2,
    "subquery": Subquery(Article.objects.filter(pk=OuterRef("pk")).values("slug")), "value": Value("a"),
}  # fmt: skip


def test_reserved_names_are_names_that_no_model_has():
    names = {alias(name, position) for name in FIELDS for position in range(3)}
    assert len(names) == 3 * len(FIELDS)
    # Django interprets two underscores as a lookup.
    assert [name for name in names if not name.startswith("_sitemaps09_") or "__" in name] == []
    assert all(map(str.isidentifier, names))


@pytest.fixture
def article(db):
    return ArticleFactory(slug="S", category=CategoryFactory(), weight="0.3", updated=hours_before(2))


def unannotated(article):
    """Return rows that the project queried itself."""
    rows = Article.objects.filter(pk=article.pk)
    yield from (rows.get(), rows.only("pk").get(), Recent.objects.get(pk=article.pk))
    yield rows.union(Article.objects.none(), all=True).get()
    yield next(iter(Article.objects.raw("SELECT * FROM tests_article WHERE id = %s", [article.pk])))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_row_without_annotations_is_queried_for_the_same_values_once(expression, article):
    value = EXPRESSIONS[expression]
    section = declare(model=Article, lastmod=value)()
    expected = column(value, alias("lastmod"), annotate(section, section.items()).get())
    for item in unannotated(article):
        assert column(value, alias("lastmod"), item) == expected
        with CaptureQueriesContext(connection) as queries:
            assert column(value, alias("lastmod"), item) == expected
        assert len(queries) == 0


def test_a_row_without_annotations_may_have_an_aggregate(article):
    for number in range(2):
        article.visits.create(at=hours_before(number))
    for item in unannotated(article):
        assert column(Max("visits__at"), alias("lastmod"), item) == NEWEST
        assert column(Count("visits"), alias("priority"), item) == 2
