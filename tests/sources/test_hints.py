"""Hints name the measured steps that made a section slow, and what to declare instead."""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.management import call_command
from django.db import connection, connections
from django.db.models import Count, F, Max, QuerySet, Window
from django.db.models.functions import RowNumber
from django.db.models.signals import post_init
from django.urls import reverse

from django_sitemaps09 import ModelSitemap, Route, Sitemap, sources
from django_sitemaps09.export import export
from django_sitemaps09.hooks.profiling import Cost, Costs, Step, record_costs, step
from django_sitemaps09.management.commands import export_sitemaps
from django_sitemaps09.pages import Page
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.sources import hints as hints_module
from django_sitemaps09.sources.hints import hints
from tests.models import Article, Category, Comment, Scale
from tests.support import commands
from tests.support.configuration import BASE
from tests.support.engine_project import Project
from tests.support.processes import forkable
from tests.support.sections import Numbers

EVERYTHING = Page(1, None, None)
#: More than ten, the minimum number of queries for a hint.
COUNT = 24


class Declared(ModelSitemap[Article]):
    model = Article
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    changefreq = "weekly"


class Default(ModelSitemap[Article]):
    model = Article


class Related(Default):
    """A typical N+1 problem: one query for the related object of each item."""

    def location(self, item: Article) -> str:
        return f"/{item.category and item.category.slug}/{item.slug}/"


class Reversed(Default):
    """A section whose method can be replaced with a column."""

    def location(self, item: Article) -> str:
        return reverse("article", kwargs={"slug": item.slug})


class Joined(Related):
    queryset = Article.objects.select_related("category")


class Prefetched(Default):
    queryset = Article.objects.prefetch_related("comments")

    def priority(self, item: Article) -> float:
        return 0.5 if item.comments.all() else 0.4


class Deferred(Default):
    queryset = Article.objects.only("pk")


class TwoHooks(Related):
    lastmod = F("updated")

    def priority(self, item: Article) -> float:
        return 0.5 if item.comments.exists() else 0.4


class OwnRoad(Default):
    limit = 10

    def get_urls(self, *args: Any, **options: Any) -> list[dict[str, Any]]:
        return super().get_urls(*args, **options)


class Written(ContribSitemap):  # type: ignore[type-arg]
    """A section that was written for contrib."""

    limit = 10

    def items(self) -> QuerySet[Article]:
        return Article.objects.order_by("pk")

    def location(self, item: Article) -> str:
        return f"/{item.category and item.category.slug}/{item.slug}/"


class Translated(Related):
    i18n = True

    def get_languages_for_item(self, item: Article) -> Sequence[str]:
        return ["en", "de"] if item.comments.exists() else ["en", "de", "pt-br"]


class Sliced(Related):
    queryset = Article.objects.all()[:COUNT]


class United(Default):
    """A section of rows that Django cannot annotate."""

    lastmod = F("updated")

    def get_queryset(self) -> QuerySet[Article]:
        first = Article.objects.filter(pk__lte=1)
        return first.union(Article.objects.filter(pk__gt=1))

    def location(self, item: Article) -> str:
        return f"/{item.slug}/"


class Listed(Sitemap[Article]):
    """A section that returns a list although it could return a queryset."""

    def items(self) -> list[Article]:
        return [item for item in Article.objects.all() if item.category and item.category.slug]


# Worker processes find these sections by the setting.
SECTIONS = {
    kind.__name__.lower(): type(kind.__name__, (kind,), {"limit": 10})
    for kind in (Declared, Default, Related, Joined, Prefetched, TwoHooks, Translated, Sliced)
}


SUGGESTIBLE = {"reversed": Reversed, "related": Related}


def populate() -> None:
    """Create articles. Each has its own category, and every second one has a comment."""
    categories = Category.objects.bulk_create(Category(slug=f"category-{n}") for n in range(COUNT))
    articles = Article.objects.bulk_create(
        Article(slug=f"article-{n}", category=category) for n, category in enumerate(categories)
    )
    Comment.objects.bulk_create(Comment(article=article) for article in articles[::2])


@pytest.fixture
def rows(db: None) -> None:
    populate()


def source_of(sitemap: object) -> sources.Source:
    return sources.source("a", sitemap, Base("https", "www.example.com"), Limits(50_000, 10_485_760))


def costs_of(sitemap: object) -> Costs:
    """Return the costs of reading all rows."""
    source = source_of(sitemap)
    with record_costs() as costs:
        for _ in source.batches(EVERYTHING):
            pass
    return costs


