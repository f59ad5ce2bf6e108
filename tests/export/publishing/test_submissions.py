"""Submissions of exports: what is queued, that nothing is lost, and that no export fails for it."""

from __future__ import annotations

import errno
import json
import sqlite3
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.exceptions import ExportError
from django_sitemaps09.export import export, export_hosts, verify
from django_sitemaps09.export.notify import submit
from tests.export.notifications import Notifications
from tests.support.configuration import BASE
from tests.support.exports import fails_with
from tests.support.internals import FOLDER, ROOT, STATE, Ledger, changes
from tests.support.published import indexed, states
from tests.support.search_engines import KEY, engine
from tests.support.sections import listing

__all__ = ["engine"]

pytestmark = pytest.mark.sitemaps09(INDEXNOW_KEY=KEY)
PAGE = "sitemap-a-1.xml.gz"
full = fails_with(errno.ENOSPC)


def chosen(*numbers, **hooks):
    return listing(numbers, **hooks)


def old(*numbers):
    return chosen(*numbers, lastmod=lambda self, item: datetime(2020, 1, 1, tzinfo=timezone.utc))


def urls(*numbers):
    return [f"{BASE}/{number}/" for number in numbers]


class Site:
    """A site that submits its exports to one engine."""

    def __init__(self, folder, engine, configure):
        self.folder, self.engine, self.configure = folder, engine, configure
        self.ping = engine.url.replace("indexnow", "ping")
        configure(INDEXNOW_URLS=[engine.url])

    def __call__(self, *numbers, b=None, **options):
        sitemaps = {"a": chosen(*numbers)} | ({} if b is None else {"b": b})
        arguments = {"submit": True, "output": self.folder, "engine": "serial", **options}
        return export(sitemaps=sitemaps, **arguments)

    def without_queue(self, *numbers, **options):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Ledger, "_write", full)
            return self(*numbers, **options)

    def submitted(self):
        requests, self.engine.requests[:] = [*self.engine.requests], []
        return sorted(url for request in requests for url in request.document["urlList"])

    def unqueued(self):
        return sorted(json.loads((self.folder / STATE / ROOT).read_text())["unqueued"])


@pytest.fixture
def run(folder, engine, configure, monkeypatch):
    # A host can be submitted again at once.
    monkeypatch.setattr("django_sitemaps09.export.notify.client.PAUSE", -1.0)
    return Site(folder, engine, configure)


def is_in(words, texts):
    return any(words in text for text in texts)


