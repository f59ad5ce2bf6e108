"""Convert values of hooks to text, a column at a time; only an invalid value is skipped, and named."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import date
from typing import Any, Final

from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import ItemError, excerpt, reason_of, shown
from django_sitemaps09.sources.columns.hosts import AllowedHosts

#: Stands for a value that could not be computed. `None` is a value.
FAILED: Final[Any] = object()


def each(
    function: Callable[[Any], Any],
    values: Iterable[Any],
    keys: Sequence[Hashable],
    field: str,
    errors: list[ItemError],
) -> list[Any]:
    """Return what `function` gives for each value, or `FAILED`, with an error, where it raises.

    Errors of the database and of the configuration are raised, since they are not those of one item.
    """
    found = []
    for position, value in enumerate(values):
        try:
            found.append(value if value is FAILED else function(value))
        except (DatabaseError, ImproperlyConfigured):
            raise
        except Exception as error:  # noqa: BLE001 a user's method can raise anything
            errors.append(ItemError(excerpt(keys[position]), field, reason_of(error)))
            found.append(FAILED)
    return found


def locations(
    values: Sequence[Any], hosts: AllowedHosts, keys: Sequence[Hashable], errors: list[ItemError]
) -> Sequence[str | None]:
    """Return a column of locations for a batch; `None` for one that is invalid."""
    if {*map(type, values)} <= {str} and hosts.are_plain(values):
        return values
    found = each(hosts.location, values, keys, "location", errors)
    return [None if url is FAILED else url for url in found]


def texts(
    name: str, values: Sequence[Any], keys: Sequence[Hashable], errors: list[ItemError]
) -> list[str | None]:
    """Return the column of an optional element as text; `None` where there is none."""
    convert = CONVERTERS[name]
    found = each(convert, values, keys, name, errors)
    return [None if text is FAILED else text for text in found]


def lastmod_text(value: object) -> str | None:
    """Return a date or datetime as W3C text, naive ones in `TIME_ZONE`; `None` for no value."""
    if value is None or value == "":
        return None
    if not isinstance(value, date):
        raise ValueError(f"{shown(value)} is neither a date nor a datetime")
    try:
        return protocol.w3c(value, conf.zone)
    except OverflowError as error:
        raise ValueError(f"{shown(value)} is out of range in UTC") from error


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
