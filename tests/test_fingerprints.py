"""Laws of what an incremental export knows of rows: fingerprints, identities, orders, declarations.

The tests that take `using` run on SQLite, PostgreSQL and MariaDB.
"""

from __future__ import annotations

import importlib
import linecache
import os
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.db import NotSupportedError, connections
from django.db.models import (
    BigIntegerField,
    BinaryField,
    Case,
    CharField,
    Count,
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
    Value,
    When,
)
from django.db.models.functions import Cast, Concat, Lower, TruncDay
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import path
from django.utils import timezone as zones
from django.utils import translation

from django_sitemaps09 import GenericSitemap, ModelSitemap, Route, Sitemap, StaticViewSitemap, sources
from django_sitemaps09.pages import Fingerprint, Key, Page
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.sources.changes import identity
from django_sitemaps09.sources.changes.fingerprints import RowHash, fingerprint
from tests.models import (
    Article,
    Category,
    Comment,
    Document,
    Event,
    Name,
    Reading,
    Seat,
    Tag,
    Ticket,
    Visit,
    Word,
)
from tests.support.databases import parameter
from tests.urls import nothing

UTC = timezone.utc
BASE = Base("https", "www.example.com")
LIMITS = Limits(50_000, 10_485_760)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SERVERS = [parameter("postgresql"), parameter("mariadb")]


def compiled(section: Any, base: Base = BASE, limits: Limits = LIMITS) -> Any:
    return sources.source("things", section, base, limits)


def declaration(**attributes: Any) -> type[ModelSitemap[Any]]:
    return type("Declared", (ModelSitemap,), attributes)


COLUMNS: dict[str, Any] = {
    "location": Route("article", slug=F("slug")),
    "lastmod": F("updated"),
    "priority": F("weight"),
    "changefreq": Case(When(published=True, then=Value("daily")), default=Value("monthly")),
}


def source_of(rows: QuerySet[Any], **attributes: Any) -> Any:
    return compiled(declaration(queryset=rows, **{**COLUMNS, **attributes}))


@pytest.fixture
def articles(using: str) -> QuerySet[Article]:
    """Twelve articles with relations; some dates and weights are missing."""
    categories = [Category.objects.using(using).create(pk=n, slug=f"c{n}") for n in (1, 2)]
    tags = [Tag.objects.using(using).create(name=name) for name in "ab"]
    rows = Article.objects.using(using).bulk_create(
        Article(
            pk=number * 2,
            slug=f"s{number}",
            category=categories[number % 2],
            published=number % 4 != 0,
            updated=None if number % 6 == 0 else NOON + timedelta(hours=number),
            day=date(2026, 1, number),
            weight=None if number % 5 == 0 else Decimal(number) / 20,
        )
        for number in range(1, 13)
    )
    for number, row in enumerate(rows):
        row.tags.set(tags[: number % 3])
        for hour in range(number % 3):
            Visit.objects.using(using).create(article=row, at=NOON + timedelta(days=number, hours=hour))
    return Article.objects.using(using).all()


@contextmanager
def queries(using: str, count: int) -> Iterator[None]:
    with CaptureQueriesContext(connections[using]) as captured:
        yield
    assert len(captured) == count, [query["sql"] for query in captured]


# Fingerprints.

