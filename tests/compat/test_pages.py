"""Pages of the compatibility views have the rows and languages of contrib, with few queries."""

from __future__ import annotations

import os
import weakref
from collections import Counter
from contextvars import ContextVar
from datetime import datetime, timezone
from unittest import mock

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.contrib.sites.models import Site
from django.db import connection
from django.db.models import Count, F, Max, QuerySet
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import clear_script_prefix, get_urlconf, reverse, set_script_prefix, set_urlconf
from django.utils import timezone as zones, translation
from hypothesis import given, strategies as st

from django_sitemaps09 import PathTemplate, Route, Sitemap, views
from tests.compat import projects
from tests.models import Article, Comment, Event, Ticket
from tests.support.databases import ON_POSTGRESQL, ON_SQLITE, require
from tests.support.factories import ArticleFactory, CategoryFactory, TagFactory
from tests.support.internals import count_rows, in_page_order
from tests.support.memory import needs_resource
from tests.support.processes import ended, started
from tests.support.sections import declare, listing
from tests.support.sources import SEVERAL, TEN, in_language
from tests.support.ways import WAYS, by, compatible

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.urls")]
pytestmark += [pytest.mark.sitemaps09(GZIP=False, ENGINE="serial")]
DAY = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def listed(queryset, **hooks):
    hooks = {"location": Route("article", slug=F("slug")), "limit": 2, **hooks}
    return declare(queryset=queryset, **hooks)


def assert_paths(section, expected):
    """Check that live pages, files and the compatibility views list these paths, each as often as given."""
    for way in ("native", "exported", "compatible"):
        found, errors = WAYS[way](section)
        assert errors == [], way
        found, given = Counter(entry.path for entry in found), Counter(expected)
        assert found == given, f"{way}: too many {found - given}, missing {given - found}"


def request():
    return RequestFactory().get("/")


def content(section):
    return views.sitemap(request(), {"s": section}).render().content


TENANT = ContextVar("tenant", default="none")


def surrounded(self, item):
    zone = zones.get_current_timezone_name()
    return f"{reverse('about')}{translation.get_language()}/{zone}/{get_urlconf()}/{TENANT.get()}/"


def test_hooks_are_called_item_by_item_in_the_order_of_contrib():
    calls = {}

    def noting(name):
        def hook(self, item):
            calls.setdefault(type(self), []).append(f"{name} {item}")
            return {"location": "/x/", "lastmod": DAY}.get(name)

        return hook

    hooks = {name: noting(name) for name in ("changefreq", "lastmod", "location", "priority")}
    ours, theirs = (listing("abc", base, **hooks) for base in (Sitemap, contrib.Sitemap))
    assert (content(ours), calls[ours], len(calls[ours])) == (content(theirs), calls[theirs], 12)


@pytest.mark.sitemaps09(BASE_URL=None)
def test_what_is_active_around_the_view_is_active_for_its_items():
    section, token = {"s": listing("a", location=surrounded)}, TENANT.set("first")
    set_script_prefix("/prefix/")
    set_urlconf("tests.urls")
    try:
        with translation.override("de"), zones.override("Asia/Tokyo"):
            [url] = views.sitemap(request(), section).context_data["urlset"]
            assert [url] == contrib_views.sitemap(request(), section).context_data["urlset"]
    finally:
        TENANT.reset(token)
        set_urlconf(None)
        clear_script_prefix()
    assert url["location"] == "http://example.com/prefix/about/de/Asia/Tokyo/tests.urls/first/"
    # Nothing of it is kept for the next request.
    with translation.override(None):
        [url] = views.sitemap(request(), section).context_data["urlset"]
    assert url["location"] == "http://example.com/about/None/Europe/Zurich/None/none/"


@pytest.mark.parametrize("template", [None, "<a/>", "{% for u in urlset %}{{ u.location }}{% endfor %}"])
@pytest.mark.parametrize("overrides", [
    *({}, {"i18n": True}, {"_location": lambda self, item, force=None: "/x/"}),
    {"get_urls": lambda self, **kwargs: [{"location": f"http://x/{item}/"} for item in self.items()]},
], ids=range(4))  # fmt: skip
def test_items_are_read_once_for_a_response_with_any_template(overrides, template, settings, tmp_path):
    if template is not None:
        (tmp_path / "sitemap.xml").write_text(template)
        settings.TEMPLATES = projects.templates(tmp_path)
    calls = []
    items = lambda self: calls.append(1) or ["a", "b&", "c"]  # noqa: E731
    section = declare(Sitemap, **{"items": items, "location": "/x/", **overrides})
    response = views.sitemap(request(), {"s": section})
    urls = response.context_data["urlset"]
    assert (type(urls), len(urls) > 0) == (list, True)
    response.render()
    assert calls == [1]


