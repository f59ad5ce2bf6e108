"""Classes, hooks and mappings of sections, for each of which this package must answer as contrib does.

A case is a function of the base classes that a project imports, contrib's or ours. It returns a section, or
a mapping of sections. The values are shared, so that contexts can be compared by equality.
"""

from __future__ import annotations

import functools
from collections import UserDict, namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from operator import attrgetter, itemgetter
from types import MappingProxyType, SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib import sitemaps as contrib
from django.contrib.flatpages.sitemaps import FlatPageSitemap
from django.core.paginator import Paginator
from django.db.models import F, QuerySet
from django.urls import reverse
from django.utils.functional import cached_property, lazystr
from django.utils.safestring import mark_safe
from django.utils.translation import get_language

import django_sitemaps09
from django_sitemaps09 import ModelSitemap, Route, StaticViewSitemap
from tests.models import Article
from tests.support.internals import CHANGEFREQS
from tests.support.sections import declare

UTC, ZURICH, NEW_YORK = timezone.utc, ZoneInfo("Europe/Zurich"), ZoneInfo("America/New_York")
#: The base classes that a project imports, from contrib or from this package.
Bases = namedtuple("Bases", "Sitemap GenericSitemap")
CONTRIB_BASES = Bases(contrib.Sitemap, contrib.GenericSitemap)
COMPAT_BASES = Bases(django_sitemaps09.Sitemap, django_sitemaps09.GenericSitemap)


@dataclass(frozen=True)
class Leaf:
    slug: str
    updated: Any = None

    def get_absolute_url(self):
        return f"/leaf/{self.slug}/"


EARLY = datetime(2024, 2, 29, 23, 30, tzinfo=UTC)
MIDDLE = datetime(2025, 6, 1, 12, 0, 1, tzinfo=ZURICH)
LATE = datetime(2026, 1, 1, 21, 15, 59, tzinfo=NEW_YORK)
LEAVES, BARE = [Leaf("oak", EARLY), Leaf("elm", LATE), Leaf("ash", MIDDLE)], [Leaf("fir"), Leaf("yew")]
DAY = date(2024, 1, 1)
SEVEN = [Leaf(f"n{number}", EARLY + timedelta(days=number)) for number in range(7)]


def section(b, items, **attributes):
    read = items.all if isinstance(items, QuerySet) else lambda: items
    return type("Section", (b.Sitemap,), {"items": lambda self: read(), **attributes})


def of(items, **attributes):
    return lambda b: section(b, items, **attributes)


def each(**cases):
    return lambda b: {name.strip("_").replace("_", "-"): case(b) for name, case in cases.items()}


def localized(**attributes):
    location = lambda self, item: reverse("localized", kwargs={"slug": item.slug})  # noqa: E731
    return of(LEAVES, **{"i18n": True, "location": location, **attributes})


def linked(**attributes):
    return localized(**{"alternates": True, "x_default": True, **attributes})


def updated(self, item):
    return item.updated


def itself(self, item):
    return item


def timed(*values, **attributes):
    """Return the case of a section with an item for each value, which is the `lastmod` of the item."""
    leaves = [Leaf(f"t{number}", value) for number, value in enumerate(values)]
    return of(leaves, lastmod=updated, **attributes)


def constant(value, **attributes):
    return of(BARE, lastmod=value, **attributes)


@dataclass(frozen=True)
class Mute(Leaf):
    """An item whose `__str__()` is slow, such as one that follows relations."""

    def __str__(self):
        raise AssertionError("the text of an item is not needed")


class Numbers:
    """A sequence with only the methods that a paginator needs."""

    def __len__(self):
        return 5

    def __getitem__(self, part):
        return [f"/number/{index}" for index in range(*part.indices(5))]


def on_the_instance(b):
    one = b.Sitemap()
    one.items, one.location = lambda: LEAVES, lambda item: f"/on/{item.slug}"
    one.lastmod, one.priority, one.limit = lambda item: item.updated, 0.7, 1
    return one


def daily_changefreq(self, name):
    if name == "changefreq":
        return "daily"
    raise AttributeError(name)


