"""Fixtures of the tests of several hosts."""

from __future__ import annotations

from tests.support.several_hosts import folder, several_hosts, two_sites

__all__ = ["folder", "several_hosts", "two_sites"]
