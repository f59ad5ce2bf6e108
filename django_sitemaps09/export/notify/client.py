"""HTTP requests that end at an absolute deadline, and a client that repeats small ones."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Any

from urllib3 import PoolManager, Timeout
from urllib3.exceptions import (
    ConnectTimeoutError,
    HTTPError,
    IncompleteRead,
    InvalidHeader,
    NameResolutionError,
    NewConnectionError,
    ProtocolError,
    SSLError,
    TimeoutError,
)
from urllib3.response import BaseHTTPResponse
from urllib3.util import Retry

import django_sitemaps09
from django_sitemaps09.export.notify.search_engines import (
    AFTER_TOO_MANY,
    MAX_PAUSE,
    TOO_MANY,
    EngineResponse,
)

_HEADERS = {"User-Agent": f"django-sitemaps09/{django_sitemaps09.__version__}"}
_JSON = {"Content-Type": "application/json; charset=utf-8"}

# The texts contain neither the URL nor anything that the server sent.
_PROBLEMS: tuple[tuple[type[HTTPError], str], ...] = (
    (NameResolutionError, "the name of the host cannot be resolved"),
    (NewConnectionError, "the connection failed"),
    (SSLError, "the TLS handshake failed, or its certificate is invalid"),
    (TimeoutError, "it did not respond in time"),
    (ProtocolError, "it did not send a valid HTTP response"),
)


def problem_of(error: Exception) -> str:
    """Return why a request failed, in words, with neither the URL nor text of the server."""
    if isinstance(error, ProtocolError) and isinstance(error.args[-1], (ConnectionError, IncompleteRead)):
        return "the server closed the connection"
    problems = (text for kind, text in _PROBLEMS if isinstance(error, kind))
    return next(problems, f"the request failed ({type(error).__name__})")


class Connections:
    """Connections whose requests end at an absolute deadline, whatever a server sends, and however slowly.

    The timeouts of a socket begin again with each byte. A watchdog therefore shuts the socket down at the
    deadline: `close()` would not end a `recv()` in progress. Only name resolution cannot be interrupted; it
    takes as long as the resolver of the system allows. Only one thread may use an instance.
    """

    def __init__(self) -> None:
        self._end = 0.0
        self._socket: socket.socket | None = None
        self._pool = PoolManager(retries=False)
        pools: dict[str, Any] = {**self._pool.pool_classes_by_scheme}
        for scheme, pool in pools.items():
            kind = type("Watched", (_Watched, pool.ConnectionCls), {"watch": self})
            pools[scheme] = type("Pool", (pool,), {"ConnectionCls": kind})
        self._pool.pool_classes_by_scheme = pools

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; 0 after it."""
        return max(self._end - time.monotonic(), 0.0)

    def close(self) -> None:
        self._pool.clear()

    @contextmanager
    def deadline(self, seconds: float) -> Iterator[None]:
        """Set the deadline of the requests in the context, and of reading the responses to them."""
        self._end = time.monotonic() + seconds
        watchdog = Timer(seconds, self._shut_down)
        watchdog.daemon = True
        watchdog.start()
        try:
            yield
        finally:
            watchdog.cancel()
            watchdog.join()
            self._socket = None

    def request(self, method: str, url: str, *, wait: Timeout, **options: Any) -> BaseHTTPResponse:
        """Request a URL. Raise an `HTTPError` if there is no response before the deadline.

        `wait` is how long to wait for the connection and for more data. The body has not been read.
        """
        response = self._pool.request(
            method, url, timeout=wait, redirect=False, preload_content=False, **options
        )
        if not self.remaining:
            # Headers end where the socket was shut down.
            response.close()
            raise TimeoutError("the deadline has passed")
        return response

    def follow(self, connected: socket.socket) -> None:
        """Shut this socket down at the deadline. Raise `OSError` after the deadline."""
        self._socket = connected
        if not self.remaining:
            raise OSError("the deadline has passed")

    def _shut_down(self) -> None:
        if self._socket is not None:
            with suppress(OSError):
                # Not the method of a TLS socket, which would change it while another thread reads.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class _Watched:
    """Methods of the connections of `Connections`. The TLS handshake ends at the timeout of the socket."""

    watch: Connections

    def connect(self: Any) -> None:
        super().connect()  # type: ignore[misc]
        self.watch.follow(self.sock)

    def request(self: Any, *arguments: Any, **options: Any) -> None:
        if self.sock is not None:
            self.watch.follow(self.sock)
        super().request(*arguments, **options)  # type: ignore[misc]

    def _new_conn(self: Any) -> socket.socket:
        """Connect to the first address that accepts. urllib3 would wait for each of any number of them."""
        problem: OSError | None = None
        try:
            addresses = socket.getaddrinfo(self.host.strip("[]"), self.port, type=socket.SOCK_STREAM)
        except socket.gaierror as error:
            raise NameResolutionError(self.host, self, error) from error
        except UnicodeError as error:
            raise NewConnectionError(self, "the host is invalid") from error
        for family, kind, protocol, _, address in addresses:
            if not (seconds := min(self.timeout, self.watch.remaining)):
                break
            connected = socket.socket(family, kind, protocol)
            try:
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connected.settimeout(seconds)
                connected.connect(address)
            except OSError as error:
                connected.close()
                problem = error
            else:
                connected.settimeout(min(self.timeout, self.watch.remaining) or 0.001)
                return connected
        if problem is None or isinstance(problem, socket.timeout):
            raise ConnectTimeoutError(self, "the connection took too long")
        raise NewConnectionError(self, str(problem))


