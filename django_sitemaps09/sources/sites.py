"""Find the `Site` that `get_urls()` is called with."""

from __future__ import annotations

from copy import copy
from typing import Any

from django.apps import apps
from django.contrib.sites.requests import RequestSite
from django.core.exceptions import ImproperlyConfigured, ObjectDoesNotExist
from django.http.request import split_domain_port

from django_sitemaps09.protocol import Base
from django_sitemaps09.sitemaps import find_site, is_contribs


class HostSite(RequestSite):
    """`RequestSite` for a host without a request."""

    def __init__(self, domain: str) -> None:
        self.domain = self.name = domain


def site_for(sitemap: object, base: Base) -> Any:
    """Return the `Site` for a host, else the `Site` for `SITE_ID`, else a `HostSite`.

    The domain of the result is always the host. So `get_domain()` of `django.contrib.sitemaps` returns the
    served or exported host. For a row with another domain, the result is a copy, with the same primary key
    and name. At most one query runs if Django has cached the row for `SITE_ID`.
    """
    # The methods of `django.contrib.sitemaps` use only the domain.
    is_used = not all(
        is_contribs(sitemap, name) for name in ("get_urls", "_urls", "get_domain", "get_protocol")
    )
    site = _find_row(base.domain) if is_used and apps.is_installed("django.contrib.sites") else None
    if site is None:
        return HostSite(base.domain)
    if site.domain != base.domain:
        site = copy(site)
        site.domain = base.domain
    return site


def _find_row(domain: str) -> Any:
    try:
        current = apps.get_model("sites", "Site").objects.get_current()
    except (ImproperlyConfigured, ObjectDoesNotExist):
        # SITE_ID is not set, or it has no row.
        current = None
    if current is not None and current.domain == domain:
        return current
    host, _ = split_domain_port(domain)
    return find_site(*dict.fromkeys((domain, host or domain))) or current
