"""Messages: their hosts, and how many URLs each has."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import pytest

from django_sitemaps09.notify import ledger
from django_sitemaps09.notify.ledger import Message, change_messages, host_of, ping_messages


def test_urls_are_split_by_host_into_messages_of_ten_thousand() -> None:
    urls = [f"https://{host}.example.com/{n}" for n in range(12_500) for host in ("a", "b")]
    found = list(change_messages(urls, lambda host: True, Counter()))
    sizes = [(message.host, len(message.urls)) for message in found]
    assert sorted(sizes) == [
        ("a.example.com", 2_500),
        ("a.example.com", 10_000),
        ("b.example.com", 2_500),
        ("b.example.com", 10_000),
    ]
    assert Counter(url for message in found for url in message.urls) == Counter(urls)
    assert all(host_of(url) == message.host for message in found for url in message.urls)


def test_http_and_https_share_a_message_but_ports_do_not() -> None:
    urls = ["http://a.b/1", "https://a.b/2", "https://a.b:443/3", "https://A.B/4", "https://a.b:8443/5"]
    found = {message.host: message.urls for message in change_messages(urls, lambda host: True, Counter())}
    assert found == {"a.b": tuple(urls[:4]), "a.b:8443": (urls[4],)}


def test_urls_without_a_key_are_counted_instead() -> None:
    without: Counter[str] = Counter()
    urls = ["https://a.b/1", "https://c.d/2", "https://c.d/3", "no URL", "https://u@a.b/"]
    found = list(change_messages(urls, lambda host: host == "a.b", without))
    assert found == [Message("indexnow", "a.b", ("https://a.b/1",))]
    assert without == {"c.d": 2, "no valid host": 2}


def test_many_hosts_need_no_more_memory_than_the_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_MAX_BUFFERED", 1_000)
    urls = (f"https://h{n % 50}.example.com/{n}" for n in range(200_000))
    tracemalloc.start()
    try:
        count = sum(len(message.urls) for message in change_messages(urls, lambda host: True, Counter()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 200_000
    assert peak < 2_000_000


def test_each_ping_is_a_message() -> None:
    urls = ["https://a.b/sitemap.xml", "https://a.b/sitemap-2.xml"]
    assert list(ping_messages([*urls, "no URL"])) == [Message("ping", "a.b", (url,)) for url in urls]
