"""Checks of declarations: a table of sections, with the ids of their messages and what these say."""

from __future__ import annotations

import functools
import re
from collections import Counter
from decimal import Decimal
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from unittest import mock

import pytest
from django.contrib import sitemaps as contrib
from django.contrib.auth.models import AbstractUser
from django.contrib.flatpages.models import FlatPage
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, models
from django.db.models import Case, Count, Exists, F, Max, Min, OuterRef, Q, Subquery, Value, When, Window
from django.db.models.functions import Cast, Coalesce, Concat, Lower, Random, Rank
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
)
from tests.models import Article, Category, Comment, Name, Reading, Tag, Visit, Word
from tests.support import checking
from tests.support.checking import INCLUDED, SLUG, declaration, ids, ids_of, takes, unread
from tests.support.databases import require
from tests.support.internals import INDEX_LIMITS, checks, compile_source, conf_checks, parse_base
from tests.support.sections import declare

pytestmark = pytest.mark.usefixtures("nothing_is_asked")

HOOKS = (
    *("images", "videos", "news", "alternates", "x_default", "get_languages_for_item"),
    *("location", "lastmod", "changefreq", "priority"),
)
#: Attributes of a section of each class, unless a row sets them.
DEFAULTS = {
    ModelSitemap: {"model": Article, "location": SLUG},
    NewsSitemap: {"model": Article, "location": SLUG, "date_field": "updated", "publication_name": "T"},
    Sitemap: {"items": takes},
}


def rows(expected, name, *values, base=ModelSitemap, says="", **others):
    kept = DEFAULTS.get(base, {}) | others
    return [(declare(base, **kept | {name: value}), expected, says) for value in values]


def given(expected, *declared, says=""):
    return [(section, expected, says) for section in declared]


def dated(name, queryset=None):
    queryset = Article.objects.annotate(text=F("slug")) if queryset is None else queryset
    info = {"queryset": queryset, "date_field": name}
    return GenericSitemap(info), contrib.GenericSitemap(info)


class Shuffled(Article):
    class Meta:
        proxy = True
        app_label = "tests"
        ordering = ["?"]


@isolate_apps("tests")
def related(relation, to):
    class Offer(models.Model):
        site = relation(to, models.CASCADE)
        name = models.CharField(max_length=20)

        class Meta:
            app_label = "tests"

    return Offer


class UsingItsDefault(Sitemap):
    """Section with an attribute whose name is similar to `x_default`, and which it uses."""

    default = "a"

    def items(self):
        return [self.default]


def element(prefix, namespace=None):
    return Extension(prefix, namespace or f"https://example.org/{prefix}", takes)


