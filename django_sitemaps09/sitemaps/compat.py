"""What the paginators, views and templates of `django.contrib.sitemaps` get from our classes.

`TranslatedItems` are pairs of items and languages. Entry dicts have the results of our hooks. If a hook
raises an error or returns an invalid value, the result is skipped with a warning. The hook may be an
unrelated method of the project, so it must not break the compatibility views.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from contextvars import ContextVar
from itertools import islice
from typing import Any

from django.utils import translation

from django_sitemaps09 import protocol
from django_sitemaps09.conf import conf
from django_sitemaps09.entries import ItemError, News, excerpt, reason_of, short_repr
from django_sitemaps09.hooks.annotations import column
from django_sitemaps09.hooks.expressions import ITEM_LANGUAGE
from django_sitemaps09.hooks.extensions import (
    HOOKS,
    HookResults,
    alternate,
    hreflang,
    language_problem,
    own_extensions,
    spelling,
)
from django_sitemaps09.hooks.values import MAX_LOGGED, SHARED_ERRORS, AllowedHosts, log_skipped
from django_sitemaps09.orm.traits import AT_A_TIME, can_reorder, chunks, count_rows, iterate_unordered
from django_sitemaps09.protocol import Base
from django_sitemaps09.routing.location_templates import is_expression

logger = logging.getLogger(__name__)

#: The list that collects skipped values as item, hook and reason.
_collector: ContextVar[list[tuple[Any, str, str]] | None] = ContextVar("sitemaps09_skips", default=None)


class TranslatedItems(Sequence[Any]):
    """A sequence of `(item, language)` pairs as in `django.contrib.sitemaps`, for a paginator.

    If all items have the same languages, these are `codes`. Then the database counts the rows of most
    querysets, and only the rows of a page are read. Otherwise, counting and slicing iterate over all items,
    and determine the languages of each of them.
    """

    def __init__(self, sitemap: Any, items: Any, codes: list[str] | None) -> None:
        self._sitemap = sitemap
        self._codes = codes if codes and can_reorder(items) else None
        # Without languages, no item is listed, so none is read.
        self._items: Any = [] if codes == [] else items if hasattr(items, "query") else list(items)

    def __iter__(self) -> Iterator[tuple[Any, str]]:
        return self._pairs(self._items)

    def _pairs(self, items: Any) -> Iterator[tuple[Any, str]]:
        for chunk in chunks(items, AT_A_TIME):
            for item in chunk:
                for code in self._codes or self._item_languages(item):
                    yield item, code

    def _item_languages(self, item: Any) -> Sequence[str]:
        return in_item_language(self._sitemap, item, self._sitemap.get_languages_for_item(item))

    def _language_problem(self, item: Any) -> str | None:
        """Return why the language that an expression declares for an item is not listed, or `None`."""
        if not is_expression(self._sitemap.item_language):
            return None
        code = column(self._sitemap.item_language, ITEM_LANGUAGE, item)
        return language_problem(code, self._sitemap._languages())  # noqa: SLF001 contrib's hook

    def __len__(self) -> int:
        if self._codes is not None:
            return len(self._codes) * count_rows(self._items)
        count, unlisted, errors = 0, 0, []
        with closing(iterate_unordered(self._items, AT_A_TIME)) as batches:
            for item in (item for chunk in batches for item in chunk):
                codes = self._item_languages(item)
                count += len(codes)
                if not codes and (reason := self._language_problem(item)):
                    unlisted += 1
                    if unlisted <= MAX_LOGGED:
                        errors.append(ItemError(excerpt(item), "item_language", reason))
        log_skipped(logger, errors, unlisted)
        return count

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return list(self)[index]
        start, stop = index.start or 0, index.stop
        if index.step not in (None, 1) or start < 0 or (stop is not None and stop < start):
            return list(self)[index]
        if self._codes is None:
            return list(islice(self, start, stop))
        codes_per_item = len(self._codes)
        part = self._items[start // codes_per_item : None if stop is None else -(-stop // codes_per_item)]
        first = start // codes_per_item * codes_per_item
        return list(islice(self._pairs(part), start - first, None if stop is None else stop - first))

    def __eq__(self, other: object) -> bool:
        return list(self) == (list(other) if isinstance(other, TranslatedItems) else other)

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: Any) -> list[Any]:
        return [*other, *self]


def in_item_language(sitemap: Any, item: Any, codes: Sequence[str]) -> Sequence[str]:
    """Return only the language of an item, if an expression declares it."""
    # On classes written for `django.contrib.sitemaps`, the attribute can mean anything.
    if not is_expression(sitemap.item_language):
        return codes
    own = spelling(column(sitemap.item_language, ITEM_LANGUAGE, item), codes)
    return [code for code in codes if code == own]


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
    hosts = AllowedHosts((Base(*base.split("://", 1)),), joins_paths=True, is_limited=False)
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
