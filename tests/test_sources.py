"""Laws of sources: whatever the rows and their key, each item is on exactly one page.

The tests that take `using` run on SQLite, PostgreSQL and MariaDB; those of hooks need no database.
"""

from __future__ import annotations

import gc
import html
import json
import random
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock
from zoneinfo import ZoneInfo

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib import sitemaps as contrib
from django.contrib.flatpages.models import FlatPage
from django.contrib.flatpages.sitemaps import FlatPageSitemap
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.core.paginator import Paginator
from django.db import NotSupportedError, OperationalError, connections
from django.db.models import (
    Case,
    CharField,
    Count,
    DateField,
    DateTimeField,
    Exists,
    F,
    FilteredRelation,
    Func,
    Max,
    Model,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
    Window,
)
from django.db.models.functions import Cast, Coalesce, Concat, Greatest, Lower, RowNumber
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import path, reverse
from django.utils import translation
from django.utils.translation import get_language
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from django_sitemaps09 import (
    GenericSitemap,
    ModelSitemap,
    Route,
    Sitemap,
    StaticViewSitemap,
    pages,
    sources,
)
from django_sitemaps09.exceptions import KeyOrderError
from django_sitemaps09.pages import Key, Page, PageMap, fill
from django_sitemaps09.protocol import MAX_LOCATION, Base, Limits
from django_sitemaps09.sitemaps import CONTRIB_INTERNALS
from django_sitemaps09.sources import positions
from django_sitemaps09.sources import queryset as queryset_source
from django_sitemaps09.sources.get_urls import UrlsSource
from django_sitemaps09.sources.positions import PositionSource
from django_sitemaps09.sources.queryset import QuerySource
from django_sitemaps09.sources.rows import members
from django_sitemaps09.sources.rows.keys import KeyColumns
from django_sitemaps09.writer import Written, write_urlset
from tests.models import (
    Article,
    Category,
    Child,
    Comment,
    Document,
    Event,
    Name,
    Reading,
    Recent,
    Scale,
    Seat,
    Tag,
    Ticket,
    Visit,
    Word,
)
from tests.support import batches
from tests.support.databases import parameter

UTC = timezone.utc
pytestmark = pytest.mark.usefixtures("cached_site")

BASE = Base("https", "www.example.com")
LIMITS = Limits(50_000, 10_485_760)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


# How a source is used: the way of an export, without its files.


class RenderedPage(NamedTuple):
    page: Page
    text: str
    written: Written
    cut: Key | None

    @property
    def locations(self) -> list[str]:
        return [html.unescape(text) for text in re.findall("<loc>(.*?)</loc>", self.text)]


def compiled(section: Any, limits: Limits = LIMITS) -> Any:
    return sources.source("things", section, BASE, limits)


def page_map(source: Any, limits: Limits = LIMITS) -> PageMap:
    return sources.page_map(source, limits)


def rendered(source: Any, limits: Limits = LIMITS, found: PageMap | None = None) -> list[RenderedPage]:
    """All pages, those of a map that is given or of one that is cut now, split where they do not fit."""

    def render(page: Page) -> RenderedPage:
        chunks: list[bytes] = []
        most = sources.page_limits(source, limits)
        written = write_urlset(
            source.batches(page),
            chunks.append,
            most,
            base=str(source.bases[0]),
            namespaces=source.namespaces,
        )
        cut = None if written.cut is None else source.key_text(written.cut)
        return RenderedPage(page, b"".join(chunks).decode(), written, cut)

    found = found or page_map(source, limits)
    return [
        done._replace(page=page)
        for page, done in pages.render_all(found.pages, lambda page: partial(render, page))
    ]


def locations(done: Iterable[RenderedPage]) -> list[str]:
    return [url for page in done for url in page.locations]


def errors(done: Iterable[RenderedPage]) -> list[tuple[str, str, str]]:
    return [tuple(error) for page in done for error in page.written.errors]


def keys_of(source: Any, page: Page) -> list[Any]:
    return [key for batch in source.batches(page) for key in batch.keys]


def declaration(**attributes: Any) -> type[ModelSitemap[Any]]:
    return type("Declared", (ModelSitemap,), attributes)


