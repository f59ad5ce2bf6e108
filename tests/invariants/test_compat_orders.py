"""The compatibility views list each row once on unchanged rows, regardless of its order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.db.models import Count, F, Max, QuerySet
from django.test import RequestFactory

from django_sitemaps09 import GenericSitemap, Route, Sitemap
from django_sitemaps09.orm.reading import count_rows, in_page_order
from tests.models import Article, Comment, Event
from tests.support.databases import parameter
from tests.support.factories import ArticleFactory, CategoryFactory, TagFactory
from tests.support.ways import assert_paths, by, compatible, declare, entries

pytestmark = pytest.mark.sitemaps09(GZIP=False, ENGINE="serial")

#: More rows than one block of a table, so that databases read blocks in different orders.
ROWS = 57


@pytest.fixture
def rows(using: str) -> QuerySet[Article]:
    """Create articles that are equal in most orders, several of them with two tags."""
    tags = [TagFactory(using=using, name=name) for name in "ab"]
    category = CategoryFactory(using=using, slug="one")
    articles = [
        Article(
            slug=f"a{number:02}",
            code=f"c{(number * 31) % ROWS:02}",
            category=category,
            published=number % 2 == 0,
        )
        for number in range(ROWS)
    ]
    queryset = Article.objects.using(using)
    queryset.bulk_create(articles)
    articles = [*queryset.order_by("slug")]
    Comment.objects.using(using).bulk_create(Comment(article=article) for article in articles)
    pairs = [(article, tag) for tag in tags for article in articles[: ROWS if tag is tags[0] else 42]]
    links = Article.tags.through
    links.objects.using(using).bulk_create(links(article=article, tag=tag) for article, tag in pairs)
    return queryset.all()


def named(rows: QuerySet[Article]) -> Counter[str]:
    return Counter(f"/articles/{row.slug}/" for row in rows.all())


def once(rows: QuerySet[Article]) -> Counter[str]:
    return Counter({*named(rows)})


def paths(section: Any) -> Counter[str]:
    return Counter(path for path, _ in compatible(section))


#: Orders in which many rows are equal.
TIES: dict[str, Callable[[QuerySet[Article]], Any]] = {
    "a column": lambda rows: rows.order_by("published"),
    "a descending column": lambda rows: rows.order_by("-published"),
    "a relation": lambda rows: rows.order_by("category__slug"),
    "an expression": lambda rows: rows.order_by(F("published").desc(nulls_last=True)),
    "reversed": lambda rows: rows.order_by("published").reverse(),
    "extra": lambda rows: rows.extra(order_by=["published"]),
    "an aggregate": lambda rows: rows.annotate(n=Count("comments")).order_by("n"),
    "distinct": lambda rows: rows.distinct().order_by("published"),
    "no order": lambda rows: rows.filter(category__slug="one"),
    "a filtered relation": lambda rows: rows.filter(comments__pk__gt=0).order_by("published"),
    "a slice": lambda rows: rows.order_by("published", "code")[3:50],
    "a union": lambda rows: rows.filter(pk__gt=20).union(rows.filter(pk__lt=40)).order_by("published"),
}


@pytest.mark.parametrize("name", TIES)
def test_rows_that_are_equal_in_their_order_are_listed_once(name: str, rows: QuerySet[Article]) -> None:
    for i18n in (False, True):
        section = declare(TIES[name](rows), location=by("slug"), limit=8, i18n=i18n, languages=["en"])
        assert paths(section) == Counter(f"/{row.slug}/" for row in TIES[name](rows))


@pytest.mark.parametrize("name", ["a column", "a descending column", "an expression", "reversed", "extra"])
def test_pages_of_equal_rows_have_the_declared_order(name: str, rows: QuerySet[Article]) -> None:
    queryset = TIES[name](rows)
    found = [path for path, _ in compatible(declare(queryset, location=by("published"), limit=8))]
    assert found == [f"/{row.published}/" for row in queryset]


@pytest.mark.parametrize("made", ["generic", "items", "values"])
def test_every_class_lists_equal_rows_once(made: str, rows: QuerySet[Article]) -> None:
    queryset = rows.order_by("published")
    values = {
        "items": lambda self: queryset.values("slug"),
        "location": lambda self, row: f"/articles/{row['slug']}/",
    }
    section: Any = {
        "generic": lambda: GenericSitemap({"queryset": queryset}),
        "items": type("Items", (Sitemap,), {"items": lambda self: queryset.all()}),
        "values": type("Values", (Sitemap,), values),
    }[made]()
    section.limit = 4
    assert paths(section) == named(rows)


#: Orders over a relation with several rows, by which a queryset lists some rows several times.
REPEATED: dict[str, Callable[[QuerySet[Article]], Any]] = {
    "a relation": lambda rows: rows.order_by("tags__name", "pk"),
    "a relation, descending": lambda rows: rows.order_by(F("tags__name").desc()),
    "a filtered row": lambda rows: rows.filter(category__slug="one").order_by("tags__name", "slug"),
    "another relation": lambda rows: rows.filter(comments__pk__gt=0).order_by("tags__name", "pk"),
    "distinct": lambda rows: rows.filter(tags__pk__gt=0).distinct().order_by("tags__name"),
}


@pytest.mark.parametrize("lastmod", [F("updated"), Max("comments__article__updated")])
@pytest.mark.parametrize("name", REPEATED)
def test_an_order_that_repeats_rows_lists_them_once(
    name: str, lastmod: Any, rows: QuerySet[Article]
) -> None:
    """Deviation 13: contrib's pages end after the number of rows, so some are missing."""
    queryset = REPEATED[name](rows)
    assert count_rows(queryset) == len(queryset.all()) == 99
    expected = {f"/{row.slug}/" for row in rows}
    assert len(expected) == ROWS
    for hooks in ({}, {"i18n": True, "languages": ["en"]}):
        assert_paths(declare(queryset, location=by("slug"), lastmod=lastmod, limit=25, **hooks), expected)


