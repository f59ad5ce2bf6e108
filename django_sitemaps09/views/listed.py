"""Entries of contrib's road as dicts, as contrib and projects have them in a context."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from html import unescape
from typing import Any

from django.utils.safestring import SafeData

from django_sitemaps09 import protocol
from django_sitemaps09.entries import Alternate, Batch, ItemError, Version
from django_sitemaps09.protocol import Base
from django_sitemaps09.sources import extensions
from django_sitemaps09.sources.hosts import Hosts
from django_sitemaps09.sources.values import lastmod_text, priority_text

logger = logging.getLogger(__name__)

# A hook that fails for every item must not write thousands of lines for each request.
_LOGGED = 20


def listed(urls: Sequence[Any]) -> Batch:
    """What any iterable of dicts, or of objects with such attributes, says of entries."""
    keys = [part(url, "item") for url in urls]
    locations = [as_text(part(url, "location")) or "" for url in urls]
    versions = [Version("", locations)]
    errors: list[ItemError] = []
    alternates = [[_alternate(link) for link in part(url, "alternates") or ()] for url in urls]
    columns = extensions.columns(extensions.told_in(urls, part), versions, _hosts(locations), keys, errors)
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


def _hosts(locations: Sequence[str]) -> Hosts:
    """The host that a page is of, as far as its URLs tell: what its paths are joined to."""
    for location in locations:
        try:
            return Hosts((protocol.origin(location),), joined=True)
        except ValueError:
            continue
    return Hosts((Base("https", "localhost"),), joined=True)


def log(errors: Sequence[ItemError]) -> None:
    for error in errors[:_LOGGED]:
        logger.warning("Left out: %s", error)
    if len(errors) > _LOGGED:
        logger.warning("%d more were left out", len(errors) - _LOGGED)


def _alternate(link: Any) -> Alternate:
    return Alternate(as_text(part(link, "lang_code")) or "", as_text(part(link, "location")) or "")


def part(thing: Any, name: str) -> Any:
    """A key or an attribute, as a template finds it; `None` where there is none."""
    try:
        return thing[name]
    except (TypeError, LookupError):
        return getattr(thing, name, None)


def as_text(value: Any) -> str | None:
    """As a template has it: nothing for what is false, and marked text is escaped already."""
    if not value:
        return None
    return unescape(str(value)) if isinstance(value, SafeData) else str(value)


def priority(value: Any) -> str | None:
    """As a template has it, but for the language's decimal comma and for 1e-05."""
    text = as_text(value)
    try:
        return text and priority_text(text)
    except ValueError:
        return text


def w3c_text(value: Any) -> str | None:
    """As a template has it: nothing for what is no date."""
    try:
        return lastmod_text(value)
    except ValueError as error:
        logger.warning("A lastmod was left out: %s", error)
        return None
