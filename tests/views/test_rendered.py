"""Fingerprints of pages, requests that a process remembers, and pages in the cache `LIVE_CACHE`."""

from __future__ import annotations

import gzip
import logging
import threading
import time
from datetime import datetime, timedelta, timezone
from functools import partial
from types import ModuleType
from unittest.mock import Mock

import pytest
from django.contrib.sites.models import Site
from django.core.cache import caches
from django.db import DatabaseError, connections
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import include, path, reverse, set_script_prefix, set_urlconf
from django.utils import timezone as zones

from django_sitemaps09.views import live_pages
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.configuration import set_seconds
from tests.support.factories import ArticleFactory, SiteFactory
from tests.support.internals import Fingerprint, Page, QuerySource, caching, compression, conf, known_pages
from tests.support.memory import traced
from tests.support.native_views import FORMS, PAGE, get, nothing, queries
from tests.support.sections import Numbers, declare
from tests.support.sources import compiled

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
SECTIONS = {"articles": Articles}


@pytest.fixture
def clock(monkeypatch):
    return set_seconds(monkeypatch, known_pages, live_pages, now=int(time.time()) + 0.5)


@pytest.fixture
def articles(register):
    write_keys(*range(1, 9))
    register(articles=Articles)


@pytest.fixture
def tenants(settings):
    """The `KEY_FUNCTION` of the default cache adds the first of these to all names."""
    tenants = ["a"]
    default = {**settings.CACHES["default"], "KEY_FUNCTION": lambda key, *_: f"{tenants[0]}:{key}"}
    settings.CACHES = {**settings.CACHES, "default": default}
    return tenants


def etag_of(url=PAGE, **headers):
    return get(url, **headers)["ETag"]


def status(etag, url=PAGE, **headers):
    return get(url, if_none_match=etag, **headers).status_code


def fingerprints():
    return [key for key in known_pages._entries if isinstance(key, str)]


def change(using="default"):
    Article.objects.using(using).filter(slug="s3").update(slug="other")


class TestQueries:
    def test_of_all_forms_are_none_within_live_seconds_and_then_one(self, snapshot_using, register, clock):
        write_keys(*range(1, 26), using=snapshot_using)
        queryset = Article.objects.using(snapshot_using).filter(published=True)
        register(articles=declare(Articles, queryset=queryset))
        etags = {url: etag_of(url) for url in FORMS}

        def statuses_and_queries():
            results = []
            for url in FORMS:
                with CaptureQueriesContext(connections[snapshot_using]) as captured:
                    found = status(etags[url], url)
                results.append((found, sum("SELECT" in query["sql"] for query in captured)))
            return results

        assert statuses_and_queries() == [(304, 0)] * 3
        clock(60)
        # All forms of a page share one fingerprint.
        assert statuses_and_queries() == [(304, 1), (304, 0), (304, 0)]
        change(snapshot_using)
        assert statuses_and_queries() == [(304, 0)] * 3
        clock(60)
        # The fingerprint of rendered rows needs no further query.
        assert statuses_and_queries() == [(200, 2), (200, 1), (200, 1)]

    def test_are_one_each_time_without_live_seconds(self, articles, configure):
        configure(LIVE_SECONDS=0)
        etag = etag_of()
        assert [(queries(PAGE, if_none_match=etag), status(etag)) for _ in range(2)] == [(1, 304)] * 2
        change()
        assert status(etag) == 200

    def test_are_none_while_another_request_reads_the_fingerprint(self, articles, clock, monkeypatch):
        etag = etag_of()
        clock(60)
        caching.default.fallback.add(f"{fingerprints()[0]}:lock", True, 60)
        assert (queries(PAGE, if_none_match=etag), status(etag)) == (0, 304)
        # No fingerprint is used that is older than twice LIVE_SECONDS.
        clock(60)
        change()
        monkeypatch.setattr(known_pages, "_READ_SECONDS", 0.1)
        assert status(etag) == 200

    def test_wait_for_those_of_another_request_without_live_seconds(self, articles, configure, monkeypatch):
        configure(LIVE_SECONDS=0)
        etag, statuses, read = etag_of(), [], QuerySource.fingerprint

        def slow(source, *bounds):
            reading = read(source, *bounds)
            if not statuses:
                statuses.append(0)
                change()
                statuses.append(status(etag))
            return reading

        monkeypatch.setattr(QuerySource, "fingerprint", slow)
        monkeypatch.setattr(known_pages, "_READ_SECONDS", 0.1)
        status(etag)
        assert statuses == [0, 200]

    @pytest.mark.parametrize("seconds", [0, 60])
    def test_are_those_of_one_of_all_requests_that_wait(self, articles, seconds, configure, monkeypatch):
        configure(LIVE_SECONDS=seconds)
        page_memo = known_pages.of_page(compiled(Articles, conf.limits), Page(1, None, None))
        readings, etags, may_end = [], [], threading.Event()

        def slow(*bounds):
            readings.append(1)
            assert may_end.wait(30)
            # The others look again while the second one reads.
            time.sleep(0.2)
            return Fingerprint(25, None, 1)

        monkeypatch.setattr(QuerySource, "fingerprint", slow)
        ask = lambda: etags.append(page_memo.etag(may_read=True))  # noqa: E731
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        # Meanwhile, all requests begin.
        time.sleep(0.3)
        may_end.set()
        for thread in threads:
            thread.join(60)
        assert len({etag.value for etag in etags}) == 1
        # Without `LIVE_SECONDS`, a fingerprint is only used by requests that began before it was read.
        assert len(readings) <= (1 if seconds else 2)