WRAPPED = functools.wraps(takes)(lambda self, item: takes(self))
#: A number that a project computes, for example from its database.
EVALUATED = type("Evaluated", (), dict.fromkeys(["__int__", "__eq__", "__hash__"], unread))()
#: What delegates to a sitemap, is replaced by one, or returns one for each host.
DELEGATING, REPLACED = (type("Own", (), {name: takes}) for name in ("__getattr__", "__new__"))
PER_HOST = type("PerHost", (), {"for_host": lambda self, domain="": takes(self, domain)})
#: Sections whose attributes are set on the instance, or computed.
LATER = {"queryset": Tag.objects.all(), "location": Route("word", word=F("name"))}
READY = declare(__init__=lambda self: vars(self).update(LATER))
COMPUTED = declare(model=Article, location=SLUG, lastmod=cached_property(unread), limit=property(unread))
ROWS = Article.objects.all()
RAW = Article.objects.raw("SELECT * FROM tests_article")
UNION = Article.objects.filter(pk=1).union(ROWS)
COUNTED = Article.objects.annotate(n=Count("tags"), first=Min("updated"))
GROUPS = COUNTED.annotate(rank=Window(Rank(), order_by="slug")).values("slug", "rank")
NEEDY = Max("visits__at", filter=Q(visits__at__gt=F("first")))
TAGGED, PUBLISHED = ROWS.annotate(n=Count("tags")).filter(n__gt=0), ROWS.filter(published=True)
#: Django cannot group such a queryset, but the aggregate is a subquery.
RANKED = ROWS.annotate(rank=Window(Rank(), order_by="slug")).filter(Q(rank__lt=2) | Q(published=True))
RANKED_SLUG = Concat("slug", Cast("rank", models.CharField()), Cast(Count("visits"), models.CharField()))
SHUFFLED, RANDOM = ROWS.order_by("?"), ROWS.annotate(r=Random())
COMMENTED = ROWS.annotate(comment_count=Count("comments"))
CATEGORY = Route("category", row=F("slug"), number=F("comment_cuont"))
TEMPLATE = PathTemplate("/{a}/{b}/{c}/", a=F("slug"), b=F("day"), c=F("catgory"))
WORD = {"model": Reading, "location": Route("word", word=F("serial"))}
#: A descriptor that has a field, as the attribute of a model has.
FIELD = type("Own", (), {"__get__": unread, "field": Article.updated.field})
GET_SITES = {"location": takes, "get_queryset": unread}
PARSED = models.Func("slug", function="PARSED")
FREE, DATETIME = {"location": takes}, models.DateTimeField()
OF_SITES = {"model": FlatPage, **FREE}
DAY = {"lastmod": F("day")}
ON = {"i18n": True, "alternates": True}
ALL_ON = {**ON, "x_default": True}
TEXT = {"format": "text"}
PAGES = {"base": StaticViewSitemap}
OTHERS = {"location": {"en": SLUG}, "alternates": True}
PRETTY = {"location": lambda self, item: f"/{item[0]}/"}
OURS = {"format": "txt", "hosts": "a", "extensions": 7, "images": 7, "alternates": 7, "site_field": 7}
#: What `__init__()` or `for_host()` could replace.
REPLACEABLE = (
    (ModelSitemap, {"model": "tests.Article"}),
    (ModelSitemap, {"queryset": "published"}),
    (Sitemap, {"location": takes, "items": ()}),
    (Sitemap, {"location": takes, "model": Article, "items": Sitemap.items}),
    (contrib.Sitemap, {"lastmod": F("updated")}),
)
TABLE = [
    # Nothing is suggested for a string that is similar to nothing, or if nothing is known of the rows.
    *rows("E020", "location", "/article/", "about", "no:where", says="^(?!.*Did you mean)"),
    *rows("E010", "lastmod", "2026-01-01", says="^(?!.*Did you mean)"),
    *rows("E012", "priority", "high", says="^(?!.*Did you mean)"),
    *rows("E010", "lastmod", "updated", model=None, get_queryset=takes, says="^(?!.*Did you mean)"),
    *rows("W010 W031", "lastmod", "updated", queryset=RAW, location=takes, says="^(?!.*Did you mean)"),
    *rows("E010", "lastmod", "updated", "upadted", says=r"Did you mean F\('updated'\)\?$"),
    *rows("E011", "changefreq", "sometimes"),
    *rows("E011", "changefreq", "slug", says=r"Did you mean F\('slug'\)\?$"),
    # A word of the protocol, although there is a field `day`.
    *rows("E011", "changefreq", "daly", says=r"\.changefreq: .*'daly'.* Did you mean 'daily'\?$"),
    *rows("E012", "priority", 1.1, "high", 7, says=r"\.priority: .*0\.0.*1\.0"),
    *rows("E012", "priority", "weight", says=r"Did you mean F\('weight'\)\?$"),
    *rows("E013", "limit", 0, None, "sixty", Decimal("sNaN"), says="a whole number from 1 to 50,000"),
    *rows("W015", "limit", 50_001, "50001", says="limit is 50,001, .*Set 50,000 or less"),
    *rows("", "limit", 50_000, "60", b"60", 1e4, Decimal(60), EVALUATED),
    *rows("", "limit", None, paginator=property(unread)),
    *rows("", "limit", None, __init__=lambda self: setattr(self, "limit", 60)),
    *rows("", "priority", 0, lastmod=None, changefreq="weekly"),
    *rows("W010", "lastmod", "yesterday", base=Sitemap),
    *rows("W010", "lastmod", "updated", location=takes, says=r"Did you mean F\('updated'\)\?$"),
    *rows("W010", "lastmod", "newest", location=takes, queryset=ROWS.annotate(newest=Max("day"))),
    *rows("W011", "changefreq", "sometimes", base=Sitemap),
    *rows("W012", "priority", 7, base=Sitemap),
    *rows("W013", "limit", "sixty", 60.5, float("inf"), "0", True, None, b"sixty", base=Sitemap),
    *rows("W014", "protocol", "ftp", "", Tag.objects.all(), base=Sitemap, says="'http' or 'https'"),
    *rows("W050", "hosts", "all", base=Sitemap),
    *rows("W051", "format", "%Y-%m-%d", base=Sitemap),
    *rows("W054", "extensions", ".html", base=Sitemap),
    *rows("E020", "location", PathTemplate("/a/{b}/", b=1), "/a/", says=r"'/a/.*same URL for every row"),
    *rows("E020", "location", Route("about"), says=r"query expression, such as slug=F\('slug'"),
    *rows("E020", "location", "article", Route("article", slug="a"), says=r"Route\('article', slug=F\("),
    *rows("E020", "location", "seat", says=r"mean Route\('seat', row=F\('...'\), number=F\('...'\)\)"),
    *rows("E021", "location", Route("artcile", slug=F("slug")), says=r"'artcile' \(did you mean 'article'"),
    *rows("E021", "location", Route("no:where", slug=F("slug")), says="there is no namespace 'no'"),
    *rows("E021", "location", Route("article", name=F("slug")), says=r"\(\['name'\]\); accepted: slug"),
    *rows("E021", "location", Route("article", F("slug"), F("pk")), says=r"2 positional\); accepted: slug"),
    *rows("E021", "location", Route(Article, slug=F("slug")), says="first argument is not the name of a U"),
    *rows("E021", "location", {"en": Route("no", slug=F("slug"))}, i18n=True),
    *rows("E024", "location", {"en": SLUG}, says="Set i18n = True"),
    *rows("E024", "location", {"en": SLUG}, i18n=True, languages=["de"]),
    *rows("E024", "location", {"en": None}, i18n=True),
    *rows("E034", "location", {"en": F("name")}, i18n=True),
    *rows("E034", "location", PathTemplate("/{a}/", a=F("no")), Route("article", slug=F("name"))),
    *given("E033", declare(model=Comment), says="Comment has no get_absolute_url.*Declare `location`"),
    *rows("E035", "location", Route("article", slug=F("tags__name"))),
    *rows("", "location", Route("article", F("slug")), Route("article", slug=Lower("category__slug"))),
    *rows("", "location", takes, model=Category),
    *rows("E098", "location", 7, 1.5, b"/a/", ["/a/"], base=Sitemap, says=r"def location\(self, item\)"),
    *rows("E098", "location", ("/a/",), base=Sitemap, says="path, a Route or an expression, not .*tuple"),
    *rows("", "location", PurePosixPath("/a/"), base=Sitemap),
    # An opaque sitemap can call its hooks with other arguments.
    *rows("E056", "location", lambda self, item, language: takes(self, item)),
    *rows("", "location", lambda self, item, language: takes(self, item), _location=takes),
    *rows("E030", "model", None, says="Declared has no queryset. Set `queryset` or `model`"),
    *rows("", "queryset", Article.objects, property(unread), model=None),
    *rows("", "get_queryset", takes, model=None),
    # A queryset without a model is left to the request.
    *given("", declare(queryset=models.QuerySet())),
    *rows("", "items", takes, model=None),
    *rows("E032", "key", "nothing", "code"),
    *rows("E032", "key", F("pk"), says="`key` must be the name of a field, not F"),
    *rows("E032", "key", "slug", says="slug.* Set `key` to a field that is unique"),
    *rows("E032", "key", "ratio", "blob", "label", "amount", **WORD),
    *rows("", "key", property(unread)),
    *rows("E062", "queryset", Article.objects.all, says="queryset, not a function.*Call the function"),
    *rows("E062", "queryset", Article, [1, 2], says="queryset must be a queryset.*Set `queryset`"),
    *rows("E067", "queryset", ROWS.using("nowhere"), says="'nowhere', which is not in DATABASES"),
    *rows("E068", "model", "tests.Article", says="must be a model, not 'tests.Article' .*Import the model"),
    *rows("E068", "model", [Article], AbstractUser, says=r"must be a model, not (\[.*list|AbstractUser)"),
    *rows("E068", "model", "tests.Article", AbstractUser, site_field="site"),
    *rows("E085", "lastmod", Article.updated, says=r"lastmod is tests.Article.updated, .* F\('updated'\)"),
    *rows("E064", "queryset", PUBLISHED | TAGGED),
    *rows("", "queryset", TAGGED | PUBLISHED, PUBLISHED, ROWS.none()),
    *rows("", "queryset", RANKED, location=Route("article", slug=RANKED_SLUG)),
    *rows("E066", "queryset", COUNTED, lastmod=NEEDY),
    *rows("", "queryset", COUNTED, lastmod=Max("visits__at")),
    *rows("W031 E066", "queryset", GROUPS, location=takes, lastmod=Max("visits__at")),
    *rows("", "queryset", COUNTED.annotate(m=Count("visits")), lastmod=NEEDY),
    *rows("", "queryset", ROWS.annotate(n=Count("tags")), priority=F("n")),
    *rows("", "queryset", ROWS.filter(tags__name="a"), lastmod=F("updated"), changefreq=Value("daily")),
    *rows("W031", "queryset", ROWS[:10], UNION, says="paginated by position.*Use a plain queryset"),
    *rows("W031", "queryset", ROWS.distinct("slug"), ROWS.values("slug"), RAW, location=takes),
    # Rows that are read by key ranges lose their order.
    *rows("W039 W031", "queryset", SHUFFLED[:30], says="read by position, but .* random order.*Order by a"),
    *rows("W039 W031", "queryset", ROWS.order_by("slug", Random())[:30], Shuffled.objects.all()[:30]),
    *rows("W039 W031", "queryset", ROWS.order_by((Random() * F("pk")).desc())[:30]),
    *rows("W039 W031", "queryset", RANDOM.order_by("-r")[:30], RANDOM.order_by(F("r") + 1)[:30]),
    *rows("W039 W031", "queryset", ROWS.extra(order_by=["?"])[:9], SHUFFLED.values("slug"), location=takes),
    *rows("W039 W031", "queryset", SHUFFLED[:9].union(PUBLISHED), UNION.union(SHUFFLED[:9])),
    *rows("W031", "queryset", RANDOM.order_by("slug")[:30], Shuffled.objects.order_by("slug")[:30]),
    *rows("W031", "queryset", SHUFFLED.union(PUBLISHED)),
    *rows("", "queryset", SHUFFLED, Shuffled.objects.all()),
    *rows("E034", "lastmod", F("changed"), Max("comments__at")),
    *rows("E034", "lastmod", F("updatd"), queryset=COMMENTED, says="Choices are.* Did you mean 'updated'"),
    *rows("E034", "item_language", F("name")),
    *rows("E021 E034", "location", CATEGORY, queryset=COMMENTED, says=r"Did you mean 'comment_count'\? "),
    *rows("E034", "location", TEMPLATE, says=r"Did you mean 'category'\? "),
    *rows("E035", "lastmod", F("comments__id"), says=r"multi-valued relation.* Max\(\)"),
    *rows("W036", "lastmod", F("slug"), F("pk"), F("category"), Lower("slug"), Value("2026-01-31")),
    *rows("W036", "lastmod", Subquery(Visit.objects.values("pk")[:1]), PARSED),
    *rows("W036", "lastmod", F("slug"), says="must be a date or .* type CharField. Use a DateField"),
    *rows("", "lastmod", F("updated"), F("day"), Max("visits__at"), Value(None)),
    *rows("", "lastmod", Cast("slug", DATETIME), Coalesce("updated", "day", output_field=DATETIME)),
    *rows("", "lastmod", Subquery(Visit.objects.values("at")[:1]), FIELD()),
    *rows("W037", "priority", F("slug"), F("published"), F("updated"), says="priority must be a number"),
    *rows("", "priority", F("weight"), F("pk"), Cast("slug", models.FloatField())),
    *rows("W038", "changefreq", F("weight"), says="changefreq must be text.*changefreq values"),
    *rows("", "changefreq", F("slug"), F("category__slug")),
    *rows("W031", "queryset", UNION, ROWS[:5], lastmod=F("day")),
    *rows("W031 W036", "queryset", UNION, lastmod=F("slug")),
    *rows("W031 E034", "queryset", ROWS.annotate(n=Count("comments"))[:5], lastmod=Max("n")),
    *rows("W031 E034 E034", "queryset", RAW, lastmod=F("day")),
    # The text of a key is in the address of each live page, though no location shows it.
    *rows("W078", "location", Route("word", word=Value("x")), model=Word, says=r"Word\.word are in no loc"),
    *rows("", "location", Route("word", word=F("word")), Concat(Value("/"), F("word")), takes, model=Word),
    # A project's own field may return anything.
    *rows("", "model", Name, location=Route("word", word=F("name")), lastmod=F("name")),
    *rows("", "hosts", ["https://shop.example.com", "blog.example.com", "blog.example.com:8000"]),
    *rows("", "hosts", ("https://shop.example.com/",), property(unread)),
    *rows("E050", "hosts", ["shop.example.com/a"], ["ftp://example.com"], ["shop example"], [""], [7], 7),
    *rows("E050", "hosts", [SimpleLazyObject(unread)], Tag.objects.values_list("name", flat=True)),
    *rows("E050", "hosts", "shop.example.com", says="hosts must be a list.*Set a list"),
    *rows("", "format", "text", takes),
    *rows("", "format", "text", i18n=True),
    *rows("E051", "format", "txt", 7, says="format must be 'xml' or 'text'.* Set 'xml' or 'text'"),
    *rows("W052", "images", takes, **TEXT, says="does not include images"),
    *rows("W052", "videos", takes, **TEXT, news=takes, says="does not include videos, news"),
    *rows("W052", "extensions", [element("a")], **TEXT, says="does not include extensions"),
    *rows("W052", "alternates", takes, **TEXT, says="does not include alternates"),
    *rows("W052", "alternates", True, **TEXT, i18n=True, says="does not include alternates"),
    *rows("", "extensions", [element("a"), element("b")], (element("a"),), property(unread)),
    *rows("E054", "extensions", element("a"), "ab", Tag.objects.all(), says="must be a list, not"),
    *rows("E054", "extensions", [Extension], [element("a"), "b"], says=r"contains (Ext.*\)|'b'), "),
    *rows("E054", "extensions", [element("a"), element("a", "https://example.org/b")], says="'a' twice"),
    *rows("E054", "extensions", [element("a"), element("b", "https://example.org/a")], says="/a.* twice"),
    *rows("", "languages", ["en", "de", "pt-br"], None, property(unread), **ALL_ON),
    *rows("", "languages", ("de",), Tag.objects.values_list("name", flat=True), i18n=True),
    *rows("E040", "languages", "en", 7, i18n=True, says="languages must be a list.*Set a list"),
    *rows("E040", "languages", "en"),
    *rows("W043", "languages", ["fr"], i18n=True, says="'fr', which is not in LANGUAGES. Use a code"),
    *rows("W043 W043", "languages", ["pt-BR", "fr"], i18n=True),
    *rows("W043 W041", "languages", ["english"], **ON, says="'english'.* ISO 639-1"),
    *rows("W043 W041", "languages", [7], i18n=True, alternates=takes, says=r"contains 7 \(int\)"),
    *rows("W043 W042", "languages", ["es-419"], **ON, says="contains 'es-419': .*ISO 3166-1"),
    # Without links, hreflang is never written.
    *rows("W043", "languages", ["es-419"], i18n=True),
    *rows("W044", "languages", ["en"], says="no effect without i18n: languages. Set i18n = True"),
    *rows("W044", "languages", ["fr"], alternates=True, x_default=True, says="languages, alternates, x_"),
    *rows("", "alternates", takes, x_default=takes),
    *rows("W044", "alternates", takes, x_default=True),
    *rows("W045", "alternates", None, False, i18n=True, x_default=True, says="Set alternates = True"),
    *rows("", "alternates", property(unread), i18n=True, x_default=True),
    *rows("", "x_default", takes, i18n=True),
    *rows("W046", "x_default", True, **ON, languages=["de"], says=r"LANGUAGE_CODE \('en'\) is not one"),
    *rows("", "x_default", takes, property(unread), **ON, languages=["de"]),
    *rows("", "get_languages_for_item", takes, **ALL_ON, languages=["de"]),
    *rows("", "i18n", property(unread), languages=["fr"], x_default=True),
    *rows("", "__init__", unread, languages=["de"]),
    *rows("W047", "alternates", "yes", says=r"True, False or a method, .*def alternates\(self, item"),
    *rows("W048", "x_default", "en", says="x_default must be True, False or a method"),
    *rows("", "alternates", None, x_default=None, languages=None),
    *rows("W043", "location", dict.fromkeys(["en", "fr"], SLUG), i18n=True, says="location contains 'fr'"),
    *rows("W043 W042", "location", dict.fromkeys(["en", "es-419"], SLUG), **ON),
    *rows("W046", "location", {"de": SLUG}, **ALL_ON),
    *rows("", "location", dict.fromkeys(["en", "de"], SLUG), **ALL_ON),
    *rows("W040", "languages", "en", base=Sitemap, i18n=True),
    *rows("W040", "languages", "en", base=contrib.Sitemap, items=takes, i18n=True),
    *rows("", "site_field", "sites", property(unread), **OF_SITES),
    *rows("E055", "site_field", "title", "site", "sites__domain", 7, **OF_SITES),
    *rows("E055", "site_field", 7, **GET_SITES, model=FlatPage),
    *rows("", "site_field", "title", **GET_SITES, model=FlatPage),
    *rows("", "site_field", "visits", **GET_SITES),
    *rows("E055", "site_field", "visits", location=takes),
    *rows("", "site_field", "site", **FREE, model=related(models.ForeignKey, Site)),
    *rows("", "site_field", "site", **FREE, model=related(models.OneToOneField, Site)),
    *rows("E055", "site_field", "name", **FREE, model=related(models.ForeignKey, Site)),
    *rows("E055", "site_field", "site", **FREE, model=related(models.ForeignKey, Tag), says="to tests.Tag"),
    # Django's own checks report the missing model.
    *rows("", "site_field", "site", **FREE, model=related(models.ForeignKey, "nowhere.Site")),
    *rows("E055", "site_field", "sites", **OF_SITES, items=unread, says=r"overrides items\(\).*get_query"),
    *rows("W049", "for_host", lambda self: self, says=r"def for_host\(self, domain\)"),
    *rows("", "for_host", lambda self, domain: self),
    # It can set what the class lacks.
    *rows("W044 E024 E030", "model", None, **OTHERS),
    *rows("", "model", None, **OTHERS, for_host=PER_HOST.for_host),
    *(row for name in ("__init__", "for_host") for base, attributes in REPLACEABLE
      for row in rows("", name, PER_HOST.for_host, base=base, **attributes)),
    *(
        row
        for name in HOOKS
        for row in (
            *rows("E056", name, lambda self: (), lambda self, item, site: (), **DAY),
            *rows("E056", name, lambda self, *, item: (), **DAY, says=rf"{name} can.*{name}\(self, item"),
            *rows("E056", name, staticmethod(lambda: ()), classmethod(lambda cls: ()), **DAY),
            *rows("", name, takes, staticmethod(lambda item: takes(None, item)), classmethod(takes)),
            *rows("", name, lambda self, *args: takes(self, 0), lambda self, item, a=None: takes(self, a)),
            # Whether it is bound depends on the version of Python.
            *rows("", name, functools.partial(lambda: ()), functools.partialmethod(takes)),
            *rows("", name, functools.lru_cache(takes), WRAPPED, property(unread)),
            *rows("", name, len, dict, mock.Mock(side_effect=AssertionError, spec=["__call__"])),
            *rows("", name, type("Callable", (), {"__call__": takes})()),
        )
    ),
    *(row for name in ("images", "videos", "news", "alternates", "x_default")
      for row in rows("W056", name, lambda self: None, base=Sitemap, **ON)),
    *(
        row
        for name in ("images", "videos", "news")
        for row in (*rows("W053", name, ["/a.png"], says=rf"must be a method.*def {name}\(self, item\)"),
                    *rows("", name, None, property(unread)))
    ),
    *rows("W084 W084", "last_mod", F("updated"), imagess=takes, says="last_mod may .*Did you mean 'lastm"),
    *rows("W084", "view_names", ["about"], **PAGES, says="Did you mean 'viewnames'"),
    *rows("", "locations", ["a"], location=takes, images=takes, image=takes),
    *rows("", "image", takes, host="a", formats=["xml"]),
    *rows("", "_lastmods", takes, __images__=takes),
    # The base class, in another module, uses the attribute.
    *rows("", "default", "b", base=UsingItsDefault),
    *rows("", "viewnames", ["about", "home"], **PAGES),
    *rows("E022", "viewnames", "about", None, **PAGES, says="viewnames must be a list, not.*Set a list"),
    *rows("E023", "viewnames", ["article"], ["abuot"], **PAGES, says="no URL pattern|arguments"),
    *rows("E023 E023", "viewnames", [7, ("about", 0.5)], **PAGES, says="not the name of a URL pattern"),
    *rows("E022", "viewnames", "about", **PAGES, **PRETTY),
    *rows("", "viewnames", [7, ("about", 0.5)], **PAGES, **PRETTY),
    *given("E081", Article, ROWS, "/about/", ["/about/"], object(), says="not a sitemap.*ModelSitemap"),
    *given("", DELEGATING, REPLACED, PER_HOST),
    *given("", SimpleNamespace(get_urls=takes), READY, READY(), COMPUTED, COMPUTED()),
    *given("E063", declare(Sitemap, model=Article), says="Sitemap ignores `model`.*Subclass ModelSitemap"),
    *given("E063", declare(Sitemap, queryset=ROWS), says="Sitemap ignores `queryset`"),
    *given("W086", declare(Sitemap, location=takes), says=r"Declared has no items.*def items\(self\)"),
    *rows("E083", "items", [1, 2], base=Sitemap, says="items must be a method, .*def items"),
    *rows("E082", "lastmod", F("updated"), base=contrib.Sitemap, says="Import the base class from dja"),
    # The class may read the expression itself.
    *rows("", "lastmod", F("updated"), base=contrib.Sitemap, get_urls=takes),
    *rows("", "videos", lambda self: (), base=contrib.Sitemap, **OURS),
    *given("W097", *dated("modifed"), says="'modifed'.*Article has no such field. Pass the name of"),
    *given("W097", *dated("category__slug"), says="'category__slug'.*tests.Article has no such field"),
    *given("W097", *dated(""), says="not the name of a field"),
    *given("W097", *dated(7), *dated(["updated"]), says=r"7 \(int\)|list"),
    *given("W099", *dated("slug"), says="'slug', which is a CharField of tests.Article"),
    *given("W099", *dated("pk"), *dated("comments"), says="BigAutoField|ManyToOneRel"),
    *given("W099", *dated("text"), says="'text', which is a CharField"),
    *given("", *dated(None), *dated("updated"), *dated("get_absolute_url")),
    *given("", *dated("newest", ROWS.annotate(newest=F("updated"))), UsingItsDefault),
    # Code sets the attribute.
    *given("", *dated("remarks", ROWS.prefetch_related(models.Prefetch("comments", to_attr="remarks")))),
    *given("W012", GenericSitemap({"queryset": ROWS}, priority=3.0)),
    *rows("", "date_field", "updated", "day", property(unread), base=NewsSitemap),
    *rows("", "publication_name", property(unread), base=NewsSitemap),
    *rows("E057", "date_field", None, "slug", base=NewsSitemap, says="date_field .*the publication date"),
    *rows("E057", "date_field", "updated__date", base=NewsSitemap),
    *rows("E058", "publication_name", "", F("slug"), base=NewsSitemap, says="a publication.*Set the name"),
    *rows("", "news", takes, base=NewsSitemap, publication_name=""),
    *rows("", "news", takes, base=NewsSitemap, publication_name="", items=unread, date_field=None),
    *rows("", "publication_language", "de-at", base=NewsSitemap),
    *rows("E059", "publication_language", "english", base=NewsSitemap),
    *rows("E060", "title", F("slug"), base=NewsSitemap),
    *rows("E056", "title", lambda self: "", base=NewsSitemap),
    *rows("E061 W031", "queryset", ROWS[:5], base=NewsSitemap),
    # Pages of news keep the order of the queryset.
    *rows("W039", "queryset", SHUFFLED, base=NewsSitemap),
]  # fmt: skip


