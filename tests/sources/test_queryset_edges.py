"""Rare querysets that once failed: combined, compared, repeated, unreadable."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, connections, transaction
from django.db.models import (
    CharField,
    Count,
    F,
    Func,
    IntegerField,
    Max,
    Q,
    QuerySet,
)
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import ModelSitemap, Route, sources
from django_sitemaps09.checks import check_declarations
from django_sitemaps09.export import export
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Limits
from django_sitemaps09.sources.keys import KeyColumns
from django_sitemaps09.sources.slices import read_each
from tests.models import Article
from tests.support import batches
from tests.support.databases import no_cursor_left, parameter
from tests.support.factories import CategoryFactory
from tests.support.published import indexed
from tests.support.shelves import BASE, LIMITS, Stubborn
from tests.support.sources import page_map, set_slices


def compiled(queryset: Any, **attributes: Any) -> Any:
    declared = {"location": Route("article", slug=F("slug")), "limit": 7, "queryset": queryset}
    return sources.source("s", type("Declared", (ModelSitemap,), declared | attributes), BASE, LIMITS)


def locations(source: Any) -> list[str]:
    found = page_map(source, LIMITS)
    return batches.locations((batch for page in found for batch in source.batches(page)), BASE)


def test_a_slice_has_each_row_once_though_its_order_has_ties(using: str) -> None:
    category = CategoryFactory(using=using, slug="one")
    Article.objects.using(using).bulk_create(Article(slug=f"a{n}", category=category) for n in range(60))
    found = locations(compiled(Article.objects.using(using).order_by("category_id")[:40]))
    assert len(found) == 40
    assert set(Counter(found).values()) == {1}


class Forgetful(CharField):  # type: ignore[type-arg]
    """A field that cannot parse its own text."""

    def value_to_string(self, obj: object) -> str:
        return "always the same"


def test_a_key_that_is_not_read_as_it_was_written_is_refused() -> None:
    field = Forgetful()
    field.set_attributes_from_name("code")
    with pytest.raises(ImproperlyConfigured, match=r"'a'.*code.*value_to_string"):
        KeyColumns("default", "code", (field,)).text("a")


@pytest.mark.parametrize("protocol", ["javascript", "ftp", "HTTPS"])
def test_a_protocol_that_no_crawler_follows_is_refused(protocol: str, db: None) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"\.protocol must be 'http' or 'https'"):
        compiled(Article.objects.all(), protocol=protocol)


def tagged(rows: QuerySet[Article]) -> QuerySet[Article]:
    return rows.annotate(n=Count("tags", filter=Q(tags__name="a")))


COMBINED = {
    "an aggregate, and a plain filter": lambda rows: tagged(rows) | rows.filter(published=True),
    "a filtered aggregate, and a plain filter": lambda rows: (
        tagged(rows).filter(n__gt=0) | rows.filter(published=True)
    ),
    "an aggregate, and a relation": lambda rows: (
        tagged(rows).filter(published=True) | rows.filter(comments__pk__gt=0)
    ),
    "a plain filter, and an aggregate": lambda rows: rows.filter(published=True) | tagged(rows),
    "distinct, excluded, and the time": lambda rows: (
        rows.distinct().exclude(tags__name="b")
        | rows.distinct().filter(category__slug="one", updated__lt=Now())
    ),
    "distinct, and two times excluded": lambda rows: (
        rows.distinct().exclude(tags__name="b") | rows.distinct().exclude(comments__pk__lt=5)
    ),
    "both of two": lambda rows: rows.exclude(tags__name="b") & rows.filter(comments__pk__gt=0),
}


@pytest.mark.parametrize("name", COMBINED)
def test_combined_querysets_list_each_row_of_theirs_once(name: str, shelf: QuerySet[Article]) -> None:
    queryset = COMBINED[name](shelf)
    expected = Counter({f"{BASE}/articles/{row.slug}/" for row in queryset})
    assert expected
    for hooks in ({}, {"location": lambda self, item: f"/articles/{item.slug}/"}):
        assert Counter(locations(compiled(queryset, limit=3, **hooks))) == expected


@pytest.mark.parametrize("using", [parameter("default"), parameter("postgresql")], indirect=True)
def test_what_is_compared_with_an_aggregate_repeats_no_row(shelf: QuerySet[Article]) -> None:
    """Rows are grouped by the compared column, too, so `list(queryset)` has a row for each comment.

    MariaDB fails.
    """
    queryset = tagged(shelf).filter(n__gt=0) | shelf.filter(comments__pk__gt=0)
    listed = Counter(f"{BASE}/articles/{row.slug}/" for row in queryset)
    assert max(listed.values()) > 1
    source = compiled(queryset, limit=3)
    assert isinstance(source, sources.QuerySource)
    assert Counter(locations(source)) == Counter({*listed})


def test_an_aggregate_that_nothing_groups_is_refused_with_the_way_out(shelf: QuerySet[Article]) -> None:
    queryset = shelf.filter(published=True) | tagged(shelf).filter(n__gt=0)
    with pytest.raises(ImproperlyConfigured, match=r"Declared.*aggregate.*right side.*left side.*Exists"):
        compiled(queryset)


#: Querysets, and whether MariaDB can count them. It can list all but the last one.
COMPARED = {
    "a column": (True, lambda rows: rows.filter(Q(n__gt=0) | Q(slug="a03"))),
    "a relation": (True, lambda rows: rows.filter(Q(n__gt=0) | Q(category__slug="one"))),
    "a year": (False, lambda rows: rows.filter(Q(n__gt=0) | Q(updated__year=2026))),
    "a year of some": (False, lambda rows: rows.filter(Q(updated__year=2026) & ~Q(n=2) | Q(n__lt=1))),
    "another key": (False, lambda rows: rows.filter(Q(n__gt=0) | Q(comments__pk__gt=0))),
}


@pytest.mark.parametrize("name", COMPARED)
def test_what_is_compared_with_an_aggregate_is_read_or_refused(name: str, shelf: QuerySet[Article]) -> None:
    """If the database cannot count the rows, the section is rejected before a request fails."""
    counted, made = COMPARED[name]
    queryset = made(tagged(shelf))
    if counted or shelf.db != "mariadb":
        expected = {f"{BASE}/articles/{row.slug}/" for row in queryset}
        assert expected
        assert {*locations(compiled(queryset, limit=3))} == expected
        assert queryset.count() >= len(expected)
    else:
        with pytest.raises(OperationalError, match="Unknown column"), transaction.atomic(shelf.db):
            queryset.count()
        with pytest.raises(ImproperlyConfigured, match=r"MariaDB does not find .* Exists\(\)"):
            compiled(queryset, limit=3)


def test_distinct_rows_of_a_model_are_read_as_plain_ones(shelf: QuerySet[Article], using: str) -> None:
    """Their primary keys are distinct. With IN, each slice would evaluate the whole queryset."""
    source = compiled(shelf.filter(published=True).distinct(), limit=3)
    with CaptureQueriesContext(connections[using]) as queries:
        assert len(locations(source)) == 4
    assert not [found["sql"] for found in queries if "DISTINCT" in found["sql"] or " IN (" in found["sql"]]


class Twice(Func):
    """A join that repeats each row."""

    template = "generate_series(1, 2)"
    output_field = IntegerField()
    set_returning = True


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
@pytest.mark.parametrize("distinct", [False, True])
def test_rows_that_a_function_repeats_are_listed_once_or_as_they_come(
    shelf: QuerySet[Article], distinct: bool
) -> None:
    queryset = shelf.annotate(n=Twice())
    queryset = queryset.distinct() if distinct else queryset
    assert len(queryset) == 24
    assert len(locations(compiled(queryset, limit=5))) == 12
    by_instance = compiled(queryset, limit=5, location=lambda self, item: f"/{item.slug}/{item.n}/")
    assert len({*locations(by_instance)}) == 24


def test_an_expression_with_an_annotation_of_a_union_is_refused(shelf: QuerySet[Article]) -> None:
    counted = shelf.annotate(n=Count("tags"))
    with pytest.raises(ImproperlyConfigured, match=r"Declared: items\(\) returns a union.* 'n' into field"):
        compiled(counted.union(counted), location=Route("article", slug=F("n")))


def test_what_a_queryset_selects_decides_what_its_aggregates_are_of(shelf: QuerySet[Article]) -> None:
    """If rows are also grouped by the tag, no group has two tags, although several articles have two."""
    queryset = shelf.annotate(tag=F("tags__name"), n=Count("tags")).filter(n__gte=2)
    assert not queryset
    assert locations(compiled(queryset)) == []


# An unreadable row is skipped and reported, and affects no other row.

UNREADABLE = [
    pytest.param("default", "2020-02-30", marks=pytest.mark.django_db(databases=["default"])),
    *(
        pytest.param("postgresql", value, marks=parameter("postgresql").marks)
        for value in ("infinity", "-infinity", "10000-01-01", "0044-03-15 BC")
    ),
]

HOOKS: dict[str, dict[str, Any]] = {
    "columns": {"lastmod": F("day")},
    "methods": {"lastmod": lambda self, item: item.day},
    "positions": {"lastmod": F("day"), "location": lambda self, item: f"/articles/{item.slug}/"},
}


def write_day(using: str, slug: str, value: str) -> None:
    """Store a date as another program might."""
    with connections[using].cursor() as cursor:
        cursor.execute("UPDATE tests_article SET day = %s WHERE slug = %s", [value, slug])


@pytest.mark.parametrize("hooks", HOOKS)
@pytest.mark.parametrize(("using", "value"), UNREADABLE, indirect=["using"])
def test_a_row_with_a_date_that_python_does_not_have_is_skipped_and_named(
    shelf: QuerySet[Article], using: str, value: str, hooks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_slices(monkeypatch, 5)
    for slug in ("a03", "a11"):
        write_day(using, slug, value)
    rows = shelf.order_by("slug")[:12] if hooks == "positions" else shelf
    source = compiled(rows, limit=12, **HOOKS[hooks])
    (page,) = page_map(source, Limits(12, LIMITS.bytes))[:1]
    page = page._replace(until=None)
    found = list(source.batches(page))
    assert [url.split("/")[-2] for url in batches.locations(found, BASE)] == [
        f"a{number:02}" for number in range(12) if number not in (3, 11)
    ]
    errors = [error for batch in found for error in batch.errors]
    keys = [str(pk) for pk in shelf.filter(slug__in=["a03", "a11"]).values_list("pk", flat=True)]
    assert [error.key for error in errors] == (
        ["4", "12"] if hooks == "positions" else sorted(keys, key=int)
    )
    assert {error.field for error in errors} == {"row"}
    if hooks != "positions":
        assert source.look(page).newest == ("2026-01-11" if hooks == "columns" else None)


@pytest.mark.parametrize(("using", "value"), UNREADABLE, indirect=["using"])
def test_an_export_goes_on_without_such_a_row_changed_only_or_not(
    shelf: QuerySet[Article], using: str, value: str, tmp_path: Path, settings: Any
) -> None:
    settings.SITEMAPS09 = {"BASE_URL": str(BASE), "ENGINE": "serial", "GZIP": False, "MAX_URLS": 5}
    hooks = {"location": Route("article", slug=F("slug")), "lastmod": F("day"), "queryset": shelf}
    declared: dict[str, Any] = {"shelf": type("Shelf", (ModelSitemap,), hooks)}
    listed = {f"{BASE}/articles/{row.slug}/" for row in shelf}
    assert export(sitemaps=declared, output=tmp_path).sections[0].written == 3
    assert indexed(tmp_path) == listed
    write_day(using, "a03", value)
    report = export(sitemaps=declared, output=tmp_path, changed_only=True)
    (section,) = report.sections
    assert section.skipped_items == 1
    assert section.errors[0].field == "row"
    assert report.published
    assert not report.failures
    assert indexed(tmp_path) == listed - {f"{BASE}/articles/a03/"}
    write_day(using, "a03", "2026-01-04")
    export(sitemaps=declared, output=tmp_path, changed_only=True)
    assert indexed(tmp_path) == listed


def test_a_hundred_rows_that_cannot_be_read_are_a_broken_project() -> None:
    asked: list[range] = []

    def fetch(places: range) -> list[int]:
        asked.append(places)
        raise ValueError("no time zones")

    with pytest.raises(ValueError, match="no time zones"):
        list(read_each(fetch, range(1_500)))
    assert len(asked) < 250


@pytest.mark.parametrize("using", [parameter("postgresql")], indirect=True)
def test_no_cursor_of_the_server_is_left_to_the_garbage_collector(
    shelf: QuerySet[Article], using: str
) -> None:
    rows = Stubborn.objects.using(using).order_by("slug")[:12]
    source = compiled(rows, location=lambda self, item: f"/{item.slug}/")
    with no_cursor_left(using):
        found = list(source.batches(Page(1, None, None)))
    assert len(batches.locations(found, BASE)) == 10
    assert [error.key for batch in found for error in batch.errors] == ["4", "8"]


@pytest.mark.django_db
def test_a_condition_of_extra_is_no_column_beside_an_aggregate() -> None:
    """Django cannot group by its text, and so cannot list these rows. But a check must not fail."""
    discussed = Article.objects.annotate(n=Count("comments")).filter(n__gte=2)
    rows = discussed | Article.objects.extra(where=["tests_article.id > 0"])
    section = type("Extra", (ModelSitemap,), {"queryset": rows.distinct(), "lastmod": Max("visits__at")})
    assert [each.id for each in check_declarations([section]) if each.id != "sitemaps09.E033"] == []
