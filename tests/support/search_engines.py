"""Use the fixture `engine` for a server that stands for a search engine, and answers as a test asks."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

import pytest

KEY = "0123456789abcdef0123456789abcdef"
SECONDS = 30


class Request(NamedTuple):
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def document(self):
        return json.loads(self.body)


class Engine:
    """The server's address, what it answers next, and what it has received.

    An answer is a status, a status with headers, or a word: `garbage`, `nothing` (the connection ends),
    `silent` (no answer until the test ends) or `slow` (a byte from time to time). The last one is repeated.
    """

    def __init__(self):
        self.answers, self.requests, self.ended = [200], [], threading.Event()

    def answer(self, *answers):
        self.answers[:] = answers

    def next_answer(self):
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    @property
    def submitted(self):
        """All URLs that the server has received in messages of IndexNow, sorted."""
        return sorted(url for request in self.requests for url in request.document["urlList"])


class _Handler(BaseHTTPRequestHandler):
    def log_message(self, format, *args):
        """Print nothing."""

    def do_GET(self):
        body, engine = self.rfile.read(int(self.headers.get("Content-Length", 0))), self.engine
        engine.requests.append(Request(self.command, self.path, dict(self.headers), body))
        answer, self.close_connection = engine.next_answer(), True
        # A client that gives up closes the connection.
        with suppress(OSError):
            if answer == "garbage":
                self.wfile.write(b"\x00\xff not HTTP\r\n\r\n" * 3)
            elif answer == "silent":
                engine.ended.wait(SECONDS)
            elif answer == "slow":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
                while not engine.ended.wait(0.02):
                    self.wfile.write(b"a")
            elif answer != "nothing":
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "7")
                self.end_headers()
                self.wfile.write(b"ignored")

    do_POST = do_GET


class _Server(ThreadingHTTPServer):
    # A thread that still waits must not delay the end of a test.
    daemon_threads = True
    block_on_close = False


@contextmanager
def running_engine():
    engine = Engine()
    with _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"engine": engine})) as server:
        engine.url = f"http://127.0.0.1:{server.server_port}/indexnow"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield engine
        finally:
            engine.ended.set()
            server.shutdown()
            thread.join(SECONDS)


@pytest.fixture
def engine():
    """A search engine that accepts everything until the test says otherwise."""
    with running_engine() as running:
        yield running
