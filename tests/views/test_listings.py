"""Listings of sections: how they are made, renewed, kept and shared, and what an index says meanwhile."""

from __future__ import annotations

import logging
import pickle
import socket
import threading
import uuid
from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import Any

import pytest
from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache
from django.db import OperationalError, connections
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from django_sitemaps09.views import caching
from django_sitemaps09.views.live import listing, memo, renewal
from django_sitemaps09.views.live.listing import ListedPage, Listing
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.clock import set_seconds
from tests.support.configuration import Configure, Register
from tests.support.native_views import last_parts
from tests.support.services import require_packages

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(LIVE_SECONDS=0)]


@pytest.fixture(autouse=True)
def _articles(register: Register) -> None:
    register(articles=Articles)


@pytest.fixture
def move(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that ages listings. It does not make values expire in the cache."""
    return set_seconds(monkeypatch, listing, renewal)


@pytest.fixture
def section(using: str, register: Register) -> str:
    """Register the articles of a database; return its alias."""
    queryset = Article.objects.using(using).filter(published=True)
    register(articles=type("Section", (Articles,), {"queryset": queryset}))
    return using


def get(url: str, **options: Any) -> Any:
    return Client().get(f"/{url.removesuffix('.gz')}", **options)


def named(url: str) -> list[str]:
    """Return the last parts of the URLs in a document, which must exist."""
    response = get(url)
    assert response.status_code == 200, url
    return last_parts(response.content)


def index() -> list[str]:
    return named("sitemap.xml")


def contents() -> list[list[str]]:
    """Return what each page of the index lists."""
    return [named(page) for page in index()]


def crawl() -> list[str]:
    return [slug for slugs in contents() for slug in slugs]


def of_keys(*keys: int) -> list[str]:
    return [f"s{key}" for key in keys]


def queries(url: str, using: str = "default", **options: Any) -> int:
    with CaptureQueriesContext(connections[using]) as captured:
        get(url, **options)
    return len(captured)


class TestTheFirstListing:
    def test_needs_two_queries_a_page_whatever_the_gaps_in_the_keys(self, section: str) -> None:
        keys = [*range(1, 101), *range(5_000, 5_003)]
        write_keys(*keys, using=section)
        with CaptureQueriesContext(connections[section]) as captured:
            pages = index()
        # The key identity, and the rows from which the length of an entry is estimated.
        assert len(captured) <= 2 * len(pages) + 3
        assert crawl() == of_keys(*keys)

    def test_of_other_processes_covers_all_keys_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """With memory of their own, and rows that were written between, processes need not agree."""
        memories = [LocMemCache(f"worker {number}", {}) for number in range(2)]

        def use(number: int) -> None:
            monkeypatch.setattr(caching, "cache", memories[number])
            listing._kept.clear()

        try:
            pages = []
            for number in range(2):
                write_keys(*range(100 * number, 100 * number + 37, 1 + number))
                use(number)
                pages.append(index())
            assert pages[0] != pages[1]
            for number in range(2):
                use(number)
                found = [slug for page in pages[1 - number] for slug in named(page)]
                assert found == of_keys(*range(37), *range(100, 137, 2))
        finally:
            for memory in memories:
                memory.clear()


class TestTheOpenEnd:
    def test_is_looked_at_with_one_query(self, section: str, move: Callable[[float], None]) -> None:
        write_keys(*range(1, 61), using=section)
        pages = index()
        assert queries("sitemap.xml", section) == 1
        move(renewal.AGE)
        # One query counts a page, and reads its newest lastmod.
        assert queries("sitemap.xml", section) <= len(pages) + 3
        assert index() == pages
        assert queries(pages[3], section) == 1

    @pytest.mark.parametrize("seconds", [0, 60])
    def test_gets_new_pages_at_once_or_lists_new_rows_in_the_meantime(
        self, section: str, configure: Configure, seconds: int
    ) -> None:
        configure(LIVE_SECONDS=seconds)
        write_keys(*range(1, 31), using=section)
        pages = index()
        write_keys(*range(31, 91), using=section)
        assert crawl() == of_keys(*range(1, 91))
        if seconds:
            assert index() == pages
        else:
            assert index()[: len(pages) - 1] == pages[:-1]
            assert all(0 < len(slugs) <= 10 for slugs in contents())


class TestALook:
    def test_divides_what_has_too_many_rows_into_even_parts(
        self, section: str, move: Callable[[float], None]
    ) -> None:
        write_keys(*range(1, 20_001, 1_000), using=section)
        before = index()
        write_keys(*range(5_002, 5_392), using=section)
        assert index() == before
        move(renewal.AGE)
        present = [*range(1, 5_002, 1_000), *range(5_002, 5_392), *range(6_001, 20_001, 1_000)]
        assert crawl() == of_keys(*present)
        assert all(5 <= len(slugs) <= 10 for slugs in contents()[:-1])
        # Bounds are kept where that is possible.
        assert index()[-1] == before[-1]

    def test_merges_empty_pages(self, move: Callable[[float], None]) -> None:
        write_keys(*range(1, 61))
        pages = index()
        Article.objects.filter(pk__range=(11, 20)).delete()
        assert named(pages[1]) == []
        move(renewal.AGE)
        assert [pages[0], *pages[2:]] != index()
        assert len(index()) == len(pages) - 1
        # A row that is added there later is on both addresses.
        write_keys(15)
        assert named(pages[1]) == ["s15"]
        assert crawl() == of_keys(*range(1, 11), 15, *range(21, 61))

    def test_lists_no_row_twice_after_bursts(self, move: Callable[[float], None]) -> None:
        write_keys(*range(0, 1_000, 10))
        earlier: list[str] = []
        for start in (100, 300, 120, 900):
            earlier += index()
            write_keys(*range(start + 1, start + 10), *range(start + 11, start + 20))
            move(renewal.AGE)
            found = crawl()
            assert len({*found}) == len(found) == Article.objects.count()
            assert {slug for page in earlier for slug in named(page)} == {*found}
            Article.objects.filter(pk__range=(start + 1, start + 5)).delete()

    @pytest.mark.parametrize(("left", "is_merged"), [(85, True), (86, False)])
    def test_merges_neighbours_that_fill_at_most_85_percent_of_a_page(
        self, left: int, is_merged: bool, register: Register, move: Callable[[float], None]
    ) -> None:
        register(articles=type("Section", (Articles,), {"limit": 100}))
        Article.objects.bulk_create(Article(pk=key, slug=f"s{key}") for key in range(1, 301))
        pages = index()
        first, second = map(named, pages[:2])
        Article.objects.filter(slug__in=[*first[40:], *second[left - 40 :]]).delete()
        move(renewal.AGE)
        assert len(index()) == len(pages) - is_merged
        assert index()[2 - is_merged :] == pages[2:]

    def test_keeps_pages_few(self, move: Callable[[float], None]) -> None:
        write_keys(*range(1, 101))
        before = index()
        Article.objects.exclude(pk__in=range(0, 101, 3)).delete()
        move(renewal.AGE)
        counts = list(map(len, contents()))
        assert sum(counts) == 33
        assert all(first + second > 8 for first, second in pairwise(counts))
        assert {slug for page in before for slug in named(page)} == {*of_keys(*range(3, 101, 3))}

    def test_of_a_section_without_rows_lists_no_page(self, move: Callable[[float], None]) -> None:
        write_keys(1, 2)
        [page] = index()
        Article.objects.all().delete()
        assert named(page) == []
        move(renewal.AGE)
        assert index() == []
        write_keys(5)
        assert contents() == [["s5"]]

    def test_that_fails_is_done_by_the_next_request(
        self, move: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(*_: object) -> None:
            raise OperationalError("no database")

        assert index() == []
        move(renewal.AGE)
        with monkeypatch.context() as context:
            context.setattr(renewal.Renewal, "steps", fail)
            # The section may have rows by now.
            assert get("sitemap.xml").status_code == 503
        write_keys(*range(1, 20_001, 1_000))
        pages = index()
        write_keys(*range(5_002, 5_092))
        move(renewal.AGE)
        with monkeypatch.context() as context:
            context.setattr(renewal.Renewal, "steps", fail)
            assert index() == pages
        assert {*crawl()} >= {*of_keys(*range(5_002, 5_092))}

    def test_begins_anew_if_the_key_sorts_otherwise(
        self, move: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_keys(*range(1, 51))
        index()
        name = [*listing._kept]
        stored = listing._kept[name[0]].listing
        bounds = tuple(ListedPage(until, 5) for until in (("40",), ("7",), None))
        monkeypatch.setattr(listing, "time", renewal.time)
        changed = stored._replace(identity=("sqlite", "another collation"), pages=bounds)
        listing.store(name[0].partition(":1:")[2], changed)
        move(renewal.AGE)
        assert crawl() == of_keys(*range(1, 51))


class TestANoteThatAPageIsTooFull:
    @pytest.fixture
    def note(self, move: Callable[[float], None]) -> Callable[..., list[int]]:
        """Note this value beside a listing of 30 rows, add rows, and return how many each page has."""
        write_keys(*range(1, 31))
        index()
        [name] = [key.split(":", 2)[2] for key in listing._kept]

        def noted(value: Any, *keys: int) -> list[int]:
            cache.set(f"{name}:full", value)
            write_keys(*keys)
            move(renewal.AGE)
            return list(map(len, contents()))

        return noted

    @pytest.mark.parametrize(
        "value", [5, "text", ["x"], {".to.10": "x"}, {".to.10": None}, {".to.10": True}]
    )
    def test_is_ignored_if_it_is_invalid(self, note: Callable[..., list[int]], value: Any) -> None:
        pages = index()
        assert note(value) == [10, 10, 10]
        assert index() == pages

    def test_divides_its_own_page_alone_when_all_pages_are_counted(
        self, note: Callable[..., list[int]], move: Callable[[float], None]
    ) -> None:
        first, second, _ = index()
        [name] = [key.split(":", 2)[2] for key in listing._kept]
        cache.set(f"{name}:full", {".after.10.to.20": 3})
        write_keys(*range(31, 61))
        # Until then, only the open end is looked at.
        assert index()[:2] == [first, second]
        for _ in range(2):
            move(renewal.AGE)
            assert list(map(len, contents())) == [10, 3, 3, 3, 1, 10, 10, 10, 10]

    def test_allows_no_more_rows_than_the_limit(self, note: Callable[..., list[int]]) -> None:
        assert max(note({".after.10.to.20": 200}, *range(-100, 0))) == 10


class TestSeveralRequests:
    def test_let_no_client_store_an_index_while_another_one_counts_its_pages(
        self, move: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_keys(*range(1, 31))
        index()
        move(renewal.AGE)
        with monkeypatch.context() as context:
            context.setattr(caching.Lock, "acquire", lambda self: False)
            outdated = get("sitemap.xml")
        assert (outdated.status_code, outdated["Cache-Control"]) == (200, "no-store")
        assert "ETag" not in outdated
        assert "ETag" in get("sitemap.xml")

    def test_list_the_first_rows_while_another_one_counts_them(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert index() == []
        write_keys(*range(1, 31))
        monkeypatch.setattr(caching.Lock, "acquire", lambda self: False)
        assert index() == ["sitemap-articles-1.xml.gz"]
        assert crawl() == of_keys(*range(1, 31))
        assert get("sitemap.xml")["Cache-Control"] == "no-store"

    def test_wait_for_the_first_listing_in_one_thread_of_a_process(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_keys(*range(1, 31))
        monkeypatch.setattr(caching.Lock, "acquire", lambda self: False)
        monkeypatch.setattr(renewal, "WAIT", 20)
        with renewal._waiting:
            # Another thread waits already.
            assert get("sitemap.xml").status_code == 503
        assert not renewal._waiting.locked()

    def test_go_on_where_a_killed_one_has_come_to(
        self, section: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_keys(*range(1, 201), using=section)
        monkeypatch.setattr(renewal, "_STORED_EACH", -1)
        count = 0

        def execute(run: Callable[..., Any], *arguments: Any) -> Any:
            nonlocal count
            count += 1
            if count > 25:
                raise SystemExit
            return run(*arguments)

        with monkeypatch.context() as context, connections[section].execute_wrapper(execute):
            # A process that is killed does not give its lease back.
            context.setattr(caching.Lock, "release", lambda self: None)
            with pytest.raises(SystemExit):
                get("sitemap.xml")
        listing._kept.clear()
        monkeypatch.setattr(renewal, "WAIT", 0)
        assert get("sitemap.xml").status_code == 503
        locks = [key.split(":", 2)[2] for key in cache._cache if key.endswith(":lock")]  # type: ignore[attr-defined]
        for name in locks:
            cache.delete(name)
        pages = -(-200 // 10)
        assert queries("sitemap.xml", section) <= 2 * pages + 3 - 20
        assert crawl() == of_keys(*range(1, 201))

    def test_renew_a_lease_for_twice_the_slowest_step(self, monkeypatch: pytest.MonkeyPatch) -> None:
        write_keys(*range(1, 31))
        clock = iter(range(0, 10_000, 7))
        monkeypatch.setattr(renewal.time, "monotonic", lambda: next(clock))
        renewed: list[float] = []
        monkeypatch.setattr(caching.Lock, "renew", lambda self, seconds: renewed.append(seconds))
        index()
        assert {*renewed} <= {14, 28}
        assert 14 in renewed

    def test_build_a_value_once(self) -> None:
        started, may_end, built = threading.Event(), threading.Event(), []

        def build() -> str:
            built.append(1)
            started.set()
            assert may_end.wait(30)
            cache.set("value", "page")
            return "page"

        def request() -> None:
            values.append(caching.once(caching.Lock("name", 60), lambda: cache.get("value"), build))

        values: list[str] = []
        threads = [threading.Thread(target=request) for _ in range(8)]
        threads[0].start()
        assert started.wait(30)
        for thread in threads[1:]:
            thread.start()
        lock = caching.Lock("name", 60)
        assert caching.once(lock, lambda: cache.get("value"), build, "before") == "before"
        may_end.set()
        for thread in threads:
            thread.join(60)
        assert values == ["page"] * 8
        assert built == [1]

    def test_build_after_one_that_fails_and_give_up_on_a_long_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail() -> str:
            raise ValueError("no database")

        with pytest.raises(ValueError, match="no database"):
            caching.once(caching.Lock("name", 60), lambda: None, fail)
        assert caching.once(caching.Lock("name", 60), lambda: None, lambda: "page") == "page"
        monkeypatch.setattr(caching, "_WAIT", 0)
        assert caching.Lock("name", 60).acquire()
        with pytest.raises(caching.BusyError):
            caching.once(caching.Lock("name", 60), lambda: None, lambda: "own")


class TestTheCachedValue:
    def test_of_the_most_pages_fits_into_caches_that_bound_values(self) -> None:
        pages = [ListedPage((str(uuid.uuid4()),), 47_500, "2026-01-01T12:00:00Z") for _ in range(49_999)]
        stored = Listing("xml.gz", ("t.id",), ("sqlite",), 1, "", 1.0, (*pages, ListedPage(None, 1)))
        listing.store("name", stored)
        listing._kept.clear()
        assert max(map(len, map(pickle.dumps, cache._cache.values()))) < 1_000_000  # type: ignore[attr-defined]
        assert listing.read("name") == stored

    @pytest.mark.parametrize(
        "value",
        [
            *(None, 7, "text", b"bytes", [], {}, (1, 2), ("", 5, b"")),
            *(("x", 10**12, b"content"), ("x", -5, b"content"), ("x", "5", b"content")),
        ],
    )
    def test_that_is_something_else_counts_as_missing(self, value: object) -> None:
        write_keys(*range(1, 31))
        pages = index()
        for name in [*cache._cache]:  # type: ignore[attr-defined]
            cache.set(name.split(":", 2)[2], value)
        assert index() == pages

    @pytest.mark.parametrize(
        "change",
        [
            *({"suffix": "exe"}, {"columns": ("tests_article.slug",)}, {"columns": 5}, {"rows": 0}),
            *({"rows": 10**30}, {"looked_at": "x"}, {"looked_at": 1e400}, {"pages": 5}),
            *(
                {"pages": [*([bound, 1, None, 0] for bound in bounds), [None, 1, None, 0]]}
                for bounds in (
                    *([None], [["5"], ["5"]], ["5"], [["\0"]], [["\ud800"]], [["abc"]], [["5", "6"]]),
                    *([["9" * 5_000]], [[str(number)] for number in range(60_000)]),
                )
            ),
            *({"pages": [[["5"], 1, None, 0]]}, {"pages": [[None, "x", None, 0]]}),
            {"pages": [[None, 1, "<b>", 0]]},
        ],
        ids=range(20),
    )
    def test_that_is_damaged_is_replaced(self, change: dict[str, Any]) -> None:
        write_keys(*range(1, 31))
        pages = index()
        [full_name] = listing._kept
        stored = listing._kept[full_name].listing
        listing.store(full_name.partition(":1:")[2], stored._replace(**change))
        listing._kept.clear()
        assert index() == pages


class TestWhatAClientSays:
    """Without `BASE_URL` and the sites framework, the host comes from the request."""

    @pytest.fixture(autouse=True)
    def _rows(self, client_chooses_host: Configure, register: Register) -> None:
        client_chooses_host(".example.com", MAX_BYTES=20_000)
        register(articles=type("Large", (Articles,), {"limit": 1_000}))
        write_keys(*range(1, 1_001))

    def test_of_the_host_and_prefix_counts_no_page_and_moves_no_bound(self) -> None:
        first = index_of("www.example.com")
        long = f"{'a' * 60}.{'b' * 60}.example.com"
        for host in ("www.example.com:1", "www.example.com:65535", long):
            assert queries("sitemap.xml", headers={"host": host}) == 0
            assert index_of(host) == first
        for said in (
            {"headers": {"host": long}},
            {"headers": {"host": "www.example.com"}, "SCRIPT_NAME": f"/{'x' * 300}"},
        ):
            cache.clear()
            get("sitemap.xml", **said)
            assert queries("sitemap.xml", headers={"host": "www.example.com"}) == 0
            assert index_of("www.example.com") == first

    @pytest.mark.parametrize("host", ["www.example.com:99999", "www.example.com:0x", "-.example.com:65536"])
    def test_that_is_not_a_host_is_answered_400(self, host: str) -> None:
        for url in ("sitemap.xml", "sitemap-articles-1.xml", "robots.txt"):
            assert get(url, headers={"host": host}).status_code == 400

    def test_of_the_host_chooses_the_rows_of_a_section_that_has_others_on_each(
        self, register: Register
    ) -> None:
        class Halves(Articles):
            def for_host(self, domain: str) -> Any:
                found = copy(self)
                is_first = domain.startswith("a.")
                found.queryset = Article.objects.filter(**{f"pk__{'lte' if is_first else 'gt'}": 300})
                return found

        register(articles=Halves)
        for _ in range(2):
            for host, keys in (("a.example.com", range(1, 301)), ("b.example.com", range(301, 1_001))):
                pages = index_of(host)
                found = [last_parts(get(page, headers={"host": host}).content) for page in pages]
                assert [slug for slugs in found for slug in slugs] == of_keys(*keys)
                assert all(0 < len(slugs) <= 10 for slugs in found)
                assert queries("sitemap.xml", headers={"host": f"{host}:8000"}) == 0


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


@pytest.mark.sitemaps09(LIVE_SECONDS=60)
class TestACacheThatFails:
    @pytest.fixture(autouse=True)
    def _rows(self) -> None:
        write_keys(*range(1, 31))

    @pytest.mark.parametrize("refused", [["get"], ["add"], ["set"], ["get", "add", "set"]])
    def test_is_logged_once_and_causes_no_error(
        self, refused: Sequence[str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        failing = Refusing("refusing", {"OPTIONS": {"REFUSED": refused}})
        failing.clear()
        monkeypatch.setattr(caching, "cache", failing)
        for _ in range(3):
            assert crawl() == of_keys(*range(1, 31))
            assert get("sitemap-articles-99999999.xml").status_code == 404
        [logged] = [record for record in caplog.records if record.name == caching.__name__]
        assert "The default cache failed" in logged.getMessage()
        assert "\x1b" not in logged.getMessage()
        assert queries("sitemap.xml") == 0

    def test_for_a_while_changes_no_address(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The index that is served meanwhile is the last one, and its pages answer later, too."""
        pages = index()
        working = caching.cache
        failing = Refusing("refusing", {"OPTIONS": {"REFUSED": ["get", "add", "set"]}})
        monkeypatch.setattr(caching, "cache", failing)
        assert queries("sitemap.xml") == 0
        assert index() == pages
        monkeypatch.setattr(caching, "cache", working)
        monkeypatch.setattr(caching.default, "paused_until", 0.0)
        memo._entries.clear()
        assert [slug for page in pages for slug in named(page)] == of_keys(*range(1, 31))

    def test_is_tried_again_after_a_pause(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        failing = Refusing("refusing", {"OPTIONS": {"REFUSED": ["get"]}})
        # Other tests use the same memory.
        failing.clear()
        monkeypatch.setattr(caching, "cache", failing)
        crawl()
        assert failing.asked == 1
        monkeypatch.setattr(caching.default, "paused_until", 0.0)
        failing.refused = []
        crawl()
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
            assert crawl() == crawl() == of_keys(*range(1, 31))
            assert queries("sitemap.xml") == 0
        assert [record.name for record in caplog.records] == [caching.__name__]


def test_a_random_replica_gives_the_same_addresses_and_etags(replica: Any, register: Register) -> None:
    register(articles=type("Section", (Articles,), {"queryset": Article.objects.order_by("pk")}))
    write_keys(*range(1, 31))
    etags: dict[str, set[str]] = {}
    for _ in range(3):
        for page in index():
            memo._entries.clear()
            etags.setdefault(page, set()).add(get(page)["ETag"])
    assert len(etags) == 3
    assert all(len(found) == 1 for found in etags.values())
