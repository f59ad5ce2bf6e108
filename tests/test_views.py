"""Our road over HTTP: the index, the pages, plain and compressed, and robots.txt."""

from __future__ import annotations

import gzip
import json
import logging
import tracemalloc
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.robotparser import RobotFileParser
from xml.etree import ElementTree

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import F
from django.db.models.functions import TruncDate
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import clear_script_prefix, include, path, re_path, resolve, reverse, set_script_prefix
from django.utils import timezone as django_timezone
from django.utils import translation
from django.views.decorators.cache import cache_page

from django_sitemaps09 import ModelSitemap, Route, protocol, sections, views
from django_sitemaps09.entries import Image
from django_sitemaps09.export import export
from tests.models import Article
from tests.support.published import SPACE
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

BASE = "https://www.example.com"
LINK = "{http://www.w3.org/1999/xhtml}link"
FIRST = datetime(2026, 1, 1, 10, 30, 15, tzinfo=timezone.utc)


class Articles(ModelSitemap[Article]):
    queryset = Article.objects.filter(published=True)
    location = Route("article", slug=F("slug"))
    lastmod = F("updated")


class Foreign(ContribSitemap):
    """As others write them for contrib."""

    limit = 5

    def items(self) -> list[int]:
        return list(range(7))

    def location(self, item: int) -> str:
        return f"/foreign/{item}/"


SET: dict[str, Any] = {"set": Numbers(1)}


def nothing(request: HttpRequest, **kwargs: object) -> HttpResponse:
    return HttpResponse("nothing")


def write_articles(*slugs: str) -> None:
    first = Article.objects.count()
    Article.objects.bulk_create(
        Article(slug=slug, updated=FIRST + timedelta(days=first + day)) for day, slug in enumerate(slugs)
    )


def locations(content: bytes) -> list[str]:
    return [str(loc.text) for loc in ElementTree.fromstring(content).iter(f"{SPACE}loc")]  # noqa: S314


def get(url: str, **headers: str) -> HttpResponse:
    """A new reader each time."""
    response: Any = Client().get(url, headers={name.replace("_", "-"): h for name, h in headers.items()})
    return response


def found(url: str = "/sitemap.xml") -> list[str]:
    """The paths in a document that is there."""
    response = get(url)
    assert response.status_code == 200
    content = response.content
    named = locations(gzip.decompress(content) if url.endswith(".gz") else content)
    assert all(name.startswith(f"{BASE}/") for name in named)
    return [name.removeprefix(BASE) for name in named]


