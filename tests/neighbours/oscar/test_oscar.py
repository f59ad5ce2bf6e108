"""The how-to for Oscar, compared with `get_absolute_url()` of products and categories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import translation
from oscar.core.loading import get_model

from tests.neighbours.published import Entry, complaints, exported, live, queries

HOST = "www.example.com"
Category, Product = get_model("catalogue", "Category"), get_model("catalogue", "Product")
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def shop() -> None:
    kind = get_model("catalogue", "ProductClass").objects.create(name="Thing")
    for number in range(6):
        Product.objects.create(
            product_class=kind,
            title=f"Thing {number}",
            slug=f"thing-{number}",
            is_public=number != 4,
            structure="parent" if number == 0 else "standalone",
        )
    parent = Product.objects.get(slug="thing-0")
    Product.objects.create(parent=parent, title="Variant", slug="variant", structure="child")
    garden = Category.add_root(name="Garden")
    for name in ("Flowers", "Tools"):
        garden.add_child(name=name)
        garden.refresh_from_db()
    Category.objects.get(name="Tools").add_child(name="Spades")
    Category.add_root(name="Hidden", is_public=False).add_child(name="Below")


def in_all_languages(url: Any, lastmod: str = "") -> list[Entry]:
    urls = []
    for code in ("en", "de"):
        with translation.override(code):
            urls.append((code, f"https://{HOST}{url()}"))
    return [Entry(location, lastmod, frozenset(urls)) for _, location in urls]


def expected() -> list[Entry]:
    # Oscar keeps the old URL of a category in the cache after a change.
    cache.clear()
    products = [
        entry
        for product in Product.objects.browsable()
        for entry in in_all_languages(
            product.get_absolute_url, f"{product.date_updated:%Y-%m-%dT%H:%M:%SZ}"
        )
    ]
    categories = [
        entry
        for category in Category.objects.browsable()
        for entry in in_all_languages(category.get_absolute_url)
    ]
    views = [
        entry
        for name in ("catalogue:index", "offer:list")
        for entry in in_all_languages(lambda name=name: reverse(name))
    ]
    return sorted([*products, *categories, *views])


def compare(folder: Path) -> list[str]:
    assert complaints() == []
    wanted = expected()
    assert sorted(live(HOST)) == wanted
    assert sorted(exported(folder, HOST)[HOST]) == wanted
    return [entry.url.removeprefix(f"https://{HOST}/en/catalogue/") for entry in wanted]


def test_products_and_categories_are_listed_before_and_after_changes(tmp_path: Path) -> None:
    first = compare(tmp_path)
    assert len(first) == 2 * (5 + 4 + 2)
    tools = Category.objects.get(name="Tools")
    assert f"category/garden/tools/spades_{tools.get_children().get().pk}/" in first
    Product.objects.filter(slug="thing-1").update(slug="renamed")
    Product.objects.filter(slug="thing-2").update(is_public=False)
    Product.objects.get(slug="thing-4").delete()
    Category.objects.filter(slug="tools").update(slug="equipment")
    Category.objects.get(name="Flowers").move(Category.objects.get(slug="equipment"), "first-child")
    hidden = Category.objects.get(name="Hidden")
    hidden.is_public = True
    hidden.save()
    second = compare(tmp_path)
    assert len(second) == 2 * (4 + 6 + 2)
    assert f"category/garden/equipment/flowers_{Category.objects.get(name='Flowers').pk}/" in second


def test_the_number_of_queries_does_not_depend_on_the_number_of_rows() -> None:
    paths = ("/sitemap-products-1.xml", "/sitemap-categories-1.xml")
    live(HOST)
    few = [queries(HOST, path) for path in paths]
    kind = get_model("catalogue", "ProductClass").objects.get()
    for number in range(40):
        Product.objects.create(product_class=kind, title=str(number), slug=f"more-{number}")
        Category.objects.get(name="Garden").add_child(name=f"More {number}")
    assert len(live(HOST)) == 2 * (45 + 44 + 2)
    assert [queries(HOST, path) for path in paths] == few
    assert max(few) <= 4
