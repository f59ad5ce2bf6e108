"""Page maps in a cache that all processes share: they are renewed instead of built again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import OperationalError, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps09.export import export
from django_sitemaps09.sources import cannot_snapshot
from django_sitemaps09.views import caching
from django_sitemaps09.views.live import live_map, maps
from tests.models import Article
from tests.support.articles import Articles, write_keys
from tests.support.clock import set_seconds
from tests.support.native_views import last_parts

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]


@pytest.fixture(autouse=True)
def _shared_cache(settings: Any, tmp_path: Path, configure: Callable[..., None]) -> None:
    """A cache that is shared without a server."""
    backend = "django.core.cache.backends.filebased.FileBasedCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": str(tmp_path / "cache")}}
    configure(LIVE_SECONDS=0)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Move the time by which maps are renewed, and release the locks that would have expired."""
    move_seconds = set_seconds(monkeypatch, live_map, maps)

    def move(seconds: float) -> None:
        move_seconds(seconds)
        for name in _LOCKS:
            cache.delete(name)
        _LOCKS.clear()

    added = caching.default.add

    def add(name: str, *arguments: Any) -> bool:
        _LOCKS.append(name)
        return added(name, *arguments)

    monkeypatch.setattr(caching.default, "add", add)
    _LOCKS.clear()
    return move


_LOCKS: list[str] = []


@pytest.fixture
def section(using: str, register: Callable[..., None]) -> str:
    """Register the articles of a database; return its alias."""
    queryset = Article.objects.using(using).filter(published=True)
    register(articles=type("Section", (Articles,), {"queryset": queryset}))
    return using


@pytest.fixture
def _default_section(register: Callable[..., None]) -> None:
    register(articles=Articles)


def named(url: str) -> list[str]:
    """Return the last parts of the URLs in a document."""
    response = Client().get(f"/{url.removesuffix('.gz')}")
    assert response.status_code == 200, url
    return last_parts(response.content)


def index() -> list[str]:
    return named("sitemap.xml")


def queries(url: str, using: str = "default") -> int:
    with CaptureQueriesContext(connections[using]) as captured:
        Client().get(f"/{url}")
    return len(captured)


class TestTheOpenEnd:
    def test_is_checked_with_one_query(self, section: str, clock: Callable[[float], None]) -> None:
        write_keys(*range(1, 61), using=section)
        pages = index()
        assert queries("sitemap.xml", section) == 1
        clock(maps.AGE)
        # One query counts a page, and reads its newest lastmod.
        assert queries("sitemap.xml", section) == len(pages)
        assert index() == pages
        clock(maps.AGE)
        # One query for the rows, and one for their fingerprint, if that can be known.
        expected = 1 if cannot_snapshot(section) else 2
        assert queries(pages[3].removesuffix(".gz"), section) == expected

    def test_gets_new_pages_at_once(self, section: str) -> None:
        write_keys(*range(1, 31), using=section)
        pages = index()
        write_keys(*range(31, 91), using=section)
        extended = index()
        assert extended[: len(pages)] == pages
        assert len(extended) >= len(pages) + 6
        contents = [named(page) for page in extended]
        assert {slug for slugs in contents for slug in slugs} == {f"s{n}" for n in range(1, 91)}
        assert all(0 < len(slugs) <= 10 for slugs in contents)

    def test_gets_new_pages_at_once_if_another_page_was_divided_by_a_request(self, section: str) -> None:
        write_keys(*range(11, 71), using=section)
        index()
        write_keys(*range(1, 11), *range(71, 131), using=section)
        named("sitemap-articles-1.xml")
        assert {slug for page in index() for slug in named(page)} == {f"s{n}" for n in range(1, 131)}

    @pytest.mark.usefixtures("_default_section")
    def test_gets_numbers_that_no_export_gives(
        self, configure: Callable[..., None], tmp_path: Path, clock: Any
    ) -> None:
        configure(ROOT=tmp_path / "public")
        write_keys(*range(1, 31))
        export()
        pages = index()
        write_keys(*range(31, 61))
        extended = index()
        assert extended[: len(pages)] == pages
        assert len(extended) > len(pages) + 1
        assert all(len(page) > len("sitemap-articles-99999999.xml.gz") for page in extended[len(pages) :])
        contents = {page: named(page) for page in extended}
        export()
        clock(maps.AGE)
        assert index()[: len(pages)] == pages
        assert {page: named(page) for page in extended} == contents


