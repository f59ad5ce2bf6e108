"""Submissions: what each response does to what is pending, and what is reported."""

from __future__ import annotations

import json
import threading
import time
from contextlib import closing
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
SITEMAP = f"https://{HOST}/sitemap.xml"


class Target:
    """A target with pending messages, and submissions of them without long pauses."""

    def __init__(self, store):
        self.store, self.state = store, stores.state_store(store)
        self.ledger, self.runs = Ledger(self.state), 0

    def queue(self, *urls, host=HOST, kind="indexnow"):
        self.runs += 1
        batches = (urls[first : first + 10_000] for first in range(0, len(urls), 10_000))
        self.ledger.prepare(f"run-{self.runs}", [Message(kind, host, batch) for batch in batches])
        self.ledger.activate(f"run-{self.runs}")

    def send(self, **options):
        with closing(Client(**{"timeout": 5, "seconds": 20, "backoff": 0.001, **options})) as client:
            return submission.send(self.store, self.state, client, {})

    def pending(self):
        messages = map(self.ledger.read, self.ledger.names())
        return sorted(url for message in messages if message for url in message.urls)


@pytest.fixture
def target(folder, engine, configure):
    configure(INDEXNOW_URLS=[engine.url])
    return Target(LocalStore(folder))


@pytest.fixture
def at(monkeypatch):
    """Return a function that sets the time of submissions."""
    return lambda now: monkeypatch.setattr("django_sitemaps09.notify.submission.time.time", lambda: now)


def counts(result):
    """Return the accepted, rejected and pending URLs of each endpoint."""
    return [(report.accepted, report.rejected, report.pending) for report in result.endpoints]


@pytest.mark.parametrize(("answer", "found"), [
    *((answer, (3, 0, 0)) for answer in (200, 202)), *((answer, (0, 3, 0)) for answer in (400, 413, 422)),
    *((answer, (0, 0, 3)) for answer in (301, 401, 403, 404, 500, "garbage", "nothing", (429, {}))),
])  # fmt: skip
def test_a_message_is_accepted_or_rejected_once_or_sent_again(target, engine, at, answer, found):
    engine.answer(answer)
    target.queue(*URLS)
    result = target.send(seconds=5)
    assert (counts(result), len(result.failures)) == ([found], not found[0])
    assert engine.requests[0].document == {"host": HOST, "key": KEY, "urlList": [*URLS]}
    if found[1]:
        assert f"{answer}: " in result.failures[0]
        assert "not sent again" in result.failures[0]
    assert target.pending() == ([*URLS] if found[2] else [])
    engine.answer(200)
    engine.requests.clear()
    at(time.time() + 7_200)
    assert counts(target.send()) == ([(3, 0, 0)] if found[2] else [])
    assert (engine.submitted, target.pending()) == ([*URLS] if found[2] else [], [])


@pytest.mark.parametrize("answer", ["silent", "slow"])
def test_a_slow_engine_leaves_the_message_pending(target, engine, answer):
    engine.answer(answer)
    target.queue(*URLS)
    started = time.monotonic()
    assert counts(target.send(timeout=0.2, seconds=0.3)) == [(0, 0, 3)]
    assert (time.monotonic() - started < 10, target.pending()) == (True, [*URLS])


@pytest.mark.parametrize("status", [403, 429])
def test_a_rejected_key_or_too_many_requests_stop_only_their_own_host(target, engine, configure, status):
    configure(INDEXNOW_MAX_URLS=20_000)
    engine.answer(status, 200)
    target.queue(*(f"https://a.b/{n:05}" for n in range(12_000)), host="a.b")
    target.queue("https://c.d/", host="c.d")
    # Merged into two messages for the first host and one for the second.
    result = target.send(seconds=5)
    found = {report.host: (report.messages, report.accepted) for report in result.endpoints}
    assert found == {"c.d": (1, 1), "a.b": (1, 0)}
    assert status == 429 or "Check that its key file is served by a.b" in result.failures[0]
    assert KEY not in " ".join(result.failures)


def test_a_host_is_submitted_again_only_after_five_minutes(target, engine, at):
    target.queue(URLS[0])
    target.send()
    target.queue(URLS[1])
    target.queue("https://c.d/", host="c.d")
    result = target.send()
    assert (engine.submitted, result.failures) == (["https://c.d/", URLS[0]], [])
    [waiting] = [report for report in result.endpoints if report.host == HOST]
    assert waiting.pending == 1
    assert 290 < waiting.resumes - time.time() <= 300
    at(waiting.resumes)
    target.send()
    assert engine.submitted[-1] == URLS[1]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_engine_is_asked_again_when_it_wishes(target, engine, status):
    engine.answer((status, {"Retry-After": "3600"}))
    target.queue(*URLS)
    [report] = target.send().endpoints
    assert report.pending == 3
    assert 3_590 < report.resumes - time.time() <= 3_600
    engine.answer(200)
    assert (counts(target.send()), len(engine.requests)) == ([(0, 0, 3)], 1)