def listed() -> list[str]:
    """The paths in all pages that the index names."""
    return [name for page in found() for name in found(page)]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes these the registered sections."""

    def only(**named: Any) -> None:
        monkeypatch.setattr(sections, "_discovered", True)
        monkeypatch.setattr(sections, "_registered", named)

    only()
    return only


@pytest.fixture
def route(settings: Any) -> Callable[..., None]:
    """Makes these the URLs of the project, beside those that locations lead to."""

    def only(*patterns: Any) -> None:
        module = ModuleType("urls")
        module.urlpatterns = [*patterns, path("articles/<slug:slug>/", nothing, name="article")]  # type: ignore[attr-defined]
        settings.ROOT_URLCONF = module

    return only


class TestTheNames:
    def test_lead_to_the_files_of_an_export(self) -> None:
        assert reverse("django_sitemaps09:index") == "/sitemap.xml"
        kwargs = {"section": "a-b_C", "page": 12}
        assert reverse("django_sitemaps09:page", kwargs=kwargs) == "/sitemap-a-b_C-12.xml"
        assert reverse("django_sitemaps09:page-gz", kwargs=kwargs) == "/sitemap-a-b_C-12.xml.gz"

    @pytest.mark.parametrize("name", ["a", "a-1", "1", "-", "_", "a-1-1", "A", "xml"])
    @pytest.mark.parametrize("view", ["page", "page-gz"])
    def test_hold_the_number_behind_the_last_hyphen(self, name: str, view: str) -> None:
        match = resolve(reverse(f"django_sitemaps09:{view}", kwargs={"section": name, "page": 34}))
        assert (match.view_name, match.app_names) == (f"django_sitemaps09:{view}", ["django_sitemaps09"])
        assert (match.kwargs["section"], match.kwargs["page"]) == (name, "34")

    def test_of_all_sections_lead_to_their_own_pages(
        self, register: Callable[..., None], configure: Callable[..., None]
    ) -> None:
        configure(MAX_URLS=2)
        register(**{"a": Numbers(1), "a-1": Numbers(3), "a-1-1": Numbers(4)})
        assert found() == [
            "/sitemap-a-1.xml.gz",
            "/sitemap-a-1-1.xml.gz",
            "/sitemap-a-1-2.xml.gz",
            "/sitemap-a-1-1-1.xml.gz",
            "/sitemap-a-1-1-2.xml.gz",
        ]
        assert [len(found(page)) for page in found()] == [1, 2, 1, 2, 2]


class TestTheSections:
    def test_are_the_registered_ones(self, register: Callable[..., None]) -> None:
        register(one=Numbers(1))
        assert found() == ["/sitemap-one-1.xml.gz"]

    def test_are_those_of_the_setting(
        self, register: Callable[..., None], configure: Callable[..., None]
    ) -> None:
        register(one=Numbers(1))
        configure(SITEMAPS=f"{__name__}.SET")
        assert found() == ["/sitemap-set-1.xml.gz"]
        assert get("/sitemap-one-1.xml").status_code == 404

    def test_are_those_that_are_passed_and_no_app_is_searched_then(
        self, route: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sections, "autodiscover_modules", lambda *names: pytest.fail("searched"))
        monkeypatch.setattr(sections, "_discovered", False)
        route(path("", include("django_sitemaps09.urls"), {"sitemaps": {"mine": Numbers(2)}}))
        assert found() == ["/sitemap-mine-1.xml.gz"]
        assert listed() == ["/numbers/0/", "/numbers/1/"]
        assert found("/sitemap-mine-1.xml") == ["/numbers/0/", "/numbers/1/"]

    def test_are_called_anew_for_each_request_if_they_can_be(self, register: Callable[..., None]) -> None:
        counts = iter([1, 2, 3])
        register(one=lambda: Numbers(next(counts)))
        assert [len(found("/sitemap-one-1.xml")) for _ in range(3)] == [1, 2, 3]

    def test_may_be_those_that_others_wrote_for_contrib(self, register: Callable[..., None]) -> None:
        register(foreign=Foreign)
        assert [len(found(page)) for page in found()] == [5, 2]
        assert listed() == [f"/foreign/{number}/" for number in range(7)]

    @pytest.mark.parametrize("name", ["a.b", "index", "ä", "a/b", ""])
    def test_with_a_name_that_no_url_can_have_are_refused(
        self, register: Callable[..., None], name: str
    ) -> None:
        register(**{name: Numbers(1), "fine": Numbers(1)})
        for url in ("/sitemap.xml", "/sitemap-fine-1.xml"):
            with pytest.raises(ImproperlyConfigured, match="The section"):
                get(url)


class TestTwoSitesInOneProject:
    @pytest.fixture(autouse=True)
    def _routed(self, route: Callable[..., None], register: Callable[..., None]) -> None:
        register(registered=Numbers(1))
        inner = [path("maps/", include("django_sitemaps09.urls"), {"sitemaps": {"deep": Numbers(4)}})]
        route(
            path("", include("django_sitemaps09.urls")),
            path("a/", include("django_sitemaps09.urls", namespace="a"), {"sitemaps": {"one": Numbers(2)}}),
            path("b/", include("django_sitemaps09.urls", namespace="b"), {"sitemaps": {"one": Numbers(3)}}),
            path("shop/", include((inner, "shop"))),
        )

    def test_name_their_own_pages(self) -> None:
        assert found("/sitemap.xml") == ["/sitemap-registered-1.xml.gz"]
        assert found("/a/sitemap.xml") == ["/a/sitemap-one-1.xml.gz"]
        assert found("/b/sitemap.xml") == ["/b/sitemap-one-1.xml.gz"]
        assert found("/shop/maps/sitemap.xml") == ["/shop/maps/sitemap-deep-1.xml.gz"]

    def test_have_their_own_pages(self) -> None:
        assert len(found("/a/sitemap-one-1.xml.gz")) == 2
        assert len(found("/b/sitemap-one-1.xml")) == 3
        assert len(found("/shop/maps/sitemap-deep-1.xml.gz")) == 4
        for url in ("/sitemap-one-1.xml", "/a/sitemap-registered-1.xml", "/b/sitemap-two-1.xml"):
            assert get(url).status_code == 404


class TestTheIndex:
    def test_has_the_newest_lastmod_of_each_page(
        self, register: Callable[..., None], configure: Callable[..., None]
    ) -> None:
        configure(MAX_URLS=1)
        write_articles("a", "b", "c", "d", "e")
        Article.objects.filter(slug="d").update(updated=None)
        Article.objects.filter(slug="e").update(updated=datetime.now(timezone.utc) + timedelta(days=1))
        register(articles=Articles)
        root = ElementTree.fromstring(get("/sitemap.xml").content)  # noqa: S314
        found = [entry.findtext(f"{SPACE}lastmod") for entry in root]
        assert found == [*(f"2026-01-0{day}T10:30:15Z" for day in (1, 2, 3)), None, None]

    def test_does_not_name_a_section_without_urls_and_its_page_is_not_found(
        self, register: Callable[..., None]
    ) -> None:
        register(empty=Articles, none=Numbers(0), one=Numbers(1))
        assert found() == ["/sitemap-one-1.xml.gz"]
        for name in ("empty", "none"):
            assert get(f"/sitemap-{name}-1.xml").status_code == 404
            assert get(f"/sitemap-{name}-1.xml.gz").status_code == 404

    def test_names_a_section_again_as_soon_as_it_has_rows(self, register: Callable[..., None]) -> None:
        register(articles=Articles)
        assert found() == []
        write_articles("a")
        assert found() == ["/sitemap-articles-1.xml.gz"]

    def test_of_no_sections_is_there(self, register: Callable[..., None]) -> None:
        register()
        assert found() == []

    def test_names_plain_pages_where_gzip_is_off(
        self, register: Callable[..., None], configure: Callable[..., None]
    ) -> None:
        configure(GZIP=False)
        register(one=Numbers(2))
        assert found() == ["/sitemap-one-1.xml"]
        assert len(listed()) == len(found("/sitemap-one-1.xml.gz")) == 2

    def test_has_the_script_prefix_in_its_links(self, register: Callable[..., None]) -> None:
        register(one=Numbers(1))
        set_script_prefix("/app/")
        try:
            assert found() == ["/app/sitemap-one-1.xml.gz"]
            assert f"Sitemap: {BASE}/app/sitemap.xml".encode() in get("/robots.txt").content
        finally:
            clear_script_prefix()


class Broken(Numbers):
    """A section that cannot be read."""

    def items(self) -> Sequence[int]:
        raise RuntimeError("\x1b[31mno items\nat all")


class TestALimit:
    @pytest.mark.parametrize("limit", ["3", " 3 ", 3.0, Decimal(3)], ids=repr)
    def test_is_what_contribs_paginator_takes(
        self, register: Callable[..., None], tmp_path: Path, limit: Any
    ) -> None:
        """A setting of an environment variable is a text, and `1e4` a float."""
        declared = type("Declared", (Numbers,), {"limit": limit})(7)
        assert declared.paginator.num_pages == 3
        register(numbers=declared)
        pages = [f"/sitemap-numbers-{number}.xml.gz" for number in (1, 2, 3)]
        assert found() == pages
        assert [len(found(page)) for page in pages] == [3, 3, 1]
        report = export(output=tmp_path, sitemaps={"numbers": declared})
        assert (report.failures, len(report.sections[0].files)) == ([], 3)


class TestASectionThatFails:
    def test_is_logged_and_costs_no_other_one(
        self, register: Callable[..., None], caplog: pytest.LogCaptureFixture
    ) -> None:
        register(one=Numbers(1), broken=Broken(1), two=Numbers(1))
        assert found() == ["/sitemap-one-1.xml.gz", "/sitemap-two-1.xml.gz"]
        (logged,) = [record for record in caplog.records if record.name == "django_sitemaps09.views.native"]
        expected = r"Section 'broken' is missing in the index: RuntimeError: \x1b[31mno items\nat all"
        assert logged.getMessage() == expected
        assert logged.exc_info is not None

    def test_fails_the_index_if_there_is_nothing_else_to_name(self, register: Callable[..., None]) -> None:
        register(broken=Broken(1), empty=Numbers(0))
        with pytest.raises(RuntimeError, match="no items"):
            get("/sitemap.xml")

    @pytest.mark.parametrize("limit", ["sixty", 60.5, None, 0, float("inf"), True])
    def test_by_its_limit_costs_no_other_one(self, register: Callable[..., None], limit: Any) -> None:
        """As contrib's class has it, where it fails a request of that section alone."""
        register(wrong=type("Wrong", (Numbers,), {"limit": limit})(1), right=Numbers(1))
        assert found() == ["/sitemap-right-1.xml.gz"]

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("atomic", [False, True])
    def test_by_its_queries_costs_no_other_one(
        self, register: Callable[..., None], settings: Any, monkeypatch: pytest.MonkeyPatch, atomic: bool
    ) -> None:
        """On PostgreSQL a query that failed fails all behind it in its transaction."""

        class Wrong(Articles):
            queryset = Article.objects.extra(where=["no_such_column = 1"])

        monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", atomic)
        write_articles("a")
        register(wrong=Wrong, right=Articles, also_wrong=Wrong)
        assert found() == ["/sitemap-right-1.xml.gz"]


