"""Cases of limits, paginators and protocols."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.utils.functional import cached_property

from tests.compat.cases.parts import BARE, SEVEN, Bases, Sections, case, section, updated


@case
def limits(bases: Bases) -> Sections:
    return {
        name: section(bases, SEVEN, limit=limit, lastmod=updated)
        for name, limit in (("two", 2), ("seven", 7), ("eight", 8))
    }


@case
def one_section_in_pages(bases: Bases) -> Sections:
    lastmod = lambda self, item: None if item.slug == "n6" else item.updated  # noqa: E731
    return {"one": section(bases, SEVEN, limit=3, lastmod=lastmod)}


@case
def protocols(bases: Bases) -> Sections:
    return {
        "unset": section(bases, BARE),
        "plain": section(bases, BARE, protocol="http"),
        "secure": section(bases, BARE, protocol="https", limit=1),
    }


@case
def paginator_as_a_cached_property(bases: Bases) -> Sections:
    class Section(section(bases, SEVEN)):
        limit = 4

        @cached_property
        def paginator(self) -> Paginator:
            return Paginator(self._items(), self.limit)

    return {"one": Section}


@case
def paginator_with_orphans(bases: Bases) -> Sections:
    return {"one": section(bases, [], paginator=property(lambda self: Paginator(SEVEN, 3, orphans=1)))}


@case
def paginator_without_a_first_page(bases: Bases) -> Sections:
    paginator = property(lambda self: Paginator([], 3, allow_empty_first_page=False))
    return {"one": section(bases, [], paginator=paginator)}
