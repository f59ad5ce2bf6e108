"""Fingerprints: any change of the rows of a page changes it, and it is of the rows that were read."""

from __future__ import annotations

import gzip
import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import combinations, pairwise, product
from unittest import mock
from uuid import UUID

import pytest
from django.db import NotSupportedError, connections, models, transaction
from django.db.models import ExpressionWrapper, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Collate, Concat, Lower, TruncDay
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone as zones

from django_sitemaps09 import PathTemplate, Route, Sitemap
from django_sitemaps09.export import export
from django_sitemaps09.rows.fingerprints import RowHash, UnconvertedColumn, fingerprint
from tests.invariants.test_querysets import METHOD, NEWEST, ROUTE, ROWS
from tests.models import Article, Category, Document, Name, Reading, Visit
from tests.support.databases import ON_POSTGRESQL, ON_SQLITE, execute, parameter
from tests.support.factories import ArticleFactory, CategoryFactory
from tests.support.internals import HASHES, Fingerprint, Page, read_page
from tests.support.memory import traced
from tests.support.sections import declare
from tests.support.sources import ALL, LIMITS, NOON, UTC, compiled, listing, page_map, source_of
from tests.support.tables import KEYS

pytestmark = [pytest.mark.usefixtures("small_slices"), pytest.mark.sitemaps09]
NOW = Cast(Value(NOON), models.DateTimeField())


def of_rows(rows, location=ROUTE, **hooks):
    return compiled(declare(queryset=rows, location=location, **{"lastmod": F("updated"), **hooks}))


def of_columns(rows, *columns, lastmod=NOW):
    parts = {f"column{n}": column for n, column in enumerate(columns)}
    path = "/" + "/".join(f"{{{name}}}" for name in parts)
    return of_rows(rows, PathTemplate(path, **parts), lastmod=lastmod)


def read(source, page=ALL):
    with read_page(source, page) as rows:
        batches = list(rows.batches)
    errors = sum(len(batch.errors) for batch in batches)
    return rows.fingerprint, [key for batch in batches for key in batch.keys], errors


def assert_same(source, page=ALL):
    found, keys, errors = read(source, page)
    assert found is not None
    assert found.same(source.fingerprint(page.after, page.until))
    assert (found.rows, errors) == (len(keys), 0)
    return found


def parts_add_up(source, *bounds):
    """Return whether the fingerprints of ranges add up; on SQLite, only their counts of rows can."""
    pages = [Page(1, *pair) for pair in pairwise([None, *bounds, None])]
    parts = [source.fingerprint(page.after, page.until) for page in pages]
    whole, rows = source.fingerprint(None, None), sum(part.rows for part in parts)
    if isinstance(whole.hash, str):
        return whole.rows == rows
    with CaptureQueriesContext(connections[source.members.rows.db]) as captured:
        assert list(source.fingerprints(pages)) == parts
    assert len(captured) == 1
    # With aggregates, a page alone is read in slices.
    assert [*source.fingerprints(pages[-1:])] == parts[-1:]
    return whole == Fingerprint(rows, None, sum(part.hash for part in parts) % HASHES)


LATEST = Visit.objects.filter(article=OuterRef("pk")).order_by("-at").values("at")[:1]
QUERYSETS = {
    **{
        name: ROWS[name]
        for name in (
            "all", "a filter", "an order over a relation", "only one column", "related rows",
            "a reverse foreign key", "many to many", "either relation", "distinct", "exists",
            "an aggregate", "a filter by a window", "extra() of distinct rows",
        )
    },
    "visits": lambda rows: rows.filter(visits__pk__gt=0),
    "an annotation": lambda rows: rows.annotate(lower=Lower("slug"), latest=Subquery(LATEST)),
}  # fmt: skip


