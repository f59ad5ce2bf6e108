"""Laws of whole documents: all that a sitemap can declare, in any combination, by every road."""

from __future__ import annotations

import gzip
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from html import unescape
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import pytest
from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.db.models import Case, F, Value, When
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import translation
from hypothesis import event, example, given
from hypothesis import strategies as st
from lxml import etree

from django_sitemaps09 import (
    Alternate,
    Extension,
    Image,
    ModelSitemap,
    News,
    NewsSitemap,
    Platform,
    Restriction,
    Route,
    Sitemap,
    Video,
    sections,
    sources,
    views,
)
from django_sitemaps09.entries import NAMESPACES, ItemError
from django_sitemaps09.export import Report, export, export_hosts
from django_sitemaps09.protocol import SITEMAP_NAMESPACE, Base, Limits, uri
from django_sitemaps09.writer import Written, write_urlset
from tests.models import Article
from tests.strict import SitemapJs, usp_pages
from tests.test_clients import require

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09]

BASE = "https://www.example.com"
UTC = timezone.utc
#: News have to be of the last two days.
NOW = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=1)
SHOP = "https://example.org/shop"
SPACES = {SITEMAP_NAMESPACE: "", SHOP: "shop", **{space: prefix for prefix, space in NAMESPACES.items()}}
#: What paths hold, and texts.
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
    """What a section declares."""

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
        """Those that a document has to declare, and no other one."""
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
    """A section of all articles that declares this."""
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
    Article.objects.bulk_create(
        Article(
            pk=number,
            slug=slug,
            updated=NOW - timedelta(days=number) if number != 3 else None,
            published=number % 2 == 0,
            weight=Decimal(number) / 10 if number != 4 else None,
        )
        for number, slug in enumerate(SLUGS, 1)
    )


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Makes a section the only one, named x."""

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
    assert [section.left_out for section in report.sections] == [0]
    content = (folder / name).read_bytes()
    return gzip.decompress(content) if name.endswith(".gz") else content


def by_contrib(*declared: Any) -> bytes:
    """What the view in the place of contrib's makes of some sections."""
    named = {str(number): one for number, one in enumerate(declared)}
    response: Any = views.sitemap(RequestFactory().get("/"), named)
    content: bytes = response.render().content
    return content


def parsed(document: bytes) -> Any:
    return etree.fromstring(document, etree.XMLParser(resolve_entities=False, no_network=True))


def name_of(element: Any) -> str:
    """`loc` or `image:loc`: by the namespace, not by the prefix."""
    found = etree.QName(element)
    prefix = SPACES[found.namespace]
    return f"{prefix}:{found.localname}" if prefix else found.localname


Fact = tuple[str, str, tuple[tuple[str, str], ...]]


def entries(document: bytes) -> list[list[Fact]]:
    """Of each entry all elements with their texts and attributes, in their order."""
    return [
        [
            (name_of(element), element.text or "", tuple(sorted(element.items())))
            for element in url.iterdescendants()
        ]
        for url in parsed(document)
    ]


def texts(document: bytes, name: str) -> list[str]:
    return [text for entry in entries(document) for found, text, _ in entry if found == name]


# Every combination


@pytest.mark.usefixtures("articles")
@pytest.mark.parametrize("declared", COMBINATIONS, ids=str)
class TestEveryCombination:
    def test_is_valid_and_declares_the_namespaces_of_what_is_declared_alone(
        self, declared: Combination, schema: Any, serve: Any
    ) -> None:
        serve(section(declared))
        root = parsed(live())
        schema.assertValid(root)
        assert root.nsmap == declared.namespaces
        assert len(root) == len(SLUGS) * (3 if declared.alternates == "i18n" else 1)

    def test_is_the_same_bytes_live_compressed_and_exported(
        self, declared: Combination, serve: Any, tmp_path: Path
    ) -> None:
        serve(section(declared))
        document = live()
        assert document == live("xml.gz") == exported(section(declared), tmp_path)

    def test_has_one_line_for_each_entry(self, declared: Combination, serve: Any) -> None:
        """A difference of two documents is read by lines."""
        serve(section(declared))
        head, root, *lines, tail = live().splitlines()
        assert (head[:5], root[:7], tail) == (b"<?xml", b"<urlset", b"</urlset>")
        assert all(re.fullmatch(rb"<url><loc>.*</url>", line) for line in lines)
        assert b"\r" not in live()

    def test_as_text_is_exactly_its_locations(
        self, declared: Combination, serve: Any, tmp_path: Path
    ) -> None:
        serve(section(declared))
        lines = live("txt").decode().split("\n")
        assert lines == [*texts(live(), "loc"), ""]
        text = exported(section(declared, format="text"), tmp_path, "sitemap-x-1.txt")
        assert text.decode().split("\n") == lines

    def test_says_the_same_by_the_road_of_contrib(
        self, declared: Combination, schema: Any, serve: Any
    ) -> None:
        """There, paths and codes of `i18n` are as contrib has them, which quotes nothing."""
        found = section(declared)
        # What nobody quotes is not valid there, as with contrib's own view.
        found.queryset = Article.objects.exclude(slug__in=["100%", "a[1]"])
        if declared.alternates == "method":
            # What such links are checked against is not quoted: a law of its own, below.
            found.queryset = Article.objects.filter(slug__in=["plain", "a+b;c=d,e"])
        serve(found)
        root = parsed(by_contrib(found))
        schema.assertValid(root)
        # Contrib's template always declares the namespace of links.
        assert root.nsmap == declared.namespaces | {"xhtml": NAMESPACES["xhtml"]}
        assert list(map(canonical, entries(by_contrib(found)))) == list(map(canonical, entries(live())))


def canonical(entry: list[Fact]) -> list[Fact]:
    """An entry with its URLs quoted and its languages in lower case."""
    found = []
    for name, text, attributes in entry:
        pairs = dict(attributes)
        if name == "loc":
            text = uri(text)
        elif name == "xhtml:link":
            pairs |= {"href": uri(pairs["href"]), "hreflang": pairs["hreflang"].lower()}
        found.append((name, text, tuple(sorted(pairs.items()))))
    return found


