"""Send messages to search engines, in HTTP requests that end at an absolute deadline."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.client import responses
from threading import Timer
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from urllib3 import PoolManager, Timeout, exceptions
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NameResolutionError, NewConnectionError
from urllib3.response import BaseHTTPResponse
from urllib3.util import Retry

import django_sitemaps09
from django_sitemaps09.conf import conf
from django_sitemaps09.export.notify.ledger import MAX_PAUSE, Message
from django_sitemaps09.export.report import EndpointReport, Verdict

#: Seconds after which the same page may be submitted again, as IndexNow asks for.
PAUSE = 300.0
# Seconds to wait after a 429 without a Retry-After. IndexNow asks for ten minutes.
_AFTER_TOO_MANY = 600.0
# Statuses below 500 that mean a temporary failure.
_BUSY = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
# What statuses of IndexNow mean. The others do not reject a message.
_REJECTED = {
    HTTPStatus.BAD_REQUEST: "the message was invalid, and is not sent again",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "the message was too large, and is not sent again",
    HTTPStatus.UNPROCESSABLE_ENTITY: "URLs do not belong to the host or to the key, and are not sent again",
}
_KEY_STATUSES = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}

_HEADERS = {"User-Agent": f"django-sitemaps09/{django_sitemaps09.__version__}"}
_JSON = "application/json; charset=utf-8"
_FORM = "application/x-www-form-urlencoded"

# The texts contain neither the URL nor anything that the server sent.
_PROBLEMS: tuple[tuple[type[HTTPError], str], ...] = (
    (NameResolutionError, "the name of the host cannot be resolved"),
    (NewConnectionError, "the connection failed"),
    (exceptions.SSLError, "the TLS handshake failed, or its certificate is invalid"),
    (exceptions.TimeoutError, "it did not respond in time"),
    (exceptions.ProtocolError, "it did not send a valid HTTP response"),
)
_CLOSED = (ConnectionError, exceptions.IncompleteRead)


def problem_of(error: Exception) -> str:
    """Return why a request failed, in words, with neither the URL nor text of the server."""
    if isinstance(error, exceptions.ProtocolError) and isinstance(error.args[-1], _CLOSED):
        return "the server closed the connection"
    problems = (text for kind, text in _PROBLEMS if isinstance(error, kind))
    return next(problems, f"the request failed ({type(error).__name__})")


class Connections:
    """Connections, for one thread, whose requests end at an absolute deadline, however slow a server is.

    The timeouts of a socket begin again with each byte. A watchdog therefore shuts the socket down at the
    deadline: `close()` would not end a `recv()` in progress. Only name resolution cannot be interrupted.
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
            raise exceptions.TimeoutError("the deadline has passed")
        return response

    def follow(self, connected: socket.socket) -> None:
        """Shut this socket down at the deadline. Raise `OSError` after it."""
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


