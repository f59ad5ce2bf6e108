"""Any change of the rows of a page changes its fingerprint."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import date, datetime, timedelta
from itertools import pairwise, product
from pathlib import Path
from typing import Any
from unittest import mock
from uuid import UUID

import pytest
from django.db import NotSupportedError, connections
from django.db.models import (
    BigIntegerField,
    BinaryField,
    CharField,
    Count,
    DateField,
    DateTimeField,
    DurationField,
    Exists,
    F,
    FloatField,
    JSONField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    UUIDField,
    Value,
    Window,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Concat, Lower, RowNumber, TruncDay
from django.utils import timezone as zones

from django_sitemaps09 import Route, Sitemap
from django_sitemaps09.pages import HASHES, Fingerprint, Key, Page
from django_sitemaps09.sources import read_page
from django_sitemaps09.sources.fingerprints import RowHash, fingerprint
from tests.models import Article, Category, Document, Name, Visit
from tests.support.databases import parameter
from tests.support.factories import ArticleFactory, CategoryFactory, CommentFactory
from tests.support.fingerprints import NOON, UTC, compiled, declaration, listing, queries, source_of
from tests.support.memory import traced

SERVERS = [parameter("postgresql"), parameter("mariadb")]


# Fingerprints.

CATEGORY = Concat(F("category__slug"), Value("-"), F("slug"))


def test_what_is_not_in_a_page_leaves_its_fingerprint(articles: QuerySet[Article]) -> None:
    source = source_of(articles, location=Route("word", word=CATEGORY))
    before = source.fingerprint(None, None)
    assert source.fingerprint(None, None) == before
    articles.filter(pk=2).update(day=date(1999, 1, 1))
    CommentFactory(using=articles.db, article=articles.get(pk=2))
    assert source.fingerprint(None, None) == before
    articles.filter(pk=2).update(category=articles.get(pk=4).category)
    assert not source.fingerprint(None, None).same(before)


def rendered(source: Any, after: Key | None = None, until: Key | None = None) -> Fingerprint | None:
    """Return the fingerprint of rows that are read as for a page."""
    with read_page(source, Page(1, after, until)) as rows:
        assert all(not batch.errors for batch in rows.batches)
    return rows.fingerprint


def test_a_fingerprint_has_the_count_of_rows_and_if_they_were_rendered_the_newest_lastmod(
    articles: QuerySet[Article], using: str
) -> None:
    source = source_of(articles)
    found = source.fingerprint(("4",), ("10",))
    assert found[:2] == (3, None)
    assert rendered(source, ("4",), ("10",)) == found._replace(newest="2026-01-01T17:00:00Z")
    none = source.fingerprint(("98",), None)
    assert none[:2] == (0, None)
    assert rendered(source, ("98",), None) == none
    if using == "default":
        assert {len(found.hash), len(none.hash)} == {32}
    else:
        assert 0 <= found.hash < 1 << 64
        assert none.hash == 0


def parts_add_up(source: Any, *bounds: Key) -> bool:
    """Return whether the fingerprints of ranges add up; on SQLite, only their counts of rows can."""
    ends: list[Key | None] = [None, *bounds, None]
    parts = [source.fingerprint(*pair) for pair in pairwise(ends)]
    whole = source.fingerprint(None, None)
    if isinstance(whole.hash, str):
        return bool(whole.rows == sum(part.rows for part in parts))
    pages = [Page(1, *pair) for pair in pairwise(ends)]
    with queries(source.members.rows.db, 1):
        assert list(source.fingerprints(pages)) == parts
    # With aggregates, a page alone is read in slices.
    assert [*source.fingerprints(pages[-1:])] == parts[-1:]
    total = sum(part.hash for part in parts) % HASHES
    return bool(whole == Fingerprint(sum(part.rows for part in parts), None, total))


QUERYSETS: dict[str, Callable[[QuerySet[Any]], QuerySet[Any]]] = {
    "all": lambda rows: rows,
    "filter": lambda rows: rows.filter(published=True),
    "an order": lambda rows: rows.order_by("-category__slug"),
    "only": lambda rows: rows.only("slug").select_related(None),
    "select_related": lambda rows: rows.select_related("category"),
    "a reverse foreign key": lambda rows: rows.filter(visits__pk__gt=0),
    "many to many": lambda rows: rows.filter(tags__name__in=["a", "b"]),
    "distinct": lambda rows: rows.filter(tags__name__in=["a", "b"]).distinct(),
    "exists": lambda rows: rows.filter(Exists(Visit.objects.filter(article=OuterRef("pk")))),
    "an aggregate": lambda rows: rows.annotate(n=Count("visits")).filter(n__gt=0),
    "an annotation": lambda rows: rows.annotate(lower=Lower("slug"), n=Value(3)),
    "a subquery": lambda rows: rows.annotate(
        latest=Subquery(Visit.objects.filter(article=OuterRef("pk")).order_by("-at").values("at")[:1])
    ),
    "a window": lambda rows: rows.annotate(n=Window(RowNumber(), order_by="-pk")).filter(n__gt=3),
    "a condition": lambda rows: rows.filter(Q(tags__name="a") | Q(published=True)),
    "extra": lambda rows: rows.extra(select={"one": "1"}),
}


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("name", QUERYSETS)
@pytest.mark.parametrize("lastmod", [F("updated"), Max("visits__at")], ids=["a column", "an aggregate"])
def test_a_fingerprint_of_any_queryset_is_one_query_and_of_its_rows(
    articles: QuerySet[Article], using: str, name: str, lastmod: Any
) -> None:
    rows = QUERYSETS[name](articles)
    source = source_of(rows, lastmod=lastmod)
    assert source.can_fingerprint
    with queries(using, 1):
        found = source.fingerprint(None, ("16",))
    within = [row for row in rows if row.pk <= 16]
    assert found.rows == len({row.pk for row in within}) > 0
    assert parts_add_up(source, ("2",), ("16",))
    dated = (
        Visit.objects.using(using).filter(article_id=row.pk).values_list("at", flat=True) for row in within
    )
    visits = [at for some in dated for at in some]
    newest = max(visits if isinstance(lastmod, Max) else [row.updated for row in within if row.updated])
    in_page = rendered(source, None, ("16",))
    assert in_page == found._replace(newest=f"{newest:%Y-%m-%dT%H:%M:%SZ}")
    articles.filter(pk=within[0].pk).update(slug="other")
    assert source.fingerprint(None, ("16",)).hash != found.hash


def test_the_fingerprint_of_no_rows_differs_from_all_others(articles: QuerySet[Article]) -> None:
    nothing = (articles.none(), articles.filter(pk__in=[]), articles.filter(pk=7))
    [found] = {source_of(rows).fingerprint(None, None) for rows in nothing}
    assert {rendered(source_of(rows)) for rows in nothing} == {found}
    assert found[:2] == (0, None)
    assert not found.same(source_of(articles).fingerprint(None, None))


def hash_of(using: str, *values: Any) -> int | str:
    """Return the hash of one row with these columns besides its key."""
    columns = [value if hasattr(value, "resolve_expression") else Value(value) for value in values]
    names = {f"column_{n}": column for n, column in enumerate(columns)}
    rows = Category.objects.using(using).filter(pk=1)
    rows = rows.annotate(now=Cast(Value(NOON), DateTimeField()), **names)
    return fingerprint(rows, ["pk"], [*names, "now"]).hash


TEXT = CharField()
#: The time from which PostgreSQL counts microseconds.
SINCE = datetime(2000, 1, 1, tzinfo=UTC)


def folded(number: int) -> int:
    """Return another number with the same XOR of its halves, which is all that PostgreSQL hashes."""
    return number ^ ((1 << 32) + 1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("", "x"), (Value(None, TEXT), "x")),
        (("",), (Value(None, TEXT),)),
        ((Value(None, TEXT), "x"), ("x", Value(None, TEXT))),
        (("ab", "c"), ("a", "bc")),
        (("a,b",), ("a", "b")),
        (("a','b",), ("a", "b")),
        (("a\\", "b"), ("a", "\\b")),
        (("NULL",), (Value(None, TEXT),)),
        (("a", "b"), ("b", "a")),
        (("a",), ("A",)),
        (("a",), ("a ",)),
        (("e\N{COMBINING ACUTE ACCENT}",), ("é",)),
        ((Cast(Value("1.0"), TEXT),), (Cast(Value("1.00"), TEXT),)),
        ((1,), (2,)),
        ((True,), (False,)),
        ((Value(0.0, FloatField()),), (Value(1e-300, FloatField()),)),
        ((Value(b"a\x00", BinaryField()),), (Value(b"a\x00b", BinaryField()),)),
        ((Value({"a": 1}, JSONField()),), (Value({"a": 2}, JSONField()),)),
        ((Value(timedelta(1), DurationField()),), (Value(timedelta(2), DurationField()),)),
        ((NOON,), (NOON + timedelta(microseconds=1),)),
        ((date(2026, 1, 1),), (date(2026, 1, 2),)),
        ((NOON,), (SINCE + timedelta(microseconds=folded((NOON - SINCE) // timedelta(microseconds=1))),)),
        ((Value(1 << 40, BigIntegerField()),), (Value(folded(1 << 40), BigIntegerField()),)),
    ],
    ids=range(23),
)
def test_columns_that_differ_have_other_hashes_and_the_same_ones_the_same(
    using: str, one: Sequence[Any], other: Sequence[Any]
) -> None:
    CategoryFactory(using=using, pk=1, slug="c")
    assert hash_of(using, *one) == hash_of(using, *one)
    assert hash_of(using, *one) != hash_of(using, *other)


@pytest.mark.parametrize("using", [parameter("default")], indirect=True)
@pytest.mark.parametrize(
    ("one", "other"),
    [(1, "1"), ("a\0b", "a\0c"), (0.1, 0.1 + 2**-56), (2**53, 2**53 + 1), (1, 1.0), (b"a", "a")],
    ids=range(6),
)
def test_values_of_sqlite_count_by_their_type_and_to_the_last_digit(
    using: str, one: Any, other: Any
) -> None:
    CategoryFactory(pk=1, slug="c")
    assert hash_of(using, one) == hash_of(using, one)
    assert hash_of(using, one) != hash_of(using, other)


#: Times and dates that a database stores or hashes as 0.
ZEROS = [(datetime(year, 1, 1, tzinfo=UTC), date(year, 1, 1)) for year in (1970, 2000)]


def hash_of_columns(rows: QuerySet[Any], keys: Sequence[str], *names: str) -> int | str:
    """The hash of rows with plain columns, as the database has them."""
    dated = rows.annotate(at=F("updated"))
    return fingerprint(dated, keys, [*names, "at"]).hash


@pytest.mark.parametrize(
    "keys", [["pk"], ["slug"], ["category_id", "slug"], ["pk", "category_id"]], ids=",".join
)
def test_all_states_of_two_rows_have_different_hashes(using: str, keys: list[str]) -> None:
    """Among them: a value instead of NULL, and rows that swap a value with one that is NULL or 0."""
    categories = [CategoryFactory(using=using, pk=pk) for pk in (1, 2)]
    for pk, category in zip((1, 4), categories, strict=True):
        ArticleFactory(using=using, pk=pk, slug=f"s{pk}", category=category)
    rows = Article.objects.using(using).all()
    times = [None, NOON, *(moment for moment, _ in ZEROS)]
    states = [*product(product(times, (None, ZEROS[1][1])), repeat=2)]
    found = set()
    for state in states:
        for pk, (updated, day) in zip((1, 4), state, strict=True):
            rows.filter(pk=pk).update(updated=updated, day=day)
        found.add(hash_of_columns(rows, keys, "day"))
    assert len(found) == len(states) == 64


@pytest.mark.parametrize("zero", ZEROS, ids=["1970", "2000"])
@pytest.mark.parametrize("name", ["updated", "day"])
def test_the_rows_of_a_value_that_is_hashed_as_0_count(using: str, name: str, zero: Any) -> None:
    """If the hash of 0 were the key, rows 1 and 4 would have the same sum as rows 2 and 3."""
    value = zero[name == "day"]
    for pk in (1, 2, 3, 4):
        ArticleFactory(using=using, pk=pk, updated=None, day=None)
    rows = Article.objects.using(using).all()
    rows.filter(pk__in=[1, 4]).update(**{name: value})
    before = hash_of_columns(rows, ["pk"], "day")
    rows.filter(pk__in=[1, 4]).update(**{name: None})
    rows.filter(pk__in=[2, 3]).update(**{name: value})
    assert hash_of_columns(rows, ["pk"], "day") != before


@pytest.mark.parametrize(
    ("one", "other"),
    [("slug", "code"), ("pk", "category_id"), ("visits__at", "updated"), ("day", "last_day")],
    ids=["texts", "integers", "times", "dates"],
)
@pytest.mark.parametrize("is_null", [True, False], ids=["one is NULL", "neither is NULL"])
def test_columns_that_swap_values_change_the_hash(using: str, one: str, other: str, is_null: bool) -> None:
    article = ArticleFactory(
        using=using,
        pk=7,
        code=None if is_null else "x",
        category=None if is_null else CategoryFactory(using=using, pk=8),
        updated=None if is_null else NOON,
        day=None if is_null else date(2026, 1, 1),
    )
    Visit.objects.using(using).create(article=article, at=NOON + timedelta(days=1))
    rows = Article.objects.using(using).annotate(last_day=Cast(Value(date(2026, 1, 2)), DateField()))
    assert hash_of_columns(rows, ["id"], one, other) != hash_of_columns(rows, ["id"], other, one)


def test_columns_of_the_same_value_do_not_cancel_each_other(using: str) -> None:
    """An XOR of hashes without seeds would be 0 for any value, and 2 ^ 4 ^ 6 is 0 as well."""
    ArticleFactory(using=using, pk=1, slug="a", updated=None)
    rows = Article.objects.using(using).all()
    found = set()
    for slug, updated in (("a", None), ("b", None), *(("b", moment) for moment, _ in ZEROS)):
        rows.update(slug=slug, updated=updated)
        found.add(hash_of_columns(rows, ["pk"], "updated", "slug", "updated", "slug"))
    assert len(found) == 4


def test_keys_count_with_all_their_bits(using: str) -> None:
    """PostgreSQL's hash of an integer or of a time has 32 bits."""
    found = set()
    # Not the greatest integer: MariaDB could make no more automatic keys for the tests after this one.
    for number in (1 << 40, folded(1 << 40), 1, -1, 1 << 32, -(1 << 63), 1 << 62):
        article = ArticleFactory(using=using, pk=number, slug="a", updated=None, day=None)
        found.add(hash_of_columns(Article.objects.using(using).all(), ["pk"], "day"))
        article.delete(using=using)
    assert len(found) == 7
    moments = [NOON, SINCE + timedelta(microseconds=folded((NOON - SINCE) // timedelta(microseconds=1)))]
    for moment in (*moments, NOON + timedelta(microseconds=1)):
        article = ArticleFactory(using=using, pk=1, slug="a", updated=moment, day=None)
        found.add(hash_of_columns(Article.objects.using(using).all(), ["pk"], "day"))
        article.delete(using=using)
    assert len(found) == 10
    for number in (0, 1, 1 << 64, 1 << 127):
        rows = Document.objects.using(using).annotate(updated=Cast(Value(NOON), DateTimeField()))
        document = Document.objects.using(using).create(pk=UUID(int=number), number=0)
        found.add(hash_of_columns(rows, ["pk"], "number"))
        document.delete(using=using)
    assert len(found) == 14


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
@pytest.mark.parametrize("name", ["updated", "day"])
def test_dates_that_python_lacks_are_hashed(using: str, name: str) -> None:
    ArticleFactory(using=using, pk=1, updated=NOON, day=date(2026, 1, 1))
    values = ["infinity", "-infinity", "9999-12-31", "200000-01-01", "0044-03-15 BC", None]
    # The latest date cannot be hashed as a time, because no time can represent it.
    values += ["5874897-12-31"] * (name == "day")
    found = set()
    for value in values:
        with connections[using].cursor() as cursor:
            cursor.execute(f"UPDATE tests_article SET {name} = %s", [value])  # noqa: S608 a column's name
        found.add(hash_of_columns(Article.objects.using(using).all(), ["pk"], "day"))
    assert len(found) == len(values)


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
@pytest.mark.parametrize(
    ("output", "one", "other"),
    [
        (BigIntegerField(), "1.25", "1.5"),
        (BigIntegerField(), "100000000000000000000", "100000000000000000001"),
        (DateField(), "TIMESTAMP '2026-01-01 10:00'", "TIMESTAMP '2026-01-01 11:00'"),
        (DateTimeField(), "DATE '2026-01-01'", "DATE '2026-01-02'"),
        (UUIDField(), "text 'a'", "text 'b'"),
    ],
    ids=["fraction", "beyond 64 bits", "time", "date", "text"],
)
def test_expressions_are_hashed_even_if_their_type_is_not_that_of_their_field(
    using: str, output: Any, one: str, other: str
) -> None:
    CategoryFactory(using=using, pk=1, slug="c")
    first, second = (
        hash_of(using, RawSQL(sql, (), output_field=output))  # noqa: S611 constants of this test
        for sql in (one, other)
    )
    assert first != second


def test_text_counts_by_its_bytes_under_any_collation(using: str) -> None:
    name = Name.objects.using(using).create(name="Straße")
    source = compiled(
        declaration(
            queryset=Name.objects.using(using),
            location=Route("word", word=F("name")),
            lastmod=Cast(Value(NOON), DateTimeField()),
        )
    )
    before = source.fingerprint(None, None)
    Name.objects.using(using).filter(name=name.name).update(name="STRAße")
    assert not source.fingerprint(None, None).same(before)


@pytest.mark.parametrize("using", SERVERS, indirect=True)
def test_no_session_has_a_say_in_a_hash(articles: QuerySet[Article], using: str) -> None:
    source = source_of(articles)
    before = source.fingerprint(None, None)
    statements = {
        "postgresql": ("SET TIME ZONE 'Asia/Tokyo'", "SET TIME ZONE 'UTC'"),
        "mariadb": (
            "SET SESSION group_concat_max_len = 4, time_zone = '+09:00'",
            "SET SESSION group_concat_max_len = DEFAULT, time_zone = '+00:00'",
        ),
    }
    change, restore = statements[using]
    with connections[using].cursor() as cursor:
        cursor.execute(change)
        try:
            assert source.fingerprint(None, None).hash == before.hash
        finally:
            cursor.execute(restore)


def test_what_is_active_has_no_say_in_a_fingerprint(articles: QuerySet[Article]) -> None:
    source = source_of(articles, lastmod=TruncDay("updated"))
    before = source.fingerprint(None, None)
    with zones.override("Asia/Tokyo"):
        assert source.fingerprint(None, None) == before


def test_a_lastmod_that_is_not_a_date_that_python_knows_is_hashed(
    articles: QuerySet[Article], using: str
) -> None:
    assert not source_of(articles, lastmod=F("slug")).can_fingerprint
    if using == "postgresql":
        with connections[using].cursor() as cursor:
            cursor.execute("UPDATE tests_article SET updated = 'infinity' WHERE id = 2")
        found = source_of(articles).fingerprint(None, None)
        assert found.rows == 14
        assert found.hash is not None


def test_only_declared_columns_with_a_lastmod_among_them_are_skippable(articles: QuerySet[Article]) -> None:
    assert source_of(articles).can_fingerprint
    assert source_of(articles, lastmod=Max("visits__at")).can_fingerprint
    assert source_of(articles, i18n=True).can_fingerprint
    # As in libraries that cache queries.
    fetch = {"_fetch_all": lambda self: super(QuerySet, self)._fetch_all()}
    others = [
        source_of(type("Cached", (QuerySet,), fetch)(Article, using=articles.db)),
        source_of(articles, lastmod=None),
        source_of(articles, lastmod=NOON),
        source_of(articles, lastmod=lambda self, item: item.updated),
        source_of(articles, priority=lambda self, item: 0.5),
        source_of(articles, i18n=True, get_languages_for_item=lambda self, item: ["en"]),
        source_of(articles.order_by("day")[:3]),
        compiled(listing(["a"])),
        compiled(type("Own", (Sitemap,), {"get_urls": lambda self, **kwargs: []})),
    ]
    assert not any(source.can_fingerprint for source in others)
    with pytest.raises(NotImplementedError):
        others[-1].fingerprint(None, None)


def test_a_database_without_hashes_cannot_fingerprint(articles: QuerySet[Article]) -> None:
    """No page is then skipped, because only the count and the newest lastmod could show a change."""
    source = source_of(articles)
    with mock.patch.object(type(connections[articles.db]), "vendor", "oracle"):
        assert not source.can_fingerprint
    if connections[articles.db].vendor == "sqlite":
        with pytest.raises(NotSupportedError, match="SQLite"):
            list(articles.annotate(hash=RowHash(F("pk"))).values_list("hash"))


@pytest.mark.django_db
def test_rows_are_hashed_over_a_foreign_connection_unchanged(tmp_path: Path) -> None:
    """No function is registered on the connection, which may be read-only."""
    path = tmp_path / "rows.sqlite3"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE tests_category (id integer PRIMARY KEY, slug varchar(50), at datetime)")
        made.execute("INSERT INTO tests_category VALUES (1, 'a', '2026-01-01 12:00:00')")
        made.commit()
    alias = "foreign"
    connections.databases[alias] = connections.databases["default"]
    connections[alias] = foreign = connections["default"].copy()
    foreign.settings_dict["NAME"] = f"{path.as_uri()}?mode=ro"
    at = RawSQL("at", (), output_field=DateTimeField())
    rows = Category.objects.using(alias).annotate(at=at, text=F("slug"))
    try:
        first = fingerprint(rows, ["pk"], ["text", "at"])
        foreign.close()
        assert fingerprint(rows.all(), ["pk"], ["text", "at"]) == first
    finally:
        foreign.close()
        del connections[alias], connections.databases[alias]
    assert first.rows == 1


def test_rows_are_hashed_in_the_same_memory_however_many_they_are(using: str) -> None:
    Category.objects.using(using).bulk_create(Category(slug=f"c{number}") for number in range(5_000))
    text = Concat(Value("x" * 4_000), F("slug"), output_field=CharField())
    now = Cast(Value(NOON), DateTimeField())
    rows = Category.objects.using(using).annotate(now=now, text=text)
    with traced() as memory:
        found = fingerprint(rows, ["pk"], ["now", "text"])
    assert found.rows == 5_000
    # The rows would take 20 MB.
    assert memory.peak < 6_000_000
