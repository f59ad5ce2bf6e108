"""Pages that a process remembers for `LIVE_SECONDS`: whose requests find them, and for how long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.cache import caches
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import set_script_prefix, set_urlconf

from django_sitemaps09 import sources
from django_sitemaps09.views import caching
from django_sitemaps09.views.live import kept_pages, memo
from django_sitemaps09.views.live.memo import PageETag
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.clock import set_seconds
from tests.support.configuration import Configure, Register
from tests.support.site_factories import SiteFactory

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(LIVE_SECONDS=60)]

PAGE = "/sitemap-articles-1.xml"
SECTIONS = {"articles": Articles}


@pytest.fixture(autouse=True)
def _articles(register: Register) -> None:
    write_keys(*range(1, 9))
    register(articles=Articles)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    return set_seconds(monkeypatch, memo, now=int(time.time()) + 0.5)


def get(url: str = PAGE, **headers: str) -> Any:
    return Client().get(url, headers=headers)


def request(url: str = PAGE, **extra: Any) -> HttpRequest:
    return RequestFactory().get(url, **extra)


def remember(known_request: HttpRequest, sitemaps: Any = None) -> None:
    memo.remember(known_request, sitemaps, None, PageETag("etag", time.time()))


@pytest.fixture
def no_compilation(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Let every compilation of a section and every use of the default cache's data fail."""

    def fail(*arguments: object) -> None:
        pytest.fail("the section was compiled, or the cache was read")

    def forbid() -> None:
        monkeypatch.setattr(sources, "source", fail)
        monkeypatch.setattr(caching.default, "get", fail)

    return forbid


class TestAnUnchangedPage:
    @pytest.mark.parametrize("suffix", ["xml", "xml.gz", "txt"])
    def test_is_recognized_without_compiling_its_section(
        self, suffix: str, no_compilation: Callable[[], None]
    ) -> None:
        url = f"/sitemap-articles-1.{suffix}"
        etag = get(url).headers["ETag"]
        no_compilation()
        response = get(url, if_none_match=etag)
        assert response.status_code == 304
        assert response.headers["ETag"] == etag

    def test_is_served_from_the_live_cache_without_compiling_its_section(
        self, configure: Configure, no_compilation: Callable[[], None]
    ) -> None:
        configure(LIVE_CACHE="default", LIVE_SECONDS=60)
        content = get().content
        # Another process may have stored a newer page, whose ETag this process does not know.
        [known] = [entry.value for key, entry in memo._entries.items() if not isinstance(key, str)]
        assert kept_pages.CachedCopy(known.cache_key, "Page").find("another") is None
        assert kept_pages.CachedCopy(known.cache_key, "Page").find(known.etag.value)
        caches["default"].clear()
        assert get().content == content
        no_compilation()
        response = get()
        assert (response.content, response.headers["Vary"]) == (content, "Accept-Encoding")

    @pytest.mark.parametrize("seconds", [(59,), (29, 29)])
    def test_is_compiled_again_after_live_seconds_however_often_it_is_requested(
        self, clock: Callable[[float], None], seconds: tuple[int, ...]
    ) -> None:
        """The limit is the age of the fingerprint, and not the time since the last request."""
        etag = get().headers["ETag"]
        Article.objects.filter(pk=3).update(slug="other")
        for passed in seconds:
            clock(passed)
            assert get(if_none_match=etag).status_code == 304
        clock(61 - sum(seconds))
        response = get(if_none_match=etag)
        assert (response.status_code, b"/other/" in response.content) == (200, True)


