"""Cases of limits, paginators and protocols."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.utils.functional import cached_property

from tests.compat.cases.parts import BARE, SEVEN, Bases, Leaf, Sections, case


@case
def limits(bases: Bases) -> Sections:
    class Two(bases.Sitemap):
        limit = 2

        def items(self) -> list[Leaf]:
            return SEVEN

        def lastmod(self, item: Leaf) -> Any:
            return item.updated

    class Seven(Two):
        limit = 7

    class Eight(Two):
        limit = 8

    return {"two": Two, "seven": Seven, "eight": Eight}


@case
def one_section_in_pages(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        limit = 3

        def items(self) -> list[Leaf]:
            return SEVEN

        def lastmod(self, item: Leaf) -> Any:
            return None if item.slug == "n6" else item.updated

    return {"one": Section}


@case
def protocols(bases: Bases) -> Sections:
    class Unset(bases.Sitemap):
        def items(self) -> list[Leaf]:
            return BARE

    class Plain(Unset):
        protocol = "http"

    class Secure(Unset):
        protocol = "https"
        limit = 1

    return {"unset": Unset, "plain": Plain, "secure": Secure}


@case
def paginator_as_a_cached_property(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        limit = 4

        @cached_property
        def paginator(self) -> Paginator:
            return Paginator(self._items(), self.limit)

        def items(self) -> list[Leaf]:
            return SEVEN

    return {"one": Section}


@case
def paginator_with_orphans(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        @property
        def paginator(self) -> Paginator:
            return Paginator(SEVEN, 3, orphans=1)

    return {"one": Section}


@case
def paginator_without_a_first_page(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        @property
        def paginator(self) -> Paginator:
            return Paginator([], 3, allow_empty_first_page=False)

    return {"one": Section}
