"""Listings of sections: how they are made, renewed, kept and shared, and what an index says meanwhile."""

from __future__ import annotations

import json
import pickle
import uuid
from contextlib import nullcontext
from functools import partialmethod

import pytest
from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache
from django.db import OperationalError, connections
from django.test import Client

from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.configuration import set_seconds
from tests.support.internals import Limits, caching, indexes, known_pages, listing, live_pages
from tests.support.native_views import PAGE, contents, crawl, get, of_keys, pages, queries, slugs
from tests.support.sections import declare
from tests.support.services import require_packages, unavailable_cache

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(LIVE_SECONDS=0)]
INDEX = "/sitemap.xml"


@pytest.fixture(autouse=True)
def _articles(register):
    register(articles=Articles)


@pytest.fixture
def move(monkeypatch):
    """Return a function that ages listings. It does not make values expire in the cache."""
    return set_seconds(monkeypatch, listing, indexes)


def keep_locked(monkeypatch):
    monkeypatch.setattr(caching.Lock, "acquire", lambda self: False)


def cached_names():
    return [key.split(":", 2)[2] for key in cache._cache]


def no_database(*_):
    raise OperationalError("no database")


@pytest.mark.parametrize("seconds", [0, 60])
def test_a_first_listing_needs_two_queries_a_page_and_its_open_end_one(section, configure, move, seconds):
    configure(LIVE_SECONDS=seconds)
    keys = [*range(1, 101), *range(5_000, 5_003)]
    write_keys(*keys, using=section)
    count, found = queries(INDEX, section), pages()
    # The key identity, and the rows from which the length of an entry is estimated.
    assert (count <= 2 * len(found) + 3, crawl()) == (True, of_keys(*keys))
    assert queries(INDEX, section) == (seconds == 0)
    move(indexes.AGE)
    # One query counts a page, and reads its newest lastmod.
    assert queries(INDEX, section) <= len(found) + 3
    known_pages._entries.clear()
    assert (pages(), queries(found[3], section)) == (found, 1)
    # The open end gets new pages at once, or lists new rows in the meantime.
    write_keys(*range(5_003, 5_063), using=section)
    configure(LIVE_SECONDS=0 if seconds == 0 else 3_600)
    assert (crawl(), pages()[: len(found) - 1]) == (of_keys(*keys, *range(5_003, 5_063)), found[:-1])
    assert (pages() == found) == (seconds > 0) != all(0 < len(part) <= 10 for part in contents())


def test_listings_of_other_processes_cover_all_keys_too(monkeypatch):
    """With memory of their own, and rows that were written between, processes need not agree."""
    found, memories = [], [LocMemCache(f"worker {number}", {}) for number in range(2)]
    for memory in memories * 2:
        memory.clear()
        monkeypatch.setattr(caching, "cache", memory)
        listing._kept.clear()
        if len(found) < 2:
            number = len(found)
            write_keys(*range(100 * number, 100 * number + 37, 1 + number))
        found.append(pages())
    assert found[0] != found[1]
    keys = of_keys(*range(37), *range(100, 137, 2))
    for addresses in found:
        assert [slug for page in addresses for slug in slugs(page)] == keys
    for memory in memories:
        memory.clear()


def test_a_listing_of_another_section_or_limit_is_its_own(register, configure):
    some = declare(Articles, queryset=Article.objects.exclude(pk=1), limit=50_000)
    write_keys(*range(1, 6))
    register(articles=declare(Articles, limit=50_000), some=some)
    for limit, count in ((3, 4), (1, 9), (5, 2)):
        configure(MAX_URLS=limit)
        # Two versions of a project do not count pages in turn: another limit waits for the next look.
        before = pages() if limit != 3 else []
        cache.clear()
        assert crawl() == of_keys(*range(1, 6), *range(2, 6))
        assert len(pages()) == count != len(before)