class TestAPage:
    @pytest.fixture(autouse=True)
    def _rows(self, register: Callable[..., None]) -> None:
        write_articles("a", "b-c")
        Article.objects.create(slug="hidden", published=False)
        register(articles=Articles)

    def test_has_each_row_as_the_protocol_wants_it(self) -> None:
        assert get("/sitemap-articles-1.xml").content.decode() == (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<urlset xmlns="{SPACE[1:-1]}">\n'
            f"<url><loc>{BASE}/articles/a/</loc><lastmod>2026-01-01T10:30:15Z</lastmod></url>\n"
            f"<url><loc>{BASE}/articles/b-c/</loc><lastmod>2026-01-02T10:30:15Z</lastmod></url>\n"
            "</urlset>\n"
        )

    def test_is_xml_plain_and_an_opaque_file_compressed(self) -> None:
        page, packed = get("/sitemap-articles-1.xml"), get("/sitemap-articles-1.xml.gz")
        assert page.headers["Content-Type"] == "application/xml"
        assert packed.headers["Content-Type"] == "application/gzip"
        for response in (page, packed):
            assert "Content-Encoding" not in response.headers
            assert not response.streaming
            assert int(response.headers.get("Content-Length", len(response.content))) == len(
                response.content
            )
        assert gzip.decompress(packed.content) == page.content

    def test_is_the_same_bytes_each_time(self) -> None:
        assert get("/sitemap-articles-1.xml.gz").content == get("/sitemap-articles-1.xml.gz").content
        # Neither a name nor a time.
        assert get("/sitemap-articles-1.xml.gz").content[3:8] == bytes(5)

    def test_that_only_its_head_is_asked_of_is_there(self) -> None:
        response = Client().head("/sitemap-articles-1.xml.gz")
        assert (response.status_code, response.content) == (200, b"")

    @pytest.mark.parametrize("end", [".xml", ".xml.gz", ".txt"])
    def test_never_says_when_it_was_last_modified(self, end: str, settings: Any) -> None:
        """A row that is deleted or added can change a page and leave its newest lastmod."""
        settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.middleware.http.ConditionalGetMiddleware"]
        url, later = f"/sitemap-articles-1{end}", "Fri, 01 Jan 2100 00:00:00 GMT"
        changes: list[Callable[[], object]] = [
            lambda: Article.objects.filter(slug="a").update(slug="other"),
            lambda: Article.objects.create(slug="older", updated=FIRST - timedelta(days=99)),
            lambda: Article.objects.filter(slug="other").delete(),
        ]
        for change in changes:
            before = get(url)
            assert "Last-Modified" not in before.headers
            change()
            after = get(url, if_modified_since=later)
            assert (after.status_code, after.content != before.content) == (200, True)

    def test_leaves_out_and_logs_what_cannot_be_listed(
        self, register: Callable[..., None], caplog: pytest.LogCaptureFixture
    ) -> None:
        class Bad(Numbers):
            def location(self, item: int) -> str:
                if item == 1:
                    raise ValueError("no place")
                return "https://elsewhere.example.net/" if item == 2 else super().location(item)

            def priority(self, item: int) -> float:
                return 8 if item == 3 else 0.5

        register(bad=Bad(5))
        with caplog.at_level(logging.WARNING, "django_sitemaps09"):
            page = get("/sitemap-bad-1.xml")
        assert locations(page.content) == [f"{BASE}/numbers/{number}/" for number in (0, 3, 4)]
        assert page.content.count(b"<priority>") == 2
        logged = sorted(message for message in caplog.messages if "left out" in message)
        assert len(logged) == 3
        assert "Section 'bad', page 1: left out: item 2: location ValueError: no place" in logged[0]
        assert "item 3: location" in logged[1]
        assert "item 4: priority" in logged[2]

    def test_with_nothing_but_bad_items_is_logged_in_a_few_lines(
        self, register: Callable[..., None], caplog: pytest.LogCaptureFixture
    ) -> None:
        class Bad(Numbers):
            def location(self, item: int) -> str:
                raise ValueError("no place")

        register(bad=Bad(5_000))
        assert found() == ["/sitemap-bad-1.xml.gz"]
        response = get("/sitemap-bad-1.xml")
        assert response.status_code == 200
        assert ElementTree.fromstring(response.content).tag == f"{SPACE}urlset"  # noqa: S314 ours
        assert locations(response.content) == []
        logged = [message for message in caplog.messages if "left out" in message]
        assert len(logged) == 21
        assert "4980 more" in logged[-1]