class TestAFingerprint:
    def test_is_enough_for_a_page_with_a_lastmod_in_the_future(self, articles, monkeypatch):
        """The document has this lastmod already, so it does not change once that time has passed."""
        soon = datetime.now(timezone.utc) + timedelta(days=1)
        Article.objects.filter(slug="s3").update(updated=soon)
        response = get(PAGE)
        assert soon.isoformat()[:19].encode() in response.content
        monkeypatch.setattr(live_pages.PageRequest, "_render", lambda *_: pytest.fail("rendered"))
        assert status(response["ETag"]) == 304

    def test_of_the_future_is_read_again(self, articles, clock):
        """Otherwise, it would be valid for a long time after a clock was set back."""
        etag = etag_of()
        clock(-3_600)
        change()
        assert status(etag) == 200

    def test_that_fails_is_not_read_again_within_live_seconds(self, articles, monkeypatch, clock):
        fail = Mock(side_effect=DatabaseError("canceling statement due to statement timeout"))
        monkeypatch.setattr(QuerySource, "fingerprint", fail)
        assert (status(etag_of(if_none_match="other")), fail.call_count) == (304, 1)

    def test_of_rendered_rows_is_read_with_them(self, articles):
        """Otherwise, if a change is undone within LIVE_SECONDS, both contents could have the same ETag."""
        first = etag_of()
        change()
        between = get(PAGE)
        Article.objects.filter(slug="other").update(slug="s3")
        assert (b"/other/" in between.content, between["ETag"] != first, etag_of()) == (True, True, first)
        assert status(between["ETag"]) == 200

    def test_of_another_request_is_not_the_one_of_rendered_rows(self, articles):
        """The other request may have seen newer rows than the transaction or the replica of this one."""
        first, [name] = etag_of(), fingerprints()
        fingerprint = known_pages._entries[name].value._replace(rows=99)
        known_pages._entries[name] = known_pages.Reading(time.time() + 1, fingerprint)
        assert etag_of(if_none_match='"other"') == first

    def test_belongs_to_one_section(self, register, clock):
        """The digest of a declaration has no time that depends on now, such as the start of a week."""

        class Recent(Articles):
            def __init__(self, days):
                self.days = days

            def get_queryset(self):
                since = zones.now() - timedelta(days=self.days, microseconds=1)
                return Article.objects.filter(updated__gte=since)

        register(week=Recent(7), year=Recent(365))
        ArticleFactory(slug="new", updated=zones.now() - timedelta(hours=2))
        week, year = "/sitemap-week-1.xml", "/sitemap-year-1.xml"
        etags = {url: etag_of(url) for url in (week, year)}
        assert etags[week] != etags[year]
        ArticleFactory(slug="old", updated=zones.now() - timedelta(days=100))
        clock(120)
        assert (status(etags[week], week), status(etags[year], year)) == (304, 200)

    def test_belongs_to_one_host_and_one_tenant(self, articles, client_chooses_host, tenants):
        for tenant in "ababba":
            tenants[0] = tenant
            assert get(PAGE).status_code == 200
        assert len({*fingerprints()}) == 2
        client_chooses_host()
        assert etag_of(host="a.example") != etag_of(host="b.example")


