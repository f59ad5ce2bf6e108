"""Submissions: what each response does to what is pending, and what is reported."""

from __future__ import annotations

import json
import threading
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import stores
from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.notify import EndpointReport, Submission, submission, submit, submit_hosts
from django_sitemaps09.notify.client import Client
from django_sitemaps09.notify.engines import Outcome, all_keys, key_for
from django_sitemaps09.notify.ledger import FOLDER, Ledger, Message
from django_sitemaps09.state import manifest
from django_sitemaps09.state.manifest import Manifest
from django_sitemaps09.stores import LocalStore
from tests.support.search_engines import KEY, running_engine

pytestmark = pytest.mark.sitemaps09(INDEXNOW_KEY=KEY)

HOST = "www.example.com"
URLS = tuple(f"https://{HOST}/{n}" for n in range(3))


class Target:
    """A target with pending messages, and submissions of them without long pauses."""

    def __init__(self, store):
        self.store = store
        self.state = stores.state_store(store)
        self.ledger = Ledger(self.state)
        self.runs = 0

    def queue(self, *urls, host=HOST, kind="indexnow"):
        self.runs += 1
        batches = (urls[first : first + 10_000] for first in range(0, len(urls), 10_000))
        self.ledger.prepare(f"run-{self.runs}", [Message(kind, host, batch) for batch in batches])
        self.ledger.activate(f"run-{self.runs}")

    def send(self, **options):
        client = Client(**{"timeout": 5, "seconds": 20, "backoff": 0.001, **options})
        try:
            return submission.send(self.store, self.state, client, {})
        finally:
            client.close()

    def pending(self):
        messages = map(self.ledger.read, self.ledger.names())
        return sorted(url for message in messages if message for url in message.urls)


@pytest.fixture
def target(folder, engine, configure):
    configure(INDEXNOW_URLS=[engine.url])
    return Target(LocalStore(folder))


