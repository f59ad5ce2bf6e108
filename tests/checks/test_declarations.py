"""Checks of declarations: each rule has its id."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.auth.models import AbstractUser
from django.contrib.flatpages.models import FlatPage
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.models import (
    CharField,
    Count,
    DateTimeField,
    F,
    FloatField,
    Func,
    Max,
    Min,
    Q,
    QuerySet,
    Subquery,
    Value,
    Window,
)
from django.db.models.functions import Cast, Coalesce, Concat, Lower, Random, Rank
from django.test import override_settings
from django.urls import path, re_path
from django.utils.functional import SimpleLazyObject, cached_property

import tests.urls
from django_sitemaps09 import (
    Extension,
    GenericSitemap,
    ModelSitemap,
    PathTemplate,
    Route,
    Sitemap,
    StaticViewSitemap,
    checks,
    register,
    sections,
)
from django_sitemaps09.checks import check_declarations
from django_sitemaps09.protocol import INDEX_LIMITS, parse_base
from django_sitemaps09.sitemaps import NewsSitemap
from django_sitemaps09.sources import source
from tests.models import Article, Category, Name, Reading, Tag, Visit
from tests.support.checking import SLUG, Declared, declaration, ids, ids_of, takes, unread
from tests.support.databases import require

pytestmark = pytest.mark.usefixtures("nothing_is_asked")

INVALID: Mapping[str, tuple[dict[str, Any], str]] = {
    "lastmod is a plain string": ({"location": SLUG, "lastmod": "2026-01-01"}, "E010"),
    "unknown changefreq": ({"location": SLUG, "changefreq": "sometimes"}, "E011"),
    "priority out of range": ({"location": SLUG, "priority": 1.1}, "E012"),
    "priority is no number": ({"location": SLUG, "priority": "high"}, "E012"),
    "limit is no number": ({"location": SLUG, "limit": 0}, "E013"),
    "limit is missing": ({"location": SLUG, "limit": None}, "E013"),
    "limit is a text of no number": ({"location": SLUG, "limit": "sixty"}, "E013"),
    "limit is a signalling NaN": ({"location": SLUG, "limit": Decimal("sNaN")}, "E013"),
    "limit over the protocol's": ({"location": SLUG, "limit": 50_001}, "W015"),
    "limit over the protocol's as a text": ({"location": SLUG, "limit": "50001"}, "W015"),
    "route without an expression": ({"location": Route("about")}, "E020"),
    "a template without an expression": ({"location": PathTemplate("/a/{b}/", b=1)}, "E020"),
    "a path for all rows": ({"location": "/a/"}, "E020"),
    "unknown route": ({"location": Route("nowhere", slug=F("slug"))}, "E021"),
    "unknown namespace": ({"location": Route("no:where", slug=F("slug"))}, "E021"),
    "a template with an unknown field": ({"location": PathTemplate("/{a}/", a=F("no"))}, "E034"),
    "unknown route argument": ({"location": Route("article", name=F("slug"))}, "E021"),
    "too many route arguments": ({"location": Route("article", F("slug"), F("pk"))}, "E021"),
    "unknown route in a language": (
        {"location": {"en": Route("no", slug=F("slug"))}, "i18n": True},
        "E021",
    ),
    "locations by language without i18n": ({"location": {"en": SLUG}}, "E024"),
    "a language without a location": (
        {"location": {"en": SLUG}, "i18n": True, "languages": ["de"]},
        "E024",
    ),
    "a constant location in a language": ({"location": {"en": None}, "i18n": True}, "E024"),
    "unknown field in a language": ({"location": {"en": F("name")}, "i18n": True}, "E034"),
    "unknown field as a language": ({"location": SLUG, "item_language": F("name")}, "E034"),
    "no rows": ({"model": None, "location": SLUG}, "E030"),
    "no such key": ({"location": SLUG, "key": "nothing"}, "E032"),
    "key that is no name": ({"location": SLUG, "key": F("pk")}, "E032"),
    "key that can be null": ({"location": SLUG, "key": "code"}, "E032"),
    "key that is not unique": ({"location": SLUG, "key": "slug"}, "E032"),
    "unknown field": ({"location": SLUG, "lastmod": F("changed")}, "E034"),
    "unknown field in a route": ({"location": Route("article", slug=F("name"))}, "E034"),
    "unknown field in a function": ({"location": SLUG, "lastmod": Max("comments__at")}, "E034"),
    "relation to many": ({"location": SLUG, "lastmod": F("comments__id")}, "E035"),
    "relation to many in a route": ({"location": Route("article", slug=F("tags__name"))}, "E035"),
}


class Evaluated:
    """A number that a project computes, for example from its database."""

    def __int__(self) -> int:
        raise AssertionError("a check has worked out a number")

    __eq__ = __hash__ = __int__  # type: ignore[assignment]


@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_declaration_is_an_error_with_its_id(case: str) -> None:
    attributes, expected = INVALID[case]
    [message] = checks.check_declarations([declaration(**attributes)])
    assert ids_of([message]) == [expected]
    assert "Declared" in message.msg


@pytest.mark.parametrize(
    ("attributes", "expected", "meant"),
    [
        ({"location": "article"}, "E020", "Route('article', slug=F('slug'))"),
        ({"location": "seat"}, "E020", "Route('seat', row=F('...'), number=F('...'))"),
        ({"location": Route("article", slug="a")}, "E020", "Route('article', slug=F('slug'))"),
        ({"location": SLUG, "lastmod": "updated"}, "E010", "F('updated')"),
        ({"location": SLUG, "lastmod": "upadted"}, "E010", "F('updated')"),
        ({"lastmod": "updated"}, "W010", "F('updated')"),
        (
            {"queryset": Article.objects.annotate(newest=Max("day")), "lastmod": "newest"},
            "W010",
            "F('newest')",
        ),
        ({"location": SLUG, "priority": "weight"}, "E012", "F('weight')"),
        ({"location": SLUG, "changefreq": "slug"}, "E011", "F('slug')"),
        # A word of the protocol, although there is a field `day`.
        ({"location": SLUG, "changefreq": "daly"}, "E011", "'daily'"),
    ],
)
def test_a_hint_suggests_the_declaration_that_a_string_means(
    attributes: dict[str, Any], expected: str, meant: str
) -> None:
    (message,) = checks.check_declarations([declaration(**attributes)])
    assert (message.id, message.hint) == (f"sitemaps09.{expected}", f"Did you mean {meant}?")


def test_a_hint_suggests_the_url_pattern_with_arguments_of_several_with_one_name(settings: Any) -> None:
    patterns = [path(route, tests.urls.nothing, name="words") for route in ("<str:word>/", "")]
    for order in (patterns, patterns[::-1]):
        settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": order})
        (message,) = checks.check_declarations([declaration(location="words")])
        assert message.hint == "Did you mean Route('words', word=F('...'))?"


@pytest.mark.parametrize(
    "attributes",
    [
        # No URL pattern, one without arguments or with unnamed ones, and no namespace.
        *({"location": name} for name in ("/article/", "about", "numbered", "no:where")),
        # No similar field, or nothing is known of the rows.
        {"location": SLUG, "lastmod": "2026-01-01"},
        {"location": SLUG, "priority": "high"},
        {"location": SLUG, "get_queryset": takes, "model": None, "lastmod": "updated"},
        {"queryset": Article.objects.raw("SELECT 1"), "lastmod": "updated"},
    ],
)
def test_nothing_is_suggested_for_a_string_that_is_similar_to_nothing(attributes: dict[str, Any]) -> None:
    urls = (re_path("n/([0-9]+)/", takes, name="numbered"), *tests.urls.urlpatterns)
    with override_settings(ROOT_URLCONF=urls):
        messages = checks.check_declarations([declaration(**attributes)])
    assert {*ids_of(messages)} & {"E010", "W010", "E012", "E020"}
    assert [message.hint for message in messages if "Did you mean" in str(message.hint)] == []


@pytest.mark.parametrize(
    "attributes",
    [
        {"location": SLUG},
        {"location": Route("article", F("slug"))},
        {"location": Route("article", slug=Lower("category__slug")), "lastmod": F("updated")},
        {"location": SLUG, "lastmod": Max("visits__at")},
        {"queryset": Article.objects.annotate(n=Count("tags")), "priority": F("n")},
        {"queryset": Article.objects.filter(tags__name="a"), "lastmod": F("updated")},
        {"queryset": Article.objects.filter(published=True), "changefreq": Value("daily")},
        {"queryset": Article.objects.none()},
        {"queryset": Article.objects, "model": None},
        {"changefreq": "weekly", "priority": 0, "lastmod": None},
        {"location": lambda self, item: "/", "model": Category},
        {"location": SLUG, "limit": "60"},
        {"location": SLUG, "limit": b"60"},
        {"location": SLUG, "limit": None, "paginator": property(lambda self: 1 / 0)},
        {"location": SLUG, "limit": None, "__init__": lambda self: setattr(self, "limit", 60)},
        {"location": SLUG, "limit": 1e4},
        {"location": SLUG, "limit": Decimal(60)},
        {"location": SLUG, "limit": Evaluated()},
        {"get_queryset": lambda self: 1 / 0, "model": None},
        {"queryset": property(lambda self: 1 / 0), "model": None},
        {"key": property(lambda self: 1 / 0)},
        {"items": lambda self: 1 / 0, "model": None},
    ],
)
def test_a_valid_declaration_is_silent(attributes: dict[str, Any]) -> None:
    assert ids(declaration(**attributes)) == []


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"lastmod": "yesterday"}, "W010"),
        ({"changefreq": "sometimes"}, "W011"),
        ({"priority": 7}, "W012"),
        ({"limit": "sixty"}, "W013"),
        ({"limit": 60.5}, "W013"),
        ({"limit": float("inf")}, "W013"),
        ({"limit": "0"}, "W013"),
        ({"limit": True}, "W013"),
        ({"limit": None}, "W013"),
        ({"limit": b"sixty"}, "W013"),
        ({"protocol": "ftp"}, "W014"),
        ({"protocol": ""}, "W014"),
        ({"protocol": Tag.objects.all()}, "W014"),
        ({"hosts": "all"}, "W050"),
        ({"format": "%Y-%m-%d"}, "W051"),
        ({"extensions": ".html"}, "W054"),
    ],
)
def test_what_contrib_accepts_is_a_warning_on_a_class_without_expressions(
    attributes: dict[str, Any], expected: str
) -> None:
    assert ids(type("Old", (Sitemap,), {"items": takes, **attributes})) == [expected]


@pytest.mark.parametrize(
    "queryset",
    [
        Article.objects.all()[:10],
        Article.objects.filter(pk=1).union(Article.objects.filter(pk=2)),
        Article.objects.distinct("slug"),
        Article.objects.values("slug"),
        Article.objects.raw("SELECT * FROM tests_article"),
    ],
    ids=["slice", "union", "distinct", "values", "raw"],
)
def test_a_queryset_without_ranges_is_a_warning(queryset: Any) -> None:
    assert ids(declaration(queryset=queryset)) == ["W031"]


UNION = Article.objects.filter(pk=1).union(Article.objects.all())


class Shuffled(Article):
    """A proxy model whose ordering is random."""

    class Meta:
        proxy = True
        app_label = "tests"
        ordering = ["?"]


@pytest.mark.parametrize(
    ("queryset", "expected"),
    [
        (Article.objects.order_by("?")[:30], ["W039", "W031"]),
        (Article.objects.order_by("slug", Random())[:30], ["W039", "W031"]),
        (Article.objects.order_by((Random() * F("pk")).desc())[:30], ["W039", "W031"]),
        (Article.objects.annotate(r=Random()).order_by("-r")[:30], ["W039", "W031"]),
        (Article.objects.annotate(r=Random()).order_by(F("r") + 1)[:30], ["W039", "W031"]),
        (Article.objects.extra(order_by=["?"])[:30], ["W039", "W031"]),
        (Article.objects.order_by("?").values("slug"), ["W039", "W031"]),
        (Shuffled.objects.all()[:30], ["W039", "W031"]),
        (Article.objects.order_by("?")[:9].union(Article.objects.filter(pk=1)), ["W039", "W031"]),
        (UNION.union(Article.objects.order_by("?")[:9]), ["W039", "W031"]),
        (Article.objects.annotate(r=Random()).order_by("slug")[:30], ["W031"]),
        (Shuffled.objects.order_by("slug")[:30], ["W031"]),
        (Article.objects.order_by("?").union(Article.objects.filter(pk=1)), ["W031"]),
        (Article.objects.order_by("?"), []),
        (Shuffled.objects.all(), []),
    ],
)
def test_a_random_order_of_rows_read_by_position_is_a_warning(queryset: Any, expected: list[str]) -> None:
    """Rows that are read by key ranges lose their order."""
    assert ids(declaration(queryset=queryset)) == expected


def test_news_in_a_random_order_is_a_warning() -> None:
    """Pages of news keep the order of the queryset."""
    news = {"date_field": "updated", "publication_name": "Times", "queryset": Article.objects.order_by("?")}
    assert ids(type("News", (NewsSitemap,), news)) == ["W039"]


@pytest.mark.parametrize("key", ["ratio", "blob", "label", "amount"])
def test_a_column_that_cannot_be_a_key_is_an_error(key: str) -> None:
    found = ids(declaration(model=Reading, location=Route("word", word=F("serial")), key=key))
    assert found == ["E032"]


class Ready(ModelSitemap[Any]):
    """Section whose rows and location are set on the instance."""

    def __init__(self) -> None:
        self.queryset = Tag.objects.all()
        self.location = Route("word", word=F("name"))


class Computed(ModelSitemap[Any]):
    model = Article
    location = SLUG

    @cached_property
    def lastmod(self) -> str:
        raise AssertionError("a check has read a property")

    @property
    def limit(self) -> int:
        raise AssertionError("a check has read a property")


@pytest.mark.parametrize("declared", [Ready, Ready(), Computed, Computed()])
def test_what_only_an_instance_knows_is_not_checked(declared: Any) -> None:
    assert ids(declared) == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["about", "home"], []),
        ("about", ["E022"]),
        (["article"], ["E023"]),
        (["nowhere"], ["E023"]),
        ([7, ("about", 0.5)], ["E023", "E023"]),
    ],
)
def test_the_names_of_static_views_must_exist(names: Any, expected: list[str]) -> None:
    declared = type("Pages", (StaticViewSitemap,), {"viewnames": names})
    assert ids(declared) == expected
    own = type("Own", (declared,), {"location": lambda self, item: f"/{item[0]}/"})
    assert ids(own) == [each for each in expected if each == "E022"]


def test_a_module_that_cannot_be_imported_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise ImportError("no module named shop.prices")

    monkeypatch.setattr(sections, "_discovered", False)
    monkeypatch.setattr(sections, "autodiscover_modules", fail)
    (message,) = checks.check_sections()
    assert message.id == "sitemaps09.E005"
    assert "shop.prices" in message.msg


def test_a_name_that_is_registered_twice_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def discover(*args: Any, **kwargs: Any) -> None:
        register("shop", Sitemap)
        register("Shop", Sitemap)

    monkeypatch.setattr(sections, "_registered", {})
    monkeypatch.setattr(sections, "_discovered", False)
    monkeypatch.setattr(sections, "autodiscover_modules", discover)
    (message,) = checks.check_sections()
    assert ids_of([message]) == ["E005"]
    assert "'shop' is already registered in" in message.msg


def test_a_model_without_get_absolute_url_needs_a_location() -> None:
    assert ids(declaration(model=Tag)) == ["E033"]


def test_each_class_is_reported_once_and_instances_are_checked_too() -> None:
    bad = declaration(location=SLUG, changefreq="sometimes")
    assert len(ids(bad, bad)) == 1
    generic = GenericSitemap({"queryset": Article.objects.all()}, priority=3.0)
    static = type("Pages", (StaticViewSitemap,), {"viewnames": ["about"]})()
    assert ids(generic, generic, static) == ["W012"]
    alike = [GenericSitemap({"queryset": Article.objects.all()}, priority=3.0) for _ in range(2)]
    assert ids(*alike) == ["W012"]


def test_the_guard_of_these_tests_blocks_all_queries_and_calls() -> None:
    with pytest.raises(AssertionError, match="opened a connection"):
        connections["default"].cursor()
    with pytest.raises(AssertionError, match="made a compiler"):
        list(Article.objects.all())
    with pytest.raises(AssertionError, match="asked for the site"):
        Site.objects.get_current()


KINDS: list[Declared] = [
    ({"lastmod": F("slug")}, ["W036"]),
    ({"lastmod": F("pk")}, ["W036"]),
    ({"lastmod": F("category")}, ["W036"]),
    ({"lastmod": Lower("slug")}, ["W036"]),
    ({"lastmod": Value("2026-01-31")}, ["W036"]),
    ({"lastmod": Subquery(Visit.objects.values("pk")[:1])}, ["W036"]),
    ({"lastmod": F("updated")}, []),
    ({"lastmod": F("day")}, []),
    ({"lastmod": Max("visits__at")}, []),
    ({"lastmod": Coalesce("updated", "day", output_field=DateTimeField())}, []),
    ({"lastmod": Subquery(Visit.objects.values("at")[:1])}, []),
    ({"lastmod": Cast("slug", DateTimeField())}, []),
    ({"lastmod": Value(None)}, []),
    ({"lastmod": Func("slug", function="PARSED")}, ["W036"]),
    ({"priority": F("slug")}, ["W037"]),
    ({"priority": F("published")}, ["W037"]),
    ({"priority": F("updated")}, ["W037"]),
    ({"priority": F("weight")}, []),
    ({"priority": F("pk")}, []),
    ({"priority": Cast("slug", FloatField())}, []),
    ({"changefreq": F("weight")}, ["W038"]),
    ({"changefreq": F("slug")}, []),
    ({"changefreq": F("category__slug")}, []),
    ({"queryset": UNION, "lastmod": F("day")}, ["W031"]),
    ({"queryset": UNION, "lastmod": F("slug")}, ["W031", "W036"]),
    ({"queryset": Article.objects.all()[:5], "lastmod": F("day")}, ["W031"]),
    (
        {"queryset": Article.objects.annotate(n=Count("comments"))[:5], "lastmod": Max("n")},
        ["W031", "E034"],
    ),
    ({"queryset": Article.objects.raw("SELECT 1"), "lastmod": F("day")}, ["W031", "E034", "E034"]),
]


@pytest.mark.parametrize(("attributes", "expected"), KINDS)
def test_an_expression_must_have_the_type_of_its_element(
    attributes: dict[str, Any], expected: list[str]
) -> None:
    assert ids(declaration(location=SLUG, **attributes)) == expected


@pytest.mark.parametrize(
    ("attributes", "similar"),
    [
        ({"location": Route("category", row=F("slug"), number=F("comment_cuont"))}, "comment_count"),
        ({"location": PathTemplate("/{a}/{b}/{c}/", a=F("slug"), b=F("day"), c=F("catgory"))}, "category"),
        ({"location": SLUG, "lastmod": F("updatd")}, "updated"),
    ],
)
def test_the_nearest_name_is_offered_for_one_that_the_rows_lack(
    attributes: dict[str, Any], similar: str
) -> None:
    rows = Article.objects.annotate(comment_count=Count("comments"))
    found = check_declarations([declaration(queryset=rows, **attributes)])
    [error] = [message for message in found if message.id == "sitemaps09.E034"]
    assert error.hint.startswith(f"Did you mean {similar!r}? ")
    assert "_sitemaps09" not in error.msg
    section, base = declaration(queryset=rows, **attributes), parse_base("https://www.example.com")
    with pytest.raises(ImproperlyConfigured, match=r"Article: the declared `[a-z]+`: Cannot ") as caught:
        source("articles", section, base, INDEX_LIMITS)
    assert "_sitemaps09" not in str(caught.value)


def test_a_projects_own_field_may_return_anything() -> None:
    assert ids(declaration(model=Name, location=Route("word", word=F("name")), lastmod=F("name"))) == []


def element(prefix: str, namespace: str | None = None) -> Extension:
    return Extension(prefix, namespace or f"https://example.org/{prefix}", takes)


DOCUMENTS: list[Declared] = [
    ({"hosts": ["https://shop.example.com", "blog.example.com", "blog.example.com:8000"]}, []),
    ({"hosts": ("https://shop.example.com/",)}, []),
    ({"hosts": property(unread)}, []),
    ({"hosts": "shop.example.com"}, ["E050"]),
    ({"hosts": ["shop.example.com/a"]}, ["E050"]),
    ({"hosts": ["ftp://shop.example.com"]}, ["E050"]),
    ({"hosts": ["shop example"]}, ["E050"]),
    ({"hosts": [""]}, ["E050"]),
    ({"hosts": [7]}, ["E050"]),
    ({"hosts": [SimpleLazyObject(lambda: unread(None))]}, ["E050"]),
    ({"hosts": 7}, ["E050"]),
    ({"hosts": Tag.objects.values_list("name", flat=True)}, ["E050"]),
    ({"format": "text"}, []),
    ({"format": "text", "i18n": True}, []),
    ({"format": takes}, []),
    ({"format": "txt"}, ["E051"]),
    ({"format": 7}, ["E051"]),
    ({"format": "text", "images": takes}, ["W052"]),
    ({"format": "text", "videos": takes, "news": takes}, ["W052"]),
    ({"format": "text", "extensions": [element("a")]}, ["W052"]),
    ({"format": "text", "alternates": takes}, ["W052"]),
    ({"format": "text", "i18n": True, "alternates": True}, ["W052"]),
    ({"extensions": [element("a"), element("b")]}, []),
    ({"extensions": (element("a"),)}, []),
    ({"extensions": property(unread)}, []),
    ({"extensions": element("a")}, ["E054"]),
    ({"extensions": "ab"}, ["E054"]),
    ({"extensions": Tag.objects.all()}, ["E054"]),
    ({"extensions": [Extension]}, ["E054"]),
    ({"extensions": [element("a"), "b"]}, ["E054"]),
    ({"extensions": [element("a"), element("a", "https://example.org/other")]}, ["E054"]),
    ({"extensions": [element("a"), element("b", "https://example.org/a")]}, ["E054"]),
]


@pytest.mark.parametrize(("attributes", "expected"), DOCUMENTS)
def test_documents_must_be_able_to_contain_declared_values(
    attributes: dict[str, Any], expected: list[str]
) -> None:
    assert ids(declaration(location=SLUG, **attributes)) == expected


NEWS: list[Declared] = [
    ({"date_field": "updated", "publication_name": "The Times"}, []),
    ({"date_field": "day", "publication_name": "The Times"}, []),
    ({"date_field": property(unread), "publication_name": property(unread)}, []),
    ({"publication_name": "The Times"}, ["E057"]),
    ({"date_field": "slug", "publication_name": "The Times"}, ["E057"]),
    ({"date_field": "updated__date", "publication_name": "The Times"}, ["E057"]),
    ({"date_field": "updated"}, ["E058"]),
    ({"date_field": "updated", "news": takes}, []),
    ({"items": unread, "news": takes}, []),
    ({"date_field": "updated", "publication_name": F("slug")}, ["E058"]),
    ({"date_field": "updated", "publication_name": "T", "publication_language": "de-at"}, []),
    ({"date_field": "updated", "publication_name": "T", "publication_language": "english"}, ["E059"]),
    ({"date_field": "updated", "publication_name": "T", "title": F("slug")}, ["E060"]),
    ({"date_field": "updated", "publication_name": "T", "title": lambda self: ""}, ["E056"]),
    (
        {"date_field": "updated", "publication_name": "T", "queryset": Article.objects.all()[:5]},
        ["E061", "W031"],
    ),
]


def test_a_site_field_with_an_overridden_items_is_an_error() -> None:
    assert ids(
        type("Made", (ModelSitemap,), {"model": FlatPage, "site_field": "sites", "items": unread})
    ) == ["E055"]


def test_rows_that_nothing_lists_are_an_error() -> None:
    assert ids(declaration(location=SLUG, queryset=Article.objects.all)) == ["E062"]
    assert ids(type("Plain", (Sitemap,), {"model": Article, "location": SLUG})) == ["E063"]
    assert ids(type("Empty", (Sitemap,), {"location": takes})) == ["W086"]
    assert ids(type("Fixed", (Sitemap,), {"location": takes, "items": [1, 2]})) == ["E083"]
    assert ids(declaration(model="tests.Article", location=SLUG)) == ["E068"]
    assert ids(declaration(model="tests.Article", location=SLUG, site_field="site")) == ["E068"]
    assert ids(declaration(model=AbstractUser, location=SLUG, site_field="site")) == ["E068"]
    assert ids(declaration(queryset=Article.objects.using("nowhere"), location=SLUG)) == ["E067"]


@pytest.mark.parametrize("method", ["__init__", "for_host"])
def test_a_method_can_replace_attributes(method: str) -> None:
    def replace(self: Any, domain: str = "") -> Any:
        raise AssertionError("a check has called a method")

    assert ids(declaration(model="tests.Article", location=SLUG, **{method: replace})) == []
    assert ids(declaration(queryset="published", location=SLUG, **{method: replace})) == []
    for name, value in {"items": (), "model": Article}.items():
        assert ids(type("Plain", (Sitemap,), {"location": takes, name: value, method: replace})) == []
    assert ids(type("Old", (contrib.Sitemap,), {"lastmod": F("updated"), method: replace})) == []


def test_no_router_of_the_project_is_called(settings: Any) -> None:
    router = mock.Mock(spec=["db_for_read"])
    settings.DATABASE_ROUTERS = [router]
    assert ids(declaration(location=SLUG, key="pk", lastmod=Max("visits__at"))) == []
    assert ids(declaration(location=SLUG, queryset=Article.objects.all())) == []
    router.db_for_read.assert_not_called()


@pytest.mark.parametrize("section", [Article, Article.objects.all(), "/about/", ["/about/"], object()])
def test_a_section_that_is_not_a_sitemap_is_an_error(section: object) -> None:
    assert ids(section) == ["E081"]


class Delegating:
    """A class whose instances delegate to a sitemap."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError("a check has asked for an attribute")


