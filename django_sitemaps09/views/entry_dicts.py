"""Entries of the compatibility views as dicts, as in the template context of contrib and of projects."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from html import unescape
from typing import Any

from django.utils.safestring import SafeData

from django_sitemaps09 import protocol
from django_sitemaps09.entries import Alternate, Batch, ItemError, Localization, excerpt
from django_sitemaps09.hooks import extensions
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.hooks.values import Items, lastmod_text, log_skipped, priority_text
from django_sitemaps09.protocol import Base

logger = logging.getLogger(__name__)


def make_batch(urls: Sequence[Any]) -> Batch:
    """Return a batch of the entries in a sequence of dicts, or of objects with such attributes."""
    keys = [part(url, "item") for url in urls]
    locations = [as_text(part(url, "location")) or "" for url in urls]
    versions = [Localization("", locations)]
    errors: list[ItemError] = []
    alternates = [[_alternate(link) for link in part(url, "alternates") or ()] for url in urls]
    columns = extensions.columns(
        extensions.results_in(urls, part), versions, _hosts(locations), Items(keys, errors)
    )
    log(errors)
    return Batch(
        keys=keys,
        versions=versions,
        lastmods=[w3c_text(part(url, "lastmod")) for url in urls],
        changefreqs=[as_text(part(url, "changefreq")) for url in urls],
        priorities=[priority(part(url, "priority")) for url in urls],
        alternates=alternates if any(alternates) else None,
        **columns,
    )


def _hosts(locations: Sequence[str]) -> AllowedHosts:
    """Return the host of the first absolute location, which paths are joined to; else `localhost`."""
    for location in locations:
        try:
            return AllowedHosts((protocol.origin(location),), joins_paths=True)
        except ValueError:
            continue
    return AllowedHosts((Base("https", "localhost"),), joins_paths=True)


def log(errors: Sequence[ItemError]) -> None:
    """Log what is skipped in a response of the compatibility views."""
    log_skipped(logger, errors, len(errors))


def _alternate(link: Any) -> Alternate:
    return Alternate(as_text(part(link, "lang_code")) or "", as_text(part(link, "location")) or "")


def part(entry: Any, name: str) -> Any:
    """Return a key or an attribute as a template looks it up, `None` if there is none."""
    try:
        return entry[name]
    except (TypeError, LookupError):
        return getattr(entry, name, None)


def as_text(value: Any) -> str | None:
    """Return a value as text for the writer: `None` if it is false, unescaped if it is marked safe."""
    if not value:
        return None
    return unescape(str(value)) if isinstance(value, SafeData) else str(value)


def priority(value: Any) -> str | None:
    """Return a priority as a template writes it, but without a localized decimal comma or an exponent."""
    text = as_text(value)
    try:
        return text and priority_text(text)
    except ValueError:
        return text


def w3c_text(value: Any) -> str | None:
    """Return a lastmod in the W3C format, `None` with a warning if it is invalid."""
    try:
        return lastmod_text(value)
    except ValueError as error:
        logger.warning("A lastmod was skipped: %s", excerpt(error))
        return None
