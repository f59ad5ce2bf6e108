"""A shop with Oscar; what it lists is compared with `get_absolute_url()` of products and categories."""

from __future__ import annotations

from django.core.cache import cache
from django.urls import reverse
from django.utils import translation
from oscar.core.loading import get_model

from tests.neighbours.published import Entry, time

HOSTS = LIVE = [HOST] = ["www.example.com"]
Category, Product = get_model("catalogue", "Category"), get_model("catalogue", "Product")
ProductClass = get_model("catalogue", "ProductClass")


def _urls(*paths):
    pages = ["catalogue/", "offers/", *(f"catalogue/{path}/" for path in paths)]
    return {f"https://{HOST}/{code}/{page}" for code in ("en", "de") for page in pages}


#: Without the numbers of rows.
BEFORE = _urls(
    *("thing-0", "thing-1", "thing-2", "thing-3", "thing-5"),
    *(f"category/garden{path}" for path in ("", "/flowers", "/tools", "/tools/spades")),
)
AFTER = _urls(
    *("thing-0", "renamed", "thing-3", "thing-5", "category/hidden", "category/hidden/below"),
    *(f"category/garden{path}" for path in ("", "/equipment", "/equipment/flowers", "/equipment/spades")),
)
QUERIES = {"/sitemap-products-1.xml": 4, "/sitemap-categories-1.xml": 4}


def create():
    thing = ProductClass.objects.create(name="Thing")
    for number in range(6):
        fields = {"title": f"Thing {number}", "slug": f"thing-{number}", "is_public": number != 4}
        structure = "standalone" if number else "parent"
        Product.objects.create(product_class=thing, structure=structure, **fields)
    parent = Product.objects.get(slug="thing-0")
    Product.objects.create(parent=parent, title="Variant", slug="variant", structure="child")
    garden = Category.add_root(name="Garden")
    for name in ("Flowers", "Tools"):
        garden.add_child(name=name)
        garden.refresh_from_db()
    Category.objects.get(name="Tools").add_child(name="Spades")
    Category.add_root(name="Hidden", is_public=False).add_child(name="Below")


def expected(host):
    # Oscar keeps the old URL of a category in the cache after a change.
    cache.clear()
    pages = [(row.get_absolute_url, time(row.date_updated)) for row in Product.objects.browsable()]
    pages += [(row.get_absolute_url, "") for row in Category.objects.browsable()]
    pages += [(lambda name=name: reverse(name), "") for name in ("catalogue:index", "offer:list")]
    return [entry for url, lastmod in pages for entry in _in_all_languages(url, lastmod)]


def _in_all_languages(url, lastmod):
    urls = []
    for code in ("en", "de"):
        with translation.override(code):
            urls.append((code, f"https://{HOST}{url()}"))
    return [Entry(location, lastmod, frozenset(urls)) for _, location in urls]


def change():
    Product.objects.filter(slug="thing-1").update(slug="renamed")
    Product.objects.filter(slug="thing-2").update(is_public=False)
    Product.objects.get(slug="thing-4").delete()
    Category.objects.filter(slug="tools").update(slug="equipment")
    Category.objects.get(name="Flowers").move(Category.objects.get(slug="equipment"), "first-child")
    hidden = Category.objects.get(name="Hidden")
    hidden.is_public = True
    hidden.save()


def grow():
    """Add products and categories, and return the number of all entries."""
    for number in range(40):
        fields = {"title": str(number), "slug": f"more-{number}"}
        Product.objects.create(product_class=ProductClass.objects.get(), **fields)
        Category.objects.get(name="Garden").add_child(name=f"More {number}")
    return 2 * (45 + 44 + 2)