def inherited(b):
    location = lambda self, item: "/ours" + b.Sitemap.location(self, item)  # noqa: E731
    base = type("Ours", (b.Sitemap,), {"limit": 2, "priority": 0.6, "location": location})
    return type("Section", (base,), {"items": lambda self: SEVEN})


class Anything:
    def __getattr__(self, name):
        return "/wrong/"


def setting(self, item):
    """Return a location, and set an attribute that other hooks read, and a hook."""
    self.at = len(item.slug) + ord(item.slug[0]) % 3
    self.priority = self.at / 10
    return f"/{item.slug}/"


MIXIN = type("Mixin", (), {"changefreq": "weekly", "priority": lambda self, item: 0.9})
PRIORITIES = [0.5, "0.8", Decimal("0.30"), Decimal(1), 1, 0, 0.0, 0.1 + 0.2, "", None]
DICTS = [{"path": "/d/1", "when": EARLY}, {"path": "/d/2", "when": MIDDLE}]
PATHS = ["/?a=1&b=2", "/<tag>", '/"quoted"', "/it's", "/ü/日本", "/a b", "/100%25", "/&amp;"]
ANY = [Anything()]
BY_PK = Article.objects.order_by("pk")
HOOKS = {
    "hooks_missing": of(BARE),
    "hooks_as_attributes": constant(LATE, location="/everywhere/", changefreq="weekly", priority=0.5),
    "hooks_as_methods": of(
        LEAVES, location=lambda self, item: f"/tree/{item.slug}", lastmod=updated,
        priority=lambda self, item: len(item.slug) / 10,
        changefreq=lambda self, item: "daily" if item.slug == "oak" else "never",
    ),
    "hooks_that_are_none": of(LEAVES, lastmod=None, changefreq=None, priority=None),
    "hooks_that_return_none_for_some": of(
        LEAVES, lastmod=lambda self, item: None if item.slug == "elm" else item.updated,
        changefreq=lambda self, item: None if item.slug == "oak" else "yearly",
        priority=lambda self, item: None if item.slug == "ash" else 1.0,
    ),
    "hooks_as_empty_strings": of(BARE, changefreq="", priority=""),
    "hooks_as_properties_that_raise_attribute_error_are_missing_ones":
        of(BARE, changefreq=property(lambda self: self.nothing)),
    "hooks_as_callables_that_do_not_bind": of(
        [Leaf("/a/", EARLY), Leaf("/b/", LATE)], location=attrgetter("slug"), lastmod=attrgetter("updated"),
        changefreq=staticmethod(functools.partial(lambda word, item: word, "monthly")),
        priority=staticmethod(lambda item: "0.1"),
    ),
    "hooks_as_class_methods":
        of(BARE, location=classmethod(lambda cls, item: f"/{cls.__name__}/{item.slug}")),
    "hooks_as_properties":
        of(BARE, lastmod=property(lambda self: MIDDLE), changefreq=property(lambda self: "hourly")),
    "hooks_from_a_mixin": lambda b: type("Section", (MIXIN, section(b, BARE)), {}),
    "hooks_on_the_instance": on_the_instance,
    "hooks_by_getattr": of(BARE, __getattr__=daily_changefreq),
    "hooks_inherited_from_a_base_of_the_project": inherited,
    "hooks_that_set_what_others_are":
        of(LEAVES, location=setting, changefreq=property(lambda self: CHANGEFREQS[self.at])),
    "priorities_of_every_kind":
        of(range(10), location=lambda self, item: f"/{item}", priority=lambda self, item: PRIORITIES[item]),
    "words_and_numbers_outside_the_protocol": each(
        attributes=of(BARE, changefreq="sometimes", priority=7),
        methods=of(BARE, changefreq=lambda self, item: "<often>", priority=lambda self, item: -0.5),
    ),
    "items_as_strings_by_reverse":
        of(["home", "about"], changefreq="daily", location=lambda self, item: reverse(item)),
    "items_as_dicts": of(DICTS, location=itemgetter("path"), lastmod=itemgetter("when")),
    "items_as_objects": of([SimpleNamespace(get_absolute_url=lambda: "/thing")]),
    "items_as_a_queryset": of(
        Article.objects.order_by("-pk"), limit=2, lastmod=updated, priority=lambda self, item: item.weight
    ),
    "items_as_a_sequence_of_the_project": of(Numbers(), limit=2, location=itself),
    "items_with_every_attribute":
        of(ANY, location=lambda self, item: "/right/", lastmod=EARLY, priority=lazystr("0.5")),
    "items_whose_text_nobody_needs": each(
        plain=of([Mute("hush", EARLY)]), localized=of([Mute("hush", EARLY)], i18n=True, alternates=True)
    ),
    "nothing_at_all": lambda b: {},
    "no_items": each(
        base=lambda b: b.Sitemap, a=lambda b: type("Empty", (b.Sitemap,), {"lastmod": LATE}),
        b=lambda b: type("EmptyMethod", (b.Sitemap,), {"lastmod": updated}), c=of(Article.objects.none()),
    ),
    "locations_to_escape": each(
        plain=of(PATHS, location=itself), localized=of(PATHS, location=itself, i18n=True, alternates=True)
    ),
    # Joined to a domain, a safe string is no longer marked as safe.
    "locations_marked_safe": of(BARE, location=mark_safe("/?a=1&b=2")),
    "failing_without_get_absolute_url": of(["no method here"]),
    "failing_hook": of(BARE, location=lambda self, item: 1 / 0),
    "failing_hook_with_an_attribute_error": of(BARE, location=lambda self, item: str(item.path)),
    "failing_items": lambda b: type("Section", (b.Sitemap,), {"items": lambda self: {}["gone"]}),
    "failing_constructor": of(BARE, __init__=lambda self, needed: None),
}  # fmt: skip
TIMES = {
    "times_as_dates":
        each(method=timed(date(2025, 3, 13), date(2024, 12, 31)), attribute=constant(date(2026, 5, 6))),
    "times_with_zones": each(method=timed(EARLY, LATE, MIDDLE), attribute=constant(MIDDLE)),
    "times_mixed_ascending": each(date=constant(DAY), early=timed(EARLY), late=timed(LATE)),
    "times_mixed_descending": each(late=constant(LATE), early=constant(EARLY), date=timed(DAY)),
    "times_missing_on_one_item": each(first=timed(None, EARLY, LATE), last=timed(DAY, None)),
    "times_missing_on_the_first_section": each(without=timed(None), with_=timed(EARLY)),
    "times_of_which_one_section_has_no_items": each(with_=timed(EARLY), empty=timed()),
    "newest_time_by_a_method": timed(EARLY, None, get_latest_lastmod=lambda self: LATE),
    "newest_time_denied_by_a_method":
        each(one=timed(EARLY, get_latest_lastmod=lambda self: None, limit=1), other=timed(EARLY)),
    "newest_time_as_a_class_attribute": of(BARE, latest_lastmod=MIDDLE),
    "limits": each(**{f"of_{limit}": of(SEVEN, limit=limit, lastmod=updated) for limit in (2, 7, 8)}),
    "one_section_in_pages":
        of(SEVEN, limit=3, lastmod=lambda self, item: None if item.slug == "n6" else item.updated),
    "protocols":
        each(unset=of(BARE), plain=of(BARE, protocol="http"), secure=of(BARE, protocol="https", limit=1)),
    # As in contrib's documentation.
    "paginator_as_a_cached_property":
        of(SEVEN, limit=4, paginator=cached_property(lambda self: Paginator(self.items(), self.limit))),
    "paginator_with_orphans": of([], paginator=property(lambda self: Paginator(SEVEN, 3, orphans=1))),
    "paginator_without_a_first_page":
        of([], paginator=property(lambda self: Paginator([], 3, allow_empty_first_page=False))),
}  # fmt: skip


