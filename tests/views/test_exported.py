"""Live pages with an export: its pages, and those that the next export will add."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection
from django.db.models import F
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import ModelSitemap, Route, published
from django_sitemaps09.export import export, export_hosts
from django_sitemaps09.state import manifest
from django_sitemaps09.views import exported as exported_views
from django_sitemaps09.views.live import listing, renewal
from tests.models import Article, Word
from tests.support.articles import Articles, write_keys
from tests.support.clock import Clock, set_seconds
from tests.support.configuration import Configure, Register
from tests.support.factories import WordFactory
from tests.support.native_views import last_parts, locations

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]


@pytest.fixture(autouse=True)
def _target(folder: Path, configure: Configure, register: Register) -> None:
    configure(ROOT=folder)
    register(articles=Articles)


def live(url: str) -> list[str]:
    """Return the last parts of the URLs in a live document; empty if it does not exist."""
    response: Any = Client().get(f"/{url.removesuffix('.gz')}")
    if response.status_code == 404:
        return []
    return last_parts(response.content)


def page(number: int) -> list[str]:
    return live(f"sitemap-articles-{number}.xml")


def exported(folder: Path, number: int) -> list[str]:
    return last_parts(gzip.decompress((folder / f"sitemap-articles-{number}.xml.gz").read_bytes()))


class TestLivePagesOfAnExport:
    def test_are_its_pages_after_rows_have_gone(self, folder: Path) -> None:
        write_keys(*range(1, 31))
        export()
        Article.objects.filter(pk__in=range(1, 8)).delete()
        assert page(1) == ["s8", "s9", "s10"]
        assert page(2) == exported(folder, 2)

    def test_are_its_pages_after_a_split(self, folder: Path) -> None:
        write_keys(*range(0, 60, 2))
        export()
        write_keys(5)
        export()
        *closed, last = live("sitemap.xml")
        assert closed == [f"sitemap-articles-{n}.xml.gz" for n in (4, 5, 2)]
        # An export shrinks the last page, so its number is not listed.
        assert last.startswith("sitemap-articles.after.38.")
        assert {n: page(n) for n in (2, 3, 4, 5)} == {n: exported(folder, n) for n in (2, 3, 4, 5)}
        # With the previous index, a crawler still finds the file, and all rows of the live page.
        assert page(1) == [*page(4), *page(5)]

    def test_are_followed_by_ranges(self, folder: Path) -> None:
        write_keys(*range(1, 16))
        export()
        assert page(3) == page(999_999) == page(123_456_789) == []
        write_keys(*range(16, 36))
        first, *others = live("sitemap.xml")
        assert first == "sitemap-articles-1.xml.gz"
        assert all(name.startswith("sitemap-articles.after.") for name in others)
        assert [slug for name in (first, *others) for slug in live(name)] == [f"s{n}" for n in range(1, 36)]
        assert (page(3), page(1)) == ([], exported(folder, 1))

    def test_are_those_of_a_later_export_though_older_bounds_are_in_the_cache(self, folder: Path) -> None:
        write_keys(*range(0, 60, 2))
        export()
        assert live("sitemap.xml")
        write_keys(5)
        export()
        exported_views._exports.clear()
        assert page(4) == exported(folder, 4)

    def test_are_shared_by_hosts_that_clients_choose(
        self, folder: Path, client_chooses_host: Configure
    ) -> None:
        write_keys(*range(0, 60, 2))
        export(base_url="https://a.example")
        write_keys(5)
        export(base_url="https://a.example")
        client_chooses_host(ROOT=folder)
        for host in ("a.example", "b.example"):
            assert locations(Client().get("/sitemap.xml", headers={"host": host}).content)[:3] == [
                f"http://{host}/sitemap-articles-{number}.xml.gz" for number in (4, 5, 2)
            ]

    def test_are_ranges_if_the_manifest_cannot_be_read(
        self, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        write_keys(*range(1, 16))
        export()
        (folder / ".sitemaps09" / "manifest.json").write_text("{")
        Article.objects.filter(pk__lte=10).delete()
        [name] = live("sitemap.xml")
        assert live(name) == [f"s{key}" for key in range(11, 16)]
        assert "cannot be read" in caplog.text
        # Nobody knows the range of a number, or whether there is such a page.
        answer = Client().get("/sitemap-articles-1.xml")
        assert (answer.status_code, answer["Retry-After"]) == (503, "30")

    def test_are_cut_from_the_rows_if_the_key_is_another_one(self, register: Register) -> None:
        write_keys(*range(1, 16))
        export()
        for n in range(12):
            WordFactory(word=f"w{n:02}")
        words = type("Words", (ModelSitemap,), {"model": Word, "limit": 10, "location": Articles.location})
        words.location = Route("article", slug=F("word"))  # type: ignore[attr-defined]
        register(articles=words)
        everything = [f"w{n:02}" for n in range(12)]
        names = live("sitemap.xml")
        assert len(names) == 2
        assert [word for name in names for word in live(name)] == page(1) == everything

    def test_are_listed_as_ranges_if_they_outgrow_their_limit(self, folder: Path) -> None:
        write_keys(*range(0, 3_000, 100))
        export()
        write_keys(*range(801, 850))
        names = live("sitemap.xml")
        found = [live(name) for name in names]
        assert max(map(len, found)) <= 10
        assert sorted(slug for part in found for slug in part) == sorted(
            f"s{key}" for key in (*range(0, 3_000, 100), *range(801, 850))
        )
        assert [name for name in names if ".after." not in name and ".to." not in name] == [
            "sitemap-articles-2.xml.gz"
        ]
        # A crawler with the index of the export finds all rows of the page, whatever the limit.
        assert len(page(1)) == 59
        # The parts get new numbers in the next export. Then the addresses of both indexes answer.
        before = {name: live(name) for name in (*names, "sitemap-articles-1.xml.gz")}
        export()
        assert {name: live(name) for name in before} == before

    def test_answer_by_their_numbers_until_their_files_are_removed(
        self, folder: Path, clock: Clock, configure: Configure
    ) -> None:
        configure(SERVE_EXPORTED=False, KEEP_REMOVED=3_600)
        write_keys(*range(0, 60, 2))
        export()
        before = {number: page(number) for number in (1, 2, 3)}
        write_keys(5)
        export()
        exported_views._exports.clear()
        assert page(1) == sorted([*before[1], "s5"], key=lambda slug: int(slug[1:]))
        clock.time += timedelta(hours=2)
        export()
        exported_views._exports.clear()
        assert page(1) == []
        assert [page(2), page(3)] == [before[2], before[3]]

    def test_answer_by_their_numbers_after_the_manifest_was_lost(self, folder: Path) -> None:
        write_keys(*range(0, 60, 2))
        export()
        Article.objects.filter(pk=58).update(slug="other")
        export()
        before = {number: page(number) for number in (1, 2, 3)}
        (folder / ".sitemaps09" / "manifest.json").unlink()
        export()
        exported_views._exports.clear()
        assert {number: page(number) for number in (1, 2, 3)} == before

    def test_of_many_hosts_keep_their_numbers(
        self, client_chooses_host: Configure, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What a process keeps is bounded, since clients can choose hosts and ports."""
        write_keys(*range(1, 31))
        export(base_url="https://www.example.com")
        client_chooses_host("www.example.com", ROOT=folder)
        monkeypatch.setattr(exported_views, "_MAX_KEPT", 5)
        reads, read_section = [], manifest.read_section
        monkeypatch.setattr(manifest, "read_section", lambda *args: reads.append(1) or read_section(*args))
        for port in [*range(1, 20)] * 2:
            assert len(on_host(f"www.example.com:{port}", "sitemap-articles-2.xml")) == 10
        # All hosts share the pages, which are read once.
        assert (len(exported_views._sections), len(reads)) == (5, 1)

    def test_that_have_grown_are_listed_by_their_ranges_until_all_processes_know(
        self, folder: Path
    ) -> None:
        write_keys(*range(0, 60, 2))
        export()
        Article.objects.filter(pk__range=(6, 34)).delete()
        export()
        # Page 1 has absorbed page 2. A process that does not know that would answer with less.
        names = live("sitemap.xml")
        assert names[0].startswith("sitemap-articles.to.38.")
        assert page(1) == live(names[0]) == ["s0", "s2", "s4", "s36", "s38"]
        Article.objects.filter(pk=40).delete()
        export()
        exported_views._exports.clear()
        assert live("sitemap.xml")[0] == "sitemap-articles-1.xml.gz"

    def test_are_not_in_the_index_if_all_their_rows_are_gone(self, folder: Path) -> None:
        write_keys(*range(1, 41))
        export()
        Article.objects.filter(pk__range=(11, 20)).delete()
        Article.objects.filter(pk__gt=30).delete()
        first, rest = live("sitemap.xml")
        assert first.startswith("sitemap-articles.to.20.")
        assert rest.startswith("sitemap-articles.after.20.")
        write_keys(41)
        assert page(3) == [f"s{n}" for n in range(21, 31)]
        assert sorted(
            slug for name in live("sitemap.xml") for slug in live(name.removesuffix(".gz"))
        ) == sorted(f"s{n}" for n in (*range(1, 11), *range(21, 31), 41))
        Article.objects.all().delete()
        cache.clear()
        assert live("sitemap.xml") == []

    def test_of_the_previous_export_are_served_to_crawlers_with_the_previous_index(
        self, folder: Path
    ) -> None:
        write_keys(*range(1, 61))
        export()
        before = {name.removesuffix(".gz"): None for name in live("sitemap.xml")}
        Article.objects.filter(pk__range=(12, 36)).delete()
        # One page has no rows any more, and another one is merged.
        assert export().sections[0].removed == 2
        cache.clear()
        seen = {slug for name in before for slug in live(name)}
        assert seen == {f"s{n}" for n in (*range(1, 12), *range(37, 61))}


