"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.news import stopped_clock

__all__ = ["stopped_clock"]
