"""What the hooks of ours say of items, in the dicts of contrib's `get_urls()`.

Where one fails, or gives what cannot stand, it is left out with a warning: it may be a method of the
project's that means something else, and contrib's road has to go on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Literal

from django_sitemaps09 import protocol
from django_sitemaps09.entries import Extension, News, reason_of

logger = logging.getLogger(__name__)

#: Where to tell what was left out, instead of in the log: item, hook and reason.
_told_to: ContextVar[list[tuple[Any, str, str]] | None] = ContextVar("sitemaps09_left_out", default=None)


class Told(list[Any]):
    """What hooks of ours gave: other dicts can have keys of the same names."""


#: Methods that say what an item has beside the elements of the protocol.
Hook = Literal["alternates", "images", "videos", "news"]
HOOKS: tuple[Hook, ...] = ("alternates", "images", "videos", "news")


def own_extensions(sitemap: object) -> list[Extension]:
    """The extensions of the project."""
    found = getattr(sitemap, "extensions", ())
    return (
        [some for some in found if isinstance(some, Extension)] if isinstance(found, (list, tuple)) else []
    )


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
    before: Any = None
    told: dict[str, Any] = {}
    for url in urls:
        item = url["item"][0] if sitemap.i18n else url["item"]
        if item is not before or not told:
            # The languages of an item stand next to each other, and have the same.
            before = item
            told = {name: _told(name, hook, item) for name, hook in hooks.items()}
            told["extensions"] = Told((some, _told(some.prefix, some.xml, item)) for some in own)
            told["x_default"] = x_default and _told("x_default", x_default, item)
        url |= {name: found for name, found in told.items() if name not in ("alternates", "x_default")}
        if x_default and sitemap.alternates:
            url["alternates"] = _with_x_default(url, told["x_default"], base)
        if told.get("alternates"):
            url["alternates"] = [*url["alternates"], *_links(url, told["alternates"], base)]
    return urls


def _told(name: str, hook: Callable[[Any], Any], item: Any) -> Any:
    """What a hook says of an item; what it generates is made now, where its errors can be caught."""
    try:
        found = hook(item)
        return found if found is None or isinstance(found, (str, bool, News)) else Told(found)
    except Exception as error:  # noqa: BLE001 a user's method can raise anything
        _leave_out(item, name, error)
        return None


def _leave_out(item: Any, name: str, error: Exception) -> None:
    reason, elsewhere = reason_of(error), _told_to.get()
    if elsewhere is None:
        logger.warning("Item %s: %s was left out: %s", item, name, reason)
    else:
        elsewhere.append((item, name, reason))


def _absolute(location: Any, base: str) -> str:
    text = protocol.uri(str(location))
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
        others = [(link["lang_code"], link["location"]) for link in url["alternates"]]
        # Contrib's own set names the page already, as far as there is one.
        protocol.check_links(links, others, () if others else [_absolute(url["location"], base)])
        return [_link(*link) for link in links]
    except (TypeError, ValueError) as error:
        _leave_out(url["item"], "alternates", error)
        return []


def _link(language: str, location: str) -> dict[str, str]:
    return {"lang_code": language, "location": location}