request = partial(RequestFactory().get, PAGE)


def remember(known_request, sitemaps=None):
    known_pages.remember(known_request, sitemaps, None, known_pages.Reading(time.time(), "etag"))


@pytest.fixture
def forbid(monkeypatch):
    """Return a function that lets every compilation of a section and every reading of the cache fail."""
    fail = lambda *_: pytest.fail("the section was compiled, or the cache was read")  # noqa: E731
    targets = ((live_pages, "compile_source"), (caching.default, "get"))
    return lambda: [monkeypatch.setattr(*target, fail) for target in targets]


@pytest.mark.sitemaps09(LIVE_SECONDS=60)
class TestAKnownPage:
    @pytest.mark.parametrize("url", FORMS)
    def test_that_is_unchanged_is_recognized_without_its_section(self, articles, url, forbid):
        etag = etag_of(url)
        forbid()
        response = get(url, if_none_match=etag)
        assert (response.status_code, response["ETag"]) == (304, etag)

    def test_that_is_kept_is_served_without_its_section(self, articles, configure, forbid):
        configure(LIVE_CACHE="default", LIVE_SECONDS=60)
        content = get(PAGE).content
        # Another process may have stored a newer page, whose ETag this process does not know.
        [known] = [entry.value for key, entry in known_pages._entries.items() if not isinstance(key, str)]
        copy = known_pages.CachedCopy(known.cache_key, "Page")
        assert (copy.find("another"), copy.find(known.etag) is None) == (None, False)
        caches["default"].clear()
        assert get(PAGE).content == content
        forbid()
        response = get(PAGE)
        assert (response.content, response["Vary"]) == (content, "Accept-Encoding")

    @pytest.mark.parametrize("seconds", [(59,), (29, 29)])
    def test_is_compiled_again_after_live_seconds_despite_requests(self, articles, clock, seconds):
        etag = etag_of()
        change()
        for passed in seconds:
            clock(passed)
            assert status(etag) == 304
        clock(61 - sum(seconds))
        response = get(PAGE, if_none_match=etag)
        assert (response.status_code, b"/other/" in response.content) == (200, True)

    def test_is_not_that_of_another_request(self, settings, tenants):
        """Two URLconfs can serve different sections at the same path."""
        remember(request(), SECTIONS)
        for other in (
            *({"HTTP_HOST": "other.example.com"}, {"SERVER_NAME": "other.example.com"}, {"secure": True}),
            *({"PATH_INFO": "/sitemap-articles-2.xml"}, {"PATH_INFO": f"{PAGE}.gz"}),
        ):
            assert known_pages.find(request(**other), SECTIONS) is None, other
        for change_to, other, back in (
            (set_urlconf, "tests.shop.urls", None),
            (set_script_prefix, "/app/", "/"),
            (lambda name: tenants.insert(0, name), "b", "a"),
        ):
            assert known_pages.find(request(), SECTIONS)
            change_to(other)
            try:
                assert known_pages.find(request(), SECTIONS) is None
            finally:
                change_to(back)
        assert known_pages.find(request(), SECTIONS)
        assert known_pages.find(request(), dict(SECTIONS)) is None
        settings.SITEMAPS09 = {"BASE_URL": "https://other.example"}
        assert known_pages.find(request(), SECTIONS) is None

    def test_is_forgotten_when_it_loses_its_etag_or_is_one_of_too_many(self, monkeypatch):
        remember(request())
        for _ in range(2):
            known_pages.remember(request(), None, None, None)
        assert known_pages.find(request(), None) is None
        monkeypatch.setattr(known_pages, "_MAX_ENTRIES", 10)
        long = {"HTTP_HOST": f"a.example:{'0' * 50_000}"}
        for number in range(25):
            remember(RequestFactory().get(f"/sitemap-articles-{number}.xml", **long))
        # A key is short.
        keys = [*known_pages._entries]
        assert (len(keys), max(map(len, map(repr, keys))) < 200) == (5, True)
        assert known_pages.find(RequestFactory().get("/sitemap-articles-24.xml", **long), None)


