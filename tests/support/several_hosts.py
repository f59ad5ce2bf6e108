"""Use these for exports of several hosts: their sections and rows, and what each host has in its folder."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from django.contrib.flatpages.models import FlatPage
from django.contrib.sitemaps import Sitemap as ContribSitemap, views as contrib
from django.contrib.sites.models import Site
from django.http import HttpResponse
from django.urls import include, path
from django.utils.translation import get_language

from django_sitemaps09 import Image, Sitemap
from django_sitemaps09.export import export_hosts
from tests.models import Article
from tests.support import published
from tests.support.articles import Articles, Fresh
from tests.support.commands import said
from tests.support.factories import FlatPageFactory, SiteFactory
from tests.support.internals import compat
from tests.support.published import pages
from tests.support.sections import declare, listing

A, B, C = "https://a.example", "https://a-longer-name.b.example:8443", "http://c.example"
#: The options of the command for the first two hosts.
HOST_OPTIONS = ("--base-url", A, "--base-url", B)
#: The folders of these hosts.
FOLDERS = {A: "a.example", B: "a-longer-name.b.example_8443", C: "c.example"}
OLD = datetime(2026, 1, 1, tzinfo=timezone.utc)
ROWS, PAGE = 30, 10


class ByHooks(Articles):
    """The same section with methods as hooks, which record their calls in `COUNTED`."""

    def location(self, item):
        COUNTED.append(item.pk)
        return f"/hooks/{item.slug}/"

    def images(self, item):
        return [Image(f"pictures/{item.pk}.jpg"), Image("/here.jpg"), Image("https://cdn.example/x.jpg")]


COUNTED = []


class Numbers(Sitemap[int]):
    """Section that is paginated by position."""

    limit, changefreq, rows = PAGE, "daily", range(25)

    def items(self):
        return self.rows

    def location(self, item):
        return f"/numbers/{item}/"


Own = listing([1, 2], ContribSitemap, location=lambda self, item: f"/own/{item}/")


#: Section of the rows of one site.
Pages = declare(model=FlatPage, site_field="sites", location=lambda self, item: item.url)


#: Sections of each kind.
KINDS = {
    "articles": Articles,
    "hooks": ByHooks,
    "numbers": Numbers,
    "translated": declare(
        Numbers,
        **dict.fromkeys(("i18n", "alternates", "x_default"), True),
        languages=["en", "de"],
        location=lambda self, item: f"/{get_language()}/ü/{item}/",
    ),
    "insecure": declare(Numbers, protocol="http"),
    "text": declare(Articles, format="text"),
    "news": Fresh,
}
#: The sections that the setting names.
SECTIONS = {"a": Articles, "n": Numbers, "text": KINDS["text"], "own": Own, "hooks": ByHooks}
FINE = {"a": Articles}
#: The sections of the views, where the request determines the site.
SITES = {"pages": Pages}
urlpatterns = [
    path("", include("django_sitemaps09.urls")),
    path("articles/<slug:slug>/", lambda request, slug: HttpResponse(), name="article"),
    path("contrib.xml", compat.index, {"sitemaps": SITES}),
    path("contrib-<section>.xml", compat.sitemap, {"sitemaps": SITES}, f"{contrib.__name__}.sitemap"),
]


@pytest.fixture
def folder():
    """A folder in memory for the folders of all hosts."""
    with published.quick_folder() as made:
        yield made


@pytest.fixture(autouse=True)
def several_hosts(settings):
    """Set `SITEMAPS09` without a `BASE_URL`, since each host has its own."""
    settings.SITEMAPS09 = {"SITEMAPS": f"{__name__}.SECTIONS", "ENGINE": "serial"}
    settings.MEDIA_URL = "media/"
    COUNTED.clear()
    Site.objects.clear_cache()
    yield
    Site.objects.clear_cache()


def fill(*keys):
    rows = (Article(pk=key, slug=f"s{key}", updated=OLD + timedelta(hours=key)) for key in keys)
    Article.objects.bulk_create(rows)


def thirty():
    fill(*range(1, ROWS + 1))


def change(key, slug):
    Article.objects.filter(pk=key).update(slug=slug, updated=OLD + timedelta(days=99))


def run(folder, *urls, sections=FINE, **options):
    return export_hosts(urls or (A, B), output=folder, sitemaps=sections, **options)


def slugs(folder):
    """Return the URLs of all pages in the index, which must all exist."""
    return [url.rstrip("/").rpartition("/")[2] for name in pages(folder) for url in urls(folder, name)]


def urls(folder, name):
    return list(published.urls(folder, name))


def written(reports):
    for report in reports.values():
        assert report.failures == []
    return [report.written for report in reports.values()]


def whole(folder, *hosts):
    """Check that each host has all rows once, in the order of their keys."""
    expected = [*Article.objects.order_by("pk").values_list("slug", flat=True)]
    for host in hosts:
        assert slugs(folder / FOLDERS[host]) == expected, host


def quiet(folder, *hosts, **options):
    """Check that the next run writes nothing."""
    before = published.states(folder, hidden=True)
    assert written(run(folder, *hosts, **options)) == [()] * (len(hosts) or 2)
    assert published.states(folder, hidden=True) == before


@pytest.fixture
def two_sites():
    """Create two sites, with a row for each site and a row for both."""
    Site.objects.all().delete()
    Site.objects.clear_cache()
    first = SiteFactory(pk=1, domain="a.example")
    second = SiteFactory(pk=2, domain="bücher.example")
    for site in (first, second):
        FlatPageFactory(url=f"/of-{site.pk}/", sites=[site])
    FlatPageFactory(url="/of-both/", sites=[first, second])
    yield first, second
    Site.objects.clear_cache()


def command(folder, *arguments):
    """Return the output and the errors of the command."""
    return said("export_sitemaps", "--output", folder, *arguments)
