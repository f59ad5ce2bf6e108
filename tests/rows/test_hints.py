"""Hints name the measured steps that made a section slow, and what to declare instead."""

from __future__ import annotations

import json
import pickle
import re
from unittest.mock import Mock

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.management import call_command
from django.db import connection, connections
from django.db.models import Count, F, Max, Window
from django.db.models.functions import RowNumber
from django.db.models.signals import post_init

from django_sitemaps09 import ModelSitemap, Route, Sitemap
from django_sitemaps09.declare.calls import Cost, Costs, record_costs, step
from django_sitemaps09.export import export
from django_sitemaps09.rows import hints
from tests.models import Article, Category, Comment, Scale
from tests.support import commands
from tests.support.configuration import BASE
from tests.support.engine_project import Project
from tests.support.internals import export_sitemaps
from tests.support.processes import forkable
from tests.support.sections import Numbers, declare
from tests.support.sources import ALL, by_route, compiled, through_get_urls

#: More than ten, the minimum number of queries for a hint.
COUNT = 24
ARTICLES = Article.objects


def of_category(self, item):
    """A typical N+1 problem: one query for the related object of each item."""
    return f"/{item.category and item.category.slug}/{item.slug}/"


def priority(self, item):
    return 0.5 if item.comments.exists() else 0.4


def languages(self, item):
    return ["en", "de"] if item.comments.exists() else ["en", "de", "pt-br"]


def default(name, queryset=ARTICLES.all(), **attributes):  # noqa: B008 never evaluated
    return type(name, (ModelSitemap,), {"queryset": queryset, **attributes})


COLUMNS = {"location": Route("article", slug=F("slug")), "lastmod": F("updated"), "changefreq": "weekly"}
Declared, Default = default("Declared", **COLUMNS), default("Default")
Related = default("Related", location=of_category)
Joined = default("Joined", ARTICLES.select_related("category"), location=of_category)
Prefetched = default(
    "Prefetched", ARTICLES.prefetch_related("comments"),
    priority=lambda self, item: 0.5 if item.comments.all() else 0.4,
)  # fmt: skip
TwoHooks = default("TwoHooks", location=of_category, lastmod=F("updated"), priority=priority)
Translated = default("Translated", location=of_category, i18n=True, get_languages_for_item=languages)
Sliced = default("Sliced", ARTICLES.all()[:COUNT], location=of_category)
# Django cannot annotate the rows of a union.
UNION = ARTICLES.filter(pk__lte=1).union(ARTICLES.filter(pk__gt=1))
United = default("United", UNION, lastmod=F("updated"), location=by_route)
OF_CONTRIB = {"items": lambda self: ARTICLES.order_by("pk"), "location": of_category, "limit": 10}
Written = declare(ContribSitemap, **OF_CONTRIB)
Listed = declare(Sitemap, items=lambda self: [row for row in ARTICLES.all() if row.category.slug])
OwnUrls = through_get_urls(default("OwnUrls", limit=10))
# Worker processes find these sections by the setting.
KINDS = (Declared, Default, Related, Joined, Prefetched, TwoHooks, Translated, Sliced)
SECTIONS = {kind.__name__.lower(): type(kind.__name__, (kind,), {"limit": 10}) for kind in KINDS}
SUGGESTIBLE = {"reversed": default("Reversed", location=by_route), "related": Related}


def populate():
    categories = Category.objects.bulk_create(Category(slug=f"category-{n}") for n in range(COUNT))
    rows = (Article(slug=f"article-{n}", category=category) for n, category in enumerate(categories))
    Comment.objects.bulk_create(Comment(article=article) for article in ARTICLES.bulk_create(rows)[::2])


rows = pytest.fixture(lambda db: populate())


def costs_of(sitemap):
    source = compiled(sitemap)
    with record_costs() as costs:
        list(source.batches(ALL))
    return costs


def export_hints(sitemap, folder):
    report = export(output=folder, base_url=BASE, dry_run=True, sitemaps={"a": sitemap})
    assert report.failures == []
    return report.sections[0].hints


def said(folder, *arguments):
    return commands.said("export_sitemaps", "--output", folder, *arguments)[0]


def slow(sitemap, count=1_000, **seconds):
    """Return the hints for steps that take these seconds, of which the first one is for `count` items."""
    steps = {name: Cost(taken) for name, taken in seconds.items()}
    next(iter(steps.values())).items = count
    return hints.hints(compiled(sitemap), Costs(1.0, steps))


