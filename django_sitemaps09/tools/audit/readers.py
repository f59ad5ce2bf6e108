"""Read documents and pages as streams: from a folder, from the views of this project, or over HTTP."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from functools import partial
from importlib import import_module
from io import BytesIO
from itertools import chain, count
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.test import Client
from django.urls import get_script_prefix

from django_sitemaps09.exceptions import AuditError, DocumentError, ExportError
from django_sitemaps09.protocol.compression import GZIP_MAGIC, TrailingDataError, gunzip
from django_sitemaps09.protocol.fields import reason_of
from django_sitemaps09.protocol.limits import MAX_BYTES
from django_sitemaps09.protocol.urls import Base, normalized
from django_sitemaps09.target.store import Store
from django_sitemaps09.tools.audit.rules import ReportRule


def optional(name: str) -> Any:
    """Return a module of the extra `audit`, or `None` if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None


def http_date(text: str) -> datetime | None:
    """Parse the date of a header or of RSS. Django's parser does not know all forms of the zone and day."""
    with suppress(ValueError, TypeError, LookupError, OverflowError):
        moment = parsedate_to_datetime(text)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=timezone.utc)
    return None


urllib3 = optional("urllib3")

_HEADERS = {"User-Agent": "django-sitemaps09-audit", "Accept-Encoding": "gzip"}
_CHUNK, _MAX_LAYERS = 262_144, 3  # Maximum numbers of bytes to read at a time, and of layers of gzip.
#: Maximum seconds for reading one document, for connecting, and for waiting for more data.
DOCUMENT_SECONDS, CONNECT_SECONDS, READ_SECONDS = 300.0, 10.0, 30.0
MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_SCHEMES = ("http", "https")


class Response(NamedTuple):
    """A response. `url` is the last one after redirects. `headers` has all values by name in lower case."""

    url: str
    status: int
    headers: Mapping[str, Sequence[str]]
    chunks: Iterator[bytes]

    def header(self, name: str) -> str:
        """Return the value of the last line with a name; an empty string if there is none."""
        return self.headers.get(name, ("",))[-1].strip()

    @property
    def is_encoded(self) -> bool:
        return self.header("content-encoding").lower() in ("gzip", "x-gzip")

    def decoded(self, report: ReportRule) -> Iterator[bytes]:
        """Return the content without its Content-Encoding. Raise `DocumentError` if that is not gzip."""
        encoding = self.header("content-encoding")
        if encoding.lower() not in ("", "identity", "gzip", "x-gzip"):
            raise DocumentError("content-encoding", f"{encoding}, but the request accepts only gzip")
        return _layer(self.chunks, report) if self.is_encoded else self.chunks

    def content(self, report: ReportRule) -> Iterator[bytes]:
        """Return the content without its layers of gzip. Raise `DocumentError` if the data are damaged."""
        kind, chunks = self.header("content-type"), self.decoded(report)
        for layer in count(2 if self.is_encoded else 1):
            head, chunks = peek(chunks, len(GZIP_MAGIC))
            if not head.startswith(GZIP_MAGIC):
                break
            if layer > _MAX_LAYERS:
                raise DocumentError("gzip-damaged", f"there are more than {_MAX_LAYERS} layers of gzip")
            if layer == 2:
                text = "Content-Encoding and content" if self.is_encoded else "gzip inside gzip"
                report("gzip-twice", text)
            elif "xml" in kind and not self.is_encoded:
                report("gzip-type", kind)
            chunks = _layer(chunks, report)
        return chunks


def _layer(chunks: Iterable[bytes], report: ReportRule) -> Iterator[bytes]:
    """Decompress one layer of gzip, up to a limit: a layer of terabytes can have no content inside."""
    most = 2 * MAX_BYTES
    try:
        yield from limit_size(gunzip(chunks, most, members=True), most)
    except TrailingDataError as error:
        # Zeros at the end are padding, which engines ignore.
        if error.data.strip(b"\0"):
            report("gzip-trailing", f"{error.data[:20]!r}")
    except zlib.error as error:
        raise DocumentError("gzip-damaged", str(error)) from error
    except EOFError as error:
        raise DocumentError("gzip-truncated", "the end of the gzip stream is missing") from error


def limit_size(chunks: Iterable[bytes], most: int) -> Iterator[bytes]:
    """Yield chunks of at most `most` bytes in total. Raise `DocumentError` if there are more."""
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > most:
            yield chunk[: most - size]
            raise DocumentError("document-too-large", f"more than {most:,} bytes")
        yield chunk


