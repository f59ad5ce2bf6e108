"""The how-to for Wagtail, compared with Wagtail's own sitemap."""

from __future__ import annotations

import gzip
from datetime import timedelta
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import LocalePrefixPattern
from django.utils.timezone import now
from django.utils.translation import override
from home.models import EventPage, TextPage
from mysite import sitemaps, urls
from wagtail import coreutils
from wagtail.contrib.sitemaps import Sitemap
from wagtail.models import Locale, Page, PageViewRestriction, Site, pages

from django_sitemaps09 import wagtail as ours
from django_sitemaps09.export import export
from django_sitemaps09.views import sitemap as sitemap_view
from tests.docs.pages import parts, run, unnamed
from tests.neighbours import published
from tests.neighbours.published import Entry, compare, exported, live, override_sitemaps, queries, time

PAGE = ("docs/howto/cms.md", "Wagtail")
WWW, SHOP = "www.example.com", "shop.example.com"
METHODS = {"pages": ours.WagtailSpecificPageSitemap}
pytestmark = pytest.mark.django_db


def add(parent, slug, model=TextPage, **fields):
    return parent.add_child(instance=model(title=slug, slug=slug, **fields))


def add_site(hostname, root, port=443):
    Site.objects.create(hostname=hostname, port=port, root_page=root)
    Site.clear_site_root_paths_cache()


def translate(page, **fields):
    copied = page.copy_for_translation(Locale.objects.get(language_code="fr"), copy_parents=True)
    for name, value in fields.items():
        setattr(copied, name, value)
    copied.save_revision().publish()
    return type(copied).objects.get(pk=copied.pk)


def restrict(page):
    PageViewRestriction.objects.create(page=page, restriction_type=PageViewRestriction.LOGIN)


@pytest.fixture(autouse=True)
def sites():
    """Two sites, one with pages in two locales, with drafts and with private pages."""
    english = Locale.objects.create(language_code="en")
    Locale.objects.create(language_code="fr")
    root = Page.add_root(instance=Page(title="Root", slug="root", locale=english))
    home, shop = add(root, "home"), add(root, "shop-home")
    Site.objects.create(hostname=WWW, port=443, root_page=home, is_default_site=True)
    news = add(home, "news", last_published_at=now())
    for number in range(4):
        add(news, f"item-{number}", live=number != 2)
    members = add(home, "members")
    add(add(members, "inner"), "deepest")
    restrict(members)
    draft = add(home, "draft", live=False)
    add(draft, "below-a-draft")
    for page in (home, news, Page.objects.get(slug="item-1").specific):
        translate(page, slug=f"{page.slug}-fr")
    translate(Page.objects.get(slug="item-3").specific).unpublish()
    add(shop, "products", EventPage)
    add(shop, "basket")
    add_site(SHOP, shop)
    return SimpleNamespace(home=home, shop=shop, news=news, members=members, draft=draft)


def own(host, *, locales=True):
    """Return the pages that Wagtail's own sitemap lists for a host, from each root page of its site."""
    site, found = Site.objects.get(hostname=host), []
    for root in site.root_page.get_translations(inclusive=True) if locales else [site.root_page]:
        sitemap = Sitemap(coreutils.get_dummy_request(site=site))
        sitemap.get_wagtail_site = lambda root=root: SimpleNamespace(root_page=root)
        found += sitemap.items()
    return found


def own_urls(host, **options):
    return sorted(page.full_url for page in own(host, **options))


def urls_of(entries):
    return [entry.url for entry in entries]


def news_urls(**fields):
    """Return the URLs of news where no request names a site: on the innermost site."""
    found = Page.objects.filter(url_path__contains="/news", **fields).live().public()
    return sorted(page.full_url for page in found)


def expected(host):
    """Return the entries of all pages. Those of the site in two locales have links."""
    listed = {page.pk: page for page in own(host)}
    plain = {pk: page for pk, page in listed.items() if not isinstance(page, EventPage)}
    is_translated = len({page.locale_id for page in listed.values()}) > 1

    def links(page):
        translations = page.get_translations(inclusive=True) if is_translated and page.pk in plain else []
        found = [plain[other.pk] for other in translations if other.pk in plain]
        return frozenset((other.locale.language_code, other.full_url) for other in found)

    return sorted(
        Entry(url["location"], time(url["lastmod"]), links(page))
        for page in listed.values()
        for url in page.get_sitemap_urls()
    )