CATEGORY = Concat(F("category__slug"), Value("-"), F("slug"))
Mutations: TypeAlias = "dict[str, Callable[[QuerySet[Any]], object]]"
MUTATIONS: Mutations = {
    "an insert": lambda rows: make(rows, 99),
    "an insert within": lambda rows: make(rows, 3),
    "a delete": lambda rows: rows.filter(pk=6).delete(),
    "a newer date": lambda rows: rows.filter(pk=6).update(updated=NOON + timedelta(days=9)),
    "an update of a declared column": lambda rows: rows.filter(pk=4).update(slug="other"),
    "a letter's case": lambda rows: rows.filter(pk=4).update(slug="S2"),
    "an update of a joined column": lambda rows: (
        Category.objects.using(rows.db).filter(pk=1).update(slug="x")
    ),
    "a column of another one": lambda rows: rows.filter(pk=4).update(category=2),
    "an update of the key": lambda rows: rows.filter(pk=20).update(id=99),
    "a date that is not the newest": lambda rows: rows.filter(pk=2).update(updated=NOON),
    "a fraction of a second": lambda rows: rows.filter(pk=2).update(
        updated=NOON + timedelta(microseconds=1)
    ),
    "a date gone": lambda rows: rows.filter(pk=2).update(updated=None),
    "a decimal": lambda rows: rows.filter(pk=2).update(weight=Decimal("0.051")),
    "a decimal gone": lambda rows: rows.filter(pk=2).update(weight=None),
    "a condition": lambda rows: rows.filter(pk=4).update(published=False),
    "two rows swap a text": lambda rows: swap(rows, "slug"),
    "two rows swap a date": lambda rows: swap(rows, "updated"),
    "two rows swap a relation": lambda rows: swap(rows, "category_id"),
    "one for another": lambda rows: (rows.filter(pk=2).delete(), make(rows, 98)),
}
UNDECLARED: Mutations = {
    "nothing": lambda rows: None,
    "a column that is not declared": lambda rows: rows.filter(pk=2).update(day=date(1999, 1, 1)),
    "rows of another table": lambda rows: Comment.objects.using(rows.db).create(article_id=2),
}


def make(rows: QuerySet[Article], pk: int) -> None:
    Article.objects.using(rows.db).create(pk=pk, slug=f"s{pk}", category_id=1)


def swap(rows: QuerySet[Article], name: str) -> None:
    one, other = rows.get(pk=2), rows.get(pk=8)
    rows.filter(pk=2).update(**{name: getattr(other, name)})
    rows.filter(pk=8).update(**{name: getattr(one, name)})


def joined(rows: QuerySet[Article]) -> Any:
    return source_of(rows, location=Route("word", word=CATEGORY))


@pytest.mark.parametrize("what", MUTATIONS)
def test_whatever_changes_in_a_page_changes_its_fingerprint(articles: QuerySet[Article], what: str) -> None:
    source = joined(articles)
    before = source.fingerprint(None, None)
    MUTATIONS[what](articles)
    assert not source.fingerprint(None, None).same(before)


@pytest.mark.parametrize("what", UNDECLARED)
def test_what_is_not_in_a_page_leaves_its_fingerprint(articles: QuerySet[Article], what: str) -> None:
    source = joined(articles)
    before = source.fingerprint(None, None)
    UNDECLARED[what](articles)
    assert source.fingerprint(None, None) == before


def test_a_fingerprint_counts_rows_and_tells_the_newest_lastmod(
    articles: QuerySet[Article], using: str
) -> None:
    source = source_of(articles)
    found = source.fingerprint(("4",), ("10",))
    assert found[:2] == (3, "2026-01-01T17:00:00Z")
    none = source.fingerprint(("98",), None)
    assert none[:2] == (0, None)
    if using == "default":
        assert {len(found.hash), len(none.hash)} == {32}
    else:
        assert 0 <= found.hash < 1 << 64
        assert none.hash == 0


def parts_add_up(source: Any, *bounds: Key) -> bool:
    """Whether the fingerprints of ranges come to that of all of them; on SQLite their rows alone do."""
    ends: list[Key | None] = [None, *bounds, None]
    parts = [source.fingerprint(*pair) for pair in pairwise(ends)]
    whole = source.fingerprint(None, None)
    if isinstance(whole.hash, str):
        return bool(whole.rows == sum(part.rows for part in parts))
    return bool(reduce(Fingerprint.plus, parts) == whole)


@pytest.mark.parametrize("lastmod", ["updated", "day"])
def test_the_fingerprint_of_all_is_the_sum_of_those_of_its_ranges(
    articles: QuerySet[Article], lastmod: str
) -> None:
    assert parts_add_up(source_of(articles, lastmod=F(lastmod)), ("4",), ("5",), ("17",))


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
    "a condition": lambda rows: rows.filter(Q(tags__name="a") | Q(published=True)),
    "extra": lambda rows: rows.extra(select={"one": "1"}),
}


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
    assert found.newest == f"{newest:%Y-%m-%dT%H:%M:%SZ}"
    articles.filter(pk=within[0].pk).update(slug="other")
    assert source.fingerprint(None, ("16",)).hash != found.hash


