"""Convert the values of hooks to text, column by column. Invalid values are skipped and reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date, datetime
from types import NoneType
from typing import Any

from django.utils.functional import Promise

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.declare.calls import Items
from django_sitemaps09.declare.expressions import is_missing
from django_sitemaps09.declare.hosts import AllowedHosts
from django_sitemaps09.orm.internals import template_value
from django_sitemaps09.protocol import MAX_MESSAGE, check_text, plain_text, short_repr, typed_repr


def rooted(values: Sequence[Any], homes: set[str], code: str, items: Items) -> Sequence[Any]:
    """Return the locations of methods, where an empty one is `/`, and a query belongs to that path.

    `django.contrib.sitemaps` puts the host before both. An empty location is listed once in each language
    of a page, whose `homes` are the languages in which it is. Others are reported.
    """

    def root(value: Any) -> Any:
        text = str(value) if isinstance(value, Promise) else value
        if not isinstance(text, str) or text[:1] not in ("", "?"):
            return value
        if not text:
            check_home(homes, code)
        return f"/{plain_text(text)}"

    if {*map(type, values)} <= {str} and {"", "?"}.isdisjoint(value[:1] for value in values):
        return values
    return items.each(root, values, "location")


def check_home(homes: set[str], key: str) -> None:
    """Add a key to `homes`. Raise `ValueError` if they have it."""
    if key in homes:
        raise ValueError("an earlier location of the page is empty, too, and both are the home page")
    homes.add(key)


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
    return _written(template_value(value))


def _written(value: Any) -> Any:
    return check_text(value) if value else None


def entry_values(column: Sequence[Any], field: str, items: Items, *, failed: Any = None) -> Sequence[Any]:
    """Return a column of `entry_value()`. For an invalid value, report it and return `failed`.

    If `items.raises_errors` is true, an error of a method that is called is raised.
    """
    # A string can also be the `repr()` of an object, with its address at the end of a short text.
    starts = (value[:MAX_MESSAGE] for value in column if type(value) is str)
    if {*map(type, column)} <= _PLAIN and not any(" at 0x" in start for start in starts):
        return [value or None for value in column]
    called = items.each(template_value, column, field)
    return items._replace(raises_errors=False).each(_written, called, field, failed=failed)


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


#: Functions that convert the values of optional elements to text, in the order of the XSD.
CONVERTERS: dict[str, Callable[[Any], str | None]] = {
    "lastmod": lastmod_text,
    "changefreq": _optional(protocol.changefreq_text),
    "priority": _optional(protocol.priority_text),
}
# Types whose values are the same in a template, unless they are false.
_PLAIN = frozenset({str, float, date, datetime, NoneType})
_DATES = frozenset({date, datetime, NoneType})
_WORDS = frozenset({str, float, NoneType})


def texts(
    values: Sequence[Any], field: str, items: Items, convert: Callable[[Any], str | None] | None = None
) -> Sequence[str | None]:
    """Return a column of values of an optional element as text, with `None` if missing or invalid.

    `convert` is by default that of `CONVERTERS`. Invalid values are reported.
    """
    convert, kinds = convert or CONVERTERS[field], {*map(type, values)}
    # A column of common types is converted at once, or each of its different values is. If one of them is
    # invalid, or has a time zone that fails, each value is converted below.
    with suppress(Exception):
        if convert is lastmod_text and kinds <= _DATES:
            return protocol.w3c_column(values, conf.zone)
        if convert is not lastmod_text and kinds <= _WORDS:
            text_by_value = {value: convert(value) for value in {*values}}
            return [text_by_value[value] for value in values]
    return items.each(convert, values, field, failed=None)
