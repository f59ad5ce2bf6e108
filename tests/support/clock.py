"""A clock that a test sets, for what an export asks when it starts."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest


class Clock:
    """Stands in for the class `datetime` where an export asks when it started."""

    def __init__(self) -> None:
        self.time = datetime(2026, 9, 1, 12, tzinfo=timezone.utc)

    def now(self, zone: timezone) -> datetime:
        assert zone == timezone.utc
        return self.time


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that exports of this test look at."""
    made = Clock()
    monkeypatch.setattr("django_sitemaps09.export.api.datetime", made)
    return made
