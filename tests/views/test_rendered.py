"""Rendered pages in the cache `LIVE_CACHE`: when they are served, and when they are rendered again."""

from __future__ import annotations

import gzip
import logging
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from django.urls import include, path, reverse, set_urlconf

from django_sitemaps09.compression import compress
from django_sitemaps09.views import caching
from django_sitemaps09.views.live import kept_pages, memo, page_responses
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.configuration import Configure, Register
from tests.support.factories import ArticleFactory
from tests.support.memory import traced
from tests.support.native_views import get, nothing
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

PAGE = "/sitemap-articles-1.xml"


class SmallCache(LocMemCache):
    """Cache that rejects large values, as Memcached does."""

    def set(self, key: Any, value: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(value, bytes) and len(value) > 1_000_000:
            raise ValueError("the value is too large")
        super().set(key, value, *args, **kwargs)


class BrokenCache(LocMemCache):
    def get(self, *args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("the server does not answer")

    get_many = set = add = delete = get


@pytest.fixture(autouse=True)
def pages_cache(settings: Any, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Keep pages in a cache of their own."""

    def use(backend: str = "django.core.cache.backends.locmem.LocMemCache") -> None:
        settings.CACHES = {**settings.CACHES, "pages": {"BACKEND": backend, "LOCATION": "pages"}}

    use()
    configure(LIVE_CACHE="pages", LIVE_SECONDS=0)
    caches["pages"].clear()
    monkeypatch.setattr(kept_pages._live_cache, "paused_until", 0.0)
    return use


@pytest.fixture
def renderings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note the number of each page that is rendered."""
    numbers = []
    render = page_responses.PageRequest._render

    def noting(page_request: Any, *arguments: Any) -> kept_pages.LivePage:
        numbers.append(page_request.page.number)
        return render(page_request, *arguments)

    monkeypatch.setattr(page_responses.PageRequest, "_render", noting)
    return numbers


@pytest.fixture
def _articles(register: Register) -> None:
    write_keys(*range(1, 9))
    register(articles=Articles)


KEPT = kept_pages.CachedCopy("name", "Page")


def made(content: bytes) -> kept_pages.LivePage:
    return kept_pages.LivePage("etag", time.time(), content)


@pytest.mark.usefixtures("_articles")
class TestAPage:
    def test_is_rendered_once_for_xml_and_gzip_and_once_for_text(
        self, configure: Configure, renderings: list[int]
    ) -> None:
        text = "/sitemap-articles-1.txt"
        stored = [get(url).content for url in (PAGE, f"{PAGE}.gz", PAGE, text, text)]
        assert renderings == [1, 1]
        assert gzip.decompress(stored[1]) == stored[0]
        configure(LIVE_CACHE=None)
        assert [get(url).content for url in (PAGE, f"{PAGE}.gz", PAGE, text, text)] == stored

    def test_is_that_of_its_urlconf(self, register: Register, settings: Any) -> None:
        """Two hosts can have the same base URL and paths, and a URLconf each."""

        class Named(Articles):
            lastmod = None

            def location(self, item: Article) -> str:
                return reverse("named", args=[item.slug])

        register(articles=Named)
        included = path("", include("django_sitemaps09.urls"))
        bodies = []
        for place in ("first", "second"):
            module = ModuleType(f"urls_of_{place}")
            module.urlpatterns = [included, path(f"{place}/<slug:slug>/", nothing, name="named")]  # type: ignore[attr-defined]
            settings.ROOT_URLCONF = module
            set_urlconf(module)
            bodies.append(get(PAGE).content)
        assert [b"/first/" in body for body in bodies] == [True, False]
        assert [b"/second/" in body for body in bodies] == [False, True]

    def test_without_a_fingerprint_is_valid_for_live_seconds(
        self, register: Register, configure: Configure, renderings: list[int]
    ) -> None:
        register(numbers=Numbers(3))
        configure(LIVE_SECONDS=60)
        url = "/sitemap-numbers-1.xml"
        etag = get(url).headers["ETag"]
        assert get(url).headers["ETag"] == etag
        assert get(url, if_none_match=etag).status_code == 304
        assert renderings == [1]
        configure(LIVE_SECONDS=0)
        assert get(url).status_code == 200
        assert renderings == [1, 1]

    def test_is_not_stored_if_the_client_chooses_the_host(
        self, client_chooses_host: Configure, renderings: list[int]
    ) -> None:
        client_chooses_host(LIVE_CACHE="pages")
        for host in ("a.example", "b.example", "a.example"):
            assert f"http://{host}/".encode() in get(PAGE, host=host).content
        assert renderings == [1, 1, 1]
        assert not caches["pages"]._cache  # type: ignore[attr-defined]

    @pytest.mark.parametrize("is_failing", [False, True])
    def test_is_not_that_of_another_tenant(
        self, is_failing: bool, register: Register, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The `KEY_FUNCTION` of the default cache is enough, and is also used while that cache fails."""
        tenants = ["a"]
        default = {**settings.CACHES["default"], "KEY_FUNCTION": lambda key, *_: f"{tenants[0]}:{key}"}
        settings.CACHES = {**settings.CACHES, "default": default}
        if is_failing:
            monkeypatch.setattr(caching.default, "paused_until", time.monotonic() + 60)

        class OfTenant(Articles):
            def location(self, item: Article) -> str:  # type: ignore[override]
                return f"/{tenants[0]}/{item.slug}/"

        register(articles=OfTenant)
        settings.SITEMAPS09 = {**settings.SITEMAPS09, "LIVE_SECONDS": 60}
        for tenant in "abab":
            tenants[0] = tenant
            assert f"/{tenant}/s1/".encode() in get(PAGE).content

    def test_that_is_larger_than_memcached_allows_is_stored(
        self, pages_cache: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, renderings: list[int]
    ) -> None:
        pages_cache(f"{__name__}.SmallCache")
        # Not compressed, so that the page is large.
        monkeypatch.setattr(kept_pages, "compress", lambda content, level, **_: gzip.compress(content, 0))
        Article.objects.all().delete()
        for number in range(8):
            ArticleFactory(slug=f"{number}" * 60)
        monkeypatch.setattr(caching, "_PART", 100)
        first = get(PAGE).content
        assert len(caches["pages"]._cache) > 10  # type: ignore[attr-defined]
        assert get(PAGE).content == first
        assert renderings == [1]

    @pytest.mark.parametrize("damage", ["part", "head", "text", "no parts"])
    def test_that_is_damaged_in_the_cache_is_rendered_again(
        self, damage: str, renderings: list[int]
    ) -> None:
        document = get(PAGE).content
        names = [key.split(":", 2)[2] for key in caches["pages"]._cache]  # type: ignore[attr-defined]
        for name in names:
            digest, size, content, *facts = caches["pages"].get(name)
            damaged = {
                "part": (digest, size, content[:-1] + b"x", *facts),
                "head": (digest, size),
                "text": "text",
                "no parts": (digest, caching._PART + 1, content, *facts),
            }
            caches["pages"].set(name, damaged[damage])
        assert get(PAGE).content == document
        assert renderings == [1, 1]

    @pytest.mark.parametrize("forged", ["bomb", "not gzip", "digest", "etag"])
    def test_that_is_forged_in_the_cache_counts_as_missing(
        self, forged: str, configure: Configure, renderings: list[int]
    ) -> None:
        configure(LIVE_CACHE="pages", LIVE_SECONDS=60)
        document = get(PAGE).content
        memo._entries.clear()
        [name] = [key.split(":", 2)[2] for key in caches["pages"]._cache]  # type: ignore[attr-defined]
        *_, etag, rendered_at = caches["pages"].get(name)
        content = compress(bytes(200_000_000)) if forged == "bomb" else b"no gzip" * 20
        etag = "x\r\nSet-Cookie: a=b" if forged == "etag" else etag
        caching.set_bytes(kept_pages._live_cache, name, content, 60, etag, rendered_at)
        if forged == "digest":
            _, *others = caches["pages"].get(name)
            caches["pages"].set(name, ("0" * 32, *others))
        with traced() as memory:
            assert get(PAGE).content == document
        assert memory.peak < 120_000_000
        assert renderings == [1, 1]

    def test_has_no_more_parts_than_a_sitemap_can_fill(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A damaged size in the cache must not take the memory of the process."""
        asked: list[str] = []
        value = ("0" * 32, 10**12, b"content")
        monkeypatch.setattr(kept_pages._live_cache, "get", lambda name: value)
        monkeypatch.setattr(
            kept_pages._live_cache, "get_many", lambda names: dict.fromkeys(asked.extend(names) or (), b"")
        )
        assert caching.get_bytes(kept_pages._live_cache, "name") is None
        assert 100 <= len(asked) <= 105

    def test_is_rendered_while_the_cache_fails_with_one_line_in_the_log(
        self, pages_cache: Callable[[str], None], caplog: pytest.LogCaptureFixture
    ) -> None:
        pages_cache(f"{__name__}.BrokenCache")
        with caplog.at_level(logging.WARNING, "django_sitemaps09"):
            documents = {get(PAGE).content for _ in range(3)}
        [document] = documents
        assert document.count(b"<loc>") == 8
        assert [record.message.split(",")[0] for record in caplog.records] == ["LIVE_CACHE failed"]


@pytest.mark.usefixtures("_articles")
class TestAClientThatAcceptsGzip:
    @pytest.mark.parametrize(
        "encodings", ["gzip", "br, gzip", "GZIP;q=0.5, *;q=0", "deflate, gzip ; q=1.0"]
    )
    @pytest.mark.parametrize("url", [PAGE, PAGE.replace("xml", "txt")])
    def test_gets_a_kept_page_as_it_is_kept(self, url: str, encodings: str) -> None:
        plain = get(url)
        packed = get(url, Accept_Encoding=encodings)
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed.content) == plain.content
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["ETag"] == plain.headers["ETag"]
        assert packed.headers["Content-Type"] == plain.headers["Content-Type"]
        assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"

    @pytest.mark.parametrize(
        "encodings", ["", "identity", "gzip;q=0", "gzip; q=0.000, br", "x-gzips", "br"]
    )
    def test_is_not_one_that_names_another_encoding(self, encodings: str) -> None:
        response = get(PAGE, Accept_Encoding=encodings)
        assert response.content == get(PAGE).content
        assert "Content-Encoding" not in response.headers

    def test_has_vary_only_where_it_decides(self, configure: Configure) -> None:
        unchanged = get(PAGE, If_None_Match=get(PAGE).headers["ETag"], Accept_Encoding="gzip")
        assert (unchanged.status_code, unchanged.headers["Vary"]) == (304, "Accept-Encoding")
        file = get(f"{PAGE}.gz", Accept_Encoding="gzip")
        configure(LIVE_CACHE=None)
        for response in (file, get(PAGE, Accept_Encoding="gzip")):
            assert not {"Vary", "Content-Encoding"} & {*response.headers}

    def test_gets_it_packed_once_with_the_middleware(self, settings: Any) -> None:
        settings.MIDDLEWARE = ["django.middleware.gzip.GZipMiddleware", *settings.MIDDLEWARE]
        for _ in range(2):
            response = get(PAGE, Accept_Encoding="gzip")
            assert response.headers["Content-Encoding"] == "gzip"
            assert b"<loc>" in gzip.decompress(response.content)
            assert response.headers["Vary"] == "Accept-Encoding"


@pytest.mark.usefixtures("_articles")
class TestSeveralRequests:
    def test_get_the_previous_page_while_one_renders(self, renderings: list[int]) -> None:
        first = get(PAGE)
        Article.objects.filter(slug="s3").update(slug="other")
        [name] = [key.split(":", 2)[2] for key in caches["pages"]._cache]  # type: ignore[attr-defined]
        caches["pages"].add(f"{name}:lock", "another", 60)
        stale = get(PAGE)
        assert stale.content == first.content
        assert "ETag" not in stale.headers
        caches["pages"].delete(f"{name}:lock")
        assert b"/other/" in get(PAGE).content
        assert renderings == [1, 1]

    def test_render_at_the_same_time_after_one_whose_page_is_not_kept(self) -> None:
        started, both_render = threading.Event(), threading.Barrier(2)

        def first() -> kept_pages.LivePage:
            started.set()
            # Meanwhile, the other requests begin to wait.
            time.sleep(0.3)
            return made(b"content")._replace(etag=None)

        def render() -> kept_pages.LivePage:
            both_render.wait(10)
            return made(b"own")

        def request(render: Callable[[], kept_pages.LivePage]) -> None:
            pages.append(KEPT.find_or_render("etag", render))

        pages: list[kept_pages.LivePage] = []
        threads = [threading.Thread(target=request, args=[what]) for what in (first, render, render)]
        threads[0].start()
        assert started.wait(30)
        for thread in threads[1:]:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(page.etag or "" for page in pages) == ["", "etag", "etag"]

    def test_render_by_themselves_if_the_one_that_renders_takes_too_long(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(caching, "_WAIT", 0)
        caches["pages"].add("name:lock", "another", 60)
        before = time.time()
        page = KEPT.find_or_render("etag", lambda: made(b"content"))
        assert (page.content, page.etag) == (b"content", "etag")
        assert page.rendered_at >= before
