"""Packages of the extra `test-clients`, which may be missing."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import NoReturn

import pytest

#: The modules of packages whose names differ.
MODULES = {"ultimate-sitemap-parser": "usp"}


def require(package: str) -> None:
    """Skip a test without the package; fail it if `SITEMAPS09_REQUIRE_CLIENTS=1`."""
    if find_spec(MODULES.get(package, package)) is not None:
        return
    lacking(f"{package} is not installed; it is in the extra `test-clients`")


def lacking(reason: str) -> NoReturn:
    """Skip a test that lacks a reader; fail it if `SITEMAPS09_REQUIRE_CLIENTS=1`."""
    if os.environ.get("SITEMAPS09_REQUIRE_CLIENTS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