def export_hints(sitemap: object, folder: Path) -> Sequence[str]:
    """Return the hints of an export."""
    report = export(output=folder, base_url=BASE, dry_run=True, sitemaps={"a": sitemap})
    assert report.failures == []
    return report.sections[0].hints


def said(folder: Path, *arguments: str) -> str:
    return commands.said("export_sitemaps", "--output", folder, *arguments)[0]


def slow(source: sources.Source, count: int = 1_000, **seconds: float) -> tuple[str, ...]:
    """Return the hints for steps that take these seconds."""
    steps: dict[Any, Cost] = {name: Cost(taken) for name, taken in seconds.items()}
    next(iter(steps.values())).items = count
    return hints(source, Costs(1.0, steps))


JOIN = "Add select_related() or prefetch_related() to the queryset"
ROUTE = f'{JOIN}, or declare a Route with F("relation__field").'
CATEGORY, COMMENT = 'FROM "tests_category" WHERE ', 'FROM "tests_comment"'
#: Sections with the beginning, the query and the end of each of their hints.
QUERIES: dict[str, tuple[Any, list[tuple[str, str, str]]]] = {
    "a relation": (Related, [("location runs 1.0", CATEGORY, ROUTE)]),
    "two hooks": (
        TwoHooks,
        [
            ("location runs 1.0", CATEGORY, ROUTE),
            ("priority runs 1.0", COMMENT, f'{JOIN}, or declare F("relation__field").'),
        ],
    ),
    "a field that is loaded late": (
        Deferred,
        [("get_absolute_url() runs 1.0", 'FROM "tests_article" WHERE ', ROUTE)],
    ),
    "rows by position": (Sliced, [("location runs 1.0", CATEGORY, ROUTE)]),
    "items before the first page": (Listed, [("items() runs 1.0", CATEGORY, f"{JOIN}.")]),
    "languages": (
        Translated,
        [
            ("get_languages_for_item() runs 1.0", COMMENT, f"{JOIN}."),
            ("location runs 1.0", CATEGORY, ROUTE),
        ],
    ),
    "get_urls": (
        type("Own", (OwnRoad,), {"location": Related.location}),
        [("get_urls() runs 1.", CATEGORY, f"{JOIN}.")],
    ),
    "get_urls of contrib": (Written, [("get_urls() runs 1.", CATEGORY, f"{JOIN}.")]),
    "columns": (Declared, []),
    "select_related": (Joined, []),
    "prefetch_related": (Prefetched, []),
    # The expressions of a union are queried once for each slice, not once for each row.
    "a union": (United, []),
}


@pytest.mark.usefixtures("rows")
class TestQueriesPerItem:
    @pytest.mark.parametrize("name", QUERIES)
    def test_are_hinted_at_by_hook_with_their_sql(self, tmp_path: Path, name: str) -> None:
        kind, expected = QUERIES[name]
        for hint, (start, query, end) in zip(sorted(export_hints(kind, tmp_path)), expected, strict=True):
            assert re.match(rf"{re.escape(start)}.* queries per item and takes ", hint)
            assert ": SELECT " in hint
            assert query in hint
            assert hint.endswith(f". {end}")

    def test_are_not_measured_in_a_declared_section_which_has_no_step(self) -> None:
        assert costs_of(Declared).steps == {}
        assert costs_of(Prefetched).steps["instances"].queries == 2

    def test_name_the_query_that_ran_most(self) -> None:
        class Once(Related):
            def location(self, item: Article) -> str:
                if item.slug in ("article-0", "article-1"):
                    Scale.objects.count()
                return super().location(item)

        cost = costs_of(Once).steps["location"]
        assert (cost.queries, cost.repeated) == (COUNT + 2, COUNT)
        assert "tests_category" in cost.sql

    def test_are_not_reported_below_ten(self, tmp_path: Path) -> None:
        Article.objects.filter(slug__endswith="9").delete()
        few = Article.objects.filter(pk__in=list(Article.objects.values_list("pk", flat=True)[:9]))
        assert export_hints(type("Few", (Related,), {"queryset": few}), tmp_path) == ()

    def test_are_not_those_that_run_once_for_many_items(self) -> None:
        source = source_of(Default)
        for queries, named in ((100, False), (101, True)):
            steps: dict[Step, Cost] = {"instances": Cost(0, 1_000), "location": Cost(0, 0, queries, "S", 9)}
            assert bool(hints(source, Costs(1.0, steps))) is named

    def test_of_the_model_itself_are_those_of_reading_rows(self, tmp_path: Path) -> None:
        def curious(**kwargs: Any) -> None:
            Category.objects.exists()

        post_init.connect(curious, sender=Article)
        try:
            (hint,) = export_hints(Default, tmp_path)
        finally:
            post_init.disconnect(curious, sender=Article)
        assert hint.startswith("reading rows runs 1.0 queries per item and takes ")
        assert "signals of the model" in hint

    def test_are_one_line_of_printable_ascii_whatever_the_query_holds(self, tmp_path: Path) -> None:
        class Raw(Default):
            def location(self, item: Article) -> str:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT\n  '\x1b[31m\u202e\u00e9\r\x07' -- red\n")
                return f"/{item.slug}/"

        (hint,) = export_hints(Raw, tmp_path)
        assert hint.isascii()
        assert hint.isprintable()
        assert r": SELECT '\x1b[31m\u202e\xe9 \x07' -- red. " in hint

    def test_show_both_ends_of_a_long_query(self) -> None:
        class Long(Default):
            def location(self, item: Article) -> str:
                columns = ", ".join(f"id AS column_{n}" for n in range(100))
                with connection.cursor() as cursor:
                    cursor.execute(f"SELECT {columns} FROM tests_category WHERE id = %s", [item.pk])  # noqa: S608
                return f"/{item.slug}/"

        sql = costs_of(Long).steps["location"].sql
        assert len(sql) < 220
        assert sql.startswith("SELECT id AS column_0, ")
        assert sql.endswith(" FROM tests_category WHERE id = %s")
        assert " ... " in sql