@pytest.fixture
def move(
    folder: Path, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Callable[[float], None]:
    """Put listings into a shared cache, and return a function that ages what is known."""
    backend = "django.core.cache.backends.filebased.FileBasedCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": str(tmp_path / "cache")}}
    move_seconds = set_seconds(monkeypatch, listing, renewal)

    def move(seconds: float) -> None:
        move_seconds(seconds)
        exported_views._exports.clear()

    return move


class TestHostsWithExportsOfTheirOwn:
    @pytest.fixture(autouse=True)
    def _exports(self, folder: Path, client_chooses_host: Configure, move: Callable[[float], None]) -> None:
        """Export equal pages, and then others with equal numbers."""
        client_chooses_host("a.example", "b.example", ROOT=folder, LIVE_SECONDS=0)
        write_keys(*range(0, 60, 2))
        export_hosts(["https://a.example", "https://b.example"])
        write_keys(5)
        export_hosts(["https://a.example"])
        Article.objects.filter(pk=5).delete()
        write_keys(*range(25, 28, 2))
        export_hosts(["https://b.example"])

    def test_are_listed_by_their_own_numbers(self) -> None:
        names = {host: on_host(host, "sitemap.xml") for host in ("a.example", "b.example")}
        assert names["a.example"] != names["b.example"]
        for host, listed in names.items():
            with CaptureQueriesContext(connection) as queries:
                assert on_host(host, "sitemap.xml") == listed
            # Neither host's index makes the other one count pages again. One query looks at the end.
            assert len(queries) == 1

    def test_answer_with_the_pages_of_their_previous_exports(self, move: Callable[[float], None]) -> None:
        page_url = "sitemap-articles-5.xml.gz"
        assert [on_host(host, page_url)[-1] for host in ("b.example", "a.example")] == ["s38", "s18"]
        Article.objects.filter(pk__range=(2, 14)).delete()
        for key in (100, 101, 102):
            write_keys(key)
            export_hosts(["https://a.example"], force=["articles"])
            move(11)
        assert page_url not in on_host("a.example", "sitemap.xml")
        assert on_host("a.example", page_url) == ["s16", "s18"]

    def test_are_known_while_their_exports_cannot_be_read(
        self, move: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pages = {name: on_host("a.example", name) for name in on_host("a.example", "sitemap.xml")}
        monkeypatch.setattr(published, "find_section", no_storage)
        move(11)
        assert {name: on_host("a.example", name) for name in on_host("a.example", "sitemap.xml")} == pages


def on_host(host: str, url: str) -> list[str]:
    """Return the last parts of the URLs in a live document of a host."""
    response: Any = Client().get(f"/{url.removesuffix('.gz')}", headers={"host": host})
    assert response.status_code == 200
    return last_parts(response.content)


def no_storage(*_: object) -> None:
    raise OSError("no storage")


def test_pages_of_an_export_are_adopted_when_it_can_be_read_again(
    folder: Path, move: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A storage that fails between two reads has a manifest, but no record of the section."""
    write_keys(*range(1, 31))
    export()
    with monkeypatch.context() as context:
        context.setattr(manifest, "read_section", no_storage)
        live_names = live("sitemap.xml")
        assert live("sitemap.xml") == live_names
        assert not any("articles-" in name for name in live_names)
    move(301)
    assert live("sitemap.xml")[:2] == ["sitemap-articles-1.xml.gz", "sitemap-articles-2.xml.gz"]
    assert all(map(live, live_names))