class Replaced:
    """A class whose instances are sitemaps of another class."""

    def __new__(cls) -> Any:
        raise AssertionError("a check has made an instance")


class PerHost:
    """A class that returns a sitemap for each host."""

    def for_host(self, domain: str) -> Any:
        raise AssertionError("a check has asked for a sitemap")


@pytest.mark.parametrize("section", [Delegating, Replaced, PerHost, SimpleNamespace(get_urls=takes)])
def test_a_section_that_may_stand_for_a_sitemap_is_silent(section: object) -> None:
    assert ids(section) == []


def test_an_expression_on_a_class_of_contrib_is_an_error() -> None:
    assert ids(type("Old", (contrib.Sitemap,), {"lastmod": F("updated")})) == ["E082"]
    assert ids(type("Old", (contrib.Sitemap,), {"lastmod": takes})) == []
    # The class may read the expression itself.
    assert ids(type("Old", (contrib.Sitemap,), {"lastmod": F("updated"), "get_urls": takes})) == []


def test_a_field_of_a_model_is_not_an_expression() -> None:
    assert ids(declaration(location=SLUG, lastmod=Article.updated)) == ["E085"]
    assert ids(declaration(location=Article.slug)) == ["E085"]
    own = type("Own", (), {"__get__": unread, "field": Article.updated.field})
    assert ids(declaration(location=SLUG, lastmod=own())) == []


