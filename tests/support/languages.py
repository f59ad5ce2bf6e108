"""Articles in ten languages, and the pages that list them."""

from __future__ import annotations

from types import ModuleType

from django.conf.urls.i18n import i18n_patterns
from django.urls import path, reverse

from django_sitemaps09.sources import slices
from tests.models import Article
from tests.support.sources import LIMITS, compiled, errors, rendered

TEN = ["en", "de", "fr", "it", "es", "pt-br", "zh-hans", "zh-hant", "ja", "es-419"]


def nothing(request, slug):
    """View of all locations."""


def urlconf(*, prefixed):
    made = ModuleType("urls of languages")
    made.urlpatterns = i18n_patterns(
        path("articles/<slug:slug>/", nothing, name="article"),
        path("<path:slug>", nothing, name="page"),
        prefix_default_language=prefixed,
    )
    return made


PREFIXED, BARE = urlconf(prefixed=True), urlconf(prefixed=False)


def by_route(self, item):
    return reverse("article", kwargs={"slug": item.slug})


def articles_in(using, count):
    Article.objects.using(using).bulk_create(Article(slug=f"s{n}") for n in range(count))
    return Article.objects.using(using).order_by("pk")


def slices_of(monkeypatch, size):
    for module, name in ((slices, "SLICE"), (slices, "COLUMNS_SLICE"), (slices, "INSTANCES")):
        monkeypatch.setattr(module, name, size)


def page_of(section, limits=LIMITS):
    """Return the only page of a section."""
    (done,) = rendered(compiled(section, limits))
    return done


def complaints(section):
    return errors(rendered(compiled(section)))


def named(attributes):
    names = [f"{name}()" if callable(value) else name for name, value in attributes.items()]
    return "-".join(names) or "nothing"


SEVERAL = [["en", "de"], ["de"], [], ["fr", "en"], ["es-419", "zh-hans", "de"], ["pt-br"], ["zz", "en"]]