def test_the_fingerprint_of_no_rows_is_none_of_any(articles: QuerySet[Article]) -> None:
    nothing = (articles.none(), articles.filter(pk__in=[]), articles.filter(pk=7))
    [found] = {source_of(rows).fingerprint(None, None) for rows in nothing}
    assert found[:2] == (0, None)
    assert not found.same(source_of(articles).fingerprint(None, None))


def test_keys_of_several_columns_and_of_relations_are_hashed(using: str) -> None:
    for n in (1, 2):
        Category.objects.using(using).create(pk=n, slug=str(n))
    now = {"lastmod": Cast(Value(NOON), DateTimeField()), "priority": None, "changefreq": None}
    Seat.objects.using(using).bulk_create(Seat(row=row, number=n) for row in "ab" for n in (1, 2))
    Ticket.objects.using(using).bulk_create(Ticket(category_id=c, number=n) for c in (1, 2) for n in (1, 2))
    for model, change in ((Seat, {"row": "c"}), (Ticket, {"number": 7})):
        rows = model._default_manager.using(using)
        source = source_of(rows, location=Route("word", word=F("number")), **now)
        with queries(using, 1):
            before = source.fingerprint(None, None)
        assert before[:2] == (4, "2026-01-01T12:00:00Z")
        first = "a" if model is Seat else "1"
        assert source.fingerprint(None, (first, "2")).rows == 2
        assert parts_add_up(source, (first, "2"))
        rows.filter(pk=(first, 1) if model is Seat else (1, 1)).update(**change)
        assert not source.fingerprint(None, None).same(before)


def hash_of(using: str, *values: Any) -> int | str:
    """The hash of one row with such columns beside its key."""
    columns = [value if hasattr(value, "resolve_expression") else Value(value) for value in values]
    names = {f"column_{n}": column for n, column in enumerate(columns)}
    rows = Category.objects.using(using).filter(pk=1)
    rows = rows.annotate(now=Cast(Value(NOON), DateTimeField()), **names)
    return fingerprint(rows, ["pk"], [*names, "now"], "now").hash


TEXT = CharField()
#: From which PostgreSQL counts microseconds.
SINCE = datetime(2000, 1, 1, tzinfo=UTC)


def folded(number: int) -> int:
    """Another number, whose halves give the same by XOR, which is all that PostgreSQL hashes of it."""
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
    Category.objects.using(using).create(pk=1, slug="c")
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
    Category.objects.create(pk=1, slug="c")
    assert hash_of(using, one) == hash_of(using, one)
    assert hash_of(using, one) != hash_of(using, other)


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


def test_columns_of_any_type_are_hashed(using: str) -> None:
    Reading.objects.using(using).create(ratio=0.1, blob=b"\x00\xff", amount=Decimal("1.5"), serial="é\\'")
    for name in ("ratio", "blob", "amount", "serial", "label"):
        rows = Reading.objects.using(using)
        lastmod = Cast(Value(NOON), DateTimeField())
        source = compiled(declaration(queryset=rows, location=Route("word", word=F(name)), lastmod=lastmod))
        before = source.fingerprint(None, None)
        assert before.hash is not None
        rows.update(**{name: {"ratio": 0.2, "blob": b"\x00", "amount": 2}.get(name, "x")})
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


def test_a_lastmod_that_is_no_date_or_is_none_that_python_knows_is_no_newest_one(
    articles: QuerySet[Article], using: str
) -> None:
    assert not source_of(articles, lastmod=F("slug")).can_fingerprint
    if using == "postgresql":
        with connections[using].cursor() as cursor:
            cursor.execute("UPDATE tests_article SET updated = 'infinity' WHERE id = 2")
        found = source_of(articles).fingerprint(None, None)
        assert found[:2] == (12, None)
        assert found.hash is not None