@pytest.fixture
def seven(db):
    category = CategoryFactory(slug="c")
    for number in range(7):
        article = ArticleFactory(slug=f"a{number}", category=category, updated=DAY)
        article.tags.add(TagFactory(name=f"t{number}"))


def newest_first():
    return Article.objects.order_by("-slug")


def union():
    some = Article.objects.filter(slug__lt="a3")
    return some.union(Article.objects.filter(slug__gte="a3")).order_by("-slug")


def routed(rows=newest_first, **attributes):
    hooks = {"location": Route("article", slug=F("slug")), "lastmod": F("updated")}
    return declare(Sitemap, items=lambda self: rows(), **hooks | attributes)


@pytest.mark.usefixtures("seven")
class TestRows:
    @pytest.mark.parametrize("i18n", [False, True])
    @pytest.mark.parametrize(
        ("rows", "count"), [(newest_first, 7), (lambda: newest_first()[:6], 6), (union, 7)]
    )
    def test_are_queried_once_for_all_their_columns(self, rows, count, i18n):
        section = routed(rows, i18n=i18n, languages=["de", "en"])
        Site.objects.get_current()
        with CaptureQueriesContext(connection) as queries:
            found = content(section)
        assert found.count(b"/articles/a5/</loc>") == found.count(b"<lastmod>") / count > 0
        # A count, the rows, and the columns of a union, which Django cannot annotate.
        assert len(queries) == 2 + (rows is union)

    def test_that_are_deleted_meanwhile_are_not_listed(self):
        def losing():
            rows = union()
            len(rows)
            Article.objects.filter(slug="a3").delete()
            return rows

        found = content(routed(losing))
        assert (found.count(b"<loc>"), found.count(b"/a3/")) == (6, 0)

    def test_with_every_attribute_keep_their_columns(self, monkeypatch):
        monkeypatch.setattr(Article, "__getattr__", lambda self, name: "/wrong/", raising=False)
        Article.objects.update(slug="/right/")
        assert content(routed(location=F("slug"))).count(b"/right/</loc>") == 7

    def test_are_counted_without_the_joins_of_columns_and_as_often_as_they_come(self):
        with CaptureQueriesContext(connection) as queries:
            assert routed(location=Route("word", word=F("category__slug")))().paginator.count == 7
        assert "JOIN" not in queries[0]["sql"]
        Article.objects.get(slug="a0").tags.add(TagFactory(name="more"))
        repeated = routed(location=Route("word", word=F("tags__name")))()
        assert repeated.paginator.count == len(list(repeated._items())) == 8

    @pytest.mark.parametrize(("is_evaluated", "count"), [(False, 3), (True, 0)])
    def test_are_queried_with_their_prefetches_and_a_count_unless_they_are_evaluated(
        self, is_evaluated, count, django_assert_num_queries
    ):
        rows = newest_first().prefetch_related("tags").select_related("category")
        if is_evaluated:
            list(rows)
        Site.objects.get_current()
        tagged = lambda self, item: f"/{item.category.slug}/{item.slug}/{item.tags.all()[0].name}/"  # noqa: E731
        with django_assert_num_queries(count):
            found = content(declare(Sitemap, items=lambda self: rows, location=tagged))
        assert (found.count(b"<url>"), b"/c/a6/t6/" in found) == (7, True)

    def test_are_not_kept_while_the_newest_time_is_searched(self, monkeypatch):
        """For an index, contrib keeps all of them in memory at once."""
        monkeypatch.setattr("django_sitemaps09.declare.base.AT_A_TIME", 2)
        alive, seen = [], []

        def watched(self, item):
            seen.append(weakref.ref(item))
            alive.append(sum(ref() is not None for ref in seen))
            return item.updated

        assert routed(lastmod=watched)().get_latest_lastmod() == DAY
        assert (len(alive), max(alive) <= 3) == (7, True)

    def test_of_a_queryset_that_fetches_in_its_own_way_are_fetched_so(self):
        class Attaching(QuerySet):
            def _fetch_all(self):
                super()._fetch_all()
                for row in self._result_cache:
                    row.extra = "attached"

        rows = lambda self: Attaching(Article).order_by("pk")  # noqa: E731
        attached = declare(Sitemap, items=rows, location=lambda self, item: f"/{item.extra}/")
        assert_paths(attached, ["/attached/"] * 7)


