"""Cases of hooks: attributes, methods and other callables, and the values that they return."""

from __future__ import annotations

import functools
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any

from django.utils.functional import cached_property

from tests.compat.cases.parts import BARE, EARLY, LATE, LEAVES, MIDDLE, SEVEN, Bases, Leaf, Sections, case


@case
def hooks_missing(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def items(self) -> list[Leaf]:
            return BARE

    return {"one": Section}


@case
def hooks_as_attributes(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        location = "/everywhere/"
        lastmod = LATE
        changefreq = "weekly"
        priority = 0.5

        def items(self) -> list[Leaf]:
            return BARE

    return {"one": Section}


@case
def hooks_as_methods(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def items(self) -> list[Leaf]:
            return LEAVES

        def location(self, item: Leaf) -> str:
            return f"/tree/{item.slug}"

        def lastmod(self, item: Leaf) -> Any:
            return item.updated

        def changefreq(self, item: Leaf) -> str:
            return "daily" if item.slug == "oak" else "never"

        def priority(self, item: Leaf) -> float:
            return len(item.slug) / 10

    return {"one": Section}


@case
def hooks_that_are_none(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        lastmod = None
        changefreq = None
        priority = None

        def items(self) -> list[Leaf]:
            return LEAVES

    return {"one": Section}


@case
def hooks_that_return_none_for_some(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def items(self) -> list[Leaf]:
            return LEAVES

        def lastmod(self, item: Leaf) -> Any:
            return None if item.slug == "elm" else item.updated

        def changefreq(self, item: Leaf) -> str | None:
            return None if item.slug == "oak" else "yearly"

        def priority(self, item: Leaf) -> float | None:
            return None if item.slug == "ash" else 1.0

    return {"one": Section}


@case
def hooks_as_empty_strings(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        changefreq = ""
        priority = ""

        def items(self) -> list[Leaf]:
            return BARE

    return {"one": Section}


@case
def hooks_as_properties(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        @property
        def lastmod(self) -> datetime:
            return MIDDLE

        @property
        def changefreq(self) -> str:
            return "hourly"

        @cached_property
        def priority(self) -> str:
            return "0.25"

        def items(self) -> list[Leaf]:
            return BARE

    return {"one": Section}


@case
def hooks_as_properties_that_raise_attribute_error_are_missing_ones(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        @property
        def changefreq(self) -> str:
            raise AttributeError

        def items(self) -> list[Leaf]:
            return BARE

    return {"one": Section}


@case
def hooks_as_callables_that_do_not_bind(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        location = attrgetter("slug")
        lastmod = attrgetter("updated")
        changefreq = staticmethod(functools.partial(lambda word, item: word, "monthly"))
        priority = staticmethod(lambda item: "0.1")

        def items(self) -> list[Leaf]:
            return [Leaf("/a/", EARLY), Leaf("/b/", LATE)]

    return {"one": Section}


@case
def hooks_as_class_methods(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        @classmethod
        def location(cls, item: Leaf) -> str:
            return f"/{cls.__name__}/{item.slug}"

        def items(self) -> list[Leaf]:
            return BARE

    return {"one": Section}


@case
def hooks_on_the_instance(bases: Bases) -> Sections:
    section = bases.Sitemap()
    section.items = lambda: LEAVES
    section.location = lambda item: f"/on/{item.slug}"
    section.lastmod = lambda item: item.updated
    section.priority = 0.7
    return {"one": section}


@case
def hooks_set_in_the_constructor(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def __init__(self) -> None:
            self.changefreq = "always"
            self.lastmod = LATE
            self.limit = 1

        def items(self) -> list[Leaf]:
            return BARE

    return {"one": Section}


@case
def hooks_by_getattr(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def __getattr__(self, name: str) -> str:
            if name == "changefreq":
                return "daily"
            raise AttributeError(name)

        def items(self) -> list[Leaf]:
            return BARE

    return {"one": Section}


@case
def hooks_from_a_mixin(bases: Bases) -> Sections:
    class Mixin:
        changefreq = "weekly"

        def priority(self, item: Leaf) -> float:
            return 0.9

    class Section(Mixin, bases.Sitemap):
        def items(self) -> list[Leaf]:
            return BARE

    return {"one": Section}


@case
def hooks_inherited_from_a_base_of_the_project(bases: Bases) -> Sections:
    class Ours(bases.Sitemap):
        limit = 2
        priority = 0.6

        def location(self, item: Leaf) -> str:
            return "/ours" + super().location(item)

    class Section(Ours):
        def items(self) -> list[Leaf]:
            return SEVEN

    return {"one": Section}


@case
def priorities_of_every_kind(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        values = [0.5, "0.8", Decimal("0.30"), Decimal(1), 1, 0, 0.0, 0.1 + 0.2, "", None]

        def items(self) -> range:
            return range(len(self.values))

        def location(self, item: int) -> str:
            return f"/{item}"

        def priority(self, item: int) -> Any:
            return self.values[item]

    return {"one": Section}


@case
def words_and_numbers_outside_the_protocol(bases: Bases) -> Sections:
    class Attributes(bases.Sitemap):
        changefreq = "sometimes"
        priority = 7

        def items(self) -> list[Leaf]:
            return BARE

    class Methods(bases.Sitemap):
        def items(self) -> list[Leaf]:
            return BARE

        def changefreq(self, item: Leaf) -> str:
            return "<often>"

        def priority(self, item: Leaf) -> float:
            return -0.5

    return {"attributes": Attributes, "methods": Methods}
