"""Request the URLs of this project in this process, through Django's test client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.test import Client
from django.urls import get_script_prefix

from django_sitemaps09.audit.bodies import Response
from django_sitemaps09.entries import reason_of
from django_sitemaps09.exceptions import AuditError, DocumentError
from django_sitemaps09.protocol import Base

_HEADERS = {"user-agent": "django-sitemaps09-audit", "accept-encoding": "gzip"}


class ClientReader:
    """Requests URLs on one host. Redirects are not followed: their target may be on another host."""

    def __init__(self, base: Base) -> None:
        self._base = base
        self._prefix = get_script_prefix()
        self._client = Client(raise_request_exception=False, headers=_HEADERS)

    @contextmanager
    def open(self, url: str, *, redirects: bool = True) -> Iterator[Response]:
        """Request a URL. If its view raises an exception, the status is 500."""
        start = str(self._base)
        if not f"{url}/".startswith(f"{start}/"):
            raise DocumentError("document-unreachable", f"it is not on {start}")
        parts = urlsplit(url)
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        # As in `request.path_info`, the path does not include the script prefix.
        path = f"/{path.removeprefix(self._prefix)}" if path.startswith(self._prefix) else path
        # Requests must not share cookies, such as the one for the language.
        self._client.cookies.clear()
        try:
            is_secure = self._base.scheme == "https"
            answer: Any = self._client.get(path, secure=is_secure, HTTP_HOST=self._base.domain)
        except Exception as error:  # the project's code can raise anything, even with this client
            raise DocumentError("document-unreachable", reason_of(error)) from error
        if answer.status_code == 400 and not self._is_allowed():
            raise AuditError(
                f"The project rejects requests for {start}. Add {self._host!r} to ALLOWED_HOSTS, or "
                "pass the base URL of an allowed host."
            )
        headers = {name.lower(): value for name, value in answer.items()}
        if not answer.streaming:
            # The client has closed the response. Closing it again could close database connections.
            yield Response(url, answer.status_code, headers, iter([answer.content]))
            return
        with closing(answer):
            yield Response(url, answer.status_code, headers, iter(answer.streaming_content))

    @property
    def _host(self) -> str:
        return split_domain_port(self._base.domain)[0]

    def _is_allowed(self) -> bool:
        """Return whether `ALLOWED_HOSTS` admits the host. If empty, `DEBUG` admits this machine."""
        local = [".localhost", "127.0.0.1", "[::1]"] if settings.DEBUG else []
        return validate_host(self._host, settings.ALLOWED_HOSTS or local)

    def label(self, url: str) -> str:
        return url
