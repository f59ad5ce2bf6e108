"""Cases of hooks, items, times, pages and languages of a class."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from operator import attrgetter, itemgetter
from types import SimpleNamespace
from typing import Any

from django.core.paginator import Paginator
from django.urls import reverse
from django.utils.functional import cached_property
from django.utils.safestring import mark_safe
from django.utils.translation import get_language

from tests.compat.cases.parts import (
    BARE,
    EARLY,
    LATE,
    LEAVES,
    MIDDLE,
    SEVEN,
    UTC,
    Bases,
    Leaf,
    case,
    cases,
    constant,
    localized,
    section,
    timed,
    updated,
)
from tests.models import Article

PRIORITIES = [0.5, "0.8", Decimal("0.30"), Decimal(1), 1, 0, 0.0, 0.1 + 0.2, "", None]

cases(
    hooks_missing=lambda bases: section(bases, BARE),
    hooks_as_attributes=lambda bases: section(
        bases, BARE, location="/everywhere/", lastmod=LATE, changefreq="weekly", priority=0.5
    ),
    hooks_as_methods=lambda bases: section(
        bases,
        LEAVES,
        location=lambda self, item: f"/tree/{item.slug}",
        lastmod=updated,
        changefreq=lambda self, item: "daily" if item.slug == "oak" else "never",
        priority=lambda self, item: len(item.slug) / 10,
    ),
    hooks_that_are_none=lambda bases: section(bases, LEAVES, lastmod=None, changefreq=None, priority=None),
    hooks_that_return_none_for_some=lambda bases: section(
        bases,
        LEAVES,
        lastmod=lambda self, item: None if item.slug == "elm" else item.updated,
        changefreq=lambda self, item: None if item.slug == "oak" else "yearly",
        priority=lambda self, item: None if item.slug == "ash" else 1.0,
    ),
    hooks_as_empty_strings=lambda bases: section(bases, BARE, changefreq="", priority=""),
    hooks_as_properties_that_raise_attribute_error_are_missing_ones=lambda bases: section(
        bases, BARE, changefreq=property(lambda self: self.nothing)
    ),
    hooks_as_callables_that_do_not_bind=lambda bases: section(
        bases,
        [Leaf("/a/", EARLY), Leaf("/b/", LATE)],
        location=attrgetter("slug"),
        lastmod=attrgetter("updated"),
        changefreq=staticmethod(functools.partial(lambda word, item: word, "monthly")),
        priority=staticmethod(lambda item: "0.1"),
    ),
    hooks_as_class_methods=lambda bases: section(
        bases, BARE, location=classmethod(lambda cls, item: f"/{cls.__name__}/{item.slug}")
    ),
    hooks_from_a_mixin=lambda bases: section(
        bases, BARE, type("Mixin", (), {"changefreq": "weekly", "priority": lambda self, item: 0.9})
    ),
    priorities_of_every_kind=lambda bases: section(
        bases,
        range(len(PRIORITIES)),
        location=lambda self, item: f"/{item}",
        priority=lambda self, item: PRIORITIES[item],
    ),
    words_and_numbers_outside_the_protocol=lambda bases: {
        "attributes": section(bases, BARE, changefreq="sometimes", priority=7),
        "methods": section(
            bases, BARE, changefreq=lambda self, item: "<often>", priority=lambda self, item: -0.5
        ),
    },
)


@case
def hooks_as_properties(bases: Bases) -> Any:
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

    return Section


@case
def hooks_on_the_instance(bases: Bases) -> Any:
    one = bases.Sitemap()
    one.items = lambda: LEAVES
    one.location = lambda item: f"/on/{item.slug}"
    one.lastmod = lambda item: item.updated
    one.priority = 0.7
    return one


@case
def hooks_set_in_the_constructor(bases: Bases) -> Any:
    class Section(section(bases, BARE)):
        def __init__(self) -> None:
            self.changefreq = "always"
            self.lastmod = LATE
            self.limit = 1

    return Section


@case
def hooks_by_getattr(bases: Bases) -> Any:
    class Section(section(bases, BARE)):
        def __getattr__(self, name: str) -> str:
            if name == "changefreq":
                return "daily"
            raise AttributeError(name)

    return Section


@case
def hooks_inherited_from_a_base_of_the_project(bases: Bases) -> Any:
    class Ours(bases.Sitemap):
        limit = 2
        priority = 0.6

        def location(self, item: Leaf) -> str:
            return "/ours" + super().location(item)

    return type("Section", (Ours,), {"items": lambda self: SEVEN})


# Items and their locations: lists, querysets, sequences, and texts that need escaping.


class Numbers:
    """A sequence with only the methods that a paginator needs."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, part: slice) -> list[str]:
        return [f"/number/{index}" for index in range(*part.indices(5))]


@dataclass(frozen=True)
class Mute(Leaf):
    """An item whose `__str__()` is slow, such as one that follows relations."""

    def __str__(self) -> str:
        raise AssertionError("the text of an item is not needed")


