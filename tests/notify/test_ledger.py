"""Messages and their ledger: how many URLs each has, what is pending, merged and damaged."""

from __future__ import annotations

import time
import zlib
from collections import Counter

import pytest

from django_sitemaps09.notify import ledger as ledgers
from django_sitemaps09.notify.ledger import FOLDER, Ledger, Message, change_messages, host_of, ping_messages
from django_sitemaps09.state import manifest
from django_sitemaps09.stores.plain import DamagedError
from tests.support.memory import traced

A, B, C = (f"https://a.b/{name}" for name in "abc")


@pytest.fixture
def ledger(store):
    return Ledger(store)


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
    ([[X], [Y]], 100, 0, [BOTH]), ([[X], [X]], 100, 0, [X]),
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
    *(message(), message(kind="ping"), message(A, B, kind="ping"), message(A, kind="other"), message(5)),
    *(
        message("https://\udc80.b/", host="\udc80.b"),
        message("https://a.b/\udc80"),
        message("https://c.d/"),
    ),
    *(
        message("https://a.b/\x1b[2J"),
        message("\x1b[2J", host=None),
        message("https://a.b/" + 20_000 * "a"),
    ),
    *(message(A, host=host) for host in ("\x1b[2J", "a\ud800", "")),
    *(message(A, endpoints=endpoints) for endpoints in ((), ["\x1b[2J"])),
    message(*(f"{A}/{number}" for number in range(10_001))),
]


@pytest.mark.parametrize("content", [
    b"", b"{", b"[]", b'{"digest": ""}', b"\xff" * 9, b" " * 50_000_001,
    *(manifest.seal(invalid._asdict()) for invalid in INVALID),
    manifest.seal({**message()._asdict(), "urls": A}),
], ids=lambda content: f"{len(content)}-{content[:9].hex()}-{zlib.crc32(content)}")  # fmt: skip
def test_a_damaged_message_is_set_aside(ledger, content):
    queue(ledger, "run-1", message(A), message(B))
    name = ledger.names()[0]
    ledger.state.write(f"{FOLDER}/{name}", content)
    with pytest.raises(DamagedError, match="cannot be read"):
        ledger.read(name)
    for _ in range(2):
        ledger.compact(100)
        [path] = ledger.damaged()
        assert path.startswith(f"{FOLDER}/damaged-")
        assert (pending(ledger), ledger.state.read(path, 50_000_001)) == ([message(B)], content)


def test_expired_and_damaged_pauses_are_ignored(ledger):
    ledger.write_pauses({"old": time.time() - 1, "new": time.time() + 100})
    assert [*ledger.pauses()] == ["new"]
    ledger.state.write(f"{FOLDER}/pauses.json", b'{"pauses": {"x": 1e999}}')
    assert ledger.pauses() == {}


def test_urls_are_split_by_host_into_messages_of_ten_thousand(ledger):
    urls = [f"https://{host}.example.com/{n}" for n in range(12_500) for host in ("a", "b")]
    queue(ledger, "run-1", *changes_in([*urls, *urls[:10]]))
    ledger.compact(100_000)
    sizes = sorted((message.host, len(message.urls)) for message in pending(ledger))
    assert sizes == [(f"{host}.example.com", count) for host in "ab" for count in (2_500, 10_000)]
    assert Counter(url for message in pending(ledger) for url in message.urls) == Counter(urls)
    assert all(host_of(url) == message.host for message in pending(ledger) for url in message.urls)


def test_http_and_https_share_a_message_but_ports_do_not():
    urls = ["http://a.b/1", "https://a.b/2", "https://a.b:443/3", "https://A.B/4", "https://a.b:8443/5"]
    found = {message.host: message.urls for message in changes_in(urls)}
    assert found == {"a.b": tuple(urls[:4]), "a.b:8443": (urls[4],)}


def test_urls_without_a_key_are_counted_instead():
    without = Counter()
    urls = ["https://a.b/1", "https://c.d/2", "https://c.d/3", "no URL", "https://u@a.b/"]
    assert [*changes_in(urls, lambda host: host == "a.b", without)] == [message(urls[0])]
    assert without == {"c.d": 2, "no valid host": 2}


def test_many_hosts_need_no_more_memory_than_the_buffer(monkeypatch):
    monkeypatch.setattr(ledgers.protocol, "MAX_MESSAGE_URLS", 1_000)
    with traced() as memory:
        found = changes_in(f"https://h{n % 50}.example.com/{n}" for n in range(50_000))
        assert sum(len(message.urls) for message in found) == 50_000
    assert memory.peak < 2_000_000


def test_each_ping_is_a_message():
    urls = ["https://a.b/sitemap.xml", "https://a.b/sitemap-2.xml"]
    assert [*ping_messages([*urls, "no URL"])] == [ping(url) for url in urls]