class TestALook:
    def test_divides_what_has_too_many_rows_into_even_parts_and_keeps_other_bounds(self, section, move):
        write_keys(*range(1, 20_001, 1_000), using=section)
        before = pages()
        write_keys(*range(5_002, 5_392), using=section)
        assert pages() == before
        move(indexes.AGE)
        keys = (*range(1, 5_002, 1_000), *range(5_002, 5_392), *range(6_001, 20_001, 1_000))
        assert crawl() == of_keys(*keys)
        assert all(5 <= len(part) <= 10 for part in contents()[:-1])
        assert pages()[-1] == before[-1]

    def test_merges_pages_that_are_empty_or_have_few_rows(self, move):
        write_keys(*range(1, 61))
        found = pages()
        Article.objects.filter(pk__range=(11, 20)).delete()
        assert slugs(found[1]) == []
        move(indexes.AGE)
        assert (len(pages()), [found[0], *found[2:]] != pages()) == (len(found) - 1, True)
        # A row that is added there later is on both addresses.
        write_keys(15)
        assert (slugs(found[1]), crawl()) == (["s15"], of_keys(*range(1, 11), 15, *range(21, 61)))
        Article.objects.all().delete()
        move(indexes.AGE)
        assert pages() == []
        write_keys(5)
        assert contents() == [["s5"]]

    @pytest.mark.parametrize(("left", "is_merged"), [(85, 1), (86, 0)])
    def test_merges_neighbours_that_fill_at_most_85_percent(self, left, is_merged, register, move):
        register(articles=declare(Articles, limit=100))
        write_keys(*range(1, 301))
        found = pages()
        first, second = map(slugs, found[:2])
        Article.objects.filter(slug__in=[*first[40:], *second[left - 40 :]]).delete()
        move(indexes.AGE)
        assert (len(pages()), pages()[2 - is_merged :]) == (len(found) - is_merged, found[2:])

    def test_that_fails_is_done_by_the_next_request(self, move, monkeypatch):
        assert pages() == []
        move(indexes.AGE)
        with monkeypatch.context() as context:
            context.setattr(indexes.Renewal, "steps", no_database)
            # The section may have rows by now.
            assert get(INDEX).status_code == 503
        write_keys(*range(1, 20_001, 1_000))
        found = pages()
        write_keys(*range(5_002, 5_092))
        move(indexes.AGE)
        with monkeypatch.context() as context:
            context.setattr(indexes.Renewal, "steps", no_database)
            assert pages() == found
        assert {*crawl()} >= {*of_keys(*range(5_002, 5_092))}

    def test_begins_anew_if_the_key_sorts_otherwise(self, move, monkeypatch):
        write_keys(*range(1, 51))
        pages()
        [name] = listing._kept
        bounds = tuple(listing.ListedPage(until, 5) for until in (("40",), ("7",), None))
        monkeypatch.setattr(listing, "time", indexes.time)
        stored = listing._kept[name].listing
        changed = stored._replace(identity=("sqlite", "another collation"), pages=bounds)
        listing.store(name.partition(":1:")[2], changed)
        move(indexes.AGE)
        assert crawl() == of_keys(*range(1, 51))


def test_a_note_that_a_page_is_too_full_divides_its_own_page_alone_when_all_are_counted(move):
    write_keys(*range(1, 31))
    first, second, third = pages()
    [name] = [key.split(":", 2)[2] for key in listing._kept]

    def counts(note=None):
        if note is not None:
            cache.set(f"{name}:full", note)
        move(indexes.AGE)
        return list(map(len, contents()))

    for invalid in (5, "text", ["x"], {".to.10": "x"}, {".to.10": None}, {".to.10": True}):
        assert (counts(invalid), pages()) == ([10, 10, 10], [first, second, third]), invalid
    cache.set(f"{name}:full", {".after.10.to.20": 3})
    write_keys(*range(31, 61))
    # Until then, only the open end is looked at.
    assert pages()[:2] == [first, second]
    for _ in range(2):
        assert counts() == [10, 3, 3, 3, 1, 10, 10, 10, 10]
    write_keys(*range(-100, 0))
    # A note allows no more rows than the limit.
    assert max(counts({".after.10.to.20": 200})) == 10


