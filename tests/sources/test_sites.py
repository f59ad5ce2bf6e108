"""The site that a project's `get_urls()` is called with: contrib's site, with the served host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.contrib.sites.requests import RequestSite
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import include, path

from django_sitemaps09 import Sitemap, views
from django_sitemaps09.export import export, export_hosts
from tests.support.published import indexed

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]

BASE_URL = "https://www.example.org"


class CMS(ContribSitemap):
    """A sitemap like that of django CMS: it stores the site, and lists the site's rows."""

    seen: ClassVar[list[Any]] = []

    def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
        self.site = site
        self.seen.append(site)
        return super().get_urls(page, site, protocol)

    def items(self) -> list[int]:
        return [row.pk for row in Site.objects.filter(pk=self.site.pk)]

    def location(self, item: int) -> str:
        return f"/of-{item}/"


class OursCMS(CMS, Sitemap[int]):
    """The same sitemap after the import was changed."""


SITEMAPS = {"cms": CMS, "ours": OursCMS}
urlpatterns = [
    path("", include("django_sitemaps09.urls"), {"sitemaps": SITEMAPS}),
    path("contrib-<section>.xml", views.sitemap, {"sitemaps": SITEMAPS}),
]

BY_VIEW = ["/sitemap-{}-1.xml", "/contrib-{}.xml"]


@pytest.fixture(autouse=True)
def sites(settings: Any) -> Iterator[tuple[Site, Site]]:
    """Create two sites. The first one is the current site."""
    settings.SITEMAPS09 = {"BASE_URL": BASE_URL}
    CMS.seen.clear()
    first = Site.objects.update_or_create(pk=1, defaults={"domain": "www.example.com", "name": "first"})[0]
    second = Site.objects.create(domain="WWW.example.org", name="second")
    Site.objects.clear_cache()
    yield first, second
    Site.objects.clear_cache()


def live(url: str, host: str = "testserver") -> list[str]:
    content = Client(headers={"host": host}).get(url).content
    return [str(part.text) for part in ElementTree.fromstring(content).iter() if part.tag.endswith("}loc")]  # noqa: S314


@pytest.mark.parametrize("name", SITEMAPS)
@pytest.mark.parametrize("url", BY_VIEW)
class TestAView:
    def test_gives_the_row_of_the_host_that_is_served(
        self, url: str, name: str, sites: tuple[Site, Site]
    ) -> None:
        assert live(url.format(name)) == [f"{BASE_URL}/of-{sites[1].pk}/"]
        for site in CMS.seen:
            assert (site, site.name) == (sites[1], "second")
            assert site.domain == str(site) == "www.example.org"
        sites[1].refresh_from_db()
        assert sites[1].domain == "WWW.example.org"

    def test_gives_the_current_site_on_that_host_if_it_has_no_row(
        self, url: str, name: str, sites: tuple[Site, Site]
    ) -> None:
        sites[1].delete()
        assert live(url.format(name)) == [f"{BASE_URL}/of-1/"]
        assert Site.objects.get_current().domain == "www.example.com"

    @pytest.mark.parametrize("is_installed", [True, False])
    def test_gives_what_behaves_as_a_request_site_if_there_is_no_row_or_no_sites_framework(
        self, url: str, name: str, is_installed: bool, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if is_installed:
            Site.objects.all().delete()
        else:
            settings.INSTALLED_APPS = [
                app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"
            ]
        monkeypatch.setattr(CMS, "items", lambda self: [0])
        assert live(url.format(name)) == [f"{BASE_URL}/of-0/"]
        is_request_site(CMS.seen[-1])

    def test_runs_one_query_for_the_row_and_none_for_the_current_site(
        self, url: str, name: str, sites: tuple[Site, Site], settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(CMS, "items", lambda self: [0])
        Site.objects.get_current()
        with CaptureQueriesContext(connection) as found:
            live(url.format(name))
        assert len(found) == 1
        settings.SITE_ID = sites[1].pk
        Site.objects.filter(pk=sites[1].pk).update(domain="www.example.org")
        Site.objects.get_current()
        with CaptureQueriesContext(connection) as found:
            live(url.format(name))
        assert len(found) == 0


def is_request_site(site: Any) -> None:
    assert isinstance(site, RequestSite)
    assert (site.domain, site.name, str(site)) == ("www.example.org",) * 3
    with pytest.raises(NotImplementedError):
        site.save()
    with pytest.raises(NotImplementedError):
        site.delete()


def test_the_row_of_a_port_is_that_of_the_port_or_else_of_the_host(
    sites: tuple[Site, Site], settings: Any
) -> None:
    settings.SITEMAPS09 = {"BASE_URL": f"{BASE_URL}:8443"}
    assert live("/sitemap-cms-1.xml") == [f"{BASE_URL}:8443/of-{sites[1].pk}/"]
    third = Site.objects.create(domain="www.example.org:8443", name="third")
    assert live("/sitemap-cms-1.xml") == [f"{BASE_URL}:8443/of-{third.pk}/"]


def test_the_row_may_be_in_unicode_and_urls_are_not(sites: tuple[Site, Site], settings: Any) -> None:
    Site.objects.filter(pk=sites[1].pk).update(domain="bücher.example")
    settings.SITEMAPS09 = {"BASE_URL": "https://bücher.example"}
    assert live("/contrib-cms.xml") == [f"https://xn--bcher-kva.example/of-{sites[1].pk}/"]


def test_a_host_that_has_no_site_id_is_found_by_its_name(sites: tuple[Site, Site], settings: Any) -> None:
    settings.SITE_ID = None
    settings.SITEMAPS09 = {}
    assert live("/sitemap-cms-1.xml", "www.example.org") == [f"http://www.example.org/of-{sites[1].pk}/"]


@pytest.mark.parametrize("name", SITEMAPS)
def test_an_export_gives_the_row_of_each_host(name: str, tmp_path: Path, sites: tuple[Site, Site]) -> None:
    chosen = {name: SITEMAPS[name]}
    assert export(output=tmp_path / "one", sitemaps=chosen).failures == []
    assert urls_of(tmp_path / "one") == [f"{BASE_URL}/of-{sites[1].pk}/"]
    export_hosts(["https://www.example.com", BASE_URL], output=tmp_path, sitemaps=chosen)
    assert urls_of(tmp_path / "www.example.com") == ["https://www.example.com/of-1/"]
    assert urls_of(tmp_path / "www.example.org") == [f"{BASE_URL}/of-{sites[1].pk}/"]


def urls_of(folder: Path) -> list[str]:
    return sorted(indexed(folder))


class Compiled(Sitemap[int]):
    def items(self) -> list[int]:
        return [1]

    def location(self, item: int) -> str:
        return "/a/"


class Named(ContribSitemap):
    """A site with only a domain, which is all that contrib's methods use."""

    items = Compiled.items
    location = Compiled.location


@pytest.mark.parametrize("section", [Compiled, Named])
def test_a_section_that_uses_only_the_domain_runs_no_query(
    section: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SITEMAPS, "cms", section)
    with CaptureQueriesContext(connection) as found:
        for url in BY_VIEW:
            assert live(url.format("cms")) == [f"{BASE_URL}/a/"]
        export(output=tmp_path, sitemaps={"cms": section})
    assert len(found) == 0
