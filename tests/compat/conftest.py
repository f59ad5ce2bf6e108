"""Fixtures of the compatibility tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.sites.models import Site
from django.core.cache import cache

from tests.compat import middleware, projects
from tests.compat.cases.parts import COMPAT_BASES, CONTRIB_BASES
from tests.compat.data import populate
from tests.models import Article


@pytest.fixture
def rows(db: None) -> Iterator[None]:
    populate()
    cache.clear()
    yield
    cache.clear()
    Site.objects.clear_cache()


@pytest.fixture
def editing(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Callable[..., None]:
    """Change responses in a middleware before they are rendered."""

    def start(edit: Callable[[Any], Any]) -> None:
        settings.MIDDLEWARE = [middleware.PATH]
        monkeypatch.setattr(middleware, "edit", edit)

    return start


@pytest.fixture
def articles(db: None, settings: Any) -> Iterator[list[Article]]:
    settings.ROOT_URLCONF = projects.COMPAT.urlconf
    yield populate()
    Site.objects.clear_cache()


@pytest.fixture(params=[CONTRIB_BASES, COMPAT_BASES], ids=["contrib", "compat"])
def bases(request: pytest.FixtureRequest) -> Any:
    return request.param