@pytest.mark.usefixtures("articles")
def test_what_is_declared_is_what_is_written(serve: Any) -> None:
    """Of one combination with everything, each value."""
    serve(section(Combination(True, "method", True, True, True)))
    second, third = entries(live())[1:3]
    path = "/articles/k%C3%A4se%20&%20brot/"
    assert [text for name, text, _ in second if name in ("loc", "lastmod", "changefreq", "priority")] == [
        f"{BASE}{path}",
        f"{NOW - timedelta(days=2):%Y-%m-%dT%H:%M:%SZ}",
        "weekly",
        "0.200",
    ]
    assert [name for name, _, _ in third][:2] == ["loc", "priority"]
    assert [dict(attributes) for name, _, attributes in second if name == "xhtml:link"] == [
        {"rel": "alternate", "hreflang": "en", "href": f"{BASE}{path}"},
        {"rel": "alternate", "hreflang": "de-AT", "href": f"https://www.example.at{path}"},
        {"rel": "alternate", "hreflang": "x-default", "href": f"{BASE}/any{path}"},
    ]
    assert [text for name, text, _ in second if name == "image:loc"] == [
        "https://cdn.example.net/k%C3%A4se%20&%20brot.jpg?a=1&b=2",
        f"{BASE}/covers/%C3%A4%20b.png",
    ]
    [caption] = [text for name, text, _ in third if name == "image:caption"]
    assert caption == TEXTS[3]
    assert [text for name, text, _ in second if name == "video:title"] == [TEXTS[2], "Second"]
    assert [text for name, text, _ in second if name == "video:publication_date"] == [
        "2026-01-31T07:00:00Z"
    ]
    assert [text for name, text, _ in second if name in ("news:language", "news:title")] == ["de", TEXTS[2]]


CONSTANT: dict[str, Any] = {"lastmod": NOW, "changefreq": "weekly", "priority": Decimal("0.500")}
WAYS: dict[str, dict[str, Any]] = {
    "expressions": {
        "location": Route("word", word=F("slug")),
        "lastmod": F("updated"),
        "changefreq": Case(When(pk__gt=0, then=Value("weekly")), default=Value("never")),
        "priority": F("weight"),
    },
    "constants": {"location": Route("word", word=F("slug")), **CONSTANT},
    "methods": {
        "location": lambda self, item: reverse("word", kwargs={"word": item.slug}),
        "lastmod": lambda self, item: item.updated,
        "changefreq": lambda self, item: "weekly",
        "priority": lambda self, item: item.weight,
    },
    "lists": {
        "queryset": None,
        "items": lambda self: list(Article.objects.order_by("pk")),
        "location": lambda self, item: f"/words/{item.slug}/",
        **CONSTANT,
    },
}


@pytest.mark.django_db
@pytest.mark.parametrize("i18n", [False, True])
@pytest.mark.parametrize("media", [False, True])
def test_the_same_facts_give_the_same_bytes_however_they_are_declared(
    serve: Any, media: bool, i18n: bool
) -> None:
    slugs = [slug for slug in SLUGS if not set(slug) & set("%?[")]
    Article.objects.bulk_create(
        Article(pk=number, slug=slug, updated=NOW, weight=Decimal("0.5"))
        for number, slug in enumerate(slugs, 1)
    )
    found, lines = {}, set()
    for way, declared in WAYS.items():
        linked = {"i18n": True, "alternates": True, "x_default": True} if i18n else {}
        serve(section(Combination(False, "none", media, media, media), **linked, **declared))
        found[way] = live()
        lines.add(live("txt"))
    assert len(set(found.values())) == len(lines) == 1
    assert lines.pop().decode().splitlines() == texts(found["methods"], "loc")
    assert len(texts(found["methods"], "priority")) == len(slugs) * (3 if i18n else 1)


@pytest.mark.usefixtures("articles")
def test_items_may_have_languages_of_their_own(schema: Any, serve: Any, tmp_path: Path) -> None:
    def languages_of(self: Any, item: Article) -> list[str]:
        return ["en", "de", "pt-br"][: item.pk % 3 + 1]

    declared = section(EVERYTHING, get_languages_for_item=languages_of)
    serve(declared)
    document = live()
    schema.assertValid(parsed(document))
    links = [sum(name == "xhtml:link" for name, _, _ in entry) for entry in entries(document)]
    # The languages of each item, and the link for all others, in each of its entries.
    expected = [len(languages_of(None, Article(pk=pk))) for pk in range(1, len(SLUGS) + 1)]
    assert links == [count + 1 for count in expected for _ in range(count)]
    assert live("txt").decode().split("\n") == [*texts(document, "loc"), ""]
    assert exported(declared, tmp_path) == document


@pytest.mark.usefixtures("articles")
def test_a_section_of_news_may_have_all_the_rest_too(schema: Any, serve: Any) -> None:
    class Newest(NewsSitemap[Article]):
        model = Article
        date_field = "updated"
        publication_name = "The <Example> & Times"
        i18n = alternates = x_default = True
        location = localized  # type: ignore[assignment]

        def title(self, item: Article) -> str:
            return text_of(item)

    Newest.images, Newest.videos = images, videos  # type: ignore[method-assign]
    serve(Newest)
    schema.assertValid(parsed(live()))
    assert parsed(live()).nsmap == EVERYTHING.namespaces
    assert texts(live(), "news:title") == [TEXTS[1]] * 3
    assert list(map(canonical, entries(by_contrib(Newest)))) == list(map(canonical, entries(live())))


# Readers


@pytest.mark.usefixtures("articles")
def test_sitemap_js_has_nothing_against_any_combination(sitemap_js: SitemapJs, serve: Any) -> None:
    documents = []
    for declared in COMBINATIONS:
        serve(section(declared))
        documents.append(live())
    items = sitemap_js.strictly(documents)
    assert [[item["url"] for item in some] for some in items] == [texts(one, "loc") for one in documents]
    full = items[COMBINATIONS.index(EVERYTHING)][0]
    assert len(full["links"]) == 4
    assert (len(full["img"]), len(full["video"])) == (2, 2)


@pytest.mark.usefixtures("articles")
def test_usp_gives_back_links_images_and_news(serve: Any) -> None:
    require("ultimate-sitemap-parser")
    serve(section(EVERYTHING))
    document = live()
    pages = usp_pages(document)
    assert len(pages) == len(entries(document)) == 3 * len(SLUGS)
    for page, entry in zip(pages, entries(document), strict=True):
        links = [dict(attributes) for name, _, attributes in entry if name == "xhtml:link"]
        assert page["alternates"] == [(link["hreflang"], link["href"]) for link in links]
        assert [image["loc"] for image in page["images"]] == [
            text for name, text, _ in entry if name == "image:loc"
        ]
        assert [image["caption"] for image in page["images"]][1] in {text.strip() for text in TEXTS}
        # It resolves references in these a second time.
        [title] = [text for name, text, _ in entry if name == "news:title"]
        assert page["news_story"]["title"] == unescape(title)
        assert page["news_story"]["publish_date"] == NOW


# Values of hooks


@dataclass(frozen=True)
class Given:
    """An item: what its hooks give, made when they are called."""

    location: Callable[[], Any]
    told: dict[str, Callable[[], Any]]


