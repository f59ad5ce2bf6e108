"""Single rows: found by values in their locations, on the page that their key belongs to."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import FieldError
from django.db import connections
from django.db.models import Count, F
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Route
from django_sitemaps09.hooks.expressions import alias
from django_sitemaps09.inspector import rows
from django_sitemaps09.inspector.rows import FoundRow, KeyQueries, page_index, row_batch
from tests.models import Article, Tag
from tests.support.sources import Kind, compiled, declaration, keys_of, page_map, source_of

pytestmark = pytest.mark.usefixtures("cached_site")


def find_rows(source: Any, conditions: dict[str, Any]) -> list[FoundRow]:
    return rows.find_rows(source, conditions, KeyQueries().rows)


def test_every_row_is_found_on_its_page_whatever_its_key(kind: Kind, using: str) -> None:
    source = source_of(kind, using, 4)
    found = page_map(source)
    assert len(found) > 1
    for index, page in enumerate(found):
        for key in keys_of(source, page):
            with CaptureQueriesContext(connections[using]) as queries:
                assert page_index(source, key, found) == index
            assert len(queries) <= len(found).bit_length()
            [row] = find_rows(source, {source.members.key.name: key})
            assert row == FoundRow(key, is_listed=True)
            assert list(row_batch(source, row).keys) == [key]


def test_one_query_excludes_many_queries_without_rows(using: str) -> None:
    Article.objects.using(using).create(pk=3, slug="s3")
    found = [
        Article.objects.using(using).filter(slug=f"s{number}").values_list("pk") for number in range(30)
    ]
    queries = KeyQueries()
    with CaptureQueriesContext(connections[using]) as captured:
        queries.prepare([lambda read: list(map(read, [*found, found[0].none()]))])
        assert [number for number, query in enumerate(found) if queries.rows(query)] == [3]
        assert queries.rows(found[0].none()) == []
    assert len(captured) == 2


def article_source(using: str, **attributes: Any) -> Any:
    declared = {"location": Route("article", slug=F("slug")), "lastmod": F("updated"), **attributes}
    return compiled(declaration(**declared))


@pytest.fixture
def articles(using: str) -> None:
    tag = Tag.objects.using(using).create(name="t")
    for number in range(1, 6):
        article = Article.objects.using(using).create(
            pk=number, slug=f"s{number}", code=f"c{number}", published=number != 3
        )
        if number != 4:
            article.tags.add(tag)


SLUG = alias("location")


@pytest.mark.usefixtures("articles")
class TestFindRows:
    def test_tells_rows_that_the_queryset_filters_out(self, using: str) -> None:
        source = article_source(using, queryset=Article.objects.using(using).filter(published=True))
        assert find_rows(source, {SLUG: "s1"}) == [FoundRow(1, is_listed=True)]
        [filtered] = find_rows(source, {SLUG: "s3"})
        assert filtered == FoundRow(3, is_listed=False)
        batch = row_batch(source, filtered)
        assert batch is not None
        assert list(batch.localizations[0].texts()) == ["/articles/s3/"]
        assert find_rows(source, {SLUG: "s9"}) == []
        assert row_batch(source, FoundRow(9, is_listed=True)) is None

    def test_tells_rows_that_a_join_leaves_out(self, using: str) -> None:
        rows = Article.objects.using(using).filter(tags__name="t", published=True)
        source = article_source(using, queryset=rows)
        assert source.members.original is not None
        listed = {number: find_rows(source, {SLUG: f"s{number}"}) for number in range(1, 6)}
        assert listed == {number: [FoundRow(number, number not in (3, 4))] for number in range(1, 6)}
        batch = row_batch(source, FoundRow(4, is_listed=False))
        assert batch is not None

    def test_tells_rows_of_groups(self, using: str) -> None:
        rows = Article.objects.using(using).annotate(count=Count("tags")).filter(count=1)
        source = article_source(using, queryset=rows)
        assert find_rows(source, {SLUG: "s1"}) == [FoundRow(1, is_listed=True)]
        assert find_rows(source, {SLUG: "s4"}) == [FoundRow(4, is_listed=False)]

    def test_returns_at_most_ten_rows(self, using: str) -> None:
        Article.objects.using(using).bulk_create(
            [Article(pk=100 + number, slug="same") for number in range(11)]
        )
        source = article_source(using, queryset=Article.objects.using(using))
        assert len(find_rows(source, {SLUG: "same"})) == 10

    def test_raises_for_an_unknown_field(self, using: str) -> None:
        source = article_source(using, queryset=Article.objects.using(using))
        with pytest.raises(FieldError):
            find_rows(source, {"unknown": 1})

    def test_reads_instances_for_methods(self, using: str) -> None:
        def location(self: object, item: Article) -> str:
            return f"/{item.code}/"

        source = article_source(using, queryset=Article.objects.using(using), location=location)
        [row] = find_rows(source, {"code": "c2"})
        batch = row_batch(source, row)
        assert batch is not None
        assert list(batch.localizations[0].texts()) == ["/c2/"]
