"""Request documents and pages over HTTP, within limits of time, size and redirects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

from django_sitemaps09.audit import libraries
from django_sitemaps09.audit.bodies import CHUNK, DOCUMENT_SECONDS, Response
from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import DocumentError

_HEADERS = {"User-Agent": "django-sitemaps09-audit", "Accept-Encoding": "gzip"}
#: Maximum seconds for connecting, and for waiting for more data.
CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0
MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_SCHEMES = ("http", "https")


class HttpReader:
    """Requests URLs over HTTP. Certificates are verified. Close it to close its connections."""

    def __init__(self) -> None:
        # Imported only here, because urllib3 is optional.
        from django_sitemaps09.notify.client import Connections

        self._connections = Connections()

    def close(self) -> None:
        self._connections.close()

    @contextmanager
    def open(self, url: str, *, redirects: bool = True) -> Iterator[Response]:
        """Request a URL, and follow redirects to http or https, but not from https to http."""
        visited: list[str] = []
        with self._connections.deadline(DOCUMENT_SECONDS):
            while True:
                answer = self._request(url)
                with closing(answer):
                    target = answer.headers.get("Location")
                    if not redirects or answer.status not in _REDIRECTS or not target:
                        headers = {name.lower(): value for name, value in answer.headers.items()}
                        yield Response(url, answer.status, headers, self._chunks(answer), tuple(visited))
                        return
                visited.append(url)
                if len(visited) > MAX_REDIRECTS:
                    raise DocumentError("document-unreachable", f"more than {MAX_REDIRECTS} redirects")
                url = _target(url, target)

    def label(self, url: str) -> str:
        return url

    def _request(self, url: str) -> Any:
        if urlsplit(url).scheme not in _SCHEMES:
            raise DocumentError("document-unreachable", f"{url} is not an HTTP URL")
        wait = libraries.urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
        try:
            return self._connections.request("GET", url, wait=wait, headers=_HEADERS)
        except (libraries.urllib3.exceptions.HTTPError, ValueError, OSError) as error:
            raise self._failure(error) from error

    def _chunks(self, answer: Any) -> Iterator[bytes]:
        """Yield the body as it was sent, with its Content-Encoding."""
        try:
            while chunk := answer.read1(CHUNK, decode_content=False):
                yield chunk
            if not self._connections.remaining:
                raise OSError("the body may be incomplete")
        except (libraries.urllib3.exceptions.HTTPError, ValueError, OSError) as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> DocumentError:
        is_late = not self._connections.remaining
        text = f"it takes more than {DOCUMENT_SECONDS:.0f} seconds" if is_late else reason_of(error)
        return DocumentError("document-unreachable", text)


def _target(url: str, location: str) -> str:
    """Return the URL of a redirect. Raise `DocumentError` if it must not be followed."""
    try:
        target = urljoin(url, location)
        scheme = urlsplit(target).scheme
    except ValueError as error:
        raise DocumentError("document-unreachable", f"it redirects to {location}") from error
    if scheme not in _SCHEMES or (urlsplit(url).scheme == "https" and scheme != "https"):
        raise DocumentError("document-unreachable", f"it redirects to {target}")
    return target