def counted(rows):
    return rows.annotate(articles=Count("category__article"))


NEWEST = Max("category__article__updated")


@pytest.mark.parametrize(("make", "hooks"), [
    (lambda rows: rows, {"lastmod": NEWEST}), (counted, {}), (counted, {"lastmod": NEWEST}),
    (lambda rows: counted(rows).filter(articles__gt=1), {}),
    (lambda rows: counted(rows).union(counted(rows.filter(number=1))), {}),
    (lambda rows: counted(rows.values("category_id", "number")), {}),
], ids=["declared", "in the queryset", "in both", "in a filter", "in a union", "as values"])  # fmt: skip
def test_rows_with_a_composite_key_are_all_listed_beside_an_aggregate(using, make, hooks):
    for number in range(3):
        category = CategoryFactory(slug=f"c{number}", using=using)
        for place in range(4):
            Ticket.objects.using(using).create(category=category, number=place)
            ArticleFactory(slug=f"a{number}{place}", category=category, using=using)
    location = PathTemplate("/{a}/{b}/", a=F("category_id"), b=F("number"))
    section = declare(queryset=make(Ticket.objects.using(using)), location=location, limit=5, **hooks)
    found = paths(section)
    assert len(found) == found.total() == section().paginator.count == 12


#: More rows than one block of a table, so that databases read blocks in different orders.
ROWS = 57


@pytest.fixture
def rows(using):
    tags = [TagFactory(using=using, name=name) for name in "ab"]
    category, queryset = CategoryFactory(using=using, slug="one"), Article.objects.using(using)
    queryset.bulk_create(
        Article(slug=f"a{n:02}", code=f"c{(n * 31) % ROWS:02}", category=category, published=n % 2 == 0)
        for n in range(ROWS)
    )
    articles = [*queryset.order_by("slug")]
    Comment.objects.using(using).bulk_create(Comment(article=article) for article in articles)
    pairs = [(article, tag) for tag in tags for article in articles[: ROWS if tag is tags[0] else 42]]
    links = Article.tags.through
    links.objects.using(using).bulk_create(links(article=article, tag=tag) for article, tag in pairs)
    return queryset.all()


def paths(section):
    return Counter(path for path, _ in compatible(section))


#: Orders in which many rows are equal.
TIES = {
    "a column": lambda rows: rows.order_by("published"),
    "a descending column": lambda rows: rows.order_by("-published"),
    "an expression": lambda rows: rows.order_by(F("published").desc(nulls_last=True)),
    "reversed": lambda rows: rows.order_by("published").reverse(),
    "extra": lambda rows: rows.extra(order_by=["published"]),
    "a relation": lambda rows: rows.order_by("category__slug"),
    "an aggregate": lambda rows: rows.annotate(n=Count("comments")).order_by("n"),
    "distinct": lambda rows: rows.distinct().order_by("published"),
    "no order": lambda rows: rows.filter(category__slug="one"),
    "a filtered relation": lambda rows: rows.filter(comments__pk__gt=0).order_by("published"),
    "a relation that is filtered, too": lambda rows: rows.filter(tags__name__gt="").order_by("tags__name"),
    "a slice": lambda rows: rows.order_by("published", "code")[3:50],
    "a union": lambda rows: rows.filter(pk__gt=20).union(rows.filter(pk__lt=40)).order_by("published"),
}


@pytest.mark.parametrize("name", TIES)
def test_rows_that_are_equal_in_their_order_are_listed_as_in_the_queryset(name, rows):
    queryset = TIES[name](rows)
    for i18n in (False, True):
        attributes = {"location": by("slug"), "limit": 8, "i18n": i18n, "languages": ["en", "de"]}
        section = listed(queryset, **attributes)
        assert paths(section) == Counter([f"/{row.slug}/" for row in TIES[name](rows)] * (1 + i18n))
        assert paths(declare(Sitemap, items=lambda self: queryset.all(), **attributes)) == paths(section)
    if [*TIES].index(name) < 5:
        found = [path for path, _ in compatible(listed(queryset, location=by("published"), limit=8))]
        assert found == [f"/{row.published}/" for row in queryset]