def test_only_declared_columns_with_a_lastmod_among_them_are_skippable(
    articles: QuerySet[Article],
) -> None:
    assert source_of(articles).can_fingerprint
    assert source_of(articles, lastmod=Max("visits__at")).can_fingerprint
    assert source_of(articles, i18n=True).can_fingerprint
    others = [
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


class Cached(QuerySet[Any]):
    """As libraries that cache queries do."""

    def _fetch_all(self) -> None:
        super()._fetch_all()  # type: ignore[misc]


def test_rows_that_are_not_plainly_fetched_are_not_skippable(articles: QuerySet[Article]) -> None:
    assert not source_of(Cached(Article, using=articles.db)).can_fingerprint


def test_a_database_without_hashes_says_so(articles: QuerySet[Article]) -> None:
    """Then nothing is skipped, since no more than a count and the newest lastmod would tell."""
    source = source_of(articles)
    with mock.patch.object(type(connections[articles.db]), "vendor", "oracle"):
        assert not source.can_fingerprint
    if connections[articles.db].vendor == "sqlite":
        with pytest.raises(NotSupportedError, match="SQLite"):
            list(articles.annotate(hash=RowHash(F("pk"), keys=1)).values_list("hash"))


def test_rows_are_hashed_over_a_connection_of_somebody_else_as_it_is(tmp_path: Path) -> None:
    """Nothing is registered on it, and it may be read-only."""
    path = tmp_path / "rows.sqlite3"
    with closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE tests_category (id integer PRIMARY KEY, slug varchar(50), at datetime)")
        made.execute("INSERT INTO tests_category VALUES (1, 'a', '2026-01-01 12:00:00')")
        made.commit()
    code = READ_ONLY.format(uri=f"{path.as_uri()}?mode=ro")
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.split() == ["True", "True", "2026-01-01T12:00:00Z"]


READ_ONLY = """
import django
from django.conf import settings
settings.DATABASES["default"] |= {{"NAME": "{uri}", "OPTIONS": {{"uri": True}}}}
django.setup()
from django.db import connection
from django.db.models import DateTimeField, F
from django.db.models.expressions import RawSQL
from django_sitemaps09.sources.changes.fingerprints import fingerprint
from tests.models import Category

def found():
    rows = Category.objects.annotate(at=RawSQL("at", (), output_field=DateTimeField()), text=F("slug"))
    return fingerprint(rows, ["pk"], ["text", "at"], "at")

first = found()
connection.close()
print(first == found(), connection.settings_dict["NAME"].endswith("mode=ro"), first.newest)
"""


def test_rows_are_hashed_in_the_same_memory_however_many_they_are(using: str) -> None:
    Category.objects.using(using).bulk_create(Category(slug=f"c{number}") for number in range(5_000))
    text = Concat(Value("x" * 4_000), F("slug"), output_field=CharField())
    now = Cast(Value(NOON), DateTimeField())
    rows = Category.objects.using(using).annotate(now=now, text=text)
    tracemalloc.start()
    try:
        found = fingerprint(rows, ["pk"], ["now", "text"], "now")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.rows == 5_000
    # Of 20 MB.
    assert peak < 6_000_000


def listing(items: Any, **attributes: Any) -> type[Sitemap[Any]]:
    attributes.setdefault("location", lambda self, item: f"/{item}/")
    return type("Listing", (Sitemap,), {"items": lambda self: items, **attributes})


# Identities, and the order of bounds.


def keyed(using: str, model: Any, key: str = "pk") -> Any:
    rows = model._default_manager.using(using)
    return compiled(declaration(queryset=rows, key=key, location=Value("/x/")))


def test_an_identity_names_vendor_table_column_type_and_collation(using: str) -> None:
    vendor = connections[using].vendor
    collations = {"sqlite": "NOCASE", "postgresql": "public.case_blind", "mysql": "utf8mb4_general_ci"}
    for model, key, columns in (
        (Article, "pk", [("tests_article", "id")]),
        (Name, "pk", [("tests_name", "name")]),
        (Ticket, "pk", [("tests_ticket", "category_id"), ("tests_ticket", "number")]),
        (Event, "article", [("tests_event", "article_id")]),
        (Document, "pk", [("tests_document", "id")]),
    ):
        found = keyed(using, model, key).key_identity
        assert found[0] == vendor
        assert all(isinstance(part, str) for part in found)
        assert list(zip(found[1::4], found[2::4], strict=True)) == columns
    assert keyed(using, Name).key_identity[-1] == collations[vendor]
    assert keyed(using, Article).key_identity[-1] == ""
    if using == "mariadb":
        assert keyed(using, Word).key_identity[-1] == "utf8mb4_unicode_ci"
    if using == "postgresql":
        assert keyed(using, Word).key_identity[-1].startswith("default ")


def test_another_key_has_another_identity_and_a_position_none(using: str) -> None:
    models = [
        (Article, "pk"),
        (Document, "pk"),
        (Event, "pk"),
        (Event, "at"),
        (Event, "price"),
        (Word, "pk"),
    ]
    assert len({keyed(using, model, key).key_identity for model, key in models}) == len(models)
    assert compiled(listing(["a"])).key_identity is None
    assert compiled(type("Own", (Sitemap,), {"get_urls": lambda self, **kwargs: []})).key_identity is None


TEXTS = ["a", "B", "é", "Z", "ä", "%", "\\", "'", '"', "x y", "ß", "\N{GRINNING FACE}", "&", ",", "10", "9"]


def test_bounds_are_in_the_order_in_which_the_database_reads_them(
    using: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "_PAIRS", 5)
    numbers = range(1, 20)
    Word.objects.using(using).bulk_create(Word(word=f"{text}{n}") for n, text in enumerate(TEXTS))
    Name.objects.using(using).bulk_create(Name(name=f"{'aBAb'[n % 4]}{n}") for n in numbers)
    Seat.objects.using(using).bulk_create(Seat(row="aB c"[n % 4].strip() or "_", number=n) for n in numbers)
    Document.objects.using(using).bulk_create(Document(number=n) for n in numbers)
    make_events(using)
    for model, key in (
        (Word, "pk"),
        (Name, "pk"),
        (Seat, "pk"),
        (Document, "pk"),
        (Article, "pk"),
        (Event, "at"),
        (Event, "price"),
        (Event, "article"),
    ):
        source = keyed(using, model, key)
        bounds = [source.key_text(key) for batch in source.batches(ALL) for key in batch.keys]
        assert len(bounds) > 15
        assert source.in_order(bounds), model
        assert source.in_order([])
        assert source.in_order(bounds[:1])
        assert not source.in_order([*bounds, bounds[-1]])
        assert not source.in_order(bounds[::-1])
        for at in (0, 7, len(bounds) - 2):
            swapped = [*bounds[:at], bounds[at + 1], bounds[at], *bounds[at + 2 :]]
            assert not source.in_order(swapped)


ALL = Page(1, None, None)


def make_events(using: str) -> None:
    articles = Article.objects.using(using).bulk_create(Article(pk=n, slug=f"s{n}") for n in range(1, 20))
    Event.objects.using(using).bulk_create(
        Event(
            at=NOON + timedelta(microseconds=article.pk * 300_000),
            price=Decimal(article.pk % 7 * 1_000) + Decimal(article.pk) / 1_000,
            article_id=article.pk,
        )
        for article in articles
    )


def test_some_hundred_bounds_are_compared_in_one_query_and_numbers_in_none(using: str) -> None:
    source = keyed(using, Word)
    texts = [(f"{number:05}",) for number in range(901)]
    with CaptureQueriesContext(connections[using]) as captured:
        assert source.in_order(texts)
    assert sum("SELECT CASE WHEN (" in query["sql"] for query in captured) == 3
    # And one, or a few of SQLite, to know the collation.
    assert len(captured) <= 4 or using == "default"
    with queries(using, 0):
        assert keyed(using, Article).in_order([(str(number),) for number in range(901)])


def test_numbers_are_not_ordered_as_their_texts(using: str) -> None:
    assert keyed(using, Article).in_order([("9",), ("10",)])
    assert keyed(using, Event, "price").in_order([("-1.5",), ("9.0001",), ("10",)])
    assert keyed(using, Seat).in_order([("a", "9"), ("a", "10"), ("b", "1")])
    assert not keyed(using, Seat).in_order([("a", "9"), ("a", "9")])


def test_a_bound_that_says_the_same_to_its_collation_is_not_greater(using: str) -> None:
    assert not keyed(using, Name).in_order([("a",), ("A",)])
    assert not keyed(using, Name).in_order([("B",), ("a",)])
    assert keyed(using, Name).in_order([("a",), ("B",), ("c",)])
    assert keyed(using, Word).in_order([("B",), ("a",)]) is (using != "mariadb")


def test_a_bound_that_cannot_be_read_is_in_no_order(using: str) -> None:
    for model, key, bad in (
        (Article, "pk", [("1",), ("x",)]),
        (Article, "pk", [("1",), ("2", "3")]),
        (Seat, "pk", [("a", "1"), ("b",)]),
        (Document, "pk", [("no uuid",)]),
        (Event, "at", [("yesterday",)]),
        (Event, "price", [("NaN",), ("1",)]),
    ):
        assert keyed(using, model, key).in_order(bad) is False


def test_positions_are_always_in_order() -> None:
    assert compiled(listing(["a"])).in_order([("2",), ("1",)])


# What decides the bytes of pages beside the rows.

DECLARING = """
import django
django.setup()
from tests.test_fingerprints import compiled, sections

for section in sections():
    print(compiled(section).declaration_digest)
"""


class Sourced(ModelSitemap[Article]):
    """One whose text is to be had."""

    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    changefreq = "daily"


class Sets(Sourced):
    """What has no order of its own."""

    queryset = Article.objects.filter(slug__in={"a", "b", "c", "d", "e"}, published=True, pk__gt=3)
    languages = ("en", "de")


class Names(StaticViewSitemap):
    viewnames = ("about", "home")


def sections() -> list[Any]:
    rows = Article.objects.filter(Q(slug="a") | Q(updated__lt=NOON))
    return [
        Sets,
        type("Made", (Sourced,), {"queryset": rows, "priority": lambda self, item: 0.5}),
        type("Constant", (Sourced,), {"queryset": rows, "lastmod": NOON, "priority": Decimal("0.5")}),
        GenericSitemap({"queryset": rows, "date_field": "updated"}, priority=0.6),
        listing(["a"], priority=0.6),
        Names,
        type("Own", (Sitemap,), {"get_urls": lambda self, **kwargs: []}),
        type("Now", (Sourced,), {"queryset": Article.objects.filter(updated__lte=zones.now())}),
        type("Month", (Sourced,), {"queryset": Article.objects.filter(updated__gte=a_month_ago())}),
    ]


def a_month_ago() -> datetime:
    return zones.now().replace(microsecond=7) - timedelta(days=30)


def test_a_declaration_has_one_digest_in_all_processes() -> None:
    expected = [compiled(section).declaration_digest for section in sections()]
    assert len({*expected}) == len(expected)
    assert {len(found) for found in expected} == {64}
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "DJANGO_SETTINGS_MODULE": "tests.settings"}
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", DECLARING], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == expected


