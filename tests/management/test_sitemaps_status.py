"""`manage.py sitemaps_status`: what it reports, and that it changes nothing."""

from __future__ import annotations

import json
import re
import time
from datetime import datetime, timedelta, timezone

import pytest
from django.core.cache.backends.locmem import LocMemCache
from django.core.management import CommandError
from django.db import connections
from django.test import Client

from django_sitemaps09.export import export, export_hosts, verify
from tests.docs.pages import PAGES
from tests.models import Article
from tests.support import commands
from tests.support.articles import Articles, write_keys
from tests.support.commands import Broken
from tests.support.configuration import BASE, SecondsClock
from tests.support.internals import (
    EXPORTED,
    JOURNAL,
    STATE,
    Journal,
    ListedPage,
    Listing,
    LocalStore,
    SectionStatus,
    indexes,
    manifest,
    sections,
    write_journal,
)
from tests.support.native_views import Foreign
from tests.support.sections import Numbers, declare

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

FILES = "django.core.cache.backends.filebased.FileBasedCache"
HOSTS = ["https://a.example", "https://b.example", "https://c.example"]
REFUSED = "ConnectionError: the server does not answer"


SLICE = declare(Articles, items=lambda self: Article.objects.order_by("-pk")[:12])
NAMED = declare(Articles, priority=lambda self, item: 0.5)


@pytest.fixture
def articles(register):
    write_keys(*range(1, 26))
    register(articles=Articles)


@pytest.fixture
def target(configure, folder):
    configure(ROOT=folder)
    return folder


@pytest.fixture
def file_cache(settings, tmp_path):
    settings.CACHES = {"default": {"BACKEND": FILES, "LOCATION": str(tmp_path / "cache")}}


def said(*arguments):
    return commands.said("sitemaps_status", *arguments)[0]


def reported(*arguments):
    return json.loads(said(*arguments, "--format", "json"))


def section(*arguments):
    return reported(*arguments)["sections"][0]


def rows(output):
    return [re.split("  +", line) for line in output.partition("\nsection ")[2].splitlines()[1:]]


@pytest.mark.usefixtures("articles", "file_cache")
def test_a_cached_listing_is_described_and_not_renewed(monkeypatch, django_assert_num_queries):
    an_hour_ago = SecondsClock(time.time() - 3_600)
    monkeypatch.setattr(indexes, "time", an_hour_ago)
    with django_assert_num_queries(0):
        assert section()["live"] is None
    pages = Client().get("/sitemap.xml").content.count(b"<sitemap>")
    an_hour_ago.move(3_600)
    for _ in range(2):
        with django_assert_num_queries(0):
            live = section()["live"]
        assert (live["pages"], live["rows_per_page"]) == (pages, 10)
        assert 3_600 <= live["age"] < 3_700
    [row] = rows(said())
    assert (row[2:5], pages > 1) == (["key ranges, columns", str(pages), "10"], True)
    assert 3_600 <= int(row[5].replace(",", "")) < 3_700


@pytest.mark.usefixtures("articles", "file_cache")
def test_a_listing_is_the_same_for_all_hosts_that_clients_choose(client_chooses_host, folder):
    client_chooses_host()
    Client().get("/sitemap.xml", headers={"host": "a.example"})
    status = reported()
    assert status["base_url"] is None
    assert (status["sections"][0]["live"]["pages"] > 1, "Host: from the request" in said()) == (True, True)
    # An export in the target itself is described, too.
    client_chooses_host(ROOT=folder)
    export(base_url="https://a.example")
    status = reported()
    assert (status["base_url"], status["export"]["target"]) == (None, str(folder))
    assert status["sections"][0]["export"]["urls"] == 25


@pytest.mark.usefixtures("file_cache")
def test_a_section_with_key_ranges_needs_no_query(using, register, django_assert_num_queries):
    register(articles=declare(Articles, queryset=Article.objects.using(using).filter(published=True)))
    write_keys(100, using=using)
    Client().get("/sitemap.xml")
    with django_assert_num_queries(0, connection=connections[using]):
        assert section()["live"]["pages"] >= 1


def test_the_status_without_a_section_says_how_to_declare_one(register):
    lines = commands.said("sitemaps_status")[0].splitlines()
    assert lines[-1].startswith('There is no section. Write @register("...")')


