"""The features in the documentation: each snippet runs as it stands, and gives the XML shown with it."""

from __future__ import annotations

import copy
import gzip
import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from importlib import import_module
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sites.models import Site
from django.core import checks
from django.core.management import call_command
from django.db.models import Case, DateTimeField, F, Value, When
from django.db.models.functions import Cast, Coalesce
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import clear_url_caches, include, path, reverse
from django.views.generic import RedirectView
from lxml import etree

import tests.shop
from django_sitemaps09 import (
    Alternate,
    GenericSitemap,
    Image,
    ModelSitemap,
    News,
    Platform,
    Restriction,
    Route,
    StaticViewSitemap,
    Video,
    register,
    sections,
    views,
)
from django_sitemaps09.conf import conf
from django_sitemaps09.export import Published, UrlChange, export, export_hosts
from django_sitemaps09.signals import published
from tests.docs.pages import PAGES, README, Place, Snippet, blocks
from tests.docs.places import LANGUAGES, MEDIA, QUICK_START, RUN
from tests.oracles import schemas
from tests.shop import models
from tests.shop.models import Article, Category, Film, Photo, Product
from tests.support.services import require_packages

BASE = "https://www.example.com"
SPACES = {
    "s": "http://www.sitemaps.org/schemas/sitemap/0.9",
    "xhtml": "http://www.w3.org/1999/xhtml",
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "video": "http://www.google.com/schemas/sitemap-video/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "shop": "https://www.example.com/schemas/shop/1.0",
}
MOMENT = datetime(2026, 11, 19, 8, 15, tzinfo=timezone.utc)

SETTINGS = ("docs/reference/settings.md", "Settings")
CLASSES = ("docs/reference/sitemaps.md", "Classes and hooks")
ELSEWHERE = ("docs/howto/languages.md", "Link to other hosts or models")
NEWS = ("docs/howto/media.md", "News")
ELEMENTS = ("docs/howto/elements.md", "Elements of your own")
OTHER_HOSTS = ("docs/howto/hosts.md", "URLs on other hosts")
EXPORT_HOSTS = ("docs/howto/hosts.md", "Export for several hosts")
SITES = ("docs/howto/hosts.md", "Rows that belong to a site")
ENGINE = ("docs/howto/celery.md", "Lost workers")
STORAGES = ("docs/howto/s3.md", "Export to S3 and other storages")
CACHE = ("docs/howto/s3.md", "Share a cache")
NOTIFY = ("docs/howto/notify.md", "After publishing")
SIGNAL = ("docs/reference/signals.md", "`django_sitemaps09.signals.published`")
REPORT = ("docs/reference/commands.md", "Report")
TESTING = ("docs/howto/ci.md", "Continuous integration")
ROBOTS = ("docs/howto/robots.md", "Serve robots.txt live")
NATIVE = ("docs/howto/from-contrib.md", "Add the native views")

#: What the tests of this module run, by place and by number there; `snippet_of` fills it.
FOUND: set[tuple[Place, int]] = set()


def snippet_of(at: tuple[str, str], number: int = 0) -> Callable[..., Any]:
    """Give a test that snippet of Python; a test that does not run it fails."""
    FOUND.add((Place(*at, "python"), number))
    name = f"{at[1]} {number + 1}".replace(" ", "-")
    return pytest.mark.parametrize("snippet", [blocks("python", *at)[number]], indirect=True, ids=[name])


def documents(at: tuple[str, str]) -> list[bytes]:
    """Return the XML shown below a heading."""
    found = blocks("xml", *at)
    return [block.text.encode() for block in found]


# The surroundings


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing registered but by a test."""
    monkeypatch.setattr(sections, "_registered", {})
    monkeypatch.setattr(sections, "_modules", {})
    monkeypatch.setattr(sections, "_discovered", True)
    for name in ("_lock", "_discovery"):
        monkeypatch.setattr(sections, name, threading.RLock())


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a snippet imports as `shop`."""
    package = ModuleType("shop")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "shop", package)
    monkeypatch.setitem(sys.modules, "shop.models", models)


