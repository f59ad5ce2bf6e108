"""Which host: the base URL of a site, its `Site`, the hosts of its locations, and the folder of its files.

The base URL is, in this order:

* for an export, an audit, and all that is read of them: an option (`--base-url`), else the setting
  `BASE_URL`, else https and the domain of the current `Site`;
* for live pages: `BASE_URL`, else the scheme of the request and the domain of the current `Site`, or
  without the sites framework, the host of the request.

The `protocol` of a sitemap changes the scheme of its URLs, and its `hosts` are further hosts for them.
Exported files are below `FILES_URL`, or else at the base URL.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.apps import apps
from django.contrib.sites.requests import RequestSite
from django.contrib.sites.shortcuts import get_current_site
from django.core.exceptions import DisallowedHost, ImproperlyConfigured, ObjectDoesNotExist
from django.db import connections
from django.db.models import Q
from django.http import HttpRequest
from django.http.request import split_domain_port

from django_sitemaps09.conf import conf
from django_sitemaps09.orm.reading import retry
from django_sitemaps09.protocol import urls
from django_sitemaps09.protocol.fields import check_text, short_repr
from django_sitemaps09.protocol.limits import MAX_LOCATION
from django_sitemaps09.protocol.urls import Base, are_plain, join, origin, uri

# A URL reference that begins with a scheme is not relative (RFC 3986).
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_NO_BASE = (
    "The host of the URLs is not known. Set SITEMAPS09['BASE_URL'] to a URL such as "
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
            return urls.parse_base(f"https://{current.domain}")
        except (site.DoesNotExist, ImproperlyConfigured, ValueError) as error:
            raise ImproperlyConfigured(f"{_NO_BASE} The sites framework reports: {error}") from error
    raise ImproperlyConfigured(_NO_BASE)


def parse_base(url: str, name: str) -> Base:
    """Parse the base URL of an option. Raise `ImproperlyConfigured` with the name of the option."""
    try:
        return urls.parse_base(url)
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


def example_site_problem(base_url: str | None, base: Base) -> tuple[str, str] | None:
    """Return that the base of `export_base(base_url)` is Django's initial `Site`, and what to do."""
    if base_url is not None or conf.base_url is not None or base.domain != "example.com":
        return None
    return (
        "The domain of the current Site is still 'example.com', so sitemaps have URLs on that host.",
        "Set its domain to that of your site, or set SITEMAPS09['BASE_URL'].",
    )


def host_folder(base: Base) -> str:
    """Return the name of the folder for a host, such as `www.example.com` or `localhost_8000`."""
    return re.sub(r"[^a-z0-9._-]", "_", base.domain).rstrip(".")


def is_host_folder(name: str) -> bool:
    """Return whether a name is empty or valid for the folder of a host."""
    return re.fullmatch(r"(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)?", name) is not None


def plain_host(domain: str) -> str:
    """Return a domain without a default port, which clients and proxies can add, in lower case."""
    return re.sub(r"\.?(?::(?:80|443))?$", "", domain.lower())


class RequestedHost(str):
    """The domain of a live page if no setting and no option names it, so URLs can be on another host."""

    __slots__ = ()


def current_base(request: HttpRequest) -> Base:
    """Return `BASE_URL`, or else the scheme of the request with the domain of the current site.

    Without the sites framework, the domain is the host of the request. It must be in `ALLOWED_HOSTS`.
    """
    if conf.base_url is not None:
        return conf.base_url
    try:
        domain = current_site(request).domain
    except ObjectDoesNotExist as error:
        raise ImproperlyConfigured(
            f"The host of the URLs is not known: {error} Set SITEMAPS09['BASE_URL'], or create a Site and "
            "set SITE_ID to its id."
        ) from error
    try:
        base = urls.parse_base(f"{request.scheme}://{domain}")
    except ValueError as error:
        raise _invalid_site(domain, error) from error
    return base._replace(domain=RequestedHost(base.domain))


def _invalid_site(domain: str, error: ValueError) -> Exception:
    if not apps.is_installed("django.contrib.sites"):
        # Django validates only the characters of the host, and accepts any number as a port.
        return DisallowedHost(f"Invalid HTTP_HOST header: {short_repr(domain)}: {error}.")
    return ImproperlyConfigured(f"The domain of the current site is invalid: {error}.")


def contrib_site(request: HttpRequest) -> Any:
    """Return the site of a request for `django.contrib.sitemaps`, which puts its domain before paths."""
    site = current_site(request)
    try:
        # Unlike a base, it can have a path at its end.
        uri(f"{request.scheme}://{site.domain}/")
    except ValueError as error:
        raise _invalid_site(site.domain, error) from error
    return site


def is_host_from_client() -> bool:
    """Return whether clients can choose any of the `ALLOWED_HOSTS` as the host of URLs."""
    return conf.base_url is None and not apps.is_installed("django.contrib.sites")


def current_site(request: HttpRequest) -> Any:
    """Return the site of a request, even if its domain is stored as Unicode instead of IDNA."""
    try:
        return get_current_site(request)
    except ObjectDoesNotExist:
        host = request.get_host()
        # As in get_current_site(), with the port first, then without the port.
        if (site := find_site(host, host.partition(":")[0])) is None:
            raise
        return site


class HostSite(RequestSite):
    """`RequestSite` for a host without a request."""

    def __init__(self, domain: str) -> None:
        self.domain = self.name = domain