def test_every_way_to_read_a_section_has_its_name(register, django_assert_num_queries):
    register(articles=Articles, named=NAMED, slice=SLICE, numbers=Numbers(3), foreign=Foreign)
    # Rows that are paginated by position are counted.
    with django_assert_num_queries(1):
        found = reported()["sections"]
    assert {each["section"]: (each["paging"], each["hooks"]) for each in found} == {
        "articles": ("key ranges", "columns"),
        "named": ("key ranges", "methods"),
        "slice": ("positions", "columns"),
        "numbers": ("positions", "methods"),
        "foreign": ("get_urls", None),
    }
    names = ["tests.support.articles.Articles", "tests.support.sections.Declared"]
    assert [each["sitemap"] for each in found][:2] == names
    foreign = f"{Foreign.__module__}.Foreign"
    assert rows(said())[-1] == ["foreign", foreign, "get_urls", *"-------", "unknown"]


@pytest.mark.usefixtures("articles")
def test_an_export_is_described_as_it_was_published_or_killed(target, clock):
    assert reported()["export"]["run"] is None
    assert ", nothing published" in said()
    report, status = export(), reported()
    described = status["export"]
    assert (described["target"], described["is_unfinished"]) == (str(target), False)
    assert described["run"].startswith("run-20260901T120000-")
    assert described["started"] == "2026-09-01T12:00:00+00:00"
    size = sum(path.stat().st_size for path in target.glob("sitemap-articles-*.xml.gz"))
    figures = {"pages": 3, "urls": 25, "bytes": report.sections[0].bytes, "size": size}
    assert status["sections"][0]["export"] == figures
    assert "last changed by the run of 2026-09-01 12:00:00 UTC" in said()
    assert rows(said())[0][6:] == [*(f"{figure:,}" for figure in figures.values()), "unknown"]
    # That of another host is not described.
    status = reported("--base-url", "https://b.example")
    nothing = {"run": None, "started": None, "is_unfinished": False, "error": None}
    assert status["export"] == {"target": str(target), **nothing}
    assert status["sections"][0]["export"] is None
    # A killed first run of a host is that of its own folder.
    root = (target / STATE / manifest.ROOT).read_text()
    write_journal(LocalStore(target / "b.example" / STATE), Journal("run-1", (), root, (), (), ()))
    assert reported()["export"]["is_unfinished"] is False
    described = reported("--base-url", "https://b.example")["export"]
    assert described["target"] == str(target / "b.example")
    assert (described["run"], described["is_unfinished"]) == (None, True)
    # And so is a killed run of this host, until its journal cannot be read.
    write_journal(LocalStore(target / STATE), Journal("run-1", (), root, (), (), ()))
    described = reported()["export"]
    assert (described["is_unfinished"], described["error"]) == (True, None)
    assert "or was killed while publishing" in said()
    (target / STATE / JOURNAL).write_text("{}")
    status = reported()
    assert (JOURNAL in status["export"]["error"], status["sections"][0]["export"]["urls"]) == (True, 25)
    assert f"{target} cannot be read: ExportError" in said()


@pytest.mark.usefixtures("articles")
def test_the_export_of_each_host_is_described_or_that_there_is_no_target(target, configure):
    other = "https://www.example.org"
    export_hosts([BASE, other])
    write_keys(100)
    export_hosts([other])
    assert section()["export"]["urls"] == 25
    status = reported("--base-url", other)
    assert (status["base_url"], status["export"]["target"]) == (other, str(target / "www.example.org"))
    assert status["sections"][0]["export"]["urls"] == 26
    configure(ROOT=None)
    status = reported()
    assert status["export"] is status["sections"][0]["export"] is None
    assert "Export: no STORAGE or ROOT" in said()
    assert "Rendered pages: not cached (LIVE_CACHE)" in said()


@pytest.mark.usefixtures("articles")
def test_a_section_and_caches_that_fail_leave_the_rest(settings, configure, register, caplog):
    register(broken=Broken(1), articles=Articles)
    broken = {"BACKEND": "tests.support.stores.BrokenCache"}
    settings.CACHES = {"default": broken, "pages": broken}
    configure(LIVE_CACHE="pages")
    status = reported()
    for name, alias in (("listing_cache", "default"), ("live_cache", "pages")):
        assert (status[name]["alias"], status[name]["error"]) == (alias, REFUSED)
    failed, fine = status["sections"]
    assert failed["error"] == "OSError: the disk with the numbers is gone"
    nothing = dict.fromkeys(["live", "export", "exported", "lag", "error"])
    name = {"section": "articles", "sitemap": "tests.support.articles.Articles"}
    assert fine == {**name, "paging": "key ranges", "hooks": "columns", **nothing}
    output = said()
    assert (f"\nbroken: {failed['error']}\n" in output, f"fails: {REFUSED}" in output) == (True, True)
    # The cache is not tried again for each section.
    assert caplog.messages == []


