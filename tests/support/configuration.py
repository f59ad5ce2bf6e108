"""Fixtures that set `SITEMAPS09`, sections, the output folder and clocks; how many examples a run tries.

`SITEMAPS09_EXAMPLES` is the count of examples of each invariant that hypothesis looks for; 30 and more is
a thorough run, as the last step of `.ci/run` is. With more than 30, all hostile documents are as large
as the protocol allows, too. The default is for a run that takes a few minutes.
`SITEMAPS09_KILL_STEP=1` kills an export at each point, not at each eleventh.
"""

from __future__ import annotations

import os
import time
from datetime import datetime, timezone
from types import SimpleNamespace

import pytest

from tests.support.internals import MAX_BYTES, STATE, Limits, index_files, indexes, publication, sections

#: The base of all URLs in tests with one host.
BASE = "https://www.example.com"
EXAMPLES = int(os.environ.get("SITEMAPS09_EXAMPLES", "15"))
THOROUGH = EXAMPLES >= 30
KILL_STEP = int(os.environ.get("SITEMAPS09_KILL_STEP", "11"))


@pytest.fixture(autouse=True)
def _configured(request):
    """Set `SITEMAPS09` from the nearest mark `sitemaps09`, with a default for `BASE_URL`."""
    mark = request.node.get_closest_marker("sitemaps09")
    if mark is not None:
        request.getfixturevalue("settings").SITEMAPS09 = {"BASE_URL": BASE, **mark.kwargs}


@pytest.fixture
def configure(settings):
    """Set further keys of `SITEMAPS09`."""

    def change(**keys):
        settings.SITEMAPS09 = {**settings.SITEMAPS09, **keys}

    return change


@pytest.fixture
def client_chooses_host(settings):
    """Take the host from the request: set only these keys, and do without the sites framework."""

    def change(*allowed, **keys):
        settings.SITEMAPS09, settings.ALLOWED_HOSTS = keys, [*allowed] or ["*"]
        left_out = ("django.contrib.sites", "django.contrib.flatpages")
        settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app not in left_out]

    return change


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "public"


@pytest.fixture
def state(folder):
    return folder / STATE


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.fixture
def register(monkeypatch):
    """Replace the registered sections; none at first."""

    def only(**named):
        monkeypatch.setattr(sections, "_discovered", True)
        monkeypatch.setattr(sections, "_registered", named)

    only()
    return only


@pytest.fixture
def clock(monkeypatch):
    """Set the clock of the exports in this test."""

    def now(zone):
        assert zone == timezone.utc
        return made.time

    made = SimpleNamespace(time=datetime(2026, 9, 1, 12, tzinfo=timezone.utc), now=now)
    monkeypatch.setattr("django_sitemaps09.export.host_export.datetime", made)
    return made


class SecondsClock:
    """Replaces the module `time`. Only `time.time()` is set; requests that wait do so in real time."""

    monotonic, sleep = staticmethod(time.monotonic), staticmethod(time.sleep)

    def __init__(self, now=1_800_000_000.0):
        self.now = now

    def time(self):
        return self.now

    def move(self, seconds):
        self.now += seconds


def set_seconds(monkeypatch, *modules, now=1_800_000_000.0):
    """Set the time of these modules. Return a function that moves it."""
    seconds_clock = SecondsClock(now)
    for module in modules:
        monkeypatch.setattr(module, "time", seconds_clock)
    return seconds_clock.move


def limit_indexes(patch, urls, size=MAX_BYTES):
    for module in (index_files, indexes, publication):
        patch.setattr(module, "INDEX_LIMITS", Limits(urls, size))