def peek(chunks: Iterator[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """Return the first `size` or more bytes (fewer at the end), and an iterator over all chunks."""
    head = bytearray()
    for chunk in chunks:
        head += chunk
        if len(head) >= size:
            break
    content = bytes(head)
    return content, chain([content] if content else [], chunks)


class Reader:
    """The base class for reading what is audited: a folder, a server, or the views of this project."""

    def open(self, url: str, *, redirects: bool = True) -> AbstractContextManager[Response]:
        """Request a URL. Raise `DocumentError` if there is no response. The context closes the response."""
        raise NotImplementedError

    def label(self, url: str) -> str:
        """Return the name of a document in the examples of findings."""
        return url


class StoreReader(Reader):
    """Reads files whose URLs begin with `prefix`, which ends in a slash. Others have the status 404."""

    def __init__(self, store: Store, prefix: str) -> None:
        self._store, self._prefix = store, normalized(prefix)

    @contextmanager
    def open(self, url: str, *, redirects: bool = True) -> Iterator[Response]:
        name, file = self.name(url), None
        try:
            with suppress(ValueError):
                file = None if name is None else self._store.open(name)
        except (ExportError, OSError) as error:
            raise DocumentError("document-unreachable", str(error)) from error
        with BytesIO() if file is None else file as content:
            yield Response(url, 404 if file is None else 200, {}, iter(partial(content.read, _CHUNK), b""))

    def label(self, url: str) -> str:
        return self.name(url) or url

    def name(self, url: str) -> str | None:
        """Return the name of the file at a URL, or `None` if the URL has another prefix."""
        url = normalized(url)
        return unquote(url[len(self._prefix) :]) if url.startswith(self._prefix) else None


class ClientReader(Reader):
    """Requests URLs on one host. Redirects are not followed: their target may be on another host."""

    def __init__(self, base: Base) -> None:
        self._base, self._prefix = base, get_script_prefix()
        self._client = Client(raise_request_exception=False, headers=_HEADERS)

    @contextmanager
    def open(self, url: str, *, redirects: bool = True) -> Iterator[Response]:
        start, address = normalized(f"{self._base}/"), normalized(url).partition("#")[0]
        if not address.startswith(start):
            raise DocumentError("document-unreachable", f"it is not on {self._base}")
        # As in `request.path_info`, the path does not include the script prefix.
        path = f"/{address.removeprefix(start)}"
        path = f"/{path.removeprefix(self._prefix)}" if path.startswith(self._prefix) else path
        # Requests must not share cookies, such as the one for the language.
        self._client.cookies.clear()
        secure = self._base.scheme == "https"
        try:
            answer: Any = self._client.get(path, secure=secure, HTTP_HOST=self._base.domain)
        except Exception as error:  # the project's code can raise anything, even with this client
            raise DocumentError("document-unreachable", reason_of(error)) from error
        host = split_domain_port(self._base.domain)[0]
        # If `ALLOWED_HOSTS` is empty, `DEBUG` admits this machine.
        allowed = settings.ALLOWED_HOSTS or ([".localhost", "127.0.0.1", "[::1]"] if settings.DEBUG else [])
        if answer.status_code == 400 and not validate_host(host, allowed):
            advice = f"Add {host!r} to ALLOWED_HOSTS, or pass the base URL of an allowed host."
            raise AuditError(f"The project rejects requests for {self._base}. {advice}")
        headers = {name.lower(): (value,) for name, value in answer.items()}
        chunks = answer.streaming_content if answer.streaming else [answer.content]
        # The client has closed other responses. Closing them again could close database connections.
        with closing(answer) if answer.streaming else nullcontext():
            yield Response(url, answer.status_code, headers, iter(chunks))


class HttpReader(Reader):
    """Requests URLs over HTTP. Certificates are verified. Close it to close its connections."""

    def __init__(self, user_agent: str | None = None) -> None:
        # Imported only here, because urllib3 is optional.
        from django_sitemaps09.export.notify.client import Connections, problem_of

        self._connections, self._problem_of = Connections(), problem_of
        self._headers = _HEADERS | ({"User-Agent": user_agent} if user_agent else {})

    def close(self) -> None:
        self._connections.close()

    @contextmanager
    def open(self, url: str, *, redirects: bool = True) -> Iterator[Response]:
        with self._connections.deadline(DOCUMENT_SECONDS):
            for _ in range(MAX_REDIRECTS + 1):
                answer = self._request(url)
                with closing(answer):
                    target = answer.headers.get("Location")
                    if not redirects or answer.status not in _REDIRECTS or not target:
                        headers = {name.lower(): answer.headers.getlist(name) for name in answer.headers}
                        yield Response(url, answer.status, headers, self._chunks(answer))
                        return
                url = _target(url, target)
            raise DocumentError("document-unreachable", f"more than {MAX_REDIRECTS} redirects")

    def _request(self, url: str) -> Any:
        if urlsplit(url).scheme not in _SCHEMES:
            raise DocumentError("document-unreachable", f"{url} is not an HTTP URL")
        wait = urllib3.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS)
        with self._failures():
            return self._connections.request("GET", url, wait=wait, headers=self._headers)

    def _chunks(self, answer: Any) -> Iterator[bytes]:
        with self._failures():
            while chunk := answer.read1(_CHUNK, decode_content=False):
                yield chunk
            if not self._connections.remaining:
                raise OSError("the body may be incomplete")

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (urllib3.exceptions.HTTPError, ValueError, OSError) as error:
            text = self._problem_of(error)
            if not self._connections.remaining:
                text = f"it takes more than {DOCUMENT_SECONDS:.0f} seconds"
            raise DocumentError("document-unreachable", text) from error


def _target(url: str, location: str) -> str:
    """Return the URL of a redirect. Raise `DocumentError` if it must not be followed."""
    schemes = ("https",) if urlsplit(url).scheme == "https" else _SCHEMES
    target = location
    with suppress(ValueError):
        target = urljoin(url, location)
        if urlsplit(target).scheme in schemes:
            return target
    raise DocumentError("document-unreachable", f"it redirects to {target}")
