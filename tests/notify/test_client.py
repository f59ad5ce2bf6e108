"""The client: what it repeats, when it gives up, and what it never does."""

from __future__ import annotations

import logging
import socket
import time
from email.utils import formatdate

import pytest

from django_sitemaps09.notify.client import Client
from django_sitemaps09.notify.engines import EngineResponse
from tests.support.search_engines import running_engine


def client(timeout=5, seconds=20, backoff=0.001):
    return Client(timeout, seconds, backoff)


def posted(engine, **options):
    sender = client(**options)
    try:
        return sender.request(engine.url, b"{}")
    finally:
        sender.close()


@pytest.mark.parametrize("failure", [500, 503, 408, "garbage", "nothing", (429, {"Retry-After": "0"})])
@pytest.mark.parametrize("status", [200, 202, 204, 400, 403, 404, 422])
def test_a_request_is_retried_after_a_temporary_failure_until_a_final_status(engine, failure, status):
    engine.answer(failure, failure, status)
    assert posted(engine) == EngineResponse(status)
    assert len(engine.requests) == 3
    for request in engine.requests:
        assert request.method == "POST"
        assert request.headers["Content-Type"] == "application/json; charset=utf-8"
        assert request.headers["User-Agent"].startswith("django-sitemaps09/")


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (500, "500: Internal Server Error"),
        (799, "799: this is not a known status"),
        ("garbage", "it did not send a valid HTTP response"),
        ("nothing", "the server closed the connection"),
    ],
)
def test_a_lasting_failure_is_returned_after_four_requests(engine, failure, words):
    engine.answer(failure)
    response = posted(engine)
    assert response.is_temporary
    assert response.failure == words
    assert len(engine.requests) == 4


def test_a_refused_connection_is_a_temporary_failure():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        sender = client()
        response = sender.request(f"http://127.0.0.1:{unused.getsockname()[1]}/")
        sender.close()
    assert response == EngineResponse(None, None, "the connection failed")
    assert response.is_temporary


def test_a_slow_server_does_not_use_up_the_time_of_others(engine):
    engine.answer("slow")
    with running_engine() as other:
        sender = client(timeout=0.1, seconds=30)
        assert sender.request(engine.url).status is None
        assert sender.request(other.url).status == 200
        sender.close()


def test_no_request_is_sent_after_the_deadline(engine):
    response = posted(engine, seconds=0)
    assert response.failure == "the deadline has passed"
    assert engine.requests == []


class TestRetryAfter:
    def test_delays_the_next_request(self, engine, monkeypatch):
        pauses = []
        monkeypatch.setattr(time, "sleep", pauses.append)
        engine.answer((429, {"Retry-After": "7"}), (503, {"Retry-After": formatdate(time.time() + 9)}), 200)
        assert posted(engine, seconds=60).status == 200
        assert pauses[0] == 7
        assert 6 <= pauses[1] <= 9

    def test_defaults_to_ten_minutes_for_a_429(self, engine):
        engine.answer(429)
        assert posted(engine, seconds=599).status == 429
        assert len(engine.requests) == 1

    @pytest.mark.parametrize("value", ["soon", "-1", "1e9", "9" * 5_000, "", "Mon, 99 Foo 99999 99:99:99"])
    def test_is_ignored_if_invalid_and_shortened_if_too_long(self, engine, value):
        engine.answer((429, {"Retry-After": value}))
        response = posted(engine, seconds=5)
        assert response.status == 429
        assert response.retry_after is None or 0 <= response.retry_after <= 21_600


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_never_followed(engine, status):
    with running_engine() as other:
        engine.answer((status, {"Location": other.url}))
        response = posted(engine)
        assert response.failure.startswith(f"{status}: it redirects")
        assert other.requests == []
    assert len(engine.requests) == 1


def test_an_untrusted_certificate_is_rejected(engine):
    sender = client()
    response = sender.request(engine.url.replace("http://", "https://"))
    sender.close()
    assert response.status is None
    assert "TLS" in response.failure
    assert engine.requests == []


def test_reports_and_logs_contain_neither_the_query_nor_the_body(engine, caplog):
    engine.answer("garbage")
    sender = client()
    with caplog.at_level(logging.INFO):
        response = sender.request(f"{engine.url}?token=secret")
        response_to_post = sender.request(engine.url, b'{"key": "secret"}')
    sender.close()
    assert "secret" not in f"{caplog.text} {response.failure} {response_to_post.failure}"
