"""What the views and templates of `django.contrib.sitemaps` get from our classes: the entry dicts.

They have the results of our hooks. What fails is skipped with a warning: a hook may be an unrelated method
of the project, so it must not break the compatibility views.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import Any

from django.conf import settings
from django.utils import translation

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.declare.calls import FAILED, Items
from django_sitemaps09.declare.expressions import EXTENDING, HOOKS
from django_sitemaps09.declare.extensions import (
    HookResults,
    alternate,
    content_results,
    default_has_no_prefix,
    hreflang,
    own_extensions,
    resolve_image,
    resolve_video,
)
from django_sitemaps09.declare.hosts import AllowedHosts, meant_url
from django_sitemaps09.protocol import Base, ItemError, News, short_repr

# Paths of media are on the host of their sitemap, and a document can have sitemaps with different hosts.
_MEDIA: dict[str, Callable[..., Any]] = {"images": resolve_image, "videos": resolve_video}


def filter_on_host(
    urls: list[dict[str, Any]], base: str, hosts: AllowedHosts, errors: list[ItemError]
) -> list[dict[str, Any]]:
    """Return the entries, with the links, whose URLs are on the host that Django puts before a location.

    If two slashes begin a location, its host can be any of `hosts`.
    """
    entries = []

    def checked(entry: dict[str, Any]) -> dict[str, Any]:
        url = meant_url(entry["location"], base)
        if url is not entry["location"]:
            return {**entry, "location": hosts.location(url)}
        # Unlike `{base}.evil.com/` and `{base}@evil.com/`.
        if url.startswith(base) and url[len(base) :][:1] in ("", "/", "?"):
            return entry
        location = short_repr(url.removeprefix(base))
        raise ValueError(f"{location} does not begin with a slash, so its URL is not on {base}")

    for url in urls:
        try:
            entries.append(entry := checked(url))
        except ValueError as error:
            Items([url["item"]], errors).skip(0, "location", str(error))
            continue
        if links := url.get("alternates"):
            entry["alternates"] = []
            for link in links:
                with suppress(ValueError):
                    entry["alternates"].append(checked(link))
    return entries


def hosts_of(sitemap: Any, base: str) -> AllowedHosts:
    """Return the host that Django puts before a location, with the sitemap's `hosts`."""
    scheme, _, domain = base.partition("://")
    # Django writes a domain as it is. The scheme can be any, too.
    domain = protocol.uri(f"https://{domain}/").removeprefix("https://").removesuffix("/")
    hosts = AllowedHosts(Base(scheme, domain), joins_paths=True, is_limited=False)
    with suppress(Exception):
        # A project can use the attribute for something else.
        return replace(hosts, others=AllowedHosts.parse(sitemap.hosts, hosts.base).others)
    return hosts


def add_hook_results(
    sitemap: Any, urls: list[dict[str, Any]], hosts: AllowedHosts, errors: list[ItemError]
) -> list[dict[str, Any]]:
    """Add `images`, `videos`, `news`, `extensions` and further `alternates` to entry dicts."""
    is_linked = sitemap.i18n and sitemap.alternates
    if is_linked and sitemap.x_default and default_has_no_prefix():
        _correct_x_default(urls)
    hooks = {name: hook for name in HOOKS if callable(hook := getattr(sitemap, name, None))}
    extensions = own_extensions(sitemap)
    x_default = sitemap.x_default if callable(sitemap.x_default) and is_linked else None
    if not (hooks or extensions or x_default):
        return urls
    # With `i18n`, items are pairs of item and language, unless the project overrides `_items()`.
    pairs = [url["item"] for url in urls]
    owners = [pair[0] if isinstance(pair, tuple) and len(pair) == 2 else pair for pair in pairs]
    entries = Items(owners, errors)
    # Entries of one item in several languages are adjacent, and share the results of hooks.
    are_first = [not i or item is not entries.keys[i - 1] for i, item in enumerate(entries.keys)]
    places = [count - 1 for count in accumulate(are_first)]
    rows = [item for item, is_first in zip(entries.keys, are_first, strict=True) if is_first]
    # Pages are written in the language of the site, regardless of the language of the request.
    with translation.override(conf.language):
        items = entries._replace(keys=rows)
        results = content_results(hooks, extensions, rows, items)
        choices = items.call(x_default, rows, "x_default", failed=None) if x_default else ()
        for position, (url, place) in enumerate(zip(urls, places, strict=True)):
            for name in EXTENDING:
                if name in results:
                    url[name] = _as_result(results[name][place])
                    if name in _MEDIA and url[name]:
                        resolve = partial(_MEDIA[name], hosts=hosts)
                        url[name] = HookResults(entries.each_of(position, resolve, url[name], name))
            texts = [(extension, results[extension][place]) for extension in extensions]
            url["extensions"] = HookResults(pair for pair in texts if pair[1] is not FAILED)
            if x_default and choices[place] is not True:
                url["alternates"] = [link for link in url["alternates"] if link["lang_code"] != "x-default"]
                default_urls = [choices[place]] if choices[place] else []
                locations = entries.each_of(position, hosts.uri, default_urls, "x_default")
                url["alternates"] += [_link("x-default", location) for location in locations]
            links = results["alternates"][place] if "alternates" in results else ()
            if links and links is not FAILED:
                more = entries.each_of(position, partial(_links, url, hosts), [links], "alternates")
                url["alternates"] = [*url["alternates"], *chain.from_iterable(more)]
    return urls


def _correct_x_default(urls: list[dict[str, Any]]) -> None:
    """Make the x-default the URL in the default language. Django removes what looks like its prefix."""
    for url in urls:
        link_by_language = {link["lang_code"]: link for link in url["alternates"]}
        default, x_default = map(link_by_language.get, (settings.LANGUAGE_CODE, "x-default"))
        if default and x_default:
            x_default["location"] = default["location"]


def _as_result(value: Any) -> Any:
    if value is FAILED or value is None:
        return None
    return value if isinstance(value, News) else HookResults(value if isinstance(value, list) else [value])


def _links(url: dict[str, Any], hosts: AllowedHosts, pairs: Sequence[Any]) -> list[dict[str, str]]:
    """Return the result of a method `alternates` as dicts, as in Django's `alternates`."""
    links = [alternate(pair, hosts) for pair in pairs]
    others = [
        (hreflang(link["lang_code"]) or link["lang_code"], link["location"]) for link in url["alternates"]
    ]
    # The links from Django already include the page.
    protocol.check_links(links, others, () if others else [hosts.uri(url["location"])])
    return [_link(*link) for link in links]


def _link(language: str, location: str) -> dict[str, str]:
    return {"lang_code": language, "location": location}