#: Orders over a relation with several rows, by which a queryset lists some rows several times.
REPEATED = {
    "a relation": lambda rows: rows.order_by("tags__name", "pk"),
    "a relation, descending": lambda rows: rows.order_by(F("tags__name").desc()),
    "a filtered row": lambda rows: rows.filter(category__slug="one").order_by("tags__name", "slug"),
    "another relation": lambda rows: rows.filter(comments__pk__gt=0).order_by("tags__name", "pk"),
    "distinct": lambda rows: rows.filter(tags__pk__gt=0).distinct().order_by("tags__name"),
}


@pytest.mark.parametrize("lastmod", [F("updated"), Max("comments__article__updated")])
@pytest.mark.parametrize("name", REPEATED)
def test_an_order_that_repeats_rows_lists_them_once(name, lastmod, rows):
    """Deviation 13: contrib's pages end after the number of rows, so some are missing."""
    queryset = REPEATED[name](rows)
    assert count_rows(queryset) == len(queryset.all()) == 99
    expected = {f"/{row.slug}/" for row in rows}
    assert len(expected) == ROWS
    for hooks in ({}, {"i18n": True, "languages": ["en"]}):
        assert_paths(listed(queryset, location=by("slug"), lastmod=lastmod, limit=25, **hooks), expected)


@pytest.mark.parametrize("order", ["category_id", "-category_id"])
def test_an_order_by_an_index_needs_no_sorting(order):
    """In SQLite and MariaDB, each entry of an index ends with the primary key."""
    assert "TEMP B-TREE" not in in_page_order(Article.objects.order_by(order))[:10].explain()


@ON_SQLITE
def test_an_order_of_extra_can_name_a_table(rows):
    slugs = rows.extra(order_by=["-tests_article.slug"])
    for queryset in (slugs, slugs[:7], slugs.annotate(n=Count("comments"))):
        assert_paths(listed(queryset, limit=20), [f"/articles/{row.slug}/" for row in queryset.all()])


@ON_POSTGRESQL
def test_rows_that_are_distinct_by_a_relation_need_no_order(using):
    for number in range(3):
        article = ArticleFactory(using=using, slug=f"a{number}")
        moment = datetime(2026, 1, 1 + number, tzinfo=timezone.utc)
        Event.objects.using(using).create(at=moment, price=number, article_id=article.pk)
    rows = Event.objects.using(using).distinct("article")
    assert_paths(listed(rows, location=by("pk")), {f"/{row.pk}/" for row in rows})


def on_both(items, **attributes):
    found = {"i18n": True, "items": lambda self: items(), "location": in_language, **attributes}
    return [declare(base, **found)() for base in (contrib.Sitemap, Sitemap)]


def answer(sitemap, number):
    """Return a paginator's page, or the error that it raises. Instances of raw querysets are not equal."""
    try:
        page = [*sitemap.paginator.page(number).object_list]
        page = [(getattr(item, "pk", item), code) for item, code in page]
        return sitemap.paginator.count, sitemap.paginator.num_pages, page
    except Exception as error:  # noqa: BLE001 whatever contrib raises, we raise too
        return type(error), str(error)


@given(
    items=st.lists(st.integers(0, 4), max_size=9),
    languages=st.lists(st.sampled_from(["en", "de", "fr"]), max_size=4),
    each=st.none() | st.lists(st.lists(st.sampled_from("xyz"), max_size=3), min_size=5, max_size=5),
    limit=st.integers(1, 12), number=st.integers(-1, 12), start=st.integers(0, 40),
    length=st.integers(0, 40),
)  # fmt: skip
def test_a_paginator_sees_what_contribs_list_holds(items, languages, each, limit, number, start, length):
    attributes = {"languages": languages, "limit": limit}
    if each is not None:
        attributes["get_languages_for_item"] = lambda self, item: each[item]
    theirs, ours = on_both(lambda: items, **attributes)
    assert answer(ours, number) == answer(theirs, number)
    theirs, ours = on_both(lambda: items, languages=TEN[: len(languages)])
    assert ours._items()[start : start + length] == theirs._items()[start : start + length]
    assert [*ours._items()] == theirs._items()


