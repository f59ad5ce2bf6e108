"""The how-to for translated models, compared with `get_absolute_url()` in each language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import translation
from mysite import sitemaps
from news.models import Article
from shop.models import Product

from django_sitemaps09 import sources
from django_sitemaps09.protocol import Base, Limits
from tests.neighbours.published import Entry, complaints, exported, live, queries

HOST = "www.example.com"
CODES = [code for code, _ in settings.LANGUAGES]
HREFLANGS = {"en": "en", "de": "de", "pt-br": "pt-BR"}
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def rows() -> None:
    for number in range(8):
        add(number)


def add(number: int) -> None:
    codes = [code for position, code in enumerate(CODES) if number % 8 & 1 << position]
    slugs = {f"slug_{code.replace('-', '_')}": f"{code}-{number}" for code in codes}
    Article.objects.create(public=number != 5, **slugs)
    product = Product.objects.create()
    for code in codes:
        product.create_translation(code, slug=f"{code}-{number}")


def expected() -> list[Entry]:
    found = []
    for model in (Article, Product):
        for item in model.objects.all():
            if getattr(item, "public", True):
                found += translations(item)
    return sorted(found)


def translations(item: Any) -> list[Entry]:
    """Return the entries of an item in the languages that have a slug of their own."""
    urls = []
    for code in CODES:
        if isinstance(item, Article):
            is_translated = bool(getattr(item, f"slug_{code.replace('-', '_')}"))
        else:
            is_translated = item.has_translation(code)
            item.set_current_language(code)
        if is_translated:
            with translation.override(code):
                urls.append((HREFLANGS[code], f"https://{HOST}{item.get_absolute_url()}"))
    return [Entry(url, f"{item.updated_at:%Y-%m-%dT%H:%M:%SZ}", frozenset(urls)) for _, url in urls]


def compare(folder: Path) -> list[str]:
    assert complaints() == []
    wanted = expected()
    assert sorted(live(HOST)) == wanted
    assert sorted(exported(folder, HOST)[HOST]) == wanted
    return [entry.url.removeprefix(f"https://{HOST}") for entry in wanted]


def test_items_are_listed_in_their_languages_before_and_after_changes(tmp_path: Path) -> None:
    first = compare(tmp_path)
    assert len(first) == (12 - 2) + 12
    assert {"/en/news/en-1/", "/pt-br/news/pt-br-7/", "/de/shop/de-2/"} <= set(first)
    one = Article.objects.get(slug_en="en-1")
    one.slug_en, one.slug_de = "renamed", "umbenannt"
    one.save()
    Article.objects.filter(slug_de="de-2").update(slug_de="")
    Article.objects.filter(slug_en="en-5").update(public=True)
    product = Product.objects.translated("de", slug="de-2").get()
    product.delete_translation("de")
    product.create_translation("en", slug="new")
    Product.objects.translated("en", slug="en-1").get().delete()
    second = compare(tmp_path)
    assert {"/en/news/renamed/", "/de/news/umbenannt/", "/en/shop/new/"} <= set(second)
    assert "/de/news/de-2/" not in second


@pytest.mark.parametrize("language", CODES)
def test_a_page_does_not_depend_on_the_language_of_the_request(language: str) -> None:
    wanted = expected()
    with translation.override(language):
        assert sorted(live(HOST)) == wanted


@pytest.mark.parametrize("name", ["articles", "products"])
def test_both_are_read_as_columns(name: str) -> None:
    section = sitemaps.sitemaps[name]
    source: Any = sources.source(name, section, Base("https", HOST), Limits(50_000, 50_000_000))
    assert not source.declaration.needs_items
    assert source.can_fingerprint


@pytest.mark.parametrize("name", ["articles", "products"])
def test_the_number_of_queries_does_not_depend_on_the_number_of_rows(name: str) -> None:
    live(HOST)
    few = queries(HOST, f"/sitemap-{name}-1.xml")
    for number in range(8, 80):
        add(number)
    assert len(live(HOST)) > 200
    assert queries(HOST, f"/sitemap-{name}-1.xml") == few <= 2