def in_its_language(self, item):
    return f"/{get_language()}{item.get_absolute_url()}"


SPOKEN = {"oak": ["en", "de"], "elm": ["de"]}
LANGUAGES = {
    "languages_with_every_hook": localized(
        changefreq="daily", lastmod=updated, priority=lambda self, item: 0.3 if item.slug == "oak" else 0.5
    ),
    "languages_reach_location_alone": localized(
        location=lambda self, item: f"/{get_language()}/{item.slug}",
        changefreq=lambda self, item: "daily" if get_language() == "de" else "weekly",
    ),
    "languages_with_a_constant_location": linked(location="/en/constant/"),
    "languages_with_alternates": localized(alternates=True),
    "languages_with_a_default": each(with_alternates=linked(), without=localized(x_default=True)),
    "languages_with_a_default_cut_once":
        linked(location=lambda self, item: f"/shop/{get_language()}/{get_language()}/{item.slug}/"),
    "languages_listed": each(
        without_default=linked(languages=("pt-br", "de")), unknown=linked(languages=["fr"]),
        empty=linked(languages=[]), property=linked(languages=property(lambda self: ["de"])),
    ),
    "languages_of_each_item": each(
        lists=linked(get_languages_for_item=lambda self, item: SPOKEN.get(item.slug, [])),
        generator=localized(
            alternates=True, get_languages_for_item=lambda self, item: (code for code in ["en", "de"])
        ),
    ),
    "languages_in_pages": localized(alternates=True, limit=4),
    "queryset_in_languages":
        of(BY_PK, limit=4, i18n=True, alternates=True, location=in_its_language, lastmod=updated),
    "languages_without_i18n_mean_nothing": linked(i18n=False, languages=["de"]),
}  # fmt: skip