class UsingItsDefault(Sitemap[Any]):
    """Section with an attribute whose name is similar to `x_default`, and which it uses."""

    default = "a"

    def items(self) -> Any:
        return [self.default]


def test_a_misspelled_name_is_a_warning_unless_the_class_has_the_right_one() -> None:
    assert ids(declaration(location=SLUG, last_mod=F("updated"), imagess=takes)) == ["W084"] * 2
    assert ids(declaration(location=takes, locations=["a"], images=takes, image=takes)) == []
    assert ids(type("Views", (StaticViewSitemap,), {"view_names": ["about"]})) == ["W084"]
    # A singular has a meaning of its own.
    assert ids(declaration(location=SLUG, image=takes, host="a", formats=["xml"])) == []
    assert ids(UsingItsDefault) == []
    # The base class, in another module, uses the attribute.
    attributes = {"default": "b", "__module__": "tests.support.checking"}
    assert ids(type("Other", (UsingItsDefault,), attributes)) == []
    assert ids(declaration(_lastmods=takes, __images__=takes)) == []


def test_an_aggregate_without_grouping_is_an_error() -> None:
    rows = Article.objects.all()
    tagged = rows.annotate(n=Count("tags")).filter(n__gt=0)
    plain = rows.filter(published=True)
    assert ids(declaration(location=SLUG, queryset=plain | tagged)) == ["E064"]
    assert ids(declaration(location=SLUG, queryset=tagged | plain)) == []


