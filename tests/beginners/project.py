"""A small project in which one mistake is made, and everything that is said about it."""

from __future__ import annotations

import html
import io
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core import checks
from django.core.checks.model_checks import check_all_models
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError
from django.test import Client
from django.urls import include, path

from django_sitemaps09 import views
from tests.models import Article
from tests.support.configuration import BASE
from tests.urls import nothing

HEAD = """
from datetime import *
from django.contrib import sitemaps as contrib
from django.db.models import *
from django.urls import reverse
from django.utils import timezone
from django_sitemaps09 import *
from tests.models import *
"""
PAGES = (
    path("articles/<slug:slug>/", nothing, name="article"),
    path("about/", nothing, name="about"),
    path("seats/<str:row>/<int:number>/", nothing, name="seat"),
)
SITEMAPS = (path("", include("django_sitemaps09.urls")), path("robots.txt", views.robots_txt))


class Project:
    """A project with an app `store`, two articles, and the URLs of the quick start."""

    def __init__(
        self, settings: Any, patch: pytest.MonkeyPatch, folder: Path, log: pytest.LogCaptureFixture
    ) -> None:
        self.settings, self.patch, self.folder, self.log = settings, patch, folder, log
        self.output: list[str] = []
        (folder / "store").mkdir()
        (folder / "store" / "__init__.py").touch()
        self.declare("@register('products')\nclass Products(ModelSitemap): model = Article")
        # The tests have many models, whose checks take long and have nothing to do with sitemaps.
        registered = checks.registry.registry.registered_checks - {check_all_models}
        patch.setattr(checks.registry.registry, "registered_checks", registered)
        settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "store"]
        settings.DEBUG = True
        settings.SITEMAPS09 = {"BASE_URL": BASE, "ROOT": folder / "public", "ENGINE": "serial"}
        self.route(*SITEMAPS)
        for slug in ("tools", "watering"):
            Article.objects.create(slug=slug)

    def declare(self, code: str, name: str = "sitemaps.py") -> None:
        """Write the module with the sections of the app."""
        text = f"{HEAD}{textwrap.dedent(code)}\n"
        (self.folder / "store" / name).write_text(text, encoding="utf-8")

    def configure(self, **keys: Any) -> None:
        """Change keys of the setting `SITEMAPS09`. `None` removes a key."""
        changed = {**self.settings.SITEMAPS09, **keys}
        self.settings.SITEMAPS09 = {key: value for key, value in changed.items() if value is not None}

    def route(self, *patterns: Any) -> None:
        self.settings.ROOT_URLCONF = (*patterns, *PAGES)

    def run(self, command: str, *arguments: str) -> bool:
        """Run a command, as `manage.py` does, and return whether it succeeded."""
        stream = io.StringIO()
        try:
            call_command(command, *arguments, stdout=stream, stderr=stream)
        except (CommandError, SystemCheckError) as error:
            self.output += [stream.getvalue(), str(error)]
            return False
        self.output.append(stream.getvalue())
        return True

    def get(self, address: str, **headers: str) -> None:
        """Request a page in a browser."""
        try:
            response: Any = Client(headers=headers).get(address)
        except Exception as error:  # noqa: BLE001 shown by the debug page
            self.output.append(f"{type(error).__name__}: {error}")
            return
        if response.status_code != 200:
            reason = re.search('exception_value">(.*?)</pre>', response.content.decode())
            self.output.append(f"{response.status_code} {html.unescape(reason[1]) if reason else ''}")

    def look(self) -> None:
        """Do what the tutorial says: check the project, export it and look at the pages."""
        if self.run("check"):
            self.run("export_sitemaps")
            for address in ("/sitemap.xml", "/sitemap-products-1.xml", "/robots.txt"):
                self.get(address)

    @property
    def said(self) -> str:
        """Everything that a beginner could read."""
        return "\n".join([*self.output, *(record.getMessage() for record in self.log.records)])


Make = Callable[[Project], object]


def module(code: str, name: str = "sitemaps.py") -> Make:
    """Make a mistake in the module with the sections."""

    def make(project: Project) -> None:
        (project.folder / "store" / "sitemaps.py").unlink()
        project.declare(code, name)
        project.look()

    return make


def section(body: str, base: str = "ModelSitemap") -> Make:
    """Make a mistake in the body of a class."""
    rows = "model = Article\n" if base == "ModelSitemap" and "queryset" not in body else ""
    return module(f"@register('products')\nclass Products({base}):\n{textwrap.indent(rows + body, ' ')}")


def items(body: str) -> Make:
    """Make a mistake in a class whose items are two numbers."""
    location = "" if "location" in body else "def location(self, item): return f'/articles/{item}/'\n"
    listing = "" if "def items" in body else "def items(self): return [1, 2]\n"
    return section(listing + location + body, "Sitemap")


def setting(**keys: Any) -> Make:
    """Make a mistake in the dict `SITEMAPS09`. `None` removes a key."""

    def make(project: Project) -> None:
        project.configure(**keys)
        project.look()

    return make


def django_setting(**keys: Any) -> Make:
    """Make a mistake in a setting of Django."""

    def make(project: Project) -> None:
        for name, value in keys.items():
            setattr(project.settings, name, value)
        project.look()

    return make


def routes(patterns: Callable[[], Any]) -> Make:
    """Make a mistake in the URLconf."""

    def make(project: Project) -> None:
        project.route(*patterns())
        project.look()

    return make


def command(name: str, *arguments: str) -> Make:
    """Make a mistake in the arguments of a command."""
    return lambda project: project.run(name, *arguments)


def without(library: str, *forgotten: str) -> Callable[[Make], Make]:
    """Return a decorator for a mistake in an environment that lacks a library."""

    def decorate(make: Make) -> Make:
        def decorated(project: Project) -> None:
            for name in list(sys.modules):
                if name == library or name.startswith((f"{library}.", *forgotten)):
                    project.patch.delitem(sys.modules, name)
            project.patch.setitem(sys.modules, library, None)
            make(project)

        return decorated

    return decorate