class TestEveryView:
    """What crawlers need of each of them."""

    URLS = ("/sitemap.xml", "/sitemap-articles-1.xml", "/sitemap-articles-1.xml.gz", "/robots.txt")

    @pytest.fixture(autouse=True)
    def _rows(self, register: Callable[..., None]) -> None:
        write_articles("a", "b")
        register(articles=Articles)

    @pytest.mark.parametrize("url", URLS)
    def test_is_not_itself_for_an_index_of_pages(self, url: str) -> None:
        assert get(url).headers["X-Robots-Tag"] == "noindex, noodp, noarchive"

    @pytest.mark.parametrize("url", URLS)
    def test_is_public_where_a_login_is_required(self, url: str, settings: Any) -> None:
        settings.MIDDLEWARE = [
            *settings.MIDDLEWARE,
            "django.contrib.auth.middleware.LoginRequiredMiddleware",
        ]
        assert get("/about/").status_code == 302
        assert get(url).status_code == 200

    def test_is_public_under_cache_page_too_and_is_made_once(
        self, route: Callable[..., None], settings: Any, django_assert_num_queries: Any
    ) -> None:
        settings.MIDDLEWARE = [
            *settings.MIDDLEWARE,
            "django.contrib.auth.middleware.LoginRequiredMiddleware",
        ]
        cached = cache_page(60)
        patterns = [
            path("sitemap.xml", cached(views.sitemap_index), name="index"),
            re_path(r"^sitemap-(?P<section>\w+)-(?P<page>\d+)\.xml$", cached(views.page), name="page"),
            re_path(
                r"^sitemap-(?P<section>\w+)-(?P<page>\d+)\.xml\.gz$", cached(views.page_gz), name="page-gz"
            ),
        ]
        route(
            path("", include((patterns, "django_sitemaps09"))),
            path("robots.txt", cached(views.robots_txt)),
        )
        first = {url: get(url) for url in self.URLS}
        Article.objects.all().delete()
        with django_assert_num_queries(0):
            second = {url: get(url) for url in self.URLS}
        for url in self.URLS:
            assert (first[url].status_code, second[url].content) == (200, first[url].content)
            kept = {name: value for name, value in second[url].items() if name != "Age"}
            assert kept == dict(first[url].items())

    @pytest.mark.parametrize("url", URLS)
    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
    def test_answers_get_and_head_alone(self, url: str, method: str) -> None:
        response = Client().generic(method, url)
        assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD")
        assert response.headers["X-Robots-Tag"] == get(url).headers["X-Robots-Tag"]
        assert Client().head(url).status_code == 200

    @pytest.mark.parametrize("url", URLS)
    def test_answers_not_modified_to_who_has_it(self, url: str, settings: Any) -> None:
        settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.middleware.http.ConditionalGetMiddleware"]
        response = get(url)
        assert get(url, if_none_match=response.headers["ETag"]).status_code == 304
        Article.objects.filter(slug="b").update(slug="c", updated=FIRST + timedelta(days=9))
        changed = get(url, if_none_match=response.headers["ETag"]).status_code
        assert changed == (200 if "articles" in url else 304)


