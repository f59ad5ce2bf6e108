"""Checks of sitemap classes that are in an app's `sitemaps` module, but in no section."""

from __future__ import annotations

import pytest
from django.contrib.sitemaps import views as contrib_views
from django.urls import path
from django.utils.functional import SimpleLazyObject

from django_sitemaps09 import Sitemap, checks, views
from tests.support.apps import apps, registry
from tests.support.checking import INCLUDED, ids_of

__all__ = ["apps", "registry"]

pytestmark = pytest.mark.usefixtures("nothing_is_asked")

CLASS = "class A(Sitemap): ...\n"
FORGOTTEN = "class ProductSitemap(Sitemap): ..."
NEWS = "\n@register('news')\nclass NewsPages(Sitemap): ..."
EMPTY = {}


@pytest.fixture(autouse=True)
def _urls(settings):
    settings.ROOT_URLCONF = (path("", INCLUDED),)


def found():
    """Return the messages, except that these classes have no items."""
    return [each for each in checks.check_sections() if each.id != "sitemaps09.W086"]


class Elsewhere(Sitemap):
    """A class that a project imports from another module."""


def test_a_class_that_is_not_registered_is_a_warning(apps):
    apps.add("shop", FORGOTTEN + NEWS)
    (message,) = found()
    assert ids_of([message]) == ["W016"]
    assert message.msg == "shop.sitemaps.ProductSitemap is not registered, so no sitemap lists its URLs."
    assert '@register("...")' in str(message.hint)


@pytest.mark.parametrize(
    "texts",
    [
        # Registered, by the class, by an instance, and by a factory.
        {"shop": NEWS},
        *({"shop": f"{CLASS}register('a', {section})"} for section in ("A", "A()", "lambda: A()")),
        # A base, a mixin, and a class for a mapping.
        {"shop": f"{CLASS}@register('b')\nclass B(A): ..."},
        {"shop": "class A: ...\n@register('b')\nclass B(A, Sitemap): ..."},
        {"shop": f"{CLASS}sitemaps = {{'a': A}}"},
        {"shop": f"{CLASS}@register('b')\nclass B(Sitemap):\n def for_host(self, domain): return A()"},
        # A class of Django, and one of another module.
        {"shop": "from django.contrib import sitemaps\nclass A(sitemaps.Sitemap): ..."},
        {"shop": "from tests.checks.test_unregistered import Elsewhere"},
        # Another module holds the class or its module, or derives from the class.
        {"blog": CLASS, "deals": "from blog.sitemaps import A as B"},
        {"core": CLASS, "shop": "from core import sitemaps\ndef view(): return sitemaps.A()"},
        {"core": CLASS, "shop": "import core.sitemaps as c\n@register('a')\nclass B(c.A): ..."},
    ],
)
def test_a_class_that_is_used_or_of_another_module_is_silent(apps, texts):
    for name, text in texts.items():
        apps.add(name, text)
    assert ids_of(found()) == []
    assert apps.shared.runs == [*texts]


def test_a_class_that_a_factory_can_return_or_of_a_module_without_a_file_is_silent(
    apps, settings, monkeypatch
):
    apps.add("shop", FORGOTTEN)
    assert ids_of(found()) == ["W016"]
    settings.ROOT_URLCONF = (path("", INCLUDED), path("s", views.index, {"sitemaps": {"a": found}}))
    assert ids_of(found()) == []
    settings.ROOT_URLCONF = (path("", INCLUDED),)
    monkeypatch.delattr("shop.sitemaps.__file__")
    assert ids_of(found()) == []


@pytest.mark.parametrize("view", [views.index, contrib_views.index, found], ids=["ours", "contrib", "own"])
def test_a_class_in_a_mapping_of_the_urlconf_is_silent(apps, settings, view):
    apps.add("shop", FORGOTTEN)
    apps.add("blog", "class PostSitemap(Sitemap): ...")
    passed = {}
    settings.ROOT_URLCONF = (path("", INCLUDED), path("s", view, {"sitemaps": passed}))
    assert ids_of(found()) == ["W016", "W016"]
    import shop.sitemaps as shop  # an app of this test

    passed["products"] = shop.ProductSitemap
    assert ["blog." in each.msg for each in found()] == [True]
    # A mapping that cannot be read can contain any class.
    settings.ROOT_URLCONF = (path("", INCLUDED), path("s", view, {"sitemaps": SimpleLazyObject(dict)}))
    assert found() == []


def test_without_registered_sections_no_class_is_a_warning(apps, settings):
    apps.add("shop", FORGOTTEN)
    __import__("shop.sitemaps")
    settings.ROOT_URLCONF = (path("", INCLUDED, {"sitemaps": {}}),)
    assert found() == []
    settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.EMPTY"}
    settings.ROOT_URLCONF = (path("", INCLUDED),)
    assert found() == []
