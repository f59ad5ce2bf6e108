"""Declarations of whole documents in every combination, and readers of their entries."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.test import Client, RequestFactory
from django.utils import translation
from hypothesis import strategies as st
from lxml import etree

from django_sitemaps09 import (
    Alternate,
    Extension,
    Image,
    ModelSitemap,
    News,
    Platform,
    Restriction,
    Sitemap,
    Video,
    sections,
    sources,
    views,
)
from django_sitemaps09.entries import NAMESPACES
from django_sitemaps09.export import export
from django_sitemaps09.protocol import SITEMAP_NAMESPACE, Base, Limits, uri
from django_sitemaps09.writer import WriteResult
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.factories import ArticleFactory
from tests.support.sources import page_map
from tests.support.writing import write

UTC = timezone.utc
#: News articles must be from the last two days.
NOW = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
SHOP = "https://example.org/shop"
SPACES = {SITEMAP_NAMESPACE: "", SHOP: "shop", **{space: prefix for prefix, space in NAMESPACES.items()}}
#: Characters in paths and in texts.
SLUGS = ["plain", "käse & brot", "a'b\"c<d>", "日本-😀", "100%", "a+b;c=d,e", "a[1]", "?q=ä&copy=2"]

TEXTS = [
    "A & B",
    "<b>\"c\"</b> 'd' ]]>",
    "tab\tline\nend",
    "&amp; &#65; %41",
    "😀 käse\u2028 日本",
    "a\r\nb",
]

ALTERNATES = ("none", "i18n", "method")


class Combination(NamedTuple):
    """The declaration of a section."""

    core: bool = False
    alternates: str = "none"
    images: bool = False
    videos: bool = False
    news: bool = False

    def __str__(self) -> str:
        names = [name for name in ("core", "images", "videos", "news") if getattr(self, name)]
        return "+".join([*names, self.alternates])

    @property
    def namespaces(self) -> dict[str | None, str]:
        """Return exactly the namespaces that a document must declare."""
        prefixes = ["xhtml"] * (self.alternates != "none")
        prefixes += ["image"] * self.images + ["video"] * self.videos + ["news"] * self.news
        return {None: SITEMAP_NAMESPACE, **{prefix: NAMESPACES[prefix] for prefix in prefixes}}


COMBINATIONS = [Combination(*given) for given in product([0, 1], ALTERNATES, [0, 1], [0, 1], [0, 1])]
EVERYTHING = Combination(True, "i18n", True, True, True)


def text_of(item: Article) -> str:
    return TEXTS[item.pk % len(TEXTS)]


def localized(self: Any, item: Article) -> str:
    return f"/{translation.get_language()}{item.get_absolute_url()}"


def alternates(self: Any, item: Article) -> list[Any]:
    path = item.get_absolute_url()
    return [Alternate("en", path), ("de_AT", f"https://www.example.at{path}"), ("x-default", f"/any{path}")]


def images(self: Any, item: Article) -> Iterator[Image]:
    yield Image(f"https://cdn.example.net/{item.slug.replace('?', '')}.jpg?a=1&b=2")
    yield Image(
        "covers/ä b.png",
        caption=text_of(item),
        geo_location="Zürich & more",
        title=text_of(item),
        license="https://example.org/terms?a=1&b=2",
    )


def videos(self: Any, item: Article) -> list[Video]:
    return [
        Video("/t.png", text_of(item), text_of(item), content_loc=f"/v/{item.pk} ä.mp4"),
        Video(
            "//cdn.example.net/t.png",
            "Second",
            text_of(item) * 3,
            player_loc="https://player.example.net/?v=1&w=ä",
            duration=timedelta(minutes=2),
            expiration_date=date(2099, 12, 31),
            rating=4.5,
            view_count=0,
            publication_date=datetime(2026, 1, 31, 8),
            tags=[text_of(item), "b & c"],
            family_friendly=True,
            restriction=Restriction("allow", ["at", "DE"]),
            requires_subscription=False,
            uploader=text_of(item),
            uploader_info="https://example.org/potter?a=1&b=2",
            platform=Platform("deny", ["tv"]),
            live=False,
        ),
    ]


def news(self: Any, item: Article) -> News:
    return News("The <Example> & Times", "de-at", NOW, text_of(item))


CORE: dict[str, Any] = {
    "lastmod": lambda self, item: item.updated,
    "changefreq": lambda self, item: "weekly" if item.published else None,
    "priority": lambda self, item: item.weight,
}


def section(of: Combination, **more: Any) -> type[ModelSitemap[Article]]:
    """Return a section of all articles with this declaration."""
    declared: dict[str, Any] = {"queryset": Article.objects.all()}
    if of.core:
        declared |= CORE
    if of.alternates == "i18n":
        declared |= {"i18n": True, "alternates": True, "x_default": True, "location": localized}
    elif of.alternates == "method":
        declared |= {"alternates": alternates}
    hooks = {"images": images, "videos": videos, "news": news}
    declared |= {name: hook for name, hook in hooks.items() if getattr(of, name)}
    return type("Declared", (ModelSitemap,), declared | more)


@pytest.fixture
def articles(db: None) -> None:
    for number, slug in enumerate(SLUGS, 1):
        ArticleFactory(
            pk=number,
            slug=slug,
            updated=NOW - timedelta(days=number) if number != 3 else None,
            published=number % 2 == 0,
            weight=Decimal(number) / 10 if number != 4 else None,
        )


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Replace all sections with one section named x."""

    def only(declared: Any) -> None:
        monkeypatch.setattr(sections, "_registered", {"x": declared})
        monkeypatch.setattr(sections, "_discovered", True)

    return only


