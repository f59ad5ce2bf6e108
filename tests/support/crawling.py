"""One section of each kind, rows for them that change, and a strict crawler."""

from __future__ import annotations

import gzip
import re
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from django.contrib.sitemaps import GenericSitemap
from django.db.models import F
from django.utils import timezone, translation

from django_sitemaps09 import Image, ModelSitemap, NewsSitemap, Route, Sitemap, StaticViewSitemap
from django_sitemaps09.export import export
from tests.models import Article, Category, Word
from tests.support.published import SPACE

BASE = "https://www.example.com"
#: The number of seconds after which a server has failed.
SECONDS = 30


# Sections and rows


class Columns(ModelSitemap[Article]):
    queryset = Article.objects.filter(published=True)
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")
    limit = 10


class Pictures(ModelSitemap[Category]):
    model = Category

    def location(self, item: Category) -> str:
        return f"/categories/{item.slug}/"

    def images(self, item: Category) -> list[Image]:
        return [Image(f"/media/{item.slug}.jpg")]


class Views(StaticViewSitemap):
    viewnames = ("home", "about")


class Listed(Sitemap[int]):
    limit = 3

    def items(self) -> Sequence[int]:
        return range(Category.objects.count())

    def location(self, item: int) -> str:
        return f"/listed/{item}/"


class Texts(ModelSitemap[Word]):
    model = Word
    location = Route("word", word=F("word"))
    format = "text"
    limit = 4


class Headlines(NewsSitemap[Article]):
    queryset = Article.objects.filter(updated__isnull=False)
    date_field = "updated"
    publication_name = "The Example Times"
    location = Route("article", slug=F("slug"))

    def title(self, item: Article) -> str:
        return item.slug


class Translations(Sitemap[str]):
    i18n = True
    alternates = True
    languages = ("en", "de")

    def items(self) -> Sequence[str]:
        return [category.slug for category in Category.objects.order_by("pk")]

    def location(self, item: str) -> str:
        return f"/{translation.get_language()}/{item}/"


def every_kind() -> dict[str, Any]:
    return {
        "columns": Columns,
        "pictures": Pictures,
        "views": Views,
        "listed": Listed,
        "texts": Texts,
        "headlines": Headlines,
        "translations": Translations,
        "contrib": GenericSitemap({"queryset": Article.objects.order_by("pk"), "date_field": "updated"}),
    }


#: What the setting `SITEMAPS` names for the views.
SITEMAPS = every_kind()


def expected() -> dict[str, set[str]]:
    """Return the paths of each section, from the rows and without any code of the package."""
    articles = {f"/articles/{slug}/" for slug in Article.objects.values_list("slug", flat=True)}
    categories = list(Category.objects.values_list("slug", flat=True))
    words = Word.objects.values_list("word", flat=True)
    return {
        "columns": articles,
        "pictures": {f"/categories/{slug}/" for slug in categories},
        "views": {"/home/", "/about/"},
        "listed": {f"/listed/{number}/" for number in range(len(categories))},
        "texts": {f"/words/{word}/" for word in words},
        "headlines": articles,
        "translations": {f"/{language}/{slug}/" for language in ("en", "de") for slug in categories},
        "contrib": articles,
    }


def write_rows() -> None:
    now = timezone.now() - timedelta(minutes=30)
    Article.objects.bulk_create(Article(pk=n, slug=f"a{n}", updated=now) for n in range(1, 26))
    Category.objects.bulk_create(Category(pk=n, slug=f"c{n}") for n in range(1, 6))
    Word.objects.bulk_create(Word(word=f"w{n:02}") for n in range(6))


def change_rows() -> None:
    """Make every section gain and lose URLs, and its files grow and shrink."""
    now = timezone.now()
    Article.objects.filter(pk__in=[3, 4, 17]).delete()
    Article.objects.filter(pk=8).update(slug="a-much-longer-slug-than-before", updated=now)
    Article.objects.bulk_create(Article(pk=n, slug=f"a{n}", updated=now) for n in range(26, 45))
    Category.objects.filter(pk=2).delete()
    Category.objects.bulk_create(Category(pk=n, slug=f"c{n}") for n in range(6, 12))
    Word.objects.filter(word="w01").delete()
    Word.objects.bulk_create(Word(word=f"x{n}") for n in range(7))


def run_export(output: Path | None, **options: Any) -> None:
    report = export(sitemaps=every_kind(), output=output, **options)
    assert report.failures == []
    assert report.published


# A crawler


class Answer(NamedTuple):
    content: bytes
    headers: Mapping[str, str | None]


#: A server's response for the name of a file.
Fetch = Callable[[str], Answer]

TYPES = {"xml": ("application/xml", "text/xml"), "gz": ("application/gzip", "application/octet-stream")}


def locations(content: bytes) -> list[str]:
    root = ElementTree.fromstring(content)  # noqa: S314 our own output
    found = [str(loc.text) for loc in root.iter(f"{SPACE}loc")]
    assert found
    return found


def crawl(fetch: Fetch) -> dict[str, set[str]]:
    """Return the paths of each section as a strict crawler reads them, starting at the index."""
    found: dict[str, set[str]] = {}
    for location in locations(checked(fetch, "sitemap.xml")):
        assert location.startswith(f"{BASE}/")
        name = location.removeprefix(f"{BASE}/")
        content = checked(fetch, name)
        urls = content.decode().splitlines() if name.endswith(".txt") else locations(content)
        section = re.sub(r"^sitemap-|-\d+\..*|\..*", "", name)
        assert all(url.startswith(f"{BASE}/") for url in urls)
        paths = found.setdefault(section, set())
        assert paths.isdisjoint(url.removeprefix(BASE) for url in urls) or section == "translations"
        paths.update(url.removeprefix(BASE) for url in urls)
    return found


def checked(fetch: Fetch, name: str) -> bytes:
    """Return the content of a file, and check that all known sitemap readers understand its headers."""
    content, headers = fetch(name)
    length = headers.get("Content-Length")
    assert length is None or int(length) == len(content)
    kind = name.rpartition(".")[2]
    given = (headers.get("Content-Type") or "").partition(";")[0]
    assert given in TYPES.get(kind, ("text/plain",)), name
    if kind == "gz":
        assert headers.get("Content-Encoding") is None, name
        return gzip.decompress(content)
    if headers.get("Content-Encoding") == "gzip":
        return gzip.decompress(content)
    return content


def over_http(address: str) -> Fetch:
    def fetch(name: str) -> Answer:
        request = urllib.request.Request(f"{address}/{name}", headers={"Accept-Encoding": "gzip"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310 our own server
            assert response.status == 200
            return Answer(response.read(), response.headers)

    return fetch