class TestAHost:
    """A page of one host is never served to another one, however Django determines the host."""

    @pytest.fixture(autouse=True)
    def _sites_by_host(self, articles, settings):
        Site.objects.all().delete()
        for domain in ("a.example", "b.example", "b.example:8001"):
            SiteFactory(domain=domain)
        del settings.SITE_ID
        settings.SITEMAPS09 = {"LIVE_CACHE": "default"}
        settings.ALLOWED_HOSTS = ["a.example", "b.example"]
        Site.objects.clear_cache()
        yield
        Site.objects.clear_cache()

    @pytest.mark.parametrize("condition", [{}, {"if_none_match": "*"}])
    def test_in_a_header_of_a_proxy_has_its_own_pages(self, settings, condition):
        settings.USE_X_FORWARDED_HOST = True
        for host in ("a.example", "b.example", "a.example", "b.example"):
            proxied = {"host": "upstream:8000", "x_forwarded_host": host}
            assert f"http://{host}/articles/s1/".encode() in get(PAGE, **proxied).content
            assert get(PAGE, **proxied, **condition).status_code == (304 if condition else 200)
        assert get(PAGE, host="upstream:8000", x_forwarded_host="c.example", **condition).status_code == 400

    def test_without_a_header_has_its_own_pages_for_each_port(self):
        for port, host in (("80", "b.example"), ("8001", "b.example:8001")):
            content = Client().get(PAGE, SERVER_NAME="b.example", SERVER_PORT=port).content
            assert f"http://{host}/articles/s1/".encode() in content

    def test_that_is_not_allowed_is_not_remembered(self, settings):
        settings.SITEMAPS09 = {"BASE_URL": "https://www.example.com"}
        assert [get(PAGE, host="evil.example").status_code for _ in range(2)] == [200, 200]
        assert len(fingerprints()) == len(known_pages._entries)


@pytest.fixture
def pages_cache(articles, settings, configure, monkeypatch):
    settings.CACHES = {**settings.CACHES, "pages": {**settings.CACHES["default"], "LOCATION": "pages"}}
    configure(LIVE_CACHE="pages", LIVE_SECONDS=0)
    caches["pages"].clear()
    monkeypatch.setattr(known_pages._live_cache, "paused_until", 0.0)


@pytest.fixture
def renderings(monkeypatch):
    numbers, render = [], live_pages.PageRequest._render
    noting = lambda request, *args: numbers.append(request.page.number) or render(request, *args)  # noqa: E731
    monkeypatch.setattr(live_pages.PageRequest, "_render", noting)
    return numbers


def stored_names():
    return [key.split(":", 2)[2] for key in caches["pages"]._cache]