class Listed(Sitemap[Given]):
    """Three items, of which the second one is the one in question."""

    one: Given

    def items(self) -> list[Given]:
        return [self.plain("first"), self.one, self.plain("last")]

    @staticmethod
    def plain(name: str) -> Given:
        return Given(lambda: f"/{name}/", {})

    def location(self, item: Given) -> str:
        return item.location()  # type: ignore[no-any-return]


def hook(name: str) -> Any:
    return lambda self, item: item.told.get(name, lambda: None)()


def compiled(declared: type[Sitemap[Any]]) -> tuple[bytes, Written]:
    """A document of one page by the source and the writer alone."""
    limits = Limits(50_000, 50_000_000)
    found = sources.source("x", declared, Base("https", "www.example.com"), limits)
    [page] = sources.page_map(found, limits).pages
    chunks: list[bytes] = []
    written = write_urlset(
        found.batches(page), chunks.append, limits, base=BASE, namespaces=found.namespaces
    )
    return b"".join(chunks), written


def told(location: Callable[[], Any] = lambda: "/second/", **hooks: Callable[[], Any]) -> Any:
    """The document with such an item, and what was left out of it."""
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
#: What XML can hold.
readable = st.text(st.sampled_from("aZ09 &<>\"'äß日😀\t\n\r\x85\u2028"), min_size=1, max_size=8)


def mostly(good: Any, other: Any) -> Any:
    """One bad value of several is enough to lose them all."""
    return st.integers(0, 9).flatmap(lambda number: other if number == 9 else good)


prose = mostly(readable.filter(lambda text: not text.isspace()), anything)
good_urls = st.text("aZ09-._~ &<\"'äß日😀+;=,", max_size=8).map(str.strip)
urls = mostly(
    good_urls.map("/".__add__)
    | good_urls.filter(bool)
    | good_urls.map("https://example.net/".__add__)
    | st.sampled_from(["//cdn.example.net/a", "http://käse.example/ä", "HTTP://EXAMPLE.ORG"]),
    anything
    | anything.map("/".__add__)
    | anything.map("https://example.net/".__add__)
    | anything.map("http://".__add__)
    | st.sampled_from(["", "ftp://a/b", "/" + "ä" * 400, "https://[::1/", "http://a.example:99999/"]),
)
zones = st.sampled_from(
    [UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12)), ZoneInfo("Asia/Tokyo")]
)
moments = (
    st.dates()
    | st.datetimes()
    | st.datetimes(timezones=zones)
    | st.sampled_from([datetime.min, datetime.max, date.min, date.max])
    | st.sampled_from([datetime.min, datetime.max]).flatmap(
        lambda moment: zones.map(lambda zone: moment.replace(tzinfo=zone))
    )
)
recent = st.datetimes(
    min_value=NOW.replace(tzinfo=None) - timedelta(hours=40),
    max_value=datetime(9999, 12, 30),
    timezones=zones,
)
codes = ["en", "de-at", "pt_BR", "zh-hans", "zh_TW", "sr@latin", "es-419", "x-default", "fil", "gsw-CH"]
languages = mostly(
    st.sampled_from(codes),
    st.sampled_from(["zh", "no language", "", "i-klingon"]) | st.text("abzXZ-_@.19", max_size=8) | anything,
)


def errors_of(errors: Sequence[ItemError], field: str) -> int:
    """How many of them are of that field; all of them are of the second item."""
    assert {error.key for error in errors} <= {"2"}
    return sum(error.field == field for error in errors)


def same_url(written: str, given_url: str) -> bool:
    """Whether an absolute URI leads where a path, a URL or a name of a file was meant to."""
    assert re.fullmatch(r"https?://[a-z0-9.\-:\[\]_]+/[A-Za-z0-9\-._~:/?@!$&'()*+,;=%]*", written)
    if re.match("[A-Za-z]+:", given_url) and not re.match("https?://[^/?#]", given_url, re.IGNORECASE):
        # Taken for the name of a file, which is what a law below is about.
        return written.startswith(f"{BASE}/")
    if given_url.startswith("//"):
        given_url = f"https:{given_url}"
    elif given_url.startswith("/"):
        given_url = f"{BASE}{given_url}"
    elif not re.match("https?://", given_url, re.IGNORECASE):
        given_url = f"{BASE}/{given_url}"
    scheme, _, rest = given_url.partition("://")
    host, _, path = rest.partition("/")
    found_scheme, _, found_rest = written.partition("://")
    found_host, _, found_path = found_rest.partition("/")
    assert found_scheme == scheme.lower()
    if not re.fullmatch(r"[A-Za-z0-9.\-]+", host):
        # What comes of it is for the tests of the protocol.
        return True
    # Of a percent sign it is not known what it was meant for.
    return found_host == host.lower() and ("%" in path or unquote(found_path) == path)


def same_moment(written: str, given_moment: date) -> bool:
    """Whether a text is that day, or that second in UTC; naive times are of Zurich."""
    if not isinstance(given_moment, datetime):
        return written == given_moment.isoformat()
    if given_moment.tzinfo is None:
        given_moment = given_moment.replace(tzinfo=ZoneInfo("Europe/Zurich"))
    assert re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", written)
    found = datetime.fromisoformat(written.replace("Z", "+00:00"))
    return found == given_moment.astimezone(UTC).replace(microsecond=0)


def second(document: bytes) -> list[Fact]:
    """The entry in question."""
    _, *between, _ = entries(document)
    assert len(between) == 1
    return between[0]


def values(document: bytes, prefix: str) -> dict[str, str]:
    """Texts of the elements of an extension in the entry in question."""
    return {
        name.partition(":")[2]: text
        for name, text, _ in second(document)
        if name.startswith(f"{prefix}:") and name != f"{prefix}:{prefix}"
    }


def told_or_left_out(document: bytes, errors: list[ItemError], field: str, prefix: str) -> dict[str, str]:
    """What is written of an item, or nothing, and then one error that names it."""
    found = values(document, prefix)
    event("written" if found else "left out")
    assert errors_of(errors, field) == len(errors) == (0 if found else 1)
    return found


