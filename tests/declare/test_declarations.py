"""What a class declares before it is used: its locations, its items, and their order."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Case, Count, F, Max, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Lower
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import translation

from django_sitemaps09 import GenericSitemap, ModelSitemap, Route, Sitemap, StaticViewSitemap, views
from django_sitemaps09.declare.annotations import annotate, column
from django_sitemaps09.export import export
from tests.models import Article, Category, Recent
from tests.support.factories import NEWEST, ArticleFactory, CategoryFactory, hours_before
from tests.support.internals import alias
from tests.support.sections import declare, listing


def test_a_location_is_that_of_the_item_if_nothing_else_is_declared_or_a_clear_error():
    item = Article(slug="a")
    for base in (Sitemap, ModelSitemap, GenericSitemap):
        section = base.__new__(base)
        assert section.location(item) == section.default_location(item) == "/articles/a/"

    class Longer(Sitemap):
        def location(self, item):
            return f"{self.default_location(item)}?from=sitemap"

    class Other(Sitemap):
        def default_location(self, item):
            return f"/other{super().default_location(item)}"

    assert Longer().location(item) == "/articles/a/?from=sitemap"
    assert Other().location(item) == "/other/articles/a/"
    way = r"get_absolute_url.*Sitemap has no `location`: define `def location\(self, item\)`"
    with pytest.raises(AttributeError, match=f"{way}$"):
        Sitemap().location(Category(slug="a"))
    with pytest.raises(AttributeError, match=f"{way}, or use StaticViewSitemap for view names$"):
        Sitemap().location("a")


def returning(value, base=Sitemap, method="items", **attributes):
    methods = {method: lambda self: value() if callable(value) else value}
    return type("Own", (base,), {"location": lambda self, item: "/a/", **methods, **attributes})


NO_RETURN = "Own.items() returned None. Add `return` before its queryset or list."
NO_QUERYSET = "Own.items() must return a queryset, such as `Article.objects.all()`, not "
GENERIC = "GenericSitemap.queryset must be a queryset, such as `Article.objects.all()`, not "
CATEGORY = "Own.queryset must be a queryset, such as `Category.objects.all()`, not the class Category."
OWN_METHOD = "Own.get_queryset() returned None. Add `return` before its queryset or list."
WRONG = [
    (lambda: returning(None), NO_RETURN), (lambda: returning(None, i18n=True), NO_RETURN),
    (lambda: returning(None, lastmod=F("updated")), NO_RETURN),
    (lambda: returning(None, ModelSitemap, "get_queryset"), OWN_METHOD),
    (lambda: returning(lambda: Article.objects), f"{NO_QUERYSET}Manager."),
    (lambda: returning(lambda: Article), f"{NO_QUERYSET}the class Article."),
    (lambda: returning(5), f"{NO_QUERYSET}int."),
    (lambda: type("Own", (ModelSitemap,), {"queryset": Category}), CATEGORY),
    (lambda: type("Own", (ModelSitemap,), {"queryset": None}), "Own has no queryset: set"),
    (lambda: GenericSitemap({"queryset": Article}), f"{GENERIC}the class Article."),
    (lambda: GenericSitemap({"queryset": None}), f"{GENERIC}NoneType."),
]  # fmt: skip


@pytest.mark.django_db
@pytest.mark.sitemaps09
@pytest.mark.parametrize(("make", "message"), WRONG, ids=range(len(WRONG)))
def test_items_that_are_not_iterable_say_what_to_write(make, message, tmp_path, register):
    register(x=make())
    [section] = export(output=tmp_path).sections
    assert (section.failure or "").startswith(f"ImproperlyConfigured: {message}")
    djangos_page = lambda: views.sitemap(RequestFactory().get("/"), {"x": make()})  # noqa: E731
    for call in (lambda: Client().get("/sitemap-x-1.xml"), djangos_page):
        with pytest.raises(ImproperlyConfigured) as raised:
            call()
        assert str(raised.value).startswith(message)
    # A class of contrib says so too.
    [section] = export(output=tmp_path, sitemaps={"x": returning(None, contrib.Sitemap)}).sections
    assert section.failure == f"ImproperlyConfigured: {NO_RETURN}"


ITERABLES = {
    "a generator": lambda: (item for item in "ab"), "a set": lambda: {"a", "b"},
    "a dict": lambda: {"a": 1, "b": 2}, "values of a dict": lambda: {1: "a", 2: "b"}.values(),
    "a tuple": lambda: ("a", "b"),
}  # fmt: skip


@pytest.mark.django_db
@pytest.mark.sitemaps09
@pytest.mark.parametrize("name", ITERABLES)
@pytest.mark.parametrize("i18n", [False, True])
def test_items_can_be_any_iterable(name, i18n, tmp_path, register):
    """Deviation 15: contrib needs a length and slices."""
    own = {"i18n": i18n, "languages": ["en"], "location": lambda self, item: f"/{item}/"}
    section = returning(ITERABLES[name], **own)
    register(x=section)
    assert export(output=tmp_path).urls == 2
    assert Client().get("/sitemap-x-1.xml").content.count(b"<loc>") == 2
    for _ in range(2):
        answer = views.sitemap(RequestFactory().get("/"), {"x": section}).render()
        assert answer.content.count(b"<loc>") == 2


ROWS = [
    {"model": Article}, {"queryset": Article.objects.all()}, {"queryset": Article.objects},
    {"get_queryset": lambda self: Article.objects.all()}, {"model": Recent},
]  # fmt: skip


@pytest.fixture
def articles(db):
    return [ArticleFactory(slug=f"S{n}", updated=hours_before(-n), published=n != 2) for n in (3, 1, 2)]


@pytest.mark.parametrize("rows", ROWS, ids=range(len(ROWS)))
def test_rows_of_a_model_a_queryset_or_a_method_are_queried_each_time(rows, articles):
    section = declare(**rows)()
    assert {item.pk for item in section.items()} == {item.pk for item in articles}
    ArticleFactory(slug="later")
    assert len(section.items()) == len(declare(**rows)().items()) == 4


@pytest.mark.parametrize("rows", ROWS, ids=range(len(ROWS)))
def test_making_a_sitemap_and_its_items_does_not_query_the_database(rows, monkeypatch):
    def refuse(self):
        raise AssertionError("a declaration has opened a connection")

    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection", refuse)
    section = declare(**rows, lastmod=F("updated"))()
    assert isinstance(section.items(), QuerySet)
    assert isinstance(annotate(section, section.items()), QuerySet)


@pytest.mark.parametrize(
    ("attributes", "names"),
    [({"model": Article}, ["S3", "S1", "S2"]), ({"model": Article, "key": "updated"}, ["S3", "S1", "S2"]),
     ({"model": Article, "queryset": Article.objects.filter(published=True)}, ["S3", "S1"]),
     ({"queryset": Article.objects.order_by("-slug")}, ["S3", "S2", "S1"]),
     ({"queryset": Article.objects.order_by("-slug"), "key": "updated"}, ["S3", "S2", "S1"]),
     ({"model": Recent}, ["S3", "S2", "S1"]),
     ({"queryset": Recent.objects.order_by(), "key": "updated"}, ["S3", "S1", "S2"])],
    ids=range(7),
)  # fmt: skip
def test_items_have_the_order_of_the_queryset_else_that_of_the_primary_key(attributes, names, articles):
    assert [item.slug for item in declare(**attributes)().items()] == names


def test_a_class_without_rows_says_each_way_to_give_it_some():
    ways = r"Declared.*`queryset`.*`model`.*`get_queryset\(\)`.*`items\(\)`"
    with pytest.raises(ImproperlyConfigured, match=ways):
        declare()().items()


def test_the_items_of_a_section_of_views_are_a_list_of_its_own():
    section = declare(StaticViewSitemap, viewnames=["about"])()
    section.items().append("home")
    assert (section.items(), declare(StaticViewSitemap)().items()) == (["about"], [])


SITE = SimpleNamespace(domain="www.example.com")
#: A path that is too long only together with the host. Contrib writes it.
LONG = f"/{'x' * 2_039}/"


def section_of(*items, **attributes):
    links = lambda self, item: [("en", item), ("de", f"https://example.de{item}")]  # noqa: E731
    return listing(items, location=lambda self, item: item, alternates=links, **attributes)


def test_long_links_stay_as_contrib_has_long_locations_even_on_a_site_whose_domain_is_unicode():
    [url] = section_of(LONG)().get_urls(site=SITE, protocol="https")
    assert url["location"] == f"https://www.example.com{LONG}"
    links = [("en", f"https://www.example.com{LONG}"), ("de", f"https://example.de{LONG}")]
    assert url["alternates"] == [{"lang_code": code, "location": link} for code, link in links]
    [url] = section_of(LONG)().get_urls(site=SimpleNamespace(domain="bücher.example"), protocol="https")
    assert url["location"] == f"https://bücher.example{LONG}"
    assert url["alternates"][0]["location"] == f"https://xn--bcher-kva.example{LONG}"


@pytest.mark.django_db
def test_a_section_without_languages_has_no_entries():
    ArticleFactory()
    sitemap = declare(model=Article, i18n=True, languages=[], location=Route("home"))()
    assert (sitemap.get_urls(site=SITE, protocol="https"), sitemap.paginator.count) == ([], 0)


class Named(str):
    def __str__(self):
        return f"item in {translation.get_language()}"


@pytest.mark.parametrize("error", [None, DatabaseError, InterfaceError])
def test_skipped_entries_are_logged_in_the_language_of_the_site_even_if_another_hook_fails(error, caplog):
    def images(self, item):
        raise error("the connection is closed")

    with translation.override("de"):
        if error is None:
            assert section_of(Named(".evil.com/"))().get_urls(site=SITE, protocol="https") == []
        else:
            with pytest.raises(error):
                section_of(Named(".evil.com/"), LONG, images=images)().get_urls(site=SITE, protocol="https")
    assert "Skipped item item in en, location: " in caplog.text
    assert "does not begin with a slash, so its URL is not on https://www.example.com" in caplog.text


EXPRESSIONS = {
    "F": F("updated"), "relation": F("category__slug"), "Lower": Lower("slug"),
    "Coalesce": Coalesce("updated", Value(NEWEST)),
    "Case": Case(When(published=True, then=Value("daily")), default=Value("never")),
    "arithmetic": F("weight") * 2,
    "subquery": Subquery(Article.objects.filter(pk=OuterRef("pk")).values("slug")), "value": Value("a"),
    "newest": Max("visits__at"), "count": Count("visits"),
}  # fmt: skip


@pytest.mark.django_db
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_row_without_annotations_is_queried_for_the_same_values_once(expression):
    article = ArticleFactory(slug="S", category=CategoryFactory(), weight="0.3", updated=hours_before(2))
    for number in range(2):
        article.visits.create(at=hours_before(number))
    value, rows = EXPRESSIONS[expression], Article.objects.filter(pk=article.pk)
    field = "priority" if expression == "count" else "lastmod"
    section = declare(model=Article, **{field: value})()
    expected = column(value, alias(field), annotate(section, section.items()).get())
    assert expected == {"newest": NEWEST, "count": 2}.get(expression, expected)
    # Rows that the project queried itself.
    raw = Article.objects.raw("SELECT * FROM tests_article WHERE id = %s", [article.pk])[0]
    union = rows.union(Article.objects.none(), all=True).get()
    for item in (rows.get(), rows.only("pk").get(), Recent.objects.get(pk=article.pk), union, raw):
        assert column(value, alias(field), item) == expected
        with CaptureQueriesContext(connection) as queries:
            assert column(value, alias(field), item) == expected
        assert len(queries) == 0