@pytest.mark.usefixtures("pages_cache")
class TestAKeptPage:
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
        assert [[name in body for body in bodies] for name in (b"/first/", b"/second/")] == [[1, 0], [0, 1]]

    def test_without_a_fingerprint_is_valid_for_live_seconds(self, register, configure, renderings):
        register(numbers=Numbers(3))
        configure(LIVE_SECONDS=60)
        url = "/sitemap-numbers-1.xml"
        etag = get(url)["ETag"]
        assert (get(url)["ETag"], get(url, if_none_match=etag).status_code, renderings) == (etag, 304, [1])
        configure(LIVE_SECONDS=0)
        assert (status(etag, url), renderings) == (304, [1, 1])
        register(numbers=Numbers(4))
        assert (status(etag, url), renderings) == (200, [1, 1, 1])

    def test_is_not_stored_if_the_client_chooses_the_host(self, client_chooses_host, renderings):
        client_chooses_host(LIVE_CACHE="pages")
        for host in ("a.example", "b.example", "a.example"):
            assert f"http://{host}/".encode() in get(PAGE, host=host).content
        assert (renderings, stored_names()) == ([1, 1, 1], [])

    @pytest.mark.parametrize("is_failing", [False, True])
    def test_is_not_that_of_another_tenant(self, is_failing, register, tenants, configure, monkeypatch):
        """The `KEY_FUNCTION` of the default cache is enough, and is also used while that cache fails."""
        if is_failing:
            monkeypatch.setattr(caching.default, "paused_until", time.monotonic() + 60)
        register(articles=declare(Articles, location=lambda self, item: f"/{tenants[0]}/{item.slug}/"))
        configure(LIVE_SECONDS=60)
        for tenant in "abab":
            tenants[0] = tenant
            assert f"/{tenant}/s1/".encode() in get(PAGE).content

    def test_that_is_larger_than_memcached_allows_is_stored_in_parts(self, monkeypatch, renderings):
        monkeypatch.setattr(caching, "_PART", 10)
        first, values = get(PAGE).content, [caches["pages"].get(name) for name in stored_names()]
        sizes = [len(value[2] if isinstance(value, tuple) else value) for value in values]
        assert (max(sizes), len(sizes) > 10, get(PAGE).content, renderings) == (10, True, first, [1])

    @pytest.mark.parametrize("damage", ["part", "head", "text", "no-parts", "bomb", "not-gzip", "digest"])
    def test_that_is_damaged_or_forged_in_the_cache_is_rendered_again(self, damage, configure, renderings):
        configure(LIVE_CACHE="pages", LIVE_SECONDS=60)
        document = get(PAGE).content
        known_pages._entries.clear()
        [name] = stored_names()
        digest, size, content, *facts, etag, rendered_at = caches["pages"].get(name)
        damaged = {"part": (digest, size, content[:-1] + b"x", *facts, etag, rendered_at)}
        damaged |= {"head": (digest, size), "text": "text"}
        damaged["no-parts"] = (digest, caching._PART + 1, content, *facts, etag, rendered_at)
        if damage in damaged:
            caches["pages"].set(name, damaged[damage])
        else:
            forged = {"not-gzip": b"no gzip" * 20, "digest": content}
            content = forged[damage] if damage in forged else compression.compress(bytes(200_000_000))
            caching.set_bytes(known_pages._live_cache, name, content, 60, etag, rendered_at)
        if damage == "digest":
            caches["pages"].set(name, ("0" * 32, *caches["pages"].get(name)[1:]))
        with traced() as memory:
            assert get(PAGE).content == document
        assert (memory.peak < 120_000_000, renderings) == (True, [1, 1])

    def test_becomes_no_header_if_its_etag_is_forged(self, register, configure):
        # Without a fingerprint, any recent copy is served.
        register(numbers=Numbers(3))
        configure(LIVE_CACHE="pages", LIVE_SECONDS=60)
        document = get("/sitemap-numbers-1.xml").content
        known_pages._entries.clear()
        [name] = stored_names()
        content, _, at = caching.get_bytes(known_pages._live_cache, name)
        caching.set_bytes(known_pages._live_cache, name, content, 60, "x\r\nSet-Cookie: a=b", at)
        response = get("/sitemap-numbers-1.xml")
        assert (response.content, response["ETag"].isprintable()) == (document, True)

    def test_has_no_more_parts_than_a_sitemap_can_fill(self, monkeypatch):
        """A damaged size in the cache must not take the memory of the process."""
        asked, live_cache = [], known_pages._live_cache
        monkeypatch.setattr(live_cache, "get", lambda name: ("0" * 32, 10**12, b"content"))
        get_many = lambda names: dict.fromkeys(asked.extend(names) or (), b"")  # noqa: E731
        monkeypatch.setattr(live_cache, "get_many", get_many)
        assert caching.get_bytes(live_cache, "name") is None
        assert 100 <= len(asked) <= 105

    def test_is_rendered_while_the_cache_fails_with_one_line_in_the_log(self, settings, caplog):
        settings.CACHES = {**settings.CACHES, "pages": {"BACKEND": "tests.support.stores.BrokenCache"}}
        with caplog.at_level(logging.WARNING, "django_sitemaps09"):
            [document] = {get(PAGE).content for _ in range(3)}
        assert document.count(b"<loc>") == 8
        assert [record.message.split(",")[0] for record in caplog.records] == ["LIVE_CACHE failed"]


KEPT = known_pages.CachedCopy("name", "Page")


def made(content, etag="etag"):
    return known_pages.LivePage(etag, time.time(), content)


@pytest.mark.usefixtures("pages_cache")
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

        request = lambda render: pages.append(KEPT.find_or_render("etag", render))  # noqa: E731
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
        before, page = time.time(), KEPT.find_or_render("etag", lambda: made(b"content"))
        assert (page.document, page.etag, page.rendered_at >= before) == (b"content", "etag", True)
