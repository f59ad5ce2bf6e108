"""Cases of items and their locations: lists, querysets, sequences, and texts that need escaping."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

from django.urls import reverse
from django.utils.safestring import mark_safe

from tests.compat.cases.parts import (
    BARE,
    EARLY,
    LATE,
    MIDDLE,
    Bases,
    Leaf,
    Sections,
    case,
    section,
    updated,
)
from tests.models import Article

THINGS = [SimpleNamespace(get_absolute_url=lambda: "/thing")]


@case
def items_as_strings_by_reverse(bases: Bases) -> Sections:
    location = lambda self, item: reverse(item)  # noqa: E731
    return {"one": section(bases, ["home", "about"], changefreq="daily", location=location)}


@case
def items_as_dicts(bases: Bases) -> Sections:
    items = [{"path": "/d/1", "when": EARLY}, {"path": "/d/2", "when": MIDDLE}]
    return {"one": section(bases, items, location=itemgetter("path"), lastmod=itemgetter("when"))}


@case
def items_as_pairs(bases: Bases) -> Sections:
    hooks = {"location": lambda self, item: item[0], "lastmod": lambda self, item: item[1]}
    return {"one": section(bases, (("/p/1", EARLY), ("/p/2", LATE)), **hooks)}


@case
def items_as_objects(bases: Bases) -> Sections:
    return {"one": section(bases, THINGS)}


@case
def items_as_a_queryset(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        limit = 2

        def items(self) -> Any:
            return Article.objects.order_by("-pk")

        def lastmod(self, item: Article) -> Any:
            return item.updated

        def priority(self, item: Article) -> Any:
            return item.weight

    return {"one": Section}


@case
def items_as_values_of_a_queryset(bases: Bases) -> Sections:
    rows = Article.objects.order_by("pk")
    return {
        "dicts": section(
            bases,
            rows.values("slug", "day"),
            location=lambda self, item: f"/values/{item['slug']}",
            lastmod=lambda self, item: item["day"],
        ),
        "scalars": section(
            bases, rows.values_list("slug", flat=True), location=lambda self, item: f"/flat/{item}"
        ),
    }


@case
def items_as_a_sliced_and_a_combined_queryset(bases: Bases) -> Sections:
    first, second = (Article.objects.filter(slug=slug) for slug in ("alpha", "delta"))
    return {
        "sliced": section(bases, Article.objects.order_by("-slug")[1:4]),
        "combined": section(bases, first.union(second).order_by("slug")),
    }


@case
def items_as_a_sequence_of_the_project(bases: Bases) -> Sections:
    class Numbers:
        """A sequence with only the methods that a paginator needs."""

        def __len__(self) -> int:
            return 5

        def __getitem__(self, part: slice) -> list[str]:
            return [f"/number/{index}" for index in range(*part.indices(5))]

    return {"one": section(bases, Numbers(), limit=2, location=lambda self, item: item)}


@case
def items_twice_the_same(bases: Bases) -> Sections:
    return {"one": section(bases, [*BARE, *BARE])}


@dataclass(frozen=True)
class Mute(Leaf):
    """An item whose `__str__()` is slow, such as one that follows relations."""

    def __str__(self) -> str:
        raise AssertionError("the text of an item is not needed")


MUTES = [Mute("hush", EARLY)]


@case
def items_whose_text_nobody_needs(bases: Bases) -> Sections:
    return {"plain": section(bases, MUTES), "localized": section(bases, MUTES, i18n=True, alternates=True)}


@case
def nothing_at_all(bases: Bases) -> Sections:
    return {}


@case
def no_items(bases: Bases) -> Sections:
    return {
        "base": bases.Sitemap,
        "a": type("Empty", (bases.Sitemap,), {"lastmod": LATE}),
        "b": type("EmptyMethod", (bases.Sitemap,), {"lastmod": updated}),
        "c": section(bases, Article.objects.none()),
    }


@case
def locations_to_escape(bases: Bases) -> Sections:
    paths = ["/?a=1&b=2", "/<tag>", '/"quoted"', "/it's", "/ü/日本", "/a b", "/100%25", "/&amp;"]
    location = lambda self, item: item  # noqa: E731
    return {
        "plain": section(bases, paths, location=location),
        "localized": section(bases, paths, location=location, i18n=True, alternates=True),
    }


@case
def locations_marked_safe(bases: Bases) -> Sections:
    """Joined to a domain, a safe string is no longer marked as safe."""

    class Ready(bases.Sitemap):
        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
            ready = mark_safe("http://example.com/?a=1&amp;b=2")
            return [{"location": ready}]

    return {"joined": section(bases, BARE, location=mark_safe("/?a=1&b=2")), "ready": Ready}
