"""The key file of IndexNow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import include, path, reverse

from tests.support.configuration import Configure

KEY = "0123456789abcdef0123456789abcdef"
OTHER = "the-key-of-the-shop"


def text_file(request: HttpRequest, name: str) -> HttpResponse:
    return HttpResponse("other")


urlpatterns = [path("", include("django_sitemaps09.urls")), path("<str:name>.txt", text_file)]

pytestmark = [pytest.mark.urls(__name__), pytest.mark.sitemaps09(INDEXNOW_KEY=KEY)]


@pytest.fixture
def get(settings: Any) -> Callable[..., Any]:
    settings.ALLOWED_HOSTS = ["www.example.com", "shop.example.com"]

    def got(name: str, host: str = "www.example.com") -> Any:
        return Client().get(f"/{name}", headers={"host": host})

    return got


def test_it_has_exactly_the_key_as_plain_text(get: Callable[..., Any]) -> None:
    url = reverse("django_sitemaps09:indexnow-key", kwargs={"key": KEY})
    assert url == f"/{KEY}.txt"
    response = get(url[1:])
    assert (response.status_code, response.content) == (200, KEY.encode())
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert "noindex" in response["X-Robots-Tag"]
    assert Client().post(url, headers={"host": "www.example.com"}).status_code == 405


@pytest.mark.parametrize("name", ["security.txt", "humans12.txt", f"{KEY}0.txt", f"{KEY.upper()}.txt"])
def test_other_text_files_keep_their_urls(get: Callable[..., Any], name: str) -> None:
    assert get(name).content == b"other"


@pytest.mark.parametrize("key", [None, "invalid key", 7])
def test_without_a_valid_key_no_url_changes(
    get: Callable[..., Any], configure: Configure, key: Any
) -> None:
    configure(INDEXNOW_KEY=key)
    assert get(f"{KEY}.txt").content == b"other"


def test_each_host_serves_only_its_key(get: Callable[..., Any], configure: Configure) -> None:
    configure(INDEXNOW_KEY={"www.example.com": KEY, "shop.example.com": OTHER})
    assert get(f"{KEY}.txt").content == KEY.encode()
    assert get(f"{OTHER}.txt", "shop.example.com:8000").content == OTHER.encode()
    assert get(f"{OTHER}.txt").status_code == 404
    assert get(f"{KEY}.txt", "SHOP.example.com").status_code == 404
    assert get(f"{KEY}.txt", "evil.example.net").status_code == 400


def test_urls_that_are_passed_sections_have_the_key_too(get: Callable[..., Any], settings: Any) -> None:
    settings.ROOT_URLCONF = (path("", include("django_sitemaps09.urls"), {"sitemaps": {}}),)
    assert get(f"{KEY}.txt").content == KEY.encode()
