"""Whole documents of the compatibility views and of opaque sitemaps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps as contrib
from django.core.exceptions import ImproperlyConfigured
from django.test import RequestFactory

from django_sitemaps09 import Extension, Image, ModelSitemap, Sitemap, Video, views
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.documents import (
    COMBINATIONS,
    CORE,
    KINDS,
    Combination,
    alternates,
    by_contrib,
    canonical,
    entries,
    images,
    live,
    news,
    section,
    shop,
    texts,
    videos,
)

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09]


def _wrong_always(self: Any, item: Article) -> Any:
    raise ValueError("a bad one")


class Uncompiled(ModelSitemap[Article]):
    """Opaque sitemap whose `get_urls()` changes nothing."""

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

    @pytest.mark.parametrize("kind", KINDS)
    def test_skips_counts_and_reports_invalid_values(self, kind: str, tmp_path: Path) -> None:
        declared = vars(section(Combination(), **KINDS[kind]))
        sitemaps = {"x": type("Own", (Uncompiled,), {**declared})}
        [found] = export(output=tmp_path, sitemaps=sitemaps, strict=True).sections
        assert (found.skipped_items, found.skipped_elements > 0, found.failure) == (0, True, None)
        assert {error.field for error in found.errors} == {kind}

    def test_has_no_links_that_crawlers_ignore(self, serve: Any) -> None:
        serve(
            type(
                "Own", (Uncompiled,), {"model": Article, "alternates": lambda self, item: [("de", "/de/")]}
            )
        )
        assert texts(live(), "xhtml:link") == []


def by_both_packages(serve: Any, declared: Any) -> tuple[Any, Any]:
    """Return the entries of a section from this package and from contrib."""
    serve(declared)
    return list(map(canonical, entries(live()))), list(map(canonical, entries(by_contrib(declared))))


LINKED: dict[str, Any] = {"i18n": True, "alternates": True, "queryset": Article.objects.filter(pk=1)}


@pytest.mark.usefixtures("articles")
class TestCompatibilityViews:
    @pytest.mark.parametrize(
        "declared",
        [
            pytest.param(
                {
                    "images": lambda self, item: [Image("/a.png", license="/terms")],
                    "videos": lambda self, item: [
                        Video("/t", "T", "D", player_loc="/p", uploader="U", uploader_info="/u")
                    ],
                },
                id="paths of media",
            ),
            pytest.param({"alternates": alternates}, id="links to paths that must be quoted"),
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
    def test_an_item_is_the_same_in_one_language_and_in_several(
        self, serve: Any, declared: dict[str, Any]
    ) -> None:
        for more in ({}, LINKED):
            ours, theirs = by_both_packages(serve, section(Combination(), **more | declared))
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
        """A project's template may use these keys, but contrib's does not."""

        class Others(contrib.Sitemap):  # type: ignore[type-arg]
            def get_urls(self, *args: Any, **options: Any) -> Any:
                return [{"location": "https://www.example.com/a/", "item": 1} | key]

        assert texts(by_contrib(Others), "loc") == ["https://www.example.com/a/"]

    @pytest.mark.parametrize("swapped", [False, True])
    def test_paths_of_media_are_on_the_host_of_their_section(self, swapped: bool) -> None:
        class Secure(Sitemap[str]):
            protocol = "https"
            hosts = ("shop.example.org",)

            def items(self) -> list[str]:
                return ["//shop.example.org/a/", "/a/"]

            def location(self, item: str) -> str:
                return item

            def images(self, item: str) -> list[Image]:
                return [Image("/a.png")]

        class Plain(Secure):
            protocol = "http"

        sections = [Plain, Secure] if swapped else [Secure, Plain]
        images = texts(by_contrib(*sections), "image:loc")
        expected = [f"{each.protocol}://www.example.com/a.png" for each in sections for _ in "ab"]
        assert images == expected

    def test_two_sections_can_have_extensions_for_one_namespace(self) -> None:
        document = by_contrib(
            section(Combination(), **shop(lambda item: "<shop:a/>")),
            section(Combination(), **shop(lambda item: "<shop:b/>")),
        )
        assert b"<shop:a/>" in document
        assert b"<shop:b/>" in document

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
    def test_the_bytes_are_the_same_whether_the_urlset_is_read_or_not(
        self, declared: dict[str, Any]
    ) -> None:
        found = section(Combination(), **declared)
        response: Any = views.sitemap(RequestFactory().get("/"), {"0": found})
        assert len(response.context_data["urlset"]) > 0
        assert response.render().content == by_contrib(found)


class TestAProjectMigratedFromContrib:
    def test_can_override_how_items_and_languages_are_combined(self) -> None:
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

    def test_gets_an_error_for_a_prefix_that_is_used_twice(self) -> None:
        pair = [Extension("p", f"urn:{name}:x", lambda item: "<p:a/>") for name in "ab"]
        twice = type("Twice", (Sitemap,), {"items": lambda self: [1], "location": "/", "extensions": pair})
        with pytest.raises(ImproperlyConfigured, match="must have unique prefixes and unique namespaces"):
            by_contrib(twice)
