"""The how-to for flatpages, compared with Django's own sitemap and `get_absolute_url()`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib.flatpages.models import FlatPage
from django.contrib.flatpages.sitemaps import FlatPageSitemap
from django.contrib.sites.models import Site
from django.urls import clear_url_caches
from mysite import sitemaps, urls

from tests.docs.pages import Snippet, blocks
from tests.neighbours.published import complaints, exported, live, override_sitemaps, queries

PAGE = "docs/howto/flatpages.md"
HOSTS = ("www.example.com", "shop.example.com")
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def sites() -> Iterator[list[Site]]:
    Site.objects.all().delete()
    Site.objects.clear_cache()
    found = [Site.objects.create(domain=host, name=host) for host in HOSTS]
    for number in range(6):
        add(f"/page-{number}/", found[number % 2], registration_required=number == 2)
    add("/both/über/", *found)
    yield found
    Site.objects.clear_cache()


def add(url: str, *sites: Site, **fields: Any) -> None:
    FlatPage.objects.create(url=url, title=url, **fields).sites.set(sites)


def expected(host: str, settings: Any) -> list[str]:
    settings.SITE_ID = Site.objects.get(domain=host).pk
    found = sorted(f"https://{host}{page.get_absolute_url()}" for page in FlatPageSitemap().items())
    del settings.SITE_ID
    return found


def compare(folder: Path, settings: Any) -> list[int]:
    assert complaints() == []
    files = exported(folder, *HOSTS)
    wanted = {host: expected(host, settings) for host in HOSTS}
    assert {host: sorted(entry.url for entry in files[host]) for host in HOSTS} == wanted
    assert {host: sorted(entry.url for entry in live(host)) for host in HOSTS} == wanted
    return list(map(len, wanted.values()))


def test_each_host_lists_its_flatpages_before_and_after_changes(
    sites: list[Site], tmp_path: Path, settings: Any
) -> None:
    assert compare(tmp_path, settings) == [3, 4]
    FlatPage.objects.filter(url="/page-0/").delete()
    FlatPage.objects.filter(url="/page-2/").update(registration_required=False, url="/moved/")
    FlatPage.objects.get(url="/page-1/").sites.add(sites[0])
    assert compare(tmp_path, settings) == [4, 4]


def test_the_middleware_serves_pages_at_their_own_urls(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    [block] = [block for block in blocks("python", PAGE) if not block.text.startswith("# ")]
    fallback = Snippet(block).run("fallback", vars(sitemaps)).FallbackSitemap
    monkeypatch.setattr(urls, "urlpatterns", urls.urlpatterns[:1])
    clear_url_caches()
    with override_sitemaps({"pages": fallback}):
        compare(tmp_path, settings)
        assert f"https://{HOSTS[0]}/both/%C3%BCber/" in [entry.url for entry in live(HOSTS[0])]
    clear_url_caches()


def test_the_number_of_queries_does_not_depend_on_the_number_of_pages(sites: list[Site]) -> None:
    live(HOSTS[0])
    few = queries(HOSTS[0], "/sitemap-flatpages-1.xml")
    for number in range(100):
        add(f"/more-{number}/", sites[0])
    assert len(live(HOSTS[0])) == 103
    assert queries(HOSTS[0], "/sitemap-flatpages-1.xml") == few <= 3
