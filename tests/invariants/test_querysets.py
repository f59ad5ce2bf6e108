"""Any queryset, by each way: a section lists the rows of `list(queryset)`, with the values of its hooks."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest
from django.db.models import (
    Case,
    CharField,
    Count,
    DateTimeField,
    Exists,
    F,
    FilteredRelation,
    IntegerField,
    Max,
    Min,
    OuterRef,
    Q,
    Subquery,
    Sum,
    Value,
    When,
    Window,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import (
    Cast,
    Coalesce,
    Concat,
    Greatest,
    Lower,
    Now,
    Random,
    Rank,
    RowNumber,
    Trunc,
    TruncDay,
    TruncMonth,
)

from django_sitemaps09 import GenericSitemap, ModelSitemap, PathTemplate, Route, Sitemap
from tests.invariants.fuzz.models import Whole, WholeByNotes, WholeNote
from tests.models import Article, Comment, Invoice, Recent, Seat
from tests.support.databases import ALIASES, MYSQLS, parameter
from tests.support.internals import checks, lastmod_text
from tests.support.sections import declare
from tests.support.sources import UTC
from tests.support.ways import WAYS, by, changed_only, compatible_index

# Django warns on its own pages; what they list is asserted.
pytestmark = [
    pytest.mark.usefixtures("small_slices"), pytest.mark.sitemaps09(GZIP=False, ENGINE="serial"),
    pytest.mark.filterwarnings("ignore::django.core.paginator.UnorderedObjectListWarning"),
    pytest.mark.parametrize(
        ("using", "way"),
        [pytest.param(
            # Others read rows as `native` does, or as Django on its pages: see `versions()` in `.ci/run`.
            alias, way, id=f"{parameter(alias).id}-{way}",
            marks=[*parameter(alias).marks, *[pytest.mark.slow] * (alias == "default" and way != "native")],
         )
         for alias in ALIASES
         for way in (WAYS if alias == "default" else ("native", "exported", "compatible"))],
        indirect=["using"],
    ),
]  # fmt: skip
#: Ways that list a row once though a join repeats it. Django's pages count rows as the queryset does.
OURS = {"native", "exported", "changed_only", "killed"}
#: A day after the first visits of some articles, and before others.
DAY = datetime(2026, 1, 4, 12, tzinfo=UTC)
OLD = datetime(2020, 5, 17, 22, 30, tzinfo=UTC)


def at_least(old):
    return Coalesce("updated", Cast(Value(old), DateTimeField()))


def read(section, way):
    found, errors = WAYS[way](section)
    assert errors == [], errors
    return [entry[:2] for entry in found]


def assert_newest(section, way, lastmods):
    if way == "compatible":
        lastmods = [*lastmods]
        assert compatible_index(section) == (None if None in lastmods else max(lastmods, default=None))


def early(rows):
    return rows.filter(visits__at__lt=datetime(2026, 1, 6, tzinfo=UTC))


def low(rows):
    return rows.filter(slug__lt="a07")


def high(rows):
    return rows.filter(slug__gte="a05")


def tagged(rows):
    return rows.annotate(n=Count("tags", filter=Q(tags__name="a")))


def ranked(rows, name="annotate"):
    window = Window(RowNumber(), partition_by="published", order_by="slug")
    return getattr(rows, name)(rank=window).filter(rank__lte=4)


def commented(rows, name="annotate"):
    return getattr(rows, name)(n=Count("comments"))


RANK = Window(Rank(), partition_by="category", order_by="slug")
OVER = "ROW_NUMBER() OVER (ORDER BY tests_article.slug)"
VISITS = {"tables": ["tests_visit"], "where": ["tests_visit.article_id = tests_article.id"]}

#: Each row comes as often as in the list.
LISTED = {
    "all": lambda rows: rows,
    "a filter": lambda rows: rows.filter(published=True),
    "none": lambda rows: rows.none(),
    "an order": lambda rows: rows.order_by("-day"),
    "an order over a relation": lambda rows: rows.order_by("category__slug", "-pk"),
    "a reversed order": lambda rows: rows.order_by("pk").reverse(),
    "the order of a proxy": lambda rows: Recent.objects.using(rows.db),
    "deferred columns": lambda rows: rows.defer("slug", "updated"),
    "only one column": lambda rows: rows.only("slug").select_related(None),
    "related rows": lambda rows: rows.select_related("category").prefetch_related("tags"),
    "a foreign key": lambda rows: rows.filter(category__slug="one"),
    "no reverse foreign key": lambda rows: rows.filter(comments=None),
    "not many to many": lambda rows: rows.exclude(tags__name="a"),
    "distinct": lambda rows: rows.filter(tags__name__in=["a", "b"]).distinct(),
    "distinct in an order": lambda rows: rows.filter(tags__pk__gt=0).distinct().order_by("-day"),
    "exists": lambda rows: rows.filter(Exists(Comment.objects.filter(article=OuterRef("pk")))),
    "an aggregate": lambda rows: commented(rows).filter(n=2),
    "an aggregate of an alias": lambda rows: commented(rows, "alias").filter(n=2),
    "an aggregate of a join": lambda rows: commented(rows.filter(tags__name__in="ab")).filter(n__gt=1),
    "an aggregate before a join": lambda rows: rows.annotate(n=Count("comments", distinct=True)).filter(
        n__gt=0, tags__name="a"
    ),
    "an aggregate or a column": lambda rows: commented(rows).filter(Q(n=2) | Q(slug="a01")),
    "two aggregates": lambda rows: rows.annotate(
        n=Count("comments", distinct=True), m=Count("tags", distinct=True)
    ).filter(n=2, m__lt=3),
    "distinct aggregates": lambda rows: commented(rows).filter(n=2).distinct(),
    "an aggregate of a selected join": lambda rows: rows.annotate(
        tag=F("tags__name"), n=Count("tags")
    ).filter(n__gte=2),
    "a window": lambda rows: rows.annotate(w=RANK),
    "a filter by a window": lambda rows: ranked(rows),
    "a filter by the window of an alias": lambda rows: ranked(rows, "alias"),
    "a filter by the window of a join": lambda rows: rows.filter(category__slug="one").annotate(rank=RANK)
    .filter(rank__lte=3),
    "a window in an order": lambda rows: ranked(rows, "alias").order_by("-published", "-slug"),
    "a window in an order over a relation": lambda rows: ranked(rows).order_by("category__slug"),
    "a window beside an aggregate": lambda rows: commented(ranked(rows, "alias")),
    "extra()": lambda rows: rows.extra(where=["tests_article.slug < 'a05'"]),
    "extra() beside an aggregate":
        lambda rows: commented(rows).filter(n__gt=0).extra(where=["tests_article.slug < 'a05'"]),
    "extra() beside a window": lambda rows: rows.annotate(n=Window(RowNumber(), order_by="slug"))
    .filter(n__lte=3).extra(where=["tests_article.slug < 'a05'"]),
    "extra() of distinct rows": lambda rows: rows.filter(tags__name="a").distinct()
    .extra(select={"up": "tests_article.slug"}),
    "extra() of an order": lambda rows: rows.extra(order_by=["-slug"]),
    "an aggregate | a filter": lambda rows: tagged(rows) | rows.filter(published=True),
    "a filtered aggregate | a filter": lambda rows: tagged(rows).filter(n__gt=0)
    | rows.filter(published=True),
    "distinct rows | rows of a time": lambda rows: rows.distinct().exclude(tags__name="b")
    | rows.distinct().filter(category__slug="one", updated__lt=Now()),
    # In the order of the queryset.
    "a slice": lambda rows: rows.order_by("-slug")[2:9],
    "a slice without an end": lambda rows: rows.order_by("day")[3:],
    "a slice of a proxy": lambda rows: Recent.objects.using(rows.db)[:8],
    "a slice in the order of a relation": lambda rows: rows.order_by("category__slug", "pk")[:8],
    "a slice that a join repeats": lambda rows: rows.filter(comments__pk__gt=0).order_by("slug")[:9],
    "a slice of distinct rows": lambda rows: rows.filter(tags__pk__gt=0).distinct()
    .order_by("-category__slug", "slug")[:6],
    "a slice of deferred rows": lambda rows: rows.only("day").prefetch_related("tags").order_by("slug")[:6],
    "a slice with annotations": lambda rows: rows.annotate(low=Lower("slug")).order_by("-low")[:7],
    "a slice with a window": lambda rows: rows.annotate(n=Window(RowNumber(), order_by="-slug"))
    .order_by("n")[:7],
    "a slice with a count": lambda rows: rows.annotate(n=Count("tags")).order_by("-n", "slug")[:7],
    "a slice that HAVING filters": lambda rows: rows.annotate(n=Count("tags"))
    .filter(Q(n__gt=1) | Q(slug="a07")).order_by("slug")[:7],
    "a slice that a window filters": lambda rows: ranked(rows).order_by("slug")[:5],
    "a slice with extra()": lambda rows: rows.extra(where=["slug < 'a07'"]).order_by("slug")[1:6],
    "a union": lambda rows: low(rows).union(high(rows)).order_by("slug"),
    "a union in another order": lambda rows: low(rows).union(high(rows)).order_by("-published", "-day"),
    "a union in the order of its key": lambda rows: low(rows).union(high(rows)).order_by("-pk"),
    "a union in the order of a column":
        lambda rows: low(rows).union(high(rows)).order_by("-category_id", "slug"),
    "a union in the order of a relation":
        lambda rows: low(rows).union(high(rows)).order_by("-category", "slug"),
    "a union that repeats rows": lambda rows: low(rows).union(high(rows), all=True).order_by("slug"),
    "a union of repeated rows": lambda rows: rows.filter(comments__pk__gt=0)
    .union(rows.filter(slug="a03"), all=True).order_by("slug"),
    "a union of unions": lambda rows: low(rows).union(high(rows), all=True).union(rows.filter(slug="a03"))
    .order_by("slug"),
    "a union with nothing": lambda rows: high(rows).union(rows.none(), rows.filter(slug="a03"))
    .order_by("slug"),
    "a union of distinct rows": lambda rows: rows.filter(tags__pk__gt=0).distinct().union(high(rows))
    .order_by("slug"),
    "a union with annotations": lambda rows: low(rows).annotate(mark=Value("e"), tag=F("tags__name"))
    .union(high(rows).annotate(mark=Value("l"), tag=Value("c", CharField())))
    .order_by("-mark", "tag", "slug"),
    "a union of counts": lambda rows: low(rows).annotate(n=Count("tags"))
    .union(high(rows).annotate(n=Count("comments"))).order_by("slug"),
    "a union of other annotations": lambda rows: low(rows).annotate(one=Value(1))
    .union(high(rows).annotate(two=Value(2))).order_by("slug"),
    "a union of deferred rows":
        lambda rows: low(rows).only("slug").union(high(rows).only("slug")).order_by("slug"),
    "a slice of a union": lambda rows: low(rows).union(high(rows)).order_by("-slug")[1:9],
    "an empty slice of a union": lambda rows: low(rows).union(high(rows)).order_by("slug")[90:95],
    "an intersection": lambda rows: low(rows).intersection(high(rows)).order_by("slug"),
    "a difference": lambda rows: rows.difference(high(rows)).order_by("slug"),
    "a union without an order": lambda rows: rows.filter(slug__lt="a03").union(rows.filter(slug__gt="a08")),
}  # fmt: skip
#: A join or an order repeats rows, of which our ways list each once.
ONCE = {
    "a reverse foreign key": lambda rows: rows.filter(comments__pk__gt=0),
    "many to many":
        lambda rows: rows.filter(tags__pk__gt=0).only("slug", "category").select_related("category"),
    "either relation": lambda rows: rows.filter(Q(tags__name="a") | Q(comments__pk__gt=0)),
    "a filtered relation": lambda rows: rows.alias(
        written=FilteredRelation("comments", condition=Q(comments__pk__gt=0))
    ).filter(written__isnull=False),
    "another table": lambda rows: rows.extra(tables=["tests_tag"]),
    "a table of extra()": lambda rows: rows.extra(**VISITS),
    "a table of extra() that is joined": lambda rows: rows.filter(visits__pk__gt=0).extra(**VISITS),
    "a condition on a joined table":
        lambda rows: rows.filter(tags__name__gt="").extra(where=["tests_tag.name = 'a'"]),
    "a condition without a table":
        lambda rows: rows.filter(tags__name="a").extra(where=["day < %s"], params=["2026-01-06"]),
    "an annotation to many": lambda rows: rows.annotate(tag=F("tags__name"), n=Count("comments")),
    "an aggregate or a relation": lambda rows: commented(rows).filter(Q(n__gt=1) | Q(tags__name="a")),
    "an aggregate | a relation":
        lambda rows: tagged(rows).filter(published=True) | rows.filter(comments__pk__gt=0),
    "a filter | an aggregate": lambda rows: rows.filter(published=True) | tagged(rows),
    "two exclusions | of each other": lambda rows: rows.distinct().exclude(tags__name="b")
    | rows.distinct().exclude(comments__pk__lt=5),
    "an exclusion & a relation":
        lambda rows: rows.exclude(tags__name="b") & rows.filter(comments__pk__gt=0),
}  # fmt: skip
#: Django groups by the order, so that each row is a group of the visits or tags of an article.
GROUPED = {
    "an order by a date":
        lambda rows: rows.order_by("-visits__at").annotate(g=Min("visits__at")).filter(g__gt=DAY),
    "an order by a counted relation":
        lambda rows: rows.order_by("tags__name").annotate(n=Count("tags")).filter(n=1),
    "an order by an expression": lambda rows: rows.order_by(F("visits__at").desc(nulls_last=True))
    .alias(n=Count("visits")).filter(n=1),
    "an order beside a window": lambda rows: rows.order_by("tags__name", "pk")
    .alias(w=Window(RowNumber(), order_by="slug")).filter(w__lte=7),
    "an order by two relations": lambda rows: rows.order_by("category__slug", "tags__name")
    .annotate(n=Count("tags")).filter(n=1),
}  # fmt: skip
#: An aggregate covers what the queryset joins, as with annotate().
JOINED = {
    "distinct visits": lambda rows: early(rows).distinct(),
    "distinct visits, counted before": lambda rows: early(rows.annotate(n=Count("tags"))).distinct(),
    "distinct visits, counted behind": lambda rows: early(rows).distinct().annotate(n=Count("tags")),
    "filtered visits": early,
    "visits in an order": lambda rows: rows.filter(visits__at__gt=DAY).order_by("visits__at"),
    "visits, counted or a column":
        lambda rows: early(commented(rows).filter(Q(n__gt=0) | Q(category__slug="one"))),
}  # fmt: skip

NEWEST = Max("visits__at")
OF_SOME = Coalesce(Max("visits__at", filter=Q(visits__article__slug__gt="a05")), F("updated"))
LATER = Case(When(updated__lt=NEWEST, then=NEWEST), default=F("updated"))
WRITTEN = Exists(Comment.objects.filter(article=OuterRef("pk")))
CHANGEFREQ = Case(When(category__slug="one", then=Value("daily")), When(WRITTEN, then=Value("weekly")),
                  default=Value("monthly"))  # fmt: skip
ROUTE, METHOD = Route("article", slug=F("slug")), lambda _, item: f"/articles/{item.slug}/"


def frequency(item):
    number = int(item.slug[1:])
    return "daily" if number % 2 else "weekly" if number % 4 else "monthly"


#: Locations, lastmods and changefreqs; and the lastmods as an expression.
HOOKS = {
    "columns": (ROUTE, F("updated"), CHANGEFREQ, F("updated")),
    "methods": (METHOD, lambda _, item: item.updated, lambda _, item: frequency(item), F("updated")),
    "an aggregate": (ROUTE, NEWEST, CHANGEFREQ, NEWEST),
    "a filtered aggregate": (ROUTE, OF_SOME, CHANGEFREQ, OF_SOME),
    "an aggregate beside a method": (METHOD, LATER, CHANGEFREQ, LATER),
}
#: Ways that read rows as another way does need fewer hooks, and so do servers.
SOME = {
    "exported": ["columns", "methods", "an aggregate beside a method"],
    "changed_only": ["columns", "an aggregate"],
    "killed": ["columns"],
    "compatible": ["columns", "methods", "an aggregate", "an aggregate beside a method"],
    "contrib": ["methods", "a filtered aggregate"],
    "get_urls": ["methods"],
}
ON_SERVERS = ["columns", "a filtered aggregate"]
ROWS = LISTED | ONCE | GROUPED | JOINED


@pytest.mark.parametrize("name", ROWS)
def test_a_section_lists_the_rows_of_its_queryset(name, way, shelf):
    queryset = ROWS[name](shelf)
    rows = [*queryset.all()]
    is_in_order = queryset.ordered and (queryset.query.is_sliced or queryset.query.combinator)
    for hooks in SOME.get(way, HOOKS) if shelf.db == "default" else ON_SERVERS:
        location, lastmod, changefreq, dated = HOOKS[hooks]
        if name in GROUPED and "aggregate" in hooks:
            continue
        given = {"location": location, "lastmod": lastmod, "changefreq": changefreq, "limit": 5}
        section = declare(queryset=queryset, **given)
        found, errors = WAYS[way](section)
        by_slug = (queryset if name in JOINED and "aggregate" in hooks else shelf).annotate(made=dated)
        lastmods = {row.slug: lastmod_text(row.made) for row in by_slug}
        expected = [(f"/articles/{row.slug}/", lastmods[row.slug], frequency(row)) for row in rows]
        found = [entry[:3] for entry in found]
        if name in LISTED:
            assert Counter(found) == Counter(expected), hooks
            assert not is_in_order or found == expected, hooks
        else:
            assert {*found} == {*expected}, hooks
            # A method can use the annotations, in which repeated rows differ.
            is_method = location is METHOD and queryset.query.annotation_select
            assert way not in OURS or len(found) == len(expected if is_method else {*found}), hooks
        assert errors == []
        assert_newest(section, way, [lastmod for _, lastmod, _ in expected])
    if way == "changed_only":
        found, _ = changed_only(section, lambda: shelf.filter(slug="a03").update(slug="a99", updated=OLD))
        assert found == WAYS["exported"](section)[0]


VALUES = {
    "distinct": (lambda rows: rows.values("category__slug").distinct(), "category__slug"),
    "a relation": (lambda rows: rows.values("category", "slug").annotate(n=Count("tags")), "slug", "n"),
    "tuples": (lambda rows: rows.values_list("slug").distinct(), "slug"),
    "named tuples": (lambda rows: rows.order_by("day").values_list("slug", named=True), "slug"),
    "texts": (lambda rows: rows.values_list("slug", flat=True), "slug"),
    "an order over a relation": (lambda rows: rows.values("slug").order_by("-tags__name", "slug"), "slug"),
    "an order with ties": (lambda rows: rows.order_by("published").values("slug"), "slug"),
    "a relation to many": (lambda rows: rows.values("slug", "tags__name"), "slug", "tags__name"),
    "groups": (lambda rows: rows.values("category__slug").annotate(n=Count("pk")), "category__slug", "n"),
    "filtered groups": (
        lambda rows: rows.values("category__slug").annotate(n=Count("tags", filter=Q(tags__name="a"))),
        *("category__slug", "n"),
    ),
    "a union": (lambda rows: low(rows).values("slug").union(rows.values("slug")), "slug"),
    "a union of tuples that repeat":
        (lambda rows: low(rows).values_list("slug").union(rows.values_list("slug"), all=True), "slug"),
    "a union of groups": (
        lambda rows: (
            rows.filter(published=True).values("category__slug").annotate(n=Count("pk"))
            .union(rows.values("category__slug").annotate(n=Count("pk")))
        ),
        *("category__slug", "n"),
    ),
    "a union in an order":
        (lambda rows: low(rows).values("slug").union(rows.values("slug")).order_by("slug"), "slug"),
    "instances with an annotation": (lambda rows: rows.annotate(tag=F("tags__name")), "slug", "tag"),
    "a union with ties": (lambda rows: low(rows).union(high(rows)).order_by("published"), "slug"),
    "an order and an annotation": (
        lambda rows: rows.order_by("-visits__at", "slug").annotate(x=F("comments__pk")).filter(x__gt=0),
        *("slug", "x"),
    ),
    "another order and an annotation": (
        lambda rows: rows.order_by("tags__name").annotate(x=F("comments__pk")).filter(x__gt=0),
        *("slug", "x"),
    ),
    **{
        name: (lambda rows, build=build: build(rows).annotate(m=Count("comments")), "slug", "m")
        for name, build in GROUPED.items()
    },
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("limit", [2, 5])
def test_dicts_tuples_and_annotated_rows_are_listed_as_they_come(name, limit, way, shelf):
    build, *names = VALUES[name]
    section = declare(queryset=build(shelf), location=by(*names), limit=limit)
    assert not [found for found in checks.check_declarations([section]) if found.level >= 40]
    expected = Counter((by(*names)(None, row), None) for row in build(shelf))
    assert expected
    assert Counter(read(section, way)) == expected


#: Django cannot order by the name of a composite key.
SEATS = {
    "distinct": lambda rows: rows.distinct(),
    "a window": lambda rows: rows.annotate(n=Window(RowNumber(), order_by="-number")).filter(n__lte=4),
    "values of a window": lambda rows: SEATS["a window"](rows).values("row", "number"),
    "a union": lambda rows: rows.filter(row="a").union(rows.filter(row="b")),
    "a union of values": lambda rows: rows.values("row", "number").union(rows.values("row", "number")),
    "a slice": lambda rows: rows.order_by("-number", "row")[1:5],
    "an ordered union": lambda rows: rows.filter(number__lt=3).union(rows.all()).order_by("number", "row"),
}


@pytest.mark.parametrize("name", SEATS)
def test_rows_with_a_composite_key_are_listed_as_they_come(name, way, using):
    for n in (2, 1, 4):
        for row in "ab":
            Seat.objects.using(using).create(row=row, number=n)
    queryset = SEATS[name](Seat.objects.using(using))
    expected = Counter((by("row", "number")(None, row), None) for row in queryset.all())
    for i18n in (False, True):
        attributes = {"limit": 2, "i18n": i18n, "languages": ["en"]}
        section = declare(queryset=queryset, location=by("row", "number"), **attributes)
        assert Counter(read(section, way)) == expected


def dated(rows, expression, path=lambda row: f"/articles/{row.slug}/"):
    """Return an entry for each row, whose lastmod is an expression."""
    return [(path(row), lastmod_text(row.made)) for row in rows.annotate(made=expression)]


def of_rows(queryset, values, path=lambda row: f"/articles/{row.slug}/"):
    """Return an entry for each row of a queryset, with the lastmods of other rows by their slugs."""
    values = {row.slug: lastmod_text(row.made) for row in values}
    return [(path(row), values[row.slug]) for row in queryset.all()]


def of_dicts(rows, name, count):
    """Return an entry for each of so many dicts, whose lastmod is `at`."""
    found = [(f"/{row[name]}/", lastmod_text(row["at"])) for row in rows.all()]
    assert len(found) == count
    return found


def section_of(queryset, location=ROUTE, limit=50, **hooks):
    return declare(queryset=queryset, location=location, limit=limit, **hooks)


def groups(rows, **aggregates):
    return rows.values("category__slug").annotate(**aggregates)


def zone_of(rows):
    """MariaDB and MySQL have no table of time zones."""
    return UTC if rows.db in MYSQLS else None


def beside_an_aggregate(rows, **hooks):
    section = section_of(commented(rows), Route("article", slug=F("n")), lastmod=NEWEST, **hooks)
    return section, of_rows(commented(rows), rows.annotate(made=NEWEST), lambda row: f"/articles/{row.n}/")


def with_an_annotation(rows, queryset):
    section = section_of(queryset, lastmod=Greatest(NEWEST, F("first")))
    return section, of_rows(queryset, rows.annotate(made=NEWEST))


def of_each_dict(rows, lastmod):
    """An aggregate of each row does not group its dicts."""
    section = section_of(rows.values("category__slug"), GROUP, lastmod=lastmod)
    return section, dated(rows, lastmod, lambda row: f"/{row.category and 'one'}/")


def of_one_tag(queryset):
    section = section_of(queryset, Route("article", slug=Count("tags")))
    return section, [("/articles/1/", None)] * len(queryset.all())


def numbered(rows, location=by("slug", "n")):  # noqa: B008 a function
    """A window in SQL of the project numbers all rows; a range of keys would be numbered anew."""
    return section_of(rows, location, 5), [(f"/a{n:02}/{n + 1}/", None) for n in range(12)]


def by_position(queryset, rows, **hooks):
    """Expressions that can change the rows of a slice or a union, or have another value each time."""
    return section_of(queryset, limit=3, **hooks), of_rows(queryset, rows.annotate(made=F("updated")))


GROUP, LAST, FIRST = by("category__slug"), Max("updated"), Min("visits__at")
EARLY = {"visits__at__lte": datetime(2026, 1, 5, tzinfo=UTC)}
NEWEST_OR_OLD = TruncMonth(Coalesce(NEWEST, Cast(Value(OLD), DateTimeField())), tzinfo=UTC)
RAW = RawSQL(OVER, (), IntegerField())  # noqa: S611 a constant
LOWER_CASE = Cast(RawSQL(OVER.lower(), ()), IntegerField())  # noqa: S611
SLUG_AND_N = PathTemplate("/{slug}/{n}/", slug=F("slug"), n=F("n"))
SLUG_AND_RAW = PathTemplate("/{slug}/{n}/", slug=F("slug"), n=RAW)
UPDATED = {
    "a subquery": Subquery(Article.objects.filter(pk=OuterRef("pk")).values("updated")[:1]),
    "SQL of the project": RawSQL("tests_article.updated", (), DateTimeField()),
}
BY_POSITION = ("a slice that a join repeats", "a slice of distinct rows", "a union")
#: Functions that return a section, whose declaration has values of its own, and the entries of it.
CASES = {
    # An order by the key would group by it as well.
    "groups with their own lastmods": lambda rows: (
        section_of(groups(rows, last=LAST), GROUP, 1, lastmod=lambda _, item: item["last"]),
        of_dicts(groups(rows, at=LAST), "category__slug", 2)),
    "groups of a generic sitemap": lambda rows: (
        type("Groups", (GenericSitemap,), {"location": GROUP})(
            {"queryset": groups(rows, last=LAST).order_by(), "date_field": None}),
        [("/one/", None), ("/None/", None)]),
    "an expression of groups": lambda rows: (
        section_of(groups(rows, n=Count("pk")), GROUP, lastmod=LAST),
        of_dicts(groups(rows.order_by(), at=LAST), "category__slug", 2)),
    "a declared window": lambda rows: (
        section_of(rows, limit=3, lastmod=Window(LAST)),
        [(f"/articles/{row.slug}/", lastmod_text(rows.aggregate(at=LAST)["at"])) for row in rows]),
    **{f"{function.__name__} of day": lambda rows, function=function: (
        section_of(rows, lastmod=function("day")), dated(rows, function("day")))
       for function in (TruncMonth, TruncDay)},
    **{f"{function.__name__} of updated": lambda rows, function=function: (
        section_of(rows, lastmod=function(at_least(OLD), tzinfo=zone_of(rows))),
        dated(rows, function(at_least(OLD), tzinfo=zone_of(rows))))
       for function in (TruncMonth, TruncDay)},
    # Django's Trunc() raises for no rows.
    "no rows to truncate": lambda rows: (
        section_of(rows.filter(slug="x"), lastmod=TruncMonth(at_least(OLD), tzinfo=UTC)), []),
    "an annotation beside an aggregate": beside_an_aggregate,
    "an annotation beside an aggregate and a method":
        lambda rows: beside_an_aggregate(rows, changefreq=lambda *_: "daily"),
    "aggregates over several relations in one expression": lambda rows: (
        section_of(rows, Route("article", slug=Count("comments") + Count("tags"))),
        [(f"/articles/{row.comments.count() + row.tags.count()}/", None) for row in rows]),
    "an annotation in the expression of an aggregate": lambda rows: with_an_annotation(
        rows, rows.annotate(n=Count("visits"), first=FIRST).filter(n=2)),
    "an annotation beside another join": lambda rows: with_an_annotation(
        rows, rows.annotate(n=Count("comments"), first=Min("updated")).filter(n=2, updated__gt=OLD)),
    "dicts beside an aggregate": lambda rows: of_each_dict(rows, NEWEST),
    "dicts beside an aggregate of a column": lambda rows: of_each_dict(rows, LAST),
    "distinct dicts beside an aggregate": lambda rows: (
        section_of(rows.values("category__slug").distinct(), GROUP, lastmod=NEWEST),
        of_dicts(rows.values("category__slug").distinct().annotate(at=NEWEST), "category__slug", 2)),
    "distinct dicts beside an aggregate of joined rows": lambda rows: (
        section_of(rows.filter(**EARLY).values("slug").distinct(), by("slug"), lastmod=NEWEST),
        of_dicts(rows.filter(**EARLY).values("slug").distinct().annotate(at=NEWEST), "slug", 3)),
    "an aggregate of a filtered join": lambda rows: of_one_tag(rows.filter(tags__name="a")),
    "an aggregate of a filtered and annotated join":
        lambda rows: of_one_tag(rows.filter(tags__name="a").annotate(low=Lower("slug"))),
    "one column twice beside a window": lambda rows: (
        section_of(ranked(rows), PathTemplate("/{a}/{b}/", a=F("slug"), b=Concat("slug", "slug")), 3,
                   lastmod=F("day")),
        [(f"/{row.slug}/{row.slug}{row.slug}/", lastmod_text(row.day)) for row in ranked(rows)]),
    "a conversion beside a window": lambda rows: (
        section_of(ranked(rows), limit=3, lastmod=Trunc("day", "month"), priority=F("weight")),
        [(f"/articles/{row.slug}/", f"{row.day:%Y-%m-01}") for row in ranked(rows)]),
    "SQL of a window as a column": lambda rows: numbered(rows.annotate(n=RAW), SLUG_AND_N),
    "SQL of a window for a method": lambda rows: numbered(rows.annotate(n=RAW)),
    "SQL of a window in lower case": lambda rows: numbered(rows.annotate(n=LOWER_CASE)),
    "SQL of a window in extra()": lambda rows: numbered(rows.extra(select={"n": OVER})),  # noqa: S610
    "SQL of a window in a declaration": lambda rows: numbered(rows, SLUG_AND_RAW),
    **{f"{name} of {of}": lambda rows, lastmod=lastmod, of=of: (
        by_position(LISTED[of](rows), rows, lastmod=lastmod))
       for name, lastmod in UPDATED.items() for of in BY_POSITION},
    **{f"a random value of {of}": lambda rows, of=of: (
        by_position(LISTED[of](rows), rows, lastmod=F("updated"), priority=Random()))
       for of in BY_POSITION},
}  # fmt: skip


def case(build):
    CASES[build.__name__.replace("_", " ")] = build


@case
def raw_rows(rows):
    raw = rows.raw("SELECT * FROM tests_article ORDER BY day DESC")
    section = declare(get_queryset=lambda self: raw, location=METHOD, limit=5)
    return section, [(f"/articles/{row.slug}/", None) for row in raw]


@case
def an_aggregate_of_what_a_slice_joins_already(rows):
    """Its own annotations join both relations, so rows of one are repeated for the other."""
    sliced = rows.annotate(own=F("slug"), m=Count("visits"), n=Count("comments", distinct=True))
    sliced = sliced.order_by("pk")[:6]
    location = Route("article", slug=Concat("own", Value("-"), Cast(Count("visits"), CharField())))
    expected = [(f"/articles/{row.slug}-{row.visits.count()}/", None) for row in sliced]
    assert any(row.m > row.visits.count() for row in sliced)
    return section_of(sliced, location), expected


@case
def a_row_without_a_lastmod_that_a_window_excludes(rows):
    """A filter of what is null would come before the window, and change its ranks."""
    first = Window(RowNumber(), partition_by="published", order_by="-slug")
    ranked_rows = rows.annotate(rank=first).filter(rank=1)
    expected = [(f"/articles/{row.slug}/", lastmod_text(row.updated)) for row in ranked_rows]
    assert None not in dict(expected).values()
    return section_of(ranked_rows, limit=2, lastmod=F("updated")), expected


@case
def a_generated_key(rows):
    for number in (9, 2, 100, 30, 4):
        Invoice.objects.using(rows.db).create(number=number)
    invoices = Invoice.objects.using(rows.db)
    section = section_of(invoices, by("serial"), 2, key="serial")
    assert [*checks.check_declarations([section])] == []
    return section, [(f"/{row.serial}/", None) for row in invoices]


@case
def a_table_of_extra_beside_a_join_of_the_same_table(rows):
    queryset, newest = rows.extra(**VISITS).order_by("pk"), Max("category__article__visits__at")
    return section_of(queryset, lastmod=newest), {*of_rows(queryset, rows.annotate(made=newest))}


@case
def aggregates_over_several_relations(rows):
    location, priority = Route("article", slug=Count("comments")), Count("tags") / 10.0
    counts = {row.slug: row.n for row in commented(rows)}
    section = section_of(rows, location, lastmod=NEWEST_OR_OLD, priority=priority)
    return section, dated(rows, NEWEST_OR_OLD, lambda row: f"/articles/{counts[row.slug]}/")


def whole(using, *slugs, scores=lambda number: (1, 2, 3)):
    """Create rows, each with notes of these scores on the first days of a month."""
    rows = Whole.objects.using(using)
    for number, slug in enumerate(slugs, 1):
        row = rows.create(slug=slug, number=number, flag=True)
        for day, score in enumerate(scores(number), 1):
            WholeNote.objects.using(using).create(thing=row, score=score, at=DAY.replace(day=day))
    return rows, WholeByNotes._base_manager.using(using)


def of_day(day):
    return lastmod_text(DAY.replace(day=day))


@case
def an_aggregate_beside_the_order_of_a_model(rows):
    """Django drops this order from a grouped query, but the aggregate counts the rows of its join."""
    plain, _ = whole(rows.db, "s1", "s2", scores=lambda number: (0,) * number)
    for number, parent in enumerate([plain.get(slug="s1"), *[plain.get(slug="s2")] * 2], 10):
        plain.create(slug=f"c{number}", number=number, flag=False, parent=parent)
    counted = WholeByNotes.objects.using(rows.db).annotate(n=Count("children")).filter(n__gt=2)
    assert len(counted) == 1
    return section_of(counted, by("slug", "n")), [(f"/{row.slug}/{row.n}/", None) for row in counted.all()]


@case
def an_aggregate_beside_a_grouped_order(rows):
    """Its rows are read apart from the queryset's, whose joins it would not have."""
    _, by_notes = whole(rows.db, "s1", "s2", "s3", scores=lambda number: range(1, number + 1))
    queryset = by_notes.filter(notes__score__gt=1).annotate(n=Sum("notes__score", distinct=True))
    lowest = Cast(Min("notes__score", filter=Q(notes__score__gt=0)), CharField())
    section = section_of(queryset, Route("article", slug=Concat("slug", Value("-"), lowest)), 2)
    return section, [("/articles/s2-2/", None), ("/articles/s3-2/", None)]


