"""The documentation of several hosts: each snippet runs as shown."""

from __future__ import annotations

import gzip
import shlex
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.management import call_command

from django_sitemaps09 import register
from django_sitemaps09.export import export_hosts
from tests.docs.features.project import MOMENT, checked, live, shown, snippet_of
from tests.docs.pages import Snippet, blocks
from tests.docs.places import QUICK_START
from tests.shop.models import Article, Product

EXPORT_HOSTS = ("docs/howto/hosts.md", "Export for several hosts")
SITES = ("docs/howto/hosts.md", "Rows that belong to a site")

HOSTS = ("www.example.com", "www.example.de")


@pytest.fixture
def of_sites(db: None) -> Iterator[None]:
    """Create an article for each host, and one for both."""
    Site.objects.all().delete()
    Site.objects.clear_cache()
    found = [Site.objects.create(domain=host, name=host) for host in HOSTS]
    for slug, places in {"english": found[:1], "german": found[1:], "both": found}.items():
        Article.objects.create(slug=slug, title=slug, published_at=MOMENT).sites.set(places)
    yield
    Site.objects.clear_cache()


@snippet_of(("docs/howto/hosts.md", "Choose rows and locations by host"))
def test_a_sitemap_for_a_host_lists_the_rows_that_its_method_chose(
    snippet: Snippet, of_sites: None, settings: Any, tmp_path: Path
) -> None:
    settings.SITEMAPS09 = {}
    register("articles", snippet.run("shop.sitemaps").ArticleSitemap)
    assert checked() == []
    export_hosts([f"https://{host}" for host in HOSTS], output=tmp_path)
    for host, own in zip(HOSTS, ("english", "german"), strict=True):
        page = shown(live("/sitemap-articles-1.xml", headers={"host": host}))
        assert page.urls == [f"http://{host}/articles/{slug}/" for slug in (own, "both")]
        exported = gzip.decompress((tmp_path / host / "sitemap-articles-1.xml.gz").read_bytes())
        assert shown(exported).urls == [f"https://{host}/articles/{slug}/" for slug in (own, "both")]


@snippet_of(SITES)
def test_a_site_lists_its_own_rows_live(snippet: Snippet, of_sites: None, settings: Any) -> None:
    settings.SITEMAPS09 = {}
    del settings.SITE_ID
    register("articles", snippet.run("shop.sitemaps").ArticleSitemap)
    assert checked() == []
    for host, own in zip(HOSTS, ("english", "german"), strict=True):
        page = shown(live("/sitemap-articles-1.xml", headers={"host": host}))
        assert page.urls == [f"http://{host}/articles/{slug}/" for slug in (own, "both")]


@snippet_of(SITES)
def test_the_command_writes_one_tree_for_each_host(
    snippet: Snippet, of_sites: None, can: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("articles", snippet.run("shop.sitemaps").ArticleSitemap)
    Snippet(blocks("python", *QUICK_START)[1]).run("shop.sitemaps")
    [command] = blocks("sh", *EXPORT_HOSTS)
    program, *arguments = shlex.split(command.text.replace("\\\n", ""))
    assert program == "manage.py"
    assert "public/{host}/robots.txt" in arguments
    monkeypatch.chdir(tmp_path)
    call_command(*arguments, stdout=StringIO())
    public = tmp_path / "public"
    assert {folder.name for folder in public.iterdir() if not folder.name.startswith(".")} == {*HOSTS}
    names = ["sitemap-articles-1.xml.gz", "sitemap-products-1.xml.gz"]
    for host, own in zip(HOSTS, ("english", "german"), strict=True):
        folder, base = public / host, f"https://{host}"
        files = {file.name for file in folder.iterdir() if file.is_file()}
        assert files == {"sitemap.xml", "robots.txt", *names}
        index = shown((folder / "sitemap.xml").read_bytes())
        assert index.urls == [f"{base}/{name}" for name in names]
        articles, products = (shown(gzip.decompress((folder / name).read_bytes())) for name in names)
        assert articles.urls == [f"{base}/articles/{slug}/" for slug in (own, "both")]
        assert products.urls == [f"{base}/garden/watering-can/"]
        lines = (folder / "robots.txt").read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if line.startswith("Sitemap")] == [f"Sitemap: {base}/sitemap.xml"]


def test_a_site_that_has_moved_is_exported_once_with_its_old_base_url(
    can: Product, tmp_path: Path, settings: Any
) -> None:
    settings.SITEMAPS09 = {"ROOT": tmp_path}
    Snippet(blocks("python", *QUICK_START)[1]).run("shop.sitemaps")
    [command] = blocks("sh", "docs/howto/hosts.md", "A site that moves to another host")
    program, *arguments = shlex.split(command.text)
    assert program == "manage.py"
    call_command("export_sitemaps", base_url=["https://www.example.com"], stdout=StringIO())
    call_command(*arguments, stdout=StringIO())
    index = shown((tmp_path / "sitemap.xml").read_bytes())
    assert index.urls == ["https://www.example.org/sitemap-products-2.xml.gz"]
    assert (tmp_path / "sitemap-products-1.xml.gz").exists()