class TestChangesThatWereNotQueued:
    @pytest.mark.parametrize("place", [(Ledger, "_write"), (changes, "_lines")], ids=["write", "read"])
    def test_are_recorded_and_queued_by_the_next_run(self, run, monkeypatch, place):
        run(1)
        with monkeypatch.context() as patch:
            patch.setattr(*place, full)
            report = run(1, 2)
        assert (report.published, report.failures, run.submitted()) == (True, [], [])
        assert "No space left on device" in report.warnings[0]
        run(1, 2, submit=False)
        assert is_in("could not be queued", submit(output=run.folder).failures)
        assert is_in("removed URLs are unknown", run(1, 2).warnings)
        assert (run.submitted(), submit(output=run.folder).failures) == (urls(1, 2), [])

    @pytest.mark.parametrize(("before", "numbers", "keys", "options"), [
        ([1], range(1, 5), {"INDEXNOW_MAX_URLS": 2}, {}),
        ([1], range(1, 5), {"INDEXNOW_MAX_URLS": 2}, {"changes": True}),
        ([1], range(10, 20), {"INDEXNOW_MAX_URLS": 2}, {}), ([1], [1, 2], {"INDEXNOW_KEY": None}, {}),
        ([], [1], {}, {}),
    ], ids=["too many", "too many, counted", "a mass change", "no key", "a first export"])  # fmt: skip
    def test_are_only_a_ping_if_none_of_them_would_be_queued(self, run, before, numbers, keys, options):
        run.configure(PING_URLS=[run.ping], **keys)
        if before:
            run(*before)
        run.engine.requests.clear()
        run.without_queue(*numbers, **options)
        assert run.unqueued() == ["sitemap.xml"]
        for _ in range(2):
            run(*numbers)
            assert run.unqueued() == []
        assert [request.method for request in run.engine.requests] == ["GET"]

    def test_of_a_new_section_with_old_rows_or_a_page_that_moved_on_are_queued_once(self, run):
        run(1)
        run.without_queue(1, b=old(5))
        run(1, b=old(5))
        assert run.submitted() == urls(5)
        run.without_queue(1, 2, b=old(5))
        run(2, 3, b=old(5))
        assert run.submitted() == urls(1, 2, 3)

    def test_stay_recorded_until_their_pages_can_be_read(self, run):
        run(1, b=chosen(5))
        run.without_queue(1, 2, b=chosen(5))
        (run.folder / PAGE).unlink()
        # An export of the other section alone does not write the missing page again.
        assert is_in(f"{PAGE} is missing or damaged", run(1, 2, b=chosen(5), names=["b"]).warnings)
        assert submit(output=run.folder).unqueued
        for _ in range(2):
            run(1, 2, b=chosen(5))
        assert {*run.submitted()} == {*urls(1, 2)}
        assert not submit(output=run.folder).unqueued

    @pytest.mark.parametrize("gzip", [True, False])
    def test_on_a_damaged_page_stay_recorded_and_all_others_are_queued(self, run, gzip):
        run(1, b=chosen(5), gzip=gzip)
        run.without_queue(1, 2, b=chosen(5, 6), gzip=gzip)
        [page] = run.folder.glob("sitemap-a-1.xml*")
        # The size is the same, and so is the number of URLs.
        content = page.read_bytes()
        page.write_bytes(content[:-6] + b"?" + content[-5:])
        warnings = run(1, 2, b=chosen(5, 6, 7), gzip=gzip).warnings
        [damage] = [text for text in warnings if f"{page.name} is missing or damaged" in text]
        assert ("--verify --repair" in damage, is_in("are queued now", warnings)) == (True, False)
        assert ({*run.submitted()}, {*run.unqueued()}) == ({*urls(5, 6, 7)}, {page.name, "sitemap.xml"})
        assert is_in("--verify --repair", submit(output=run.folder).failures)
        run(1, 2, b=chosen(5, 6, 7, 8), gzip=gzip)
        assert run.submitted() == urls(8)
        verify(output=run.folder, repair=True, sitemaps={"a": chosen(1, 2)}, gzip=gzip)
        assert is_in("are queued now", run(1, 2, b=chosen(5, 6, 7, 8), gzip=gzip).warnings)
        assert (run.submitted(), submit(output=run.folder).failures) == (urls(1, 2), [])

    def test_on_a_damaged_page_follow_their_rows_to_other_pages(self, run):
        run.configure(MAX_URLS=2)
        run(8)
        run.without_queue(8, 9)
        page = run.folder / PAGE
        # Its entries can still be read, so its row is not a change of the next run.
        page.write_bytes(page.read_bytes()[:-8] + bytes(8))
        run(1, 2, 8, 9)
        first = run.submitted()
        run(1, 2, 8, 9)
        assert (first, {*run.submitted(), *first}, run.unqueued()) == (urls(1, 2), {*urls(1, 2, 8, 9)}, [])

    @pytest.mark.parametrize("key", [None, {"shop.example.com": KEY}], ids=["no key", "other host"])
    def test_stay_recorded_if_there_is_no_key(self, run, key):
        run(1)
        run.without_queue(1, 2)
        run.configure(INDEXNOW_KEY=key, PING_URLS=[run.ping])
        assert is_in("still not queued: 1", run(1, 2).warnings)
        assert run.unqueued() == [PAGE, "sitemap.xml"]
        run(1, 2, 3)
        run.configure(INDEXNOW_KEY=KEY, PING_URLS=[])
        run.engine.requests.clear()
        run(1, 2, 3)
        assert (run.submitted(), run.unqueued()) == (urls(1, 2, 3), [])

    @pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_text("{")])
    def test_are_those_of_all_pages_if_the_manifest_is_lost(self, run, damage):
        run(1, b=chosen(5))
        run.without_queue(1, 2, b=chosen(5))
        damage(run.folder / STATE / ROOT)
        run(1, 2, b=chosen(5))
        assert ({*run.submitted()}, run.unqueued()) == ({*urls(1, 2, 5)}, [])

    def test_are_queued_even_if_the_next_run_changes_too_much(self, run):
        run.configure(INDEXNOW_MAX_URLS=3)
        run(1)
        run.without_queue(1, 2)
        assert is_in("more URLs than INDEXNOW_MAX_URLS", run(*range(10, 15)).warnings)
        assert run.submitted() == urls(1, 2)

    def test_are_dropped_before_the_urls_that_have_certainly_changed(self, run, monkeypatch):
        run.configure(INDEXNOW_MAX_URLS=2)
        monkeypatch.setattr("django_sitemaps09.export.notify.ledger.MAX_MESSAGE_URLS", 2)
        run(*range(5))
        run.without_queue(*range(6))
        assert is_in("URLs dropped", run(*range(8)).warnings)
        assert run.submitted() == urls(6, 7)


