"""The stylesheet over HTTP, and which documents refer to it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin

import pytest
from django.test import Client
from django.urls import include, path, reverse

from django_sitemaps09 import writer
from tests.support.configuration import Configure, Register, UseUrls
from tests.support.native_views import get
from tests.support.sections import Numbers

pytestmark = [pytest.mark.django_db, pytest.mark.sitemaps09]
DECLARATION = b'<?xml version="1.0" encoding="UTF-8"?>\n'
HEAD = DECLARATION + b'<?xml-stylesheet type="text/css" href="sitemap.css"?>\n<'
DOCUMENTS = ["/sitemap.xml", "/sitemap-words-1.xml"]


@pytest.fixture(autouse=True)
def _section(register: Register) -> None:
    register(words=Numbers(3))


class TestTheDocuments:
    @pytest.mark.parametrize("url", DOCUMENTS)
    def test_name_it_if_it_is_on_and_are_otherwise_the_same(self, configure: Configure, url: str) -> None:
        plain, text = get(url).content, get("/sitemap-words-1.txt").content
        assert b"<?xml-stylesheet" not in plain
        configure(STYLESHEET=True)
        styled = get(url).content
        assert styled.startswith(HEAD)
        assert styled.removeprefix(HEAD) == plain.removeprefix(DECLARATION + b"<")
        assert get("/sitemap-words-1.txt").content == text

    @pytest.mark.parametrize("prefix", ["", "a/", "a/b/"])
    def test_name_what_is_beside_them_below_any_prefix(
        self, configure: Configure, route: UseUrls, prefix: str
    ) -> None:
        configure(STYLESHEET=True)
        route(path(prefix, include("django_sitemaps09.urls"), {"sitemaps": {"words": Numbers(1)}}))
        for url in DOCUMENTS:
            document = f"/{prefix}{url[1:]}"
            assert get(document).content.startswith(HEAD)
            named = urljoin(document, "sitemap.css")
            assert named == reverse("django_sitemaps09:stylesheet")
            assert get(named).content == writer.stylesheet()


@pytest.mark.parametrize("is_on", [True, False])
def test_the_stylesheet_has_the_type_that_browsers_require(configure: Configure, is_on: bool) -> None:
    """It is served even if the setting is off, because cached documents may still refer to it."""
    configure(STYLESHEET=is_on)
    client: Any = Client()
    response = client.get("/sitemap.css")
    assert (response.status_code, response.content) == (200, writer.stylesheet())
    assert response.headers["Content-Type"] == "text/css; charset=utf-8"
    assert client.head("/sitemap.css").status_code == 200
    assert client.post("/sitemap.css").status_code == 405