def itself(self: Any, item: Any) -> Any:
    return item


DICTS = [{"path": "/d/1", "when": EARLY}, {"path": "/d/2", "when": MIDDLE}]
THINGS = [SimpleNamespace(get_absolute_url=lambda: "/thing")]
MUTES = [Mute("hush", EARLY)]
PATHS = ["/?a=1&b=2", "/<tag>", '/"quoted"', "/it's", "/ü/日本", "/a b", "/100%25", "/&amp;"]
READY = [{"location": mark_safe("http://example.com/?a=1&amp;b=2")}]

cases(
    items_as_strings_by_reverse=lambda bases: section(
        bases, ["home", "about"], changefreq="daily", location=lambda self, item: reverse(item)
    ),
    items_as_dicts=lambda bases: section(
        bases, DICTS, location=itemgetter("path"), lastmod=itemgetter("when")
    ),
    items_as_pairs=lambda bases: section(
        bases,
        (("/p/1", EARLY), ("/p/2", LATE)),
        location=lambda self, item: item[0],
        lastmod=lambda self, item: item[1],
    ),
    items_as_objects=lambda bases: section(bases, THINGS),
    items_as_a_queryset=lambda bases: section(
        bases,
        Article.objects.order_by("-pk"),
        limit=2,
        lastmod=updated,
        priority=lambda self, item: item.weight,
    ),
    items_as_values_of_a_queryset=lambda bases: {
        "dicts": section(
            bases,
            Article.objects.order_by("pk").values("slug", "day"),
            location=lambda self, item: f"/values/{item['slug']}",
            lastmod=lambda self, item: item["day"],
        ),
        "scalars": section(
            bases,
            Article.objects.order_by("pk").values_list("slug", flat=True),
            location=lambda self, item: f"/flat/{item}",
        ),
    },
    items_as_a_sliced_and_a_combined_queryset=lambda bases: {
        "sliced": section(bases, Article.objects.order_by("-slug")[1:4]),
        "combined": section(
            bases,
            Article.objects.filter(slug="alpha")
            .union(Article.objects.filter(slug="delta"))
            .order_by("slug"),
        ),
    },
    items_as_a_sequence_of_the_project=lambda bases: section(bases, Numbers(), limit=2, location=itself),
    items_twice_the_same=lambda bases: section(bases, [*BARE, *BARE]),
    items_whose_text_nobody_needs=lambda bases: {
        "plain": section(bases, MUTES),
        "localized": section(bases, MUTES, i18n=True, alternates=True),
    },
    nothing_at_all=lambda bases: {},
    no_items=lambda bases: {
        "base": bases.Sitemap,
        "a": type("Empty", (bases.Sitemap,), {"lastmod": LATE}),
        "b": type("EmptyMethod", (bases.Sitemap,), {"lastmod": updated}),
        "c": section(bases, Article.objects.none()),
    },
    locations_to_escape=lambda bases: {
        "plain": section(bases, PATHS, location=itself),
        "localized": section(bases, PATHS, location=itself, i18n=True, alternates=True),
    },
    # Joined to a domain, a safe string is no longer marked as safe.
    locations_marked_safe=lambda bases: {
        "joined": section(bases, BARE, location=mark_safe("/?a=1&b=2")),
        "ready": type("Ready", (bases.Sitemap,), {"get_urls": lambda self, **given: READY}),
    },
)


# Times, and the newest time of a section.


def told(base: Any, newest: Any, **attributes: Any) -> Any:
    """Return a section that says what its newest time is."""
    return type("Told", (base,), {"get_latest_lastmod": lambda self: newest, **attributes})


cases(
    times_as_dates=lambda bases: {
        "method": timed(bases, date(2025, 3, 13), date(2024, 12, 31)),
        "attribute": constant(bases, date(2026, 5, 6)),
    },
    times_with_zones=lambda bases: {
        "method": timed(bases, EARLY, LATE, MIDDLE),
        "attribute": constant(bases, MIDDLE),
    },
    times_at_midnight_and_with_microseconds=lambda bases: {
        "midnight": timed(bases, datetime(2026, 1, 1, tzinfo=UTC)),
        "micro": timed(bases, datetime(2026, 1, 1, 23, 59, 59, 999999, tzinfo=UTC)),
    },
    times_mixed_across_sections_ascending=lambda bases: {
        "date": constant(bases, date(2024, 1, 1)),
        "early": timed(bases, EARLY),
        "late": timed(bases, LATE),
    },
    times_mixed_across_sections_descending=lambda bases: {
        "late": constant(bases, LATE),
        "early": constant(bases, EARLY),
        "date": timed(bases, date(2024, 1, 1)),
    },
    times_with_a_date_after_all_datetimes=lambda bases: {
        "late": constant(bases, LATE),
        "date": timed(bases, date(2026, 1, 3)),
    },
    times_missing_on_one_item=lambda bases: {
        "first": timed(bases, None, EARLY, LATE),
        "last": timed(bases, EARLY, LATE, None),
        "middle": timed(bases, date(2024, 1, 1), None, date(2025, 1, 1)),
    },
    times_missing_on_the_first_section=lambda bases: {
        "without": timed(bases, None),
        "with": timed(bases, EARLY),
    },
    times_missing_on_the_last_section=lambda bases: {
        "with": timed(bases, EARLY),
        "without": constant(bases, None),
    },
    times_of_which_one_section_has_no_items=lambda bases: {
        "with": timed(bases, EARLY),
        "empty": timed(bases),
    },
    newest_time_by_a_method=lambda bases: {
        "time": told(timed(bases, EARLY, None), LATE),
        "date": told(timed(bases, EARLY), date(2023, 1, 1)),
    },
    newest_time_denied_by_a_method=lambda bases: {
        "one": told(timed(bases, EARLY), None, limit=1),
        "other": timed(bases, EARLY),
    },
    newest_time_as_a_class_attribute=lambda bases: section(bases, BARE, latest_lastmod=MIDDLE),
)


