"""The native views under ASGI: Django runs them in a thread, so the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.asgi import get_asgi_application
from django.core.signals import request_finished
from django.test import AsyncClient, Client

from django_sitemaps09.views.live import page_responses
from tests.support.articles import Articles, write_keys
from tests.support.configuration import Register

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

PAGE = "/sitemap-articles-1.xml"
_DEADLINE = 20


@pytest.fixture(autouse=True)
def _articles(register: Register) -> None:
    write_keys(*range(1, 9))
    register(articles=Articles)


@pytest.mark.parametrize("url", ["/sitemap.xml", PAGE, f"{PAGE}.gz", PAGE.replace(".xml", ".txt")])
def test_a_document_is_the_same_as_under_wsgi(url: str) -> None:
    # A warning about a synchronous iterator would fail this test.
    response = async_to_sync(AsyncClient().get)(url)
    assert response.status_code == 200
    assert response.content == Client().get(url).content
    assert not response.streaming


@pytest.fixture
def rendering(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, threading.Event]:
    """Return an event that is set when a page begins to be rendered, and one that lets it end."""
    begun, may_end = threading.Event(), threading.Event()
    render = page_responses.PageRequest._render

    def waiting(*arguments: Any) -> Any:
        begun.set()
        assert may_end.wait(_DEADLINE), "the event loop did not go on"
        return render(*arguments)

    monkeypatch.setattr(page_responses.PageRequest, "_render", waiting)
    return begun, may_end


async def until(event: threading.Event) -> None:
    while not event.is_set():
        await asyncio.sleep(0.001)


def test_the_event_loop_is_not_blocked_while_a_page_is_rendered(
    rendering: tuple[threading.Event, threading.Event],
) -> None:
    begun, may_end = rendering

    async def both() -> Any:
        request = asyncio.ensure_future(AsyncClient().get(PAGE))
        await until(begun)
        may_end.set()
        return await request

    assert b"/s8/" in async_to_sync(both)().content


def test_a_client_that_goes_away_ends_its_request(
    rendering: tuple[threading.Event, threading.Event],
) -> None:
    begun, is_gone = rendering
    finished: list[object] = []
    sent: list[Any] = []
    messages = [{"type": "http.request", "body": b""}]

    def note(**_: object) -> None:
        finished.append(True)

    async def receive() -> Any:
        if messages:
            return messages.pop()
        await until(begun)
        is_gone.set()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    async def run() -> None:
        scope = {"type": "http", "method": "GET", "path": PAGE, "headers": [(b"host", b"testserver")]}
        scope |= {"query_string": b"", "server": ("testserver", 80), "scheme": "http"}
        await asyncio.wait_for(get_asgi_application()(scope, receive, send), _DEADLINE)

    request_finished.connect(note)
    try:
        async_to_sync(run)()
    finally:
        request_finished.disconnect(note)
    # Django closes connections to databases when it sends this signal.
    assert (bool(finished), sent) == (True, [])
