"""Packages of the extra `test-clients`, which may be missing."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import NoReturn

import pytest

MODULES = {"ultimate-sitemap-parser": "usp"}


def require(package: str) -> None:
    """Skips a test without the package, or fails it where all are promised to be there."""
    if find_spec(MODULES.get(package, package)) is not None:
        return
    lacking(f"{package} is not installed; it is in the extra `test-clients`")


def lacking(reason: str) -> NoReturn:
    """Skips a test that has no reader, or fails it where all are promised to be there."""
    if os.environ.get("SITEMAPS09_REQUIRE_CLIENTS") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
