"""Cases of items and their locations: lists, querysets, sequences, and texts that need escaping."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from types import SimpleNamespace
from typing import Any

from django.urls import reverse
from django.utils.safestring import mark_safe

from tests.compat.cases.parts import BARE, EARLY, LATE, MIDDLE, Bases, Leaf, Sections, case
from tests.models import Article

THINGS = [SimpleNamespace(get_absolute_url=lambda: "/thing")]


@case
def items_as_strings_by_reverse(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        changefreq = "daily"

        def items(self) -> list[str]:
            return ["home", "about"]

        def location(self, item: str) -> str:
            return reverse(item)

    return {"one": Section}


@case
def items_as_dicts(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        location = itemgetter("path")
        lastmod = itemgetter("when")

        def items(self) -> list[dict[str, Any]]:
            return [{"path": "/d/1", "when": EARLY}, {"path": "/d/2", "when": MIDDLE}]

    return {"one": Section}


@case
def items_as_pairs(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def items(self) -> tuple[tuple[str, datetime], ...]:
            return (("/p/1", EARLY), ("/p/2", LATE))

        def location(self, item: tuple[str, datetime]) -> str:
            return item[0]

        def lastmod(self, item: tuple[str, datetime]) -> datetime:
            return item[1]

    return {"one": Section}


@case
def items_as_objects(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def items(self) -> list[SimpleNamespace]:
            return THINGS

    return {"one": Section}


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
    class Dicts(bases.Sitemap):
        def items(self) -> Any:
            return Article.objects.order_by("pk").values("slug", "day")

        def location(self, item: dict[str, Any]) -> str:
            return f"/values/{item['slug']}"

        def lastmod(self, item: dict[str, Any]) -> Any:
            return item["day"]

    class Scalars(bases.Sitemap):
        def items(self) -> Any:
            return Article.objects.order_by("pk").values_list("slug", flat=True)

        def location(self, item: str) -> str:
            return f"/flat/{item}"

    return {"dicts": Dicts, "scalars": Scalars}


@case
def items_as_a_sliced_and_a_combined_queryset(bases: Bases) -> Sections:
    class Sliced(bases.Sitemap):
        def items(self) -> Any:
            return Article.objects.order_by("-slug")[1:4]

    class Combined(bases.Sitemap):
        def items(self) -> Any:
            first = Article.objects.filter(slug="alpha")
            return first.union(Article.objects.filter(slug="delta")).order_by("slug")

    return {"sliced": Sliced, "combined": Combined}


@case
def items_as_a_sequence_of_the_project(bases: Bases) -> Sections:
    class Numbers:
        """A sequence with only the methods that a paginator needs."""

        def __len__(self) -> int:
            return 5

        def __getitem__(self, part: slice) -> list[str]:
            return [f"/number/{index}" for index in range(*part.indices(5))]

    class Section(bases.Sitemap):
        limit = 2

        def items(self) -> Numbers:
            return Numbers()

        def location(self, item: str) -> str:
            return item

    return {"one": Section}


@case
def items_twice_the_same(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def items(self) -> list[Leaf]:
            return [*BARE, *BARE]

    return {"one": Section}


@dataclass(frozen=True)
class Mute(Leaf):
    """An item whose `__str__()` is slow, such as one that follows relations."""

    def __str__(self) -> str:
        raise AssertionError("the text of an item is not needed")


MUTES = [Mute("hush", EARLY)]


@case
def items_whose_text_nobody_needs(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        def items(self) -> list[Mute]:
            return MUTES

    class Localized(Section):
        i18n = True
        alternates = True

    return {"plain": Section, "localized": Localized}


@case
def nothing_at_all(bases: Bases) -> Sections:
    return {}


@case
def no_items(bases: Bases) -> Sections:
    class Empty(bases.Sitemap):
        lastmod = LATE

    class EmptyMethod(bases.Sitemap):
        def lastmod(self, item: Any) -> Any:
            return item.updated

    class EmptyQueryset(bases.Sitemap):
        def items(self) -> Any:
            return Article.objects.none()

    return {"base": bases.Sitemap, "a": Empty, "b": EmptyMethod, "c": EmptyQueryset}


@case
def locations_to_escape(bases: Bases) -> Sections:
    paths = ["/?a=1&b=2", "/<tag>", '/"quoted"', "/it's", "/ü/日本", "/a b", "/100%25", "/&amp;"]

    class Section(bases.Sitemap):
        def items(self) -> list[str]:
            return paths

        def location(self, item: str) -> str:
            return item

    class Localized(bases.Sitemap):
        i18n = True
        alternates = True

        def items(self) -> list[str]:
            return paths

        def location(self, item: str) -> str:
            return item

    return {"plain": Section, "localized": Localized}


@case
def locations_marked_safe(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        """A section with a safe string as location. Joined to a domain, it is no longer marked as safe."""

        location = mark_safe("/?a=1&b=2")

        def items(self) -> list[Leaf]:
            return BARE

    class Ready(bases.Sitemap):
        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
            ready = mark_safe("http://example.com/?a=1&amp;b=2")
            return [{"location": ready}]

    return {"joined": Section, "ready": Ready}
