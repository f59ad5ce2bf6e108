"""Base URLs that paths are joined to, and the allowed hosts of absolute locations."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import check_text, short_repr
from django_sitemaps09.hooks.expressions import declared_expressions
from django_sitemaps09.protocol import Base

# A URL reference that begins with a scheme is not relative (RFC 3986).
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Hosts that locations may be on: the hosts of `bases`, and `others` that a sitemap declares.

    If `joins_paths` is true, paths become absolute URLs on the first base. If `is_limited` is false, a URL
    may be longer than the protocol allows, as in `django.contrib.sitemaps`.
    """

    bases: tuple[Base, ...]
    others: tuple[Base, ...] = ()
    joins_paths: bool = False
    is_limited: bool = True

    @classmethod
    def from_sitemap(cls, sitemap: Any, bases: tuple[Base, ...]) -> AllowedHosts:
        """Return the allowed hosts of a sitemap, including its attribute `hosts`.

        Each of these `hosts` is a URL such as `https://shop.example.com`, or a host name.
        """
        try:
            hosts = getattr(sitemap, "hosts", None) or ()
            if not isinstance(hosts, (list, tuple, set, frozenset)):
                raise TypeError(f"{short_repr(hosts)} is not a list of hosts")
            urls = [
                host if "://" in host else f"{base.scheme}://{host}" for host in hosts for base in bases
            ]
            others = {protocol.origin(str(protocol.parse_base(url))) for url in urls}
            return cls(bases, tuple(sorted(others)))
        except Exception as error:
            if declared_expressions(sitemap):
                raise ImproperlyConfigured(f"{type(sitemap).__qualname__}.hosts: {error}.") from error
            # A class for `django.contrib.sitemaps` can use the attribute `hosts` for something else.
            return cls(bases)

    @property
    def room(self) -> int:
        """Maximum length of a path, so that the URL on each base has a valid length."""
        return protocol.MAX_LOCATION - max(len(str(base)) for base in self.bases)

    def are_plain(self, values: Sequence[str]) -> bool:
        """Return whether all locations of a column are known to be valid without changes.

        This is ten times as fast as a full check of each location.
        """
        if protocol.are_plain(values, "/", self.room):
            return True
        return len(self.bases) == 1 and protocol.are_plain(
            values, f"{self.bases[0]}/", protocol.MAX_LOCATION
        )

    def location(self, value: object) -> str:
        """Return a path, or a URL on an allowed host, as a URI. Raise `ValueError` for other values."""
        return self.check_host(self.uri(value))

    def check_host(self, text: str) -> str:
        """Return the URI if it is a path or on an allowed host. Raise `ValueError` for any other URI."""
        if text[0] == "/":
            return text
        host = protocol.origin(text)
        if host in self.others or {*map(protocol.origin, map(str, self.bases))} == {host}:
            return text
        # A location is rendered for each base, and a URL cannot be on several of them.
        base_names = f"{'all of ' if len(self.bases) > 1 else ''}{', '.join(map(str, self.bases))}"
        raise ValueError(
            f"{short_repr(text)} is not on {base_names}: "
            "use a path, or add its host to the sitemap's `hosts`"
        )

    def absolute_urls(self, location: str | None) -> list[str]:
        """Return a location as an absolute URI for each base; an empty list for an empty location."""
        if not location:
            return []
        with suppress(ValueError):
            # In compatibility views, the location is not a URI yet.
            location = protocol.uri(location)
        return [protocol.join(str(base), location) for base in self.bases]

    def external_location(self, value: object) -> str:
        """Return a path, or a URL on any host, as a URI. The URL can omit its scheme.

        If the bases have different schemes, the result for a URL without a scheme begins with the colon:
        `://example.org/`. The code that joins it to a base adds the scheme of the base.
        """
        text = str(check_text(value))
        if not text.startswith("//"):
            return self.uri(text)
        # Browsers read a reference that begins with two slashes as a URL without a scheme.
        scheme, *others = sorted({base.scheme for base in self.bases}, key=len, reverse=True)
        location = self.uri(f"{scheme}:{text}")
        return location.removeprefix(scheme) if others else location

    def media(self, value: object) -> str:
        """Return the location of a media file, on any host, in the form of `external_location()`.

        A value that is not a path and has no scheme is relative to `MEDIA_URL`.
        """
        text = str(check_text(value))
        if text[:1].isspace() or text[-1:].isspace():
            raise ValueError(f"{short_repr(text)} begins or ends with whitespace")
        relative = text[:1] != "/" and _SCHEME.match(text) is None
        return self.external_location(f"{conf.media_url}{text}" if relative else text)

    def uri(self, value: object) -> str:
        """Return a path, or a URL on any host, as a URI.

        Raise `ValueError` if the value is invalid or too long.
        """
        text = protocol.uri(str(check_text(value)))
        most = self.room if text[0] == "/" else protocol.MAX_LOCATION
        if self.is_limited and len(text) > most:
            raise ValueError(
                f"{short_repr(text)} has {len(text):,} characters; at most {most:,} are allowed"
            )
        return f"{self.bases[0]}{text}" if self.joins_paths and text[0] == "/" else text