def listing(items: Iterable[Any], **attributes: Any) -> type[Sitemap[Any]]:
    """A sitemap of items that are in no database."""
    attributes.setdefault("location", lambda self, item: f"/{item}/")
    return type("Listing", (Sitemap,), {"items": lambda self: items, **attributes})


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of a few rows are then read in several slices."""
    monkeypatch.setattr(queryset_source, "SLICE", 3)
    monkeypatch.setattr(queryset_source, "SERVER_SLICE", 3)
    monkeypatch.setattr(queryset_source, "COSTLY_SLICE", 3)
    monkeypatch.setattr(members, "FEWEST", 3)
    monkeypatch.setattr(positions, "SLICE", 3)


# Keys: what they are, and 40 rows of each.


@dataclass(frozen=True)
class Kind:
    """A key, and how the rows of some numbers are made, one number a row."""

    model: type[Model]
    key: str
    make: Callable[[str, Iterable[int]], Any]

    def rows(self, using: str) -> QuerySet[Any]:
        return self.model._default_manager.using(using)

    def of(self, row: Model) -> Any:
        return getattr(row, "pk" if self.key == "pk" else self.model._meta.get_field(self.key).attname)


TEXTS = ("a", "B", "é", "Z", "ä", "%", "\\", "'", '"', "x y", "ß", "\N{GRINNING FACE}", "&", ",")


def make_articles(using: str, numbers: Iterable[int]) -> list[Article]:
    return Article.objects.using(using).bulk_create(
        Article(pk=3 * number + 1, slug=f"s{number}", updated=NOON + timedelta(hours=number))
        for number in numbers
    )


def make_documents(using: str, numbers: Iterable[int]) -> None:
    Document.objects.using(using).bulk_create(
        Document(id=uuid.uuid5(uuid.NAMESPACE_URL, str(number)), number=number) for number in numbers
    )


def make_words(using: str, numbers: Iterable[int]) -> None:
    Word.objects.using(using).bulk_create(
        Word(word=f"{TEXTS[number % len(TEXTS)]}{number}") for number in numbers
    )


def make_names(using: str, numbers: Iterable[int]) -> None:
    Name.objects.using(using).bulk_create(
        Name(name=f"{('a', 'B', 'A', 'b', 'Ä', 'é')[number % 6]}{number}") for number in numbers
    )


def make_seats(using: str, numbers: Iterable[int]) -> None:
    Seat.objects.using(using).bulk_create(
        Seat(row=("a", "B", "c d")[number % 3], number=number) for number in numbers
    )


def make_tickets(using: str, numbers: Iterable[int]) -> None:
    rows = [
        Category.objects.using(using).get_or_create(pk=n, defaults={"slug": str(n)})[0] for n in (1, 2, 3)
    ]
    Ticket.objects.using(using).bulk_create(
        Ticket(category=rows[number % 3], number=number) for number in numbers
    )


def make_children(using: str, numbers: Iterable[int]) -> None:
    # Rows of two tables cannot be made in bulk.
    for number in numbers:
        Child.objects.using(using).create(pk=number + 1, name=str(number))


def make_readings(using: str, numbers: Iterable[int]) -> None:
    Reading.objects.using(using).bulk_create(
        Reading(
            ratio=number,
            blob=bytes([number]),
            amount=Decimal(f"123456789012{number}.00001"),
            serial=f"{TEXTS[number % len(TEXTS)]}-{number}",
        )
        for number in numbers
    )


def make_events(using: str, numbers: Iterable[int]) -> None:
    numbers = list(numbers)
    Event.objects.using(using).bulk_create(
        Event(
            at=NOON + timedelta(microseconds=number * 7),
            price=Decimal(number % 7 * 1_000_000_000) + Decimal(number) / 10_000,
            article=article,
        )
        for number, article in zip(numbers, make_articles(using, numbers), strict=True)
    )


KINDS = {
    "integer": Kind(Article, "pk", make_articles),
    "integer by its name": Kind(Article, "id", make_articles),
    "uuid": Kind(Document, "pk", make_documents),
    "text": Kind(Word, "pk", make_words),
    "text without case": Kind(Name, "pk", make_names),
    "composite": Kind(Seat, "pk", make_seats),
    "composite with a relation": Kind(Ticket, "pk", make_tickets),
    "parent link": Kind(Child, "pk", make_children),
    "unique text": Kind(Reading, "serial", make_readings),
    "unique relation": Kind(Event, "article", make_events),
    "decimal": Kind(Event, "price", make_events),
    "moment": Kind(Event, "at", make_events),
}
FIRST = 25
MODES: Mapping[str, dict[str, Any]] = {
    "columns": {"location": Value("/x/")},
    "methods": {"location": lambda self, item: "/x/"},
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, using: str) -> Kind:
    """A key whose table has its first rows."""
    found = KINDS[request.param]
    numbers = list(range(FIRST))
    random.Random(1).shuffle(numbers)  # noqa: S311
    found.make(using, numbers)
    return found


def source_of(kind: Kind, using: str, limit: int = 50_000, **attributes: Any) -> Any:
    declared = {"key": kind.key, "limit": limit, **MODES["columns"], **attributes}
    return compiled(declaration(queryset=kind.rows(using), **declared))


def all_keys(kind: Kind, using: str) -> Counter[Any]:
    return Counter(kind.of(row) for row in kind.rows(using))


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("mode", MODES)
def test_every_row_is_on_exactly_one_page_whatever_its_key(kind: Kind, using: str, mode: str) -> None:
    for limit in (1, 4, FIRST, FIRST + 1):
        source = source_of(kind, using, limit, **MODES[mode])
        assert isinstance(source, QuerySource)
        found = page_map(source).pages
        *full, last = [keys_of(source, page) for page in found]
        assert Counter(key for part in [*full, last] for key in part) == all_keys(kind, using)
        assert {len(part) for part in full} <= {fill(limit)}
        assert 0 < len(last) <= limit
        assert found[0].after is None
        assert found[-1].until is None
        assert all(page.until == next_.after for page, next_ in pairwise(found))


def test_a_key_survives_its_way_as_text(kind: Kind, using: str) -> None:
    source = source_of(kind, using, 4)
    for key in all_keys(kind, using):
        text = source.key_text(key)
        assert all(isinstance(part, str) for part in text)
        assert source.key.parse(text) == key
    for page in page_map(source).pages:
        number, *bounds = json.loads(json.dumps(page))
        travelled = Page(number, *(bound and tuple(bound) for bound in bounds))
        assert travelled == page
        assert keys_of(source, travelled) == keys_of(source, page)


def test_a_page_is_a_range_and_costs_what_any_other_costs(kind: Kind, using: str) -> None:
    source = source_of(kind, using, 4)
    with CaptureQueriesContext(connections[using]) as cutting:
        found = page_map(source).pages
    with CaptureQueriesContext(connections[using]) as reading:
        for page in found:
            keys_of(source, page)
    # One to know whether there are rows, one for how long they are, and one a page.
    assert len(cutting) == 2 + len(found)
    assert len(reading) == len(found)
    assert all("OFFSET" not in query["sql"] for query in reading)
    for query in (*cutting, *reading):
        assert "COUNT(" not in query["sql"]
        assert " OVER " not in query["sql"]
        if "OFFSET" in query["sql"]:
            selected = query["sql"].removeprefix("SELECT ").partition(" FROM ")[0]
            assert selected.count(",") + 1 == len(source.key.names)
            assert "LIMIT 2 " in query["sql"]


def test_what_is_deleted_elsewhere_moves_no_page(kind: Kind, using: str) -> None:
    source = source_of(kind, using, 4)
    page = page_map(source).pages[2]
    before = keys_of(source, page)
    for row in kind.rows(using):
        if kind.of(row) not in before:
            row.delete()
    assert keys_of(source, page) == before
    assert len(before) == 4


@pytest.mark.usefixtures("small_slices")
def test_rows_that_come_after_the_cut_are_on_one_page_each_within_the_limit(kind: Kind, using: str) -> None:
    source = source_of(kind, using, 4)
    stale = page_map(source)
    kind.make(using, range(FIRST, FIRST + 25))
    done = rendered(source, found=stale)
    assert sum((Counter(keys_of(source, part.page)) for part in done), Counter()) == all_keys(kind, using)
    assert all(part.written.urls <= 4 for part in done)
    assert sum(part.written.urls for part in done) == FIRST + 25
    numbers = [part.page.number for part in done]
    assert sorted(numbers) == list(range(1, len(done) + 1))
    assert {page.number: page.after for page in stale.pages}.items() <= {
        (part.page.number, part.page.after) for part in done
    }


@pytest.mark.parametrize("name", ["integer", "moment"])
def test_the_last_page_is_open_for_what_is_appended(name: str, using: str) -> None:
    kind = KINDS[name]
    kind.make(using, range(FIRST))
    source = source_of(kind, using, 4)
    *closed, last = page_map(source).pages
    before = [keys_of(source, page) for page in closed]
    kind.make(using, range(FIRST, FIRST + 10))
    assert [keys_of(source, page) for page in closed] == before
    assert len(keys_of(source, last)) == FIRST % 4 + 10


def test_page_n_is_found_by_its_number_and_read_alone(using: str) -> None:
    make_articles(using, range(FIRST))
    source = source_of(KINDS["integer"], using, 4)
    found = page_map(source)
    page = found.find(5)
    assert page is not None
    assert keys_of(source, page) == [3 * number + 1 for number in range(16, 20)]
    assert found.find(8) is None


def test_pages_fit_their_bytes_too(using: str) -> None:
    make_articles(using, range(FIRST))
    limits = Limits(50_000, 600)
    source = source_of(KINDS["integer"], using, location=Route("article", slug=F("slug")))
    done = rendered(source, limits)
    assert len(done) > 1
    assert all(part.written.bytes == len(part.text) <= 600 for part in done)
    assert Counter(locations(done)) == {f"{BASE}/articles/s{number}/": 1 for number in range(FIRST)}


def test_a_full_slice_is_not_taken_for_the_last(using: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make_articles(using, range(6))
    monkeypatch.setattr(queryset_source, "SLICE", 3)
    monkeypatch.setattr(queryset_source, "SERVER_SLICE", 3)
    monkeypatch.setattr(queryset_source, "COSTLY_SLICE", 3)
    monkeypatch.setattr(members, "FEWEST", 3)
    source = source_of(KINDS["integer"], using)
    (page,) = page_map(source).pages
    with CaptureQueriesContext(connections[using]) as captured:
        assert [len(batch.keys) for batch in source.batches(page)] == [3, 3]
    assert len(captured) == 3


REFUSED = {
    "float": (Reading, "ratio", "FloatField has no exact text"),
    "binary": (Reading, "blob", "BinaryField has no exact text"),
    "float primary key": (Scale, "pk", "FloatField has no exact text"),
    "unique but null": (Reading, "label", "it can be null"),
    "not unique": (Article, "slug", "it is not unique"),
    "relation": (Article, "category", "can be null"),
    "relation to many": (Article, "tags", "it is no"),
    "relation from many": (Article, "comments", "it is no column"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_field_that_cannot_be_a_key_is_refused_by_name_and_with_the_way_out(name: str) -> None:
    model, key, reason = REFUSED[name]
    with pytest.raises(ImproperlyConfigured) as refused:
        compiled(declaration(model=model, key=key, location="/"))
    message = str(refused.value)
    assert model._meta.label in message
    assert key in message
    assert reason in message
    assert "Set `key` to" in message


def test_a_key_that_is_no_field_is_refused_by_name() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Article.*'nothing'"):
        compiled(declaration(model=Article, key="nothing", location="/"))


def test_long_decimals_are_a_key_where_they_are_exact(using: str) -> None:
    make_readings(using, range(FIRST))
    kind = Kind(Reading, "amount", make_readings)
    if connections[using].vendor == "sqlite":
        with pytest.raises(ImproperlyConfigured, match=r"tests\.Reading\.amount.*15 digits.*Set `key`"):
            source_of(kind, using)
        return
    source = source_of(kind, using, 4)
    found = [key for page in page_map(source).pages for key in keys_of(source, page)]
    assert Counter(found) == all_keys(kind, using)


@pytest.mark.django_db
def test_a_class_of_contrib_knows_no_key_so_a_bad_one_is_paged_by_position() -> None:
    Scale.objects.bulk_create(Scale(ratio=ratio) for ratio in (0.1, 0.2, 0.3))
    items = Scale.objects.order_by("-ratio")
    source = compiled(listing(items, location=lambda self, item: f"/{item.ratio}/", limit=2))
    assert isinstance(source, PositionSource)
    assert locations(rendered(source)) == [f"{BASE}/0.{digit}/" for digit in (1, 2, 3)]


# Querysets: what they join, filter and limit, and that all rows of all pages are theirs.

CHANGEFREQ = Case(When(published=True, then=Value("daily")), default=Value("monthly"))
COLUMNS: dict[str, Any] = {
    "location": Route("article", slug=F("slug")),
    "lastmod": F("updated"),
    "priority": F("weight"),
    "changefreq": CHANGEFREQ,
}
METHODS: dict[str, Any] = {
    "location": lambda self, item: reverse("article", kwargs={"slug": item.slug}),
    "lastmod": lambda self, item: item.updated,
    "priority": lambda self, item: item.weight,
    "changefreq": lambda self, item: "daily" if item.published else "monthly",
}


@pytest.fixture
def articles(using: str) -> QuerySet[Article]:
    """Fourteen articles with all relations there are; some dates and weights are missing."""
    categories = [Category.objects.using(using).create(slug=slug) for slug in ("c0", "c1")]
    tags = [Tag.objects.using(using).create(name=name) for name in "abc"]
    rows = Article.objects.using(using).bulk_create(
        Article(
            pk=number * 2,
            slug=f"s{number * 7 % 15}",
            category=None if number == 5 else categories[number % 2],
            published=number % 4 != 0,
            updated=None if number % 6 == 0 else NOON + timedelta(hours=number, microseconds=number),
            day=date(2026, 1, number),
            weight=None if number % 5 == 0 else Decimal(number) / 20,
        )
        for number in range(1, 15)
    )
    Tagged = Article.tags.through
    Tagged.objects.using(using).bulk_create(
        Tagged(article=row, tag=tag) for number, row in enumerate(rows) for tag in tags[: number % 4]
    )
    Comment.objects.using(using).bulk_create(
        Comment(article=row) for number, row in enumerate(rows) for _ in range(number % 3)
    )
    Visit.objects.using(using).bulk_create(
        Visit(article=row, at=NOON + timedelta(days=number, hours=hour))
        for number, row in enumerate(rows)
        for hour in range(number % 3)
    )
    return Article.objects.using(using).all()


class Case_(NamedTuple):
    """A queryset, and how it is read for columns and for methods; `once` where a join repeats rows."""

    build: Callable[[QuerySet[Any]], Any]
    columns: type = QuerySource
    methods: type = QuerySource
    once: bool = False


RANK = Window(RowNumber(), partition_by="category", order_by=["-day"])
QUERYSETS = {
    "all": Case_(lambda rows: rows),
    "filter": Case_(lambda rows: rows.filter(published=True)),
    "none": Case_(lambda rows: rows.none()),
    "an empty list": Case_(lambda rows: rows.filter(pk__in=[])),
    "an order": Case_(lambda rows: rows.order_by("-day")),
    "an order over a relation": Case_(lambda rows: rows.order_by("category__slug", "-pk")),
    "an order by chance": Case_(lambda rows: rows.order_by("?")),
    "reverse": Case_(lambda rows: rows.order_by("pk").reverse()),
    "the order of a proxy": Case_(lambda rows: Recent.objects.using(rows.db)),
    "the reversed order of a proxy": Case_(lambda rows: Recent.objects.using(rows.db).reverse()),
    "only": Case_(lambda rows: rows.only("slug")),
    "defer": Case_(lambda rows: rows.defer("slug", "updated")),
    "select_related": Case_(lambda rows: rows.select_related("category")),
    "prefetch_related": Case_(lambda rows: rows.prefetch_related("tags")),
    "a foreign key": Case_(lambda rows: rows.filter(category__slug="c1")),
    "no foreign key": Case_(lambda rows: rows.filter(category__slug__isnull=True)),
    "a reverse foreign key": Case_(lambda rows: rows.filter(comments__pk__gt=0), once=True),
    "no reverse foreign key": Case_(lambda rows: rows.filter(comments=None)),
    "many to many": Case_(lambda rows: rows.filter(tags__name__in=["a", "b"]), once=True),
    "many to many, deferred": Case_(
        lambda rows: rows.filter(tags__pk__gt=0).only("slug", "category").select_related("category"),
        once=True,
    ),
    "either relation": Case_(
        lambda rows: rows.filter(Q(tags__name="a") | Q(comments__pk__gt=0)), once=True
    ),
    "not many to many": Case_(lambda rows: rows.exclude(tags__name="a")),
    "distinct": Case_(lambda rows: rows.filter(tags__name__in=["a", "b"]).distinct()),
    "distinct and ordered": Case_(lambda rows: rows.filter(tags__pk__gt=0).distinct().order_by("-day")),
    "exists": Case_(lambda rows: rows.filter(Exists(Comment.objects.filter(article=OuterRef("pk"))))),
    "an aggregate": Case_(lambda rows: rows.annotate(n=Count("comments")).filter(n__gt=0)),
    "an aggregate of a join": Case_(
        lambda rows: rows.filter(tags__name__in=["a", "b"]).annotate(n=Count("comments")).filter(n__gt=1)
    ),
    "an aggregate before a join": Case_(
        lambda rows: rows.annotate(n=Count("comments", distinct=True)).filter(n__gt=0, tags__name="a")
    ),
    "a filtered relation": Case_(
        lambda rows: rows.alias(
            written=FilteredRelation("comments", condition=Q(comments__pk__gt=0))
        ).filter(written__isnull=False),
        once=True,
    ),
    "another table": Case_(lambda rows: rows.extra(tables=["tests_tag"]), once=True),
    "a window": Case_(lambda rows: rows.annotate(rank=RANK).filter(rank__lte=3), methods=PositionSource),
    "a window of an alias": Case_(lambda rows: rows.alias(rank=RANK).filter(rank__lte=3)),
    "a window of a join": Case_(
        lambda rows: rows.filter(category__slug="c1").annotate(rank=RANK).filter(rank=1),
        methods=PositionSource,
    ),
    "a slice": Case_(lambda rows: rows.order_by("-slug")[2:9], PositionSource, PositionSource),
    "a slice without an end": Case_(lambda rows: rows.order_by("day")[3:], PositionSource, PositionSource),
    "a union": Case_(
        lambda rows: rows.filter(pk__lt=9).union(rows.filter(pk__gt=20)), PositionSource, PositionSource
    ),
    "an ordered union": Case_(
        lambda rows: rows.filter(pk__lt=9).union(rows.filter(pk__gt=20)).order_by("-slug"),
        PositionSource,
        PositionSource,
    ),
    "a difference": Case_(
        lambda rows: rows.difference(rows.filter(published=False)), PositionSource, PositionSource
    ),
    "an intersection": Case_(
        lambda rows: rows.filter(published=True).intersection(rows.filter(pk__gt=9)),
        PositionSource,
        PositionSource,
    ),
}


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("name", QUERYSETS)
def test_the_rows_of_all_pages_are_those_of_the_queryset(name: str, articles: QuerySet[Article]) -> None:
    """And columns give the same bytes as methods."""
    case = QUERYSETS[name]
    queryset = case.build(articles)
    paths = [reverse("article", kwargs={"slug": row.slug}) for row in case.build(articles)]
    expected = Counter(f"{BASE}{path}" for path in (set(paths) if case.once else paths))
    texts = []
    for hooks, kind in ((COLUMNS, case.columns), (METHODS, case.methods)):
        source = compiled(declaration(queryset=queryset, limit=5, **hooks))
        assert type(source) is kind
        done = rendered(source)
        assert Counter(locations(done)) == expected
        assert errors(done) == []
        assert all(0 < part.written.urls <= 5 for part in done)
        assert len(done) == -(-sum(expected.values()) // 5)
        texts.append([(part.page.number, part.text) for part in done])
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", [name for name in QUERYSETS if QUERYSETS[name].columns is QuerySource])
def test_a_page_of_any_queryset_is_read_without_an_offset(
    name: str, articles: QuerySet[Article], using: str
) -> None:
    source = compiled(declaration(queryset=QUERYSETS[name].build(articles), limit=3, **COLUMNS))
    with CaptureQueriesContext(connections[using]) as cutting:
        found = page_map(source).pages
    jumps = [query["sql"] for query in cutting if "OFFSET" in query["sql"]]
    assert len(jumps) == len(found)
    # The key, and nothing that would have to be read for each row that is jumped over.
    selected = {re.sub(r'["`]', "", sql).partition(" FROM ")[0] for sql in jumps}
    assert selected <= {"SELECT tests_article.id AS pk"}
    for page in found:
        with CaptureQueriesContext(connections[using]) as reading:
            keys_of(source, page)
        # A window looks at all rows: their keys are read once for a page, and not for each slice.
        assert len(reading) == (2 if name.startswith("a window") else 1)
        assert not any("OFFSET" in query["sql"] for query in reading)


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("order", ["slug", "-pk"])
@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_distinct_on_fields_is_read_by_position_in_its_own_order(
    articles: QuerySet[Article], order: str
) -> None:
    queryset = articles.order_by("category", order).distinct("category")
    for hooks in (COLUMNS, METHODS):
        source = compiled(declaration(queryset=queryset, limit=2, **hooks))
        assert isinstance(source, PositionSource)
        done = rendered(source)
        assert locations(done) == [f"{BASE}/articles/{row.slug}/" for row in queryset]
        assert [part.written.urls for part in done] == [2, 1]


@pytest.mark.usefixtures("small_slices")
def test_rows_that_are_no_instances_are_read_by_position(articles: QuerySet[Article]) -> None:
    expected = [f"{BASE}/articles/{row.slug}/" for row in articles.order_by("day")]
    readers: dict[str, tuple[QuerySet[Any], Callable[[Any], str]]] = {
        "values": (articles.order_by("day").values("slug"), lambda row: row["slug"]),
        "values_list": (articles.order_by("day").values_list("slug"), lambda row: row[0]),
        "flat": (articles.order_by("day").values_list("slug", flat=True), lambda row: row),
        "named": (articles.order_by("day").values_list("slug", named=True), lambda row: row.slug),
    }
    for queryset, slug in readers.values():
        hook = lambda self, row, slug=slug: f"/articles/{slug(row)}/"  # noqa: E731
        source = compiled(declaration(queryset=queryset, location=hook, limit=4))
        assert isinstance(source, PositionSource)
        done = rendered(source)
        assert locations(done) == expected
        assert [part.written.urls for part in done] == [4, 4, 4, 2]
    source = compiled(declaration(queryset=readers["values"][0], location=COLUMNS["location"], limit=4))
    assert locations(rendered(source)) == expected


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize(
    "build",
    [list, tuple, iter, lambda rows: (row for row in rows), lambda rows: dict.fromkeys(rows).keys()],
    ids=["list", "tuple", "iterator", "generator", "view"],
)
def test_anything_that_can_be_iterated_is_read_by_position(build: Callable[[Any], Any]) -> None:
    source = compiled(listing(build([f"i{number}" for number in range(10)]), limit=4))
    assert isinstance(source, PositionSource)
    done = rendered(source)
    assert locations(done) == [f"{BASE}/i{number}/" for number in range(10)]
    assert [part.written.urls for part in done] == [4, 4, 2]
    assert not rendered(compiled(listing(build([]))))


def test_raw_rows_are_read_by_position(articles: QuerySet[Article]) -> None:
    rows = articles.raw("SELECT * FROM tests_article ORDER BY day DESC")
    source = compiled(listing(rows, limit=5, location=METHODS["location"]))
    assert isinstance(source, PositionSource)
    assert locations(rendered(source)) == [f"{BASE}/articles/{row.slug}/" for row in rows]


@pytest.mark.parametrize(
    "build",
    [lambda rows: rows[:7], lambda rows: rows.raw("SELECT * FROM tests_article")],
    ids=["slice", "raw"],
)
def test_rows_that_take_no_other_order_need_none(
    articles: QuerySet[Article], build: Callable[[Any], Any]
) -> None:
    found = build(articles)
    source = compiled(declaration(get_queryset=lambda self: found, **METHODS))
    assert len(locations(rendered(source))) == len(list(found))


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_distinct_on_fields_needs_no_order(articles: QuerySet[Article]) -> None:
    source = compiled(declaration(queryset=articles.distinct("published"), **COLUMNS))
    assert len(locations(rendered(source))) == 2


def test_rows_that_a_join_repeats_stay_repeated_where_their_annotations_are_needed(
    articles: QuerySet[Article],
) -> None:
    """A weaker promise, by position: an annotation can be of the very row of the join."""
    queryset = articles.filter(tags__pk__gt=0).annotate(tag=F("tags__name"))
    hook = lambda self, item: f"/{item.slug}/{item.tag}/"  # noqa: E731
    source = compiled(declaration(queryset=queryset, location=hook, limit=5))
    assert isinstance(source, PositionSource)
    found = Counter(locations(rendered(source)))
    assert found == Counter(f"{BASE}/{row.slug}/{row.tag}/" for row in queryset)
    assert len(found) > len(articles.filter(tags__pk__gt=0).distinct())


def test_columns_of_a_queryset_can_name_its_annotations(articles: QuerySet[Article]) -> None:
    expected = {row.pk: Decimal(row.comments.count()) / 4 for row in articles}
    for queryset in (
        articles.annotate(n=Count("comments")),
        articles.annotate(n=Count("comments")).distinct(),
        articles.filter(tags__pk__gt=0).annotate(n=Count("comments", distinct=True)),
    ):
        hooks = {"location": COLUMNS["location"], "priority": F("n") * 0.25}
        done = rendered(compiled(declaration(queryset=queryset, **hooks)))
        rows = list(queryset)
        assert sorted(locations(done)) == sorted(f"{BASE}/articles/{row.slug}/" for row in rows)
        found = re.findall("<priority>(.*?)</priority>", "".join(part.text for part in done))
        assert sorted(map(Decimal, found)) == sorted(expected[row.pk] for row in rows)


def test_a_column_that_looks_at_other_rows_looks_at_all_of_them(articles: QuerySet[Article]) -> None:
    newest = max(row.updated for row in articles if row.updated)
    source = compiled(
        declaration(queryset=articles, limit=3, **{**COLUMNS, "lastmod": Window(Max("updated"))})
    )
    assert isinstance(source, PositionSource)
    done = rendered(source)
    assert Counter(locations(done)) == Counter(f"{BASE}/articles/{row.slug}/" for row in articles)
    assert {part.written.lastmod for part in done} == {f"{newest:%Y-%m-%dT%H:%M:%SZ}"}


@pytest.mark.parametrize(
    "prepare",
    [
        lambda rows: rows.prefetch_related("tags"),
        lambda rows: rows.prefetch_related(Prefetch("tags", Tag.objects.order_by("-name"))),
        lambda rows: rows.filter(tags__pk__gt=0).distinct().prefetch_related("tags"),
        lambda rows: rows.annotate(n=Count("comments")).filter(n__gt=0).prefetch_related("tags"),
        lambda rows: rows.order_by("day")[:10].prefetch_related("tags"),
    ],
    ids=["names", "objects", "distinct", "aggregate", "slice"],
)
def test_what_is_prefetched_for_methods_costs_no_query_an_item(
    articles: QuerySet[Article], using: str, prepare: Callable[[Any], Any]
) -> None:
    hook = lambda self, item: f"/{item.slug}/{'-'.join(tag.name for tag in item.tags.all())}/"  # noqa: E731
    source = compiled(declaration(queryset=prepare(articles), location=hook))
    (page,) = page_map(source).pages
    with CaptureQueriesContext(connections[using]) as captured:
        found = batches.locations(source.batches(page))
    assert len(captured) == 2
    assert len(found) > 5


@pytest.mark.parametrize("distinct", [False, True])
def test_what_is_selected_with_the_rows_costs_no_query_an_item(
    articles: QuerySet[Article], using: str, distinct: bool
) -> None:
    queryset = articles.filter(category__isnull=False).select_related("category").only("category__slug")
    source = compiled(
        declaration(
            queryset=queryset.distinct() if distinct else queryset,
            location=lambda self, item: f"/{item.category.slug}/{item.pk}/",
        )
    )
    (page,) = page_map(source).pages
    with CaptureQueriesContext(connections[using]) as captured:
        assert len(keys_of(source, page)) == 13
    assert len(captured) == 1


def test_no_instance_is_made_where_no_hook_takes_the_item(articles: QuerySet[Article]) -> None:
    source = compiled(declaration(queryset=articles, **COLUMNS))
    with mock.patch.object(Article, "from_db", side_effect=AssertionError("an instance was made")):
        assert len(locations(rendered(source))) == 14


def test_methods_get_items_of_the_database_of_the_queryset(articles: QuerySet[Article], using: str) -> None:
    seen = set()
    hook = lambda self, item: f"/{seen.add(item._state.db) or item.pk}/"  # noqa: E731
    rendered(compiled(declaration(queryset=articles.filter(tags__pk__gt=0), location=hook)))
    assert seen == {using}


# The key has to increase.


@pytest.mark.parametrize("hooks", [COLUMNS, METHODS], ids=["columns", "methods"])
def test_rows_that_are_grouped_by_a_relation_to_many_are_refused_never_two_urls(
    articles: QuerySet[Article], hooks: dict[str, Any]
) -> None:
    # Grouped by the tag, each article comes once a tag.
    queryset = articles.annotate(n=Count("comments"))
    with pytest.raises(ImproperlyConfigured, match=r"Declared.*relation to many.*Max\(\).*method"):
        compiled(declaration(queryset=queryset, **{**hooks, "lastmod": F("tags__pk")}))


def test_a_slice_that_begins_with_the_key_of_the_one_before_is_an_error(
    articles: QuerySet[Article], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queryset_source, "SLICE", 2)
    monkeypatch.setattr(queryset_source, "SERVER_SLICE", 2)
    monkeypatch.setattr(KeyColumns, "beyond", lambda self, rows, after: rows)
    source = compiled(declaration(queryset=articles, **COLUMNS))
    batches = source.batches(Page(1, ("2",), None))
    with pytest.raises(KeyOrderError):
        next(batches)


@pytest.mark.parametrize(
    "attributes",
    [
        {"lastmod": F("visits__at")},
        {"location": Route("article", slug=F("tags__name"))},
        {"priority": Case(When(comments__pk__gt=0, then=Value(0.5)))},
        {"changefreq": Lower("tags__name")},
    ],
    ids=["lastmod", "location", "priority", "changefreq"],
)
def test_an_expression_over_a_relation_to_many_is_refused_with_the_way_out(
    attributes: dict[str, Any],
) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Declared.*relation to many.*Max\(\).*method"):
        compiled(declaration(model=Article, **{**COLUMNS, **attributes}))


# Law 11: declared columns and methods of the item give the same bytes for the same facts.

EXPRESSIONS: dict[str, tuple[str, Any, Callable[[Any], Any]]] = {
    "F": ("lastmod", F("updated"), lambda item: item.updated),
    "F of a date": ("lastmod", F("day"), lambda item: item.day),
    "F of a decimal": ("priority", F("weight"), lambda item: item.weight),
    "F over a foreign key": (
        "location",
        Concat(Value("/"), "category__slug", Value("/"), "slug", output_field=CharField()),
        lambda item: f"/{item.category.slug if item.category else ''}/{item.slug}",
    ),
    "Route over a foreign key": (
        "location",
        Route("seat", row=Coalesce("category__slug", Value("none")), number=F("pk")),
        lambda item: f"/seats/{item.category.slug if item.category else 'none'}/{item.pk}/",
    ),
    "Coalesce": (
        "lastmod",
        Coalesce("updated", Cast(Value(NOON), DateTimeField())),
        lambda item: item.updated or NOON,
    ),
    "Case": (
        "lastmod",
        Case(When(published=True, then=F("updated"))),
        lambda item: item.updated if item.published else None,
    ),
    "Case of words": (
        "changefreq",
        Case(When(pk__gt=8, then=Value("daily")), default=Value("never")),
        lambda item: "daily" if item.pk > 8 else "never",
    ),
    "Greatest": (
        "lastmod",
        Greatest(
            Coalesce("updated", Cast(Value(NOON), DateTimeField())),
            Cast(Value(NOON + timedelta(hours=5)), DateTimeField()),
        ),
        lambda item: max(item.updated or NOON, NOON + timedelta(hours=5)),
    ),
    "Cast": ("lastmod", Cast("updated", DateField()), lambda item: item.updated and item.updated.date()),
    "Cast of a key": (
        "location",
        Concat(Value("/"), Cast("pk", CharField(max_length=20))),
        lambda item: f"/{item.pk}",
    ),
    "Value of a word": ("changefreq", Value("hourly"), lambda item: "hourly"),
    "Value of a number": ("priority", Value(0.5), lambda item: 0.5),
    "Max": (
        "lastmod",
        Max("visits__at"),
        lambda item: max((visit.at for visit in item.visits.all()), default=None),
    ),
    "Max or a column": (
        "lastmod",
        Coalesce(Max("visits__at"), "updated"),
        lambda item: max((visit.at for visit in item.visits.all()), default=item.updated),
    ),
    "Count": (
        "priority",
        Count("tags") * 0.25,
        lambda item: item.tags.count() * 0.25,
    ),
    "a filtered Max": (
        "lastmod",
        Max("visits__at", filter=Q(visits__at__lt=NOON + timedelta(days=5))),
        lambda item: max(
            (visit.at for visit in item.visits.all() if visit.at < NOON + timedelta(days=5)), default=None
        ),
    ),
    "Subquery": (
        "lastmod",
        Subquery(Visit.objects.filter(article=OuterRef("pk")).order_by("-at").values("at")[:1]),
        lambda item: max((visit.at for visit in item.visits.all()), default=None),
    ),
}


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_an_expression_gives_the_bytes_that_a_method_gives(name: str, articles: QuerySet[Article]) -> None:
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
    "location": Route("word", word=F("slug")),
    "lastmod": F("updated"),
    "priority": F("weight"),
    "changefreq": Case(When(published=True, then=Value("daily")), default=Value("sometimes")),
}
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
def test_the_same_facts_give_the_same_bytes(using: str, facts: list[dict[str, Any]], limit: int) -> None:
    """Also where a fact cannot be written: then the same is left out, for the same reason."""
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


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("lastmod", datetime(2026, 7, 1, 12, 30, 15, 999_999, tzinfo=UTC), "2026-07-01T12:30:15Z"),
        (
            "lastmod",
            datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("America/New_York")),
            "2026-07-01T16:00:00Z",
        ),
        ("lastmod", datetime(2026, 7, 1, 12), "2026-07-01T10:00:00Z"),
        ("lastmod", datetime(2026, 1, 1), "2025-12-31T23:00:00Z"),
        ("lastmod", date(2026, 7, 1), "2026-07-01"),
        ("lastmod", None, None),
        ("priority", 0.5, "0.5"),
        ("priority", 1, "1"),
        ("priority", None, None),
        ("changefreq", "weekly", "weekly"),
        ("changefreq", "", None),
    ],
)
@pytest.mark.filterwarnings("ignore:DateTimeField .* received a naive datetime")
def test_a_constant_a_column_and_a_method_write_a_value_alike(
    field: str, value: Any, text: str | None
) -> None:
    Article.objects.create(slug="a")
    written = f"<{field}>{text}</{field}>" if text else ""
    expected = f"<url><loc>{BASE}/articles/a/</loc>{written}</url>"
    column = Value(value) if value is not None else Value(None, output_field=DateTimeField())
    for hook in (value, column, lambda self, item: value):
        (page,) = rendered(
            compiled(declaration(model=Article, **{"location": COLUMNS["location"], field: hook}))
        )
        assert expected in page.text
        assert page.written.errors == ()
        assert page.written.lastmod == (text if field == "lastmod" else None)


# What the live views know of a section: whether a page map is still of its rows, and the newest lastmod.


def test_a_digest_stays_while_only_the_clock_moves(articles: QuerySet[Article]) -> None:
    def digest(moment: datetime, **attributes: Any) -> str:
        queryset = articles.filter(updated__lte=moment)
        return compiled(declaration(**{"queryset": queryset, **COLUMNS, **attributes})).map_cache_key

    now = datetime.now(UTC)
    (found,) = {digest(now - timedelta(seconds=ago)) for ago in (0, 0.000_001, 1, 60)}
    assert digest(now, limit=7) != found
    others = [
        articles,
        articles.filter(published=True),
        articles.filter(slug="a"),
        articles.filter(slug="b"),
        articles.filter(updated__lte=NOON),
        articles.filter(updated__lte=NOON + timedelta(days=1)),
        articles.none(),
    ]
    assert len({found, *(digest(now, queryset=queryset) for queryset in others)}) == len(others) + 1


class OnlyWhereItIs(Func):
    """SQL that one kind of database alone can have."""

    function = "LOWER"
    arity = 1
    output_field = CharField()

    def as_sql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        if connection.alias != compiler.using or connection.vendor == "sqlite":
            raise NotSupportedError("compiled for a database that the rows are not in")
        return super().as_sql(compiler, connection, **context)


@pytest.mark.parametrize("using", [parameter("postgresql"), parameter("mariadb")], indirect=True)
def test_a_digest_is_of_the_sql_of_the_database_that_holds_the_rows(articles: QuerySet[Article]) -> None:
    queryset = articles.alias(lowered=OnlyWhereItIs("slug")).filter(lowered="s1")
    assert compiled(declaration(queryset=queryset, **COLUMNS)).map_cache_key


def test_rows_without_a_key_have_no_digest(articles: QuerySet[Article]) -> None:
    assert compiled(declaration(queryset=articles.order_by("day")[:3], **COLUMNS)).map_cache_key is None
    assert compiled(listing(["a"])).map_cache_key is None


@pytest.mark.parametrize("hook", [F("updated"), F("day"), Max("visits__at"), NOON, None])
def test_the_newest_lastmod_of_a_page_is_what_its_entries_say(
    articles: QuerySet[Article], hook: Any
) -> None:
    source = compiled(declaration(queryset=articles, limit=2, **{**COLUMNS, "lastmod": hook}))
    done = rendered(source)
    assert [source.newest(part.page) for part in done] == [part.written.lastmod for part in done]
    assert any(part.written.lastmod for part in done) is (hook is not None)


def test_a_lastmod_of_the_future_says_nothing_of_a_page(articles: QuerySet[Article]) -> None:
    articles.filter(pk=2).update(updated=datetime.now(UTC) + timedelta(days=1))
    source = compiled(declaration(queryset=articles.filter(pk=2), **COLUMNS))
    (page,) = page_map(source).pages
    assert source.newest(page) is None


def test_a_column_that_is_no_date_says_nothing_of_a_page(articles: QuerySet[Article]) -> None:
    source = compiled(declaration(queryset=articles, **{**COLUMNS, "lastmod": F("slug")}))
    (done,) = rendered(source)
    assert source.newest(done.page) is None
    assert done.written.urls == 14
    assert len(done.written.errors) == 14


def test_the_newest_lastmod_of_any_page_is_one_query_over_its_range(using: str) -> None:
    make_seats(using, range(FIRST))
    source = source_of(KINDS["composite"], using, 4, lastmod=Cast(Value(NOON), DateTimeField()))
    for page in page_map(source).pages:
        with CaptureQueriesContext(connections[using]) as captured:
            assert source.newest(page) == "2026-01-01T12:00:00Z"
        (query,) = captured
        assert "WHERE" in query["sql"]


# One bad item costs itself, or that element alone, and is named.


def failing(value: Any) -> Callable[[Any, Any], Any]:
    """A hook that gives each item `value`, or raises it, for the item `bad` alone."""

    def hook(self: Any, item: Any) -> Any:
        if item != "bad":
            return f"/{item}/" if isinstance(value, tuple) else None
        found = value[0] if isinstance(value, tuple) else value
        if isinstance(found, Exception):
            raise found
        return found

    return hook


ITEMS = ["a", "bad", "c"]
LONG = f"{BASE}/{'a' * (MAX_LOCATION - len(str(BASE)) - 1)}"


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        (ValueError("no such thing"), "ValueError: no such thing"),
        (KeyError("slug"), "KeyError: 'slug'"),
        (AttributeError("get_absolute_url"), "AttributeError: get_absolute_url"),
        (RecursionError("deep"), "RecursionError: deep"),
        ("/a\x00b", "control character"),
        ("/a\nb", "control character"),
        ("/a\x7fb", "control character"),
        ("/a\x85b", "control character"),
        ("/\ud800", "lone surrogate"),
        ("relative/path", "neither a path that begins with a slash nor an absolute URL"),
        ("", "is empty"),
        ("/a#b", "holds a fragment"),
        ("https://user@www.example.com/a", "has a user or a backslash"),
        (None, "neither a path"),
        ("?page=2", "neither a path"),
        ("ftp://www.example.com/a", "neither a path"),
        ("javascript:alert(1)", "neither a path"),
        (f"{LONG}a", "has 2,048 characters, 2,047 are allowed"),
        (f"/{'ä' * 500}", "characters, 2,024 are allowed"),
        ("https://other.example/a", "is not on https://www.example.com"),
        ("https://www.example.com.evil.example/a", "is not on https://www.example.com"),
        ("https://www.example.com:8443/a", "is not on https://www.example.com"),
        ("https://www.example.com:none/a", "a port that no URL can have"),
        ("http://www.example.com/a", "is not on https://www.example.com"),
    ],
)
def test_an_item_without_an_acceptable_url_is_left_out_and_named(location: Any, reason: str) -> None:
    done = rendered(compiled(listing(ITEMS, location=failing((location,)))))
    assert locations(done) == [f"{BASE}/a/", f"{BASE}/c/"]
    ((key, field, text),) = errors(done)
    assert (key, field) == ("2", "location")
    assert reason in text


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("/a b", "/a%20b"),
        ("/ä/\N{GRINNING FACE}", "/%C3%A4/%F0%9F%98%80"),
        ("/100%/%20/%C3%A4", "/100%25/%20/%C3%A4"),
        ("/<a>&\"'", "/%3Ca%3E&%22'"),
        ("//double", "//double"),
        (f"{BASE}/a?b=c", "/a?b=c"),
        ("/a[1]", "/a%5B1%5D"),
        ("/a?b[]=c", "/a?b%5B%5D=c"),
        (LONG, LONG.removeprefix(str(BASE))),
    ],
)
def test_an_acceptable_url_is_quoted_and_joined_to_the_base(location: str, url: str) -> None:
    assert locations(rendered(compiled(listing(ITEMS[1:2], location=failing((location,)))))) == [
        f"{BASE}{url}"
    ]


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("HTTPS://WWW.EXAMPLE.COM/a", "https://www.example.com/a"),
        ("https://www.example.com:443/a", "https://www.example.com:443/a"),
        ("https://www.example.com", "https://www.example.com/"),
    ],
)
def test_the_same_host_can_be_written_in_other_ways(given: str, url: str) -> None:
    assert locations(rendered(compiled(listing(ITEMS[1:2], location=failing((given,)))))) == [url]


def test_the_protocol_of_a_class_is_that_of_its_base() -> None:
    urls = iter(["/a", "http://www.example.com/b", "https://www.example.com/c"] * 2)
    source = compiled(listing(ITEMS, location=lambda self, item: next(urls), protocol="http"))
    done = rendered(source)
    assert locations(done) == ["http://www.example.com/a", "http://www.example.com/b"]
    assert [error[0] for error in errors(done)] == ["3"]


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("lastmod", "2026-01-01", "neither a date nor a datetime"),
        ("lastmod", 1_767_225_600, "neither a date nor a datetime"),
        ("lastmod", datetime.min, "out of range"),
        ("lastmod", datetime.max.replace(tzinfo=timezone(-timedelta(hours=5))), "out of range"),
        ("lastmod", ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
        ("changefreq", "sometimes", "is not a changefreq"),
        ("changefreq", "Daily", "is not a changefreq"),
        ("changefreq", ["daily"], "is not a changefreq"),
        ("changefreq", ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
        ("priority", 1.01, "is not a priority"),
        ("priority", -0.1, "is not a priority"),
        ("priority", "high", "is not a priority"),
        ("priority", True, "is not a priority"),
        ("priority", float("nan"), "is not a priority"),
        ("priority", Decimal("Infinity"), "is not a priority"),
        ("priority", ZeroDivisionError("oh"), "ZeroDivisionError: oh"),
    ],
)
def test_a_bad_element_of_an_item_is_left_out_alone_and_named(field: str, value: Any, reason: str) -> None:
    done = rendered(compiled(listing(ITEMS, **{field: failing(value)})))
    assert locations(done) == [f"{BASE}/{item}/" for item in ITEMS]
    assert f"<{field}>" not in done[0].text
    ((key, named, text),) = errors(done)
    assert (key, named) == ("2", field)
    assert reason in text


def test_what_is_left_out_is_named_by_its_key(using: str) -> None:
    make_seats(using, range(3))
    hook = lambda self, item: f"/{item.number // (item.number - 1)}/"  # noqa: E731
    source = source_of(KINDS["composite"], using, location=hook)
    assert errors(rendered(source)) == [
        ("('B', 1)", "location", "ZeroDivisionError: integer division or modulo by zero")
    ]


@pytest.mark.parametrize("error", [OperationalError("gone"), ImproperlyConfigured("no such app")])
@pytest.mark.parametrize(
    "hooks",
    [
        lambda hook: {"location": hook},
        lambda hook: {"lastmod": hook},
        lambda hook: {"i18n": True, "get_languages_for_item": hook},
    ],
    ids=["location", "lastmod", "languages"],
)
def test_a_database_or_a_project_that_is_broken_is_no_bad_item(
    error: Exception, hooks: Callable[[Any], dict[str, Any]]
) -> None:
    with pytest.raises(type(error)):
        rendered(compiled(listing(ITEMS, **hooks(failing(error)))))


@pytest.mark.parametrize(
    ("field", "value"), [("lastmod", "yesterday"), ("changefreq", "sometimes"), ("priority", 7)]
)
def test_a_bad_constant_is_an_error_beside_expressions_and_else_left_out(field: str, value: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match=rf"Declared\.{field}.*Change it.*method"):
        compiled(declaration(model=Article, location=COLUMNS["location"], **{field: value}))
    done = rendered(compiled(listing(ITEMS, **{field: value})))
    assert locations(done) == [f"{BASE}/{item}/" for item in ITEMS]
    assert f"<{field}>" not in done[0].text
    assert {error[1] for error in errors(done)} == {field}


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "1e4", "ten", None])
def test_a_limit_that_is_no_number_of_urls_is_refused(limit: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"'things': `limit` of Listing"):
        compiled(listing(ITEMS, limit=limit))


class Environment:
    """A setting that has no other value than what int() makes of it."""

    def __int__(self) -> int:
        return 2


@pytest.mark.parametrize(
    "limit",
    ["2", b"2", bytearray(b"2"), 2.0, Decimal(2), Fraction(2), Environment()],
    ids=lambda limit: type(limit).__name__,
)
def test_a_limit_is_what_contribs_paginator_takes_it_for(limit: Any) -> None:
    assert compiled(listing(ITEMS, limit=limit)).entries_per_page == 2


def test_a_limit_of_a_class_is_never_above_that_of_the_settings() -> None:
    done = rendered(compiled(listing(range(7), limit=50), Limits(3, LIMITS.bytes)), Limits(3, LIMITS.bytes))
    assert [part.written.urls for part in done] == [3, 3, 1]


def test_expressions_need_a_queryset() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Listing.*no queryset.*methods"):
        compiled(listing(ITEMS, lastmod=F("updated")))


def test_expressions_need_rows_that_can_carry_them(articles: QuerySet[Article]) -> None:
    queryset = articles.order_by("day").values_list("slug")
    with pytest.raises(ImproperlyConfigured, match=r"rows of a model, not tuple.*methods"):
        rendered(compiled(declaration(queryset=queryset, **COLUMNS)))


def test_a_class_without_rows_says_how_to_give_it_some() -> None:
    with pytest.raises(ImproperlyConfigured, match=r"Declared has no rows: set `queryset` or `model`"):
        compiled(declaration(location="/"))


@pytest.mark.parametrize("limit", [1, 50_000])
def test_names_of_views_are_a_section(limit: int) -> None:
    source = compiled(
        type("Static", (StaticViewSitemap,), {"viewnames": ["home", "nowhere", "about"], "limit": limit})
    )
    done = rendered(source)
    assert locations(done) == [f"{BASE}/home/", f"{BASE}/about/"]
    ((key, field, reason),) = errors(done)
    assert (key, field) == ("2", "location")
    assert "NoReverseMatch" in reason


# Languages.


def in_language(self: Any, item: Any) -> str:
    return f"/{get_language()}/{item}/"


def alternates(text: str) -> list[list[tuple[str, str]]]:
    """Language and URL of each link of each entry."""
    entries = re.findall("<url>(.*?)</url>", text)
    return [re.findall('hreflang="(.*?)" href="(.*?)"', entry) for entry in entries]


def test_each_item_is_listed_in_each_language_with_all_of_them() -> None:
    (done,) = rendered(
        compiled(listing("ab", i18n=True, alternates=True, x_default=True, location=in_language))
    )
    codes = {"en": "en", "de": "de", "pt-br": "pt-BR"}
    assert done.locations == [f"{BASE}/{code}/{item}/" for item in "ab" for code in codes]
    for item, links in zip("aaabbb", alternates(done.text), strict=True):
        assert links == [
            *((language, f"{BASE}/{code}/{item}/") for code, language in codes.items()),
            ("x-default", f"{BASE}/{item}/"),
        ]


def test_an_item_has_the_languages_that_it_says() -> None:
    of = {"a": ["en", "de"], "b": ["de"], "c": [], "d": ["en", "fr"]}
    (done,) = rendered(
        compiled(
            listing(
                of,
                i18n=True,
                alternates=True,
                location=in_language,
                get_languages_for_item=lambda self, item: of[item],
            )
        )
    )
    expected = [(item, code) for item, codes in of.items() for code in codes]
    assert done.locations == [f"{BASE}/{code}/{item}/" for item, code in expected]
    found = [[language for language, _ in links] for links in alternates(done.text)]
    assert found == [of[item] for item, _ in expected]


def test_only_the_languages_of_the_class_are_listed() -> None:
    (done,) = rendered(compiled(listing("a", i18n=True, languages=["de", "en"], location=in_language)))
    assert done.locations == [f"{BASE}/de/a/", f"{BASE}/en/a/"]
    assert "xhtml" not in done.text
    (none,) = rendered(compiled(listing("a", i18n=True, languages=[], location=in_language)))
    assert none.locations == []


def test_a_language_without_a_url_is_neither_listed_nor_named_by_the_others() -> None:
    def location(self: Any, item: str) -> str:
        if item == "b" and get_language() == "de":
            raise LookupError("not translated")
        return in_language(self, item)

    (done,) = rendered(compiled(listing("abc", i18n=True, alternates=True, location=location)))
    assert f"{BASE}/de/b/" not in done.text
    assert [len(links) for links in alternates(done.text)] == [3, 3, 3, 2, 2, 3, 3, 3]
    assert errors([done]) == [("2", "location", "LookupError: not translated")]


def test_an_item_whose_languages_cannot_be_told_is_left_out_and_named() -> None:
    hooks = {"i18n": True, "location": in_language, "get_languages_for_item": failing(ValueError("no"))}
    of = lambda self, item: hooks["get_languages_for_item"](self, item) or ["de"]  # noqa: E731
    done = rendered(compiled(listing(ITEMS, **{**hooks, "get_languages_for_item": of})))
    assert locations(done) == [f"{BASE}/de/a/", f"{BASE}/de/c/"]
    assert errors(done) == [("2", "languages", "ValueError: no")]


@pytest.mark.parametrize("limits", [Limits(7, LIMITS.bytes), Limits(50_000, 2_000)], ids=["urls", "bytes"])
def test_an_item_and_its_languages_are_on_one_page(limits: Limits) -> None:
    of = {f"i{n}": ["en", "de", "pt-br"][: n % 4] for n in range(20)}
    source = compiled(
        listing(
            of,
            i18n=True,
            alternates=True,
            location=in_language,
            get_languages_for_item=lambda self, item: of[item],
        ),
        limits,
    )
    # As if every item was believed to have one language.
    found = pages.cut(source, 7)
    done = rendered(source, limits, found)
    assert len(done) > len(found.pages)
    assert sorted(locations(done)) == sorted(f"{BASE}/{code}/{item}/" for item in of for code in of[item])
    assert all(part.written.urls <= limits.urls and part.written.bytes <= limits.bytes for part in done)
    holders = [{url.split("/")[-2] for url in part.locations} for part in done]
    assert sum(map(len, holders)) == len(set().union(*holders))


@pytest.mark.parametrize("active", ["en", "de", "pt-br"])
def test_what_is_active_changes_nothing_and_stays_active(active: str) -> None:
    with translation.override(active):
        (done,) = rendered(compiled(listing("a", location=in_language)))
        (by_language,) = rendered(compiled(listing("a", i18n=True, location=in_language)))
        assert get_language() == active
    assert done.locations == [f"{BASE}/en/a/"]
    assert len(by_language.locations) == 3


def nothing(request: object, slug: str) -> None:
    """What a location leads to."""


urlpatterns = i18n_patterns(path("articles/<slug:slug>/", nothing, name="article"))


@override_settings(ROOT_URLCONF=__name__)
@pytest.mark.parametrize("x_default", [False, True])
def test_columns_and_methods_agree_in_all_languages(articles: QuerySet[Article], x_default: bool) -> None:
    texts = []
    for hooks in (COLUMNS, METHODS):
        source = compiled(
            declaration(
                queryset=articles, limit=9, i18n=True, alternates=True, x_default=x_default, **hooks
            )
        )
        done = rendered(source)
        texts.append([part.text for part in done])
        assert [part.written.urls for part in done] == [9, 9, 9, 9, 6]
    assert texts[0] == texts[1]
    assert f"{BASE}/de/articles/s1/" in texts[0][2] + texts[0][3] + texts[0][4] + texts[0][0] + texts[0][1]


# What others wrote for contrib.


@pytest.mark.parametrize("name", CONTRIB_INTERNALS)
def test_a_class_that_overrides_the_machinery_is_read_through_it(name: str) -> None:
    overridden = property(lambda self: Paginator("a", 1)) if name == "paginator" else lambda *args: []
    assert isinstance(compiled(listing("a", **{name: overridden})), UrlsSource)


def test_an_instance_that_overrides_the_machinery_is_read_through_it() -> None:
    sitemap = listing("a")()
    sitemap.get_urls = lambda **kwargs: []
    assert isinstance(compiled(sitemap), UrlsSource)


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        (listing("a"), PositionSource),
        (listing("a")(), PositionSource),
        (lambda: listing("a")(), PositionSource),
        (declaration(model=Article), QuerySource),
        (lambda: GenericSitemap({"queryset": Article.objects.all()}), QuerySource),
        (contrib.GenericSitemap({"queryset": Article.objects.order_by("pk")}), UrlsSource),
        (FlatPageSitemap, UrlsSource),
        (contrib.Sitemap, UrlsSource),
        (SimpleNamespace(paginator=Paginator([], 1)), UrlsSource),
    ],
    ids=[
        "class",
        "instance",
        "factory",
        "model",
        "generic",
        "contrib generic",
        "flatpages",
        "contrib",
        "any",
    ],
)
@pytest.mark.django_db
def test_only_our_own_classes_are_compiled(section: Any, kind: type) -> None:
    assert isinstance(compiled(section), kind)


def through_get_urls(declared: type[Any]) -> type[Any]:
    """The same declaration, taken out of our hands."""

    def get_urls(self: Any, *args: Any, **kwargs: Any) -> Any:
        return super(declared, self).get_urls(*args, **kwargs)

    return type("Overriding", (declared,), {"get_urls": get_urls})


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"lastmod": NOON, "changefreq": "daily", "priority": 0.5},
        {"lastmod": lambda self, item: date(2026, 1, 1) if item == "b" else None},
        {"priority": lambda self, item: {"a": 0.1, "b": None}.get(item, 1)},
        {"protocol": "http"},
        {"i18n": True, "location": in_language},
        {"i18n": True, "alternates": True, "location": in_language},
        {"i18n": True, "alternates": True, "x_default": True, "location": in_language},
        {"i18n": True, "languages": ["de", "en"], "alternates": True, "location": in_language},
        {"location": lambda self, item: f"/ä {item}/"},
    ],
    ids=lambda attributes: "-".join(attributes) or "nothing",
)
def test_a_declaration_gives_the_same_entries_compiled_and_through_get_urls(
    attributes: dict[str, Any],
) -> None:
    declared = listing("abc", **attributes)
    ours = rendered(compiled(declared))
    theirs = rendered(compiled(through_get_urls(declared)))
    assert [re.findall("<url>.*", part.text) for part in ours] == [
        re.findall("<url>.*", part.text) for part in theirs
    ]
    assert errors(ours) == errors(theirs) == []


def test_the_rows_of_the_database_too(articles: QuerySet[Article]) -> None:
    declared = declaration(queryset=articles.order_by("pk"), limit=4, **METHODS)
    theirs = rendered(compiled(through_get_urls(declared)))
    assert locations(theirs) == locations(rendered(compiled(declared)))
    assert [part.written.urls for part in theirs] == [4, 4, 4, 2]


class Tree:
    """Like Wagtail's: no subclass of anything, and each item has the URLs that it says."""

    limit = 3

    def __init__(self, items: Sequence[Sequence[Any]]) -> None:
        self.items = items
        self.asked: list[tuple[Any, Any, Any]] = []

    @property
    def paginator(self) -> Paginator[Any]:
        return Paginator(self.items, self.limit)

    def get_urls(self, page: int = 1, site: Any = None, protocol: Any = None) -> list[Any]:
        self.asked.append((page, site.domain, protocol))
        return [url for item in self.paginator.page(page).object_list for url in item]


