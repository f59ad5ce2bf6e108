"""Validate the keys and the endpoints of protocols that tell search engines about changes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

from django_sitemaps09.protocol.urls import origin, parse_base, uri

#: IndexNow shares what this endpoint receives with all search engines that take part.
INDEXNOW_ENDPOINT = "https://api.indexnow.org/indexnow"
#: The maximum number of URLs in one message. https://www.indexnow.org/documentation
MAX_MESSAGE_URLS = 10_000
#: Valid keys. The documentation of IndexNow says both "hexadecimal" and these characters.
KEY = re.compile(r"[A-Za-z0-9-]{8,128}")


def check_keys(value: object) -> str | Mapping[str, str] | None:
    """Return a key, or a dict of keys by host, unchanged. Raise `ValueError` without the key itself."""
    keys = value if isinstance(value, Mapping) else {"localhost": value}
    for host, key in keys.items():
        if not isinstance(key, str) or KEY.fullmatch(key) is None:
            raise ValueError("a key must have 8 to 128 letters, digits or hyphens (a-z, A-Z, 0-9, -)")
        if not isinstance(host, str) or parse_base(f"https://{host}").domain != host:
            raise ValueError(f"{host!r} must be a host in lower case, such as 'www.example.com'")
    return value if isinstance(value, str | Mapping) else None


def check_endpoints(value: object) -> tuple[str, ...]:
    """Return a list of endpoints as a tuple. Raise `ValueError` without the URLs: they can have secrets."""
    if not isinstance(value, list | tuple):
        raise ValueError("it must be a list of URLs")
    for number, url in enumerate(value, 1):
        if not isinstance(url, str) or not _is_endpoint(url):
            raise ValueError(
                f"URL {number} must be an absolute, percent-encoded https URL without a user or a "
                "fragment; http is allowed only for this machine, such as http://127.0.0.1:8000/"
            )
    return tuple(value)


def endpoint_label(url: str) -> str:
    """Return an endpoint for messages: without its query, which can contain a secret."""
    return url.partition("?")[0]


def _is_endpoint(url: str) -> bool:
    try:
        base = origin(url)
        return uri(url) == url and (base.scheme == "https" or _is_loopback(urlsplit(url).hostname or ""))
    except ValueError:
        return False


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
