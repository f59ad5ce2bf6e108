"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.browser.chromium import axe, browser

__all__ = ["axe", "browser"]