def tree(*counts: int) -> Tree:
    return Tree(
        [[{"location": f"{BASE}/{i}/{j}/"} for j in range(number)] for i, number in enumerate(counts)]
    )


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
@pytest.mark.parametrize(
    "counts", [(1,), (1, 1, 1), (1, 1, 1, 1), (0, 0, 0), (0, 0, 0, 4), (9, 0, 1, 2, 30), (7, 7, 7)]
)
def test_pages_of_a_paginator_are_split_where_they_hold_too_much(counts: Sequence[int], limit: int) -> None:
    section = tree(*counts)
    limits = Limits(limit, LIMITS.bytes)
    done = rendered(compiled(section, limits), limits)
    assert locations(done) == [url["location"] for item in section.items for url in item]
    assert all(part.written.urls <= limit for part in done)
    assert len({part.page.number for part in done}) == len(done)
    assert {part.page.number for part in done} >= set(range(1, section.paginator.num_pages + 1))


def test_get_urls_is_asked_for_each_page_as_contrib_asks() -> None:
    section = tree(1, 1, 1, 1)
    rendered(compiled(section))
    assert section.asked == [(1, BASE.domain, BASE.scheme), (2, BASE.domain, BASE.scheme)]


def test_a_paginator_without_items_has_no_pages() -> None:
    assert page_map(compiled(tree())).pages == ()


