"""Fixtures of the tests of several hosts."""

from __future__ import annotations

from tests.support.engine_project import project
from tests.support.several_hosts import folder, several_hosts, two_sites

__all__ = ["folder", "project", "several_hosts", "two_sites"]
