"""Links between the localizations of an item: `x-default`, and links that a project names."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.urls import get_urlconf

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Alternate, Localization, TemplateColumn
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.hooks.values import FAILED, Items


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


def x_default_by_method(
    version: Localization | None,
    given: Sequence[Any],
    hosts: AllowedHosts,
    items: Items,
) -> Localization:
    """Return the `x-default` URLs where a method decides for each item.

    `True` stands for the URL in `version`, `False` for none; any other value is the URL.
    """
    own = [None] * len(items.keys) if version is None else version.texts()
    chosen = [own[i] if value is True else value or None for i, value in enumerate(given)]
    urls = items.each(lambda url: url and hosts.elsewhere(url), chosen, "x_default")
    found = [None if url is FAILED else url for url in urls]
    return Localization("x-default", found, listed=False)


def alternates(
    told: Sequence[Any],
    versions: Sequence[Localization],
    hosts: AllowedHosts,
    items: Items,
) -> list[list[Alternate]]:
    """Return the links that a project names, which form one set with those of an item's own languages.

    Crawlers ignore a set that names a language twice, or that does not name the item itself.
    """
    linked = [(version.language, version.texts()) for version in versions if version.language]
    listed = [version.texts() for version in versions if version.listed]

    def on(place: int, url: str | None) -> str:
        return [*hosts.joined_to(url), *[""] * len(hosts.bases)][place]

    def check(place: int, position: int, links: Sequence[Alternate]) -> None:
        """Check the links as they are on one of the hosts."""
        own = [(code, on(place, found[position])) for code, found in linked if found[position]]
        pages = () if own else {on(place, found[position]) for found in listed if found[position]}
        protocol.check_links([(link.language, on(place, link.location)) for link in links], own, pages)

    def checked(position: int) -> list[Alternate]:
        links = [alternate(link, hosts) for link in told[position] or ()]
        *others, last = range(len(hosts.bases))
        for place in others:
            with suppress(ValueError):
                check(place, position, links)
                return links
        check(last, position, links)
        return links

    positions = [FAILED if some is FAILED else i for i, some in enumerate(told)]
    checked_links = items.each(checked, positions, "alternates")
    return [[] if links is FAILED else links for links in checked_links]


def alternate(link: Any, hosts: AllowedHosts) -> Alternate:
    """Return a link that a project names, either an `Alternate` or a pair like one."""
    language, location = link
    return Alternate(protocol.hreflang(language), hosts.elsewhere(location))
