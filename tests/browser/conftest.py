"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.browsers import browser

__all__ = ["browser"]
