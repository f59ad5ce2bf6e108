"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.native_views import route, section
from tests.support.several_hosts import two_sites

__all__ = ["route", "section", "two_sites"]