def stamped():
    return Article.objects.filter(updated__isnull=False).order_by("pk")


def generic(info=(), *given, **named):
    return lambda b: b.GenericSitemap({"queryset": stamped(), **dict(info)}, *given, **named)


def dated(field="updated", rows=None, **attributes):
    """Return the case of a generic sitemap of rows with a date field, of a class with these attributes."""
    info = {"queryset": stamped() if rows is None else rows, "date_field": field}
    return lambda b: type("Section", (b.GenericSitemap,), attributes)(info)


def stated(rows, *, as_items=False, **hooks):
    """Return the case of rows, of whose hooks the first of two is ours, and the second is contrib's."""

    def case(b):
        chosen = {name: hook[b is CONTRIB_BASES] for name, hook in hooks.items() if isinstance(hook, tuple)}
        if as_items or b is CONTRIB_BASES:
            return section(b, rows, **hooks | chosen)
        return type("Section", (ModelSitemap,), {"queryset": rows, **hooks, **chosen})

    return case


def above(self):
    return super(type(self), self)


def daily_of_late(self, name, item, default=None):
    found = {"changefreq": "daily", "lastmod": LATE}
    return found[name] if name in found else above(self)._get(name, item, default)


def doubled(self, page, protocol, domain):
    for url in above(self)._urls(page, protocol, domain):
        yield url
        yield {**url, "location": f"{url['location']}amp/", "priority": "0.1"}


def all_but_the_first(self, page=1, site=None, protocol=None):
    urls = above(self).get_urls(page=page, site=site, protocol=protocol)
    return [{**url, "extra": str(site.domain)} for url in urls][1:]


def patched(b):
    first, second = section(b, BARE)(), section(b, BARE)()
    first._location = lambda item, force_lang_code=None: f"/patched/{item.slug}"
    second.get_urls = lambda page=1, site=None, protocol=None: [{"location": f"{protocol}://x/"}]
    return {"location": first, "get-urls": second}


def built_on_the_base(self, page, protocol, domain):
    """Return entries like those of a page tree, of which an item has several."""
    items, place = self.paginator.page(page).object_list, "https://cdn.example.net/{}/{}"
    urls = [{"location": place.format(i.slug, part), "lastmod": i.updated} for i in items for part in "abc"]
    self.latest_lastmod = max(url["lastmod"] for url in urls)
    return urls