@pytest.mark.usefixtures("rows")
class TestAQuerysetWhoseRowsCostMoreToSelectThanToRead:
    RANK = Window(RowNumber(), order_by="pk")

    @pytest.mark.parametrize(
        ("queryset", "lastmod", "named"),
        [
            (Article.objects.filter(comments__isnull=False), F("updated"), "joins a multi-valued relation"),
            (Article.objects.alias(rank=RANK).filter(rank=1), F("updated"), "a window function"),
            (Article.objects.annotate(n=Count("comments")), F("updated"), "has an aggregate"),
            (Article.objects.all(), Max("comments__article__updated"), "has an aggregate"),
        ],
    )
    def test_is_named_with_the_factor_that_was_measured(
        self, queryset: QuerySet[Any], lastmod: Any, named: str
    ) -> None:
        source = source_of(type("Slow", (Declared,), {"queryset": queryset, "lastmod": lastmod}))
        (hint,) = hints(source, Costs(1.0), 1_000)
        assert named in hint
        assert re.search(r"took [\d.]+ to [\d.]+ times as long as a plain queryset", hint)
        assert hints(source, Costs(1.0), 999) == ()

    def test_is_not_one_with_a_relation_to_one_row(self) -> None:
        plain = type("Plain", (Declared,), {"queryset": Article.objects.filter(category__slug="a")})
        assert hints(source_of(plain), Costs(1.0), 1_000_000) == ()