def declared(rows: Any = None, **attributes: Any) -> str:
    rows = Article.objects.all() if rows is None else rows
    found: str = compiled(type("Made", (Sourced,), {"queryset": rows, **attributes})).declaration_digest
    return found


DECLARATIONS: dict[str, Callable[[], str]] = {
    "another filter": lambda: declared(Article.objects.filter(published=True)),
    "another parameter": lambda: declared(Article.objects.filter(slug="b")),
    "a parameter elsewhere": lambda: declared(Article.objects.filter(slug="a", code="b")),
    "parameters swapped": lambda: declared(Article.objects.filter(slug="b", code="a")),
    "no rows": lambda: declared(Article.objects.none()),
    "another expression": lambda: declared(lastmod=F("day")),
    "another constant": lambda: declared(changefreq="weekly"),
    "no constant": lambda: declared(changefreq=None),
    "a constant of another type": lambda: declared(priority=Decimal("1")),
    "the same constant": lambda: declared(priority=1),
    "another route": lambda: declared(location=Route("word", word=F("slug"))),
    "the same column in a constant's place": lambda: declared(location=Route("word", word="slug")),
    "another constant of a route": lambda: declared(
        location=Route("seat", row="a", number=F("pk")),
    ),
    "the other constant of a route": lambda: declared(location=Route("seat", row="b", number=F("pk"))),
    "languages": lambda: declared(i18n=True, languages=["en", "de"]),
    "other languages": lambda: declared(i18n=True, languages=["de", "en"]),
    "alternates": lambda: declared(i18n=True, languages=["en", "de"], alternates=True),
    "x-default": lambda: declared(i18n=True, languages=["en", "de"], alternates=True, x_default=True),
    "a limit": lambda: declared(limit=7),
    "a protocol": lambda: declared(protocol="http"),
    "a key": lambda: compiled(declaration(model=Event, key="at", location=Value("/x/"))).declaration_digest,
    "another key": lambda: (
        compiled(declaration(model=Event, key="price", location=Value("/x/"))).declaration_digest
    ),
}