def test_each_host_lists_the_pages_of_wagtails_own_sitemap_before_and_after_changes(sites, tmp_path):
    first = compare(tmp_path, {host: expected(host) for host in (WWW, SHOP)})
    english = "en/ en/news/ en/news/item-0/ en/news/item-1/ en/news/item-3/ en/draft/below-a-draft/"
    paths = f"{english} fr/ fr/news-fr/ fr/news-fr/item-1-fr/".split()
    shop = (f"https://{SHOP}/en/{path}" for path in ("", "products/", "products/programme/", "basket/"))
    assert first == {*(f"https://{WWW}/{path}" for path in paths), *shop}
    items = {page.slug: page for page in TextPage.objects.all()}
    items["item-0"].move(sites.shop, pos="last-child")
    items["item-1"].slug = "renamed"
    items["item-1"].save()
    items["item-3"].unpublish()
    items["item-2"].save_revision().publish()
    translate(items["item-2"])
    translate(items["below-a-draft"])
    sites.members.view_restrictions.all().delete()
    restrict(items["draft"])
    second = compare(tmp_path, {host: expected(host) for host in (WWW, SHOP)})
    paths = ("en/members/inner/deepest/", "en/news/renamed/", "fr/news-fr/item-2/")
    assert {f"https://{SHOP}/en/item-0/", *(f"https://{WWW}/{path}" for path in paths)} <= second
    # The translation of a private page is not private, as long as its own ancestors are not.
    assert f"https://{WWW}/en/draft/below-a-draft/" not in second


def test_compatibility_views_list_the_same_pages():
    for host in (WWW, SHOP):
        request = RequestFactory(SERVER_NAME=host).get("/", secure=True)
        content = sitemap_view(request, sitemaps.sitemaps).render().content
        assert sorted(published.entries(content)) == expected(host)


def test_an_export_of_changed_pages_alone_finds_each_change(sites, tmp_path):
    def run_export():
        declared = {"pages": sitemaps.PageSitemap}
        report = export(output=tmp_path, base_url=f"https://{WWW}", sitemaps=declared, changed_only=True)
        document = gzip.decompress((tmp_path / "sitemap-pages-1.xml.gz").read_bytes())
        assert sorted(published.entries(document)) == expected(WWW)
        return report.sections[0].skipped

    # Entries that changed a few minutes ago are always rendered.
    Page.objects.update(last_published_at=now() - timedelta(days=1))
    skipped = [run_export(), run_export()]
    Page.objects.get(slug="item-1-fr").unpublish()
    skipped.append(run_export())
    restrict(sites.news)
    assert [*skipped, run_export(), run_export()] == [0, 1, 0, 0, 1]


def test_the_number_of_queries_does_not_depend_on_the_number_of_pages(sites):
    live(WWW)
    few = queries(WWW, "/sitemap-pages-1.xml")
    for number in range(15):
        translate(add(sites.news, f"more-{number}"))
    assert len(live(WWW)) == 39
    assert queries(WWW, "/sitemap-pages-1.xml") == few <= 6


def test_a_page_class_with_urls_of_its_own_is_refused_by_name():
    with pytest.raises(ImproperlyConfigured, match=r"home.models.EventPage overrides get_sitemap_urls\(\)"):
        run(parts(*PAGE, "mysite/sitemaps.py")[0]).sitemaps["pages"]().for_host(WWW)


@pytest.mark.parametrize("method", ["get_url_parts", "get_full_url"])
def test_an_override_in_a_base_class_is_detected_too(method, monkeypatch):
    others = {name: getattr(Page, name) for name in ("get_sitemap_urls", "get_url_parts", "get_full_url")}
    del others[method]
    mixin = type("Mixin", (), {method: lambda self, request=None: None})
    special = type("Special", (mixin, SimpleNamespace), others)
    monkeypatch.setattr(ours, "get_page_models", lambda: [Page, TextPage, special])
    with pytest.raises(ImproperlyConfigured, match=rf"Special overrides {method}\(\)"):
        ours.WagtailPageSitemap().for_host(WWW)