class TestAnyValueOfAHookIsWrittenAsItWasOrLeftOutAndNamedOnce:
    @given(url=urls, caption=prose, title=prose)
    @example(url="a.png", caption="\r\n", title="\x85")
    def test_of_an_image(self, schema: Any, url: str, caption: str, title: str) -> None:
        document, errors = told(images=lambda: [Image(url, caption=caption, title=title)])
        schema.assertValid(parsed(document))
        if found := told_or_left_out(document, errors, "images", "image"):
            assert same_url(found.pop("loc"), url)
            assert found == {name: text for name, text in (("caption", caption), ("title", title)) if text}

    @given(
        thumbnail=urls,
        title=prose,
        description=prose,
        content=urls | st.none(),
        player=urls | st.none(),
        published=moments | st.none(),
        expires=moments | st.none(),
        tags=st.lists(prose, max_size=3),
    )
    def test_of_a_video(
        self,
        schema: Any,
        thumbnail: str,
        title: str,
        description: str,
        content: str | None,
        player: str | None,
        published: date | None,
        expires: date | None,
        tags: list[str],
    ) -> None:
        document, errors = told(
            videos=lambda: [
                Video(
                    thumbnail,
                    title,
                    description,
                    content_loc=content,
                    player_loc=player,
                    publication_date=published,
                    expiration_date=expires,
                    tags=tags,
                )
            ]
        )
        schema.assertValid(parsed(document))
        if found := told_or_left_out(document, errors, "videos", "video"):
            assert (found["title"], found["description"]) == (title, description)
            assert same_url(found["thumbnail_loc"], thumbnail)
            assert ("content_loc" in found) == bool(content)
            assert ("player_loc" in found) == bool(player)
            assert not content or same_url(found["content_loc"], content)
            assert not player or player.startswith("//") or same_url(found["player_loc"], player)
            for name, moment in (("publication_date", published), ("expiration_date", expires)):
                assert (name in found) == (moment is not None)
                assert moment is None or same_moment(found[name], moment)
            assert [text for name, text, _ in second(document) if name == "video:tag"] == tags

    @given(name=prose, language=languages, published=mostly(recent, moments), title=prose)
    @example(name="a", language="en", published=NOW, title="t")
    @example(name="a", language="zh", published=NOW, title="t")
    def test_of_news(self, schema: Any, name: str, language: str, published: date, title: str) -> None:
        """News that are older than two days are left out without a word."""
        document, errors = told(news=lambda: News(name, language, published, title))
        schema.assertValid(parsed(document))
        found = values(document, "news")
        assert errors_of(errors, "news") == len(errors) <= 1
        event("written" if found else "left out")
        if found:
            assert not errors
            assert (found["name"], found["title"]) == (name, title)
            assert same_moment(found["publication_date"], published)
            assert language.lower().startswith(found["language"][:2])
        elif not errors:
            day = date(published.year, published.month, published.day)
            assert day <= (datetime.now(UTC) - timedelta(days=1)).date()

    @given(code=languages, url=urls)
    @example(code="de_AT", url="/")
    def test_of_an_alternate(self, schema: Any, code: str, url: str) -> None:
        document, errors = told(alternates=lambda: [("en", "/second/"), Alternate(code, url)])
        schema.assertValid(parsed(document))
        links = [dict(found) for name, _, found in second(document) if name == "xhtml:link"]
        assert errors_of(errors, "alternates") == len(errors) == (0 if links else 1)
        assert len(links) in (0, 2)
        event("written" if links else "left out")
        for link in links[1:]:
            assert url.startswith("//") or same_url(link["href"], url)
            if "@" not in code:
                assert link["hreflang"].lower() == code.replace("_", "-").lower()

    @given(location=urls, moment=moments | anything | st.integers() | st.none(), word=anything)
    @example(location="/a/", moment=None, word="never")
    def test_of_the_elements_of_the_protocol(
        self, schema: Any, location: str, moment: Any, word: str
    ) -> None:
        """The only ones where an item can go: for want of a location."""
        document, errors = told(
            lambda: location, lastmod=lambda: moment, changefreq=lambda: word, priority=lambda: "0.1"
        )
        schema.assertValid(parsed(document))
        gone = errors_of(errors, "location")
        assert len(entries(document)) == 3 - gone
        fields = [error.field for error in errors]
        assert len(fields) == len(set(fields))
        assert set(fields) <= {"location", "lastmod", "changefreq"}
        if not gone:
            found = {name: text for name, text, _ in second(document)}
            assert location.startswith("//") or same_url(found["loc"], location)
            assert ("lastmod" in found) == ("lastmod" not in fields and moment not in (None, ""))
            assert "lastmod" not in found or same_moment(found["lastmod"], moment)
            assert ("changefreq" in found) == ("changefreq" not in fields and word != "")
            assert found.get("changefreq", word) == word or "changefreq" in fields
            assert found["priority"] == "0.1"


def raising(*before: Any) -> Iterator[Any]:
    yield from before
    raise LookupError("mid-generator")


IMAGE = Image("/a.png")
VIDEO = Video("/t.png", "Title", "Description", content_loc="/v.mp4")
NEWS = News("The Times", "en", NOW, "Title")
ITSELF = Alternate("en", "/second/")
ONE: dict[str, Any] = {"images": IMAGE, "videos": VIDEO, "alternates": ITSELF}
ELEMENT = {
    "images": "image:image",
    "videos": "video:video",
    "alternates": "xhtml:link",
    "news": "news:news",
}
#: What a hook gives, how much of it is written, and how much is left out.
ANSWERS: dict[str, tuple[Callable[[Any], Any], int, int]] = {
    "None": (lambda one: None, 0, 0),
    "an empty list": (lambda one: [], 0, 0),
    "an empty tuple": (lambda one: (), 0, 0),
    "an empty generator": (lambda one: iter(()), 0, 0),
    "a tuple": (lambda one: (one,), 1, 0),
    "a generator": (lambda one: (some for some in [one]), 1, 0),
    "a view of a dict": (lambda one: {1: one}.values(), 1, 0),
    "a generator that raises": (lambda one: raising(one), 0, 1),
    "a generator that raises at once": (lambda one: raising(), 0, 1),
    "an error": (lambda one: 1 / 0, 0, 1),
    "a stop": (lambda one: next(iter(())), 0, 1),
    "a number": (lambda one: 5, 0, 1),
    "no": (lambda one: False, 0, 1),
    "a class": (lambda one: type(one), 0, 1),
    "a list of None": (lambda one: [None], 0, 1),
    "a list of numbers": (lambda one: [5], 0, 1),
    "a list of lists": (lambda one: [[one]], 0, 1),
    "a method": (lambda one: one.__repr__, 0, 1),
}
SEVERAL = [(name, answer) for name in ONE for answer in ANSWERS]


@pytest.mark.parametrize(("name", "answer"), SEVERAL)
def test_whatever_a_hook_gives_costs_no_more_than_itself(schema: Any, name: str, answer: str) -> None:
    give, count, left_out = ANSWERS[answer]
    document, errors = told(**{name: partial(give, ONE[name])})
    schema.assertValid(parsed(document))
    assert len(texts(document, ELEMENT[name])) == count
    assert [(error.key, error.field) for error in errors] == [("2", name)] * left_out