class TestAPageThatIsTooFullForTheProtocol:
    @pytest.fixture(autouse=True)
    def _limit(self, register, monkeypatch, configure):
        configure(LIVE_SECONDS=60)
        self.allow = lambda urls: [
            monkeypatch.setattr(module, "protocol_limits", lambda _: Limits(urls, 10**6))
            for module in (known_pages, live_pages)
        ]

    def test_has_what_fits_and_no_etag_until_its_range_is_divided(self, move):
        """A client, or a cache, would keep a page without the rows that did not fit."""
        self.allow(12)
        write_keys(*range(10, 200, 10))
        first, _ = urls = pages()
        write_keys(*range(11, 19))
        for method, count in (("get", 12), ("head", 0)):
            response = get(first, method)
            found = (response["Cache-Control"], "ETag" in response.headers)
            assert (response.content.count(b"<loc>"), *found) == (count, "no-store", False)
        assert pages() == urls
        move(indexes.AGE)
        responses = list(map(get, pages()))
        assert [response.content.count(b"<loc>") for response in responses] == [9, 9, 9]
        assert all("ETag" in response.headers for response in responses)

    def test_is_divided_by_what_fitted_though_its_rows_are_few(self, move):
        """The entries can be longer than those by which pages were measured."""
        self.allow(4)
        write_keys(*range(1, 20))
        first, _ = pages()
        assert len(slugs(first)) == 4
        # The rest of the second page is missing until that was requested, too. No range is merged again.
        for found in (14, 19, 19):
            move(indexes.AGE)
            assert (list(map(len, contents()))[:2], len(crawl())) == ([4, 4], found)


