"""The overview of the inspector: its figures come from the manifest, the history and kept page maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import Sitemap
from django_sitemaps09.export import export
from django_sitemaps09.inspector.export_state import ExportState
from django_sitemaps09.inspector.overview import Overview, SectionOverview, overview
from django_sitemaps09.protocol import Limits, parse_base
from django_sitemaps09.stores import STATE
from tests.models import Article
from tests.support.articles import Articles
from tests.support.configuration import BASE
from tests.support.exports import Bad, Failing
from tests.support.factories import ArticleFactory
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09(ENGINE="serial")]


def seen(base_url: str = BASE) -> Overview:
    base = parse_base(base_url)
    return overview(base, ExportState.from_base(base))


def section(name: str) -> SectionOverview:
    [found] = [section for section in seen().sections if section.section == name]
    return found


class Lazy(Sitemap[Article]):
    """Section whose `items()` is a list of all rows."""

    def items(self) -> Sequence[Article]:
        return list(Article.objects.all())


class Positions(Articles):
    """Section without key ranges, whose rows an export counts."""

    def items(self) -> Any:
        return Article.objects.order_by("-pk")[:7]


@pytest.fixture
def exporting(folder: Path, configure: Callable[..., None]) -> None:
    configure(ROOT=folder, MAX_URLS=20)


@pytest.fixture
def articles(exporting: None) -> None:
    for number in range(1, 26):
        ArticleFactory(pk=number, slug=f"s{number}", dated=True)


@pytest.mark.usefixtures("articles")
class TestASection:
    def test_has_the_figures_of_the_manifest(self, register: Callable[..., None]) -> None:
        register(articles=Articles, numbers=Numbers(3))
        export()
        state = seen()
        assert state.limits == Limits(20, 10 * 1024 * 1024)
        articles, numbers = state.sections
        assert articles.exported is not None
        assert articles.exported[:2] == (3, 25)
        assert articles.exported.fullest_urls == 10
        assert articles.exported.fullest_bytes > articles.exported.size / 3
        assert articles.exported.newest is not None
        assert articles.sitemap == "tests.support.articles.Articles"
        assert articles.freshness is not None
        assert sum(articles.freshness.pages.values()) == 3
        assert sum(articles.freshness.urls.values()) == 25
        assert numbers.freshness is not None
        assert numbers.freshness.pages == {"no lastmod": 1}

    def test_has_the_pages_of_its_cached_map(self, register: Callable[..., None], client: Client) -> None:
        register(articles=Articles)
        assert section("articles").live_pages is None
        index = client.get("/sitemap.xml").content
        assert section("articles").live_pages == index.count(b"<sitemap>")

    def test_that_is_not_declared_is_shown(self, register: Callable[..., None]) -> None:
        register(articles=Articles, gone=Numbers(3))
        export()
        register(articles=Articles)
        gone = section("gone")
        assert (gone.is_declared, gone.sitemap) == (False, None)
        assert gone.exported is not None

    def test_that_fails_does_not_hide_the_others(self, register: Callable[..., None]) -> None:
        def broken() -> Sitemap[Any]:
            raise RuntimeError("the project is broken")

        register(broken=broken, articles=Articles)
        assert section("broken").error == "RuntimeError: the project is broken"
        assert section("articles").error is None

    def test_with_a_damaged_record_says_so(self, register: Callable[..., None], folder: Path) -> None:
        register(articles=Articles)
        export()
        [path] = (folder / STATE).glob("section-articles-*")
        path.write_bytes(b"{")
        assert "cannot be read" in str(section("articles").error)

    @pytest.mark.parametrize("is_exported", [False, True])
    def test_runs_no_query_on_rows(self, register: Callable[..., None], *, is_exported: bool) -> None:
        register(articles=Articles, all=Lazy, positions=Positions, numbers=Bad(9, [1]))
        if is_exported:
            export()
        with CaptureQueriesContext(connection) as queries:
            assert len(seen().sections) == 4
        assert [query["sql"] for query in queries] == []


@pytest.mark.usefixtures("exporting")
class TestTheExport:
    def test_can_be_missing(self, register: Callable[..., None], configure: Callable[..., None]) -> None:
        register(numbers=Numbers(3))
        state = seen()
        assert state.export is not None
        assert (state.export.run, state.export.error, state.runs) == (None, None, [])
        configure(ROOT=None)
        assert seen().export is None

    def test_is_ignored_if_it_is_for_another_host(self, register: Callable[..., None]) -> None:
        register(numbers=Numbers(3))
        export()
        assert seen().sections[0].exported is not None
        assert seen("https://other.example").sections[0].exported is None

    def test_that_cannot_be_read_says_so(self, register: Callable[..., None], folder: Path) -> None:
        register(numbers=Numbers(3))
        export()
        (folder / STATE / "manifest.json").write_bytes(b"{")
        state = seen()
        assert state.export is not None
        assert "cannot be read" in str(state.export.error)
        assert state.sections[0].exported is None
        assert len(state.runs) == 1

    def test_counts_the_files_that_are_kept(self, register: Callable[..., None]) -> None:
        numbers = Numbers(40)
        numbers.limit = 10
        register(numbers=numbers)
        export()
        numbers.numbers = range(30)
        export()
        assert seen().removed == 1


@pytest.mark.usefixtures("exporting")
class TestSkippedItems:
    def test_are_those_of_the_last_run_that_rendered_all_pages(self, register: Callable[..., None]) -> None:
        register(numbers=Bad(9, [1, 2]))
        export()
        register(numbers=Bad(9, [2]))
        export()
        skipped = {(element.error.key, element.error.field) for element in seen().skipped}
        assert skipped == {("3", "location"), ("4", "priority")}
        assert seen().skipped[0].section == "numbers"

    def test_are_still_shown_after_a_failure(self, register: Callable[..., None]) -> None:
        register(numbers=Bad(9, [1]))
        export()
        register(numbers=Failing(9, 0))
        export()
        assert {element.error.key for element in seen().skipped} >= {"2", "4"}

    def test_disappear_after_a_run_without_skipped_items(self, register: Callable[..., None]) -> None:
        register(numbers=Bad(9, [1]))
        export()
        register(numbers=Numbers(9))
        export()
        assert seen().skipped == []
