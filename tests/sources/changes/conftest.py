"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.fingerprints import articles

__all__ = ["articles"]