UPDATED_COLUMN = (F("updated"), updated)
WEIGHT = (F("weight"), lambda self, item: item.weight)
SHOP = {
    "rows": Article.objects.filter(category__isnull=False).order_by("-pk"),
    "location": (
        Route("article", category=F("category__slug"), slug=F("slug")),
        lambda self, item: reverse("article", kwargs={"category": item.category.slug, "slug": item.slug}),
    ),
    "lastmod": UPDATED_COLUMN,
    "changefreq": "weekly",
    "priority": WEIGHT,
}
BY_LANGUAGE = {
    "rows": BY_PK,
    "location": (
        Route("localized-article", pk=F("pk")),
        lambda self, item: reverse("localized-article", kwargs={"pk": item.pk}),
    ),
    "lastmod": UPDATED_COLUMN,
}
TWO_AND_THREE = property(lambda self: Paginator(self._items(), 2, orphans=1))
ROWS = {
    "generic": each(
        bare=generic(), dated=dated(), day=generic({"date_field": "day", "other": 1}),
        positional=generic({}, 0.6, "monthly", "https"), sliced=generic({"queryset": stamped()[1:3]}),
    ),
    "generic_with_nothing_in_the_date_field":
        each(none=dated(rows=BY_PK.filter(updated__isnull=True)), some=dated(rows=BY_PK.all())),
    "generic_in_languages": dated(
        "day", i18n=True, alternates=True, location=in_its_language,
        __init__=lambda self, info: above(self).__init__(info, priority=0.5),
    ),
    "generic_with_overridden_internals":
        dated(paginator=TWO_AND_THREE, _urls=lambda self, *given: above(self)._urls(*given)[::-1]),
    "generic_subclassed": dated(
        limit=2, priority=0.9, protocol="https", changefreq=lambda self, item: "weekly",
        location=lambda self, item: f"/sub{item.get_absolute_url()}",
        __init__=lambda self, info: above(self).__init__(info, 0.1, protocol="http"),
    ),
    "generic_with_an_expression": lambda b: dated(priority=WEIGHT[b is CONTRIB_BASES])(b),
    "expressions": stated(**SHOP),
    "expressions_in_pages": stated(**SHOP, limit=2),
    "expressions_of_items": stated(**SHOP, as_items=True),
    "expressions_in_one_language": stated(**BY_LANGUAGE),
    "languages_of_expressions":
        stated(**BY_LANGUAGE, i18n=True, alternates=True, x_default=True, languages=["en", "de"]),
    "expressions_with_overridden_internals": each(
        entries=stated(
            **SHOP, _urls=lambda self, *given: [*above(self)._urls(*given)][:3], _get=daily_of_late,
            _location=lambda self, *given: f"/x{above(self)._location(*given)}",
            get_domain=lambda self, site=None: "cdn.example",
            get_protocol=lambda self, protocol=None: "http",
        ),
        items=stated(**SHOP, _items=lambda self: list(above(self)._items())[:2]),
        urls=stated(**SHOP, get_urls=all_but_the_first),
        orphans=stated(**SHOP, paginator=TWO_AND_THREE),
        languages=stated(**SHOP, i18n=True, _languages=lambda self: ["de"]),
    ),
    "views_without_arguments": lambda b: (
        declare(StaticViewSitemap, viewnames=["home", "about"], changefreq="daily")
        if b is COMPAT_BASES
        else HOOKS["items_as_strings_by_reverse"](b)
    ),
    "overridden_get": of(BARE, _get=daily_of_late),
    "overridden_urls": of(BARE, limit=1, _urls=doubled),
    "overridden_get_urls": of(BARE, get_urls=all_but_the_first),
    "overridden_on_the_instance": patched,
    "overridden_items": each(
        one=of(BARE, _items=lambda self: [*reversed(self.items()), Leaf("added")]),
        localized=localized(_items=lambda self: [*above(self)._items()[1:], (Leaf("only"), "de")]),
    ),
    "overridden_location": each(
        one=of(BARE, _location=lambda self, *given: f"/mirror{above(self)._location(*given)}"),
        localized=localized(
            alternates=True, _location=lambda self, item, code=None: f"/{item[1]}/{code}/{item[0].slug}"
        ),
    ),
    "overridden_languages": localized(alternates=True, _languages=lambda self: ["de"]),
    "overridden_get_protocol":
        of(BARE, get_protocol=lambda self, protocol=None: f"x-{above(self).get_protocol(protocol)}"),
    "overridden_get_domain": of(
        BARE, get_domain=lambda self, site=None: f"m.{above(self).get_domain(site).partition(':')[0]}:8080"
    ),
    "overridden_entries_of_a_tree": of(LEAVES, limit=2, lastmod=updated, _urls=built_on_the_base),
}  # fmt: skip


