"""Endpoints and keys: what is valid, and that errors do not contain them."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps09.protocol import check_endpoints, check_keys

HTTPS = ("https://api.indexnow.org/indexnow", "https://a.b:8443/?token=x", "https://[2001:db8::1]/")
LOOPBACK = ("http://127.0.0.1:8000/", "http://127.8.8.8/", "http://[::1]/x", "http://localhost/x?y=z")


@pytest.mark.parametrize("url", [*HTTPS, *LOOPBACK])
def test_https_and_plain_http_to_this_machine_are_valid(url: str) -> None:
    assert check_endpoints([url]) == (url,)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.b/",
        "http://localhost.a.b/",
        "http://127.0.0.1.a.b/",
        "http://10.0.0.1/",
        "http://0.0.0.0/",
        "ftp://a.b/",
        "//a.b/",
        "/indexnow",
        "https://",
        "https://u:p@a.b/",
        "https://a.b/#x",
        "https://a.b/ x",
        "https://a.b/\r\nX: y",
        "https://a.b\\@c.d/",
        "https://a.b/é",
        "",
        b"https://a.b/",
        None,
    ],
)
def test_any_other_endpoint_is_invalid_and_not_quoted(url: Any) -> None:
    problem = f"a string, not {type(url).__name__}"
    if isinstance(url, str):
        problem = "an absolute, percent-encoded https URL"
    with pytest.raises(ValueError, match=f"URL 2 must be {problem}") as raised:
        check_endpoints([HTTPS[0], url])
    assert not url or str(url) not in str(raised.value)


@pytest.mark.parametrize("value", ["https://a.b/", None, {"https://a.b/"}, 7])
def test_endpoints_must_be_a_list(value: Any) -> None:
    with pytest.raises(ValueError, match="list of URLs"):
        check_endpoints(value)


@pytest.mark.parametrize("key", ["a" * 7, "a" * 129, "a" * 8 + "_", "a" * 8 + "\n", "ä" * 8, "../../etc/a"])
def test_an_invalid_key_is_not_quoted(key: str) -> None:
    for value in (key, {"a.b": key}):
        with pytest.raises(ValueError, match="8 to 128 letters") as raised:
            check_keys(value)
        assert key not in str(raised.value)


@pytest.mark.parametrize("host", ["ABCDEFGH", "ABC DEFGH", "a.b/", 7])
def test_an_invalid_host_of_a_key_is_not_quoted(host: Any) -> None:
    """It is the key, if it has the place of the host."""
    with pytest.raises(ValueError, match=r"host 2 must be a host name in lower case") as raised:
        check_keys({"a.b": "a" * 8, host: "localhost"})
    assert str(host) not in str(raised.value).removeprefix("host 2")
