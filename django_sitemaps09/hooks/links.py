"""Links between the localizations of an item: `x-default`, and the links of a project's `alternates`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from django.conf.urls.i18n import is_language_prefix_patterns_used
from django.urls import get_urlconf

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Alternate, Localization, TemplateColumn, short_repr
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.hooks.values import FAILED, Items


def hreflang(code: str) -> str:
    """Return the hreflang of a language; an empty string if it has none."""
    try:
        return protocol.hreflang(code)
    except ValueError:
        return ""


def spelling(code: Any, languages: Sequence[str]) -> Any:
    """Return a code in the spelling of one of the languages, or unchanged if it is not one of them."""
    if code in languages or not (language := hreflang(code)):
        return code
    return next((other for other in languages if hreflang(other) == language), code)


def language_problem(code: Any, languages: Sequence[str]) -> str | None:
    """Return why an item with this `item_language` is not listed, or `None` if it is listed."""
    if spelling(code, languages) in languages:
        return None
    return f"{short_repr(code)} is not one of the languages {', '.join(languages)}"


def x_default(localization: Localization, code: str) -> Localization:
    """Return the localization in the default language without the language prefix.

    This is the `x-default` of `django.contrib.sitemaps`. `code` is the code of the default language. If the
    URLconf adds no prefix for the default language, locations do not change.
    """
    locations, prefix = localization.locations, f"/{code}/"
    if is_language_prefix_patterns_used(get_urlconf() or conf.urlconf) == (True, False):
        unprefixed = locations
    elif isinstance(locations, TemplateColumn) and prefix in locations.literals[0]:
        first, *others = locations.literals
        unprefixed = TemplateColumn([first.replace(prefix, "/", 1), *others], locations.columns)
    else:
        unprefixed = [text and text.replace(prefix, "/", 1) for text in localization.texts()]
    return Localization("x-default", unprefixed, is_listed=False)


def x_default_by_method(
    localization: Localization | None, results: Sequence[Any], hosts: AllowedHosts, items: Items
) -> Localization:
    """Return the `x-default` localization for the results of a method `x_default`.

    `True` selects the URL in `localization`, `False` omits the link, and any other result is the URL.
    """
    default_urls = [None] * len(items.keys) if localization is None else localization.texts()
    choices = [default_urls[i] if value is True else value or None for i, value in enumerate(results)]
    locations = items.each(
        lambda url: url and hosts.external_location(url), choices, "x_default", failed=None
    )
    return Localization("x-default", locations, is_listed=False)


def alternates(
    link_lists: Sequence[Any], localizations: Sequence[Localization], hosts: AllowedHosts, items: Items
) -> list[list[Alternate]]:
    """Return the links from a project's `alternates` for each item.

    On at least one host, crawlers must accept these links together with the links between the item's
    localizations. Otherwise, the item's links are skipped and reported.
    """
    columns = [(localization, localization.texts()) for localization in localizations]

    def check(place: int, position: int, links: Sequence[Alternate]) -> None:
        """Check the links of an item on the host with the index `place`."""
        urls = [
            (localization, hosts.absolute_urls(texts[position])[place])
            for localization, texts in columns
            if texts[position]
        ]
        own_links = [(localization.language, url) for localization, url in urls if localization.language]
        pages = () if own_links else {url for localization, url in urls if localization.is_listed}
        protocol.check_links(
            [(link.language, hosts.absolute_urls(link.location)[place]) for link in links], own_links, pages
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
    """Return a project's link, an `Alternate` or a similar pair, as a valid `Alternate`."""
    language, location = link
    return Alternate(protocol.hreflang(language), hosts.external_location(location))