@pytest.mark.usefixtures("articles")
def test_a_storage_that_fails_is_reported(target, configure):
    export()
    [file] = (target / STATE).glob("section-*.jsonl")
    file.write_text("")
    assert section()["paging"] == "key ranges"
    assert f"{file.name} cannot be read" in section()["error"]
    (target / STATE / manifest.ROOT).write_text("{")
    status = reported()
    assert "manifest.json cannot be read" in status["export"]["error"]
    assert status["sections"][0]["export"] is None
    configure(ROOT=None, STORAGE="missing")
    assert "missing" in reported()["export"]["error"]


@pytest.mark.parametrize(("argument", "message"), [
    ("artcles", "There is no section 'artcles'. Did you mean 'articles'?"),
    ("--base-url=www.example.com", "--base-url: "),
    *(
        (f"--max-age={age}", f"{age!r} is not an age. Use a whole number and s, m, h or d")
        for age in ("26", "h", "1.5h", "0d", "-1d", "1w", "1 d", "")
    ),
])  # fmt: skip
def test_an_invalid_argument_is_an_error(register, argument, message):
    register(articles=Articles)
    with pytest.raises(CommandError, match=re.escape(message)):
        said(argument)


@pytest.mark.usefixtures("articles", "file_cache")
def test_settings_are_reported_and_every_key_is_documented(settings, configure, target, register):
    def keys(value):
        if isinstance(value, list):
            return set().union(*map(keys, value))
        return {*value}.union(*map(keys, value.values())) if isinstance(value, dict) else set()

    settings.CACHES = {**settings.CACHES, "default": {"BACKEND": f"{LocMemCache.__module__}.LocMemCache"}}
    settings.CACHES["pages"] = {"BACKEND": FILES, "LOCATION": str(target / "cache")}
    configure(LIVE_CACHE="pages", LIVE_SECONDS=5)
    export()
    Client().get("/sitemap.xml")
    status = reported()
    assert (status["live_seconds"], status["serves_exported"]) == (5, False)
    cache = {"alias": "pages", "backend": "FileBasedCache", "is_shared": True, "error": None}
    assert status["live_cache"] == cache
    assert status["listing_cache"]["is_shared"] is False
    assert "LIVE_SECONDS: 5" in said()
    assert "Rendered pages: cache 'pages' (FileBasedCache, shared)" in said()
    text, shown = PAGES["docs/reference/commands.md"].partition("sitemaps_status")[2], keys(status)
    assert {"base_url", "is_shared", "is_unfinished", "rows_per_page", "size"} <= shown
    assert [key for key in sorted(shown) if f"`{key}`" not in text] == []
    register(articles=Articles, numbers=Numbers(3))
    assert [each["section"] for each in reported("numbers")["sections"]] == ["numbers"]


@pytest.mark.usefixtures("target")
def test_the_lag_is_that_of_the_cached_listing(register, clock):
    register(articles=Articles)
    Article.objects.create(pk=1, slug="s1", updated=datetime(2026, 9, 1, tzinfo=timezone.utc))
    export()
    assert (rows(said())[0][-1], section()["lag"]) == ("unknown", None)
    clock.time += timedelta(hours=4, minutes=30)
    Article.objects.update(updated=clock.time)
    Client().get("/sitemap.xml")
    assert (rows(said())[0][-1], section()["lag"]) == ("4.5 hours", 16_200)
    clock.time += timedelta(minutes=30)
    export()
    assert (rows(said())[0][-1], section()["lag"]) == ("none", 0)