@case
def distinct_rows_in_the_order_of_a_model(rows):
    """Django selects the column of the order, and then groups by it."""
    whole(rows.db, "s1", "s2", scores=lambda number: (5 * (number - 1) + 5, 0))
    queryset = WholeByNotes.objects.using(rows.db).alias(n=Sum("notes__score")).filter(n__lt=1).distinct()
    assert len({row.slug for row in queryset}) == 2
    return section_of(queryset, by("slug"), 2), {("/s1/", None), ("/s2/", None)}


@case
def a_slice_in_another_order_than_the_model(rows):
    """The expressions of a slice are read apart, from the rows of the model."""
    _, by_notes = whole(rows.db, "s1", "s2", "s3")
    count = Cast(Count("tags__rank") + Count("pk"), CharField())
    location = Route("article", slug=Concat("slug", Value("-"), count))
    expected = [("/articles/s2-1/", None), ("/articles/s3-1/", None)]
    return section_of(by_notes.order_by("slug")[1:3], location, 2), expected


@case
def distinct_dicts_in_the_order_of_a_model(rows):
    """Django selects its column, so a declared aggregate would cover one note of a row at a time."""
    _, by_notes = whole(rows.db, "s")
    rows, newest = by_notes.distinct().values("slug"), Coalesce(Max("notes__at"), DAY)
    return section_of(rows, by("slug"), 2, lastmod=newest), [("/s/", of_day(3))] * 3


