"""Several live indexes, for more pages than one index can list."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, resolve, reverse

from django_sitemaps09 import protocol, views, writer
from django_sitemaps09.export import export
from django_sitemaps09.protocol import Limits
from django_sitemaps09.views import caching, exported
from tests.support.articles import Articles
from tests.support.configuration import BASE, Configure, Register, UseUrls
from tests.support.native_views import found, get, locations, write_articles
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(MAX_URLS=1)]
INDEXES = ["/sitemap.xml", "/sitemap-2.xml", "/sitemap-3.xml"]


OTHER_HOST = "other.example.com"
OTHER_URLS = ModuleType("other_urls")
vars(OTHER_URLS)["urlpatterns"] = [
    path("", include("django_sitemaps09.urls"), {"sitemaps": {"b": Numbers(1)}}),
    path("robots.txt", views.robots_txt),
]


def urlconf_by_host(
    respond: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware of a project whose hosts have different sections."""

    def with_urlconf(request: HttpRequest) -> HttpResponse:
        if request.get_host() == OTHER_HOST:
            request.urlconf = OTHER_URLS
        return respond(request)

    return with_urlconf


class Failing(Numbers):
    def items(self) -> Any:
        raise ZeroDivisionError


@pytest.fixture(autouse=True)
def _three_pages_in_an_index(monkeypatch: pytest.MonkeyPatch, register: Register) -> None:
    monkeypatch.setattr(protocol, "INDEX_LIMITS", Limits(3, 50_000))
    register(a=Numbers(4), b=Numbers(3))


def announced() -> list[str]:
    """Return the paths of the indexes in robots.txt."""
    lines = get("/robots.txt").content.decode().splitlines()
    return [line.removeprefix(f"Sitemap: {BASE}") for line in lines if line.startswith("Sitemap: ")]