def test_a_paginator_that_shrinks_or_grows_after_the_cut_breaks_nothing() -> None:
    section = tree(1, 1, 1, 1)
    source = compiled(section)
    found = page_map(source)
    section.items = tree(1, 1).items
    # Page 1 was listed for the cut, and is read as it was then.
    assert len(locations(rendered(source, found=found))) == 3
    assert len(locations(rendered(source, found=found))) == 2
    section.items = tree(*[1] * 8).items
    assert len(locations(rendered(source, found=found))) == 6
    assert len(locations(rendered(compiled(section)))) == 8


def test_keys_of_an_entry_but_its_location_may_be_missing() -> None:
    entries = [
        {"location": "https://other.example/a/"},
        {"location": "/b/", "lastmod": NOON, "item": "b"},
        {"location": f"{BASE}/c/", "priority": "0.5", "changefreq": "", "lastmod": ""},
        {"location": f"{BASE}/d/", "alternates": [{"lang_code": "de", "location": f"{BASE}/de/d/"}]},
    ]
    (done,) = rendered(compiled(Tree([entries])))
    assert errors([done]) == []
    assert re.findall("<url>(.*)</url>", done.text) == [
        "<loc>https://other.example/a/</loc>",
        f"<loc>{BASE}/b/</loc><lastmod>2026-01-01T12:00:00Z</lastmod>",
        f"<loc>{BASE}/c/</loc><priority>0.5</priority>",
        f'<loc>{BASE}/d/</loc><xhtml:link rel="alternate" hreflang="de" href="{BASE}/de/d/"/>',
    ]