@pytest.fixture
def snippet(request: pytest.FixtureRequest) -> Iterator[Snippet]:
    made = Snippet(request.param)
    yield made
    made.forget()
    assert made.ran, "a test that asks for a snippet has to run it"


def nothing(request: HttpRequest, **kwargs: object) -> HttpResponse:
    """What a location leads to."""
    return HttpResponse()


PRODUCT = path("<slug:category>/<slug:slug>/", nothing, name="product-detail")
OTHERS = [
    path("articles/<slug:slug>/", nothing, name="article"),
    path("", nothing, name="home"),
    path("about/", nothing, name="about"),
]


@pytest.fixture
def use_urls(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes these patterns the URLconf."""

    def change(*patterns: Any) -> None:
        made = ModuleType("shop.urls")
        made.urlpatterns = list(patterns)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "shop.urls", made)
        settings.ROOT_URLCONF = "shop.urls"
        clear_url_caches()

    return change


@pytest.fixture(autouse=True)
def site(settings: Any, use_urls: Callable[..., None]) -> Iterator[None]:
    """The settings and the URLs of the quick start, with the patterns that its snippets name."""
    declared, _, routed = blocks("python", *QUICK_START)
    first, last = Snippet(declared), Snippet(routed)
    settings.SITEMAPS09 = first.run("shop_settings").SITEMAPS09
    settings.MEDIA_URL = "/media/"
    use_urls(*last.run("shop_urls").urlpatterns, *OTHERS, PRODUCT)
    yield
    first.forget()
    last.forget()


@pytest.fixture
def can(db: None) -> Product:
    """The watering can of the documentation."""
    category = Category.objects.create(slug="garden")
    return Product.objects.create(
        category=category, slug="watering-can", updated_at=MOMENT, price=Decimal("19.90")
    )


class Shown(NamedTuple):
    """A document, and the URLs in it."""

    content: bytes
    root: Any
    urls: list[str]

    def elements(self, query: str) -> list[Any]:
        return list(self.root.iterfind(query, SPACES))

    def texts(self, query: str) -> list[str]:
        return [str(element.text) for element in self.elements(query)]


def shown(content: bytes) -> Shown:
    """Parses a document that keeps to the schemas."""
    root = etree.fromstring(content)
    known = copy.deepcopy(root)
    # The protocol lets others be there whose schema is at hand, which that of a shop is not.
    etree.strip_elements(known, f"{{{SPACES['shop']}}}*")
    schemas().assertValid(known)
    return Shown(content, root, [str(loc.text) for loc in root.iterfind("*/s:loc", SPACES)])


def live(address: str, **headers: Any) -> bytes:
    response = Client().get(address, **headers)
    assert response.status_code == 200
    return b"".join(response) if response.streaming else response.content


def both(folder: Path, name: str, sitemap: Any = None) -> Shown:
    """Page 1 of a section, live and exported, which are the same."""
    if sitemap is not None:
        register(name, sitemap)
    served = live(f"/sitemap-{name}-1.xml")
    assert gzip.decompress(live(f"/sitemap-{name}-1.xml.gz")) == served
    report = export(output=folder)
    assert (report.failures, report.warnings) == ([], [])
    assert [section.left_out for section in report.sections] == [0] * len(report.sections)
    assert gzip.decompress((folder / f"sitemap-{name}-1.xml.gz").read_bytes()) == served
    # The page map of the export is another one than that of the rows alone; the documents are not.
    assert live(f"/sitemap-{name}-1.xml") == served
    return shown(served)


def checked() -> list[str]:
    """What `manage.py check` says of a project with one database."""
    return [str(message) for message in checks.run_checks(databases=["default"])]


# Every snippet


def test_the_snippets_of_this_module_are_those_of_the_list() -> None:
    listed = {place: count for place, count in RUN["test_features"].items() if place.language == "python"}
    # Another module runs it, too.
    listed |= {place: count for place, count in RUN["test_first_steps"].items() if place[:2] == SETTINGS}
    assert {(place, number) for place, count in listed.items() for number in range(count)} == FOUND


# Quick start


@snippet_of(QUICK_START, 0)
def test_the_settings_of_the_quick_start_pass_the_checks(snippet: Snippet, settings: Any) -> None:
    module = snippet.run("shop_settings")
    others = [app for app in settings.INSTALLED_APPS if app != "django_sitemaps09"]
    settings.INSTALLED_APPS = [*others, *module.INSTALLED_APPS]
    settings.SITEMAPS09 = module.SITEMAPS09
    assert str(conf.base_url) == BASE
    assert checked() == []


@snippet_of(QUICK_START, 1)
def test_the_quick_start_is_found_and_give_the_index_and_the_page(
    snippet: Snippet, can: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Product.objects.create(category=can.category, slug="secret", published=False, updated_at=MOMENT)
    # The app has that module now.
    snippet.write(tmp_path / "sitemaps.py")
    snippet.modules.append("tests.shop.sitemaps")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(tests.shop, "__path__", [*tests.shop.__path__, str(tmp_path)])
    monkeypatch.setattr(sections, "_discovered", False)
    folder = tmp_path / "public"
    index, page = documents(QUICK_START)
    assert checked() == []
    assert live("/sitemap.xml") == index
    assert both(folder, "products").content == page
    assert (folder / "sitemap.xml").read_bytes() == index
    assert shown(index).urls == [f"{BASE}/sitemap-products-1.xml.gz"]
    assert [*sections.registered()] == ["products"]


@snippet_of(QUICK_START, 2)
def test_the_urls_of_the_quick_start_serve_the_index_and_a_robots_txt_that_names_it(
    snippet: Snippet, db: None, use_urls: Callable[..., None]
) -> None:
    use_urls(*snippet.run("shop_urls").urlpatterns)
    register("products", StaticViewSitemap)
    assert reverse("django_sitemaps09:index") == "/sitemap.xml"
    assert f"Sitemap: {BASE}/sitemap.xml" in live("/robots.txt").decode().splitlines()


@snippet_of(SETTINGS)
@pytest.mark.parametrize("debug", [True, False])
def test_a_development_server_has_local_urls(
    snippet: Snippet, can: Product, settings: Any, debug: bool
) -> None:
    settings.SITEMAPS09 = snippet.run("shop_settings", {"DEBUG": debug}).SITEMAPS09
    Site.objects.update(domain="localhost:8000")
    Site.objects.clear_cache()
    register("products", type("Products", (ModelSitemap,), {"model": type(can)}))
    base = "http://localhost:8000" if debug else BASE
    assert f"<loc>{base}/sitemap-products-1.xml.gz</loc>" in live("/sitemap.xml").decode()


def test_the_command_of_the_quick_start_writes_the_same_documents(
    can: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [command] = re.findall(
        r"^`manage\.py (export_sitemaps .+)` writes the same documents", README, re.MULTILINE
    )
    declared = Snippet(blocks("python", *QUICK_START)[1])
    declared.run("shop.sitemaps")
    monkeypatch.chdir(tmp_path)
    call_command(*shlex.split(command), stdout=StringIO())
    declared.forget()
    index, page = documents(QUICK_START)
    assert (tmp_path / "public" / "sitemap.xml").read_bytes() == index
    assert gzip.decompress((tmp_path / "public" / "sitemap-products-1.xml.gz").read_bytes()) == page
    assert f"Sitemap: {BASE}/sitemap.xml" in (tmp_path / "public" / "robots.txt").read_text()


# Declaring


def inline(page: str, start: str) -> str:
    """Return the only piece of code in the text of a page that begins so."""
    [found] = {code for code in re.findall(r"`([^`\n]+)`", PAGES[page]) if str(code).startswith(start)}
    return str(found)


def declared(body: str, **names: object) -> Any:
    """A class of products with such a line in it."""
    text = f"class Declared(ModelSitemap):\n    model = Product\n    {body}\n"
    space = {"ModelSitemap": ModelSitemap, "Product": Product, **names}
    exec(text, space)  # noqa: S102 our own
    return space["Declared"]


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


@pytest.mark.parametrize(
    "expression",
    [
        Cast(Value(MOMENT), DateTimeField()),
        Coalesce("updated_at", Value(None)),
        Case(When(published=True, then=F("updated_at"))),
    ],
    ids=["Cast", "Coalesce", "Case"],
)
def test_any_query_expression_can_be_a_hook(expression: Any, can: Product, tmp_path: Path) -> None:
    sitemap = declared("lastmod = expression", expression=expression)
    assert both(tmp_path, "products", sitemap).texts("s:url/s:lastmod") == ["2026-11-19T08:15:00Z"]


@pytest.mark.parametrize(
    "route",
    [
        Route("product-detail", category=F("category__slug"), slug=F("slug")),
        Route("product-detail", F("category__slug"), F("slug")),
    ],
    ids=["by name", "by position"],
)
def test_a_route_gives_what_reverse_gives(route: Route, can: Product, tmp_path: Path) -> None:
    sitemap = declared("location = route", route=route)
    there = reverse("product-detail", kwargs={"category": "garden", "slug": "watering-can"})
    assert both(tmp_path, "products", sitemap).urls == [f"{BASE}{there}"]


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


# What entries can say


@snippet_of(LANGUAGES)
def test_languages_give_the_document_shown(
    snippet: Snippet, can: Product, tmp_path: Path, use_urls: Callable[..., None]
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


@snippet_of(LANGUAGES)
def test_alternates_of_a_method_are_added_to_the_languages(
    snippet: Snippet, can: Product, tmp_path: Path, use_urls: Callable[..., None]
) -> None:
    shown_class = snippet.run("shop.sitemaps").ProductSitemap

    class Elsewhere(shown_class):  # type: ignore[misc, valid-type]
        x_default = False

        def get_languages_for_item(self, item: Product) -> list[str]:
            return ["en"]

        def alternates(self, item: Product) -> Iterator[Alternate]:
            yield Alternate("de", f"https://www.example.de{item.get_absolute_url()}")

    use_urls(path("", include("django_sitemaps09.urls")), *i18n_patterns(PRODUCT))
    page = both(tmp_path, "products", Elsewhere)
    assert page.urls == [f"{BASE}/en/garden/watering-can/"]
    assert [link.get("hreflang") for link in page.elements("s:url/xhtml:link")] == ["en", "de"]


@pytest.mark.parametrize(
    ("given", "href"),
    [
        (True, f"{BASE}/garden/watering-can/"),
        (False, None),
        ("/choose/", f"{BASE}/choose/"),
        ("https://www.example.org/", "https://www.example.org/"),
    ],
)
@snippet_of(LANGUAGES)
def test_x_default_can_be_a_method(
    snippet: Snippet,
    given: bool | str,
    href: str | None,
    can: Product,
    tmp_path: Path,
    use_urls: Callable[..., None],
) -> None:
    shown_class = snippet.run("shop.sitemaps").ProductSitemap
    own = type("Own", (shown_class,), {"x_default": lambda self, item: given})
    use_urls(path("", include("django_sitemaps09.urls")), *i18n_patterns(PRODUCT))
    links = both(tmp_path, "products", own).elements("s:url/xhtml:link[@hreflang='x-default']")
    assert [link.get("href") for link in links] == ([] if href is None else [href] * 2)


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
def test_images_are_anywhere_or_below_the_media(
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


@snippet_of(NEWS)
def test_any_class_can_have_news_and_keeps_its_other_urls(
    snippet: Snippet, db: None, tmp_path: Path
) -> None:
    now = datetime.now(timezone.utc)
    Article.objects.create(slug="old", title="Old", published_at=now - timedelta(days=7))
    Article.objects.create(slug="new", title="New", published_at=now)
    name = snippet.run("shop.sitemaps").ArticleNews.publication_name
    sections._registered.clear()

    class All(ModelSitemap[Article]):
        model = Article

        def news(self, item: Article) -> News | None:
            return None if item.title == "Old" else News(name, "de", item.published_at, item.title)

    page = both(tmp_path, "articles", All)
    assert page.urls == [f"{BASE}/articles/old/", f"{BASE}/articles/new/"]
    assert page.texts("s:url/news:news/news:title") == ["New"]
    assert page.texts("s:url/news:news/news:publication/news:language") == ["de"]


@snippet_of(ELEMENTS)
def test_elements_of_your_own_stand_in_their_namespace(
    snippet: Snippet, can: Product, tmp_path: Path
) -> None:
    register("products", snippet.run("shop.sitemaps").ProductSitemap)
    assert checked() == []
    page = both(tmp_path, "products")
    [price] = page.elements("s:url/shop:price")
    assert (price.prefix, price.text, dict(price.attrib)) == ("shop", "19.90", {"currency": "EUR"})


@pytest.mark.parametrize("elements", ["<shop:price>", "<price/>", "<shop:a xmlns:shop='urn:other'/>"])
@snippet_of(ELEMENTS)
def test_elements_that_cannot_stand_are_left_out_and_named(
    snippet: Snippet, elements: str, can: Product, tmp_path: Path
) -> None:
    module = snippet.run("shop.sitemaps")
    [extension] = module.ProductSitemap.extensions
    module.ProductSitemap.extensions = [replace(extension, xml=lambda item: elements)]
    register("products", module.ProductSitemap)
    [section] = export(output=tmp_path).sections
    assert (section.urls, section.left_out) == (1, 1)
    assert [(error.key, error.field) for error in section.errors] == [(str(can.pk), "shop")]
    assert not shown(live("/sitemap-products-1.xml")).elements("s:url/shop:*")


def test_the_text_of_a_page_is_its_urls_one_a_line(can: Product, tmp_path: Path) -> None:
    register("products", declared(inline(ELEMENTS[0], "format = ")))
    text = f"{BASE}/garden/watering-can/\n".encode()
    assert live("/sitemap-products-1.txt") == text
    export(output=tmp_path)
    assert (tmp_path / "sitemap-products-1.txt").read_bytes() == text
    index = shown((tmp_path / "sitemap.xml").read_bytes())
    assert index.urls == [f"{BASE}/sitemap-products-1.txt"]


@snippet_of(OTHER_HOSTS)
def test_urls_of_declared_hosts_may_stand(snippet: Snippet, db: None, tmp_path: Path) -> None:
    register("blog", snippet.run("shop.sitemaps").BlogSitemap)
    assert checked() == []
    assert both(tmp_path, "blog").urls == [
        "https://blog.example.com/",
        "https://shop.example.com/",
        f"{BASE}/blog/",
    ]


@pytest.mark.parametrize(
    "location",
    [
        *("https://else.example.com/", "http://blog.example.com/", "https://blog.example.com:8000/"),
        *("/a#b", "https://user@blog.example.com/", "/\x07", f"/{'a' * 2_048}"),
    ],
)
@snippet_of(OTHER_HOSTS)
def test_other_urls_are_refused_and_named(
    snippet: Snippet, location: str, db: None, tmp_path: Path
) -> None:
    shown_class = snippet.run("shop.sitemaps").BlogSitemap
    register("blog", type("Blog", (shown_class,), {"items": lambda self: ["/blog/", location]}))
    [section] = export(output=tmp_path).sections
    assert (section.urls, section.left_out) == (1, 1)
    assert shown(live("/sitemap-blog-1.xml")).urls == [f"{BASE}/blog/"]


@snippet_of(OTHER_HOSTS)
def test_urls_are_made_uris_exactly_once(snippet: Snippet, db: None, tmp_path: Path) -> None:
    shown_class = snippet.run("shop.sitemaps").BlogSitemap
    locations = ["/blog/ü b/", "/blog/%C3%BC%20b/"]
    sitemap = type("Blog", (shown_class,), {"items": lambda self: locations})
    assert both(tmp_path, "blog", sitemap).urls == [f"{BASE}/blog/%C3%BC%20b/"] * 2


# Several hosts


HOSTS = ("www.example.com", "www.example.de")


@pytest.fixture
def of_sites(db: None) -> Iterator[None]:
    """An article for each host, and one for both."""
    Site.objects.all().delete()
    Site.objects.clear_cache()
    found = [Site.objects.create(domain=host, name=host) for host in HOSTS]
    for slug, places in {"english": found[:1], "german": found[1:], "both": found}.items():
        Article.objects.create(slug=slug, title=slug, published_at=MOMENT).sites.set(places)
    yield
    Site.objects.clear_cache()


@snippet_of(SITES)
def test_a_site_lists_its_own_rows_live(snippet: Snippet, of_sites: None, settings: Any) -> None:
    settings.SITEMAPS09 = {}
    del settings.SITE_ID
    register("articles", snippet.run("shop.sitemaps").ArticleSitemap)
    assert checked() == []
    for host, own in zip(HOSTS, ("english", "german"), strict=True):
        page = shown(live("/sitemap-articles-1.xml", headers={"host": host}))
        assert page.urls == [f"http://{host}/articles/{slug}/" for slug in (own, "both")]


@snippet_of(SITES)
def test_the_site_of_the_settings_comes_before_that_of_the_request(
    snippet: Snippet, of_sites: None, settings: Any
) -> None:
    settings.SITEMAPS09 = {}
    settings.SITE_ID = Site.objects.get(domain=HOSTS[0]).pk
    register("articles", snippet.run("shop.sitemaps").ArticleSitemap)
    page = shown(live("/sitemap-articles-1.xml", headers={"host": HOSTS[1]}))
    assert page.urls == [f"http://{HOSTS[0]}/articles/{slug}/" for slug in ("english", "both")]


@snippet_of(SITES)
def test_the_command_writes_one_tree_for_each_host(
    snippet: Snippet, of_sites: None, can: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("articles", snippet.run("shop.sitemaps").ArticleSitemap)
    Snippet(blocks("python", *QUICK_START)[1]).run("shop.sitemaps")
    [command] = blocks("sh", *EXPORT_HOSTS)
    program, *arguments = shlex.split(command.text.replace("\\\n", ""))
    assert program == "manage.py"
    assert "public/{host}/robots.txt" in arguments
    monkeypatch.chdir(tmp_path)
    call_command(*arguments, stdout=StringIO())
    public = tmp_path / "public"
    assert {folder.name for folder in public.iterdir() if not folder.name.startswith(".")} == {*HOSTS}
    names = ["sitemap-articles-1.xml.gz", "sitemap-products-1.xml.gz"]
    for host, own in zip(HOSTS, ("english", "german"), strict=True):
        folder, base = public / host, f"https://{host}"
        files = {file.name for file in folder.iterdir() if file.is_file()}
        assert files == {"sitemap.xml", "robots.txt", *names}
        index = shown((folder / "sitemap.xml").read_bytes())
        assert index.urls == [f"{base}/{name}" for name in names]
        articles, products = (shown(gzip.decompress((folder / name).read_bytes())) for name in names)
        assert articles.urls == [f"{base}/articles/{slug}/" for slug in (own, "both")]
        assert products.urls == [f"{base}/garden/watering-can/"]
        lines = (folder / "robots.txt").read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if line.startswith("Sitemap")] == [f"Sitemap: {base}/sitemap.xml"]


@snippet_of(SITES)
def test_a_host_without_a_site_is_an_error(snippet: Snippet, of_sites: None, tmp_path: Path) -> None:
    register("articles", snippet.run("shop.sitemaps").ArticleSitemap)
    report = export(output=tmp_path, base_url="https://www.example.org")
    assert "www.example.org" in "\n".join(report.failures)
    assert not (tmp_path / "sitemap.xml").exists()


def test_hooks_are_called_as_for_one_host_and_folders_stand_in_the_urls_of_files(
    can: Product, tmp_path: Path, settings: Any
) -> None:
    settings.SITEMAPS09 = {"FILES_URL": "https://files.example.com/maps/"}
    calls: list[Product] = []
    sitemap = declared("priority = lambda self, item: calls.append(item)", calls=calls)
    export(output=tmp_path / "one", base_url=BASE, sitemaps={"a": sitemap})
    of_one = calls.copy()
    calls.clear()
    reports = export_hosts([f"https://{host}" for host in HOSTS], output=tmp_path, sitemaps={"a": sitemap})
    assert [*reports] == [f"https://{host}" for host in HOSTS]
    assert [report.urls for report in reports.values()] == [1, 1]
    assert calls == of_one
    for host in HOSTS:
        index = shown((tmp_path / host / "sitemap.xml").read_bytes())
        assert index.urls == [f"https://files.example.com/maps/{host}/sitemap-a-1.xml.gz"]


# Commands


@pytest.fixture
def _celery() -> None:
    """Asked for before the snippet, which is to be run where it is asked for."""
    require_packages("celery")


@pytest.mark.services
@pytest.mark.usefixtures("_celery")
@snippet_of(ENGINE)
def test_an_engine_of_your_own_can_be_named(snippet: Snippet, settings: Any) -> None:
    patient = snippet.run("shop.engines").Patient
    settings.SITEMAPS09 = {"BASE_URL": BASE, "ENGINE": "shop.engines.Patient"}
    assert checked() == []
    assert patient.patience == 3600.0
    assert patient.patience != patient.__mro__[1].patience


@snippet_of(STORAGES)
def test_the_settings_of_a_bucket_pass_the_checks(snippet: Snippet, settings: Any) -> None:
    module = snippet.run("shop_settings")
    settings.STORAGES = {**settings.STORAGES, **module.STORAGES}
    settings.SITEMAPS09 = module.SITEMAPS09
    assert checked() == []
    assert (str(conf.base_url), conf.state) == (BASE, "private")


@snippet_of(CACHE)
def test_the_settings_of_a_cache_pass_the_checks(snippet: Snippet, settings: Any) -> None:
    settings.CACHES = snippet.run("shop_settings").CACHES
    assert checked() == []


@snippet_of(NOTIFY)
def test_a_receiver_is_told_what_was_written_and_removed(
    snippet: Snippet, can: Product, tmp_path: Path
) -> None:
    purged: list[list[str]] = []
    module = snippet.run("shop.receivers", {"purge": purged.append})
    register("products", declared("pass"))
    changed: list[UrlChange] = []

    def tell(told: Published) -> None:
        assert told.urls is not None
        changed.extend(told.urls())

    try:
        export(output=tmp_path, changes=True, on_published=tell)
        export(output=tmp_path)
    finally:
        published.disconnect(module.tell_the_cdn)
    assert [sorted(urls) for urls in purged] == [
        [f"{BASE}/sitemap-products-1.xml.gz", f"{BASE}/sitemap.xml"]
    ]
    assert changed == [UrlChange("added", "products", f"{BASE}/garden/watering-can/")]


@snippet_of(NOTIFY)
def test_a_receiver_that_fails_is_a_warning_and_undoes_nothing(
    snippet: Snippet, can: Product, tmp_path: Path
) -> None:
    def purge(urls: list[str]) -> None:
        raise OSError("the CDN is gone")

    module = snippet.run("shop.receivers", {"purge": purge})
    register("products", declared("pass"))
    try:
        report = export(output=tmp_path)
    finally:
        published.disconnect(module.tell_the_cdn)
    assert "the CDN is gone" in "\n".join(report.warnings)
    assert (report.failures, report.published) == ([], True)
    assert (tmp_path / "sitemap.xml").exists()


@snippet_of(SIGNAL)
def test_the_receiver_of_the_reference_is_sent_the_files(
    snippet: Snippet, can: Product, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = snippet.run("shop.receivers")
    register("products", declared("pass"))
    try:
        export(output=tmp_path)
    finally:
        published.disconnect(module.log_files)
    assert set(capsys.readouterr().out.split()) == {
        f"{BASE}/sitemap-products-1.xml.gz",
        f"{BASE}/sitemap.xml",
    }


@snippet_of(REPORT)
def test_an_export_is_called_from_python(
    snippet: Snippet, can: Product, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("products", declared("pass"))
    monkeypatch.chdir(tmp_path)
    report = snippet.run("shop.exports").report
    assert (report.published, report.urls) == (True, 1)
    assert (tmp_path / "public" / "sitemap.xml").exists()


@snippet_of(TESTING)
def test_a_project_can_test_its_export(snippet: Snippet, can: Product, tmp_path: Path) -> None:
    test = snippet.run("shop.tests").test_the_sitemap_is_complete
    register("products", declared("pass"))
    test(tmp_path)
    register("broken", declared("location = '/a#b'"))
    with pytest.raises(AssertionError):
        test(tmp_path)


@snippet_of(ROBOTS)
def test_a_robots_txt_is_served_with_rules(
    snippet: Snippet, db: None, use_urls: Callable[..., None]
) -> None:
    module = snippet.run("shop_urls")
    use_urls(path("", include("django_sitemaps09.urls")), *module.urlpatterns)
    lines = live("/robots.txt").decode().splitlines()
    assert lines[:2] == ["User-agent: *", "Disallow: /private/"]
    assert lines[-1] == f"Sitemap: {BASE}/sitemap.xml"


# Coming from django.contrib.sitemaps


@snippet_of(NATIVE)
def test_the_old_pages_stay_beside_ours(
    snippet: Snippet, can: Product, use_urls: Callable[..., None]
) -> None:
    supposed = {"include": include, "path": path, "views": views}
    module = snippet.run("shop_urls", {**supposed, "sitemaps": {"products": declared("pass")}})
    use_urls(*module.urlpatterns, PRODUCT)
    assert checked() == []
    old = reverse("django.contrib.sitemaps.views.sitemap", kwargs={"section": "products"})
    assert old == "/sitemap-products.xml"
    urls = [f"{BASE}/garden/watering-can/"]
    assert shown(live(old)).urls == shown(live("/sitemap-products-1.xml")).urls == urls
    assert shown(live("/sitemap.xml")).urls == [f"{BASE}/sitemap-products-1.xml.gz"]


def test_the_old_pages_can_be_redirected(can: Product, use_urls: Callable[..., None]) -> None:
    [pattern] = re.findall(r'^`(path\("sitemap-<section>.+)`', PAGES[NATIVE[0]], re.MULTILINE)
    redirect = eval(pattern, {"path": path, "RedirectView": RedirectView})  # noqa: S307 our own
    use_urls(path("", include("django_sitemaps09.urls")), redirect)
    response = Client().get("/sitemap-products.xml")
    assert (response.status_code, response.headers["Location"]) == (301, "/sitemap.xml")


def test_an_export_and_the_views_find_the_dict_that_the_setting_names(
    can: Product, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = ModuleType("shop.sitemaps")
    made.sitemaps = {"products": declared("pass")}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "shop.sitemaps", made)
    key, _, value = inline(NATIVE[0], "SITEMAPS = ").partition(" = ")
    settings.SITEMAPS09 = {"BASE_URL": BASE, key: value.strip('"')}
    assert both(tmp_path, "products").urls == [f"{BASE}/garden/watering-can/"]


@pytest.mark.parametrize("module", ["contrib.sitemaps", "contrib.sitemaps.views"])
def test_what_contrib_has_is_ours_by_the_same_name(module: str) -> None:
    theirs = import_module(f"django.{module}")
    ours = import_module(f"django_sitemaps09{module.removeprefix('contrib.sitemaps')}")
    made = [name for name, value in vars(theirs).items() if name[0] != "_" and defined_in(value, theirs)]
    assert {"Sitemap", "GenericSitemap"} <= {*made} or {"index", "sitemap"} <= {*made}
    assert [name for name in made if not hasattr(ours, name)] == []


def defined_in(value: object, module: ModuleType) -> bool:
    return getattr(value, "__module__", None) == module.__name__ and callable(value)