class TestIndexNow:
    @pytest.mark.parametrize("status", [200, 202])
    def test_an_accepted_message_is_sent_once(self, target, engine, status):
        engine.answer(status)
        target.queue(*URLS)
        result = target.send()
        [report] = result.endpoints
        assert (report.accepted, report.pending, report.status) == (3, 0, status)
        assert result.failures == []
        [request] = engine.requests
        assert request.document == {"host": HOST, "key": KEY, "urlList": list(URLS)}
        assert target.send().endpoints == ()
        assert len(engine.requests) == 1

    @pytest.mark.parametrize("status", [400, 413, 422])
    def test_a_rejected_message_is_reported_and_not_sent_again(self, target, engine, status):
        engine.answer(status)
        target.queue(*URLS)
        result = target.send()
        assert [(report.rejected, report.pending) for report in result.endpoints] == [(3, 0)]
        assert f"{status}: " in result.failures[0]
        assert "not sent again" in result.failures[0]
        assert target.pending() == []

    @pytest.mark.parametrize("answer", [301, 401, 403, 404, 500, "garbage", "nothing", (429, {})])
    def test_anything_else_stays_pending_and_is_sent_with_the_next_run(
        self, target, engine, answer, monkeypatch
    ):
        engine.answer(answer)
        target.queue(*URLS)
        result = target.send(seconds=5)
        assert [(report.accepted, report.pending) for report in result.endpoints] == [(0, 3)]
        assert len(result.failures) == 1
        assert target.pending() == [*URLS]
        engine.answer(200)
        engine.requests.clear()
        hours_later = time.time() + 7_200
        monkeypatch.setattr("django_sitemaps09.notify.submission.time.time", lambda: hours_later)
        assert [report.accepted for report in target.send().endpoints] == [3]
        assert engine.submitted == [*URLS]
        assert target.pending() == []

    @pytest.mark.parametrize("answer", ["silent", "slow"])
    def test_a_slow_engine_leaves_the_message_pending(self, target, engine, answer):
        engine.answer(answer)
        target.queue(*URLS)
        started = time.monotonic()
        assert [report.pending for report in target.send(timeout=0.2, seconds=0.3).endpoints] == [3]
        assert time.monotonic() - started < 10
        assert target.pending() == [*URLS]

    @pytest.mark.parametrize("status", [403, 429])
    def test_a_rejected_key_or_too_many_requests_stop_only_their_own_host(
        self, target, engine, configure, status
    ):
        configure(INDEXNOW_MAX_URLS=20_000)
        engine.answer(status, 200)
        target.queue(*(f"https://a.b/{n:05}" for n in range(12_000)), host="a.b")
        target.queue("https://c.d/", host="c.d")
        # Merged into two messages for the first host and one for the second.
        result = target.send(seconds=5)
        found = {report.host: (report.messages, report.accepted) for report in result.endpoints}
        assert found == {"c.d": (1, 1), "a.b": (1, 0)}
        if status == 403:
            assert "Check that its key file is served by a.b" in result.failures[0]
        assert KEY not in " ".join(result.failures)

    def test_a_host_is_submitted_again_only_after_five_minutes(self, target, engine, monkeypatch):
        target.queue(URLS[0])
        target.send()
        target.queue(URLS[1])
        target.queue("https://c.d/", host="c.d")
        result = target.send()
        assert engine.submitted == ["https://c.d/", URLS[0]]
        assert result.failures == []
        [waiting] = [report for report in result.endpoints if report.host == HOST]
        assert waiting.pending == 1
        assert waiting.resumes is not None
        assert 290 < waiting.resumes - time.time() <= 300
        monkeypatch.setattr("django_sitemaps09.notify.submission.time.time", lambda: waiting.resumes)
        target.send()
        assert engine.submitted[-1] == URLS[1]

    @pytest.mark.parametrize("status", [429, 503])
    def test_a_busy_engine_is_asked_again_when_it_wishes(self, target, engine, status):
        engine.answer((status, {"Retry-After": "3600"}))
        target.queue(*URLS)
        [report] = target.send().endpoints
        assert report.pending == 3
        assert report.resumes is not None
        assert 3_590 < report.resumes - time.time() <= 3_600
        engine.answer(200)
        assert [report.pending for report in target.send().endpoints] == [3]
        assert len(engine.requests) == 1

    def test_a_clock_that_was_wrong_stops_no_later_submission(self, target, engine):
        target.queue(URLS[0])
        with pytest.MonkeyPatch.context() as patch:
            years_later = time.time() + 1e8
            patch.setattr("django_sitemaps09.notify.submission.time.time", lambda: years_later)
            target.send()
        target.queue(URLS[1])
        target.send()
        assert engine.submitted == [*URLS[:2]]

    def test_a_full_disk_prevents_the_submission_or_does_not_hide_its_result(
        self, target, engine, monkeypatch
    ):
        original, failing = Ledger.write_pauses, [True]

        def write_pauses(*arguments):
            if failing.pop():
                raise OSError(28, "No space left on device")
            original(*arguments)

        monkeypatch.setattr(Ledger, "write_pauses", write_pauses)
        target.queue(*URLS)
        with pytest.raises(OSError, match="No space left"):
            target.send()
        assert engine.requests == []
        failing[:] = [True, False]
        assert [report.accepted for report in target.send().endpoints] == [3]

    @pytest.mark.parametrize("is_removed", [False, True])
    def test_each_endpoint_gets_each_message_once_unless_it_is_removed(
        self, target, engine, configure, is_removed
    ):
        with running_engine() as other:
            configure(INDEXNOW_URLS=[engine.url, other.url])
            other.answer(403, 200)
            target.queue(*URLS)
            assert [report.accepted for report in target.send().endpoints] == [3, 0]
            assert target.pending() == [*URLS]
            if is_removed:
                configure(INDEXNOW_URLS=[engine.url])
            assert [report.accepted for report in target.send().endpoints] == ([] if is_removed else [3])
            assert (len(engine.requests), len(other.requests)) == (1, 1 if is_removed else 2)
        assert target.pending() == []

    def test_urls_wait_for_the_key_of_their_host(self, target, engine, configure):
        configure(INDEXNOW_KEY={"c.d": KEY})
        target.queue(*URLS)
        assert target.send().failures == [f"{engine.url} ({HOST}): INDEXNOW_KEY has no key for this host"]
        assert engine.requests == []
        configure(INDEXNOW_KEY={HOST: KEY})
        assert target.send().failures == []

    def test_only_the_newest_urls_up_to_the_limit_stay_pending(self, target, engine, configure):
        configure(INDEXNOW_MAX_URLS=2)
        for url in URLS:
            target.queue(url)
        result = target.send()
        assert result.dropped == 1
        assert "URLs dropped" in result.failures[0]
        assert engine.submitted == [*URLS[1:]]