class Tree:
    """A class like the sitemap of a page tree, without a base class.

    An item has several entries. Their locations are absolute URLs on other hosts, and most keys are
    missing. A page has more entries than the paginator has items on a page.
    """

    protocol: str | None = None
    paginator = property(lambda self: Paginator(["root", "shop", "blog"], 2))

    def get_latest_lastmod(self):
        return LATE

    def get_urls(self, page=1, site=None, protocol=None):
        urls = []
        for name in self.paginator.page(page).object_list:
            urls.append({"location": f"https://{name}.example.net/?a=1&b=2", "lastmod": LATE})
            urls.append({"location": f"{protocol}://{site.domain}/{name}", "priority": 0.5})
            urls.append({"location": f"//{name}/", "lastmod": None, "alternates": []})
        return urls


def giving(*entries):
    return type("Giving", (Tree,), {"get_urls": lambda self, page=1, site=None, protocol=None: [*entries]})


def through(kind):
    return type("Through", (Tree,), {"get_urls": lambda self, *a, **k: kind(Tree.get_urls(self, *a, **k))})


LINKS = [
    {"location": "https://example.de/?x=1&y=2", "lang_code": "de"},
    {"location": "https://example.com/", "lang_code": "x-default"},
]
ENTRY = SimpleNamespace(location="https://example.com/o?a&b", lastmod=EARLY, priority="0.3")
OTHERS = {
    "flatpages": lambda b: {
        "class": FlatPageSitemap, "limited": type("Limited", (FlatPageSitemap,), {"limit": 1}),
    },
    "tree_as_class_and_instance": lambda b: {
        "class": Tree, "secure": type("Secure", (Tree,), {"protocol": "https"})(),
    },
    "tree_with_a_newest_time": lambda b: type("Telling", (Tree,), {"latest_lastmod": MIDDLE}),
    "tree_with_alternates_of_its_own":
        lambda b: giving({"location": "https://example.com/", "alternates": LINKS, "changefreq": None}),
    "tree_that_gives_a_tuple_or_a_generator": lambda b: {"tuple": through(tuple), "iter": through(iter)},
    # A template reads attributes in the same way as keys.
    "tree_with_entries_that_are_objects": lambda b: giving(ENTRY),
}  # fmt: skip


def of_every_form(b):
    def method(self, slug="method"):
        return section(b, [Leaf(slug, EARLY)], lastmod=updated)()

    maker = type("Maker", (), {"__call__": lambda self: method(self, "callable"), "method": method})()
    made = {"instance": method(None, "instance"), "lambda": lambda: method(None, "lambda")}
    made |= {"class": section(b, [Leaf("class", EARLY)]), "callable": maker, "method": maker.method}
    return made | {"partial": functools.partial(method, None, "partial")}


NAMES = ["Blog", "blog", "index", "a.b", "two words", "ü", "x-1", "1", "a&b", "%41", "sitemap"]
MAPPINGS = {
    "sections_of_every_form": of_every_form,
    "sections_of_both_bases": each(
        ours=of(LEAVES), theirs=lambda b: section(CONTRIB_BASES, BARE, lastmod=EARLY),
        generic=lambda b: contrib.GenericSitemap({"queryset": BY_PK.all()}, priority=0.4),
    ),
    "section_names_of_any_kind": lambda b: dict.fromkeys(NAMES, section(b, BARE)),
    "sections_in_a_user_dict": lambda b: UserDict(each(b=of(BARE), a=of(BARE))(b)),
    "sections_in_a_read_only_mapping": lambda b: MappingProxyType(each(b=of(BARE), a=of(BARE))(b)),
}  # fmt: skip
CASES = HOOKS | TIMES | LANGUAGES | ROWS | OTHERS | MAPPINGS


def sections(name, b):
    """Return the sections of a case. A single section is named `one`."""
    found = CASES[name](b)
    return found if isinstance(found, (Mapping, UserDict)) else {"one": found}
