"""Fixtures of the tests in this folder."""

from __future__ import annotations

from tests.export.engines.fake_queue import children, queue
from tests.support.engine_project import _crew, crew

__all__ = ["_crew", "children", "crew", "queue"]