@pytest.mark.parametrize("answer", ["a list", "a number", "a text", "an image", "no", "an error"])
def test_news_are_one_object_or_none(schema: Any, answer: str) -> None:
    give: dict[str, Callable[[], Any]] = {
        "a list": lambda: [NEWS],
        "a number": lambda: 5,
        "a text": lambda: "news",
        "an image": lambda: IMAGE,
        "no": lambda: False,
        "an error": lambda: News("The Times", "en", NOW, ""),
    }
    document, errors = told(news=give[answer])
    schema.assertValid(parsed(document))
    assert texts(document, "news:news") == []
    assert [(error.key, error.field) for error in errors] == [("2", "news")]


@pytest.mark.parametrize("name", ["content_loc", "player_loc"])
def test_an_empty_location_of_a_video_is_none(name: str) -> None:
    locations = {"content_loc": "/v.mp4", "player_loc": "/p", name: ""}
    document, errors = told(videos=lambda: [Video("/t.png", "T", "D", **locations)])
    assert errors == []
    assert len(texts(document, "video:content_loc") + texts(document, "video:player_loc")) == 1
    assert texts(document, f"video:{name}") == []


@pytest.mark.parametrize("name", ["images", "videos"])
def test_one_bad_value_of_several_costs_itself(name: str) -> None:
    document, errors = told(**{name: lambda: [ONE[name], None, ONE[name]]})
    assert len(texts(document, ELEMENT[name])) == 2
    assert [(error.key, error.field) for error in errors] == [("2", name)]


def test_one_bad_link_costs_all_of_its_item() -> None:
    """A set of links is whole, or one that crawlers ignore."""
    document, errors = told(alternates=lambda: [ITSELF, ("de", "nowhere"), ("fr", "/fr/")])
    assert texts(document, "xhtml:link") == []
    assert [(error.key, error.field) for error in errors] == [("2", "alternates")]


@pytest.mark.parametrize(
    "links",
    [
        [ITSELF, ("EN", "/other/")],
        [("de", "/de/")],
        [ITSELF, ("de_AT", "/de/"), ("de-at", "/at/")],
        [("en", "/second"), ("de", "/de/")],
    ],
    ids=["a language twice", "not itself", "a language in two forms", "itself without its slash"],
)
def test_links_that_crawlers_ignore_are_not_written(links: Any) -> None:
    document, errors = told(alternates=lambda: links)
    assert texts(document, "xhtml:link") == []
    assert [(error.key, error.field) for error in errors] == [("2", "alternates")]


def test_of_more_images_than_a_page_may_have_the_first_ones_are_written(schema: Any) -> None:
    document, errors = told(images=lambda: (Image(f"/{number}.png") for number in range(1_001)))
    schema.assertValid(parsed(document))
    assert texts(document, "image:loc") == [f"{BASE}/{number}.png" for number in range(1_000)]
    assert [(error.key, error.field) for error in errors] == [("2", "images")]


def test_a_video_of_the_page_itself_is_left_out() -> None:
    for url in ("/second/", f"{BASE}/second/", "//www.example.com/second/"):
        document, errors = told(videos=lambda url=url: [Video("/t.png", "T", "D", content_loc=url), VIDEO])
        assert len(texts(document, "video:video")) == 1
        assert [(error.key, error.field) for error in errors] == [("2", "videos")]


def test_an_item_in_several_languages_is_named_once() -> None:
    document, written = compiled(
        type(
            "Declared",
            (Listed,),
            {
                "one": Given(lambda: "/second/", {"images": lambda: 5}),
                "images": hook("images"),
                "i18n": True,
            },
        )
    )
    assert len(texts(document, "loc")) == 9
    assert [(error.key, error.field) for error in written.errors] == [("2", "images")]


@pytest.mark.parametrize(
    ("answer", "links", "left_out"),
    [
        (True, f"{BASE}/second/", 0),
        (False, None, 0),
        (None, None, 0),
        ("/any/", f"{BASE}/any/", 0),
        ("https://www.example.net/ä", "https://www.example.net/%C3%A4", 0),
        ("nowhere", None, 1),
        (5, None, 1),
        ("\x00", None, 1),
    ],
)
def test_a_method_says_whether_an_item_has_a_link_for_all_others_or_which(
    answer: Any, links: str | None, left_out: int
) -> None:
    one = Given(lambda: "/second/", {"x_default": lambda: answer})
    declared = {"one": one, "i18n": True, "alternates": True, "x_default": hook("x_default")}
    document, written = compiled(type("Declared", (Listed,), declared))
    for entry in entries(document)[3:6]:
        found = {
            dict(some)["hreflang"]: dict(some)["href"] for name, _, some in entry if name == "xhtml:link"
        }
        assert found.pop("x-default", None) == links
        assert set(found) == {"en", "de", "pt-BR"}
    assert [(error.key, error.field) for error in written.errors] == [("2", "x_default")] * left_out


# What is left out is counted and named


def wrong(self: Any, item: Article) -> Any:
    return _wrong(item)


def _wrong(item: Article) -> Any:
    if item.pk == 2:
        raise ValueError("a bad one")
    return None


def _wrong_always(self: Any, item: Article) -> Any:
    raise ValueError("a bad one")


KINDS: dict[str, dict[str, Any]] = {
    "images": {"images": wrong},
    "videos": {"videos": wrong},
    "news": {"news": wrong},
    "alternates": {"alternates": wrong},
    "x_default": {"i18n": True, "alternates": True, "x_default": wrong},
    "shop": {"extensions": [Extension("shop", SHOP, _wrong)]},
    "lastmod": {"lastmod": wrong},
}


