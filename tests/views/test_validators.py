"""Conditional requests to the native views: the responses, and the queries that they need."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from django.core.cache import cache
from django.db import DatabaseError, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import include, path
from django.utils import timezone as zones
from django.views.decorators.cache import cache_page

from django_sitemaps09 import sources, views
from django_sitemaps09.conf import conf
from django_sitemaps09.pages import Fingerprint, Page
from django_sitemaps09.protocol import Base, Limits
from django_sitemaps09.sources import QuerySource
from django_sitemaps09.views import caching
from django_sitemaps09.views.live import listing, memo, page_responses, renewal
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.clock import set_seconds
from tests.support.configuration import Configure, Register, UseUrls
from tests.support.factories import ArticleFactory
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

PAGE = "/sitemap-articles-1.xml"
FORMS = (PAGE, f"{PAGE}.gz", "/sitemap-articles-1.txt")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Move the time at which fingerprints are read."""
    return set_seconds(monkeypatch, memo, page_responses, now=int(time.time()) + 0.5)


@pytest.fixture
def declare(register: Register) -> Callable[[str], None]:
    """Register the articles of a database as a section."""

    def declare_section(using: str) -> None:
        write_keys(*range(1, 26), using=using)
        queryset = Article.objects.using(using).filter(published=True)
        register(articles=type("Section", (Articles,), {"queryset": queryset}))

    return declare_section


@pytest.fixture
def _articles(declare: Callable[[str], None]) -> None:
    declare("default")


def get(url: str, method: str = "get", **headers: str) -> Any:
    return getattr(Client(), method)(url, headers={k.replace("_", "-"): v for k, v in headers.items()})


def reading_name() -> str:
    """Return the key of the only fingerprint."""
    [name] = [key for key in memo._entries if isinstance(key, str)]
    return name


def change(using: str = "default") -> None:
    Article.objects.using(using).filter(slug="s3").update(slug="other")


