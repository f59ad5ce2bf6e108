"""Cases of sitemaps in several languages."""

from __future__ import annotations

from typing import Any

from django.utils.translation import get_language

from tests.compat.cases.parts import Bases, Leaf, Sections, case, localized, updated
from tests.models import Article


@case
def languages_all(bases: Bases) -> Sections:
    return {"one": localized(bases)}


@case
def languages_with_every_hook(bases: Bases) -> Sections:
    priority = lambda self, item: 0.3 if item.slug == "oak" else 0.5  # noqa: E731
    return {"one": localized(bases, changefreq="daily", lastmod=updated, priority=priority)}


@case
def languages_reach_location_alone(bases: Bases) -> Sections:
    location = lambda self, item: f"/{get_language()}/{item.slug}"  # noqa: E731
    return {"one": localized(bases, location=location, changefreq=lambda self, item: get_language())}


@case
def languages_with_a_constant_location(bases: Bases) -> Sections:
    return {"one": localized(bases, location="/en/constant/", alternates=True, x_default=True)}


@case
def languages_with_alternates(bases: Bases) -> Sections:
    return {"one": localized(bases, alternates=True)}


@case
def languages_with_a_default(bases: Bases) -> Sections:
    linked = localized(bases, alternates=True, x_default=True)
    return {"with-alternates": linked, "without": localized(bases, x_default=True)}


@case
def languages_with_a_default_cut_once(bases: Bases) -> Sections:
    location = lambda self, item: f"/shop/{get_language()}/{get_language()}/{item.slug}/"  # noqa: E731
    return {"one": localized(bases, alternates=True, x_default=True, location=location)}


@case
def languages_listed(bases: Bases) -> Sections:
    listed = {
        "tuple": ("de", "en"),
        "without-default": ["pt-br", "de"],
        "unknown": ["fr"],
        "empty": [],
        "property": property(lambda self: ["de"]),
    }
    return {
        name: localized(bases, languages=codes, alternates=True, x_default=True)
        for name, codes in listed.items()
    }


@case
def languages_of_each_item(bases: Bases) -> Sections:
    def languages(self: Any, item: Leaf) -> list[str]:
        return {"oak": ["en", "de"], "elm": ["de"]}.get(item.slug, [])

    hooks = {"lists": languages, "set": lambda self, item: {"de"}}
    return {
        name: localized(bases, alternates=True, x_default=True, get_languages_for_item=hook)
        for name, hook in hooks.items()
    }


@case
def languages_in_pages(bases: Bases) -> Sections:
    return {"one": localized(bases, alternates=True, limit=4)}


@case
def languages_of_a_queryset(bases: Bases) -> Sections:
    class Section(bases.Sitemap):
        i18n = True
        alternates = True

        def items(self) -> Any:
            return Article.objects.order_by("pk")

        def location(self, item: Article) -> str:
            return f"/{get_language()}{item.get_absolute_url()}"

        def lastmod(self, item: Article) -> Any:
            return item.updated

    return {"one": Section}


@case
def languages_without_i18n_mean_nothing(bases: Bases) -> Sections:
    return {"one": localized(bases, i18n=False, alternates=True, x_default=True, languages=["de"])}