@pytest.mark.parametrize("name", QUERYSETS)
@pytest.mark.parametrize("lastmod", [F("updated"), NEWEST], ids=["a column", "an aggregate"])
def test_a_fingerprint_of_any_queryset_is_one_query_and_of_its_rows(name, lastmod, shelf, using):
    rows = QUERYSETS[name](shelf)
    first, _, *others = sorted({row.pk for row in rows})
    after, until = (str(first),), (str(others[-1]),)
    source = of_rows(rows, lastmod=lastmod)
    assert source.can_fingerprint
    with CaptureQueriesContext(connections[using]) as captured:
        found = source.fingerprint(None, until)
    assert len(captured) == 1
    within = {row.pk: row for row in rows if row.pk <= others[-1]}
    assert found.rows == len(within) > 0
    assert parts_add_up(source, after, until)
    visits = Visit.objects.using(using).filter(article_id__in=within).values_list("at", flat=True)
    times = visits if lastmod is NEWEST else [row.updated for row in within.values() if row.updated]
    newest = f"{max(times):%Y-%m-%dT%H:%M:%SZ}"
    assert read(source, Page(1, None, until))[0] == found._replace(newest=newest)
    shelf.filter(pk=first).update(slug="a99")
    assert source.fingerprint(None, until).hash != found.hash


def test_a_fingerprint_is_of_the_columns_of_its_page(shelf, using):
    source = of_rows(shelf, Route("word", word=Concat(F("category__slug"), Value("-"), F("slug"))))
    before = source.fingerprint(None, None)
    shelf.filter(slug="a01").update(day=date(1999, 1, 1))
    shelf.get(slug="a01").comments.create()
    assert source.fingerprint(None, None) == before
    Category.objects.using(using).update(slug="two")
    assert not source.fingerprint(None, None).same(before)
    # It has the count of rows, and if they were rendered, the newest lastmod.
    page = Page(1, *((str(shelf.get(slug=slug).pk),) for slug in ("a01", "a04")))
    found = of_rows(shelf).fingerprint(page.after, page.until)
    assert found[:2] == (3, None)
    assert read(of_rows(shelf), page)[0] == found._replace(newest="2026-01-05T10:30:15Z")
    nothing = [shelf.none(), shelf.filter(pk__in=[]), shelf.filter(pk=0), shelf.filter(slug__gt="b")]
    [none] = {of_rows(rows).fingerprint(None, None) for rows in nothing}
    assert ({read(of_rows(rows))[0] for rows in nothing}, none[:2]) == ({none}, (0, None))
    assert not none.same(of_rows(shelf).fingerprint(None, None))
    if using == "default":
        assert {len(found.hash), len(none.hash)} == {32}
    else:
        assert 0 <= found.hash < 1 << 64
        assert none.hash == 0


def test_the_fingerprint_of_a_page_is_that_of_its_range_for_each_kind_of_key(kind, using):
    source = source_of(kind, using, limit=10, lastmod=NOW)
    pages = page_map(source)
    found = [source.fingerprint(page.after, page.until) for page in pages]
    assert len({found.hash for found in found}) == len(pages) > 1
    for some in (pages, pages[1:-1], pages[::2], pages[1::2]):
        assert list(source.fingerprints(some)) == [found[pages.index(page)] for page in some]
    for page in pages:
        assert assert_same(source, page)[:2] == (10 if page.until else mock.ANY, "2026-01-01T12:00:00Z")


@pytest.mark.parametrize("using", [parameter("default"), parameter("postgresql")], indirect=True)
def test_an_unreadable_row_leaves_its_page_without_a_fingerprint(shelf, using):
    text = "infinity" if using == "postgresql" else "2026-02-30 00:00:00"
    execute(using, "UPDATE tests_article SET updated = %s WHERE slug = 'a08'", [text])
    found, keys, skipped = read(of_rows(shelf))
    assert (found, len(keys), skipped, of_rows(shelf).fingerprint(None, None).rows) == (None, 11, 1, 12)


def test_a_fingerprint_needs_no_further_query_no_transaction_and_no_work_if_nobody_asks(shelf, using):
    source = of_rows(shelf)
    with CaptureQueriesContext(connections[using]) as alone:
        list(source.batches(ALL))
    with CaptureQueriesContext(connections[using]) as together:
        assert read(source)[0] is not None
    assert len(together) == len(alone) > 1
    assert all(query["sql"].startswith("SELECT") for query in together)
    with transaction.atomic(using=using):
        assert_same(source)
    with (
        mock.patch.object(RowHash, "__init__", side_effect=AssertionError),
        mock.patch.object(UnconvertedColumn, "__init__", side_effect=AssertionError),
        read_page(source, ALL, needs_fingerprint=False) as rows,
    ):
        assert sum(len(batch.keys) for batch in rows.batches) == 12
    assert rows.fingerprint is None