class TestWhatIsSubmitted:
    def test_is_what_was_added_or_removed_but_nothing_of_a_first_export(self, run):
        report = run(1, 2, 3)
        assert (report.published, run.engine.requests) == (True, [])
        assert "This is the first export to this target" in report.warnings[0]
        report = run(2, 3, 4)
        assert [found.accepted for found in report.submission.endpoints] == [2]
        assert report.warnings == run(2, 3, 4).warnings == []
        assert (len(run.engine.requests), run.submitted()) == (1, urls(1, 4))

    def test_is_nothing_if_too_much_changed_and_then_only_what_changes_next(self, run):
        run.configure(INDEXNOW_MAX_URLS=3)
        run(1)
        report = run(2, 3, 4)
        assert "more URLs than INDEXNOW_MAX_URLS (3)" in report.warnings[0]
        assert (report.changes, run.engine.requests) == (None, [])
        assert ([*run(3, 4).warnings], run.submitted()) == ([], urls(2))

    def test_is_nothing_if_over_twenty_times_too_much_changed_and_is_not_compared(self, run, monkeypatch):
        run.configure(INDEXNOW_MAX_URLS=2)
        run(1, b=chosen(2))
        read, original = set(), changes._lines

        def recorded(store, files):
            read.update(name.rpartition("/")[2] for name in files)
            return original(store, files)

        monkeypatch.setattr(changes, "_lines", recorded)
        report = run(*range(3, 43), b=chosen(50))
        assert (read, report.changes, run.engine.requests) == ({PAGE}, None, [])
        assert "This run changed or moved more URLs than INDEXNOW_MAX_URLS (2)" in report.warnings[0]
        assert run(1, b=chosen(2), changes=True).changes == {"added": 2, "removed": 41, "changed": 0}
        assert read == {PAGE, "sitemap-b-1.xml.gz"}

    def test_is_nothing_if_urls_only_move_to_another_section_whether_few_or_many(self, run):
        run.configure(INDEXNOW_MAX_URLS=1)
        run(*range(6), b=chosen(9))
        assert run(0, b=chosen(9, *range(1, 6))).warnings == []
        report = run(0, 9, *range(1, 6), remove=["b"], changes=True)
        assert report.changes == {"added": 0, "removed": 0, "changed": 0}
        run(*range(12), b=chosen(20), submit=False)
        report = run(0, b=chosen(20, *range(1, 12)))
        assert "changed or moved more URLs than INDEXNOW_MAX_URLS (1)" in report.warnings[0]
        assert run.engine.requests == []

    def test_is_changed_in_the_section_that_lists_it_now(self, run):
        run(1, 2, b=chosen(9))
        notices = Notifications()
        one, nine = urls(1, 9)
        run(2, b=old(1), changes=True, on_published=notices)
        assert notices.urls == [("changed", "b", one), ("removed", "b", nine)]
        run(1, 2, b=chosen(9), changes=True, on_published=notices)
        assert notices.urls == [("changed", "a", one), ("added", "b", nine)]

    def test_is_a_url_of_two_sections_once(self, run):
        run(1, 2, b=chosen(2, 3))
        run(1, b=chosen(3))
        assert run.submitted() == urls(2)
        run(1, 4, b=chosen(3, 4))
        assert run.submitted() == urls(4)

    def test_needs_a_key_for_the_host(self, run):
        run.configure(INDEXNOW_KEY={"shop.example.com": KEY})
        run(1)
        reason = "INDEXNOW_KEY has no key for this host: 1."
        expected = f"URLs on www.example.com not queued for IndexNow, because {reason}"
        assert (run(1, 2).warnings, run.engine.requests) == ([expected], [])

    def test_is_not_what_a_strict_run_refused_to_publish_or_a_dry_run_found(self, run):
        run(1)
        before = states(run.folder, hidden=True)
        assert (run(1, 2, dry_run=True).submission, states(run.folder, hidden=True)) == (None, before)
        assert not run(1, 2, b=chosen(3, priority=7.5), strict=True).published
        assert (run.engine.requests, indexed(run.folder)) == ([], {*urls(1)})
        run(1, 2, 3)
        assert run.submitted() == urls(2, 3)


def test_the_setting_submit_is_off_without_a_trace_and_submits_each_export_if_it_is_on(run):
    run(1, submit=None)
    report = run(1, 2, submit=None)
    assert (report.submission, report.changes, report.as_dict()["submission"]) == (None, None, None)
    assert not (run.folder / STATE / FOLDER).exists()
    run.configure(SUBMIT=True)
    run(1, 2, 3, submit=None)
    run(1, 2, 3, 4, submit=False)
    assert run.submitted() == urls(3)


