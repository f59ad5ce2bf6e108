"""Convert values of hooks to text, a column at a time; only an invalid value is skipped, and named."""

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
from django_sitemaps09.entries import ItemError, excerpt, reason_of, short_repr
from django_sitemaps09.hooks.hosts import AllowedHosts

#: Stands for a value that could not be computed. `None` is a value.
FAILED: Final[Any] = object()
# Errors that are logged for one response.
_LOGGED = 20


class Items(NamedTuple):
    """Items of a slice, by their keys, and the errors of what is skipped."""

    keys: Sequence[Hashable]
    errors: list[ItemError]

    def skip(self, position: int, field: str, reason: str) -> None:
        """Report a field of an item that is not written."""
        self.errors.append(ItemError(excerpt(self.keys[position]), field, reason))

    def each(self, function: Callable[[Any], Any], values: Iterable[Any], field: str) -> list[Any]:
        """Return the result of `function` for each value; `FAILED`, with an error, where it raises.

        Errors of the database and of the configuration are raised, since they are not those of one item.
        """
        results = []
        for position, value in enumerate(values):
            try:
                results.append(value if value is FAILED else function(value))
            except (DatabaseError, ImproperlyConfigured):
                raise
            except Exception as error:  # noqa: BLE001 a user's method can raise anything
                self.skip(position, field, reason_of(error))
                results.append(FAILED)
        return results

    def each_of(
        self, position: int, function: Callable[[Any], Any], values: Sequence[Any], field: str
    ) -> list[Any]:
        """Return the results of `function` for several values of one item, without those that raise."""
        item = Items([self.keys[position]] * len(values), self.errors)
        return [result for result in item.each(function, values, field) if result is not FAILED]


def log_skipped(
    logger: logging.Logger, errors: Iterable[object], count: int, where: str = "Skipped"
) -> None:
    """Log a line for each of the first errors, which begins with `where`, and how many more there are.

    A hook that fails for every item must not write thousands of lines for each request.
    """
    for error in islice(errors, _LOGGED):
        logger.warning("%s %s", where, error)
    if count > _LOGGED:
        logger.warning("%s %d more", where, count - _LOGGED)


def locations(values: Sequence[Any], hosts: AllowedHosts, items: Items) -> Sequence[str | None]:
    """Return a column of locations for a batch; `None` for one that is invalid."""
    if {*map(type, values)} <= {str} and hosts.are_plain(values):
        return values
    urls = items.each(hosts.location, values, "location")
    return [None if url is FAILED else url for url in urls]


def texts(name: str, values: Sequence[Any], items: Items) -> list[str | None]:
    """Return the column of an optional element as text; `None` where there is none."""
    results = items.each(CONVERTERS[name], values, name)
    return [None if text is FAILED else text for text in results]


def lastmod_text(value: object) -> str | None:
    """Return a date or datetime as W3C text, naive ones in `TIME_ZONE`; `None` for no value."""
    if value is None or value == "":
        return None
    if not isinstance(value, date):
        raise ValueError(f"{short_repr(value)} is neither a date nor a datetime")
    try:
        return protocol.w3c(value, conf.zone)
    except OverflowError as error:
        raise ValueError(f"{short_repr(value)} is out of range in UTC") from error


def changefreq_text(value: object) -> str | None:
    """Return a word of the protocol; `None` for no value."""
    return None if value is None or value == "" else protocol.changefreq_text(value)


def priority_text(value: object) -> str | None:
    """Return a decimal from 0.0 to 1.0; `None` for no value."""
    return None if value is None or value == "" else protocol.priority_text(value)


#: The optional elements in the order of the XSD, and the functions that convert their values to text.
CONVERTERS: dict[str, Callable[[object], str | None]] = {
    "lastmod": lastmod_text,
    "changefreq": changefreq_text,
    "priority": priority_text,
}
