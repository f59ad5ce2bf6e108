"""What the views and templates of `django.contrib.sitemaps` get from our classes.

Entry dicts have the results of our hooks. If a hook raises an error or returns an invalid value, the result
is skipped with a warning. The hook may be an unrelated method of the project, so it must not break the
compatibility views.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.utils import translation

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import ItemError, News, excerpt, reason_of, short_repr
from django_sitemaps09.hooks.extensions import HOOKS, HookResults, alternate, hreflang, own_extensions
from django_sitemaps09.hooks.values import SHARED_ERRORS, log_skipped
from django_sitemaps09.hosts import AllowedHosts
from django_sitemaps09.protocol import Base

logger = logging.getLogger(__name__)

#: The list that collects skipped values as item, hook and reason.
_collector: ContextVar[list[tuple[Any, str, str]] | None] = ContextVar("sitemaps09_skips", default=None)


@contextmanager
def collect_skips() -> Iterator[list[tuple[Any, str, str]]]:
    """Yield a list that collects the values skipped inside the block. They are not logged."""
    skips: list[tuple[Any, str, str]] = []
    token = _collector.set(skips)
    try:
        yield skips
    finally:
        _collector.reset(token)


@contextmanager
def log_skips() -> Iterator[list[tuple[Any, str, str]]]:
    """Log the values skipped inside the block, unless an outer `collect_skips()` collects them."""
    if (outer_skips := _collector.get()) is not None:
        yield outer_skips
        return
    with collect_skips() as skips:
        try:
            yield skips
        finally:
            errors = (ItemError(excerpt(item), name, reason) for item, name, reason in skips)
            # Items are described in the language of the site, as in exports.
            with translation.override(conf.language):
                log_skipped(logger, errors, len(skips))


def is_path(text: object) -> bool:
    """Return whether appending a string to a host keeps the host, unlike `.evil.com/` and `@evil.com/`."""
    return str(text)[:1] in ("", "/", "?")


def filter_on_host(urls: list[dict[str, Any]], base: str) -> list[dict[str, Any]]:
    """Return the entries whose location is on the host that Django puts before the path."""
    entries = []
    for url in urls:
        if is_path(url["location"].removeprefix(base)):
            entries.append(url)
        else:
            _skip(url["item"], "location", f"{short_repr(url['location'])} is not on {base}")
    return entries


def add_hook_results(sitemap: Any, urls: list[dict[str, Any]], base: str) -> list[dict[str, Any]]:
    """Add `images`, `videos`, `news`, `extensions` and further `alternates` to entry dicts."""
    hooks = {name: hook for name in HOOKS if callable(hook := getattr(sitemap, name, None))}
    extensions = own_extensions(sitemap)
    x_default = sitemap.x_default if callable(sitemap.x_default) and sitemap.i18n else None
    if not (hooks or extensions or x_default):
        return urls
    hosts = AllowedHosts(Base(*base.split("://", 1)), joins_paths=True, is_limited=False)
    previous: Any = None
    results: dict[str, Any] = {}
    # Pages are written in the language of the site, regardless of the language of the request.
    with translation.override(conf.language):
        is_linked = bool(sitemap.alternates)
        for url in urls:
            pair = url["item"]
            # With `i18n`, items are pairs of item and language, unless the project overrides `_items()`.
            item = pair[0] if isinstance(pair, tuple) and len(pair) == 2 else pair
            if item is not previous or not results:
                # Entries of one item in several languages are adjacent, and share the results of hooks.
                previous = item
                results = {name: _result(name, hook, item) for name, hook in hooks.items()}
                results["extensions"] = HookResults(
                    (extension, _result(extension.prefix, extension.xml, item)) for extension in extensions
                )
                links = results.pop("alternates", None)
                chosen = x_default and _result("x_default", x_default, item)
            url |= results
            if x_default and is_linked:
                url["alternates"] = _with_x_default(url, chosen, hosts)
            if links:
                url["alternates"] = [*url["alternates"], *_links(url, links, hosts)]
    return urls


def _result(name: str, hook: Callable[[Any], Any], item: Any) -> Any:
    """Return the result of a hook for an item. A generator is consumed here to catch its errors."""
    try:
        value = hook(item)
        return value if value is None or isinstance(value, (str, bool, News)) else HookResults(value)
    except Exception as error:  # noqa: BLE001 a user's method can raise anything
        skip_error(item, name, error)
        return None


def skip_error(item: Any, name: str, error: Exception) -> None:
    """Skip a value of an item, because its hook raised this error.

    Raise one of the `SHARED_ERRORS`. Raise any error outside of `log_skips()` and `collect_skips()`, since
    nobody would see it.
    """
    if isinstance(error, SHARED_ERRORS) or _collector.get() is None:
        raise error
    _skip(item, name, reason_of(error))


def _skip(item: Any, name: str, reason: str) -> None:
    if (skips := _collector.get()) is not None:
        skips.append((item, name, reason))


def _with_x_default(url: dict[str, Any], chosen: bool | str | None, hosts: AllowedHosts) -> list[Any]:
    """Return the links of an entry with the x-default that the hook has chosen."""
    if chosen is True:
        return list(url["alternates"])
    others = [link for link in url["alternates"] if link["lang_code"] != "x-default"]
    try:
        return [*others, _link("x-default", hosts.external_location(chosen))] if chosen else others
    except ValueError as error:
        _skip(url["item"], "x_default", reason_of(error))
        return others


def _links(url: dict[str, Any], pairs: Sequence[Any], hosts: AllowedHosts) -> list[dict[str, str]]:
    """Return the result of a method `alternates` as dicts, as in Django's `alternates`."""
    try:
        links = [alternate(pair, hosts) for pair in pairs]
        others = [
            (hreflang(link["lang_code"]) or link["lang_code"], link["location"])
            for link in url["alternates"]
        ]
        # The links from Django already include the page.
        protocol.check_links(links, others, () if others else [hosts.external_location(url["location"])])
        return [_link(*link) for link in links]
    except (TypeError, ValueError) as error:
        _skip(url["item"], "alternates", reason_of(error))
        return []


def _link(language: str, location: str) -> dict[str, str]:
    return {"lang_code": language, "location": location}
