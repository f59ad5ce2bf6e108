"""Serve a WSGI application in a thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.db import connections

SECONDS = 30


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


class BrowserServer(ThreadingMixIn, WSGIServer):
    """Server with a thread for each connection: a browser opens connections that it may never use."""

    daemon_threads = False

    def get_request(self) -> Any:
        request, address = super().get_request()
        request.settimeout(2)
        return request, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing about connections that the browser does not use."""


@contextmanager
def serve(application: Any, server_class: type[WSGIServer] = WSGIServer) -> Iterator[str]:
    """Serve an application, and yield the address."""
    with make_server("127.0.0.1", 0, application, server_class, Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(SECONDS)


@contextmanager
def sharing_connection(application: Any) -> Iterator[Any]:
    """Yield the application with the connection of the test, whose transaction others do not see."""
    shared = connections["default"]

    def in_thread(environ: dict[str, Any], start_response: Any) -> Any:
        connections["default"] = shared
        return application(environ, start_response)

    shared.inc_thread_sharing()
    try:
        yield in_thread
    finally:
        shared.dec_thread_sharing()