class TestPings:
    @pytest.fixture(autouse=True)
    def _pinged(self, target, engine, configure):
        configure(PING_URLS=[engine.url, f"{engine.url}?token=secret"], INDEXNOW_KEY=None)
        target.queue(f"https://{HOST}/sitemap.xml", kind="ping")

    def test_request_each_endpoint_with_the_url_of_the_sitemap(self, target, engine):
        result = target.send()
        assert [request.method for request in engine.requests] == ["GET", "GET"]
        queries = [parse_qs(urlsplit(request.path).query) for request in engine.requests]
        sitemap = [f"https://{HOST}/sitemap.xml"]
        assert queries == [{"sitemap": sitemap}, {"token": ["secret"], "sitemap": sitemap}]
        assert "secret" not in json.dumps(result.as_dict())
        assert [report.endpoint for report in result.endpoints] == [engine.url, engine.url]
        assert target.pending() == []

    @pytest.mark.parametrize("status", [404, 410, 301])
    def test_are_reported_and_not_repeated_if_rejected(self, target, engine, status):
        engine.answer(status)
        result = target.send()
        assert [report.rejected for report in result.endpoints] == [1, 1]
        assert ("secret" in " ".join(result.failures), target.pending()) == (False, [])

    @pytest.mark.parametrize("answer", [500, "garbage", "nothing", 429])
    def test_are_repeated_by_the_next_run_after_a_failure(self, target, engine, answer):
        engine.answer(answer)
        assert [report.pending for report in target.send().endpoints] == [1, 1]
        assert target.pending() == [f"https://{HOST}/sitemap.xml"]


def test_a_submission_and_an_export_do_not_wait_for_each_other(target, engine):
    engine.answer("silent")
    target.queue(*URLS)
    with stores.exclusive_lock(target.store):
        thread = threading.Thread(target=target.send, kwargs={"timeout": 20})
        thread.start()
        while not engine.requests:
            time.sleep(0.01)
        target.queue("https://c.d/", host="c.d")
        engine.answer(200)
        engine.ended.set()
        thread.join(20)
    assert {*URLS} <= {*engine.submitted}
    assert "https://c.d/" in target.pending()


