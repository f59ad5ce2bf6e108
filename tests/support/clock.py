"""Clocks that a test sets: for the start of exports, and for the age of cached values of live views."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timezone
from types import ModuleType

import pytest


class Clock:
    """Replaces the class `datetime` in exports."""

    def __init__(self) -> None:
        self.time = datetime(2026, 9, 1, 12, tzinfo=timezone.utc)

    def now(self, zone: timezone) -> datetime:
        assert zone == timezone.utc
        return self.time


class SecondsClock:
    """Replaces the module `time`. Only `time.time()` is set; requests that wait do so in real time."""

    monotonic, sleep = staticmethod(time.monotonic), staticmethod(time.sleep)

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def time(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


def set_seconds(
    monkeypatch: pytest.MonkeyPatch, *modules: ModuleType, now: float = 1_800_000_000.0
) -> Callable[[float], None]:
    """Set the time of these modules. Return a function that moves it."""
    seconds_clock = SecondsClock(now)
    for module in modules:
        monkeypatch.setattr(module, "time", seconds_clock)
    return seconds_clock.move


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Set the clock of the exports in this test."""
    made = Clock()
    monkeypatch.setattr("django_sitemaps09.export.host.datetime", made)
    return made
