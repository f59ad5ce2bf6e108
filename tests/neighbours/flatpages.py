"""Two sites with flatpages; what they list is compared with Django's own sitemap."""

from __future__ import annotations

from unittest.mock import patch

from django.conf import settings
from django.contrib.flatpages.models import FlatPage
from django.contrib.flatpages.sitemaps import FlatPageSitemap
from django.contrib.sites.models import Site
from django.test import override_settings
from django.urls import clear_url_caches
from mysite import sitemaps, urls

from tests.docs.pages import run, unnamed
from tests.neighbours.published import Entry, compare, override_sitemaps

HOSTS = LIVE = WWW, SHOP = "www.example.com", "shop.example.com"
BOTH = "both/%C3%BCber/"
BEFORE = {f"https://{WWW}/pages/{name}" for name in ("page-0/", "page-4/", BOTH)}
BEFORE |= {f"https://{SHOP}/pages/{name}" for name in ("page-1/", "page-3/", "page-5/", BOTH)}
AFTER = BEFORE - {f"https://{WWW}/pages/page-0/"}
AFTER |= {f"https://{WWW}/pages/{name}/" for name in ("moved", "page-1")}
QUERIES = {"/sitemap-flatpages-1.xml": 3}


def create():
    sites = [Site.objects.create(domain=host, name=host) for host in HOSTS]
    for number in range(6):
        add(f"/page-{number}/", sites[number % 2], registration_required=number == 2)
    add("/both/über/", *sites)


def add(url, *sites, **fields):
    FlatPage.objects.create(url=url, title=url, **fields).sites.set(sites)


def expected(host):
    with override_settings(SITE_ID=Site.objects.get(domain=host).pk):
        return [Entry(f"https://{host}{page.get_absolute_url()}") for page in FlatPageSitemap().items()]


def change():
    FlatPage.objects.filter(url="/page-0/").delete()
    FlatPage.objects.filter(url="/page-2/").update(registration_required=False, url="/moved/")
    FlatPage.objects.get(url="/page-1/").sites.add(Site.objects.get(domain=WWW))


def grow():
    for number in range(100):
        add(f"/more-{number}/", Site.objects.get(domain=WWW))
    return 103


def check_other_sitemap(folder):
    fallback = run(unnamed(settings.PAGE, settings.CHAPTER), **vars(sitemaps)).FallbackSitemap
    with (
        patch.object(urls, "urlpatterns", urls.urlpatterns[:1]),
        override_sitemaps({"pages": fallback}),
        override_settings(ROOT_URLCONF="mysite.urls"),
    ):
        assert f"https://{WWW}/{BOTH}" in compare(folder, {host: sorted(expected(host)) for host in HOSTS})
    clear_url_caches()
