"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.invariants.strict_readers import sitemap_js
from tests.support.documents import articles, serve
from tests.support.sources import small_slices
from tests.support.tables import shelf

__all__ = ["articles", "serve", "shelf", "sitemap_js", "small_slices"]
