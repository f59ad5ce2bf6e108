"""An HTTP client for small requests, with a timeout for each request and a deadline for all of them."""

from __future__ import annotations

import time
from queue import Empty, SimpleQueue
from threading import Thread

from urllib3 import PoolManager, Timeout
from urllib3.exceptions import (
    HTTPError,
    InvalidHeader,
    MaxRetryError,
    NewConnectionError,
    ProtocolError,
    SSLError,
    TimeoutError,
)
from urllib3.response import BaseHTTPResponse
from urllib3.util import Retry

import django_sitemaps09
from django_sitemaps09.notify.responses import AFTER_TOO_MANY, MAX_PAUSE, TOO_MANY, Response

_RETRIES = 3

_HEADERS = {"User-Agent": f"django-sitemaps09/{django_sitemaps09.__version__}"}
_JSON = {"Content-Type": "application/json; charset=utf-8"}

# The texts contain neither the URL nor anything that the server sent.
_PROBLEMS: tuple[tuple[type[HTTPError], str], ...] = (
    (NewConnectionError, "the connection failed"),
    (SSLError, "the TLS handshake failed, or its certificate is invalid"),
    (TimeoutError, "it did not respond in time"),
    (ProtocolError, "it did not send a valid HTTP response"),
)


class Client:
    """Sends requests until its deadline. No redirect is followed, and no body is read.

    `timeout` is the limit for each request, in seconds, and `seconds` the limit for all requests with the
    pauses between them. Requests that fail temporarily are repeated after pauses of 0, `2 * backoff` and
    `4 * backoff` seconds, or of the time in Retry-After.
    """

    def __init__(self, timeout: float, seconds: float, backoff: float = 1.0) -> None:
        self._timeout = max(timeout, 0.1)
        self._end = time.monotonic() + seconds
        self._retry = Retry(total=_RETRIES, backoff_factor=backoff)
        self._pool = PoolManager(retries=False)

    @property
    def remaining(self) -> float:
        """Seconds until the deadline; 0 after it."""
        return max(self._end - time.monotonic(), 0.0)

    def close(self) -> None:
        self._pool.clear()

    def get(self, url: str) -> Response:
        """Request a URL, and retry after temporary failures."""
        return self._repeat(url, None)

    def post_json(self, url: str, body: bytes) -> Response:
        """Send a JSON document, and retry after temporary failures."""
        return self._repeat(url, body)

    def _repeat(self, url: str, body: bytes | None) -> Response:
        retry = self._retry
        while True:
            response = self._request_in_time(url, body)
            if not response.is_temporary:
                return response
            try:
                retry = retry.increment()
            except MaxRetryError:
                return response
            pause = response.retry_after
            if pause is None:
                pause = AFTER_TOO_MANY if response.status == TOO_MANY else retry.get_backoff_time()
            if pause >= self.remaining:
                return response
            time.sleep(pause)

    def _request_in_time(self, url: str, body: bytes | None) -> Response:
        """Send one request in a thread, and return its response, or a failure after the timeout.

        The timeouts of a socket limit neither name resolution nor a server that sends its headers one byte
        at a time. A thread that is too slow is abandoned, and ends with its process at the latest.
        """
        seconds = min(self._timeout, self.remaining)
        if not seconds:
            return Response(None, problem="the deadline has passed")
        responses: SimpleQueue[Response] = SimpleQueue()
        Thread(
            target=lambda: responses.put(self._request(url, body, seconds)),
            name="sitemap-submission",
            daemon=True,
        ).start()
        try:
            return responses.get(timeout=seconds)
        except Empty:
            return Response(None, problem="it did not respond in time")

    def _request(self, url: str, body: bytes | None, seconds: float) -> Response:
        try:
            response = self._pool.request(
                "GET" if body is None else "POST",
                url,
                body=body,
                headers=_HEADERS if body is None else _HEADERS | _JSON,
                timeout=Timeout(total=seconds),
                redirect=False,
                preload_content=False,
            )
        except Exception as error:  # noqa: BLE001 the waiting thread needs a response
            problems = (text for kind, text in _PROBLEMS if isinstance(error, kind))
            return Response(None, problem=next(problems, f"the request failed ({type(error).__name__})"))
        response.close()
        return Response(response.status, self._retry_after(response))

    def _retry_after(self, response: BaseHTTPResponse) -> float | None:
        try:
            seconds = self._retry.get_retry_after(response)
        except (InvalidHeader, ValueError, OverflowError):
            return None
        return None if seconds is None else min(seconds, MAX_PAUSE)