@case
def distinct_rows_that_differ_by_an_annotation(rows):
    """Rows that select the column of a join are groups of their own."""
    plain, _ = whole(rows.db, "s")
    queryset = plain.annotate(n=Count("children"), score=F("notes__score")).distinct()
    section = section_of(queryset, by("slug", "score"), 2, lastmod=Max("notes__at"))
    return section, [(f"/s/{day}/", of_day(day)) for day in (1, 2, 3)]


@case
def distinct_rows_that_a_condition_divides(rows):
    """Django groups by a column that it compares in HAVING."""
    if rows.db in MYSQLS:
        pytest.skip("MariaDB and MySQL do not find the column")
    plain, _ = whole(rows.db, "s")
    queryset = plain.annotate(n=Count("children")).filter(Q(notes__score__gt=1) | Q(n=0)).distinct()
    return section_of(queryset, by("slug"), 2, lastmod=Max("notes__at")), [("/s/", of_day(3))]


@pytest.mark.parametrize("name", CASES)
def test_a_declaration_lists_what_its_expressions_say(name, way, shelf):
    section, expected = CASES[name](shelf)
    # A random value changes the file of each run.
    found = read(section, "exported" if "random" in name and way == "changed_only" else way)
    if isinstance(expected, set):
        assert {*found} == expected
        assert way not in OURS or len(found) == len(expected)
    else:
        assert Counter(found) == Counter(expected)
    if isinstance(section, type):
        assert_newest(section, way, [lastmod for _, lastmod in expected])


