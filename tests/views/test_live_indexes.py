"""Several live indexes, for more pages than one index can list."""

from __future__ import annotations

from datetime import datetime, timezone
from types import ModuleType

import pytest
from django.core.cache import cache
from django.urls import include, path, resolve, reverse

from django_sitemaps09 import protocol, views, writer
from django_sitemaps09.export import export
from django_sitemaps09.protocol import Limits
from django_sitemaps09.views import caching, exported
from tests.support.articles import Articles, write_keys
from tests.support.configuration import BASE
from tests.support.native_views import found, get, locations, queries
from tests.support.sections import Numbers, declare

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(MAX_URLS=1)]
INDEXES = ["/sitemap.xml", "/sitemap-2.xml", "/sitemap-3.xml"]
PAGES = [f"/sitemap-{name}.xml.gz" for name in ("a-1", "a-2", "a-3", "a-4", "b-1", "b-2", "b-3")]

OTHER_HOST = "other.example.com"
OTHER_URLS = ModuleType("other_urls")
vars(OTHER_URLS)["urlpatterns"] = [
    path("", include("django_sitemaps09.urls"), {"sitemaps": {"b": Numbers(1)}}),
    path("robots.txt", views.robots_txt),
]


def urlconf_by_host(respond):
    """Middleware of a project whose hosts have different sections."""

    def with_urlconf(request):
        if request.get_host() == OTHER_HOST:
            request.urlconf = OTHER_URLS
        return respond(request)

    return with_urlconf


class Failing(Numbers):
    def items(self):
        raise ZeroDivisionError


@pytest.fixture(autouse=True)
def _three_pages_in_an_index(monkeypatch, register):
    monkeypatch.setattr(protocol, "INDEX_LIMITS", Limits(3, 50_000))
    register(a=Numbers(4), b=Numbers(3))


def announced(**headers):
    """Return the paths of the indexes in robots.txt."""
    lines = get("/robots.txt", **headers).text.splitlines()
    return [line.removeprefix(f"Sitemap: {BASE}") for line in lines if line.startswith("Sitemap: ")]


class TestTheIndexes:
    def test_list_each_page_once_in_order_and_have_etags_of_their_own(self):
        assert [found(name) for name in INDEXES] == [PAGES[:3], PAGES[3:6], PAGES[6:]]
        etags = {name: get(name)["ETag"] for name in INDEXES}
        assert len({*etags.values()}) == 3
        assert [get(name, If_None_Match=etag).status_code for name, etag in etags.items()] == [304] * 3

    @pytest.mark.parametrize("number", [1, 4, 99_999_999, 100_000_000, "02", "0"])
    def test_that_do_not_exist_are_404(self, number):
        assert get(f"/sitemap-{number}.xml").status_code == 404

    @pytest.mark.parametrize(("pages", "names"), [(0, 1), (1, 1), (3, 1), (4, 2), (6, 2), (7, 3)])
    def test_are_as_few_as_possible(self, register, pages, names):
        register(a=Numbers(pages))
        assert [get(name).status_code for name in INDEXES] == [200] * names + [404] * (3 - names)

    @pytest.mark.parametrize(("options", "most"), [({}, 0), ({"CASCADE": True}, 0), ({}, 3)])
    def test_are_those_of_an_export(self, folder, configure, monkeypatch, options, most):
        if most:
            # Limit the bytes of an index instead of its pages.
            elements = f"<loc>{BASE}/sitemap-a-1.xml.gz</loc><lastmod>2026-11-27T10:30:00Z</lastmod>"
            size = len(writer.index_document([])) + most * len(f"<sitemap>{elements}</sitemap>\n")
            monkeypatch.setattr(protocol, "INDEX_LIMITS", Limits(50_000, size))
        configure(ROOT=folder, **options)
        export()
        files = {f"/{file.name}": locations(file.read_bytes()) for file in folder.glob("sitemap*.xml")}
        assert len(files) == 3 + len(options)
        assert {name: locations(get(name).content) for name in files} == files

    def test_of_a_cascade_are_listed_by_the_first_if_there_are_several(self, configure, register):
        configure(CASCADE=True)
        assert found() == ["/sitemap-1.xml", "/sitemap-2.xml", "/sitemap-3.xml"]
        assert [page for name in found() for page in found(name)] == PAGES
        assert get("/sitemap-4.xml").status_code == 404
        register(a=Numbers(3))
        assert (found(), get("/sitemap-1.xml").status_code) == (PAGES[:3], 404)

    def test_stay_within_the_bytes_of_the_protocol(self, monkeypatch, register):
        time = datetime(2026, 11, 27, 10, 30, tzinfo=timezone.utc)
        register(a=declare(Numbers, lastmod=time)(12), b=Numbers(3))
        for limit in range(300, 1_000, 13):
            monkeypatch.setattr(protocol, "INDEX_LIMITS", Limits(50_000, limit))
            pages, name = [], "/sitemap.xml"
            while (response := get(name)).status_code == 200:
                part = locations(response.content)
                assert len(response.content) <= limit or len(part) == 1
                pages.append(part)
                name = f"/sitemap-{len(pages) + 1}.xml"
            listed = [page for part in pages for page in part]
            assert len(listed) == len({*listed}) == 15

    def test_of_rows_are_read_without_a_query_once_their_bounds_are_known(self, register):
        write_keys(*range(5))
        register(articles=declare(Articles, limit=1))
        pages = [page for name in INDEXES for page in (found(name) if get(name).status_code == 200 else [])]
        assert len(pages) == len({*pages}) >= 5
        assert (queries("/sitemap-2.xml"), found("/sitemap-2.xml")) == (0, pages[3:6])

    def test_are_not_404_if_a_section_fails_that_could_fill_them(self, register):
        register(a=Numbers(4), broken=Failing(1))
        assert [len(found(name)) for name in INDEXES[:2]] == [3, 1]
        with pytest.raises(ZeroDivisionError):
            get("/sitemap-3.xml")


