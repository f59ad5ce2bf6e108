"""Convert the values of hooks to text, column by column, and check the hosts of locations.

Invalid values are skipped and reported.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Any, Final, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import (
    ItemError,
    check_text,
    key_excerpt,
    plain_text,
    reason_of,
    short_repr,
    typed_repr,
)
from django_sitemaps09.hooks.expressions import declared_expressions, is_missing
from django_sitemaps09.orm.internals import template_value
from django_sitemaps09.protocol import Base

#: Marks a value that could not be computed; `None` is a valid value.
FAILED: Final[Any] = object()
#: Errors that affect more than one item, so they are raised, and no item is skipped for them.
SHARED_ERRORS = (DatabaseError, ImproperlyConfigured, MemoryError)
#: Maximum number of skipped items logged as warnings, for a response or for a section of an export.
MAX_LOGGED = 3
# A URL reference that begins with a scheme is not relative (RFC 3986).
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


class Items(NamedTuple):
    """Keys of a slice's items, and the errors of skipped items and fields.

    If `raises_errors` is true, the errors of functions are raised and not reported.
    """

    keys: Sequence[Hashable]
    errors: list[ItemError]
    raises_errors: bool = False

    def skip(self, position: int, field: str, reason: str) -> None:
        """Report that a field of an item is not written."""
        self.errors.append(ItemError(key_excerpt(self.keys[position]), field, reason))

    def each(
        self, function: Callable[[Any], Any], values: Iterable[Any], field: str, *, failed: Any = FAILED
    ) -> list[Any]:
        """Return the result of `function` for each value. The result for `FAILED` is `failed`.

        If `function` fails, the result is `failed` and the error is reported. `SHARED_ERRORS` are raised.
        """
        results = []
        for position, value in enumerate(values):
            try:
                results.append(failed if value is FAILED else function(value))
            except SHARED_ERRORS:
                raise
            except Exception as error:
                # A user's method can raise anything.
                if self.raises_errors:
                    raise
                self.skip(position, field, reason_of(error))
                results.append(failed)
        return results

    def each_of(
        self, position: int, function: Callable[[Any], Any], values: Sequence[Any], field: str
    ) -> list[Any]:
        """Return the results of `function` for the values of one item. Skip values for which it fails."""
        item = self._replace(keys=[self.keys[position]] * len(values))
        return [result for result in item.each(function, values, field) if result is not FAILED]


def log_skipped(
    logger: logging.Logger, errors: Iterable[object], count: int, where: str = "Skipped"
) -> None:
    """Log the first errors, one per line after `where`, and the number of further errors.

    A hook that fails for every item must not log thousands of lines for each request.
    """
    for error in islice(errors, MAX_LOGGED):
        logger.warning("%s %s", where, error)
    if count > MAX_LOGGED:
        logger.warning("%s %d more", where, count - MAX_LOGGED)


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
    def from_sitemap(cls, sitemap: Any, base: Base) -> AllowedHosts:
        """Return the allowed hosts of a sitemap, including its `hosts`: URLs or host names."""
        try:
            hosts = getattr(sitemap, "hosts", None) or ()
            if not isinstance(hosts, (list, tuple, set, frozenset)):
                raise TypeError(f"{typed_repr(hosts)} is not a list of hosts")
            others = {protocol.origin(str(parse_host(host, base.scheme))) for host in hosts}
            return cls(base, tuple(sorted(others)))
        except Exception as error:
            if declared_expressions(sitemap):
                raise ImproperlyConfigured(f"{type(sitemap).__qualname__}.hosts: {error}.") from error
            # A class for `django.contrib.sitemaps` can use the attribute `hosts` for something else.
            return cls(base)

    @property
    def room(self) -> int:
        """Maximum length of a path, so that its URL has a valid length."""
        return protocol.MAX_LOCATION - len(str(self.base))

    def are_plain(self, values: Sequence[str]) -> bool:
        """Return whether all locations are valid without changes, ten times as fast as by checking each."""
        return protocol.are_plain(values, "/", self.room) or protocol.are_plain(
            values, f"{self.base}/", protocol.MAX_LOCATION
        )

    def location(self, value: object) -> str:
        """Return a path, or a URL on an allowed host, as a URI. Raise `ValueError` for other values."""
        return self.check_host(self.uri(value))

    def check_host(self, text: str) -> str:
        """Return the URI if it is a path or on an allowed host. Raise `ValueError` for any other URI."""
        if text[0] == "/":
            return text
        host = protocol.origin(text)
        if host in self.others or host == protocol.origin(str(self.base)):
            return text
        raise ValueError(
            f"{short_repr(text)} is not on {self.base}: "
            "use a path, or add its host to the sitemap's `hosts`"
        )

    def absolute_url(self, location: str) -> str:
        """Return a location as an absolute URI."""
        with suppress(ValueError):
            # In compatibility views, the location is not a URI yet.
            location = protocol.uri(location)
        return protocol.join(str(self.base), location)

    def external_location(self, value: object) -> str:
        """Return a path, or a URL on any host, as a URI. A URL without a scheme gets that of the base."""
        text = str(check_text(value))
        # Browsers read a reference that begins with two slashes as a URL without a scheme.
        return self.uri(f"{self.base.scheme}:{text}" if text.startswith("//") else text)

    def media(self, value: object) -> str:
        """Return the location of a media file, on any host, as `external_location()` does.

        A value that is not a path and has no scheme is relative to `MEDIA_URL`.
        """
        text = str(check_text(value))
        if text[:1].isspace() or text[-1:].isspace():
            raise ValueError(f"{short_repr(text)} begins or ends with whitespace")
        relative = text[:1] != "/" and _SCHEME.match(text) is None
        return self.external_location(f"{conf.media_url}{text}" if relative else text)

    def uri(self, value: object) -> str:
        """Return a path, or a URL on any host, as a URI. Raise `ValueError` if invalid or too long."""
        text = protocol.uri(str(check_text(value)))
        most = self.room if text[0] == "/" else protocol.MAX_LOCATION
        if self.is_limited and len(text) > most:
            raise ValueError(
                f"{short_repr(text)} has {len(text):,} characters; at most {most:,} are allowed"
            )
        return f"{self.base}{text}" if self.joins_paths and text[0] == "/" else text


def parse_host(host: str, scheme: str) -> Base:
    """Parse an item of `hosts`: a URL, or a host name. Raise `ValueError` if it is neither."""
    return protocol.parse_base(host if "://" in host else f"{scheme}://{host}")


def locations(values: Sequence[Any], hosts: AllowedHosts, items: Items) -> Sequence[str | None]:
    """Return a column of locations for a batch, with `None` for each invalid location."""
    if {*map(type, values)} <= {str}:
        if hosts.are_plain(values):
            return values
        quoted = protocol.quote_all(values)
        if quoted is not None and hosts.are_plain(quoted):
            return quoted
    return items.each(hosts.location, values, "location", failed=None)


def entry_value(value: Any) -> Any:
    """Return a value of an entry dict as the template of `django.contrib.sitemaps` uses it.

    Return `None` for all values that the template writes as nothing, such as a method that needs the item.
    Raise `ValueError` for a value that `check_text()` refuses.
    """
    value = template_value(value)
    return check_text(value) if value else None


def lastmod_text(value: object) -> str | None:
    """Return a date or datetime, if naive in `TIME_ZONE`, as W3C text; `None` for a missing value."""
    if is_missing(value):
        return None
    if not isinstance(value, date):
        raise ValueError(f"{typed_repr(value)} is neither a date nor a datetime")
    try:
        return protocol.w3c(value, conf.zone)
    except OverflowError as error:
        raise ValueError(f"{short_repr(value)} is out of range in UTC") from error


def _optional(convert: Callable[[object], str]) -> Callable[[object], str | None]:
    return lambda value: None if is_missing(value) else convert(plain_text(value))


priority_text = _optional(protocol.priority_text)

#: Functions that convert the values of optional elements to text, in the order of the XSD.
CONVERTERS: dict[str, Callable[[object], str | None]] = {
    "lastmod": lastmod_text,
    "changefreq": _optional(protocol.changefreq_text),
    "priority": priority_text,
}
