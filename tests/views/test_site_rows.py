"""Live sections with a `site_field` list the rows of the site that is served."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.flatpages.models import FlatPage
from django.contrib.sites.models import Site
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from django_sitemaps09.export import export_hosts
from tests.support.configuration import Register
from tests.support.several_hosts import SITES, Pages

pytestmark = [pytest.mark.django_db, pytest.mark.slow]


@pytest.fixture
def by_request(settings: Any, two_sites: tuple[Site, Site], register: Register) -> None:
    """Configure the project so that the request determines the site."""
    del settings.SITE_ID
    settings.SITEMAPS09 = {}
    settings.ROOT_URLCONF = "tests.support.several_hosts"
    register(**SITES)


def live(url: str, host: str) -> list[str]:
    content = Client().get(url, headers={"host": host}).content.decode()
    return re.findall("<loc>(.*?)</loc>", content)


@pytest.mark.usefixtures("by_request")
class TestLiveRowsOfASite:
    @pytest.mark.parametrize(
        ("url", "index"), [("/sitemap-pages-1.xml", "/sitemap.xml"), ("/contrib-pages.xml", "/contrib.xml")]
    )
    def test_are_those_of_the_host_that_is_requested(self, url: str, index: str) -> None:
        Site.objects.filter(pk=2).update(domain="b.example")
        for number, host in [(1, "a.example"), (2, "b.example")] * 2:
            for port in ("", ":8000"):
                rows = [f"http://{host}/of-{number}/", f"http://{host}/of-both/"]
                assert sorted(live(url, f"{host}{port}")) == rows
            [page] = live(index, host)
            assert page.startswith(f"http://{host}/")

    @pytest.mark.parametrize("site_id", [None, 1])
    @pytest.mark.parametrize("url", ["/sitemap-pages-1.xml", "/contrib-pages.xml"])
    def test_are_those_of_the_base_url(self, url: str, site_id: int | None, settings: Any) -> None:
        base = "https://xn--bcher-kva.example"
        settings.SITEMAPS09 = {"BASE_URL": "https://bücher.example"}
        if site_id is not None:
            settings.SITE_ID = site_id
        assert sorted(live(url, "a.example")) == [f"{base}/of-2/", f"{base}/of-both/"]

    @pytest.mark.parametrize(
        "url", ["/sitemap.xml", "/sitemap-pages-1.xml", "/contrib.xml", "/contrib-pages.xml"]
    )
    def test_are_of_no_other_one_if_the_host_is_unknown(self, url: str) -> None:
        with pytest.raises((Site.DoesNotExist, ImproperlyConfigured)):
            live(url, "elsewhere.example")

    @pytest.mark.parametrize("url", ["/sitemap.xml", "/sitemap-pages-1.xml", "/contrib-pages.xml"])
    def test_are_of_no_other_one_if_the_base_url_has_no_site(self, url: str, settings: Any) -> None:
        settings.SITE_ID = 1
        settings.SITEMAPS09 = {"BASE_URL": "https://elsewhere.example"}
        with pytest.raises(ImproperlyConfigured, match=r"no Site has the domain 'elsewhere\.example'"):
            live(url, "a.example")

    @pytest.mark.parametrize("url", ["/sitemap-pages-1.xml", "/contrib-pages.xml"])
    def test_are_those_of_the_site_of_the_settings(self, url: str, settings: Any) -> None:
        settings.SITE_ID = 2
        # All views write the host as it is stored in the site.
        for domain in ("b.example", "B.example:8000", "bücher.example"):
            Site.objects.filter(pk=2).update(domain=domain)
            Site.objects.clear_cache()
            found = live(url, "elsewhere.example")
            assert sorted(location.rpartition("/of-")[2] for location in found) == ["2/", "both/"]

    def test_do_not_stay_with_an_instance_that_serves_another_host(self, register: Register) -> None:
        Site.objects.filter(pk=2).update(domain="b.example")
        register(pages=Pages())
        for number, host in ((1, "a.example"), (2, "b.example"), (1, "a.example")):
            assert f"http://{host}/of-{number}/" in live("/sitemap-pages-1.xml", host)

    @pytest.mark.parametrize(
        "domain", ["a.example", "A.Example", "a.example:8443", "bücher.example", "xn--bcher-kva.example"]
    )
    def test_are_found_by_the_name_of_the_site_however_it_is_written(
        self, domain: str, settings: Any
    ) -> None:
        Site.objects.filter(pk=1).update(domain="x.example")
        Site.objects.filter(pk=2).update(domain=domain)
        Site.objects.clear_cache()
        settings.SITEMAPS09 = {"BASE_URL": f"https://{domain}"}
        assert live("/sitemap-pages-1.xml", "x.example")[0].endswith("/of-2/")

    def test_follow_the_export_of_their_host(self, folder: Path, settings: Any) -> None:
        Site.objects.filter(pk=2).update(domain="b.example")
        Pages.limit = 1
        settings.SITEMAPS09 = {"ROOT": folder}
        hosts = ("http://a.example", "http://b.example")
        try:
            export_hosts(hosts, sitemaps=SITES)
            for site, gone in ((1, "/of-1/"), (2, "/of-2/")):
                FlatPage.objects.filter(url=gone, sites=site).delete()
            # The rows of page 2 stay there.
            assert live("/sitemap-pages-2.xml", "a.example") == ["http://a.example/of-both/"]
        finally:
            del Pages.limit
