"""Add the results of our own hooks to the dicts of contrib's `get_urls()`.

If a hook fails, or returns an invalid value, that value is skipped with a warning. The hook may be an
unrelated method of the project, and the compatibility views must go on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal, get_args

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from django.utils import translation

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import Extension, News, excerpt, reason_of, shown

logger = logging.getLogger(__name__)

# A hook that fails for every item must not write thousands of lines for each request.
_LOGGED = 20
#: The list that collects skipped values, instead of the log: item, hook and reason.
_told_to: ContextVar[list[tuple[Any, str, str]] | None] = ContextVar("sitemaps09_left_out", default=None)


class Told(list[Any]):
    """The result of one of our own hooks. The type marks it, since other dicts can have the same keys."""


#: Methods that return further content of an item, besides the elements of the protocol.
Hook = Literal["alternates", "images", "videos", "news"]
HOOKS: tuple[Hook, ...] = get_args(Hook)
#: The hooks that contrib has no switch for.
EXTENDING: tuple[Hook, ...] = HOOKS[1:]


def own_extensions(sitemap: object) -> list[Extension]:
    """Return the project's extensions. Raise `ImproperlyConfigured` if two share prefix or namespace."""
    found = getattr(sitemap, "extensions", ())
    listed = found if isinstance(found, (list, tuple)) else ()
    own = [some for some in listed if isinstance(some, Extension)]
    if len({some.prefix for some in own}) < len(own) or len({some.namespace for some in own}) < len(own):
        raise ImproperlyConfigured(
            f"{type(sitemap).__qualname__}.extensions has a prefix or a namespace twice."
        )
    return own


@contextmanager
def left_out() -> Iterator[list[tuple[Any, str, str]]]:
    """Collect what is skipped inside the block, instead of logging a line for each."""
    found: list[tuple[Any, str, str]] = []
    token = _told_to.set(found)
    try:
        yield found
    finally:
        _told_to.reset(token)


def is_path(text: object) -> bool:
    """Return whether a text after a host leaves the host the same: `.evil.com/` and `@evil.com/` do not."""
    return str(text)[:1] in ("", "/", "?")


def on_host(urls: list[dict[str, Any]], base: str) -> list[dict[str, Any]]:
    """Return the entries whose location is on the host that contrib has prefixed to it."""
    with _logged() as failed:
        found = []
        for url in urls:
            if is_path(url["location"].removeprefix(base)):
                found.append(url)
            else:
                failed.append((url["item"], "location", f"{shown(url['location'])} is not on {base}"))
    return found


def with_hooks(sitemap: Any, urls: list[dict[str, Any]], base: str) -> list[dict[str, Any]]:
    """Return entries with `images`, `videos`, `news`, `extensions`, and further links in `alternates`."""
    hooks = {name: hook for name in HOOKS if callable(hook := getattr(sitemap, name, None))}
    own = own_extensions(sitemap)
    x_default = sitemap.x_default if callable(sitemap.x_default) and sitemap.i18n else None
    if not (hooks or own or x_default):
        return urls
    # A request can have any language; the content of a page is in the language of the site.
    with translation.override(conf.language), _logged():
        _add_to(urls, hooks, own, x_default, base, linked=bool(sitemap.alternates))
    return urls


@contextmanager
def _logged() -> Iterator[list[tuple[Any, str, str]]]:
    """Collect what is skipped inside the block, and pass it to an outer `left_out` or else to the log."""
    with left_out() as failed:
        yield failed
    outside = _told_to.get()
    if outside is not None:
        outside += failed
        return
    for item, name, reason in failed[:_LOGGED]:
        logger.warning("Item %s: %s was left out: %s", excerpt(item), name, reason)
    if len(failed) > _LOGGED:
        logger.warning("%d more were left out", len(failed) - _LOGGED)


def _add_to(
    urls: list[dict[str, Any]],
    hooks: dict[Hook, Callable[[Any], Any]],
    own: Sequence[Extension],
    x_default: Callable[[Any], Any] | None,
    base: str,
    *,
    linked: bool,
) -> None:
    before: Any = None
    told: dict[str, Any] = {}
    for url in urls:
        pair = url["item"]
        # If the project overrides the items, they may not be pairs.
        item = pair[0] if isinstance(pair, tuple) and len(pair) == 2 else pair
        if item is not before or not told:
            # The languages of an item are adjacent, and share its results.
            before = item
            told = {name: _told(name, hook, item) for name, hook in hooks.items()}
            told["extensions"] = Told((some, _told(some.prefix, some.xml, item)) for some in own)
            told["x_default"] = x_default and _told("x_default", x_default, item)
        url |= {name: found for name, found in told.items() if name not in ("alternates", "x_default")}
        if x_default and linked:
            url["alternates"] = _with_x_default(url, told["x_default"], base)
        if told.get("alternates"):
            url["alternates"] = [*url["alternates"], *_links(url, told["alternates"], base)]


def _told(name: str, hook: Callable[[Any], Any], item: Any) -> Any:
    """Return the result of a hook for an item. A generator is consumed here, where errors are caught."""
    try:
        found = hook(item)
        return found if found is None or isinstance(found, (str, bool, News)) else Told(found)
    except (DatabaseError, ImproperlyConfigured):
        # An error of the database or the configuration is not specific to an item.
        raise
    except Exception as error:  # noqa: BLE001 a user's method can raise anything
        _leave_out(item, name, error)
        return None


def _leave_out(item: Any, name: str, error: Exception) -> None:
    elsewhere = _told_to.get()
    if elsewhere is not None:
        elsewhere.append((item, name, reason_of(error)))


def _absolute(location: Any, base: str) -> str:
    text = str(location)
    # As in browsers, a text that begins with two slashes is not a path.
    text = protocol.uri(f"{base.partition(':')[0]}:{text}" if text.startswith("//") else text)
    return f"{base}{text}" if text[0] == "/" else text


def _with_x_default(url: dict[str, Any], told: bool | str | None, base: str) -> list[Any]:
    """Return the links of an item with the x-default that its hook returned, or without one."""
    if told is True:
        return list(url["alternates"])
    others = [link for link in url["alternates"] if link["lang_code"] != "x-default"]
    try:
        return [*others, _link("x-default", _absolute(told, base))] if told else others
    except ValueError as error:
        _leave_out(url["item"], "x_default", error)
        return others


def _links(url: dict[str, Any], told: Sequence[Any], base: str) -> list[dict[str, str]]:
    """Return the result of a method `alternates` in the form of contrib's links."""
    try:
        links = [(protocol.hreflang(language), _absolute(location, base)) for language, location in told]
        others = [(_spelled(link["lang_code"]), link["location"]) for link in url["alternates"]]
        # If contrib has links of its own, they name the page already.
        protocol.check_links(links, others, () if others else [_absolute(url["location"], base)])
        return [_link(*link) for link in links]
    except (TypeError, ValueError) as error:
        _leave_out(url["item"], "alternates", error)
        return []


def _spelled(code: str) -> str:
    try:
        return protocol.hreflang(code)
    except ValueError:
        return code


def _link(language: str, location: str) -> dict[str, str]:
    return {"lang_code": language, "location": location}
