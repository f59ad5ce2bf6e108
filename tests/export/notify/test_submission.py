"""Submissions: what each response does to what is pending, and what is reported."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
import zlib
from collections import Counter
from contextlib import closing
from email.utils import formatdate
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09.exceptions import ExportError, ExportRunningError
from django_sitemaps09.export import notify
from django_sitemaps09.export.notify import client as clients, ledger as ledgers, submission
from django_sitemaps09.export.notify.ledger import change_messages, file_messages, host_of
from django_sitemaps09.target.local import DamagedError
from tests.support.internals import STATE, Client, Ledger, LocalStore, Message, conf, manifest, stores
from tests.support.memory import traced
from tests.support.search_engines import KEY, engine, running_engine
from tests.support.stores import memory, store

__all__ = ["engine", "memory", "store"]

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
            return submission.send(self.store, self.state, client)

    def pending(self):
        messages = map(self.ledger.read, self.ledger.names())
        return sorted(url for message in messages if message for url in message.urls)


@pytest.fixture
def target(folder, engine, configure):
    configure(INDEXNOW_URLS=[engine.url])
    return Target(LocalStore(folder))


at = pytest.fixture(lambda monkeypatch: lambda now: monkeypatch.setattr(time, "time", lambda: now))
#: Failures that last after four requests, and what is said of them.
LASTING = {500: "500: Internal Server Error", 799: "799: this is not a known status"}
LASTING |= {
    "garbage": "it did not send a valid HTTP response",
    "nothing": "the server closed the connection",
}


def counts(result):
    return [(report.accepted, report.rejected, report.pending) for report in result.endpoints]


@pytest.mark.parametrize(("answer", "found"), [
    *((answer, (3, 0, 0)) for answer in (200, 202)), *((answer, (0, 3, 0)) for answer in (400, 413, 422)),
    *((answer, (0, 0, 3)) for answer in (301, 401, 403, 404, *LASTING, (429, {}))),
    *((answer, (0, 0, 3)) for answer in ("silent", "slow")),
])  # fmt: skip
def test_a_message_is_accepted_or_rejected_once_or_sent_again(target, engine, at, answer, found):
    engine.answer(answer)
    target.queue(*URLS)
    started = time.monotonic()
    result = target.send(**({"timeout": 0.2, "seconds": 0.3} if answer in ("silent", "slow") else {}))
    assert time.monotonic() - started < 10
    assert (counts(result), len(result.failures)) == ([found], not found[0])
    assert engine.requests[0].document == {"host": HOST, "key": KEY, "urlList": [*URLS]}
    assert found[2] or len(engine.requests) == 1
    if answer in [*LASTING]:
        assert (LASTING[answer] in result.failures[0], len(engine.requests)) == (True, 4)
    if found[1]:
        assert (f"{answer}: " in result.failures[0], "not sent again" in result.failures[0]) == (True, True)
    assert target.pending() == ([*URLS] if found[2] else [])
    engine.answer(200)
    engine.requests.clear()
    at(time.time() + 7_200)
    assert counts(target.send()) == ([(3, 0, 0)] if found[2] else [])
    assert (engine.submitted, target.pending()) == ([*URLS] if found[2] else [], [])


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
    assert (waiting.pending, 290 < waiting.resumes - time.time() <= 300) == (1, True)
    at(waiting.resumes)
    target.send()
    assert engine.submitted[-1] == URLS[1]


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_engine_is_asked_again_when_it_wishes(target, engine, status):
    engine.answer((status, {"Retry-After": "3600"}))
    target.queue(*URLS)
    [report] = target.send().endpoints
    assert (report.pending, 3_590 < report.resumes - time.time() <= 3_600) == (3, True)
    engine.answer(200)
    assert (counts(target.send()), len(engine.requests)) == ([(0, 0, 3)], 1)


def test_a_clock_that_was_wrong_stops_no_later_submission(target, engine, monkeypatch):
    now = time.time()
    for url, clock in ((URLS[0], now + 1e8), (URLS[1], now)):
        monkeypatch.setattr(time, "time", lambda clock=clock: clock)
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
    assert [*map(conf.indexnow_key_for, ("a.b", "c.d")), *conf.indexnow_keys] == ["0123456789"] * 3


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
    assert ({*URLS} <= {*engine.submitted}, "https://c.d/" in target.pending()) == (True, True)


def test_a_submission_without_an_export_is_an_error_and_creates_no_folder(target, folder, monkeypatch):
    with pytest.raises(ExportError, match=r"Nothing was exported to .* with --base-url"):
        notify.submit(output=folder)
    with pytest.raises(ExportError, match="omit --base-url"):
        notify.submit_hosts([f"https://{HOST}"], output=folder)
    monkeypatch.setitem(__import__("sys").modules, "urllib3", None)
    with pytest.raises(ImproperlyConfigured, match=r"django-sitemaps09\[indexnow\]"):
        notify.submit(output=folder)
    assert not folder.exists()


def test_a_host_whose_export_has_no_folder_is_submitted(target, engine, folder):
    target.queue(*URLS)
    target.state.write(manifest.ROOT, manifest.Manifest("run-1", SITEMAP, f"https://{HOST}").root())
    first, second = notify.submit_hosts([f"https://{HOST}", "https://b.example"], output=folder).values()
    assert (first.target, counts(first)) == (str(folder), [(3, 0, 0)])
    assert (second.target, counts(second)) == (str(folder / "b.example"), [])
    # What is pending in the folder of the host comes first.
    Target(LocalStore(folder / HOST)).queue(*URLS[:2])
    [result] = notify.submit_hosts([f"https://{HOST}"], output=folder, dry_run=True).values()
    assert counts(result) == [(0, 0, 2)]


def test_a_damaged_message_fails_each_submission_until_it_is_removed(target, engine, folder):
    target.queue(*URLS)
    [name] = target.ledger.names()
    target.state.write(f"{ledgers.FOLDER}/{name}", b"{")
    dry_run = notify.submit(output=folder, dry_run=True)
    assert (dry_run.endpoints, dry_run.damaged) == ((), (f"{ledgers.FOLDER}/{name}",))
    assert target.ledger.names() == [name]
    path = f"{ledgers.FOLDER}/{name.replace('pending', 'damaged')}"
    for is_dry in (False, True, False):
        result = notify.submit(output=folder, dry_run=is_dry)
        assert (result.damaged, path in result.failures[0]) == ((path,), True)
    target.state.delete(path)
    assert (notify.submit(output=folder).failures, engine.requests) == ([], [])


def test_pauses_that_are_a_folder_are_an_error_and_a_link_is_replaced(target, engine, folder, tmp_path):
    target.queue(*URLS)
    path = folder / STATE / ledgers.FOLDER / "pauses.json"
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
    results = notify.submit_hosts([f"https://{host}" for host in hosts], output=folder)
    assert [*map(counts, results.values())] == [[(0, 0, 1), (0, 0, 1)], [(0, 0, 1)]]
    # One message with three retries.
    assert len(engine.requests) == 4


def test_a_dry_run_sends_and_changes_nothing(target, engine, folder):
    target.queue(*URLS)
    target.queue(*URLS, *(f"https://{HOST}/more/{n}" for n in range(9)))
    names = target.ledger.names()
    [report] = notify.submit(output=folder, dry_run=True).endpoints
    assert (report.pending, report.messages, report.accepted) == (15, 2, 0)
    assert (report.examples, engine.requests, target.ledger.names()) == ((*URLS, *URLS[:2]), [], names)


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
    report = notify.EndpointReport("ping", "https://a.b/", "c.d", resumes=0.0)
    for verdict, problem in (("rejected", "bad"), ("accepted", None), ("pending", None)):
        report.count(verdict, problem, 2)
    assert (report.accepted, report.rejected, report.pending, report.problem) == (2, 2, 2, "bad")
    waiting = notify.EndpointReport("ping", "https://a.b/", "c.d", resumes=1_800_000_000.0)
    submitted = notify.Submission("public", (report, waiting), 0.5, dropped=1)
    document = json.loads(json.dumps(submitted.as_dict()))
    assert document["endpoints"][1]["resumes"] == "2027-01-15T08:00:00+00:00"
    assert document["failures"] == [
        "https://a.b/ (c.d): bad",
        "public: URLs dropped, because more than INDEXNOW_MAX_URLS were pending: 1.",
    ]


def requested(url, body=b"{}", *, timeout=5, seconds=20):
    with closing(Client(timeout, seconds, backoff=0.001)) as client:
        return client.request(url, body)


@pytest.mark.parametrize(("failure", "status"), [
    *((failure, 200) for failure in (503, 408, "garbage", "nothing", (429, {"Retry-After": "0"}))),
    *((500, status) for status in (200, 202, 204, 400, 403, 404, 422)),
])  # fmt: skip
def test_a_request_is_retried_after_a_temporary_failure_until_a_final_status(engine, failure, status):
    engine.answer(failure, failure, status)
    assert (requested(engine.url), len(engine.requests)) == (clients.EngineResponse(status), 3)
    for request in engine.requests:
        assert (request.method, request.body) == ("POST", b"{}")
        assert request.headers["Content-Type"] == "application/json; charset=utf-8"
        assert request.headers["User-Agent"].startswith("django-sitemaps09/")


def test_a_client_reports_refused_connections_untrusted_certificates_and_deadlines(engine):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        response = requested(f"http://127.0.0.1:{unused.getsockname()[1]}/", None)
    refused = clients.EngineResponse(None, None, "the connection failed")
    assert (response, response.is_temporary) == (refused, True)
    assert (requested(engine.url, seconds=0).failure, engine.requests) == ("the deadline has passed", [])
    response = requested(engine.url.replace("http://", "https://"), None)
    assert (response.status, "TLS" in response.failure, engine.requests) == (None, True, [])


def test_a_slow_server_does_not_use_up_the_time_of_others(engine):
    engine.answer("slow")
    with running_engine() as other, closing(Client(0.1, 30, 0.001)) as client:
        assert [client.request(url).status for url in (engine.url, other.url)] == [None, 200]


def test_retry_after_delays_the_next_request_by_ten_minutes_for_a_429_without_it(engine, monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    engine.answer((429, {"Retry-After": "7"}), (503, {"Retry-After": formatdate(time.time() + 9)}), 200)
    assert (requested(engine.url, seconds=60).status, pauses[0], 6 <= pauses[1] <= 9) == (200, 7, True)
    engine.answer(429)
    assert (requested(engine.url, seconds=599).status, len(engine.requests)) == (429, 4)


@pytest.mark.parametrize("value", ["soon", "-1", "1e9", "9" * 5_000, "", "Mon, 99 Foo 99999 99:99:99"])
def test_retry_after_is_ignored_if_invalid_and_shortened_if_too_long(engine, value):
    engine.answer((429, {"Retry-After": value}))
    response = requested(engine.url, seconds=5)
    assert response.status == 429
    assert response.retry_after is None or 0 <= response.retry_after <= 21_600


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_never_followed(engine, status):
    with running_engine() as other:
        engine.answer((status, {"Location": other.url}))
        assert requested(engine.url).failure.startswith(f"{status}: it redirects")
        assert (len(engine.requests), other.requests) == (1, [])


def test_reports_and_logs_contain_neither_the_query_nor_the_body(engine, caplog):
    engine.answer("garbage")
    with caplog.at_level(logging.INFO):
        url = f"{engine.url}?token=secret"
        failures = [requested(url, body).failure for body in (None, b'{"key": "secret"}')]
    assert "secret" not in f"{caplog.text} {failures}"


A, B, C = (f"https://a.b/{name}" for name in "abc")
ledger = pytest.fixture(lambda store: Ledger(store))


def message(*urls, **fields):
    return Message(**{"kind": "indexnow", "host": "a.b", "urls": urls, **fields})


def ping(url):
    return message(url, kind="ping")


def pending(ledger):
    return [ledger.read(name) for name in ledger.names()]


def queue(ledger, run, *messages):
    ledger.prepare(run, messages)
    ledger.activate(run)


def changes_in(urls, has_key=lambda host: True, without=None):
    return change_messages(urls, has_key, Counter() if without is None else without)


@pytest.mark.parametrize("activated", [0, 1])
def test_messages_are_pending_only_after_they_are_activated_with_those_of_earlier_runs(ledger, activated):
    """The earlier run may have been published, and have failed to activate them."""
    runs = ["run-20260101T000000-b", "run-20260101T000001-a"]
    for run, url in zip(runs, (A, B), strict=True):
        ledger.prepare(run, [message(url)])
    assert pending(ledger) == []
    for _ in range(2):
        ledger.activate(runs[activated])
        assert pending(ledger) == [message(A), message(B)][: activated + 1]
    ledger.activate(None)
    assert pending(ledger) == [message(A), message(B)]
    # Discarded messages are never pending.
    ledger.prepare("run-3", [message(C)])
    ledger.discard()
    ledger.activate(None)
    assert pending(ledger) == [message(A), message(B)]


OTHER = message("https://c.d/b", host="c.d")
X, Y, BOTH = (message(A, endpoints=endpoints) for endpoints in (("x",), ("y",), ("x", "y")))


@pytest.mark.parametrize(("runs", "most", "dropped", "expected"), [
    # Each URL is sent once, in few messages. One that changed twice is counted once.
    ([[message(A, B)], [message(B, C), OTHER]], 100, 0, [message(A, B, C), OTHER]),
    ([[message(A)], [message(B)], [message(A, B)]], 100, 0, [message(A, B)]),
    ([[message(A, B)], [message(A, B)]], 2, 0, [message(A, B)]),
    # No more are dropped than exceed the limit, and the oldest messages.
    ([[message(A, B)], [message(C)]], 2, 1, [message(A, C)]),
    ([[message(A)], [message(B)], [message(C)]], 2, 1, [message(B, C)]),
    # A single message is changed only if it is too long.
    ([[message(C, A)]], 2, 0, [message(C, A)]), ([[message(C, A)]], 1, 1, [message(C)]),
    # Pings are neither dropped nor merged, but each URL has only one.
    ([[ping(A), ping(B)], [ping(A)]], 1, 0, [ping(A), ping(B)]),
    # Every endpoint that needs a URL is kept.
    ([[X], [message(A)]], 100, 0, [message(A)]), ([[message(A)], [X]], 100, 0, [message(A)]),
    ([[X], [Y]], 100, 0, [BOTH]), ([[X], [X]], 100, 0, [X]), ([[BOTH], [X]], 100, 0, [BOTH]),
])  # fmt: skip
def test_compacting_merges_messages_of_all_runs_and_drops_the_oldest(ledger, runs, most, dropped, expected):
    for number, messages in enumerate(runs):
        queue(ledger, f"run-{number}", *messages)
    names = ledger.names()
    assert (ledger.compact(most), pending(ledger)) == (dropped, expected)
    assert len(runs) > 1 or dropped or ledger.names() == names
    assert ledger.compact(most) == 0


def test_compacting_merges_the_others_if_another_process_has_just_removed_a_message(ledger):
    for number, url in enumerate((A, B, C)):
        queue(ledger, f"run-{number}", message(url))
    names = ledger.names()
    ledger.settle(names[1], message(B), ())
    late = type("Late", (Ledger,), {"names": lambda self: names})(ledger.state)
    assert (late.compact(100), pending(ledger)) == (0, [message(A, C)])


INVALID = [
    message(), message(kind="ping"), message(A, B, kind="ping"), message(A, kind="other"), message(5),
    message("https://\udc80.b/", host="\udc80.b"), message("https://a.b/\udc80"), message("https://c.d/"),
    message("https://a.b/\x1b[2J"), message("\x1b[2J", host=None), message("https://a.b/" + 20_000 * "a"),
    *(message(A, host=host) for host in ("\x1b[2J", "a\ud800", "")), message(A, endpoints=()),
    message(A, endpoints=["\x1b[2J"]), message(*(f"{A}/{number}" for number in range(10_001))),
]  # fmt: skip


@pytest.mark.parametrize("content", [
    b"", b"{", b"[]", b'{"digest": ""}', b"\xff" * 9, b" " * 50_000_001,
    *(manifest.seal(invalid._asdict()) for invalid in INVALID),
    manifest.seal({**message()._asdict(), "urls": A}),
], ids=lambda content: f"{len(content)}-{content[:9].hex()}-{zlib.crc32(content)}")  # fmt: skip
def test_a_damaged_message_is_set_aside(ledger, content):
    queue(ledger, "run-1", message(A), message(B))
    name = ledger.names()[0]
    ledger.state.write(f"{ledgers.FOLDER}/{name}", content)
    with pytest.raises(DamagedError, match="cannot be read"):
        ledger.read(name)
    for _ in range(2):
        ledger.compact(100)
        [path] = ledger.damaged()
        assert path.startswith(f"{ledgers.FOLDER}/damaged-")
        assert (pending(ledger), ledger.state.read(path, 50_000_001)) == ([message(B)], content)


def test_expired_and_damaged_pauses_are_ignored(ledger):
    ledger.write_pauses({"old": time.time() - 1, "new": time.time() + 100})
    assert [*ledger.pauses()] == ["new"]
    ledger.state.write(f"{ledgers.FOLDER}/pauses.json", b'{"pauses": {"x": 1e999}}')
    assert ledger.pauses() == {}


def test_urls_are_split_by_host_into_messages_of_ten_thousand(ledger):
    urls = [f"https://{host}.example.com/{n}" for n in range(12_500) for host in ("a", "b")]
    queue(ledger, "run-1", *changes_in([*urls, *urls[:10]]))
    ledger.compact(100_000)
    sizes = sorted((message.host, len(message.urls)) for message in pending(ledger))
    assert sizes == [(f"{host}.example.com", count) for host in "ab" for count in (2_500, 10_000)]
    assert Counter(url for message in pending(ledger) for url in message.urls) == Counter(urls)
    assert all(host_of(url) == message.host for message in pending(ledger) for url in message.urls)


def test_urls_are_messages_of_hosts_with_ports_and_keys_and_each_ping_is_its_own():
    urls = ["http://a.b/1", "https://a.b/2", "https://a.b:443/3", "https://A.B/4", "https://a.b:8443/5"]
    found = {message.host: message.urls for message in changes_in(urls)}
    assert found == {"a.b": tuple(urls[:4]), "a.b:8443": (urls[4],)}
    without = Counter()
    urls = ["https://a.b/1", "https://c.d/2", "https://c.d/3", "no URL", "https://u@a.b/"]
    assert [*changes_in(urls, lambda host: host == "a.b", without)] == [message(urls[0])]
    assert without == {"c.d": 2, "no valid host": 2}
    urls = ["https://a.b/sitemap.xml", "https://a.b/sitemap-2.xml"]
    assert [*file_messages("ping", [*urls, "no URL"])] == [ping(url) for url in urls]


@pytest.mark.slow
def test_many_hosts_need_no_more_memory_than_the_buffer(monkeypatch):
    monkeypatch.setattr(ledgers, "MAX_MESSAGE_URLS", 1_000)
    with traced() as memory:
        found = changes_in(f"https://h{n % 50}.example.com/{n}" for n in range(50_000))
        assert sum(len(message.urls) for message in found) == 50_000
    assert memory.peak < 2_000_000
