"""Whole documents of the compatibility views and of opaque sitemaps."""

from __future__ import annotations

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
from tests.support.sections import declare, listing

pytestmark = [pytest.mark.slow, pytest.mark.sitemaps09, pytest.mark.usefixtures("articles")]
FIRST = Article.objects.filter(pk=1)
LINKED = {"i18n": True, "alternates": True, "queryset": FIRST}


class Uncompiled(ModelSitemap):
    """Opaque sitemap whose `get_urls()` changes nothing."""

    def get_urls(self, *args, **options):
        return super().get_urls(*args, **options)


def opaque(declared):
    return declare(Uncompiled, **vars(declared))


def simple(declared):
    """Return the section of a combination without anything, and these attributes."""
    return section(Combination(), **declared)


def hook(value):
    return lambda self, item: value


def wrong(self, item):
    raise ValueError("a bad one")


def entries_of(document):
    return [*map(canonical, entries(document))]


@pytest.mark.parametrize("declared", [each for each in COMBINATIONS if each.core], ids=str)
def test_a_sitemap_with_its_own_get_urls_has_the_same_entries(declared, serve):
    serve(section(declared))
    expected = live()
    serve(opaque(section(declared)))
    assert entries_of(live()) == entries_of(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sitemap_with_its_own_get_urls_skips_counts_and_reports_invalid_values(kind, tmp_path):
    sitemaps = {"x": opaque(simple(KINDS[kind]))}
    [found] = export(output=tmp_path, sitemaps=sitemaps, strict=True).sections
    assert (found.skipped_items, found.skipped_elements > 0, found.failure) == (0, True, None)
    assert {error.field for error in found.errors} == {kind}


def test_a_sitemap_with_its_own_get_urls_has_no_links_that_crawlers_ignore(serve):
    serve(declare(Uncompiled, model=Article, alternates=hook([("de", "/de/")])))
    assert texts(live(), "xhtml:link") == []


VIDEO = Video("/t", "T", "D", player_loc="/p", uploader="U", uploader_info="/u")


@pytest.mark.parametrize(
    "declared",
    [{"images": hook([Image("/a.png", license="/terms")]), "videos": hook([VIDEO])},
     {"alternates": alternates}, {"alternates": hook([("no language", "/x/")])},
     {"alternates": hook([["fr", "/x/"]])}, {"alternates": hook([("de", "/x/")])},
     {"x_default": hook("/any/")}, {"x_default": hook("nowhere")}, {"x_default": wrong},
     {"alternates": False, "x_default": hook("/any/")}, shop(lambda item: 1 / 0)],
)  # fmt: skip
def test_an_item_is_the_same_on_native_pages_and_in_one_language_and_in_several(serve, declared):
    for more in ({}, LINKED):
        serve(simple(more | declared))
        assert entries_of(by_contrib(simple(more | declared))) == entries_of(live())


@pytest.mark.parametrize(
    "key",
    [{"images": iter("a")}, {"videos": 5}, {"extensions": "jpg"}, {"extensions": ["jpg", "png"]}],
    ids=["a generator", "a number", "a text", "texts"],
)
def test_dicts_of_others_may_have_keys_of_our_names(key):
    """A project's template may use these keys, but contrib's does not."""
    url = {"location": "https://www.example.com/a/", "item": 1} | key
    others = declare(contrib.Sitemap, get_urls=lambda self, *args, **options: [url])
    assert texts(by_contrib(others), "loc") == ["https://www.example.com/a/"]


@pytest.mark.parametrize("protocols", [("https", "http"), ("http", "https")])
def test_paths_of_media_are_on_the_host_of_their_section(protocols):
    declared = {"hosts": ("shop.example.org",), "location": lambda self, item: item}
    paths = ["//shop.example.org/a/", "/a/"]
    sections = [listing(paths, images=hook([Image("/a.png")]), protocol=p, **declared) for p in protocols]
    found = texts(by_contrib(*sections), "image:loc")
    assert found == [f"{protocol}://www.example.com/a.png" for protocol in protocols for _ in paths]


def test_sections_of_one_document_can_share_a_namespace_but_not_a_prefix_for_two():
    a, b = (simple(shop(lambda item, name=name: f"<shop:{name}/>")) for name in "ab")
    document = by_contrib(a, b)
    assert (b"<shop:a/>" in document, b"<shop:b/>" in document) == (True, True)
    other = Extension("shop", "https://example.org/other", lambda item: "<shop:b/>")
    with pytest.raises(ImproperlyConfigured, match="prefix 'shop'"):
        by_contrib(a, simple({"extensions": [other]}))
    pair = [Extension("p", f"urn:{name}:x", lambda item: "<p:a/>") for name in "ab"]
    with pytest.raises(ImproperlyConfigured, match="must have unique prefixes and unique namespaces"):
        by_contrib(declare(Sitemap, items=lambda self: [1], location="/", extensions=pair))


@pytest.mark.parametrize(
    "declared",
    [{}, {**CORE, "images": images, "videos": videos, "news": news},
     {"queryset": FIRST, "alternates": alternates}, shop(lambda item: "<shop:a/>"), {"images": hook([])},
     {"alternates": hook([("de", "/de/")])}, {"x_default": hook("/any/")}],
    ids=[
        "plain", "media", "links", "an extension", "nothing given", "not itself", "x-default without i18n",
    ],
)  # fmt: skip
def test_the_bytes_are_the_same_whether_the_urlset_is_read_or_not(declared):
    response = views.sitemap(RequestFactory().get("/"), {"0": simple(declared)})
    assert len(response.context_data["urlset"]) > 0
    assert response.render().content == by_contrib(simple(declared))
