"""Values of columns: an expression, a method and a constant give the same bytes."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from django.db.models import Case, CharField, Count, F, Value, When
from django.db.models.functions import Cast, Coalesce, Concat
from django.urls import reverse
from hypothesis import HealthCheck, given, settings, strategies as st

from django_sitemaps09 import Route
from tests.models import Article
from tests.support.sources import COLUMNS, UTC, compiled, declaration, errors, locations, rendered

pytestmark = pytest.mark.usefixtures("cached_site")


# Columns and methods return the same bytes for the same data.

EXPRESSIONS = {
    "F over a foreign key": (
        "location", Concat(Value("/c"), "category__slug", Value("/"), "slug", output_field=CharField()),
        lambda item: f"/c{item.category.slug if item.category else ''}/{item.slug}",
    ),
    "Route over a foreign key": (
        "location", Route("seat", row=Coalesce("category__slug", Value("none")), number=F("pk")),
        lambda item: f"/seats/{item.category.slug if item.category else 'none'}/{item.pk}/",
    ),
    "Cast of a key": (
        "location", Concat(Value("/"), Cast("pk", CharField(max_length=20))), lambda item: f"/{item.pk}",
    ),
    "Count": ("priority", Count("tags") * 0.25, lambda item: item.tags.count() * 0.25),
}  # fmt: skip


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_gives_the_bytes_that_a_method_gives(name, articles):
    field, expression, method = EXPRESSIONS[name]
    for queryset in (articles, articles.filter(tags__pk__gt=0), articles.order_by("day")[:9]):
        texts = []
        for hook in (expression, lambda self, item: method(item)):
            source = compiled(declaration(queryset=queryset, limit=4, **{**COLUMNS, field: hook}))
            done = rendered(source)
            assert errors(done) == []
            texts.append([part.text for part in done])
        assert texts[0] == texts[1]
        assert len(texts[0]) > 1


FACTS = st.lists(
    st.fixed_dictionaries(
        {
            "slug": st.text("abcäß&'\"<> %\\-_.~@", min_size=1, max_size=12),
            "updated": st.none()
            | st.datetimes(datetime(1000, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
            "day": st.none() | st.dates(date(1000, 1, 1)),
            "weight": st.none() | st.decimals(-1, 2, places=3),
            "published": st.booleans(),
        }
    ),
    max_size=8,
)

FACT_COLUMNS = {
    "location": Route("word", word=F("slug")), "lastmod": F("updated"), "priority": F("weight"),
    "changefreq": Case(When(published=True, then=Value("daily")), default=Value("sometimes")),
}  # fmt: skip

FACT_METHODS = {
    "location": lambda self, item: reverse("word", args=[item.slug]),
    "lastmod": lambda self, item: item.updated,
    "priority": lambda self, item: item.weight,
    "changefreq": lambda self, item: "daily" if item.published else "sometimes",
}


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(facts=FACTS, limit=st.integers(1, 9))
def test_the_same_facts_give_the_same_bytes(using, facts, limit):
    """This includes invalid values, which are skipped for the same reason."""
    rows = Article.objects.using(using)
    rows.all().delete()
    rows.bulk_create(Article(**fact) for fact in facts)
    outcomes = []
    mixed = {**FACT_METHODS, "location": FACT_COLUMNS["location"], "priority": FACT_COLUMNS["priority"]}
    for hooks in (FACT_COLUMNS, FACT_METHODS, mixed):
        for lastmod in (hooks["lastmod"], F("day") if hooks is FACT_COLUMNS else lambda _, item: item.day):
            done = rendered(
                compiled(declaration(queryset=rows.all(), limit=limit, **{**hooks, "lastmod": lastmod}))
            )
            outcomes.append(([part.text for part in done], errors(done)))
    assert outcomes[0::2] == [outcomes[0]] * 3
    assert outcomes[1::2] == [outcomes[1]] * 3
    assert len(locations(done)) == len(facts)