class TestTheNames:
    @pytest.mark.parametrize("name", ["2", "2-3", "-2", "xml", "a-2"])
    def test_are_never_those_of_a_page(self, register, name):
        register(**{name: Numbers(2)})
        assert found(f"/sitemap-{name}-2.xml") == ["/numbers/1/"]
        views_of = [resolve(url).url_name for url in ("/sitemap-2.xml", f"/sitemap-{name}-2.xml")]
        assert views_of == ["numbered-index", "page"]

    def test_are_in_the_namespace_of_the_request(self, route, configure):
        configure(CASCADE=True)
        route(path("maps/", include("django_sitemaps09.urls", namespace="shop")))
        assert found("/maps/sitemap.xml")[1] == "/maps/sitemap-2.xml"
        assert reverse("shop:numbered-index", kwargs={"number": 2}) == "/maps/sitemap-2.xml"


class TestRobotsTxt:
    def test_lists_the_further_indexes_as_soon_as_one_was_served(self, register, configure):
        assert announced() == ["/sitemap.xml"]
        for sections, names in (
            *(
                ({"a": Numbers(4), "b": Numbers(3)}, INDEXES),
                ({"a": Numbers(4), "broken": Failing(1)}, INDEXES),
            ),
            *(({"a": Numbers(4)}, INDEXES[:2]), ({"a": Numbers(1)}, INDEXES[:1])),
        ):
            register(**sections)
            get("/sitemap.xml")
            register(a=Failing(1))
            assert (queries("/robots.txt"), announced()) == (0, names)
        configure(CASCADE=True)
        register(a=Numbers(7))
        get("/sitemap.xml")
        assert announced() == ["/sitemap.xml"]

    def test_lists_the_indexes_of_its_own_namespace_and_view(self, route):
        urls = "django_sitemaps09.urls"
        sitemaps = [
            path("a/", include(urls, namespace="a")),
            path("b/", include(urls, namespace="b"), {"sitemaps": {"b": Numbers(1)}}),
            path("mine.xml", views.sitemap_index, name="mine"),
        ]
        route(*sitemaps, path("robots.txt", views.robots_txt, {"sitemap_url_name": "a:index"}))
        for served, names in (("/b/sitemap.xml", INDEXES[:1]), ("/a/sitemap.xml", INDEXES)):
            get(served)
            assert announced() == [f"/a{name}" for name in names]
        robots = path("robots.txt", views.robots_txt, {"sitemap_url_name": "mine"})
        route(*sitemaps, path("", include(urls)), robots)
        get("/mine.xml")
        assert announced() == ["/mine.xml"]

    @pytest.mark.parametrize("value", ["x", None, [3], 0, -1, 10**12])
    def test_ignores_a_foreign_value_in_the_cache(self, monkeypatch, value):
        get("/sitemap.xml")
        monkeypatch.setattr(caching.default, "get", lambda name: value)
        assert announced() == ["/sitemap.xml"]

    @pytest.mark.parametrize("cascade", [False, True])
    def test_lists_the_exported_indexes_that_are_served(self, folder, configure, register, cascade):
        configure(SERVE_EXPORTED=True, ROOT=folder, CASCADE=cascade)
        export()
        exported._exports.clear()
        cache.clear()
        register(a=Numbers(1))
        assert announced() == (["/sitemap.xml"] if cascade else INDEXES)
        for name in announced():
            assert get(name).body == (folder / name[1:]).read_bytes()
        (folder / ".sitemaps09" / "manifest.json").write_text("{")
        exported._exports.clear()
        assert announced() == ["/sitemap.xml"]

    def test_lists_the_live_indexes_if_the_exported_ones_have_another_path(
        self, folder, configure, register
    ):
        configure(SERVE_EXPORTED=True, ROOT=folder, FILES_URL=f"{BASE}/files/")
        register(a=Numbers(1))
        export()
        exported._exports.clear()
        register(a=Numbers(7))
        get("/sitemap.xml")
        assert announced() == INDEXES

    def test_lists_the_indexes_of_the_urlconf_of_its_host(self, settings):
        settings.MIDDLEWARE = [f"{__name__}.urlconf_by_host"]
        get("/sitemap.xml")
        get("/sitemap.xml", Host=OTHER_HOST)
        assert (len(announced(Host=OTHER_HOST)), announced()) == (1, INDEXES)
