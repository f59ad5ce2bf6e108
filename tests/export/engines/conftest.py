"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.celery_project import database, make_site
from tests.support.engine_project import meeting_place, project
from tests.support.tasks_project import crew, make_tasks_site, tasks_database

__all__ = [
    "crew", "database", "make_site", "make_tasks_site", "meeting_place", "project", "tasks_database",
]  # fmt: skip