def test_without_a_default_site_an_unknown_host_is_refused():
    Site.objects.update(is_default_site=False)
    with pytest.raises(ImproperlyConfigured, match=r"No Wagtail site has the host name other\.example\."):
        sitemaps.PageSitemap().for_host("other.example.com")


def test_pages_that_a_queryset_excludes_are_no_targets_of_links():
    class Fewer(sitemaps.PageSitemap):
        def get_queryset(self):
            return super().get_queryset().exclude(slug="item-1-fr")

    with override_sitemaps({"pages": Fewer}):
        found = {entry.url: entry.links for entry in live(WWW)}
    item = f"https://{WWW}/en/news/item-1/"
    assert f"https://{WWW}/fr/news-fr/item-1-fr/" not in found
    assert (found[item], len(found[f"https://{WWW}/en/news/"])) == ({("en", item)}, 2)


@pytest.fixture
def served(monkeypatch):
    """Return a function that requests all URLs of a host, apart from those that pages add themselves."""
    monkeypatch.setattr(Page, "serve", lambda page, request: HttpResponse(page.slug))
    return lambda host: [
        Client(SERVER_NAME=host).get(urlsplit(url).path, secure=True).status_code
        for url in urls_of(live(host))
        if "programme" not in url
    ]


def test_each_listed_page_is_served(served, sites):
    assert served(WWW) == [200] * 9
    add(sites.shop, "über-straße")
    assert served(SHOP) == [200] * 4


def test_pages_below_the_draft_of_a_locales_root_page_are_not_listed(served):
    """Wagtail serves the root page in another locale instead, so these pages are not found."""
    Page.objects.get(slug="home-fr").specific.unpublish()
    assert served(WWW) == [200] * 6
    assert not any(entry.links for entry in live(WWW))


def test_pages_of_a_locale_that_is_no_content_language_are_not_listed(served, settings):
    caches = (coreutils.get_content_languages, coreutils.get_supported_content_language_variant)
    settings.WAGTAIL_CONTENT_LANGUAGES = [("en", "English")]
    for cached in caches:
        cached.cache_clear()
    try:
        assert served(WWW) == [200] * 6
    finally:
        for cached in caches:
            cached.cache_clear()


def each_way(folder, *hosts):
    found = {host: urls_of(live(host)) for host in hosts}
    for name, declared in (("columns", None), ("methods", METHODS)):
        files = exported(folder / name, *hosts, sitemaps=declared)
        assert {host: urls_of(entries) for host, entries in files.items()} == found, name
    return found


def test_a_host_that_no_site_names_has_the_urls_of_the_default_site(tmp_path):
    """These are what Wagtail writes there. An export for a host has URLs on this host."""
    other = "other.example.com"
    assert live(other) == live(WWW) != []
    for sections in (sitemaps.sitemaps, METHODS):
        with override_sitemaps(sections):
            assert {urlsplit(url).hostname for url in urls_of(live(other))} == {WWW}
    wanted = [url.replace(WWW, other) for url in urls_of(live(WWW))]
    assert urls_of(exported(tmp_path, other)[other]) == wanted


def test_a_locale_with_a_site_of_its_own_is_only_on_that_site(tmp_path):
    add_site("www.example.fr", Page.objects.get(slug="home-fr"))
    files = exported(tmp_path, WWW, "www.example.fr")
    for host, count in ((WWW, 6), ("www.example.fr", 3)):
        request = coreutils.get_dummy_request(site=Site.objects.get(hostname=host))
        wanted = sorted(page.get_full_url(request) for page in Sitemap(request).items())
        assert urls_of(files[host]) == urls_of(live(host)) == wanted
        assert len(wanted) == count


FURTHER = [("example.com", 443, "shop"), (SHOP, 80, "shop"), (SHOP, 8443, "home")]