JOIN = "Add select_related() or prefetch_related() to the queryset"
ROUTE = f'{JOIN}, or declare a Route with F("relation__field").'
COMMENT, ITSELF = 'FROM "tests_comment"', 'FROM "tests_article" WHERE '
LOCATION = ("location runs 1.0", CATEGORY := 'FROM "tests_category" WHERE ', ROUTE)
PRIORITY = ("priority runs 1.0", COMMENT, f'{JOIN}, or declare F("relation__field").')
#: Sections with the beginning, the query and the end of each of their hints.
QUERIES = {
    "a relation": (Related, LOCATION),
    "two hooks": (TwoHooks, LOCATION, PRIORITY),
    "a field that is loaded late":
        (default("Deferred", ARTICLES.only("pk")), ("get_absolute_url() runs 1.0", ITSELF, ROUTE)),
    "rows by position": (Sliced, LOCATION),
    "items before the first page": (Listed, ("items() runs 1.0", CATEGORY, f"{JOIN}.")),
    "languages": (Translated, ("get_languages_for_item() runs 1.0", COMMENT, f"{JOIN}."), LOCATION),
    "get_urls": (declare(OwnUrls, location=of_category), ("get_urls() runs 1.", CATEGORY, f"{JOIN}.")),
    "get_urls of contrib": (Written, ("get_urls() runs 1.", CATEGORY, f"{JOIN}.")),
    "columns": (Declared,),
    "select_related": (Joined,),
    "prefetch_related": (Prefetched,),
    # The expressions of a union are queried once for each slice, not once for each row.
    "a union": (United,),
}  # fmt: skip


@pytest.mark.parametrize("name", QUERIES)
def test_a_hint_names_the_hook_that_queries_for_each_item_and_its_sql(name, rows, tmp_path):
    kind, *expected = QUERIES[name]
    for hint, (start, query, end) in zip(sorted(export_hints(kind, tmp_path)), expected, strict=True):
        assert re.match(rf"{re.escape(start)}.* queries per item and takes ", hint)
        assert ": SELECT " in hint
        assert query in hint
        assert hint.endswith(f". {end}")


def test_costs_have_the_steps_of_methods_and_the_query_that_ran_most(rows):
    assert (costs_of(Declared).steps, costs_of(Prefetched).steps["instances"].queries) == ({}, 2)

    def location(self, item):
        if item.slug in ("article-0", "article-1"):
            Scale.objects.count()
        return of_category(self, item)

    cost = costs_of(declare(Related, location=location)).steps["location"]
    assert (cost.queries, cost.repeated) == (COUNT + 2, COUNT)
    assert "tests_category" in cost.sql


def test_fewer_than_ten_queries_or_one_for_many_items_are_no_hint(rows, tmp_path):
    ARTICLES.filter(slug__endswith="9").delete()
    few = ARTICLES.filter(pk__in=list(ARTICLES.values_list("pk", flat=True)[:9]))
    assert export_hints(declare(Related, queryset=few), tmp_path) == ()
    for queries, is_named in ((100, False), (101, True)):
        steps = {"instances": Cost(0, 1_000), "location": Cost(0, 0, queries, "S", 9)}
        assert bool(hints.hints(compiled(Default), Costs(1.0, steps))) is is_named


def test_queries_of_a_signal_are_those_of_reading_rows(rows, tmp_path):
    curious = lambda **kwargs: Category.objects.exists()  # noqa: E731
    post_init.connect(curious, sender=Article)
    try:
        (hint,) = export_hints(Default, tmp_path)
    finally:
        post_init.disconnect(curious, sender=Article)
    assert hint.startswith("reading rows runs 1.0 queries per item and takes ")
    assert "signals of the model" in hint


def test_a_hint_is_one_line_of_ascii_with_both_ends_of_a_query(rows, tmp_path):
    columns = ", ".join(f"id AS column_{n}" for n in range(100))
    long = f"SELECT {columns} FROM tests_category WHERE id = 1"  # noqa: S608
    both_ends = r"SELECT id AS column_0, .{,45} \.\.\. .{,110} FROM tests_category WHERE id = 1"
    raw = "SELECT\n  '\x1b[31m\u202e\u00e9\r\x07' -- red\n"
    for text, shown in ((raw, r"SELECT '\\x1b\[31m\\u202e\\xe9 \\x07' -- red"), (long, both_ends)):

        def location(self, item, text=text):
            with connection.cursor() as cursor:
                cursor.execute(text)
            return f"/{item.slug}/"

        (hint,) = export_hints(declare(Default, location=location), tmp_path)
        assert (hint.isascii(), hint.isprintable()) == (True, True)
        assert re.search(rf": {shown}\. ", hint)


FIRST = ARTICLES.alias(rank=Window(RowNumber(), order_by="pk")).filter(rank=1)
COSTLY = [
    ("joins a multi-valued relation", ARTICLES.filter(comments__isnull=False), F("updated")),
    ("a window function", FIRST, F("updated")),
    ("has an aggregate", ARTICLES.annotate(n=Count("comments")), F("updated")),
    ("has an aggregate", ARTICLES.all(), Max("comments__article__updated")),
]


