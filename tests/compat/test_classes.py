"""Our base classes offer projects what contrib's offer, also where no view calls them."""

from __future__ import annotations

import copy
import importlib
from datetime import date, datetime

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import F, Value
from django.http import HttpResponse
from django.test import RequestFactory, modify_settings
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import GenericSitemap, ModelSitemap, NewsSitemap, Sitemap, StaticViewSitemap, views
from tests.compat.cases import COMPAT_BASES, LEAVES, SHOP, UTC, section, stated, updated
from tests.compat.projects import UPDATED, outcome, texts
from tests.compat.test_answers import Host
from tests.models import Article
from tests.support.factories import ArticleFactory
from tests.support.sections import declare

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("articles")]
KEYS = ["item", "location", "lastmod", "changefreq", "priority", "alternates"]
OURS = [Sitemap, GenericSitemap, ModelSitemap, NewsSitemap, StaticViewSitemap]


def plain(bases):
    return section(bases, LEAVES, lastmod=updated)()


def shop(**attributes):
    """Return a section with expressions as hooks."""
    return stated(**SHOP | attributes)(COMPAT_BASES)()


def generic(bases, **info):
    return bases.GenericSitemap({"queryset": Article.objects.order_by("pk"), **info})


@pytest.mark.parametrize("kind", OURS)
def test_a_class_of_ours_is_a_subclass_of_contribs_and_adds_no_name_that_can_collide(kind):
    assert issubclass(kind, (Sitemap, contrib.Sitemap))
    assert issubclass(kind, contrib.GenericSitemap) == (kind is GenericSitemap)
    private = {name for cls in kind.__mro__ for name in vars(cls) if name.startswith("_")}
    added = private - set(dir(contrib.GenericSitemap))
    assert {name for name in added if not name.startswith(("__", "_sitemaps09_"))} <= {"_is_protocol"}


def test_a_sitemap_has_every_name_of_contribs_with_its_default_and_no_hook_more(bases):
    for name in dir(contrib.Sitemap):
        theirs = getattr(contrib.Sitemap, name)
        is_value = not name.startswith("__") and not callable(theirs) and not isinstance(theirs, property)
        assert hasattr(Sitemap, name)
        assert not is_value or getattr(Sitemap, name) == theirs
    for name in ("lastmod", "changefreq", "priority", "latest_lastmod"):
        assert not hasattr(bases.Sitemap(), name)


@pytest.mark.parametrize(
    "name", ["django.contrib.sitemaps.views", "django_sitemaps09.views", "django_sitemaps09.views.compat"]
)
def test_a_project_can_write_its_own_index_with_the_names_of_contribs_module(name):
    module = importlib.import_module(name)
    newest = None
    for lastmod in (date(2026, 2, 1), datetime(2026, 3, 1, 12), datetime(2026, 1, 1, tzinfo=UTC)):
        newest = module._get_latest_lastmod(newest, lastmod)
    # A naive time is in UTC there.
    assert newest == datetime(2026, 3, 1, 12, tzinfo=UTC)

    @module.x_robots_tag
    def index(request, sitemaps):
        items = [module.SitemapIndexItem(location, last_mod=newest) for location in sitemaps]
        return HttpResponse(f"{items[0].location} {items[0].last_mod:%Y-%m-%d}")

    response = index(RequestFactory().get("/"), ["/a.xml"])
    found = (response.content, response.headers["X-Robots-Tag"], index.__name__)
    assert found == (b"/a.xml 2026-03-01", "noindex, noodp, noarchive", "index")


def test_get_reads_any_hook_that_a_project_adds_or_returns_the_default(bases):
    made = section(bases, LEAVES, rating=5, title=lambda self, item: item.slug.upper())()
    found = [made._get(name, LEAVES[0]) for name in ("rating", "title", "none")]
    assert found == [5, "OAK", None]
    assert (made._get("none", LEAVES[0], "a"), made._get(name="none", item=LEAVES[0], default=3)) == (
        "a",
        3,
    )


def test_a_mixin_can_extend_contribs_class():
    class Theirs(contrib.Sitemap):
        limit = 1

        def location(self, item):
            return "/theirs" + super().location(item)

    both = type("Both", (Theirs, Sitemap), {"items": lambda self: LEAVES})
    assert [url["location"] for url in both().get_urls(2, Host())] == [
        "https://shop.example.org/theirs/leaf/elm/"
    ]


def never(*args):
    raise AssertionError


def test_names_that_mean_something_to_native_views_mean_nothing_to_compatibility_views(bases):
    """A project may already have attributes with these names."""
    names = {"key": "anything", "images": "not callable", "model": None, "videos": never, "news": never}
    named = section(bases, LEAVES, **names)
    expected = [f"https://shop.example.org/leaf/{leaf.slug}/" for leaf in LEAVES]
    assert [url["location"] for url in named().get_urls(site=Host())] == expected
    made = views.sitemap(RequestFactory().get("/"), {"one": named}).render()
    assert len(texts(made.content, "loc")) == 3


