"""Cases of hooks: attributes, methods and other callables, and the values that they return."""

from __future__ import annotations

import functools
from datetime import datetime
from decimal import Decimal
from operator import attrgetter
from typing import Any

from django.utils.functional import cached_property

from tests.compat.cases.parts import (
    BARE,
    EARLY,
    LATE,
    LEAVES,
    MIDDLE,
    SEVEN,
    Bases,
    Leaf,
    Sections,
    case,
    section,
)


@case
def hooks_missing(bases: Bases) -> Sections:
    return {"one": section(bases, BARE)}


@case
def hooks_as_attributes(bases: Bases) -> Sections:
    values = {"location": "/everywhere/", "lastmod": LATE, "changefreq": "weekly", "priority": 0.5}
    return {"one": section(bases, BARE, **values)}


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
    return {"one": section(bases, LEAVES, lastmod=None, changefreq=None, priority=None)}


@case
def hooks_that_return_none_for_some(bases: Bases) -> Sections:
    return {
        "one": section(
            bases,
            LEAVES,
            lastmod=lambda self, item: None if item.slug == "elm" else item.updated,
            changefreq=lambda self, item: None if item.slug == "oak" else "yearly",
            priority=lambda self, item: None if item.slug == "ash" else 1.0,
        )
    }


@case
def hooks_as_empty_strings(bases: Bases) -> Sections:
    return {"one": section(bases, BARE, changefreq="", priority="")}


@case
def hooks_as_properties(bases: Bases) -> Sections:
    class Section(section(bases, BARE)):
        @property
        def lastmod(self) -> datetime:
            return MIDDLE

        @property
        def changefreq(self) -> str:
            return "hourly"

        @cached_property
        def priority(self) -> str:
            return "0.25"

    return {"one": Section}


@case
def hooks_as_properties_that_raise_attribute_error_are_missing_ones(bases: Bases) -> Sections:
    return {"one": section(bases, BARE, changefreq=property(lambda self: self.nothing))}


@case
def hooks_as_callables_that_do_not_bind(bases: Bases) -> Sections:
    return {
        "one": section(
            bases,
            [Leaf("/a/", EARLY), Leaf("/b/", LATE)],
            location=attrgetter("slug"),
            lastmod=attrgetter("updated"),
            changefreq=staticmethod(functools.partial(lambda word, item: word, "monthly")),
            priority=staticmethod(lambda item: "0.1"),
        )
    }


@case
def hooks_as_class_methods(bases: Bases) -> Sections:
    location = classmethod(lambda cls, item: f"/{cls.__name__}/{item.slug}")
    return {"one": section(bases, BARE, location=location)}


@case
def hooks_on_the_instance(bases: Bases) -> Sections:
    one = bases.Sitemap()
    one.items = lambda: LEAVES
    one.location = lambda item: f"/on/{item.slug}"
    one.lastmod = lambda item: item.updated
    one.priority = 0.7
    return {"one": one}


@case
def hooks_set_in_the_constructor(bases: Bases) -> Sections:
    class Section(section(bases, BARE)):
        def __init__(self) -> None:
            self.changefreq = "always"
            self.lastmod = LATE
            self.limit = 1

    return {"one": Section}


@case
def hooks_by_getattr(bases: Bases) -> Sections:
    class Section(section(bases, BARE)):
        def __getattr__(self, name: str) -> str:
            if name == "changefreq":
                return "daily"
            raise AttributeError(name)

    return {"one": Section}


@case
def hooks_from_a_mixin(bases: Bases) -> Sections:
    class Mixin:
        changefreq = "weekly"

        def priority(self, item: Leaf) -> float:
            return 0.9

    return {"one": section(bases, BARE, Mixin)}


@case
def hooks_inherited_from_a_base_of_the_project(bases: Bases) -> Sections:
    class Ours(bases.Sitemap):
        limit = 2
        priority = 0.6

        def location(self, item: Leaf) -> str:
            return "/ours" + super().location(item)

    return {"one": type("Section", (Ours,), {"items": lambda self: SEVEN})}


@case
def priorities_of_every_kind(bases: Bases) -> Sections:
    values = [0.5, "0.8", Decimal("0.30"), Decimal(1), 1, 0, 0.0, 0.1 + 0.2, "", None]
    hooks = {"location": lambda self, item: f"/{item}", "priority": lambda self, item: values[item]}
    return {"one": section(bases, range(len(values)), **hooks)}


@case
def words_and_numbers_outside_the_protocol(bases: Bases) -> Sections:
    methods = {"changefreq": lambda self, item: "<often>", "priority": lambda self, item: -0.5}
    return {
        "attributes": section(bases, BARE, changefreq="sometimes", priority=7),
        "methods": section(bases, BARE, **methods),
    }
