"""Use `ids` and `checked` for the messages of system checks, and `apps` for apps with a module of sections.

`takes` and `unread` are values of a declaration that no check may call or read.
"""

from __future__ import annotations

import sys
import textwrap
import threading
from contextlib import ExitStack
from functools import partial
from types import ModuleType
from unittest import mock

import pytest
from django.core import checks as django_checks
from django.db.models import F
from django.test import override_settings
from django.urls import include, path

from django_sitemaps09 import Route, Sitemap
from tests.models import Article
from tests.support.internals import checks, sections
from tests.support.sections import declare

FORBIDDEN = {
    "django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection": "opened a connection",
    "django.db.models.sql.query.Query.get_compiler": "made a compiler",
    "django.db.models.sql.compiler.SQLCompiler.as_sql": "compiled SQL",
    "django.contrib.sites.models.SiteManager.get_current": "asked for the site",
}


@pytest.fixture
def nothing_is_asked():
    """Block all connections to all databases."""
    with ExitStack() as stack:
        for target, deed in FORBIDDEN.items():
            stack.enter_context(mock.patch(target, side_effect=AssertionError(f"a check has {deed}")))
        yield


def ids_of(messages):
    """Check that each message has a hint, and an id that matches its level."""
    found = []
    for message in messages:
        assert message.hint
        code = str(message.id).removeprefix("sitemaps09.")
        assert (message.level >= django_checks.ERROR) == code.startswith("E")
        found.append(code)
    return found


def ids(*declared):
    return ids_of(checks.check_declarations(declared))


declaration = partial(declare, model=Article)


def takes(self, item):
    raise AssertionError("a check has called a hook")


def unread(self=None):
    raise AssertionError("a check has read a property")


SLUG = Route("article", slug=F("slug"))
WITHOUT_SITES = ["django.contrib.contenttypes", "django.contrib.auth", "django_sitemaps09", "tests"]
INCLUDED = include("django_sitemaps09.urls")
ARTICLE = path("articles/<slug:slug>/", takes, name="article")


def checked(*patterns, registered=None):
    """Return the ids of the messages for a site with these URL patterns."""
    # Not the real registry: apps of the tests register nothing.
    with (
        mock.patch.multiple(sections, _registered=registered or {}, _discovered=True),
        override_settings(ROOT_URLCONF=(ARTICLE, *patterns)),
    ):
        return ids_of(checks.check_sections())


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
        self.shared, self.shared.runs = ModuleType("shared_by_tests"), []

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
