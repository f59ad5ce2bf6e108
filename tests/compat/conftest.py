"""Fixtures of the compatibility tests."""

from __future__ import annotations

import pytest
from django.contrib.sites.models import Site
from django.core.cache import cache

from tests.compat import projects
from tests.compat.cases import COMPAT_BASES, CONTRIB_BASES


@pytest.fixture
def articles(db, settings):
    """The rows that the cases read, and the URLs of a project that imports this package."""
    settings.ROOT_URLCONF = projects.COMPAT.urlconf
    yield projects.populate()
    cache.clear()
    Site.objects.clear_cache()


@pytest.fixture
def editing(monkeypatch, settings):
    def start(edit):
        settings.MIDDLEWARE = ["tests.compat.projects.Edit"]
        monkeypatch.setattr(projects.Edit, "edit", staticmethod(edit))

    return start


@pytest.fixture
def both_apps(settings):
    """Install contrib's app first, so that its views find its own templates."""
    settings.INSTALLED_APPS = ["django.contrib.sitemaps", *settings.INSTALLED_APPS]


@pytest.fixture(params=[CONTRIB_BASES, COMPAT_BASES], ids=["contrib", "compat"])
def bases(request):
    return request.param
