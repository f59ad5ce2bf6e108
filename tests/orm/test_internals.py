"""Undocumented parts of Django that this package needs: the name of a failed test says what has changed."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import EmptyResultSet
from django.db import DatabaseError, connection, connections
from django.db.models import Case, Count, F, JSONField, Max, Prefetch, Q, QuerySet, SlugField, When
from django.db.models.lookups import GreaterThan
from django.http import HttpResponse
from django.middleware.cache import CacheMiddleware
from django.urls import get_resolver, include, path, reverse

import django_sitemaps09
from django_sitemaps09.orm import internals
from tests.models import Article, Category, Child, Comment
from tests.support.databases import MYSQLS, execute, parameter

PACKAGE = Path(django_sitemaps09.__file__).parent
pytestmark = pytest.mark.django_db


@pytest.fixture
def articles():
    category = Category.objects.create(slug="c")
    for number in range(4):
        Comment.objects.create(article=Article.objects.create(slug=f"a{number}", category=category))
    return Article.objects.order_by("pk")


def slugs(rows):
    return [row.slug for row in rows]


def test_is_fetched_and_has_database(articles):
    assert not internals.is_fetched(articles)
    list(articles)
    assert internals.is_fetched(articles)
    every = (Article.objects.all(), Article.objects.using("default"), Article.objects.raw("SELECT 1"))
    assert [internals.has_database(rows) for rows in every] == [False, True, True]


def test_copy_fetched(articles, django_assert_num_queries):
    articles = articles.prefetch_related("comments")
    for number, row in enumerate(articles):
        row.slug = f"b{number}"
    with django_assert_num_queries(0):
        rows = internals.copy_fetched(articles)
        assert [(row.slug, len(row.comments.all())) for row in rows] == [(f"b{n}", 1) for n in range(4)]
    rows[0].slug = "other"
    assert articles[0].slug == "b0"
    records = articles.values("slug")
    next(iter(records))["slug"] = "b0"
    internals.copy_fetched(records)[0]["slug"] = "other"
    assert records[0]["slug"] == "b0"


@pytest.mark.parametrize("name", ["__iter__", "_fetch_all", "_iterator", "iterator"])
def test_fetches_plainly(name):
    own = type("Own", (QuerySet,), {name: lambda self, *args, **kwargs: getattr(super(), name)()})
    assert internals.fetches_plainly(Article.objects.all())
    assert not internals.fetches_plainly(own(Article))


@pytest.mark.parametrize("on_server", [False, True])
def test_iterate_keeps_nothing_and_can_be_closed(articles, on_server):
    rows = internals.iterate(articles, 2, on_server=on_server)
    assert (next(rows).slug, slugs(rows)) == ("a0", ["a1", "a2", "a3"])
    rows.close()
    assert not internals.is_fetched(articles)


def test_gives_instances_and_has_prefetches(articles):
    skipping = articles.all()
    skipping._iterable_class = type("Skipping", (skipping._iterable_class,), {})
    kinds = (articles, skipping, articles.values("slug"), articles.values_list("slug"))
    assert [internals.gives_instances(rows) for rows in kinds] == [True, True, False, False]
    assert [internals.gives_instances(rows, plainly=True) for rows in kinds[:2]] == [True, False]
    assert not internals.has_prefetches(articles)
    assert internals.has_prefetches(articles.prefetch_related("comments"))


def test_copy_loading(articles, django_assert_num_queries):
    others = articles.select_related("category").only("slug", "category").prefetch_related("comments")
    with django_assert_num_queries(2):
        [row, *_] = internals.copy_loading(Article.objects.order_by("pk"), others)
        assert (row.category.slug, row.comments.all()[0].article_id) == ("c", row.pk)
    assert row.get_deferred_fields() == articles.only("slug", "category")[0].get_deferred_fields()


def test_compile_query(articles):
    rows = articles.values_list("slug", "updated")
    sql, parameters, converted = internals.compile_query(rows, connection)
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        fetched = cursor.fetchall()
    assert [tuple(row) for row in converted(fetched)] == list(rows)
    with pytest.raises(EmptyResultSet):
        internals.compile_query(articles.none(), connection)


def test_add_condition_and_filter_first(articles):
    rows = internals.add_condition(articles, GreaterThan(F("pk"), articles[1].pk))
    assert (slugs(rows), slugs(articles)) == (["a2", "a3"], ["a0", "a1", "a2", "a3"])
    rows = internals.filter_first(articles.filter(slug__gte="a1"), pk__lte=articles[2].pk)
    assert slugs(rows) == ["a1", "a2"]
    sql, *_ = internals.compile_query(rows, connection)
    clause = sql.partition("WHERE")[2]
    assert clause.index('"id"') < clause.index('"slug"')


def test_remove_order_and_reorder(articles):
    rows = internals.remove_order(articles.reverse())
    assert not rows.ordered
    assert slugs(rows.order_by("pk")) == ["a0", "a1", "a2", "a3"]
    rows = internals.reorder(articles[:3], "-slug")
    assert slugs(rows) == ["a3", "a2", "a1"]
    with pytest.raises(TypeError):
        articles[:3].order_by("-slug")


def test_order_columns_and_having_columns(articles):
    query, columns = internals.order_columns(articles.order_by("comments__pk", "slug").values("pk"))
    assert {column.target.column for column in columns} == {"id", "slug"}
    assert internals.to_many_aliases(query) == {"tests_comment"}
    assert internals.having_columns(articles.query) == []
    counted = articles.annotate(n=Count("comments")).filter(Q(n__gt=0) | Q(slug="a1"))
    assert [c.target.column for c in internals.having_columns(counted.query)] == ["slug"]


def test_to_many_aliases_and_to_many_joins(articles):
    assert internals.to_many_aliases(articles.filter(category__slug="c").query) == set()
    assert internals.to_many_aliases(articles.filter(comments__pk__gt=0).query) == {"tests_comment"}
    query = articles.annotate(x=Max("comments__article__category__slug"), n=Count("tags")).query
    columns = [internals.columns_in([query.annotations[name]]) for name in "xn"]
    joins = [internals.to_many_joins(query, [column.alias for column in part]) for part in columns]
    assert joins == [{"tests_comment"}, {"tests_article_tags"}]
    assert internals.to_many_joins(query) == {"tests_comment", "tests_article_tags"}
    assert internals.to_many_joins(articles.filter(category__slug="c").query) == frozenset()


def test_group_columns_and_columns_in(articles):
    counted = articles.annotate(n=Count("pk")).filter(Q(n__gt=0) | Q(comments__pk__gt=0))
    assert "tests_comment" in {column.alias for column in internals.group_columns(counted.query)}
    assert list(internals.group_columns(articles.query)) == []
    chosen = articles.annotate(x=Case(When(category__slug="c", then=F("slug"))))
    columns = internals.columns_in([chosen.query.annotations["x"]])
    assert {column.alias for column in columns} == {"tests_article", "tests_category"}


def test_shared_between_threads(articles):
    def ask(held=connections["default"]):
        return held.cursor().execute("SELECT 1")

    with ThreadPoolExecutor(1) as pool:
        with internals.shared_between_threads(connections["default"]):
            assert pool.submit(ask).result()
        with pytest.raises(DatabaseError):
            pool.submit(ask).result()


class TestPatterns:
    def test_find_namespace_and_prefixed_resolver(self):
        outer = get_resolver("tests.urls")
        app = next(iter(outer.app_dict))
        inner = internals.find_namespace(outer, [app])
        assert internals.reverse_names(inner.resolver)
        with pytest.raises(internals.UnknownNamespaceError, match="missing"):
            internals.find_namespace(outer, ["missing"])
        inner = internals.prefixed_resolver(internals.find_namespace(outer, [app]))
        [*_, name] = internals.reverse_names(inner)
        assert internals.reverse_candidates(inner, name)
        assert internals.prefixed_resolver(internals.find_namespace(outer, [])) is outer
        urls = include(([path("x", HttpResponse, name="x")], "app"), namespace="a")
        several = (path("a/", urls), path("b/", (*urls[:2], "b")))
        found = internals.find_namespace(get_resolver(several), ["app"])
        assert reverse("app:x", several) == f"/{found.prefix}x"

    def test_reverse_candidates_and_reverse_names(self):
        resolver = get_resolver("tests.urls")
        [(possibilities, regex, defaults, converters)] = internals.reverse_candidates(resolver, "article")
        [(template, parameters)] = possibilities
        path = reverse("article", urlconf="tests.urls", kwargs={"slug": "a"})
        assert "/" + template % {"slug": "a"} == path
        assert (parameters, defaults) == (["slug"], {})
        assert "slug" in regex
        assert "slug" in converters
        assert {"article", "about"} <= {*internals.reverse_names(get_resolver("tests.urls"))}


class TestFields:
    def test_plain_field(self, monkeypatch):
        for model, name, field, relation in (
            (Article, "slug", "slug", None), (Article, "category", "category", Category),
            (Article, "category_id", "category", None), (Article, "pk", "id", None),
            (Child, "name", "name", None),
        ):  # fmt: skip
            found = internals.plain_field(model, name)
            assert found == (model._meta.get_field(field), name, relation, False)
        for name in ("comments", "get_absolute_url", "missing", "objects"):
            assert internals.plain_field(Article, name) is None
        monkeypatch.setattr(Article, "pk", property(lambda self: 1))
        assert internals.plain_field(Article, "pk") is None

    def test_value_kind(self):
        names = ("id", "slug", "published", "updated", "category")
        kinds = [internals.value_kind(Article._meta.get_field(name)) for name in names]
        assert kinds == ["integer", "text", "boolean", "datetime", "integer"]
        assert internals.value_kind(JSONField()) is None
        assert internals.value_kind(type("Plain", (SlugField,), {})()) == "text"
        own = type("Lowered", (SlugField,), {"from_db_value": lambda self, value, *args: value.lower()})
        assert internals.value_kind(own()) is None

    def test_overridden(self):
        meta = type("Meta", (), {"abstract": True})
        own = type("Own", (Article,), {"__module__": __name__, "Meta": meta})
        assert internals.overridden(Article) == internals.overridden(own) == []
        own.from_db = classmethod(lambda cls, *args: None)
        assert internals.overridden(own) == ["from_db"]

    def test_assigned_names(self):
        lookups = ("comments__article", Prefetch("comments", to_attr="all_comments"))
        rows = Article.objects.annotate(total=Count("comments")).prefetch_related(*lookups)
        assert internals.assigned_names(rows) == {"total", "comments", "article", "all_comments"}
        category = Category.objects.create(slug="c")
        assert internals.assigned_names(category.article_set.all()) == {"category"}

    def test_compares_exactly(self, using):
        """The usual collations of MariaDB and MySQL ignore case."""
        assert internals.compares_exactly(Article._meta.get_field("slug"), using) == (using not in MYSQLS)

    @pytest.mark.parametrize("using", [parameter("mysql", transaction=True)], indirect=True)
    def test_compares_exactly_by_a_binary_collation_of_mysql(self, using):
        change = "ALTER TABLE tests_article MODIFY slug varchar(120) COLLATE {} NOT NULL"
        try:
            execute(using, change.format("utf8mb4_0900_bin"))
            assert internals.compares_exactly(Article._meta.get_field("slug"), using)
        finally:
            execute(using, change.format("utf8mb4_0900_ai_ci"))

    @pytest.mark.django_db
    @pytest.mark.parametrize("collation", ["COLLATE NOCASE", "collate rtrim", ""])
    def test_compares_exactly_by_the_collation_of_the_column(self, collation):
        execute("default", "ALTER TABLE tests_article RENAME COLUMN slug TO old_slug")
        execute("default", f"ALTER TABLE tests_article ADD COLUMN slug varchar(10) DEFAULT '' {collation}")
        assert internals.compares_exactly(Article._meta.get_field("slug"), "default") == (not collation)


def test_queries_have_what_the_package_reads_of_them():
    query = Article.objects.all().query
    names = {*re.findall(r"\bquery\.(\w+)", "".join(path.read_text() for path in PACKAGE.rglob("*.py")))}
    assert {"combinator", "is_sliced", "distinct_fields", "annotations", "where", "group_by"} <= names
    assert {name for name in names if not hasattr(query, name)} == set()


def test_each_function_has_a_test_of_its_name():
    texts = [Path(path).read_text() for path in (internals.__file__, __file__)]
    functions, tests = (re.findall(r"\bdef (\w+)", text) for text in texts)
    missing = [name for name in functions if not any(name in test for test in tests)]
    assert [name for name in missing if name[0] != "_"] == []


def test_skip_cache_update(rf):
    """Otherwise, a response without content would be sent to unconditional requests."""
    middleware = CacheMiddleware(lambda request: HttpResponse(), cache_timeout=60)
    for skips in (True, False):
        request = rf.get(f"/{skips}")
        assert middleware.process_request(request) is None
        if skips:
            internals.skip_cache_update(request)
        middleware.process_response(request, HttpResponse())
        assert (middleware.process_request(rf.get(f"/{skips}")) is None) == skips


def test_template_value():
    assert internals.template_value("text") == "text"
    assert internals.template_value(lambda: "called") == "called"
    assert internals.template_value(lambda item: "not called") == ""
