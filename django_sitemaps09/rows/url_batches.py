"""Convert the dicts of `get_urls()` to batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter, methodcaller
from typing import Any, NamedTuple, cast

from django_sitemaps09 import protocol
from django_sitemaps09.declare import extensions, hook_values as values, is_contribs
from django_sitemaps09.declare.calls import FAILED, Items
from django_sitemaps09.declare.declared import Declared
from django_sitemaps09.declare.expressions import EXTENDING
from django_sitemaps09.declare.extensions import HookResults
from django_sitemaps09.declare.hosts import AllowedHosts, meant_url
from django_sitemaps09.orm.internals import template_value
from django_sitemaps09.protocol import Alternate, Base, Batch, Localization, News, excerpt

# The maximum number of characters of a key in a warning.
_MAX_KEY = 40


class _Place(NamedTuple):
    """Place of an entry. In errors, it is written as the page, the position and the item."""

    page: int
    position: int
    url: Mapping[str, Any]

    def __str__(self) -> str:
        try:
            item = self.url.get("item")
        except Exception:  # noqa: BLE001 a project's mapping can raise anything
            item = None
        return f"{self.page}/{self.position} ({excerpt(item)})"


def _contribs_base(declared: Declared, site: Any) -> str:
    """Return what `django.contrib.sitemaps` puts before locations, or the base if that is invalid."""
    try:
        sitemap = declared.sitemap
        text = f"{sitemap.get_protocol(declared.base.scheme)}://{sitemap.get_domain(site)}"
        protocol.parse_base(text)
    except Exception:  # noqa: BLE001 a project's method can raise anything or be missing
        return str(declared.base)
    return text


def checked_batch(
    declared: Declared, urls: Sequence[Any], page: int, start: int, site: Any, homes: set[str]
) -> Batch:
    """Return the dicts of `get_urls()` as a batch. Skip and report the values that the protocol forbids.

    `homes` are the bases that the file has as a location so far, for an empty location.
    """
    base = _contribs_base(declared, site)
    # A project can write the domain as Unicode.
    own = protocol.origin(str(protocol.parse_base(base)))
    hosts = replace(declared.hosts, others=(*declared.hosts.others, own))
    own_bases = (str(declared.base), str(own))
    # A URL that the project has written is what it says.
    joins_base = all(is_contribs(declared.sitemap, name) for name in ("get_urls", "_urls"))

    def meant(value: Any) -> str:
        return meant_url(str(value or ""), base) if joins_base else str(value or "")

    def location(value: Any) -> str:
        text, url = str(value or ""), hosts.uri(meant(value))
        if text in (base, *own_bases):
            values.check_home(homes, text)
        # A location such as `.evil.com/` would extend the name of the host, and `//evil.com/` names one.
        is_joined = text.startswith(base) or url.startswith(own_bases)
        return hosts.check_host(url) if declared.hosts.others or is_joined else url

    def alternate(link: Any) -> Alternate:
        language, target = (values.entry_value(link[key]) for key in ("lang_code", "location"))
        return extensions.alternate((language, meant(target)), hosts)

    # Links are not checked as a set, since `django.contrib.sitemaps` links all languages to each other.
    places = [_Place(page, position, url) for position, url in enumerate(urls, start + 1)]
    converters = {**values.CONVERTERS, "location": location}
    batch = url_batch(urls, Items(places, []), converters, alternate, hosts)
    return replace(batch, keys=[cast("_Place", place)[:2] for place in batch.keys])


def url_batch(
    urls: Sequence[Any],
    items: Items,
    converters: Mapping[str, Callable[[Any], str | None]],
    alternate: Callable[[Any], Alternate],
    hosts: AllowedHosts | None = None,
) -> Batch:
    """Return entry dicts as a batch. Skip the entries whose location is invalid.

    In each dict, only the key `location` is required. `converters` return the text of an `entry_value()`,
    `alternate` returns a link. By default, other paths are joined to the host of the first absolute
    location.
    """
    are_dicts = {*map(type, urls)} <= {dict}

    def column(name: str) -> list[Any]:
        if are_dicts:
            return [url.get(name) for url in urls]
        return items.each(methodcaller("get", name), urls, name)

    keyed = items.each(itemgetter("location"), urls, "location")
    found = values.entry_values(keyed, "location", items, failed=FAILED)
    locations = items._replace(raises_errors=False).each(converters["location"], found, "location")
    positions = [i for i, location in enumerate(locations) if location is not FAILED]
    urls, locations = [urls[i] for i in positions], [locations[i] for i in positions]
    items = items._replace(keys=[items.keys[i] for i in positions])
    reporting = items._replace(raises_errors=False)
    texts = {}
    for name in values.CONVERTERS:
        written = values.entry_values(column(name), name, items)
        texts[name] = values.texts(written, name, reporting, converters[name])
    link_lists = items.each(_links, column("alternates"), "alternates", failed=())
    alternates = [
        items.each_of(i, alternate, link_list, "alternates") if link_list else ()
        for i, link_list in enumerate(link_lists)
    ]
    has_results = not are_dicts or not _KEYS.issuperset(set().union(*urls))
    results = extensions.results_in(column) if has_results else {}
    batch = extensions.create_batch(
        reporting, [Localization("", locations)], texts, results, hosts or _first_host(locations)
    )
    return replace(batch, alternates=alternates) if any(alternates) else batch


def _links(value: Any) -> Sequence[Any]:
    return [*(template_value(value) or ())] if value else ()


def _first_host(locations: Iterable[str | None]) -> AllowedHosts:
    """Return allowed hosts with the host of the first absolute location, or with `localhost`."""
    for location in filter(None, locations):
        with suppress(ValueError):
            return AllowedHosts(protocol.origin(location), joins_paths=True)
    return AllowedHosts(Base("https", "localhost"), joins_paths=True)


# Keys that hooks of this package add. A project can use the same keys for other values.
_HOOKED = frozenset({*EXTENDING, "extensions"})
# Keys that the writer writes, and `item` of `django.contrib.sitemaps`.
_KEYS = frozenset({"item", "location", "alternates", *values.CONVERTERS})
#: All keys of entry dicts that are read.
ENTRY_KEYS = _KEYS | _HOOKED


def ignored_keys(urls: Sequence[Any]) -> set[str]:
    """Return the keys that a project's template can use but the writer ignores."""
    keys: set[str] = set()
    for url in urls:
        try:
            other_keys = [] if _KEYS.issuperset(url) else [key for key in url if key not in _KEYS]
            keys.update(
                excerpt(key, _MAX_KEY)
                for key in other_keys
                if key not in _HOOKED or not (url[key] is None or isinstance(url[key], (HookResults, News)))
            )
        except Exception:  # noqa: BLE001, S112 a project's mapping can raise anything, and is read by `get()`
            continue
    return keys
