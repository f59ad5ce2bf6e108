"""The documentation of classes and hooks: each snippet runs, and produces the XML shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps09 import GenericSitemap, StaticViewSitemap
from tests.docs.features.project import (
    BASE,
    CLASSES,
    MOMENT,
    PATHS,
    both,
    checked,
    declared,
    inline,
    snippet_of,
)
from tests.docs.pages import Snippet
from tests.shop.models import Article, Product


@pytest.mark.parametrize(
    ("start", "element", "text"),
    [
        ("changefreq = ", "changefreq", "weekly"),
        ("lastmod = F(", "lastmod", "2026-11-19T08:15:00Z"),
        ("def location(self, item):", "loc", f"{BASE}/garden/watering-can/"),
    ],
)
def test_a_hook_is_a_constant_an_expression_or_a_method(
    start: str, element: str, text: str, can: Product, tmp_path: Path
) -> None:
    page = both(tmp_path, "products", declared(inline(CLASSES[0], start), F=F))
    assert page.texts(f"s:url/s:{element}") == [text]


def test_a_location_is_the_absolute_url_of_the_item_by_default(can: Product, tmp_path: Path) -> None:
    assert both(tmp_path, "products", declared("pass")).urls == [f"{BASE}/garden/watering-can/"]


def test_static_views_are_named(db: None, tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    exec(inline(CLASSES[0], "viewnames = "), space)  # noqa: S102 our own
    sitemap = type("Static", (StaticViewSitemap,), {"viewnames": space["viewnames"]})
    assert both(tmp_path, "static", sitemap).urls == [f"{BASE}/", f"{BASE}/about/"]


def test_a_generic_sitemap_is_as_in_contrib(can: Product, tmp_path: Path) -> None:
    page = both(
        tmp_path,
        "products",
        GenericSitemap({"queryset": Product.objects.all(), "date_field": "updated_at"}),
    )
    assert page.urls == [f"{BASE}/garden/watering-can/"]
    assert page.texts("s:url/s:lastmod") == ["2026-11-19T08:15:00Z"]


@snippet_of(PATHS)
def test_a_path_template_fills_in_a_path(snippet: Snippet, can: Product, tmp_path: Path) -> None:
    section = snippet.run("shop.sitemaps").GuideSitemap
    assert both(tmp_path, "guides", section).urls == [f"{BASE}/guides/garden/watering-can/"]


@snippet_of(CLASSES)
def test_the_classes_of_the_reference_are_served(snippet: Snippet, db: None, tmp_path: Path) -> None:
    Article.objects.create(slug="news", title="News", published_at=MOMENT)
    snippet.run("shop.sitemaps")
    assert checked() == []
    page = both(tmp_path, "articles")
    assert page.urls == [f"{BASE}/articles/news/"]
    assert page.texts("s:url/s:changefreq") == ["weekly"]
    assert page.texts("s:url/s:lastmod") == ["2026-11-19T08:15:00Z"]
    assert both(tmp_path, "pages").urls == [f"{BASE}/", f"{BASE}/about/"]