def test_whatever_decides_the_bytes_of_pages_changes_the_digest() -> None:
    found = {name: make() for name, make in DECLARATIONS.items()}
    assert found == {name: make() for name, make in DECLARATIONS.items()}
    assert len({declared(), *found.values()}) == len(found) + 1


@pytest.mark.parametrize(
    "changed",
    [
        {"LANGUAGE_CODE": "de"},
        {"TIME_ZONE": "Asia/Tokyo"},
        {"USE_TZ": False},
        {"ROOT_URLCONF": (path("pieces/<slug:slug>/", nothing, name="article"),)},
        {"ROOT_URLCONF": tuple(i18n_patterns(path("articles/<slug:slug>/", nothing, name="article")))},
        {"ROOT_URLCONF": (path("articles/<str:slug>/", nothing, name="article"),)},
    ],
    ids=["language", "zone", "no zones", "a pattern", "a prefix", "a converter"],
)
def test_settings_that_decide_the_bytes_change_the_digest(changed: dict[str, Any]) -> None:
    before = declared()
    with override_settings(**changed):
        assert declared() != before
    assert declared() == before


def test_a_version_changes_the_digest_and_a_base_does_not() -> None:
    """What is published is of one base, or of several that come and go."""
    section = type("Made", (Sourced,), {"queryset": Article.objects.all()})
    found = {
        compiled(section, Base("https", domain)).declaration_digest for domain in ("a.example", "b.example")
    }
    assert len(found) == 1
    with mock.patch("django_sitemaps09.__version__", "999"):
        found.add(compiled(section, Base("https", "a.example")).declaration_digest)
    assert len(found) == 2