def site_for(base: Base) -> Any:
    """Return the `Site` for a host, else the `Site` for `SITE_ID`, else a `HostSite`.

    The domain of the result is always the host, since `get_domain()` of `django.contrib.sitemaps` returns
    it: a row with another domain is copied. At most one query runs if Django has cached that for `SITE_ID`.
    """
    site = None
    if apps.is_installed("django.contrib.sites"):
        # SITE_ID may not be set, or may have no row.
        with suppress(ImproperlyConfigured, ObjectDoesNotExist):
            site = apps.get_model("sites", "Site").objects.get_current()
        if site is None or site.domain != base.domain:
            site = find_site(base.domain, split_domain_port(base.domain)[0] or base.domain) or site
    if site is None:
        return HostSite(base.domain)
    if site.domain != base.domain:
        site = copy(site)
        site.domain = base.domain
    return site


def find_site(*domains: str) -> Any:
    """Return the `Site` with one of the domains, preferably the first, in any case, as Unicode or IDNA."""
    names = [name for domain in domains for name in _spellings(domain)]
    sites = apps.get_model("sites", "Site").objects
    matches = sites.filter(reduce(or_, [Q(domain__iexact=name) for name in sorted({*names})]))

    def rank(site: Any) -> tuple[int, Any]:
        positions = (position for position, name in enumerate(names) if name.lower() == site.domain.lower())
        return -1 if site.domain == domains[0] else next(positions, len(names)), site.pk

    return min(matches, key=rank, default=None)


def _spellings(domain: str) -> Iterator[str]:
    """Yield a domain unchanged, in IDNA as in URLs, and in Unicode as in some `Site` objects."""
    yield domain
    name, colon, port = domain.partition(":")
    with suppress(UnicodeError):
        yield f"{name.encode('idna').decode()}{colon}{port}"
    with suppress(UnicodeError):
        yield f"{name.encode().decode('idna')}{colon}{port}"


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Hosts that locations may be on: the host of `base`, and `others` that a sitemap declares.

    If `joins_paths` is true, paths become absolute URLs on the base. If `is_limited` is false, a URL may be
    longer than the protocol allows, as in `django.contrib.sitemaps`.
    """

    base: Base
    others: tuple[Base, ...] = ()
    joins_paths: bool = False
    is_limited: bool = True

    @classmethod
    def parse(cls, hosts: Iterable[str], base: Base) -> AllowedHosts:
        others = {origin(str(parse_host(host, base.scheme))) for host in hosts}
        return cls(base, tuple(sorted(others)))

    @property
    def room(self) -> int:
        """Maximum length of a path, so that its URL has a valid length."""
        return MAX_LOCATION - len(str(self.base))

    def are_plain(self, values: Sequence[str]) -> bool:
        """Return whether all locations are valid without changes, ten times as fast as by checking each."""
        return are_plain(values, "/", self.room) or are_plain(values, f"{self.base}/", MAX_LOCATION)

    def location(self, value: object) -> str:
        """Return a path, or a URL on an allowed host, as a URI. Raise `ValueError` for other values."""
        return self.check_host(self.uri(value))

    def check_host(self, text: str) -> str:
        """Return the URI if it is a path or on an allowed host. Raise `ValueError` for any other URI."""
        if text[0] == "/":
            return text
        host = origin(text)
        if host in self.others or host == origin(str(self.base)):
            return text
        raise ValueError(
            f"{short_repr(text)} is not on {self.base}: "
            "use a path that begins with one slash, or add its host to the sitemap's `hosts`"
        )

    def absolute_url(self, location: str) -> str:
        """Return a location as an absolute URI."""
        with suppress(ValueError):
            # In compatibility views, the location is not a URI yet.
            location = uri(location)
        return join(str(self.base), location)

    def media(self, value: object) -> str:
        """Return the location of a media file as `uri()` does. A relative one is below `MEDIA_URL`."""
        text = str(check_text(value))
        if text[:1].isspace() or text[-1:].isspace():
            raise ValueError(f"{short_repr(text)} begins or ends with whitespace")
        relative = text[:1] != "/" and _SCHEME.match(text) is None
        return self.uri(f"{conf.media_url}{text}" if relative else text)

    def uri(self, value: object) -> str:
        """Return a path, or a URL on any host, as a URI. Raise `ValueError` if invalid or too long.

        Two slashes at the beginning are those of a URL without a scheme, which gets that of the base.
        """
        text = str(check_text(value))
        text = uri(f"{self.base.scheme}:{text}" if text.startswith("//") else text)
        most = self.room if text[0] == "/" else MAX_LOCATION
        if self.is_limited and len(text) > most:
            raise ValueError(
                f"{short_repr(text)} has {len(text):,} characters; at most {most:,} are allowed"
            )
        return f"{self.base}{text}" if self.joins_paths and text[0] == "/" else text


def meant_url(url: str, start: str) -> str:
    """Return the URL that a location means if `django.contrib.sitemaps` put `start` before `//host/`."""
    return f"{start.partition(':')[0]}:{url[len(start) :]}" if url.startswith(f"{start}//") else url


def parse_host(host: str, scheme: str) -> Base:
    """Parse an item of `hosts`: a URL, or a host name. Raise `ValueError` if it is neither."""
    # Not isinstance(), which would evaluate a lazy object.
    if not issubclass(type(host), str):
        raise ValueError("this is not a string")
    return urls.parse_base(host if "://" in host else f"{scheme}://{host}")