@pytest.mark.parametrize(("name", "queryset", "lastmod"), COSTLY, ids=range(4))
def test_a_costly_queryset_is_named_with_the_factor_that_was_measured(name, queryset, lastmod, rows):
    source = compiled(declare(Declared, queryset=queryset, lastmod=lastmod))
    (hint,) = hints.hints(source, Costs(1.0), 1_000)
    assert re.search(rf"{name}.* took [\d.]+ to [\d.]+ times as long as a plain queryset", hint)
    assert hints.hints(source, Costs(1.0), 999) == ()
    plain = declare(Declared, queryset=ARTICLES.filter(category__slug="a"))
    assert hints.hints(compiled(plain), Costs(1.0), 1_000_000) == ()


SUGGEST = "manage.py suggest_sitemaps looks for a declaration with the same output."


def takes(microseconds):
    return f"this takes {microseconds}.0 of the 1000.0 microseconds spent per item."


def test_a_step_that_takes_a_share_of_a_thousand_items_is_named_with_what_to_declare(rows):
    assert slow(Default, instances=0.3, location=0.4) == (
        f"location calls get_absolute_url() for each item: {takes(400)} "
        f'Declare location = Route("viewname", ...) with F() expressions. {SUGGEST}',
        f"model instances are created, because location is a method: {takes(300)} "
        "If every hook is a constant or an expression, only columns are read.",
    )
    assert slow(Prefetched, instances=0.01, location=0.01, priority=0.2) == (
        f"priority is a method: {takes(200)} "
        f'Declare priority = F("field"), another expression, or a constant. {SUGGEST}',
    )
    says = "If its items are rows, return the queryset instead."
    assert slow(Listed, positions=0.01, items=0.25) == (f"items() returns a list: {takes(250)} {says}",)
    begins = {
        "location is a method: ": slow(Related, instances=0.01, location=0.2),
        "model instances are created, because location, lastmod and priority are methods: ": slow(
            Default, instances=0.1, priority=0.0, lastmod=0.0, location=0.0
        ),
        "get_languages_for_item() is called for each item: this takes 200.0 of ": slow(
            Translated, instances=0.01, languages=0.2
        ),
        "the section is read through get_urls(), because Declared does not inherit from django_sitemaps09's"
        " Sitemap: this takes 900.0 of ": slow(declare(object, get_urls=1), get_urls=0.9),
        "the section is read through get_urls(), because Overriding overrides get_urls: ": slow(
            OwnUrls, get_urls=0.9
        ),
    }
    assert [(start, found) for start, found in begins.items() if not found[0].startswith(start)] == []
    assert [len(found) for found in begins.values()] == [1] * 5
    # Nothing declares languages.
    assert "Declare" not in slow(Translated, instances=0.01, languages=0.2)[0]
    (more,) = slow(declare(OwnUrls, get_domain=lambda self, site=None: "www.example.com"), get_urls=0.9)
    assert "Declared overrides get_urls and get_domain: " in more
    assert slow(Default, instances=0.05)
    assert slow(Listed, positions=0.01, items=0.24) == slow(Default, instances=0.049) == ()
    assert slow(Default, count=999, instances=0.9) == slow(Default, count=0, instances=0.9) == ()
    # Nothing else can be declared.
    assert slow(Numbers(COUNT), positions=0.1, location=0.8) == ()
    # No row is read yet.
    for kind in (Default, Sliced):
        steps = {"instances": Cost(0.0, 1_000), "items": Cost(0.9, 1_000)}
        assert hints.hints(compiled(kind), Costs(1.0, steps)) == ()


@pytest.mark.parametrize(
    ("queryset", "what"),
    [(ARTICLES.all()[:COUNT], "a slice"), (ARTICLES.filter(pk=1).union(ARTICLES.all()), "a union"),
     (ARTICLES.values(), "a values() queryset"),
     (ARTICLES.annotate(n=Window(RowNumber())).filter(n__lt=9), "a queryset without key ranges")],
    ids=range(4),
)  # fmt: skip
def test_reading_by_position_is_named_if_it_takes_longer_than_necessary(queryset, what, rows):
    declared = declare(get_queryset=lambda self: queryset.all())
    says = f"{takes(250)} Return a plain queryset, which is read by key ranges."
    expected = f"items() returns {what}, which is paginated by position: {says}"
    assert (slow(declared, positions=0.25), slow(declared, positions=0.24)) == ((expected,), ())