def test_only_declared_columns_with_a_lastmod_among_them_have_a_fingerprint(shelf, using):
    for hooks in ({}, {"lastmod": NEWEST}, {"i18n": True}):
        assert of_rows(shelf, **hooks).can_fingerprint
    # As in libraries that cache queries.
    fetch = {"_fetch_all": lambda self: super(QuerySet, self)._fetch_all()}
    others = [
        of_rows(shelf, METHOD), compiled(listing(["a"])), of_rows(shelf.order_by("day")[:3]),
        of_rows(type("Cached", (QuerySet,), fetch)(Article, using=using)),
        of_rows(shelf, priority=lambda self, item: 0.5),
        of_rows(shelf, i18n=True, get_languages_for_item=lambda self, item: ["en"]),
    ]  # fmt: skip
    assert not any(source.can_fingerprint for source in others)
    assert [(found, len(keys)) for found, keys, _ in map(read, others[:2])] == [(None, 12), (None, 1)]
    assert not compiled(declare(Sitemap, get_urls=lambda self, **kwargs: [])).can_fingerprint
    # No page is skipped without hashes, because only the count and the newest lastmod could show a change.
    with mock.patch.object(type(connections[using]), "vendor", "oracle"):
        assert not of_rows(shelf).can_fingerprint
    if using == "default":
        with pytest.raises(NotSupportedError, match="SQLite"):
            list(shelf.annotate(hash=RowHash(F("pk"))).values_list("hash"))


def test_rows_that_vanish_and_come_back_never_leave_a_part_with_the_fingerprint_of_all(table):
    source = compiled(table.section(), LIMITS)
    with table.vanishing(None):
        whole, keys, _ = read(source)
    assert tuple(keys) == KEYS
    count = table.statements
    assert count >= 3
    incomplete = 0
    for first, last in combinations(range(1, count + 2), 2):
        with table.vanishing(first, last):
            found, keys, _ = read(source)
        assert (found == whole) == (tuple(keys) == KEYS), (first, last)
        assert found.rows == len(keys)
        incomplete += tuple(keys) != KEYS
    assert incomplete > 0


COLLATIONS = {"sqlite": "NOCASE", "postgresql": "C", "mysql": "utf8mb4_bin"}
NAMES = ["pk", "slug", "category__slug", "category_id", "published", "updated", "day", "weight", "code"]
TYPES = [
    *map(F, NAMES), F("weight") * 3, F("id") * -7, -F("weight") / 3, Cast("weight", models.FloatField()),
    ExpressionWrapper(Q(weight__gt=0), output_field=models.BooleanField()), TruncDay("updated", tzinfo=UTC),
    NEWEST, Value({"a": [1, None]}, models.JSONField()), Cast("category_id", models.CharField()),
    Value(timedelta(days=-1, microseconds=3), models.DurationField()),
]  # fmt: skip


@pytest.fixture
def odd_rows(using):
    category = CategoryFactory(using=using, pk=1, slug="é'\\,\N{PILE OF POO}")
    times = [None, NOON, NOON + timedelta(microseconds=120), NOON.replace(year=1969), NOON]
    Article.objects.using(using).bulk_create(
        Article(
            pk=n, slug=f"Straße-{n}", category=category if n % 2 else None, published=n % 2 == 0,
            updated=updated, day=None if n == 3 else date(1900 + n, 2, n),
            weight=None if n == 2 else Decimal(n - 3) / 8, code=None if n == 4 else f" {n}",
        )
        for n, updated in enumerate(times, 1)
    )  # fmt: skip
    Visit.objects.using(using).create(article_id=1, at=NOON)
    return Article.objects.using(using).all()


LASTMODS = [NOW, F("updated"), F("day"), TruncDay("updated", tzinfo=UTC), NEWEST]


