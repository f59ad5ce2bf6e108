"""Cases of sitemaps in several languages."""

from __future__ import annotations

from typing import Any

from django.urls import reverse_lazy
from django.utils.translation import get_language

from tests.compat.cases.parts import Bases, Leaf, Localized, Sections, case
from tests.models import Article


@case
def languages_all(bases: Bases) -> Sections:
    class Section(Localized, bases.Sitemap):
        pass

    return {"one": Section}


@case
def languages_with_every_hook(bases: Bases) -> Sections:
    class Section(Localized, bases.Sitemap):
        changefreq = "daily"

        def lastmod(self, item: Leaf) -> Any:
            return item.updated

        def priority(self, item: Leaf) -> float:
            return 0.3 if item.slug == "oak" else 0.5

    return {"one": Section}


@case
def languages_reach_location_alone(bases: Bases) -> Sections:
    class Section(Localized, bases.Sitemap):
        def changefreq(self, item: Leaf) -> str:
            return str(get_language())

        def location(self, item: Leaf) -> str:
            return f"/{get_language()}/{item.slug}"

    return {"one": Section}


@case
def languages_by_a_lazy_location(bases: Bases) -> Sections:
    class Section(Localized, bases.Sitemap):
        alternates = True

        def location(self, item: Leaf) -> Any:
            return reverse_lazy("localized", kwargs={"slug": item.slug})

    return {"one": Section}


@case
def languages_with_a_constant_location(bases: Bases) -> Sections:
    class Section(Localized, bases.Sitemap):
        location = "/en/constant/"
        alternates = True
        x_default = True

    return {"one": Section}


@case
def languages_with_alternates(bases: Bases) -> Sections:
    class Section(Localized, bases.Sitemap):
        alternates = True

    return {"one": Section}


@case
def languages_with_a_default(bases: Bases) -> Sections:
    class Section(Localized, bases.Sitemap):
        alternates = True
        x_default = True

    class Without(Localized, bases.Sitemap):
        x_default = True

    return {"with-alternates": Section, "without": Without}


@case
def languages_with_a_default_cut_once(bases: Bases) -> Sections:
    class Section(Localized, bases.Sitemap):
        alternates = True
        x_default = True

        def location(self, item: Leaf) -> str:
            return f"/shop/{get_language()}/{get_language()}/{item.slug}/"

    return {"one": Section}


@case
def languages_listed(bases: Bases) -> Sections:
    class Tuple(Localized, bases.Sitemap):
        languages = ("de", "en")
        alternates = True
        x_default = True

    class WithoutDefault(Tuple):
        languages = ["pt-br", "de"]

    class Unknown(Tuple):
        languages = ["fr"]

    class Empty(Tuple):
        languages: list[str] = []

    class Property(Tuple):
        @property
        def languages(self) -> list[str]:
            return ["de"]

    return {
        "tuple": Tuple,
        "without-default": WithoutDefault,
        "unknown": Unknown,
        "empty": Empty,
        "property": Property,
    }


@case
def languages_of_each_item(bases: Bases) -> Sections:
    class Section(Localized, bases.Sitemap):
        alternates = True
        x_default = True

        def get_languages_for_item(self, item: Leaf) -> list[str]:
            return {"oak": ["en", "de"], "elm": ["de"]}.get(item.slug, [])

    class Iterator_(Section):
        def get_languages_for_item(self, item: Leaf) -> set[str]:
            return {"de"}

    return {"lists": Section, "set": Iterator_}


@case
def languages_in_pages(bases: Bases) -> Sections:
    class Section(Localized, bases.Sitemap):
        alternates = True
        limit = 4

    return {"one": Section}


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
    class Section(Localized, bases.Sitemap):
        i18n = False
        alternates = True
        x_default = True
        languages = ["de"]

    return {"one": Section}