class TestSeveralRequests:
    def test_let_no_client_store_an_index_while_another_one_counts_its_pages(self, move, monkeypatch):
        assert pages() == []
        write_keys(*range(1, 31))
        with monkeypatch.context() as context:
            keep_locked(context)
            # The first rows are listed meanwhile.
            assert (pages(), crawl()) == ([PAGE], of_keys(*range(1, 31)))
            assert get(INDEX)["Cache-Control"] == "no-store"
        pages()
        move(indexes.AGE)
        with monkeypatch.context() as context:
            keep_locked(context)
            outdated = get(INDEX)
        found = (outdated.status_code, outdated["Cache-Control"], "ETag" in outdated.headers)
        assert found == (200, "no-store", False)
        assert "ETag" in get(INDEX).headers

    @pytest.mark.parametrize("wait", [0, 20])
    def test_wait_for_the_first_listing_in_one_thread_of_a_process(self, monkeypatch, wait):
        write_keys(*range(1, 31))
        keep_locked(monkeypatch)
        monkeypatch.setattr(indexes, "WAIT", wait)
        # Another thread waits already.
        with indexes._waiting if wait else nullcontext():
            response = get(INDEX)
        assert (response.status_code, response["Retry-After"], get(PAGE).status_code) == (503, "30", 200)
        assert not indexes._waiting.locked()

    def test_go_on_where_a_killed_one_has_come_to(self, section, monkeypatch):
        write_keys(*range(1, 201), using=section)
        monkeypatch.setattr(indexes, "_STORED_EACH", -1)
        count = iter(range(1_000))

        def execute(run, *arguments):
            if next(count) >= 25:
                raise SystemExit
            return run(*arguments)

        with monkeypatch.context() as context, connections[section].execute_wrapper(execute):
            # A process that is killed does not give its lease back.
            context.setattr(caching.Lock, "release", lambda self: None)
            with pytest.raises(SystemExit):
                get(INDEX)
        listing._kept.clear()
        monkeypatch.setattr(indexes, "WAIT", 0)
        assert get(INDEX).status_code == 503
        for name in cached_names():
            if name.endswith(":lock"):
                cache.delete(name)
        assert queries(INDEX, section) <= 2 * (200 // 10) + 3 - 20
        assert crawl() == of_keys(*range(1, 201))

    def test_renew_a_lease_for_twice_the_slowest_step(self, monkeypatch):
        write_keys(*range(1, 31))
        clock, renewed = iter(range(0, 10_000, 7)), []
        monkeypatch.setattr(indexes.time, "monotonic", lambda: next(clock))
        monkeypatch.setattr(caching.Lock, "renew", lambda self, seconds: renewed.append(seconds))
        pages()
        assert {14} <= {*renewed} <= {14, 28}

    def test_build_after_one_that_fails(self):
        lock = caching.Lock("name", 60)
        with pytest.raises(OperationalError, match="no database"):
            caching.once(lock, lambda: None, no_database)
        assert caching.once(caching.Lock("name", 60), lambda: None, lambda: "page") == "page"


class JsonCache(LocMemCache):
    """A cache that stores values as JSON, so tuples are returned as lists."""

    def set(self, key, value, *args, **kwargs):
        super().set(key, json.loads(json.dumps(value)), *args, **kwargs)


BOUNDS = [[None], [["5"], ["5"]], ["5"], [["\0"]], [["\ud800"]], [["abc"]], [["5", "6"]], [["9" * 5_000]]]
BOUNDS += [[[str(number)] for number in range(60_000)]]
#: Damaged fields of a listing in the cache.
DAMAGES = [
    *(("suffix", "exe"), ("columns", ("tests_article.slug",)), ("columns", 5)),
    *(("rows", 0), ("rows", 10**30)),
    *(("looked_at", "x"), ("looked_at", 1e400), ("pages", 5), ("pages", [[["5"], 1, None, 0]])),
    *(("pages", [[None, "x", None, 0]]), ("pages", [[None, 1, "<b>", 0]])),
    *(("pages", [*([bound, 1, None, 0] for bound in bounds), [None, 1, None, 0]]) for bounds in BOUNDS),
]


class TestTheCachedValue:
    @pytest.mark.sitemaps09(LIVE_SECONDS=60)
    def test_is_read_by_all_readers_from_a_cache_of_json(self, settings):
        settings.CACHES = {"default": {"BACKEND": f"{__name__}.JsonCache"}}
        write_keys(*range(1, 26))
        index = get(INDEX).content
        listing._kept.clear()
        assert (queries(INDEX), get(INDEX).content, crawl()) == (0, index, of_keys(*range(1, 26)))

    def test_of_the_most_pages_fits_into_caches_that_bound_values(self):
        page, day = listing.ListedPage, "2026-01-01T12:00:00Z"
        pages = (*(page((str(uuid.uuid4()),), 47_500, day) for _ in range(49_999)), page(None, 1))
        stored = listing.Listing("xml.gz", ("t.id",), ("sqlite",), 1, "", 1.0, pages)
        listing.store("name", stored)
        listing._kept.clear()
        assert max(map(len, map(pickle.dumps, cache._cache.values()))) < 1_000_000
        assert listing.read("name") == stored

    def test_that_is_something_else_or_damaged_counts_as_missing(self):
        write_keys(*range(1, 31))
        found = pages()
        for value in (
            *(None, 7, "text", b"bytes", [], {}, (1, 2), ("", 5, b"")),
            *(("x", 10**12, b"content"), ("x", -5, b"content"), ("x", "5", b"content")),
        ):
            for name in cached_names():
                cache.set(name, value)
            assert pages() == found, value
        [full_name] = listing._kept
        stored = listing._kept[full_name].listing
        for field, value in DAMAGES:
            listing.store(full_name.partition(":1:")[2], stored._replace(**{field: value}))
            listing._kept.clear()
            assert pages() == found, (field, value)


class TestWhatAClientSays:
    """Without `BASE_URL` and the sites framework, the host comes from the request."""

    @pytest.fixture(autouse=True)
    def _rows(self, client_chooses_host, register):
        client_chooses_host(".example.com", MAX_BYTES=20_000)
        register(articles=declare(Articles, limit=1_000))
        write_keys(*range(1, 1_001))

    def test_of_the_host_and_prefix_counts_no_page_and_moves_no_bound(self):
        host = "www.example.com"
        first, long = pages(host=host), f"{'a' * 60}.{'b' * 60}.example.com"
        for other in ("www.example.com:1", "www.example.com:65535", long):
            assert (queries(INDEX, host=other), pages(host=other)) == (0, first)
        for said in ({"HTTP_HOST": long}, {"HTTP_HOST": host, "SCRIPT_NAME": f"/{'x' * 300}"}):
            cache.clear()
            Client().get(INDEX, **said)
            assert (queries(INDEX, host=host), pages(host=host)) == (0, first)
        for invalid in ("www.example.com:99999", "www.example.com:0x", "-.example.com:65536"):
            assert {get(url, host=invalid).status_code for url in (INDEX, PAGE, "/robots.txt")} == {400}

    def test_of_the_host_chooses_the_rows_of_a_section_that_has_others_on_each(self, register):
        rows = {"a": Article.objects.filter(pk__lte=300), "b": Article.objects.filter(pk__gt=300)}
        for_host = lambda self, domain: declare(Articles, queryset=rows[domain[0]])()  # noqa: E731
        register(articles=declare(Articles, for_host=for_host))
        for host, keys in (("a.example.com", range(1, 301)), ("b.example.com", range(301, 1_001))) * 2:
            parts = contents(host=host)
            assert [slug for part in parts for slug in part] == of_keys(*keys)
            assert all(0 < len(part) <= 10 for part in parts)
            assert queries(INDEX, host=f"{host}:8000") == 0


class Refusing(LocMemCache):
    """A cache that fails in some of its methods."""

    refused, asked = (), 0

    def _call(self, method, *arguments, **options):
        self.asked += 1
        if method in self.refused:
            raise ConnectionResetError(f"{method}: \x1b[31mgone")
        return getattr(super(), method)(*arguments, **options)

    get, add, set = partialmethod(_call, "get"), partialmethod(_call, "add"), partialmethod(_call, "set")


@pytest.mark.sitemaps09(LIVE_SECONDS=60)
class TestACacheThatFails:
    @pytest.fixture
    def failing(self, monkeypatch):
        """A cache instead of the default one, which has fallen back to memory if it failed."""
        write_keys(*range(1, 31))
        made = Refusing("refusing", {})
        # Other tests use the same memory.
        made.clear()
        monkeypatch.setattr(caching, "cache", made)
        return made

    @pytest.mark.parametrize("refused", [["get"], ["add"], ["set"], ["get", "add", "set"]])
    def test_is_logged_once_and_tried_again_after_a_pause(self, refused, failing, monkeypatch, caplog):
        failing.refused = refused
        crawl()
        asked = failing.asked
        assert asked == 1 or "get" not in refused
        for _ in range(3):
            assert crawl() == of_keys(*range(1, 31))
            assert get("/sitemap-articles-99999999.xml").status_code == 404
        [logged] = [record for record in caplog.records if record.name == caching.__name__]
        assert "The default cache failed" in logged.getMessage()
        assert "\x1b" not in logged.getMessage()
        assert (queries(INDEX), failing.asked) == (0, asked)
        failing.refused = []
        monkeypatch.setattr(caching.default, "paused_until", 0.0)
        crawl()
        assert failing.asked > asked
        assert [record for record in caplog.records if record.name == caching.__name__] == [logged]

    def test_for_a_while_changes_no_address(self, failing, monkeypatch):
        """The index that is served meanwhile is the last one, and its pages answer later, too."""
        found = pages()
        failing.refused = ["get", "add", "set"]
        assert (queries(INDEX), pages()) == (0, found)
        failing.refused = []
        monkeypatch.setattr(caching.default, "paused_until", 0.0)
        known_pages._entries.clear()
        assert [slug for page in found for slug in slugs(page)] == of_keys(*range(1, 31))

    @pytest.mark.services
    def test_that_is_a_redis_without_a_server_causes_no_error(self, caplog):
        require_packages("redis")
        write_keys(*range(1, 31))
        with unavailable_cache():
            assert crawl() == crawl() == of_keys(*range(1, 31))
            assert queries(INDEX) == 0
        assert [record.name for record in caplog.records] == [caching.__name__]
