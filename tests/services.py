"""What tests of storages and leases ask over a real socket: a Redis, and an S3 that moto serves.

The Redis is looked for where `SITEMAPS09_REDIS` says, as `host:port`, by default on this machine.
"""

from __future__ import annotations

import importlib.util
import os
import socket

import pytest

REDIS = os.environ.get("SITEMAPS09_REDIS", "127.0.0.1:6379")


def require_redis() -> None:
    host, _, port = REDIS.rpartition(":")
    require_packages("redis")
    try:
        socket.create_connection((host, int(port)), timeout=2).close()
    except OSError:
        missing(f"no Redis answers at {REDIS}: see tests/services.py")


def require_packages(*names: str) -> None:
    for name in names:
        if importlib.util.find_spec(name) is None:
            missing(f"{name} is not installed: see the extra test-services")


def missing(reason: str) -> None:
    """Skips the test; fails it where `SITEMAPS09_REQUIRE_SERVICES=1`."""
    if os.environ.get("SITEMAPS09_REQUIRE_SERVICES") == "1":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
