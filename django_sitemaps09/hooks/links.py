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
    """Return the hreflang of a language; an empty string if it has none."""
    try:
        return protocol.hreflang(code)
    except ValueError:
        return ""


def x_default(version: Localization, code: str) -> Localization:
    """Return the URLs in the default language without its prefix, as contrib writes them.

    `code` is the code of that language. If its URLs have no prefix, nothing that looks like one is removed.
    """
    locations, prefix = version.locations, f"/{code}/"
    if is_language_prefix_patterns_used(get_urlconf() or conf.urlconf) == (True, False):
        return Localization("x-default", locations, is_listed=False)
    if isinstance(locations, TemplateColumn) and prefix in locations.literals[0]:
        first, *others = locations.literals
        template = TemplateColumn([first.replace(prefix, "/", 1), *others], locations.columns)
        return Localization("x-default", template, is_listed=False)
    unprefixed = [text and text.replace(prefix, "/", 1) for text in version.texts()]
    return Localization("x-default", unprefixed, is_listed=False)


def x_default_by_method(
    version: Localization | None,
    results: Sequence[Any],
    hosts: AllowedHosts,
    items: Items,
) -> Localization:
    """Return the `x-default` URLs where a method decides for each item.

    `True` stands for the URL in `version`, `False` for none; any other value is the URL.
    """
    default_urls = [None] * len(items.keys) if version is None else version.texts()
    choices = [default_urls[i] if value is True else value or None for i, value in enumerate(results)]
    urls = items.each(lambda url: url and hosts.external_location(url), choices, "x_default")
    locations = [None if url is FAILED else url for url in urls]
    return Localization("x-default", locations, is_listed=False)


def alternates(
    link_lists: Sequence[Any],
    versions: Sequence[Localization],
    hosts: AllowedHosts,
    items: Items,
) -> list[list[Alternate]]:
    """Return the links that a project names, which form one set with those of an item's own languages.

    Crawlers ignore a set that names a language twice, or that does not name the item itself.
    """
    texts_by_language = [(version.language, version.texts()) for version in versions if version.language]
    page_texts = [version.texts() for version in versions if version.is_listed]

    def host_url(place: int, url: str | None) -> str:
        return [*hosts.absolute_urls(url), *[""] * len(hosts.bases)][place]

    def check(place: int, position: int, links: Sequence[Alternate]) -> None:
        """Check the links as they are on one of the hosts."""
        own_links = [
            (code, host_url(place, texts[position])) for code, texts in texts_by_language if texts[position]
        ]
        pages = (
            ()
            if own_links
            else {host_url(place, texts[position]) for texts in page_texts if texts[position]}
        )
        protocol.check_links(
            [(link.language, host_url(place, link.location)) for link in links], own_links, pages
        )

    def resolve_links(position: int) -> list[Alternate]:
        links = [alternate(link, hosts) for link in link_lists[position] or ()]
        *others, last = range(len(hosts.bases))
        for place in others:
            with suppress(ValueError):
                check(place, position, links)
                return links
        check(last, position, links)
        return links

    positions = [FAILED if item_links is FAILED else i for i, item_links in enumerate(link_lists)]
    results = items.each(resolve_links, positions, "alternates")
    return [[] if links is FAILED else links for links in results]


def alternate(link: Any, hosts: AllowedHosts) -> Alternate:
    """Return a link that a project names, either an `Alternate` or a pair like one."""
    language, location = link
    return Alternate(protocol.hreflang(language), hosts.external_location(location))
