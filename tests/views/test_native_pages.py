"""The native pages over HTTP: plain and compressed, conditional, within their limits."""

from __future__ import annotations

import gzip
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import pytest
from django.test import Client
from django.urls import include, path, re_path
from django.views.decorators.cache import cache_page

from django_sitemaps09 import protocol, views
from django_sitemaps09.entries import Image
from tests.models import Article
from tests.support.configuration import BASE, Configure, Register, UseUrls
from tests.support.factories import ArticleFactory
from tests.support.memory import traced
from tests.support.native_views import FIRST, Articles, Foreign, found, get, locations, write_articles
from tests.support.published import SPACE
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]


class TestAPage:
    @pytest.fixture(autouse=True)
    def _rows(self, register: Register) -> None:
        write_articles("a", "b-c")
        ArticleFactory(slug="hidden", published=False)
        register(articles=Articles)

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

    @pytest.mark.parametrize("end", [".xml", ".xml.gz", ".txt"])
    def test_never_says_when_it_was_last_modified(self, end: str, settings: Any) -> None:
        """Deleting or adding a row can change a page without changing its newest lastmod."""
        settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.middleware.http.ConditionalGetMiddleware"]
        url, later = f"/sitemap-articles-1{end}", "Fri, 01 Jan 2100 00:00:00 GMT"
        changes: list[Callable[[], object]] = [
            lambda: Article.objects.filter(slug="a").update(slug="other"),
            lambda: ArticleFactory(slug="older", updated=FIRST - timedelta(days=99)),
            lambda: Article.objects.filter(slug="other").delete(),
        ]
        for change in changes:
            before = get(url)
            assert "Last-Modified" not in before.headers
            change()
            after = get(url, if_modified_since=later)
            assert (after.status_code, after.content != before.content) == (200, True)

    def test_leaves_out_and_logs_what_cannot_be_listed(
        self, register: Register, caplog: pytest.LogCaptureFixture
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
        logged = sorted(message for message in caplog.messages if "skipped" in message)
        assert len(logged) == 3
        assert "Section 'bad', page 1: skipped item 2, location: ValueError: no place" in logged[0]
        assert "item 3, location" in logged[1]
        assert "item 4, priority" in logged[2]

    def test_with_nothing_but_bad_items_is_logged_in_a_few_lines(
        self, register: Register, caplog: pytest.LogCaptureFixture
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
        logged = [message for message in caplog.messages if "skipped" in message]
        assert len(logged) == 4
        assert "4997 more" in logged[-1]


class TestEveryView:
    """Behavior that crawlers need from every view."""

    URLS = ("/sitemap.xml", "/sitemap-articles-1.xml", "/sitemap-articles-1.xml.gz", "/robots.txt")

    @pytest.fixture(autouse=True)
    def _rows(self, register: Register) -> None:
        write_articles("a", "b")
        register(articles=Articles)

    @pytest.fixture
    def _login_required(self, settings: Any) -> None:
        middleware = "django.contrib.auth.middleware.LoginRequiredMiddleware"
        settings.MIDDLEWARE = [*settings.MIDDLEWARE, middleware]

    @pytest.mark.parametrize("url", URLS)
    @pytest.mark.usefixtures("_login_required")
    def test_is_public_if_a_login_is_required(self, url: str) -> None:
        assert get("/about/").status_code == 302
        response = get(url)
        assert (response.status_code, response["X-Robots-Tag"]) == (200, "noindex, noodp, noarchive")

    @pytest.mark.usefixtures("_login_required")
    def test_is_public_under_cache_page_too_and_is_made_once(
        self, route: UseUrls, django_assert_num_queries: Any
    ) -> None:
        cached, page = cache_page(60), r"^sitemap-(?P<section>\w+)-(?P<page>\d+)\.xml"
        patterns = [
            path("sitemap.xml", cached(views.sitemap_index), name="index"),
            re_path(rf"{page}$", cached(views.page), name="page"),
            re_path(rf"{page}\.gz$", cached(views.page_gz), name="page-gz"),
        ]
        route(
            path("", include((patterns, "django_sitemaps09"))), path("robots.txt", cached(views.robots_txt))
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


@pytest.mark.parametrize("is_cached", [False, True])
def test_middleware_compresses_a_plain_page_and_leaves_a_compressed_one(
    register: Register, settings: Any, is_cached: bool
) -> None:
    """`GZipMiddleware` would compress such a page again, and a reader would decompress it only once."""
    register(one=Numbers(3_000))
    plain, packed = get("/sitemap-one-1.xml").content, get("/sitemap-one-1.xml.gz").content
    assert len(gzip.compress(packed)) < len(packed) / 2
    names = ["cache.UpdateCache", "gzip.GZip", "cache.FetchFromCache"] if is_cached else ["gzip.GZip"]
    settings.MIDDLEWARE = [f"django.middleware.{name}Middleware" for name in names]
    for _ in range(2):
        response = get("/sitemap-one-1.xml.gz", accept_encoding="gzip, br")
        assert ("Content-Encoding" in response.headers, response.content) == (False, packed)
        response = get("/sitemap-one-1.xml", accept_encoding="gzip")
        assert response.headers["Content-Type"] == "application/xml"
        assert response.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(response.content) == get("/sitemap-one-1.xml").content == plain


class TestAPageThatIsTooLarge:
    """Only an export can split such a page. Live, it is served up to the limits of the protocol."""

    def test_by_count_is_served_whole_and_logged_with_the_way_out(
        self, register: Register, configure: Configure, caplog: pytest.LogCaptureFixture
    ) -> None:
        configure(MAX_URLS=4)
        register(foreign=Foreign)
        assert [len(found(page)) for page in found()] == [5, 2]
        (logged,) = [message for message in caplog.messages if "limit" in message]
        assert "Section 'foreign', page 1" in logged
        assert "5 URLs" in logged
        assert "Set a lower `limit`" in logged
        caplog.clear()
        configure(MAX_URLS=5)
        assert [len(found(page)) for page in found()] == [5, 2]
        assert [message for message in caplog.messages if "limit" in message] == []

    @pytest.mark.parametrize(("most", "whole"), [(60_000, False), (protocol.MAX_BYTES, True)])
    def test_by_bytes_is_served_as_far_as_the_protocol_admits(
        self,
        register: Register,
        configure: Configure,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        most: int,
        whole: bool,
    ) -> None:
        class Growing(Numbers):
            """Section whose later entries are longer than the first ones."""

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


def test_a_huge_page_of_captions_takes_little_memory(register: Register) -> None:
    """Without a limit, 3,000 captions of 100 kB took 712 MB."""

    class Captioned(Numbers):
        def images(self, item: int) -> list[Image]:
            return [Image(f"/{item}.jpg", caption=f"{item}{'&' * 100_000}")]

    register(captioned=Captioned(3_000))
    with traced() as memory:
        response = get("/sitemap-captioned-1.xml")
    assert len(locations(response.content)) > 2_800
    assert memory.peak < 30_000_000