@pytest.mark.usefixtures("_default_section")
class TestOtherPages:
    def test_stay_as_they_are_when_the_cache_would_cut_another_map(
        self, clock: Callable[[float], None]
    ) -> None:
        write_keys(*range(1, 201, 2))
        pages = index()
        write_keys(*range(30, 60, 2))
        clock(10 * maps.AGE)
        divided = index()
        assert [page for page in divided if page in pages] == pages
        contents = [named(page) for page in divided]
        present = sorted({*range(1, 201, 2), *range(30, 60, 2)})
        assert {slug for slugs in contents for slug in slugs} == {f"s{n}" for n in present}

    def test_that_are_empty_are_merged_with_the_one_before(self, clock: Callable[[float], None]) -> None:
        write_keys(*range(1, 61))
        pages = index()
        contents = {page: named(page) for page in pages}
        emptied = pages[2]
        Article.objects.filter(slug__in=contents[emptied]).delete()
        assert named(emptied) == []
        clock(maps.AGE)
        assert index() == [page for page in pages if page != emptied]
        # A row that is added there later is on another page. The page is still served under its number.
        key = int(contents[emptied][0].removeprefix("s"))
        write_keys(key)
        assert named(emptied) == [f"s{key}"]
        clock(maps.AGE)
        assert f"s{key}" in {slug for page in index() for slug in named(page)}

    def test_the_last_one_is_merged_with_the_one_before(self, clock: Callable[[float], None]) -> None:
        write_keys(*range(1, 31))
        *pages, last = index()
        Article.objects.filter(slug__in=named(last)).delete()
        assert named(last) == []
        clock(maps.AGE)
        assert index() == pages
        write_keys(100)
        assert "s100" in {slug for page in index() for slug in named(page)}

    def test_that_fit_on_one_page_are_merged_and_still_answer(self, clock: Callable[[float], None]) -> None:
        write_keys(*range(1, 101))
        contents = {page: named(page) for page in index()}
        Article.objects.exclude(pk__in=range(0, 101, 3)).delete()
        clock(maps.AGE)
        merged = index()
        counts = [len(named(page)) for page in merged]
        assert sum(counts) == 33
        assert all(first + second > 8 for first, second in pairwise(counts))
        for page, slugs in contents.items():
            assert {*named(page)} >= {slug for slug in slugs if int(slug[1:]) % 3 == 0}
        clock(86_401)
        index()
        assert [Client().get(f"/{page.removesuffix('.gz')}").status_code for page in contents] == [
            200 if page in merged else 404 for page in contents
        ]

    @pytest.mark.parametrize(("left", "is_merged"), [(85, True), (86, False)])
    def test_are_merged_if_that_makes_a_page_at_most_85_percent_full(
        self, left: int, is_merged: bool, register: Callable[..., None], clock: Callable[[float], None]
    ) -> None:
        register(articles=type("Section", (Articles,), {"limit": 100}))
        Article.objects.bulk_create(Article(pk=key, slug=f"s{key}") for key in range(1, 301))
        pages = index()
        first, second = map(named, pages[:2])
        Article.objects.filter(slug__in=[*first[40:], *second[left - 40 :]]).delete()
        clock(maps.AGE)
        assert index() == [pages[0], *pages[1 + is_merged :]]
        assert named(pages[0]) == [*first[:40], *(second[: left - 40] if is_merged else ())]

    def test_a_section_that_loses_all_rows_has_no_page(self, clock: Callable[[float], None]) -> None:
        write_keys(1, 2)
        [page] = index()
        Article.objects.all().delete()
        assert named(page) == []
        clock(maps.AGE)
        assert index() == []
        write_keys(5)
        assert [named(page) for page in index()] == [["s5"]]

    def test_a_bulk_insert_is_listed_by_the_first_crawl_after_five_minutes(
        self, section: str, clock: Callable[[float], None]
    ) -> None:
        """And parts are even: nearly half a page or more each."""
        write_keys(*range(1, 20_001, 1_000), using=section)
        index()
        write_keys(*range(5_002, 5_392), using=section)
        clock(maps.AGE)
        contents = [named(page) for page in index()]
        found = {slug for slugs in contents for slug in slugs}
        assert found == {f"s{n}" for n in (*range(1, 20_001, 1_000), *range(5_002, 5_392))}
        clock(86_401)
        contents = [named(page) for page in index()]
        assert sum(map(len, contents)) == 410
        assert all(4.2 <= len(slugs) <= 10 for slugs in contents[:-1])

    def test_are_counted_by_the_next_request_if_that_fails(
        self, clock: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_keys(*range(1, 20_001, 1_000))
        index()
        write_keys(*range(5_002, 5_092))
        clock(maps.AGE)

        def fail(*_: object, **__: object) -> None:
            raise OperationalError("no database")

        with monkeypatch.context() as context:
            context.setattr(live_map.Repair, "pages", fail)
            index()
        assert {slug for page in index() for slug in named(page)} >= {f"s{n}" for n in range(5_002, 5_092)}


class TestSeveralRequests:
    @pytest.mark.usefixtures("_default_section")
    def test_let_no_client_store_an_index_while_another_one_counts_its_pages(
        self, clock: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_keys(*range(1, 31))
        index()
        clock(maps.AGE)
        with monkeypatch.context() as context:
            context.setattr(caching.default, "add", lambda name, *_: ":count" not in name)
            outdated = Client().get("/sitemap.xml")
        assert (outdated.status_code, outdated["Cache-Control"]) == (200, "no-store")
        assert "ETag" not in outdated
        assert "ETag" in Client().get("/sitemap.xml")

    @pytest.mark.usefixtures("_default_section")
    def test_can_divide_a_page_while_another_one_counts_pages(self, clock: Callable[[float], None]) -> None:
        write_keys(*range(101, 131))
        first = index()[0].removesuffix(".gz")
        write_keys(*range(1, 31))
        clock(maps.AGE)
        statuses: list[int] = []

        def divide(execute: Any, *arguments: Any) -> Any:
            if not statuses:
                statuses.append(0)
                statuses[0] = Client().get(f"/{first}").status_code
            return execute(*arguments)

        with connections["default"].execute_wrapper(divide):
            pages = index()
        assert statuses == [200]
        assert {slug for page in pages for slug in named(page)} >= {f"s{key}" for key in range(1, 31)}

    def test_build_a_cold_map_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        started, may_end, built = threading.Event(), threading.Event(), []

        def build() -> str:
            built.append(1)
            started.set()
            assert may_end.wait(30)
            cache.set("value", "map")
            return "map"

        def request() -> None:
            values.append(caching.once(caching.Lock("name", 60), lambda: cache.get("value"), build))

        values: list[str] = []
        threads = [threading.Thread(target=request) for _ in range(8)]
        threads[0].start()
        assert started.wait(30)
        for thread in threads[1:]:
            thread.start()
        assert (
            caching.once(caching.Lock("name", 60), lambda: cache.get("value"), build, "before") == "before"
        )
        may_end.set()
        for thread in threads:
            thread.join(60)
        assert values == ["map"] * 8
        assert built == [1]

    def test_build_after_one_that_fails_and_give_up_on_a_long_one(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail() -> str:
            raise ValueError("no database")

        with pytest.raises(ValueError, match="no database"):
            caching.once(caching.Lock("name", 60), lambda: None, fail)
        assert caching.once(caching.Lock("name", 60), lambda: None, lambda: "map") == "map"
        monkeypatch.setattr(caching, "_WAIT", 0)
        assert caching.Lock("name", 60).acquire()
        with pytest.raises(caching.BusyError):
            caching.once(caching.Lock("name", 60), lambda: None, lambda: "own")


def forged_pages(count: int) -> Iterator[tuple[Any, ...]]:
    bounds = [None, *([str(number)] for number in range(1, count)), None]
    return ((number, *pair) for number, pair in enumerate(pairwise(bounds), 1))


@pytest.mark.usefixtures("_default_section")
@pytest.mark.parametrize(
    "value",
    [
        *("text", 5, (), (1, 2, 3), ("", 1, 1.0, 10, [(1, None, ["5"])], [])),
        ("", 1, 1.0, 10, [(1, None, ["5"]), (2, ["6"], None)], []),
        ("", 1, 1.0, 10, [(1, None, ["5"]), (1, ["5"], None)], []),
        ("", 1, 1.0, 10, [(1, None, "5"), (2, "5", None)], []),
        ("", 1, 1.0, 10, [(1, None, None, 5)], []),
        ("", 1, 1.0, 10, [(1, None, None), (2, None, None)], []),
        ("", 1, 1.0, 10, [(1, None, None)], [(2, None, None)]),
        ("", 1, 1.0, 0, [(1, None, None)], []),
        ("", 1, 1.0, 10, [(1, None, None, 30, "\0")], []),
        ("", 1, 1.0, 10, [(1, None, None, 30, "<b>")], []),
        ("", 1, 1.0, 10, [(10**9, None, None)], []),
        ("", 1, 1.0, 10, [("x", None, None)], []),
        ("", 1, 1.0, 10, [(1, None, ["\0"]), (2, ["\0"], None)], []),
        ("", 1, 1.0, 10, [(1, None, ["abc"]), (2, ["abc"], None)], []),
        ("", 1, 1.0, 10, [(1, None, ["5", "6"]), (2, ["5", "6"], None)], []),
        ("", 1, 1.0, 10, [(1, None, ["9" * 5_000]), (2, ["9" * 5_000], None)], []),
        ("", 1, 1.0, 10, [(1, None, None)], [(2, ["abc"], None, 1e10, 0.0)]),
        ("", 1, 1.0, 10**30, [(1, None, None)], []),
        ("", 1, 1.0, 10, [(1, None, None)], [(n, None, None, 1e10, 0.0) for n in range(1, 3_000)]),
        ("", 1, 1.0, 10, [*forged_pages(60_000)], []),
    ],
)
def test_a_cached_value_that_is_not_a_map_is_replaced(
    value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_keys(*range(1, 31))
    names = []
    read = live_map.read

    def noting(name: str, source: Any) -> Any:
        names.append(name)
        return read(name, source)

    monkeypatch.setattr(live_map, "read", noting)
    pages = index()
    for name in {*names}:
        cache.set(name, value)
    assert index() == pages
