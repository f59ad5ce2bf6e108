"""The how-to for Wagtail, compared with Wagtail's own sitemap."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
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
from wagtail.contrib.sitemaps import Sitemap
from wagtail.coreutils import (
    get_content_languages,
    get_dummy_request,
    get_supported_content_language_variant,
)
from wagtail.models import Locale, Page, PageViewRestriction, Site, pages

from django_sitemaps09.contrib import wagtail as ours
from django_sitemaps09.export import export
from django_sitemaps09.views import sitemap as sitemap_view
from tests.docs.pages import Snippet, blocks
from tests.neighbours import published
from tests.neighbours.following import parts
from tests.neighbours.published import Entry, complaints, exported, live, override_sitemaps, queries

PAGE = "docs/howto/wagtail.md"
WWW, SHOP = "www.example.com", "shop.example.com"
SIMPLE = Snippet(parts(PAGE, "mysite/sitemaps.py")[0]).run("simple_sitemaps").sitemaps
pytestmark = pytest.mark.django_db


def add(parent: Any, slug: str, model: type[Page] = TextPage, **fields: Any) -> Any:
    return parent.add_child(instance=model(title=slug, slug=slug, **fields))


def translate(page: Any, **fields: Any) -> Any:
    copied = page.copy_for_translation(Locale.objects.get(language_code="fr"), copy_parents=True)
    for name, value in fields.items():
        setattr(copied, name, value)
    copied.save_revision().publish()
    return type(copied).objects.get(pk=copied.pk)


def restrict(page: Any) -> None:
    PageViewRestriction.objects.create(page=page, restriction_type=PageViewRestriction.LOGIN)


@pytest.fixture(autouse=True)
def sites() -> SimpleNamespace:
    """Two sites, one with pages in two locales, with drafts and with private pages."""
    english = Locale.objects.create(language_code="en")
    Locale.objects.create(language_code="fr")
    root = Page.add_root(instance=Page(title="Root", slug="root", locale=english))
    home, shop = add(root, "home"), add(root, "shop-home")
    Site.objects.create(hostname=WWW, port=443, root_page=home, is_default_site=True)
    Site.objects.create(hostname=SHOP, port=443, root_page=shop)
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
    Site.clear_site_root_paths_cache()
    return SimpleNamespace(home=home, shop=shop, news=news, members=members, draft=draft)


def own(host: str, *, locales: bool = True) -> list[Any]:
    """Return the pages that Wagtail's own sitemap lists for a host, from each root page of its site."""
    site = Site.objects.get(hostname=host)
    found: list[Any] = []
    for root in site.root_page.get_translations(inclusive=True) if locales else [site.root_page]:
        sitemap = Sitemap(get_dummy_request(site=site))
        sitemap.get_wagtail_site = lambda root=root: SimpleNamespace(root_page=root)
        found += sitemap.items()
    return found


def text(moment: Any) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}" if moment else ""


def expected(host: str) -> list[Entry]:
    """Return the entries of all pages. Those of the site in two locales have links."""
    pages = {page.pk: page for page in own(host)}
    plain = {pk: page for pk, page in pages.items() if not isinstance(page, EventPage)}
    is_translated = len({page.locale_id for page in pages.values()}) > 1

    def links(page: Any) -> frozenset[tuple[str, str]]:
        translations = page.get_translations(inclusive=True) if is_translated and page.pk in plain else []
        listed = [plain[other.pk] for other in translations if other.pk in plain]
        return frozenset((other.locale.language_code, other.full_url) for other in listed)

    return sorted(
        Entry(url["location"], text(url["lastmod"]), links(page))
        for page in pages.values()
        for url in page.get_sitemap_urls()
    )


def compare(folder: Path) -> set[str]:
    """Compare what is served and exported for both hosts with Wagtail's pages, and return all URLs."""
    assert complaints() == []
    files = exported(folder, WWW, SHOP)
    urls: set[str] = set()
    for host in (WWW, SHOP):
        wanted = expected(host)
        assert sorted(live(host)) == wanted
        assert sorted(files[host]) == wanted
        assert all(entry.url.startswith(f"https://{host}/") for entry in wanted)
        urls |= {entry.url for entry in wanted}
    return urls