@pytest.mark.parametrize(
    ("section", "expected", "says"),
    [pytest.param(*row, id=f"{number}: {row[1]}") for number, row in enumerate(TABLE)],
)
def test_a_declaration_has_the_messages_of_its_row(section, expected, says):
    messages = checks.check_declarations([section])
    assert ids_of(messages) == expected.split()
    assert all(getattr(section, "__qualname__", "") in message.msg for message in messages)
    texts = [" ".join(f"{each.msg} {each.hint}" for each in messages)]
    assert re.search(says, texts[0], re.DOTALL)
    if "E034" in expected and says:
        # An export says the same.
        with pytest.raises(ImproperlyConfigured, match=r"Article: the declared `\w+`: Cannot ") as caught:
            compile_source("articles", section, parse_base("https://www.example.com"), INDEX_LIMITS)
        texts.append(str(caught.value))
    # No alias of an expression is named.
    assert "_sitemaps09_" not in "".join(texts)


def test_a_hint_suggests_the_url_pattern_with_named_arguments_of_several_with_one_name(settings):
    numbered = re_path("n/([0-9]+)/", tests.urls.nothing, name="numbered")
    patterns = [path(route, tests.urls.nothing, name="words") for route in ("<str:word>/", "")]
    for order in (patterns, patterns[::-1]):
        settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": [numbered, *order]})
        (message,) = checks.check_declarations([declaration(location="words")])
        assert message.hint == "Did you mean Route('words', word=F('...'))?"
        (message,) = checks.check_declarations([declaration(location="numbered")])
        assert "Did you mean" not in str(message)