class TestSubmitInPython:
    def test_without_an_export_is_an_error_and_creates_no_folder(self, target, folder):
        with pytest.raises(ExportError, match=r"Nothing was exported to .* with --base-url"):
            submit(output=folder)
        with pytest.raises(ExportError, match="omit --base-url"):
            submit_hosts([f"https://{HOST}"], output=folder)
        assert not folder.exists()

    def test_a_host_whose_export_has_no_folder_is_submitted(self, target, engine, folder):
        target.queue(*URLS)
        root = Manifest("run-1", f"https://{HOST}/", f"https://{HOST}").root()
        target.state.write(manifest.ROOT, root)
        results = submit_hosts([f"https://{HOST}", "https://b.example"], output=folder)
        assert [submission.target for submission in results.values()] == [
            str(folder),
            str(folder / "b.example"),
        ]
        assert [sum(report.accepted for report in result.endpoints) for result in results.values()] == [
            3,
            0,
        ]
        # What is pending in the folder of the host comes first.
        Target(LocalStore(folder / HOST)).queue(*URLS[:2])
        [result] = submit_hosts([f"https://{HOST}"], output=folder, dry_run=True).values()
        assert [report.pending for report in result.endpoints] == [2]

    def test_a_damaged_message_fails_each_submission_until_it_is_removed(self, target, engine, folder):
        target.queue(*URLS)
        [name] = target.ledger.names()
        target.state.write(f"{FOLDER}/{name}", b"{")
        dry_run = submit(output=folder, dry_run=True)
        assert (dry_run.endpoints, dry_run.damaged) == ((), (f"{FOLDER}/{name}",))
        assert target.ledger.names() == [name]
        path = f"{FOLDER}/{name.replace('pending', 'damaged')}"
        for is_dry in (False, True, False):
            result = submit(output=folder, dry_run=is_dry)
            assert result.damaged == (path,)
            assert path in result.failures[0]
        target.state.delete(path)
        assert submit(output=folder).failures == []
        assert engine.requests == []

    def test_pauses_that_are_a_folder_are_an_error_and_a_link_is_replaced(
        self, target, engine, folder, tmp_path
    ):
        target.queue(*URLS)
        path = folder / stores.STATE / FOLDER / "pauses.json"
        path.mkdir()
        with pytest.raises(ExportError, match=rf"{path} is a folder\. Remove it\."):
            target.send()
        assert engine.requests == []
        path.rmdir()
        path.symlink_to(tmp_path / "other.json")
        assert target.send().failures == []
        assert (len(engine.requests), path.is_symlink(), (tmp_path / "other.json").exists()) == (
            1,
            False,
            False,
        )

    def test_a_storage_that_fails_afterwards_does_not_hide_what_was_accepted(
        self, target, engine, monkeypatch
    ):
        target.queue(*URLS)
        names, opened = LocalStore.names, LocalStore.open

        def failing(read):
            def call(store, *arguments):
                if engine.requests:
                    raise ExportError("the storage is gone")
                return read(store, *arguments)

            return call

        monkeypatch.setattr(LocalStore, "names", failing(names))
        monkeypatch.setattr(LocalStore, "open", failing(opened))
        [report] = target.send().endpoints
        assert report.accepted == 3

    def test_an_engine_that_is_not_available_is_not_asked_for_each_host_or_target(
        self, target, engine, folder, monkeypatch
    ):
        monkeypatch.setattr(submission, "new_client", lambda: Client(5, 20, backoff=0.001))
        engine.answer(500)
        hosts = {"a.b": ["a.b", "e.f"], "c.d": ["c.d"]}
        for name, queued in hosts.items():
            place = Target(LocalStore(folder / name))
            for host in queued:
                place.queue(f"https://{host}/", host=host)
        results = submit_hosts([f"https://{host}" for host in hosts], output=folder)
        assert [[report.pending for report in result.endpoints] for result in results.values()] == [
            [1, 1],
            [1],
        ]
        # One message with three retries.
        assert len(engine.requests) == 4

    def test_a_dry_run_sends_and_changes_nothing(self, target, engine, folder):
        target.queue(*URLS)
        target.queue(*URLS, *(f"https://{HOST}/more/{n}" for n in range(9)))
        names = target.ledger.names()
        result = submit(output=folder, dry_run=True)
        [report] = result.endpoints
        assert (report.pending, report.messages, report.accepted) == (15, 2, 0)
        assert report.examples == (*URLS, *URLS[:2])
        assert engine.requests == []
        assert target.ledger.names() == names

    def test_a_missing_extra_is_an_error(self, folder, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "urllib3", None)
        with pytest.raises(ImproperlyConfigured, match=r"django-sitemaps09\[indexnow\]"):
            submit(output=folder)


def test_a_remote_state_has_a_lease(memory, engine, configure, shared_cache):
    configure(INDEXNOW_URLS=[engine.url])
    target = Target(memory)
    target.queue(*URLS)
    with (
        stores.exclusive_lock(memory, "submission"),
        pytest.raises(ExportRunningError, match="this one has submitted nothing"),
    ):
        target.send()
    assert target.send().failures == []
    assert engine.submitted == [*URLS]


def test_a_single_key_applies_to_every_host(configure):
    configure(INDEXNOW_KEY="0123456789")
    assert key_for("a.b") == key_for("c.d") == "0123456789"
    assert [*all_keys()] == ["0123456789"]


def test_each_outcome_is_counted_and_a_problem_stays():
    report = EndpointReport("indexnow", "https://a.b/", "c.d")
    for verdict, problem in (("rejected", "bad"), ("accepted", None), ("pending", None)):
        report.count(Outcome(verdict, problem), 2)
    assert (report.accepted, report.rejected, report.pending, report.problem) == (2, 2, 2, "bad")


def test_json_has_the_failures_and_times_with_a_zone():
    report = EndpointReport("ping", "https://a.b/", "c.d", pending=1, problem="bad", resumes=0.0)
    waiting = EndpointReport("ping", "https://a.b/", "c.d", resumes=1_800_000_000.0)
    document = json.loads(json.dumps(Submission("public", (report, waiting), 0.5, dropped=1).as_dict()))
    assert document["endpoints"][1]["resumes"] == "2027-01-15T08:00:00+00:00"
    assert document["failures"] == [
        "https://a.b/ (c.d): bad",
        "public: URLs dropped, because more than INDEXNOW_MAX_URLS were pending: 1.",
    ]