class TestCompressionByMiddleware:
    """`GZipMiddleware` would shrink a page of like URLs once more, and then a reader unpacks too little."""

    @pytest.fixture(autouse=True)
    def _rows(self, register: Callable[..., None]) -> None:
        register(one=Numbers(3_000))

    MIDDLEWARE = (
        ["django.middleware.gzip.GZipMiddleware"],
        [
            "django.middleware.cache.UpdateCacheMiddleware",
            "django.middleware.gzip.GZipMiddleware",
            "django.middleware.cache.FetchFromCacheMiddleware",
        ],
    )

    @pytest.mark.parametrize("middleware", MIDDLEWARE, ids=["alone", "with a cache"])
    def test_leaves_a_compressed_page_as_it_is(self, settings: Any, middleware: list[str]) -> None:
        plain = get("/sitemap-one-1.xml").content
        packed = get("/sitemap-one-1.xml.gz").content
        assert len(gzip.compress(packed)) < len(packed) / 2
        settings.MIDDLEWARE = middleware
        for _ in range(2):
            response = get("/sitemap-one-1.xml.gz", accept_encoding="gzip, br")
            assert "Content-Encoding" not in response.headers
            assert response.content == packed
            assert gzip.decompress(response.content) == plain

    @pytest.mark.parametrize("middleware", MIDDLEWARE, ids=["alone", "with a cache"])
    def test_is_negotiated_for_a_plain_one(self, settings: Any, middleware: list[str]) -> None:
        plain = get("/sitemap-one-1.xml").content
        settings.MIDDLEWARE = middleware
        for _ in range(2):
            response = get("/sitemap-one-1.xml", accept_encoding="gzip")
            assert response.headers["Content-Type"] == "application/xml"
            assert response.headers["Content-Encoding"] == "gzip"
            assert gzip.decompress(response.content) == plain
            assert get("/sitemap-one-1.xml").content == plain


class TestWhatIsNotFound:
    @pytest.fixture(autouse=True)
    def _rows(self, register: Callable[..., None]) -> None:
        write_articles("a", "b")
        register(articles=Articles, numbers=Numbers(2), foreign=Foreign)

    @pytest.mark.parametrize("end", [".xml", ".xml.gz"])
    @pytest.mark.parametrize("name", ["articles", "numbers", "foreign"])
    @pytest.mark.parametrize(
        "number", ["0", "-1", "01", "3", "999999999", "9999999999", "1" * 300, "1e3", "²", "१", "", "+1"]
    )
    def test_is_a_page_that_no_map_has(self, name: str, number: str, end: str) -> None:
        assert get(f"/sitemap-{name}-{number}{end}").status_code == 404

    @pytest.mark.parametrize(
        "url",
        [
            "/sitemap-none-1.xml",
            "/sitemap-Articles-1.xml",
            "/sitemap-index-1.xml",
            "/sitemap--1.xml",
            "/sitemap-articles.xml",
            "/sitemap-1.xml",
            "/sitemap-articles-1.xml.gz.gz",
            "/sitemap-articles-1.XML",
            "/sitemap-articles-1xxml",
            "/sitemapxxml",
            "/sitemap.xml/",
            "/x/sitemap-articles-1.xml",
            "/sitemap-art%2Ficles-1.xml",
            "/sitemap.xml%0A",
            "/sitemap-articles-1.xml%0A",
            "/sitemap-articles-1.xml.gz%0A",
            "/sitemap-articles%0A-1.xml",
            "/sitemap-articles-1%0A.xml",
            "/sitemap-articles-1.xml%00",
        ],
    )
    def test_is_a_name_that_is_none(self, url: str) -> None:
        assert get(url).status_code == 404

    def test_is_an_absurd_page_without_a_query_once_the_map_is_known(
        self, django_assert_num_queries: Any
    ) -> None:
        get("/sitemap.xml")
        with django_assert_num_queries(0):
            for number in (2, 77, 999_999_999):
                assert get(f"/sitemap-articles-{number}.xml").status_code == 404
                assert get(f"/sitemap-articles-{number}.xml.gz").status_code == 404

    def test_is_a_page_of_a_list_without_a_look_at_all_its_items(
        self, register: Callable[..., None]
    ) -> None:
        """It cost as much as rendering all of them."""
        asked: dict[str, int] = {"items": 0, "location": 0}

        class Counted(Numbers):
            def items(self) -> Sequence[int]:
                asked["items"] += 1
                return super().items()

            def location(self, item: int) -> str:
                asked["location"] += 1
                return super().location(item)

        register(counted=Counted(5_000))
        for end in (".xml", ".xml.gz", ".txt"):
            asked.update(items=0, location=0)
            assert get(f"/sitemap-counted-2{end}").status_code == 404
            assert asked["items"] == 1
            assert asked["location"] <= 200

    def test_is_an_unknown_section_without_any_query(self, django_assert_num_queries: Any) -> None:
        with django_assert_num_queries(0):
            assert get("/sitemap-none-1.xml").status_code == 404


