"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.declarations import articles

__all__ = ["articles"]
