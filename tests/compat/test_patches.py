"""Patches: a method that a project or its tests replace is called everywhere."""

from __future__ import annotations

import datetime
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any
from unittest import mock
from xml.etree import ElementTree

import pytest
from django.contrib import sitemaps as contrib
from django.test import Client
from django.urls import include, path

import django_sitemaps09
from django_sitemaps09 import ModelSitemap, NewsSitemap, views
from django_sitemaps09.export import export
from tests.support.configuration import BASE
from tests.support.paths import ROOT
from tests.support.published import indexed

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__), pytest.mark.sitemaps09]

SITEMAPS: dict[str, Any] = {}
urlpatterns = [
    path("", include("django_sitemaps09.urls"), {"sitemaps": SITEMAPS}),
    path("contrib.xml", views.sitemap, {"sitemaps": SITEMAPS}),
]


@pytest.fixture(autouse=True)
def _declared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register one section."""
    monkeypatch.setitem(SITEMAPS, "s", Things)


def texts(url: str, name: str) -> list[str | None]:
    """Return the texts of all elements with this name."""
    response = Client().get(url)
    assert response.status_code == 200
    root = ElementTree.fromstring(response.content)  # noqa: S314 our own output
    return [part.text for part in root.iter() if part.tag.endswith(f"}}{name}")]


class Things(django_sitemaps09.Sitemap[int]):
    def items(self) -> list[int]:
        return [1, 2]

    def location(self, item: int) -> str:
        return f"/{item}/"

    def lastmod(self, item: int) -> datetime.date | None:
        return None

    def priority(self, item: int) -> float:
        return 0.5

    def changefreq(self, item: int) -> str:
        return "daily"


HOOKS = [
    ("location", "loc", "/patched/", f"{BASE}/patched/"),
    ("lastmod", "lastmod", datetime.date(2020, 1, 1), "2020-01-01"),
    ("priority", "priority", 0.1, "0.1"),
    ("changefreq", "changefreq", "weekly", "weekly"),
]


@pytest.mark.parametrize("autospec", [None, True], ids=["any", "autospec"])
@pytest.mark.parametrize(("hook", "element", "value", "text"), HOOKS)
def test_a_mock_in_place_of_a_hook_is_a_method(
    hook: str, element: str, value: Any, text: str, autospec: bool | None, tmp_path: Path
) -> None:
    with mock.patch.object(Things, hook, autospec=autospec, return_value=value):
        assert texts("/contrib.xml", element) == [text, text]
        assert texts("/sitemap-s-1.xml", element) == [text, text]
        report = export(output=tmp_path, sitemaps=SITEMAPS)
    assert (report.urls, report.failures) == (2, [])


@pytest.mark.parametrize("make", [mock.Mock, mock.NonCallableMagicMock])
@pytest.mark.parametrize("spec", [contrib.Sitemap, Things, ModelSitemap, NewsSitemap])
def test_a_mock_in_place_of_a_sitemap_is_listed(
    make: Any, spec: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    section = make(spec=spec)
    sitemap = section.return_value if callable(section) else section
    location = f"{BASE}/patched/"
    sitemap.get_urls.return_value = [{"location": location}]
    sitemap.get_latest_lastmod.return_value = sitemap.latest_lastmod = None
    sitemap.paginator.num_pages = sitemap.paginator.count = 1
    monkeypatch.setitem(SITEMAPS, "s", section)
    assert texts("/contrib.xml", "loc") == texts("/sitemap-s-1.xml", "loc") == [location]
    export(output=tmp_path, sitemaps=SITEMAPS)
    assert indexed(tmp_path) == {location}


PATCHED = """
    from functools import wraps
    from django.conf import settings
    from django.contrib import sitemaps as contrib
    settings.configure()
    originals = {name: getattr(contrib.Sitemap, name) for name in ("get_urls", "get_domain", "_location")}

    @wraps(originals["get_urls"])
    def get_urls(*args, **kwargs):
        urls = originals["get_urls"](*args, **kwargs)
        return [url | {"location": url["location"] + "?patched"} for url in urls]

    def get_domain(self, site=None):
        return "www." + originals["get_domain"](self, site)

    def _location(self, item, force_lang_code=None):
        return originals["_location"](self, item, force_lang_code) + "?patched"

    patches = {"get_urls": get_urls, "get_domain": get_domain, "_location": _location}
    for name, function in patches.items():
        setattr(contrib.Sitemap, name, function)

    import django
    django.setup()
    from django_sitemaps09 import Sitemap
    from django_sitemaps09.sitemaps import is_contribs, is_original
    from django_sitemaps09.sitemaps.declared import is_compiled

    for name, function in originals.items():
        setattr(contrib.Sitemap, name, function)
    for name in patches:
        for function in (patches[name], originals[name]):
            setattr(contrib.Sitemap, name, function)
            sitemap = Sitemap()
            print(name, is_contribs(sitemap, name), is_original(sitemap, name), is_compiled(sitemap))
"""


def test_patches_made_before_the_import_of_this_package_are_called() -> None:
    """For example, a project can patch contrib in its settings."""
    done = subprocess.run(  # noqa: S603 our own interpreter and code
        [sys.executable, "-c", textwrap.dedent(PATCHED)],
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"{name} {is_plain} {is_plain} {is_plain}"
        for name in ("get_urls", "get_domain", "_location")
        for is_plain in (False, True)
    ]
