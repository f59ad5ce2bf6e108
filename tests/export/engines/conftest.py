"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.engine_project import meeting_place, project

__all__ = ["meeting_place", "project"]
