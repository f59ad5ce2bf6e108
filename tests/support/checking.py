"""Helpers for system checks: their messages, and values that no check may read."""

from __future__ import annotations

from contextlib import ExitStack
from unittest import mock

import pytest
from django.core import checks as django_checks
from django.db.models import F
from django.test import override_settings
from django.urls import include, path

from django_sitemaps09 import Route, checks, sections
from tests.models import Article
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


def declaration(**attributes):
    return declare(**{"model": Article, **attributes})


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
