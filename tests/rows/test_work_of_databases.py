"""The work of a database for each form of queryset: steps of SQLite, plans of queries, and their number."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
from django.db import connection, connections
from django.db.models import BigIntegerField, Count, DateTimeField, F, Max, Value, Window
from django.db.models.functions import Cast, RowNumber
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Route
from django_sitemaps09.rows.keys import KeyColumns
from tests.models import Article, Category, Comment, Seat
from tests.support.databases import ON_POSTGRESQL, execute, parameter
from tests.support.internals import Limits, Page, members
from tests.support.sections import declare
from tests.support.sources import ALL, KINDS, NOON, compiled, keys_of, page_map, set_slices

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cached_site")]
#: An expression that rows are grouped by.
NEWEST = "a lastmod that is an aggregate"
FORMS = {
    "plain": lambda rows: rows, "a bound of its own": lambda rows: rows.filter(pk__gte=1),
    "a relation to one row": lambda rows: rows.exclude(category__slug=""),
    "a relation to many rows": lambda rows: rows.filter(comments__isnull=False),
    "a relation to many rows, and distinct()": lambda rows: rows.filter(comments__isnull=False).distinct(),
    NEWEST: lambda rows: rows,
    "an aggregate": lambda rows: rows.annotate(n=Count("comments")).filter(n__gte=1),
    "a window": lambda rows: rows.alias(place=BY_CATEGORY).filter(place__gte=1),
}  # fmt: skip
#: A window function uses all rows for each page.
WINDOWLESS = [name for name in FORMS if name != "a window"]
OTHERS = [pytest.param(name, marks=pytest.mark.slow) for name in FORMS if name != "plain"]
BY_CATEGORY = Window(RowNumber(), partition_by=F("category"), order_by="pk")
small_slices = pytest.fixture(lambda monkeypatch: set_slices(monkeypatch, 20), autouse=True)


def fill(count, using="default", apart=1, comments=2, start=0):
    categories = [Category(pk=n, slug=f"c{n}") for n in range(1, 4)]
    Category.objects.using(using).bulk_create(categories, ignore_conflicts=True)
    numbers = range(start + apart, start + count * apart + 1, apart)
    rows = [Article(pk=n, slug=f"a{n}", category_id=n % 3 + 1) for n in numbers]
    Article.objects.using(using).bulk_create(rows)
    related = [Comment(article_id=n) for n in numbers for _ in range(comments)]
    Comment.objects.using(using).bulk_create(related)


def source_of(rows, limit, **attributes):
    declared = {"queryset": rows, "location": "/", "lastmod": F("updated"), **attributes}
    return compiled(declare(**declared), Limits(limit, 10_485_760))


def declared(name, using, limit):
    newest = Max("comments__article__updated") if name == NEWEST else F("updated")
    return source_of(FORMS[name](Article.objects.using(using)), limit, lastmod=newest)


@contextmanager
def steps(every=100):
    """Yield a list with the number of steps that SQLite takes in the block. It reports them by hundreds."""
    found = [0]

    def count():
        found[0] += every

    connection.ensure_connection()
    connection.connection.set_progress_handler(count, every)
    try:
        yield found
    finally:
        connection.connection.set_progress_handler(None, every)


def steps_to_read(name, count, limit):
    Category.objects.all().delete()
    fill(count)
    source = declared(name, "default", limit)
    with steps() as found:
        pages = page_map(source, Limits(limit, 10_485_760))
        keys = [key for page in pages for key in keys_of(source, page)]
        for page in pages:
            source.look(page)
            source.count(page.after, page.until, limit)
    assert len({*keys}) == len(keys) == count
    return found[0]


@pytest.mark.parametrize("name", ["plain", *OTHERS])
def test_twice_the_rows_are_twice_the_steps_on_pages_of_one_size_and_on_a_page_of_twice_the_size(name):
    for limit in [100, 10_000] if name in WINDOWLESS else [10_000]:
        once = steps_to_read(name, 400, limit)
        assert steps_to_read(name, 800, limit) < 2.5 * once


@pytest.mark.parametrize("name", WINDOWLESS)
def test_rows_after_a_gap_are_read_like_those_before_it(name):
    spent = []
    for count in (400, 800):
        Category.objects.all().delete()
        fill(30)
        fill(count, comments=1, start=10**9)
        source = declared(name, "default", 10_000)
        with steps() as found:
            assert len(keys_of(source, ALL)) == 30 + count
        spent.append(found[0])
    assert spent[1] < 2.5 * spent[0]


@pytest.mark.parametrize("name", WINDOWLESS)
def test_keys_that_are_far_apart_need_only_a_few_more_queries(using, name):
    fill(30, using, apart=1_000_003)
    source = declared(name, using, 10_000)
    for page, count in ((ALL, 30), (Page(1, ("1000003",), ("29000087",)), 28)):
        with CaptureQueriesContext(connections[using]) as captured:
            found = keys_of(source, page)
        assert (len(found), found) == (count, sorted(found))
        assert len(captured) <= 12


def test_a_few_rows_of_many_are_found_without_a_look_at_each():
    spent = []
    for count in (2_000, 4_000):
        Category.objects.all().delete()
        fill(count, comments=0)
        keys = [3, count // 2, count - 1]
        Comment.objects.bulk_create(Comment(article_id=key) for key in keys)
        rows = Article.objects.filter(comments__isnull=False)
        with CaptureQueriesContext(connection) as captured, steps(10) as found:
            assert keys_of(source_of(rows, 10_000), ALL) == keys
        assert len(captured) == 1
        assert found[0] < 1_000
        source = source_of(rows, 10)
        with steps(10) as found:
            assert not source.is_empty()
            assert len(source.sample().keys) == 3
            [page] = page_map(source, Limits(10, 10_485_760))
            assert len(keys_of(source, page)) == 3
        spent.append(found[0])
    assert spent[1] < 1.5 * spent[0]


def test_no_key_is_computed_if_a_project_converts_its_values():
    converting = {"from_db_value": lambda self, value, *_: value ^ 0b1010101}
    scrambled = type("Scrambled", (BigIntegerField,), converting)
    for field, is_integer in ((BigIntegerField(), True), (scrambled(), False)):
        key = KeyColumns("default", "pk", (field,))
        assert (key.is_integer, key.is_ordered_plainly) == (is_integer, is_integer)


@pytest.mark.parametrize("limit", ["LISTED", "max_query_params"])
@pytest.mark.parametrize(("name", "order"), [("text", "pk"), ("composite with a relation", "number")])
@pytest.mark.parametrize("lastmod", [None, lambda self, item: None], ids=["columns", "instances"])
def test_a_list_of_keys_is_not_longer_than_a_query_may_be(using, name, order, lastmod, limit, monkeypatch):
    if limit == "LISTED":
        monkeypatch.setattr(members, "LISTED", 9)
    else:
        # These are properties in Django 6.1. An instance caches one of them.
        features = connections[using].features
        monkeypatch.delitem(vars(features), "max_query_params", raising=False)
        monkeypatch.setattr(type(features), "max_query_params", 20)
    KINDS[name].make(using, range(50))
    rows = KINDS[name].rows(using).alias(place=Window(RowNumber(), order_by=order)).filter(place__gt=3)
    source = source_of(rows, 10_000, lastmod=lastmod)
    with CaptureQueriesContext(connections[using]) as captured:
        found = keys_of(source, ALL)
    assert ({*found}, len(found)) == ({row.pk for row in rows}, 47)
    # The number of keys, and of keys in a query: 9 or 18 values.
    most = 9 if limit == "LISTED" else 18 // len(source.members.key.names)
    assert len(captured) == 1 + -(-47 // most)


ROWS, LIMIT = 20_000, 1_000
#: How PostgreSQL reads a range of an index.
RANGE_SCANS = {"Index Scan", "Index Only Scan", "Bitmap Heap Scan"}


def articles_by(using, slug):
    Category.objects.using(using).bulk_create(Category(slug=f"c{n}") for n in range(20))
    categories = Category.objects.using(using).order_by("pk")
    Article.objects.using(using).bulk_create(
        Article(pk=n * 3, slug=f"s{n}", category=categories[n % 20], published=n % 50 > 0, updated=NOON)
        for n in range(ROWS)
    )
    rows = Article.objects.using(using).filter(published=True)
    return source_of(rows, LIMIT, location=Route("article", slug=F(slug)))


def seats_by(using, row):
    rows = Seat.objects.using(using)
    rows.bulk_create(Seat(row=f"r{n // 50:03}", number=n % 50) for n in range(ROWS))
    location, lastmod = Route("word", word=F(row)), Cast(Value(NOON), DateTimeField())
    return source_of(rows.all(), LIMIT, location=location, lastmod=lastmod)


@pytest.mark.slow
@pytest.mark.parametrize("using", [parameter("default"), parameter("postgresql")], indirect=True)
@pytest.mark.parametrize(
    ("make", "column"), [(articles_by, "slug"), (articles_by, "category__slug"), (seats_by, "row")]
)
def test_queries_read_a_range_of_the_key(using, make, column, monkeypatch):
    set_slices(monkeypatch, 300)
    source = make(using, column)
    table = source.members.rows.model._meta.db_table
    if using == "postgresql":
        execute(using, f"ANALYZE {table}, tests_category")

    def checked(after, call, least=1):
        with CaptureQueriesContext(connections[using]) as captured:
            result = call()
        # Only the rows of a page are read in several queries.
        assert len(captured) == 1 if least == 1 else len(captured) >= least
        for query in captured:
            assert_reads_range(using, query["sql"], table, is_bounded=after is not None)
        return result

    ends = [None, *(source.key_after(None, count) for count in (LIMIT, 9 * LIMIT, 10 * LIMIT, 18 * LIMIT))]
    assert None not in ends[1:]
    for after in ends:
        assert checked(after, lambda after=after: source.key_after(after, LIMIT)) is not None
    for after, until in ((None, ends[1]), (ends[2], ends[3]), (ends[4], None)):
        page, bound = Page(1, after, until), after or until
        count = len(checked(bound, lambda page=page: keys_of(source, page), 4))
        assert count >= LIMIT
        assert checked(bound, lambda page=page: source.fingerprint(page.after, page.until)).rows == count
        assert checked(bound, lambda page=page: source.look(page).newest) == "2026-01-01T12:00:00Z"
        assert checked(bound, lambda page=page: source.count(page.after, page.until, LIMIT)) == LIMIT


def assert_reads_range(using, sql, table, *, is_bounded):
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


def nodes(node):
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)


@ON_POSTGRESQL
@pytest.mark.parametrize("is_pooled", [False, True])
def test_a_cursor_of_the_server_reads_rows_without_ranges_unless_the_settings_forbid_it(
    using, is_pooled, monkeypatch
):
    """Poolers of transactions, such as PgBouncer, do not support such cursors."""

    def lastmod(self, item):
        with connections[using].cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_cursors")
            open_cursors.extend(cursor.fetchone())

    fill(1_001, using, comments=0)
    open_cursors = []
    monkeypatch.setitem(connections[using].settings_dict, "DISABLE_SERVER_SIDE_CURSORS", is_pooled)
    declare(
        queryset=Article.objects.using(using).order_by("slug")[:1_001], lastmod=lastmod
    )().get_latest_lastmod()
    assert open_cursors[:1_000] == [0 if is_pooled else 1] * 1_000
