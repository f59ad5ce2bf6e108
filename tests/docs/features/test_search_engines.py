"""The documentation of submissions: each snippet runs as shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.urls import include, path

from django_sitemaps09 import register
from django_sitemaps09.conf import conf
from django_sitemaps09.export import export
from tests.docs.features.project import BASE, checked, declared, live, snippet_of
from tests.docs.pages import Snippet
from tests.shop.models import Product
from tests.support.configuration import UseUrls
from tests.support.search_engines import KEY, Engine, engine

ENGINES = ("docs/howto/search-engines.md", "Set it up")
ENGINE_HOSTS = ("docs/howto/search-engines.md", "Several hosts")
PINGS = ("docs/howto/search-engines.md", "Ping other services")
SUBMIT = ("docs/howto/search-engines.md", "In Python")

__all__ = ["engine"]


@snippet_of(ENGINES)
def test_the_key_of_the_settings_is_served(snippet: Snippet, settings: Any, use_urls: UseUrls) -> None:
    settings.SITEMAPS09 = snippet.run("site_settings").SITEMAPS09
    use_urls(path("", include("django_sitemaps09.urls")))
    assert checked() == []
    key = str(conf.indexnow_key)
    assert live(f"/{key}.txt") == key.encode()


@snippet_of(ENGINES, 1)
def test_submit_is_on(snippet: Snippet, settings: Any) -> None:
    settings.SITEMAPS09 = snippet.run("site_settings").SITEMAPS09
    assert checked() == []
    assert conf.submit


@snippet_of(ENGINE_HOSTS)
def test_each_host_has_its_key(snippet: Snippet, settings: Any) -> None:
    settings.SITEMAPS09 = snippet.run("site_settings").SITEMAPS09
    assert checked() == []
    assert isinstance(conf.indexnow_key, dict)


@snippet_of(PINGS)
def test_a_service_can_be_pinged(snippet: Snippet, settings: Any) -> None:
    settings.SITEMAPS09 = snippet.run("site_settings").SITEMAPS09
    assert checked() == []
    assert conf.ping_urls == ("https://search.example.com/ping",)


@snippet_of(SUBMIT)
def test_pending_changes_are_submitted_from_python(
    snippet: Snippet,
    can: Product,
    settings: Any,
    engine: Engine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings.SITEMAPS09 = {"BASE_URL": BASE, "INDEXNOW_KEY": KEY, "INDEXNOW_URLS": [engine.url]}
    monkeypatch.chdir(tmp_path)
    register("products", declared("pass"))
    export(output="public/", submit=True)
    Product.objects.update(slug="can")
    engine.answer(403)
    export(output="public/", submit=True)
    engine.answer(200)
    snippet.run("shop.submissions")
    assert capsys.readouterr().out == "[('www.example.com', 2, 0)]\n"
    assert engine.requests[-1].document["urlList"] == [
        f"{BASE}/garden/can/",
        f"{BASE}/garden/watering-can/",
    ]