@pytest.mark.services
def test_an_aggregate_that_hides_a_column_on_mariadb_is_an_error() -> None:
    require("mariadb")
    counted = Article.objects.annotate(n=Count("tags")).filter(Q(n__gt=0) | Q(updated__year=2026))
    assert ids(declaration(location=SLUG, queryset=counted.using("mariadb"))) == ["E065"]
    assert ids(declaration(location=SLUG, queryset=counted)) == []


def test_an_aggregate_beside_a_filter_on_a_window_is_valid() -> None:
    """Django cannot group such a queryset, but the aggregate is a subquery."""
    ranked = Article.objects.annotate(rank=Window(Rank(), order_by="slug")).filter(
        Q(rank__lt=2) | Q(published=True)
    )
    slug = Concat("slug", Cast("rank", CharField()), Cast(Count("visits"), CharField()))
    assert ids(declaration(location=Route("article", slug=slug), queryset=ranked)) == []


def test_an_aggregate_that_needs_annotations_of_a_grouped_queryset_is_an_error() -> None:
    counted = Article.objects.annotate(n=Count("tags"), first=Min("updated"))
    needy = Max("visits__at", filter=Q(visits__at__gt=F("first")))
    assert ids(declaration(location=SLUG, queryset=counted, lastmod=needy)) == ["E066"]
    assert ids(declaration(location=SLUG, queryset=counted, lastmod=Max("visits__at"))) == []
    joined = counted.annotate(m=Count("visits"))
    assert ids(declaration(location=SLUG, queryset=joined, lastmod=needy)) == []
    ranked_groups = counted.annotate(rank=Window(Rank(), order_by="slug")).values("slug", "rank")
    attributes = {"queryset": ranked_groups, "lastmod": Max("visits__at")}
    assert "E066" in ids(declaration(location=lambda self, item: "/", **attributes))


@pytest.mark.parametrize(("attributes", "expected"), NEWS)
def test_news_have_a_date_and_a_publication(attributes: dict[str, Any], expected: list[str]) -> None:
    declared = type("Declared", (NewsSitemap,), {"model": Article, "location": SLUG, **attributes})
    assert ids(declared) == expected


def test_our_attributes_mean_nothing_on_a_class_for_contrib() -> None:
    added = {"format": "txt", "hosts": "a", "extensions": 7, "images": 7, "alternates": 7, "site_field": 7}
    assert ids(type("Old", (contrib.Sitemap,), {**added, "videos": lambda self: ()})) == []


def test_rows_that_an_instance_lists_itself_need_no_queryset() -> None:
    made = declaration(model=None, location=SLUG)()
    assert ids(made) == ["E030"]
    made.items = takes  # type: ignore[method-assign, assignment]
    assert ids(made) == []


def test_a_queryset_without_a_model_is_left_to_the_request() -> None:
    assert check_declarations([type("Bare", (ModelSitemap,), {"queryset": QuerySet()})]) == []