@pytest.mark.usefixtures("articles")
@pytest.mark.parametrize("kind", KINDS)
class TestABadOneIsLeftOutCountedAndNamedAndItsUrlStays:
    def test_in_an_export(self, kind: str, tmp_path: Path) -> None:
        declared = section(Combination(), **KINDS[kind])
        [found] = export(output=tmp_path, sitemaps={"x": declared}).sections
        assert (found.left_out, found.failure) == (1, None)
        [error] = found.errors
        assert (error.key, error.field) == ("2", kind)
        assert "a bad one" in error.reason
        document = gzip.decompress((tmp_path / "sitemap-x-1.xml.gz").read_bytes())
        assert len(set(texts(document, "loc"))) == len(SLUGS)

    def test_and_nothing_of_a_strict_export_is_published(self, kind: str, tmp_path: Path) -> None:
        declared = section(Combination(), **KINDS[kind])
        before = exported(section(Combination()), tmp_path)
        report: Report = export(output=tmp_path, sitemaps={"x": declared}, strict=True)
        assert not report.published
        assert report.failures
        assert report.sections[0].left_out == 1
        assert gzip.decompress((tmp_path / "sitemap-x-1.xml.gz").read_bytes()) == before

    def test_in_the_log_of_a_live_page(
        self, kind: str, serve: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        serve(section(Combination(), **KINDS[kind]))
        with caplog.at_level(logging.WARNING):
            assert len(set(texts(live(), "loc"))) == len(SLUGS)
        [record] = [record for record in caplog.records if "left out" in record.getMessage()]
        assert f"item 2: {kind} " in record.getMessage()
        assert "a bad one" in record.getMessage()


# Extensions of a project


def shop(xml: Callable[[Any], Any], *others: Extension) -> dict[str, Any]:
    return {"extensions": [Extension("shop", SHOP, xml), *others]}


def without(document: bytes, *spaces: str) -> Any:
    """The document as schemas know it: without elements that they do not."""
    root = parsed(document)
    for url in root:
        for child in url:
            if etree.QName(child).namespace in spaces:
                url.remove(child)
    return root


def with_extension(xml: Callable[[Any], Any], *others: Extension) -> tuple[bytes, list[ItemError]]:
    """The second of three items is the one that is `True`."""
    declared = {
        "items": lambda self: [False, True, False],
        "location": lambda self, item: f"/{item}/",
        **shop(lambda item: xml(item), *others),
    }
    document, written = compiled(type("Declared", (Sitemap,), declared))
    return document, list(written.errors)


BAD_XML = {
    "not closed": "<shop:a>",
    "closed twice": "<shop:a/></shop:a>",
    "out of its entry": "</url><url><loc>https://evil.example/</loc></url>",
    "out of all": "</url></urlset>",
    "of the sitemap": "<loc>https://evil.example/</loc>",
    "of no namespace": '<a xmlns=""/>',
    "of another prefix": "<other:a/>",
    "of another namespace": '<shop:a xmlns:shop="https://example.org/other"/>',
    "an attribute of another namespace": '<shop:a xmlns:o="https://example.org/other" o:b=""/>',
    "a text alone": "text",
    "an entity": "<shop:a>&nbsp;</shop:a>",
    "a DTD": "<!DOCTYPE a><shop:a/>",
    "a processing instruction": "<?php ?><shop:a/>",
    "a comment that does not end": "<shop:a/><!-- ",
    "a CDATA that does not end": "<shop:a><![CDATA[ ",
    "a control character": "<shop:a>\x00</shop:a>",
    "a reference to one": "<shop:a>&#0;</shop:a>",
    "half of a character": "<shop:a>\ud800</shop:a>",
    "two colons": "<shop:a:b/>",
    "too deep": "<shop:a>" * 51 + "</shop:a>" * 51,
    "a number": 5,
    "a list": ["<shop:a/>"],
}


class TestAnExtension:
    @pytest.mark.parametrize("bad", BAD_XML)
    def test_that_is_bad_xml_is_left_out_and_named(self, schema: Any, bad: str) -> None:
        document, errors = with_extension(lambda item: BAD_XML[bad] if item else "<shop:ok/>")
        assert [(error.key, error.field) for error in errors] == [("2", "shop")]
        assert texts(document, "loc") == [f"{BASE}/{item}/" for item in (False, True, False)]
        assert [len(entry) for entry in entries(document)] == [2, 1, 2]
        schema.assertValid(without(document, SHOP))

    @pytest.mark.parametrize("nothing", ["", " \n", "<!-- -->", None])
    def test_may_have_nothing_to_say_of_an_item(self, nothing: Any) -> None:
        document, errors = with_extension(lambda item: nothing if item else "<shop:ok/>")
        assert errors == []
        assert [len(entry) for entry in entries(document)] == [2, 1, 2]

    def test_declares_its_namespace_once_and_on_the_root(self) -> None:
        document, errors = with_extension(
            lambda item: f'<other:a xmlns:other="{SHOP}" other:b="c"/>' if item else '<shop:a shop:b="c"/>'
        )
        assert errors == []
        assert document.count(b"xmlns:") == document.count(SHOP.encode()) == 1
        assert parsed(document).nsmap == {None: SITEMAP_NAMESPACE, "shop": SHOP}
        assert document.count(b'<shop:a shop:b="c"/>') == 3

    def test_differs_from_item_to_item_and_stands_beside_another_one(self, schema: Any) -> None:
        other = "https://example.org/other"
        document, errors = with_extension(
            lambda item: "<shop:price>1</shop:price>" if item else "<shop:gone/>",
            Extension("other", other, lambda item: "<other:a/>" if item else ""),
        )
        assert errors == []
        names = [[etree.QName(child).text for child in url][1:] for url in parsed(document)]
        gone = [f"{{{SHOP}}}gone"]
        assert names == [gone, [f"{{{SHOP}}}price", f"{{{other}}}a"], gone]
        schema.assertValid(without(document, SHOP, other))

    def test_that_fails_costs_another_one_nothing(self) -> None:
        other = Extension("other", "https://example.org/other", lambda item: "<other:a/>")
        document, errors = with_extension(lambda item: 1 / 0, other)
        assert [(error.key, error.field) for error in errors] == [(key, "shop") for key in "123"]
        assert document.count(b"<other:a/>") == 3

    def test_with_line_ends_stays_on_the_line_of_its_entry(self) -> None:
        document, errors = with_extension(
            lambda item: '\n<shop:a b="c\nd&#10;e">\r\nf\tg\n<!-- \n -->\n</shop:a\n>\n<shop:b/>\n'
        )
        assert errors == []
        assert len(document.split(b"\n")) == 2 + 3 + 1 + 1
        assert b"\r" not in document
        assert {element.text for element in parsed(document).iter(f"{{{SHOP}}}a")} == {"\nf\tg\n\n"}
        assert {element.get("b") for element in parsed(document).iter(f"{{{SHOP}}}a")} == {"c d\ne"}

    @given(
        st.lists(st.sampled_from(["<shop:a>", "</shop:a>", "<shop:b c='", "'/>", "</url>"]) | anything).map(
            "".join
        )
    )
    @example("<shop:a>]]&gt;&#13;</shop:a>")
    def test_of_any_text_breaks_nothing(self, schema: Any, text: str) -> None:
        document, errors = with_extension(lambda item: text if item else "<shop:ok/>")
        root = parsed(document)
        assert len(root) == 3
        assert root.nsmap == {None: SITEMAP_NAMESPACE, "shop": SHOP}
        assert len(document.split(b"\n")) == 7
        schema.assertValid(without(document, SHOP))
        assert {etree.QName(element).namespace for element in root.iter("*")} == {SITEMAP_NAMESPACE, SHOP}
        assert [(error.key, error.field) for error in errors] in ([], [("2", "shop")])
        if errors:
            assert len(root[1]) == 1

    @pytest.mark.usefixtures("articles")
    def test_stands_behind_all_others_by_every_road(self, schema: Any, serve: Any, tmp_path: Path) -> None:
        def price(item: Article) -> str:
            return f'<shop:price currency="CHF">{item.pk}\n</shop:price>'

        declared = section(EVERYTHING, **shop(price))
        serve(declared)
        document = live()
        schema.assertValid(without(document, SHOP))
        assert parsed(document).nsmap == EVERYTHING.namespaces | {"shop": SHOP}
        assert all(name_of(url[-1]) == "shop:price" for url in parsed(document))
        assert texts(document, "shop:price") == [f"{n}\n" for n in range(1, len(SLUGS) + 1) for _ in "123"]
        assert exported(declared, tmp_path) == document
        assert list(map(canonical, entries(by_contrib(declared)))) == list(
            map(canonical, entries(document))
        )


# What others found out


@pytest.mark.parametrize("name", ["images", "videos"])
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(NEWS, id="news"),
        pytest.param("/a.png", id="a text"),
    ],
)
def test_what_is_no_list_is_left_out_and_named_once(name: str, answer: Any) -> None:
    document, errors = told(**{name: lambda: answer})
    assert texts(document, ELEMENT[name]) == []
    assert [(error.key, error.field) for error in errors] == [("2", name)]


