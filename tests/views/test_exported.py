"""Live pages with an export: its pages, and those that the next export will add."""

from __future__ import annotations

import gzip
from collections.abc import Callable
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
from tests.models import Article, Word
from tests.support.articles import Articles, write_keys
from tests.support.clock import SecondsClock
from tests.support.factories import WordFactory
from tests.support.native_views import last_parts, locations

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]


@pytest.fixture(autouse=True)
def _target(folder: Path, configure: Callable[..., None], register: Callable[..., None]) -> None:
    configure(ROOT=folder)
    register(articles=Articles)


def live(url: str) -> list[str]:
    """Return the last parts of the URLs in a live document; empty if it does not exist."""
    response: Any = Client().get(f"/{url}")
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
        cache.clear()
        assert live("sitemap.xml") == [f"sitemap-articles-{n}.xml.gz" for n in (4, 5, 2, 3)]
        assert {n: page(n) for n in (2, 3, 4, 5)} == {n: exported(folder, n) for n in (2, 3, 4, 5)}
        # With the previous index, a crawler still finds the file, and the live page up to the limit.
        assert len(exported(folder, 1)) == len(page(1)) == 10

    def test_are_followed_by_pages_with_numbers_of_their_own(self, folder: Path) -> None:
        write_keys(*range(1, 16))
        export()
        write_keys(*range(16, 36))
        names = [name.removesuffix(".gz") for name in live("sitemap.xml")]
        assert [slug for name in names for slug in live(name)][:15] == [f"s{key}" for key in range(1, 16)]
        assert {slug for name in names for slug in live(name)} == {f"s{key}" for key in range(1, 36)}
        assert page(3) == []
        assert page(1) == exported(folder, 1)

    def test_are_those_of_a_later_export_though_older_bounds_are_in_the_cache(self, folder: Path) -> None:
        write_keys(*range(0, 60, 2))
        export()
        assert live("sitemap.xml")
        write_keys(5)
        export()
        assert page(4) == exported(folder, 4)

    def test_are_shared_by_hosts_that_clients_choose(self, folder: Path, settings: Any) -> None:
        write_keys(*range(0, 60, 2))
        export(base_url="https://a.example")
        write_keys(5)
        export(base_url="https://a.example")
        settings.SITEMAPS09 = {"ROOT": folder}
        settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
        settings.ALLOWED_HOSTS = ["*"]
        for host in ("a.example", "b.example"):
            assert locations(Client().get("/sitemap.xml", headers={"host": host}).content) == [
                f"http://{host}/sitemap-articles-{number}.xml.gz" for number in (4, 5, 2, 3)
            ]

    def test_are_cut_from_the_rows_if_the_manifest_cannot_be_read(
        self, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        write_keys(*range(1, 16))
        export()
        (folder / ".sitemaps09" / "manifest.json").write_text("{")
        Article.objects.filter(pk__lte=10).delete()
        assert page(1) == [f"s{key}" for key in range(11, 16)]
        assert "cannot be read" in caplog.text

    def test_are_cut_from_the_rows_if_the_key_is_another_one(self, register: Callable[..., None]) -> None:
        write_keys(*range(1, 16))
        export()
        for n in range(12):
            WordFactory(word=f"w{n:02}")
        words = type("Words", (ModelSitemap,), {"model": Word, "limit": 10, "location": Articles.location})
        words.location = Route("article", slug=F("word"))  # type: ignore[attr-defined]
        register(articles=words)
        first = page(1)
        assert 5 <= len(first) <= 10
        assert [word for name in live("sitemap.xml") for word in live(name.removesuffix(".gz"))] == [
            f"w{n:02}" for n in range(12)
        ]

    def test_that_were_never_there_are_404_whatever_the_number(self, folder: Path) -> None:
        write_keys(*range(1, 16))
        export()
        assert page(3) == page(999_999) == []

    def test_are_divided_if_they_outgrow_their_limit(self, folder: Path) -> None:
        write_keys(*range(0, 3_000, 100))
        export()
        write_keys(*range(801, 850))
        pages = [name.removesuffix(".gz") for name in live("sitemap.xml")]
        found = [live(name) for name in pages]
        assert max(map(len, found)) <= 10
        assert all(found)
        assert {slug for part in found for slug in part} == {
            f"s{key}" for key in (*range(0, 3_000, 100), *range(801, 850))
        }
        numbers = [int(name.split("-")[2].removesuffix(".xml")) for name in pages]
        assert [number for number in numbers if number < 100_000_000] == [1, 2, 3]
        assert len({*numbers}) == len(numbers) > 6
        # The next export does not reuse these numbers. The halves of the split page get two new ones.
        export()
        cache.clear()
        assert {name.removesuffix(".gz") for name in live("sitemap.xml")} & {*pages} == {
            f"sitemap-articles-{number}.xml" for number in (2, 3)
        }

    def test_are_divided_whole_when_one_is_rendered_that_outgrows_its_limit(
        self, folder: Path, django_assert_num_queries: Any
    ) -> None:
        write_keys(*range(0, 3_000, 100))
        export()
        assert live("sitemap.xml")
        write_keys(*range(801, 850))
        # An index named the range, so it continues to answer with the rows up to the limit.
        assert len(page(1)) == 10
        # The rows that are listed, those of the range, its bound, the fingerprint and the rows.
        with django_assert_num_queries(5):
            assert len(page(1)) == 10
        found = [live(name.removesuffix(".gz")) for name in live("sitemap.xml")]
        assert max(map(len, found)) == 10
        assert len({slug for part in found for slug in part}) == 30 + 49

    def test_are_not_in_the_index_if_all_their_rows_are_gone(self, folder: Path) -> None:
        write_keys(*range(1, 41))
        export()
        Article.objects.filter(pk__range=(11, 20)).delete()
        Article.objects.filter(pk__gt=30).delete()
        assert live("sitemap.xml") == [f"sitemap-articles-{n}.xml.gz" for n in (1, 3)]
        write_keys(41)
        assert page(3) == [*(f"s{n}" for n in range(21, 31)), "s41"][:10]
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
def clock_of_the_cache(
    folder: Path, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> SecondsClock:
    """Put page maps into a shared cache, and return the clock of what is known of exports."""
    backend = "django.core.cache.backends.filebased.FileBasedCache"
    settings.CACHES = {"default": {"BACKEND": backend, "LOCATION": str(tmp_path / "cache")}}
    clock = SecondsClock()
    monkeypatch.setattr(exported_views, "time", clock)
    return clock


class TestHostsWithExportsOfTheirOwn:
    @pytest.fixture(autouse=True)
    def _exports(self, folder: Path, settings: Any, clock_of_the_cache: SecondsClock) -> None:
        """Export equal pages, and then others with equal numbers."""
        settings.SITEMAPS09 = {"ROOT": folder, "LIVE_SECONDS": 0}
        settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app != "django.contrib.sites"]
        settings.ALLOWED_HOSTS = ["a.example", "b.example"]
        write_keys(*range(0, 60, 2))
        export_hosts(["https://a.example", "https://b.example"])
        write_keys(5)
        export_hosts(["https://a.example"])
        Article.objects.filter(pk=5).delete()
        write_keys(*range(25, 28, 2))
        export_hosts(["https://b.example"])

    def test_have_page_maps_of_their_own(self) -> None:
        names = {}
        for host in ("a.example", "b.example"):
            names[host] = on_host(host, "sitemap.xml")
        assert names["a.example"] != names["b.example"]
        for host, listed in names.items():
            with CaptureQueriesContext(connection) as queries:
                assert on_host(host, "sitemap.xml") == listed
            # One query counts the last page.
            assert len(queries) == 1

    def test_keep_the_pages_of_their_previous_exports(self, clock_of_the_cache: SecondsClock) -> None:
        page_url = "sitemap-articles-5.xml.gz"
        assert [on_host(host, page_url)[-1] for host in ("b.example", "a.example")] == ["s38", "s18"]
        Article.objects.filter(pk__range=(2, 14)).delete()
        for key in (100, 101, 102):
            write_keys(key)
            export_hosts(["https://a.example"], force=["articles"])
            clock_of_the_cache.move(11)
            for host in ("a.example", "b.example", "a.example", "b.example"):
                on_host(host, "sitemap.xml")
        assert page_url not in on_host("a.example", "sitemap.xml")
        assert on_host("a.example", page_url) == ["s16", "s18"]

    def test_are_known_while_their_exports_cannot_be_read(
        self, clock_of_the_cache: SecondsClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pages = {name: on_host("a.example", name) for name in on_host("a.example", "sitemap.xml")}

        def fail(*_: object) -> None:
            raise OSError("no storage")

        monkeypatch.setattr(published, "find_section", fail)
        clock_of_the_cache.move(11)
        assert {name: on_host("a.example", name) for name in on_host("a.example", "sitemap.xml")} == pages


def on_host(host: str, url: str) -> list[str]:
    """Return the last parts of the URLs in a live document of a host."""
    response: Any = Client().get(f"/{url.removesuffix('.gz')}", headers={"host": host})
    assert response.status_code == 200
    return last_parts(response.content)


def test_pages_of_an_export_are_adopted_when_it_can_be_read_again(
    folder: Path, clock_of_the_cache: SecondsClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A storage that fails between two reads has a manifest, but no record of the section."""
    write_keys(*range(1, 31))
    export()
    names = [f"sitemap-articles-{number}.xml.gz" for number in range(1, 4)]

    def fail(*_: object) -> None:
        raise OSError("no storage")

    with monkeypatch.context() as context:
        context.setattr(manifest, "read_section", fail)
        live_names = live("sitemap.xml")
        assert live_names != names
        assert live("sitemap.xml") == live_names
    clock_of_the_cache.move(11)
    cache.delete(exported_views._UNREADABLE)
    assert live("sitemap.xml") == names
    assert all(live(name.removesuffix(".gz")) for name in live_names)
