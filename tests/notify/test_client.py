"""The client: what it repeats, when it gives up, and what it never does."""

from __future__ import annotations

import logging
import socket
import time
from contextlib import closing
from email.utils import formatdate

import pytest

from django_sitemaps09.notify.client import Client
from django_sitemaps09.notify.engines import EngineResponse
from tests.support.search_engines import running_engine


def requested(url, body=b"{}", *, timeout=5, seconds=20):
    with closing(Client(timeout, seconds, backoff=0.001)) as client:
        return client.request(url, body)


@pytest.mark.parametrize(("failure", "status"), [
    *((failure, 200) for failure in (503, 408, "garbage", "nothing", (429, {"Retry-After": "0"}))),
    *((500, status) for status in (200, 202, 204, 400, 403, 404, 422)),
])  # fmt: skip
def test_a_request_is_retried_after_a_temporary_failure_until_a_final_status(engine, failure, status):
    engine.answer(failure, failure, status)
    assert requested(engine.url) == EngineResponse(status)
    assert len(engine.requests) == 3
    for request in engine.requests:
        assert (request.method, request.body) == ("POST", b"{}")
        assert request.headers["Content-Type"] == "application/json; charset=utf-8"
        assert request.headers["User-Agent"].startswith("django-sitemaps09/")


@pytest.mark.parametrize(("failure", "words"), [
    (500, "500: Internal Server Error"), (799, "799: this is not a known status"),
    ("garbage", "it did not send a valid HTTP response"), ("nothing", "the server closed the connection"),
])  # fmt: skip
def test_a_lasting_failure_is_returned_after_four_requests(engine, failure, words):
    engine.answer(failure)
    response = requested(engine.url)
    assert (response.failure, response.is_temporary, len(engine.requests)) == (words, True, 4)


def test_a_refused_connection_is_a_temporary_failure():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        response = requested(f"http://127.0.0.1:{unused.getsockname()[1]}/", None)
    assert (response, response.is_temporary) == (EngineResponse(None, None, "the connection failed"), True)


def test_a_slow_server_does_not_use_up_the_time_of_others(engine):
    engine.answer("slow")
    with running_engine() as other, closing(Client(0.1, 30, 0.001)) as client:
        assert [client.request(url).status for url in (engine.url, other.url)] == [None, 200]


def test_a_client_sends_no_request_after_its_deadline(engine):
    assert requested(engine.url, seconds=0).failure == "the deadline has passed"
    assert engine.requests == []


def test_retry_after_delays_the_next_request_by_ten_minutes_for_a_429_without_it(engine, monkeypatch):
    pauses = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    engine.answer((429, {"Retry-After": "7"}), (503, {"Retry-After": formatdate(time.time() + 9)}), 200)
    assert requested(engine.url, seconds=60).status == 200
    assert pauses[0] == 7
    assert 6 <= pauses[1] <= 9
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


def test_an_untrusted_certificate_is_rejected(engine):
    response = requested(engine.url.replace("http://", "https://"), None)
    assert (response.status, "TLS" in response.failure, engine.requests) == (None, True, [])


def test_reports_and_logs_contain_neither_the_query_nor_the_body(engine, caplog):
    engine.answer("garbage")
    with caplog.at_level(logging.INFO):
        failures = [
            requested(f"{engine.url}?token=secret", body).failure for body in (None, b'{"key": "secret"}')
        ]
    assert "secret" not in f"{caplog.text} {failures}"
