"""Servers that send as slowly as they can: each request ends at its deadline, and leaves no thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from urllib3 import Timeout
from urllib3.exceptions import HTTPError

from django_sitemaps09.audit import audit, readers
from django_sitemaps09.notify.client import Client, Connections

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
#: What a server sends at once, and what it then repeats.
SLOW = {
    "nothing": (b"", b""),
    "a status line": (b"HTTP/1.1 200 ", b"O"),
    "a header": (OK + b"X-Slow: ", b"a"),
    "endless 100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "a body": (OK + b"Content-Length: 1000000\r\n\r\n<", b" "),
    "a body without a length": (OK + b"\r\n<", b" "),
    "the size of a chunk": (CHUNKED, b"0"),
    "a trailer": (CHUNKED + b"1\r\n<\r\n0\r\nX-Slow: ", b"a"),
    "endless trailers": (CHUNKED + b"1\r\n<\r\n0\r\n", b"X-Slow: a\r\n"),
}


@contextmanager
def slow_server(start: bytes, repeated: bytes) -> Iterator[str]:
    """Send to each connection until it is closed."""
    is_over = threading.Event()

    def send(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(start)
            while not is_over.wait(0.01):
                connection.sendall(repeated)

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=send, args=[server.accept()[0]], name="server").start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept, name="server")
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}"
        finally:
            is_over.set()
            server.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name != "server"]


@pytest.mark.parametrize("name", SLOW)
def test_an_audit_of_a_slow_server_ends(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "DOCUMENT_SECONDS", 0.1)
    before, started = threads(), time.monotonic()
    with slow_server(*SLOW[name]) as base:
        report = audit(f"{base}/sitemap.xml")
        assert threads() == before
    assert time.monotonic() - started < 5
    assert {finding.rule for finding in report.findings} >= {"robots-unreachable", "document-unreachable"}
    assert "it takes more than 0 seconds" in str(report.findings)


@pytest.mark.parametrize("name", [*SLOW][:4])
def test_a_submission_to_a_slow_server_ends(name: str) -> None:
    before, started = threads(), time.monotonic()
    with slow_server(*SLOW[name]) as base:
        client = Client(0.2, 0.1)
        assert client.request(base).failure == "it did not respond in time"
        client.close()
        assert threads() == before
    assert time.monotonic() - started < 5


def get(connections: Connections, url: str) -> object:
    with connections.deadline(0.1):
        return connections.request("GET", url, wait=Timeout(10))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_all_addresses_of_a_host_share_the_deadline(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue of the server is full, so that no connection is accepted."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server:
        address = server.getsockname()
        with socket.create_connection(address), socket.socket() as other:
            other.setblocking(False)
            other.connect_ex(address)
            found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", address)] * 100
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
            connections, started = Connections(), time.monotonic()
            with pytest.raises(HTTPError):
                get(connections, f"{scheme}://www.example.com/")
            connections.close()
    assert time.monotonic() - started < 5


def test_a_slow_tls_handshake_ends() -> None:
    started = time.monotonic()
    # The header of a TLS record of 16 KB, whose content never ends.
    with slow_server(b"\x16\x03\x03\x40\x00", b"\0") as base:
        connections = Connections()
        with pytest.raises(HTTPError):
            get(connections, base.replace("http:", "https:"))
        connections.close()
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("problem", [socket.gaierror(socket.EAI_NONAME, "not known"), UnicodeError()])
def test_a_host_that_does_not_exist_is_an_error(
    problem: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*arguments: object, **options: object) -> object:
        raise problem

    monkeypatch.setattr(socket, "getaddrinfo", missing)
    connections = Connections()
    with pytest.raises(HTTPError):
        get(connections, "http://www.example.com/")
    connections.close()


def test_the_deadline_applies_to_a_connection_that_is_used_again() -> None:
    answer = OK + b"Content-Length: 1\r\n\r\na"
    accepted: list[socket.socket] = []

    def serve(server: socket.socket) -> None:
        connection, _ = server.accept()
        accepted.append(connection)
        connection.recv(65_536)
        connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, args=[server], name="server")
        thread.start()
        connections, url = Connections(), f"http://127.0.0.1:{server.getsockname()[1]}/"
        with connections.deadline(10):
            assert connections.request("GET", url, wait=Timeout(10)).read() == b"a"
        started = time.monotonic()
        with pytest.raises(HTTPError):
            get(connections, url)
        thread.join(10)
        connections.close()
        accepted[0].close()
    assert time.monotonic() - started < 5
