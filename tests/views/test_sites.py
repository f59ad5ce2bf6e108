"""Sites: the site that a project's `get_urls()` is called with, and the rows of the site that is served."""

from __future__ import annotations

import pytest
from django.contrib.flatpages.models import FlatPage
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.contrib.sites.requests import RequestSite
from django.core.exceptions import ImproperlyConfigured
from django.urls import include, path

from django_sitemaps09 import Sitemap, views
from django_sitemaps09.export import export, export_hosts
from tests.support.native_views import get, locations, queries
from tests.support.published import indexed
from tests.support.sections import declare
from tests.support.several_hosts import SITES, Pages

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]
BASE_URL = "https://www.example.org"


class CMS(ContribSitemap):
    """A sitemap like that of django CMS: it stores the site, and lists the site's rows."""

    sites = []

    def get_urls(self, page=1, site=None, protocol=None):
        self.site = site
        self.sites.append(site)
        return super().get_urls(page, site, protocol)

    def items(self):
        return [row.pk for row in Site.objects.filter(pk=self.site.pk)]

    def location(self, item):
        return f"/of-{item}/"


#: The second one is the same sitemap after the import was changed.
SITEMAPS = {"cms": CMS, "ours": type("OursCMS", (CMS, Sitemap), {})}
urlpatterns = [
    path("", include("django_sitemaps09.urls"), {"sitemaps": SITEMAPS}),
    path("contrib-<section>.xml", views.sitemap, {"sitemaps": SITEMAPS}),
]
BY_VIEW = ["/sitemap-{}-1.xml", "/contrib-{}.xml"]
on_each_view = pytest.mark.parametrize("url", [url.format(name) for url in BY_VIEW for name in SITEMAPS])


@pytest.fixture
def sites(settings):
    settings.SITEMAPS09 = {"BASE_URL": BASE_URL}
    CMS.sites.clear()
    first = Site.objects.update_or_create(pk=1, defaults={"domain": "www.example.com", "name": "first"})[0]
    second = Site.objects.create(domain="WWW.example.org", name="second")
    Site.objects.clear_cache()
    yield first, second
    Site.objects.clear_cache()


def live(url, host="testserver"):
    return locations(get(url, host=host).content)


@on_each_view
def test_a_view_gives_the_row_of_the_host_or_else_the_current_site_on_that_host(url, sites):
    _, second = sites
    assert live(url) == [f"{BASE_URL}/of-{second.pk}/"]
    for site in CMS.sites:
        assert (site, site.name) == (second, "second")
        assert site.domain == str(site) == "www.example.org"
    second.refresh_from_db()
    assert second.domain == "WWW.example.org"
    second.delete()
    assert (live(url), Site.objects.get_current().domain) == ([f"{BASE_URL}/of-1/"], "www.example.com")


@on_each_view
@pytest.mark.parametrize("has_app", [True, False])
def test_a_view_gives_a_request_site_without_row_or_framework(url, has_app, sites, settings, monkeypatch):
    if has_app:
        Site.objects.all().delete()
    else:
        settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
    monkeypatch.setattr(CMS, "items", lambda self: [0])
    assert live(url) == [f"{BASE_URL}/of-0/"]
    site = CMS.sites[-1]
    assert isinstance(site, RequestSite)
    assert (site.domain, site.name, str(site)) == ("www.example.org",) * 3


@on_each_view
def test_a_view_runs_one_query_for_the_row_and_none_for_the_current_site(url, sites, settings, monkeypatch):
    monkeypatch.setattr(CMS, "items", lambda self: [0])
    Site.objects.get_current()
    assert queries(url) == 1
    settings.SITE_ID = sites[1].pk
    Site.objects.filter(pk=sites[1].pk).update(domain="www.example.org")
    Site.objects.get_current()
    assert queries(url) == 0


def test_the_row_of_a_host_is_found_with_or_without_a_port_or_a_site_id_and_in_unicode(sites, settings):
    pk = sites[1].pk
    settings.SITEMAPS09 = {"BASE_URL": f"{BASE_URL}:8443"}
    assert live("/sitemap-cms-1.xml") == [f"{BASE_URL}:8443/of-{pk}/"]
    third = Site.objects.create(domain="www.example.org:8443", name="third")
    assert live("/sitemap-cms-1.xml") == [f"{BASE_URL}:8443/of-{third.pk}/"]
    settings.SITE_ID, settings.SITEMAPS09 = None, {}
    assert live("/sitemap-cms-1.xml", "www.example.org") == [f"http://www.example.org/of-{pk}/"]
    settings.SITE_ID = 1
    Site.objects.filter(pk=pk).update(domain="bücher.example")
    settings.SITEMAPS09 = {"BASE_URL": "https://bücher.example"}
    assert live("/contrib-cms.xml") == [f"https://xn--bcher-kva.example/of-{pk}/"]


