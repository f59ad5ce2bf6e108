"""Serve a WSGI application in a thread."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from django.db import connections

SECONDS = 30


class Quiet(WSGIRequestHandler):
    def log_message(self, format, *args):
        """Print nothing."""


class BrowserServer(ThreadingMixIn, WSGIServer):
    """Server with a thread for each connection: a browser opens connections that it may never use."""

    daemon_threads = False

    def get_request(self):
        request, address = super().get_request()
        request.settimeout(2)
        return request, address

    def handle_error(self, request, client_address):
        """Print nothing about connections that the browser does not use."""


@contextmanager
def serve(application, server_class=WSGIServer):
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
def sharing_connection(application):
    """Yield the application with the connection of the test, whose transaction others do not see."""
    shared = connections["default"]

    def in_thread(environ, start_response):
        connections["default"] = shared
        return application(environ, start_response)

    shared.inc_thread_sharing()
    try:
        yield in_thread
    finally:
        shared.dec_thread_sharing()
