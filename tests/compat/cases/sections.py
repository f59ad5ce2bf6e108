"""Cases of mappings of sections, and of the objects in them."""

from __future__ import annotations

import functools
from collections import UserDict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from django.contrib import sitemaps as contrib

from tests.compat.cases.parts import (
    BARE,
    CONTRIB_BASES,
    EARLY,
    LEAVES,
    Bases,
    Leaf,
    Sections,
    case,
    section,
)
from tests.models import Article


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
def sections_of_both_bases(bases: Bases) -> Sections:
    ours, theirs = section(bases, LEAVES), section(CONTRIB_BASES, BARE, lastmod=EARLY)
    generic = contrib.GenericSitemap({"queryset": Article.objects.order_by("pk")}, priority=0.4)
    return {"ours": ours, "theirs": theirs, "generic": generic}


@case
def section_names_of_any_kind(bases: Bases) -> Sections:
    names = ["Blog", "blog", "index", "a.b", "two words", "ü", "x-1", "1", "a&b", "%41", "sitemap"]
    return dict.fromkeys(names, section(bases, BARE))


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


@case
def sections_in_a_user_dict(bases: Bases) -> Sections:
    return UserDict({"b": section(bases, BARE), "a": section(bases, BARE)})


@case
def sections_in_a_read_only_mapping(bases: Bases) -> Sections:
    return MappingProxyType({"b": section(bases, BARE), "a": section(bases, BARE)})
