"""The how-to for django CMS, compared with `CMSSitemap` and `get_absolute_url()`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cms.api import create_page, create_page_content
from cms.models import PageContent, PageUrl
from cms.sitemaps import CMSSitemap
from django.contrib.sites.models import Site

from tests.docs.pages import Snippet, blocks
from tests.neighbours.published import Entry, complaints, exported, live, override_sitemaps, queries

PAGE = "docs/howto/django-cms.md"
WWW, SHOP = "www.example.com", "shop.example.com"
pytestmark = pytest.mark.django_db


def add(title: str, site: Site, parent: Any = None, **options: Any) -> Any:
    return create_page(title, "page.html", "en", slug=title.lower(), site=site, parent=parent, **options)


@pytest.fixture(autouse=True)
def sites() -> Iterator[list[Site]]:
    Site.objects.all().delete()
    Site.objects.clear_cache()
    found = [Site.objects.create(pk=pk, domain=host, name=host) for pk, host in ((1, WWW), (2, SHOP))]
    home = add("Home", found[0])
    home.set_as_homepage()
    create_page_content("de", "Start", home)
    news = add("News", found[0])
    create_page_content("de", "Neues", news, slug="neues")
    create_page_content("fr", "Nouvelles", news, slug="nouvelles")
    item = add("Item", found[0], news)
    create_page_content("de", "Eintrag", item, slug="eintrag", redirect="/elsewhere/")
    add("Members", found[0], login_required=True)
    add("Redirect", found[0], redirect="/en/news/")
    add("Products", found[1])
    yield found
    Site.objects.clear_cache()


def expected(host: str) -> list[Entry]:
    """Return the pages that `CMSSitemap` lists for a host, with links between them."""
    sitemap = CMSSitemap()
    sitemap.site = Site.objects.get(domain=host)
    rows = list(sitemap.items())
    urls = {
        (row.page_id, row.language): f"https://{host}{row.get_absolute_url(row.language)}" for row in rows
    }
    return sorted(
        Entry(
            urls[row.page_id, row.language],
            f"{sitemap.lastmod(row):%Y-%m-%dT%H:%M:%SZ}",
            frozenset((code, url) for (page, code), url in urls.items() if page == row.page_id),
        )
        for row in rows
    )


def compare(folder: Path) -> list[str]:
    assert complaints() == []
    files = exported(folder, WWW, SHOP)
    wanted = {host: expected(host) for host in (WWW, SHOP)}
    assert {host: sorted(found) for host, found in files.items()} == wanted
    # Live pages are those of SITE_ID.
    assert sorted(live(WWW)) == wanted[WWW]
    return [entry.url for found in wanted.values() for entry in found]


def test_each_host_lists_the_pages_of_cms_sitemap_before_and_after_changes(
    sites: list[Site], tmp_path: Path
) -> None:
    paths = ("en/", "de/", "en/news/", "de/neues/", "en/news/item/")
    assert {*compare(tmp_path)} == {
        *(f"https://{WWW}/{path}" for path in paths),
        f"https://{SHOP}/en/products/",
    }
    news = PageUrl.objects.get(slug="news").page
    content = PageContent.objects.get(page=news, language="en")
    content.slug = "press"
    content.save()
    news.update_urls_from_content("en")
    news.login_required = False
    news.save()
    members = PageUrl.objects.get(slug="members").page
    members.login_required = False
    members.save()
    PageContent.objects.filter(redirect="/elsewhere/").update(redirect="")
    PageContent.objects.filter(title="Start").update(redirect="/en/")
    create_page_content("de", "Produkte", PageUrl.objects.get(slug="products").page, slug="produkte")
    second = compare(tmp_path)
    assert f"https://{WWW}/en/members/" in second
    assert f"https://{WWW}/de/" not in second
    assert f"https://{SHOP}/de/produkte/" in second
    assert any("/press/" in url for url in second)


def test_the_sitemap_of_the_cms_works_unchanged_for_each_host(tmp_path: Path) -> None:
    [block] = [block for block in blocks("python", PAGE) if not block.text.startswith("# ")]
    declared = Snippet(block).run("unchanged").sitemaps
    assert declared == {"pages": CMSSitemap}
    files = exported(tmp_path, WWW, SHOP, sitemaps=declared)
    for host in (WWW, SHOP):
        assert sorted(entry.url for entry in files[host]) == [entry.url for entry in expected(host)]
    with override_sitemaps(declared):
        assert sorted(entry.url for entry in live(WWW)) == [entry.url for entry in expected(WWW)]


def test_the_number_of_queries_does_not_depend_on_the_number_of_pages(sites: list[Site]) -> None:
    live(WWW)
    few = queries(WWW, "/sitemap-pages-1.xml")
    for number in range(20):
        create_page_content("de", f"Mehr {number}", add(f"More-{number}", sites[0]), slug=f"mehr-{number}")
    assert len(live(WWW)) == 45
    assert queries(WWW, "/sitemap-pages-1.xml") == few <= 3