def test_a_hint_suggests_expressions_for_a_slice_but_neither_for_a_union_nor_for_a_list(rows):
    assert "Declare location" in slow(Sliced, positions=0.1, location=0.2)[0]
    for kind, what in ((United, "a union"), (Listed, "a list of rows")):
        (hint,) = slow(kind, positions=0.1, location=0.2)
        assert "Declare" not in hint
        assert f"The items come from {what}: expressions need a plain queryset." in hint
    # `if not rows: ...` reads all rows, so there are no key ranges.
    evaluated = ARTICLES.all()
    assert len(evaluated) == COUNT
    source = compiled(declare(Sitemap, items=lambda self: evaluated))
    [hint] = hints.hints(source, Costs(1.0, {"items": Cost(0.5, 1_000)}))
    assert hint.startswith("Declared.items() evaluates its queryset: ")
    assert "exists()" in hint


def test_costs_leave_no_wrapper_and_connect_to_no_database(db, monkeypatch):
    def failing():
        assert connection.execute_wrappers
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), record_costs(), step("location"):
        failing()
    with step("location") as cost:
        assert not any(connections[alias].execute_wrappers for alias in connections)
        Category.objects.count()
    assert cost == Cost()
    broken = {**connections.settings, "broken": {"ENGINE": "no.such.engine"}}
    monkeypatch.setitem(connections.__dict__, "settings", broken)
    with record_costs() as costs, step("location"):
        pass
    assert [(name, cost.queries) for name, cost in costs.steps.items()] == [("location", 0)]


def test_costs_are_whole_however_they_are_merged():
    whole = Costs()
    for costs in (
        Costs(1.0, {"location": Cost(0.5, 3, 2, "one", 2)}),
        Costs(2.0, {"location": Cost(0.25, 0, 4, "two", 3), "items": Cost(0.125, 7)}),
        Costs(4.0, {"location": Cost(0.25, 1, 3, "two", 3)}),
    ):
        whole.add(pickle.loads(pickle.dumps(costs)))  # noqa: S301 our own
    assert whole == Costs(7.0, {"location": Cost(1.0, 4, 9, "two", 6), "items": Cost(0.125, 7)})


@pytest.mark.sitemaps09(SITEMAPS=f"{__name__}.SECTIONS")
def test_the_command_says_hints_at_verbosity_2_and_has_them_in_json_at_any(rows, tmp_path):
    loud = said(tmp_path, "declared", "related", "--verbosity", "2").splitlines()
    named = [line.split(" queries")[0] for line in loud if "queries per item" in line]
    assert "related: location runs 1.0" in named
    assert not any(line.startswith("declared: ") for line in loud if " runs " in line)
    for arguments in ((), ("--verbosity", "0"), ("--verbosity", "1")):
        assert "queries per item" not in said(tmp_path, "related", *arguments)
    for verbosity in "02":
        words = ("declared", "related", "--format", "json", "--verbosity", verbosity)
        report = json.loads(said(tmp_path, *words))
        found = {section["section"]: section["hints"] for section in report["sections"]}
        assert found["declared"] == []
        assert found["related"][0].startswith("location runs 1.0 queries per item")


@pytest.mark.sitemaps09(SITEMAPS=f"{__name__}.SUGGESTIBLE")
def test_the_command_suggests_declarations_for_hinted_methods_at_verbosity_2(rows, tmp_path, monkeypatch):
    # The methods take long enough for a hint.
    monkeypatch.setattr(hints, "_WORTH_TIMING", COUNT)
    monkeypatch.setattr(hints, "_SHARE", 0)
    loud = said(tmp_path, "--verbosity", "2", "--workers", "1")
    code = loud.partition("reversed: declare location, equal on 24 rows:")[2]
    assert 'location = Route("article", slug=F("slug"))' in code
    assert "related: declare" not in loud
    assert "declare" not in said(tmp_path, "--verbosity", "1", "--workers", "1")
    json.loads(said(tmp_path, "--verbosity", "2", "--format", "json"))

    monkeypatch.setattr(export_sitemaps, "suggest", Mock(side_effect=RuntimeError("no suggestions today")))
    _, err = commands.said("export_sitemaps", "--output", tmp_path, "--verbosity=2", "--workers=1")
    assert "There are no suggestions: RuntimeError: no suggestions today" in err


@pytest.mark.slow
def test_hints_are_the_same_from_several_processes(tmp_path):
    # Several processes can open the database of a project.
    project = Project(tmp_path)
    one, two = project.run(hints_by_processes, tmp_path / "public", SITEMAPS=f"{__name__}.SECTIONS")
    assert one == two
    assert one["declared"] == one["joined"] == []
    assert len(one["related"]) == 1
    assert len(one["twohooks"]) == len(one["translated"]) == 2


def hints_by_processes(folder):
    """Return the hints of all sections, without times, from one worker and from two."""
    call_command("migrate", run_syncdb=True, verbosity=0)
    populate()
    reports = [export(output=folder, workers=1)]
    forkable()
    reports.append(export(output=folder, workers=2))
    times = re.compile(" and takes .*? microseconds spent per item")
    return [
        {part.section: sorted(times.sub("", hint) for hint in part.hints) for part in report.sections}
        for report in reports
    ]
