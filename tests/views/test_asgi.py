"""The native views under ASGI: Django runs them in a thread, so the event loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import threading

import pytest
from asgiref.sync import async_to_sync
from django.core.asgi import get_asgi_application
from django.core.signals import request_finished
from django.test import AsyncClient

from django_sitemaps09.views.live import page_responses
from tests.support.articles import Articles, write_keys
from tests.support.native_views import FORMS, PAGE, get

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]

_DEADLINE = 20


@pytest.fixture(autouse=True)
def _articles(register):
    write_keys(*range(1, 9))
    register(articles=Articles)


@pytest.mark.parametrize("url", ["/sitemap.xml", *FORMS])
def test_a_document_is_the_same_as_under_wsgi(url):
    # A warning about a synchronous iterator would fail this test.
    response = async_to_sync(AsyncClient().get)(url)
    assert (response.status_code, response.streaming, response.content) == (200, False, get(url).content)


@pytest.fixture
def rendering(monkeypatch):
    """Return an event that is set when a page begins to be rendered, and one that lets it end."""
    begun, may_end, render = threading.Event(), threading.Event(), page_responses.PageRequest._render

    def waiting(*arguments):
        begun.set()
        assert may_end.wait(_DEADLINE), "the event loop did not go on"
        return render(*arguments)

    monkeypatch.setattr(page_responses.PageRequest, "_render", waiting)
    return begun, may_end


async def until(event):
    while not event.is_set():
        await asyncio.sleep(0.001)


def test_the_event_loop_is_not_blocked_while_a_page_is_rendered(rendering):
    begun, may_end = rendering

    async def both():
        request = asyncio.ensure_future(AsyncClient().get(PAGE))
        await until(begun)
        may_end.set()
        return await request

    assert b"/s8/" in async_to_sync(both)().content


def test_a_client_that_goes_away_ends_its_request(rendering):
    begun, is_gone = rendering
    finished, sent, messages = [], [], [{"type": "http.request", "body": b""}]

    def note(**_):
        finished.append(True)

    async def receive():
        if messages:
            return messages.pop()
        await until(begun)
        is_gone.set()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    async def run():
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