@pytest.mark.parametrize("prefix", ["alternates", "images", "videos"])
def test_an_extension_may_have_the_name_of_a_hook_for_a_prefix(prefix: str) -> None:
    own = Extension(prefix, SHOP, lambda item: f"<{prefix}:a/>")
    document, written = compiled(
        type("Declared", (Listed,), {"one": Listed.plain("b"), "extensions": [own]})
    )
    assert texts(document, "shop:a") == [""] * 3
    assert written.errors == ()


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("there are no words for it")


def test_an_error_without_words_costs_its_item_alone() -> None:
    def failing() -> None:
        raise Unspeakable

    _, errors = told(images=failing)
    assert [(error.key, error.field) for error in errors] == [("2", "images")]


@pytest.mark.parametrize(
    "given_url", ["/terms ä", "https://example.org/terms ä", "nowhere at all", "ftp://a/b"]
)
def test_every_url_of_an_extension_is_made_a_uri_or_refused(given_url: str) -> None:
    document, errors = told(
        images=lambda: [Image("/a.png", license=given_url)],
        videos=lambda: [Video("/t.png", "T", "D", player_loc="/p", uploader="U", uploader_info=given_url)],
    )
    found = texts(document, "image:license")
    found += [dict(some)["info"] for name, _, some in second(document) if name == "video:uploader"]
    assert len(found) + len(errors) == 2
    assert all(re.fullmatch(r"https?://[!-~]+", url) for url in found)


@pytest.mark.parametrize(
    "url", ["ftp://a.example/a.png", "data:image/png;base64,AA==", "http://", "https:///a.png"]
)
def test_an_image_that_no_crawler_can_ask_for_is_refused(url: str) -> None:
    document, errors = told(images=lambda: [Image(url)])
    assert texts(document, "image:loc") == []
    assert [(error.key, error.field) for error in errors] == [("2", "images")]


@pytest.mark.parametrize("space", [" ", "\u3000", "\u2028"])
def test_space_around_the_url_of_an_image_makes_no_other_url_of_it(space: str) -> None:
    document, errors = told(images=lambda: [Image(f"{space}https://cdn.example.net/a.png")])
    assert texts(document, "image:loc") in ([], ["https://cdn.example.net/a.png"])
    assert len(texts(document, "image:loc")) + len(errors) == 1


def test_a_url_without_a_scheme_is_on_its_host_wherever_it_stands() -> None:
    document, _ = told(
        videos=lambda: [Video("//cdn.example.net/t", "T", "D", player_loc="//player.example.net/")],
        alternates=lambda: [ITSELF, ("de", "//www.example.de/")],
    )
    assert texts(document, "video:player_loc") == ["https://player.example.net/"]
    links = [dict(some)["href"] for name, _, some in second(document) if name == "xhtml:link"]
    assert links[1] == "https://www.example.de/"


@pytest.mark.parametrize(
    "declared",
    [
        {
            "alternates": lambda self, item: [
                ("en", "https://a.example/1/"),
                ("de", "https://www.example.de/"),
            ]
        },
        {"videos": lambda self, item: [Video("/t", "T", "D", content_loc="https://b.example/1/")]},
    ],
    ids=["links that do not name the item", "the video of the page itself"],
)
def test_the_page_itself_is_that_of_any_of_several_hosts(
    schema: Any, tmp_path: Path, declared: dict[str, Any]
) -> None:
    location = {"items": lambda self: [1], "location": lambda self, item: f"/{item}/"}
    sitemaps = {"x": type("Declared", (Sitemap,), {**location, **declared})}
    hosts = ["https://a.example", "https://b.example"]
    export_hosts(hosts, output=tmp_path, sitemaps=sitemaps)
    for host in ("a.example", "b.example"):
        [entry] = entries(gzip.decompress((tmp_path / host / "sitemap-x-1.xml.gz").read_bytes()))
        # A set that names the page on one of the hosts is written on all of them.
        assert (entry == [("loc", f"https://{host}/1/", ())]) == ("videos" in declared)


@pytest.mark.usefixtures("articles")
def test_what_is_left_out_twice_in_the_same_words_is_counted_once(tmp_path: Path) -> None:
    """A page that is cut reads some rows twice."""
    declared = section(Combination(), images=lambda self, item: [None, None] if item.pk == 2 else [])
    [found] = export(output=tmp_path, sitemaps={"x": declared}).sections
    assert found.left_out == 1


@pytest.mark.usefixtures("articles")
def test_a_text_is_whole_whatever_is_wrong_with_what_it_cannot_hold(tmp_path: Path) -> None:
    declared = section(Combination(), format="text", **KINDS["images"])
    report = export(output=tmp_path, sitemaps={"x": declared}, strict=True)
    assert (report.published, report.sections[0].left_out) == (True, 0)


class Uncompiled(ModelSitemap[Article]):
    """A project's own machinery, if only in name."""

    def get_urls(self, *args: Any, **options: Any) -> list[dict[str, Any]]:
        return super().get_urls(*args, **options)


