"""A site with translated models; what it lists is compared with `get_absolute_url()` in each language."""

from __future__ import annotations

from django.utils import translation
from news.models import Article
from shop.models import Product

from django_sitemaps09.export import export
from tests.neighbours.published import Entry, live, time

HOSTS = LIVE = [HOST] = ["www.example.com"]
HREFLANGS = {"en": "en", "de": "de", "pt-br": "pt-BR"}


def _urls(*numbers):
    places = [(folder, code) for folder in ("news", "shop") for code in HREFLANGS]
    return {
        f"https://{HOST}/{code}/{folder}/{code}-{number}/"
        for (folder, code), found in zip(places, numbers, strict=True)
        for number in found
    }


BEFORE = _urls("137", "2367", "467", "1357", "2367", "4567")
AFTER = _urls("357", "367", "4567", "357", "367", "4567") | {
    f"https://{HOST}/{path}/" for path in ("en/news/renamed", "de/news/umbenannt", "en/shop/new")
}
QUERIES = {"/sitemap-articles-1.xml": 2, "/sitemap-products-1.xml": 2}


def create(numbers=range(8)):
    for number in numbers:
        codes = [code for position, code in enumerate(HREFLANGS) if number % 8 & 1 << position]
        Article.objects.create(public=number != 5, **{_column(code): f"{code}-{number}" for code in codes})
        product = Product.objects.create()
        for code in codes:
            product.create_translation(code, slug=f"{code}-{number}")


def _column(code):
    return f"slug_{code.replace('-', '_')}"


def expected(host):
    """Return the entries of each item in the languages that have a slug of their own."""
    found = []
    for item in [*Article.objects.filter(public=True), *Product.objects.all()]:
        urls = []
        for code in HREFLANGS:
            has_article = isinstance(item, Article) and getattr(item, _column(code))
            if has_article or (isinstance(item, Product) and item.has_translation(code)):
                with translation.override(code):
                    if isinstance(item, Product):
                        item.set_current_language(code)
                    urls.append((HREFLANGS[code], f"https://{HOST}{item.get_absolute_url()}"))
        found += [Entry(url, time(item.updated_at), frozenset(urls)) for _, url in urls]
    return found


def change():
    one = Article.objects.get(slug_en="en-1")
    one.slug_en, one.slug_de = "renamed", "umbenannt"
    one.save()
    Article.objects.filter(slug_de="de-2").update(slug_de="")
    Article.objects.filter(slug_en="en-5").update(public=True)
    product = Product.objects.translated("de", slug="de-2").get()
    product.delete_translation("de")
    product.create_translation("en", slug="new")
    Product.objects.translated("en", slug="en-1").get().delete()


def grow():
    create(range(8, 80))
    return 238


def check_other_sitemap(folder):
    """Both are read as columns, in any language of the request."""
    wanted = sorted(expected(HOST))
    for code in HREFLANGS:
        with translation.override(code):
            assert live(HOST) == wanted
    for manager in (Article.objects, Product.objects):
        manager.update(updated_at="2026-01-01T00:00Z")
    for skipped in ([0, 0], [1, 1]):
        report = export(output=folder, changed_only=True)
        assert [section.skipped for section in report.sections] == skipped