class EngineResponse(NamedTuple):
    """Response to a request, which asks for a pause in seconds, or the `problem` without a response."""

    status: int | None
    retry_after: float | None = None
    problem: str | None = None

    @property
    def is_success(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_temporary(self) -> bool:
        """Return whether the same request can succeed later."""
        return self.status is None or self.status in _BUSY or self.status >= 500

    @property
    def is_too_many(self) -> bool:
        return self.status == HTTPStatus.TOO_MANY_REQUESTS

    @property
    def failure(self) -> str:
        """Reason for the failure, without anything from the server except its status."""
        if self.status is None:
            return self.problem or "the request failed"
        if 300 <= self.status < 400:
            return f"{self.status}: it redirects, but redirects are not followed; set its final URL"
        return f"{self.status}: {responses.get(self.status, 'this is not a known status')}"


class Outcome(NamedTuple):
    """Outcome of one message at one endpoint; `problem` is `None` if it was accepted.

    A rejected message is not sent again. A pending one is sent again in the next run. `pause` is the number
    of seconds for which the endpoint gets no further message for the host.
    """

    verdict: Verdict
    problem: str | None
    pause: float = 0.0


def _outcome(response: EngineResponse, message: Message) -> Outcome:
    """Return what a response means for the message. A problem with the key names the host."""
    status, has_key = response.status, message.kind == "indexnow"
    if response.is_success:
        # 202 of IndexNow: received, but the key is not verified yet.
        return Outcome("accepted", None, PAUSE if has_key else 0.0)
    if response.is_temporary:
        default_pause = _AFTER_TOO_MANY if response.is_too_many else 0.0
        return Outcome("pending", response.failure, response.retry_after or default_pause)
    if not has_key:
        return Outcome("rejected", response.failure)
    if status in _REJECTED:
        return Outcome("rejected", f"{status}: {_REJECTED[HTTPStatus(status)]}")
    if status in _KEY_STATUSES:
        problem = f"the key was not accepted. Check that its key file is served by {message.host}"
        return Outcome("pending", f"{status}: {problem}")
    return Outcome("pending", response.failure)


class Client:
    """Sends messages until its deadline. No redirect is followed, and no body is read.

    `timeout` is the limit for each request, in seconds, and `seconds` the limit for all requests with the
    pauses between them. Requests that fail temporarily are repeated after pauses of 0, `2 * backoff` and
    `4 * backoff` seconds, or of the time in Retry-After.
    """

    def __init__(self, timeout: float, seconds: float, backoff: float = 1.0) -> None:
        self._timeout = max(timeout, 0.1)
        self._end = time.monotonic() + seconds
        self._backoff = backoff
        self._connections = Connections()
        # Endpoints that are no longer used, for one host or for all hosts (`None`), and why. A client sends
        # the messages of all targets, so that an endpoint that is down does not use up their time.
        self._blocked: dict[tuple[str, str | None], Outcome] = {}

    def close(self) -> None:
        self._connections.close()

    def deliver(self, message: Message, endpoint: str, report: EndpointReport) -> Outcome:
        """Send a message to an endpoint, unless that is blocked, and add the outcome to the report."""
        blocked = self._blocked.get((endpoint, message.host)) or self._blocked.get((endpoint, None))
        outcome = blocked or self._send(message, endpoint, report)
        report.count(outcome.verdict, outcome.problem, len(message.urls))
        return outcome

    def _send(self, message: Message, endpoint: str, report: EndpointReport) -> Outcome:
        if message.kind == "ping":
            [url] = message.urls
            separator = "&" if "?" in endpoint else "?"
            response = self.request(f"{endpoint}{separator}sitemap={quote(url, safe='')}")
        elif message.kind == "websub":
            # WebSub leaves the form to hubs. All of them take this one, that of PubSubHubbub 0.4 (7.1).
            form = urlencode({"hub.mode": "publish", "hub.url": message.urls[0]})
            response = self.request(endpoint, form.encode(), _FORM)
        elif key := conf.indexnow_key_for(message.host):
            document = {"host": message.host, "key": key, "urlList": message.urls}
            response = self.request(endpoint, json.dumps(document).encode())
        else:
            return Outcome("pending", "INDEXNOW_KEY has no key for this host")
        outcome = _outcome(response, message)
        report.messages += 1
        report.status = response.status
        if outcome.verdict == "pending":
            if outcome.pause:
                report.resumes = time.time() + outcome.pause
            # If the endpoint does not work at all, it is not used for other hosts either. A 429 is for one.
            is_down = response.is_temporary and not response.is_too_many
            self._blocked[endpoint, None if is_down else message.host] = outcome._replace(pause=0.0)
        return outcome

    def request(self, url: str, body: bytes | None = None, kind: str = _JSON) -> EngineResponse:
        """Request a URL, or send it a body of a media type. Retry after temporary failures."""
        response = EngineResponse(None, problem="the deadline has passed")
        for backoff in (0.0, 2 * self._backoff, 4 * self._backoff, None):
            seconds = min(self._timeout, self._end - time.monotonic())
            if seconds <= 0:
                break
            response = self._request_once(url, body, kind, seconds)
            if backoff is None or not response.is_temporary:
                break
            pause = response.retry_after
            if pause is None:
                pause = _AFTER_TOO_MANY if response.is_too_many else backoff
            if pause >= self._end - time.monotonic():
                break
            time.sleep(pause)
        return response

    def _request_once(self, url: str, body: bytes | None, kind: str, seconds: float) -> EngineResponse:
        """Send one request, and return its response, or a failure after so many seconds."""
        method, headers = ("GET", _HEADERS) if body is None else ("POST", _HEADERS | {"Content-Type": kind})
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
        with suppress(exceptions.InvalidHeader, ValueError, OverflowError):
            pause = Retry().get_retry_after(response)
        return EngineResponse(response.status, None if pause is None else min(pause, MAX_PAUSE))