@pytest.mark.parametrize("lastmod", LASTMODS, ids=range(5))
def test_columns_of_many_types_have_one_hash(lastmod, odd_rows):
    connection = connections[odd_rows.db]
    if not connection.features.has_zoneinfo_database:
        # Django cannot truncate NULL.
        odd_rows.filter(updated=None).update(updated=NOON)
    for column in [*TYPES, Collate("slug", COLLATIONS[connection.vendor])]:
        source = of_columns(odd_rows, F("pk"), column, lastmod=lastmod)
        # Items whose column is missing are skipped, but their rows are hashed.
        found, _, _ = read(source)
        assert found is not None, column
        assert found.same(source.fingerprint(None, None)), column
        assert found.rows == 5


def test_columns_of_other_models_have_one_hash_until_they_change(using):
    reading = {"ratio": -0.1, "blob": b"\x00\xff", "amount": Decimal("-1.5"), "serial": "é\\'"}
    Reading.objects.using(using).create(**reading)
    Reading.objects.using(using).create(ratio=1e-300, blob=b"", amount=0, serial="", label="x")
    for number in (0, -5, 1 << 30):
        Document.objects.using(using).create(pk=UUID(int=abs(number) << 64), number=number)
    Name.objects.using(using).create(name="Straße")
    # Text counts by its bytes under any collation.
    changes = {"ratio": 0.2, "blob": b"\x00", "amount": 2, "number": 7, "serial": "y", "label": "y"}
    changes["name"] = "STRAße"
    for model, columns in ((Reading, [*reading, "label"]), (Document, ["id", "number"]), (Name, ["name"])):
        rows = model._default_manager.using(using)
        for column in columns:
            source = of_columns(rows, F("pk"), F(column))
            found, _, _ = read(source)
            assert found.same(source.fingerprint(None, None)), column
            if column in changes:
                rows.filter(pk=rows.order_by("pk")[0].pk).update(**{column: changes[column]})
                assert not source.fingerprint(None, None).same(found), column


@pytest.mark.parametrize("use_tz", [False, True])
def test_times_that_python_converts_from_any_slice_on_have_one_hash(use_tz, odd_rows, settings):
    settings.USE_TZ, settings.TIME_ZONE = use_tz, "Asia/Tokyo"
    odd_rows.filter(day=None).update(day=date(2000, 1, 1))
    if use_tz:
        odd_rows.filter(pk=5).update(updated=NOON.replace(year=999))
    assert_same(of_columns(odd_rows, F("slug"), F("day"), lastmod=F("updated")))


@ON_SQLITE
def test_columns_that_are_declared_with_another_type_in_the_database_have_no_hash(using):
    """The driver converts them, so a page cannot be compared, and is always rendered."""
    execute(using, "CREATE TEMPORARY TABLE tests_name (id integer PRIMARY KEY, name date)")
    execute(using, "INSERT INTO tests_name VALUES (1, '2026-01-01')")
    assert read(of_columns(Name.objects.using(using).all(), F("name")))[::2] == (None, 0)


def hash_of(using, *values):
    columns = [value if hasattr(value, "resolve_expression") else Value(value) for value in values]
    names = {f"column_{n}": column for n, column in enumerate(columns)}
    rows = Category.objects.using(using).filter(pk=1).annotate(now=NOW, **names)
    return fingerprint(rows, ["pk"], [*names, "now"]).hash


