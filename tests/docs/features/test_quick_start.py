"""The quick start works as shown."""

from __future__ import annotations

import gzip
import os
import re
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.management import call_command
from django.urls import reverse

import tests.shop
from django_sitemaps09 import ModelSitemap, StaticViewSitemap, register, sections
from django_sitemaps09.conf import conf
from tests.docs.features.project import BASE, MOMENT, both, checked, documents, live, shown, snippet_of
from tests.docs.pages import README, Snippet, blocks
from tests.docs.places import QUICK_START
from tests.shop.models import Product
from tests.support.configuration import UseUrls

SETTINGS = ("docs/reference/settings.md", "Settings")


@snippet_of(QUICK_START, 0)
def test_the_settings_of_the_quick_start_pass_the_checks(
    snippet: Snippet, settings: Any, tmp_path: Path
) -> None:
    module = snippet.run("shop_settings", {"BASE_DIR": tmp_path})
    others = [app for app in settings.INSTALLED_APPS if app != "django_sitemaps09"]
    settings.INSTALLED_APPS = [*others, *module.INSTALLED_APPS]
    settings.SITEMAPS09 = module.SITEMAPS09
    assert str(conf.base_url) == BASE
    assert checked() == []


@snippet_of(QUICK_START, 1)
def test_the_quick_start_is_found_and_produces_the_index_and_the_page(
    snippet: Snippet, can: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Product.objects.create(category=can.category, slug="secret", published=False, updated_at=MOMENT)
    # The app has that module now.
    snippet.write(tmp_path / "sitemaps.py")
    snippet.modules.append("tests.shop.sitemaps")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(tests.shop, "__path__", [*tests.shop.__path__, str(tmp_path)])
    monkeypatch.setattr(sections, "_discovered", False)
    folder = tmp_path / "public"
    index, page = documents(QUICK_START)
    assert checked() == []
    assert live("/sitemap.xml") == index
    assert both(folder, "products").content == page
    assert (folder / "sitemap.xml").read_bytes() == index
    assert shown(index).urls == [f"{BASE}/sitemap-products-1.xml.gz"]
    assert [*sections.registered()] == ["products"]


@snippet_of(QUICK_START, 2)
def test_the_urls_of_the_quick_start_serve_the_index_and_a_robots_txt_that_names_it(
    snippet: Snippet, db: None, use_urls: UseUrls
) -> None:
    use_urls(*snippet.run("shop_urls").urlpatterns)
    register("products", StaticViewSitemap)
    assert reverse("django_sitemaps09:index") == "/sitemap.xml"
    assert f"Sitemap: {BASE}/sitemap.xml" in live("/robots.txt").decode().splitlines()


@snippet_of(SETTINGS)
@pytest.mark.parametrize("debug", [True, False])
def test_a_development_server_has_local_urls(
    snippet: Snippet, can: Product, settings: Any, debug: bool, monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.setenv("INDEXNOW_KEY", "0123456789abcdef")
    given = {"BASE_DIR": tmp_path, "DEBUG": debug, "os": os}
    settings.SITEMAPS09 = snippet.run("shop_settings", given).SITEMAPS09
    # The site of this test also has the view robots_txt.
    assert [each for each in checked() if "W094" not in each] == []
    Site.objects.update(domain="localhost:8000")
    Site.objects.clear_cache()
    register("products", type("Products", (ModelSitemap,), {"model": type(can)}))
    base = "http://localhost:8000" if debug else BASE
    assert f"<loc>{base}/sitemap-products-1.xml.gz</loc>" in live("/sitemap.xml").decode()


def test_the_command_of_the_quick_start_writes_the_same_documents(
    can: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [command] = re.findall(r"`manage\.py (export_sitemaps)` writes the same documents", README)
    declared = Snippet(blocks("python", *QUICK_START)[1])
    declared.run("shop.sitemaps")
    monkeypatch.chdir(tmp_path)
    call_command(command, stdout=StringIO())
    declared.forget()
    index, page = documents(QUICK_START)
    assert (tmp_path / "public" / "sitemap.xml").read_bytes() == index
    assert gzip.decompress((tmp_path / "public" / "sitemap-products-1.xml.gz").read_bytes()) == page
    assert {path.name for path in (tmp_path / "public").iterdir() if path.is_file()} == {
        "sitemap.xml",
        "sitemap-products-1.xml.gz",
    }
