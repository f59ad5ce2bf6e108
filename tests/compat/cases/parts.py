"""Parts of cases: the pairs of base classes, the register of cases, and items."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.contrib import sitemaps as contrib
from django.db.models import QuerySet
from django.urls import reverse

import django_sitemaps09

UTC = timezone.utc
ZURICH = ZoneInfo("Europe/Zurich")
NEW_YORK = ZoneInfo("America/New_York")


class Bases(NamedTuple):
    """The base classes that a project imports, from contrib or from this package."""

    Sitemap: Any
    GenericSitemap: Any


CONTRIB_BASES = Bases(contrib.Sitemap, contrib.GenericSitemap)
COMPAT_BASES = Bases(django_sitemaps09.Sitemap, django_sitemaps09.GenericSitemap)

Sections = Mapping[Any, Any]
CASES: dict[str, Callable[[Bases], Sections]] = {}


def case(declare: Callable[[Bases], Any], name: str = "") -> Callable[[Bases], Sections]:
    """Register a case by the name of its function. A single section is named `one`."""

    def sections(bases: Bases) -> Sections:
        found = declare(bases)
        return found if isinstance(found, (Mapping, UserDict)) else {"one": found}

    CASES[name or declare.__name__] = sections
    return sections


def cases(**declared: Callable[[Bases], Any]) -> None:
    """Register a table of cases."""
    for name, declare in declared.items():
        case(declare, name)


@dataclass(frozen=True)
class Leaf:
    """An item that is not an instance of a model."""

    slug: str
    updated: Any = None

    def get_absolute_url(self) -> str:
        return f"/leaf/{self.slug}/"


EARLY = datetime(2024, 2, 29, 23, 30, tzinfo=UTC)
MIDDLE = datetime(2025, 6, 1, 12, 0, 1, tzinfo=ZURICH)
LATE = datetime(2026, 1, 1, 21, 15, 59, tzinfo=NEW_YORK)

LEAVES = [Leaf("oak", EARLY), Leaf("elm", LATE), Leaf("ash", MIDDLE)]
BARE = [Leaf("fir"), Leaf("yew")]
SEVEN = [Leaf(f"n{number}", EARLY + timedelta(days=number)) for number in range(7)]


def section(bases: Bases, items: Any, *mixins: type, **attributes: Any) -> Any:
    """Return a section of items with these attributes and methods. A queryset is read anew each time."""
    read = items.all if isinstance(items, QuerySet) else lambda: items
    return type("Section", (*mixins, bases.Sitemap), {"items": lambda self: read(), **attributes})


class Localized:
    """A mixin of sections with an entry for each language."""

    i18n = True

    def items(self) -> list[Leaf]:
        return LEAVES

    def location(self, item: Leaf) -> str:
        return reverse("localized", kwargs={"slug": item.slug})


def localized(bases: Bases, **attributes: Any) -> Any:
    """Return a section with an entry for each language."""
    return type("Section", (Localized, bases.Sitemap), attributes)


def updated(self: Any, item: Leaf) -> Any:
    return item.updated


def timed(bases: Bases, *values: Any) -> Any:
    """Return a section with an item for each value, which is the `lastmod` of the item."""
    leaves = [Leaf(f"t{number}", value) for number, value in enumerate(values)]
    return section(bases, leaves, lastmod=updated)


def constant(bases: Bases, value: Any) -> Any:
    """Return a section whose `lastmod` is an attribute."""
    return section(bases, BARE, lastmod=value)