def test_a_project_can_use_its_items_as_the_list_that_they_were():
    """`_items()` and `paginator` may be overridden, and may call `super()`."""
    uses = [sitemap._items() for sitemap in on_both(lambda: ["a", "b"])]
    for items in uses:
        assert items + [("c", "en")] == [*items, ("c", "en")]  # noqa: RUF005 as in a project
        assert items == [*items]
    theirs, ours = ([i[0], i[-1], i[::2], i[3:1], [*reversed(i)]] for i in uses)
    assert ours == theirs
    for items in uses:
        items.sort(key=lambda pair: (pair[1], pair[0]))
    assert [*uses[1]] == uses[0]


UNION = Article.objects.filter(pk__lt=4).union(Article.objects.filter(pk__gt=2))
BY_PK = Article.objects.order_by("pk")


def evaluated():
    rows = BY_PK.all()
    len(rows)
    return rows


@pytest.mark.parametrize("each", [False, True], ids=["all", "each"])
@pytest.mark.parametrize("make", [
    *(lambda: BY_PK.reverse(), lambda: Article.objects.all(), lambda: BY_PK[1:6], evaluated),
    *(lambda: Article.objects.none(), lambda: BY_PK.values("slug"), lambda: BY_PK.distinct()),
    *(lambda: UNION.order_by("slug"), lambda: BY_PK.prefetch_related("tags"), lambda: iter("abcdefg")),
    lambda: Article.objects.raw("SELECT * FROM tests_article ORDER BY id"),
    lambda: dict.fromkeys("abcdefg"),
], ids=iter("abcdefghijkl"))  # fmt: skip
@pytest.mark.usefixtures("seven")
@pytest.mark.filterwarnings("ignore:Pagination may yield")
def test_a_paginator_sees_the_rows_that_contrib_sees(make, each):
    languages = {"get_languages_for_item": lambda self, item: SEVERAL[len(str(item)) % 7]} if each else {}
    for limit in (1, 2, 3, 5, 7, 30):
        theirs, ours = on_both(make, limit=limit, location="/", **languages)
        # Up to the first page after the last one.
        for number in range(1, 21 // limit + 3):
            assert answer(ours, number) == answer(theirs, number)


@pytest.mark.usefixtures("seven")
def test_a_paginator_counts_the_rows_and_reads_no_row_more_than_a_page_touches():
    """With three languages for each item, a page of four entries ends within an item.

    Contrib reads all rows for each page.
    """
    _, ours = on_both(BY_PK.all, limit=4)
    with CaptureQueriesContext(connection) as queries:
        found = ours.paginator.page(2).object_list
    assert [code for _, code in found] == ["de", "pt-br", "en", "de"]
    counting, reading = (query["sql"] for query in queries)
    assert "COUNT(" in counting
    assert reading.endswith("LIMIT 2 OFFSET 1")
    theirs, ours = on_both(lambda: UNION.order_by("slug")[:5])
    assert theirs.paginator.count == ours.paginator.count == 15


@pytest.mark.usefixtures("seven")
def test_a_paginator_counts_the_languages_of_each_item_and_keeps_no_item():
    alive, counts = weakref.WeakSet(), []

    def languages(self, item):
        alive.add(item)
        counts.append(len(alive))
        return ["en", "de"]

    _, ours = on_both(BY_PK.all, get_languages_for_item=languages)
    with mock.patch("django_sitemaps09.declare.contrib_pages.AT_A_TIME", 2):
        assert ours.paginator.count == 14
    assert max(counts) <= 4
    # `items()` can set the hooks. No row is in the language of its slug.
    set_by_items = {"items": lambda self: setattr(self, "item_language", F("slug")) or BY_PK.all()}
    assert declare(Sitemap, i18n=True, **set_by_items)().paginator.count == 0


@needs_resource
@pytest.mark.slow
@pytest.mark.parametrize(("alias", "shape"), [
    *(("default", "ranges"), ("default", "cursor"), ("postgresql", "ranges"), ("postgresql", "cursor")),
    # The driver keeps all rows of a query in memory, so only ranges are possible.
    *(("mariadb", "ranges"), ("mysql", "ranges")),
])  # fmt: skip
def test_the_index_holds_a_few_rows_at_a_time(alias, shape, tmp_path):
    """The section's `lastmod` is a method that is called for 131,072 rows, which would take 50 MB."""
    require(alias)
    environ = {**os.environ, "SITEMAPS09_FILE": str(tmp_path / "rows.sqlite3")}
    started_process = started("-m", "tests.support.memory", alias, "17", shape, environ=environ)
    status, output, errors = ended(started_process, 100)
    assert status == 0, errors
    grown, most = map(float, output.split())
    assert grown < 20
    assert most < 120
