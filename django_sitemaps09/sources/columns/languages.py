"""Localizations of items, which link to each other."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.urls import get_urlconf

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import ItemError, Localization, TemplateColumn
from django_sitemaps09.sources.columns import values
from django_sitemaps09.sources.columns.hosts import AllowedHosts


def hreflang(code: str) -> str:
    """Return the hreflang of a language; an empty text if it cannot have one."""
    try:
        return protocol.hreflang(code)
    except ValueError:
        return ""


def x_default(version: Localization, code: str) -> Localization:
    """Return the URLs in the default language without its prefix, as contrib writes them.

    `code` is the code of that language. If its URLs have no prefix, nothing that looks like one is removed.
    """
    found, prefix = version.locations, f"/{code}/"
    if is_language_prefix_patterns_used(get_urlconf() or conf.urlconf) == (True, False):
        return Localization("x-default", found, listed=False)
    if isinstance(found, TemplateColumn) and prefix in found.literals[0]:
        first, *others = found.literals
        composed = TemplateColumn([first.replace(prefix, "/", 1), *others], found.columns)
        return Localization("x-default", composed, listed=False)
    without = [text and text.replace(prefix, "/", 1) for text in version.texts()]
    return Localization("x-default", without, listed=False)


def x_default_as_told(
    version: Localization | None,
    told: Sequence[Any],
    hosts: AllowedHosts,
    keys: Sequence[Hashable],
    errors: list[ItemError],
) -> Localization:
    """Return the `x-default` URLs where a method decides for each item.

    `True` stands for the URL in `version`, `False` for none; any other value is the URL.
    """
    own = [None] * len(keys) if version is None else version.texts()
    given = [own[i] if value is True else value or None for i, value in enumerate(told)]
    urls = values.each(lambda url: url and hosts.elsewhere(url), given, keys, "x_default", errors)
    found = [None if url is values.FAILED else url for url in urls]
    return Localization("x-default", found, listed=False)
