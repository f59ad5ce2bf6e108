"""Page maps of the native views: caching, division into pages, and responses to crawlers."""

from __future__ import annotations

import logging
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache
from django.db import connection
from django.test import Client, modify_settings, override_settings
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import ModelSitemap, sources
from django_sitemaps09.conf import conf
from django_sitemaps09.export import export
from django_sitemaps09.views import caching
from django_sitemaps09.views.live import live_map, maps, memo, page_responses
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.clock import set_seconds
from tests.support.keyed_rows import MODELS, delete, write
from tests.support.native_views import last_parts
from tests.support.services import require_packages

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]


@pytest.fixture(autouse=True)
def _articles(register: Callable[..., None]) -> None:
    register(articles=Articles)


@pytest.fixture(autouse=True)
def _no_cache_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caching.default, "paused_until", 0.0)
    monkeypatch.setattr(caching.default, "fallback", LocMemCache("of one test", {}))
    caching.default.fallback.clear()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Change the age of cached values. This does not make them expire in the cache."""
    return set_seconds(monkeypatch, live_map, maps)


def get(url: str, **options: Any) -> Any:
    return Client().get(f"/{url}", **options)


def named(url: str) -> list[str]:
    """Return the last path segment of each URL in a document, which must exist."""
    response = get(url)
    assert response.status_code == 200, url
    return last_parts(response.content)


def index() -> list[str]:
    """Return the names of the pages in the index, as uncompressed pages."""
    return [name.removesuffix(".gz") for name in named("sitemap.xml")]


def queries(url: str, **options: Any) -> int:
    with CaptureQueriesContext(connection) as found:
        get(url, **options)
    return len(found)


class TestWorkersWithCachesOfTheirOwn:
    """A crawler requests the index from one process, and each page from another one."""

    @pytest.fixture
    def workers(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
        caches = [LocMemCache(f"worker {number}", {}) for number in range(2)]

        def answers(number: int) -> None:
            monkeypatch.setattr(caching, "cache", caches[number])

        yield answers
        for made in caches:
            made.clear()

    @pytest.mark.parametrize(
        ("name", "change"), [*((name, "deletes") for name in MODELS), ("integer", "inserts")]
    )
    def test_disagree_near_a_change_alone(
        self,
        name: str,
        change: str,
        using: str,
        workers: Callable[[int], None],
        register: Callable[..., None],
    ) -> None:
        """At most the rows of eight of about 25 pages near the change are missing or listed twice."""
        model, key, row = MODELS[name]
        limit, last = 10, 201
        rows = model._default_manager.using(using)
        register(
            rows=type(
                "Rows",
                (ModelSitemap,),
                {
                    "queryset": rows.all(),
                    "key": key,
                    "limit": limit,
                    "location": lambda self, item: f"/{self.names[item.pk]}/",
                    "names": {model(**row(n)).pk: n for n in range(1, last)},
                },
            )
        )
        changed = range(100, 105) if change == "deletes" else range(100, 112)
        write(name, using, [n for n in range(1, last) if change == "deletes" or n not in changed])
        workers(0)
        first = index()
        (delete if change == "deletes" else write)(name, using, changed)
        workers(1)
        second = index()
        assert len(first) > 22
        assert len({*first} ^ {*second}) <= 16
        for page_names in (first, second):
            seen: Counter[int] = Counter()
            for turn, page in enumerate(page_names):
                workers(turn % 2)
                if get(page).status_code == 200:
                    seen.update(map(int, named(page)))
            present = [n for n in range(1, last) if change == "inserts" or n not in changed]
            wrong = [n for n in present if seen[n] != 1]
            assert len(wrong) <= 8 * limit
            assert all(100 - 2 * limit < n < 112 + 8 * limit for n in wrong)

    def test_find_what_the_other_one_has_cut_after_a_minute(
        self, workers: Callable[[int], None], clock: Callable[[float], None]
    ) -> None:
        write_keys(*range(1, 51))
        workers(0)
        before = index()
        write_keys(*range(51, 61))
        workers(1)
        [*_, last] = after = index()
        assert last not in before
        workers(0)
        assert get(last).status_code == 404
        clock(61)
        forget_when_it_was_asked()
        assert named(last) == named(last)
        assert {*after} == {*index()}


def forget_when_it_was_asked() -> None:
    """Remove the cached times of searches and the cached places of publication, as if they had expired."""
    kept: Any = caching.cache
    for name in [*kept._cache]:
        if name.endswith((":unknown", ":cut")) or ":published:" in name:
            del kept._cache[name], kept._expire_info[name]


class TestAMapThatIsKept:
    def test_is_divided_again_after_five_minutes_and_earlier_pages_still_answer(
        self, clock: Callable[[float], None]
    ) -> None:
        write_keys(*range(1, 101))
        before = {page: named(page) for page in index()}
        Article.objects.filter(pk__range=(20, 45)).delete()
        assert [*before] == index()
        clock(301)
        after = index()
        assert {slug for page in after for slug in named(page)} == {
            f"s{n}" for n in (*range(1, 20), *range(46, 101))
        }
        clock(2 * conf.live_seconds)
        after = index()
        gone = before.keys() - after
        assert gone
        for page in gone:
            assert named(page) == [slug for slug in before[page] if not 20 <= int(slug[1:]) <= 45]
        assert sorted(slug for page in after for slug in named(page)) == sorted(
            f"s{n}" for n in (*range(1, 20), *range(46, 101))
        )

    def test_knows_what_an_index_named_after_requests_for_pages_have_built_it_again(
        self, clock: Callable[[float], None]
    ) -> None:
        """A page that is listed again is not counted yet, but an index named it all the same."""
        write_keys(*range(1, 101))
        names = index()
        before = {name: named(name) for name in names}
        clock(301)
        # The map now ends with what remains to be divided after this page.
        get(names[4])
        Article.objects.filter(pk__in=range(3, 40)).delete()
        write_keys(*range(101, 151))
        clock(301)
        get(names[0])
        for name, slugs in before.items():
            assert {*named(name)} >= {slug for slug in slugs if not 3 <= int(slug[1:]) < 40}

    def test_answers_while_another_request_divides_the_next_one(
        self, clock: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_keys(*range(1, 31))
        before = index()
        write_keys(*range(31, 61))
        clock(301)
        meanwhile = []
        cut = sources.divide

        def slow(*arguments: Any) -> Any:
            if not meanwhile:
                meanwhile.append([])
                meanwhile.append(index())
            return cut(*arguments)

        monkeypatch.setattr(sources, "divide", slow)
        assert len(index()) > len(before)
        assert [{*pages} >= {*before} for pages in meanwhile] == [False, True]

    def test_is_not_cut_for_numbers_that_no_page_has(self, clock: Callable[[float], None]) -> None:
        write_keys(*range(1, 31))
        index()
        for seconds in (0, 20, 30):
            clock(seconds)
            for number in (2, 31, 99_999_999, 100_000_000, 999_999_999):
                assert queries(f"sitemap-articles-{number}.xml") == 0
                assert get(f"sitemap-articles-{number}.xml").status_code == 404

    def test_is_cut_once_a_minute_for_numbers_that_no_page_has(
        self, clock: Callable[[float], None]
    ) -> None:
        write_keys(*range(1, 31))
        index()
        clock(100)
        found = [queries(f"sitemap-articles-{number}.xml") for number in range(900_000_000, 900_000_020)]
        assert sum(map(bool, found)) == 1

    def test_is_not_read_for_numbers_that_only_an_export_has(self) -> None:
        write_keys(*range(1, 31))
        assert queries("sitemap-articles-2.xml") == 0

    @pytest.mark.parametrize(
        "value",
        [
            *(None, 7, "text", b"bytes", [], {}, (1, 2), (1.0, [], "x"), ("x", [], [])),
            [["1", None, None]],
        ],
    )
    def test_is_cut_if_a_cache_has_something_else(
        self, value: object, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Strange(LocMemCache):
            def get(self, key: Any, default: Any = None, version: Any = None) -> Any:
                return value

        write_keys(*range(1, 31))
        monkeypatch.setattr(caching, "cache", Strange("strange", {}))
        found = index()
        assert [slug for page in found for slug in named(page)] == [f"s{n}" for n in range(1, 31)]

    def test_divides_a_page_by_the_rows_that_fit_on_it_though_they_vanished_meanwhile(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The rows of an incomplete page were counted after it was rendered."""
        write_keys(*range(1, 31))
        *_, last = index()
        write_keys(*range(31, 42))
        rows: list[int] = []

        def divide_page(source: Any, page: Any, most: int) -> bool:
            rows.append(most)
            return True

        monkeypatch.setattr(page_responses, "_log", lambda *_: Article.objects.filter(pk__gt=2).delete())
        monkeypatch.setattr(maps, "divide_page", divide_page)
        assert "ETag" not in get(last)
        assert rows == [10]

    def test_lists_the_rows_of_merged_pages_although_a_client_has_copies(
        self, clock: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """For `LIVE_SECONDS`, the grown page was answered with 304, so no page had the other rows."""
        for module in (page_responses, memo):
            monkeypatch.setattr(module, "time", maps.time)
        write_keys(*range(1, 101))
        names = index()
        rows = {name: named(name) for name in names}
        gone = [slug for name in names for slug in rows[name][2:]]
        Article.objects.filter(slug__in=gone).delete()
        clock(290)
        copies = {name: (get(name)["ETag"], named(name)) for name in names}
        clock(20)
        found: list[str] = []
        for name in index():
            etag, copy = copies.get(name, ("", []))
            answer = get(name, headers={"If-None-Match": etag})
            found += copy if answer.status_code == 304 else named(name)
        # The merged pages are still listed, too.
        assert {*found} == {slug for name in names for slug in rows[name][:2]}

    def test_leaves_an_incomplete_page_without_etag_when_the_cache_has_lost_it(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_keys(*range(1, 31))
        *_, last = index()
        write_keys(*range(31, 42))
        monkeypatch.setattr(page_responses, "_log", lambda *_: cache.clear())
        response = get(last)
        assert "ETag" not in response
        assert response["Cache-Control"] == "no-store"

    def test_is_built_only_up_to_the_requested_page(self) -> None:
        """A request for a page does not find the bounds of all the pages after it."""
        write_keys(*range(1, 201))
        names = index()
        assert len(names) > 20
        cache.clear()
        first = queries(names[0])
        cache.clear()
        fourth = queries(names[3])
        cache.clear()
        last = queries(names[-1])
        assert first + 3 <= fourth < first + 10
        assert last > 4 * fourth

    @pytest.mark.parametrize("order", [[0], [3], [-1], [3, 1, 0, 7, 7, -1, 5], [2, 4, 6]])
    def test_is_the_same_whichever_page_is_requested_first(self, order: list[int]) -> None:
        write_keys(*range(1, 101))
        names = index()
        documents = [get(name).content for name in names]
        cache.clear()
        for place in order:
            assert get(names[place]).content == documents[place]
        assert index() == names
        assert [get(name).content for name in names] == documents

    def test_has_the_numbers_of_no_other_page_before_it_is_whole(self) -> None:
        write_keys(*range(1, 101))
        names = index()
        cache.clear()
        get(names[0])
        assert get("sitemap-articles-900000000.xml").status_code == 404
        assert [get(name).status_code for name in names] == [200] * len(names)

    def test_has_the_lastmods_of_pages_that_were_split_in_one_query_each(self) -> None:
        """The new last page has been counted when it was split."""
        write_keys(*range(1, 31))
        *_, last = index()
        write_keys(*range(31, 42))
        get(last)
        assert queries("sitemap.xml") == 1
        assert queries("sitemap.xml") == 0


class TestWhatAClientSays:
    """Without `BASE_URL` and the sites framework, the host comes from the request."""

    @pytest.fixture(autouse=True)
    def _host_of_the_request(self, settings: Any) -> Iterator[None]:
        settings.SITEMAPS09 = {"MAX_BYTES": 20_000}
        settings.ALLOWED_HOSTS = [".example.com"]
        with modify_settings(INSTALLED_APPS={"remove": "django.contrib.sites"}):
            yield

    @pytest.fixture(autouse=True)
    def _rows(self, register: Callable[..., None]) -> None:
        register(articles=type("Large", (Articles,), {"limit": 1_000}))
        write_keys(*range(1, 1_001))

    def test_of_the_host_cuts_no_map_and_moves_no_bound(self) -> None:
        get("sitemap.xml", headers={"host": "www.example.com"})
        first = index_of("www.example.com")
        for host in ("www.example.com:1", "www.example.com:65535", f"{'a' * 60}.{'b' * 60}.example.com"):
            assert queries("sitemap.xml", headers={"host": host}) == 0
            assert index_of(host) == first
        cache.clear()
        get("sitemap.xml", headers={"host": f"{'a' * 60}.{'b' * 60}.example.com"})
        assert index_of("www.example.com") == first

    @pytest.mark.parametrize("host", ["www.example.com:99999", "www.example.com:0x", "-.example.com:65536"])
    @pytest.mark.parametrize("url", ["sitemap.xml", "sitemap-articles-1.xml", "robots.txt"])
    def test_that_is_not_a_host_is_answered_400(self, url: str, host: str) -> None:
        assert get(url, headers={"host": host}).status_code == 400

    def test_of_the_prefix_cuts_no_map_and_moves_no_bound(self) -> None:
        prefix = f"/{'x' * 300}"
        get("sitemap.xml", headers={"host": "www.example.com"}, SCRIPT_NAME=prefix)
        poisoned = index_of("www.example.com")
        assert queries("sitemap.xml", headers={"host": "www.example.com"}) == 0
        cache.clear()
        assert index_of("www.example.com") == poisoned


def index_of(host: str) -> list[str]:
    """Return the names of the pages in the index of a host."""
    return last_parts(get("sitemap.xml", headers={"host": host}).content)


class Refusing(LocMemCache):
    """A cache that fails in one of its methods."""

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        super().__init__(name, params)
        self.refused = params["OPTIONS"]["REFUSED"]
        self.asked = 0

    def _refuse(self, method: str) -> None:
        self.asked += 1
        if method in self.refused:
            raise ConnectionResetError(f"{method}: \x1b[31mgone")

    def get(self, *arguments: Any, **options: Any) -> Any:
        self._refuse("get")
        return super().get(*arguments, **options)

    def add(self, *arguments: Any, **options: Any) -> Any:
        self._refuse("add")
        return super().add(*arguments, **options)

    def set(self, *arguments: Any, **options: Any) -> Any:
        self._refuse("set")
        return super().set(*arguments, **options)


def closed_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class TestACacheThatFails:
    @pytest.fixture(autouse=True)
    def _rows(self) -> None:
        write_keys(*range(1, 31))

    def crawl(self) -> list[str]:
        return [slug for page in index() for slug in named(page)]

    @pytest.mark.parametrize("refused", [["get"], ["add"], ["set"], ["get", "add", "set"]])
    @pytest.mark.parametrize("exporting", [False, True])
    def test_is_logged_once_and_causes_no_error(
        self,
        refused: Sequence[str],
        exporting: bool,
        settings: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        if exporting:
            settings.SITEMAPS09 = {**settings.SITEMAPS09, "ROOT": tmp_path}
            export()
        failing = Refusing("refusing", {"OPTIONS": {"REFUSED": refused}})
        failing.clear()
        monkeypatch.setattr(caching, "cache", failing)
        for _ in range(3):
            assert self.crawl() == [f"s{n}" for n in range(1, 31)]
            assert get("sitemap-articles-999999999.xml").status_code == 404
        [logged] = [record for record in caplog.records if record.name == caching.__name__]
        assert "The default cache failed" in logged.getMessage()
        assert "\x1b" not in logged.getMessage()
        assert queries("sitemap.xml") == 0

    def test_is_tried_again_after_a_pause(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        failing = Refusing("refusing", {"OPTIONS": {"REFUSED": ["get"]}})
        # Other tests use the same memory.
        failing.clear()
        monkeypatch.setattr(caching, "cache", failing)
        self.crawl()
        assert failing.asked == 1
        monkeypatch.setattr(caching.default, "paused_until", 0.0)
        failing.refused = []
        self.crawl()
        assert failing.asked > 1
        assert len(caplog.records) == 1

    @pytest.mark.services
    def test_that_is_a_redis_without_a_server_causes_no_error(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        require_packages("redis")
        location = f"redis://127.0.0.1:{closed_port()}"
        backend = "django.core.cache.backends.redis.RedisCache"
        with (
            override_settings(CACHES={"default": {"BACKEND": backend, "LOCATION": location}}),
            caplog.at_level(logging.WARNING),
        ):
            assert self.crawl() == self.crawl() == [f"s{n}" for n in range(1, 31)]
            assert queries("sitemap.xml") == 0
        assert [record.name for record in caplog.records] == [caching.__name__]


class TestAMapOfAnExport:
    @pytest.fixture(autouse=True)
    def _exported(self, settings: Any, tmp_path: Path) -> None:
        settings.SITEMAPS09 = {**settings.SITEMAPS09, "ROOT": tmp_path}
        write_keys(*range(1, 61))
        export()
        cache.clear()

    @pytest.mark.parametrize("deleted", [range(1, 11), range(11, 26), range(45, 61)])
    def test_is_kept_if_a_page_has_no_rows_left(
        self, deleted: range, clock: Callable[[float], None], settings: Any
    ) -> None:
        settings.SITEMAPS09 = {**settings.SITEMAPS09, "LIVE_SECONDS": 10}
        Article.objects.filter(pk__in=deleted).delete()
        index()
        # Until then, other processes may not know that the first page has grown.
        clock(2 * conf.live_seconds)
        pages = index()
        assert queries("sitemap.xml") == 0
        # The fingerprint for the ETag, and the rows.
        assert [queries(page) for page in pages] == [2] * len(pages)
        assert queries("sitemap-articles-2000.xml") == 0
        assert [slug for page in pages for slug in named(page)] == [
            f"s{n}" for n in range(1, 61) if n not in deleted
        ]

    def test_has_rows_that_are_added_if_all_of_a_page_were_deleted(
        self, clock: Callable[[float], None]
    ) -> None:
        Article.objects.filter(pk__range=(11, 25)).delete()
        index()
        write_keys(12)
        clock(maps.AGE)
        assert {slug for page in index() for slug in named(page)} == {
            f"s{n}" for n in (*range(1, 11), 12, *range(26, 61))
        }

    def test_costs_few_queries_if_all_rows_are_gone(self) -> None:
        Article.objects.all().delete()
        assert index() == []
        assert queries("sitemap.xml") <= 3
        assert queries("sitemap-articles-2.xml") <= 6


class TestACrawlThatSpansAnExport:
    """A crawler that read the index before the export finds its pages afterwards."""

    @pytest.fixture(autouse=True)
    def _folder(self, settings: Any, tmp_path: Path) -> None:
        settings.SITEMAPS09 = {**settings.SITEMAPS09, "ROOT": tmp_path}

    @staticmethod
    def crawl(pages: Sequence[str]) -> set[str]:
        return {slug for page in pages for slug in named(page)}

    def test_finds_the_pages_from_before_the_first_one(self) -> None:
        write_keys(*range(1, 101))
        pages = index()
        export()
        forget_when_it_was_asked()
        assert index() != pages
        assert self.crawl(pages) == {f"s{n}" for n in range(1, 101)}
        # The number of rows in a range that is not listed now, the fingerprint and the rows.
        assert {queries(page) for page in pages} == {2, 3}

    def test_finds_the_parts_of_a_page_that_had_outgrown_its_limit(self) -> None:
        write_keys(*range(100, 4_000, 100))
        export()
        write_keys(*range(801, 851))
        pages = index()
        assert len(self.crawl(pages)) == 89
        export()
        forget_when_it_was_asked()
        assert len(self.crawl(pages)) == 89
