"""Bases that locations are joined to, and the hosts that absolute locations may be on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import NOT_TEXTS, short_repr
from django_sitemaps09.hooks.expressions import declared_expressions
from django_sitemaps09.protocol import Base

# RFC 3986: a reference with a scheme is not relative.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(frozen=True, slots=True)
class AllowedHosts:
    """Allowed hosts: the `bases` that the entries are written for, and `others` that a sitemap declares.

    `joins_paths` is true if no other code joins paths to the base. `is_limited` is false if a URL may be
    longer than the protocol allows, as in what contrib's `get_urls()` returns.
    """

    bases: tuple[Base, ...]
    others: tuple[Base, ...] = ()
    joins_paths: bool = False
    is_limited: bool = True

    @classmethod
    def of(cls, sitemap: Any, bases: tuple[Base, ...]) -> AllowedHosts:
        """Return the allowed hosts of a sitemap, including its `hosts`.

        One of these is a URL such as `https://shop.example.com`, or a name alone.
        """
        try:
            hosts = _declared_hosts(sitemap)
            return cls(bases, tuple(sorted({_origin(host, base) for host in hosts for base in bases})))
        except Exception as error:
            if declared_expressions(sitemap):
                raise ImproperlyConfigured(f"{type(sitemap).__qualname__}.hosts: {error}.") from error
            # It may be an attribute of a class that was written for contrib.
            return cls(bases)

    @property
    def longest(self) -> str:
        """The longest base, which leaves the least room for paths."""
        return max(map(str, self.bases), key=len)

    @property
    def room(self) -> int:
        """Number of characters that a path may have."""
        return protocol.MAX_LOCATION - len(self.longest)

    def are_plain(self, values: Sequence[str]) -> bool:
        """Return whether a column of locations is valid as it is, ten times as fast as a full check."""
        if protocol.are_plain(values, "/", self.room):
            return True
        return len(self.bases) == 1 and protocol.are_plain(
            values, f"{self.bases[0]}/", protocol.MAX_LOCATION
        )

    def location(self, value: object) -> str:
        """Return a path, or a URL on one of these hosts, as a URI; raise `ValueError` for others."""
        return self.check_host(self.uri(value))

    def check_host(self, text: str) -> str:
        """Return a URI if it is a path, or on one of these hosts; raise `ValueError` otherwise."""
        if text[0] == "/":
            return text
        host = protocol.origin(text)
        if host in self.others or {*map(protocol.origin, map(str, self.bases))} == {host}:
            return text
        base_names = " and ".join(map(str, self.bases))
        raise ValueError(
            f"{short_repr(text)} is not on {base_names} or on one of the `hosts` of its sitemap"
        )

    def join(self, location: str) -> str:
        """Return a location as an absolute URL on the first host."""
        return f"{self.bases[0]}{location}" if location[:1] == "/" else location

    def absolute_urls(self, location: str | None) -> list[str]:
        """Return the absolute URLs of a location on each host, as URIs."""
        if not location:
            return []
        with suppress(ValueError):
            # In compatibility views, the location is as the project gave it.
            location = protocol.uri(location)
        return [protocol.join(str(base), location) for base in self.bases]

    def external_location(self, value: object) -> str:
        """Return a path, or a URL on any host, of which the scheme may be omitted.

        Where the bases differ in their schemes, a URL without one keeps the colon alone: `://example.org/`.
        The code that joins it to a base adds the scheme of the base.
        """
        text = _text(value)
        if not text.startswith("//"):
            return self.uri(text)
        # As in browsers, a path does not begin with two slashes.
        scheme, *others = sorted({base.scheme for base in self.bases}, key=len, reverse=True)
        location = self.uri(f"{scheme}:{text}")
        return location.removeprefix(scheme) if others else location

    def media(self, value: object) -> str:
        """Return the URL of a file, which may be on any host, as `external_location()` does.

        A text that is not a path and has no scheme is relative to `MEDIA_URL`.
        """
        text = _text(value)
        if text[:1].isspace() or text[-1:].isspace():
            raise ValueError(f"{short_repr(text)} begins or ends with white space")
        relative = text[:1] != "/" and _SCHEME.match(text) is None
        return self.external_location(f"{conf.media_url}{text}" if relative else text)

    def uri(self, value: object) -> str:
        """Return a path, or a URL on any host, as a URI; raise `ValueError` for an invalid or long one."""
        text = protocol.uri(_text(value))
        most = self.room if text[0] == "/" else protocol.MAX_LOCATION
        if self.is_limited and len(text) > most:
            raise ValueError(
                f"{short_repr(text)} has {len(text):,} characters; at most {most:,} are allowed"
            )
        return self.join(text) if self.joins_paths else text


def _text(value: object) -> str:
    if isinstance(value, NOT_TEXTS):
        raise ValueError(f"{short_repr(value)} is not text")
    return str(value)


def _declared_hosts(sitemap: Any) -> Sequence[str]:
    hosts = getattr(sitemap, "hosts", None) or ()
    if isinstance(hosts, (list, tuple, set, frozenset)):
        return list(hosts)
    raise TypeError(f"{short_repr(hosts)} is not a list of hosts")


def _origin(host: str, base: Base) -> Base:
    return protocol.origin(str(protocol.parse_base(host if "://" in host else f"{base.scheme}://{host}")))
