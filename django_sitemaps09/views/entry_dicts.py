"""Convert the entry dicts that `get_urls()` returns to batches for the writer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from html import unescape
from typing import Any

from django.utils.safestring import SafeData

from django_sitemaps09 import protocol
from django_sitemaps09.django_internals import template_value
from django_sitemaps09.entries import Alternate, Batch, ItemError, Localization, check_text, excerpt
from django_sitemaps09.hooks import extensions
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.hooks.values import Items, lastmod_text, log_skipped, priority_text
from django_sitemaps09.protocol import Base

logger = logging.getLogger(__name__)


def make_batch(urls: Sequence[Any]) -> Batch:
    """Return a batch of entries from entry dicts, or from objects with attributes instead of keys."""
    keys = [look_up(url, "item") for url in urls]
    # An entry without a location is written as in Django. An entry whose location is not text is skipped.
    locations = [as_text(look_up(url, "location"), missing="") for url in urls]
    localizations = [Localization("", locations)]
    errors: list[ItemError] = []
    alternates = [
        [_alternate(link) for link in template_value(look_up(url, "alternates")) or ()] for url in urls
    ]
    columns = extensions.columns(
        extensions.results_in(urls, look_up), localizations, _hosts(locations), Items(keys, errors)
    )
    log_errors(errors)
    return Batch(
        keys=keys,
        localizations=localizations,
        lastmods=[w3c_text(look_up(url, "lastmod")) for url in urls],
        changefreqs=[as_text(look_up(url, "changefreq")) for url in urls],
        priorities=[priority(look_up(url, "priority")) for url in urls],
        alternates=alternates if any(alternates) else None,
        **columns,
    )


def _hosts(locations: Sequence[str | None]) -> AllowedHosts:
    """Return allowed hosts with the host of the first absolute location, or with `localhost`."""
    for location in filter(None, locations):
        try:
            return AllowedHosts((protocol.origin(location),), joins_paths=True)
        except ValueError:
            continue
    return AllowedHosts((Base("https", "localhost"),), joins_paths=True)


def log_errors(errors: Sequence[ItemError]) -> None:
    """Log the items and elements that a compatibility view skipped."""
    log_skipped(logger, errors, len(errors))


def _alternate(link: Any) -> Alternate:
    return Alternate(as_text(look_up(link, "lang_code")) or "", as_text(look_up(link, "location")) or "")


def look_up(entry: Any, name: str) -> Any:
    """Look up a key or an attribute as templates do. Return `None` if neither exists."""
    try:
        return entry[name]
    except (TypeError, LookupError):
        return getattr(entry, name, None)


def as_text(value: Any, missing: str | None = None) -> str | None:
    """Return a value as an unescaped string for the writer, or `missing` if a template writes nothing.

    Skip a value that is neither text nor a number nor a date, and return `None`.
    """
    value = template_value(value)
    text = plain_text(value) if value else missing
    return unescape(text) if text and isinstance(value, SafeData) else text


def plain_text(value: Any) -> str | None:
    """Return text, a number or a date as a string. Log a warning and return `None` for other values."""
    try:
        return str(check_text(value))
    except ValueError as error:
        logger.warning("A value was skipped: %s", excerpt(error))
        return None


def priority(value: Any) -> str | None:
    """Return a priority as a string without localization or exponent. An invalid string is unchanged."""
    text = as_text(value)
    try:
        return text and priority_text(text)
    except ValueError:
        return text


def w3c_text(value: Any) -> str | None:
    """Return a lastmod in the W3C format. Log a warning and return `None` if it is invalid."""
    value = template_value(value)
    try:
        return lastmod_text(value) if value else None
    except ValueError as error:
        logger.warning("A lastmod was skipped: %s", excerpt(error))
        return None