def test_a_clock_that_was_wrong_stops_no_later_submission(target, engine, monkeypatch):
    now = time.time()
    for url, clock in ((URLS[0], now + 1e8), (URLS[1], now)):
        monkeypatch.setattr("django_sitemaps09.notify.submission.time.time", lambda clock=clock: clock)
        target.queue(url)
        target.send()
    assert engine.submitted == [*URLS[:2]]


def test_a_full_disk_prevents_the_submission_or_does_not_hide_its_result(target, engine, monkeypatch):
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
    assert counts(target.send()) == [(3, 0, 0)]


@pytest.mark.parametrize("is_removed", [False, True])
def test_each_endpoint_gets_each_message_once_unless_it_is_removed(target, engine, configure, is_removed):
    with running_engine() as other:
        configure(INDEXNOW_URLS=[engine.url, other.url])
        other.answer(403, 200)
        target.queue(*URLS)
        assert (counts(target.send()), target.pending()) == ([(3, 0, 0), (0, 0, 3)], [*URLS])
        if is_removed:
            configure(INDEXNOW_URLS=[engine.url])
        assert counts(target.send()) == ([] if is_removed else [(3, 0, 0)])
        assert (len(engine.requests), len(other.requests)) == (1, 1 if is_removed else 2)
    assert target.pending() == []


def test_urls_wait_for_the_key_of_their_host_which_a_single_key_is_for_all(target, engine, configure):
    configure(INDEXNOW_KEY={"c.d": KEY})
    target.queue(*URLS)
    assert target.send().failures == [f"{engine.url} ({HOST}): INDEXNOW_KEY has no key for this host"]
    assert engine.requests == []
    configure(INDEXNOW_KEY={HOST: KEY})
    assert target.send().failures == []
    configure(INDEXNOW_KEY="0123456789")
    assert [key_for("a.b"), key_for("c.d"), *all_keys()] == ["0123456789"] * 3


def test_only_the_newest_urls_up_to_the_limit_stay_pending(target, engine, configure):
    configure(INDEXNOW_MAX_URLS=2)
    for url in URLS:
        target.queue(url)
    result = target.send()
    assert (result.dropped, "URLs dropped" in result.failures[0]) == (1, True)
    assert engine.submitted == [*URLS[1:]]


@pytest.mark.parametrize(("answer", "found"), [
    (200, (1, 0, 0)), *((answer, (0, 1, 0)) for answer in (404, 410, 301)),
    *((answer, (0, 0, 1)) for answer in (500, "garbage", "nothing", 429)),
])  # fmt: skip
def test_a_ping_requests_each_endpoint_until_it_answers(target, engine, configure, answer, found):
    configure(PING_URLS=[engine.url, f"{engine.url}?token=secret"], INDEXNOW_KEY=None)
    target.queue(SITEMAP, kind="ping")
    engine.answer(answer)
    result = target.send()
    assert (counts(result), target.pending()) == ([found, found], [SITEMAP] if found[2] else [])
    assert "secret" not in json.dumps(result.as_dict())
    assert [report.endpoint for report in result.endpoints] == [engine.url, engine.url]
    assert {request.method for request in engine.requests} == {"GET"}
    queries = [parse_qs(urlsplit(request.path).query) for request in engine.requests]
    assert queries[0] == {"sitemap": [SITEMAP]}
    assert queries[-1] == {"token": ["secret"], "sitemap": [SITEMAP]}
    assert found[2] or len(engine.requests) == 2


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


def test_a_submission_without_an_export_is_an_error_and_creates_no_folder(target, folder, monkeypatch):
    with pytest.raises(ExportError, match=r"Nothing was exported to .* with --base-url"):
        submit(output=folder)
    with pytest.raises(ExportError, match="omit --base-url"):
        submit_hosts([f"https://{HOST}"], output=folder)
    monkeypatch.setitem(__import__("sys").modules, "urllib3", None)
    with pytest.raises(ImproperlyConfigured, match=r"django-sitemaps09\[indexnow\]"):
        submit(output=folder)
    assert not folder.exists()


def test_a_host_whose_export_has_no_folder_is_submitted(target, engine, folder):
    target.queue(*URLS)
    target.state.write(manifest.ROOT, Manifest("run-1", f"https://{HOST}/", f"https://{HOST}").root())
    first, second = submit_hosts([f"https://{HOST}", "https://b.example"], output=folder).values()
    assert (first.target, counts(first)) == (str(folder), [(3, 0, 0)])
    assert (second.target, counts(second)) == (str(folder / "b.example"), [])
    # What is pending in the folder of the host comes first.
    Target(LocalStore(folder / HOST)).queue(*URLS[:2])
    [result] = submit_hosts([f"https://{HOST}"], output=folder, dry_run=True).values()
    assert counts(result) == [(0, 0, 2)]