@pytest.mark.usefixtures("rows")
class TestAStepThatTakesLong:
    def test_is_named_with_its_time_and_what_to_declare(self) -> None:
        assert slow(source_of(Default), instances=0.3, location=0.4) == (
            "location calls get_absolute_url() for each item: this takes 400.0 of the 1000.0 microseconds "
            "spent per item. "
            'Declare location = Route("viewname", ...) with F() expressions. '
            "manage.py suggest_sitemaps looks for a declaration with the same output.",
            "model instances are created, because location is a method: "
            "this takes 300.0 of the 1000.0 microseconds spent per item. "
            "If every hook is a constant or an expression, only columns are read.",
        )

    def test_is_a_hook_by_its_name(self) -> None:
        assert slow(source_of(Prefetched), instances=0.01, location=0.01, priority=0.2) == (
            "priority is a method: this takes 200.0 of the 1000.0 microseconds spent per item. "
            'Declare priority = F("field"), another expression, or a constant. '
            "manage.py suggest_sitemaps looks for a declaration with the same output.",
        )
        (hint,) = slow(source_of(Related), instances=0.01, location=0.2)
        assert hint.startswith("location is a method: ")

    def test_names_all_methods_that_instances_are_made_for(self) -> None:
        (hint,) = slow(source_of(Default), instances=0.1, priority=0.0, lastmod=0.0, location=0.0)
        assert hint.startswith(
            "model instances are created, because location, lastmod and priority are methods: "
        )

    def test_is_named_from_five_per_cent_and_a_thousand_items_on(self) -> None:
        source = source_of(Default)
        assert slow(source, instances=0.05)
        assert not slow(source, instances=0.049)
        assert not slow(source, count=999, instances=0.9)
        assert not slow(source, count=0, instances=0.9)

    def test_can_be_languages_which_nothing_declares(self) -> None:
        (hint,) = slow(source_of(Translated), instances=0.01, languages=0.2)
        assert hint.startswith("get_languages_for_item() is called for each item: this takes 200.0 of ")
        assert "Declare" not in hint

    def test_can_be_a_get_urls_with_the_reason_why_it_is_used(self) -> None:
        (written,) = slow(source_of(Written()), get_urls=0.9)
        assert written.startswith(
            "the section is read through get_urls(), because Written does not inherit from "
            "django_sitemaps09's Sitemap: this takes 900.0 of "
        )
        (own,) = slow(source_of(OwnRoad), get_urls=0.9)
        assert own.startswith(
            "the section is read through get_urls(), because OwnRoad overrides get_urls: this takes "
            "900.0 of "
        )

        class More(OwnRoad):
            def get_domain(self, site: Any = None) -> str:
                return "www.example.com"

        (more,) = slow(source_of(More), get_urls=0.9)
        assert ".More overrides get_urls and get_domain: " in more

    @pytest.mark.parametrize(
        ("queryset", "what"),
        [
            (lambda: Article.objects.all()[:COUNT], "a slice"),
            (lambda: Article.objects.filter(pk=1).union(Article.objects.all()), "a union"),
            (lambda: Article.objects.values(), "a values() queryset"),
            (
                lambda: Article.objects.annotate(n=Window(RowNumber())).filter(n__lt=9),
                "a queryset without key ranges",
            ),
        ],
    )
    def test_can_be_reading_by_position_if_it_takes_longer_than_necessary(
        self, queryset: Any, what: str
    ) -> None:
        class Positions(Default):
            def get_queryset(self) -> QuerySet[Article]:
                rows: QuerySet[Article] = queryset()
                return rows

        source = source_of(Positions)
        assert slow(source, positions=0.25) == (
            f"items() returns {what}, which is paginated by position: "
            "this takes 250.0 of the 1000.0 microseconds spent per item. Return a plain queryset, which is "
            "read by key ranges.",
        )
        assert slow(source, positions=0.24) == ()

    def test_can_be_declared_for_a_slice_but_neither_for_a_union_nor_for_a_list(self) -> None:
        assert "Declare location" in slow(source_of(Sliced), positions=0.1, location=0.2)[0]
        for kind, what in ((United, "a union"), (Listed, "a list of rows")):
            (hint,) = slow(source_of(kind), positions=0.1, location=0.2)
            assert "Declare" not in hint
            assert f"The items come from {what}: expressions need a plain queryset." in hint

    def test_can_be_the_conversion_of_items_to_a_list(self) -> None:
        assert slow(source_of(Listed), positions=0.01, items=0.25) == (
            "items() returns a list: this takes 250.0 of the 1000.0 microseconds spent per item. "
            "If its items are rows, return the queryset instead.",
        )
        assert slow(source_of(Listed), positions=0.01, items=0.24) == ()

    def test_is_not_named_if_nothing_else_can_be_declared(self) -> None:
        assert slow(source_of(Numbers(COUNT)), positions=0.1, location=0.8) == ()

    def test_is_not_a_queryset_of_which_no_row_is_read_yet(self) -> None:
        for kind in (Default, Sliced):
            steps: dict[Step, Cost] = {"instances": Cost(0.0, 1_000), "items": Cost(0.9, 1_000)}
            assert hints(source_of(kind), Costs(1.0, steps)) == ()


