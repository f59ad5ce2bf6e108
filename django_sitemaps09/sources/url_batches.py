"""Convert the dicts of `get_urls()` to batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import methodcaller
from typing import Any, NamedTuple, cast

from django_sitemaps09 import protocol
from django_sitemaps09.entries import Alternate, Batch, Localization, News, excerpt
from django_sitemaps09.hooks import extensions, values
from django_sitemaps09.hooks.extensions import EXTENDING, HookResults
from django_sitemaps09.hooks.values import Items, allowed_hosts
from django_sitemaps09.hosts import AllowedHosts
from django_sitemaps09.orm.internals import template_value
from django_sitemaps09.protocol import Base

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


def _add_own_host(hosts: AllowedHosts, sitemap: Any, base: Base, site: Any) -> AllowedHosts:
    """Return `hosts`, plus the host from `get_protocol()` and `get_domain()` unless these methods fail."""
    try:
        scheme = sitemap.get_protocol(base.scheme)
        domain = sitemap.get_domain(site)
        own_host = protocol.origin(str(protocol.parse_base(f"{scheme}://{domain}")))
    except Exception:  # noqa: BLE001 a project's method can raise anything or be missing
        return hosts
    return replace(hosts, others=(*hosts.others, own_host))


def checked_batch(sitemap: Any, urls: Sequence[Any], page: int, start: int, base: Base, site: Any) -> Batch:
    """Return the dicts of `get_urls()` as a batch. Skip and report the values that the protocol forbids."""
    declared_hosts = allowed_hosts(sitemap, base)
    hosts = _add_own_host(declared_hosts, sitemap, base, site)
    own_bases = tuple(map(str, (base, *hosts.others)))

    def location(value: Any) -> str:
        url = hosts.uri(values.entry_value(value) or "")
        # `django.contrib.sitemaps` appends locations to the host, so `.evil.com/` would extend its name.
        return hosts.check_host(url) if declared_hosts.others or url.startswith(own_bases) else url

    def alternate(link: Any) -> Alternate:
        language, target = (values.entry_value(link[key]) for key in ("lang_code", "location"))
        return extensions.alternate((language, target), hosts)

    # Links are not checked as a set, since `django.contrib.sitemaps` links all languages to each other.
    places = [_Place(page, position, url) for position, url in enumerate(urls, start + 1)]
    batch = url_batch(urls, Items(places, []), {"location": location, **_CHECKED}, alternate, hosts)
    return replace(batch, keys=[cast("_Place", place)[:2] for place in batch.keys])


_CHECKED = {
    name: lambda value, convert=convert: convert(values.entry_value(value))
    for name, convert in values.CONVERTERS.items()
}


def url_batch(
    urls: Sequence[Any],
    items: Items,
    converters: Mapping[str, Callable[[Any], str | None]],
    alternate: Callable[[Any], Alternate],
    hosts: AllowedHosts | None = None,
) -> Batch:
    """Return entry dicts as a batch. Skip the entries whose location is invalid or becomes `None`.

    In each dict, only the key `location` is required. `converters` return the text of the protocol's
    elements, `alternate` returns a link. By default, other paths are joined to the host of the first
    absolute location.
    """

    def column(name: str) -> list[Any]:
        return items.each(methodcaller("get", name), urls, name)

    convert = converters["location"]
    locations = items.each(lambda url: convert(url["location"]), urls, "location")
    positions = [i for i, location in enumerate(locations) if location is not values.FAILED]
    urls, locations = [urls[i] for i in positions], [locations[i] for i in positions]
    items = items._replace(keys=[items.keys[i] for i in positions])
    texts = {
        name: items.each(converters[name], column(name), name, failed=None) for name in values.CONVERTERS
    }
    link_lists = items.each(
        lambda value: [*(template_value(value) or ())], column("alternates"), "alternates", failed=()
    )
    alternates = [
        items.each_of(i, alternate, link_list, "alternates") if link_list else ()
        for i, link_list in enumerate(link_lists)
    ]
    results = extensions.results_in(column)
    hosts = hosts or _first_host(locations)
    items = items._replace(raises_errors=False)
    batch = extensions.create_batch(items, [Localization("", locations)], texts, results, hosts)
    return replace(batch, alternates=alternates) if any(alternates) else batch


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
