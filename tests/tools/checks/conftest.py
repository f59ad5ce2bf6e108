"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.checking import nothing_is_asked

__all__ = ["nothing_is_asked"]