@pytest.mark.parametrize(("newest", "looked_at", "text"), [
    ("2026-09-01T12:00:01Z", 99, "1 second"), ("2026-09-01T12:01:30+00:00", 99, "90 seconds"),
    ("2026-09-01T12:02:00+00:00", 99, "2 minutes"), ("2026-09-01T13:59:00Z", 99, "119 minutes"),
    ("2026-09-03T12:00:00Z", 99, "2 days"),
    # The day begins at 22:00 UTC.
    ("2026-09-02", 99, "10 hours"),
    # Whether the row changed after the export on this day is unknown.
    ("2026-09-01", 99, "unknown"), ("2026-08-31", 99, "none"),
    ("2026-09-01T12:00:00Z", 99, "none"),
    # The listing does not know what changed after the export.
    ("2026-09-01T12:00:00Z", -1, "unknown"),
    # Rows are not in the future because they have changed.
    ("2026-09-03T12:00:00Z", 1, "unknown"), ("2030-01-01", 99, "unknown"),
    (None, 99, "unknown"), ("2026-99", 99, "unknown"),
])  # fmt: skip
def test_the_lag_is_known_only_from_all_pages(newest, looked_at, text, clock):
    started = clock.time.timestamp()
    pages = (ListedPage(("1",), 1, "2026-01-01"), ListedPage(("2",), 0), ListedPage(None, 1, newest))
    listing = Listing("xml.gz", pages=pages, looked_at=started + 3_600 * looked_at)
    assert SectionStatus("articles", live=listing, exported=started).lag_text == text
    assert SectionStatus("articles", live=listing).lag_text == "unknown"
    assert SectionStatus("articles", live=Listing("xml.gz"), exported=started).lag_text == "unknown"


def aged(*arguments):
    try:
        assert said("--verbosity", "0", "--max-age", *arguments) == ""
    except CommandError as error:
        return str(error) if error.returncode == 1 else f"{error.returncode}: {error}"
    return ""


@pytest.fixture
def later(target, register, monkeypatch, clock):
    register(articles=Articles, numbers=Numbers(3))
    write_keys(1)
    seconds_clock = SecondsClock(clock.time.timestamp() + 60)
    monkeypatch.setattr("django_sitemaps09.management.commands.sitemaps_status.time", seconds_clock)

    def move(hours):
        clock.time += timedelta(hours=hours)
        seconds_clock.move(hours * 3_600)

    return move


def test_the_age_counts_from_the_last_export_of_each_section_even_if_it_changed_nothing(later):
    assert aged("1d") == f"{BASE}: no export: run export_sitemaps."
    export()
    assert aged("90m") == ""
    later(3)
    old = "last export without a failure longer than 90m ago: articles (3h ago), numbers (3h ago)."
    assert (aged("90m"), aged("4h")) == (f"{BASE}: {old}", "")
    later(27)
    assert (export().written, aged("26h")) == ((), "")
    later(30)
    export(["articles"])
    assert aged("26h").endswith(" longer than 26h ago: numbers (30h ago).")
    assert aged("26h", "articles") == ""
    # A time in the future is none.
    later(-3 * 24)
    assert aged("1d").endswith(": articles (never), numbers (never).")


def test_a_section_that_fails_or_is_not_declared_is_too_old(later, register, monkeypatch):
    register(numbers=Numbers(3), broken=Broken(1))
    assert export().failures
    assert aged("1d").endswith(": broken (never).")
    later(3)
    monkeypatch.setattr(sections, "_registered", {"articles": Articles})
    export(["articles"])
    assert aged("2h").endswith(" longer than 2h ago: numbers (3h ago).")
    assert "numbers: not declared any more, but the export keeps its files" in said()
    export(remove=["numbers"])
    assert (aged("2h"), "numbers" in said()) == ("", False)


def test_an_export_without_a_time_is_too_old(later, folder, register, django_assert_num_queries):
    register(slice=SLICE)
    export()
    with django_assert_num_queries(0):
        assert aged("1d") == ""
    (folder / STATE / EXPORTED).write_text("{")
    assert aged("1d").endswith(": slice (never).")
    export()
    assert aged("1d") == ""


def test_the_age_counts_neither_a_dry_run_nor_a_repair_and_is_reported_after_the_rest(later, folder):
    export()
    later(72)
    export(dry_run=True)
    (folder / "sitemap-numbers-1.xml.gz").unlink()
    assert verify(repair=True).failures == []
    for format_name, words in (("table", "Export: "), ("json", '"exported": "2')):
        out, _, error = commands.failed("sitemaps_status", "--max-age=2d", "--format", format_name)
        assert "longer than 2d ago: articles (3d ago), numbers (3d ago)." in str(error)
        assert words in out


def test_the_age_has_a_line_for_each_host(later):
    export_hosts(HOSTS[:2])
    options = [option for host in HOSTS for option in ("--base-url", host)]
    assert aged("1d", *options) == "https://c.example: no export: run export_sitemaps."
    assert [*reported(*options)["hosts"]] == HOSTS
    later(48)
    assert [line.partition(": ")[0] for line in aged("1d", *options).splitlines()] == HOSTS