def test_each_class_and_each_message_of_several_instances_is_reported_once(monkeypatch):
    bad = declaration(location=SLUG, changefreq="sometimes")
    assert ids(bad, bad) == ["E011"]
    assert ids(*(GenericSitemap({"queryset": ROWS}, priority=3.0) for _ in range(2))) == ["W012"]
    # Code of the model can set the attribute.
    wrong = GenericSitemap({"queryset": ROWS, "date_field": "changed_at"})
    assert ids(wrong) == ["W097"]
    monkeypatch.setattr(Article, "from_db", classmethod(lambda cls, *args: cls()))
    assert ids(wrong) == []


def test_what_is_set_on_an_instance_is_checked():
    instance = declaration(model=None, location=SLUG)()
    assert ids(instance) == ["E030"]
    instance.items = takes
    assert ids(instance) == []
    # Functions that are attributes of an instance are not bound.
    instance.images = lambda item: takes(instance, item)
    assert ids(instance) == []
    instance.images = lambda: ()
    assert ids(instance) == ["E056"]


@pytest.mark.services
def test_an_aggregate_that_hides_a_column_on_mariadb_is_an_error():
    require("mariadb")
    counted = Article.objects.annotate(n=Count("tags")).filter(Q(n__gt=0) | Q(updated__year=2026))
    assert ids(declaration(location=SLUG, queryset=counted.using("mariadb"))) == ["E065"]
    assert ids(declaration(location=SLUG, queryset=counted)) == []


