"""Keys for IndexNow, which prove that a submission comes from the site itself."""

from __future__ import annotations

import secrets
from collections.abc import Collection

from django_sitemaps09.conf import conf


def generate_key() -> str:
    """Return a new random key of 32 hexadecimal digits, which all search engines accept."""
    return secrets.token_hex(16)


def key_for(host: str) -> str | None:
    """Return the key for a host, such as `www.example.com`; `None` if the settings have none."""
    keys = conf.indexnow_key
    return keys if keys is None or isinstance(keys, str) else keys.get(host)


def all_keys() -> Collection[str]:
    """Return the keys of all hosts."""
    keys = conf.indexnow_key
    if keys is None:
        return ()
    return (keys,) if isinstance(keys, str) else keys.values()