def test_each_host_lists_the_pages_of_wagtails_own_sitemap_before_and_after_changes(
    sites: SimpleNamespace, tmp_path: Path
) -> None:
    first = compare(tmp_path)
    assert first == {
        f"https://{WWW}/{path}"
        for path in (
            *("en/", "en/news/", "en/news/item-0/", "en/news/item-1/", "en/news/item-3/"),
            *("en/draft/below-a-draft/", "fr/", "fr/news-fr/", "fr/news-fr/item-1-fr/"),
        )
    } | {f"https://{SHOP}/en/{path}" for path in ("", "products/", "products/programme/", "basket/")}
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
    second = compare(tmp_path)
    assert {f"https://{SHOP}/en/item-0/", f"https://{WWW}/en/members/inner/deepest/"} <= second
    assert f"https://{WWW}/en/news/renamed/" in second
    assert f"https://{WWW}/fr/news-fr/item-2/" in second
    # The translation of a private page is not private, as long as its own ancestors are not.
    assert f"https://{WWW}/en/draft/below-a-draft/" not in second


def test_compatibility_views_list_the_same_pages() -> None:
    for host in (WWW, SHOP):
        request = RequestFactory(SERVER_NAME=host).get("/", secure=True)
        response: Any = sitemap_view(request, sitemaps.sitemaps)
        assert sorted(published.entries(response.render().content)) == expected(host)


def test_an_export_of_changed_pages_alone_finds_each_change(sites: SimpleNamespace, tmp_path: Path) -> None:
    def run() -> tuple[int, list[Entry]]:
        declared = {"pages": sitemaps.PageSitemap}
        report = export(output=tmp_path, base_url=f"https://{WWW}", sitemaps=declared, changed_only=True)
        document = gzip.decompress((tmp_path / "sitemap-pages-1.xml.gz").read_bytes())
        [section] = report.sections
        return section.skipped, sorted(published.entries(document))

    # Entries that changed a few minutes ago are always rendered.
    Page.objects.update(last_published_at=now() - timedelta(days=1))
    run()
    assert run() == (1, expected(WWW))
    Page.objects.get(slug="item-1-fr").unpublish()
    assert run() == (0, expected(WWW))
    restrict(sites.news)
    assert run() == (0, expected(WWW))
    assert run() == (1, expected(WWW))


def test_the_number_of_queries_does_not_depend_on_the_number_of_pages(sites: SimpleNamespace) -> None:
    live(WWW)
    few = queries(WWW, "/sitemap-pages-1.xml")
    for number in range(15):
        translate(add(sites.news, f"more-{number}"))
    assert len(live(WWW)) == 39
    assert queries(WWW, "/sitemap-pages-1.xml") == few <= 6


def test_a_page_class_with_urls_of_its_own_is_refused_by_name() -> None:
    with pytest.raises(
        ImproperlyConfigured, match=r"home\.models\.EventPage overrides get_sitemap_urls\(\)"
    ):
        SIMPLE["pages"]().for_host(WWW)


@pytest.mark.parametrize("method", ["get_url_parts", "get_full_url"])
def test_an_override_in_a_base_class_is_detected_too(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mixin = type("Mixin", (), {method: lambda self, request=None: None})
    page_class = type("Special", (mixin, SimpleNamespace), {"get_sitemap_urls": Page.get_sitemap_urls})
    for name in {"get_url_parts", "get_full_url"} - {method}:
        setattr(page_class, name, getattr(Page, name))
    monkeypatch.setattr(ours, "get_page_models", lambda: [Page, TextPage, page_class])
    with pytest.raises(ImproperlyConfigured, match=rf"Special overrides {method}\(\)"):
        ours.WagtailPageSitemap().for_host(WWW)


def test_pages_that_a_queryset_excludes_are_no_targets_of_links(sites: SimpleNamespace) -> None:
    class Fewer(sitemaps.PageSitemap):
        def get_queryset(self) -> Any:
            return super().get_queryset().exclude(slug="item-1-fr")

    with override_sitemaps({"pages": Fewer}):
        found = {entry.url: entry for entry in live(WWW)}
    assert f"https://{WWW}/fr/news-fr/item-1-fr/" not in found
    assert found[f"https://{WWW}/en/news/item-1/"].links == {("en", f"https://{WWW}/en/news/item-1/")}
    assert len(found[f"https://{WWW}/en/news/"].links) == 2


def test_a_host_that_no_site_names_has_the_urls_of_the_default_site(tmp_path: Path) -> None:
    """These are what Wagtail writes there. An export for a host has URLs on this host."""
    other = "other.example.com"
    assert live(other) == live(WWW) != []
    for sections in (sitemaps.sitemaps, {"pages": ours.WagtailSpecificPageSitemap}):
        with override_sitemaps(sections):
            assert {urlsplit(entry.url).hostname for entry in live(other)} == {WWW}
    paths = sorted(urlsplit(entry.url).path for entry in live(WWW))
    urls = sorted(entry.url for entry in exported(tmp_path, other)[other])
    assert urls == [f"https://{other}{path}" for path in paths]


def test_a_locale_with_a_site_of_its_own_is_only_on_that_site(tmp_path: Path) -> None:
    french = Page.objects.get(slug="home-fr")
    Site.objects.create(hostname="www.example.fr", port=443, root_page=french)
    Site.clear_site_root_paths_cache()
    files = exported(tmp_path, WWW, "www.example.fr")
    for host, count in ((WWW, 6), ("www.example.fr", 3)):
        site = Site.objects.get(hostname=host)
        pages = Sitemap(get_dummy_request(site=site)).items()
        wanted = sorted(page.get_full_url(get_dummy_request(site=site)) for page in pages)
        assert sorted(entry.url for entry in files[host]) == wanted
        assert sorted(entry.url for entry in live(host)) == wanted
        assert len(wanted) == count


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[int]]:
    """Request all URLs that a host lists, apart from those that pages add themselves."""
    monkeypatch.setattr(Page, "serve", lambda page, request: HttpResponse(page.slug))

    def statuses(host: str) -> list[int]:
        paths = [urlsplit(entry.url).path for entry in live(host)]
        client = Client(SERVER_NAME=host)
        return [client.get(path, secure=True).status_code for path in paths if "programme" not in path]

    return statuses


