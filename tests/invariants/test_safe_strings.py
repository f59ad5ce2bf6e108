"""A string that is marked as safe is escaped once, in each hook and by each reader."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any
from xml.sax.saxutils import escape as escape_xml

import pytest
from django.core.cache import cache
from django.test import RequestFactory
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe

from django_sitemaps09 import Alternate, Extension, Image, News, Sitemap, Video, views
from django_sitemaps09.entries import Platform, Restriction
from django_sitemaps09.export import export
from django_sitemaps09.views import compat
from tests.support.configuration import BASE
from tests.support.published import pages, plain, quick_folder

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
Mark = Callable[[str], Any]
TEXT = "Fish & \"Chips\" <b>'fried'</b> & more"
NOW = timezone.now()


class Jinja(str):
    """Like `markupsafe.Markup`, which marks strings for all template engines."""

    def __html__(self) -> str:
        return self


class Shown:
    """An object whose text is marked as safe."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return escape(self.text)


def in_xml(text: str) -> str:
    return escape_xml(text, {'"': "&quot;", "'": "&apos;"})


def same(text: str) -> Any:
    return text


#: Ways to mark text, and whether the result is a string, which a URL must be.
MARKS: dict[str, tuple[Mark, bool]] = {
    "escape": (escape, True),
    "format_html": (lambda text: format_html("{}", text), True),
    "jinja": (lambda text: Jinja(html.escape(text)), True),
    "lazy": (lazy(escape, SafeString), False),
    "lazy str": (lazy(escape, str), False),
    "str": (Shown, False),
}


def section(mark: Mark, mark_url: Mark) -> Any:
    """Return a class whose hooks return marked text and URLs."""
    address = mark_url("/a/?a=1&copy=2&lt;")
    extension = Extension(
        mark("own"), mark("https://example.org/?a&b"), lambda item: "<own:a>&amp;</own:a>"
    )

    class Marked(Sitemap):
        changefreq: Any = mark_url("daily")
        priority: Any = mark_url("0.5")
        extensions = (extension,)

        def items(self) -> Any:
            return [1, 2]

        def location(self, item: Any) -> Any:
            return address if item == 1 else "/b/"

        def alternates(self, item: Any) -> Any:
            return [Alternate("de", mark_url("/de/?a&b")), Alternate("en", address)] if item == 1 else []

        def images(self, item: Any) -> Any:
            names = ("caption", "geo_location", "title")
            return [Image(address, license=address, **{name: mark(TEXT) for name in names})]

        def videos(self, item: Any) -> Any:
            place = mark_url("/v/?a&b")
            platform, restriction = Platform("allow", [mark("web")]), Restriction("deny", [mark("AT")])
            return [
                Video(
                    *(place, mark(TEXT), mark(TEXT)),
                    content_loc=place,
                    player_loc=place,
                    tags=[mark(TEXT), mark("b")],
                    uploader=mark(TEXT),
                    uploader_info=place,
                    platform=platform,
                    restriction=restriction,
                )
            ]

        def news(self, item: Any) -> Any:
            return News(mark(TEXT), mark("en"), NOW, mark(TEXT))

    return Marked


def opaque(section: Any) -> Any:
    """Return the class with a `get_urls()` of its own, so its entry dicts are read."""

    class Opaque(section):  # type: ignore[misc]
        def get_urls(self, *arguments: Any, **options: Any) -> Any:
            return super().get_urls(*arguments, **options)

    return Opaque


def native(section: Any) -> bytes:
    cache.clear()
    request = RequestFactory().get("/", headers={"host": "www.example.com"})
    response = views.page(request, section="s", page="1", sitemaps={"s": section})
    return response.content


def compatible(section: Any) -> bytes:
    response = compat.sitemap(RequestFactory().get("/"), sitemaps={"s": section}, section="s")
    return response.render().content


def exported(section: Any) -> bytes:
    with quick_folder() as folder:
        export(sitemaps={"s": section}, output=folder, base_url=BASE)
        return b"".join(plain((folder / name).read_bytes(), compressed=True) for name in pages(folder))


WAYS = {
    "native": native,
    "exported": exported,
    "compatible": compatible,
    "get_urls native": lambda section: native(opaque(section)),
    "get_urls compatible": lambda section: compatible(opaque(section)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MARKS)
def test_marked_text_is_written_as_the_text_itself(way: str, name: str) -> None:
    mark, is_str = MARKS[name]
    document = WAYS[way](section(mark, mark if is_str else same))
    assert document == WAYS[way](section(same, same))
    assert in_xml(TEXT).encode() in document
    assert b"&amp;amp;" not in document


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("marked", "text"),
    [
        ("<b>", "<b>"),
        ("a & b &amp b", "a & b &amp b"),
        ("?a=1&copy=2", "?a=1&copy=2"),
        ("&nbsp;&eacute;", "\xa0é"),
        ("&unknown;", "&unknown;"),
        ("&#39;&#x27;&lt;loc&gt;", "''<loc>"),
        ("a&#0;&#1;b", "a\ufffdb"),
        ("&amp;amp;", "&amp;"),
        ("]]>&#xD800;", "]]>\ufffd"),
    ],
)
def test_no_marked_text_becomes_markup(way: str, marked: str, text: str) -> None:
    class Titled(Sitemap):
        def items(self) -> Any:
            return [1]

        def location(self, item: Any) -> str:
            return "/a/"

        def news(self, item: Any) -> Any:
            return News(mark_safe(marked), "en", NOW, mark_safe(marked))  # noqa: S308

    written = f"<news:title>{in_xml(text)}</news:title>"
    assert written in WAYS[way](Titled).decode()


@pytest.mark.parametrize("way", WAYS)
def test_a_marked_location_cannot_leave_its_host(way: str) -> None:
    class Elsewhere(Sitemap):
        def items(self) -> Any:
            return [1]

        def location(self, item: Any) -> Any:
            return mark_safe("&period;evil.example/")

    assert b"evil" not in WAYS[way](Elsewhere)
