"""Locations that look like another part of a URL: two slashes, nothing, and a query."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.exceptions import ImproperlyConfigured
from django.db.models import F, Value
from django.db.models.functions import Concat
from django.test import RequestFactory
from django.utils.functional import lazystr

from django_sitemaps09 import ModelSitemap, PathTemplate, Sitemap, views
from django_sitemaps09.pages import Page
from tests.models import Parent
from tests.support.sources import BASE, compiled, errors, locations, rendered, small_slices

__all__ = ["small_slices"]

pytestmark = pytest.mark.django_db
URLS = ["//docs.example.com/x/", "/ok/"]
REASON = "'https://docs.example.com/x/' is not on https://www.example.com"


def words(*texts: str, **attributes: Any) -> Any:
    """Return a section of a model with these texts."""
    for text in texts:
        Parent.objects.create(name=text)
    return type("Words", (ModelSitemap,), {"model": Parent, **attributes})


#: Each way to declare a location, by the items' texts.
WAYS: dict[str, Callable[..., Any]] = {
    "a method": lambda *texts, **attributes: type(
        "Listed",
        (Sitemap,),
        {"items": lambda self: list(texts), "location": lambda self, item: item, **attributes},
    ),
    "an expression": lambda *texts, **attributes: words(*texts, location=F("name"), **attributes),
    "a function": lambda *texts, **attributes: words(
        *texts, location=Concat(F("name"), Value("")), **attributes
    ),
    "a class of contrib": lambda *texts, **attributes: type(
        "Theirs",
        (ContribSitemap,),
        {"items": lambda self: list(texts), "location": lambda self, item: item, **attributes},
    ),
}


@pytest.mark.parametrize("way", WAYS)
class TestTwoSlashes:
    def test_are_those_of_a_url_on_the_host_after_them(self, way: str) -> None:
        pages = rendered(compiled(WAYS[way](*URLS)))
        assert locations(pages) == [f"{BASE}/ok/"]
        ((_, field, reason),) = errors(pages)
        assert field == "location"
        assert REASON in reason

    def test_are_allowed_on_an_allowed_host(self, way: str) -> None:
        pages = rendered(compiled(WAYS[way](*URLS, hosts=["docs.example.com"])))
        assert locations(pages) == ["https://docs.example.com/x/", f"{BASE}/ok/"]

    def test_can_be_those_of_the_site(self, way: str) -> None:
        assert locations(rendered(compiled(WAYS[way]("//www.example.com/x/")))) == [f"{BASE}/x/"]


@pytest.mark.parametrize(
    ("template", "expected"),
    [("/{a}/x/", []), ("/{a}", [f"{BASE}/"]), ("/c{a}/", [f"{BASE}/c/"]), ("//{a}.example/", [])],
)
def test_a_template_never_begins_with_the_host_in_a_value(template: str, expected: list[str]) -> None:
    location = PathTemplate(template, a=F("name"))
    for text in ("", "/evil.example", "//evil.example"):
        Parent.objects.all().delete()
        pages = rendered(compiled(words(text, location=location)))
        listed = [f"{BASE}/c{text}/"] if template == "/c{a}/" else expected if text == "" else []
        assert locations(pages) == listed
        assert len(errors(pages)) == 1 - len(locations(pages))


def test_a_column_with_one_such_value_lists_the_others() -> None:
    pages = rendered(compiled(words("a", "", "b/c", "/d", location=PathTemplate("/{a}/", a=F("name")))))
    assert locations(pages) == [f"{BASE}/a/", f"{BASE}/b/c/"]
    assert len(errors(pages)) == 2


@pytest.mark.parametrize("constant", ["//docs.example.com/x/", PathTemplate("//docs.example.com/x/")])
def test_a_constant_is_no_path_either(constant: Any) -> None:
    section = type("Constant", (Sitemap,), {"items": lambda self: ["a"], "location": constant})
    ((_, _, reason),) = errors(rendered(compiled(section)))
    assert REASON in reason


@pytest.mark.parametrize("i18n", [False, True])
@pytest.mark.parametrize("base", [Sitemap, ContribSitemap], ids=["ours", "contribs"])
def test_djangos_pages_skip_a_url_on_another_host(
    base: Any, i18n: bool, caplog: pytest.LogCaptureFixture
) -> None:
    attributes = {"i18n": i18n, "languages": ["en"], "alternates": True}
    location = lambda self, item: item  # noqa: E731
    items = lambda self: [*URLS, "//example.com/y/"]  # noqa: E731
    section = type("Section", (base,), {"items": items, "location": location, **attributes})
    response = views.sitemap(RequestFactory().get("/", secure=True), {"s": section}).render()
    if base is ContribSitemap:
        # Nothing is known about what its own methods mean.
        assert b"//docs.example.com/x/</loc>" in response.content
        return
    assert b"docs.example.com" not in response.content
    assert response.content.count(b"<loc>https://example.com/y/</loc>") == 1
    assert response.content.count(b"<loc>") == 2
    assert "'https://docs.example.com/x/' is not on https://example.com" in caplog.text


def test_a_url_of_a_projects_get_urls_stays_on_its_host() -> None:
    urls = [f"{BASE}//docs.example.com/x/", "https://docs.example.com/y/", f"{BASE}/a//b"]
    entries = [{"location": url} for url in urls]
    attributes = {"items": lambda self: urls, "get_urls": lambda self, **_: entries}
    section: Any = type("Opaque", (ContribSitemap,), attributes)
    assert locations(rendered(compiled(section))) == urls


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("//docs.example.com/x/", ["https://docs.example.com/x/"]),
        ("//docs.example.com", ["https://docs.example.com/"]),
        ("//EXAMPLE.com:443/x/", ["https://example.com:443/x/"]),
        ("//example.com.evil.example/", []),
        ("//example.com@evil.example/", []),
        ("///x/", []),
    ],
)
def test_djangos_pages_list_a_url_on_an_allowed_host(location: str, expected: list[str]) -> None:
    """These are the hosts that the native views and exports allow."""
    attributes = {"hosts": ["docs.example.com"], "i18n": True, "languages": ["en"], "alternates": True}
    section = WAYS["a method"](location, "/ok/", **attributes)
    response = views.sitemap(RequestFactory().get("/", secure=True), {"s": section}).render()
    content = response.content.decode()
    for pattern in ("<loc>(.*?)</loc>", 'href="(.*?)"'):
        assert re.findall(pattern, content) == [*expected, "https://example.com/ok/"]


class TestAnOpaqueClass:
    def test_links_to_the_host_that_two_slashes_name(self) -> None:
        attributes = {"i18n": True, "languages": ["en", "de"], "alternates": True}
        section = WAYS["a class of contrib"](
            "//docs.example.com/x/", hosts=["docs.example.com"], **attributes
        )
        (page,) = rendered(compiled(section))
        assert page.text.count('href="https://docs.example.com/x/"') == 4
        assert page.text.count("href=") == 4

    def test_gives_its_own_scheme_to_a_url_without_one(self) -> None:
        attributes = {"protocol": "http", "hosts": ["http://docs.example.com"]}
        section = WAYS["a class of contrib"]("//docs.example.com/x/", **attributes)
        assert locations(rendered(compiled(section))) == ["http://docs.example.com/x/"]

    def test_whose_domain_ends_in_a_slash_names_no_host_by_its_paths(self) -> None:
        """Contrib writes `https://www.example.com//x/` for the path `/x/`."""
        domain = lambda self, site=None: "www.example.com/"  # noqa: E731
        for way in ("a method", "a class of contrib"):
            pages = rendered(compiled(WAYS[way]("/x/", get_domain=domain)))
            assert locations(pages) == [f"{BASE}//x/"]

    def test_can_have_a_domain_in_unicode(self) -> None:
        """The package writes a host as in DNS."""
        domain = lambda self, site=None: "bücher.example"  # noqa: E731
        base = "https://xn--bcher-kva.example"
        texts = ("", "/x/", "//xn--bcher-kva.example/y/")
        for way in ("a method", "a class of contrib"):
            pages = rendered(compiled(WAYS[way](*texts, get_domain=domain)))
            assert locations(pages) == [f"{base}/", f"{base}/x/", f"{base}/y/"]

    def test_lists_an_empty_location_once_in_a_file_with_several_of_its_pages(self) -> None:
        source = compiled(WAYS["a class of contrib"]("", "/a/", "", limit=1))
        pages = rendered(source, found=[Page(1, None, None)])
        assert locations(pages) == [f"{BASE}/", f"{BASE}/a/"]
        assert [key for key, _, _ in errors(pages)] == ["3/1 ()"]


@pytest.mark.parametrize("way", ["a method", "a class of contrib"])
class TestAnEmptyLocation:
    def test_is_the_home_page_and_a_query_belongs_to_it(self, way: str) -> None:
        pages = rendered(compiled(WAYS[way]("/a/", "", "?p=1")))
        assert locations(pages) == [f"{BASE}/a/", f"{BASE}/", f"{BASE}/?p=1"]
        assert errors(pages) == []

    def test_can_be_lazy(self, way: str) -> None:
        pages = rendered(compiled(WAYS[way](lazystr("/a/"), lazystr(""), lazystr("?p=1"))))
        assert locations(pages) == [f"{BASE}/a/", f"{BASE}/", f"{BASE}/?p=1"]

    def test_is_listed_once_on_a_page(self, way: str, caplog: pytest.LogCaptureFixture) -> None:
        pages = rendered(compiled(WAYS[way]("", "/a/", "", "", "?p=1", "?p=1")))
        assert locations(pages).count(f"{BASE}/") == 1
        assert len(locations(pages)) == 4
        reasons = [reason for _, _, reason in errors(pages)]
        assert len(reasons) == 2
        assert all("an earlier location of the page is empty, too" in reason for reason in reasons)

    def test_is_what_djangos_pages_write(self, way: str) -> None:
        response = views.sitemap(RequestFactory().get("/"), {"s": WAYS[way]("", "?p=1")}).render()
        assert b"<loc>http://example.com</loc>" in response.content
        assert b"<loc>http://example.com?p=1</loc>" in response.content


def test_an_empty_location_is_listed_once_for_all_slices_of_a_page(small_slices: None) -> None:
    section = words(*(f"w{number:02}" for number in range(20)), location=lambda self, item: "")
    pages = rendered(compiled(section))
    assert locations(pages) == [f"{BASE}/"]
    assert len(errors(pages)) == 19


def test_an_empty_location_is_one_for_each_language() -> None:
    section = WAYS["a method"]("", "", i18n=True, languages=["en", "de"])
    pages = rendered(compiled(section))
    assert locations(pages) == [f"{BASE}/", f"{BASE}/"]
    # A document names the same problem of an item once.
    assert [key for key, _, _ in errors(pages)] == ["2"]


@pytest.mark.parametrize("way", ["an expression", "a function"])
def test_an_empty_value_of_a_column_is_skipped(way: str) -> None:
    pages = rendered(compiled(WAYS[way]("/a/", "", "?p=1")))
    assert locations(pages) == [f"{BASE}/a/"]
    assert len(errors(pages)) == 2


@pytest.mark.parametrize("domain", ["https://www.example.com", "www.example.com:", "http", "a b"])
def test_a_domain_that_is_no_host_is_refused(domain: str) -> None:
    """Contrib writes `https://https://www.example.com/x/`."""
    attributes = {"get_domain": lambda self, site=None: domain}
    section = WAYS["a method"]("/x/", **attributes)
    with pytest.raises(ImproperlyConfigured, match=r"^Listed\.get_domain\(\) returned "):
        views.sitemap(RequestFactory().get("/"), {"s": section})
    with pytest.raises(ImproperlyConfigured, match=r"^Listed\.get_domain\(\) returned "):
        rendered(compiled(section))
    pages = rendered(compiled(WAYS["a class of contrib"]("/x/", **attributes)))
    assert (locations(pages), len(errors(pages))) == ([], 1)