def test_each_listed_page_is_served(served: Callable[[str], list[int]]) -> None:
    assert served(WWW) == [200] * 9
    add(Page.objects.get(slug="shop-home"), "über-straße")
    assert served(SHOP) == [200] * 4


def test_pages_below_the_draft_of_a_locales_root_page_are_not_listed(
    served: Callable[[str], list[int]],
) -> None:
    """Wagtail serves the root page in another locale instead, so these pages are not found."""
    Page.objects.get(slug="home-fr").specific.unpublish()
    assert served(WWW) == [200] * 6
    assert not any(entry.links for entry in live(WWW))


def test_pages_of_a_locale_that_is_no_content_language_are_not_listed(
    served: Callable[[str], list[int]], settings: Any
) -> None:
    settings.WAGTAIL_CONTENT_LANGUAGES = [("en", "English")]
    get_content_languages.cache_clear()
    get_supported_content_language_variant.cache_clear()
    try:
        assert served(WWW) == [200] * 6
    finally:
        get_content_languages.cache_clear()
        get_supported_content_language_variant.cache_clear()


def test_sites_with_the_same_root_page_list_the_same(sites: SimpleNamespace) -> None:
    before = live(SHOP)
    Site.objects.create(hostname="example.com", port=443, root_page=sites.shop)
    assert live(SHOP) == before
    assert [urlsplit(entry.url).path for entry in live("example.com")] == [
        urlsplit(entry.url).path for entry in before
    ]


def test_another_site_on_another_port_of_the_host_changes_nothing(sites: SimpleNamespace) -> None:
    before = live(SHOP)
    Site.objects.create(hostname=SHOP, port=8443, root_page=sites.home)
    assert live(SHOP) == before
    assert sitemaps.PageSitemap().for_host(f"{SHOP}:8443").get_queryset().count() == 9


def each_way(folder: Path, *hosts: str) -> dict[str, list[str]]:
    """Return the URLs of each host, which must be the same live, exported and by the methods of pages."""
    methods = {"pages": ours.WagtailSpecificPageSitemap}
    urls = {host: sorted(entry.url for entry in live(host)) for host in hosts}
    for name, declared in (("columns", None), ("methods", methods)):
        for host, entries in exported(folder / name, *hosts, sitemaps=declared).items():
            assert sorted(entry.url for entry in entries) == urls[host], (name, host)
    return urls


def test_pages_of_a_site_below_another_site_are_only_on_their_own(
    sites: SimpleNamespace, tmp_path: Path
) -> None:
    nested = "news.example.com"
    Site.objects.create(hostname=nested, port=443, root_page=sites.news)
    Site.clear_site_root_paths_cache()
    urls = each_way(tmp_path, WWW, nested)
    assert not [url for url in urls[WWW] if "/news" in url]
    assert f"https://{WWW}/en/draft/below-a-draft/" in urls[WWW]
    # Translations of the nested root page belong to the nested site, too.
    assert urls[nested] == sorted(
        f"https://{nested}/{path}"
        for path in ("en/", "en/item-0/", "en/item-1/", "en/item-3/", "fr/", "fr/item-1-fr/")
    )
    # Without a request, Wagtail returns the URL on the innermost site.
    pages = Page.objects.filter(url_path__contains="/news").live().public()
    assert {page.full_url for page in pages} == {*urls[nested]}