class TestTheIndexes:
    def test_list_each_page_once_in_order_and_have_etags_of_their_own(self) -> None:
        pages = [f"/sitemap-{name}.xml.gz" for name in ("a-1", "a-2", "a-3", "a-4", "b-1", "b-2", "b-3")]
        assert [found(name) for name in INDEXES] == [pages[:3], pages[3:6], pages[6:]]
        etags = {name: get(name)["ETag"] for name in INDEXES}
        assert len({*etags.values()}) == 3
        assert [get(name, If_None_Match=etag).status_code for name, etag in etags.items()] == [304] * 3

    @pytest.mark.parametrize("number", [1, 4, 99_999_999, 100_000_000, "02", "0"])
    def test_that_do_not_exist_are_404(self, number: int | str) -> None:
        assert get(f"/sitemap-{number}.xml").status_code == 404

    @pytest.mark.parametrize(("pages", "names"), [(0, 1), (1, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
    def test_are_as_few_as_possible(self, register: Register, pages: int, names: int) -> None:
        register(a=Numbers(pages))
        assert [get(name).status_code for name in INDEXES] == [200] * names + [404] * (3 - names)

    @pytest.mark.parametrize(("options", "most"), [({}, 0), ({"CASCADE": True}, 0), ({}, 3)])
    def test_are_those_of_an_export(
        self,
        folder: Path,
        configure: Configure,
        monkeypatch: pytest.MonkeyPatch,
        options: dict[str, bool],
        most: int,
    ) -> None:
        if most:
            # Limit the bytes of an index instead of its pages.
            elements = f"<loc>{BASE}/sitemap-a-1.xml.gz</loc><lastmod>2026-11-27T10:30:00Z</lastmod>"
            size = len(writer.index_document([])) + most * len(f"<sitemap>{elements}</sitemap>\n")
            monkeypatch.setattr(protocol, "INDEX_LIMITS", Limits(50_000, size))
        configure(ROOT=folder, **options)
        export()
        names = sorted(file.name for file in folder.glob("sitemap*.xml"))
        assert len(names) == 3 + len(options)
        for name in names:
            assert locations(get(f"/{name}").content) == locations((folder / name).read_bytes())

    def test_of_a_cascade_are_listed_by_the_first_if_there_are_several(
        self, configure: Configure, register: Register
    ) -> None:
        configure(CASCADE=True)
        assert found() == ["/sitemap-1.xml", "/sitemap-2.xml", "/sitemap-3.xml"]
        pages = [f"/sitemap-{name}.xml.gz" for name in ("a-1", "a-2", "a-3", "a-4", "b-1", "b-2", "b-3")]
        assert [page for name in found() for page in found(name)] == pages
        assert get("/sitemap-4.xml").status_code == 404
        register(a=Numbers(3))
        assert found() == pages[:3]
        assert get("/sitemap-1.xml").status_code == 404

    def test_stay_within_the_bytes_of_the_protocol(
        self, monkeypatch: pytest.MonkeyPatch, register: Register
    ) -> None:
        time = datetime(2026, 11, 27, 10, 30, tzinfo=timezone.utc)
        register(a=type("Dated", (Numbers,), {"lastmod": time})(12), b=Numbers(3))
        for limit in range(300, 1_000, 13):
            monkeypatch.setattr(protocol, "INDEX_LIMITS", Limits(50_000, limit))
            pages: list[str] = []
            number = 1
            while (
                response := get(f"/sitemap-{number}.xml" if number > 1 else "/sitemap.xml")
            ).status_code == 200:
                part = locations(response.content)
                assert len(response.content) <= limit or len(part) == 1
                pages += part
                number += 1
            assert len(pages) == len({*pages}) == 15

    def test_of_rows_are_read_without_a_query_once_their_bounds_are_known(
        self, register: Register, django_assert_num_queries: Any
    ) -> None:
        write_articles(*(f"s{number}" for number in range(5)))
        register(articles=Articles)
        pages = [page for name in INDEXES for page in (found(name) if get(name).status_code == 200 else [])]
        assert len(pages) == len({*pages}) >= 5
        with django_assert_num_queries(0):
            assert found("/sitemap-2.xml") == pages[3:6]

    def test_are_not_404_if_a_section_fails_that_could_fill_them(self, register: Register) -> None:
        register(a=Numbers(4), broken=Failing(1))
        assert [len(found(name)) for name in INDEXES[:2]] == [3, 1]
        with pytest.raises(ZeroDivisionError):
            get("/sitemap-3.xml")


class TestTheNames:
    @pytest.mark.parametrize("name", ["2", "2-3", "-2", "xml", "a-2"])
    def test_are_never_those_of_a_page(self, register: Register, name: str) -> None:
        register(**{name: Numbers(2)})
        assert found(f"/sitemap-{name}-2.xml") == ["/numbers/1/"]
        assert resolve("/sitemap-2.xml").url_name == "numbered-index"
        assert resolve(f"/sitemap-{name}-2.xml").url_name == "page"

    def test_are_in_the_namespace_of_the_request(self, route: UseUrls, configure: Configure) -> None:
        configure(CASCADE=True)
        route(path("maps/", include("django_sitemaps09.urls", namespace="shop")))
        assert found("/maps/sitemap.xml")[1] == "/maps/sitemap-2.xml"
        assert reverse("shop:numbered-index", kwargs={"number": 2}) == "/maps/sitemap-2.xml"


class TestRobotsTxt:
    def test_lists_the_further_indexes_as_soon_as_one_was_served(
        self, register: Register, configure: Configure, django_assert_num_queries: Any
    ) -> None:
        assert announced() == ["/sitemap.xml"]
        get("/sitemap.xml")
        assert announced() == INDEXES
        register(a=Failing(1))
        with django_assert_num_queries(0):
            assert announced() == INDEXES
        register(a=Numbers(4), broken=Failing(1))
        get("/sitemap.xml")
        assert announced() == INDEXES
        for count, names in ((4, INDEXES[:2]), (1, INDEXES[:1])):
            register(a=Numbers(count))
            get("/sitemap.xml")
            assert announced() == names
        configure(CASCADE=True)
        register(a=Numbers(7))
        get("/sitemap.xml")
        assert announced() == ["/sitemap.xml"]

    def test_lists_the_indexes_of_its_own_namespace_and_view(self, route: UseUrls) -> None:
        sitemaps = [
            path("a/", include("django_sitemaps09.urls", namespace="a")),
            path("b/", include("django_sitemaps09.urls", namespace="b"), {"sitemaps": {"b": Numbers(1)}}),
            path("mine.xml", views.sitemap_index, name="mine"),
        ]
        route(*sitemaps, path("robots.txt", views.robots_txt, {"sitemap_url_name": "a:index"}))
        get("/b/sitemap.xml")
        assert announced() == ["/a/sitemap.xml"]
        get("/a/sitemap.xml")
        assert announced() == [f"/a{name}" for name in INDEXES]
        route(
            *sitemaps,
            path("", include("django_sitemaps09.urls")),
            path("robots.txt", views.robots_txt, {"sitemap_url_name": "mine"}),
        )
        get("/mine.xml")
        assert announced() == ["/mine.xml"]

    @pytest.mark.parametrize("value", ["x", None, [3], 0, -1, 10**12])
    def test_ignores_a_foreign_value_in_the_cache(
        self, monkeypatch: pytest.MonkeyPatch, value: object
    ) -> None:
        get("/sitemap.xml")
        monkeypatch.setattr(caching.default, "get", lambda name: value)
        assert announced() == ["/sitemap.xml"]

    @pytest.mark.parametrize("cascade", [False, True])
    def test_lists_the_exported_indexes_that_are_served(
        self, folder: Path, configure: Configure, register: Register, cascade: bool
    ) -> None:
        configure(SERVE_EXPORTED=True, ROOT=folder, CASCADE=cascade)
        export()
        exported._exports.clear()
        cache.clear()
        register(a=Numbers(1))
        assert announced() == (["/sitemap.xml"] if cascade else INDEXES)
        for name in announced():
            response: Any = get(name)
            assert b"".join(response.streaming_content) == (folder / name[1:]).read_bytes()
        (folder / ".sitemaps09" / "manifest.json").write_text("{")
        exported._exports.clear()
        assert announced() == ["/sitemap.xml"]

    def test_lists_the_live_indexes_if_the_exported_ones_have_another_path(
        self, folder: Path, configure: Configure, register: Register
    ) -> None:
        configure(SERVE_EXPORTED=True, ROOT=folder, FILES_URL=f"{BASE}/files/")
        register(a=Numbers(1))
        export()
        exported._exports.clear()
        register(a=Numbers(7))
        get("/sitemap.xml")
        assert announced() == INDEXES

    def test_lists_the_indexes_of_the_urlconf_of_its_host(self, settings: Any) -> None:
        settings.MIDDLEWARE = [f"{__name__}.urlconf_by_host"]
        get("/sitemap.xml")
        get("/sitemap.xml", Host=OTHER_HOST)
        other = get("/robots.txt", Host=OTHER_HOST).content.decode()
        assert other.count("Sitemap: ") == 1
        assert announced() == INDEXES