class TestTheHost:
    @pytest.fixture(autouse=True)
    def _rows(self, register: Callable[..., None]) -> None:
        register(one=Numbers(1))

    @staticmethod
    def hosts(**request: Any) -> set[str]:
        """All bases that the three kinds of documents name."""
        named = set()
        for url in ("/sitemap.xml", "/sitemap-one-1.xml", "/robots.txt"):
            response = Client().get(url, **request)
            assert response.status_code == 200
            text = response.content.decode()
            for word in text.replace("<", " ").replace(">", " ").split():
                if "://" in word and "sitemaps.org" not in word and "xmlns" not in word:
                    named.add("/".join(word.split("/")[:3]))
        return named

    def test_is_that_of_base_url_whatever_the_request_says(self, settings: Any) -> None:
        settings.ALLOWED_HOSTS = ["www.example.com"]
        spoofed = {"host": "evil.example", "x-forwarded-host": "evil.example", "x-forwarded-proto": "ftp"}
        assert self.hosts(headers=spoofed) == {BASE}
        assert self.hosts(headers={"host": "a b<c>"}) == {BASE}

    def test_is_that_of_the_site_with_the_scheme_of_the_request(self, settings: Any) -> None:
        settings.SITEMAPS09 = {}
        Site.objects.update_or_create(pk=1, defaults={"domain": "site.example.org", "name": "x"})
        Site.objects.clear_cache()
        try:
            assert self.hosts(headers={"host": "evil.example"}) == {"http://site.example.org"}
            assert self.hosts(headers={"host": "evil.example"}, secure=True) == {"https://site.example.org"}
        finally:
            Site.objects.clear_cache()

    def test_is_that_of_the_request_without_sites_if_it_is_allowed(self, settings: Any) -> None:
        settings.SITEMAPS09 = {}
        settings.ALLOWED_HOSTS = [".example.org"]
        settings.INSTALLED_APPS = [
            app for app in settings.INSTALLED_APPS if app.rpartition(".")[2] not in ("sites", "flatpages")
        ]
        hosts = self.hosts(headers={"host": "shop.example.org:8000"}, secure=True)
        assert hosts == {"https://shop.example.org:8000"}
        for url in ("/sitemap.xml", "/sitemap-one-1.xml", "/sitemap-one-1.xml.gz", "/robots.txt"):
            response = get(url, host="evil.example")
            assert response.status_code == 400
            assert b"evil.example/" not in response.content

    @pytest.mark.parametrize("host", ["xn--bcher-kva.example", "xn--bcher-kva.example:8443"])
    def test_is_that_of_the_site_that_is_stored_in_unicode(self, settings: Any, host: str) -> None:
        settings.SITEMAPS09 = {}
        del settings.SITE_ID
        settings.ALLOWED_HOSTS = ["*"]
        Site.objects.create(domain="bücher.example", name="x")
        try:
            assert self.hosts(headers={"host": host}) == {"http://xn--bcher-kva.example"}
        finally:
            Site.objects.clear_cache()

    @pytest.mark.parametrize("domain", ["a\nDisallow: /", "a b", "user@example.org", "example.org/x", ""])
    def test_is_refused_where_it_is_none(self, settings: Any, domain: str) -> None:
        settings.SITEMAPS09 = {}
        Site.objects.update_or_create(pk=1, defaults={"domain": domain, "name": "x"})
        Site.objects.clear_cache()
        try:
            for url in ("/sitemap.xml", "/sitemap-one-1.xml", "/sitemap-one-1.xml.gz", "/robots.txt"):
                with pytest.raises(ImproperlyConfigured, match="current site"):
                    get(url)
        finally:
            Site.objects.clear_cache()

    def test_gives_way_to_the_protocol_of_a_section(self, register: Callable[..., None]) -> None:
        class Old(Numbers):
            protocol = "http"

        register(old=Old(1))
        assert locations(get("/sitemap-old-1.xml").content) == ["http://www.example.com/numbers/0/"]
        assert locations(get("/sitemap.xml").content) == [f"{BASE}/sitemap-old-1.xml.gz"]


class JsonCache(LocMemCache):
    """A cache that keeps JSON, as some do, so that tuples come back as lists."""

    def set(self, key: Any, value: Any, *args: Any, **kwargs: Any) -> None:
        super().set(key, json.dumps(value), *args, **kwargs)

    def get(self, key: Any, *args: Any, **kwargs: Any) -> Any:
        kept = super().get(key, *args, **kwargs)
        return kept if kept is None else json.loads(kept)