class TestAHost:
    """A page of one host is never served to another one, however Django determines the host."""

    @pytest.fixture(autouse=True)
    def _sites_by_host(self, settings: Any) -> Iterator[None]:
        Site.objects.all().delete()
        for domain in ("a.example", "b.example", "b.example:8001"):
            SiteFactory(domain=domain)
        del settings.SITE_ID
        settings.SITEMAPS09 = {"LIVE_CACHE": "default"}
        settings.ALLOWED_HOSTS = ["a.example", "b.example"]
        Site.objects.clear_cache()
        yield
        Site.objects.clear_cache()

    @pytest.mark.parametrize("is_conditional", [False, True])
    def test_in_a_header_of_a_proxy_has_its_own_pages(self, settings: Any, is_conditional: bool) -> None:
        settings.USE_X_FORWARDED_HOST = True
        headers = {"if_none_match": "*"} if is_conditional else {}
        for host in ("a.example", "b.example", "a.example", "b.example"):
            proxied = {"host": "upstream:8000", "x_forwarded_host": host}
            assert f"http://{host}/articles/s1/".encode() in get(**proxied).content
            assert get(**proxied, **headers).status_code == (304 if is_conditional else 200)
        assert get(host="upstream:8000", x_forwarded_host="c.example", **headers).status_code == 400

    def test_without_a_header_has_its_own_pages_for_each_port(self) -> None:
        for port, host in (("80", "b.example"), ("8001", "b.example:8001")):
            content = Client().get(PAGE, SERVER_NAME="b.example", SERVER_PORT=port).content
            assert f"http://{host}/articles/s1/".encode() in content

    def test_that_is_not_allowed_is_not_remembered(self, settings: Any) -> None:
        settings.SITEMAPS09 = {"BASE_URL": "https://www.example.com"}
        for _ in range(2):
            assert get(host="evil.example").status_code == 200
        assert all(isinstance(key, str) for key in memo._entries)

    def test_takes_little_memory_however_long_it_is(self) -> None:
        remember(request(HTTP_HOST=f"a.example:{'0' * 50_000}"))
        [key] = memo._entries
        assert len(repr(key)) < 200


class TestAKnownPage:
    @pytest.mark.parametrize(
        "other",
        [
            *({"HTTP_HOST": "other.example.com"}, {"SERVER_NAME": "other.example.com"}, {"secure": True}),
            *({"url": "/sitemap-articles-2.xml"}, {"url": f"{PAGE}.gz"}),
        ],
        ids=["host", "server name", "scheme", "number", "encoding"],
    )
    def test_is_not_that_of_another_one(self, other: dict[str, Any]) -> None:
        remember(request())
        assert memo.find(request(**other), None) is None

    def test_is_not_that_of_what_else_can_be_active(self, settings: Any) -> None:
        """Two URLconfs can serve different sections at the same path."""
        tenants = ["a"]
        default = {**settings.CACHES["default"], "KEY_FUNCTION": lambda key, *_: f"{tenants[0]}:{key}"}
        settings.CACHES = {**settings.CACHES, "default": default}
        remember(request(), SECTIONS)
        changes: list[tuple[Callable[[Any], object], Any, Any]] = [
            (set_urlconf, "tests.shop.urls", None),
            (set_script_prefix, "/app/", "/"),
            (lambda name: tenants.insert(0, name), "b", "a"),
        ]
        for change, other, back in changes:
            assert memo.find(request(), SECTIONS)
            change(other)
            try:
                assert memo.find(request(), SECTIONS) is None
            finally:
                change(back)
        assert memo.find(request(), SECTIONS)
        assert memo.find(request(), dict(SECTIONS)) is None
        settings.SITEMAPS09 = {"BASE_URL": "https://other.example"}
        assert memo.find(request(), SECTIONS) is None

    def test_is_forgotten_when_it_loses_its_etag(self) -> None:
        remember(request())
        memo.remember(request(), None, None, None)
        memo.remember(request(), None, None, None)
        assert memo.find(request(), None) is None


def test_the_number_of_known_pages_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "_MAX_ENTRIES", 10)
    for number in range(25):
        remember(request(f"/sitemap-articles-{number}.xml"))
    assert len(memo._entries) == 5
    assert memo.find(request("/sitemap-articles-24.xml"), None)
