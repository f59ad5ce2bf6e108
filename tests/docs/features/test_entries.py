"""The documentation of classes, hooks, languages and media: each snippet runs, and gives the XML shown."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.db.models import F
from django.db.models.signals import post_delete, post_save
from django.urls import include, path

from django_sitemaps09 import (
    GenericSitemap,
    Image,
    ModelSitemap,
    Platform,
    Restriction,
    StaticViewSitemap,
    Video,
    register,
)
from django_sitemaps09.export import export
from tests.docs.features.project import (
    BASE,
    MOMENT,
    PRODUCT,
    both,
    checked,
    declared,
    documents,
    inline,
    live,
    shown,
    snippet_of,
)
from tests.docs.pages import Snippet
from tests.docs.places import LANGUAGES, MEDIA
from tests.shop.models import Article, Film, Photo, Product, Review
from tests.support.configuration import UseUrls

CLASSES = ("docs/reference/sitemaps.md", "Classes and hooks")
PATHS = ("docs/reference/sitemaps.md", "PathTemplate")
ELSEWHERE = ("docs/howto/languages.md", "Link to other hosts or models")
NEWS = ("docs/howto/media.md", "News")
ELEMENTS = ("docs/howto/elements.md", "Elements of your own")
COLUMN = ("docs/howto/large-sites.md", "Keep a date of related rows as a column")
OTHER_HOSTS = ("docs/howto/hosts.md", "URLs on other hosts")


@snippet_of(LANGUAGES)
def test_languages_give_the_document_shown(
    snippet: Snippet, can: Product, tmp_path: Path, use_urls: UseUrls
) -> None:
    use_urls(path("", include("django_sitemaps09.urls")), *i18n_patterns(PRODUCT))
    register("products", snippet.run("shop.sitemaps").ProductSitemap)
    assert checked() == []
    assert both(tmp_path, "products").content == documents(LANGUAGES)[0]


@snippet_of(ELSEWHERE)
def test_alternates_can_be_a_method_for_pages_on_other_hosts(
    snippet: Snippet, can: Product, tmp_path: Path
) -> None:
    register("products", snippet.run("shop.sitemaps").ProductSitemap)
    assert checked() == []
    page = both(tmp_path, "products")
    assert page.urls == [f"{BASE}/garden/watering-can/"]
    assert [dict(link.attrib) for link in page.elements("s:url/xhtml:link")] == [
        {"rel": "alternate", "hreflang": "en", "href": f"{BASE}/garden/watering-can/"},
        {"rel": "alternate", "hreflang": "de", "href": "https://www.example.de/garden/watering-can/"},
    ]


@snippet_of(MEDIA)
def test_images_and_videos_give_the_document_shown(snippet: Snippet, can: Product, tmp_path: Path) -> None:
    Photo.objects.create(product=can, file="can.jpg")
    Film.objects.create(
        product=can,
        title="Watering",
        summary="How to water & what not to.",
        still="can.png",
        file="can.mp4",
        length=90,
    )
    register("products", snippet.run("shop.sitemaps").ProductSitemap)
    assert checked() == []
    assert both(tmp_path, "products").content == documents(MEDIA)[0]


@pytest.mark.parametrize(
    ("name", "location"),
    [
        ("can.jpg", f"{BASE}/media/can.jpg"),
        ("/files/can.jpg", f"{BASE}/files/can.jpg"),
        ("https://cdn.example.net/can.jpg", "https://cdn.example.net/can.jpg"),
    ],
)
def test_images_are_on_any_host_or_below_media_url(
    name: str, location: str, can: Product, tmp_path: Path
) -> None:
    sitemap = declared("images = lambda self, item: [Image(name)]", Image=Image, name=name)
    assert both(tmp_path, "products", sitemap).texts("s:url/image:image/image:loc") == [location]


def test_videos_take_restrictions_and_platforms(can: Product, tmp_path: Path) -> None:
    options = f"{inline(MEDIA[0], 'restriction=')}, {inline(MEDIA[0], 'platform=')}"
    video = f'Video("/a.png", "A", "B", player_loc="/player", {options})'
    names = {"Video": Video, "Restriction": Restriction, "Platform": Platform}
    page = both(tmp_path, "products", declared(f"videos = lambda self, item: [{video}]", **names))
    assert page.texts("s:url/video:video/video:restriction") == ["DE AT"]
    assert page.texts("s:url/video:video/video:platform") == ["tv"]
    relations = [one.get("relationship") for one in page.elements("s:url/video:video/*[@relationship]")]
    assert sorted(relations) == ["allow", "deny"]


@snippet_of(NEWS)
def test_news_are_the_articles_of_two_days_the_newest_first(
    snippet: Snippet, db: None, tmp_path: Path
) -> None:
    now = datetime.now(timezone.utc).replace(microsecond=0)
    old, older, new, _ = Article.objects.bulk_create(
        Article(slug=slug, title=f"{slug} & more", published_at=now - age, public=slug != "hidden")
        for slug, age in {
            "yesterday": timedelta(hours=30),
            "last-week": timedelta(days=7),
            "today": timedelta(hours=1),
            "hidden": timedelta(hours=2),
        }.items()
    )
    snippet.run("shop.sitemaps")
    assert checked() == []
    page = both(tmp_path, "news")
    listed = [new, old]
    assert page.urls == [f"{BASE}/articles/{article.slug}/" for article in listed]
    assert older.slug not in page.content.decode()
    said = {
        name: page.texts(f"s:url/news:news/{name}")
        for name in (
            *("news:publication/news:name", "news:publication/news:language"),
            *("news:publication_date", "news:title"),
        )
    }
    assert [*said.values()] == [
        ["The Example Times"] * 2,
        ["en"] * 2,
        [article.published_at.strftime("%Y-%m-%dT%H:%M:%SZ") for article in listed],
        [article.title for article in listed],
    ]


@snippet_of(ELEMENTS)
def test_elements_of_your_own_have_their_namespace(snippet: Snippet, can: Product, tmp_path: Path) -> None:
    register("products", snippet.run("shop.sitemaps").ProductSitemap)
    assert checked() == []
    page = both(tmp_path, "products")
    [price] = page.elements("s:url/shop:price")
    assert (price.prefix, price.text, dict(price.attrib)) == ("shop", "19.90", {"currency": "EUR"})


@snippet_of(COLUMN)
def test_a_column_keeps_the_newest_date_of_related_rows(
    snippet: Snippet, can: Product, tmp_path: Path
) -> None:
    receive = snippet.run("shop.signals").update_reviewed_at
    section = type("Reviewed", (ModelSitemap,), {"model": Product, "lastmod": F("reviewed_at")})
    try:
        days = [Review.objects.create(product=can, created_at=MOMENT + timedelta(day)) for day in (3, 9, 5)]
        assert both(tmp_path, "before", section).texts("s:url/s:lastmod") == ["2026-11-28T08:15:00Z"]
        days[1].delete()
        assert both(tmp_path, "after", section).texts("s:url/s:lastmod") == ["2026-11-24T08:15:00Z"]
    finally:
        for signal in (post_save, post_delete):
            signal.disconnect(receive, sender=Review)


def test_a_text_page_has_one_url_on_each_line(can: Product, tmp_path: Path) -> None:
    register("products", declared(inline(ELEMENTS[0], "format = ")))
    text = f"{BASE}/garden/watering-can/\n".encode()
    assert live("/sitemap-products-1.txt") == text
    export(output=tmp_path)
    assert (tmp_path / "sitemap-products-1.txt").read_bytes() == text
    index = shown((tmp_path / "sitemap.xml").read_bytes())
    assert index.urls == [f"{BASE}/sitemap-products-1.txt"]


@snippet_of(OTHER_HOSTS)
def test_urls_on_declared_hosts_are_allowed(snippet: Snippet, db: None, tmp_path: Path) -> None:
    register("blog", snippet.run("shop.sitemaps").BlogSitemap)
    assert checked() == []
    assert both(tmp_path, "blog").urls == [
        "https://blog.example.com/",
        "https://shop.example.com/",
        f"{BASE}/blog/",
    ]


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
