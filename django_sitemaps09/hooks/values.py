"""Convert the values of hooks to text, column by column. Invalid values are skipped and reported."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import date
from html import unescape
from itertools import islice
from typing import Any, Final, NamedTuple

from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError
from django.utils.safestring import SafeString

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import ItemError, check_text, excerpt, reason_of, short_repr
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.orm.internals import template_value

#: Marks a value that could not be computed; `None` is a valid value.
FAILED: Final[Any] = object()
#: Maximum number of errors logged for one response.
MAX_LOGGED = 20


class Items(NamedTuple):
    """Keys of a slice's items, and the errors of skipped items and fields.

    If `raises_errors` is true, the errors of functions are raised and not reported.
    """

    keys: Sequence[Hashable]
    errors: list[ItemError]
    raises_errors: bool = False

    def skip(self, position: int, field: str, reason: str) -> None:
        """Report that a field of an item is not written."""
        self.errors.append(ItemError(excerpt(self.keys[position]), field, reason))

    def each(
        self, function: Callable[[Any], Any], values: Iterable[Any], field: str, *, failed: Any = FAILED
    ) -> list[Any]:
        """Return the result of `function` for each value. The result for `FAILED` is `failed`.

        If `function` fails, the result is `failed` and the error is reported. Database and configuration
        errors are raised, since they affect more than one item.
        """
        results = []
        for position, value in enumerate(values):
            try:
                results.append(failed if value is FAILED else function(value))
            except (DatabaseError, ImproperlyConfigured):
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


def locations(values: Sequence[Any], hosts: AllowedHosts, items: Items) -> Sequence[str | None]:
    """Return a column of locations for a batch, with `None` for each invalid location."""
    if {*map(type, values)} <= {str}:
        if hosts.are_plain(values):
            return values
        quoted = protocol.quote_all(values)
        if quoted is not None and hosts.are_plain(quoted):
            return quoted
    return items.each(hosts.location, values, "location", failed=None)


def texts(name: str, values: Sequence[Any], items: Items) -> list[str | None]:
    """Return the values of an optional element as a column of strings, with `None` for missing values."""
    return items.each(CONVERTERS[name], values, name, failed=None)


def entry_value(value: Any) -> Any:
    """Return a value of an entry dict as the template of `django.contrib.sitemaps` uses it.

    Return `None` for all values that the template writes as nothing, such as a method that needs the item.
    Raise `ValueError` for a value that `check_text()` refuses.
    """
    value = unescaped(template_value(value))
    return check_text(value) if value else None


def unescaped(value: Any) -> Any:
    """Return the text of a string that is marked as safe, and any other value unchanged."""
    return unescape(value) if isinstance(value, SafeString) else value


def lastmod_text(value: object) -> str | None:
    """Return a date or datetime as W3C text; `None` for a missing value.

    A naive datetime is interpreted in `TIME_ZONE`.
    """
    if value is None or value == "":
        return None
    if not isinstance(value, date):
        raise ValueError(f"{short_repr(value)} is neither a date nor a datetime")
    try:
        return protocol.w3c(value, conf.zone)
    except OverflowError as error:
        raise ValueError(f"{short_repr(value)} is out of range in UTC") from error


def _optional(convert: Callable[[object], str]) -> Callable[[object], str | None]:
    """Return a converter that returns `None` for a missing value."""
    return lambda value: None if value is None or value == "" else convert(value)


priority_text = _optional(protocol.priority_text)

#: Functions that convert the values of optional elements to text, in the order of the XSD.
CONVERTERS: dict[str, Callable[[object], str | None]] = {
    "lastmod": lastmod_text,
    "changefreq": _optional(protocol.changefreq_text),
    "priority": priority_text,
}
