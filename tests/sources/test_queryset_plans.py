"""Plans of queries: bounds, pages and fingerprints are read by a range of the key's index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connections
from django.db.models import DateTimeField, F, Value
from django.db.models.functions import Cast
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Route
from django_sitemaps09.pages import Key, Page
from tests.models import Article, Category, Seat
from tests.support.databases import parameter
from tests.support.sources import NOON, compiled, declaration, set_slices

ROWS, LIMIT = 20_000, 1_000
#: How PostgreSQL reads a range of an index.
RANGE_SCANS = {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}


def articles(using: str, slug: str) -> Any:
    categories = Category.objects.using(using).bulk_create(Category(slug=f"c{n}") for n in range(20))
    Article.objects.using(using).bulk_create(
        Article(pk=n * 3, slug=f"s{n}", category=categories[n % 20], published=n % 50 != 0, updated=NOON)
        for n in range(ROWS)
    )
    rows = Article.objects.using(using).filter(published=True)
    location = Route("article", slug=F(slug))
    return compiled(declaration(queryset=rows, limit=LIMIT, location=location, lastmod=F("updated")))


def seats(using: str) -> Any:
    rows = Seat.objects.using(using)
    rows.bulk_create(Seat(row=f"r{n // 50:03}", number=n % 50) for n in range(ROWS))
    location, lastmod = Route("word", word=F("row")), Cast(Value(NOON), DateTimeField())
    return compiled(declaration(queryset=rows.all(), limit=LIMIT, location=location, lastmod=lastmod))


SECTIONS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "an integer": ("tests_article", lambda using: articles(using, "slug")),
    "an integer, with a join": ("tests_article", lambda using: articles(using, "category__slug")),
    "two columns": ("tests_seat", seats),
}


@pytest.mark.slow
@pytest.mark.parametrize("using", [parameter("default"), parameter("postgresql")], indirect=True)
@pytest.mark.parametrize("name", SECTIONS)
def test_queries_read_a_range_of_the_key(using: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_slices(monkeypatch, 300)
    table, make = SECTIONS[name]
    source = make(using)
    if using == "postgresql":
        with connections[using].cursor() as cursor:
            cursor.execute(f"ANALYZE {table}, tests_category")

    def checked(after: Key | None, call: Callable[[], Any], least: int = 1) -> Any:
        with CaptureQueriesContext(connections[using]) as captured:
            result = call()
        assert len(captured) >= least
        for query in captured:
            assert_reads_range(using, query["sql"], table, is_bounded=after is not None)
        return result

    ends = [None, *(source.key_after(None, count) for count in (LIMIT, 9 * LIMIT, 10 * LIMIT, 18 * LIMIT))]
    assert None not in ends[1:]
    for after in ends:
        assert checked(after, lambda after=after: source.key_after(after, LIMIT)) is not None
    first, middle, last = (None, ends[1]), (ends[2], ends[3]), (ends[4], None)
    for after, until in (first, middle, last):
        page, bound = Page(1, after, until), after or until
        batches = checked(bound, lambda page=page: [*source.batches(page)], 4)
        count = sum(len(batch.keys) for batch in batches)
        assert count >= LIMIT
        found = checked(bound, lambda page=page: source.fingerprint(page.after, page.until))
        assert found.rows == count
        assert checked(bound, lambda page=page: source.look(page).newest) == "2026-01-01T12:00:00Z"
        counted = checked(bound, lambda page=page: source.count(page.after, page.until, LIMIT))
        assert counted == LIMIT


def assert_reads_range(using: str, sql: str, table: str, *, is_bounded: bool) -> None:
    """Fail if a query reads more of a table than a range, or sorts more than a page.

    Without a bound, the query reads rows in the order of the key and stops after a number of them.
    """
    assert is_bounded or "LIMIT" in sql
    explain = "EXPLAIN QUERY PLAN" if using == "default" else "EXPLAIN (FORMAT JSON)"
    with connections[using].cursor() as cursor:
        cursor.execute(f"{explain} {sql}")
        plan = cursor.fetchall()
    if using == "default":
        steps = [step for *_, step in plan]
        assert not any("TEMP B-TREE" in step for step in steps), (sql, plan)
        [read] = [step for step in steps if step.split()[1] == table]
        keys = ("INTEGER PRIMARY KEY (", f"INDEX sqlite_autoindex_{table}_1 (")
        assert not is_bounded or any(key in read for key in keys), (sql, plan)
        return
    steps = [*nodes(plan[0][0][0]["Plan"])]
    assert all(node["Plan Rows"] < LIMIT for node in steps if "Sort" in node["Node Type"]), (sql, plan)
    assert all(node["Index Name"].endswith("_pkey") for node in steps if "Index Name" in node), (sql, plan)
    [read] = [node for node in steps if node.get("Relation Name") == table]
    assert read["Node Type"] in RANGE_SCANS, (sql, plan)
    assert not is_bounded or read.keys() & {"Index Cond", "Recheck Cond"}, (sql, plan)


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)
