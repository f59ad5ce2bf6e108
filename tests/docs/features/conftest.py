"""The surroundings of the documentation's snippets: the settings and URLs of the quick start."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.urls import clear_url_caches

from django_sitemaps09 import sections
from tests.docs.features.project import MOMENT, OTHERS, PRODUCT
from tests.docs.pages import Snippet, blocks
from tests.docs.places import QUICK_START
from tests.shop import models
from tests.shop.models import Category, Product
from tests.support.configuration import UseUrls


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start with an empty registry."""
    monkeypatch.setattr(sections, "_registered", {})
    monkeypatch.setattr(sections, "_modules", {})
    monkeypatch.setattr(sections, "_discovered", True)
    for name in ("_lock", "_discovery"):
        monkeypatch.setattr(sections, name, threading.RLock())


@pytest.fixture(autouse=True)
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the test app importable as `shop`. No module of it is left for tests that have an app `shop`."""
    package = ModuleType("shop")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "shop", package)
    monkeypatch.setitem(sys.modules, "shop.models", models)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "shop"]:
        del sys.modules[name]


@pytest.fixture
def snippet(request: pytest.FixtureRequest) -> Iterator[Snippet]:
    made = Snippet(request.param)
    yield made
    made.forget()
    assert made.ran, "a test that asks for a snippet has to run it"


@pytest.fixture
def use_urls(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Use these patterns as the URLconf."""

    def change(*patterns: Any) -> None:
        made = ModuleType("shop.urls")
        made.urlpatterns = list(patterns)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "shop.urls", made)
        settings.ROOT_URLCONF = "shop.urls"
        clear_url_caches()

    return change


@pytest.fixture(autouse=True)
def site(settings: Any, use_urls: UseUrls, tmp_path: Path) -> Iterator[None]:
    """The settings and the URLs of the quick start, with the patterns that its snippets name."""
    declared, _, routed = blocks("python", *QUICK_START)
    first, last = Snippet(declared), Snippet(routed)
    settings.SITEMAPS09 = first.run("shop_settings", {"BASE_DIR": tmp_path}).SITEMAPS09
    settings.MEDIA_URL = "/media/"
    use_urls(*last.run("shop_urls").urlpatterns, *OTHERS, PRODUCT)
    yield
    first.forget()
    last.forget()


@pytest.fixture
def can(db: None) -> Product:
    """The watering can of the documentation."""
    category = Category.objects.create(slug="garden")
    return Product.objects.create(
        category=category, slug="watering-can", updated_at=MOMENT, price=Decimal("19.90")
    )
