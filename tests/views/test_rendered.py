"""Rendered pages in the cache `LIVE_CACHE`: when they are served, and when they are rendered again."""

from __future__ import annotations

import gzip
import logging
import threading
import time
from types import ModuleType

import pytest
from django.core.cache import caches
from django.core.cache.backends.locmem import LocMemCache
from django.urls import include, path, reverse, set_urlconf

from django_sitemaps09.compression import compress
from django_sitemaps09.views import caching
from django_sitemaps09.views.live import kept_pages, memo, page_responses
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.factories import ArticleFactory
from tests.support.memory import traced
from tests.support.native_views import FORMS, PAGE, get, nothing
from tests.support.sections import Numbers, declare

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]


class SmallCache(LocMemCache):
    """Cache that rejects large values, as Memcached does."""

    def set(self, key, value, *args, **kwargs):
        if isinstance(value, bytes) and len(value) > 1_000_000:
            raise ValueError("the value is too large")
        super().set(key, value, *args, **kwargs)


class BrokenCache(LocMemCache):
    def get(self, *args, **kwargs):
        raise ConnectionError("the server does not answer")

    get_many = set = add = delete = get


@pytest.fixture(autouse=True)
def pages_cache(settings, configure, monkeypatch, register):
    """Keep pages in a cache of their own. Return a function that replaces the cache."""

    def use(backend="django.core.cache.backends.locmem.LocMemCache"):
        settings.CACHES = {**settings.CACHES, "pages": {"BACKEND": backend, "LOCATION": "pages"}}

    use()
    configure(LIVE_CACHE="pages", LIVE_SECONDS=0)
    caches["pages"].clear()
    monkeypatch.setattr(kept_pages._live_cache, "paused_until", 0.0)
    write_keys(*range(1, 9))
    register(articles=Articles)
    return use


@pytest.fixture
def renderings(monkeypatch):
    """Note the number of each page that is rendered."""
    numbers, render = [], page_responses.PageRequest._render

    def noting(page_request, *arguments):
        numbers.append(page_request.page.number)
        return render(page_request, *arguments)

    monkeypatch.setattr(page_responses.PageRequest, "_render", noting)
    return numbers


def stored_names():
    """Return the names of the values in the cache."""
    return [key.split(":", 2)[2] for key in caches["pages"]._cache]


