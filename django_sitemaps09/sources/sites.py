"""Site that `get_urls()` is called with, for the host that URLs are on."""

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
    """`RequestSite` of a host, where there is no request."""

    def __init__(self, domain: str) -> None:
        self.domain = self.name = domain


def _takes_site(sitemap: object) -> bool:
    """Return whether code of a project is called with the site; contrib's uses only its domain."""
    methods = ("get_urls", "_urls", "get_domain", "get_protocol")
    return not all(is_contribs(sitemap, name) for name in methods)


def site_for(sitemap: object, base: Base) -> Any:
    """Return the `Site` of a base, else that of `SITE_ID`, else a `HostSite`. Its domain is the base's.

    A row with another domain is copied; its primary key and its name stay. Then contrib's `get_domain()`
    returns the host that is served or exported. This takes at most one query, if `SITE_ID` is in Django's
    own cache.
    """
    needs_site = _takes_site(sitemap) and apps.is_installed("django.contrib.sites")
    row = _row(base.domain) if needs_site else None
    if row is None:
        return HostSite(base.domain)
    if row.domain == base.domain:
        return row
    site = copy(row)
    site.domain = base.domain
    return site


def _row(domain: str) -> Any:
    try:
        current = apps.get_model("sites", "Site").objects.get_current()
    except (ImproperlyConfigured, ObjectDoesNotExist):
        # There is no SITE_ID, or no row for it.
        current = None
    if current is not None and current.domain == domain:
        return current
    host, _ = split_domain_port(domain)
    return find_site(*dict.fromkeys((domain, host or domain))) or current
