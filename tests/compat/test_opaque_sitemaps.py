"""Opaque sitemaps with their own `get_urls()`, and patches: every URL of contrib's view is listed."""

from __future__ import annotations

import datetime
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock
from xml.etree import ElementTree

import pytest
from django.conf import settings as configured
from django.contrib import sitemaps as contrib
from django.core.paginator import EmptyPage, Paginator
from django.db import connections
from django.test import Client
from django.urls import include, path

import django_sitemaps09
from django_sitemaps09 import GenericSitemap, ModelSitemap, NewsSitemap, StaticViewSitemap, views
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.configuration import BASE
from tests.support.databases import require
from tests.support.factories import ArticleFactory
from tests.support.paths import ROOT
from tests.support.published import indexed

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__), pytest.mark.sitemaps09]

SITEMAPS: dict[str, Any] = {}
urlpatterns = [
    path("", include("django_sitemaps09.urls"), {"sitemaps": SITEMAPS}),
    path("contrib.xml", views.sitemap, {"sitemaps": SITEMAPS}),
]

BASES = pytest.mark.parametrize(
    "base", [contrib.Sitemap, django_sitemaps09.Sitemap], ids=["contrib", "compat"]
)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Any:
    def only(section: Any) -> Any:
        monkeypatch.setitem(SITEMAPS, "s", section)
        return section

    return only


def live(url: str, name: str = "loc") -> list[str]:
    """Return the texts of all elements with this name; empty if the document does not exist."""
    response = Client().get(url)
    if response.status_code == 404:
        return []
    assert response.status_code == 200
    root = ElementTree.fromstring(response.content)  # noqa: S314 our own output
    return [str(part.text) for part in root.iter() if part.tag.endswith(f"}}{name}")]


def named(*numbers: int) -> list[str]:
    return [f"{BASE}/{number}/" for number in numbers]


def for_a_site(base: Any) -> Any:
    """Return a section whose items depend on the site that `get_urls()` was called with."""

    class ForASite(base):  # type: ignore[misc]
        limit = 4
        site = None
        asked: ClassVar[list[int]] = []

        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
            self.site = site
            self.asked.append(page)
            return super().get_urls(page, site, protocol)

        def items(self) -> list[int]:
            return list(range(10)) if self.site else []

        def location(self, item: int) -> str:
            return f"/{item}/"

    return ForASite