def changed(rows):
    """Return rows that the project has evaluated, each with a value of its own."""
    for number, row in enumerate(rows):
        if isinstance(row, dict):
            row["word"] = f"word-{number}"
        else:
            row.word = f"word-{number}"
    return rows


def evaluated(rows, **hooks):
    hooks = {"location": by("word"), "limit": 5, **hooks}
    return declare(Sitemap, items=lambda _: changed(rows.all()), **hooks)


NUMBER = Route("article", slug=F("n"))
#: Querysets, an expression of them, and its path for each row.
EVALUATED = {
    "a plain queryset": (lambda rows: rows.order_by("pk"), ROUTE, lambda row: row.slug),
    "no order": (lambda rows: rows, ROUTE, lambda row: row.slug),
    "a slice": (lambda rows: rows.order_by("pk")[2:9], ROUTE, lambda row: row.slug),
    "a union": (lambda rows: LISTED["a union without an order"](rows), ROUTE, lambda row: row.slug),
    "a window": (lambda rows: ranked(rows), ROUTE, lambda row: row.slug),
    "a join": (lambda rows: rows.filter(tags__name="a"), ROUTE, lambda row: row.slug),
    "dicts": (lambda rows: rows.order_by("pk").values("id", "slug"), ROUTE, lambda row: row["slug"]),
    "an annotation": (lambda rows: commented(rows).filter(n__gt=0), NUMBER, lambda row: row.n),
    # MariaDB does not find a column in HAVING that is not selected.
    "a filter by an aggregate or a column": (
        *(lambda rows: rows.annotate(n=Count("tags")).filter(Q(n__gt=1) | Q(updated__year__gte=2026)),),
        *(NUMBER, lambda row: row.n),
    ),
    # Django groups by the joined annotation.
    "groups": (
        lambda rows: rows.annotate(tag=F("tags__name"), n=Count("comments", distinct=True)).filter(tag="a"),
        *(NUMBER, lambda row: row.n),
    ),
    "an order over a relation": (
        lambda rows: rows.order_by("-visits__at"),
        *(Route("article", slug=Count("visits")), lambda row: row.visits.count()),
    ),
    "an annotation that repeats rows": (
        lambda rows: rows.annotate(tag=F("tags__name")).filter(tag__isnull=False),
        PathTemplate("/articles/{slug}-{tag}/", slug=F("slug"), tag=F("tag")),
        lambda row: f"{row.slug}-{row.tag}",
    ),
}


