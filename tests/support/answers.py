"""A site over HTTP, from a dict of answers."""

from __future__ import annotations

import http
import time
from collections.abc import Mapping
from contextlib import contextmanager
from typing import NamedTuple

from tests.support.site_files import sound
from tests.support.wsgi import serve


class Answer(NamedTuple):
    """A response. `seconds` is how long the server waits before it."""

    content: str | bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {}
    seconds: float = 0


@contextmanager
def site(answers=lambda base: {}, on_request=lambda environ: None):
    """Serve a site without faults but for these answers by path without a slash, and yield its base."""

    def application(environ, start_response):
        on_request(environ)
        base = f"http://{environ['HTTP_HOST']}"
        content = {**sound(base), **answers(base)}.get(environ["PATH_INFO"].removeprefix("/"))
        answer = content if isinstance(content, Answer) else Answer(content or "", 200 if content else 404)
        time.sleep(answer.seconds)
        status = f"{answer.status} {http.HTTPStatus(answer.status).phrase}"
        start_response(status, [*answer.headers.items()])
        return [answer.content.encode() if isinstance(answer.content, str) else answer.content]

    with serve(application) as base:
        yield base