def test_a_damaged_message_fails_each_submission_until_it_is_removed(target, engine, folder):
    target.queue(*URLS)
    [name] = target.ledger.names()
    target.state.write(f"{FOLDER}/{name}", b"{")
    dry_run = submit(output=folder, dry_run=True)
    assert (dry_run.endpoints, dry_run.damaged) == ((), (f"{FOLDER}/{name}",))
    assert target.ledger.names() == [name]
    path = f"{FOLDER}/{name.replace('pending', 'damaged')}"
    for is_dry in (False, True, False):
        result = submit(output=folder, dry_run=is_dry)
        assert (result.damaged, path in result.failures[0]) == ((path,), True)
    target.state.delete(path)
    assert (submit(output=folder).failures, engine.requests) == ([], [])


def test_pauses_that_are_a_folder_are_an_error_and_a_link_is_replaced(target, engine, folder, tmp_path):
    target.queue(*URLS)
    path = folder / stores.STATE / FOLDER / "pauses.json"
    path.mkdir()
    with pytest.raises(ExportError, match=rf"{path} is a folder\. Remove it\."):
        target.send()
    assert engine.requests == []
    path.rmdir()
    path.symlink_to(tmp_path / "other.json")
    assert (target.send().failures, len(engine.requests)) == ([], 1)
    assert (path.is_symlink(), (tmp_path / "other.json").exists()) == (False, False)


def test_a_storage_that_fails_afterwards_does_not_hide_what_was_accepted(target, engine, monkeypatch):
    target.queue(*URLS)

    def failing(read):
        def call(store, *arguments):
            if engine.requests:
                raise ExportError("the storage is gone")
            return read(store, *arguments)

        return call

    for name in ("names", "open"):
        monkeypatch.setattr(LocalStore, name, failing(getattr(LocalStore, name)))
    assert counts(target.send()) == [(3, 0, 0)]


def test_an_unavailable_engine_is_not_asked_for_each_host(target, engine, folder, monkeypatch):
    monkeypatch.setattr(submission, "new_client", lambda: Client(5, 20, backoff=0.001))
    engine.answer(500)
    hosts = {"a.b": ["a.b", "e.f"], "c.d": ["c.d"]}
    for name, queued in hosts.items():
        place = Target(LocalStore(folder / name))
        for host in queued:
            place.queue(f"https://{host}/", host=host)
    results = submit_hosts([f"https://{host}" for host in hosts], output=folder)
    assert [*map(counts, results.values())] == [[(0, 0, 1), (0, 0, 1)], [(0, 0, 1)]]
    # One message with three retries.
    assert len(engine.requests) == 4


def test_a_dry_run_sends_and_changes_nothing(target, engine, folder):
    target.queue(*URLS)
    target.queue(*URLS, *(f"https://{HOST}/more/{n}" for n in range(9)))
    names = target.ledger.names()
    [report] = submit(output=folder, dry_run=True).endpoints
    assert (report.pending, report.messages, report.accepted) == (15, 2, 0)
    assert report.examples == (*URLS, *URLS[:2])
    assert (engine.requests, target.ledger.names()) == ([], names)


def test_a_remote_state_has_a_lease(memory, engine, configure, shared_cache):
    configure(INDEXNOW_URLS=[engine.url])
    target = Target(memory)
    target.queue(*URLS)
    with (
        stores.exclusive_lock(memory, "submission"),
        pytest.raises(ExportRunningError, match="this one has submitted nothing"),
    ):
        target.send()
    assert (target.send().failures, engine.submitted) == ([], [*URLS])


def test_a_report_counts_each_outcome_and_its_json_has_failures_and_times_with_a_zone():
    report = EndpointReport("ping", "https://a.b/", "c.d", resumes=0.0)
    for verdict, problem in (("rejected", "bad"), ("accepted", None), ("pending", None)):
        report.count(Outcome(verdict, problem), 2)
    assert (report.accepted, report.rejected, report.pending, report.problem) == (2, 2, 2, "bad")
    waiting = EndpointReport("ping", "https://a.b/", "c.d", resumes=1_800_000_000.0)
    document = json.loads(json.dumps(Submission("public", (report, waiting), 0.5, dropped=1).as_dict()))
    assert document["endpoints"][1]["resumes"] == "2027-01-15T08:00:00+00:00"
    assert document["failures"] == [
        "https://a.b/ (c.d): bad",
        "public: URLs dropped, because more than INDEXNOW_MAX_URLS were pending: 1.",
    ]
