"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.manifests import state

__all__ = ["state"]
