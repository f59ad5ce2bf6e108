"""What locations are joined to, and the hosts that absolute ones may be on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.protocol import Base
from django_sitemaps09.sitemaps import declared_expressions

# RFC 3986: what makes a reference one that is not relative.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


# Nothing so long can become short enough, and it is not worth the time to see.
_LONGEST = 10 * protocol.MAX_LOCATION


@dataclass(frozen=True, slots=True)
class Hosts:
    """The `bases` that the same entries are written for, and the `others` that a sitemap declares.

    `joined` says that nobody else joins paths to the base.
    """

    bases: tuple[Base, ...]
    others: tuple[Base, ...] = ()
    joined: bool = False

    @classmethod
    def of(cls, sitemap: Any, bases: tuple[Base, ...]) -> Hosts:
        """With the `hosts` of a sitemap: `https://shop.example.com`, or a name alone."""
        try:
            declared = _declared(sitemap)
            return cls(bases, tuple(sorted({_origin(host, base) for host in declared for base in bases})))
        except Exception as error:
            if declared_expressions(sitemap):
                raise ImproperlyConfigured(f"{type(sitemap).__qualname__}.hosts: {error}.") from error
            # It may be an attribute of a class that was written for contrib.
            return cls(bases)

    @property
    def longest(self) -> str:
        """The base that leaves the least room for paths."""
        return max(map(str, self.bases), key=len)

    @property
    def room(self) -> int:
        """Characters that a path may have."""
        return protocol.MAX_LOCATION - len(self.longest)

    def are_plain(self, values: Sequence[str]) -> bool:
        """Whether a column of locations can stand as it is, found out in a tenth of the time."""
        if protocol.plain(values, "/", self.room):
            return True
        return len(self.bases) == 1 and protocol.plain(values, f"{self.bases[0]}/", protocol.MAX_LOCATION)

    def location(self, value: object) -> str:
        """A path, or a URL on one of these hosts, as a URI; `ValueError` with the reason for others."""
        text = self.anywhere(value)
        if text[0] == "/":
            return text
        found = protocol.origin(text)
        if found in self.others or {*map(protocol.origin, map(str, self.bases))} == {found}:
            return text
        where = " and ".join(map(str, self.bases))
        raise ValueError(f"{text[:200]!r} is not on {where}, nor on one of the `hosts` of its sitemap")

    def join(self, location: str) -> str:
        """A location as an absolute URL on the first host."""
        return f"{self.bases[0]}{location}" if location[:1] == "/" else location

    def joined_to(self, location: str | None) -> list[str]:
        """The absolute URLs that a location is on each host, as a URI."""
        if not location:
            return []
        with suppress(ValueError):
            # On contrib's road it is as the project gave it.
            location = protocol.uri(location)
        return [f"{base}{location}" if location[0] == "/" else location for base in self.bases]

    def elsewhere(self, value: object) -> str:
        """A URL on any host, of which a scheme may be left out; or a path."""
        text = str(value)
        # As browsers have it; a path does not begin with two slashes.
        return self.anywhere(f"{self.bases[0].scheme}:{text}" if text.startswith("//") else text)

    def media(self, value: object) -> str:
        """The same for a file: what is neither a path nor has a scheme is relative to `MEDIA_URL`."""
        text = str(value)
        if text != text.strip():
            raise ValueError(f"{text[:200]!r} has space around it")
        relative = text[:1] != "/" and _SCHEME.match(text) is None
        return self.elsewhere(f"{conf.media_url}{text}" if relative else text)

    def anywhere(self, value: object) -> str:
        """The same on any host."""
        text = str(value)
        if len(text) > _LONGEST:
            raise ValueError(f"{text[:200]!r} has {len(text):,} characters, {self.room:,} are allowed")
        text = protocol.uri(text)
        most = self.room if text[0] == "/" else protocol.MAX_LOCATION
        if len(text) > most:
            raise ValueError(f"{text[:200]!r} has {len(text):,} characters, {most:,} are allowed")
        return self.join(text) if self.joined else text


def _declared(sitemap: Any) -> Sequence[str]:
    found = getattr(sitemap, "hosts", None) or ()
    if isinstance(found, (list, tuple, set, frozenset)):
        return list(found)
    raise TypeError(f"{found!r:.200} is no list of hosts")


def _origin(host: str, base: Base) -> Base:
    return protocol.origin(str(protocol.parse_base(host if "://" in host else f"{base.scheme}://{host}")))
