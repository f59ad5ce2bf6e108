"""Remember what a request has found out about a page, for `LIVE_SECONDS`, in the memory of the process.

Without this, each conditional request compiles the section and its queries, and reads the page map from the
cache, which takes ten times as long as all the other work for a response of status 304.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from django.core.exceptions import DisallowedHost
from django.core.signals import setting_changed
from django.http import HttpRequest
from django.urls import get_script_prefix, get_urlconf

from django_sitemaps09 import sources
from django_sitemaps09.views import caching
from django_sitemaps09.views.responses import Sitemaps
from django_sitemaps09.views.validators import PageETag

_MAX_PAGES = 10_000
_pages: dict[Hashable, KnownPage] = {}


class KnownPage(NamedTuple):
    """The sections that the view serves, the ETag of a page, and its key in `LIVE_CACHE`."""

    sitemaps: Sitemaps
    etag: PageETag
    cache_key: str | None


def find(request: HttpRequest, sitemaps: Sitemaps) -> KnownPage | None:
    """Return what is known about the requested page; `None` if nothing is known, or if it is outdated."""
    known = _pages.get(_key(request))
    is_valid = known is not None and known.sitemaps is sitemaps and known.etag.is_recent()
    return known if is_valid else None


def remember(
    request: HttpRequest, sitemaps: Sitemaps, cache_key: str | None, etag: PageETag | None
) -> None:
    """Remember the ETag of the requested page for `LIVE_SECONDS`. Without one, forget the page."""
    key = _key(request)
    if key is None:
        return
    if etag is None:
        _pages.pop(key, None)
        return
    if len(_pages) >= _MAX_PAGES:
        _pages.clear()
    _pages[key] = KnownPage(sitemaps, etag, cache_key)


def _key(request: HttpRequest) -> Hashable | None:
    """Return everything about a request that its page can depend on; `None` for a host that is not allowed.

    Tenants must have their own hosts, or the default cache a `KEY_FUNCTION` that adds the tenant.
    """
    try:
        host = request.get_host()
    except DisallowedHost:
        return None
    facts = get_script_prefix(), request.path, request.scheme, host, caching.full_key("")
    # A digest, since an allowed host can be long: clients choose the port.
    return get_urlconf(), sources.digest(facts)


def _forget(**_: object) -> None:
    _pages.clear()


# Tests change settings, such as `BASE_URL`, while the process runs.
setting_changed.connect(_forget)
