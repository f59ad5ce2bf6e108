"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.sources import kind, small_slices
from tests.support.tables import shelf, table

__all__ = ["kind", "shelf", "small_slices", "table"]
