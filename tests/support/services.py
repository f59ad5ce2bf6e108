"""Servers that a test needs: Redis, S3 (by moto), or a WSGI application in a thread (`serve`).

A test that is skipped where a service is missing calls a `require_` function or `missing`.

The address of Redis is `SITEMAPS09_REDIS`, as `host:port`, by default on this machine.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import threading
import time
from contextlib import contextmanager
from secrets import token_hex
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import pytest
from django.db import connections
from django.test import override_settings

from tests.support.processes import answers

REDIS = os.environ.get("SITEMAPS09_REDIS", "127.0.0.1:6379")
REQUIRED = os.environ.get("SITEMAPS09_REQUIRE_SERVICES") == "1"
#: Whether the running test is marked `services`. All tests that can be skipped here must be marked.
expected = False


def must_be_marked():
    """Fail a test that needs a service and is not marked `services`."""
    assert expected, "what this test needs can be missing: mark it with pytest.mark.services"


def require_redis():
    require_packages("redis")
    if not answers(REDIS):
        missing(f"no Redis answers at {REDIS}: see tests/support/services.py")


def require_packages(*names):
    must_be_marked()
    for name in names:
        if importlib.util.find_spec(name) is None:
            missing(f"{name} is not installed: see the extras in pyproject.toml")


def missing(reason):
    """Skip the test, which must be marked `services`; fail it if `SITEMAPS09_REQUIRE_SERVICES=1`."""
    must_be_marked()
    if REQUIRED:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def declare(settings):
    def change(**declared):
        settings.STORAGES = {**settings.STORAGES, **declared}

    return change


@pytest.fixture(scope="module")
def s3():
    require_packages("storages", "boto3", "moto")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3, declare):
    """Declare a storage with a new bucket, and return the bucket of boto3."""
    import boto3

    keys = {"access_key": "key", "secret_key": "secret", "region_name": "us-east-1", "endpoint_url": s3}

    def make(**options):
        name = f"bucket-{time.monotonic_ns()}"
        given = {"bucket_name": name, **keys, **options}
        declare(sitemaps={"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": given})
        session = boto3.Session(keys["access_key"], keys["secret_key"], region_name=keys["region_name"])
        return session.resource("s3", endpoint_url=s3).create_bucket(Bucket=name)

    return make


@pytest.fixture
def shared_cache(settings):
    """Use Redis as Django's default cache, with separate keys for this test."""
    require_redis()
    backend = "django.core.cache.backends.redis.RedisCache"
    cache = {"BACKEND": backend, "LOCATION": f"redis://{REDIS}", "KEY_PREFIX": token_hex(8)}
    settings.CACHES = {"default": cache}


def unavailable_cache():
    """Use a Redis without a server as Django's default cache."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        location = f"redis://127.0.0.1:{closed.getsockname()[1]}"
    backend = "django.core.cache.backends.redis.RedisCache"
    return override_settings(CACHES={"default": {"BACKEND": backend, "LOCATION": location}})


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
    with make_server("127.0.0.1", 0, application, server_class, Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(30)


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