@pytest.mark.parametrize("name", SITEMAPS)
def test_an_export_gives_the_row_of_each_host(name, tmp_path, sites):
    chosen, second = {name: SITEMAPS[name]}, f"{BASE_URL}/of-{sites[1].pk}/"
    assert export(output=tmp_path / "one", sitemaps=chosen).failures == []
    export_hosts(["https://www.example.com", BASE_URL], output=tmp_path, sitemaps=chosen)
    assert {folder.name: indexed(folder) for folder in tmp_path.iterdir() if folder.is_dir()} == {
        "one": {second},
        "www.example.com": {"https://www.example.com/of-1/"},
        "www.example.org": {second},
    }


@pytest.mark.parametrize("base", [Sitemap, ContribSitemap], ids=["ours", "contribs"])
def test_a_section_that_uses_only_the_domain_runs_no_query(
    base, sites, tmp_path, monkeypatch, django_assert_num_queries
):
    """The domain is all that contrib's methods use."""
    section = declare(base, items=lambda self: [1], location=lambda self, item: "/a/")
    monkeypatch.setitem(SITEMAPS, "cms", section)
    with django_assert_num_queries(0):
        for url in BY_VIEW:
            assert live(url.format("cms")) == [f"{BASE_URL}/a/"]
        export(output=tmp_path, sitemaps={"cms": section})


@pytest.fixture
def by_request(settings, two_sites, register):
    del settings.SITE_ID
    settings.SITEMAPS09 = {}
    settings.ROOT_URLCONF = "tests.support.several_hosts"
    register(**SITES)
    Site.objects.filter(pk=2).update(domain="b.example")


PAGES = pytest.mark.parametrize("url", ["/sitemap-pages-1.xml", "/contrib-pages.xml"])


@pytest.mark.slow
@pytest.mark.usefixtures("by_request")
class TestLiveRowsOfASite:
    @pytest.mark.parametrize("section", [Pages, Pages()], ids=["class", "instance"])
    @PAGES
    def test_are_those_of_the_host_that_is_requested(self, url, section, monkeypatch, register):
        monkeypatch.setitem(SITES, "pages", section)
        register(**SITES)
        for number, host in [(1, "a.example"), (2, "b.example")] * 2:
            rows = [f"http://{host}/of-{number}/", f"http://{host}/of-both/"]
            assert [sorted(live(url, f"{host}{port}")) for port in ("", ":8000")] == [rows, rows]
            [page] = live(url.replace("sitemap-pages-1", "sitemap").replace("-pages", ""), host)
            assert page.startswith(f"http://{host}/")

    @pytest.mark.parametrize("domain", ["b.example", "B.Example", "b.example:8443", "bücher.example"])
    @pytest.mark.parametrize("site_id", [None, 1])
    @PAGES
    def test_are_those_of_the_base_url_however_its_site_is_written(self, url, site_id, domain, settings):
        Site.objects.filter(pk=2).update(domain=domain)
        settings.SITEMAPS09 = {"BASE_URL": f"https://{domain}"}
        if site_id is not None:
            settings.SITE_ID = site_id
        base = f"https://{domain.lower().encode('idna').decode()}"
        assert sorted(live(url, "a.example")) == [f"{base}/of-2/", f"{base}/of-both/"]
        Site.objects.filter(pk=2).update(domain=domain.encode("idna").decode())
        Site.objects.clear_cache()
        assert len(live(url, "a.example")) == 2

    @pytest.mark.parametrize(
        "url", ["/sitemap.xml", "/sitemap-pages-1.xml", "/contrib.xml", "/contrib-pages.xml"]
    )
    def test_are_of_no_other_one_if_the_host_or_the_base_url_has_no_site(self, url, settings):
        with pytest.raises((Site.DoesNotExist, ImproperlyConfigured)):
            live(url, "elsewhere.example")
        if url != "/contrib.xml":
            settings.SITE_ID = 1
            settings.SITEMAPS09 = {"BASE_URL": "https://elsewhere.example"}
            with pytest.raises(ImproperlyConfigured, match=r"no Site has the domain 'elsewhere\.example'"):
                live(url, "a.example")

    @PAGES
    def test_are_those_of_the_site_of_the_settings(self, url, settings):
        settings.SITE_ID = 2
        # All views write the host as it is stored in the site.
        for domain in ("b.example", "B.example:8000", "bücher.example"):
            Site.objects.filter(pk=2).update(domain=domain)
            Site.objects.clear_cache()
            found = live(url, "elsewhere.example")
            assert sorted(location.rpartition("/of-")[2] for location in found) == ["2/", "both/"]

    def test_follow_the_export_of_their_host(self, folder, settings, monkeypatch):
        monkeypatch.setattr(Pages, "limit", 1)
        settings.SITEMAPS09 = {"ROOT": folder}
        export_hosts(("http://a.example", "http://b.example"), sitemaps=SITES)
        for site, gone in ((1, "/of-1/"), (2, "/of-2/")):
            FlatPage.objects.filter(url=gone, sites=site).delete()
        # The rows of page 2 stay there.
        assert live("/sitemap-pages-2.xml", "a.example") == ["http://a.example/of-both/"]