@BASES
class TestASectionThatListsByItsSite:
    def test_is_whole_on_the_native_views(self, base: Any, serve: Any) -> None:
        serve(for_a_site(base))
        index = live("/sitemap.xml")
        assert index == [f"{BASE}/sitemap-s-{number}.xml.gz" for number in (1, 2, 3)]
        found = [live(url.removeprefix(BASE).removesuffix(".gz")) for url in index]
        assert found == [named(0, 1, 2, 3), named(4, 5, 6, 7), named(8, 9)]
        assert live("/sitemap-s-4.xml") == []

    def test_is_whole_in_an_export(self, base: Any, tmp_path: Path) -> None:
        section = for_a_site(base)
        report = export(output=tmp_path, sitemaps={"s": section})
        assert (report.urls, report.failures) == (10, [])
        assert indexed(tmp_path) == {*named(*range(10))}
        # Page 1 is requested before the paginator, and rendered once.
        assert section.asked == [1, 2, 3]

    @pytest.mark.parametrize("number", [1, 2])
    def test_is_called_once_for_a_page_and_for_its_first_page_for_the_index(
        self, base: Any, serve: Any, number: int
    ) -> None:
        section = serve(for_a_site(base))
        assert len(live(f"/sitemap-s-{number}.xml")) == 4
        assert section.asked == [number]
        section.asked.clear()
        assert len(live("/sitemap.xml")) == 3
        assert section.asked == [1]

    def test_may_fail_for_a_page_that_is_not_there(
        self, base: Any, serve: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Strict(for_a_site(base)):  # type: ignore[misc]
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                assert int(page) < 4
                return super().get_urls(page, site, protocol)

        serve(Strict)
        assert len(live("/sitemap.xml")) == 3
        caplog.clear()
        assert live("/sitemap-s-4.xml") == []
        # `get_urls()` for page 1 has set the site, by which the items are listed.
        assert "its paginator has none" not in caplog.text

    def test_that_fails_is_missing_from_the_index_and_logged(
        self, base: Any, serve: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Broken(for_a_site(base)):  # type: ignore[misc]
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                raise LookupError(page)

        serve(Broken)
        with pytest.raises(LookupError, match=r"^1$"):
            live("/sitemap.xml")
        assert "Section 's' is missing from the index" in caplog.text

    def test_is_identified_by_its_current_items_if_it_lists_fewer_without_a_site(
        self, base: Any, serve: Any, tmp_path: Path
    ) -> None:
        class Fewer(for_a_site(base)):  # type: ignore[misc]
            def items(self) -> list[int]:
                return list(range(10 if self.site else 3))

        serve(Fewer)
        assert len(live("/sitemap.xml")) == 3
        assert export(output=tmp_path, sitemaps={"s": Fewer}).urls == 10


@pytest.mark.services
@pytest.mark.django_db(databases=[*{"default", "postgresql"} & {*configured.DATABASES}])
def test_a_page_whose_query_fails_is_none_if_a_request_is_a_transaction(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a transaction, a failed query makes all later queries fail."""
    require(using := "postgresql")

    class Numbered(contrib.Sitemap):
        def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
            with connections[using].cursor() as cursor:
                cursor.execute("SELECT %s::smallint", [int(page)])
                return [{"location": f"{BASE}/{number}/"} for (number,) in cursor.fetchall()]

        def items(self) -> list[int]:
            with connections[using].cursor() as cursor:
                cursor.execute("SELECT 1")
            return [1]

    serve(Numbered)
    monkeypatch.setitem(connections[using].settings_dict, "ATOMIC_REQUESTS", True)
    assert live("/sitemap.xml") == [f"{BASE}/sitemap-s-1.xml.gz"]
    assert live("/sitemap-s-1.xml") == named(1)
    assert live("/sitemap-s-999999.xml") == []


@BASES
class TestASectionWithoutItems:
    def test_is_what_its_get_urls_gives(self, base: Any, serve: Any, tmp_path: Path) -> None:
        class Listed(base):  # type: ignore[misc]
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                return [{"location": f"{protocol}://{site.domain}/{number}/"} for number in (1, 2)]

        serve(Listed)
        assert live("/contrib.xml") == named(1, 2)
        assert live("/sitemap.xml") == [f"{BASE}/sitemap-s-1.xml.gz"]
        assert live("/sitemap-s-1.xml") == named(1, 2)
        assert export(output=tmp_path, sitemaps={"s": Listed}).urls == 2
        assert indexed(tmp_path) == {*named(1, 2)}

    @pytest.mark.parametrize("number", [1, 99_999_999])
    def test_is_listed_once_for_a_page_with_a_warning(
        self, base: Any, serve: Any, number: int, caplog: pytest.LogCaptureFixture
    ) -> None:
        asked = []

        class Listed(base):  # type: ignore[misc]
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                asked.append(page)
                return [{"location": f"{protocol}://{site.domain}/1/"}]

        serve(Listed)
        assert live(f"/sitemap-s-{number}.xml") == (named(1) if number == 1 else [])
        assert asked == [number]
        assert "Listed.get_urls() returns 1 entries, but its paginator has none" in caplog.text

    def test_says_in_an_export_that_further_pages_are_not_known(
        self, base: Any, serve: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Resets(for_a_site(base)):  # type: ignore[misc]
            def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
                try:
                    return super().get_urls(page, site, protocol)
                finally:
                    self.site = None

        assert export(output=tmp_path, sitemaps={"s": Resets}).urls == 4
        assert "Resets.get_urls() returns 4 entries, but its paginator has none" in caplog.text

    def test_has_no_page_if_its_get_urls_gives_none(self, base: Any, serve: Any, tmp_path: Path) -> None:
        class Empty(for_a_site(base)):  # type: ignore[misc]
            def items(self) -> list[int]:
                return []

        serve(Empty)
        assert live("/sitemap.xml") == []
        assert live("/sitemap-s-1.xml") == []
        assert export(output=tmp_path, sitemaps={"s": Empty}).urls == 0

    def test_has_no_page_if_its_paginator_allows_none(self, base: Any, serve: Any) -> None:
        class Strict(for_a_site(base)):  # type: ignore[misc]
            @property
            def paginator(self) -> Any:
                return Paginator([], 1, allow_empty_first_page=False)

        with pytest.raises(EmptyPage):
            Strict().get_urls(site=mock.Mock(domain="www.example.com"))
        serve(Strict)
        assert live("/sitemap.xml") == []


class Things(django_sitemaps09.Sitemap[int]):
    def items(self) -> list[int]:
        return [1, 2]

    def location(self, item: int) -> str:
        return f"/{item}/"

    def lastmod(self, item: int) -> datetime.date | None:
        return None

    def priority(self, item: int) -> float:
        return 0.5

    def changefreq(self, item: int) -> str:
        return "daily"


PATCHED = [{"location": f"{BASE}/patched/"}]
#: What a project or its tests can patch: the class and the method, the result, and what is listed.
PATCHES: dict[str, tuple[Any, str, Any, list[str]]] = {
    **{
        f"{name} of {base.__name__}": (base, name, PATCHED, [f"{BASE}/patched/"])
        for name in ("get_urls", "_urls")
        for base in (contrib.Sitemap, django_sitemaps09.Sitemap, Things)
    },
    "the languages of an item": (
        django_sitemaps09.Sitemap,
        "get_languages_for_item",
        lambda item: ["de"][: item == 1],
        named(1),
    ),
    "the list of items": (django_sitemaps09.Sitemap, "_items", [(7, "en")], named(7)),
}


@pytest.mark.parametrize("patched", PATCHES)
def test_a_patch_of_a_class_is_called_until_it_is_removed(patched: str, serve: Any, tmp_path: Path) -> None:
    base, name, result, expected = PATCHES[patched]
    serve(Things if result is PATCHED else type("Localized", (Things,), {"i18n": True}))
    before = live("/contrib.xml"), live("/sitemap-s-1.xml")
    given = {"side_effect": result} if callable(result) else {"return_value": result}
    with mock.patch.object(base, name, **given):
        assert live("/contrib.xml") == live("/sitemap-s-1.xml") == expected
        export(output=tmp_path, sitemaps=SITEMAPS)
        assert indexed(tmp_path) == {*expected}
    assert (live("/contrib.xml"), live("/sitemap-s-1.xml")) == before != (expected, expected)


def test_a_patch_of_the_method_that_calls_hooks_in_contrib_is_called(serve: Any) -> None:
    serve(Things)
    with mock.patch.object(contrib.Sitemap, "_get", return_value="/got/"):
        assert live("/contrib.xml") == [f"{BASE}/got/"] * 2


def test_a_patch_of_an_instance_is_called(serve: Any) -> None:
    section = serve(Things())
    with mock.patch.object(section, "get_urls", return_value=PATCHED):
        assert live("/contrib.xml") == live("/sitemap-s-1.xml") == [f"{BASE}/patched/"]
    assert live("/contrib.xml") == named(1, 2)


HOOKS = [
    ("location", "loc", "/patched/", f"{BASE}/patched/"),
    ("lastmod", "lastmod", datetime.date(2020, 1, 1), "2020-01-01"),
    ("priority", "priority", 0.1, "0.1"),
    ("changefreq", "changefreq", "weekly", "weekly"),
]


@pytest.mark.parametrize("autospec", [None, True], ids=["any", "autospec"])
@pytest.mark.parametrize(("hook", "element", "value", "text"), HOOKS)
def test_a_mock_in_place_of_a_hook_is_a_method(
    hook: str, element: str, value: Any, text: str, autospec: bool | None, serve: Any, tmp_path: Path
) -> None:
    serve(Things)
    with mock.patch.object(Things, hook, autospec=autospec, return_value=value):
        assert live("/contrib.xml", element) == live("/sitemap-s-1.xml", element) == [text, text]
        report = export(output=tmp_path, sitemaps=SITEMAPS)
    assert (report.urls, report.failures) == (2, [])


@pytest.mark.parametrize("make", [mock.Mock, mock.NonCallableMagicMock])
@pytest.mark.parametrize("spec", [contrib.Sitemap, Things, ModelSitemap, NewsSitemap])
def test_a_mock_in_place_of_a_sitemap_is_listed(make: Any, spec: Any, serve: Any, tmp_path: Path) -> None:
    section = make(spec=spec)
    sitemap = section.return_value if callable(section) else section
    location = f"{BASE}/patched/"
    sitemap.get_urls.return_value = [{"location": location}]
    sitemap.get_latest_lastmod.return_value = sitemap.latest_lastmod = None
    sitemap.paginator.num_pages = sitemap.paginator.count = 1
    serve(section)
    assert live("/contrib.xml") == live("/sitemap-s-1.xml") == [location]
    export(output=tmp_path, sitemaps=SITEMAPS)
    assert indexed(tmp_path) == {location}


PATCHING = """
    from functools import wraps
    from django.conf import settings
    from django.contrib import sitemaps as contrib
    settings.configure()
    originals = {name: getattr(contrib.Sitemap, name) for name in ("get_urls", "get_domain", "_location")}

    @wraps(originals["get_urls"])
    def get_urls(*args, **kwargs):
        urls = originals["get_urls"](*args, **kwargs)
        return [url | {"location": url["location"] + "?patched"} for url in urls]

    def get_domain(self, site=None):
        return "www." + originals["get_domain"](self, site)

    def _location(self, item, force_lang_code=None):
        return originals["_location"](self, item, force_lang_code) + "?patched"

    patches = {"get_urls": get_urls, "get_domain": get_domain, "_location": _location}
    for name, function in patches.items():
        setattr(contrib.Sitemap, name, function)

    import django
    django.setup()
    from django_sitemaps09 import Sitemap
    from django_sitemaps09.sitemaps import is_contribs, is_original
    from django_sitemaps09.sitemaps.declared import is_compiled

    for name, function in originals.items():
        setattr(contrib.Sitemap, name, function)
    for name in patches:
        for function in (patches[name], originals[name]):
            setattr(contrib.Sitemap, name, function)
            sitemap = Sitemap()
            print(name, is_contribs(sitemap, name), is_original(sitemap, name), is_compiled(sitemap))
"""


def test_patches_made_before_the_import_of_this_package_are_called() -> None:
    """For example, a project can patch contrib in its settings."""
    done = subprocess.run(  # noqa: S603 our own interpreter and code
        [sys.executable, "-c", textwrap.dedent(PATCHING)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"{name} {is_plain} {is_plain} {is_plain}"
        for name in ("get_urls", "get_domain", "_location")
        for is_plain in (False, True)
    ]


OURS = [django_sitemaps09.Sitemap, ModelSitemap, NewsSitemap, StaticViewSitemap, GenericSitemap]


@pytest.mark.parametrize("kind", OURS)
def test_private_names_cannot_collide_with_names_of_a_project(kind: Any) -> None:
    private = {name for cls in kind.__mro__ for name in vars(cls) if name.startswith("_")}
    added = private - set(dir(contrib.GenericSitemap))
    assert {name for name in added if not name.startswith(("__", "_sitemaps09_"))} <= {"_is_protocol"}


NAMES = ["_translated", "_site", "_site_rows", "_domain", "_in_order", "_sites", "on_host"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("values", [{"i18n": True}, {"site_field": None}], ids=["languages", "rows"])
def test_an_attribute_of_a_project_can_have_any_meaning(
    name: str, values: dict[str, Any], serve: Any, articles: None
) -> None:
    bases: Any = (ModelSitemap,)
    section = type(
        "Mine", bases, {"model": Article, "location": lambda self, item: f"/{item.slug}/", **values}
    )
    serve(section)
    expected = live("/contrib.xml"), live("/sitemap-s-1.xml")
    serve(type("Collides", (section,), {name: "mine"}))
    assert (live("/contrib.xml"), live("/sitemap-s-1.xml")) == expected
    assert expected[0]


@pytest.fixture
def articles() -> None:
    for slug in ("a", "b"):
        ArticleFactory(slug=slug, updated="2026-01-01T00:00Z")
