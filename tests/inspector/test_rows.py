"""Single rows: found by values in their locations, on the page that their key belongs to."""

from __future__ import annotations

import pytest
from django.core.exceptions import FieldError
from django.db import connections
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Route
from django_sitemaps09.hooks.expressions import alias
from django_sitemaps09.inspector import rows
from django_sitemaps09.inspector.rows import FoundRow, KeyQueries, page_index, row_batch
from tests.models import Article
from tests.support.sources import compiled, declaration, keys_of, page_map, source_of

pytestmark = pytest.mark.usefixtures("cached_site")


def find_rows(source, conditions):
    return rows.find_rows(source, conditions, KeyQueries().rows)


def test_every_row_is_found_on_its_page_whatever_its_key(kind, using):
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


def test_at_most_ten_rows_are_found(using):
    rows = Article.objects.using(using)
    rows.bulk_create(Article(pk=100 + number, slug="same") for number in range(11))
    source = compiled(declaration(location=Route("article", slug=F("slug")), queryset=rows.all()))
    assert len(find_rows(source, {alias("location"): "same"})) == 10
    with pytest.raises(FieldError):
        find_rows(source, {"unknown": 1})


def test_one_query_excludes_many_queries_without_rows(using):
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
