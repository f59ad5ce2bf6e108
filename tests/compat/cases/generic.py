"""Cases of `GenericSitemap`."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Paginator
from django.utils.translation import get_language

from tests.compat.cases.parts import Bases, Sections, case
from tests.models import Article


def stamped() -> Any:
    return Article.objects.filter(updated__isnull=False).order_by("pk")


@case
def generic(bases: Bases) -> Sections:
    return {
        "bare": bases.GenericSitemap({"queryset": stamped()}),
        "dated": bases.GenericSitemap({"queryset": stamped(), "date_field": "updated"}),
        "day": bases.GenericSitemap({"queryset": stamped(), "date_field": "day", "other": 1}),
        "positional": bases.GenericSitemap({"queryset": stamped()}, 0.6, "monthly", "https"),
        "named": bases.GenericSitemap(
            {"queryset": stamped()}, protocol="http", changefreq="daily", priority="0.2"
        ),
    }


@case
def generic_dated_everywhere(bases: Bases) -> Sections:
    return {"one": bases.GenericSitemap({"queryset": stamped(), "date_field": "updated"})}


@case
def generic_with_nothing_in_the_date_field(bases: Bases) -> Sections:
    nothing = Article.objects.filter(updated__isnull=True).order_by("pk")
    some = Article.objects.order_by("pk")
    return {
        "none": bases.GenericSitemap({"queryset": nothing, "date_field": "updated"}),
        "some": bases.GenericSitemap({"queryset": some, "date_field": "updated"}),
        "empty": bases.GenericSitemap({"queryset": Article.objects.none()}),
    }


@case
def generic_subclassed(bases: Bases) -> Sections:
    class Section(bases.GenericSitemap):
        limit = 2
        priority = 0.9
        protocol = "https"

        def changefreq(self, item: Article) -> str:
            return "weekly" if item.pk else "never"

        def location(self, item: Article) -> str:
            return f"/sub{item.get_absolute_url()}"

    return {"one": Section({"queryset": stamped(), "date_field": "updated"}, 0.1, protocol="http")}


@case
def generic_in_languages(bases: Bases) -> Sections:
    class Section(bases.GenericSitemap):
        i18n = True
        alternates = True

        def location(self, item: Article) -> str:
            return f"/{get_language()}{item.get_absolute_url()}"

    return {"one": Section({"queryset": stamped(), "date_field": "day"}, priority=0.5)}


@case
def generic_with_overridden_internals(bases: Bases) -> Sections:
    class Section(bases.GenericSitemap):
        @property
        def paginator(self) -> Paginator:
            return Paginator(self._items(), 3, orphans=1)

        def _urls(self, page: Any, protocol: str, domain: str) -> Any:
            return super()._urls(page, protocol, domain)[::-1]

    return {"one": Section({"queryset": stamped(), "date_field": "updated"})}


@case
def generic_made_for_each_request(bases: Bases) -> Sections:
    return {"one": lambda: bases.GenericSitemap({"queryset": stamped()[:2]})}
