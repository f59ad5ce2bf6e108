"""Checks of sitemap classes that are in an app's `sitemaps` module, but in no section."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sitemaps import views as contrib_views
from django.urls import path
from django.utils.functional import SimpleLazyObject

from django_sitemaps09 import Sitemap, checks, views
from tests.support.apps import Apps, apps, registry
from tests.support.checking import INCLUDED, ids_of

__all__ = ["apps", "registry"]

pytestmark = pytest.mark.usefixtures("nothing_is_asked")

FORGOTTEN = """
    class ProductSitemap(Sitemap): ...
"""
NEWS = """
    @register("news")
    class NewsPages(Sitemap): ...
"""


def found() -> list[Any]:
    """Return the messages, except that these classes have no items."""
    return [each for each in checks.check_sections() if each.id != "sitemaps09.W086"]


def test_a_class_that_is_not_registered_is_a_warning(apps: Apps, settings: Any) -> None:
    apps.add("shop", FORGOTTEN + NEWS)
    settings.ROOT_URLCONF = (path("", INCLUDED),)
    (message,) = found()
    assert ids_of([message]) == ["W016"]
    assert message.msg == "shop.sitemaps.ProductSitemap is not registered, so no sitemap lists its URLs."
    assert '@register("...")' in str(message.hint)


@pytest.mark.parametrize(
    "text",
    [
        # Registered, by the class, by an instance, and by a factory.
        NEWS,
        "class A(Sitemap): ...\nregister('a', A)",
        "class A(Sitemap): ...\nregister('a', A())",
        "class A(Sitemap): ...\nregister('a', lambda: A())",
        # A base, a mixin, and a class for a mapping.
        "class A(Sitemap): ...\n@register('b')\nclass B(A): ...",
        "class A: ...\n@register('b')\nclass B(A, Sitemap): ...",
        "class A(Sitemap): ...\nsitemaps = {'a': A}",
        "class A(Sitemap): ...\n@register('b')\nclass B(Sitemap):\n def for_host(self, domain): return A()",
        # A class of Django, and one of another module.
        "from django.contrib import sitemaps\nclass A(sitemaps.Sitemap): ...",
        "from tests.checks.test_unregistered import Elsewhere",
    ],
)
def test_a_class_that_is_used_or_of_another_module_is_silent(apps: Apps, settings: Any, text: str) -> None:
    apps.add("shop", text)
    settings.ROOT_URLCONF = (path("", INCLUDED),)
    assert ids_of(found()) == []
    assert apps.shared.runs == ["shop"]


def test_a_class_of_a_module_that_other_code_holds_is_silent(apps: Apps, settings: Any) -> None:
    apps.add("blog", FORGOTTEN)
    apps.add("deals", "from blog.sitemaps import ProductSitemap as Products")
    apps.add("core", FORGOTTEN)
    apps.add("shop", "from core import sitemaps\ndef view(): return sitemaps.ProductSitemap()")
    settings.ROOT_URLCONF = (path("", INCLUDED),)
    assert ids_of(found()) == []


def test_a_class_is_silent_if_a_factory_can_return_it(apps: Apps, settings: Any) -> None:
    apps.add("shop", FORGOTTEN)
    settings.ROOT_URLCONF = (path("", INCLUDED), path("s", views.index, {"sitemaps": {"a": found}}))
    assert ids_of(found()) == []


def test_a_module_without_a_file_is_silent(
    apps: Apps, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    apps.add("shop", FORGOTTEN)
    settings.ROOT_URLCONF = (path("", INCLUDED),)
    assert ids_of(found()) == ["W016"]
    monkeypatch.delattr("shop.sitemaps.__file__")
    assert ids_of(found()) == []


def test_a_base_of_a_class_in_another_app_is_silent(apps: Apps, settings: Any) -> None:
    apps.add("core", "class Base(Sitemap): ...")
    apps.add("shop", "import core.sitemaps as core\n@register('a')\nclass A(core.Base): ...")
    apps.add("blog", FORGOTTEN)
    apps.add("deals", "from blog.sitemaps import ProductSitemap")
    settings.ROOT_URLCONF = (path("", INCLUDED),)
    assert ids_of(found()) == []


@pytest.mark.parametrize(
    "view",
    [views.index, contrib_views.index, lambda request, sitemaps: None],
    ids=["ours", "contrib", "own"],
)
def test_a_class_in_a_mapping_of_the_urlconf_is_silent(apps: Apps, settings: Any, view: Any) -> None:
    apps.add("shop", FORGOTTEN)
    apps.add("blog", "class PostSitemap(Sitemap): ...")
    given: dict[str, Any] = {}
    settings.ROOT_URLCONF = (path("", INCLUDED), path("s", view, {"sitemaps": given}))
    assert ids_of(found()) == ["W016", "W016"]
    import shop.sitemaps as shop  # type: ignore[import-not-found]  # an app of this test

    given["products"] = shop.ProductSitemap
    assert ["blog." in each.msg for each in found()] == [True]
    # A mapping that cannot be read can contain any class.
    settings.ROOT_URLCONF = (path("", INCLUDED), path("s", view, {"sitemaps": SimpleLazyObject(dict)}))
    assert found() == []


def test_without_registered_sections_no_class_is_a_warning(apps: Apps, settings: Any) -> None:
    apps.add("shop", FORGOTTEN)
    __import__("shop.sitemaps")
    settings.ROOT_URLCONF = (path("", INCLUDED, {"sitemaps": {}}),)
    assert found() == []
    settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.EMPTY"}
    settings.ROOT_URLCONF = (path("", INCLUDED),)
    assert found() == []


class Elsewhere(Sitemap[Any]):
    """A class that a project imports from another module."""


EMPTY: dict[str, Any] = {}
