"""The feed of recent changes: its entries, its bytes, and what keeps it whole."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from random import Random
from urllib.parse import parse_qs
from xml.etree import ElementTree

import pytest
from django.core.files.storage import storages
from django.http import HttpResponse
from django.test import Client
from django.urls import include, path

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export, export_hosts, verify
from django_sitemaps09.tools.audit import audit
from django_sitemaps09.views import robots_txt
from tests.support.configuration import BASE
from tests.support.internals import stores
from tests.support.killing import die, forked, was_killed
from tests.support.published import states
from tests.support.search_engines import engine
from tests.support.sections import listing
from tests.support.services import require_packages

__all__ = ["engine"]

FEED = "sitemap-changes.atom"
ATOM = "{http://www.w3.org/2005/Atom}"
SPRING = datetime(2026, 3, 1, 8, 15, tzinfo=timezone.utc)

pytestmark = pytest.mark.sitemaps09(FEED=4)


def section(dates):
    return listing([*dates], lastmod=lambda self, item: dates[item])


@pytest.fixture
def run(folder):
    def run(*days, sitemaps=None, **options):
        """Export URLs `/0/`, `/1/`... whose lastmods are so many days after the spring began."""
        dates = {number: day(days) for number, days in enumerate(days) if days is not None}
        options = {"output": folder, "engine": "serial", **options}
        return export(sitemaps=sitemaps or {"a": section(dates)}, **options)

    return run


@pytest.fixture
def begun(run):
    """The same after two exports, so the feed has an entry for `/1/`."""
    run(0)
    run(0, 1)
    return run


def day(number):
    return SPRING + timedelta(days=number)


def entries(content):
    """Return the path and the time of each entry of a valid feed."""
    root = ElementTree.fromstring(content)  # noqa: S314 our own
    found = [[e.findtext(f"{ATOM}{tag}") for tag in ("id", "updated")] for e in root.iter(f"{ATOM}entry")]
    urls, updated = [url for url, _ in found], root.findtext(f"{ATOM}updated")
    assert [link.get("href") for link in root.iterfind(f"{ATOM}entry/{ATOM}link")] == urls
    assert (len({*urls}), max((time for _, time in found), default=updated)) == (len(urls), updated)
    return [(url.removeprefix(BASE), time) for url, time in found]


def listed(folder):
    return entries((folder / FEED).read_bytes())


def paths(folder):
    return [path for path, _ in listed(folder)]


def at(number):
    return f"{day(number):%Y-%m-%dT%H:%M:%SZ}"


def test_a_feed_begins_empty_and_gets_the_urls_that_are_added_or_changed(run, folder):
    for days, found in (
        ((0, 0), []), ((1, 0, 2), [("/2/", at(2)), ("/0/", at(1))]),
        ((1, None, 2), [("/2/", at(2)), ("/0/", at(1))]),
        # The changes of the newest run come first.
        ((1.5, None, 2, 1.25), [("/0/", at(1.5)), ("/3/", at(1.25)), ("/2/", at(2))]),
        ((1.5, None, None, 1.25), [("/0/", at(1.5)), ("/3/", at(1.25))]),
    ):  # fmt: skip
        run(*days)
        assert listed(folder) == found


def test_a_feed_has_the_newest_changes_of_ten_runs_of_random_edits(run, folder):
    chance, rows, history = Random(7), dict.fromkeys(range(12), 0), []  # noqa: S311
    run(*rows.values())
    for number in range(1, 11):
        before = dict(rows)
        for row in chance.sample(range(16), chance.randrange(6)):
            rows[row] = None if rows.get(row) is not None and chance.random() < 0.4 else number + row / 100
        rows = dict(sorted(rows.items()))
        run(*(rows.get(row) for row in range(16)))
        changed = [row for row, when in rows.items() if when not in (None, before.get(row))]
        gone = [row for row, when in rows.items() if when is None]
        kept = [row for row in history if row not in (*changed, *gone)]
        history = [*sorted(changed, key=lambda row: -rows[row]), *kept][:4]
        assert listed(folder) == [(f"/{row}/", at(rows[row])) for row in history]


def test_a_feed_is_the_same_file_if_nothing_has_changed(begun, folder):
    before = states(folder)
    assert (begun(0, 1).written, states(folder), paths(folder)) == ((), before, ["/1/"])


def test_an_entry_without_a_lastmod_has_the_time_of_the_run_and_a_date_midnight(run, folder):
    run(0)
    lastmods = {"dated": day(3).date(), "undated": None}
    before = datetime.now(timezone.utc).replace(microsecond=0)
    run(sitemaps={"a": listing([*lastmods], lastmod=lambda self, item: lastmods[item])})
    [(undated, time), dated] = listed(folder)
    assert (undated, dated) == ("/undated/", ("/dated/", "2026-03-04T00:00:00Z"))
    assert before <= datetime.fromisoformat(time.replace("Z", "+00:00")) <= datetime.now(timezone.utc)


def test_a_url_with_markup_is_escaped_in_its_entry(run, folder):
    run(0)
    run(sitemaps={"a": listing(["x"], location="/?a=<b>&c='\"")})
    root = ElementTree.fromstring((folder / FEED).read_bytes())  # noqa: S314 our own
    [entry] = root.findall(f"{ATOM}entry")
    url = entry.findtext(f"{ATOM}id")
    assert (url.startswith(f"{BASE}/?a="), entry.findtext(f"{ATOM}title")) == (True, url.removeprefix(BASE))
    # It is read back as it was written.
    places = {"x": "/?a=<b>&c='\"", "y": "/y/"}
    run(sitemaps={"a": listing([*places], location=lambda self, item: places[item])})
    assert [path for path, _ in listed(folder)] == ["/y/", url.removeprefix(BASE)]


@pytest.mark.sitemaps09(FEED=4, INDEXNOW_MAX_URLS=3)
def test_a_run_that_changes_too_many_urls_leaves_the_feed_as_it_is_with_a_warning(begun, folder):
    report = begun(0, 1, 2, 2, 2, 2)
    assert (paths(folder), [FEED in warning for warning in report.warnings]) == (["/1/"], [True])


@pytest.mark.sitemaps09(FEED=4, INDEXNOW_MAX_URLS=3)
def test_a_url_that_such_a_run_removes_leaves_the_feed(run, folder):
    run(0, 0, 0)
    run(1, 0, 0, 2)
    run(None, None, None, 2, 3, 4)
    assert paths(folder) == ["/3/"]


def test_a_smaller_feed_keeps_its_newest_entries(run, folder, configure):
    run(0)
    run(0, 1, 2, 3)
    configure(FEED=2)
    run(0, 1, 2, 3)
    assert paths(folder) == ["/3/", "/2/"]


def test_a_feed_survives_a_lost_section_of_the_manifest(run, folder):
    run(0)
    run(0, 1)
    for file in (folder / ".sitemaps09").glob("section-a-*"):
        file.write_text("damaged")
    run(0, 1)
    assert paths(folder) == ["/1/"]


def test_a_feed_that_no_export_has_written_begins_again_with_a_warning(run, folder):
    run(0)
    configured = (folder / FEED).write_bytes(b"of the project")
    assert configured
    report = run(0, 1)
    assert (paths(folder), [FEED in warning for warning in report.warnings]) == (["/1/"], [True])


def test_a_section_that_is_exported_alone_leaves_the_entries_of_others(run, folder):
    both = {"a": section({1: day(0)}), "b": section({2: day(0)})}
    run(sitemaps=both)
    run(sitemaps={**both, "a": section({1: day(1)})})
    run(names=["b"], sitemaps={**both, "b": section({2: day(2)})})
    assert paths(folder) == ["/2/", "/1/"]


def test_a_dry_run_and_a_run_that_fails_leave_the_feed(begun, folder):
    before = states(folder)
    begun(2, 1, dry_run=True)
    assert states(folder) == before
    report = begun(sitemaps={"a": listing([1], location=lambda self, item: 1 / 0)}, strict=True)
    assert (report.published, paths(folder)) == (False, ["/1/"])


def test_a_feed_that_is_switched_off_is_kept_for_a_day_and_then_removed(begun, folder, configure):
    for options, is_kept in (({}, True), ({"KEEP_REMOVED": 0}, False)):
        configure(FEED=None, **options)
        begun(0, 1)
        assert (folder / FEED).exists() is is_kept


@pytest.mark.parametrize("damage", [
    lambda file: file.unlink(), lambda file: file.write_bytes(b"<feed/>"),
    lambda file: file.unlink() or file.mkdir(),
], ids=["missing", "other bytes", "a folder"])  # fmt: skip
def test_a_damaged_feed_is_found_and_a_repair_begins_it_again_and_says_so(begun, folder, damage):
    options = {"sitemaps": {"a": section({0: day(0), 1: day(1)})}, "output": folder}
    damage(folder / FEED)
    assert [file.name for file in verify(**options).damaged] == [FEED]
    if (folder / FEED).is_dir():
        with pytest.raises(ExportError, match=FEED):
            verify(**options, repair=True)
        return
    repaired = verify(**options, repair=True)
    assert (repaired.failures, listed(folder)) == ([], [])
    assert any(FEED in warning and "begins again" in warning for warning in repaired.repair.warnings)
    begun(0, 5)
    assert paths(folder) == ["/1/"]


def test_each_host_has_its_own_feed(folder):
    hosts = ["https://www.example.com", "https://www.example.org"]
    for rows in ({0: day(0)}, {0: day(0), 1: day(1)}):
        export_hosts(hosts, sitemaps={"a": section(rows)}, output=folder, engine="serial")
    for host in hosts:
        content = (folder / host.partition("://")[2] / FEED).read_bytes()
        assert content.count(f"<entry><id>{host}/1/</id>".encode()) == content.count(b"<entry>") == 1


def test_a_site_that_moves_begins_a_new_feed(begun, folder):
    begun(0, 1, base_url="https://www.example.org", moved_from=[BASE])
    assert (listed(folder), b"https://www.example.com" in (folder / FEED).read_bytes()) == ([], False)


@pytest.mark.parametrize("on", [True, False])
def test_robots_txt_lists_the_feed_only_if_that_is_wanted(run, folder, configure, on, settings, db):
    configure(FEED=4, FEED_IN_ROBOTS=on, ROOT=folder)
    settings.ROOT_URLCONF = (path("", include("django_sitemaps09.urls")), path("robots.txt", robots_txt))
    robots = folder.parent / "robots.txt"
    run(0, robots=robots)
    for text in (robots.read_text(), Client().get("/robots.txt").content.decode()):
        urls = [line.partition(" ")[2] for line in text.splitlines() if line.startswith("Sitemap:")]
        assert urls == [f"{BASE}/sitemap.xml", *([f"{BASE}/{FEED}"] if on else [])]


def test_a_view_serves_the_feed_of_the_export_or_responds_with_404(run, folder, configure, settings, db):
    settings.ROOT_URLCONF = (path("", include("django_sitemaps09.urls"), {"sitemaps": {}}),)
    assert Client().get(f"/{FEED}").status_code == 404
    configure(FEED=4, ROOT=folder)
    run(0)
    run(0, 1)
    response = Client().get(f"/{FEED}")
    assert (response.status_code, response["Content-Type"]) == (200, "application/atom+xml")
    assert b"".join(response.streaming_content) == (folder / FEED).read_bytes()
    assert Client().get(f"/{FEED}", headers={"if-none-match": response["ETag"]}).status_code == 304


@pytest.mark.sitemaps09(FEED=4, FEED_IN_ROBOTS=True)
def test_an_audit_reads_the_feed_without_a_finding(begun, folder, settings):
    settings.ROOT_URLCONF = (path("<int:number>/", lambda request, number: HttpResponse()),)
    begun(0, 1, robots=folder / "robots.txt")
    assert audit(directory=folder).findings == ()


@pytest.mark.services
def test_feedparser_reads_the_feed(begun, folder):
    require_packages("feedparser")
    import feedparser

    found = feedparser.parse((folder / FEED).read_bytes())
    assert (found.bozo, found.version, found.feed.title) == (False, "atom10", "www.example.com")
    [entry] = found.entries
    assert (entry.id, entry.link, entry.title) == (f"{BASE}/1/", f"{BASE}/1/", "/1/")
    assert datetime(*entry.updated_parsed[:6], tzinfo=timezone.utc) == day(1)


class TestAHub:
    @pytest.fixture
    def hub(self, engine, configure):
        configure(FEED=4, WEBSUB_HUB=(url := engine.url.replace("indexnow", "hub")))
        return url

    def test_is_named_by_the_feed_and_told_once_of_each_change(self, run, folder, hub, engine):
        for days in ([0], [0, 1], [0, 1], [0]):
            run(*days, submit=True)
        assert f'<link rel="hub" href="{hub}"/>'.encode() in (folder / FEED).read_bytes()
        told = [(r.method, r.headers["Content-Type"], parse_qs(r.body.decode())) for r in engine.requests]
        message = {"hub.mode": ["publish"], "hub.url": [f"{BASE}/{FEED}"]}
        # The first run writes the feed, the second adds a URL, and the last one removes it.
        assert told == [("POST", "application/x-www-form-urlencoded", message)] * 3

    @pytest.mark.parametrize(("status", "pending"), [(204, 0), (404, 0), (503, 1)])
    def test_accepts_with_any_status_of_success_and_is_told_again_after_an_error(
        self, run, hub, engine, monkeypatch, status, pending
    ):
        monkeypatch.setattr("django_sitemaps09.export.notify.client.time.sleep", lambda seconds: None)
        engine.answer(status)
        [report] = run(0, submit=True).submission.endpoints
        assert (report.kind, report.accepted, report.pending) == ("websub", int(status == 204), pending)
        requests = len(engine.requests)
        engine.answer(204)
        run(0, submit=True)
        assert len(engine.requests) == requests + pending

    def test_is_told_nothing_without_submit(self, hub, begun, engine):
        assert engine.requests == []


@pytest.mark.services
@pytest.mark.slow
def test_a_run_that_is_killed_at_any_request_to_s3_leaves_a_whole_feed_and_the_next_continues(
    bucket, monkeypatch, run
):
    from botocore.client import BaseClient

    made, call = bucket(), BaseClient._make_api_call
    # The cache of the tests is used only by this process, and by a fork that dies.
    monkeypatch.setattr(stores, "_UNSUITABLE", {})

    def killed_at(point):
        requests = iter(range(1, 1_000))

        def request(self, *arguments):
            return call(self, *arguments) if next(requests) != point else die()

        def export_last():
            storages._storages.clear()
            with monkeypatch.context() as patch:
                patch.setattr(BaseClient, "_make_api_call", request)
                run(None, 1, 2, output=None)

        return was_killed(forked(export_last))

    def feed():
        return [path for path, _ in entries(made.Object(FEED).get()["Body"].read())]

    run(0, output=None)
    run(0, 1, output=None)
    before, found = {each.key: each.get()["Body"].read() for each in made.objects.all()}, set()
    for point in range(25, 400, 25):
        made.objects.all().delete()
        for name, content in before.items():
            made.put_object(Key=name, Body=content)
        died = killed_at(point)
        found.add(tuple(feed()))
        run(None, 1, 2, 3, output=None)
        assert feed() == ["/3/", "/2/", "/1/"]
        if not died:
            break
    assert (died, point > 50, found) == (False, True, {("/1/",), ("/2/", "/1/")})
