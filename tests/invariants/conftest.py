"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.documents import articles, serve
from tests.support.shelves import shelf
from tests.support.twins import twins

__all__ = ["articles", "serve", "shelf", "twins"]
