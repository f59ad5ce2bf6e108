"""The setting `SITEMAPS09` of a test, and the folder that it exports to."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from django_sitemaps09 import sections

#: The base of all URLs in tests with one host.
BASE = "https://www.example.com"

#: The types of the fixtures that change settings, sections and URL patterns.
Configure: TypeAlias = Callable[..., None]
Register: TypeAlias = Callable[..., None]
UseUrls: TypeAlias = Callable[..., None]


@pytest.fixture(autouse=True)
def _configured(request: pytest.FixtureRequest) -> None:
    """Set `SITEMAPS09` from the nearest mark `sitemaps09`, with a default for `BASE_URL`."""
    mark = request.node.get_closest_marker("sitemaps09")
    if mark is not None:
        settings = request.getfixturevalue("settings")
        settings.SITEMAPS09 = {"BASE_URL": BASE, **mark.kwargs}


@pytest.fixture
def configure(settings: Any) -> Configure:
    """Set further keys of `SITEMAPS09`."""

    def change(**keys: Any) -> None:
        settings.SITEMAPS09 = {**settings.SITEMAPS09, **keys}

    return change


@pytest.fixture
def client_chooses_host(settings: Any) -> Configure:
    """Take the host from the request: set only these keys, and do without the sites framework."""

    def change(*allowed: str, **keys: Any) -> None:
        settings.SITEMAPS09 = keys
        settings.ALLOWED_HOSTS = [*allowed] or ["*"]
        left_out = ("django.contrib.sites", "django.contrib.flatpages")
        settings.INSTALLED_APPS = [app for app in settings.INSTALLED_APPS if app not in left_out]

    return change


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that an export creates."""
    return tmp_path / "public"


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    """Set the process's umask until the test ends."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Replace the registered sections; none at first."""

    def only(**named: Any) -> None:
        monkeypatch.setattr(sections, "_discovered", True)
        monkeypatch.setattr(sections, "_registered", named)

    only()
    return only
