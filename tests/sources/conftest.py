"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.shelves import shelf
from tests.support.sources import articles, kind, small_slices

__all__ = ["articles", "kind", "shelf", "small_slices"]