def test_a_bad_entry_is_left_out_and_named_and_a_bad_element_alone() -> None:
    entries: list[dict[str, Any]] = [
        {"item": "first"},
        {"location": None, "item": "second"},
        {"location": "/\x00", "item": "third"},
        {"location": f"/{'a' * MAX_LOCATION}"},
        {"location": "/good/", "lastmod": "yesterday", "changefreq": "x", "priority": "high"},
    ]
    (done,) = rendered(compiled(Tree([entries])))
    assert re.findall("<url>(.*)</url>", done.text) == [f"<loc>{BASE}/good/</loc>"]
    named = [(key, field) for key, field, _ in errors([done])]
    assert named == [
        ("1/1 (first)", "location"),
        ("1/2 (second)", "location"),
        ("1/3 (third)", "location"),
        ("1/4 (None)", "location"),
        ("1/5 (None)", "lastmod"),
        ("1/5 (None)", "changefreq"),
        ("1/5 (None)", "priority"),
    ]


@pytest.mark.parametrize("link", [{"lang_code": "de"}, {"lang_code": "de", "location": "/\x00"}])
def test_a_bad_alternate_of_an_entry_is_left_out_alone_and_named(link: dict[str, str]) -> None:
    (done,) = rendered(compiled(Tree([[{"location": "/a/", "alternates": [link]}]])))
    assert done.locations == [f"{BASE}/a/"]
    assert [field for _, field, _ in errors([done])] == ["alternates"]


