"""Limits and public names; endpoints and keys: what is valid, and that errors do not contain them."""

from __future__ import annotations

import pytest

from django_sitemaps09 import entries, protocol
from django_sitemaps09.protocol import check_endpoints, check_keys

HTTPS = ["https://api.indexnow.org/indexnow", "https://a.b:8443/?token=x", "https://[2001:db8::1]/"]
LOOPBACK = ["http://127.0.0.1:8000/", "http://127.8.8.8/", "http://[::1]/x", "http://localhost/x?y=z"]
INVALID = [
    *(
        "http://a.b/", "http://localhost.a.b/", "http://127.0.0.1.a.b/", "http://10.0.0.1/",
        "http://0.0.0.0/",
    ),
    *(
        "ftp://a.b/", "//a.b/", "/indexnow", "https://", "https://u:p@a.b/", "https://a.b/#x",
        "https://a.b/ x",
    ),
    *("https://a.b/\r\nX: y", "https://a.b\\@c.d/", "https://a.b/é", "", b"https://a.b/", None),
]  # fmt: skip


@pytest.mark.parametrize("url", [*HTTPS, *LOOPBACK])
def test_https_and_plain_http_to_this_machine_are_valid_endpoints(url):
    assert check_endpoints([url]) == (url,)


@pytest.mark.parametrize("url", INVALID)
def test_any_other_endpoint_is_invalid_and_not_quoted(url):
    problem = f"a string, not {type(url).__name__}"
    if isinstance(url, str):
        problem = "an absolute, percent-encoded https URL"
    with pytest.raises(ValueError, match=f"URL 2 must be {problem}") as raised:
        check_endpoints([HTTPS[0], url])
    assert not url or str(url) not in str(raised.value)


@pytest.mark.parametrize("value", ["https://a.b/", None, {"https://a.b/"}, 7])
def test_endpoints_must_be_a_list(value):
    with pytest.raises(ValueError, match="list of URLs"):
        check_endpoints(value)


@pytest.mark.parametrize("key", ["a" * 7, "a" * 129, "a" * 8 + "_", "a" * 8 + "\n", "ä" * 8, "../../etc/a"])
def test_an_invalid_key_is_not_quoted(key):
    for value in (key, {"a.b": key}):
        with pytest.raises(ValueError, match="8 to 128 letters") as raised:
            check_keys(value)
        assert key not in str(raised.value)


@pytest.mark.parametrize("host", ["ABCDEFGH", "ABC DEFGH", "a.b/", 7])
def test_an_invalid_host_of_a_key_is_not_quoted(host):
    """It is the key, if it has the place of the host."""
    with pytest.raises(ValueError, match=r"host 2 must be a host name in lower case") as raised:
        check_keys({"a.b": "a" * 8, host: "localhost"})
    assert str(host) not in str(raised.value).removeprefix("host 2")


def test_every_public_name_of_the_rooms_modules_is_one_of_the_room():
    public = {
        name
        for module in (protocol.limits, protocol.urls, protocol.values)
        for name, value in vars(module).items()
        if not name.startswith("_") and not hasattr(entries, name)
        if name.isupper() or getattr(value, "__module__", "") == module.__name__
    }
    own = {name for name in vars(protocol) if not name.startswith("_")}
    assert own - {"annotations", "limits", "urls", "values"} == public | {"Changefreq"}


def test_limits_are_those_of_the_protocol():
    assert (protocol.MAX_URLS, protocol.MAX_BYTES) == protocol.INDEX_LIMITS == (50_000, 50 * 2**20)
    assert protocol.STRICTEST_MAX_BYTES == 10 * 2**20
    assert protocol.SITEMAP_NAMESPACE == "http://www.sitemaps.org/schemas/sitemap/0.9"


def test_a_set_of_links_of_any_length_is_checked_once():
    links = [(f"l{number}", f"/{number}/") for number in range(20_000)]
    protocol.check_links(links, [], ["/7/"])
    with pytest.raises(ValueError, match="more than once"):
        protocol.check_links([*links, links[0]], [], ["/7/"])