@pytest.mark.parametrize("using", [parameter("default")], indirect=True)
def test_contrib_misses_rows_that_an_order_repeats(rows: QuerySet[Article]) -> None:
    """Deviation 13: contrib lists as many rows as there are, but some of them twice."""

    class Contribs(contrib.Sitemap):
        def items(self) -> Any:
            return rows.order_by("-tags__name", "pk")

    response = contrib_views.sitemap(RequestFactory().get("/"), {"s": Contribs})
    found = Counter(path for path, _ in entries(response.render().content))
    assert found.total() == ROWS > len(found)


#: Querysets whose rows are not only rows of the model.
LISTED: dict[str, tuple[Callable[[QuerySet[Article]], Any], tuple[str, ...]]] = {
    "values": (lambda rows: rows.values("slug").order_by("tags__name"), ("slug",)),
    "an annotation": (
        lambda rows: rows.annotate(x=F("comments__pk")).order_by("tags__name"),
        ("slug", "x"),
    ),
    "the same relation": (lambda rows: rows.filter(tags__name__gt="").order_by("tags__name"), ("slug",)),
    "groups": (lambda rows: rows.annotate(n=Count("tags")).order_by("tags__name"), ("slug", "n")),
}


@pytest.mark.parametrize("name", LISTED)
def test_rows_that_more_than_their_order_repeats_are_as_in_the_queryset(
    name: str, rows: QuerySet[Article]
) -> None:
    build, names = LISTED[name]
    section = declare(build(rows), location=by(*names), limit=10)
    expected = Counter(section().location(row) for row in build(rows))
    assert expected.total() == 99
    assert paths(section) == expected


def test_a_route_of_repeated_rows_is_listed_once(rows: QuerySet[Article]) -> None:
    section = declare(rows.order_by("tags__name"), location=Route("article", slug=F("slug")), limit=50)
    assert paths(section) == once(rows)


@pytest.mark.parametrize("order", ["category_id", "-category_id"])
@pytest.mark.django_db
def test_an_order_by_an_index_needs_no_sorting(order: str) -> None:
    """In SQLite and MariaDB, each entry of an index ends with the primary key."""
    assert "TEMP B-TREE" not in in_page_order(Article.objects.order_by(order))[:10].explain()


@pytest.mark.parametrize("using", [parameter("default")], indirect=True)
def test_an_order_of_extra_can_name_a_table(rows: QuerySet[Article]) -> None:
    ordered = rows.extra(order_by=["-tests_article.slug"])
    for queryset in (ordered, ordered[:7], ordered.annotate(n=Count("comments"))):
        assert_paths(declare(queryset, limit=20), named(queryset))


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_rows_that_are_distinct_by_a_relation_need_no_order(using: str) -> None:
    for number in range(3):
        article = ArticleFactory(using=using, slug=f"a{number}")
        moment = datetime(2026, 1, 1 + number, tzinfo=timezone.utc)
        Event.objects.using(using).create(at=moment, price=number, article_id=article.pk)
    rows = Event.objects.using(using).distinct("article")
    assert_paths(declare(rows, location=by("pk")), {f"/{row.pk}/" for row in rows})
