"""Use these for several hosts: a section of the rows of each site, and the fixtures that set sites up."""

from __future__ import annotations

import pytest
from django.contrib.flatpages.models import FlatPage
from django.contrib.sitemaps import views as contrib
from django.contrib.sites.models import Site
from django.http import HttpResponse
from django.urls import include, path

from tests.support.factories import FlatPageFactory, SiteFactory
from tests.support.internals import compat
from tests.support.sections import declare

#: Section of the rows of one site.
Pages = declare(model=FlatPage, site_field="sites", location=lambda self, item: item.url)
#: The sections of the views, where the request determines the site.
SITES = {"pages": Pages}
urlpatterns = [
    path("", include("django_sitemaps09.urls")),
    path("articles/<slug:slug>/", lambda request, slug: HttpResponse(), name="article"),
    path("contrib.xml", compat.index, {"sitemaps": SITES}),
    path("contrib-<section>.xml", compat.sitemap, {"sitemaps": SITES}, f"{contrib.__name__}.sitemap"),
]


@pytest.fixture(autouse=True)
def several_hosts(settings):
    """Set `SITEMAPS09` without a `BASE_URL`, since each host has its own."""
    settings.SITEMAPS09, settings.MEDIA_URL = {"ENGINE": "serial"}, "media/"
    Site.objects.clear_cache()
    yield
    Site.objects.clear_cache()


@pytest.fixture
def two_sites():
    """Create two sites, with a row for each site and a row for both."""
    Site.objects.all().delete()
    Site.objects.clear_cache()
    first, second = SiteFactory(pk=1, domain="a.example"), SiteFactory(pk=2, domain="bücher.example")
    for site in (first, second):
        FlatPageFactory(url=f"/of-{site.pk}/", sites=[site])
    FlatPageFactory(url="/of-both/", sites=[first, second])
    yield first, second
    Site.objects.clear_cache()
