"""Properties of pages that need no rendering: the digest and the newest lastmod."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import NotSupportedError, connections
from django.db.models import CharField, DateTimeField, F, Func, Max, QuerySet, Value
from django.db.models.functions import Cast
from django.test.utils import CaptureQueriesContext

from tests.models import Article
from tests.support.databases import parameter
from tests.support.sources import (
    COLUMNS,
    FIRST,
    KINDS,
    NOON,
    UTC,
    compiled,
    declaration,
    page_map,
    rendered,
    source_of,
)

pytestmark = pytest.mark.usefixtures("cached_site")


# The live views need a digest of the declaration, and the newest lastmod.


class OnlyWhereItIs(Func):
    """SQL that only one database supports."""

    function = "LOWER"
    arity = 1
    output_field = CharField()

    def as_sql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        if connection.alias != compiler.using or connection.vendor == "sqlite":
            raise NotSupportedError("compiled for a database that the rows are not in")
        return super().as_sql(compiler, connection, **context)


@pytest.mark.parametrize("using", [parameter("postgresql"), parameter("mariadb")], indirect=True)
def test_a_digest_covers_the_sql_of_the_database_of_the_rows(articles: QuerySet[Article]) -> None:
    queryset = articles.alias(lowered=OnlyWhereItIs("slug")).filter(lowered="s1")
    assert compiled(declaration(queryset=queryset, **COLUMNS)).declaration_digest


@pytest.mark.parametrize("hook", [F("updated"), F("day"), Max("visits__at"), NOON, None])
def test_the_newest_lastmod_of_a_page_is_what_its_entries_say(
    articles: QuerySet[Article], hook: Any
) -> None:
    source = compiled(declaration(queryset=articles, limit=2, **{**COLUMNS, "lastmod": hook}))
    done = rendered(source)
    assert [source.look(part.page).newest for part in done] == [part.written.lastmod for part in done]
    assert any(part.written.lastmod for part in done) is (hook is not None)


def test_a_lastmod_of_the_future_says_nothing_of_a_page(articles: QuerySet[Article]) -> None:
    articles.filter(pk=2).update(updated=datetime.now(UTC) + timedelta(days=1))
    source = compiled(declaration(queryset=articles.filter(pk=2), **COLUMNS))
    (page,) = page_map(source)
    assert source.look(page).newest is None


def test_a_column_that_is_not_a_date_says_nothing_of_a_page(articles: QuerySet[Article]) -> None:
    source = compiled(declaration(queryset=articles, **{**COLUMNS, "lastmod": F("slug")}))
    (done,) = rendered(source)
    assert source.look(done.page).newest is None
    assert done.written.urls == len(done.written.errors) == 14


def test_the_newest_lastmod_of_any_page_is_one_query_over_its_range(using: str) -> None:
    KINDS["composite"].make(using, range(FIRST))
    source = source_of(KINDS["composite"], using, 4, lastmod=Cast(Value(NOON), DateTimeField()))
    for page in page_map(source):
        with CaptureQueriesContext(connections[using]) as captured:
            assert source.look(page).newest == "2026-01-01T12:00:00Z"
        (query,) = captured
        assert "WHERE" in query["sql"]
