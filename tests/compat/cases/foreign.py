"""Cases of third-party classes for contrib: flatpages, page trees, and unusual entries."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from django.contrib.flatpages.sitemaps import FlatPageSitemap
from django.core.paginator import Paginator

from tests.compat.cases.parts import EARLY, LATE, LEAVES, MIDDLE, Bases, Sections, case, section, updated

ENTRY = SimpleNamespace(location="https://example.com/o?a&b", lastmod=EARLY, priority="0.3")


@case
def flatpages(bases: Bases) -> Sections:
    class Localized_(FlatPageSitemap):
        limit = 1
        priority = 0.6

    return {"class": FlatPageSitemap, "instance": FlatPageSitemap(), "subclass": Localized_}


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


@case
def tree_as_class_and_instance(bases: Bases) -> Sections:
    class Secure(Tree):
        protocol = "https"

    return {"class": Tree, "instance": Tree(), "secure": Secure, "lambda": lambda: Tree("request")}


@case
def tree_with_a_newest_time(bases: Bases) -> Sections:
    class Telling(Tree):
        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> list[Any]:
            self.latest_lastmod = MIDDLE
            return super().get_urls(page, site, protocol)

    return {"one": Telling}


@case
def tree_built_on_the_base(bases: Bases) -> Sections:
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

    return {"one": Section}


@case
def tree_with_alternates_of_its_own(bases: Bases) -> Sections:
    links = [
        {"location": "https://example.de/?x=1&y=2", "lang_code": "de"},
        {"location": "https://example.com/", "lang_code": "x-default"},
    ]
    return {"one": giving({"location": "https://example.com/", "alternates": links, "changefreq": None})}


@case
def tree_that_gives_a_tuple_or_a_generator(bases: Bases) -> Sections:
    class Gives(Tree):
        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
            return tuple(super().get_urls(page, site, protocol))

    class Yields(Tree):
        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
            yield from super().get_urls(page, site, protocol)

    return {"tuple": Gives, "generator": Yields}


@case
def entries_with_values_that_are_false(bases: Bases) -> Sections:
    """A template treats 0 as missing, but the 0 of a hook is a string by then."""
    entries = []
    for position, value in enumerate((0, 0.0, "", None, False)):
        values = dict.fromkeys(("priority", "changefreq", "lastmod"), value)
        entries.append({"location": f"https://example.com/{position}", "alternates": value or (), **values})
    return {"one": giving(*entries)}


@case
def entries_that_are_objects(bases: Bases) -> Sections:
    """A template reads attributes in the same way as keys."""
    return {"one": giving(ENTRY)}


def giving(*entries: Any) -> Any:
    """Return a class without a base class whose `get_urls()` returns these entries."""
    return type("Giving", (Tree,), {"get_urls": lambda self, page=1, site=None, protocol=None: [*entries]})
