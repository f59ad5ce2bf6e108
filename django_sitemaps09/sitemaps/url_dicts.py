"""Add the results of our own hooks to the dicts of contrib's `get_urls()`.

If a hook fails, or returns an invalid value, that value is skipped with a warning. The hook may be an
unrelated method of the project, and the compatibility views must go on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from django.utils import translation

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Extension, ItemError, News, excerpt, reason_of, short_repr
from django_sitemaps09.hooks.extensions import HOOKS, Hook, HookResults, own_extensions
from django_sitemaps09.hooks.hosts import AllowedHosts
from django_sitemaps09.hooks.links import alternate, hreflang
from django_sitemaps09.hooks.values import log_skipped
from django_sitemaps09.protocol import Base

logger = logging.getLogger(__name__)

#: The list that collects skipped values, instead of the log: item, hook and reason.
_collector: ContextVar[list[tuple[Any, str, str]] | None] = ContextVar("sitemaps09_left_out", default=None)


@contextmanager
def collect_skips() -> Iterator[list[tuple[Any, str, str]]]:
    """Collect what is skipped inside the block, instead of logging a line for each."""
    skips: list[tuple[Any, str, str]] = []
    token = _collector.set(skips)
    try:
        yield skips
    finally:
        _collector.reset(token)


def is_path(text: object) -> bool:
    """Return whether a text after a host leaves the host the same: `.evil.com/` and `@evil.com/` do not."""
    return str(text)[:1] in ("", "/", "?")


def filter_on_host(urls: list[dict[str, Any]], base: str) -> list[dict[str, Any]]:
    """Return the entries whose location is on the host that contrib has prefixed to it."""
    with _log_skips() as skips:
        entries = []
        for url in urls:
            if is_path(url["location"].removeprefix(base)):
                entries.append(url)
            else:
                skips.append((url["item"], "location", f"{short_repr(url['location'])} is not on {base}"))
    return entries


def add_hook_results(sitemap: Any, urls: list[dict[str, Any]], base: str) -> list[dict[str, Any]]:
    """Return entries with `images`, `videos`, `news`, `extensions`, and further links in `alternates`."""
    hooks = {name: hook for name in HOOKS if callable(hook := getattr(sitemap, name, None))}
    extensions = own_extensions(sitemap)
    x_default = sitemap.x_default if callable(sitemap.x_default) and sitemap.i18n else None
    if not (hooks or extensions or x_default):
        return urls
    # A request can have any language; the content of a page is in the language of the site.
    with translation.override(conf.language), _log_skips():
        _add_results(urls, hooks, extensions, x_default, base, is_linked=bool(sitemap.alternates))
    return urls


@contextmanager
def _log_skips() -> Iterator[list[tuple[Any, str, str]]]:
    """Collect what is skipped inside the block, for an outer `collect_skips`, otherwise for the log."""
    with collect_skips() as skips:
        yield skips
    collector = _collector.get()
    if collector is not None:
        collector += skips
        return
    errors = (ItemError(excerpt(item), name, reason) for item, name, reason in skips)
    log_skipped(logger, errors, len(skips))


def _add_results(
    urls: list[dict[str, Any]],
    hooks: dict[Hook, Callable[[Any], Any]],
    extensions: Sequence[Extension],
    x_default: Callable[[Any], Any] | None,
    base: str,
    *,
    is_linked: bool,
) -> None:
    hosts = AllowedHosts((Base(*base.split("://", 1)),), joins_paths=True, is_limited=False)
    previous: Any = None
    results: dict[str, Any] = {}
    for url in urls:
        pair = url["item"]
        # If the project overrides the items, they may not be pairs.
        item = pair[0] if isinstance(pair, tuple) and len(pair) == 2 else pair
        if item is not previous or not results:
            # The languages of an item are adjacent, and share its results.
            previous = item
            results = {name: _result(name, hook, item) for name, hook in hooks.items()}
            results["extensions"] = HookResults(
                (extension, _result(extension.prefix, extension.xml, item)) for extension in extensions
            )
            results["x_default"] = x_default and _result("x_default", x_default, item)
        url |= {name: result for name, result in results.items() if name not in ("alternates", "x_default")}
        if x_default and is_linked:
            url["alternates"] = _with_x_default(url, results["x_default"], hosts)
        if results.get("alternates"):
            url["alternates"] = [*url["alternates"], *_links(url, results["alternates"], hosts)]


def _result(name: str, hook: Callable[[Any], Any], item: Any) -> Any:
    """Return the result of a hook for an item. A generator is consumed here, where errors are caught."""
    try:
        value = hook(item)
        return value if value is None or isinstance(value, (str, bool, News)) else HookResults(value)
    except (DatabaseError, ImproperlyConfigured):
        # An error of the database or the configuration is not specific to an item.
        raise
    except Exception as error:  # noqa: BLE001 a user's method can raise anything
        _skip(item, name, error)
        return None


def _skip(item: Any, name: str, error: Exception) -> None:
    collector = _collector.get()
    if collector is not None:
        collector.append((item, name, reason_of(error)))


def _with_x_default(url: dict[str, Any], chosen: bool | str | None, hosts: AllowedHosts) -> list[Any]:
    """Return the links of an item with the x-default that its hook returned, or without one."""
    if chosen is True:
        return list(url["alternates"])
    others = [link for link in url["alternates"] if link["lang_code"] != "x-default"]
    try:
        return [*others, _link("x-default", hosts.external_location(chosen))] if chosen else others
    except ValueError as error:
        _skip(url["item"], "x_default", error)
        return others


def _links(url: dict[str, Any], pairs: Sequence[Any], hosts: AllowedHosts) -> list[dict[str, str]]:
    """Return the result of a method `alternates` in the form of contrib's links."""
    try:
        links = [(link.language, link.location) for link in (alternate(pair, hosts) for pair in pairs)]
        others = [
            (hreflang(link["lang_code"]) or link["lang_code"], link["location"])
            for link in url["alternates"]
        ]
        # If contrib has links of its own, they name the page already.
        protocol.check_links(links, others, () if others else [hosts.external_location(url["location"])])
        return [_link(*link) for link in links]
    except (TypeError, ValueError) as error:
        _skip(url["item"], "alternates", error)
        return []


def _link(language: str, location: str) -> dict[str, str]:
    return {"lang_code": language, "location": location}
