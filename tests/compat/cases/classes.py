"""Cases of classes and objects: generic ones, overridden methods, other bases, and mappings of sections."""

from __future__ import annotations

import functools
from collections import UserDict
from collections.abc import Iterator, Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any

from django.contrib import sitemaps as contrib
from django.contrib.flatpages.sitemaps import FlatPageSitemap
from django.core.paginator import Paginator
from django.utils.translation import get_language

from tests.compat.cases.parts import (
    BARE,
    CONTRIB_BASES,
    EARLY,
    LATE,
    LEAVES,
    MIDDLE,
    Bases,
    Leaf,
    Sections,
    case,
    cases,
    localized,
    section,
    updated,
)
from tests.models import Article


def stamped() -> Any:
    return Article.objects.filter(updated__isnull=False).order_by("pk")


def dated(bases: Bases, field: str = "updated", rows: Any = None, **attributes: Any) -> Any:
    """Return a generic sitemap of rows with a date field, of a class with these attributes."""
    kind = type("Section", (bases.GenericSitemap,), attributes)
    return kind({"queryset": stamped() if rows is None else rows, "date_field": field})


cases(
    generic=lambda bases: {
        "bare": bases.GenericSitemap({"queryset": stamped()}),
        "dated": dated(bases),
        "day": bases.GenericSitemap({"queryset": stamped(), "date_field": "day", "other": 1}),
        "positional": bases.GenericSitemap({"queryset": stamped()}, 0.6, "monthly", "https"),
        "named": bases.GenericSitemap(
            {"queryset": stamped()}, protocol="http", changefreq="daily", priority="0.2"
        ),
    },
    generic_dated_everywhere=dated,
    generic_with_nothing_in_the_date_field=lambda bases: {
        "none": dated(bases, rows=Article.objects.filter(updated__isnull=True).order_by("pk")),
        "some": dated(bases, rows=Article.objects.order_by("pk")),
        "empty": bases.GenericSitemap({"queryset": Article.objects.none()}),
    },
    generic_in_languages=lambda bases: dated(
        bases,
        "day",
        i18n=True,
        alternates=True,
        location=lambda self, item: f"/{get_language()}{item.get_absolute_url()}",
        __init__=lambda self, info: bases.GenericSitemap.__init__(self, info, priority=0.5),
    ),
    generic_with_overridden_internals=lambda bases: dated(
        bases,
        paginator=property(lambda self: Paginator(self._items(), 3, orphans=1)),
        _urls=lambda self, *given: bases.GenericSitemap._urls(self, *given)[::-1],
    ),
    generic_made_for_each_request=lambda bases: {
        "one": lambda: bases.GenericSitemap({"queryset": stamped()[:2]})
    },
)


@case
def generic_subclassed(bases: Bases) -> Any:
    class Section(bases.GenericSitemap):
        limit = 2
        priority = 0.9
        protocol = "https"

        def changefreq(self, item: Article) -> str:
            return "weekly" if item.pk else "never"

        def location(self, item: Article) -> str:
            return f"/sub{item.get_absolute_url()}"

    return Section({"queryset": stamped(), "date_field": "updated"}, 0.1, protocol="http")


# Classes that override contrib's internal methods.


@case
def overridden_get(bases: Bases) -> Any:
    class Section(section(bases, BARE)):
        def _get(self, name: str, item: Any, default: Any = None) -> Any:
            found = {"changefreq": "daily", "lastmod": LATE}
            return found[name] if name in found else super()._get(name, item, default)

    return Section


@case
def overridden_urls(bases: Bases) -> Any:
    class Section(section(bases, BARE)):
        limit = 1

        def _urls(self, page: Any, protocol: str, domain: str) -> Any:
            for url in super()._urls(page, protocol, domain):
                yield url
                yield {**url, "location": f"{url['location']}amp/", "priority": "0.1"}

    return Section


@case
def overridden_get_urls(bases: Bases) -> Any:
    class Section(section(bases, BARE)):
        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
            urls = super().get_urls(page=page, site=site, protocol=protocol)
            return [{**url, "extra": str(site.domain)} for url in urls][1:]

    return Section


@case
def overridden_on_the_instance(bases: Bases) -> Sections:
    first, second = section(bases, BARE)(), section(bases, BARE)()
    first._location = lambda item, force_lang_code=None: f"/patched/{item.slug}"
    second.get_urls = lambda page=1, site=None, protocol=None: [{"location": f"{protocol}://x/"}]
    return {"location": first, "get-urls": second}


cases(
    overridden_items=lambda bases: {
        "one": section(bases, BARE, _items=lambda self: [*reversed(self.items()), Leaf("added")]),
        "localized": localized(
            bases, _items=lambda self: [*bases.Sitemap._items(self)[1:], (Leaf("only"), "de")]
        ),
    },
    overridden_location=lambda bases: {
        "one": section(
            bases,
            BARE,
            _location=lambda self, item, force_lang_code=None: (
                f"/mirror{bases.Sitemap._location(self, item, force_lang_code)}"
            ),
        ),
        "localized": localized(
            bases,
            alternates=True,
            _location=lambda self, item, code=None: f"/{item[1]}/{code}/{item[0].slug}",
        ),
    },
    overridden_languages=lambda bases: localized(bases, alternates=True, _languages=lambda self: ["de"]),
    overridden_get_protocol=lambda bases: section(
        bases,
        BARE,
        get_protocol=lambda self, protocol=None: f"x-{bases.Sitemap.get_protocol(self, protocol)}",
    ),
    overridden_get_domain=lambda bases: section(
        bases,
        BARE,
        get_domain=lambda self, site=None: (
            f"mirror.{bases.Sitemap.get_domain(self, site).partition(':')[0]}:8080"
        ),
    ),
)