class Client:
    """Sends requests until its deadline. No redirect is followed, and no body is read.

    `timeout` is the limit for each request, in seconds, and `seconds` the limit for all requests with the
    pauses between them. Requests that fail temporarily are repeated after pauses of 0, `2 * backoff` and
    `4 * backoff` seconds, or of the time in Retry-After.
    """

    def __init__(self, timeout: float, seconds: float, backoff: float = 1.0) -> None:
        self._timeout = max(timeout, 0.1)
        self._end = time.monotonic() + seconds
        self._backoff = backoff
        self._connections = Connections()

    def close(self) -> None:
        self._connections.close()

    def request(self, url: str, body: bytes | None = None) -> EngineResponse:
        """Request a URL, or send it a JSON document. Retry after temporary failures."""
        response = EngineResponse(None, problem="the deadline has passed")
        for backoff in (0.0, 2 * self._backoff, 4 * self._backoff, None):
            seconds = min(self._timeout, self._end - time.monotonic())
            if seconds <= 0:
                break
            response = self._request_once(url, body, seconds)
            if backoff is None or not response.is_temporary:
                break
            pause = response.retry_after
            if pause is None:
                pause = AFTER_TOO_MANY if response.status == TOO_MANY else backoff
            if pause >= self._end - time.monotonic():
                break
            time.sleep(pause)
        return response

    def _request_once(self, url: str, body: bytes | None, seconds: float) -> EngineResponse:
        """Send one request, and return its response, or a failure after so many seconds."""
        method, headers = ("GET", _HEADERS) if body is None else ("POST", _HEADERS | _JSON)
        with self._connections.deadline(seconds):
            try:
                wait = Timeout(total=seconds)
                response = self._connections.request(method, url, wait=wait, body=body, headers=headers)
            except (HTTPError, ValueError, OSError) as error:
                if not self._connections.remaining:
                    return EngineResponse(None, problem="it did not respond in time")
                return EngineResponse(None, problem=problem_of(error))
            response.close()
        pause = None
        with suppress(InvalidHeader, ValueError, OverflowError):
            pause = Retry().get_retry_after(response)
        return EngineResponse(response.status, None if pause is None else min(pause, MAX_PAUSE))