@pytest.mark.usefixtures("articles")
class TestASitemapWithItsOwnGetUrls:
    @pytest.mark.parametrize("declared", [one for one in COMBINATIONS if one.core], ids=str)
    def test_has_the_same_entries(self, declared: Combination, serve: Any) -> None:
        serve(section(declared))
        expected = live()
        serve(type("Own", (Uncompiled,), {**vars(section(declared))}))
        assert list(map(canonical, entries(live()))) == list(map(canonical, entries(expected)))

    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "lastmod"])
    def test_leaves_out_counts_and_names_what_is_bad(self, kind: str, tmp_path: Path) -> None:
        declared = vars(section(Combination(), **KINDS[kind]))
        sitemaps = {"x": type("Own", (Uncompiled,), {**declared})}
        [found] = export(output=tmp_path, sitemaps=sitemaps, strict=True).sections
        assert (found.left_out > 0, found.failure) == (True, None)
        assert {error.field for error in found.errors} == {kind}

    def test_has_no_links_that_crawlers_ignore(self, serve: Any) -> None:
        serve(
            type(
                "Own", (Uncompiled,), {"model": Article, "alternates": lambda self, item: [("de", "/de/")]}
            )
        )
        assert texts(live(), "xhtml:link") == []


def on_both_roads(serve: Any, declared: Any) -> tuple[Any, Any]:
    """The entries of a section by ours and by contrib's."""
    serve(declared)
    return list(map(canonical, entries(live()))), list(map(canonical, entries(by_contrib(declared))))


LINKED: dict[str, Any] = {"i18n": True, "alternates": True, "queryset": Article.objects.filter(pk=1)}


@pytest.mark.usefixtures("articles")
class TestByTheRoadOfContrib:
    def test_all_urls_are_absolute(self, serve: Any) -> None:
        ours, theirs = on_both_roads(
            serve,
            section(
                Combination(),
                images=lambda self, item: [Image("/a.png", license="/terms")],
                videos=lambda self, item: [
                    Video("/t", "T", "D", player_loc="/p", uploader="U", uploader_info="/u")
                ],
            ),
        )
        assert theirs == ours

    def test_links_stand_where_a_path_has_to_be_quoted(self, serve: Any) -> None:
        ours, theirs = on_both_roads(serve, section(Combination(alternates="method")))
        assert theirs == ours

    @pytest.mark.parametrize(
        "declared",
        [
            pytest.param({"alternates": lambda self, item: [("no language", "/x/")]}, id="no language"),
            pytest.param({"alternates": lambda self, item: [["fr", "/x/"]]}, id="a list for a pair"),
            pytest.param({"alternates": lambda self, item: [("de", "/x/")]}, id="a language twice"),
            pytest.param({"x_default": lambda self, item: "/any/"}, id="x-default is a path"),
            pytest.param({"x_default": lambda self, item: "nowhere"}, id="x-default is nowhere"),
            pytest.param({"x_default": _wrong_always}, id="x-default raises"),
            pytest.param(
                {"alternates": False, "x_default": lambda self, item: "/any/"}, id="x-default alone"
            ),
            pytest.param(shop(lambda item: 1 / 0), id="an extension raises"),
        ],
    )
    def test_an_item_in_several_languages_is_as_by_ours(self, serve: Any, declared: dict[str, Any]) -> None:
        ours, theirs = on_both_roads(serve, section(Combination(), **LINKED | declared))
        assert theirs == ours

    @pytest.mark.parametrize(
        "key",
        [
            pytest.param({"images": (some for some in "a")}, id="a generator"),
            pytest.param({"videos": 5}, id="a number"),
            pytest.param({"extensions": "jpg"}, id="a text"),
            pytest.param({"extensions": ["jpg", "png"]}, id="texts"),
        ],
    )
    def test_dicts_of_others_may_have_keys_of_our_names(self, key: dict[str, Any]) -> None:
        """A template of the project's may know them; contrib's does not."""

        class Others(contrib.Sitemap):  # type: ignore[type-arg]
            def get_urls(self, *args: Any, **options: Any) -> Any:
                return [{"location": "https://www.example.com/a/", "item": 1} | key]

        assert texts(by_contrib(Others), "loc") == ["https://www.example.com/a/"]

    def test_two_sections_of_one_document_have_one_namespace_for_a_prefix(self) -> None:
        other = Extension("shop", "https://example.org/other", lambda item: "<shop:b/>")
        with pytest.raises(ImproperlyConfigured, match="prefix 'shop'"):
            by_contrib(
                section(Combination(), **shop(lambda item: "<shop:a/>")),
                section(Combination(), extensions=[other]),
            )

    @pytest.mark.parametrize(
        "declared",
        [
            pytest.param({}, id="plain"),
            pytest.param({**CORE, "images": images, "videos": videos, "news": news}, id="media"),
            pytest.param({"queryset": LINKED["queryset"], "alternates": alternates}, id="links"),
            pytest.param(shop(lambda item: "<shop:a/>"), id="an extension"),
            pytest.param(
                {"images": lambda self, item: []},
                id="nothing given",
            ),
            pytest.param(
                {"alternates": lambda self, item: [("de", "/de/")]},
                id="not itself",
            ),
            pytest.param(
                {"x_default": lambda self, item: "/any/"},
                id="x-default without i18n",
            ),
        ],
    )
    def test_the_bytes_are_the_same_whether_somebody_looked_or_not(self, declared: dict[str, Any]) -> None:
        found = section(Combination(), **declared)
        response: Any = views.sitemap(RequestFactory().get("/"), {"0": found})
        assert len(response.context_data["urlset"]) > 0
        assert response.render().content == by_contrib(found)


class TestAProjectThatCameFromContrib:
    def test_may_do_with_its_items_of_languages_what_it_likes(self) -> None:
        class Sorted(Sitemap):
            i18n = True
            languages = ("en", "de")

            def items(self) -> list[int]:
                return [1, 2]

            def _items(self) -> Any:
                found = super()._items()
                found.sort(key=lambda pair: (pair[1], pair[0]))
                return found

            def location(self, item: int) -> str:
                return f"/{item}/"

        assert by_contrib(Sorted).count(b"<url>") == 4

    def test_has_links_without_a_scheme_as_ours_are(self) -> None:
        class Linked(Sitemap):
            i18n = True
            languages = ("en",)
            alternates = lambda self, item: [("it", "//b.example/x")]  # noqa: E731
            x_default = lambda self, item: "//x.example/y"  # noqa: E731

            def items(self) -> list[int]:
                return [1]

            def location(self, item: int) -> str:
                return f"/{item}/"

        document = by_contrib(Linked)
        assert b"://b.example/x" in document
        assert b"://x.example/y" in document
        assert document.count(b"//") == document.count(b"://")

    def test_is_told_of_a_prefix_that_is_there_twice(self) -> None:
        pair = [Extension("p", f"urn:{name}:x", lambda item: "<p:a/>") for name in "ab"]
        twice = type("Twice", (Sitemap,), {"items": lambda self: [1], "location": "/", "extensions": pair})
        with pytest.raises(ImproperlyConfigured, match="twice"):
            by_contrib(twice)
