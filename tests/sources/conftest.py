"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.sources import articles, kind, small_slices
from tests.support.tables import shelf

__all__ = ["articles", "kind", "shelf", "small_slices"]