def test_the_text_of_a_class_or_of_its_base_changes_the_digest(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    text = """
from django.db.models import Value
from django_sitemaps09 import ModelSitemap, Sitemap
from tests.models import Article

class Mixin:
    def helper(self):
        return {}

class Columns(Mixin, ModelSitemap):
    model = Article
    location = Value("/x/")

class Positions(Mixin, Sitemap):
    def items(self):
        return ["a"]

class Urls(Mixin, Sitemap):
    def get_urls(self, **kwargs):
        return []
"""
    seen = []
    for number in (1, 1, 2):
        monkeypatch.delitem(sys.modules, "sourced_sitemaps", raising=False)
        (tmp_path / "sourced_sitemaps.py").write_text(text.replace("{}", str(number)))
        importlib.invalidate_caches()
        linecache.clearcache()
        made = importlib.import_module("sourced_sitemaps")
        seen.append(
            [compiled(getattr(made, name)).declaration_digest for name in ("Columns", "Positions", "Urls")]
        )
    first, again, other = seen
    assert first == again
    assert not {*first} & {*other}


def test_the_time_of_a_query_and_what_is_active_leave_the_digest() -> None:
    now = datetime.now(UTC)
    queries_ = [Article.objects.filter(updated__lte=now - timedelta(seconds=ago)) for ago in (0, 60)]
    (found,) = {declared(rows, lastmod=TruncDay("updated")) for rows in queries_}
    with zones.override("Asia/Tokyo"), translation.override("de"):
        assert declared(queries_[0], lastmod=TruncDay("updated")) == found
    assert declared(Article.objects.filter(updated__lte=NOON), lastmod=TruncDay("updated")) != found


def test_the_order_of_a_set_in_a_query_leaves_the_digest() -> None:
    def found(*slugs: str) -> str:
        return declared(Article.objects.filter(code="z", slug__in=slugs, pk__gt=3))

    assert found("a", "b", "c") == found("c", "a", "b") != found("a", "b", "d")


def test_no_row_is_read_for_a_digest(articles: QuerySet[Article], using: str) -> None:
    source = source_of(articles, i18n=True, languages=["en", "de"])
    with queries(using, 0):
        assert source.declaration_digest