# Limits, paginators and protocols.


@case
def paginator_as_a_cached_property(bases: Bases) -> Any:
    class Section(section(bases, SEVEN)):
        limit = 4

        @cached_property
        def paginator(self) -> Paginator:
            return Paginator(self._items(), self.limit)

    return Section


cases(
    limits=lambda bases: {
        name: section(bases, SEVEN, limit=limit, lastmod=updated)
        for name, limit in (("two", 2), ("seven", 7), ("eight", 8))
    },
    one_section_in_pages=lambda bases: section(
        bases, SEVEN, limit=3, lastmod=lambda self, item: None if item.slug == "n6" else item.updated
    ),
    protocols=lambda bases: {
        "unset": section(bases, BARE),
        "plain": section(bases, BARE, protocol="http"),
        "secure": section(bases, BARE, protocol="https", limit=1),
    },
    paginator_with_orphans=lambda bases: section(
        bases, [], paginator=property(lambda self: Paginator(SEVEN, 3, orphans=1))
    ),
    paginator_without_a_first_page=lambda bases: section(
        bases, [], paginator=property(lambda self: Paginator([], 3, allow_empty_first_page=False))
    ),
)


# Several languages.


def languages_by_slug(self: Any, item: Leaf) -> list[str]:
    return {"oak": ["en", "de"], "elm": ["de"]}.get(item.slug, [])


def linked(bases: Bases, **attributes: Any) -> Any:
    return localized(bases, alternates=True, x_default=True, **attributes)


cases(
    languages_all=localized,
    languages_with_every_hook=lambda bases: localized(
        bases,
        changefreq="daily",
        lastmod=updated,
        priority=lambda self, item: 0.3 if item.slug == "oak" else 0.5,
    ),
    languages_reach_location_alone=lambda bases: localized(
        bases,
        location=lambda self, item: f"/{get_language()}/{item.slug}",
        changefreq=lambda self, item: get_language(),
    ),
    languages_with_a_constant_location=lambda bases: linked(bases, location="/en/constant/"),
    languages_with_alternates=lambda bases: localized(bases, alternates=True),
    languages_with_a_default=lambda bases: {
        "with-alternates": linked(bases),
        "without": localized(bases, x_default=True),
    },
    languages_with_a_default_cut_once=lambda bases: linked(
        bases, location=lambda self, item: f"/shop/{get_language()}/{get_language()}/{item.slug}/"
    ),
    languages_listed=lambda bases: {
        "tuple": linked(bases, languages=("de", "en")),
        "without-default": linked(bases, languages=["pt-br", "de"]),
        "unknown": linked(bases, languages=["fr"]),
        "empty": linked(bases, languages=[]),
        "property": linked(bases, languages=property(lambda self: ["de"])),
    },
    languages_of_each_item=lambda bases: {
        "lists": linked(bases, get_languages_for_item=languages_by_slug),
        "set": linked(bases, get_languages_for_item=lambda self, item: {"de"}),
    },
    languages_in_pages=lambda bases: localized(bases, alternates=True, limit=4),
    languages_of_a_queryset=lambda bases: section(
        bases,
        Article.objects.order_by("pk"),
        i18n=True,
        alternates=True,
        location=lambda self, item: f"/{get_language()}{item.get_absolute_url()}",
        lastmod=updated,
    ),
    languages_without_i18n_mean_nothing=lambda bases: linked(bases, i18n=False, languages=["de"]),
)


# Declarations that raise.


def failing(self: Any) -> Any:
    raise LookupError("of the project")


cases(
    failing_without_get_absolute_url=lambda bases: section(bases, ["no method here"]),
    failing_hook=lambda bases: section(bases, BARE, location=lambda self, item: 1 / 0),
    failing_hook_with_an_attribute_error=lambda bases: section(
        bases, BARE, location=lambda self, item: str(item.path)
    ),
    failing_items=lambda bases: type("Section", (bases.Sitemap,), {"items": failing}),
    failing_constructor=lambda bases: section(bases, BARE, __init__=lambda self, needed: None),
)
