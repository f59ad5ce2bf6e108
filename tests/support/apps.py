"""Apps of a project, each with a module of sections."""

from __future__ import annotations

import sys
import textwrap
import threading
from types import ModuleType

import pytest

from django_sitemaps09 import Sitemap, sections


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Start with an empty registry and no imported `sitemaps` modules."""
    registered = {}
    monkeypatch.setattr(sections, "_registered", registered)
    monkeypatch.setattr(sections, "_discovered", False)
    # Its own locks, so that a test that hangs costs no other one.
    for name in ("_lock", "_discovery"):
        monkeypatch.setattr(sections, name, threading.RLock())
    return registered


class Apps:
    """Apps that are created for one test, with the text of their `sitemaps.py`."""

    def __init__(self, folder, settings):
        self.folder, self.settings, self.names = folder, settings, []
        #: What modules of the test write into, as `import shared_by_tests`.
        self.shared = ModuleType("shared_by_tests")
        self.shared.runs = []

    def add(self, name, text):
        """Create an app in the order of `INSTALLED_APPS`; `None` stands for an app without sitemaps."""
        (self.folder / name).mkdir()
        (self.folder / name / "__init__.py").touch()
        if text is not None:
            self.write(name, text)
        self.names.append(name)
        self.settings.INSTALLED_APPS = ["django_sitemaps09", *self.names]
        return name

    def write(self, name, text):
        head = f"import shared_by_tests as shared\nshared.runs.append({name!r})\n"
        code = head + "from django_sitemaps09 import *\n" + textwrap.dedent(text)
        (self.folder / name / "sitemaps.py").write_text(code, encoding="utf-8")


@pytest.fixture
def apps(tmp_path, settings, monkeypatch):
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