def test_the_languages_sites_and_routers_are_those_of_the_settings_and_no_router_is_called(settings):
    router = mock.Mock(spec=["db_for_read"])
    settings.DATABASE_ROUTERS, settings.LANGUAGE_CODE = [router], "en-us"
    assert ids(declaration(location=SLUG, key="pk", lastmod=Max("visits__at"))) == []
    assert ids(declaration(location=SLUG, queryset=Article.objects.all(), **ALL_ON)) == ["W046"]
    router.db_for_read.assert_not_called()
    settings.INSTALLED_APPS = checking.WITHOUT_SITES
    assert ids(declaration(location=SLUG, site_field="site")) == ["E055"]
    assert ids(declaration(location=SLUG, site_field=None)) == []


class Explosive:
    def __getattr__(self, name):
        if name == "resolve_expression":
            raise AttributeError(name)
        raise AssertionError(f"a check has asked for {name}")

    def __iter__(self):
        raise AssertionError("a check has iterated")

    def __repr__(self):
        raise AssertionError("a check has shown a value")


class Everything(ModelSitemap):
    queryset = Article.objects.filter(tags__name="a").order_by("-updated")
    location = Route("nowhere", slug=F("slug"), other=Article.objects.values("slug"))
    lastmod = Subquery(Visit.objects.filter(article=OuterRef("pk")).values("pk")[:1])
    changefreq = Case(When(published=True, then=Value("daily")), default=F("slug"))
    priority = Exists(Visit.objects.filter(article=OuterRef("pk")))
    i18n = True
    languages, alternates, x_default = Explosive(), Explosive(), Explosive()
    limit, protocol, key = Explosive(), Explosive(), Explosive()
    hosts, format, extensions, site_field, images, videos = (Tag.objects.all() for _ in range(6))
    get_latest_lastmod = get_domain = __init__ = takes
    get_languages_for_item = get_urls = _languages = news = default_location = takes


