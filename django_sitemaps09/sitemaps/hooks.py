"""What the hooks of ours say of items, in the dicts of contrib's `get_urls()`.

Where one fails, or gives what cannot stand, it is left out with a warning: it may be a method of the
project's that means something else, and contrib's road has to go on.
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
from django_sitemaps09.entries import Extension, News, reason_of

logger = logging.getLogger(__name__)

# A hook that fails for every item must not write thousands of lines for each request.
_LOGGED = 20
#: Where to tell what was left out, instead of in the log: item, hook and reason.
_told_to: ContextVar[list[tuple[Any, str, str]] | None] = ContextVar("sitemaps09_left_out", default=None)


class Told(list[Any]):
    """What hooks of ours gave: other dicts can have keys of the same names."""


#: Methods that say what an item has beside the elements of the protocol.
Hook = Literal["alternates", "images", "videos", "news"]
HOOKS: tuple[Hook, ...] = get_args(Hook)
#: Those that contrib has no switch for.
EXTENDING: tuple[Hook, ...] = HOOKS[1:]


def own_extensions(sitemap: object) -> list[Extension]:
    """The extensions of the project. `ImproperlyConfigured` for two that cannot be told apart."""
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
    """What is left out inside, instead of a line in the log for each."""
    found: list[tuple[Any, str, str]] = []
    token = _told_to.set(found)
    try:
        yield found
    finally:
        _told_to.reset(token)


def with_hooks(sitemap: Any, urls: list[dict[str, Any]], base: str) -> list[dict[str, Any]]:
    """Entries with `images`, `videos`, `news` and `extensions`, and with further links in `alternates`."""
    hooks = {name: hook for name in HOOKS if callable(hook := getattr(sitemap, name, None))}
    own = own_extensions(sitemap)
    x_default = sitemap.x_default if callable(sitemap.x_default) and sitemap.i18n else None
    if not (hooks or own or x_default):
        return urls
    # Whoever looks at a page has a language; what it says has that of the site.
    with translation.override(conf.language), left_out() as failed:
        _add_to(urls, hooks, own, x_default, base, linked=bool(sitemap.alternates))
    outside = _told_to.get()
    if outside is not None:
        outside += failed
        return urls
    for item, name, reason in failed[:_LOGGED]:
        logger.warning("Item %s: %s was left out: %s", item, name, reason)
    if len(failed) > _LOGGED:
        logger.warning("%d more were left out", len(failed) - _LOGGED)
    return urls


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
        # Where a project has items of its own, they may be no pairs.
        item = pair[0] if isinstance(pair, tuple) and len(pair) == 2 else pair
        if item is not before or not told:
            # The languages of an item stand next to each other, and have the same.
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
    """What a hook says of an item; what it generates is made now, where its errors can be caught."""
    try:
        found = hook(item)
        return found if found is None or isinstance(found, (str, bool, News)) else Told(found)
    except (DatabaseError, ImproperlyConfigured):
        # A database or a project that is broken is no item.
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
    # As browsers have it; a path does not begin with two slashes.
    text = protocol.uri(f"{base.partition(':')[0]}:{text}" if text.startswith("//") else text)
    return f"{base}{text}" if text[0] == "/" else text


def _with_x_default(url: dict[str, Any], told: bool | str | None, base: str) -> list[Any]:
    """The links of an item whose x-default is another one than contrib has found, or none."""
    if told is True:
        return list(url["alternates"])
    others = [link for link in url["alternates"] if link["lang_code"] != "x-default"]
    try:
        return [*others, _link("x-default", _absolute(told, base))] if told else others
    except ValueError as error:
        _leave_out(url["item"], "x_default", error)
        return others


def _links(url: dict[str, Any], told: Sequence[Any], base: str) -> list[dict[str, str]]:
    """What a method `alternates` gives, as contrib has links."""
    try:
        links = [(protocol.hreflang(language), _absolute(location, base)) for language, location in told]
        others = [(_spelled(link["lang_code"]), link["location"]) for link in url["alternates"]]
        # Contrib's own set names the page already, as far as there is one.
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
