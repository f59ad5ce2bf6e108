"""How rows are read for each form of queryset: by ranges of the key, or by position in one query."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime, timedelta
from unittest import mock

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import NotSupportedError, OperationalError, connections, models, transaction
from django.db.models import Case, Count, F, Func, Prefetch, Q, QuerySet, Value, When
from django.db.models.functions import Lower
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import PathTemplate, Route, views
from django_sitemaps09.exceptions import KeyOrderError
from django_sitemaps09.export import export
from django_sitemaps09.rows import keys, positions, slices
from tests.invariants import test_querysets as forms
from tests.invariants.test_querysets import NEWEST, ROUTE, ROWS, commented, high, low, section_of as section
from tests.models import Article, Comment, Discussed
from tests.support import databases, internals, sources
from tests.support.databases import MYSQLS, ON_POSTGRESQL, ON_SQLITE, SERVERS, no_cursor_left, parameter
from tests.support.internals import Page, QuerySource, checks, count_rows, in_total_order, lastmod_text
from tests.support.memory import traced
from tests.support.published import indexed
from tests.support.sections import declare
from tests.support.sources import ALL, BASE, NOON, compiled, errors, keys_of, locations, rendered
from tests.support.ways import WAYS, by, compatible_index, entries, exported_pages, native_pages


class Stubborn(Article):
    class Meta:
        proxy = True
        app_label = "tests"

    @classmethod
    def from_db(cls, db, field_names, values, **options):
        made = super().from_db(db, field_names, values, **options)
        if made.slug in ("a03", "a07"):
            raise ValueError("it does not understand what it has stored")
        return made


pytestmark = [
    pytest.mark.usefixtures("cached_site"), pytest.mark.sitemaps09(GZIP=False, ENGINE="serial"),
    pytest.mark.filterwarnings("ignore::django.core.paginator.UnorderedObjectListWarning"),
]  # fmt: skip
BY_POSITION = [name for name in ROWS if re.match("(a|an empty) (slice|union)|an intersection|a diff", name)]
BY_RANGES = {name: build for name, build in ROWS.items() if name not in BY_POSITION}
BY_RANGES["a random order"] = lambda rows: rows.order_by("?")
#: Their columns are read apart, since other columns could change their rows.
APART = [
    "a slice with a count", "a slice that HAVING filters", "a slice that a window filters",
    "a slice with extra()", "a union of counts", "a union of other annotations", "a union of deferred rows",
    "a union in the order of a relation", "an intersection", "a difference", "a union without an order",
]  # fmt: skip


def without_instances(model=Article):
    return mock.patch.object(model, "from_db", side_effect=AssertionError("an instance was made"))


@pytest.mark.parametrize("name", BY_RANGES)
def test_a_page_is_read_by_a_range_of_the_key(name, shelf, using):
    queryset = BY_RANGES[name](shelf)
    source = compiled(section(queryset, limit=3, lastmod=F("updated")))
    assert type(source) is QuerySource
    with CaptureQueriesContext(connections[using]) as cutting:
        found = sources.page_map(source)
    offset_queries = [query["sql"] for query in cutting if "OFFSET" in query["sql"]]
    assert len(offset_queries) == len(found) == -(-len({row.pk for row in queryset}) // 3)
    # Only the key is selected, so that skipped rows cost little.
    selected = {re.sub(r'["`]', "", sql).partition(" FROM ")[0] for sql in offset_queries}
    assert selected <= {"SELECT tests_article.id AS pk"}
    for page in found:
        with CaptureQueriesContext(connections[using]) as reading, without_instances():
            assert 0 < len(keys_of(source, page)) <= 3
        # A window function uses all rows, so their keys are read once for each page, not for each slice.
        assert len(reading) == (2 if "window" in name else 1)
        assert not any("OFFSET" in query["sql"] for query in reading)


@pytest.mark.parametrize("name", BY_POSITION)
def test_the_columns_of_a_slice_or_a_union_are_one_query_without_instances(name, shelf, using, monkeypatch):
    sources.set_slices(monkeypatch, 2)
    queryset = ROWS[name](shelf)
    count, source = len(queryset.all()), compiled(section(queryset, lastmod=F("updated")))
    assert type(source) is type(compiled(section(queryset, forms.METHOD))) is positions.PositionSource
    if name in APART:
        return
    with without_instances(), CaptureQueriesContext(connections[using]) as captured:
        assert keys_of(source, ALL) == [*range(1, count + 1)]
    # Django runs no query for a slice that cannot have rows.
    assert len(captured) == 1 or (count == len(captured) == 0)


@pytest.mark.parametrize(("relation", "column"), [("", "row"), (" with a relation", "category_id")])
def test_slices_and_unions_of_composite_keys_need_no_instances(relation, column, using):
    kind = sources.KINDS[f"composite{relation}"]
    kind.make(using, (number for number in range(18) if number % 3 < 2))
    location, rows = PathTemplate("/{a}/{number}/", a=F(column), number=F("number")), kind.rows(using)
    union = rows.filter(number__lt=9).union(rows.filter(number__gt=6)).order_by("number", column)
    for queryset in (rows.order_by("-number", column)[1:9], union):
        with without_instances(kind.model):
            found = locations(rendered(compiled(section(queryset, location, 3))))
        assert found == [f"{BASE}/{getattr(row, column)}/{row.number}/" for row in queryset]


@pytest.mark.parametrize("using", [parameter(alias) for alias in SERVERS], indirect=True)
@pytest.mark.parametrize(
    "build",
    [lambda rows: rows.order_by("slug")[:5].union(rows.order_by("-slug")[2:6]),
     lambda rows: low(rows).union(high(rows)).order_by("day")[:4].union(rows.filter(slug="a09")),
     lambda rows: rows.filter(tags__pk__gt=0).distinct().order_by("slug")[:4].union(high(rows))],
    ids=["slices", "a slice of a union", "a slice of distinct rows"],
)  # fmt: skip
def test_a_union_of_slices_is_listed_in_its_order(build, shelf):
    """SQLite has no union of slices."""
    queryset = build(shelf).order_by("slug")
    expected = [(f"/articles/{row.slug}/", lastmod_text(row.updated)) for row in queryset]
    for way, read in WAYS.items():
        found, _ = read(section(queryset, limit=3, lastmod=F("updated")))
        assert [entry[:2] for entry in found] == expected, way


@ON_POSTGRESQL
def test_distinct_fields_have_their_own_rows_annotations_and_aggregates(shelf):
    for rows, slug in ((shelf, "slug"), (shelf.annotate(own=F("slug")), "own")):
        queryset = rows.order_by("category", "slug").distinct("category")
        location = Route("article", slug=F(slug))
        dates = {row.slug: lastmod_text(row.made) for row in shelf.annotate(made=NEWEST)}
        expected = [(f"/articles/{row.slug}/", dates[row.slug]) for row in queryset]
        assert len(expected) == 2
        for way, read in WAYS.items():
            found, _ = read(section(queryset, location, 1, lastmod=NEWEST))
            assert [entry[:2] for entry in found] == expected, way
        with without_instances():
            assert len(rendered(compiled(section(queryset, location)))[0].locations) == 2
    assert len(locations(rendered(compiled(section(shelf.distinct("published")))))) == 2


def in_category(rows):
    return rows.exclude(category=None).select_related("category")


#: Querysets whose related rows a method uses, and the number of queries.
RELATED = {
    "names": (lambda rows: rows.prefetch_related("comments"), 2),
    "objects": (lambda rows: rows.prefetch_related(Prefetch("comments", Comment.objects.all())), 2),
    "a join": (lambda rows: rows.filter(tags__pk__gt=0).prefetch_related("comments"), 2),
    "distinct": (lambda rows: rows.filter(tags__pk__gt=0).distinct().prefetch_related("comments"), 2),
    "an aggregate": (lambda rows: forms.tagged(rows).filter(n__gte=0).prefetch_related("comments"), 2),
    "a slice": (lambda rows: rows.order_by("day")[:10].prefetch_related("comments"), 2),
    "a foreign key": (lambda rows: in_category(rows).only("category__slug"), 1),
    "a foreign key of distinct rows": (lambda rows: in_category(rows).distinct(), 1),
}


@pytest.mark.parametrize("name", RELATED)
def test_items_for_methods_have_their_database_and_need_no_query_for_related_rows(name, shelf, using):
    build, queries = RELATED[name]

    def location(self, item):
        related = item.category.slug if queries == 1 else len(item.comments.all())
        assert item._state.db == using
        return f"/{related}/{item.pk}/"

    source = compiled(section(build(shelf), location))
    with CaptureQueriesContext(connections[using]) as captured:
        assert len(keys_of(source, ALL)) > 5
    assert len(captured) == queries


def test_aggregates_over_one_relation_share_its_join(shelf):
    """A join is faster than a subquery for each row."""
    count = Count("visits")
    source = compiled(section(shelf, Route("article", slug=count), lastmod=NEWEST, priority=count * 0.25))
    assert str(source.annotated_rows.query).count("SELECT") == 1
    [done] = rendered(source)
    priorities = re.findall("<priority>(.*?)</priority>", done.text)
    assert [*map(float, priorities)] == [n % 4 * 0.25 for n in range(12)]


def test_distinct_rows_of_a_model_are_read_as_plain_ones(shelf, using):
    """Their primary keys are distinct. With IN, each slice would evaluate the whole queryset."""
    source = compiled(section(shelf.filter(published=True).distinct(), limit=3))
    with CaptureQueriesContext(connections[using]) as queries:
        assert len(locations(rendered(source))) == 4
    assert not [found["sql"] for found in queries if "DISTINCT" in found["sql"] or " IN (" in found["sql"]]


def test_expressions_of_rows_by_position_need_few_queries_for_the_rows_of_a_page_alone(
    shelf, using, django_assert_max_num_queries, django_assert_num_queries
):
    sliced = section(shelf.order_by("pk")[:10], limit=50, lastmod=NEWEST)
    fetched = forms.evaluated(shelf, location=ROUTE, lastmod=F("updated"), priority=0.5, limit=50)
    for way in ("native", "exported", "compatible"):
        for declared, most, count in ((sliced, 8, 10), (fetched, 6, 12)):
            with django_assert_max_num_queries(most, connection=connections[using]):
                assert len(WAYS[way](declared)[0]) == count
    declared = forms.evaluated(shelf.order_by("pk"), lastmod=F("updated"), limit=2)
    with django_assert_num_queries(2, connection=connections[using]) as queries:
        views.sitemap(RequestFactory().get("/"), sitemaps={"s": declared}).render()
    assert "WHERE" in queries.captured_queries[1]["sql"]


def test_rows_on_separate_pages_are_in_their_order_and_then_in_that_of_their_key_alone(shelf):
    """An index has the order and the key. With further columns, a database would sort all rows."""
    for order, key in (("-day",), F("id").desc()), (("day",), F("id").asc()), ((), F("id").asc()):
        assert in_total_order(shelf.order_by(*order)).query.order_by == (*order, key)


def test_rows_that_only_their_order_or_a_window_repeats_are_counted(shelf):
    union, by_tag = low(shelf).union(high(shelf)).order_by("slug"), shelf.order_by("-tags__name")
    by_count = by_tag.annotate(n=Count("tags"))
    for rows in (shelf, shelf.order_by("pk"), by_tag, by_count, by_tag[:9], union, union[1:9], union[99:]):
        assert count_rows(rows) == len(rows.all())
    # The order of the model joins comments, which would repeat their article.
    Comment.objects.using(shelf.db).bulk_create(Comment(article=shelf[0]) for _ in range(5))
    window = ROWS["a window"](Discussed._base_manager.using(shelf.db))
    assert compiled(section(window)).count(None, None, 1_000) == 12
    # By the key alone, a row with two tags could come with one of them on both pages.
    tagged_twice = section(shelf.annotate(tag=F("tags__name")), by("slug", "tag"))
    assert [getattr(name, "name", name) for name in tagged_twice().items().query.order_by] == ["pk", "tag"]
    assert "tag" in [term.expression.name for term in compiled(tagged_twice).items.query.order_by]


@pytest.mark.parametrize("estimate", [0, 1, 29, 30, 31, 10_000])
def test_a_count_that_estimates_loses_and_repeats_no_row_and_fills_each_page(estimate, using):
    """As that of a package that asks the planner of the database for the number of rows."""
    estimated = type("Estimated", (QuerySet,), {"count": lambda self: estimate})
    Article.objects.using(using).bulk_create(Article(pk=n, slug=f"s{n:02}") for n in range(1, 31))
    rows = estimated(Article, using=using).order_by("slug")[:30]
    for location in (ROUTE, forms.METHOD):
        for limit in (5, 30, 100):
            declared = section(rows, location, limit)
            for found in (native_pages(declared), exported_pages(declared, again=True)):
                *full, last = [len(page) for _, page in found]
                assert ({*full} <= {internals.fill(limit)}, 0 < last <= limit) == (True, True)
                paths = [path for _, page in found for path, _ in page]
                assert paths == [f"/articles/s{n:02}/" for n in range(1, 31)]


@pytest.mark.slow
@ON_SQLITE
def test_the_memory_for_a_slice_or_a_union_does_not_grow_with_its_rows(using):
    rows = Article.objects.using(using)
    rows.bulk_create(Article(slug=f"a{n}", updated=NOON + timedelta(minutes=n)) for n in range(12_000))
    for build in (
        lambda size: rows.order_by("slug")[:size],
        lambda size: rows.filter(pk__lt=3_000).union(rows.all(), all=True).order_by("pk")[:size],
    ):
        peaks = []
        for size in (4_000, 12_000):
            source = compiled(section(build(size), limit=2_000, lastmod=F("updated")))
            with traced() as memory:
                found = sources.cut(source, 2_000)
                assert sum(len(batch.keys) for page in found for batch in source.batches(page)) == size
            peaks.append(memory.peak)
        assert peaks[1] < peaks[0] * 1.2
        assert peaks[1] < 3_000_000


def test_a_slice_that_begins_with_the_key_of_the_one_before_is_an_error(shelf, monkeypatch):
    sources.set_slices(monkeypatch, 2)
    monkeypatch.setattr(keys.KeyColumns, "filter_range", lambda self, rows, after, until: rows)
    batches = compiled(section(shelf)).batches(Page(1, (str(shelf.order_by("pk")[0].pk),), None))
    with pytest.raises(KeyOrderError):
        next(batches)


TO_MANY = r"Declared.*multi-valued relation.*Max\(\).*method"
ASIDE = r"Declared.*aggregate.*right side.*left side.*Exists"
REFUSED = {
    "a lastmod to many": (lambda rows: section(rows, lastmod=F("visits__at")), TO_MANY),
    "a route to many": (lambda rows: section(rows, Route("article", slug=F("tags__name"))), TO_MANY),
    "a condition to many":
        (lambda rows: section(rows, priority=Case(When(comments__pk__gt=0, then=Value(0.5)))), TO_MANY),
    "a function to many": (lambda rows: section(rows, changefreq=Lower("tags__name")), TO_MANY),
    # Grouped by the tag, each article would occur once for each tag.
    "groups to many": (lambda rows: section(commented(rows), lastmod=F("tags__pk")), TO_MANY),
    "methods to many":
        (lambda rows: section(commented(rows), forms.METHOD, lastmod=F("tags__pk")), TO_MANY),
    "an aggregate aside":
        (lambda rows: section(rows.filter(published=True) | forms.tagged(rows).filter(n__gt=0)), ASIDE),
    "an annotation of a union": (
        lambda rows: section(commented(rows).union(commented(rows)), Route("article", slug=F("n"))),
        r"Declared: items\(\) returns a union.* 'n' into field",
    ),
    "a protocol": (lambda rows: section(rows, protocol="ftp"), r"\.protocol must be 'http' or 'https'"),
    "a protocol in capitals": (lambda rows: section(rows, protocol="HTTPS"), r"\.protocol must be 'http'"),
    "tuples": (
        lambda rows: section(rows.order_by("day").values_list("slug")),
        r"need model instances, not tuple.*methods",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_declaration_that_cannot_be_read_is_refused_with_the_way_out(name, shelf):
    build, message = REFUSED[name]
    with pytest.raises(ImproperlyConfigured, match=message):
        rendered(compiled(build(shelf)))


def test_checks_refuse_what_extra_selects_and_survive_its_conditions(shelf):
    selecting = section(shelf.extra(select={"up": "tests_article.day"}), lastmod=F("up"))
    assert "sitemaps09.E034" in [found.id for found in checks.check_declarations([selecting])]
    # Django cannot group by the text of a condition, and so cannot list these rows.
    rows = commented(shelf).filter(n__gte=2) | shelf.extra(where=["tests_article.id > 0"])
    declared = declare(queryset=rows.distinct(), lastmod=NEWEST)
    assert [each.id for each in checks.check_declarations([declared]) if each.id != "sitemaps09.E033"] == []


#: Conditions whose rows MariaDB cannot count. It can list all but those of the last one.
COMPARED = {
    "a year": lambda rows: rows.filter(Q(n__gt=0) | Q(updated__year=2026)),
    "a year of some": lambda rows: rows.filter(Q(updated__year=2026) & ~Q(n=2) | Q(n__lt=1)),
    "another key": lambda rows: rows.filter(Q(n__gt=0) | Q(comments__pk__gt=0)),
    "another queryset":
        lambda rows: rows.filter(n__gt=0) | Article.objects.using(rows.db).filter(comments__pk__gt=0),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPARED)
def test_what_is_compared_with_an_aggregate_is_read_once_or_refused(name, shelf):
    """If the database cannot count the rows, the section is rejected before a request fails."""
    queryset = COMPARED[name](forms.tagged(shelf))
    if shelf.db not in MYSQLS:
        expected = Counter({f"{BASE}/articles/{row.slug}/" for row in queryset})
        source = compiled(section(queryset, limit=3))
        assert type(source) is QuerySource
        assert Counter(locations(rendered(source))) == expected != {}
        assert queryset.count() >= len(expected)
        return
    with pytest.raises(OperationalError, match="Unknown column"), transaction.atomic(shelf.db):
        queryset.count()
    with pytest.raises(ImproperlyConfigured, match=r"MySQL do not find .* Exists\(\)"):
        compiled(section(queryset, limit=3))


@ON_POSTGRESQL
@pytest.mark.parametrize("is_distinct", [False, True])
def test_rows_that_a_function_repeats_are_listed_once_or_as_they_come(is_distinct, shelf):
    twice = Func(template="generate_series(1, 2)", output_field=models.IntegerField())
    twice.set_returning = True
    queryset = shelf.annotate(n=twice)
    queryset = queryset.distinct() if is_distinct else queryset
    assert (len(queryset), len(locations(rendered(compiled(section(queryset, limit=5)))))) == (24, 12)
    assert len({*locations(rendered(compiled(section(queryset, by("slug", "n"), 5))))}) == 24


def test_a_key_that_is_not_read_as_it_was_written_is_refused():
    field = type("Forgetful", (models.CharField,), {"value_to_string": lambda *_: "always the same"})()
    field.set_attributes_from_name("code")
    with pytest.raises(ImproperlyConfigured, match=r"'a'.*code.*value_to_string"):
        keys.KeyColumns("default", "code", (field,)).text("a")


UNREAD = ("a03", "a11")
DAYS = [("default", "2020-02-30")]
DAYS += [("postgresql", day) for day in ("infinity", "-infinity", "10000-01-01", "0044-03-15 BC")]
UNREADABLE = pytest.mark.parametrize(
    ("using", "value"),
    [pytest.param(alias, day, marks=parameter(alias).marks, id=day) for alias, day in DAYS],
    indirect=["using"],
)


def write_day(using, slug, value):
    databases.execute(using, "UPDATE tests_article SET day = %s WHERE slug = %s", [value, slug])


@UNREADABLE
@pytest.mark.parametrize("hooks", [(ROUTE, F("day")), (forms.METHOD, lambda _, item: item.day)], ids="cm")
@pytest.mark.parametrize("name", ["ranges", "a slice", "a union"])
def test_a_row_with_a_date_that_python_does_not_have_is_skipped_and_named(
    name, hooks, shelf, using, value, monkeypatch
):
    sources.set_slices(monkeypatch, 5)
    # Two rows are in both parts of the union.
    union = low(shelf).union(high(shelf), all=True)
    queryset = {"ranges": shelf.order_by("pk"), "a slice": shelf, "a union": union}[name]
    queryset = queryset if name == "ranges" else queryset.order_by("slug")[:12]
    rows = [*queryset.all()]
    for slug in UNREAD:
        write_day(using, slug, value)
    source = compiled(section(queryset, hooks[0], lastmod=hooks[1]))
    (done,) = rendered(source)
    assert done.locations == [f"{BASE}/articles/{row.slug}/" for row in rows if row.slug not in UNREAD]
    bad = [(place, row.pk) for place, row in enumerate(rows, 1) if row.slug in UNREAD]
    assert [error[:2] for error in errors([done])] == [(str(pair[name == "ranges"]), "row") for pair in bad]
    if name == "ranges":
        assert source.look(done.page).newest == ("2026-01-11" if hooks[0] is ROUTE else None)


@UNREADABLE
def test_an_export_goes_on_without_such_a_row_changed_only_or_not(shelf, using, value, folder, configure):
    configure(MAX_URLS=5)
    declared = {"shelf": section(shelf, lastmod=F("day"))}
    listed = {f"{BASE}/articles/{row.slug}/" for row in shelf}
    assert (export(sitemaps=declared, output=folder).sections[0].written, indexed(folder)) == (3, listed)
    write_day(using, "a03", value)
    report = export(sitemaps=declared, output=folder, changed_only=True)
    [part] = report.sections
    assert (part.skipped_items, part.errors[0].field, report.published) == (1, "row", True)
    assert not report.failures
    assert indexed(folder) == listed - {f"{BASE}/articles/a03/"}
    write_day(using, "a03", "2026-01-04")
    export(sitemaps=declared, output=folder, changed_only=True)
    assert indexed(folder) == listed


@ON_SQLITE
@pytest.mark.parametrize("value", ["10000-01-01 00:00:00", "yesterday", "2020-02-30 10:00:00"])
def test_an_aggregate_of_a_text_that_is_not_a_time_affects_only_its_row(value, shelf, using, folder):
    """Django looks for the zone of what it could not read."""
    pk = shelf.get(slug="a03").pk
    databases.execute(using, "UPDATE tests_visit SET at = %s WHERE article_id = %s", [value, pk])
    rest = {f"/articles/a{number:02}/" for number in range(12) if number != 3}
    location, last = lambda _, item: f"/articles/{item['slug']}/", lambda _, item: item["last"]
    groups = section(shelf.values("slug").annotate(last=NEWEST), location, 5, lastmod=last)
    for declared in (section(shelf, limit=5, lastmod=NEWEST), groups):
        for way in ("native", "exported"):
            assert {entry.path for entry in WAYS[way](declared)[0]} == rest
        request = RequestFactory().get("/sitemap.xml")
        index = views.sitemap_index(request, sitemaps={"a": declared, "b": section(shelf)}).content
        assert {path[len("/sitemap-")] for path, _ in entries(index)} == {"a", "b"}
        for _ in range(2):
            assert not export(sitemaps={"s": declared}, output=folder, changed_only=True).failures


def test_a_hundred_rows_that_cannot_be_read_are_a_broken_project():
    asked = []

    def fetch(places):
        asked.append(places)
        raise ValueError("no time zones")

    with pytest.raises(ValueError, match="no time zones"):
        list(slices.read_each(fetch, range(1_500)))
    assert len(asked) < 250


@pytest.mark.parametrize("hook", [F("updated"), F("day"), NEWEST, NOON, forms.OF_SOME, None])
def test_the_newest_lastmod_of_a_page_is_what_its_entries_say(hook, shelf):
    source = compiled(section(shelf, limit=2, lastmod=hook))
    done = rendered(source)
    assert [source.look(part.page).newest for part in done] == [part.written.lastmod for part in done]
    assert any(part.written.lastmod for part in done) is (hook is not None)


def test_a_lastmod_of_the_future_or_that_is_not_a_date_says_nothing_of_a_page(shelf):
    shelf.filter(slug="a01").update(updated=datetime.now(sources.UTC) + timedelta(days=1))
    assert compiled(section(shelf.filter(slug="a01"), lastmod=F("updated"))).look(ALL).newest is None
    source = compiled(section(shelf, lastmod=F("slug")))
    (done,) = rendered(source)
    assert source.look(done.page).newest is None
    assert done.written.urls == len(done.written.errors) == 12


class OnlyWhereItIs(Func):
    function = "LOWER"
    output_field = models.CharField()

    def as_sql(self, compiler, connection, **context):
        if connection.alias != compiler.using or connection.vendor == "sqlite":
            raise NotSupportedError("compiled for a database that the rows are not in")
        return super().as_sql(compiler, connection, **context)


@pytest.mark.parametrize("using", [parameter(alias) for alias in SERVERS], indirect=True)
def test_a_digest_covers_the_sql_of_the_database_of_the_rows(shelf):
    queryset = shelf.alias(lowered=OnlyWhereItIs("slug")).filter(lowered="a01")
    assert compiled(section(queryset)).declaration_digest


@ON_POSTGRESQL
def test_unreadable_and_unread_rows_leave_no_cursor_of_the_server_open(shelf, using):
    unordered = section(Stubborn.objects.using(using).filter(tags__pk__gt=0), lastmod=lambda _, item: NOON)
    with no_cursor_left(using), pytest.raises(ValueError, match="stored"):
        compatible_index(unordered)
    source = compiled(section(Stubborn.objects.using(using).order_by("slug")[:12], forms.METHOD))
    with no_cursor_left(using):
        (done,) = rendered(source)
    assert (len(done.locations), [key for key, *_ in errors([done])]) == (10, ["4", "8"])

    def stop(_, item):
        raise TypeError("contrib gives up the lastmod of the section")

    with no_cursor_left(using):
        assert compatible_index(section(shelf.filter(tags__pk__gt=0), lastmod=stop)) is None


@ON_SQLITE
def test_a_section_is_read_from_one_replica(using, replica):
    Article.objects.using("default").bulk_create(Article(slug=f"a{number}") for number in range(9))
    rows = Article.objects
    union = rows.filter(slug__lt="a4").union(rows.filter(slug__gt="a6"))
    for queryset in (rows.all(), rows.order_by("slug")[:7], rows.values("slug"), union):
        declared = section(queryset, by("slug"), 2)
        source = compiled(declared)
        used = source.members.rows if isinstance(source, QuerySource) else source.items
        assert len({used.db for _ in range(4)}) == 1
        paginator = declared().paginator
        assert {paginator.object_list.db for _ in range(4)} == {paginator.counted_items.db}
