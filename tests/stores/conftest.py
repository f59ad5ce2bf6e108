"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.stores import memory, store

__all__ = ["memory", "store"]