def live(suffix: str = "xml") -> bytes:
    response: Any = Client().get(f"/sitemap-x-1.{suffix}")
    assert response.status_code == 200
    content: bytes = response.content
    return gzip.decompress(content) if suffix.endswith(".gz") else content


def exported(declared: Any, folder: Path, name: str = "sitemap-x-1.xml.gz") -> bytes:
    report = export(output=folder, sitemaps={"x": declared})
    assert [section.errors for section in report.sections] == [()]
    content = (folder / name).read_bytes()
    return gzip.decompress(content) if name.endswith(".gz") else content


def by_contrib(*declared: Any) -> bytes:
    """Return the document of the compatibility view for sections."""
    named = {str(number): one for number, one in enumerate(declared)}
    response: Any = views.sitemap(RequestFactory().get("/"), named)
    content: bytes = response.render().content
    return content


def parsed(document: bytes) -> Any:
    return etree.fromstring(document, etree.XMLParser(resolve_entities=False, no_network=True))


def name_of(element: Any) -> str:
    """Return a name such as `loc` or `image:loc`, with the prefix derived from the namespace."""
    found = etree.QName(element)
    prefix = SPACES[found.namespace]
    return f"{prefix}:{found.localname}" if prefix else found.localname


Fact = tuple[str, str, tuple[tuple[str, str], ...]]


def entries(document: bytes) -> list[list[Fact]]:
    """Return all elements of each entry with their texts and attributes, in order."""
    return [
        [
            (name_of(element), element.text or "", tuple(sorted(element.items())))
            for element in url.iterdescendants()
        ]
        for url in parsed(document)
    ]


def texts(document: bytes, name: str) -> list[str]:
    return [text for entry in entries(document) for found, text, _ in entry if found == name]


def canonical(entry: list[Fact]) -> list[Fact]:
    """Return an entry with quoted URLs and lower-case languages."""
    found = []
    for name, text, attributes in entry:
        pairs = dict(attributes)
        if name == "loc":
            text = uri(text)
        elif name == "xhtml:link":
            pairs |= {"href": uri(pairs["href"]), "hreflang": pairs["hreflang"].lower()}
        found.append((name, text, tuple(sorted(pairs.items()))))
    return found


# Values of hooks


@dataclass(frozen=True)
class Given:
    """An item with functions that return the results of its hooks."""

    location: Callable[[], Any]
    hooks: dict[str, Callable[[], Any]]


class Listed(Sitemap[Given]):
    """Section of three items, of which the second one is tested."""

    one: Given

    def items(self) -> list[Given]:
        return [self.plain("first"), self.one, self.plain("last")]

    @staticmethod
    def plain(name: str) -> Given:
        return Given(lambda: f"/{name}/", {})

    def location(self, item: Given) -> str:
        return item.location()  # type: ignore[no-any-return]


def hook(name: str) -> Any:
    return lambda self, item: item.hooks.get(name, lambda: None)()


def compiled(declared: type[Sitemap[Any]]) -> tuple[bytes, WriteResult]:
    """Render one page with only the source and the writer."""
    limits = Limits(50_000, 50_000_000)
    found = sources.source("x", declared, Base("https", "www.example.com"), limits)
    [page] = page_map(found, limits)
    return write(found.batches(page), limits, base=BASE, namespaces=found.declared.namespaces)


def render_item(location: Callable[[], Any] = lambda: "/second/", **hooks: Callable[[], Any]) -> Any:
    """Return the document with an item that has these hooks, and the errors that were reported."""
    declared = {name: hook(name) for name in hooks}
    document, written = compiled(type("Declared", (Listed,), {"one": Given(location, hooks), **declared}))
    locations = texts(document, "loc")
    assert (locations[0], locations[-1]) == (f"{BASE}/first/", f"{BASE}/last/")
    assert written.urls == len(locations)
    return document, list(written.errors)


awkward = st.sampled_from(
    [*"&<>\"'\t\n\r%#?/@", "\r\n", "]]>", "&#0;", "\x85", "\u2028", "\x00", "\ud800", "\uffff"]
)

anything = st.lists(awkward | st.characters(exclude_categories=()), max_size=8).map("".join)


def second(document: bytes) -> list[Fact]:
    """Return the entry of the tested item."""
    _, *between, _ = entries(document)
    assert len(between) == 1
    return between[0]


NEWS = News("The Times", "en", NOW, "Title")
ITSELF = Alternate("en", "/second/")

ELEMENT = {
    "images": "image:image",
    "videos": "video:video",
    "alternates": "xhtml:link",
    "news": "news:news",
}


def wrong(self: Any, item: Article) -> Any:
    return _wrong(item)


def _wrong(item: Article) -> Any:
    if item.pk == 2:
        raise ValueError("a bad one")
    return None


KINDS: dict[str, dict[str, Any]] = {
    "images": {"images": wrong},
    "videos": {"videos": wrong},
    "news": {"news": wrong},
    "alternates": {"alternates": wrong},
    "x_default": {"i18n": True, "alternates": True, "x_default": wrong},
    "shop": {"extensions": [Extension("shop", SHOP, _wrong)]},
    "lastmod": {"lastmod": wrong},
    "changefreq": {"changefreq": wrong},
    "priority": {"priority": wrong},
}


def shop(xml: Callable[[Any], Any], *others: Extension) -> dict[str, Any]:
    return {"extensions": [Extension("shop", SHOP, xml), *others]}