#: The time from which PostgreSQL counts microseconds.
SINCE = datetime(2000, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def folded(number):
    """Return another number with the same XOR of its halves, which is all that PostgreSQL hashes."""
    return number ^ ((1 << 32) + 1)


FOLDED_NOON = SINCE + folded((NOON - SINCE) // MICROSECOND) * MICROSECOND
NULL = Value(None, models.CharField())
DIFFERENT = [
    (("", "x"), (NULL, "x")), (("",), (NULL,)), ((NULL, "x"), ("x", NULL)), (("ab", "c"), ("a", "bc")),
    (("a,b",), ("a", "b")), (("a','b",), ("a", "b")), (("a\\", "b"), ("a", "\\b")), (("NULL",), (NULL,)),
    (("a", "b"), ("b", "a")), (("a",), ("A",)), (("a",), ("a ",)),
    (("e\N{COMBINING ACUTE ACCENT}",), ("é",)),
    ((Cast(Value("1.0"), models.CharField()),), (Cast(Value("1.00"), models.CharField()),)), ((1,), (2,)),
    ((True,), (False,)), ((Value(0.0, models.FloatField()),), (Value(1e-300, models.FloatField()),)),
    ((Value(b"a\x00", models.BinaryField()),), (Value(b"a\x00b", models.BinaryField()),)),
    ((Value({"a": 1}, models.JSONField()),), (Value({"a": 2}, models.JSONField()),)),
    ((Value(timedelta(1), models.DurationField()),), (Value(timedelta(2), models.DurationField()),)),
    ((NOON,), (NOON + MICROSECOND,)), ((date(2026, 1, 1),), (date(2026, 1, 2),)), ((NOON,), (FOLDED_NOON,)),
    ((Value(1 << 40, models.BigIntegerField()),), (Value(folded(1 << 40), models.BigIntegerField()),)),
]  # fmt: skip
#: Values that only SQLite has in one column: they count by their type, and to the last digit.
OF_SQLITE = [(1, "1"), ("a\0b", "a\0c"), (0.1, 0.1 + 2**-56), (2**53, 2**53 + 1), (1, 1.0), (b"a", "a")]
#: SQL of PostgreSQL whose type is not that of its field.
OF_POSTGRESQL = [
    (models.BigIntegerField(), "1.25", "1.5"),
    (models.BigIntegerField(), "100000000000000000000", "100000000000000000001"),
    (models.DateField(), "TIMESTAMP '2026-01-01 10:00'", "TIMESTAMP '2026-01-01 11:00'"),
    (models.DateTimeField(), "DATE '2026-01-01'", "DATE '2026-01-02'"),
    (models.UUIDField(), "text 'a'", "text 'b'"),
]  # fmt: skip


def test_columns_that_differ_have_other_hashes_and_the_same_ones_the_same(using):
    CategoryFactory(using=using, pk=1, slug="c")
    pairs = [*DIFFERENT]
    if using == "default":
        pairs += [((one,), (other,)) for one, other in OF_SQLITE]
    if using == "postgresql":
        sql = lambda text, field: (RawSQL(text, (), output_field=field),)  # noqa: E731, S611
        pairs += [(sql(one, field), sql(other, field)) for field, one, other in OF_POSTGRESQL]
    for one, other in pairs:
        assert hash_of(using, *one) == hash_of(using, *one), one
        assert hash_of(using, *one) != hash_of(using, *other), one


#: Times and dates that a database stores or hashes as 0.
ZEROS = [(datetime(year, 1, 1, tzinfo=UTC), date(year, 1, 1)) for year in (1970, 2000)]


def hash_of_columns(rows, keys, *names):
    return fingerprint(rows.annotate(at=F("updated")), keys, [*names, "at"]).hash


KEY_COLUMNS = [["pk"], ["slug"], ["category_id", "slug"], ["pk", "category_id"]]


@pytest.mark.parametrize("keys", KEY_COLUMNS, ids=",".join)
def test_all_states_of_two_rows_have_different_hashes(using, keys):
    """Among them: a value instead of NULL, and rows that swap a value with one that is NULL or 0."""
    for pk in (1, 4):
        ArticleFactory(using=using, pk=pk, slug=f"s{pk}", category=CategoryFactory(using=using, pk=pk))
    rows, times = Article.objects.using(using).all(), [None, NOON, *(moment for moment, _ in ZEROS)]
    states, found = [*product(product(times, (None, ZEROS[1][1])), repeat=2)], set()
    for state in states:
        for pk, (updated, day) in zip((1, 4), state, strict=True):
            rows.filter(pk=pk).update(updated=updated, day=day)
        found.add(hash_of_columns(rows, keys, "day"))
    assert len(found) == len(states) == 64


@pytest.mark.parametrize("zero", ZEROS, ids=["1970", "2000"])
@pytest.mark.parametrize("name", ["updated", "day"])
def test_the_rows_of_a_value_that_is_hashed_as_0_count(using, name, zero):
    """If the hash of 0 were the key, rows 1 and 4 would have the same sum as rows 2 and 3."""
    value, rows = zero[name == "day"], Article.objects.using(using)
    rows.bulk_create(Article(pk=pk, slug=f"s{pk}") for pk in (1, 2, 3, 4))
    rows.filter(pk__in=[1, 4]).update(**{name: value})
    before = hash_of_columns(rows.all(), ["pk"], "day")
    rows.filter(pk__in=[1, 4]).update(**{name: None})
    rows.filter(pk__in=[2, 3]).update(**{name: value})
    assert hash_of_columns(rows.all(), ["pk"], "day") != before


@pytest.mark.parametrize("is_null", [True, False], ids=["one is NULL", "neither is NULL"])
def test_columns_that_swap_or_share_values_change_the_hash(using, is_null):
    category = None if is_null else CategoryFactory(using=using, pk=8)
    own = {} if is_null else {"code": "x", "updated": NOON, "day": date(2026, 1, 1)}
    article = ArticleFactory(using=using, pk=7, category=category, **own)
    Visit.objects.using(using).create(article=article, at=NOON + timedelta(days=1))
    rows = Article.objects.using(using).annotate(last_day=Cast(Value(date(2026, 1, 2)), models.DateField()))
    pairs = [("slug", "code"), ("pk", "category_id"), ("visits__at", "updated"), ("day", "last_day")]
    for one, other in pairs:
        assert hash_of_columns(rows, ["id"], one, other) != hash_of_columns(rows, ["id"], other, one), one
    # An XOR of hashes without seeds would be 0 for any value, and 2 ^ 4 ^ 6 is 0 as well.
    found = set()
    for slug, updated in (("a", None), ("b", None), *(("b", moment) for moment, _ in ZEROS)):
        rows.update(slug=slug, updated=updated)
        found.add(hash_of_columns(rows, ["pk"], "updated", "slug", "updated", "slug"))
    assert len(found) == 4


def test_keys_count_with_all_their_bits(using):
    """PostgreSQL's hash of an integer or of a time has 32 bits."""
    found, count = set(), 0

    def add(row, rows, column="day"):
        nonlocal count
        row.save(using=using, force_insert=True)
        found.add(hash_of_columns(rows, ["pk"], column))
        row.delete(using=using)
        count += 1

    articles = Article.objects.using(using)
    # Not the greatest integer: MariaDB could make no more automatic keys for the tests after this one.
    for number in (1 << 40, folded(1 << 40), 1, -1, 1 << 32, -(1 << 63), 1 << 62):
        add(Article(pk=number, slug="a"), articles.all())
    for moment in (NOON, FOLDED_NOON, NOON + MICROSECOND):
        add(Article(pk=1, slug="a", updated=moment), articles.all())
    for number in (0, 1, 1 << 64, 1 << 127):
        documents = Document.objects.using(using).annotate(updated=NOW)
        add(Document(pk=UUID(int=number), number=0), documents, "number")
    assert len(found) == count == 14


@ON_POSTGRESQL
@pytest.mark.parametrize("name", ["updated", "day"])
def test_dates_that_python_lacks_are_hashed(using, name):
    ArticleFactory(using=using, pk=1, updated=NOON, day=date(2026, 1, 1))
    values = ["infinity", "-infinity", "9999-12-31", "200000-01-01", "0044-03-15 BC", None]
    # The latest date cannot be hashed as a time, because no time can represent it.
    values += ["5874897-12-31"] * (name == "day")
    found = set()
    for value in values:
        execute(using, f"UPDATE tests_article SET {name} = %s", [value])  # noqa: S608 a column's name
        found.add(hash_of_columns(Article.objects.using(using).all(), ["pk"], "day"))
    assert len(found) == len(values)


SESSIONS = {
    "postgresql": ("SET TIME ZONE 'Asia/Tokyo'", "SET TIME ZONE 'UTC'"),
    "mysql": (
        "SET SESSION group_concat_max_len = 4, time_zone = '+09:00'",
        "SET SESSION group_concat_max_len = DEFAULT, time_zone = '+00:00'",
    ),
}


def test_neither_the_session_nor_the_active_time_zone_changes_a_fingerprint(shelf, using):
    before = of_rows(shelf, lastmod=TruncDay("updated", tzinfo=UTC)).fingerprint(None, None)
    with zones.override("Asia/Tokyo"):
        assert of_rows(shelf, lastmod=TruncDay("updated", tzinfo=UTC)).fingerprint(None, None) == before
    day = of_rows(shelf, lastmod=TruncDay("updated"))
    before = day.fingerprint(None, None)
    with zones.override("Asia/Tokyo"):
        assert day.fingerprint(None, None) == before
    if (vendor := connections[using].vendor) in SESSIONS:
        before = of_rows(shelf).fingerprint(None, None)
        try:
            execute(using, SESSIONS[vendor][0])
            assert of_rows(shelf).fingerprint(None, None).hash == before.hash
        finally:
            execute(using, SESSIONS[vendor][1])


@pytest.mark.django_db
def test_rows_are_hashed_over_a_foreign_connection_unchanged(tmp_path):
    """No function is registered on the connection, which may be read-only."""
    path = tmp_path / "rows.sqlite3"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE tests_category (id integer PRIMARY KEY, slug varchar(50), at datetime)")
        made.execute("INSERT INTO tests_category VALUES (1, 'a', '2026-01-01 12:00:00')")
        made.commit()
    connections.databases["foreign"] = connections.databases["default"]
    connections["foreign"] = foreign = connections["default"].copy()
    foreign.settings_dict["NAME"] = f"{path.as_uri()}?mode=ro"
    at = RawSQL("at", (), output_field=models.DateTimeField())
    rows = Category.objects.using("foreign").annotate(at=at, text=F("slug"))
    try:
        first = fingerprint(rows, ["pk"], ["text", "at"])
        foreign.close()
        assert fingerprint(rows.all(), ["pk"], ["text", "at"]) == first
    finally:
        foreign.close()
        del connections["foreign"], connections.databases["foreign"]
    assert first.rows == 1


def test_rows_are_hashed_in_the_same_memory_however_many_they_are(using):
    Category.objects.using(using).bulk_create(Category(slug=f"c{number}") for number in range(5_000))
    text = Concat(Value("x" * 4_000), F("slug"), output_field=models.CharField())
    rows = Category.objects.using(using).annotate(now=NOW, text=text)
    with traced() as memory:
        found = fingerprint(rows, ["pk"], ["now", "text"])
    assert found.rows == 5_000
    # The rows would take 20 MB.
    assert memory.peak < 6_000_000


PAGE_1 = "/sitemap-articles-1.xml"


def test_a_live_page_with_missing_rows_never_has_the_etag_of_the_complete_page(table, register, configure):
    configure(LIVE_SECONDS=0)
    register(articles=table.section())
    complete = Client().get(PAGE_1)
    with table.vanishing(None):
        assert Client().get(PAGE_1).headers["ETag"] == complete.headers["ETag"]
    count, sizes = table.statements, set()
    for first in range(1, count + 1):
        for last in (None, first + 1, first + 2):
            with table.vanishing(first, last):
                response = Client().get(PAGE_1)
            sizes.add(response.content.count(b"<loc>"))
            later = Client().get(PAGE_1, headers={"if-none-match": response.headers["ETag"]})
            if response.content != complete.content:
                assert response.headers["ETag"] != complete.headers["ETag"], (first, last)
                assert (later.status_code, later.content) == (200, complete.content)
    assert {len(KEYS)} < sizes


@pytest.mark.slow
def test_a_file_with_missing_rows_is_rendered_again_with_changed_only(table, configure, folder):
    configure(MAX_URLS=6, ENGINE="serial")
    sitemaps = {"articles": table.section()}

    def run():
        report = export(output=folder, sitemaps=sitemaps, changed_only=True, force=["articles"])
        assert report.failures == []
        files = [gzip.decompress(path.read_bytes()) for path in folder.glob("*.gz")]
        return report.sections[0].skipped == len(files), b"".join(files)

    run()
    assert run()[0]
    count, incomplete, number = 1, 0, 0
    while number < count:
        number += 1
        # A change on each page, so that this run renders them.
        for pk in (1, 7, 12):
            table.articles.filter(pk=pk).update(slug=f"s{pk}-{number}")
        with table.vanishing(number):
            incomplete += run()[1].count(b"<loc>") < len(KEYS)
            count = table.statements
        written = run()[1]
        assert [f"/s{pk}".encode() in written for pk in KEYS] == [True] * len(KEYS), number
    assert incomplete > 3