def test_an_entry_keeps_its_key_when_its_page_is_read_from_the_middle() -> None:
    source = compiled(tree(2, 2, 2))
    ((first, *_), *_) = [batch.keys for batch in source.batches(Page(2, ("1", "4"), None))]
    assert first == (1, 5)
    assert source.key_text(first) == ("1", "5")


def test_a_method_of_contribs_that_is_overridden_is_honoured() -> None:
    declared: dict[str, dict[str, Any]] = {
        "_location": {"_location": lambda self, item, force_lang_code=None: f"/over/{item}/"},
        "get_domain": {"get_domain": lambda self, site=None: "cdn.example.net"},
        "get_protocol": {"get_protocol": lambda self, protocol=None: "http"},
        "_items": {"_items": lambda self: ["z"]},
        "_get": {"_get": lambda self, name, item, default=None: "/got/" if name == "location" else default},
        "paginator": {"paginator": property(lambda self: Paginator("xy", 1))},
    }
    found = {name: locations(rendered(compiled(listing("a", **hooks)))) for name, hooks in declared.items()}
    assert found == {
        "_location": [f"{BASE}/over/a/"],
        "get_domain": ["https://cdn.example.net/a/"],
        "get_protocol": ["http://www.example.com/a/"],
        "_items": [f"{BASE}/z/"],
        "_get": [f"{BASE}/got/"],
        "paginator": [f"{BASE}/x/", f"{BASE}/y/"],
    }


