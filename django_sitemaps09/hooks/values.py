"""Convert the values of hooks to text, column by column.

Invalid values are skipped and reported.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
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
from django_sitemaps09.hosts import AllowedHosts
from django_sitemaps09.orm.internals import template_value
from django_sitemaps09.protocol import Base

#: Marks a value that could not be computed; `None` is a valid value.
FAILED: Final[Any] = object()
#: Errors that affect more than one item, so they are raised, and no item is skipped for them.
SHARED_ERRORS = (DatabaseError, ImproperlyConfigured, MemoryError)
#: Maximum number of skipped items logged as warnings, for a response or for a section of an export.
MAX_LOGGED = 3


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


def allowed_hosts(sitemap: Any, base: Base) -> AllowedHosts:
    """Return the allowed hosts of a sitemap, including its `hosts`."""
    try:
        return AllowedHosts.parse(getattr(sitemap, "hosts", None) or (), base)
    except Exception as error:
        if declared_expressions(sitemap):
            raise ImproperlyConfigured(f"{type(sitemap).__qualname__}.hosts: {error}.") from error
        # A class for `django.contrib.sitemaps` can use the attribute `hosts` for something else.
        return AllowedHosts(base)


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