def test_get_urls_returns_plain_dicts_with_the_items_themselves_and_reads_them_once(bases):
    calls, made = [], plain(bases)
    made.items = lambda: calls.append(1) or LEAVES
    found = made.get_urls()
    assert calls == [1]
    assert [(type(url), list(url), id(url["item"])) for url in found] == [
        (dict, KEYS, id(leaf)) for leaf in LEAVES
    ]
    assert copy.copy(plain(bases)).get_urls() == copy.deepcopy(plain(bases)).get_urls() == found


@pytest.mark.parametrize("make", [lambda b: section(b, Article.objects.order_by("pk"))(), generic])
def test_a_class_without_a_site_misses_it_before_it_reads_items(bases, make):
    Site.objects.all().delete()
    Site.objects.clear_cache()
    found = make(bases)
    found.items = never
    with pytest.raises(ImproperlyConfigured, match="enable the sites framework or pass a Site"):
        found.get_urls()
    with modify_settings(INSTALLED_APPS={"remove": ["django.contrib.sites", "django.contrib.flatpages"]}):
        with pytest.raises(ImproperlyConfigured, match="enable the sites framework or pass a Site"):
            make(bases).get_urls()
        assert len(make(bases).get_urls(site=Host())) == 5


def test_a_generic_sitemap_keeps_its_arguments_and_no_row(bases):
    rows = Article.objects.all()
    values = {"priority": 0.6, "changefreq": "monthly", "protocol": "http"}
    with CaptureQueriesContext(connection) as queries:
        made = bases.GenericSitemap(info_dict={"queryset": rows, "date_field": "updated"}, **values)
    assert (len(queries), made.queryset is rows, made.date_field) == (0, True, "updated")
    assert {name: getattr(made, name) for name in values} == values
    empty = bases.GenericSitemap({"queryset": None})
    assert [getattr(empty, name) for name in ("date_field", *values)] == [None] * 4
    assert empty.lastmod(LEAVES[0]) is empty.get_latest_lastmod() is None
    assert outcome(lambda: bases.GenericSitemap({})) == (KeyError, "'queryset'")
    # An instance that is created at import sees rows that were added later.
    assert len(generic(bases).get_urls()) == 5
    made = generic(bases, date_field="updated")
    ArticleFactory(slug="later")
    assert (len(made.get_urls()), made.queryset._result_cache) == (6, None)
    with CaptureQueriesContext(connection) as queries:
        assert made.get_latest_lastmod() == UPDATED["gamma-ü"]
    assert len(queries) == 1


def test_items_of_expressions_are_instances_whose_fields_are_their_own():
    names = {name: Value(name) for name in ("location", "lastmod", "priority", "changefreq")}
    found = shop(rows=Article.objects.order_by("pk").annotate(**names)).get_urls()
    for url in found:
        item = url["item"]
        assert (type(item), list(url)) == (Article, KEYS)
        assert [getattr(item, name) for name in names] == [*names]
        assert item.get_absolute_url() == f"/articles/{item.slug}/"
        assert url["lastmod"] == item.updated
        item.slug = "changed"
        item.save()
    assert Article.objects.filter(slug="changed").count() == len(found) == 5


def test_a_hook_for_further_elements_adds_its_key():
    assert [url["news"] for url in shop(news=lambda self, item: None).get_urls()] == [None] * 5


@pytest.mark.parametrize("attributes", [{}, {"changefreq": Value("daily")}], ids=["class", "instance"])
def test_the_rows_of_a_page_are_queried_once(attributes):
    made = shop()
    vars(made).update(attributes)
    with CaptureQueriesContext(connection) as queries:
        found = made.get_urls(site=Host())
    assert {url["changefreq"] for url in found} == {"daily" if attributes else "weekly"}
    assert len(queries) == 2  # the paginator's count, and the rows


@pytest.mark.parametrize(
    ("attributes", "newest"),
    [
        ({"rows": Article.objects.filter(updated__isnull=False)}, UPDATED["gamma-ü"]),
        ({"rows": Article.objects.filter(day__isnull=False), "lastmod": F("day")}, date(2025, 1, 4)),
        ({}, None),
        ({"rows": Article.objects.none()}, None),
    ],
    ids=["times", "dates", "a row without a time", "no row"],
)
def test_the_newest_time_is_read_in_the_database(attributes, newest):
    with CaptureQueriesContext(connection) as queries:
        assert shop(**attributes).get_latest_lastmod() == newest
    assert len(queries) <= 2


@pytest.mark.parametrize(
    "declared",
    [
        declare(Sitemap, lastmod=F("updated"), items=lambda self: [Article()]),
        declare(queryset=Article.objects.all),
    ],
    ids=["items", "queryset"],
)
def test_rows_that_are_not_a_queryset_are_refused_clearly(declared):
    with pytest.raises(ImproperlyConfigured, match=r"Declared.*queryset"):
        declared().get_urls(site=Host())
