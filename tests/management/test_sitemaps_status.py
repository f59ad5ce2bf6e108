"""`manage.py sitemaps_status`: what it reports, and that it changes nothing."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from django.core.cache.backends.locmem import LocMemCache
from django.core.management import CommandError
from django.db import connections
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps09 import sections
from django_sitemaps09.export import export, export_hosts, verify
from django_sitemaps09.management import lines
from django_sitemaps09.state import manifest
from django_sitemaps09.state.history import EXPORTED
from django_sitemaps09.state.journal import JOURNAL, Journal, write_journal
from django_sitemaps09.status import SectionStatus
from django_sitemaps09.stores import STATE, LocalStore
from django_sitemaps09.views.live import renewal
from django_sitemaps09.views.live.listing import ListedPage, Listing
from tests.docs.pages import PAGES
from tests.models import Article
from tests.support import commands
from tests.support.articles import Articles
from tests.support.clock import Clock, SecondsClock
from tests.support.commands import Broken
from tests.support.configuration import BASE, Configure, Register
from tests.support.factories import ArticleFactory
from tests.support.native_views import Foreign
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

FILES = "django.core.cache.backends.filebased.FileBasedCache"


class BrokenCache(LocMemCache):
    def get(self, *args: Any, **kwargs: Any) -> Any:
        raise ConnectionError("the server does not answer")

    get_many = set = add = delete = get


class Slice(Articles):
    def items(self) -> Any:
        return Article.objects.order_by("-pk")[:12]


@pytest.fixture
def articles(register: Register) -> None:
    for number in range(1, 26):
        ArticleFactory(pk=number, slug=f"s{number}")
    register(articles=Articles)


@pytest.fixture
def file_cache(settings: Any, tmp_path: Path) -> None:
    """A cache that is shared without a server."""
    settings.CACHES = {"default": {"BACKEND": FILES, "LOCATION": str(tmp_path / "cache")}}


@pytest.fixture
def an_hour_ago(monkeypatch: pytest.MonkeyPatch) -> SecondsClock:
    """Set back the clock by which listings are made."""
    seconds_clock = SecondsClock(time.time() - 3_600)
    monkeypatch.setattr(renewal, "time", seconds_clock)
    return seconds_clock


def said(*arguments: str) -> str:
    return commands.said("sitemaps_status", *arguments)[0]


def reported(*arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(said(*arguments, "--format", "json"))
    return document


def rows(output: str) -> list[list[str]]:
    """Return the cells of the table, without its head."""
    lines = output.partition("\nsection ")[2].splitlines()[1:]
    return [re.split("  +", line) for line in lines]


@pytest.mark.usefixtures("articles", "file_cache")
class TestAListing:
    def test_is_described_as_it_is_in_the_cache_and_neither_made_nor_renewed(
        self, an_hour_ago: SecondsClock, django_assert_num_queries: Any
    ) -> None:
        with django_assert_num_queries(0):
            assert reported()["sections"][0]["live"] is None
        pages = Client().get("/sitemap.xml").content.count(b"<sitemap>")
        an_hour_ago.move(3_600)
        for _ in range(2):
            with django_assert_num_queries(0):
                [section] = reported()["sections"]
            live = section["live"]
            assert (live["pages"], live["rows_per_page"]) == (pages, 10)
            assert 3_600 <= live["age"] < 3_700
        [row] = rows(said())
        assert row[2:5] == ["key ranges, columns", str(pages), "10"]
        assert pages > 1
        assert 3_600 <= int(row[5].replace(",", "")) < 3_700

    def test_is_the_same_for_all_hosts_that_clients_choose(self, client_chooses_host: Configure) -> None:
        client_chooses_host()
        Client().get("/sitemap.xml", headers={"host": "a.example"})
        status = reported()
        assert status["base_url"] is None
        assert status["sections"][0]["live"]["pages"] > 1
        assert "Host: from the request" in said()


@pytest.mark.usefixtures("file_cache")
def test_a_section_with_key_ranges_needs_no_query(using: str, register: Register) -> None:
    queryset = Article.objects.using(using).filter(published=True)
    register(articles=type("Section", (Articles,), {"queryset": queryset}))
    ArticleFactory(pk=100, slug="s100", using=using)
    Client().get("/sitemap.xml")
    with CaptureQueriesContext(connections[using]) as queries:
        [section] = reported()["sections"]
    assert section["live"]["pages"] >= 1
    assert len(queries) == 0


def test_every_way_to_read_a_section_has_its_name(
    register: Register, django_assert_num_queries: Any
) -> None:
    named = type("Named", (Articles,), {"priority": lambda self, item: 0.5, "__module__": __name__})
    register(articles=Articles, named=named, slice=Slice, numbers=Numbers(3), foreign=Foreign)
    # Rows that are paginated by position are counted.
    with django_assert_num_queries(1):
        sections = reported()["sections"]
    assert {section["section"]: (section["paging"], section["hooks"]) for section in sections} == {
        "articles": ("key ranges", "columns"),
        "named": ("key ranges", "methods"),
        "slice": ("positions", "columns"),
        "numbers": ("positions", "methods"),
        "foreign": ("get_urls", None),
    }
    names = ["tests.support.articles.Articles", f"{__name__}.Named"]
    assert [section["sitemap"] for section in sections][:2] == names
    assert rows(said())[-1] == [
        "foreign",
        f"{Foreign.__module__}.Foreign",
        "get_urls",
        *"-------",
        "unknown",
    ]


@pytest.mark.usefixtures("articles")
class TestTheExport:
    @pytest.fixture(autouse=True)
    def _target(self, configure: Configure, folder: Path) -> None:
        configure(ROOT=folder)

    def test_is_described_as_it_was_published(self, folder: Path, clock: Any) -> None:
        assert reported()["export"]["run"] is None
        assert ", nothing published" in said()
        report = export()
        status = reported()
        described = status["export"]
        assert (described["target"], described["is_unfinished"]) == (str(folder), False)
        assert described["run"].startswith("run-20260901T120000-")
        assert described["started"] == "2026-09-01T12:00:00+00:00"
        [section] = report.sections
        size = sum(path.stat().st_size for path in folder.glob("sitemap-articles-*.xml.gz"))
        figures = {"pages": 3, "urls": 25, "bytes": section.bytes, "size": size}
        assert status["sections"][0]["export"] == figures
        assert "last changed by the run of 2026-09-01 12:00:00 UTC" in said()
        assert rows(said())[0][6:] == [*(f"{figure:,}" for figure in figures.values()), "unknown"]

    def test_that_was_killed_is_reported(self, folder: Path) -> None:
        export()
        state = LocalStore(folder / STATE)
        write_journal(state, Journal("run-1", (), (state.folder / manifest.ROOT).read_text(), (), (), ()))
        described = reported()["export"]
        assert (described["is_unfinished"], described["error"]) == (True, None)
        assert "or was killed while publishing" in said()
        (state.folder / JOURNAL).write_text("{}")
        status = reported()
        assert JOURNAL in status["export"]["error"]
        assert status["sections"][0]["export"]["urls"] == 25
        assert f"{folder} cannot be read: ExportError" in said()

    def test_of_the_host_is_described(self, folder: Path) -> None:
        export_hosts([BASE, "https://www.example.org"])
        ArticleFactory(slug="another")
        export_hosts(["https://www.example.org"])
        assert reported()["sections"][0]["export"]["urls"] == 25
        other = reported("--base-url", "https://www.example.org")
        assert other["base_url"] == "https://www.example.org"
        assert other["export"]["target"] == str(folder / "www.example.org")
        assert other["sections"][0]["export"]["urls"] == 26

    def test_of_another_host_is_not_described(self, folder: Path) -> None:
        export()
        status = reported("--base-url", "https://b.example")
        nothing = {"run": None, "started": None, "is_unfinished": False, "error": None}
        assert status["export"] == {"target": str(folder), **nothing}
        assert status["sections"][0]["export"] is None

    def test_in_the_target_itself_is_described_if_clients_choose_the_host(
        self, client_chooses_host: Configure, folder: Path
    ) -> None:
        client_chooses_host(ROOT=folder)
        export(base_url="https://a.example")
        status = reported()
        assert (status["base_url"], status["export"]["target"]) == (None, str(folder))
        assert status["sections"][0]["export"]["urls"] == 25

    def test_of_a_killed_first_run_is_that_of_its_own_host(self, folder: Path) -> None:
        export()
        root = (folder / STATE / manifest.ROOT).read_text()
        write_journal(LocalStore(folder / "b.example" / STATE), Journal("run-1", (), root, (), (), ()))
        assert reported()["export"]["is_unfinished"] is False
        described = reported("--base-url", "https://b.example")["export"]
        assert described["target"] == str(folder / "b.example")
        assert (described["run"], described["is_unfinished"]) == (None, True)

    def test_that_does_not_exist_is_none(self, configure: Configure) -> None:
        configure(ROOT=None)
        status = reported()
        assert status["export"] is status["sections"][0]["export"] is None
        assert "Export: no STORAGE or ROOT" in said()


@pytest.mark.usefixtures("articles")
class TestAFailure:
    def test_of_a_section_leaves_the_others(self, register: Register) -> None:
        register(broken=Broken(1), articles=Articles)
        broken, articles = reported()["sections"]
        assert broken["error"] == "OSError: the disk with the numbers is gone"
        assert articles["error"] is None
        assert "\nbroken: OSError: the disk with the numbers is gone\n" in said()

    def test_of_the_caches_is_reported(
        self, settings: Any, configure: Configure, caplog: pytest.LogCaptureFixture
    ) -> None:
        broken = {"BACKEND": f"{__name__}.BrokenCache"}
        settings.CACHES = {"default": broken, "pages": broken}
        configure(LIVE_CACHE="pages")
        status = reported()
        for name, alias in (("listing_cache", "default"), ("live_cache", "pages")):
            assert status[name]["alias"] == alias
            assert status[name]["error"] == "ConnectionError: the server does not answer"
        assert status["sections"][0] == {
            "section": "articles",
            "sitemap": "tests.support.articles.Articles",
            "paging": "key ranges",
            "hooks": "columns",
            "live": None,
            "export": None,
            "exported": None,
            "lag": None,
            "error": None,
        }
        assert "fails: ConnectionError: the server does not answer" in said()
        # The cache is not tried again for each section.
        assert caplog.messages == []

    def test_of_the_storage_is_reported(self, configure: Configure, folder: Path) -> None:
        configure(ROOT=folder)
        export()
        [file] = (folder / STATE).glob("section-*.jsonl")
        file.write_text("")
        [section] = reported()["sections"]
        assert section["paging"] == "key ranges"
        assert f"{file.name} cannot be read" in section["error"]
        (folder / STATE / manifest.ROOT).write_text("{")
        status = reported()
        assert "manifest.json cannot be read" in status["export"]["error"]
        assert status["sections"][0]["export"] is None
        configure(ROOT=None, STORAGE="missing")
        assert "missing" in reported()["export"]["error"]


@pytest.mark.usefixtures("articles")
class TestArguments:
    def test_select_sections(self, register: Register) -> None:
        register(articles=Articles, numbers=Numbers(3))
        assert [section["section"] for section in reported("numbers")["sections"]] == ["numbers"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["artcles"], "There is no section 'artcles'. Did you mean 'articles'?"),
            (["--base-url", "www.example.com"], "--base-url: "),
        ],
    )
    def test_that_are_invalid_are_errors(self, arguments: Sequence[str], message: str) -> None:
        with pytest.raises(CommandError, match=message.replace("?", r"\?")):
            said(*arguments)

    def test_settings_are_reported(self, settings: Any, configure: Configure, tmp_path: Path) -> None:
        settings.CACHES = {**settings.CACHES, "pages": {"BACKEND": FILES, "LOCATION": str(tmp_path)}}
        configure(LIVE_CACHE="pages", LIVE_SECONDS=5)
        status = reported()
        assert (status["live_seconds"], status["serves_exported"]) == (5, False)
        cache = {"alias": "pages", "backend": "FileBasedCache", "is_shared": True, "error": None}
        assert status["live_cache"] == cache
        assert status["listing_cache"]["is_shared"] is False
        assert "LIVE_SECONDS: 5" in said()
        assert "Rendered pages: cache 'pages' (FileBasedCache, shared)" in said()


@pytest.mark.usefixtures("articles", "file_cache")
def test_every_key_is_documented(configure: Configure, folder: Path) -> None:
    def keys(value: Any) -> set[str]:
        if isinstance(value, list):
            return set().union(*map(keys, value))
        return {*value}.union(*map(keys, value.values())) if isinstance(value, dict) else set()

    configure(ROOT=folder, LIVE_CACHE="default")
    export()
    Client().get("/sitemap.xml")
    text = PAGES["docs/reference/commands.md"].partition("sitemaps_status")[2]
    shown = keys(reported())
    assert {"base_url", "is_shared", "is_unfinished", "rows_per_page", "size"} <= shown
    assert [key for key in sorted(shown) if f"`{key}`" not in text] == []


class TestTheLag:
    """How much newer the newest lastmod is than the start of the last export."""

    @pytest.fixture(autouse=True)
    def _exported(self, configure: Configure, folder: Path, register: Register) -> None:
        configure(ROOT=folder)
        register(articles=Articles)
        ArticleFactory(pk=1, slug="s1", updated=datetime(2026, 9, 1, tzinfo=timezone.utc))

    def test_is_that_of_the_cached_listing(self, clock: Clock) -> None:
        export()
        assert rows(said())[0][-1] == "unknown"
        assert reported()["sections"][0]["lag"] is None
        clock.time += timedelta(hours=4, minutes=30)
        Article.objects.update(updated=clock.time)
        Client().get("/sitemap.xml")
        assert rows(said())[0][-1] == "4.5 hours"
        assert reported()["sections"][0]["lag"] == 16_200
        clock.time += timedelta(minutes=30)
        export()
        assert (rows(said())[0][-1], reported()["sections"][0]["lag"]) == ("none", 0)

    @pytest.mark.parametrize(
        ("newest", "looked_at", "text"),
        [
            ("2026-09-01T12:00:01Z", 99, "1 second"),
            ("2026-09-01T12:01:30+00:00", 99, "90 seconds"),
            ("2026-09-01T13:59:00Z", 99, "119 minutes"),
            ("2026-09-03T12:00:00Z", 99, "2 days"),
            # The day begins at 22:00 UTC.
            ("2026-09-02", 99, "10 hours"),
            # Whether the row changed after the export on this day is unknown.
            ("2026-09-01", 99, "unknown"),
            ("2026-08-31", 99, "none"),
            ("2026-09-01T12:00:00Z", 99, "none"),
            # The listing does not know what changed after the export.
            ("2026-09-01T12:00:00Z", -1, "unknown"),
            # Rows are not in the future because they have changed.
            ("2026-09-03T12:00:00Z", 1, "unknown"),
            ("2030-01-01", 99, "unknown"),
            (None, 99, "unknown"),
            ("2026-99", 99, "unknown"),
        ],
    )
    def test_is_known_only_from_all_pages(
        self, newest: str | None, looked_at: int, text: str, clock: Clock
    ) -> None:
        started = clock.time.timestamp()
        pages = (ListedPage(("1",), 1, "2026-01-01"), ListedPage(("2",), 0), ListedPage(None, 1, newest))
        listing = Listing("xml.gz", pages=pages, looked_at=started + 3_600 * looked_at)
        assert SectionStatus("articles", live=listing, exported=started).lag_text == text
        assert SectionStatus("articles", live=listing).lag_text == "unknown"
        assert SectionStatus("articles", live=Listing("xml.gz"), exported=started).lag_text == "unknown"


QUIET = ("--verbosity", "0", "--max-age")


def aged(*arguments: str) -> str:
    """Return the message of the command, which exits with 1, without its table."""
    _, _, error = commands.failed("sitemaps_status", "--verbosity", "0", *arguments)
    assert error.returncode == 1
    return str(error)


class TestAMaximumAge:
    @pytest.fixture(autouse=True)
    def _target(self, configure: Configure, folder: Path, register: Register) -> None:
        configure(ROOT=folder)
        register(articles=Articles, numbers=Numbers(3))
        ArticleFactory(pk=1, slug="s1")

    @pytest.fixture
    def now(self, monkeypatch: pytest.MonkeyPatch) -> SecondsClock:
        """Set the clock by which ages are computed."""
        seconds_clock = SecondsClock(time.time() + 60)
        monkeypatch.setattr(lines, "time", seconds_clock)
        return seconds_clock

    def test_counts_from_the_last_export_even_if_it_changed_nothing(self, now: SecondsClock) -> None:
        assert aged("--max-age", "1d") == f"{BASE}: no export: run export_sitemaps."
        export()
        assert said(*QUIET, "90m") == ""
        now.move(3 * 3_600)
        old = "last export without a failure longer than 90m ago: articles (3h ago), numbers (3h ago)."
        assert aged("--max-age", "90m") == f"{BASE}: {old}"
        assert said(*QUIET, "4h") == ""
        # A time in the future is none.
        now.move(-3 * 86_400)
        assert aged("--max-age", "1d").endswith(": articles (never), numbers (never).")

    def test_counts_for_each_section(self, clock: Clock, now: SecondsClock) -> None:
        now.now = clock.time.timestamp()
        export()
        later(clock, now, hours=30)
        assert export().written == ()
        assert said(*QUIET, "26h") == ""
        later(clock, now, hours=30)
        export(["articles"])
        assert aged("--max-age", "26h").endswith(" longer than 26h ago: numbers (30h ago).")
        assert said("articles", *QUIET, "26h") == ""

    def test_is_exceeded_by_a_section_that_fails(self, now: SecondsClock, register: Register) -> None:
        register(numbers=Numbers(3), broken=Broken(1))
        assert export().failures
        assert aged("--max-age", "1d").endswith(": broken (never).")

    def test_is_exceeded_by_a_published_section_that_is_not_declared_any_more(
        self, now: SecondsClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        export()
        now.move(3 * 3_600)
        monkeypatch.setattr(sections, "_registered", {})
        assert aged("--max-age", "2h").endswith(" longer than 2h ago: articles (3h ago), numbers (3h ago).")
        assert "numbers: not declared any more, but the export keeps its files" in said()

    def test_counts_no_rows_if_nothing_else_is_shown(
        self, register: Register, now: SecondsClock, django_assert_num_queries: Any
    ) -> None:
        register(slice=Slice)
        export()
        with django_assert_num_queries(0):
            assert said(*QUIET, "1d") == ""

    def test_counts_neither_a_dry_run_nor_a_repair(
        self, folder: Path, clock: Clock, now: SecondsClock
    ) -> None:
        now.now = clock.time.timestamp()
        export()
        later(clock, now, hours=5)
        export(dry_run=True)
        (folder / "sitemap-numbers-1.xml.gz").unlink()
        assert verify(repair=True).failures == []
        assert aged("--max-age", "4h").endswith(": articles (5h ago), numbers (5h ago).")

    def test_is_reported_after_the_table_and_the_json(self, now: SecondsClock) -> None:
        export()
        now.move(3 * 86_400)
        for format_name, words in (("table", "Export: "), ("json", '"exported": "2')):
            out, _, error = commands.failed("sitemaps_status", "--max-age=2d", "--format", format_name)
            assert "longer than 2d ago: articles (3d ago)" in str(error)
            assert words in out

    def test_has_a_line_for_each_host(self, folder: Path, now: SecondsClock) -> None:
        hosts = ["https://a.example", "https://b.example", "https://c.example"]
        export_hosts(hosts[:2])
        options = [option for host in hosts for option in ("--base-url", host)]
        assert aged("--max-age", "1d", *options) == "https://c.example: no export: run export_sitemaps."
        assert [*reported(*options)["hosts"]] == hosts
        now.move(2 * 86_400)
        assert [line.partition(": ")[0] for line in aged("--max-age", "1d", *options).splitlines()] == hosts

    def test_is_exceeded_if_the_time_is_damaged(self, folder: Path) -> None:
        export()
        (folder / STATE / EXPORTED).write_text("{")
        assert aged("--max-age", "1d").endswith(": articles (never), numbers (never).")
        export()
        assert said(*QUIET, "1d") == ""

    @pytest.mark.parametrize("age", ["26", "h", "1.5h", "0d", "-1d", "1w", "1 d", ""])
    def test_that_is_invalid_is_refused(self, age: str) -> None:
        with pytest.raises(CommandError, match=f"{age!r} is not an age. Use a whole number and "):
            said(f"--max-age={age}")


def later(clock: Clock, now: SecondsClock, *, hours: int) -> None:
    clock.time += timedelta(hours=hours)
    now.move(hours * 3_600)
