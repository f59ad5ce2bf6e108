"""Helpers for system checks: their messages, and values that no check may read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest import mock

import pytest
from django.core import checks as django_checks
from django.core.checks import CheckMessage
from django.db.models import F
from django.test import override_settings
from django.urls import include, path

from django_sitemaps09 import ModelSitemap, Route, checks, sections
from tests.models import Article

FORBIDDEN = {
    "django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection": "opened a connection",
    "django.db.models.sql.query.Query.get_compiler": "made a compiler",
    "django.db.models.sql.compiler.SQLCompiler.as_sql": "compiled SQL",
    "django.contrib.sites.models.SiteManager.get_current": "asked for the site",
}


@pytest.fixture
def nothing_is_asked() -> Iterator[None]:
    """Block all connections to all databases."""
    with ExitStack() as stack:
        for target, deed in FORBIDDEN.items():
            stack.enter_context(mock.patch(target, side_effect=AssertionError(f"a check has {deed}")))
        yield


def ids_of(messages: Iterable[CheckMessage]) -> list[str]:
    """Check that each message has a hint, and an id that matches its level."""
    found = []
    for message in messages:
        assert message.hint
        code = str(message.id).removeprefix("sitemaps09.")
        assert (message.level >= django_checks.ERROR) == code.startswith("E")
        found.append(code)
    return found


def ids(*declared: Any) -> list[str]:
    return ids_of(checks.check_declarations(declared))


def declaration(**attributes: Any) -> type[ModelSitemap[Any]]:
    return type("Declared", (ModelSitemap,), {"model": Article, **attributes})


SLUG = Route("article", slug=F("slug"))

Declared = tuple[dict[str, Any], list[str]]


def takes(self: Any, item: Any) -> Any:
    raise AssertionError("a check has called a hook")


def unread(self: Any) -> Any:
    raise AssertionError("a check has read a property")


HOOKS = (
    *("images", "videos", "news", "alternates", "x_default", "get_languages_for_item"),
    *("location", "lastmod", "changefreq", "priority"),
)

WITHOUT_SITES = ["django.contrib.contenttypes", "django.contrib.auth", "django_sitemaps09", "tests"]
INCLUDED = include("django_sitemaps09.urls")
ARTICLE = path("articles/<slug:slug>/", takes, name="article")


def checked(*patterns: Any, registered: Any = None) -> list[str]:
    """Return the ids of the messages for a site with these URL patterns."""
    # Not the real registry: apps of the tests register nothing.
    with (
        mock.patch.multiple(sections, _registered=registered or {}, _discovered=True),
        override_settings(ROOT_URLCONF=(ARTICLE, *patterns)),
    ):
        return ids_of(checks.check_sections())