@pytest.mark.parametrize("locales", [True, False])
def test_sites_on_both_ports_of_a_host_are_listed_at_their_own_addresses(
    locales: bool, sites: SimpleNamespace, settings: Any, tmp_path: Path
) -> None:
    settings.WAGTAIL_I18N_ENABLED = locales
    Site.objects.create(hostname=SHOP, port=80, root_page=sites.news)
    Site.clear_site_root_paths_cache()
    urls = each_way(tmp_path, SHOP)[SHOP]
    shop = {url for url in urls if url.startswith(f"https://{SHOP}/")}
    news = {url for url in urls if url.startswith(f"http://{SHOP}/")}
    assert len(shop) + len(news) == len(urls) == len({*urls})
    pages = Page.objects.filter(url_path__contains="/news").live().public()
    pages = pages if locales else pages.filter(path__startswith=sites.news.path)
    assert news == {page.full_url for page in pages}
    assert len(news) == (6 if locales else 4)
    assert len(shop) == 4


def test_a_site_below_the_other_one_of_its_host_is_listed_at_its_own_address(
    sites: SimpleNamespace,
) -> None:
    Site.objects.create(hostname=WWW, port=80, root_page=sites.news)
    Site.clear_site_root_paths_cache()
    pages = Page.objects.filter(url_path__contains="/news").live().public()
    news = {entry.url for entry in live(WWW) if entry.url.startswith("http://")}
    assert news == {page.full_url for page in pages}
    assert len(news) == 6


def test_sites_on_both_ports_with_the_same_root_page_list_it_once(
    sites: SimpleNamespace, tmp_path: Path
) -> None:
    Site.objects.create(hostname=SHOP, port=80, root_page=sites.shop)
    Site.clear_site_root_paths_cache()
    urls = each_way(tmp_path, SHOP)[SHOP]
    assert len(urls) == len({*urls}) == 4
    assert all(url.startswith(f"https://{SHOP}/") for url in urls)


def test_without_a_default_site_an_unknown_host_is_refused() -> None:
    Site.objects.update(is_default_site=False)
    with pytest.raises(
        ImproperlyConfigured, match=r"No Wagtail site has the host name other\.example\.com"
    ):
        sitemaps.PageSitemap().for_host("other.example.com")


def test_without_locales_only_the_site_root_is_listed(settings: Any) -> None:
    settings.WAGTAIL_I18N_ENABLED = False
    Site.clear_site_root_paths_cache()
    wanted = sorted(page.full_url for page in own(WWW, locales=False))
    assert sorted(entry.url for entry in live(WWW)) == wanted
    assert len(wanted) == 6


@pytest.mark.parametrize("has_prefix", [True, False])
def test_urls_without_a_slash_at_the_end_are_wagtails(
    has_prefix: bool, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    for module in (ours, pages):
        monkeypatch.setattr(module, "WAGTAIL_APPEND_SLASH", False)
    [prefix] = (part.pattern for part in urls.urlpatterns if isinstance(part.pattern, LocalePrefixPattern))
    monkeypatch.setattr(prefix, "prefix_default_language", has_prefix)
    # This clears Django's caches of URLs.
    settings.ROOT_URLCONF = "mysite.urls"
    wanted = sorted(page.full_url for page in own(WWW))
    assert {f"https://{WWW}/{'en' if has_prefix else ''}", f"https://{WWW}/fr"} <= {*wanted}
    assert sorted(entry.url for entry in live(WWW)) == wanted


def test_urls_have_the_prefix_of_the_default_language_if_it_is_a_variant_of_the_locale(
    settings: Any,
) -> None:
    settings.LANGUAGE_CODE = "en-gb"
    settings.LANGUAGES = [("en-gb", "British English"), *settings.LANGUAGES]
    with override("en-gb"):
        wanted = sorted(page.full_url for page in own(WWW))
    assert {f"https://{WWW}/en-gb/news/", f"https://{WWW}/fr/news-fr/"} <= {*wanted}
    assert sorted(entry.url for entry in live(WWW)) == wanted


def test_wagtails_own_sitemap_lists_the_default_site_unchanged(tmp_path: Path) -> None:
    [block] = [block for block in blocks("python", PAGE) if not block.text.startswith("# ")]
    declared = Snippet(block).run("unchanged").sitemaps
    assert declared["pages"] is Sitemap
    wanted = sorted(page.full_url for page in own(WWW, locales=False))
    assert sorted(entry.url for entry in exported(tmp_path, WWW, sitemaps=declared)[WWW]) == wanted


def test_the_methods_of_all_pages_can_be_called_for_each_host(tmp_path: Path) -> None:
    declared = {"pages": ours.WagtailSpecificPageSitemap}
    files = exported(tmp_path, WWW, SHOP, sitemaps=declared)
    for host in (WWW, SHOP):
        wanted = [entry._replace(links=frozenset()) for entry in expected(host)]
        assert sorted(files[host]) == wanted