@pytest.mark.django_db
def test_flatpages_are_a_section() -> None:
    site = Site.objects.get_current()
    for number in range(5):
        page = FlatPage.objects.create(url=f"/info/{number}/", title=str(number))
        page.sites.add(site)
    with override_settings(ROOT_URLCONF="tests.contrib_road.urls_ours"):
        done = rendered(compiled(type("Limited", (FlatPageSitemap,), {"limit": 2})))
    assert [len(part.locations) for part in done] == [2, 2, 1]
    assert [url.removesuffix("/").rsplit("/", 1)[1] for url in locations(done)] == list("01234")


@pytest.mark.usefixtures("small_slices")
@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_a_page_that_is_left_in_the_middle_leaves_no_cursor_open(
    articles: QuerySet[Article], using: str
) -> None:
    """One that the garbage collector closes, in the middle of another query, waits for that for ever."""
    source = compiled(declaration(queryset=articles.order_by("day")[:9], **COLUMNS))
    assert isinstance(source, PositionSource)
    gc.disable()
    try:
        assert source.sample() is not None
        for batch in source.batches(Page(1, None, None)):
            assert len(batch.keys) == 3
            break
        with connections[using].cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_cursors")
            assert cursor.fetchone() == (0,)
    finally:
        gc.enable()
