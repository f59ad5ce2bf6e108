"""Fixtures of the tests of submissions."""

from __future__ import annotations

from tests.support.search_engines import engine
from tests.support.stores import memory, store

__all__ = ["engine", "memory", "store"]
