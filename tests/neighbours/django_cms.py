"""Two sites with django CMS; what they list is compared with `CMSSitemap` and `get_absolute_url()`."""

from __future__ import annotations

from cms.api import create_page, create_page_content
from cms.models import PageContent, PageUrl
from cms.sitemaps import CMSSitemap
from django.contrib.sites.models import Site

from tests.docs.pages import run, unnamed
from tests.neighbours.published import Entry, exported, live, override_sitemaps, time

HOSTS = WWW, SHOP = "www.example.com", "shop.example.com"
LIVE = [WWW]  # The site of SITE_ID.
BEFORE = {
    *(f"https://{WWW}/{path}" for path in ("en/", "de/", "en/news/", "de/neues/", "en/news/item/")),
    f"https://{SHOP}/en/products/",
}
AFTER = {
    *(f"https://{WWW}/{path}" for path in ("en/", "en/press/", "de/neues/", "en/press/item/")),
    *(f"https://{WWW}/{path}" for path in ("de/neues/eintrag/", "en/members/")),
    *(f"https://{SHOP}/{path}" for path in ("en/products/", "de/produkte/")),
}
QUERIES = {"/sitemap-pages-1.xml": 3}


def add(title, site, parent=None, **options):
    return create_page(title, "page.html", "en", slug=title.lower(), site=site, parent=parent, **options)


def create():
    www, shop = (Site.objects.create(pk=pk, domain=host, name=host) for pk, host in enumerate(HOSTS, 1))
    home = add("Home", www)
    home.set_as_homepage()
    create_page_content("de", "Start", home)
    news = add("News", www)
    create_page_content("de", "Neues", news, slug="neues")
    create_page_content("fr", "Nouvelles", news, slug="nouvelles")
    create_page_content("de", "Eintrag", add("Item", www, news), slug="eintrag", redirect="/elsewhere/")
    add("Members", www, login_required=True)
    add("Redirect", www, redirect="/en/news/")
    add("Products", shop)


def expected(host):
    sitemap = CMSSitemap()
    sitemap.site = Site.objects.get(domain=host)
    rows = list(sitemap.items())
    paths = {(row.page_id, row.language): row.get_absolute_url(row.language) for row in rows}
    urls = {key: f"https://{host}{path}" for key, path in paths.items()}
    return [
        Entry(
            urls[row.page_id, row.language],
            time(sitemap.lastmod(row)),
            frozenset((code, url) for (page, code), url in urls.items() if page == row.page_id),
        )
        for row in rows
    ]


def change():
    slugs = ("news", "members", "products")
    news, members, products = (PageUrl.objects.get(slug=slug, language="en").page for slug in slugs)
    content = PageContent.objects.get(page=news, language="en")
    content.slug = "press"
    content.save()
    news.update_urls_from_content("en")
    members.login_required = False
    members.save()
    PageContent.objects.filter(redirect="/elsewhere/").update(redirect="")
    PageContent.objects.filter(title="Start").update(redirect="/en/")
    create_page_content("de", "Produkte", products, slug="produkte")


def grow():
    """Add pages, and return the number of entries of the first host."""
    site = Site.objects.get(domain=WWW)
    for number in range(20):
        create_page_content("de", f"Mehr {number}", add(f"More-{number}", site), slug=f"mehr-{number}")
    return 45


def check_other_sitemap(folder):
    declared = run(unnamed("docs/howto/cms.md", "django CMS")).sitemaps
    assert declared == {"pages": CMSSitemap}
    wanted = {host: sorted(entry.url for entry in expected(host)) for host in HOSTS}
    files = exported(folder, *HOSTS, sitemaps=declared)
    assert {host: [entry.url for entry in files[host]] for host in HOSTS} == wanted
    with override_sitemaps(declared):
        assert [entry.url for entry in live(WWW)] == wanted[WWW]
