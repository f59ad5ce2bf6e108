"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.support.celery_project import crew, database, make_site
from tests.support.engine_project import meeting_place, project

__all__ = ["crew", "database", "make_site", "meeting_place", "project"]
