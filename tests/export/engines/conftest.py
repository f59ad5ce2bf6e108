"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.export.engines.fake_queue import children, queue
from tests.support.engine_project import meeting_place, project
from tests.support.tasks_project import crew

__all__ = ["children", "crew", "meeting_place", "project", "queue"]
