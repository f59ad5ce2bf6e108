"""The documentation of coming from contrib: each snippet runs as shown."""

from __future__ import annotations

import re
import sys
from ast import literal_eval
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import include, path, reverse
from django.views.generic import RedirectView

from django_sitemaps09 import ModelSitemap, register
from tests.docs.features.project import (
    BASE,
    PRODUCT,
    both,
    checked,
    declared,
    inline,
    live,
    shown,
    snippet_of,
)
from tests.docs.pages import PAGES, Snippet, blocks
from tests.shop.models import Product
from tests.support.configuration import UseUrls

SUGGESTED = ("docs/howto/from-contrib.md", "Replace methods with columns")
SUGGEST = ("docs/reference/commands.md", "`manage.py suggest_sitemaps [section ...]`")
NATIVE = ("docs/howto/from-contrib.md", "Add the native views")


@pytest.fixture
def dict_of_sitemaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `shop.sitemaps` have a dict with the products."""
    module = ModuleType("shop.sitemaps")
    module.sitemaps = {"products": declared("pass")}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shop.sitemaps", module)


@snippet_of(NATIVE)
def test_the_old_pages_stay_next_to_the_native_ones(
    snippet: Snippet, can: Product, use_urls: UseUrls, dict_of_sitemaps: None
) -> None:
    module = snippet.run("shop_urls")
    use_urls(*module.urlpatterns, PRODUCT)
    assert checked() == []
    old = reverse("django.contrib.sitemaps.views.sitemap", kwargs={"section": "products"})
    assert old == "/sitemap-products.xml"
    urls = [f"{BASE}/garden/watering-can/"]
    assert shown(live(old)).urls == shown(live("/sitemap-products-1.xml")).urls == urls
    assert shown(live("/sitemap.xml")).urls == [f"{BASE}/sitemap-products-1.xml.gz"]


def test_the_old_pages_can_be_redirected(can: Product, use_urls: UseUrls) -> None:
    [pattern] = re.findall(r'^`(path\("sitemap-<section>.+)`', PAGES[NATIVE[0]], re.MULTILINE)
    redirect = eval(pattern, {"path": path, "RedirectView": RedirectView})  # noqa: S307 our own
    use_urls(path("", include("django_sitemaps09.urls")), redirect)
    response = Client().get("/sitemap-products.xml")
    assert (response.status_code, response.headers["Location"]) == (301, "/sitemap.xml")


def test_an_export_and_the_views_find_the_dict_that_the_setting_names(
    can: Product, settings: Any, dict_of_sitemaps: None, tmp_path: Path
) -> None:
    found = inline(NATIVE[0], '"SITEMAPS": ')
    settings.SITEMAPS09 = {"BASE_URL": BASE, **literal_eval(f"{{{found}}}")}
    assert both(tmp_path, "products").urls == [f"{BASE}/garden/watering-can/"]


@snippet_of(SUGGESTED)
def test_the_columns_of_the_example_are_suggested(
    snippet: Snippet, can: Product, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The command reads the source of the class, so the snippet becomes a file."""
    snippet.write(tmp_path / "suggested_sitemaps.py")
    monkeypatch.syspath_prepend(tmp_path)
    snippet.modules.append("suggested_sitemaps")
    register("products", import_module("suggested_sitemaps").Products)
    out = StringIO()
    call_command("suggest_sitemaps", stdout=out)
    [shown_output] = blocks("text", *SUGGESTED)
    assert out.getvalue() == shown_output.text


@snippet_of(SUGGEST)
def test_suggestions_can_be_used_in_python(snippet: Snippet, can: Product) -> None:
    class Daily(ModelSitemap[Product]):
        model = Product

        def changefreq(self, item: Product) -> str:
            return "daily"

    register("products", Daily)
    code = snippet.run("suggestions").suggestions["products"]
    assert 'changefreq = "daily"' in code


@pytest.mark.parametrize("module", ["contrib.sitemaps", "contrib.sitemaps.views"])
def test_names_of_contrib_exist_here_too(module: str) -> None:
    theirs = import_module(f"django.{module}")
    ours = import_module(f"django_sitemaps09{module.removeprefix('contrib.sitemaps')}")
    made = [name for name, value in vars(theirs).items() if name[0] != "_" and defined_in(value, theirs)]
    assert {"Sitemap", "GenericSitemap"} <= {*made} or {"index", "sitemap"} <= {*made}
    assert [name for name in made if not hasattr(ours, name)] == []


def defined_in(value: object, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__ and callable(value)
