"""The host of a site: where its base URL comes from."""

from __future__ import annotations

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import connections

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources.retry import retry

_NO_BASE = (
    "The host of the exported URLs is not known. Set SITEMAPS09['BASE_URL'] to a URL such as "
    "'https://www.example.com', pass --base-url, or use the sites framework."
)


def export_base(base_url: str | None) -> Base:
    """Return the base URL of locations: `base_url`, else the setting, else https and the current `Site`."""
    if base_url is not None:
        return parse_base(base_url, "--base-url")
    if conf.base_url is not None:
        return conf.base_url
    if apps.is_installed("django.contrib.sites"):
        site = apps.get_model("sites", "Site")
        try:
            # In a worker, the cached site can be older than a change of its domain in another process.
            current = site.objects.get(pk=site.objects.get_current().pk)
            return protocol.parse_base(f"https://{current.domain}")
        except (site.DoesNotExist, ImproperlyConfigured, ValueError) as error:
            raise ImproperlyConfigured(f"{_NO_BASE} The sites framework reports: {error}") from error
    raise ImproperlyConfigured(_NO_BASE)


def parse_base(url: str, name: str) -> Base:
    """Parse the base URL of an option. Raise `ImproperlyConfigured` with the name of the option."""
    try:
        return protocol.parse_base(url)
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}.") from error


def site_urls() -> list[str]:
    """Return the base URL of each site of `django.contrib.sites`, by https, in the order of the IDs."""
    if not apps.is_installed("django.contrib.sites"):
        raise ImproperlyConfigured(
            "--all-sites needs 'django.contrib.sites' in INSTALLED_APPS. Without it, pass --base-url for "
            "each host."
        )
    sites = apps.get_model("sites", "Site").objects.order_by("pk").values_list("domain", flat=True)
    was_open = connections[sites.db].connection is not None
    urls = [f"https://{domain}" for domain in retry(lambda: list(sites), "The sites", lost_only=True)]
    if not was_open:
        # The choice of an engine depends on the open connections.
        connections[sites.db].close()
    for url in urls:
        parse_base(url, "The domain of a Site is invalid")
    if not urls:
        raise ImproperlyConfigured("There is no Site. Add one in the admin, or pass --base-url.")
    return urls


def is_example_site(base_url: str | None, base: Base) -> bool:
    """Return whether `export_base(base_url)` is from a `Site` that still has Django's initial domain."""
    return base_url is None and conf.base_url is None and base.domain == "example.com"


#: What is wrong with an example site, and what to do.
EXAMPLE_SITE = (
    "The domain of the current Site is still 'example.com', so sitemaps have URLs on that host.",
    "Set its domain to that of your site, or set SITEMAPS09['BASE_URL'].",
)
