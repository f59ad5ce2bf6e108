"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.native_views import route

__all__ = ["route"]