class TestAPage:
    def test_is_rendered_once_for_xml_and_gzip_and_once_for_text(self, configure, renderings):
        urls = (*FORMS, PAGE, FORMS[2])
        stored = [get(url).content for url in urls]
        assert (renderings, gzip.decompress(stored[1])) == ([1, 1], stored[0])
        configure(LIVE_CACHE=None)
        assert [get(url).content for url in urls] == stored

    def test_is_that_of_its_urlconf(self, register, settings):
        """Two hosts can have the same base URL and paths, and a URLconf each."""
        location = lambda self, item: reverse("named", args=[item.slug])  # noqa: E731
        register(articles=declare(Articles, lastmod=None, location=location))
        included, bodies = path("", include("django_sitemaps09.urls")), []
        for place in ("first", "second"):
            module = ModuleType(f"urls_of_{place}")
            module.urlpatterns = [included, path(f"{place}/<slug:slug>/", nothing, name="named")]
            settings.ROOT_URLCONF = module
            set_urlconf(module)
            bodies.append(get(PAGE).content)
        assert [(b"/first/" in body, b"/second/" in body) for body in bodies] == [
            (True, False),
            (False, True),
        ]

    def test_without_a_fingerprint_is_valid_for_live_seconds(self, register, configure, renderings):
        register(numbers=Numbers(3))
        configure(LIVE_SECONDS=60)
        url = "/sitemap-numbers-1.xml"
        etag = get(url)["ETag"]
        assert (get(url)["ETag"], get(url, if_none_match=etag).status_code, renderings) == (etag, 304, [1])
        configure(LIVE_SECONDS=0)
        assert (get(url).status_code, renderings) == (200, [1, 1])

    def test_is_not_stored_if_the_client_chooses_the_host(self, client_chooses_host, renderings):
        client_chooses_host(LIVE_CACHE="pages")
        for host in ("a.example", "b.example", "a.example"):
            assert f"http://{host}/".encode() in get(PAGE, host=host).content
        assert (renderings, stored_names()) == ([1, 1, 1], [])

    @pytest.mark.parametrize("is_failing", [False, True])
    def test_is_not_that_of_another_tenant(self, is_failing, register, settings, configure, monkeypatch):
        """The `KEY_FUNCTION` of the default cache is enough, and is also used while that cache fails."""
        tenants = ["a"]
        default = {**settings.CACHES["default"], "KEY_FUNCTION": lambda key, *_: f"{tenants[0]}:{key}"}
        settings.CACHES = {**settings.CACHES, "default": default}
        if is_failing:
            monkeypatch.setattr(caching.default, "paused_until", time.monotonic() + 60)
        register(articles=declare(Articles, location=lambda self, item: f"/{tenants[0]}/{item.slug}/"))
        configure(LIVE_SECONDS=60)
        for tenant in "abab":
            tenants[0] = tenant
            assert f"/{tenant}/s1/".encode() in get(PAGE).content

    def test_that_is_larger_than_memcached_allows_is_stored(self, pages_cache, monkeypatch, renderings):
        pages_cache(f"{__name__}.SmallCache")
        # Not compressed, so that the page is large.
        monkeypatch.setattr(kept_pages, "compress", lambda content, level, **_: gzip.compress(content, 0))
        Article.objects.all().delete()
        for number in range(8):
            ArticleFactory(slug=f"{number}" * 60)
        monkeypatch.setattr(caching, "_PART", 100)
        first = get(PAGE).content
        assert len(stored_names()) > 10
        assert (get(PAGE).content, renderings) == (first, [1])

    @pytest.mark.parametrize("damage", ["part", "head", "text", "no parts"])
    def test_that_is_damaged_in_the_cache_is_rendered_again(self, damage, renderings):
        document = get(PAGE).content
        for name in stored_names():
            digest, size, content, *facts = caches["pages"].get(name)
            damaged = {
                "part": (digest, size, content[:-1] + b"x", *facts),
                "head": (digest, size),
                "text": "text",
            }
            damaged["no parts"] = (digest, caching._PART + 1, content, *facts)
            caches["pages"].set(name, damaged[damage])
        assert (get(PAGE).content, renderings) == (document, [1, 1])

    @pytest.mark.parametrize("forged", ["bomb", "not gzip", "digest", "etag"])
    def test_that_is_forged_in_the_cache_counts_as_missing(self, forged, configure, renderings):
        configure(LIVE_CACHE="pages", LIVE_SECONDS=60)
        document = get(PAGE).content
        memo._entries.clear()
        [name] = stored_names()
        *_, etag, rendered_at = caches["pages"].get(name)
        content = compress(bytes(200_000_000)) if forged == "bomb" else b"no gzip" * 20
        etag = "x\r\nSet-Cookie: a=b" if forged == "etag" else etag
        caching.set_bytes(kept_pages._live_cache, name, content, 60, etag, rendered_at)
        if forged == "digest":
            caches["pages"].set(name, ("0" * 32, *caches["pages"].get(name)[1:]))
        with traced() as memory:
            assert get(PAGE).content == document
        assert (memory.peak < 120_000_000, renderings) == (True, [1, 1])

    def test_has_no_more_parts_than_a_sitemap_can_fill(self, monkeypatch):
        """A damaged size in the cache must not take the memory of the process."""
        asked, live_cache = [], kept_pages._live_cache
        monkeypatch.setattr(live_cache, "get", lambda name: ("0" * 32, 10**12, b"content"))
        monkeypatch.setattr(
            live_cache, "get_many", lambda names: dict.fromkeys(asked.extend(names) or (), b"")
        )
        assert caching.get_bytes(live_cache, "name") is None
        assert 100 <= len(asked) <= 105

    def test_is_rendered_while_the_cache_fails_with_one_line_in_the_log(self, pages_cache, caplog):
        pages_cache(f"{__name__}.BrokenCache")
        with caplog.at_level(logging.WARNING, "django_sitemaps09"):
            [document] = {get(PAGE).content for _ in range(3)}
        assert document.count(b"<loc>") == 8
        assert [record.message.split(",")[0] for record in caplog.records] == ["LIVE_CACHE failed"]


KEPT = kept_pages.CachedCopy("name", "Page")


def made(content, etag="etag"):
    return kept_pages.LivePage(etag, time.time(), content)


class TestSeveralRequests:
    def test_get_the_previous_page_while_one_renders(self, renderings):
        first = get(PAGE)
        Article.objects.filter(slug="s3").update(slug="other")
        [name] = stored_names()
        caches["pages"].add(f"{name}:lock", "another", 60)
        stale = get(PAGE)
        assert (stale.content, "ETag" in stale.headers) == (first.content, False)
        caches["pages"].delete(f"{name}:lock")
        assert (b"/other/" in get(PAGE).content, renderings) == (True, [1, 1])

    def test_render_at_the_same_time_after_one_whose_page_is_not_kept(self):
        started, both_render, pages = threading.Event(), threading.Barrier(2), []

        def first():
            started.set()
            # Meanwhile, the other requests begin to wait.
            time.sleep(0.3)
            return made(b"content", None)

        def render():
            both_render.wait(10)
            return made(b"own")

        def request(render):
            pages.append(KEPT.find_or_render("etag", render))

        threads = [threading.Thread(target=request, args=[what]) for what in (first, render, render)]
        threads[0].start()
        assert started.wait(30)
        for thread in threads[1:]:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert sorted(page.etag or "" for page in pages) == ["", "etag", "etag"]

    def test_render_by_themselves_if_the_one_that_renders_takes_too_long(self, monkeypatch):
        monkeypatch.setattr(caching, "_WAIT", 0)
        caches["pages"].add("name:lock", "another", 60)
        before = time.time()
        page = KEPT.find_or_render("etag", lambda: made(b"content"))
        assert (page.content, page.etag, page.rendered_at >= before) == (b"content", "etag", True)