class TestTheLiveMap:
    @pytest.fixture(autouse=True)
    def _rows(self, register: Callable[..., None], configure: Callable[..., None]) -> None:
        configure(MAX_URLS=3)
        write_articles("a", "b", "c", "d", "e")
        register(articles=Articles)

    def test_is_made_once_for_all_readers(self) -> None:
        with CaptureQueriesContext(
            connection,
        ) as first:
            index = get("/sitemap.xml").content
        with CaptureQueriesContext(connection) as second:
            assert get("/sitemap.xml").content == index
        assert len(first) > 2
        assert len(second) == 0

    @override_settings(CACHES={"default": {"BACKEND": "tests.test_views.JsonCache"}})
    def test_is_kept_by_a_cache_of_json_too(self) -> None:
        first = get("/sitemap.xml").content
        with CaptureQueriesContext(connection) as queries:
            assert get("/sitemap.xml").content == first
        assert len(queries) == 0
        assert listed() == [f"/articles/{slug}/" for slug in "abcde"]

    @pytest.mark.parametrize("place", [0, 1])
    def test_makes_any_page_one_query(self, django_assert_num_queries: Any, place: int) -> None:
        page = found()[place].removesuffix(".gz")
        with django_assert_num_queries(1) as queries:
            assert get(page).status_code == 200
        assert "OFFSET" not in queries.captured_queries[0]["sql"]

    def test_keeps_the_bounds_of_closed_pages_while_rows_come_and_go(self) -> None:
        index = found()
        first, *_, last = before = [found(page) for page in index]
        assert listed() == [f"/articles/{slug}/" for slug in "abcde"]
        Article.objects.filter(slug="b").delete()
        write_articles("f")
        assert found() == index
        after = [found(page) for page in index]
        assert after[0] == [url for url in first if url != "/articles/b/"]
        assert after[1:-1] == before[1:-1]
        assert after[-1] == [*last, "/articles/f/"][:3]

    def test_has_another_page_as_soon_as_its_open_one_overflows(self) -> None:
        index = found()
        last = found(index[-1])
        write_articles("f", "g", "h")
        assert found(index[-1]) == [*last, "/articles/f/", "/articles/g/", "/articles/h/"][:3]
        assert found()[:-1] == index
        assert sorted(listed()) == [f"/articles/{slug}/" for slug in "abcdefgh"]

    def test_is_not_that_of_another_section_or_limit(
        self, register: Callable[..., None], configure: Callable[..., None]
    ) -> None:
        class Some(Articles):
            queryset = Article.objects.exclude(slug="a")

        register(articles=Articles, some=Some)
        both = [*(f"/articles/{slug}/" for slug in "abcde"), *(f"/articles/{slug}/" for slug in "bcde")]
        for limit, pages in ((3, 4), (1, 9), (5, 2)):
            configure(MAX_URLS=limit)
            assert listed() == both
            assert len(found()) == pages

    def test_has_pages_of_the_sitemaps_own_limit(self, register: Callable[..., None]) -> None:
        class Short(Articles):
            limit = 1

        register(articles=Short)
        assert [len(found(page)) for page in found()] == [1, 1, 1, 1, 1]

    def test_has_an_empty_page_for_rows_that_are_all_gone_until_it_is_cut_anew(self) -> None:
        pages = found()
        Article.objects.filter(slug__in=[url.split("/")[2] for url in found(pages[-1])]).delete()
        assert found() == pages
        assert [bool(found(page)) for page in pages] == [*[True] * (len(pages) - 1), False]
        cache.clear()
        assert found() == pages[:-1]
        Article.objects.all().delete()
        cache.clear()
        assert found() == []
        assert [get(page).status_code for page in pages] == [404] * len(pages)