@pytest.mark.parametrize("name", EVALUATED)
def test_an_evaluated_queryset_is_read_as_it_was_fetched(name, way, shelf):
    build, location, path = EVALUATED[name]
    rows = changed(build(shelf))
    assert rows
    by_column = evaluated(build(shelf), location=location, limit=50)
    assert Counter(read(by_column, way)) == Counter((f"/articles/{path(row)}/", None) for row in rows)
    slug = (lambda row: row["slug"]) if name == "dicts" else (lambda row: row.slug)
    for lastmod in (None, F("updated"), NEWEST):
        values = shelf.annotate(value=lastmod or Value(None, DateTimeField()))
        values = {row.slug: lastmod_text(row.value) for row in values}
        expected = [(f"/word-{number}/", values[slug(row)]) for number, row in enumerate(rows)]
        section = evaluated(build(shelf), lastmod=lastmod)
        assert Counter(read(section, way)) == Counter(expected)
        assert_newest(section, way, [lastmod for _, lastmod in expected])


def test_evaluated_groups_languages_and_composite_keys_are_read_as_they_were_fetched(way, shelf):
    for number in range(3):
        Seat.objects.using(shelf.db).create(row="a", number=number)
    words = [f"/word-{number}/" for number in range(12)]
    groups = shelf.order_by().values("category__slug").annotate(last=Max("day"))
    seats = Seat.objects.using(shelf.db).distinct().order_by("-number")
    get_queryset = {"get_queryset": lambda _: changed(shelf.all()), "location": by("word"), "limit": 5}
    old = Value(OLD, output_field=DateTimeField())
    for section, expected in (
        (declare(ModelSitemap, **get_queryset), [(word, None) for word in words]),
        (
            evaluated(shelf.order_by("pk"), i18n=True, languages=["en", "de"], limit=50),
            [(word, None) for word in words] * 2,
        ),
        (evaluated(seats, lastmod=old), [(word, "2020-05-17T22:30:00Z") for word in words[:3]]),
        (
            evaluated(groups, location=by("category__slug"), lastmod=F("last")),
            [(f"/{row['category__slug']}/", lastmod_text(row["last"])) for row in groups.all()],
        ),
    ):
        assert Counter(read(section, way)) == Counter(expected)
    # Sections that share rows have their own values.
    for rows in (shelf.values("pk", "slug"), shelf.all()):
        assert len(rows) == 12
        for name in ("pk", "slug"):
            location = PathTemplate("/{x}/", x=F(name))
            section = declare(Sitemap, items=lambda _, rows=rows: rows, location=location, limit=50)
            expected = {f"/{getattr(row, name)}/" for row in shelf}
            assert {path for path, _ in read(section, way)} == expected


OF_FIRST = Max("visits__at", filter=Q(visits__at__gt=F("first")))
#: Querysets that no way lists, what a check says, and the error.
REFUSED = {
    "an aggregate that needs an annotation beside another join": (
        lambda rows: section_of(
            rows.annotate(n=Count("comments"), first=Min("updated")).filter(n=2), lastmod=OF_FIRST
        ),
        ("E066", "Subquery"), "the declared `lastmod` has an aggregate",
    ),
    "equal evaluated dicts of rows with different values": (
        lambda rows: evaluated(rows.values("published"), lastmod=F("updated")), (),
        "Declared.items() evaluates its queryset",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_queryset_that_cannot_be_read_is_refused_by_each_way(name, way, shelf):
    build, checked, message = REFUSED[name]
    section = build(shelf)
    found, errors = WAYS[way](section)
    assert (found, message in " ".join(errors)) == ([], True)
    texts = [f"{each.id} {each.hint}" for each in checks.check_declarations([section]) if each.level >= 40]
    assert all(part in " ".join(texts) for part in checked)
