"""The start of a project: imports query nothing; checks import `sitemaps` modules only if needed."""

from __future__ import annotations

import pytest
from django.contrib.sitemaps import views as contrib_views
from django.core import checks
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.urls import include, path
from django.views.decorators.cache import cache_page

import django_sitemaps09
from django_sitemaps09 import StaticViewSitemap, register, views
from django_sitemaps09.checks import check_sections
from tests.support.apps import MINE, apps, registry
from tests.support.paths import ROOT
from tests.support.processes import ended, started
from tests.support.sections import declare

__all__ = ["apps", "registry"]


def run(code, *paths):
    environ = {"PYTHONPATH": ":".join(map(str, [ROOT, *paths]))}
    process = started("-W", "error::DeprecationWarning", "-c", code, environ=environ)
    status, out, err = ended(process)
    assert (status, err) == (0, "")
    return out.split()


def test_the_package_can_be_imported_without_settings():
    code = """
import django_sitemaps09
from django_sitemaps09 import *
from django.conf import settings
for name in django_sitemaps09.__all__:
    assert globals()[name] is getattr(django_sitemaps09, name)
register("products", Sitemap)
@register("news")
class Latest(ModelSitemap):
    lastmod = None
print(settings.configured, *sorted(django_sitemaps09.__all__))
"""
    names = "Alternate Extension GenericSitemap Image ModelSitemap News NewsSitemap PathTemplate Platform "
    names += "Restriction Route Sitemap StaticViewSitemap Video register"
    assert run(code) == ["False", *names.split()]
    assert sorted(django_sitemaps09.__all__) == names.split()


def test_neither_import_nor_start_up_imports_an_app(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "sitemaps.py").write_text("print('asked')")
    code = """
import sys, django
from django.conf import settings
settings.configure(INSTALLED_APPS=["django_sitemaps09", "shop"])
django.setup()
from django_sitemaps09 import sections, views, export
print("shop.sitemaps" in sys.modules)
sections.registered()
sections.registered()
"""
    assert run(code, tmp_path) == ["False", "asked"]


PASSED = {"sitemaps": MINE}
STALE = "from django.utils.translation import ugettext_lazy"
INDEX = [path("a", views.index, PASSED)]


@pytest.mark.parametrize(
    ("keys", "patterns", "asked"),
    [
        # Registered sections are served.
        ({}, [path("", include("django_sitemaps09.urls"))], True),
        ({}, [path("a", views.index)], True),
        ({}, [path("a", cache_page(60)(views.sitemap), PASSED), path("b", views.index)], True),
        # All views are passed a mapping.
        ({}, [*INDEX, path("b", cache_page(60)(views.sitemap), PASSED)], False),
        ({}, [path("", include("django_sitemaps09.urls"), PASSED), path("r", views.robots_txt)], False),
        ({"BASE_URL": "https://www.example.com"}, INDEX, False),
        # Registered sections are exported.
        ({"ROOT": "public"}, INDEX, True),
        ({"ROBOTS_TXT": "robots.txt"}, [], True),
        # The setting SITEMAPS names the exported sections.
        ({"ROOT": "public", "SITEMAPS": f"{__name__}.MINE"}, [path("a", views.index)], False),
        # The project's own views can pass anything, and contrib's views do not use the registry.
        ({}, [], False),
        ({}, [path("a", contrib_views.index, PASSED)], False),
    ],
)
def test_checks_import_sitemaps_only_if_sections_are_served_or_exported(
    apps, settings, keys, patterns, asked
):
    """An old module that is no longer imported must not stop `migrate`."""
    apps.add("shop", STALE)
    settings.SITEMAPS09, settings.ROOT_URLCONF = keys, tuple(patterns)
    found = [message.id for message in check_sections()], apps.shared.runs
    assert found == ((["sitemaps09.E005"], ["shop"]) if asked else ([], []))


def test_checks_see_what_is_registered_already(apps, settings):
    apps.add("shop", STALE)
    settings.ROOT_URLCONF = tuple(INDEX)
    register("mine", declare(StaticViewSitemap, priority=7))
    assert [message.id for message in check_sections()] == ["sitemaps09.W012"]
    assert apps.shared.runs == []


def test_the_command_that_exports_the_registered_sections_checks_them(apps, settings, folder, monkeypatch):
    # Django's own checks need apps that this project does not have.
    monkeypatch.setattr(checks.registry.registry, "registered_checks", {check_sections})
    apps.add("shop", "register('wrong', type('Wrong', (Sitemap,), {'location': Route('nowhere')}))")
    settings.ROOT_URLCONF = tuple(INDEX)
    assert check_sections() == []
    with pytest.raises(SystemCheckError, match=r"sitemaps09\.E021"):
        call_command("export_sitemaps", output=str(folder), skip_checks=False)


MUTE = "from django.core.exceptions import *\nclass Mute({}):\n    __str__ = None\nraise Mute"


@pytest.mark.parametrize("path", [None, "shop.sitemaps.SITEMAPS", "shop.sitemaps.more.SITEMAPS"])
@pytest.mark.parametrize(
    "text",
    [
        *("raise RuntimeError('X is in no app')", "{}['products']", "import os\nos.nothing", STALE),
        *("class Products(Nothing): ...", "assert False", "import sys\nsys.exit()", "def broken(:"),
        *(MUTE.format("Exception"), MUTE.format("ImproperlyConfigured")),
    ],
)
def test_whatever_a_module_raises_is_one_message_with_the_file_and_the_line(apps, settings, text, path):
    apps.add("shop", text)
    settings.SITEMAPS09 = {"SITEMAPS": path}
    [message] = check_sections()
    file = apps.folder / "shop" / "sitemaps.py"
    line = len(file.read_text().splitlines())
    assert (message.id, f"{file}, line {line}: " in message.msg) == ("sitemaps09.E005", True)
