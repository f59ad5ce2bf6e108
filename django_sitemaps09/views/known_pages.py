"""Remember what a request has found out about a page, for `LIVE_SECONDS`, in the memory of the process.

Without this, each conditional request compiles the section and its queries, and reads the page map from the
cache, which takes ten times as long as all the other work for a response of status 304.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest
from django.urls import get_script_prefix, get_urlconf

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
    if etag is None:
        _pages.pop(key, None)
        return
    if len(_pages) >= _MAX_PAGES:
        _pages.clear()
    _pages[key] = KnownPage(sitemaps, etag, cache_key)


def _key(request: HttpRequest) -> Hashable:
    """Return everything about a request that its page can depend on.

    Tenants must have their own hosts, or the default cache a `KEY_FUNCTION` that adds the tenant.
    """
    # As in `get_host()`, but without its check of the host, which takes longer than the rest.
    forwarded = request.META.get("HTTP_X_FORWARDED_HOST") if settings.USE_X_FORWARDED_HOST else None
    host = forwarded, request.META.get("HTTP_HOST"), request.META.get("SERVER_NAME"), request.scheme
    return get_urlconf(), get_script_prefix(), request.path, host, caching.full_key("")