class TestAPageThatIsTooLarge:
    """Only an export can split it; too much is better than nothing, up to the limits of the protocol."""

    def test_by_count_is_served_whole_and_logged_with_the_way_out(
        self,
        register: Callable[..., None],
        configure: Callable[..., None],
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        configure(MAX_URLS=4)
        register(foreign=Foreign)
        assert [len(found(page)) for page in found()] == [5, 2]
        (logged,) = [message for message in caplog.messages if "limit" in message]
        assert "Section 'foreign', page 1" in logged
        assert "5 URLs" in logged
        assert "Set a lower `limit`" in logged

    @pytest.mark.parametrize(("most", "whole"), [(60_000, False), (protocol.MAX_BYTES, True)])
    def test_by_bytes_is_served_as_far_as_the_protocol_admits(
        self,
        register: Callable[..., None],
        configure: Callable[..., None],
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        most: int,
        whole: bool,
    ) -> None:
        class Growing(Numbers):
            """Entries that are longer than the first ones tell."""

            def location(self, item: int) -> str:
                return f"/numbers/{item}/{'x' * (item // 200 * 500)}"

        configure(MAX_BYTES=20_000)
        monkeypatch.setattr(protocol, "MAX_BYTES", most)
        register(growing=Growing(500))
        pages = [gzip.decompress(get(page).content) for page in found()]
        assert all(len(page) <= most for page in pages)
        assert "Set a lower `limit`" in caplog.text
        served = [name for page in pages for name in locations(page)]
        assert (len(served) == 500) is whole
        assert ("only the first" not in caplog.text) is whole


class TestAHugePage:
    def test_of_captions_takes_little_memory(self, register: Callable[..., None]) -> None:
        """3,000 captions of 100 kB, which authors wrote, took 712 MB."""

        class Captioned(Numbers):
            def images(self, item: int) -> list[Image]:
                return [Image(f"/{item}.jpg", caption=f"{item}{'&' * 100_000}")]

        register(captioned=Captioned(3_000))
        tracemalloc.start()
        try:
            response = get("/sitemap-captioned-1.xml")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert len(locations(response.content)) > 2_800
        assert peak < 30_000_000


class TestALanguage:
    MIDDLEWARE = ("django.middleware.locale.LocaleMiddleware",)

    @pytest.fixture(autouse=True)
    def _negotiated(self, settings: Any) -> None:
        settings.MIDDLEWARE = [*self.MIDDLEWARE, *settings.MIDDLEWARE]

    def test_of_the_reader_changes_no_section_without_i18n(
        self, register: Callable[..., None], route: Callable[..., None]
    ) -> None:
        class Spoken(Numbers):
            def items(self) -> list[str]:
                return [f"{translation.get_language()}-{number}" for number in range(3)]

            def location(self, item: str) -> str:
                return f"/{translation.get_language()}/{item}/"

        class Routed(ModelSitemap[Article]):
            model = Article
            location = Route("translated", slug=F("slug"))

        class SpokenForeign(ContribSitemap):
            def items(self) -> list[str]:
                return [translation.get_language()]

            def location(self, item: str) -> str:
                return f"/{item}/{translation.get_language()}/"

        write_articles("a")
        register(spoken=Spoken(0), routed=Routed, foreign=SpokenForeign)
        route(
            path("", include("django_sitemaps09.urls")),
            *i18n_patterns(path("t/<slug:slug>/", nothing, name="translated")),
        )
        urls = ["/sitemap.xml", *(f"/sitemap-{name}-1.xml" for name in ("spoken", "routed", "foreign"))]
        english = [get(url, accept_language="en").content for url in urls]
        german = [get(url, accept_language="de").content for url in urls]
        assert german == english
        assert b"/en/en-2/" in english[1]
        assert b"/en/t/a/" in english[2]
        assert b"/en/en/" in english[3]

    def test_of_the_reader_changes_no_section_with_i18n_either(self, register: Callable[..., None]) -> None:
        class Translated(Numbers):
            i18n = alternates = x_default = True

            def location(self, item: int) -> str:
                return f"/{translation.get_language()}/{item}/"

        register(translated=Translated(2))
        english = get("/sitemap-translated-1.xml", accept_language="en").content
        assert get("/sitemap-translated-1.xml", accept_language="pt-br").content == english
        assert locations(english) == [
            f"{BASE}/{language}/{item}/" for item in (0, 1) for language in ("en", "de", "pt-br")
        ]
        links = [link.attrib for link in ElementTree.fromstring(english).iter(LINK)]  # noqa: S314
        assert {"rel": "alternate", "hreflang": "de", "href": f"{BASE}/de/1/"} in links
        assert {"rel": "alternate", "hreflang": "x-default", "href": f"{BASE}/1/"} in links
        assert len(links) == 6 * 4

    def test_of_the_project_may_be_in_our_own_urls(
        self, register: Callable[..., None], route: Callable[..., None]
    ) -> None:
        register(one=Numbers(1))
        route(*i18n_patterns(path("", include("django_sitemaps09.urls"))))
        assert found("/de/sitemap.xml") == ["/de/sitemap-one-1.xml.gz"]
        assert found("/de/sitemap-one-1.xml.gz") == ["/numbers/0/"]

    def test_a_zone_of_the_reader_changes_nothing_either(
        self, register: Callable[..., None], settings: Any
    ) -> None:
        class Daily(Articles):
            lastmod = TruncDate("updated")

        write_articles("a")
        Article.objects.update(updated=datetime(2026, 1, 1, 23, 30, tzinfo=timezone.utc))
        register(daily=Daily)
        settings.MIDDLEWARE = [f"{__name__}.far_west"]
        for url in ("/sitemap.xml", "/sitemap-daily-1.xml"):
            assert b"<lastmod>2026-01-02</lastmod>" in get(url).content


def far_west(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware that activates a zone, as many projects have one."""

    def middleware(request: HttpRequest) -> HttpResponse:
        with django_timezone.override(timezone(timedelta(hours=-9))):
            return get_response(request)

    return middleware


class TestRobotsTxt:
    RULES = "User-agent: *\nDisallow: /private/\n"

    def test_names_the_index_and_allows_all_without_rules(self) -> None:
        response = get("/robots.txt")
        assert response.content.decode() == f"Sitemap: {BASE}/sitemap.xml\n"
        assert response.headers["Content-Type"] == "text/plain; charset=utf-8"

    @pytest.mark.parametrize("rules", [RULES, RULES.rstrip(), f"{RULES}\n\n", RULES.replace("\n", "\r\n")])
    def test_has_the_rules_first(self, route: Callable[..., None], rules: str) -> None:
        route(
            path("", include("django_sitemaps09.urls")),
            path("robots.txt", views.robots_txt, {"rules": rules, "sitemaps": {}}),
        )
        content = get("/robots.txt").content.decode()
        assert content == f"{rules.rstrip()}\n\nSitemap: {BASE}/sitemap.xml\n"
        parser = RobotFileParser()
        parser.parse(content.splitlines())
        assert parser.site_maps() == [f"{BASE}/sitemap.xml"]
        assert not parser.can_fetch("any", f"{BASE}/private/")
        assert parser.can_fetch("any", f"{BASE}/sitemap.xml")

    def test_names_the_index_that_it_is_told_of(self, route: Callable[..., None]) -> None:
        route(
            path("", include("django_sitemaps09.urls")),
            path("shop/", include("django_sitemaps09.urls", namespace="shop")),
            path("robots.txt", views.robots_txt, {"sitemap_url_name": "shop:index"}),
        )
        assert get("/robots.txt").content.decode() == f"Sitemap: {BASE}/shop/sitemap.xml\n"