class TestCosts:
    def test_are_not_measured_unless_costs_are_recorded(self) -> None:
        with step("location") as cost:
            assert all(not connections[alias].execute_wrappers for alias in connections)
        assert cost == Cost()

    @pytest.mark.django_db
    def test_leave_no_wrapper_even_if_a_step_fails(self) -> None:
        def failing() -> None:
            assert connection.execute_wrappers
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError), record_costs(), step("location"):
            failing()
        assert not connection.execute_wrappers
        with step("location") as cost:
            Category.objects.count()
        assert cost.queries == 0

    def test_connect_to_no_database_and_pass_over_one_without_a_driver(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken = {**connections.settings, "broken": {"ENGINE": "no.such.engine"}}
        monkeypatch.setitem(connections.__dict__, "settings", broken)
        with record_costs() as costs, step("location"):
            pass
        assert {name: cost.queries for name, cost in costs.steps.items()} == {"location": 0}

    def test_are_whole_however_they_are_merged(self) -> None:
        def some() -> Iterator[Costs]:
            yield Costs(1.0, {"location": Cost(0.5, 3, 2, "one", 2)})
            yield Costs(2.0, {"location": Cost(0.25, 0, 4, "two", 3), "items": Cost(0.125, 7)})
            yield Costs(4.0, {"location": Cost(0.25, 1, 3, "two", 3)})

        whole = Costs()
        for costs in some():
            whole.add(pickle.loads(pickle.dumps(costs)))  # noqa: S301 our own
        assert whole == Costs(7.0, {"location": Cost(1.0, 4, 9, "two", 6), "items": Cost(0.125, 7)})


@pytest.mark.usefixtures("rows")
class TestTheCommand:
    @pytest.fixture(autouse=True)
    def _configured(self, settings: Any) -> None:
        settings.SITEMAPS09 = {"BASE_URL": BASE, "SITEMAPS": f"{__name__}.SECTIONS"}

    def test_says_hints_at_verbosity_2_alone(self, tmp_path: Path) -> None:
        loud = said(tmp_path, "declared", "related", "--verbosity", "2").splitlines()
        named = [line.split(" queries")[0] for line in loud if "queries per item" in line]
        assert "related: location runs 1.0" in named
        assert not any(line.startswith("declared: ") for line in loud if " runs " in line)
        for arguments in ((), ("--verbosity", "0"), ("--verbosity", "1")):
            assert "queries per item" not in said(tmp_path, "related", *arguments)

    @pytest.fixture
    def suggestible(self, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Configure sections whose methods take long enough for a hint."""
        monkeypatch.setattr(hints_module, "_WORTH_TIMING", COUNT)
        monkeypatch.setattr(hints_module, "_SHARE", 0)
        settings.SITEMAPS09 = {"BASE_URL": BASE, "SITEMAPS": f"{__name__}.SUGGESTIBLE"}

    def test_prints_suggestions_for_hinted_methods_at_verbosity_2(
        self, tmp_path: Path, suggestible: None
    ) -> None:
        loud = said(tmp_path, "--verbosity", "2", "--workers", "1")
        code = loud.partition("reversed: declare location, equal on 24 rows:")[2]
        assert 'location = Route("article", slug=F("slug"))' in code
        assert "related: declare" not in loud
        quiet = said(tmp_path, "--verbosity", "1", "--workers", "1")
        assert "declare" not in quiet
        json.loads(said(tmp_path, "--verbosity", "2", "--format", "json"))

    def test_ends_well_if_suggestions_fail(
        self, tmp_path: Path, suggestible: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*arguments: object, **options: object) -> None:
            raise RuntimeError("no suggestions today")

        monkeypatch.setattr(export_sitemaps, "suggest", fail)
        _, err = commands.said("export_sitemaps", "--output", tmp_path, "--verbosity=2", "--workers=1")
        assert "There are no suggestions: RuntimeError: no suggestions today" in err

    def test_has_them_in_json_at_any_verbosity(self, tmp_path: Path) -> None:
        for verbosity in "02":
            words = ("declared", "related", "--format", "json", "--verbosity", verbosity)
            report = json.loads(said(tmp_path, *words))
            found = {section["section"]: section["hints"] for section in report["sections"]}
            assert found["declared"] == []
            assert found["related"][0].startswith("location runs 1.0 queries per item")


@pytest.mark.slow
def test_hints_are_the_same_from_several_processes(tmp_path: Path) -> None:
    code = f"from {__name__} import *; print(json.dumps(hints_by_processes({str(tmp_path / 'public')!r})))"
    # Several processes can open the database of a project.
    command = ("django", "shell", "--verbosity", "0", "--command", code)
    status, out, err = Project(tmp_path).said("", *command, SITEMAPS=f"{__name__}.SECTIONS")
    assert status == 0, err
    one, two = json.loads(out)
    assert one == two
    assert one["declared"] == one["joined"] == []
    assert len(one["related"]) == 1
    assert len(one["twohooks"]) == len(one["translated"]) == 2


def hints_by_processes(folder: str) -> list[dict[str, list[str]]]:
    """Return the hints of all sections, without times, from one worker and from two."""
    call_command("migrate", run_syncdb=True, verbosity=0)
    populate()
    reports = [export(output=folder, workers=1)]
    forkable()
    reports.append(export(output=folder, workers=2))
    return [
        {
            section.section: sorted(
                re.sub(r" and takes .*? microseconds spent per item", "", hint) for hint in section.hints
            )
            for section in report.sections
        }
        for report in reports
    ]