class TestQueries:
    def test_none_within_live_seconds_and_one_afterwards(
        self, snapshot_using: str, declare: Callable[[str], None], clock: Callable[[float], None]
    ) -> None:
        declare(snapshot_using)
        etags = {url: get(url).headers["ETag"] for url in FORMS}

        def statuses_and_queries() -> list[tuple[int, int]]:
            results = []
            for url in FORMS:
                with CaptureQueriesContext(connections[snapshot_using]) as captured:
                    status = get(url, if_none_match=etags[url]).status_code
                results.append((status, sum("SELECT" in query["sql"] for query in captured)))
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

    @pytest.mark.usefixtures("_articles")
    def test_one_each_time_without_live_seconds(
        self, configure: Configure, django_assert_num_queries: Any
    ) -> None:
        configure(LIVE_SECONDS=0)
        etag = get(PAGE).headers["ETag"]
        for _ in range(2):
            with django_assert_num_queries(1):
                assert get(PAGE, if_none_match=etag).status_code == 304
        change()
        assert get(PAGE, if_none_match=etag).status_code == 200

    @pytest.mark.usefixtures("_articles")
    def test_a_second_request_uses_the_previous_fingerprint_while_one_reads_it(
        self,
        clock: Callable[[float], None],
        django_assert_num_queries: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        etag = get(PAGE).headers["ETag"]
        clock(60)
        caching.default.fallback.add(f"{reading_name()}:lock", True, 60)
        with django_assert_num_queries(0):
            assert get(PAGE, if_none_match=etag).status_code == 304
        # No fingerprint is used that is older than twice LIVE_SECONDS.
        clock(60)
        change()
        monkeypatch.setattr(memo, "_READ_SECONDS", 0.1)
        assert get(PAGE, if_none_match=etag).status_code == 200

    @pytest.mark.usefixtures("_articles")
    def test_a_second_request_waits_without_live_seconds(
        self, configure: Configure, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        configure(LIVE_SECONDS=0)
        etag = get(PAGE).headers["ETag"]
        statuses: list[int] = []
        read = QuerySource.fingerprint

        def slow(source: QuerySource, *bounds: Any) -> Any:
            reading = read(source, *bounds)
            if not statuses:
                statuses.append(0)
                change()
                statuses.append(get(PAGE, if_none_match=etag).status_code)
            return reading

        monkeypatch.setattr(QuerySource, "fingerprint", slow)
        monkeypatch.setattr(memo, "_READ_SECONDS", 0.1)
        get(PAGE, if_none_match=etag)
        assert statuses == [0, 200]

    @pytest.mark.usefixtures("_articles")
    @pytest.mark.parametrize("seconds", [0, 60])
    def test_one_of_all_requests_that_wait_for_it(
        self, seconds: int, configure: Configure, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        configure(LIVE_SECONDS=seconds)
        source = sources.source("articles", Articles, Base("https", "www.example.com"), conf.limits)
        page_memo = memo.of_page(source, Page(1, None, None))
        assert page_memo is not None
        readings: list[int] = []
        may_end = threading.Event()

        def slow(*bounds: Any) -> Fingerprint:
            readings.append(1)
            assert may_end.wait(30)
            # The others look again while the second one reads.
            time.sleep(0.2)
            return Fingerprint(25, None, 1)

        def request() -> None:
            etags.append(page_memo.etag(may_read=True))

        monkeypatch.setattr(QuerySource, "fingerprint", slow)
        etags: list[Any] = []
        threads = [threading.Thread(target=request) for _ in range(8)]
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


@pytest.mark.usefixtures("_articles")
class TestConditions:
    @pytest.mark.parametrize("method", ["get", "head"])
    @pytest.mark.parametrize("url", FORMS)
    def test_etags(self, url: str, method: str) -> None:
        response = get(url)
        etag = response.headers["ETag"]
        assert etag.startswith('W/"')
        strong = etag.removeprefix("W/")
        for value in (etag, strong, f'"a", {etag}', f'W/"a",W/"b", {strong}', "*"):
            answer = get(url, method, if_none_match=value)
            assert (answer.status_code, answer.content) == (304, b"")
            assert answer.headers["ETag"] == etag
            assert answer.headers["X-Robots-Tag"] == response.headers["X-Robots-Tag"]
        for value in ('"other"', strong.strip('"'), f'"{etag}"', ""):
            assert get(url, method, if_none_match=value).status_code == 200
        assert get(url, method, if_match='"other"').status_code == 412

    @pytest.mark.parametrize("middleware", [[], ["django.middleware.common.CommonMiddleware"]])
    @pytest.mark.parametrize("url", FORMS)
    def test_head_is_answered_without_the_rows(
        self, url: str, middleware: list[str], settings: Any, django_assert_num_queries: Any
    ) -> None:
        settings.MIDDLEWARE = middleware
        headers = {**get(url).headers}
        memo._entries.clear()
        with django_assert_num_queries(1):
            response = get(url, "head")
        assert response.status_code == 200
        assert {**response.headers, "Content-Length": ""} == {**headers, "Content-Length": ""}
        # CommonMiddleware would say that the page is empty.
        assert "Content-Length" not in response.headers

    @pytest.mark.parametrize(
        "names", [["http.ConditionalGet"], ["gzip.GZip"], ["http.ConditionalGet", "gzip.GZip"]]
    )
    def test_hold_under_middleware_and_with_a_query_string(self, settings: Any, names: list[str]) -> None:
        settings.MIDDLEWARE = [
            *(f"django.middleware.{name}Middleware" for name in names),
            *settings.MIDDLEWARE,
        ]
        for url in FORMS:
            etag = get(url, accept_encoding="gzip").headers["ETag"]
            assert get(f"{url}?a=1", accept_encoding="gzip", if_none_match=etag).status_code == 304
            assert get(url, accept_encoding="gzip", if_none_match='"other"').status_code == 200

    def test_no_cache_stores_a_response_without_content(self, route: UseUrls) -> None:
        patterns = [path("sitemap-<section>-<int:page>.xml", cache_page(60)(views.page), name="page")]
        route(path("", include((patterns, "django_sitemaps09"))))
        etag = get(PAGE).headers["ETag"]
        cache.clear()
        assert get(PAGE, if_none_match=etag).status_code == 304
        response = get(PAGE)
        assert response.status_code == 200
        assert b"<loc>" in response.content

    def test_the_host_is_a_part_of_an_etag(self, client_chooses_host: Configure) -> None:
        client_chooses_host()
        assert get(PAGE, host="a.example").headers["ETag"] != get(PAGE, host="b.example").headers["ETag"]


def test_a_page_without_a_fingerprint_has_an_etag_of_its_content(register: Register) -> None:
    register(numbers=Numbers(3))
    url = "/sitemap-numbers-1.xml"
    response = get(url)
    assert "Last-Modified" not in response.headers
    assert get(url, if_none_match=response.headers["ETag"]).status_code == 304
    register(numbers=Numbers(4))
    assert get(url, if_none_match=response.headers["ETag"]).status_code == 200


@pytest.mark.usefixtures("_articles")
class TestAFingerprint:
    def test_is_enough_for_a_page_with_a_lastmod_in_the_future(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The document has this lastmod already, so it does not change once that time has passed."""
        soon = datetime.now(timezone.utc) + timedelta(days=1)
        Article.objects.filter(slug="s3").update(updated=soon)
        response = get(PAGE)
        assert soon.isoformat()[:19].encode() in response.content
        monkeypatch.setattr(
            page_responses.PageRequest, "_render", lambda *_: pytest.fail("the page was rendered")
        )
        assert get(PAGE, if_none_match=response.headers["ETag"]).status_code == 304

    def test_of_the_future_is_read_again(self, clock: Callable[[float], None]) -> None:
        """Otherwise, it would be valid for a long time after a clock was set back."""
        etag = get(PAGE).headers["ETag"]
        clock(-3_600)
        change()
        assert get(PAGE, if_none_match=etag).status_code == 200

    def test_that_fails_is_not_read_again_within_live_seconds(
        self, monkeypatch: pytest.MonkeyPatch, clock: Callable[[float], None]
    ) -> None:
        readings = []

        def fail(*bounds: Any) -> None:
            readings.append(bounds)
            raise DatabaseError("canceling statement due to statement timeout")

        monkeypatch.setattr(QuerySource, "fingerprint", fail)
        etag = get(PAGE, if_none_match="other").headers["ETag"]
        assert get(PAGE, if_none_match=etag).status_code == 304
        assert len(readings) == 1

    def test_of_rendered_rows_is_read_with_them(self) -> None:
        """Otherwise, if a change is undone within LIVE_SECONDS, both contents could have the same ETag."""
        first = get(PAGE)
        Article.objects.filter(slug="s3").update(slug="other")
        between = get(PAGE)
        Article.objects.filter(slug="other").update(slug="s3")
        assert b"/other/" in between.content
        assert between.headers["ETag"] != first.headers["ETag"]
        assert get(PAGE).headers["ETag"] == first.headers["ETag"]
        assert get(PAGE, if_none_match=between.headers["ETag"]).status_code == 200


class TestAPageThatIsTooFull:
    def test_has_what_fits_and_no_etag_until_its_range_is_divided(
        self, register: Register, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A client, or a cache, would keep a page without the rows that did not fit."""
        monkeypatch.setattr(sources, "protocol_limits", lambda source: Limits(12, 10**6))
        move = set_seconds(monkeypatch, listing, renewal)
        register(articles=Articles)
        write_keys(*range(10, 200, 10))
        first, _ = urls = _pages()
        write_keys(*range(11, 19))
        for method in ("get", "head"):
            response: Any = getattr(Client(), method)(first)
            assert response.content.count(b"<loc>") in (12, 0)
            assert "ETag" not in response.headers
            assert response.headers["Cache-Control"] == "no-store"
        assert _pages() == urls
        move(renewal.AGE)
        assert len(_pages()) == 3
        responses = list(map(get, _pages()))
        assert [response.content.count(b"<loc>") for response in responses] == [9, 9, 9]
        assert all("ETag" in response.headers for response in responses)

    def test_is_divided_by_what_fitted_though_its_rows_are_few(
        self, register: Register, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The entries can be longer than those by which pages were measured."""
        monkeypatch.setattr(sources, "protocol_limits", lambda source: Limits(4, 10**6))
        move = set_seconds(monkeypatch, listing, renewal)
        register(articles=Articles)
        write_keys(*range(1, 20))
        first, _ = _pages()
        assert get(first).content.count(b"<loc>") == 4
        for _ in range(2):
            # The range is not merged again.
            move(renewal.AGE)
            assert [get(url).content.count(b"<loc>") for url in _pages()[:2]] == [4, 4]


def _pages() -> list[str]:
    return [f"/{name}" for name in re.findall(r"/(sitemap-[^<]+)\.gz<", get("/sitemap.xml").text)]


def test_a_first_listing_that_another_request_makes_for_long_is_a_503(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(articles=Articles)
    ArticleFactory()
    monkeypatch.setattr(renewal, "WAIT", 0)
    monkeypatch.setattr(caching.Lock, "acquire", lambda self: False)
    response = get("/sitemap.xml")
    assert (response.status_code, response.headers["Retry-After"]) == (503, "30")
    assert get(PAGE).status_code == 200


@pytest.mark.usefixtures("_articles")
@pytest.mark.parametrize("url", ["/sitemap.xml", *FORMS])
def test_cache_control_is_as_the_setting_says(url: str, configure: Configure) -> None:
    assert "Cache-Control" not in get(url).headers
    configure(CACHE_CONTROL={"public": True, "max_age": 3600, "stale_while_revalidate": 86_400})
    response = get(url)
    expected = {"public", "max-age=3600", "stale-while-revalidate=86400"}
    assert {*response.headers["Cache-Control"].split(", ")} == expected
    answer = get(url, if_none_match=response.headers["ETag"])
    assert (answer.status_code, answer["Cache-Control"]) == (304, response["Cache-Control"])


class TestAReading:
    """A fingerprint that was read is used again within `LIVE_SECONDS`, but not for everything."""

    @pytest.mark.usefixtures("_articles")
    def test_of_another_request_is_not_the_one_of_rendered_rows(self) -> None:
        """The other request may have seen newer rows than the transaction or the replica of this one."""
        first = get(PAGE).headers["ETag"]
        fingerprint = memo._entries[reading_name()].value._replace(rows=99)
        memo._entries[reading_name()] = memo._Entry(time.time() + 1, fingerprint)
        assert get(PAGE, if_none_match='"other"').headers["ETag"] == first

    def test_belongs_to_one_section(self, register: Register, clock: Callable[[float], None]) -> None:
        """The digest of a declaration has no time that depends on now, such as the start of a week."""

        class Recent(Articles):
            def __init__(self, days: int) -> None:
                self.days = days

            def get_queryset(self) -> Any:
                since = zones.now() - timedelta(days=self.days, microseconds=1)
                return Article.objects.filter(updated__gte=since)

        register(week=Recent(7), year=Recent(365))
        ArticleFactory(slug="new", updated=zones.now() - timedelta(hours=2))
        week, year = get("/sitemap-week-1.xml"), get("/sitemap-year-1.xml")
        assert week.headers["ETag"] != year.headers["ETag"]
        ArticleFactory(slug="old", updated=zones.now() - timedelta(days=100))
        clock(120)
        assert get("/sitemap-week-1.xml", If_None_Match=week.headers["ETag"]).status_code == 304
        assert get("/sitemap-year-1.xml", If_None_Match=year.headers["ETag"]).status_code == 200

    @pytest.mark.usefixtures("_articles")
    def test_belongs_to_the_tenant_of_a_key_function(self, settings: Any) -> None:
        tenants = ["a"]
        default = {**settings.CACHES["default"], "KEY_FUNCTION": lambda key, *_: f"{tenants[0]}:{key}"}
        settings.CACHES = {**settings.CACHES, "default": default}
        for tenant in "ababba":
            tenants[0] = tenant
            assert get(PAGE).status_code == 200
        assert len({key for key in memo._entries if isinstance(key, str)}) == 2
