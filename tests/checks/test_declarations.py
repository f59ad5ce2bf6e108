"""Checks of declarations: each rule has its id."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import PurePosixPath
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
    CASCADE,
    CharField,
    Count,
    DateTimeField,
    F,
    FloatField,
    ForeignKey,
    Func,
    Max,
    Min,
    Model,
    OneToOneField,
    Q,
    QuerySet,
    Subquery,
    Value,
    Window,
)
from django.db.models.functions import Cast, Coalesce, Concat, Lower, Random, Rank
from django.test import override_settings
from django.test.utils import isolate_apps
from django.urls import path, re_path
from django.utils.functional import SimpleLazyObject, cached_property

import tests.urls
from django_sitemaps09 import (
    Extension,
    GenericSitemap,
    ModelSitemap,
    NewsSitemap,
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
from django_sitemaps09.sources import source
from tests.models import Article, Category, Name, Reading, Tag, Visit
from tests.support.checking import (
    SLUG,
    WITHOUT_SITES,
    Declared,
    declaration,
    ids,
    ids_of,
    takes,
    unread,
)
from tests.support.databases import require

pytestmark = pytest.mark.usefixtures("nothing_is_asked")


def made(base: type = Sitemap, **attributes: Any) -> Any:
    return type("Declared", (base,), attributes)


class Evaluated:
    """A number that a project computes, for example from its database."""

    def __int__(self) -> int:
        raise AssertionError("a check has worked out a number")

    __eq__ = __hash__ = __int__  # type: ignore[assignment]


class Shuffled(Article):
    """A proxy model whose ordering is random."""

    class Meta:
        proxy = True
        app_label = "tests"
        ordering = ["?"]


@isolate_apps("tests")
def related(field: Any) -> type[Model]:
    class Offer(Model):
        site = field
        name = CharField(max_length=20)

        class Meta:
            app_label = "tests"

    return Offer


def element(prefix: str, namespace: str | None = None) -> Extension:
    return Extension(prefix, namespace or f"https://example.org/{prefix}", takes)


ROWS = Article.objects.all()
UNION = Article.objects.filter(pk=1).union(ROWS)
COUNTED = Article.objects.annotate(n=Count("tags"), first=Min("updated"))
NEEDY = Max("visits__at", filter=Q(visits__at__gt=F("first")))
TAGGED, PUBLISHED = ROWS.annotate(n=Count("tags")).filter(n__gt=0), ROWS.filter(published=True)
#: Django cannot group such a queryset, but the aggregate is a subquery.
RANKED = Article.objects.annotate(rank=Window(Rank(), order_by="slug")).filter(
    Q(rank__lt=2) | Q(published=True)
)
RANKED_SLUG = Concat("slug", Cast("rank", CharField()), Cast(Count("visits"), CharField()))
#: A descriptor that has a field, as the attribute of a model has.
FIELD = type("Own", (), {"__get__": unread, "field": Article.updated.field})
WORD = {"model": Reading, "location": Route("word", word=F("serial"))}


def in_language(self: Any, item: Any, language: str) -> str:
    raise AssertionError("a check has called a hook")


def for_host(self: Any, domain: str) -> Any:
    raise AssertionError("a check has asked for a sitemap")


def located(*rows: Declared) -> list[Declared]:
    """Return the rows with a location, if they declare none."""
    return [({"location": SLUG, **attributes}, expected) for attributes, expected in rows]


def sites(model: Any, name: Any) -> dict[str, Any]:
    return {"model": model, "location": takes, "site_field": name}


#: Attributes of a `ModelSitemap` of articles, and the ids of its messages.
DECLARED: dict[str, Sequence[Declared]] = {
    "hooks and keys": located(
        ({"lastmod": "2026-01-01"}, ["E010"]),
        ({"changefreq": "sometimes"}, ["E011"]),
        ({"priority": 1.1}, ["E012"]),
        ({"priority": "high"}, ["E012"]),
        ({"limit": 0}, ["E013"]),
        ({"limit": None}, ["E013"]),
        ({"limit": "sixty"}, ["E013"]),
        ({"limit": Decimal("sNaN")}, ["E013"]),
        ({"limit": 50_001}, ["W015"]),
        ({"limit": "50001"}, ["W015"]),
        ({"location": Route("about")}, ["E020"]),
        ({"location": PathTemplate("/a/{b}/", b=1)}, ["E020"]),
        ({"location": "/a/"}, ["E020"]),
        ({"location": Route("nowhere", slug=F("slug"))}, ["E021"]),
        ({"location": Route("no:where", slug=F("slug"))}, ["E021"]),
        ({"location": PathTemplate("/{a}/", a=F("no"))}, ["E034"]),
        ({"location": Route("article", name=F("slug"))}, ["E021"]),
        ({"location": Route("article", F("slug"), F("pk"))}, ["E021"]),
        ({"location": {"en": Route("no", slug=F("slug"))}, "i18n": True}, ["E021"]),
        ({"location": {"en": SLUG}}, ["E024"]),
        ({"location": {"en": SLUG}, "i18n": True, "languages": ["de"]}, ["E024"]),
        ({"location": {"en": None}, "i18n": True}, ["E024"]),
        ({"location": {"en": F("name")}, "i18n": True}, ["E034"]),
        ({"item_language": F("name")}, ["E034"]),
        ({"model": None, "location": SLUG}, ["E030"]),
        ({"key": "nothing"}, ["E032"]),
        ({"key": F("pk")}, ["E032"]),
        ({"key": "code"}, ["E032"]),
        ({"key": "slug"}, ["E032"]),
        ({"lastmod": F("changed")}, ["E034"]),
        ({"location": Route("article", slug=F("name"))}, ["E034"]),
        ({"lastmod": Max("comments__at")}, ["E034"]),
        ({"lastmod": F("comments__id")}, ["E035"]),
        ({"location": Route("article", slug=F("tags__name"))}, ["E035"]),
    ),
    "aggregates": located(
        ({"queryset": PUBLISHED | TAGGED}, ["E064"]),
        ({"queryset": TAGGED | PUBLISHED}, []),
        ({"queryset": RANKED, "location": Route("article", slug=RANKED_SLUG)}, []),
        ({"queryset": COUNTED, "lastmod": NEEDY}, ["E066"]),
        ({"queryset": COUNTED, "lastmod": Max("visits__at")}, []),
        ({"queryset": COUNTED.annotate(m=Count("visits")), "lastmod": NEEDY}, []),
    ),
    "a column that cannot be a key": [
        ({**WORD, "key": key}, ["E032"]) for key in ("ratio", "blob", "label", "amount")
    ],
    "a valid declaration": [
        ({"location": SLUG}, []),
        ({"location": Route("article", F("slug"))}, []),
        ({"location": Route("article", slug=Lower("category__slug")), "lastmod": F("updated")}, []),
        ({"location": SLUG, "lastmod": Max("visits__at")}, []),
        ({"queryset": Article.objects.annotate(n=Count("tags")), "priority": F("n")}, []),
        ({"queryset": Article.objects.filter(tags__name="a"), "lastmod": F("updated")}, []),
        ({"queryset": Article.objects.filter(published=True), "changefreq": Value("daily")}, []),
        ({"queryset": Article.objects.none()}, []),
        ({"queryset": Article.objects, "model": None}, []),
        ({"changefreq": "weekly", "priority": 0, "lastmod": None}, []),
        ({"location": lambda self, item: "/", "model": Category}, []),
        ({"location": SLUG, "limit": "60"}, []),
        ({"location": SLUG, "limit": b"60"}, []),
        ({"location": SLUG, "limit": None, "paginator": property(lambda self: 1 / 0)}, []),
        ({"location": SLUG, "limit": None, "__init__": lambda self: setattr(self, "limit", 60)}, []),
        ({"location": SLUG, "limit": 1e4}, []),
        ({"location": SLUG, "limit": Decimal(60)}, []),
        ({"location": SLUG, "limit": Evaluated()}, []),
        ({"get_queryset": lambda self: 1 / 0, "model": None}, []),
        ({"queryset": property(lambda self: 1 / 0), "model": None}, []),
        ({"key": property(lambda self: 1 / 0)}, []),
        ({"items": lambda self: 1 / 0, "model": None}, []),
        # A project's own field may return anything.
        ({"model": Name, "location": Route("word", word=F("name")), "lastmod": F("name")}, []),
    ],
    "a queryset without ranges": [
        ({"queryset": rows}, ["W031"])
        for rows in (
            ROWS[:10],
            UNION,
            Article.objects.distinct("slug"),
            Article.objects.values("slug"),
            Article.objects.raw("SELECT * FROM tests_article"),
        )
    ],
    # Rows that are read by key ranges lose their order.
    "a random order of rows read by position": [
        ({"queryset": rows}, expected)
        for rows, expected in (
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
        )
    ],
    "a type that an element cannot have": located(
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
    ),
    "values that documents cannot contain": located(
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
    ),
    "languages and switches": located(
        ({"i18n": True, "languages": ["en", "de", "pt-br"], "alternates": True, "x_default": True}, []),
        ({"i18n": True, "languages": ("de",)}, []),
        ({"i18n": True, "languages": None, "alternates": True, "x_default": True}, []),
        ({"i18n": True, "languages": "en"}, ["E040"]),
        ({"languages": "en"}, ["E040"]),
        ({"i18n": True, "languages": 7}, ["E040"]),
        ({"i18n": True, "languages": ["fr"]}, ["W043"]),
        ({"i18n": True, "languages": ["pt-BR", "fr"]}, ["W043", "W043"]),
        ({"i18n": True, "languages": ["english"], "alternates": True}, ["W043", "W041"]),
        ({"i18n": True, "languages": [7], "alternates": takes}, ["W043", "W041"]),
        ({"i18n": True, "languages": ["es-419"], "alternates": True}, ["W043", "W042"]),
        # Without links, hreflang is never written.
        ({"i18n": True, "languages": ["es-419"]}, ["W043"]),
        ({"languages": ["en"]}, ["W044"]),
        ({"x_default": True}, ["W044"]),
        ({"alternates": True}, ["W044"]),
        ({"languages": ["fr"], "alternates": True, "x_default": True}, ["W044"]),
        ({"alternates": takes}, []),
        ({"alternates": takes, "x_default": takes}, []),
        ({"alternates": takes, "x_default": True}, ["W044"]),
        ({"i18n": True, "x_default": True}, ["W045"]),
        ({"i18n": True, "x_default": True, "alternates": False}, ["W045"]),
        ({"i18n": True, "x_default": True, "alternates": property(unread)}, []),
        ({"i18n": True, "x_default": takes}, []),
        ({"i18n": True, "languages": ["de"], "alternates": True, "x_default": True}, ["W046"]),
        ({"i18n": True, "languages": ["de"], "alternates": True, "x_default": takes}, []),
        ({"i18n": True, "languages": ["de"], "alternates": True, "x_default": property(unread)}, []),
        (
            {
                "i18n": True,
                "languages": ["de"],
                "alternates": True,
                "x_default": True,
                "get_languages_for_item": takes,
            },
            [],
        ),
        ({"i18n": property(unread), "languages": ["fr"], "x_default": True}, []),
        ({"i18n": True, "languages": property(unread), "alternates": True, "x_default": True}, []),
        ({"i18n": True, "languages": Tag.objects.values_list("name", flat=True)}, []),
        ({"__init__": unread, "languages": ["de"]}, []),
        ({"alternates": "yes"}, ["W047"]),
        ({"i18n": True, "alternates": ["de"]}, ["W047"]),
        ({"x_default": "en"}, ["W048"]),
        ({"alternates": None, "x_default": None, "languages": None}, []),
        *(
            ({"location": dict.fromkeys(codes, SLUG), "i18n": True, **switches}, expected)
            for codes, switches, expected in (
                (["en", "fr"], {}, ["W043"]),
                (["en", "es-419"], {"alternates": True}, ["W043", "W042"]),
                (["de"], {"alternates": True, "x_default": True}, ["W046"]),
                (["en", "de"], {"alternates": True, "x_default": True}, []),
            )
        ),
    ),
    "site fields": [
        (sites(FlatPage, "sites"), []),
        (sites(FlatPage, "title"), ["E055"]),
        (sites(FlatPage, "site"), ["E055"]),
        (sites(FlatPage, "sites__domain"), ["E055"]),
        (sites(FlatPage, 7), ["E055"]),
        ({**sites(FlatPage, 7), "get_queryset": unread}, ["E055"]),
        ({**sites(FlatPage, "title"), "get_queryset": unread}, []),
        ({**sites(Article, "visits"), "get_queryset": unread}, []),
        (sites(FlatPage, property(unread)), []),
        (sites(related(ForeignKey(Site, CASCADE)), "site"), []),
        (sites(related(OneToOneField(Site, CASCADE)), "site"), []),
        (sites(related(ForeignKey(Site, CASCADE)), "name"), ["E055"]),
        (sites(related(ForeignKey(Tag, CASCADE)), "site"), ["E055"]),
        # Django's own checks report the missing model.
        (sites(related(ForeignKey("nowhere.Site", CASCADE)), "site"), []),
        (sites(Article, "visits"), ["E055"]),
    ],
    "rows and fields that mean something else": located(
        ({"queryset": Article.objects.all}, ["E062"]),
        ({"queryset": Article.objects.using("nowhere")}, ["E067"]),
        ({"model": "tests.Article"}, ["E068"]),
        ({"model": "tests.Article", "site_field": "site"}, ["E068"]),
        ({"model": AbstractUser, "site_field": "site"}, ["E068"]),
        ({"lastmod": Article.updated}, ["E085"]),
        ({"location": Article.slug}, ["E085"]),
        ({"lastmod": FIELD()}, []),
    ),
    "methods for hosts": located(
        ({"for_host": lambda self: self}, ["W049"]),
        ({"for_host": lambda self, domain: self}, []),
        # It can set what the class lacks.
        ({"location": {"en": SLUG}, "alternates": True, "model": None}, ["W044", "E024", "E030"]),
        ({"location": {"en": SLUG}, "alternates": True, "model": None, "for_host": for_host}, []),
        # An opaque sitemap can call its hooks with other arguments.
        ({"location": in_language}, ["E056"]),
        ({"location": in_language, "_location": takes}, []),
    ),
    "misspelled names": located(
        ({"last_mod": F("updated"), "imagess": takes}, ["W084"] * 2),
        ({"location": takes, "locations": ["a"], "images": takes, "image": takes}, []),
        # A singular has a meaning of its own.
        ({"image": takes, "host": "a", "formats": ["xml"]}, []),
        ({"_lastmods": takes, "__images__": takes}, []),
    ),
}
TABLE = [
    pytest.param(attributes, expected, id=f"{topic}, row {number}")
    for topic, rows in DECLARED.items()
    for number, (attributes, expected) in enumerate(rows, 1)
]


@pytest.mark.parametrize(("attributes", "expected"), TABLE)
def test_a_declaration_has_the_messages_of_its_row(attributes: dict[str, Any], expected: list[str]) -> None:
    messages = check_declarations([declaration(**attributes)])
    assert ids_of(messages) == expected
    assert all("Declared" in message.msg for message in messages)


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


class UsingItsDefault(Sitemap[Any]):
    """Section with an attribute whose name is similar to `x_default`, and which it uses."""

    default = "a"

    def items(self) -> Any:
        return [self.default]


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

    for_host = for_host


def replace(self: Any, domain: str = "") -> Any:
    """A method by which an instance can have other attributes."""
    raise AssertionError("a check has called a method")


def news(**attributes: Any) -> Any:
    return made(NewsSitemap, model=Article, location=SLUG, **attributes)


def viewnames(names: Any, **attributes: Any) -> Any:
    return made(StaticViewSitemap, viewnames=names, **attributes)


def generic() -> Any:
    return GenericSitemap({"queryset": Article.objects.all()}, priority=3.0)


TIMES = {"date_field": "updated", "publication_name": "T"}
OURS = {"format": "txt", "hosts": "a", "extensions": 7, "images": 7, "alternates": 7, "site_field": 7}
WRONG = declaration(location=SLUG, changefreq="sometimes")
EXPRESSION = {"lastmod": F("updated")}
#: Sections of other classes, and the ids of their messages.
SECTIONS: dict[str, list[tuple[Any, list[str]]]] = {
    "what contrib accepts on a class without expressions": [
        (made(items=takes, **attributes), [expected])
        for attributes, expected in (
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
        )
    ],
    "what only an instance knows": [(each, []) for each in (Ready, Ready(), Computed, Computed())],
    "what a method can replace": [
        (made(base, **attributes, **{method: replace}), [])
        for method in ("__init__", "for_host")
        for base, attributes in (
            (ModelSitemap, {"model": "tests.Article", "location": SLUG}),
            (ModelSitemap, {"queryset": "published", "model": Article, "location": SLUG}),
            (Sitemap, {"location": takes, "items": ()}),
            (Sitemap, {"location": takes, "model": Article}),
            (contrib.Sitemap, EXPRESSION),
        )
    ],
    "names of static views": [
        (viewnames(["about", "home"]), []),
        (viewnames("about"), ["E022"]),
        (viewnames(["article"]), ["E023"]),
        (viewnames(["nowhere"]), ["E023"]),
        (viewnames([7, ("about", 0.5)]), ["E023", "E023"]),
        (viewnames("about", location=lambda self, item: f"/{item[0]}/"), ["E022"]),
        (viewnames([7, ("about", 0.5)], location=lambda self, item: f"/{item[0]}/"), []),
        (made(StaticViewSitemap, view_names=["about"]), ["W084"]),
    ],
    "sections that are no sitemaps": [
        (each, ["E081"]) for each in (Article, Article.objects.all(), "/about/", ["/about/"], object())
    ],
    "sections that may stand for a sitemap": [
        (each, []) for each in (Delegating, Replaced, PerHost, SimpleNamespace(get_urls=takes))
    ],
    "rows that nothing lists": [
        (made(model=Article, location=SLUG), ["E063"]),
        (made(location=takes), ["W086"]),
        (made(location=takes, items=[1, 2]), ["E083"]),
        (made(ModelSitemap, model=FlatPage, site_field="sites", items=unread), ["E055"]),
        (declaration(model=Tag), ["E033"]),
    ],
    "classes of contrib": [
        (made(contrib.Sitemap, **EXPRESSION), ["E082"]),
        (made(contrib.Sitemap, lastmod=takes), []),
        # The class may read the expression itself.
        (made(contrib.Sitemap, **EXPRESSION, get_urls=takes), []),
        (made(contrib.Sitemap, **OURS, videos=lambda self: ()), []),
        (made(contrib.Sitemap, items=takes, i18n=True, languages="en"), ["W040"]),
        (made(Sitemap, items=takes, i18n=True, languages="en"), ["W040"]),
    ],
    "locations of other types": [
        *((made(items=lambda self: [1], location=each), ["E098"]) for each in (7, 1.5, b"/a/", ["/a/"])),
        (made(items=lambda self: [1], location=("/a/",)), ["E098"]),
        (made(items=lambda self: [1], location=PurePosixPath("/a/")), []),
    ],
    "dates of generic sitemaps": [
        (GenericSitemap({"queryset": ROWS.annotate(newest=F("updated")), "date_field": name}), [])
        for name in (None, "updated", "newest", "get_absolute_url")
    ],
    "names that a class uses": [
        (UsingItsDefault, []),
        # The base class, in another module, uses the attribute.
        (made(UsingItsDefault, default="b", __module__="tests.support.checking"), []),
    ],
    "news": [
        (news(date_field="updated", publication_name="The Times"), []),
        (news(date_field="day", publication_name="The Times"), []),
        (news(date_field=property(unread), publication_name=property(unread)), []),
        (news(publication_name="The Times"), ["E057"]),
        (news(date_field="slug", publication_name="The Times"), ["E057"]),
        (news(date_field="updated__date", publication_name="The Times"), ["E057"]),
        (news(date_field="updated"), ["E058"]),
        (news(date_field="updated", news=takes), []),
        (news(items=unread, news=takes), []),
        (news(date_field="updated", publication_name=F("slug")), ["E058"]),
        (news(**TIMES, publication_language="de-at"), []),
        (news(**TIMES, publication_language="english"), ["E059"]),
        (news(**TIMES, title=F("slug")), ["E060"]),
        (news(**TIMES, title=lambda self: ""), ["E056"]),
        (news(**TIMES, queryset=Article.objects.all()[:5]), ["E061", "W031"]),
        # Pages of news keep the order of the queryset.
        (made(NewsSitemap, **TIMES, queryset=Article.objects.order_by("?")), ["W039"]),
    ],
}


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        pytest.param(*row, id=f"{topic}, row {number}")
        for topic, rows in SECTIONS.items()
        for number, row in enumerate(rows, 1)
    ],
)
def test_a_section_has_the_messages_of_its_row(section: Any, expected: list[str]) -> None:
    assert ids(section) == expected


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


def test_no_router_of_the_project_is_called(settings: Any) -> None:
    router = mock.Mock(spec=["db_for_read"])
    settings.DATABASE_ROUTERS = [router]
    assert ids(declaration(location=SLUG, key="pk", lastmod=Max("visits__at"))) == []
    assert ids(declaration(location=SLUG, queryset=Article.objects.all())) == []
    router.db_for_read.assert_not_called()


@pytest.mark.services
def test_an_aggregate_that_hides_a_column_on_mariadb_is_an_error() -> None:
    require("mariadb")
    counted = Article.objects.annotate(n=Count("tags")).filter(Q(n__gt=0) | Q(updated__year=2026))
    assert ids(declaration(location=SLUG, queryset=counted.using("mariadb"))) == ["E065"]
    assert ids(declaration(location=SLUG, queryset=counted)) == []


def test_rows_that_an_instance_lists_itself_need_no_queryset() -> None:
    made = declaration(model=None, location=SLUG)()
    assert ids(made) == ["E030"]
    made.items = takes  # type: ignore[method-assign, assignment]
    assert ids(made) == []


def test_a_queryset_without_a_model_is_left_to_the_request() -> None:
    assert check_declarations([type("Bare", (ModelSitemap,), {"queryset": QuerySet()})]) == []


def test_an_x_default_needs_language_code_among_the_languages() -> None:
    declared = declaration(location=SLUG, i18n=True, alternates=True, x_default=True)
    with override_settings(LANGUAGE_CODE="en-us"):
        assert ids(declared) == ["W046"]


@override_settings(INSTALLED_APPS=WITHOUT_SITES)
def test_a_site_field_needs_the_sites_framework() -> None:
    assert ids(declaration(location=SLUG, site_field="site")) == ["E055"]
    assert ids(declaration(location=SLUG, site_field=None)) == []


def test_an_aggregate_of_ranked_groups_is_an_error() -> None:
    groups = COUNTED.annotate(rank=Window(Rank(), order_by="slug")).values("slug", "rank")
    found = ids(declaration(location=lambda self, item: "/", queryset=groups, lastmod=Max("visits__at")))
    assert "E066" in found