def test_a_submission_without_an_endpoint_is_an_error_before_anything_is_written(run):
    run.configure(INDEXNOW_KEY=None)
    with pytest.raises(ImproperlyConfigured, match="There is nothing to submit to"):
        run(1)
    assert not run.folder.exists()


class TestAFailure:
    @pytest.mark.parametrize("answer", [403, (429, {}), "nothing", "slow"])
    def test_is_a_warning_and_the_urls_are_sent_with_the_next_run(self, run, answer):
        run.configure(SUBMIT_TIMEOUT=0.2, SUBMIT_DEADLINE=0.3)
        run(1)
        run.engine.answer(answer)
        report = run(1, 2)
        assert (report.published, report.failures, indexed(run.folder)) == (True, [], {*urls(1, 2)})
        [warning] = report.warnings
        assert (run.engine.url in warning, KEY in warning) == (True, False)
        if answer == 403:
            run.engine.answer(200)
            run.engine.requests.clear()
            run(1, 2, 3)
            run(1, 2, 3)
            assert (len(run.engine.requests), run.submitted()) == (1, urls(2, 3))

    @pytest.mark.parametrize("times", [1, 2])
    def test_to_make_changes_pending_loses_none(self, run, monkeypatch, times):
        run(1)
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "activate", full)
            assert "No space left on device" in run(1, 2).warnings[0]
            if times == 2:
                run(1, 2, 3)
        assert run.engine.requests == []
        if times == 1:
            run(1, 2, 3, submit=False)
        run(1, 2, 3)
        assert run.submitted() == (urls(2) if times == 1 else urls(2, 3))

    def test_to_keep_the_changed_urls_on_a_full_disk_is_a_warning(self, run, monkeypatch):
        run(1)
        connect = sqlite3.connect

        def small(*arguments, **options):
            table = connect(*arguments, **options)
            table.execute("PRAGMA max_page_count = 5")
            return table

        with monkeypatch.context() as patch:
            patch.setattr(changes, "sqlite3", SimpleNamespace(connect=small))
            report = run(*range(500))
        assert (report.published, run.engine.requests) == (True, [])
        assert is_in("database or disk is full", report.warnings)
        run(*range(500))
        assert run.submitted() == sorted(urls(*range(500)))

    def test_while_comparing_is_a_warning_unless_changes_were_requested(self, run, monkeypatch):
        run(1)
        unreadable = Mock(side_effect=ExportError("the storage is gone"))
        monkeypatch.setattr("django_sitemaps09.export.publishing.changes.Spool.fill", unreadable)
        assert "the storage is gone" in run(1, 2).warnings[0]
        assert indexed(run.folder) == {*urls(1, 2)}
        with pytest.raises(ExportError, match="the storage is gone"):
            run(1, 2, 3, changes=True)

    def test_of_the_submission_itself_is_a_warning(self, run, monkeypatch):
        run(1)
        # A storage can raise anything.
        monkeypatch.setattr(Ledger, "compact", lambda *arguments: 1 / 0)
        report = run(1, 2)
        assert report.published
        assert "The changes are not submitted before the next run" in report.warnings[0]


def test_no_host_waits_for_search_engines_before_it_is_exported(folder, engine, configure):
    configure(INDEXNOW_URLS=[engine.url])
    hosts = ["https://a.example.com", "https://b.example.com"]
    requests, options = [], {"output": folder, "submit": True, "engine": "serial"}
    options["progress"] = lambda section: requests.append(len(engine.requests))
    for numbers in ((1,), (1, 2)):
        reports = export_hosts(hosts, sitemaps={"a": chosen(*numbers)}, **options)
    assert (requests, engine.submitted) == ([0, 0, 0, 0], [f"{host}/2/" for host in hosts])
    assert all(report.submission and not report.submission.failures for report in reports.values())


@pytest.mark.parametrize("name", [f"{STATE}/{ROOT}", "sitemap.xml"])
def test_a_repair_refuses_a_manifest_that_lists_other_pages_than_the_index(run, name):
    run(1, submit=False)
    older = (run.folder / name).read_bytes()
    run(1, b=chosen(2), submit=False)
    (run.folder / name).write_bytes(older)
    before = (run.folder / "sitemap.xml").read_bytes()
    with pytest.raises(ExportError, match=r"different pages, such as sitemap-b-1\.xml\.gz"):
        verify(output=run.folder, repair=True, sitemaps={"a": chosen(1), "b": chosen(2)})
    assert (run.folder / "sitemap.xml").read_bytes() == before
