"""Apps of a project, each with a module of sections."""

from __future__ import annotations

import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from django_sitemaps09 import Sitemap, sections


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Start with an empty registry and no imported `sitemaps` modules."""
    registered: dict[str, Any] = {}
    monkeypatch.setattr(sections, "_registered", registered)
    monkeypatch.setattr(sections, "_discovered", False)
    # Its own locks, so that a test that hangs costs no other one.
    for name in ("_lock", "_discovery"):
        monkeypatch.setattr(sections, name, threading.RLock())
    return registered


class Apps:
    """Apps that are created for one test, with the text of their `sitemaps.py`."""

    def __init__(self, folder: Path, settings: Any) -> None:
        self.folder = folder
        self.settings = settings
        self.names: list[str] = []
        #: What modules of the test write into, as `import shared_by_tests`.
        self.shared: Any = ModuleType("shared_by_tests")
        self.shared.runs = []

    def add(self, name: str, text: str | None) -> str:
        """Create an app in the order of `INSTALLED_APPS`; `None` stands for an app without sitemaps."""
        package = self.folder / name
        package.mkdir()
        (package / "__init__.py").touch()
        if text is not None:
            self.write(name, text)
        self.names.append(name)
        self.settings.INSTALLED_APPS = ["django_sitemaps09", *self.names]
        return name

    def write(self, name: str, text: str) -> None:
        head = f"import shared_by_tests as shared\nshared.runs.append({name!r})\n"
        code = head + "from django_sitemaps09 import *\n" + textwrap.dedent(text)
        (self.folder / name / "sitemaps.py").write_text(code, encoding="utf-8")


@pytest.fixture
def apps(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Apps]:
    made = Apps(tmp_path, settings)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(sys.modules, "shared_by_tests", made.shared)
    yield made
    for name in list(sys.modules):
        if name.partition(".")[0] in made.names:
            del sys.modules[name]


PRODUCTS = """
    @register("products")
    class Products(StaticViewSitemap): ...
"""

MINE = {"mine": Sitemap}