# Third-party classes for contrib: flatpages, page trees, and unusual entries.


class Tree:
    """A class like the sitemap of a page tree, without a base class.

    An item has several entries. Their locations are absolute URLs on other hosts, and most keys are
    missing. A page has more entries than the paginator has items on a page.
    """

    protocol: str | None = None

    def __init__(self, request: Any = None) -> None:
        self.request = request

    @property
    def paginator(self) -> Paginator:
        return Paginator(["root", "shop", "blog"], 2)

    def get_latest_lastmod(self) -> Any:
        return LATE

    def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> list[Any]:
        urls: list[Any] = []
        for name in self.paginator.page(page).object_list:
            urls.append({"location": f"https://{name}.example.net/?a=1&b=2", "lastmod": EARLY})
            urls.append({"location": f"{protocol}://{site.domain}/{name}", "priority": 0.5})
            urls.append({"location": f"//{name}/", "lastmod": None, "alternates": []})
        return urls


class Secure(Tree):
    protocol = "https"


class Telling(Tree):
    def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
        self.latest_lastmod = MIDDLE
        return super().get_urls(page, site, protocol)


class Yields(Tree):
    def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
        yield from super().get_urls(page, site, protocol)


class Gives(Yields):
    def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
        return tuple(super().get_urls(page, site, protocol))


class Limited(FlatPageSitemap):
    limit = 1
    priority = 0.6


def giving(*entries: Any) -> Any:
    """Return a class without a base class whose `get_urls()` returns these entries."""
    return type("Giving", (Tree,), {"get_urls": lambda self, page=1, site=None, protocol=None: [*entries]})


@case
def tree_built_on_the_base(bases: Bases) -> Any:
    class Section(section(bases, LEAVES, limit=2, lastmod=updated)):
        """A subclass like the real one: its items create their own entries."""

        def _urls(self, page: Any, protocol: str, domain: str) -> list[Any]:
            urls = [
                {"location": f"https://cdn.example.net/{item.slug}/{part}", "lastmod": item.updated}
                for item in self.paginator.page(page).object_list
                for part in range(3)
            ]
            self.latest_lastmod = max(url["lastmod"] for url in urls)
            return urls

    return Section


LINKS = [
    {"location": "https://example.de/?x=1&y=2", "lang_code": "de"},
    {"location": "https://example.com/", "lang_code": "x-default"},
]
ENTRY = SimpleNamespace(location="https://example.com/o?a&b", lastmod=EARLY, priority="0.3")
#: A template treats 0 as missing, but the 0 of a hook is a string by then.
FALSE = [
    {
        "location": f"https://example.com/{position}",
        "alternates": value or (),
        **dict.fromkeys(("priority", "changefreq", "lastmod"), value),
    }
    for position, value in enumerate((0, 0.0, "", None, False))
]

cases(
    flatpages=lambda bases: {"class": FlatPageSitemap, "instance": FlatPageSitemap(), "subclass": Limited},
    tree_as_class_and_instance=lambda bases: {
        "class": Tree,
        "instance": Tree(),
        "secure": Secure,
        "lambda": lambda: Tree("request"),
    },
    tree_with_a_newest_time=lambda bases: Telling,
    tree_with_alternates_of_its_own=lambda bases: giving(
        {"location": "https://example.com/", "alternates": LINKS, "changefreq": None}
    ),
    tree_that_gives_a_tuple_or_a_generator=lambda bases: {"tuple": Gives, "generator": Yields},
    entries_with_values_that_are_false=lambda bases: giving(*FALSE),
    # A template reads attributes in the same way as keys.
    entries_that_are_objects=lambda bases: giving(ENTRY),
)


# Mappings of sections, and the objects in them.


@case
def sections_of_every_form(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def __init__(self, slug: str = "class") -> None:
            self.slug = slug

        def items(self) -> list[Leaf]:
            return [Leaf(self.slug, EARLY)]

        def lastmod(self, item: Leaf) -> Any:
            return item.updated

    def function() -> Any:
        return Section("function")

    class Maker:
        def __call__(self) -> Any:
            return Section("callable")

        def method(self) -> Any:
            return Section("method")

    return {
        "class": Section,
        "instance": Section("instance"),
        "function": function,
        "lambda": lambda: Section("lambda"),
        "partial": functools.partial(Section, "partial"),
        "callable": Maker(),
        "method": Maker().method,
    }


@case
def sections_in_a_mapping_that_is_no_dict(bases: Bases) -> Sections:
    class Lazy(Mapping[str, Any]):
        def __getitem__(self, name: str) -> Any:
            if name not in ("a", "b"):
                raise KeyError(name)
            return section(bases, BARE)

        def __iter__(self) -> Iterator[str]:
            return iter(("a", "b"))

        def __len__(self) -> int:
            return 2

    return Lazy()


NAMES = ["Blog", "blog", "index", "a.b", "two words", "ü", "x-1", "1", "a&b", "%41", "sitemap"]

cases(
    sections_of_both_bases=lambda bases: {
        "ours": section(bases, LEAVES),
        "theirs": section(CONTRIB_BASES, BARE, lastmod=EARLY),
        "generic": contrib.GenericSitemap({"queryset": Article.objects.order_by("pk")}, priority=0.4),
    },
    section_names_of_any_kind=lambda bases: dict.fromkeys(NAMES, section(bases, BARE)),
    sections_in_a_user_dict=lambda bases: UserDict({"b": section(bases, BARE), "a": section(bases, BARE)}),
    sections_in_a_read_only_mapping=lambda bases: MappingProxyType(
        {"b": section(bases, BARE), "a": section(bases, BARE)}
    ),
)