@pytest.mark.parametrize(("host", "port", "root"), FURTHER)
def test_a_site_with_the_same_root_or_on_another_port_changes_nothing(host, port, root, sites, tmp_path):
    before = urls_of(live(SHOP))
    add_site(host, getattr(sites, root), port)
    other = [url.replace(SHOP, host) for url in before]
    assert each_way(tmp_path, *{SHOP: 0, host: 0}) == {SHOP: before, host: other}
    assert len({*before}) == len(before) == 4
    if port == 8443:
        assert sitemaps.PageSitemap().for_host(f"{SHOP}:8443").get_queryset().count() == 9


def test_pages_of_a_site_below_another_site_are_only_on_their_own(sites, tmp_path):
    nested = "news.example.com"
    add_site(nested, sites.news)
    found = each_way(tmp_path, WWW, nested)
    assert not [url for url in found[WWW] if "/news" in url]
    assert f"https://{WWW}/en/draft/below-a-draft/" in found[WWW]
    # Translations of the nested root page belong to the nested site, too.
    paths = ("en/", "en/item-0/", "en/item-1/", "en/item-3/", "fr/", "fr/item-1-fr/")
    assert found[nested] == news_urls() == [f"https://{nested}/{path}" for path in paths]


@pytest.mark.parametrize("locales", [True, False])
def test_sites_on_both_ports_of_a_host_are_at_their_own_addresses(locales, sites, settings, tmp_path):
    settings.WAGTAIL_I18N_ENABLED = locales
    add_site(SHOP, sites.news, port=80)
    found = each_way(tmp_path, SHOP)[SHOP]
    shop, news = ([url for url in found if url.startswith(f"{s}://{SHOP}/")] for s in ("https", "http"))
    assert len(shop) + len(news) == len(found) == len({*found})
    assert news == (news_urls() if locales else news_urls(path__startswith=sites.news.path))
    assert (len(shop), len(news)) == (4, 6 if locales else 4)


def test_a_site_below_the_other_one_of_its_host_is_listed_at_its_own_address(sites):
    add_site(WWW, sites.news, port=80)
    news = [url for url in urls_of(live(WWW)) if url.startswith("http://")]
    assert (news, len(news)) == (news_urls(), 6)


def test_without_locales_only_the_site_root_is_listed(settings):
    settings.WAGTAIL_I18N_ENABLED = False
    Site.clear_site_root_paths_cache()
    assert (urls_of(live(WWW)), len(live(WWW))) == (own_urls(WWW, locales=False), 6)


@pytest.mark.parametrize(("has_prefix", "home"), [(True, "en"), (False, "")])
def test_urls_without_a_slash_at_the_end_are_wagtails(has_prefix, home, monkeypatch, settings):
    for module in (ours, pages):
        monkeypatch.setattr(module, "WAGTAIL_APPEND_SLASH", False)
    [prefix] = (part.pattern for part in urls.urlpatterns if isinstance(part.pattern, LocalePrefixPattern))
    monkeypatch.setattr(prefix, "prefix_default_language", has_prefix)
    # This clears Django's caches of URLs.
    settings.ROOT_URLCONF = "mysite.urls"
    wanted = own_urls(WWW)
    assert {f"https://{WWW}/{home}", f"https://{WWW}/fr"} <= {*wanted}
    assert urls_of(live(WWW)) == wanted


def test_urls_have_the_prefix_of_the_default_language_if_it_is_a_variant_of_the_locale(settings):
    settings.LANGUAGE_CODE = "en-gb"
    settings.LANGUAGES = [("en-gb", "British English"), *settings.LANGUAGES]
    with override("en-gb"):
        wanted = own_urls(WWW)
    assert {f"https://{WWW}/en-gb/news/", f"https://{WWW}/fr/news-fr/"} <= {*wanted}
    assert urls_of(live(WWW)) == wanted


def test_wagtails_own_sitemap_lists_the_default_site_unchanged(tmp_path):
    declared = run(unnamed(*PAGE)).sitemaps
    assert declared["pages"] is Sitemap
    assert urls_of(exported(tmp_path, WWW, sitemaps=declared)[WWW]) == own_urls(WWW, locales=False)


def test_the_methods_of_all_pages_can_be_called_for_each_host(tmp_path):
    wanted = {host: [entry._replace(links=frozenset()) for entry in expected(host)] for host in (WWW, SHOP)}
    assert exported(tmp_path, WWW, SHOP, sitemaps=METHODS) == wanted