NAMES = "queryset languages hosts format extensions lastmod changefreq priority limit protocol key "
NAMES += "site_field i18n alternates x_default images viewnames"
LAZY = declare(**dict.fromkeys(NAMES.split(), SimpleLazyObject(unread)))


LISTED = declaration(location=SLUG, i18n=True,
                     languages=[Tag.objects.all(), Explosive(), ["en", "English"]],
                     **dict.fromkeys(["alternates", "x_default"], Tag.objects.all()),
                     **{name: [Tag.objects.all()] for name in ("hosts", "extensions")})  # fmt: skip


def test_all_checks_together_query_nothing_and_call_nothing():
    others = ("items", "get_queryset", "get_absolute_url", "__init__", "__eq__", "__hash__")
    explosive = declaration(**dict.fromkeys((*HOOKS, *others), takes))
    declared = [Everything, LAZY, LISTED, explosive, object.__new__(explosive)]
    declared += [unread, lambda: unread(), SimpleLazyObject(unread)]
    passed = {f"section-{number}": section for number, section in enumerate(declared)}
    found = checking.checked(path("", INCLUDED, {"sitemaps": passed}), registered=passed)
    assert (found.count("W053"), ids(LAZY)) == (2, [])
    assert ids(LISTED) == ["W043", "W041"] * 3 + ["W047", "W048", "E050", "E054"]
    assert {"E013", "W014", "E021", "E032", "W036", "W037", "W047", "W048", "E050", "E051"} < {*found}
    assert ids_of(conf_checks.check_settings()) == []
    with pytest.raises(AssertionError, match="opened a connection"):
        connections["default"].cursor()
    with pytest.raises(AssertionError, match="made a compiler"):
        list(Article.objects.all())
    with pytest.raises(AssertionError, match="asked for the site"):
        Site.objects.get_current()


SOURCES = {path.name: path.read_text() for path in sorted(Path(checks.__file__).parent.glob("*.py"))}
TESTS = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
CODES = [code for source in SOURCES.values() for code in re.findall(r'"([EW][0-9]{3})"', source)]


def test_each_id_has_one_meaning_and_is_tested_and_an_error_and_a_warning_of_a_number_have_one_rule():
    assert (len(CODES) > 40, len({*CODES})) == (True, len(CODES))
    assert [code for code in CODES if not re.search(rf'["\. ]{code}[" ]', TESTS)] == []
    both = {number for number, count in Counter(code[1:] for code in CODES).items() if count > 1}
    assert both == {"010", "011", "012", "013", "040", "050", "051", "054", "056"}
